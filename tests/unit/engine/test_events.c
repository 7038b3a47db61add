/* test_events.c -- what subscribers hear: everything, in order, or how much of
 * it they missed.
 *
 * Each test gives the engine's word to a listener, which knows the order that
 * every stream of events has to keep: seq without gaps, of each execution
 * node_start, its progress from 0 on, node_end. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/common/engine.h"
#include "core/json/value.h"
#include "lib/shelf.h"
#include "lib/warm.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64], deployment[PATH_MAX], store[PATH_MAX];
static char run_id[MORTISE_RUN_MAX];
static const char *durability = "sync";

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_inline");
    shelf_put(&shelf, "ok_async");
    shelf_put(&shelf, "emits_many");
    shelf_put(&shelf, "emits_more");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void open_engine(void)
{
    struct mortise_options o = {.size = sizeof o,
                                .deployment = deployment,
                                .store = store,
                                .mem = &test_mem};

    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
}

static void setup(void)
{
    char text[4 * PATH_MAX];

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\n"
             "store: {durability: %s}\n",
             shelf.plugins, shelf.trust, durability);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    test_write(deployment, text, strlen(text));
    open_engine();
}

static void setup_batch(void)
{
    durability = "{batch: {max_ms: 3}}";
    setup();
}

static void setup_exit(void)
{
    durability = "exit";
    setup();
}

static void teardown(void)
{
    mortise_close(m);
    m = NULL;
    test_rmdir(dir);
    shelf_nothing_left();
}

static struct mortise_graph *load(const char *nodes)
{
    struct mortise_graph *g;
    char text[8192], path[PATH_MAX], *report = NULL;

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Graph\n"
             "metadata: {name: test, version: 1.0.0}\n%s",
             nodes);
    snprintf(path, sizeof path, "%s/test.graph.yaml", dir);
    test_write(path, text, strlen(text));
    if (mortise_load(m, path, &g, &report, &err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    return g;
}

/* ---- a listener --------------------------------------------------------- */

enum { PATHS = 64 };

struct listener {
    uint64_t seq, first;   /* durable ones: the last, the first */
    long n, progress;      /* events; live ones of plugins */
    long missed, n_missed; /* what it was told; how often */
    bool stored;           /* it hears durable ones alone */
    bool last;             /* ... that it gets no more */
    int stop_after;        /* so many events; 0: all */
    struct {
        char path[64];
        bool runs;
        long next; /* progress */
    } at[PATHS];
    size_t n_at;
    char types[4096]; /* the first of them, in order; progress once */
    char wrong[512];  /* the first thing that was; "" */
};

static void wrong(struct listener *l, const char *what, const char *json)
{
    if (l->wrong[0] == '\0')
        snprintf(l->wrong, sizeof l->wrong, "%s: %.300s", what, json);
}

static void note_type(struct listener *l, const char *type)
{
    size_t n = strlen(l->types), k = strlen(type);

    if (n >= k + 1 && strncmp(l->types + n - k - 1, type, k) == 0)
        return;
    if (n + k + 2 < sizeof l->types)
        sprintf(l->types + n, "%s ", type);
}

/* An event of an execution. */
static void note_path(struct listener *l, const char *type, const char *path,
                      const json_t *data, const char *json)
{
    size_t i = 0;
    long at;

    while (i < l->n_at && strcmp(l->at[i].path, path) != 0)
        i++;
    if (i == PATHS)
        return;
    if (i == l->n_at)
        snprintf(l->at[l->n_at++].path, sizeof l->at[0].path, "%s", path);
    if (strcmp(type, "node_start") == 0) {
        if (l->at[i].runs)
            wrong(l, "started twice", json);
        l->at[i].runs = true;
    } else if (strcmp(type, "node_end") == 0) {
        if (!l->at[i].runs && l->missed == 0 && !l->stored &&
            strstr(path, "/h#") == NULL)
            wrong(l, "ended and never began", json); /* no human's node */
        l->at[i].runs = false;
    } else if (strcmp(type, "progress") == 0) {
        at = (long)json_integer_value(json_object_get(data, "i"));
        if (!l->at[i].runs && l->missed == 0)
            wrong(l, "progress of what does not run", json);
        if (at < l->at[i].next || (at > l->at[i].next && l->missed == 0))
            wrong(l, "progress out of order", json);
        l->at[i].next = at + 1;
        l->progress++;
    }
}

static int listen_to(void *ud, const char *json, size_t len)
{
    struct listener *l = ud;
    const char *type, *path;
    const json_t *seq;
    json_t *v;

    ck_assert_int_eq(mortise_json_parse_written(&v, json, len, &err),
                     MORTISE_OK);
    type = json_string_value(json_object_get(v, "type"));
    path = json_string_value(json_object_get(v, "path"));
    seq = json_object_get(v, "seq");
    if (seq != NULL) {
        if (l->first == 0)
            l->first = (uint64_t)json_integer_value(seq);
        else if ((uint64_t)json_integer_value(seq) != l->seq + 1)
            wrong(l, "a gap", json);
        l->seq = (uint64_t)json_integer_value(seq);
    }
    if (strcmp(type, "missed") == 0) {
        l->missed += (long)json_integer_value(json_object_get(v, "count"));
        l->last |= json_is_true(json_object_get(v, "last"));
        l->n_missed++;
        if ((uint64_t)json_integer_value(json_object_get(v, "since")) > l->seq)
            wrong(l, "missed since later", json);
    }
    note_type(l, type);
    if (path != NULL)
        note_path(l, type, path, json_object_get(v, "data"), json);
    l->n++;
    json_decref(v);
    return l->stop_after != 0 && l->n >= l->stop_after;
}

/* Start with a listener; it hears the run from its first event on. */
static uint64_t start(const char *nodes, struct listener *l)
{
    struct mortise_graph *g = load(nodes);
    uint64_t id = 77;
    struct mortise_start_options s = {.size = sizeof s,
                                      .event = l != NULL ? listen_to : NULL,
                                      .event_ud = l,
                                      .event_id = &id};

    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
    return id;
}

static int wait_for(void)
{
    int status = 0;

    ck_assert_msg(mortise_wait(m, NULL, run_id, &status, &err) == MORTISE_OK,
                  "%s", err.msg);
    return status;
}

/* All that is stored. */
static void hear_stored(struct listener *l, uint64_t after)
{
    l->stored = true;
    ck_assert_msg(mortise_events(m, NULL, run_id, after, 0, listen_to, l, NULL,
                                 &err) == MORTISE_OK,
                  "%s", err.msg);
}

#define EMIT(plugin, n)                                                        \
    "start: a\nnodes:\n  a: {type: tool, tool: " plugin "/run, args: {n: " n   \
    "}, next: END}\n"

/* ---- all of it ---------------------------------------------------------- */

/* Fifty of fifty runs of inline nodes: each event, in order. */
START_TEST(nothing_of_inline_nodes_is_lost)
{
    for (int i = 0; i < 50; i++) {
        struct listener l = {.n = 0};
        uint64_t id = start(EMIT("emits_many", "16"), &l);

        ck_assert_uint_ne(id, 0);
        ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
        mortise_unsubscribe(m, id);
        ck_assert_str_eq(l.wrong, "");
        ck_assert_int_eq(l.progress, 16);
        ck_assert_uint_eq(l.first, 1);
        ck_assert_str_eq(l.types, "run_start node_start progress node_end "
                                  "run_end ");
    }
    ck_assert_uint_eq(m->topics.n, 0);
}
END_TEST

/* A hundred thousand like ten, from the loop and from a worker. */
START_TEST(many_keep_their_order)
{
    static const char *const graphs[] = {EMIT("emits_many", "100000"),
                                         EMIT("emits_more", "100000")};

    for (size_t i = 0; i < 2; i++) {
        struct listener l = {.n = 0};
        uint64_t id = start(graphs[i], &l);

        ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
        mortise_unsubscribe(m, id);
        ck_assert_str_eq(l.wrong, "");
        ck_assert_int_eq(l.progress, 100000);
        ck_assert_int_eq(l.n_missed, 0);
        ck_assert_str_eq(l.types, "run_start node_start progress node_end "
                                  "run_end ");
    }
    ck_assert_uint_eq(atomic_load(&m->passing), 0);
}
END_TEST

/* Nodes one after the other, side by side, in rounds of a loop, as elements of
 * a map and inside of another graph: each keeps its place. */
START_TEST(all_shapes_keep_their_order)
{
    static const char shapes[] =
        "state: {scratch: {l: {type: array, initial: [1, 2, 3]}}}\n"
        "start: [a, p]\n"
        "nodes:\n"
        "  a: {type: tool, tool: emits_many/run, args: {n: 40}, next: b}\n"
        "  b: {type: tool, tool: emits_more/run, args: {n: 40}, next: c}\n"
        "  c: {type: tool, tool: emits_many/run, args: {n: 40}, next: END}\n"
        "  p: {type: tool, tool: emits_more/run, args: {n: 40}, next: q}\n"
        "  q: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: s}\n"
        "  s: {type: tool, tool: emits_many/run, args: {n: 40}, next: END}\n";
    struct listener l = {.n = 0};

    start(shapes, &l);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(l.wrong, "");
    ck_assert_int_eq(l.progress, 200);
}
END_TEST

/* ---- too much of it ----------------------------------------------------- */

/* What does not fit is counted, and told where it is missing. */
START_TEST(what_is_left_out_is_counted)
{
    static const char *const graphs[] = {EMIT("emits_many", "5000"),
                                         EMIT("emits_more", "5000")};

    m->passing_max = 64 << 10;
    for (size_t i = 0; i < 2; i++) {
        struct listener l = {.n = 0};
        uint64_t id = start(graphs[i], &l);

        ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
        mortise_unsubscribe(m, id);
        ck_assert_str_eq(l.wrong, "");
        ck_assert_int_eq(l.progress + l.missed, 5000);
        ck_assert_int_gt(l.progress, 0);
        if (i == 0) { /* nobody could take any away in between */
            ck_assert_int_gt(l.missed, 0);
            ck_assert_str_eq(l.types, "run_start node_start progress missed "
                                      "node_end run_end ");
        }
    }
    ck_assert_uint_eq(atomic_load(&m->passing), 0);
}
END_TEST

/* Without a subscriber nothing is kept, and nothing is counted. */
START_TEST(nobody_listens)
{
    struct listener stored = {.n = 0};

    start(EMIT("emits_many", "5000"), NULL);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(atomic_load(&m->passing), 0);
    hear_stored(&stored, 0);
    ck_assert_str_eq(stored.types, "run_start node_end run_end ");
}
END_TEST

/* ---- subscriptions ------------------------------------------------------ */

/* An older caller, whose struct ends before the subscription. */
START_TEST(shorter_options)
{
    struct mortise_graph *g = load(EMIT("emits_many", "1"));
    struct mortise_start_options s = {
        .size = offsetof(struct mortise_start_options, event)};

    s.event = listen_to; /* none of its */
    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    s.size--;
    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_EINVAL);
    mortise_graph_close(g);
}
END_TEST

/* A start that is refused has no subscription. */
START_TEST(refused_starts)
{
    struct mortise_graph *g = load(EMIT("emits_many", "1"));
    struct listener l = {.n = 0};
    uint64_t id = 77;
    struct mortise_start_options s = {.size = sizeof s,
                                      .run = "../bad",
                                      .event = listen_to,
                                      .event_ud = &l,
                                      .event_id = &id};

    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_EINVAL);
    ck_assert_uint_eq(id, 0);
    ck_assert_int_eq(l.n, 0);
    ck_assert_uint_eq(m->topics.n, 0);
    mortise_graph_close(g);
}
END_TEST

/* One that has heard enough hears no more, wherever it stops. */
START_TEST(enough_is_enough)
{
    for (int n = 1; n < 20; n++) {
        struct listener l = {.stop_after = n};

        start(EMIT("emits_many", "16"), &l);
        ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(l.n, n);
        ck_assert_str_eq(l.wrong, "");
    }
    ck_assert_uint_eq(m->topics.n, 0);
}
END_TEST

/* Whoever joins later, wherever that is, hears the rest in order: what is
 * stored, and live events from then on. */
START_TEST(joining_later)
{
    enum { LISTENERS = 24 };
    static struct listener l[LISTENERS];
    struct listener stored = {.n = 0};

    memset(l, 0, sizeof l);
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_async/sleep, args: {ms: 2}, next: b}\n"
          "  b: {type: tool, tool: emits_more/run, args: {n: 9}, next: c}\n"
          "  c: {type: tool, tool: ok_async/sleep, args: {ms: 2}, next: d}\n"
          "  d: {type: tool, tool: emits_many/run, args: {n: 9}, next: e}\n"
          "  e: {type: tool, tool: ok_async/sleep, args: {ms: 2}, next: f}\n"
          "  f: {type: tool, tool: emits_more/run, args: {n: 9}, next: END}\n",
          NULL);
    for (int i = 0; i < LISTENERS; i++) {
        /* It may have begun in the middle of a node. */
        l[i].at[0].next = 0;
        ck_assert_int_eq(mortise_events(m, NULL, run_id, 0,
                                        MORTISE_EVENTS_FOLLOW, listen_to, &l[i],
                                        NULL, &err),
                         MORTISE_OK);
        mortise_poll(m, 1, &err);
    }
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    hear_stored(&stored, 0);
    for (int i = 0; i < LISTENERS; i++) {
        ck_assert_uint_eq(l[i].first, 1);
        ck_assert_uint_eq(l[i].seq, stored.seq);
        ck_assert_int_eq(l[i].n_missed, 0);
        ck_assert_msg(strstr(l[i].wrong, "gap") == NULL &&
                          strstr(l[i].wrong, "twice") == NULL,
                      "%s", l[i].wrong);
    }
}
END_TEST

/* After the run was put away and comes back, the subscription goes on, and a
 * new one with the number of the last that was heard repeats nothing. */
START_TEST(runs_that_come_back)
{
    struct listener l = {.n = 0}, late = {.n = 0};
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_ANSWER,
                                .json = "{\"approved\": true}"};
    json_t *v;
    char *text;
    uint64_t heard;

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: emits_many/run, args: {n: 9}, next: h}\n"
          "  h: {type: human, prompt: Well?, next: b}\n"
          "  b: {type: tool, tool: emits_many/run, args: {n: 9}, next: END}\n",
          &l);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    heard = l.seq;
    mortise_show(m, NULL, run_id, &text, &err);
    ck_assert_int_eq(mortise_json_parse_written(&v, text, strlen(text), &err),
                     0);
    mortise_free(m, text);
    c.id = json_string_value(json_object_get(
        json_array_get(json_object_get(v, "pending"), 0), "id"));
    ck_assert_int_eq(mortise_events(m, NULL, run_id, heard,
                                    MORTISE_EVENTS_FOLLOW, listen_to, &late,
                                    NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_apply(m, NULL, run_id, &c, 1, 0, NULL, &err),
                     MORTISE_OK);
    json_decref(v);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(l.wrong, "");
    ck_assert_int_eq(l.progress, 18);
    ck_assert_str_eq(late.wrong, "");
    ck_assert_uint_eq(late.first, heard + 1);
    ck_assert_uint_eq(late.seq, l.seq);
    ck_assert_int_eq(late.progress, 9);
}
END_TEST

static const char uncommitted[] =
    "checkpoint_policy: none\nstart: a\nnodes:\n"
    "  a: {type: tool, tool: ok_inline/echo, args: {}, next: b}\n"
    "  b: {type: tool, tool: emits_many/run, args: {n: 9}, next: c}\n"
    "  c: {type: tool, tool: ok_async/sleep, args: {ms: 60000}, next: END}\n";

/* Who reads what is stored is not held up by what waits to be committed. */
START_TEST(reading_does_not_wait)
{
    struct listener l = {.n = 0};

    start(uncommitted, NULL);
    for (int i = 0; i < 20; i++)
        mortise_poll(m, 1, &err);
    hear_stored(&l, 0);
    ck_assert_uint_eq(l.first, 1);
    ck_assert_str_eq(l.wrong, "");
}
END_TEST

/* Where steps are not committed one by one, who follows does not wait for the
 * next commit, which may be a minute away: not from the start, and not when it
 * comes in the middle. */
START_TEST(following_does_not_wait)
{
    struct listener l = {.n = 0}, late = {.n = 0};

    start(uncommitted, &l);
    while (l.at[2].runs == false)
        ck_assert_int_eq(mortise_poll(m, 30000, &err), 1);
    ck_assert_str_eq(l.types, "run_start node_start node_end node_start "
                              "progress node_end node_start ");
    start(uncommitted, NULL);
    for (int i = 0; i < 20; i++)
        mortise_poll(m, 1, &err);
    ck_assert_int_eq(mortise_events(m, NULL, run_id, 0, MORTISE_EVENTS_FOLLOW,
                                    listen_to, &late, NULL, &err),
                     MORTISE_OK);
    while (strstr(late.types, "node_end node_start") == NULL)
        ck_assert_int_eq(mortise_poll(m, 30000, &err), 1);
    ck_assert_str_eq(l.wrong, "");
}
END_TEST

static void add_order(TCase *tc)
{
    tcase_add_test(tc, nothing_of_inline_nodes_is_lost);
    tcase_add_test(tc, all_shapes_keep_their_order);
    tcase_add_test(tc, joining_later);
    tcase_add_test(tc, runs_that_come_back);
}

static TCase *mode(Suite *s, const char *name, void (*begin)(void))
{
    TCase *tc = tcase_create(name);

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, teardown);
    tcase_set_timeout(tc, 240);
    suite_add_tcase(s, tc);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("events");
    TCase *tc = mode(s, "events", setup);

    add_order(tc);
    tcase_add_test(tc, many_keep_their_order);
    tcase_add_test(tc, what_is_left_out_is_counted);
    tcase_add_test(tc, nobody_listens);
    tcase_add_test(tc, shorter_options);
    tcase_add_test(tc, refused_starts);
    tcase_add_test(tc, enough_is_enough);
    tcase_add_test(tc, reading_does_not_wait);
    tcase_add_test(tc, following_does_not_wait);
    add_order(mode(s, "batch", setup_batch));
    add_order(mode(s, "exit", setup_exit));
    return s;
}

int main(void)
{
    return test_run(suite());
}
