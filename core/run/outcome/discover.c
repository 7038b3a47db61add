/* discover.c -- the lookup `discover`: which tools a node is offered, and which
 * skills join its prompt.
 *
 *   (1) Discovery only narrows the node's allowlist.  A tool outside of it is
 *       no candidate, and an answer that names one is rejected as a whole.
 *   (2) The kinds `tool` and `extension` narrow the tools to the ones found;
 *       `skill` leaves the tools as they are; `any` does both.  If an answer
 *       has no result, `fallback` applies: the whole allowlist, or a failure.
 *   (3) If discovery fails, `fallback` applies too.  Set `fallback: error` for
 *       a node that cannot work without discovery.
 */
#include <string.h>

#include <mortise/discovery.h>

#include "core/run/outcome/lookups.h"
#include "core/run/outcome/outcome.h"

enum { MAX_RESULT_TOKENS = 4000 }; /* for the texts of all results */

static bool needs_discovery(const struct mortise_node *n)
{
    return n->discovers != NULL;
}

static bool is_discovery_kind(const struct mortise_node *n, const char *kind)
{
    return strcmp(n->discovers->kind, kind) == 0;
}

/* ---- the request --------------------------------------------------------- */

static int make_discovery_body(struct mortise_run *r, struct exec *x,
                               json_t **body, const char **code,
                               struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *query = NULL;
    int rv = mortise_lookup_eval_text(r, x, n->discovers->query,
                                      "discovery_policy.query", &query, code,
                                      why, err);

    if (rv != MORTISE_OK)
        return rv;
    if (json_string_length(query) == 0 ||
        json_string_length(query) > MORTISE_DISCOVERY_QUERY_MAX) {
        json_decref(query);
        *code = "type";
        return mortise_fail(
            why, MORTISE_EINVAL,
            "discovery_policy.query of '%s' must be a text of 1 to %d bytes",
            n->id, MORTISE_DISCOVERY_QUERY_MAX);
    }
    *body = json_pack(
        "{s:o, s:s, s:I, s:i, s:o}", "query", query, "kind", n->discovers->kind,
        "max", (json_int_t)n->discovers->max_results, "tokens",
        MAX_RESULT_TOKENS, "candidates",
        mortise_graph_list_candidates(n->tools, n->discovers->kind));
    return *body != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- the answer ---------------------------------------------------------- */

/* (1) */
static bool is_candidate_tool(const struct mortise_node *n,
                              const json_t *result)
{
    const char *id = mortise_json_get_text(result, "id");

    for (uint32_t i = 0; n->tools != NULL && i < n->tools->n_offered; i++)
        if (mortise_graph_is_candidate(n->tools, i, n->discovers->kind) &&
            strcmp(n->tools->offers[i].tool, id) == 0)
            return true;
    return false;
}

static bool is_skill_result(const json_t *result)
{
    return strcmp(mortise_json_get_text(result, "kind"), "skill") == 0;
}

static int check_discovery_results(const struct mortise_node *n,
                                   const json_t *results,
                                   struct mortise_err *why)
{
    if (!json_is_array(results) ||
        json_array_size(results) > n->discovers->max_results)
        return mortise_fail(why, MORTISE_EINVAL,
                            "discovery must return {\"results\": [...]}, with "
                            "at most %u results",
                            (unsigned)n->discovers->max_results);
    MORTISE_JSON_EACH (one, i, results) {
        bool fits =
            is_skill_result(one)
                ? is_discovery_kind(n, "skill") || is_discovery_kind(n, "any")
                : !is_discovery_kind(n, "skill") && is_candidate_tool(n, one);

        if (!fits)
            return mortise_fail(
                why, MORTISE_EINVAL,
                "discovery returned '%s', which is not a candidate of '%s'",
                mortise_json_get_text(one, "id"), n->id);
    }
    return MORTISE_OK;
}

/* The texts of the skills; *any_tool: there is a tool among the results. */
static json_t *get_skill_texts(const json_t *results, bool *any_tool)
{
    json_t *skills = json_array();

    *any_tool = false;
    MORTISE_JSON_EACH (one, i, results) {
        json_t *text = json_object_get(one, "text");

        *any_tool |= !is_skill_result(one);
        if (is_skill_result(one) && json_is_string(text))
            json_array_append(skills, text);
    }
    return skills;
}

static json_t *make_discovery_value(const struct mortise_node *n,
                                    json_t *results, const char *fallback,
                                    json_t *error)
{
    bool any_tool;
    json_t *skills = get_skill_texts(results, &any_tool);

    return json_pack("{s:s, s:O, s:o, s:b, s:s*, s:o*}", "kind",
                     n->discovers->kind, "results", results, "skills", skills,
                     "narrows", (int)any_tool, "fallback", fallback, "error",
                     error);
}

static int parse_discovery_answer(struct mortise_run *r, struct exec *x,
                                  const json_t *answer, json_t **value,
                                  struct mortise_err *why,
                                  struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *results = json_object_get(answer, "results");
    int rv = check_discovery_results(n, results, why);

    if (rv != MORTISE_OK)
        return rv;
    *value = make_discovery_value(
        n, results, json_array_size(results) == 0 ? "all" : NULL, NULL);
    return *value != NULL ? MORTISE_OK : mortise_nomem(err);
}

static const char *check_nothing_found(const struct exec *x,
                                       const json_t *value,
                                       struct mortise_err *why)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];

    if (!n->discovers->fails ||
        json_array_size(json_object_get(value, "results")) > 0)
        return NULL;
    mortise_fail(why, MORTISE_ENOTFOUND,
                 "discovery found nothing for '%s', and its discovery_policy "
                 "sets fallback: error",
                 n->id);
    return "discovery.nothing";
}

/* (3) */
static json_t *make_discovery_fallback(const struct exec *x, json_t *error)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    json_t *none, *value;

    if (n->discovers->fails)
        return NULL;
    none = json_array();
    value = make_discovery_value(n, none, "all", json_incref(error));
    json_decref(none);
    return value;
}

const struct lookup mortise_lookup_discover = {.event = "discovery_result",
                                               .call = MORTISE_RUN_DISCOVER,
                                               .is_due = needs_discovery,
                                               .ask = make_discovery_body,
                                               .take = parse_discovery_answer,
                                               .instead =
                                                   make_discovery_fallback,
                                               .lacks = check_nothing_found};
