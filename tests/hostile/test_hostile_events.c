/* test_hostile_events.c -- embedders whose callbacks do what they may not.
 *
 * Subscribers of one run, each with a habit: ending itself or the others,
 * closing the engine, asking it for more, at every event in turn.  The matrix is
 * habit x event x how the run is stored; whatever they do, one who only listens
 * hears everything, in order. */
#include <check.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "core/json/value.h"
#include "lib/matrix.h"
#include "lib/shelf.h"
#include "lib/warm.h"

enum habit {
    STOPS,
    ENDS_ITSELF,
    ENDS_THE_NEXT,
    ENDS_ALL,
    CLOSES,
    CALLS,
    HABITS
};

enum { LISTENERS = 4, EVENTS = 14 };

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64], deployment[PATH_MAX], store[PATH_MAX];
static char run_id[MORTISE_RUN_MAX];
static struct mortise_graph *graph;

static struct listener {
    enum habit habit;
    int at;   /* when it does so; 0: it only listens */
    int n;    /* events that it heard */
    int over; /* ... when it was ended */
    uint64_t id, seq;
    int gaps;
} listeners[LISTENERS];

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "emits_many");
    shelf_put(&shelf, "emits_more");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void open_engine(const char *durability)
{
    struct mortise_options o = {.size = sizeof o,
                                .deployment = deployment,
                                .store = store,
                                .mem = &test_mem};
    char text[4 * PATH_MAX], path[PATH_MAX];
    static const char nodes[] =
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: test, version: 1.0.0}\nstart: a\nnodes:\n"
        "  a: {type: tool, tool: emits_many/run, args: {n: 3}, next: b}\n"
        "  b: {type: tool, tool: emits_more/run, args: {n: 3}, next: c}\n"
        "  c: {type: tool, tool: emits_many/run, args: {n: 1}, next: END}\n";

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: test}\nplugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\nstore: {durability: %s}\n",
             shelf.plugins, shelf.trust, durability);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    test_write(deployment, text, strlen(text));
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    snprintf(path, sizeof path, "%s/g.yaml", dir);
    test_write(path, nodes, strlen(nodes));
    ck_assert_msg(mortise_load(m, path, &graph, NULL, &err) == MORTISE_OK, "%s",
                  err.msg);
}

static void close_engine(void)
{
    mortise_graph_close(graph);
    mortise_close(m);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
}

static void teardown(void)
{
    test_rmdir(dir);
    shelf_nothing_left();
}

/* One that has an id: while mortise_events() gives what is stored, it has not.
 */
static void end(struct listener *l)
{
    if (l->over == 0 && l->id != 0)
        l->over = l->n + 1;
    mortise_unsubscribe(m, l->id);
}

/* Whatever is asked for from in here is refused. */
static void call_back_in(void)
{
    struct mortise_start_options s = {.size = sizeof s};
    char id[MORTISE_RUN_MAX], *text = NULL;
    int status;

    ck_assert_int_eq(mortise_poll(m, 0, NULL), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_start(m, graph, &s, id, NULL), MORTISE_ESTATE);
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, NULL),
                     MORTISE_ESTATE);
    ck_assert_int_eq(mortise_show(m, NULL, run_id, &text, NULL),
                     MORTISE_ESTATE);
    mortise_free(m, text);
}

static int misbehave(struct listener *l)
{
    switch (l->habit) {
    case STOPS:
        l->over = l->n + 1;
        return 1;
    case ENDS_ITSELF:
        end(l);
        break;
    case ENDS_THE_NEXT:
        end(l < &listeners[LISTENERS - 1] ? l + 1 : l);
        break;
    case ENDS_ALL:
        for (int i = 1; i < LISTENERS; i++)
            end(&listeners[i]);
        break;
    case CLOSES:
        mortise_close(m);
        break;
    default:
        call_back_in();
    }
    return 0;
}

static int hear(void *ud, const char *json, size_t len)
{
    struct listener *l = ud;
    json_t *v;
    const json_t *seq;

    ck_assert_int_eq(mortise_json_parse_written(&v, json, len, &err),
                     MORTISE_OK);
    seq = json_object_get(v, "seq");
    if (seq != NULL) {
        l->gaps += (uint64_t)json_integer_value(seq) != l->seq + 1;
        l->seq = (uint64_t)json_integer_value(seq);
    }
    json_decref(v);
    ck_assert_msg(l->over == 0 || l->n + 1 < l->over, "told after its end");
    l->n++;
    return l->n == l->at ? misbehave(l) : 0;
}

/* One run: the first listener only listens, the others do it at event `at`. */
static void run_with(enum habit habit, int at)
{
    struct mortise_start_options s = {.size = sizeof s,
                                      .event = hear,
                                      .event_ud = &listeners[0],
                                      .event_id = &listeners[0].id};
    int status;

    memset(listeners, 0, sizeof listeners);
    ck_assert_msg(mortise_start(m, graph, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    for (int i = 1; i < LISTENERS; i++) {
        listeners[i].habit = habit;
        listeners[i].at = at;
        ck_assert_int_eq(mortise_events(m, NULL, run_id, 0,
                                        MORTISE_EVENTS_FOLLOW, hear,
                                        &listeners[i], &listeners[i].id, &err),
                         MORTISE_OK);
    }
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err), MORTISE_OK);
    ck_assert_int_eq(status, MORTISE_RUN_COMPLETED);
    for (int i = 0; i < LISTENERS; i++) {
        ck_assert_int_eq(listeners[i].gaps, 0);
        mortise_unsubscribe(m, listeners[i].id);
        mortise_unsubscribe(m, listeners[i].id);
    }
    ck_assert_int_eq(listeners[0].n, 3 + 7 + 5);
    ck_assert_uint_eq(m->topics.n, 0);
}

START_TEST(callbacks_that_misbehave) /* loop: how the run is stored */
{
    static const char *const modes[] = {"sync", "{batch: {max_ms: 3}}", "exit"};
    size_t i = 0;

    open_engine(modes[_i]);
    for (int habit = 0; habit < HABITS; habit++)
        for (int at = 1; at <= EVENTS; at++)
            if (matrix_takes(i++, 3))
                run_with((enum habit)habit, at);
    close_engine();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile_events");
    TCase *tc = tcase_create("hostile_events");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, callbacks_that_misbehave, 0, 3);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
