/* secret_keep.c -- secret.keep/1 and secret.kept/1: secrets that a plugin was
 * given by somebody, such as tokens, and is to have in the next process, too.
 *
 *   secret.keep/1  {name, value}    null: the one of that name is forgotten
 *   secret.kept/1  {name}           {value}
 *
 *   (1) They are this user's, like what was seen of plugins and what was allowed:
 *       a file each, 0600, in a directory of core/base/userdir.h.  No store has them, no
 *       backup of one, and no record.
 *   (2) A plugin, and each of its instances by itself, finds its own names alone.
 *   (3) A value that was kept or found is covered from then on, as those of the
 *       deployment's secrets are; but not from its plugin, in an answer of
 *       http.request/1 that it asked in the background: who gives tokens may give
 *       the same one again.
 *   (4) The loop waits for no disk: a worker reads and writes.  One thing after
 *       another: what is asked for is answered in the order of asking. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/userdir.h"
#include "core/engine/common/secret_store.h"
#include "services/secrets/body.h"
#include "core/engine/parts/pool.h"
#include "core/engine/runs/call.h"

enum { NAME_MAX_KEPT = 512, FILE_MAX = MORTISE_SECRET_MAX + 4096 };

static const char kept_in[] = "secrets";

struct keeping {
    struct mortise_task job, task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was cancelled; [loop] */
    bool keeps;                  /* else it is looked for */
    char *about;                 /* whose it is, and its name (2) */
    char *value;                 /* to keep, or that was found; or NULL */
    int rv;
    struct mortise_err err;
};

static void keeping_free(struct keeping *k)
{
    if (k->value != NULL)
        explicit_bzero(k->value, strlen(k->value));
    mortise_release_str(k->m->mem, k->value);
    mortise_release_str(k->m->mem, k->about);
    mortise_release(k->m->mem, k, sizeof *k);
}

/* ---- on a worker --------------------------------------------------------- */

static int write_file(const struct keeping *k, struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    int rv = mortise_userdir_make(dir, kept_in, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_file(path, dir, k->about, "", err);
    if (rv != MORTISE_OK)
        return rv;
    if (k->value != NULL)
        return mortise_file_write(path, k->value, strlen(k->value), 0600, 0,
                                  err);
    return unlink(path) == 0 || errno == ENOENT
               ? MORTISE_OK
               : mortise_syserr(err, errno, "%s", path);
}

static int read_file(struct keeping *k, struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct mortise_buf text;
    int rv = mortise_userdir_named(dir, kept_in, err);

    if (rv == MORTISE_OK)
        rv = mortise_userdir_file(path, dir, k->about, "", err);
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

static void work(struct mortise_task *j)
{
    struct keeping *k = MORTISE_OF(j, struct keeping, job);

    k->rv = k->keeps ? write_file(k, &k->err) : read_file(k, &k->err);
    mortise_call_post(k->m, &k->task);
}

/* ---- on the loop --------------------------------------------------------- */

static int32_t status_of(int rv)
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

static void note(const struct mortise_asked *a, struct keeping *k)
{
    struct mortise_err err;
    int rv = mortise_secret_store_note(a->m->secret_store, a->manifest->name,
                                       k->value, &err);

    if (rv == MORTISE_OK || k->rv != MORTISE_OK)
        return;
    k->rv = rv;
    k->err = err;
}

static void go_on(struct mortise_task *t)
{
    struct keeping *k = MORTISE_OF(t, struct keeping, task);
    struct mortise_asked *a = k->asked;
    json_t *value = NULL;

    if (a == NULL) {
        keeping_free(k);
        return;
    }
    a->data = NULL;
    if (k->value != NULL) /* also where there is no place for it (3) */
        note(a, k);
    if (k->rv == MORTISE_OK)
        value = k->keeps ? json_null() : json_pack("{s:s}", "value", k->value);
    if (k->rv == MORTISE_OK && value == NULL)
        k->rv = mortise_nomem(&k->err);
    mortise_host_call_answer(a, status_of(k->rv), value,
                             value != NULL ? "" : k->err.msg);
    keeping_free(k);
}

static const char *name_of(const struct mortise_asked *a)
{
    return json_string_value(json_object_get(a->body, "name"));
}

/* (2): no name of a plugin, or of an instance, has a line's end. */
static char *about(const struct mortise_asked *a)
{
    char text[NAME_MAX_KEPT + 512];

    snprintf(text, sizeof text, "%s\n%s\n%s", a->manifest->name, a->as,
             name_of(a));
    return mortise_strdup(a->m->mem, text);
}

static int begin(struct mortise_asked *a, bool keeps, struct mortise_err *err)
{
    const char *value = json_string_value(json_object_get(a->body, "value"));
    struct keeping *k = mortise_zalloc(a->m->mem, sizeof *k);
    int rv;

    if (k == NULL)
        return mortise_nomem(err);
    k->m = a->m;
    k->asked = a;
    k->keeps = keeps;
    k->about = about(a);
    k->value = value != NULL ? mortise_strdup(a->m->mem, value) : NULL;
    k->job.run = work;
    k->task.run = go_on;
    rv = k->about == NULL || (value != NULL && k->value == NULL)
             ? mortise_nomem(err)
             : mortise_pool_put(a->m->pool, &k->job, err);
    if (rv == MORTISE_OK)
        a->data = k;
    else
        keeping_free(k);
    return rv;
}

static void start(struct mortise_asked *a, bool keeps)
{
    struct mortise_err err;
    int rv = begin(a, keeps, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, status_of(rv), NULL, err.msg);
}

static void start_keep(struct mortise_asked *a)
{
    start(a, true);
}

static void start_kept(struct mortise_asked *a)
{
    start(a, false);
}

static void cancel(struct mortise_asked *a)
{
    struct keeping *k = a->data;

    if (k != NULL)
        k->asked = NULL;
    a->data = NULL;
}

static bool is_name(const struct mortise_asked *a)
{
    const json_t *name = json_object_get(a->body, "name");

    return mortise_body_is_text(name) && json_string_length(name) > 0 &&
           json_string_length(name) <= NAME_MAX_KEPT;
}

static bool is_value(const json_t *value)
{
    return json_is_null(value) ||
           (mortise_body_is_text(value) && json_string_length(value) > 0 &&
            json_string_length(value) <= MORTISE_SECRET_MAX);
}

static int32_t check_keep(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 2 && is_name(a) &&
                   is_value(json_object_get(a->body, "value"))
               ? MORTISE_S_OK
               : mortise_ask_refuse(
                     words, MORTISE_S_INVALID,
                     "a request of secret.keep/1 must be {name, value}: 1 to "
                     "%d bytes of text, and 1 to %d KiB of text or null",
                     NAME_MAX_KEPT, MORTISE_SECRET_MAX >> 10);
}

static int32_t check_kept(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 1 && is_name(a)
               ? MORTISE_S_OK
               : mortise_ask_refuse(words, MORTISE_S_INVALID,
                                    "a request of secret.kept/1 must be "
                                    "{name}: 1 to %d bytes of text",
                                    NAME_MAX_KEPT);
}

const struct mortise_host_call_method mortise_host_call_secret_keep = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_keep,
    .needs_no_run = true,
    .start = start_keep,
    .cancel = cancel,
};

const struct mortise_host_call_method mortise_host_call_secret_kept = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_kept,
    .needs_no_run = true,
    .start = start_kept,
    .cancel = cancel,
};
