/* test_await_worlds.c -- a run that waits for children, in every interleaving of
 * what it asks, how its children end and come to rest, and what is raised.
 *
 * The parent asks for the ends of its children side by side.  Each child works,
 * rests at most once (a budget stops it) until it is raised, and ends.  The engine
 * tells the parent of an end and of a rest when they happen, and looks again behind
 * each ask (core/engine/runs/children.c).  A world is a list of choices: which of
 * the events that are possible comes next.
 *
 *   (1) When no child works and no event but a raise is possible, the parent is in
 *       no call: its run waits on disk, or has completed.
 *   (2) When every child has ended the run has completed.
 *
 * Worlds of three children, of which there are about 340 million, are chosen at
 * random, from fixed seeds.  `make whole` chooses more, and goes through all worlds
 * of two children, one after the other. */
#include "lib/drive.h"
#include "lib/matrix.h"

enum {
    KIDS = 3,
    DEEP = 64, /* choices in a world */
    MANY = 4000,
    MORE = 200000 /* of `make whole` */
};

enum kid { WORKS, RESTS, ENDED };

static struct {
    enum kid kid[KIDS];
    bool rested[KIDS];
    bool looks; /* the engine is to look behind an ask */
} w;

/* The world under way: at each place the choice, and of how many.  Without
 * `by_chance` the choices are given. */
static unsigned choice[DEEP], of[DEEP], depth;
static uint32_t seed;
static bool by_chance;

static int kids = KIDS;

#define AWAIT(h)                                                               \
    "    {method: spawn.await/1, kind: child, body: {handle: " h "}},\n"
#define PARENT(asks)                                                           \
    HEAD "start: a\n"                                                          \
         "nodes:\n"                                                            \
         "  a: {type: gmi, prompt: p, args: {apart: true, asks: [\n" asks      \
         "  ]}}\n"

static const char *const graphs[] = {
    [2] = PARENT(AWAIT("h0") AWAIT("h1")),
    [3] = PARENT(AWAIT("h0") AWAIT("h1") AWAIT("h2"))};

static const char *const handles[KIDS] = {"h0", "h1", "h2"};

/* ---- events ------------------------------------------------------------------ */

static void tell(int k)
{
    struct mortise_input in = {.kind = MORTISE_IN_CHILD};

    if (w.kid[k] == RESTS) {
        in.kind = MORTISE_IN_YIELD;
        in.u.yield.handle = handles[k];
        sim_feed(&s, &in);
    } else if (w.kid[k] == ENDED) {
        in.u.child.handle = handles[k];
        in.u.child.end = json_pack("{s:s}", "status", "completed");
        sim_feed(&s, &in);
        json_decref(in.u.child.end);
    }
}

static void become(int k, enum kid kid)
{
    w.kid[k] = kid;
    w.rested[k] |= kid == RESTS;
    tell(k);
}

static void child_ends(int k)
{
    become(k, ENDED);
}

static void child_rests(int k)
{
    become(k, RESTS);
}

static void child_is_raised(int k)
{
    become(k, WORKS);
}

static void parent_asks(int k)
{
    (void)k;
    ck_assert(script_ask_next(&s));
    w.looks = true;
}

static void engine_looks(int k)
{
    (void)k;
    w.looks = false;
    for (int i = 0; i < kids; i++)
        tell(i);
}

static void call_ends(int k)
{
    (void)k;
    ck_assert(sim_end_call(&s, 0));
}

struct event {
    void (*happens)(int k);
    int k;
};

static bool may_ask(void)
{
    const struct script *sc = &s.calls[0].script;

    return s.n_calls > 0 && !sc->suspended && sc->issued < sc->n;
}

/* All that are possible.  The end of a call commutes with the others. */
static size_t list_events(struct event *out)
{
    size_t n = 0;

    if (s.n_calls > 0 && script_is_over(&s.calls[0].script)) {
        out[n++] = (struct event){call_ends, 0};
        return n;
    }
    if (may_ask())
        out[n++] = (struct event){parent_asks, 0};
    if (w.looks)
        out[n++] = (struct event){engine_looks, 0};
    for (int k = 0; k < kids; k++) {
        if (w.kid[k] == WORKS)
            out[n++] = (struct event){child_ends, k};
        if (w.kid[k] == WORKS && !w.rested[k])
            out[n++] = (struct event){child_rests, k};
        if (w.kid[k] == RESTS)
            out[n++] = (struct event){child_is_raised, k};
    }
    return n;
}

/* ---- worlds ------------------------------------------------------------------- */

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "choices:");
    for (unsigned i = 0; i < depth; i++)
        fprintf(stderr, " %u", choice[i]);
    fputc('\n', stderr);
    ck_abort_msg("%s", what);
}

/* (1) (2) */
static void judge(const struct event *list, size_t n)
{
    int ended = 0;

    for (size_t i = 0; i < n; i++)
        if (list[i].happens != child_is_raised)
            return;
    for (int k = 0; k < kids; k++)
        ended += w.kid[k] == ENDED;
    must(s.n_calls == 0, "a call stays, and nobody tells it anything");
    must(mortise_run_status(s.run) ==
             (ended == kids ? MORTISE_RUN_COMPLETED : MORTISE_RUN_WAITING),
         "the run has another status");
}

static unsigned choose(size_t n)
{
    must(depth < DEEP, "the world comes to no end");
    of[depth] = (unsigned)n;
    if (by_chance)
        choice[depth] = sim_random(&seed) % (unsigned)n;
    ck_assert_uint_lt(choice[depth], n);
    return choice[depth++];
}

static void run_world(void)
{
    struct event list[3 * KIDS + 2], *e;
    size_t n;

    memset(&w, 0, sizeof w);
    depth = 0;
    begin(graphs[kids]);
    admit("{}");
    sync_all();
    while (n = list_events(list), judge(list, n), n > 0) {
        e = &list[choose(n)];
        e->happens(e->k);
        sync_all();
    }
    end();
}

/* The next list of choices, depth first; false: that was the last. */
static bool next_world(void)
{
    while (depth > 0 && choice[depth - 1] + 1 == of[depth - 1])
        choice[--depth] = 0;
    if (depth == 0)
        return false;
    choice[depth - 1]++;
    return true;
}

/* The parent is at rest whenever its children are, and ends behind them. */
START_TEST(it_rests_when_its_children_do)
{
    unsigned long many = matrix_is_whole() ? MORE : MANY;

    by_chance = true;
    seed = 1;
    for (unsigned long n = 0; n < many; n++)
        run_world();
}
END_TEST

/* In all worlds of two children. */
START_TEST(it_rests_in_all_worlds)
{
    unsigned long n = 0;

    kids = 2;
    by_chance = false;
    memset(choice, 0, sizeof choice);
    do
        run_world();
    while (++n, next_world());
    kids = KIDS;
    ck_assert_uint_gt(n, MANY);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("await_worlds");
    TCase *tc = tcase_create("await");

    tcase_add_test(tc, it_rests_when_its_children_do);
    if (matrix_is_whole())
        tcase_add_test(tc, it_rests_in_all_worlds);
    tcase_set_timeout(tc, 0);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
