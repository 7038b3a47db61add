/* lookups.c -- what nodes of a case find: what its memory knows, and what
 * discovery comes to.
 *
 *   (1) A case says it, and nobody is asked: a text of `memory` is a trace of
 *       whatever scope, key and type are asked for, an id of `discovery` is found
 *       wherever it may be found, in the order in which they stand there.
 *   (2) What is remembered goes nowhere: no case knows of another, nor of what is
 *       kept where it runs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "testkit/rehearsing.h"

/* ---- memory -------------------------------------------------------------- */

static const char *scope_of(const json_t *body)
{
    const char *scope = mortise_cli_text(body, "scope");

    return scope[0] != '\0' ? scope : "global";
}

static const char *type_of(const json_t *body)
{
    const char *type =
        json_string_value(json_array_get(json_object_get(body, "types"), 0));

    return type != NULL ? type : "semantic";
}

static json_t *trace(const json_t *body, const struct mortise_yaml *text,
                     size_t i)
{
    const char *scope = scope_of(body);
    char id[32];

    snprintf(id, sizeof id, "case-%zu", i + 1);
    return json_pack("{s:s, s:s, s:s, s:O*, s:s, s:f, s:i}", "id", id, "type",
                     type_of(body), "scope", scope, "key",
                     json_object_get(json_object_get(body, "keys"), scope),
                     "content", text->str, "strength", 1.0, "created_at", 1);
}

static json_t *recalled(const struct mortise_case *c, const json_t *body)
{
    size_t most = (size_t)mortise_cli_integer(body, "max_traces");
    json_t *list = json_array();

    for (size_t i = 0; c->memory != NULL && i < c->memory->n && i < most; i++)
        if (list != NULL && json_array_append_new(
                                list, trace(body, c->memory->items[i], i)) != 0)
            mortise_json_drop(&list);
    return json_pack("{s:o, s:i}", "traces", list, "seq", 1);
}

/* ---- discovery ----------------------------------------------------------- */

static const json_t *candidate(const json_t *body, const char *id)
{
    MORTISE_JSON_EACH (one, i, json_object_get(body, "candidates"))
        if (strcmp(mortise_cli_text(one, "id"), id) == 0)
            return one;
    return NULL;
}

static json_t *discovered(const struct mortise_case *c, const json_t *body)
{
    size_t most = (size_t)mortise_cli_integer(body, "max");
    json_t *list = json_array();

    for (size_t i = 0; c->discovery != NULL && i < c->discovery->n; i++) {
        const json_t *one = candidate(body, c->discovery->items[i]->str);

        if (one == NULL || json_array_size(list) >= most)
            continue;
        if (json_array_append_new(
                list,
                json_pack("{s:O, s:O, s:f}", "id", json_object_get(one, "id"),
                          "kind", json_object_get(one, "kind"), "score",
                          1.0 / (double)(i + 1))) != 0)
            mortise_json_drop(&list);
    }
    return json_pack("{s:o}", "results", list);
}

bool mortise_answer_lookup(struct mortise_rehearsing *r,
                           const struct mortise_run_call *call,
                           struct mortise_scripted *out)
{
    const struct mortise_case *c = r->what->one;

    switch (call->kind) {
    case MORTISE_RUN_DISCOVER:
        out->output = discovered(c, call->body);
        break;
    case MORTISE_RUN_RECALL:
        out->output = recalled(c, call->body);
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
