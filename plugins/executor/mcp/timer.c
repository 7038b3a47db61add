/* timer.c -- time that passes, for what belongs to no run.
 *
 * A request that gets no answer must end all the same, and the plugin has no
 * thread and no clock but the host's: it asks for timer.wait/1 with the handle of
 * the background call, where a wait is short, in memory, and recorded nowhere.
 *
 *   (1) The timers that are set are a list by when they are due.  The host is
 *       asked for the soonest alone; one that is due earlier than what was asked
 *       for is asked for besides, and whatever comes of an ask fires what is due
 *       by then.  So thousands of calls with the same timeout have one wait.
 *   (2) A wait that was asked for cannot be taken back: it comes, finds nothing
 *       due, and goes.
 *   (3) Where the host has no such wait, nothing is ever due.
 */
#include "mcp.h"

enum { MS = 1000000 /* ns */ };

static void arm(mortise_inst *i);

static void unlink_timer(struct mcp_timer *t)
{
    *t->at = t->next;
    if (t->next != NULL)
        t->next->at = t->at;
    t->at = NULL;
    t->next = NULL;
}

static void fire_due(mortise_inst *i)
{
    uint64_t now = i->api->now_ns(i->host);
    struct mcp_timer *t;

    while ((t = i->timers) != NULL && t->due_ns <= now) {
        unlink_timer(t);
        t->fire(t);
    }
}

static void woke(void *ud, mortise_status status, mortise_str answer)
{
    mortise_inst *i = (mortise_inst *)ud;

    (void)answer;
    i->wakes_ns = 0; /* of what else was asked for nothing is known (2) */
    if (status != MORTISE_S_OK)
        return; /* it is about to close */
    fire_due(i);
    arm(i);
}

static void arm(mortise_inst *i)
{
    uint64_t now, due;
    mortise_status status;

    if (i->timers == NULL || i->background == 0)
        return;
    due = i->timers->due_ns;
    if (i->wakes_ns != 0 && i->wakes_ns <= due)
        return; /* (1) */
    now = i->api->now_ns(i->host);
    status =
        mortise_timer_wait(i->host, i->api, i->background, 0,
                           due > now ? (due - now + MS - 1) / MS : 0, woke, i);
    if (status == MORTISE_S_PENDING)
        i->wakes_ns = due;
}

void mcp_timer_stop(struct mcp_timer *t)
{
    if (t->at != NULL)
        unlink_timer(t);
}

void mcp_timer_set(mortise_inst *i, struct mcp_timer *t, uint64_t ms)
{
    struct mcp_timer **at = &i->timers;

    mcp_timer_stop(t);
    t->due_ns = i->api->now_ns(i->host) + ms * MS;
    while (*at != NULL && (*at)->due_ns <= t->due_ns)
        at = &(*at)->next;
    t->next = *at;
    t->at = at;
    if (t->next != NULL)
        t->next->at = &t->next;
    *at = t;
    arm(i);
}
