/* remember.c -- what becomes of a node's output in memory: stages of it
 * (pipeline.c), for nodes whose memory_policy encodes.
 *
 *   (1) What is remembered is the output as its guardrails left it and its
 *       schemas have it; not what on_error gave in its place, nor what a race
 *       has no use for, nor nothing (null, an empty text).
 *   (2) The trace's id is a hash of the execution's identity: another attempt,
 *       another generation, another process after a crash write the same trace,
 *       and the memory keeps the first.
 *   (3) `live` is written before the node is done, so that whatever comes after
 *       it reads that.  The memory is outside of the store, so the write waits
 *       for the sync of what it stands on (R12): the output and the trace are
 *       recorded first (`remembering`).  After a crash, and in the attempt behind
 *       one that the memory failed, that very trace is written again (2), and
 *       what gave the output is not called again: the memory never has a reply
 *       that the run has not.
 *   (4) The others stand in the node's own commit, and nowhere before: outbox.c
 *       has them written behind it.
 *   (5) Guardrails of what is remembered (guardrail_policy.memory_write) are
 *       shown it before anything of it is made; what they put in its place is
 *       remembered, and the output stays. */
#include <string.h>

#include <mortise/memory.h>

#include "core/base/utf8.h"
#include "core/run/outcome/outcome.h"

static const struct mortise_memory_policy *policy_of(const struct outcome *o)
{
    return mortise_exec_node(o->r, o->x)->memory;
}

/* ---- a trace ------------------------------------------------------------- */

static const char *id_of(const json_t *trace)
{
    return json_string_value(json_object_get(trace, "id"));
}

/* As far as a trace may be long: a new reference. */
static json_t *cut(const char *text, size_t n)
{
    return mortise_json_strn(text,
                             mortise_utf8_cut(text, n, MORTISE_MEMORY_CONTENT));
}

/* The text of an output: itself, or its JSON. */
static json_t *content_of(const struct mortise_run *r, const json_t *output)
{
    json_t *content;
    char *text;

    if (json_is_string(output))
        return cut(json_string_value(output), json_string_length(output));
    text = mortise_json_text(r->mem, output);
    content = text != NULL ? cut(text, strlen(text)) : NULL;
    mortise_release_str(r->mem, text);
    return content;
}

static json_t *make_trace(const struct mortise_run *r, const struct exec *x,
                          const json_t *output, const json_t *keys)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const char *scope = mortise_memory_scope_name(n->memory->write_scope);
    char id[MORTISE_DIGEST_HEX], path[MORTISE_EXEC_PATH];

    mortise_exec_name(r, x, "trace", id);
    mortise_exec_path(r, x, path);
    return json_pack(
        "{s:s, s:s, s:s, s:O*, s:o, s:f, s:I, s:{s:s, s:s, s:s, s:s}}", "id",
        id, "type", n->memory->type, "scope", scope, "key",
        json_object_get(keys, scope), "content", content_of(r, output),
        "strength", 1.0, "created_at", (json_int_t)r->time_ms, "metadata",
        "graph", r->graph->name, "run", r->id, "node", n->id, "path", path);
}

/* x->trace is there; MORTISE_EINVAL: whose it is cannot be said. */
static int find_trace(struct outcome *o, const char **code,
                      struct mortise_err *err)
{
    json_t *keys, *trace;
    int rv = mortise_memory_keys(o->r, o->x, &keys, code, &o->why, err);

    if (rv != MORTISE_OK)
        return rv;
    trace = make_trace(
        o->r, o->x, o->x->memorable != NULL ? o->x->memorable : o->entry.value,
        keys);
    mortise_exec_keep_trace(o->x, trace);
    json_decref(trace);
    json_decref(keys);
    return o->x->trace != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* (1) */
static bool is_remembered(const struct outcome *o)
{
    const struct mortise_memory_policy *p = policy_of(o);
    const json_t *output = o->entry.value;

    return p != NULL && p->encodes && o->entry.how != DONE_ON_ERROR &&
           o->x->discard == 0 && o->x->loss == LOSS_NONE && output != NULL &&
           !json_is_null(output) &&
           !(json_is_string(output) && json_string_length(output) == 0);
}

/* ---- guardrails of it (5) ------------------------------------------------ */

bool mortise_stage_memorable_is_due(const struct outcome *o)
{
    return mortise_exec_node(o->r, o->x)->guards[MORTISE_GUARD_REMEMBERED].n >
               0 &&
           is_remembered(o);
}

int mortise_stage_memorable(struct outcome *o, struct mortise_err *err)
{
    bool stands;
    int rv = mortise_pipeline_stands(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    mortise_json_drop(&o->x->memorable);
    mortise_json_hold(&o->x->encoded, o->output);
    return mortise_guard_begin(o->r, o->x, MORTISE_GUARD_REMEMBERED,
                               o->entry.value, err);
}

int mortise_remember_judged(struct mortise_run *r, struct exec *x,
                            const struct mortise_err *refused,
                            struct mortise_err *err)
{
    json_t *output = x->encoded;
    int rv;

    assert(x->stage == MORTISE_GUARD_REMEMBERED);
    x->encoded = NULL;
    if (refused == NULL && x->replaced)
        mortise_json_hold(&x->memorable, x->subject);
    rv = mortise_pipeline_resume(r, x, output, refused, err);
    json_decref(output);
    return rv;
}

/* ---- before it is done (3) ----------------------------------------------- */

bool mortise_stage_remember_is_due(const struct outcome *o)
{
    return is_remembered(o) && policy_of(o)->consistency == MORTISE_MEMORY_LIVE;
}

static int fail(struct mortise_run *r, struct exec *x, const char *code,
                const char *class, const char *words, struct mortise_err *err)
{
    mortise_json_drop(&x->encoded);
    return mortise_fail_attempt(r, x, code, class, words, err);
}

/* The output, on the edges that were looked at, and its trace. */
static int record(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e = o->entry;
    int rv;

    e.type = MORTISE_E_REMEMBERING;
    e.value =
        json_pack("{s:O, s:O}", "output", o->output, "trace", o->x->trace);
    e.edges = o->x->n_chosen > 0 ? mortise_exec_going(o->x) : NULL;
    e.n_edges = o->x->n_chosen;
    rv = e.value != NULL ? mortise_leaving_record(o, &e, err)
                         : mortise_nomem(err);
    json_decref(e.value);
    return rv;
}

int mortise_apply_remembering(struct mortise_run *r, struct exec *x,
                              const struct mortise_entry *e,
                              struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *output = json_object_get(e->value, "output");
    json_t *trace = json_object_get(e->value, "trace");
    struct mortise_entry left = *e;
    int rv;

    if (!mortise_exec_edges_fit(n->out, n->n_out, e) || output == NULL ||
        id_of(trace) == NULL || e->generation != x->generation ||
        e->how > DONE_CACHED || e->how == DONE_ON_ERROR)
        return mortise_entry_corrupt(err, e);
    left.value = output;
    rv = mortise_leaving_keep(r, x, &left, x->sought, err);
    mortise_exec_keep_trace(x, trace);
    return rv == MORTISE_OK ? mortise_exec_intend(r, x, e, err) : rv;
}

/* What this is the first time is recorded, and comes here again once that is on
 * disk. */
static int record_trace(struct outcome *o, struct mortise_err *err)
{
    const char *code = "expression";
    int rv = find_trace(o, &code, err);

    if (rv == MORTISE_EINVAL) {
        mortise_exec_forget_leaving(o->x);
        return fail(o->r, o->x, code, "permanent", o->why.msg, err);
    }
    return rv == MORTISE_OK ? record(o, err) : rv;
}

/* Like guardrails of an output: who is to stop is asked when it goes on. */
int mortise_stage_remember(struct outcome *o, struct mortise_err *err)
{
    json_t *body;
    bool stands;
    int rv = mortise_pipeline_stands(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    if (o->x->trace == NULL)
        return record_trace(o, err);
    mortise_json_hold(&o->x->encoded, o->output);
    body = json_pack("{s:s, s:I, s:[O]}", "tenant", o->r->tenant, "now",
                     (json_int_t)o->r->time_ms, "traces", o->x->trace);
    return body != NULL ? mortise_call_start_with(
                              o->r, o->x, MORTISE_RUN_REMEMBER, body, err)
                        : mortise_nomem(err);
}

int mortise_remember_settle(struct mortise_run *r, struct exec *x,
                            const struct mortise_result_in *in, bool late,
                            struct mortise_err *err)
{
    char words[MORTISE_TIMEOUT_WORDS], room[MORTISE_LOOKUP_CODE];
    json_t *output;
    int rv;

    if (late)
        return fail(r, x, "memory.timeout", "timeout",
                    mortise_exec_timed_out(x, words), err);
    mortise_fail_no_sooner(x, in->retry_after_ms);
    if (in->status != 0)
        return fail(r, x, mortise_lookup_code(in->error_code, "memory", room),
                    in->error_class, in->message, err);
    output = x->encoded;
    x->encoded = NULL;
    rv = mortise_pipeline_resume(r, x, output, NULL, err);
    json_decref(output);
    return rv;
}

/* ---- with its commit (4) ------------------------------------------------- */

/* A trace that cannot be made for want of a session is none: its node is done. */
int mortise_stage_encode(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(o->r, o->x, MORTISE_E_REMEMBER);
    const char *code;
    int rv = MORTISE_OK;

    if (!is_remembered(o))
        return MORTISE_OK;
    if (o->x->trace == NULL) /* else it is what was written */
        rv = find_trace(o, &code, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? MORTISE_OK : rv;
    e.how = (uint8_t)policy_of(o)->consistency;
    rv = mortise_run_record_value(o->r, &e, json_incref(o->x->trace), err);
    mortise_exec_keep_trace(o->x, NULL);
    mortise_json_drop(&o->x->memorable);
    return rv;
}

int mortise_apply_remember(struct mortise_run *r, struct exec *x,
                           const struct mortise_entry *e,
                           struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv;

    if (e->how > MORTISE_MEMORY_JOURNALED || id_of(e->value) == NULL)
        return mortise_entry_corrupt(err, e);
    if (mortise_run_is_seen(r)) {
        extra = json_pack(
            "{s:s, s:O}", "consistency",
            mortise_consistency_name((enum mortise_consistency)e->how), "trace",
            e->value);
        if (extra == NULL)
            return mortise_nomem(err);
    }
    rv = mortise_event_announce(r, x, "memory_write", extra, err);
    return rv != MORTISE_OK || e->how == MORTISE_MEMORY_LIVE
               ? rv
               : mortise_outbox_put(r, e->value,
                                    (enum mortise_consistency)e->how, err);
}

void mortise_describe_remember(json_t *out, const struct mortise_entry *e)
{
    if (e->how <= MORTISE_MEMORY_JOURNALED)
        json_object_set_new(out, "how",
                            json_string(mortise_consistency_name(
                                (enum mortise_consistency)e->how)));
}
