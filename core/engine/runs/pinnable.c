/* pinnable.c -- ask a discovery plugin for the entries that a lock file can
 * pin; for people.
 *
 * The instances of the plugin are called through their lanes, as for runs, one
 * after the other; their answers are checked and merged.  A lock file has one
 * digest for each key.  If two instances have different digests for a key, they
 * cannot both be pinned, which is an error.  The calls belong to no run: they
 * are not recorded, and end with the engine.
 */
#include "core/engine/runs/pinnable.h"

#include <string.h>

#include <mortise/plugin.h>

#include "core/base/nearest.h"
#include "core/engine/common/found.h"
#include "core/engine/runs/call.h"

struct asking {
    struct mortise_result_receiver result_receiver;
    struct mortise *m;
    const char *plugin; /* the deployment's own string */
    size_t next;        /* index of the next discovery plugin to try */
    json_t *found;
    mortise_pinnable_fn *done;
    void *ud;
};

/* Report the result and free the request. */
static void end_pinnable_ask(struct asking *a, int rv,
                             const struct mortise_err *err)
{
    struct asking all = *a;

    mortise_release(a->m->mem, a, sizeof *a);
    all.done(all.ud, rv == MORTISE_OK ? all.found : NULL, err);
    json_decref(all.found);
}

/* ---- answers ------------------------------------------------------------- */

static int fail_pinnable_call(const struct asking *a,
                              const struct mortise_host_call_result *how,
                              struct mortise_err *err)
{
    if (a->m->state == MORTISE_ENGINE_CLOSING) /* the caller repeats the request
                                                  at the next engine */
        return mortise_engine_check_ready(a->m, err);
    if (how->status == MORTISE_S_UNSUPPORTED)
        return mortise_fail(err, MORTISE_EINVAL,
                            "plugin '%s' has nothing to pin", a->plugin);
    return mortise_fail(
        err, strcmp(how->code, "plugin") == 0 ? MORTISE_ECONFIG : MORTISE_EIO,
        "plugin '%s': %s: %.800s", a->plugin,
        how->code[0] != '\0' ? how->code : "failed", how->message);
}

/* Merge the entries with those of earlier instances. */
static int merge_pinned_entries(struct asking *a, const json_t *entries,
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

static int take_pinnable_answer(struct asking *a, const json_t *output,
                                struct mortise_err *err)
{
    json_t *entries = NULL;
    int rv = mortise_found_check_entries(&entries, output, err);

    if (rv == MORTISE_EINVAL)
        rv = mortise_err_prefix(err, rv, "the answer of plugin '%s' is invalid",
                                a->plugin);
    if (rv == MORTISE_OK)
        rv = merge_pinned_entries(a, entries, err);
    json_decref(entries);
    return rv;
}

/* ---- calls --------------------------------------------------------------- */

static void ask_next_instance(struct asking *a);

static void on_pinnable_answer(struct mortise_result_receiver *h,
                               const struct mortise_host_call_result *how)
{
    struct asking *a = MORTISE_CONTAINER_OF(h, struct asking, result_receiver);
    struct mortise_err err = {.code = MORTISE_OK};
    int rv = how->status == MORTISE_S_OK
                 ? take_pinnable_answer(a, how->output, &err)
                 : fail_pinnable_call(a, how, &err);

    if (rv == MORTISE_OK)
        ask_next_instance(a);
    else
        end_pinnable_ask(a, rv, &err);
}

/* The name of the next instance of the plugin; NULL: there are no more. */
static const char *get_next_instance(struct asking *a)
{
    const char *name, *plugin;

    do {
        name = mortise_deployment_get_discoverer(a->m->settings.deployment,
                                                 a->next++, &plugin);
    } while (name != NULL && strcmp(plugin, a->plugin) != 0);
    return name;
}

static void ask_next_instance(struct asking *a)
{
    const char *name = get_next_instance(a);
    struct mortise_err err = {.code = MORTISE_OK};
    struct mortise_buf body;
    int rv;

    if (name == NULL) {
        end_pinnable_ask(a, MORTISE_OK, &err);
        return;
    }
    mortise_buf_init(&body, a->m->mem);
    mortise_buf_puts(&body, "{}");
    rv = mortise_engine_check_ready(a->m, &err);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve_runless(a->m, &a->result_receiver,
                                         &mortise_call_list, name, &body, &err);
    mortise_buf_finish(&body);
    if (rv != MORTISE_OK)
        end_pinnable_ask(a, rv, &err);
}

/* The deployment's own string for the name. */
static const char *find_discovery_plugin(const struct mortise *m,
                                         const char *plugin,
                                         struct mortise_err *err)
{
    const char *names[MORTISE_DISCOVERERS_MAX], *near;
    size_t n = 0;

    while (n < MORTISE_DISCOVERERS_MAX &&
           mortise_deployment_get_discoverer(m->settings.deployment, n,
                                             &names[n]) != NULL) {
        if (strcmp(names[n], plugin) == 0)
            return names[n];
        n++;
    }
    near = mortise_nearest_find(plugin, names, n);
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
    const char *its = find_discovery_plugin(m, plugin, &err);
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
    *a = (struct asking){.result_receiver = {.hear = on_pinnable_answer},
                         .m = m,
                         .plugin = its,
                         .found = json_object(),
                         .done = done,
                         .ud = ud};
    if (a->found != NULL)
        ask_next_instance(a);
    else
        end_pinnable_ask(a, mortise_nomem(&err), &err);
}
