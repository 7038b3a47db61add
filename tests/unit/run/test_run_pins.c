/* test_run_pins.c -- a run goes on with the plugins that somebody accepted, and
 * an approval is for the plugin that it was given for. */
#include "lib/drive.h"

static const struct mortise_pin other[] = {{"t", {9, 9, 9}, false}};
static const struct mortise_pin built[] = {{"t", {7, 7, 7}, true}};

static void accept_others(void)
{
    s.pins = other;
    s.n_pins = 1;
}

static void accept_nothing(void)
{
    s.pins = NULL;
    s.n_pins = 0;
}

/* The digest of plugin t that the run goes on with begins with these. */
static void assert_pinned(const char *hex)
{
    json_t *show = mortise_run_show(s.run, NULL);
    const char *is = json_string_value(
        json_object_get(json_object_get(show, "plugins"), "t"));

    ck_assert_msg(strncmp(is, hex, strlen(hex)) == 0, "%s", is);
    json_decref(show);
}

static const char approving[] =
    HEAD "hitl_mode: approve_tools\n"
         "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/write, args: {v: 1}, next: h}\n"
         "  h: {type: human, prompt: Well, next: END}\n";

static char asked[65];

/* a waits for its approval, in a process that has not gone on with it. */
static void wait_for_approval(void)
{
    uint32_t seed = 1;

    run_plain(approving, "{}");
    sim_let_go(&s, "START");
    snprintf(asked, sizeof asked, "%s", sim_request(&s, "a"));
    sim_crash(&s, &seed);
    assert_pinned("010203");
}

static int decide(const char *id, uint32_t flags)
{
    return command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                            .id = id,
                                            .decision = "approve"},
                   flags);
}

/* Asked again, under another name; what was approved before is not done. */
static void assert_asked_again(void)
{
    sim_run_plain(&s);
    assert_pinned("090909");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_ptr_nonnull(sim_request(&s, "a"));
    ck_assert_str_ne(sim_request(&s, "a"), asked);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    accept_nothing();
    ck_assert_int_eq(decide(sim_request(&s, "a"), 0), MORTISE_OK);
    sim_run_plain(&s);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}

/* Accepting is recorded: whoever replays the run has the new plugins. */
START_TEST(accepting_is_recorded)
{
    uint32_t seed = 1;

    wait_for_approval();
    accept_others();
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert(sim_saw(&s, "command", NULL));
    accept_nothing();
    sim_crash(&s, &seed);
    assert_pinned("090909");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_asked_again();
}
END_TEST

/* What waits for an approval is asked again when its plugin changes. */
START_TEST(what_waits_is_asked_again)
{
    wait_for_approval();
    accept_others();
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(decide(asked, 0), MORTISE_EMISMATCH);
    assert_asked_again();
}
END_TEST

/* An approval of the call as it was is refused in the command that accepts another
 * plugin: it would not be used. */
START_TEST(approved_in_one_command)
{
    size_t commits;

    wait_for_approval();
    commits = s.n_commits;
    accept_others();
    ck_assert_int_eq(decide(asked, 0), MORTISE_EMISMATCH);
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_asked_again();
}
END_TEST

/* ... and when it was approved and had not begun. */
START_TEST(approved_and_not_begun)
{
    uint32_t seed = 1;

    wait_for_approval();
    ck_assert_int_eq(decide(asked, MORTISE_NO_CONTINUE), MORTISE_OK);
    while (sim_sync_one(&s))
        ;
    sim_crash(&s, &seed);
    accept_others();
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_asked_again();
}
END_TEST

/* A question to a person has no plugin: it stays the one that it was. */
START_TEST(questions_stay)
{
    uint32_t seed = 1;

    wait_for_approval();
    ck_assert_int_eq(decide(asked, 0), MORTISE_OK);
    sim_run_plain(&s);
    snprintf(asked, sizeof asked, "%s", sim_request(&s, "h"));
    sim_crash(&s, &seed);
    accept_others();
    ck_assert_int_eq(resume(), MORTISE_OK);
    sim_run_plain(&s);
    assert_pinned("090909");
    ck_assert_str_eq(sim_request(&s, "h"), asked);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A command that is refused accepts nothing. */
START_TEST(refused_commands_accept_nothing)
{
    size_t commits;

    wait_for_approval();
    commits = s.n_commits;
    accept_others();
    ck_assert_int_eq(decide("nonsense", 0), MORTISE_EMISMATCH);
    assert_pinned("010203");
    ck_assert_uint_eq(s.n_commits, commits);
    end();
}
END_TEST

/* One that nobody signed is told of, and the run says so from then on: with a
 * signed one in its place, and in the next process. */
START_TEST(unsigned_ones_stay_known)
{
    const struct mortise_pin *next[] = {built, other};
    uint32_t seed = 1;

    wait_for_approval();
    ck_assert(!sim_saw(&s, "warning", NULL));
    for (size_t i = 0; i < 2; i++) {
        json_t *show;

        s.pins = next[i];
        s.n_pins = 1;
        ck_assert_int_eq(resume(), MORTISE_OK);
        sim_run_plain(&s);
        ck_assert(sim_saw(&s, "warning", NULL));
        sim_crash(&s, &seed);
        assert_pinned(i == 0 ? "070707" : "090909");
        show = mortise_run_show(s.run, NULL);
        ck_assert_str_eq(json_string_value(json_array_get(
                             json_object_get(show, "unsigned"), 0)),
                         "t");
        json_decref(show);
    }
    accept_nothing();
    end();
}
END_TEST

/* ---- definitions of tools -------------------------------------------------- */

static const struct mortise_pin tools[] = {{"tool:t/write", {4, 4}, false},
                                           {"tool:t/writes", {4, 4}, false},
                                           {"tool:tt/write", {4, 4}, false}};

/* The first `n` of them are pinned, and node a waits for its approval. */
static void wait_for_tool(size_t n)
{
    uint32_t seed = 1;

    begin(approving);
    s.tools = tools;
    s.n_tools = n;
    admit("{}");
    sim_run_plain(&s);
    sim_let_go(&s, "START");
    snprintf(asked, sizeof asked, "%s", sim_request(&s, "a"));
    sim_crash(&s, &seed);
}

/* The digest of the request of node a. */
static void keep_digest(char out[65])
{
    snprintf(out, 65, "%s",
             json_string_value(json_object_get(
                 json_object_get(s.pending, sim_request(&s, "a")), "digest")));
    ck_assert_uint_eq(strlen(out), 64);
}

/* Another definition of the i-th tool. */
static void accept_tool(size_t i)
{
    static struct mortise_pin next;

    next = tools[i];
    next.digest[0] = 5;
    s.pins = &next;
    s.n_pins = 1;
}

/* An approval is of the definition of its tool, if the run pins one, and of no
 * other. */
START_TEST(a_definition_is_part_of_an_approval)
{
    char none[65], some[65], all[65];

    wait_for_tool(0);
    keep_digest(none);
    end();
    wait_for_tool(1);
    keep_digest(some);
    end();
    wait_for_tool(3);
    keep_digest(all);
    end();
    ck_assert_str_ne(none, some);
    ck_assert_str_eq(some, all);
}
END_TEST

/* With another definition of it, what waits is asked again under another digest,
 * and so is what was approved and has not begun (_i). */
START_TEST(another_definition_is_asked_again)
{
    char was[65], is[65];
    uint32_t seed = 1;

    wait_for_tool(3);
    keep_digest(was);
    if (_i == 1) {
        ck_assert_int_eq(decide(asked, MORTISE_NO_CONTINUE), MORTISE_OK);
        while (sim_sync_one(&s))
            ;
        sim_crash(&s, &seed);
    }
    accept_tool(0);
    if (_i == 0)
        ck_assert_int_eq(decide(asked, 0), MORTISE_EMISMATCH);
    ck_assert_int_eq(resume(), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert_str_ne(sim_request(&s, "a"), asked);
    keep_digest(is);
    ck_assert_str_ne(was, is);
    accept_nothing();
    ck_assert_int_eq(decide(sim_request(&s, "a"), 0), MORTISE_OK);
    sim_run_plain(&s);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Another definition of another tool changes nothing, whose name is alike, too. */
START_TEST(other_tools_are_others)
{
    wait_for_tool(3);
    for (size_t i = 1; i < 3; i++) {
        accept_tool(i);
        ck_assert_int_eq(resume(), MORTISE_OK);
        sim_run_plain(&s);
        ck_assert_str_eq(sim_request(&s, "a"), asked);
    }
    accept_tool(1);
    ck_assert_int_eq(decide(asked, 0), MORTISE_OK);
    accept_nothing();
    sim_run_plain(&s);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("pins");
    TCase *tc = tcase_create("pins");

    tcase_add_test(tc, accepting_is_recorded);
    tcase_add_test(tc, what_waits_is_asked_again);
    tcase_add_test(tc, approved_in_one_command);
    tcase_add_test(tc, approved_and_not_begun);
    tcase_add_test(tc, questions_stay);
    tcase_add_test(tc, refused_commands_accept_nothing);
    tcase_add_test(tc, unsigned_ones_stay_known);
    tcase_add_test(tc, a_definition_is_part_of_an_approval);
    tcase_add_loop_test(tc, another_definition_is_asked_again, 0, 2);
    tcase_add_test(tc, other_tools_are_others);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
