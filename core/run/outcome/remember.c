/* remember.c -- writing a node's output to memory: stages of the pipeline
 * (pipeline.c), for nodes whose memory_policy encodes.
 *
 *   (1) The trace has the output after guardrails and schemas.  An on_error
 *       value, an output that a race discards, null and an empty text are not
 *       remembered.
 *   (2) The trace's id is a hash of the execution's identity.  Another attempt,
 *       another generation, or another process after a crash writes the same
 *       trace, and the memory keeps the first.
 *   (3) A `live` trace is written before the node is done, so that later nodes
 *       read it.  The memory is outside of the store, so the write first waits
 *       for the sync of its cause (R12): the output and the trace are recorded
 *       (`remembering`).  After a crash, and in a retry after the memory
 *       failed, the same trace is written again (2), and the call that gave the
 *       output is not repeated.  So the memory never has an output that the run
 *       lacks.
 *   (4) Other traces are recorded in the node's own commit only; outbox.c
 *       delivers them after it.
 *   (5) Guardrails of a write (guardrail_policy.memory_write) check the output
 *       before the trace is made.  Their replacement is remembered; the output
 *       itself stays. */
#include <string.h>

#include <mortise/memory.h>

#include "core/base/utf8.h"
#include "core/run/outcome/outcome.h"

static const struct mortise_memory_policy *
get_memory_policy(const struct outcome *o)
{
    return mortise_exec_node(o->r, o->x)->memory;
}

/* ---- the trace ----------------------------------------------------------- */

static const char *get_trace_id(const json_t *trace)
{
    return json_string_value(json_object_get(trace, "id"));
}

/* Cut to the maximal length of a trace: a new reference. */
static json_t *cut_to_trace_length(const char *text, size_t n)
{
    return mortise_json_make_string(
        text, mortise_utf8_get_prefix_size(text, n, MORTISE_MEMORY_CONTENT));
}

/* The text of an output: the string itself, or its JSON. */
static json_t *make_trace_content(const struct mortise_run *r,
                                  const json_t *output)
{
    json_t *content;
    char *text;

    if (json_is_string(output))
        return cut_to_trace_length(json_string_value(output),
                                   json_string_length(output));
    text = mortise_json_to_text(r->mem, output);
    content = text != NULL ? cut_to_trace_length(text, strlen(text)) : NULL;
    mortise_release_str(r->mem, text);
    return content;
}

static json_t *make_trace(const struct mortise_run *r, const struct exec *x,
                          const json_t *output, const json_t *keys)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const char *scope = mortise_memory_scope_name(n->memory->write_scope);
    char id[MORTISE_DIGEST_HEX], path[MORTISE_EXEC_PATH];

    mortise_exec_print_stable_name(r, x, "trace", id);
    mortise_exec_print_path(r, x, path);
    return json_pack(
        "{s:s, s:s, s:s, s:O*, s:o, s:f, s:I, s:{s:s, s:s, s:s, s:s}}", "id",
        id, "type", n->memory->type, "scope", scope, "key",
        json_object_get(keys, scope), "content", make_trace_content(r, output),
        "strength", 1.0, "created_at", (json_int_t)r->time_ms, "metadata",
        "graph", r->graph->name, "run", r->id, "node", n->id, "path", path);
}

/* Make x->trace.  MORTISE_EINVAL: its keys cannot be evaluated. */
static int make_exec_trace(struct outcome *o, const char **code,
                           struct mortise_err *err)
{
    json_t *keys, *trace;
    int rv = mortise_memory_make_keys(o->r, o->x, &keys, code, &o->why, err);

    if (rv != MORTISE_OK)
        return rv;
    trace = make_trace(o->r, o->x,
                       o->x->replaced_trace != NULL ? o->x->replaced_trace
                                                    : o->entry.value,
                       keys);
    mortise_exec_set_trace(o->x, trace);
    json_decref(trace);
    json_decref(keys);
    return o->x->trace != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* (1) */
static bool must_remember(const struct outcome *o)
{
    const struct mortise_memory_policy *p = get_memory_policy(o);
    const json_t *output = o->entry.value;

    return p != NULL && p->encodes && o->entry.how != DONE_ON_ERROR &&
           o->x->discard == 0 && o->x->loss == LOSS_NONE && output != NULL &&
           !json_is_null(output) &&
           !(json_is_string(output) && json_string_length(output) == 0);
}

/* ---- guardrails of the write (5) ---------------------------------------- */

bool mortise_stage_memorable_is_due(const struct outcome *o)
{
    return mortise_exec_node(o->r, o->x)->guards[MORTISE_GUARD_REMEMBERED].n >
               0 &&
           must_remember(o);
}

int mortise_stage_memorable(struct outcome *o, struct mortise_err *err)
{
    bool stands;
    int rv = mortise_pipeline_must_stop(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    mortise_json_clear_ref(&o->x->replaced_trace);
    mortise_json_set_ref(&o->x->encoded, o->output);
    return mortise_guard_start_round(o->r, o->x, MORTISE_GUARD_REMEMBERED,
                                     o->entry.value, err);
}

int mortise_remember_handle_verdict(struct mortise_run *r, struct exec *x,
                                    const struct mortise_err *refused,
                                    struct mortise_err *err)
{
    json_t *output = x->encoded;
    int rv;

    assert(x->stage == MORTISE_GUARD_REMEMBERED);
    x->encoded = NULL;
    if (refused == NULL && x->replaced)
        mortise_json_set_ref(&x->replaced_trace, x->subject);
    rv = mortise_pipeline_resume(r, x, output, refused, err);
    json_decref(output);
    return rv;
}

/* ---- `live` traces (3) -------------------------------------------------- */

bool mortise_stage_remember_is_due(const struct outcome *o)
{
    return must_remember(o) &&
           get_memory_policy(o)->consistency == MORTISE_MEMORY_LIVE;
}

static int fail_remember(struct mortise_run *r, struct exec *x,
                         const char *code, const char *class, const char *words,
                         struct mortise_err *err)
{
    mortise_json_clear_ref(&x->encoded);
    return mortise_fail_attempt(r, x, code, class, words, err);
}

/* Record the output, with the edges that were checked, and its trace. */
static int record_remembering(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e = o->entry;
    int rv;

    e.type = MORTISE_E_REMEMBERING;
    e.value =
        json_pack("{s:O, s:O}", "output", o->output, "trace", o->x->trace);
    e.edges = o->x->n_chosen > 0 ? mortise_exec_get_taken_edges(o->x) : NULL;
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

    if (!mortise_exec_can_take_edges(n->out, n->n_out, e) || output == NULL ||
        get_trace_id(trace) == NULL || e->generation != x->generation ||
        e->how > DONE_CACHED || e->how == DONE_ON_ERROR)
        return mortise_entry_corrupt(err, e);
    left.value = output;
    rv = mortise_leaving_store(r, x, &left, x->sought, err);
    mortise_exec_set_trace(x, trace);
    return rv == MORTISE_OK ? mortise_exec_make_intent(r, x, e, err) : rv;
}

/* The first time, record the trace; the output comes here again when that is on
 * disk. */
static int make_and_record_trace(struct outcome *o, struct mortise_err *err)
{
    const char *code = "expression";
    int rv = make_exec_trace(o, &code, err);

    if (rv == MORTISE_EINVAL) {
        mortise_exec_drop_leaving(o->x);
        return fail_remember(o->r, o->x, code, "permanent", o->why.msg, err);
    }
    return rv == MORTISE_OK ? record_remembering(o, err) : rv;
}

/* As for output guardrails, x may have to stop first. */
int mortise_stage_remember(struct outcome *o, struct mortise_err *err)
{
    json_t *body;
    bool stands;
    int rv = mortise_pipeline_must_stop(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    if (o->x->trace == NULL)
        return make_and_record_trace(o, err);
    mortise_json_set_ref(&o->x->encoded, o->output);
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
        return fail_remember(r, x, "memory.timeout", "timeout",
                             mortise_exec_print_timeout(x, words), err);
    mortise_fail_delay_retry(x, in->retry_after_ms);
    if (in->status != 0)
        return fail_remember(
            r, x, mortise_lookup_get_code(in->error_code, "memory", room),
            in->error_class, in->message, err);
    output = x->encoded;
    x->encoded = NULL;
    rv = mortise_pipeline_resume(r, x, output, NULL, err);
    json_decref(output);
    return rv;
}

/* ---- in the node's commit (4) ------------------------------------------- */

/* If the trace cannot be made for lack of a session, the node is done without
 * one. */
int mortise_stage_encode(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e =
        mortise_exec_make_entry(o->r, o->x, MORTISE_E_REMEMBER);
    const char *code;
    int rv = MORTISE_OK;

    if (!must_remember(o))
        return MORTISE_OK;
    if (o->x->trace == NULL) /* else it was written already */
        rv = make_exec_trace(o, &code, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? MORTISE_OK : rv;
    e.how = (uint8_t)get_memory_policy(o)->consistency;
    rv = mortise_run_record_value(o->r, &e, json_incref(o->x->trace), err);
    mortise_exec_set_trace(o->x, NULL);
    mortise_json_clear_ref(&o->x->replaced_trace);
    return rv;
}

int mortise_apply_remember(struct mortise_run *r, struct exec *x,
                           const struct mortise_entry *e,
                           struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv;

    if (e->how > MORTISE_MEMORY_JOURNALED || get_trace_id(e->value) == NULL)
        return mortise_entry_corrupt(err, e);
    if (mortise_run_has_watcher(r)) {
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
               : mortise_outbox_add_trace(
                     r, e->value, (enum mortise_consistency)e->how, err);
}

void mortise_describe_remember(json_t *out, const struct mortise_entry *e)
{
    if (e->how <= MORTISE_MEMORY_JOURNALED)
        json_object_set_new(out, "how",
                            json_string(mortise_consistency_name(
                                (enum mortise_consistency)e->how)));
}
