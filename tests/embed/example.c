/* example.c -- a graph in a program of one's own.
 *
 *     cc example.c $(pkg-config --cflags --libs mortise jansson) -o example
 *     ./example review.graph.yaml DIRECTORY
 *
 * It starts a run, says what the run asks, answers yes in the name of "alice",
 * and prints what came of it. */
#include <jansson.h>
#include <mortise/mortise.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *doing, const struct mortise_err *err)
{
    fprintf(stderr, "%s: %s (%s)\n", doing, err->msg,
            mortise_result_name(err->code));
    return 1;
}

/* Called with every event of the run.  Only questions matter here.  A callback
 * may not answer one, so keep its id. */
static int on_event(void *ud, const char *json, size_t len)
{
    json_t *event = json_loadb(json, len, 0, NULL);
    const char *id = "", *prompt = "";

    if (json_unpack(event, "{s:s, s:{s:s}}", "id", &id, "request", "prompt",
                    &prompt) == 0) {
        printf("asked: %s\n", prompt);
        strcpy(ud, id); /* 32 hex digits */
    }
    json_decref(event);
    return 0;
}

static int print_findings(struct mortise *m, const char *run,
                          struct mortise_err *err)
{
    char *text = NULL;
    json_t *show, *count;

    if (mortise_show(m, NULL, run, &text, err) != MORTISE_OK)
        return failed("show", err);
    show = json_loads(text, 0, NULL);
    mortise_free(m, text);
    json_unpack(show, "{s:{s:{s:{s:o}}}}", "state", "artifacts", "found",
                "count", &count);
    printf("found: %" JSON_INTEGER_FORMAT "\n", json_integer_value(count));
    json_decref(show);
    return 0;
}

static int run(struct mortise *m, struct mortise_graph *graph)
{
    char id[MORTISE_RUN_MAX], question[64] = "";
    struct mortise_start_options start = {
        .size = sizeof start,
        .input = "{\"text\": \"Mortise\\nand tenon\"}",
        .actor = "alice",
        .event = on_event,
        .event_ud = question};
    struct mortise_command answer = {.size = sizeof answer,
                                     .kind = MORTISE_CMD_ANSWER,
                                     .json = "{\"approved\": true}"};
    struct mortise_err err;
    int status;

    if (mortise_start(m, graph, &start, id, &err) != MORTISE_OK)
        return failed("start", &err);
    if (mortise_wait(m, NULL, id, &status, &err) != MORTISE_OK)
        return failed("wait", &err);
    printf("status: %s\n", mortise_run_status_name(status));

    /* The program may exit here.  The run is on disk, and any program that
     * opens the same store later can answer. */
    answer.id = question;
    if (mortise_apply(m, NULL, id, &answer, 1, 0, "alice", &err) !=
            MORTISE_OK ||
        mortise_wait(m, NULL, id, &status, &err) != MORTISE_OK)
        return failed("answer", &err);
    printf("status: %s\n", mortise_run_status_name(status));
    return print_findings(m, id, &err);
}

int main(int argc, char **argv)
{
    struct mortise_options options = {.size = sizeof options,
                                      .store = argc > 2 ? argv[2] : NULL};
    struct mortise_graph *graph;
    struct mortise_err err;
    struct mortise *m;
    char *report = NULL;
    int rv;

    if (mortise_open(&m, &options, &err) != MORTISE_OK)
        return failed("open", &err);
    rv = mortise_load(m, argc > 1 ? argv[1] : "review.graph.yaml", &graph,
                      &report, &err);
    if (report != NULL)
        fputs(report, stderr);
    mortise_free(m, report);
    rv = rv == MORTISE_OK ? run(m, graph) : failed("load", &err);
    mortise_graph_close(graph);
    mortise_close(m);
    return rv;
}
