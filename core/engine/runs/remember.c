/* remember.c -- call the deployment's memory plugin without a run: for people
 * (`mortise memory`) and for the engine itself.
 *
 * The plugin is called through its lane, as for runs, and its answer is checked
 * the same way.  The call belongs to no run: it is not recorded, and ends with
 * the engine.
 */
#include "core/engine/runs/remember.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/engine/common/traces.h"
#include "core/engine/runs/call.h"

struct asking {
    struct mortise_result_receiver result_receiver;
    struct mortise *m;
    const struct mortise_call_kind *kind;
    json_t *body; /* a reference */
    mortise_memory_fn *done;
    void *ud;
};

/* Map a plugin's error to a result code.  If the engine stopped the call
 * because it closes, that is no error of the plugin: the caller repeats the
 * request at the next engine. */
static int fail_memory_ask(struct mortise *m, struct mortise_err *err,
                           const struct mortise_host_call_result *how)
{
    bool again = strcmp(how->error_class, "transient") == 0 ||
                 strcmp(how->error_class, "timeout") == 0;
    /* Not MORTISE_ECORRUPT: salvaging the store would not repair the memory's
     * file. */
    int code = strcmp(how->code, "memory.full") == 0 ? MORTISE_ENOSPC
               : strcmp(how->code, "plugin") == 0    ? MORTISE_ECONFIG
               : again || strcmp(how->code, "memory.corrupt") == 0
                   ? MORTISE_EIO
                   : MORTISE_EINVAL;

    if (m->state == MORTISE_ENGINE_CLOSING)
        return mortise_engine_check_ready(m, err);
    return mortise_fail(err, code, "the memory: %s: %.800s",
                        how->code[0] != '\0' ? how->code : "memory.failed",
                        how->message);
}

static void on_memory_answer(struct mortise_result_receiver *h,
                             const struct mortise_host_call_result *how)
{
    struct asking *a = MORTISE_CONTAINER_OF(h, struct asking, result_receiver);
    struct asking all = *a;
    struct mortise_err err = {.code = MORTISE_OK};
    int rv =
        how->status == MORTISE_S_OK
            ? mortise_traces_check_answer(a->kind, a->body, how->output, &err)
            : fail_memory_ask(a->m, &err, how);

    if (how->status == MORTISE_S_OK && rv != MORTISE_OK)
        mortise_err_prefix(&err, MORTISE_EINVAL,
                           "the memory's answer is invalid");
    mortise_release(a->m->mem, a, sizeof *a);
    all.done(all.ud, rv == MORTISE_OK ? how->output : NULL, &err);
    json_decref(all.body);
}

/* Find the memory's manifest, and check the request. */
static int check_memory_request(struct mortise *m,
                                const struct mortise_call_kind *kind,
                                const json_t *body, struct mortise_err *err)
{
    const char *plugin = m->settings.memory;
    const struct mortise_manifest *its;

    if (plugin == NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "the deployment has no memory: set memory.plugin");
    its = mortise_plugins_find(m->plugins, plugin, err);
    return its != NULL ? mortise_traces_check_request(its, kind, body, err)
                       : err->code;
}

static int start_memory_ask(struct mortise *m, struct asking *a,
                            const char *tenant, struct mortise_err *err)
{
    json_t *whole = mortise_traces_make_body(a->body, tenant, mortise_now_ms());
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, m->mem);
    rv = whole != NULL ? mortise_json_write(&text, whole) : MORTISE_ENOMEM;
    json_decref(whole);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve_runless(m, &a->result_receiver, a->kind,
                                         MORTISE_MEMORY_INSTANCE, &text, err);
    mortise_buf_finish(&text);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

void mortise_memory_call_plugin(struct mortise *m, const char *tenant,
                                const struct mortise_call_kind *kind,
                                const json_t *body, mortise_memory_fn *done,
                                void *ud)
{
    struct mortise_err err;
    struct asking *a;
    int rv = check_memory_request(m, kind, body, &err);

    a = rv == MORTISE_OK ? mortise_zalloc(m->mem, sizeof *a) : NULL;
    if (rv == MORTISE_OK && a == NULL)
        rv = mortise_nomem(&err);
    if (rv == MORTISE_OK) {
        *a = (struct asking){.result_receiver = {.hear = on_memory_answer},
                             .m = m,
                             .kind = kind,
                             .body = json_incref(mortise_json_unconst(body)),
                             .done = done,
                             .ud = ud};
        rv = start_memory_ask(m, a, tenant, &err);
    }
    if (rv == MORTISE_OK)
        return;
    if (a != NULL) {
        json_decref(a->body);
        mortise_release(m->mem, a, sizeof *a);
    }
    done(ud, NULL, &err);
}
