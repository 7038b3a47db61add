/* discovery.c -- discovery.query/1: what of all that a node may use is a text
 * about?
 *
 * Asked  {query, kind?, max?, tokens?}: kind "tool", "extension", "skill", "node"
 *        or "any" (the default), max 1 to 100 (8), tokens for the texts of all
 *        results (4000).
 * Answer {results: [{id, kind, score, text?, tier?}], failed?: [{plugin, code,
 *        message}]}, the best first.
 *
 * The candidates are the node's own: the tools that the graph allows it, and the
 * nodes that it may hand over to.  So what is found is never more than what the
 * node could use without having looked; skills are the plugins'.  Where none of
 * the deployment's discovery plugins answered, that is an error; one that failed
 * among others is named in `failed`.
 *
 * It is a read: recorded with its answer, so that a replay is told the same. */
#include <stdio.h>
#include <string.h>

#include <mortise/discovery.h>

#include "core/engine/common/found.h"
#include "services/secrets/body.h"
#include "core/engine/runs/discover.h"

enum { MOST = 8 }; /* results, where nobody said */

/* ---- what is asked ------------------------------------------------------- */

static json_int_t number_of(const json_t *body, const char *name,
                            json_int_t unless)
{
    const json_t *v = json_object_get(body, name);

    return v != NULL ? json_integer_value(v) : unless;
}

static const char *kind_of(const json_t *body)
{
    const json_t *kind = json_object_get(body, "kind");

    return kind == NULL                 ? "any"
           : mortise_body_is_text(kind) ? json_string_value(kind)
                                        : "";
}

static bool is_number(const json_t *body, const char *name, json_int_t most)
{
    const json_t *v = json_object_get(body, name);

    return v == NULL || (json_is_integer(v) && json_integer_value(v) >= 1 &&
                         json_integer_value(v) <= most);
}

static int32_t check(struct mortise_asked *a, char *words)
{
    static const char *const known[] = {"query", "kind", "max", "tokens"};
    const json_t *query = json_object_get(a->body, "query");
    size_t n = 0;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        n += json_object_get(a->body, known[i]) != NULL;
    if (n != json_object_size(a->body) || !json_is_string(query) ||
        json_string_length(query) == 0 ||
        json_string_length(query) > MORTISE_DISCOVERY_QUERY_MAX ||
        !mortise_found_is_kind(kind_of(a->body), true) ||
        !is_number(a->body, "max", MORTISE_FOUND_MAX) ||
        !is_number(a->body, "tokens", MORTISE_FOUND_TOKENS_MAX))
        return mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "a request of %s must be {query: 1 to %d bytes, kind?: tool, "
            "skill, extension, node or any, max?: 1 to %d, tokens?}",
            a->method_name, MORTISE_DISCOVERY_QUERY_MAX,
            (int)MORTISE_FOUND_MAX);
    if (a->m->settings.deployment->discovery.n == 0)
        return mortise_ask_refuse(words, MORTISE_S_NOTFOUND,
                                  "the deployment has no discovery plugins "
                                  "(discovery.plugins)");
    return MORTISE_S_OK;
}

/* ---- the candidates ------------------------------------------------------ */

/* Of the kind that is looked for; NULL: memory ran out. */
static json_t *candidates_of(const struct mortise_graph *tools,
                             const char *kind)
{
    bool nodes = strcmp(kind, "any") == 0 || strcmp(kind, "node") == 0;
    json_t *list = mortise_graph_candidates(tools, kind);

    for (size_t i = 0;
         list != NULL && nodes && tools != NULL && i < tools->n_handovers;
         i++) {
        const struct mortise_handover *h = &tools->handovers[i];

        if (json_array_append_new(
                list,
                json_pack("{s:s, s:s, s:s, s:s}", "id", h->node, "kind", "node",
                          "name", h->node, "description", h->description)) != 0)
            mortise_json_drop(&list);
    }
    return list;
}

/* ---- the answer ---------------------------------------------------------- */

static void done(void *ud, json_t *found, const char *nobody)
{
    struct mortise_asked *a = ud;

    a->data = NULL;
    if (found == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    } else if (nobody != NULL) {
        mortise_host_call_answer(a, MORTISE_S_FAILED, NULL, nobody);
        json_decref(found);
    } else {
        mortise_host_call_answer(a, MORTISE_S_OK, found, "");
    }
}

static void start(struct mortise_asked *a)
{
    const char *kind = kind_of(a->body);
    json_t *request = json_pack(
        "{s:O, s:s, s:I, s:I, s:o}", "query", json_object_get(a->body, "query"),
        "kind", kind, "max", number_of(a->body, "max", MOST), "tokens",
        number_of(a->body, "tokens", MORTISE_FOUND_TOKENS), "candidates",
        candidates_of(a->call->node->tools, kind));

    if (request == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    a->data = mortise_look(a->call, request, done, a);
    json_decref(request);
}

static void let_go(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_look_stop(a->data);
    a->data = NULL;
}

const struct mortise_host_call_method mortise_host_call_discovery_query = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check,
    .start = start,
    .cancel = let_go,
};
