/* secret.c -- secrets for plugins: who may have which, and when it is there.
 *
 *   (1) A plugin has a secret when the deployer wrote its reference into the
 *       plugin's config, at a place that config_schema marks, and then create()
 *       gets it; or when the manifest's permissions.secrets comes to its name,
 *       and then asks may use it.  What a graph says chooses among those.
 *   (2) secret.get/1 is not journaled: its answer is in no record, and a call
 *       that is entered again asks again.
 *   (3) The loop waits for no program: who needs what one says is gone on with
 *       when a worker has it.  create() alone waits, as create() may.
 */
#include "services/secrets/secret.h"

#include <stdio.h>
#include <string.h>

#include "services/secrets/body.h"
#include "core/engine/runs/call.h"
#include "core/engine/parts/pool.h"
#include "core/plugin/grant.h"
#include "core/plugin/registry.h"

/* ---- waiting for programs (3) ---------------------------------------------
 */

struct mortise_fetch {
    struct mortise_task job;
    struct mortise_task task;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was cancelled; [loop] */
    void (*then)(struct mortise_asked *a);
    size_t n;
    char names[][MORTISE_SECRET_NAME + 1];
};

static size_t size_of(size_t n)
{
    return sizeof(struct mortise_fetch) + n * (MORTISE_SECRET_NAME + 1);
}

static void go_on(struct mortise_task *t)
{
    struct mortise_fetch *f = MORTISE_OF(t, struct mortise_fetch, task);
    struct mortise_asked *a = f->asked;
    void (*then)(struct mortise_asked * a) = f->then;

    mortise_release(f->m->mem, f, size_of(f->n));
    if (a == NULL)
        return;
    a->fetch = NULL;
    then(a);
}

/* [worker]: what goes wrong is found again by who gets it. */
static void fetch(struct mortise_task *j)
{
    struct mortise_fetch *f = MORTISE_OF(j, struct mortise_fetch, job);

    for (size_t i = 0; i < f->n; i++) {
        char *value;

        if (mortise_secret_store_get(f->m->secret_store, f->names[i], &value,
                                     NULL) == MORTISE_OK)
            mortise_secret_store_give_back(f->m->secret_store, value);
    }
    mortise_call_post(f->m, &f->task);
}

static int begin_fetch(struct mortise_asked *a, const char *const *names,
                       size_t n, void (*then)(struct mortise_asked *a),
                       struct mortise_err *err)
{
    struct mortise *m = a->m;
    struct mortise_fetch *f = mortise_zalloc(m->mem, size_of(n));
    int rv;

    if (f == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < n; i++)
        snprintf(f->names[i], sizeof f->names[i], "%s", names[i]);
    f->n = n;
    f->m = m;
    f->asked = a;
    f->then = then;
    f->job.run = fetch;
    f->task.run = go_on;
    rv = mortise_pool_put(m->pool, &f->job, err);
    if (rv == MORTISE_OK)
        a->fetch = &f->asked;
    else
        mortise_release(m->mem, f, size_of(n));
    return rv;
}

int mortise_secret_await(struct mortise_asked *a, const char *const *names,
                         size_t n, void (*then)(struct mortise_asked *a),
                         struct mortise_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!mortise_secret_store_is_ready(a->m->secret_store, names[i]))
            return begin_fetch(a, names, n, then, err);
    then(a);
    return MORTISE_OK;
}

/* ---- secret.get/1 ---------------------------------------------------------
 */

static const char *name_of(const struct mortise_asked *a)
{
    return json_string_value(json_object_get(a->body, "name"));
}

static int32_t check(struct mortise_asked *a, char *words)
{
    const char *name = name_of(a);
    struct mortise_err why;
    int rv;

    if (!mortise_body_is_text(json_object_get(a->body, "name")) ||
        json_object_size(a->body) != 1)
        return mortise_ask_refuse(words, MORTISE_S_INVALID,
                                  "a request of %s must be {name}",
                                  a->method_name);
    rv = mortise_secret_granted(a->m->settings.deployment, a->manifest, a->as,
                                name, &why);
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return mortise_ask_refuse(words,
                              rv == MORTISE_ENOMEM      ? MORTISE_S_NOMEM
                              : rv == MORTISE_ENOTFOUND ? MORTISE_S_NOTFOUND
                                                        : MORTISE_S_DENIED,
                              "%.500s", why.msg);
}

static void answer(struct mortise_asked *a)
{
    struct mortise_secret_store *secrets = a->m->secret_store;
    struct mortise_err err;
    char *value;
    json_t *out = NULL;
    int rv = mortise_secret_store_get(secrets, name_of(a), &value, &err);

    if (rv == MORTISE_OK) {
        out = json_pack("{s:s}", "value", value);
        mortise_secret_store_give_back(secrets, value);
        rv = out != NULL ? MORTISE_OK : mortise_nomem(&err);
    }
    mortise_host_call_answer(a,
                             rv == MORTISE_OK ? MORTISE_S_OK
                             : rv == MORTISE_ENOMEM || rv == MORTISE_ELIMIT
                                 ? MORTISE_S_NOMEM
                                 : MORTISE_S_FAILED,
                             out, rv == MORTISE_OK ? "" : err.msg);
}

static void start(struct mortise_asked *a)
{
    const char *name = name_of(a);
    struct mortise_err err;
    int rv = mortise_secret_await(a, &name, 1, answer, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, err.msg);
}

const struct mortise_host_call_method mortise_host_call_secret_get = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check,
    .needs_no_run = true,
    .start = start,
};
