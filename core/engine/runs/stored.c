/* stored.c -- read a run from the store: head, graph, replay.
 *
 * Each step is one read of the store, and its answer starts the next.  If the
 * store answers at once, the calls are nested; if it takes its time, nothing
 * blocks.
 */
#include "core/engine/runs/stored.h"

#include <string.h>

#include "core/base/clock.h"

/* ---- the head ----------------------------------------------------------- */

static int copy_head(void *ud, const char *tenant, const char *run,
                     const struct mortise_head *head)
{
    struct mortise_head_copy *out = ud;
    size_t n = strlen(head->reason);

    (void)tenant;
    (void)run;
    *out = (struct mortise_head_copy){.seq = head->seq,
                                      .created_ms = head->created_ms,
                                      .updated_ms = head->updated_ms,
                                      .status = (int)head->status};
    memcpy(out->graph, head->graph, sizeof out->graph);
    if (n < sizeof out->reason)
        memcpy(out->reason, head->reason, n);
    return 0;
}

static int fail_run_removed(const struct mortise_stored_read *s,
                            const struct mortise_tombstone *t,
                            struct mortise_err *err)
{
    char when[MORTISE_TIME_TEXT];

    mortise_time_format(when, t->removed_ms);
    if (t->status == 0)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "run '%s' could not be read and was omitted when "
                            "the store was salvaged at %s",
                            s->id, when);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "run '%s' was removed at %s, because it had %s and its "
                        "store.retention had passed",
                        s->id, when,
                        t->status == MORTISE_RUN_COMPLETED   ? "completed"
                        : t->status == MORTISE_RUN_CANCELLED ? "been cancelled"
                                                             : "failed");
}

/* The error for a missing run: it was removed, or never existed. */
static void run_removal_read(struct mortise_read *r, int rv,
                             const struct mortise_err *err)
{
    struct mortise_stored_read *s =
        MORTISE_CONTAINER_OF(r, struct mortise_stored_read, read);
    bool other = strcmp(s->tenant, "default") != 0;
    struct mortise_err why = *err;

    s->removed = rv == MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = fail_run_removed(s, &r->found.tombstone, &why);
    else if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, rv, "no run '%s' in the store %s%s%s", s->id,
                     s->m->settings.store, other ? " for tenant " : "",
                     other ? s->tenant : "");
    s->done(s, rv, &why);
}

static void read_run_removal(struct mortise_stored_read *s,
                             void (*done)(struct mortise_read *r, int rv,
                                          const struct mortise_err *err))
{
    s->read = (struct mortise_read){.kind = MORTISE_READ_REMOVED,
                                    .tenant = s->tenant,
                                    .run = s->id,
                                    .done = done};
    mortise_store_read(s->m->store, &s->read);
}

static void read_run_tombstone(struct mortise_stored_read *s)
{
    read_run_removal(s, run_removal_read);
}

static void stored_head_read(struct mortise_read *r, int rv,
                             const struct mortise_err *err)
{
    struct mortise_stored_read *s =
        MORTISE_CONTAINER_OF(r, struct mortise_stored_read, read);

    if (rv == MORTISE_ENOTFOUND)
        read_run_tombstone(s);
    else
        s->done(s, rv, err);
}

static void read_stored_head(struct mortise_stored_read *s)
{
    s->read = (struct mortise_read){.kind = MORTISE_READ_HEAD,
                                    .tenant = s->tenant,
                                    .run = s->id,
                                    .head = copy_head,
                                    .ud = &s->head,
                                    .done = stored_head_read};
    mortise_store_read(s->m->store, &s->read);
}

void mortise_stored_read_head(struct mortise *m, struct mortise_stored_read *s,
                              const char *tenant, const char *run,
                              mortise_stored_fn *done)
{
    struct mortise_err err;
    int rv = mortise_name_check("tenant", tenant, &err);

    assert_on_loop(m);
    *s = (struct mortise_stored_read){.m = m};
    mortise_arena_init(&s->arena, m->mem);
    s->done = done;
    if (rv == MORTISE_OK)
        rv = mortise_name_check("run id", run, &err);
    if (rv != MORTISE_OK) {
        done(s, rv, &err);
        return;
    }
    strcpy(s->tenant, tenant);
    strcpy(s->id, run);
    read_stored_head(s);
}

/* ---- the graph ---------------------------------------------------------- */

/* The graph may be a stand-in, which cannot run. */
static void replace_stand_in(struct mortise_stored_read *s)
{
    struct mortise_graph *strict;
    struct mortise_err err;

    if (!s->works || mortise_graphs_load_executable(
                         s->m, s->id, s->graph, &strict, &err) != MORTISE_OK)
        return;
    mortise_graph_unref(s->graph);
    s->graph = strict;
}

/* The graph is missing: the run was removed meanwhile, with its graph, or the
 * store is damaged. */
static void lost_graph_removal_read(struct mortise_read *r, int rv,
                                    const struct mortise_err *err)
{
    struct mortise_stored_read *s =
        MORTISE_CONTAINER_OF(r, struct mortise_stored_read, read);
    struct mortise_err why = *err;

    if (rv != MORTISE_ENOTFOUND) {
        run_removal_read(r, rv, err);
        return;
    }
    rv = mortise_fail(&why, MORTISE_ECORRUPT,
                      "run %s: the text of its graph is missing in the store",
                      s->id);
    s->done(s, rv, &why);
}

static void stored_graph_read(struct mortise_read *r, int rv,
                              const struct mortise_err *err)
{
    struct mortise_stored_read *s =
        MORTISE_CONTAINER_OF(r, struct mortise_stored_read, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_ENOTFOUND) {
        read_run_removal(s, lost_graph_removal_read);
        return;
    }
    if (rv == MORTISE_OK)
        rv = mortise_graphs_load_pinned(s->m, s->head.graph, r->found.files,
                                        r->found.n_files, s->names, &s->graph,
                                        &why);
    mortise_arena_finish(&s->arena);
    mortise_arena_init(&s->arena, s->m->mem);
    if (rv != MORTISE_OK)
        mortise_err_prefix(&why, rv, "run %s", s->id);
    s->done(s, rv, &why);
}

void mortise_stored_read_graph(struct mortise_stored_read *s,
                               mortise_stored_fn *done)
{
    const struct mortise_err fine = {.code = MORTISE_OK};

    assert(s->graph == NULL);
    s->done = done;
    s->graph = mortise_graphs_find(s->m, s->head.graph, s->names);
    if (s->graph != NULL) {
        replace_stand_in(s);
        s->done(s, MORTISE_OK, &fine);
        return;
    }
    s->read = (struct mortise_read){.kind = MORTISE_READ_GRAPH,
                                    .arena = &s->arena,
                                    .done = stored_graph_read};
    memcpy(s->read.digest, s->head.graph, sizeof s->read.digest);
    mortise_store_read(s->m->store, &s->read);
}

/* ---- the run ------------------------------------------------------------ */

static int apply_stored_checkpoint(void *ud,
                                   const struct mortise_checkpoint *cp)
{
    struct mortise_stored_read *s = ud;

    if (cp->seq > s->head.seq)
        return 1;
    s->applied = mortise_run_apply(s->run, cp->seq, cp->time_ms, cp->id,
                                   cp->entries, cp->size, &s->why);
    if (s->applied == MORTISE_OK && s->each != NULL)
        s->applied = s->each(s, cp, &s->why);
    return s->applied;
}

/* The replay failed.  With `each`, the run is not being loaded. */
static void fail_replay(struct mortise_stored_read *s, int rv,
                        struct mortise_err *why)
{
    mortise_run_free(s->run);
    s->run = NULL;
    if (s->each == NULL)
        mortise_err_prefix(why, rv, "load run %s", s->id);
    s->done(s, rv, why);
}

static void stored_run_replayed(struct mortise_read *r, int rv,
                                const struct mortise_err *err)
{
    struct mortise_stored_read *s =
        MORTISE_CONTAINER_OF(r, struct mortise_stored_read, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_OK && mortise_stored_has_used_guess(s)) {
        if (s->again != NULL)
            s->again(s);
        mortise_stored_read_again(s, s->rest);
        return;
    }
    if (rv == MORTISE_OK && s->applied == MORTISE_OK &&
        /* the run was removed meanwhile */
        mortise_run_seq(s->run) < s->head.seq) {
        mortise_run_free(s->run);
        s->run = NULL;
        read_run_tombstone(s);
        return;
    }
    if (rv == MORTISE_OK && s->applied != MORTISE_OK) {
        rv = s->applied;
        why = s->why;
    }
    if (rv != MORTISE_OK)
        fail_replay(s, rv, &why);
    else
        s->done(s, rv, &why);
}

static void replay_stored_run(struct mortise_stored_read *s)
{
    struct mortise_err err;
    int rv;

    assert(s->graph != NULL && s->run == NULL);
    s->done = s->rest;
    s->applied = MORTISE_OK;
    s->guesses = s->m->catalogs->guesses;
    rv = mortise_run_replay(&s->run, s->m->mem, s->graph, s->tenant, s->id,
                            NULL, NULL, &err);
    if (rv != MORTISE_OK) {
        fail_replay(s, rv, &err);
        return;
    }
    s->read = (struct mortise_read){.kind = MORTISE_READ_CHECKPOINTS,
                                    .tenant = s->tenant,
                                    .run = s->id,
                                    .number = 1,
                                    .checkpoint = apply_stored_checkpoint,
                                    .ud = s,
                                    .done = stored_run_replayed};
    mortise_store_read(s->m->store, &s->read);
}

static void replay_after_graph(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err)
{
    if (rv == MORTISE_OK)
        replay_stored_run(s);
    else
        s->rest(s, rv, err);
}

void mortise_stored_read_run(struct mortise_stored_read *s,
                             mortise_stored_fn *done)
{
    s->rest = done;
    mortise_stored_read_graph(s, replay_after_graph);
}

bool mortise_stored_has_used_guess(const struct mortise_stored_read *s)
{
    return s->names && s->m->catalogs->guesses != s->guesses;
}

void mortise_stored_read_again(struct mortise_stored_read *s,
                               mortise_stored_fn *done)
{
    mortise_run_free(s->run);
    mortise_graph_unref(s->graph);
    s->run = NULL;
    s->graph = NULL;
    s->names = false;
    mortise_stored_read_run(s, done);
}

void mortise_stored_finish(struct mortise_stored_read *s)
{
    mortise_run_free(s->run);
    mortise_graph_unref(s->graph);
    mortise_arena_finish(&s->arena);
    s->run = NULL;
    s->graph = NULL;
}
