/* transcript.c -- `mortise show --transcript`: what was said to models in a run,
 * and what they said, one after another (talk.c).  It is made of the run's
 * durable events, so it is the same for whoever looks, whenever. */
#include "cli/transcript.h"

#include "base/err.h"
#include "cli/executions.h"
#include "cli/talk.h"

struct transcript {
    const char *node; /* NULL: all */
    json_t *events;
};

static int take(void *ud, json_t *event)
{
    struct transcript *t = ud;

    return mortise_talk_is_about(mortise_cli_text(event, "type")) &&
                   (t->node == NULL || mortise_cli_is_called(event, t->node))
               ? json_array_append(t->events, event)
               : 0;
}

static int nothing(const char *run, const char *node, struct mortise_err *err)
{
    return node != NULL
               ? mortise_fail(
                     err, MORTISE_ENOTFOUND,
                     "in run %s nothing was said to a model by '%.128s'", run,
                     node)
               : mortise_fail(err, MORTISE_ENOTFOUND,
                              "in run %s nothing was said to a model", run);
}

static void print(struct mortise_cli *cli, const json_t *events)
{
    struct mortise_talk talk = {.out = &cli->out, .whole = true};

    MORTISE_JSON_EACH (event, i, events)
        mortise_talk_event(&talk, mortise_cli_text(event, "type"), event);
    mortise_talk_total(&talk);
}

int mortise_cli_transcript(struct mortise_cli *cli, const char *run,
                           struct mortise_err *err)
{
    struct transcript t = {.node = cli->args.node, .events = json_array()};
    int rv = t.events != NULL ? mortise_cli_recall(cli, run, 0, take, &t, err)
                              : mortise_nomem(err);

    if (rv == MORTISE_OK && json_array_size(t.events) == 0)
        rv = nothing(run, t.node, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = mortise_cli_print(
            cli, json_pack("{s:s, s:O}", "run", run, "events", t.events), true,
            err);
    else if (rv == MORTISE_OK)
        print(cli, t.events);
    json_decref(t.events);
    return rv;
}
