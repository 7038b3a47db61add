/* secret_keep.c -- secret.keep/1 and secret.kept/1: secrets that a plugin
 * stores.
 *
 * For secrets that a plugin receives, such as tokens, and needs in later
 * processes.
 *
 *   secret.keep/1  {name, value}    null as the value removes the secret
 *   secret.kept/1  {name}           {value}
 *
 *   (1) They belong to the user, like the list of known plugins and the user's
 *       permissions.  Each is a file of mode 0600 in a directory of
 *       core/base/userdir.h.  They are never in a store, in a backup of a
 *       store, or in a record.
 *   (2) Each instance of a plugin has names of its own.
 *   (3) A value that was stored or read is masked from then on, like the
 *       deployment's secrets.  Exception: its plugin sees it in the answers to
 *       its own http.request/1 calls in the background, because a token server
 *       may send the same token again.
 *   (4) The loop never waits for the disk: a worker reads and writes, one
 *       operation after another, so requests are answered in their order. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/userdir.h"
#include "core/engine/common/secret_store.h"
#include "services/secrets/methods.h"
#include "services/secrets/body.h"
#include "core/engine/parts/pool.h"
#include "core/engine/runs/call.h"

enum { NAME_MAX_KEPT = 512, FILE_MAX = MORTISE_SECRET_MAX + 4096 };

static const char kept_directory[] = "secrets";

struct keeping {
    struct mortise_task job, task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was cancelled; [loop] */
    bool keeps;                  /* secret.keep/1; false: secret.kept/1 */
    char *about;                 /* plugin, instance and name (2) */
    char *value; /* value to store, or the value read; or NULL */
    int rv;
    struct mortise_err err;
};

static void free_keeping(struct keeping *k)
{
    if (k->value != NULL)
        explicit_bzero(k->value, strlen(k->value));
    mortise_release_str(k->m->mem, k->value);
    mortise_release_str(k->m->mem, k->about);
    mortise_release(k->m->mem, k, sizeof *k);
}

/* ---- worker ------------------------------------------------------------- */

static int write_kept_file(const struct keeping *k, struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    int rv = mortise_userdir_make(dir, kept_directory, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_get_file_path(path, dir, k->about, "", err);
    if (rv != MORTISE_OK)
        return rv;
    if (k->value != NULL)
        return mortise_file_write(path, k->value, strlen(k->value), 0600, 0,
                                  err);
    return unlink(path) == 0 || errno == ENOENT
               ? MORTISE_OK
               : mortise_syserr(err, errno, "%s", path);
}

static int read_kept_file(struct keeping *k, struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct mortise_buf text;
    int rv = mortise_userdir_get_path(dir, kept_directory, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_get_file_path(path, dir, k->about, "", err);
    mortise_buf_init(&text, k->m->mem);
    if (rv == MORTISE_OK)
        rv = mortise_file_read(&text, path, FILE_MAX, err);
    if (rv == MORTISE_OK) {
        k->value = mortise_strndup(k->m->mem, text.p, text.n);
        rv = k->value != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (text.p != NULL)
        explicit_bzero(text.p, text.n);
    mortise_buf_finish(&text);
    return rv;
}

static void run_keeping_job(struct mortise_task *j)
{
    struct keeping *k = MORTISE_CONTAINER_OF(j, struct keeping, job);

    k->rv = k->keeps ? write_kept_file(k, &k->err) : read_kept_file(k, &k->err);
    mortise_call_post(k->m, &k->task);
}

/* ---- loop --------------------------------------------------------------- */

static int32_t status_from_keeping(int rv)
{
    switch (rv) {
    case MORTISE_OK:
        return MORTISE_S_OK;
    case MORTISE_ENOTFOUND:
        return MORTISE_S_NOTFOUND;
    case MORTISE_ENOMEM:
        return MORTISE_S_NOMEM;
    case MORTISE_EDENIED:
        return MORTISE_S_DENIED;
    default:
        return MORTISE_S_IO;
    }
}

static void mask_kept_value(const struct mortise_asked *a, struct keeping *k)
{
    struct mortise_err err;
    int rv = mortise_secret_store_add_value(a->m->secret_store,
                                            a->manifest->name, k->value, &err);

    if (rv == MORTISE_OK || k->rv != MORTISE_OK)
        return;
    k->rv = rv;
    k->err = err;
}

static void finish_keeping(struct mortise_task *t)
{
    struct keeping *k = MORTISE_CONTAINER_OF(t, struct keeping, task);
    struct mortise_asked *a = k->asked;
    json_t *value = NULL;

    if (a == NULL) {
        free_keeping(k);
        return;
    }
    a->data = NULL;
    if (k->value != NULL) /* even if it could not be stored (3) */
        mask_kept_value(a, k);
    if (k->rv == MORTISE_OK)
        value = k->keeps ? json_null() : json_pack("{s:s}", "value", k->value);
    if (k->rv == MORTISE_OK && value == NULL)
        k->rv = mortise_nomem(&k->err);
    mortise_host_call_answer(a, status_from_keeping(k->rv), value,
                             value != NULL ? "" : k->err.msg);
    free_keeping(k);
}

static const char *get_kept_name(const struct mortise_asked *a)
{
    return json_string_value(json_object_get(a->body, "name"));
}

/* Join the parts of the key (2).  Names of plugins and instances contain no
 * newline. */
static char *make_kept_key(const struct mortise_asked *a)
{
    char text[NAME_MAX_KEPT + 512];

    snprintf(text, sizeof text, "%s\n%s\n%s", a->manifest->name, a->as,
             get_kept_name(a));
    return mortise_strdup(a->m->mem, text);
}

static int start_keeping_job(struct mortise_asked *a, bool keeps,
                             struct mortise_err *err)
{
    const char *value = json_string_value(json_object_get(a->body, "value"));
    struct keeping *k = mortise_zalloc(a->m->mem, sizeof *k);
    int rv;

    if (k == NULL)
        return mortise_nomem(err);
    k->m = a->m;
    k->asked = a;
    k->keeps = keeps;
    k->about = make_kept_key(a);
    k->value = value != NULL ? mortise_strdup(a->m->mem, value) : NULL;
    k->job.run = run_keeping_job;
    k->task.run = finish_keeping;
    rv = k->about == NULL || (value != NULL && k->value == NULL)
             ? mortise_nomem(err)
             : mortise_pool_put(a->m->pool, &k->job, err);
    if (rv == MORTISE_OK)
        a->data = k;
    else
        free_keeping(k);
    return rv;
}

static void start_keeping(struct mortise_asked *a, bool keeps)
{
    struct mortise_err err;
    int rv = start_keeping_job(a, keeps, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, status_from_keeping(rv), NULL, err.msg);
}

static void start_secret_keep(struct mortise_asked *a)
{
    start_keeping(a, true);
}

static void start_secret_kept(struct mortise_asked *a)
{
    start_keeping(a, false);
}

static void cancel_keeping(struct mortise_asked *a)
{
    struct keeping *k = a->data;

    if (k != NULL)
        k->asked = NULL;
    a->data = NULL;
}

static bool has_valid_name(const struct mortise_asked *a)
{
    const json_t *name = json_object_get(a->body, "name");

    return mortise_body_is_text(name) && json_string_length(name) > 0 &&
           json_string_length(name) <= NAME_MAX_KEPT;
}

static bool is_valid_kept_value(const json_t *value)
{
    return json_is_null(value) ||
           (mortise_body_is_text(value) && json_string_length(value) > 0 &&
            json_string_length(value) <= MORTISE_SECRET_MAX);
}

static int32_t check_secret_keep(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 2 && has_valid_name(a) &&
                   is_valid_kept_value(json_object_get(a->body, "value"))
               ? MORTISE_S_OK
               : mortise_ask_format_error(
                     words, MORTISE_S_INVALID,
                     "a request of secret.keep/1 must be {name, value}: 1 to "
                     "%d bytes of text, and 1 to %d KiB of text or null",
                     NAME_MAX_KEPT, MORTISE_SECRET_MAX >> 10);
}

static int32_t check_secret_kept(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 1 && has_valid_name(a)
               ? MORTISE_S_OK
               : mortise_ask_format_error(words, MORTISE_S_INVALID,
                                          "a request of secret.kept/1 must be "
                                          "{name}: 1 to %d bytes of text",
                                          NAME_MAX_KEPT);
}

const struct mortise_host_call_method mortise_host_call_secret_keep = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_secret_keep,
    .needs_no_run = true,
    .start = start_secret_keep,
    .cancel = cancel_keeping,
};

const struct mortise_host_call_method mortise_host_call_secret_kept = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_secret_kept,
    .needs_no_run = true,
    .start = start_secret_kept,
    .cancel = cancel_keeping,
};
