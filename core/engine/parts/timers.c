/* timers.c -- a pairing heap of timers.
 *
 * A node's timeout is armed and disarmed once per execution, mostly without
 * ever firing, and giving up on a plugin must not fail for want of memory.  A
 * pairing heap is made for that: no allocation, arming is one comparison, and
 * the work is put off until something is taken out (logarithmic, amortised).
 *
 * The heap is a tree in which no child is sooner than its parent; children
 * hang in a list.  Taking one out melds its children in pairs from left to
 * right, then the pairs from right to left, without recursion.
 */
#include "core/engine/parts/timers.h"

#include <assert.h>

/* Two trees to one; either may be empty.  Their roots have no siblings. */
static struct mortise_timer *meld(struct mortise_timer *a,
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

/* Cut a tree off its siblings. */
static struct mortise_timer *alone(struct mortise_timer *t)
{
    if (t != NULL)
        t->next = t->prev = NULL;
    return t;
}

/* All trees of a list of siblings to one. */
static struct mortise_timer *meld_all(struct mortise_timer *list)
{
    struct mortise_timer *pairs = NULL, *a, *b, *rest, *root = NULL;

    for (; list != NULL; list = rest) {
        b = list->next;
        rest = b != NULL ? b->next : NULL;
        a = meld(alone(list), alone(b));
        a->next = pairs; /* newest first: melded from the right below */
        pairs = a;
    }
    for (; pairs != NULL; pairs = rest) {
        rest = pairs->next;
        root = meld(root, alone(pairs));
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
    ts->root = meld(ts->root, t);
    ts->n++;
}

void mortise_timer_disarm(struct mortise_timers *ts, struct mortise_timer *t)
{
    if (!t->armed)
        return;
    t->armed = false;
    ts->n--;
    if (t == ts->root) {
        ts->root = meld_all(t->child);
        return;
    }
    if (t->prev->child == t)
        t->prev->child = t->next;
    else
        t->prev->next = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    ts->root = meld(ts->root, meld_all(t->child));
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
