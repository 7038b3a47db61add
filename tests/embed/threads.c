/* threads.c -- several engines in a process, each on a thread of its own, and
 * a store that is taken already. */
#include <pthread.h>

#include "embed.h"

enum { ENGINES = 4, RUNS = 5 };

static const char *graph;

struct place {
    char store[4096];
    int completed;
};

static int ignore(void *ud, const char *json, size_t len)
{
    (void)ud;
    (void)json;
    (void)len;
    return 0;
}

static void *work(void *ud)
{
    struct place *p = ud;
    struct mortise *m = open_engine(p->store);
    struct mortise_graph *g = load_graph(m, graph);
    struct mortise_err err;
    char id[32];
    int status;

    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "run%d", i);
        start_run(m, g, id, "{\"half\": 0.5}", ignore, NULL);
    }
    for (int i = 0; i < RUNS; i++) {
        do {
            must(mortise_poll(m, 100, &err), &err, "poll");
            snprintf(id, sizeof id, "run%d", i);
            must(mortise_wait(m, NULL, id, &status, &err), &err, "wait");
        } while (status == MORTISE_RUN_WAITING);
        p->completed += status == MORTISE_RUN_COMPLETED;
    }
    mortise_graph_close(g);
    mortise_close(m);
    return NULL;
}

/* A store has one engine, in this process or in any. */
static void open_twice(const char *store)
{
    struct mortise_options options = {.size = sizeof options, .store = store};
    struct mortise *m = open_engine(store), *second;
    struct mortise_err err;

    printf("the same store twice: %s\n",
           mortise_result_name(mortise_open(&second, &options, &err)));
    mortise_close(m);
    mortise_close(second);
}

int main(int argc, char **argv)
{
    struct place places[ENGINES];
    pthread_t threads[ENGINES];

    if (argc != 3)
        return 2;
    graph = argv[1];
    for (int i = 0; i < ENGINES; i++) {
        places[i].completed = 0;
        snprintf(places[i].store, sizeof places[i].store, "%s%d", argv[2], i);
        pthread_create(&threads[i], NULL, work, &places[i]);
    }
    for (int i = 0; i < ENGINES; i++) {
        pthread_join(threads[i], NULL);
        printf("engine %d: %d completed\n", i, places[i].completed);
    }
    open_twice(places[0].store);
    return 0;
}
