/* test_slow_store.c -- what a store that answers late must not change: while a
 * run is loaded the others go on, its commands keep their order, and the engine
 * closes.  The store is that of tests/extend/core/slow_store.c.
 *
 * Nothing here looks at a clock: what is asserted is what came before what. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "lib/shelf.h"
#include "lib/warm.h"
#include "core/mortise.h"
#include "core/run/command/run_commands.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64], deployment[PATH_MAX], store[PATH_MAX];
static char heard[512]; /* what the runs told, in order */

static char logged[4096];

static void note(void *ud, int level, const char *msg)
{
    size_t at = strlen(logged);

    (void)ud;
    (void)level;
    snprintf(logged + at, sizeof logged - at, "%s\n", msg);
}

static void open_engine(void)
{
    struct mortise_options o = {.size = sizeof o,
                                .deployment = deployment,
                                .store = store,
                                .mem = &test_mem,
                                .log = note};

    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
}

static void close_engine(void)
{
    mortise_close(m);
    m = NULL;
}

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_async");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void begin(const char *late_ms)
{
    char text[2 * PATH_MAX];

    setenv("MORTISE_SLOW_STORE", late_ms, 1);
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: test}\nplugins: {path: [\"%s\"]}\n"
             "trust: {dir: \"%s\"}\n",
             shelf.plugins, shelf.trust);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    test_write(deployment, text, strlen(text));
    snprintf(store, sizeof store, "%s/store", dir);
    heard[0] = logged[0] = '\0';
    open_engine();
}

static void setup(void)
{
    begin("200");
}

static void setup_soon(void)
{
    begin("20");
}

static void teardown(void)
{
    close_engine();
    test_rmdir(dir);
    shelf_nothing_left();
}

/* "RUN:TYPE " of the events that say where a run is. */
static int hear(void *ud, const char *json, size_t n)
{
    static const char *const types[] = {"run_end", "command"};
    json_t *event;

    ck_assert_int_eq(mortise_json_parse_written(&event, json, n, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t at = strlen(heard);

        if (strcmp(json_string_value(json_object_get(event, "type")),
                   types[i]) == 0)
            snprintf(heard + at, sizeof heard - at, "%s:%s ", (const char *)ud,
                     types[i]);
    }
    json_decref(event);
    return 0;
}

static void start(const char *run, char *ud, const char *nodes)
{
    struct mortise_start_options s = {
        .size = sizeof s, .run = run, .event = hear, .event_ud = ud};
    struct mortise_graph *g;
    char path[PATH_MAX], text[2048], id[MORTISE_RUN_MAX];

    snprintf(path, sizeof path, "%s/%s.graph.yaml", dir, run);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: %s, version: 1.0.0}\n%s",
             run, nodes);
    test_write(path, text, strlen(text));
    ck_assert_msg(mortise_load(m, path, &g, NULL, &err) == MORTISE_OK, "%s",
                  err.msg);
    ck_assert_msg(mortise_start(m, g, &s, id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
}

/* A run that waits for somebody, and is not in memory. */
static void start_waiting(void)
{
    static char name[] = "waits";
    int status;

    start("waits", name,
          "start: a\nnodes:\n  a: {type: human, prompt: Well?, next: END}\n");
    ck_assert_int_eq(mortise_wait(m, NULL, "waits", &status, &err), MORTISE_OK);
    ck_assert_int_eq(status, MORTISE_RUN_WAITING);
    while (mortise_live_find(m, "default", "waits") != NULL)
        mortise_loop_turn(m, -1);
}

/* An order that says in `heard` what came of it. */
struct said {
    struct mortise_order order;
    struct mortise_run_command command;
    const char *name;
};

static void answered(struct mortise_order *o, const struct mortise_err *e)
{
    const struct said *s = MORTISE_CONTAINER_OF(o, struct said, order);
    size_t at = strlen(heard);

    snprintf(heard + at, sizeof heard - at, "%s:%s ", s->name,
             mortise_result_name(e->code));
}

static void give(struct said *s, const char *name, const char *json)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_UPDATE, .json = json};

    *s = (struct said){.name = name};
    ck_assert_int_eq(mortise_command_read(&s->command, &c, &err), MORTISE_OK);
    s->order = (struct mortise_order){.list = &s->command,
                                      .n = 1,
                                      .flags = MORTISE_NO_CONTINUE,
                                      .actor = "ann",
                                      .done = answered};
    mortise_live_send_order(m, "default", "waits", &s->order);
}

/* ---- tests ------------------------------------------------------------------ */

/* While one run is loaded for a command, another one goes through all its steps
 * and ends. */
START_TEST(others_go_on)
{
    static char name[] = "works";
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_UPDATE,
                                .json = "{\"scratch\":{\"z\":1}}"};

    start_waiting();
    start(
        "works", name,
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: b}\n"
        "  b: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: c}\n"
        "  c: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: END}\n");
    heard[0] = '\0'; /* it has not ended: its admission alone is on disk */
    ck_assert_ptr_nonnull(mortise_live_find(m, "default", "works"));
    ck_assert_msg(mortise_apply(m, NULL, "waits", &c, 1, MORTISE_NO_CONTINUE,
                                NULL, &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_msg(strncmp(heard, "works:run_end ", 14) == 0, "%s", heard);
}
END_TEST

/* Commands on a run that is being loaded are answered in their order. */
START_TEST(commands_keep_their_order)
{
    struct said one, two;
    char *json;

    start_waiting();
    heard[0] = '\0';
    give(&one, "one", "{\"scratch\":{\"z\":1}}");
    give(&two, "two", "{\"scratch\":{\"z\":2}}");
    ck_assert(mortise_live_is_loaded_or_loading(m, "default", "waits"));
    ck_assert_ptr_null(mortise_live_find(m, "default", "waits"));
    ck_assert_str_eq(heard, "");
    while (strstr(heard, "two:") == NULL)
        mortise_loop_turn(m, -1);
    ck_assert_str_eq(heard, "waits:command one:OK waits:command two:OK ");
    ck_assert_int_eq(mortise_show(m, NULL, "waits", &json, &err), MORTISE_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"z\":2"));
    mortise_free(m, json);
    json_decref(one.command.value);
    json_decref(two.command.value);
}
END_TEST

/* The engine closes while a run is loaded: who waits for it is told, once. */
START_TEST(closing_while_a_run_is_loaded)
{
    struct said one;

    start_waiting();
    heard[0] = '\0';
    give(&one, "one", "{\"scratch\":{\"z\":1}}");
    close_engine();
    ck_assert_msg(strstr(heard, "one:E_STORE_BUSY ") != NULL, "%s", heard);
    json_decref(one.command.value);
    open_engine();
}
END_TEST

static int count(void *ud, const char *json, size_t n)
{
    (void)json;
    (void)n;
    ++*(long *)ud;
    return 0;
}

static long stored_events(void)
{
    long n = 0;

    ck_assert_msg(mortise_events(m, NULL, "waits", 0, 0, count, &n, NULL,
                                 &err) == MORTISE_OK,
                  "%s", err.msg);
    return n;
}

/* Who asks for all that is stored gets all of it, whenever the run comes into
 * memory meanwhile. */
START_TEST(events_while_a_run_is_loaded)
{
    enum { MOMENTS = 12 };
    struct said one;
    long before;

    start_waiting();
    for (int turns = 0; turns < MOMENTS; turns++) {
        before = stored_events();
        give(&one, "one", "{\"scratch\":{\"z\":1}}");
        for (int i = 0; i < turns && strstr(heard, "one:") == NULL; i++)
            mortise_loop_turn(m, -1);
        ck_assert_int_ge(stored_events(), before);
        while (strstr(heard, "one:") == NULL ||
               mortise_live_is_loaded_or_loading(m, "default", "waits"))
            mortise_loop_turn(m, -1);
        ck_assert_int_gt(stored_events(), before);
        heard[0] = '\0';
        json_decref(one.command.value);
    }
}
END_TEST

/* A read of retention's that fails is one that is made again later: no run is
 * dropped for it. */
START_TEST(a_read_that_fails_is_no_write)
{
    static char name[] = "works";
    struct mortise_command cancel = {.size = sizeof cancel,
                                     .kind = MORTISE_CMD_CANCEL};
    int status;

    close_engine();
    setenv("MORTISE_SLOW_STORE_LOSES", "noted", 1);
    open_engine();
    start("works", name,
          "start: a\nnodes:\n"
          "  a: {type: tool, tool: ok_async/sleep, args: {ms: 60000}, next: "
          "END}\n");
    while (strstr(logged, "the answer was lost") == NULL)
        mortise_loop_turn(m, -1);
    unsetenv("MORTISE_SLOW_STORE_LOSES");
    ck_assert_msg(mortise_apply(m, NULL, "works", &cancel, 1, 0, NULL, &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    ck_assert_int_eq(mortise_wait(m, NULL, "works", &status, &err), MORTISE_OK);
    ck_assert_int_eq(status, MORTISE_RUN_CANCELLED);
    ck_assert_msg(strstr(logged, "dropped") == NULL, "%s", logged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slow_store");
    TCase *tc = tcase_create("late"), *soon = tcase_create("soon");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, others_go_on);
    tcase_add_test(tc, commands_keep_their_order);
    tcase_add_test(tc, closing_while_a_run_is_loaded);
    suite_add_tcase(suite, tc);
    tcase_add_unchecked_fixture(soon, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(soon, setup_soon, teardown);
    tcase_add_test(soon, events_while_a_run_is_loaded);
    tcase_add_test(soon, a_read_that_fails_is_no_write);
    suite_add_tcase(suite, soon);
    return test_run(suite);
}
