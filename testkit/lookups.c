/* lookups.c -- answer memory and discovery calls of a case from its script.
 *
 *   (1) The case supplies the results; no plugin is called.  Each text of
 *       `memory` is returned for whatever scope, key and type a call asks for.
 *       Each id of `discovery` is returned if it is a candidate.  Both keep
 *       the order of the case.
 *   (2) Writes to memory are discarded: cases do not see each other's data,
 *       nor the memory of the machine that they run on.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "testkit/rehearsing.h"

/* ---- memory -------------------------------------------------------------- */

static const char *get_recall_scope(const json_t *body)
{
    const char *scope = mortise_cli_get_text(body, "scope");

    return scope[0] != '\0' ? scope : "global";
}

static const char *get_recall_type(const json_t *body)
{
    const char *type =
        json_string_value(json_array_get(json_object_get(body, "types"), 0));

    return type != NULL ? type : "semantic";
}

static json_t *make_case_trace(const json_t *body,
                               const struct mortise_yaml *text, size_t i)
{
    const char *scope = get_recall_scope(body);
    char id[32];

    snprintf(id, sizeof id, "case-%zu", i + 1);
    return json_pack("{s:s, s:s, s:s, s:O*, s:s, s:f, s:i}", "id", id, "type",
                     get_recall_type(body), "scope", scope, "key",
                     json_object_get(json_object_get(body, "keys"), scope),
                     "content", text->str, "strength", 1.0, "created_at", 1);
}

static json_t *make_recall_result(const struct mortise_case *c,
                                  const json_t *body)
{
    size_t most = (size_t)mortise_cli_get_integer(body, "max_traces");
    json_t *list = json_array();

    for (size_t i = 0; c->memory != NULL && i < c->memory->n && i < most; i++)
        if (list != NULL &&
            json_array_append_new(
                list, make_case_trace(body, c->memory->items[i], i)) != 0)
            mortise_json_clear_ref(&list);
    return json_pack("{s:o, s:i}", "traces", list, "seq", 1);
}

/* ---- discovery ----------------------------------------------------------- */

static const json_t *find_candidate(const json_t *body, const char *id)
{
    MORTISE_JSON_EACH (one, i, json_object_get(body, "candidates"))
        if (strcmp(mortise_cli_get_text(one, "id"), id) == 0)
            return one;
    return NULL;
}

static json_t *make_discovery_result(const struct mortise_case *c,
                                     const json_t *body)
{
    size_t most = (size_t)mortise_cli_get_integer(body, "max");
    json_t *list = json_array();

    for (size_t i = 0; c->discovery != NULL && i < c->discovery->n; i++) {
        const json_t *one = find_candidate(body, c->discovery->items[i]->str);

        if (one == NULL || json_array_size(list) >= most)
            continue;
        if (json_array_append_new(
                list,
                json_pack("{s:O, s:O, s:f}", "id", json_object_get(one, "id"),
                          "kind", json_object_get(one, "kind"), "score",
                          1.0 / (double)(i + 1))) != 0)
            mortise_json_clear_ref(&list);
    }
    return json_pack("{s:o}", "results", list);
}

bool mortise_answer_lookup(struct mortise_rehearsal_state *r,
                           const struct mortise_run_call *call,
                           struct mortise_script_reply *out)
{
    const struct mortise_case *c = r->what->one;

    switch (call->kind) {
    case MORTISE_RUN_DISCOVER:
        out->output = make_discovery_result(c, call->body);
        break;
    case MORTISE_RUN_RECALL:
        out->output = make_recall_result(c, call->body);
        break;
    case MORTISE_RUN_REMEMBER:
        out->output = json_pack("{s:i, s:i}", "written", 0, "seq", 1);
        break;
    default:
        return false;
    }
    if (out->output == NULL)
        mortise_nomem(&r->err);
    return true;
}
