/* recall.c -- the lookup `recall`: a node reads its memory.
 *
 *   (1) Consistency.  A `snapshot` read is as of the number that the run pinned
 *       at its start (outbox.c); if the memory did not answer then, the number
 *       of the run's first read is pinned.  `live` reads the newest state.
 *       `journaled` reads it too, and puts the run's own matching traces that
 *       the memory may not have yet in front, the newest first.
 *   (2) Keys: `persona` is the graph; `session` is set by the node's policy, by
 *       default the run; `conversation` is the node's, within that session.
 *   (3) The answer is checked: valid traces, each once, and no more than
 *       requested.
 */
#include <assert.h>
#include <string.h>

#include <mortise/memory.h>

#include "core/base/utf8.h"
#include "core/run/outcome/lookups.h"
#include "core/run/outcome/outcome.h"

enum { KEY_MAX = 128 }; /* a conversation's key adds a name */

static bool needs_recall(const struct mortise_node *n)
{
    return n->memory != NULL && n->memory->reads;
}

/* ---- the keys (2) -------------------------------------------------------- */

/* The session that the policy gives, or the run's id: a new reference. */
static int get_session(struct mortise_run *r, struct exec *x, json_t **out,
                       const char **code, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv = mortise_lookup_eval_text(
        r, x, n->memory->session, "memory_policy.session", out, code, why, err);

    if (rv != MORTISE_OK)
        return rv;
    if (*out == NULL)
        *out = json_string(r->id);
    if (*out == NULL)
        return mortise_nomem(err);
    if (json_string_length(*out) > 0 && json_string_length(*out) <= KEY_MAX)
        return MORTISE_OK;
    mortise_json_clear_ref(out);
    *code = "type";
    return mortise_fail(
        why, MORTISE_EINVAL,
        "memory_policy.session of '%s' must be a text of 1 to %d bytes", n->id,
        KEY_MAX);
}

/* SESSION/NAME, as bytes: a new reference; NULL: no memory. */
static json_t *make_conversation_key(const json_t *session, const char *name)
{
    char text[KEY_MAX + 1 + MORTISE_MEMORY_KEY];
    size_t n = json_string_length(session), m = strlen(name);

    assert(n <= KEY_MAX);
    m = m < MORTISE_MEMORY_KEY ? m : MORTISE_MEMORY_KEY;
    memcpy(text, json_string_value(session), n);
    text[n] = '/';
    memcpy(text + n + 1, name, m);
    return mortise_json_make_string(text, n + 1 + m);
}

int mortise_memory_make_keys(struct mortise_run *r, struct exec *x,
                             json_t **out, const char **code,
                             struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_path *talk = mortise_exec_node(r, x)->conversation;
    json_t *session = NULL, *conversation = NULL;
    int rv = get_session(r, x, &session, code, why, err);

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    if (talk != NULL)
        conversation =
            make_conversation_key(session, talk->steps[talk->n - 1].key);
    *out = json_pack("{s:s, s:O, s:o*}", "persona", r->graph->name, "session",
                     session, "conversation", conversation);
    json_decref(session);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- the request --------------------------------------------------------- */

static json_t *make_types_json(const struct mortise_memory_policy *p)
{
    json_t *list = p->n_types > 0 ? json_array() : NULL;

    for (size_t i = 0; i < p->n_types; i++)
        json_array_append_new(list, json_string(p->types[i]));
    return list;
}

/* The query, cut to the maximal length; NULL if it is blank: then the read has
 * no query. */
static json_t *make_query_json(const json_t *text)
{
    json_t *query = mortise_json_make_string(
        json_string_value(text),
        mortise_utf8_get_prefix_size(json_string_value(text),
                                     json_string_length(text),
                                     MORTISE_MEMORY_CONTENT));

    if (mortise_json_is_blank(query))
        mortise_json_clear_ref(&query);
    return query;
}

static json_t *make_recall_body(const struct mortise_run *r,
                                const struct mortise_memory_policy *p,
                                json_t *keys, const json_t *query)
{
    bool as_of = p->consistency == MORTISE_MEMORY_SNAPSHOT && r->outbox.pinned;

    return json_pack(
        "{s:s, s:I, s:I, s:O, s:s*, s:o*, s:o*, s:o*, s:o*}", "tenant",
        r->tenant, "now", (json_int_t)r->time_ms, "max_traces",
        (json_int_t)p->max_traces, "keys", keys, "scope",
        mortise_memory_scope_name(p->scope), "types", make_types_json(p),
        "query", make_query_json(query), "min_strength",
        p->min_strength > 0 ? json_real(p->min_strength) : NULL, "as_of",
        as_of ? json_integer((json_int_t)r->outbox.as_of) : NULL);
}

static int prepare_recall(struct mortise_run *r, struct exec *x, json_t **body,
                          const char **code, struct mortise_err *why,
                          struct mortise_err *err)
{
    const struct mortise_memory_policy *p = mortise_exec_node(r, x)->memory;
    json_t *keys = NULL, *query = NULL;
    int rv = mortise_memory_make_keys(r, x, &keys, code, why, err);

    if (rv == MORTISE_OK)
        rv = mortise_lookup_eval_text(r, x, p->query,
                                      "memory_policy.read.semantic_query",
                                      &query, code, why, err);
    if (rv == MORTISE_OK) {
        *body = make_recall_body(r, p, keys, query);
        rv = *body != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (rv == MORTISE_OK && p->consistency == MORTISE_MEMORY_JOURNALED)
        rv = mortise_outbox_list_matching(r, p, keys, &x->overlay, err);
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(body);
    json_decref(keys);
    json_decref(query);
    return rv;
}

/* ---- the answer (1), (3) ------------------------------------------------ */

static bool is_valid_trace(const json_t *t)
{
    return json_is_string(json_object_get(t, "id")) &&
           json_is_string(json_object_get(t, "type")) &&
           json_is_string(json_object_get(t, "scope")) &&
           json_is_string(json_object_get(t, "content")) &&
           json_is_number(json_object_get(t, "strength"));
}

static bool has_trace_id(const json_t *list, const json_t *trace)
{
    MORTISE_JSON_EACH (one, i, list)
        if (json_equal(json_object_get(one, "id"),
                       json_object_get(trace, "id")))
            return true;
    return false;
}

/* Append up to `max` traces in all, each once. */
static int append_new_traces(json_t *list, const json_t *more, size_t max)
{
    MORTISE_JSON_EACH (one, i, more)
        if (json_array_size(list) < max && !has_trace_id(list, one) &&
            json_array_append(list, mortise_json_unconst(one)) != 0)
            return -1;
    return 0;
}

static int check_recall_answer(const json_t *answer, size_t max,
                               struct mortise_err *why)
{
    const json_t *traces = json_object_get(answer, "traces");
    const json_t *seq = json_object_get(answer, "seq");

    if (!json_is_array(traces) || !json_is_integer(seq) ||
        json_integer_value(seq) < 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "the memory's answer must have 'traces' (a list) "
                            "and 'seq' (an integer, 0 or more)");
    if (json_array_size(traces) > max)
        return mortise_fail(
            why, MORTISE_EINVAL,
            "the memory returned %zu traces, but at most %zu were requested",
            json_array_size(traces), max);
    MORTISE_JSON_EACH (one, i, traces)
        if (!is_valid_trace(one))
            return mortise_fail(
                why, MORTISE_EINVAL,
                "the memory returned an invalid trace at /traces/%zu", i);
    return MORTISE_OK;
}

static int parse_recall_answer(struct mortise_run *r, struct exec *x,
                               const json_t *answer, json_t **value,
                               struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_memory_policy *p = mortise_exec_node(r, x)->memory;
    json_t *seq = json_object_get(answer, "seq"), *list;
    int rv = check_recall_answer(answer, p->max_traces, why);

    if (rv != MORTISE_OK)
        return rv;
    list = json_array();
    *value = json_pack("{s:s, s:O, s:O*, s:o}", "consistency",
                       mortise_consistency_name(p->consistency), "as_of", seq,
                       "note", json_object_get(answer, "note"), "traces", list);
    if (*value == NULL ||
        append_new_traces(list, x->overlay, p->max_traces) != 0 ||
        append_new_traces(list, json_object_get(answer, "traces"),
                          p->max_traces) != 0)
        return mortise_nomem(err);
    mortise_json_clear_ref(&x->overlay);
    return p->consistency == MORTISE_MEMORY_SNAPSHOT
               ? mortise_outbox_pin_snapshot(
                     r, (uint64_t)json_integer_value(seq), err)
               : MORTISE_OK;
}

const struct lookup mortise_lookup_recall = {.event = "memory_read",
                                             .call = MORTISE_RUN_RECALL,
                                             .is_due = needs_recall,
                                             .ask = prepare_recall,
                                             .take = parse_recall_answer};
