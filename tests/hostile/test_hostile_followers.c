/* test_hostile_followers.c -- a long run, and those who follow it.
 *
 * Maps in loops, with subgraphs as their bodies, and live events in all of them:
 * whoever follows from the start, whoever keeps falling behind, and whoever
 * reads it again later hear the same durable events, byte for byte, and every
 * live one in its place.  What is on its way stays within its bounds, and one
 * that falls behind goes on where it was: catching up a thousand times costs
 * about what reading it once does. */
#include <check.h>
#include <stdatomic.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "core/json/value.h"
#include "lib/matrix.h"
#include "lib/shelf.h"
#include "lib/warm.h"

enum {
    PER_ROUND = 11, /* durable events: 3 elements of 3, the map and the judge */
    ROOM = 20,      /* events that a slow one takes before it has to rest */
    WHOLE = 100000,
    PART = 5000
};

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64], deployment[PATH_MAX], store[PATH_MAX];
static char run_id[MORTISE_RUN_MAX];

/* ---- memory that is counted --------------------------------------------- */

static atomic_size_t n_calls; /* on the loop; other threads add a few */

static void *counting(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    n_calls++;
    return test_mem.realloc(ud, ptr, old_size, new_size);
}

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_inline");
    shelf_put(&shelf, "emits_many");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    static struct mortise_mem mem;
    struct mortise_options o = {.size = sizeof o,
                                .deployment = deployment,
                                .store = store,
                                .mem = &mem};
    char text[4 * PATH_MAX];

    mem = test_mem;
    mem.realloc = counting;
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: test}\nplugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\nstore: {durability: sync}\n"
             "limits: {steps: 1000000, visits: 1000000}\n",
             shelf.plugins, shelf.trust);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    test_write(deployment, text, strlen(text));
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
}

static void teardown(void)
{
    mortise_close(m);
    test_rmdir(dir);
    shelf_nothing_left();
}

/* So many rounds of a loop, each a map of subgraphs. */
static struct mortise_graph *load(long rounds)
{
    struct mortise_graph *g;
    char text[4096], path[PATH_MAX], *report = NULL;

    snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: test, version: 1.0.0}\n"
        "limits: {steps: 1000000, visits: 1000000}\n"
        "start: s\nnodes:\n"
        "  s: {type: tool, tool: ok_inline/echo, args: {},\n"
        "      map: {over: '[1, 2, 3]', to: w, join: j}}\n"
        "  w:\n"
        "    type: subgraph\n"
        "    next: j\n"
        "    graph:\n"
        "      start: p\n"
        "      nodes:\n"
        "        p: {type: tool, tool: emits_many/run, args: {n: 2}, next: q}\n"
        "        q: {type: tool, tool: ok_inline/echo, args: {}, next: END}\n"
        "  j: {type: router, routes: [{when: node.visit < %ld, to: s}],\n"
        "      default: END}\n",
        rounds);
    snprintf(path, sizeof path, "%s/test.graph.yaml", dir);
    test_write(path, text, strlen(text));
    if (mortise_load(m, path, &g, &report, &err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    return g;
}

/* ---- followers ---------------------------------------------------------- */

struct follower {
    struct mortise_watch watch; /* unless the API's own */
    uint64_t seq, digest;       /* of the durable ones, in order */
    long n, live, missed;
    long room;   /* a slow one: so many more */
    size_t cost; /* calls of the memory door, while it caught up */
    long rests;
    json_t *calls; /* path -> the next number of its progress; null: it ended */
    bool whole;    /* it hears all that is live, too */
    bool over;
    char wrong[512]; /* the first thing that was */
};

static void wrong(struct follower *f, const char *what, const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);

    if (f->wrong[0] == '\0')
        snprintf(f->wrong, sizeof f->wrong, "%s: %.400s", what, text);
    free(text);
}

static void note_durable(struct follower *f, const json_t *event, uint64_t seq)
{
    char *text = json_dumps(event, JSON_COMPACT | JSON_SORT_KEYS);

    if (seq != f->seq + 1)
        wrong(f, "a gap", event);
    f->seq = seq;
    for (const char *c = text; *c != '\0'; c++)
        f->digest = (f->digest ^ (unsigned char)*c) * 1099511628211u;
    free(text);
}

/* A call begins, tells, ends.  One that joined, or is slow, may miss what is
 * live, but hears nothing of a call that has ended. */
static void note_place(struct follower *f, const json_t *event,
                       const char *type)
{
    const char *path = json_string_value(json_object_get(event, "path"));
    const json_t *at = path != NULL ? json_object_get(f->calls, path) : NULL;

    if (strcmp(type, "node_start") == 0) {
        if (at != NULL)
            wrong(f, "started twice", event);
        json_object_set_new(f->calls, path, json_integer(0));
    } else if (strcmp(type, "progress") == 0) {
        if (json_is_null(at) ||
            (f->whole &&
             !json_equal(at,
                         json_object_get(json_object_get(event, "data"), "i"))))
            wrong(f, "progress out of its place", event);
        json_object_set_new(f->calls, path,
                            json_integer(json_integer_value(at) + 1));
    } else if (strcmp(type, "node_end") == 0) {
        if (f->whole && strstr(path, "/p#") != NULL &&
            json_integer_value(at) != 2)
            wrong(f, "ended before it had told all", event);
        json_object_set_new(f->calls, path, json_null());
    }
}

static void note(struct follower *f, const json_t *event)
{
    const json_t *seq = json_object_get(event, "seq");
    const char *type = json_string_value(json_object_get(event, "type"));

    if (f->calls == NULL)
        f->calls = json_object();
    f->n++;
    f->room--;
    if (strcmp(type, "missed") == 0)
        f->missed += (long)json_integer_value(json_object_get(event, "count"));
    else if (seq == NULL)
        f->live++;
    if (seq != NULL)
        note_durable(f, event, (uint64_t)json_integer_value(seq));
    note_place(f, event, type);
}

static int hear(void *ud, const char *json, size_t len)
{
    json_t *v;

    ck_assert_int_eq(mortise_json_parse_written(&v, json, len, &err),
                     MORTISE_OK);
    note(ud, v);
    json_decref(v);
    return 0;
}

static int see(struct mortise_watch *w, json_t *event)
{
    note(MORTISE_CONTAINER_OF(w, struct follower, watch), event);
    return 0;
}

static bool is_full(struct mortise_watch *w)
{
    return MORTISE_CONTAINER_OF(w, struct follower, watch)->room <= 0;
}

static void over(struct mortise_watch *w, int status, const char *reason,
                 const struct mortise_err *e)
{
    struct follower *f = MORTISE_CONTAINER_OF(w, struct follower, watch);

    (void)status, (void)reason;
    ck_assert(e == NULL || e->code == MORTISE_OK);
    f->over = true;
}

static void follow(struct follower *f, bool (*full)(struct mortise_watch *))
{
    f->watch.until = MORTISE_UNTIL_END;
    f->watch.after = 0;
    f->watch.event = see;
    f->watch.full = full;
    f->watch.done = over;
    f->room = ROOM;
    ck_assert_msg(mortise_watch_add(m, &f->watch, "default", run_id, &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
}

/* Each has taken what it had, and has room again. */
static void rest(struct follower *f)
{
    size_t before = n_calls;

    if (f->over || f->room > 0)
        return;
    f->rests++;
    f->room = ROOM;
    mortise_watch_continue(m, &f->watch);
    f->cost += n_calls - before;
}

static void finish(struct follower *f)
{
    json_decref(f->calls);
}

/* ---- all of it ---------------------------------------------------------- */

/* As the essay says; 100,000 durable events where all is asked for. */
START_TEST(one_order_for_all)
{
    long events = matrix_is_whole() ? WHOLE : PART;
    struct mortise_graph *g = load(events / PER_ROUND + 1);
    static struct follower first = {.whole = true}, joined, slow[2], later;
    uint64_t id = 0;
    struct mortise_start_options s = {
        .size = sizeof s, .event = hear, .event_ud = &first, .event_id = &id};
    size_t once;

    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
    follow(&slow[0], is_full);
    follow(&slow[1], is_full);
    follow(&joined, NULL);
    while (!slow[0].over || !slow[1].over) {
        ck_assert_int_ge(mortise_poll(m, 0, &err), 0);
        rest(&slow[0]);
        do /* the other one comes up with the run each time */
            rest(&slow[1]);
        while (!slow[1].over && slow[1].watch.behind && slow[1].room <= 0);
        ck_assert_uint_le(atomic_load(&m->passing), m->passing_max);
    }
    ck_assert_uint_eq(atomic_load(&m->passing), 0);
    mortise_unsubscribe(m, id);
    once = n_calls;
    ck_assert_int_eq(
        mortise_events(m, NULL, run_id, 0, 0, hear, &later, NULL, &err),
        MORTISE_OK);
    once = n_calls - once;
    ck_assert_uint_ge(first.seq, (uint64_t)events);
    ck_assert_str_eq(first.wrong, "");
    ck_assert_int_eq(first.missed, 0);
    ck_assert_int_eq(later.live, 0);
    ck_assert_uint_eq(later.seq, first.seq);
    ck_assert_uint_eq(later.digest, first.digest);
    ck_assert_str_eq(joined.wrong, "");
    ck_assert_int_eq(joined.missed, 0);
    ck_assert_uint_eq(joined.digest, first.digest);
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(slow[i].wrong, "");
        ck_assert_uint_eq(slow[i].seq, first.seq);
        ck_assert_uint_eq(slow[i].digest, first.digest);
        ck_assert_int_gt(slow[i].rests, 20);
        ck_assert_int_eq(slow[i].live + slow[i].missed, joined.live);
        ck_assert_msg(slow[i].cost < 4 * once,
                      "%zu for %ld rests where reading it takes %zu",
                      slow[i].cost, slow[i].rests, once);
        finish(&slow[i]);
    }
    finish(&first);
    finish(&joined);
    finish(&later);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile_followers");
    TCase *tc = tcase_create("hostile_followers");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, one_order_for_all);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
