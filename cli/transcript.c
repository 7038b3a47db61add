/* transcript.c -- `mortise show --transcript`: what was said to models in a run,
 * and what they said, one after another (talk.c).  It is made of the run's
 * durable events, so it is the same for whoever looks, whenever.  Those do not have
 * the texts of replies that guardrails judge as an output: where they let it pass,
 * people see the output in the place of the last of them. */
#include "cli/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/executions.h"
#include "cli/talk.h"
#include "core/json/value.h"

struct transcript {
    const char *node; /* NULL: all */
    json_t *events;
};

static int take(void *ud, json_t *event)
{
    struct transcript *t = ud;

    return (mortise_talk_is_about(mortise_cli_text(event, "type")) ||
            mortise_talk_edited(event) != NULL) &&
                   (t->node == NULL || mortise_cli_is_called(event, t->node))
               ? json_array_append(t->events, event)
               : 0;
}

static int nothing(const char *run, const char *node, struct mortise_err *err)
{
    return node != NULL
               ? mortise_fail(
                     err, MORTISE_ENOTFOUND,
                     "run %s has no conversation of '%.128s' with a model", run,
                     node)
               : mortise_fail(err, MORTISE_ENOTFOUND,
                              "run %s has no conversation with a model", run);
}

/* ---- what was held back --------------------------------------------------- */

static bool is_held(const json_t *event)
{
    return json_is_true(
        json_object_get(json_object_get(event, "reply"), "held"));
}

/* The execution of an event, in show; NULL: it is not there. */
static const json_t *node_of(const json_t *show, const json_t *event)
{
    MORTISE_JSON_EACH (node, i, json_object_get(show, "nodes"))
        if (strcmp(mortise_cli_text(node, "path"),
                   mortise_cli_text(event, "path")) == 0)
            return node;
    return NULL;
}

/* Did the guardrails of its output let pass what the node gave in the end? */
static bool has_passed(const json_t *node)
{
    const char *action = "";

    MORTISE_JSON_EACH (verdict, i, json_object_get(node, "guardrails"))
        if (strcmp(mortise_cli_text(verdict, "stage"), "output") == 0)
            action = mortise_cli_text(verdict, "action");
    return strcmp(mortise_cli_text(node, "status"), "done") == 0 &&
           (strcmp(action, "pass") == 0 || strcmp(action, "warn") == 0 ||
            strcmp(action, "sanitize") == 0);
}

/* Is no later reply of the same execution there? */
static bool is_last(const json_t *events, size_t at)
{
    const json_t *event = json_array_get(events, at);

    for (size_t i = at + 1; i < json_array_size(events); i++) {
        const json_t *one = json_array_get(events, i);

        if (strcmp(mortise_cli_text(one, "type"), "model_reply") == 0 &&
            strcmp(mortise_cli_text(one, "path"),
                   mortise_cli_text(event, "path")) == 0)
            return false;
    }
    return true;
}

/* The event with the output as its text: a new reference; NULL: it stays as it
 * is. */
static json_t *with_output(const json_t *show, const json_t *events, size_t at)
{
    const json_t *event = json_array_get(events, at),
                 *node = is_held(event) ? node_of(show, event) : NULL;
    const json_t *output = json_object_get(node, "output");
    json_t *copy = NULL, *parts;
    char *text;

    if (output == NULL || !has_passed(node) || !is_last(events, at))
        return NULL;
    text = json_is_string(output) ? strdup(json_string_value(output))
                                  : json_dumps(output, JSON_COMPACT);
    copy = text != NULL ? json_deep_copy(event) : NULL;
    parts = json_object_get(
        json_object_get(json_object_get(copy, "reply"), "message"), "parts");
    if (json_array_append_new(
            parts, json_pack("{s:s, s:s*}", "type", "text", "text", text)) != 0)
        mortise_json_drop(&copy);
    free(text);
    return copy;
}

static void print(struct mortise_cli *cli, const json_t *show,
                  const json_t *events)
{
    struct mortise_talk talk = {.out = &cli->out, .whole = true};

    MORTISE_JSON_EACH (event, i, events) {
        json_t *other = with_output(show, events, i);

        mortise_talk_event(&talk, mortise_cli_text(event, "type"),
                           other != NULL ? other : event);
        json_decref(other);
    }
    mortise_talk_total(&talk);
}

/* ---- all of it ------------------------------------------------------------ */

int mortise_cli_transcript(struct mortise_cli *cli, const char *run,
                           struct mortise_err *err)
{
    struct transcript t = {.node = cli->args.node, .events = json_array()};
    json_t *show = NULL;
    int rv = t.events != NULL ? mortise_cli_recall(cli, run, 0, take, &t, err)
                              : mortise_nomem(err);

    if (rv == MORTISE_OK && json_array_size(t.events) == 0)
        rv = nothing(run, t.node, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = mortise_cli_print(
            cli, json_pack("{s:s, s:O}", "run", run, "events", t.events), true,
            err);
    else if (rv == MORTISE_OK)
        rv = mortise_cli_show(cli, run, &show, err);
    if (rv == MORTISE_OK && !cli->args.json)
        print(cli, show, t.events);
    json_decref(show);
    json_decref(t.events);
    return rv;
}
