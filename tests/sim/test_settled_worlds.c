/* test_settled_worlds.c -- random graphs some of whose joins are settled.
 *
 * Whatever the timing, and wherever the process dies, the same comes of them
 * while nothing stops them; and what is stopped, by a failure or by people, ends
 * all the same. */
#include "lib/drive.h"
#include "lib/randgraph.h"

enum {
    GRAPHS = 60, /* a test */
    CALM = RAND_ROUTES | RAND_FAILS | RAND_LOOPS | RAND_MAPS | RAND_BRANCHES |
           RAND_SUBS | RAND_CHOICES,
    WILD = CALM | RAND_RACES | RAND_STOPS
};

static int indent_of(const char *line)
{
    return (int)strspn(line, " ");
}

/* "  n12:" */
static bool is_node(const char *line)
{
    const char *at = line + indent_of(line);

    return at[0] == 'n' && strspn(at + 1, "0123456789") > 0 &&
           strcmp(at + 1 + strspn(at + 1, "0123456789"), ":") == 0;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line + indent_of(line), with, strlen(with)) == 0;
}

/* Keys of a node that say another thing of its join. */
static bool is_of_join(const char *line)
{
    return begins(line, "join:") || begins(line, "losers:") ||
           begins(line, "on_branch_error: drop") ||
           begins(line, "on_branch_error: fail");
}

/* Do elements of a map begin with that node ("n12:")?  (Any node of that name.) */
static bool begins_a_map(const char *yaml, const char *line)
{
    const char *name = line + indent_of(line);
    char text[32];

    snprintf(text, sizeof text, "to: %.*s, join:", (int)strcspn(name, ":"),
             name);
    return strstr(yaml, text) != NULL;
}

/* The file, with some of its nodes settled: those say no more of a join but that
 * they collect. */
static char *settle_some(char *yaml, uint32_t *seed)
{
    bool settled[100] = {false}; /* by the indent of a node's keys */
    char *out = NULL, *line, *whole = strdup(yaml), *rest = yaml;
    size_t size;
    FILE *to = open_memstream(&out, &size);

    while ((line = strsep(&rest, "\n")) != NULL) {
        int at = indent_of(line);

        ck_assert_int_lt(at, 96);
        if (settled[at] && is_of_join(line))
            continue;
        fprintf(to, "%s\n", line);
        if (!is_node(line))
            continue;
        settled[at + 2] =
            sim_random(seed) % 3 == 0 && !begins_a_map(whole, line);
        if (settled[at + 2])
            fprintf(to, "%*sjoin: settled\n", at + 2, "");
    }
    fclose(to);
    free(whole);
    return out;
}

static char *graph_of(uint32_t seed, unsigned families)
{
    struct ref_graph g;
    uint32_t at = seed;
    char *yaml, *out;

    rand_graph(&g, families, &at);
    yaml = rand_yaml(&g);
    out = settle_some(yaml, &at);
    free(yaml);
    rand_free(&g);
    return out;
}

static void assert_over(const char *yaml, uint32_t seed)
{
    const char *reason = mortise_run_reason(s.run);

    if (mortise_run_is_finished(s.run) || strcmp(reason, "limit") == 0 ||
        strcmp(reason, "in_doubt") == 0)
        return;
    fprintf(stderr, "%s\n", yaml);
    ck_abort_msg("graph %u is stuck: %s %s", (unsigned)seed,
                 mortise_run_status_name(mortise_run_status(s.run)),
                 mortise_run_reason(s.run));
}

/* Its status and its state; NULL where a limit holds it, or a doubt. */
static char *outcome(const char *yaml, uint32_t seed)
{
    char *state, *out;

    assert_over(yaml, seed);
    if (!mortise_run_is_finished(s.run))
        return NULL;
    state = sim_state(&s);
    if (asprintf(&out, "%s %s",
                 mortise_run_status_name(mortise_run_status(s.run)), state) < 0)
        abort();
    free(state);
    return out;
}

static char *outcome_of(const char *yaml, uint32_t seed, int deaths)
{
    uint32_t at = seed;
    char *out;

    begin(yaml);
    admit(RAND_INPUT);
    run_dying(&at, deaths);
    out = outcome(yaml, seed);
    end();
    return out;
}

START_TEST(timing_and_deaths_never_show)
{
    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t seed = (uint32_t)_i * GRAPHS + i + 1;
        char *yaml = graph_of(seed, CALM);
        char *one = outcome_of(yaml, seed * 2, 0),
             *other = outcome_of(yaml, seed * 2 + 1, 4);

        if (one != NULL && other != NULL && strcmp(one, other) != 0) {
            fprintf(stderr, "%s\n---- one:\n%s\n---- other:\n%s\n", yaml, one,
                    other);
            ck_abort_msg("graph %u", (unsigned)seed);
        }
        free(one);
        free(other);
        free(yaml);
    }
}
END_TEST

/* Whoever stops them, and resumes what failed. */
START_TEST(what_is_stopped_ends)
{
    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t seed = (uint32_t)_i * GRAPHS + i + 7000, at = seed;
        char *yaml = graph_of(seed, WILD);

        begin(yaml);
        admit(RAND_INPUT);
        run_dying(&at, 2);
        assert_over(yaml, seed);
        if (mortise_run_status(s.run) == MORTISE_RUN_FAILED) {
            ck_assert_int_eq(resume(), MORTISE_OK);
            run_dying(&at, 2);
            assert_over(yaml, seed);
        }
        end();
        free(yaml);
    }
}
END_TEST

START_TEST(what_is_cancelled_ends)
{
    for (uint32_t i = 0; i < GRAPHS; i++) {
        uint32_t seed = (uint32_t)_i * GRAPHS + i + 14000, at = seed;
        char *yaml = graph_of(seed, i % 2 == 0 ? CALM : WILD);

        begin(yaml);
        admit(RAND_INPUT);
        for (uint32_t n = sim_random(&at) % 40; n > 0; n--)
            if (!sim_sync_one(&s) && s.n_calls > 0)
                sim_end_call(&s, sim_random(&at) % s.n_calls);
        sync_all();
        if (!mortise_run_is_finished(s.run)) {
            ck_assert_int_eq(
                command((struct mortise_command){.kind = MORTISE_CMD_CANCEL},
                        0),
                MORTISE_OK);
            sync_all();
            run_dying(&at, 3);
            assert_over(yaml, seed);
            assert_status(MORTISE_RUN_CANCELLED);
        }
        end();
        free(yaml);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("settled: worlds");
    TCase *tc = tcase_create("worlds");

    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, timing_and_deaths_never_show, 0, 4);
    tcase_add_loop_test(tc, what_is_stopped_ends, 0, 4);
    tcase_add_loop_test(tc, what_is_cancelled_ends, 0, 4);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
