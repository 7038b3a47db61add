/* pinnable.c -- what a discovery plugin has that a lock pins, for people.
 *
 * It is called through its lanes, as for runs, one instance behind the other, and
 * what they say is judged and put together.  The lock has one digest for a key:
 * two instances that have it and mean not the same cannot both be pinned, which is
 * an error.  Its calls are of no run: they are recorded nowhere, and end with the
 * engine. */
#include "core/engine/runs/pinnable.h"

#include <string.h>

#include <mortise/plugin.h>

#include "core/base/nearest.h"
#include "core/engine/common/found.h"
#include "core/engine/runs/call.h"

struct asking {
    struct mortise_hearer hearer;
    struct mortise *m;
    const char *plugin; /* the deployment's own string */
    size_t next;        /* of its discovery plugins, to be looked at */
    json_t *found;
    mortise_pinnable_fn *done;
    void *ud;
};

/* Of a request that is over: the end of it. */
static void end(struct asking *a, int rv, const struct mortise_err *err)
{
    struct asking all = *a;

    mortise_release(a->m->mem, a, sizeof *a);
    all.done(all.ud, rv == MORTISE_OK ? all.found : NULL, err);
    json_decref(all.found);
}

/* ---- what one of them said ------------------------------------------------- */

static int failed(const struct asking *a,
                  const struct mortise_host_call_served *how,
                  struct mortise_err *err)
{
    if (a->m->state == MORTISE_ENGINE_CLOSING) /* the next one is asked again */
        return mortise_engine_ready(a->m, err);
    if (how->status == MORTISE_S_UNSUPPORTED)
        return mortise_fail(err, MORTISE_EINVAL,
                            "plugin '%s' has nothing to pin", a->plugin);
    return mortise_fail(
        err, strcmp(how->code, "plugin") == 0 ? MORTISE_ECONFIG : MORTISE_EIO,
        "plugin '%s': %s: %.800s", a->plugin,
        how->code[0] != '\0' ? how->code : "failed", how->message);
}

/* Its entries beside those of the instances before it. */
static int join(struct asking *a, const json_t *entries,
                struct mortise_err *err)
{
    MORTISE_JSON_MEMBERS (key, one, entries) {
        const json_t *other = json_object_get(a->found, key);

        if (other != NULL && !json_equal(json_object_get(other, "digest"),
                                         json_object_get(one, "digest")))
            return mortise_fail(
                err, MORTISE_EINVAL,
                "two instances of plugin '%s' have different digests for the "
                "entry '%.200s', but a lock file has one digest for an entry; "
                "remove one instance",
                a->plugin, key);
        if (other == NULL &&
            json_object_set(a->found, key, mortise_json_unconst(one)) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

static int take(struct asking *a, const json_t *output, struct mortise_err *err)
{
    json_t *entries = NULL;
    int rv = mortise_found_judge_entries(&entries, output, err);

    if (rv == MORTISE_EINVAL)
        rv = mortise_doing(err, rv, "the answer of plugin '%s' is invalid",
                           a->plugin);
    if (rv == MORTISE_OK)
        rv = join(a, entries, err);
    json_decref(entries);
    return rv;
}

/* ---- asking ---------------------------------------------------------------- */

static void ask_next(struct asking *a);

static void heard(struct mortise_hearer *h,
                  const struct mortise_host_call_served *how)
{
    struct asking *a = MORTISE_OF(h, struct asking, hearer);
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = how->status == MORTISE_S_OK ? take(a, how->output, &err)
                                         : failed(a, how, &err);

    if (rv == MORTISE_OK)
        ask_next(a);
    else
        end(a, rv, &err);
}

/* The next one that is of that plugin; NULL: there are no more. */
static const struct mortise_discoverer *next_of(struct asking *a)
{
    const struct mortise_discoverers *all =
        &a->m->settings.deployment->discovery;

    while (a->next < all->n) {
        const struct mortise_discoverer *d = &all->list[a->next++];

        if (strcmp(d->plugin, a->plugin) == 0)
            return d;
    }
    return NULL;
}

static void ask_next(struct asking *a)
{
    const struct mortise_discoverer *d = next_of(a);
    struct mortise_err err = {.code = MORTISE_OK};
    struct mortise_buf body;
    int rv;

    if (d == NULL) {
        end(a, MORTISE_OK, &err);
        return;
    }
    mortise_buf_init(&body, a->m->mem);
    mortise_buf_puts(&body, "{}");
    rv = mortise_engine_ready(a->m, &err);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve_nobody(
            a->m, &a->hearer, &mortise_call_list,
            d->instance[0] != '\0' ? d->instance : d->plugin, &body, &err);
    mortise_buf_finish(&body);
    if (rv != MORTISE_OK)
        end(a, rv, &err);
}

/* The deployment's own string for it. */
static const char *named(const struct mortise *m, const char *plugin,
                         struct mortise_err *err)
{
    const struct mortise_discoverers *all = &m->settings.deployment->discovery;
    const char *names[MORTISE_DISCOVERERS_MAX], *near;

    for (size_t i = 0; i < all->n; i++) {
        names[i] = all->list[i].plugin;
        if (strcmp(names[i], plugin) == 0)
            return names[i];
    }
    near = mortise_nearest(plugin, names, all->n);
    mortise_fail(
        err, MORTISE_ENOTFOUND,
        "discovery.plugins of the deployment has no plugin '%.64s'%s%s%s",
        plugin, near != NULL ? "; did you mean '" : "",
        near != NULL ? near : "", near != NULL ? "'?" : "");
    return NULL;
}

void mortise_pinnable_ask(struct mortise *m, const char *plugin,
                          mortise_pinnable_fn *done, void *ud)
{
    struct mortise_err err;
    const char *its = named(m, plugin, &err);
    struct asking *a;

    if (its == NULL) {
        done(ud, NULL, &err);
        return;
    }
    a = mortise_zalloc(m->mem, sizeof *a);
    if (a == NULL) {
        mortise_nomem(&err);
        done(ud, NULL, &err);
        return;
    }
    *a = (struct asking){.hearer = {.hear = heard},
                         .m = m,
                         .plugin = its,
                         .found = json_object(),
                         .done = done,
                         .ud = ud};
    if (a->found != NULL)
        ask_next(a);
    else
        end(a, mortise_nomem(&err), &err);
}
