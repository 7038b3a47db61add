/* compact.c -- the short form of an output for dependent nodes.
 *
 * Stages of the pipeline (pipeline.c), for nodes that a leaf depends on and for
 * leaves that set `compaction` (lang/graph/load/compaction.c).
 *
 *   (1) The short form is made once, from the output after guardrails and
 *       schemas, when the output waits for nothing else.  It is recorded in the
 *       node's own commit.
 *   (2) A short output (250 words and 2,000 bytes) is passed on unchanged, and
 *       nothing is recorded, unless the node itself sets its compaction.
 *   (3) A compaction never fails the node.  If its operation is missing, fails,
 *       times out, does not return, or gives no text, dependent nodes get the
 *       first part of the output and a mark that it was cut.  The record has
 *       the reason.
 *   (4) Asks of the operation, for example to a model, are part of its call,
 *       like those of guardrails.  They are recorded, and not repeated after a
 *       crash.
 *   (5) Outputs of on_error, and outputs that a race discards, are not worth a
 *       call.
 *   (6) The compacted text may be at most twice as long as a short one, since
 *       models count badly.  A longer text is cut as in (3), so that one output
 *       cannot flood a node that depends on many. */
#include <string.h>

#include "core/run/outcome/outcome.h"

static const struct mortise_side_operation *
get_compaction(const struct outcome *o)
{
    return mortise_exec_node(o->r, o->x)->compaction;
}

/* ---- the call of the compaction ----------------------------------------- */

/* (5); and (2), as far as that needs no measuring. */
static bool may_be_compacted(const struct outcome *o)
{
    return o->entry.how != DONE_ON_ERROR && o->x->discard == 0 &&
           o->x->loss == LOSS_NONE && o->entry.value != NULL &&
           !json_is_null(o->entry.value);
}

bool mortise_stage_compact_is_due(const struct outcome *o)
{
    const struct mortise_side_operation *how = get_compaction(o);
    struct mortise_err err;
    bool is_short;

    if (how == NULL || how->op == NULL || !may_be_compacted(o))
        return false;
    return how->declared_by_node ||
           (mortise_brief_check_short(o->r, o->entry.value, &is_short, &err) ==
                MORTISE_OK &&
            !is_short);
}

/* {node: {id, type, goal?, llm?}, output, words}. */
static json_t *make_compaction_body(const struct outcome *o)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    const json_t *told = json_object_get(o->x->body, "node");
    json_t *llm = NULL;

    if (n->compaction->llm != NULL &&
        (llm = mortise_json_parse_trusted(n->compaction->llm)) == NULL)
        return NULL;
    return json_pack("{s:{s:s, s:s, s:O*, s:o*}, s:O, s:i}", "node", "id",
                     n->id, "type", mortise_node_type_name(n->type), "goal",
                     json_object_get(told, "goal"), "llm", llm, "output",
                     o->entry.value, "words", MORTISE_BRIEF_WORDS);
}

int mortise_stage_compact(struct outcome *o, struct mortise_err *err)
{
    json_t *body;
    bool stands;
    int rv = mortise_pipeline_must_stop(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    rv = mortise_event_announce_live(o->r, o->x, "node_compacting", err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_json_set_ref(&o->x->full_output, o->output);
    body = make_compaction_body(o);
    return body != NULL ? mortise_call_start_with(
                              o->r, o->x, MORTISE_RUN_COMPACT, body, err)
                        : mortise_nomem(err);
}

int mortise_compact_settle(struct mortise_run *r, struct exec *x,
                           const struct aside *said, struct mortise_err *err)
{
    json_t *output = x->full_output;
    int rv;

    assert(x->call == MORTISE_RUN_COMPACT && output != NULL);
    x->brief = said->output != NULL
                   ? mortise_brief_from_compaction(r, output, said->output)
                   : mortise_brief_cut(r, output, said->code, said->words);
    if (x->brief == NULL)
        return mortise_nomem(err);
    x->full_output = NULL;
    rv = mortise_pipeline_resume(r, x, output, NULL, err);
    json_decref(output);
    mortise_json_clear_ref(&x->brief); /* unless it was recorded */
    return rv;
}

/* ---- the entry in the node's commit (1) --------------------------------- */

/* The short form of a long output for which the operation was not called. */
static json_t *cut_uncompacted_output(const struct outcome *o)
{
    const bool missing = get_compaction(o)->op == NULL;

    return mortise_brief_cut(o->r, o->entry.value,
                             missing ? "plugin" : "cancelled",
                             missing ? "agent/compact is not available"
                                     : "the compaction was not called");
}

int mortise_stage_compacted(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e =
        mortise_exec_make_entry(o->r, o->x, MORTISE_E_COMPACTED);
    json_t *brief = o->x->brief;
    bool is_short = true;
    int rv = MORTISE_OK;

    if (get_compaction(o) == NULL)
        return MORTISE_OK;
    o->x->brief = NULL;
    if (brief == NULL && o->entry.value != NULL)
        rv = mortise_brief_check_short(o->r, o->entry.value, &is_short, err);
    if (rv != MORTISE_OK || (brief == NULL && is_short))
        return rv;
    return mortise_run_record_value(
        o->r, &e, brief != NULL ? brief : cut_uncompacted_output(o), err);
}

int mortise_apply_compacted(struct mortise_run *r, struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    const json_t *error = json_object_get(e->value, "error");
    json_t *extra = NULL;

    if (json_object_get(e->value, "output") == NULL ||
        !json_is_string(json_object_get(e->value, "how")))
        return mortise_entry_corrupt(err, e);
    mortise_generation_set_compacted(x, e->value);
    if (error == NULL)
        return MORTISE_OK;
    if (mortise_run_has_watcher(r)) {
        extra = json_pack(
            "{s:s, s:o}", "code", "compaction", "message",
            json_sprintf("the output was cut for dependent nodes: %s: %s",
                         mortise_json_get_text(error, "code"),
                         mortise_json_get_text(error, "message")));
        if (extra == NULL)
            return mortise_nomem(err);
    }
    return mortise_event_announce(r, x, "warning", extra, err);
}

void mortise_describe_compacted(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "how", json_object_get(e->value, "how"));
    json_object_set(out, "error", json_object_get(e->value, "error"));
}
