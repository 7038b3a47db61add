/* discovery.c -- discovery.query/1: searches the tools, skills, extensions and
 * nodes that a node may use.
 *
 * Request {query, kind?, max?, tokens?}: kind is "tool", "extension", "skill",
 *         "node" or "any" (the default); max is 1 to 100 (default 8); tokens
 *         limits the texts of all results together (default 4000).
 * Answer  {results: [{id, kind, score, text?, tier?}], failed?: [{plugin, code,
 *         message}]}, best match first.
 *
 * The candidates are the tools that the graph allows the node, and the nodes
 * that it may hand over to.  So discovery never finds anything that the node
 * could not use anyway.  Skills come from the plugins.  If none of the
 * deployment's discovery plugins answered, the call fails; if only some failed,
 * `failed` lists them.
 *
 * The call is a read: it is recorded with its answer, so a replay gets the
 * same. */
#include <stdio.h>
#include <string.h>

#include <mortise/discovery.h>

#include "core/engine/common/found.h"
#include "services/secrets/body.h"
#include "core/engine/runs/discover.h"
#include "core/plugin/services.h"
#include "lang/config/deploy.h"

enum { DEFAULT_RESULTS = 8 }; /* default for `max` */

/* ---- request ------------------------------------------------------------ */

static json_int_t get_query_number(const json_t *body, const char *name,
                                   json_int_t fallback)
{
    const json_t *v = json_object_get(body, name);

    return v != NULL ? json_integer_value(v) : fallback;
}

static const char *get_query_kind(const json_t *body)
{
    const json_t *kind = json_object_get(body, "kind");

    return kind == NULL                 ? "any"
           : mortise_body_is_text(kind) ? json_string_value(kind)
                                        : "";
}

static bool is_number_in_range(const json_t *body, const char *name,
                               json_int_t most)
{
    const json_t *v = json_object_get(body, name);

    return v == NULL || (json_is_integer(v) && json_integer_value(v) >= 1 &&
                         json_integer_value(v) <= most);
}

static int32_t check_discovery_query(struct mortise_asked *a, char *words)
{
    static const char *const known[] = {"query", "kind", "max", "tokens"};
    const json_t *query = json_object_get(a->body, "query");
    size_t n = 0;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        n += json_object_get(a->body, known[i]) != NULL;
    if (n != json_object_size(a->body) || !json_is_string(query) ||
        json_string_length(query) == 0 ||
        json_string_length(query) > MORTISE_DISCOVERY_QUERY_MAX ||
        !mortise_found_is_kind(get_query_kind(a->body), true) ||
        !is_number_in_range(a->body, "max", MORTISE_FOUND_MAX) ||
        !is_number_in_range(a->body, "tokens", MORTISE_FOUND_TOKENS_MAX))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request of %s must be {query: 1 to %d bytes, kind?: tool, "
            "skill, extension, node or any, max?: 1 to %d, tokens?}",
            a->method_name, MORTISE_DISCOVERY_QUERY_MAX,
            (int)MORTISE_FOUND_MAX);
    if (a->m->settings.deployment->discovery.n == 0)
        return mortise_ask_format_error(
            words, MORTISE_S_NOTFOUND,
            "the deployment has no discovery plugins "
            "(discovery.plugins)");
    return MORTISE_S_OK;
}

/* ---- candidates --------------------------------------------------------- */

/* List the candidates of the kind; NULL: memory ran out. */
static json_t *list_candidates(const struct mortise_graph *tools,
                               const char *kind)
{
    bool nodes = strcmp(kind, "any") == 0 || strcmp(kind, "node") == 0;
    json_t *list = mortise_graph_list_candidates(tools, kind);

    for (size_t i = 0;
         list != NULL && nodes && tools != NULL && i < tools->n_handovers;
         i++) {
        const struct mortise_handover *h = &tools->handovers[i];

        if (json_array_append_new(
                list,
                json_pack("{s:s, s:s, s:s, s:s}", "id", h->node, "kind", "node",
                          "name", h->node, "description", h->description)) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

/* ---- answer ------------------------------------------------------------- */

static void answer_discovery(void *ud, json_t *found, const char *failure)
{
    struct mortise_asked *a = ud;

    a->data = NULL;
    if (found == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    } else if (failure != NULL) {
        mortise_host_call_answer(a, MORTISE_S_FAILED, NULL, failure);
        json_decref(found);
    } else {
        mortise_host_call_answer(a, MORTISE_S_OK, found, "");
    }
}

static void start_discovery(struct mortise_asked *a)
{
    const char *kind = get_query_kind(a->body);
    json_t *request = json_pack(
        "{s:O, s:s, s:I, s:I, s:o}", "query", json_object_get(a->body, "query"),
        "kind", kind, "max", get_query_number(a->body, "max", DEFAULT_RESULTS),
        "tokens", get_query_number(a->body, "tokens", MORTISE_FOUND_TOKENS),
        "candidates", list_candidates(a->call->node->tools, kind));

    if (request == NULL) {
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
        return;
    }
    a->data = mortise_discovery_start(a->call, request, answer_discovery, a);
    json_decref(request);
}

static void cancel_discovery(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_discovery_cancel(a->data);
    a->data = NULL;
}

static const struct mortise_host_call_method discovery_query_method = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_discovery_query,
    .start = start_discovery,
    .cancel = cancel_discovery,
};

static const struct mortise_method methods[] = {
    {.name = "discovery.query/1", .performs = &discovery_query_method},
    {.name = NULL},
};

const struct mortise_service mortise_service_discovery = {.name = "discovery",
                                                          .methods = methods};
