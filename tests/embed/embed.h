/* embed.h -- what the programs of test_embed.c share: they are guests' hosts,
 * and say on their output what they saw.  Usage: PROGRAM GRAPH STORE. */
#ifndef EMBED_H
#define EMBED_H

#include <mortise/mortise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must(int result, const struct mortise_err *err,
                        const char *doing)
{
    if (result >= 0)
        return;
    printf("%s: %s %s\n", doing, mortise_result_name(result), err->msg);
    exit(1);
}

static inline struct mortise *open_engine(const char *store)
{
    struct mortise_options options = {.size = sizeof options,
                                      .flags = MORTISE_OPEN_LISTEN,
                                      .store = store};
    struct mortise_err err;
    struct mortise *m;

    must(mortise_open(&m, &options, &err), &err, "open");
    return m;
}

static inline struct mortise_graph *load_graph(struct mortise *m,
                                               const char *path)
{
    struct mortise_graph *g;
    struct mortise_err err;

    must(mortise_load(m, path, &g, NULL, &err), &err, "load");
    return g;
}

/* Start the run `id`; `half` and `text` are what the graphs here look at. */
static inline void start_run(struct mortise *m, struct mortise_graph *g,
                             const char *id, const char *input,
                             mortise_event_fn *fn, void *ud)
{
    struct mortise_start_options start = {
        .size = sizeof start, .run = id, .input = input};
    char made[MORTISE_RUN_MAX];
    struct mortise_err err;

    must(mortise_start(m, g, &start, made, &err), &err, "start");
    must(mortise_events(m, NULL, made, 0, MORTISE_EVENTS_FOLLOW, fn, ud, NULL,
                        &err),
         &err, "events");
}

static inline int is_event(const char *json, const char *type)
{
    char want[64];

    snprintf(want, sizeof want, "\"type\":\"%s\"", type);
    return strstr(json, want) != NULL;
}

#endif
