/* refstate.c -- what is seen: the fold of a causal past, by the definition.
 *
 * Every commit of the past counts once, in the least topological order by
 * (declared position, visit, map index): of those all of whose predecessors
 * have been listed, always the least.  What failed, or lost, commits nothing
 * and is no part of the order.  Artifacts that are written in an element are
 * seen in that element. */
#include "lib/refrun.h"

#include <stdlib.h>
#include <string.h>

bool ref_has(const struct ref_set *s, int i)
{
    return s->w[i / 64] >> i % 64 & 1;
}

void ref_add(struct ref_set *s, int i)
{
    s->w[i / 64] |= (uint64_t)1 << i % 64;
}

void ref_add_past(struct ref_set *s, const struct ref_run *r, int i)
{
    if (i < 0) /* START, which wrote nothing */
        return;
    for (int k = 0; k < REF_EXECS / 64; k++)
        s->w[k] |= r->execs[i].past.w[k];
    ref_add(s, i);
}

static int by_index(const struct ref_frame *a, const struct ref_frame *b)
{
    for (int i = 0; i < a->n_index && i < b->n_index; i++) {
        if (a->index[i] != b->index[i])
            return a->index[i] - b->index[i];
    }
    return b->n_index - a->n_index; /* a map after its elements */
}

/* Does `a` come before `b` where neither must? */
static bool is_less(const struct ref_run *r, const struct ref_exec *a,
                    const struct ref_exec *b)
{
    if (a->node != b->node)
        return a->node < b->node;
    if (a->visit != b->visit)
        return a->visit < b->visit;
    return by_index(&r->frames[a->frame], &r->frames[b->frame]) < 0;
}

/* Have all commits of `set` that x comes after been listed? */
static bool is_next(const struct ref_run *r, const struct ref_set *set,
                    const struct ref_set *listed, int x)
{
    for (int k = 0; k < REF_EXECS / 64; k++) {
        if (set->w[k] & r->execs[x].past.w[k] & ~listed->w[k])
            return false;
    }
    return true;
}

static int order(const struct ref_run *r, const struct ref_set *all, int list[])
{
    struct ref_set set = {{0}}, listed = {{0}};
    int n = 0;

    for (int i = 0; i < r->n_execs; i++) {
        if (ref_has(all, i) && r->execs[i].status == REF_DONE)
            ref_add(&set, i);
    }
    for (;;) {
        int best = -1;

        for (int i = 0; i < r->n_execs; i++) {
            if (ref_has(&set, i) && !ref_has(&listed, i) &&
                (best < 0 || is_less(r, &r->execs[i], &r->execs[best])) &&
                is_next(r, &set, &listed, i))
                best = i;
        }
        if (best < 0)
            return n;
        ref_add(&listed, best);
        list[n++] = best;
    }
}

/* The frame of the innermost element that a frame is in; 0: of none. */
static int element_of(const struct ref_run *r, int frame)
{
    while (frame > 0 && r->frames[frame].n_index ==
                            r->frames[r->frames[frame].parent].n_index)
        frame = r->frames[frame].parent;
    return frame;
}

/* Is what x wrote there seen from `frame`? */
static bool is_seen(const struct ref_run *r, const struct ref_exec *x,
                    const struct ref_write *w, int frame)
{
    return strcmp(w->root, "artifacts") != 0 ||
           ref_is_within(r, frame, element_of(r, x->frame));
}

json_t *ref_state_of(const struct ref_run *r, const struct ref_set *set,
                     int frame)
{
    json_t *state = json_pack("{s:{}, s:{}}", "scratch", "artifacts");
    int list[REF_EXECS], n = order(r, set, list);

    for (int i = 0; i < n; i++) {
        const struct ref_exec *x = &r->execs[list[i]];

        for (int k = 0; k < x->n_writes; k++)
            if (is_seen(r, x, &x->writes[k], frame))
                ref_fold(state, &x->writes[k]);
    }
    return state;
}

static struct ref_set all_that_counts(const struct ref_run *r)
{
    struct ref_set all = {{0}};

    for (int i = 0; i < r->n_execs; i++) {
        if (r->execs[i].discard == 0)
            ref_add_past(&all, r, i);
    }
    return all;
}

json_t *ref_state_at_end(const struct ref_run *r)
{
    struct ref_set all = all_that_counts(r);

    return ref_state_of(r, &all, 0);
}

static bool both_write(const struct ref_run *r, const struct ref_exec *a,
                       const struct ref_exec *b, int frame)
{
    for (int i = 0; i < a->n_writes; i++) {
        for (int k = 0; k < b->n_writes; k++) {
            if (ref_cell_conflicts(a->writes[i].cell) &&
                is_seen(r, a, &a->writes[i], frame) &&
                is_seen(r, b, &b->writes[k], frame) &&
                strcmp(a->writes[i].root, b->writes[k].root) == 0 &&
                strcmp(a->writes[i].key, b->writes[k].key) == 0)
                return true;
        }
    }
    return false;
}

bool ref_conflicts(const struct ref_run *r, const struct ref_set *set,
                   int frame)
{
    for (int a = 0; a < r->n_execs; a++) {
        for (int b = 0; b < a; b++) {
            const struct ref_exec *x = &r->execs[a], *y = &r->execs[b];

            if (ref_has(set, a) && ref_has(set, b) && x->status == REF_DONE &&
                y->status == REF_DONE && !ref_has(&x->past, b) &&
                !ref_has(&y->past, a) && both_write(r, x, y, frame))
                return true;
        }
    }
    return false;
}

bool ref_conflicts_at_end(const struct ref_run *r)
{
    struct ref_set all = all_that_counts(r);

    return ref_conflicts(r, &all, 0);
}

bool ref_holds(const struct ref_cond *c, int turn, const json_t *state)
{
    size_t n = json_array_size(
        json_object_get(json_object_get(state, "scratch"), "log"));

    switch (c->ask) {
    case REF_ALWAYS:
        return true;
    case REF_NEVER:
        return false;
    case REF_TURN:
        return turn % c->m == c->r;
    case REF_TURN_NOT:
        return turn % c->m != c->r;
    case REF_LOG_SIZE:
        return (int)(n % (size_t)c->m) == c->r;
    }
    abort();
}
