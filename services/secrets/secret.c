/* secret.c -- access of plugins to secrets.
 *
 *   (1) A plugin gets a secret in two ways.  Either the deployer writes a
 *       reference to it into the plugin's config, at a place that config_schema
 *       marks: then create() gets the value.  Or the manifest's
 *       permissions.secrets includes its name: then host calls may use it.  A
 *       graph can only choose among these secrets.
 *   (2) secret.get/1 is not recorded.  A re-entered call has to request the
 *       secret again.
 *   (3) The loop never waits for a program that supplies a secret.  A worker
 *       fetches the value, and the call continues afterwards.  Only create()
 *       waits, which is allowed to block. */
#include "services/secrets/secret.h"

#include <stdio.h>
#include <string.h>

#include "services/secrets/methods.h"
#include "services/secrets/body.h"
#include "core/engine/runs/call.h"
#include "core/engine/parts/pool.h"
#include "core/plugin/grant.h"
#include "core/plugin/registry.h"

/* ---- fetching secrets (3) ----------------------------------------------- */

struct mortise_fetch {
    struct mortise_task job;
    struct mortise_task task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was cancelled; [loop] */
    void (*then)(struct mortise_asked *a);
    size_t n;
    char names[][MORTISE_SECRET_NAME + 1];
};

static size_t get_fetch_size(size_t n)
{
    return sizeof(struct mortise_fetch) + n * (MORTISE_SECRET_NAME + 1);
}

static void finish_secret_fetch(struct mortise_task *t)
{
    struct mortise_fetch *f =
        MORTISE_CONTAINER_OF(t, struct mortise_fetch, task);
    struct mortise_asked *a = f->asked;
    void (*then)(struct mortise_asked * a) = f->then;

    mortise_release(f->m->mem, f, get_fetch_size(f->n));
    if (a == NULL)
        return;
    a->fetch = NULL;
    then(a);
}

/* [worker] Errors are ignored: the caller gets the same error when it reads the
 * secret. */
static void fetch_secrets(struct mortise_task *j)
{
    struct mortise_fetch *f =
        MORTISE_CONTAINER_OF(j, struct mortise_fetch, job);

    for (size_t i = 0; i < f->n; i++) {
        char *value;

        if (mortise_secret_store_get(f->m->secret_store, f->names[i], &value,
                                     NULL) == MORTISE_OK)
            mortise_secret_store_release(f->m->secret_store, value);
    }
    mortise_call_post(f->m, &f->task);
}

static int start_secret_fetch(struct mortise_asked *a, const char *const *names,
                              size_t n, void (*then)(struct mortise_asked *a),
                              struct mortise_err *err)
{
    struct mortise *m = a->m;
    struct mortise_fetch *f = mortise_zalloc(m->mem, get_fetch_size(n));
    int rv;

    if (f == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < n; i++)
        snprintf(f->names[i], sizeof f->names[i], "%s", names[i]);
    f->n = n;
    f->m = m;
    f->asked = a;
    f->then = then;
    f->job.run = fetch_secrets;
    f->task.run = finish_secret_fetch;
    rv = mortise_pool_put(m->pool, &f->job, err);
    if (rv == MORTISE_OK)
        a->fetch = &f->asked;
    else
        mortise_release(m->mem, f, get_fetch_size(n));
    return rv;
}

int mortise_secret_await(struct mortise_asked *a, const char *const *names,
                         size_t n, void (*then)(struct mortise_asked *a),
                         struct mortise_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!mortise_secret_store_is_ready(a->m->secret_store, names[i]))
            return start_secret_fetch(a, names, n, then, err);
    then(a);
    return MORTISE_OK;
}

/* ---- secret.get/1 ------------------------------------------------------- */

static const char *get_secret_name(const struct mortise_asked *a)
{
    return json_string_value(json_object_get(a->body, "name"));
}

static int32_t check_secret_get(struct mortise_asked *a, char *words)
{
    const char *name = get_secret_name(a);
    struct mortise_err why;
    int rv;

    if (!mortise_body_is_text(json_object_get(a->body, "name")) ||
        json_object_size(a->body) != 1)
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "a request of %s must be {name}",
                                        a->method_name);
    rv = mortise_secret_check_grant(a->m->settings.deployment, a->manifest,
                                    a->as, name, &why);
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_format_error(words,
                                    rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM
                                    : rv == MORTISE_ENOTFOUND
                                        ? MORTISE_S_NOTFOUND
                                        : MORTISE_S_DENIED,
                                    "%.500s", why.msg);
}

static void answer_secret_get(struct mortise_asked *a)
{
    struct mortise_secret_store *secrets = a->m->secret_store;
    struct mortise_err err;
    char *value;
    json_t *out = NULL;
    int rv =
        mortise_secret_store_get(secrets, get_secret_name(a), &value, &err);

    if (rv == MORTISE_OK) {
        out = json_pack("{s:s}", "value", value);
        mortise_secret_store_release(secrets, value);
        rv = out != NULL ? MORTISE_OK : mortise_nomem(&err);
    }
    mortise_host_call_answer(a,
                             rv == MORTISE_OK ? MORTISE_S_OK
                             : rv == MORTISE_ENOMEM || rv == MORTISE_ELIMIT
                                 ? MORTISE_S_NOMEM
                                 : MORTISE_S_FAILED,
                             out, rv == MORTISE_OK ? "" : err.msg);
}

static void start_secret_get(struct mortise_asked *a)
{
    const char *name = get_secret_name(a);
    struct mortise_err err;
    int rv = mortise_secret_await(a, &name, 1, answer_secret_get, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, err.msg);
}

const struct mortise_host_call_method mortise_host_call_secret_get = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_secret_get,
    .needs_no_run = true,
    .start = start_secret_get,
};
