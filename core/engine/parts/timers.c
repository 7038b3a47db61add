/* timers.c -- a pairing heap of timers.
 *
 * A node's timeout is armed and disarmed once per execution, mostly without
 * firing, and giving up a plugin must not fail for lack of memory.  A pairing
 * heap suits that: it needs no allocation, arming is one comparison, and
 * removal costs O(log n) amortised.
 *
 * The heap is a tree in which no child is sooner than its parent; children form
 * a list.  Removing a node melds its children in pairs from left to right, then
 * the pairs from right to left, without recursion.
 */
#include "core/engine/parts/timers.h"

#include <assert.h>

/* Meld two trees; either may be empty.  Their roots have no siblings. */
static struct mortise_timer *meld_timers(struct mortise_timer *a,
                                         struct mortise_timer *b)
{
    struct mortise_timer *t;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (b->at_ns < a->at_ns) {
        t = a;
        a = b;
        b = t;
    }
    b->prev = a;
    b->next = a->child;
    if (b->next != NULL)
        b->next->prev = b;
    a->child = b;
    return a;
}

/* Detach a tree from its siblings. */
static struct mortise_timer *detach_timer(struct mortise_timer *t)
{
    if (t != NULL)
        t->next = t->prev = NULL;
    return t;
}

/* Meld all trees of a list of siblings. */
static struct mortise_timer *meld_timer_list(struct mortise_timer *list)
{
    struct mortise_timer *pairs = NULL, *a, *b, *rest, *root = NULL;

    for (; list != NULL; list = rest) {
        b = list->next;
        rest = b != NULL ? b->next : NULL;
        a = meld_timers(detach_timer(list), detach_timer(b));
        a->next = pairs; /* newest first, so that the loop below melds from the
                            right */
        pairs = a;
    }
    for (; pairs != NULL; pairs = rest) {
        rest = pairs->next;
        root = meld_timers(root, detach_timer(pairs));
    }
    return root;
}

void mortise_timer_arm(struct mortise_timers *ts, struct mortise_timer *t,
                       uint64_t at_ns)
{
    assert(!t->armed);
    t->at_ns = at_ns;
    t->armed = true;
    t->child = t->next = t->prev = NULL;
    ts->root = meld_timers(ts->root, t);
    ts->n++;
}

void mortise_timer_disarm(struct mortise_timers *ts, struct mortise_timer *t)
{
    if (!t->armed)
        return;
    t->armed = false;
    ts->n--;
    if (t == ts->root) {
        ts->root = meld_timer_list(t->child);
        return;
    }
    if (t->prev->child == t)
        t->prev->child = t->next;
    else
        t->prev->next = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    ts->root = meld_timers(ts->root, meld_timer_list(t->child));
}

bool mortise_timers_fire(struct mortise_timers *ts, uint64_t now_ns)
{
    struct mortise_timer *t;
    size_t left = ts->n;
    bool any = false;

    while (left-- > 0 && (t = ts->root) != NULL && t->at_ns <= now_ns) {
        mortise_timer_disarm(ts, t);
        any = true;
        t->fire(t);
    }
    return any;
}
