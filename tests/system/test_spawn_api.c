/* test_spawn_api.c -- spawn handles through the embedding API: each outcome and
 * each error of a claim, a registration and an end, and the caps. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/common/engine.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "core/mortise.h"

static char dir[PATH_MAX - 64], store[PATH_MAX], graph[PATH_MAX];
static struct mortise *m;
static struct mortise_err err;
static struct mortise_spawn_claimed got;

/* ---- around each test --------------------------------------------------- */

static void open_engine(void)
{
    struct mortise_options o = {
        .size = sizeof o, .store = store, .mem = &test_mem};

    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
}

static void close_engine(void)
{
    mortise_close(m);
    m = NULL;
}

static void reopen(void)
{
    close_engine();
    open_engine();
}

/* Run `id` waits for somebody, and its graph has those limits. */
static void start_with(const char *id, const char *limits)
{
    static const char form[] = "apiVersion: mortise/v1\nkind: Graph\n"
                               "metadata: {name: waits}\n"
                               "limits: {spawn: {%s}}\nstart: a\nnodes:\n"
                               "  a: {type: human, prompt: well, next: END}\n";
    struct mortise_start_options o = {.size = sizeof o, .run = id};
    char text[1024], run[MORTISE_RUN_MAX], *report = NULL;
    struct mortise_graph *g;
    int n = snprintf(text, sizeof text, form, limits), status;

    test_write(graph, text, (size_t)n);
    ck_assert_msg(mortise_load(m, graph, &g, &report, &err) == MORTISE_OK,
                  "%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    ck_assert_msg(mortise_start(m, g, &o, run, &err) == MORTISE_OK, "%s",
                  err.msg);
    ck_assert_int_eq(mortise_wait(m, NULL, run, &status, &err), MORTISE_OK);
    ck_assert_int_eq(status, MORTISE_RUN_WAITING);
    mortise_graph_close(g);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    snprintf(store, sizeof store, "%s/store", dir);
    snprintf(graph, sizeof graph, "%s/g.yaml", dir);
    test_begin();
    memset(&got, 0, sizeof got);
    open_engine();
    start_with("p", "");
}

/* Whatever a test did, the store is as docs/format.md says, counters too. */
static void teardown(void)
{
    struct reader_store r;

    mortise_free(m, got.terminal_result);
    close_engine();
    ck_assert_msg(store_reader_read(&r, store) == 0, "%s", r.why);
    store_reader_free(&r);
    test_rmdir(dir);
    test_nothing_left();
}

/* ---- saying it shortly ---------------------------------------------------- */

static struct mortise_spawn_claim claim_of(const char *run, const char *call)
{
    return (struct mortise_spawn_claim){.size =
                                            sizeof(struct mortise_spawn_claim),
                                        .run = run,
                                        .execution = "1.0/a#1",
                                        .call = call,
                                        .name = "helper",
                                        .task = "{\"goal\": \"look\"}"};
}

static int try_claim(const struct mortise_spawn_claim *c)
{
    mortise_free(m, got.terminal_result);
    got = (struct mortise_spawn_claimed){.size = sizeof got};
    return mortise_try_claim_spawn(m, c, &got, &err);
}

static int claim_for(const char *run, const char *call)
{
    struct mortise_spawn_claim c = claim_of(run, call);

    return try_claim(&c);
}

static int claim(const char *call)
{
    return claim_for("p", call);
}

static int detached(const char *call)
{
    struct mortise_spawn_claim c = claim_of("p", call);

    c.flags = MORTISE_SPAWN_DETACHED;
    return try_claim(&c);
}

static int enlist(const char *child)
{
    return mortise_register_child_session(m, NULL, got.handle, got.token, child,
                                          &err);
}

static int advance(int state)
{
    return mortise_advance_spawn(m, NULL, got.handle, got.token, state, &err);
}

static int settle(int status, const char *result)
{
    return mortise_settle_spawn(m, NULL, got.handle, got.token, status, result,
                                &err);
}

#define OK(call) ck_assert_msg((call) == MORTISE_OK, "%s", err.msg)
#define FAILS(code, words, call)                                               \
    do {                                                                       \
        ck_assert_int_eq((call), (code));                                      \
        ck_assert_msg(strstr(err.msg, (words)) != NULL, "%s", err.msg);        \
    } while (0)

static void counts(uint64_t active, uint64_t total)
{
    const struct reader_tree *t;
    struct reader_store r;

    close_engine();
    ck_assert_msg(store_reader_read(&r, store) == 0, "%s", r.why);
    t = store_reader_tree(&r, "default", "p");
    ck_assert_uint_eq(t != NULL ? t->active : 0, active);
    ck_assert_uint_eq(t != NULL ? t->total : 0, total);
    store_reader_free(&r);
    open_engine();
}

/* ---- outcomes -------------------------------------------------------------- */

/* Nobody claimed it before: a record is made, with a handle and a token. */
START_TEST(claimed)
{
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_CLAIMED);
    ck_assert_int_eq(got.state, MORTISE_SPAWN_PENDING);
    ck_assert_int_eq(strncmp(got.handle, "p/", 2), 0);
    ck_assert_uint_eq(strlen(got.token), 32);
    ck_assert_str_eq(got.child, "");
    counts(1, 1);
}
END_TEST

/* Claimed, and interrupted before a child was registered: the same handle,
 * another token, and no second record. */
START_TEST(claimed_pending_child)
{
    struct mortise_spawn_claimed first;

    OK(claim("c1"));
    first = got;
    reopen();
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_CLAIMED_PENDING_CHILD);
    ck_assert_str_eq(got.handle, first.handle);
    ck_assert_str_ne(got.token, first.token);
    counts(1, 1);
}
END_TEST

/* Registered and not settled: its child, and how far that is. */
START_TEST(already_running)
{
    static const int states[] = {
        MORTISE_SPAWN_CREATED, MORTISE_SPAWN_DISPATCHED, MORTISE_SPAWN_RUNNING};

    OK(claim("c1"));
    OK(enlist("session-1"));
    for (size_t i = 0; i < 3; i++) {
        if (i > 0)
            OK(advance(states[i]));
        reopen();
        OK(claim("c1"));
        ck_assert_int_eq(got.outcome, MORTISE_SPAWN_ALREADY_RUNNING);
        ck_assert_int_eq(got.state, states[i]);
        ck_assert_str_eq(got.child, "session-1");
    }
    counts(1, 1);
}
END_TEST

/* Settled: how it ended and what came of it, without waiting; no token. */
START_TEST(already_settled)
{
    OK(claim("c1"));
    OK(enlist("session-1"));
    OK(settle(MORTISE_SPAWN_COMPLETED, "{\"b\": [1, 2], \"a\": \"x\"}"));
    reopen();
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_ALREADY_SETTLED);
    ck_assert_int_eq(got.state, MORTISE_SPAWN_SETTLED);
    ck_assert_int_eq(got.terminal_status, MORTISE_SPAWN_COMPLETED);
    ck_assert_str_eq(got.terminal_result, "{\"a\":\"x\",\"b\":[1,2]}");
    ck_assert_str_eq(got.child, "session-1");
    ck_assert_str_eq(got.token, "");
    counts(0, 1);
}
END_TEST

/* Abandoned is settled, with that status. */
START_TEST(already_settled_abandoned)
{
    struct mortise_command cancel = {.size = sizeof cancel,
                                     .kind = MORTISE_CMD_CANCEL};

    OK(claim("c1"));
    OK(detached("c2"));
    OK(mortise_apply(m, NULL, "p", &cancel, 1, 0, NULL, &err));
    counts(1, 2);
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_ALREADY_SETTLED);
    ck_assert_int_eq(got.state, MORTISE_SPAWN_ABANDONED);
    ck_assert_int_eq(got.terminal_status, MORTISE_SPAWN_GIVEN_UP);
}
END_TEST

/* ---- errors --------------------------------------------------------------- */

/* The same call with another name, task or lifetime is no replay of it. */
START_TEST(e_determinism)
{
    struct mortise_spawn_claim c = claim_of("p", "c1");

    OK(try_claim(&c));
    c.task = "{ \"goal\":\"look\" }"; /* the same */
    OK(try_claim(&c));
    c.task = "{\"goal\": \"listen\"}";
    FAILS(MORTISE_EDETERMINISM, "another task", try_claim(&c));
    ck_assert_str_eq(got.handle, "");
    c = claim_of("p", "c1");
    c.name = "other";
    FAILS(MORTISE_EDETERMINISM, "another name", try_claim(&c));
    FAILS(MORTISE_EDETERMINISM, "another lifetime", detached("c1"));
    c = claim_of("p", "c1");
    c.execution = "1.0/a#2"; /* that is another call */
    OK(try_claim(&c));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_CLAIMED);
    counts(2, 2);
}
END_TEST

/* Who was thought dead and comes back can neither register, nor advance, nor
 * settle; not even say again what he said when it was his. */
START_TEST(e_stale_token)
{
    struct mortise_spawn_claimed zombie, mine;

    OK(claim("c1"));
    zombie = got;
    OK(claim("c1"));
    mine = got;
    got = zombie;
    FAILS(MORTISE_ESTALE_TOKEN, "claimed again", enlist("session-1"));
    got = mine;
    OK(enlist("session-1"));
    OK(claim("c1"));
    zombie = mine;
    mine = got;
    got = zombie;
    FAILS(MORTISE_ESTALE_TOKEN, "epoch 3", enlist("session-1"));
    FAILS(MORTISE_ESTALE_TOKEN, "", advance(MORTISE_SPAWN_RUNNING));
    FAILS(MORTISE_ESTALE_TOKEN, "", settle(MORTISE_SPAWN_COMPLETED, "1"));
    reopen();
    got = zombie;
    FAILS(MORTISE_ESTALE_TOKEN, "", settle(MORTISE_SPAWN_COMPLETED, "1"));
    got = mine;
    OK(settle(MORTISE_SPAWN_COMPLETED, "1"));
    got = zombie;
    FAILS(MORTISE_ESTALE_TOKEN, "", settle(MORTISE_SPAWN_COMPLETED, "1"));
    memset(&got, 0, sizeof got);
}
END_TEST

/* The first word holds; saying it again is fine. */
START_TEST(e_already_settled)
{
    OK(claim("c1"));
    OK(enlist("session-1"));
    OK(settle(MORTISE_SPAWN_FAILED, "{\"a\": 1, \"b\": 2}"));
    OK(settle(MORTISE_SPAWN_FAILED, "{\"b\":2,\"a\":1}"));
    FAILS(MORTISE_EALREADY_SETTLED, "failed",
          settle(MORTISE_SPAWN_FAILED, NULL));
    FAILS(MORTISE_EALREADY_SETTLED, "failed",
          settle(MORTISE_SPAWN_COMPLETED, "{\"a\": 1, \"b\": 2}"));
    FAILS(MORTISE_EALREADY_SETTLED, "", advance(MORTISE_SPAWN_RUNNING));
    OK(enlist("session-1"));
    counts(0, 1);
}
END_TEST

/* What has no child cannot have come to anything. */
START_TEST(e_not_running)
{
    OK(claim("c1"));
    FAILS(MORTISE_ENOT_RUNNING, "register one first",
          settle(MORTISE_SPAWN_COMPLETED, NULL));
    FAILS(MORTISE_ENOT_RUNNING, "", advance(MORTISE_SPAWN_DISPATCHED));
    counts(1, 1);
}
END_TEST

/* A handle has one child, and a child one handle; and a tree has no circles. */
START_TEST(e_already_registered)
{
    OK(claim("c1"));
    FAILS(MORTISE_EALREADY_REGISTERED, "ancestor", enlist("p"));
    OK(enlist("session-1"));
    OK(enlist("session-1"));
    FAILS(MORTISE_EALREADY_REGISTERED, "session-1", enlist("session-2"));
    OK(claim("c2"));
    FAILS(MORTISE_EALREADY_REGISTERED, "it already is a child",
          enlist("session-1"));
    start_with("q", "");
    OK(enlist("q"));
    OK(claim_for("q", "c"));
    FAILS(MORTISE_EALREADY_REGISTERED, "ancestor", enlist("p"));
    start_with("o", "");
    OK(claim_for("o", "c"));
    FAILS(MORTISE_EALREADY_REGISTERED, "it already is a child", enlist("q"));
    OK(claim("c3"));
    FAILS(MORTISE_EALREADY_REGISTERED, "has children, or", enlist("o"));
}
END_TEST

/* What was never there, or is somebody else's. */
START_TEST(e_not_found)
{
    struct mortise_spawn_claimed mine;
    struct mortise_spawn_claim c = claim_of("p", "c1");

    FAILS(MORTISE_ENOTFOUND, "no run 'nobody'", claim_for("nobody", "c1"));
    c.tenant = "other";
    FAILS(MORTISE_ENOTFOUND, "no run 'p'", try_claim(&c));
    OK(claim("c1"));
    mine = got;
    got.handle[strlen(got.handle) - 1] ^= 1;
    FAILS(MORTISE_ENOTFOUND, "no such spawn handle", enlist("s"));
    strcpy(got.handle, "p");
    FAILS(MORTISE_ENOTFOUND, "no such spawn handle", enlist("s"));
    FAILS(MORTISE_ENOTFOUND, "no such spawn handle",
          settle(MORTISE_SPAWN_COMPLETED, NULL));
    FAILS(MORTISE_ENOTFOUND, "no such spawn handle",
          mortise_settle_spawn(m, "other", mine.handle, mine.token,
                               MORTISE_SPAWN_COMPLETED, NULL, &err));
}
END_TEST

/* An ended run spawns nothing more. */
START_TEST(e_state)
{
    struct mortise_command cancel = {.size = sizeof cancel,
                                     .kind = MORTISE_CMD_CANCEL};

    OK(mortise_apply(m, NULL, "p", &cancel, 1, 0, NULL, &err));
    FAILS(MORTISE_ESTATE, "has ended", claim("c1"));
    counts(0, 0);
}
END_TEST

/* What is no claim, name, state, status or result is refused before anything is
 * looked up. */
START_TEST(e_invalid)
{
    struct mortise_spawn_claim c = claim_of("p", "c1");
    char large[MORTISE_SPAWN_RESULT + 64], name[160];

    c.size--;
    FAILS(MORTISE_EINVAL, "claim.size", try_claim(&c));
    c = claim_of("p", "c1");
    c.flags = 2;
    FAILS(MORTISE_EINVAL, "claim.flags", try_claim(&c));
    c = claim_of("p", "c1");
    c.task = "{";
    FAILS(MORTISE_EINVAL, "task", try_claim(&c));
    c = claim_of("p", "");
    FAILS(MORTISE_EINVAL, "call must be 1 to 128 bytes", try_claim(&c));
    c = claim_of("p", NULL);
    FAILS(MORTISE_EINVAL, "a claim needs a run", try_claim(&c));
    memset(name, 'n', sizeof name);
    name[129] = '\0';
    c = claim_of("p", "c1");
    c.name = name;
    FAILS(MORTISE_EINVAL, "name must be", try_claim(&c));
    name[128] = '\0';
    OK(try_claim(&c));
    FAILS(MORTISE_EINVAL, "child must be", enlist(""));
    FAILS(MORTISE_EINVAL, "child must be", enlist("a\nb"));
    FAILS(MORTISE_EINVAL, "child must be", enlist("\xff"));
    OK(enlist("s"));
    FAILS(MORTISE_EINVAL, "dispatched or running",
          advance(MORTISE_SPAWN_SETTLED));
    FAILS(MORTISE_EINVAL, "a status of an ended child", settle(0, NULL));
    FAILS(MORTISE_EINVAL, "a status of an ended child", settle(8, NULL));
    FAILS(MORTISE_EINVAL, "result", settle(1, "{"));
    memset(large, 'x', sizeof large);
    large[0] = large[MORTISE_SPAWN_RESULT] = '"';
    large[MORTISE_SPAWN_RESULT + 1] = '\0';
    FAILS(MORTISE_EINVAL, "1048576 bytes", settle(1, large));
    large[MORTISE_SPAWN_RESULT - 1] = '"';
    large[MORTISE_SPAWN_RESULT] = '\0';
    OK(settle(1, large));
}
END_TEST

/* A claimer may bring its token. */
START_TEST(a_token_may_be_brought)
{
    struct mortise_spawn_claim c = claim_of("p", "c1");

    c.token = "mine";
    OK(try_claim(&c));
    ck_assert_str_eq(got.token, "mine");
    OK(enlist("s"));
}
END_TEST

/* To say again how far it is changes nothing, and nothing goes back. */
START_TEST(states_go_forward_only)
{
    OK(claim("c1"));
    OK(enlist("s"));
    OK(advance(MORTISE_SPAWN_RUNNING));
    OK(advance(MORTISE_SPAWN_DISPATCHED));
    OK(claim("c1"));
    ck_assert_int_eq(got.state, MORTISE_SPAWN_RUNNING);
    OK(settle(MORTISE_SPAWN_GIVEN_UP, NULL));
    OK(claim("c1"));
    ck_assert_int_eq(got.state, MORTISE_SPAWN_ABANDONED);
}
END_TEST

/* ---- caps ------------------------------------------------------------------ */

static const struct {
    const char *limits, *words;
    int n;         /* claims that are admitted */
    bool detached; /* they are */
    bool settles;  /* each is settled before the next is tried */
} caps[] = {
    {"depth: 0", "limits.spawn.depth allows 0", 0, false, false},
    {"active: 3", "limits.spawn.active allows 3", 3, false, false},
    {"total: 4", "limits.spawn.total allows 4", 4, false, true},
    {"detached_active: 2", "limits.spawn.detached_active allows 2", 2, true,
     false},
    {"detached_total: 3", "limits.spawn.detached_total allows 3", 3, true,
     true},
    {"", "limits.spawn.active allows 16", 16, false, false},
    {"", "limits.spawn.detached_active allows 8", 8, true, false},
    {"", "limits.spawn.detached_total allows 50", 50, true, true},
};

/* Each cap admits as many as it says, and the refusal names it; after it the
 * counters are what they were.
 * key: limits.spawn, limits.spawn.depth, limits.spawn.active, limits.spawn.total
 * key: limits.spawn.detached_active, limits.spawn.detached_total */
START_TEST(a_cap_is_named)
{
    char call[16], child[16];

    start_with("r", caps[_i].limits);
    for (int i = 0; i <= caps[_i].n; i++) {
        struct mortise_spawn_claim c = claim_of("r", call);

        snprintf(call, sizeof call, "c%d", i);
        snprintf(child, sizeof child, "s%d", i);
        c.flags = caps[_i].detached ? MORTISE_SPAWN_DETACHED : 0;
        if (i == caps[_i].n) {
            FAILS(MORTISE_ELIMIT, caps[_i].words, try_claim(&c));
            break;
        }
        OK(try_claim(&c));
        if (!caps[_i].settles)
            continue;
        OK(enlist(child));
        OK(settle(MORTISE_SPAWN_COMPLETED, NULL));
    }
}
END_TEST

/* A claim again of what is there is none more. */
START_TEST(a_claim_again_passes_no_cap)
{
    start_with("r", "active: 1, total: 1");
    OK(claim_for("r", "c1"));
    OK(claim_for("r", "c1"));
    FAILS(MORTISE_ELIMIT, "active", claim_for("r", "c2"));
    OK(claim_for("r", "c1"));
    OK(enlist("s"));
    OK(settle(MORTISE_SPAWN_COMPLETED, NULL));
    FAILS(MORTISE_ELIMIT, "total", claim_for("r", "c2"));
    OK(claim_for("r", "c1"));
}
END_TEST

/* Children of children count for the tree, and depth is counted from the origin;
 * a detached one stands at depth 1 again. */
START_TEST(caps_are_a_trees)
{
    OK(claim("c1"));
    start_with("q", "active: 3");
    OK(enlist("q"));
    OK(claim_for("q", "c1"));
    start_with("r", "");
    OK(enlist("r"));
    FAILS(MORTISE_ELIMIT,
          "limits.spawn.depth allows 2, but the child 'helper' would make it 3",
          claim_for("r", "c1"));
    {
        struct mortise_spawn_claim c = claim_of("r", "c1");

        c.flags = MORTISE_SPAWN_DETACHED;
        OK(try_claim(&c));
    }
    FAILS(MORTISE_ELIMIT, "limits.spawn.active allows 3", claim_for("q", "c2"));
    OK(claim("c2"));
    counts(4, 4);
}
END_TEST

/* A run that is the child of a handle settles it as it ends, in the same batch;
 * so does everybody who is cancelled. */
START_TEST(an_end_settles_the_handle)
{
    struct mortise_command cancel = {.size = sizeof cancel,
                                     .kind = MORTISE_CMD_CANCEL};

    OK(claim("c1"));
    start_with("q", "");
    OK(enlist("q"));
    OK(mortise_apply(m, NULL, "q", &cancel, 1, 0, NULL, &err));
    counts(0, 1);
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_ALREADY_SETTLED);
    ck_assert_int_eq(got.terminal_status, MORTISE_SPAWN_CANCELLED);
}
END_TEST

/* What a run leaves open is abandoned in the batch of its end, and counted, however
 * much it is; what is over, or detached, stays what it was. */
START_TEST(an_end_abandons_all)
{
    struct mortise_command cancel = {.size = sizeof cancel,
                                     .kind = MORTISE_CMD_CANCEL};
    const struct reader_tree *t;
    struct reader_store r;
    char call[16];

    start_with("q", "active: 400, total: 400");
    for (int i = 0; i < 400; i++) {
        struct mortise_spawn_claim c = claim_of("q", call);

        snprintf(call, sizeof call, "c%d", i);
        c.flags = i % 100 == 1 ? MORTISE_SPAWN_DETACHED : 0;
        OK(try_claim(&c));
        if (i % 100 != 2)
            continue;
        OK(enlist(call));
        OK(settle(MORTISE_SPAWN_COMPLETED, NULL));
    }
    OK(mortise_apply(m, NULL, "q", &cancel, 1, 0, NULL, &err));
    close_engine();
    ck_assert_msg(store_reader_read(&r, store) == 0, "%s", r.why);
    t = store_reader_tree(&r, "default", "q");
    ck_assert_uint_eq(t->active, 4);
    ck_assert_uint_eq(t->total, 400);
    store_reader_free(&r);
    open_engine();
    OK(claim_for("q", "c399"));
    ck_assert_int_eq(got.terminal_status, MORTISE_SPAWN_GIVEN_UP);
    OK(claim_for("q", "c302"));
    ck_assert_int_eq(got.terminal_status, MORTISE_SPAWN_COMPLETED);
}
END_TEST

/* Out of memory, anywhere: a claim was made or not, and is there when it is
 * made again; so is what it is told. */
START_TEST(claims_survive_oom)
{
    int n = 0, rv;

    OK(claim("c1"));
    OK(enlist("s"));
    do {
        test_mem_fail_at(n++);
        rv = claim("c1");
        if (rv == MORTISE_OK)
            rv = settle(MORTISE_SPAWN_COMPLETED, "[1]");
        test_mem_fail_at(-1);
        if (rv == MORTISE_OK)
            break;
        ck_assert_msg(rv == MORTISE_ENOMEM, "%d: %s", rv, err.msg);
        reopen(); /* its store may have been in the middle of a write */
    } while (true);
    ck_assert_int_gt(n, 5);
    OK(claim("c1"));
    ck_assert_int_eq(got.outcome, MORTISE_SPAWN_ALREADY_SETTLED);
    ck_assert_str_eq(got.terminal_result, "[1]");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_api");
    TCase *tc = tcase_create("outcomes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, claimed);
    tcase_add_test(tc, claimed_pending_child);
    tcase_add_test(tc, already_running);
    tcase_add_test(tc, already_settled);
    tcase_add_test(tc, already_settled_abandoned);
    suite_add_tcase(s, tc);
    tc = tcase_create("errors");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, e_determinism);
    tcase_add_test(tc, e_stale_token);
    tcase_add_test(tc, e_already_settled);
    tcase_add_test(tc, e_not_running);
    tcase_add_test(tc, e_already_registered);
    tcase_add_test(tc, e_not_found);
    tcase_add_test(tc, e_state);
    tcase_add_test(tc, e_invalid);
    tcase_add_test(tc, a_token_may_be_brought);
    tcase_add_test(tc, states_go_forward_only);
    tcase_add_test(tc, claims_survive_oom);
    suite_add_tcase(s, tc);
    tc = tcase_create("caps");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_cap_is_named, 0,
                        (int)(sizeof caps / sizeof caps[0]));
    tcase_add_test(tc, a_claim_again_passes_no_cap);
    tcase_add_test(tc, caps_are_a_trees);
    tcase_add_test(tc, an_end_settles_the_handle);
    tcase_add_test(tc, an_end_abandons_all);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
