/* recover.c -- an engine that stays: what it goes on with when it comes, and
 * how it leaves what is under way.
 *
 * A run goes on by itself only where nobody said that it should not: one that
 * a crash interrupted (its head says `running`), and one that was paused as an
 * engine stopped (`shutdown`).  Finding them looks at every head once; they are
 * then loaded a few at a time, so that memory does not grow with their number.
 */
#include "engine/recover.h"

#include <string.h>

#include "base/clock.h"

enum { AT_ONCE = 256 }; /* runs in memory; more wait for those to rest */

struct name {
    struct name *next;
    const char *tenant, *run;
};

struct finding {
    struct mortise_arena arena;
    struct name *first, **last;
    bool failed;
};

static bool goes_on(const struct mortise_head *head)
{
    return head->status == MORTISE_RUN_ACCEPTED ||
           head->status == MORTISE_RUN_RUNNING ||
           (head->status == MORTISE_RUN_PAUSED &&
            strcmp(head->reason, "shutdown") == 0);
}

static int note(void *ud, const char *tenant, const char *run,
                const struct mortise_head *head)
{
    struct finding *f = ud;
    struct name *one;

    if (!goes_on(head))
        return 0;
    one = mortise_arena_alloc(&f->arena, sizeof *one);
    if (one != NULL) {
        one->tenant = mortise_arena_strdup(&f->arena, tenant);
        one->run = mortise_arena_strdup(&f->arena, run);
    }
    f->failed = one == NULL || one->tenant == NULL || one->run == NULL;
    if (f->failed)
        return 1;
    *f->last = one;
    f->last = &one->next;
    return 0;
}

/* One that will not go on is said, and left as it is. */
static void go_on(struct mortise *m, const struct name *one)
{
    struct mortise_err err;

    if (mortise_live_recover(m, one->tenant, one->run, &err) != MORTISE_OK)
        mortise_log(m, MORTISE_LOG_WARN, "run %s does not go on: %s", one->run,
                    err.msg);
}

int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err)
{
    struct finding f = {.first = NULL};
    int rv;

    mortise_arena_init(&f.arena, m->mem);
    f.last = &f.first;
    rv = mortise_store_heads(m->store, NULL, NULL, note, &f, err);
    if (rv == MORTISE_OK && f.failed)
        rv = mortise_nomem(err);
    for (struct name *one = f.first;
         rv == MORTISE_OK && one != NULL && !stop(ud); one = one->next) {
        while (m->lives.n >= AT_ONCE && !stop(ud))
            mortise_turn(m, -1);
        rv = mortise_engine_ready(m, err);
        if (rv == MORTISE_OK)
            go_on(m, one);
    }
    mortise_arena_finish(&f.arena);
    return rv;
}

/* ---- leaving ------------------------------------------------------------ */

struct leave {
    struct mortise_order order;
    struct mortise *m;
    struct mortise_command command;
};

static void left(struct mortise_order *o, const struct mortise_err *err)
{
    struct leave *l = MORTISE_OF(o, struct leave, order);

    (void)err; /* a run that was lost is as it is on disk */
    mortise_release(l->m->mem, l, sizeof *l);
}

static void pause_one(struct mortise *m, const struct mortise_live *live)
{
    struct leave *l = mortise_zalloc(m->mem, sizeof *l);
    struct mortise_err err;

    if (l == NULL)
        return; /* closing interrupts it, as a crash would */
    l->m = m;
    l->command = (struct mortise_command){.size = sizeof l->command,
                                          .kind = MORTISE_CMD_PAUSE,
                                          .flags = MORTISE_CMD_SHUTDOWN};
    l->order = (struct mortise_order){.list = &l->command,
                                      .n = 1,
                                      .flags = MORTISE_NO_CONTINUE,
                                      .actor = m->actor,
                                      .done = left};
    if (mortise_live_command(m, live->tenant, live->id, &l->order, &err) !=
        MORTISE_OK)
        mortise_release(m->mem, l, sizeof *l);
}

void mortise_pause_all(struct mortise *m)
{
    /* an effect has its patience, and then a plugin its quiesce */
    uint64_t until = mortise_mono_in(2 * m->quiesce_ms + 1000);
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e)) {
        const struct mortise_live *live =
            MORTISE_OF(e, struct mortise_live, entry);

        if (!live->lost && !mortise_run_is_idle(live->run))
            pause_one(m, live);
    }
    while (m->lives.n > 0 && mortise_mono_ns() < until)
        mortise_turn(m, 100);
}
