/* transcript.c -- `mortise show --transcript`: prints the conversations with
 * models in a run (talk.c).
 *
 * They are made from the run's durable events, so the result is always the
 * same.  If guardrails check a node's output, these events lack the texts of
 * its replies.  If the guardrails passed the output, it is printed in place of
 * the last reply. */
#include "cli/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/executions.h"
#include "cli/talk.h"
#include "core/json/value.h"

struct transcript {
    const char *node; /* NULL: all nodes */
    json_t *events;
};

static int collect_talk_event(void *ud, json_t *event)
{
    struct transcript *t = ud;

    return (mortise_talk_is_event(mortise_cli_get_text(event, "type")) ||
            mortise_talk_get_edited_args(event) != NULL) &&
                   (t->node == NULL || mortise_cli_is_called(event, t->node))
               ? json_array_append(t->events, event)
               : 0;
}

static int fail_no_conversation(const char *run, const char *node,
                                struct mortise_err *err)
{
    return node != NULL
               ? mortise_fail(
                     err, MORTISE_ENOTFOUND,
                     "run %s has no conversation of '%.128s' with a model", run,
                     node)
               : mortise_fail(err, MORTISE_ENOTFOUND,
                              "run %s has no conversation with a model", run);
}

/* ---- withheld replies --------------------------------------------------- */

static bool is_held_reply(const json_t *event)
{
    return json_is_true(
        json_object_get(json_object_get(event, "reply"), "held"));
}

/* Find the execution of an event in the reply to `show`; NULL: it is missing.
 */
static const json_t *find_shown_execution(const json_t *show,
                                          const json_t *event)
{
    MORTISE_JSON_EACH (node, i, json_object_get(show, "nodes"))
        if (strcmp(mortise_cli_get_text(node, "path"),
                   mortise_cli_get_text(event, "path")) == 0)
            return node;
    return NULL;
}

/* Did the guardrails pass the node's final output? */
static bool has_released_output(const json_t *node)
{
    const char *action = "";

    MORTISE_JSON_EACH (verdict, i, json_object_get(node, "guardrails"))
        if (strcmp(mortise_cli_get_text(verdict, "stage"), "output") == 0)
            action = mortise_cli_get_text(verdict, "action");
    return strcmp(mortise_cli_get_text(node, "status"), "done") == 0 &&
           (strcmp(action, "pass") == 0 || strcmp(action, "warn") == 0 ||
            strcmp(action, "sanitize") == 0);
}

/* Is it the last reply of its execution? */
static bool is_last_reply(const json_t *events, size_t at)
{
    const json_t *event = json_array_get(events, at);

    for (size_t i = at + 1; i < json_array_size(events); i++) {
        const json_t *one = json_array_get(events, i);

        if (strcmp(mortise_cli_get_text(one, "type"), "model_reply") == 0 &&
            strcmp(mortise_cli_get_text(one, "path"),
                   mortise_cli_get_text(event, "path")) == 0)
            return false;
    }
    return true;
}

/* Copy the event with the output as its text, a new reference; NULL: print the
 * event unchanged. */
static json_t *add_released_output(const json_t *show, const json_t *events,
                                   size_t at)
{
    const json_t *event = json_array_get(events, at),
                 *node = is_held_reply(event)
                             ? find_shown_execution(show, event)
                             : NULL;
    const json_t *output = json_object_get(node, "output");
    json_t *copy = NULL, *parts;
    char *text;

    if (output == NULL || !has_released_output(node) ||
        !is_last_reply(events, at))
        return NULL;
    text = json_is_string(output) ? strdup(json_string_value(output))
                                  : json_dumps(output, JSON_COMPACT);
    copy = text != NULL ? json_deep_copy(event) : NULL;
    parts = json_object_get(
        json_object_get(json_object_get(copy, "reply"), "message"), "parts");
    if (json_array_append_new(
            parts, json_pack("{s:s, s:s*}", "type", "text", "text", text)) != 0)
        mortise_json_clear_ref(&copy);
    free(text);
    return copy;
}

static void print_transcript(struct mortise_cli *cli, const json_t *show,
                             const json_t *events)
{
    struct mortise_talk talk = {.out = &cli->out, .whole = true};

    MORTISE_JSON_EACH (event, i, events) {
        json_t *other = add_released_output(show, events, i);

        mortise_talk_print_event(&talk, mortise_cli_get_text(event, "type"),
                                 other != NULL ? other : event);
        json_decref(other);
    }
    mortise_talk_print_total(&talk);
}

/* ---- command ------------------------------------------------------------ */

int mortise_cli_print_transcript(struct mortise_cli *cli, const char *run,
                                 struct mortise_err *err)
{
    struct transcript t = {.node = cli->args.node, .events = json_array()};
    json_t *show = NULL;
    int rv = t.events != NULL ? mortise_cli_replay_events(
                                    cli, run, 0, collect_talk_event, &t, err)
                              : mortise_nomem(err);

    if (rv == MORTISE_OK && json_array_size(t.events) == 0)
        rv = fail_no_conversation(run, t.node, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = mortise_cli_print_json(
            cli, json_pack("{s:s, s:O}", "run", run, "events", t.events), true,
            err);
    else if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, run, &show, err);
    if (rv == MORTISE_OK && !cli->args.json)
        print_transcript(cli, show, t.events);
    json_decref(show);
    json_decref(t.events);
    return rv;
}
