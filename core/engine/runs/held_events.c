/* held_events.c -- live events that wait for earlier durable events.
 *
 * A FIFO queue of each run: an event is sent before the first durable event
 * that happened after it, even within one commit.  The queue may be long (a
 * plugin may emit 100,000 events in one call), so events are kept as text.  All
 * live events queued anywhere in the engine, here and in the mailbox, stay
 * within m->passing_max bytes.  Events that do not fit are counted at their
 * place in the queue, and each watch of the events around them gets the count.
 */
#include "core/engine/common/engine.h"

#include <string.h>

struct mortise_held_event {
    struct mortise_held_event *next;
    uint64_t seq;    /* of the commit that it waits for */
    uint64_t behind; /* number of durable events before it */
    uint64_t id;     /* counted in its run */
    uint64_t missed; /* number of dropped events; then this is no event */
    size_t n;
    char text[];
};

bool mortise_event_space_reserve(struct mortise *m, size_t n)
{
    if (atomic_fetch_add(&m->passing, n) + n <= m->passing_max)
        return true;
    atomic_fetch_sub(&m->passing, n);
    return false;
}

void mortise_event_space_release(struct mortise *m, size_t n)
{
    size_t before = atomic_fetch_sub(&m->passing, n);

    assert(before >= n);
    (void)before;
}

/* Append it, after everything that has happened so far. */
static void append_held_event(struct mortise_live *live,
                              struct mortise_held_event *h)
{
    h->next = NULL;
    h->seq = mortise_run_get_newest_seq(live->run);
    h->behind = mortise_run_count_events(live->run);
    h->id = ++live->n_held;
    if (live->held == NULL)
        live->held = h;
    else
        live->last_held->next = h;
    live->last_held = h;
}

void mortise_held_events_add_missed(struct mortise_live *live, uint64_t n)
{
    struct mortise_held_event *h = live->held != NULL ? live->last_held : NULL;

    live->n_unreported_missed += n;
    if (h == NULL || h->missed == 0 ||
        h->behind != mortise_run_count_events(live->run)) {
        h = mortise_zalloc(live->m->mem, sizeof *h);
        if (h == NULL)
            return; /* reported with the next event */
        append_held_event(live, h);
    }
    h->missed += live->n_unreported_missed;
    live->n_unreported_missed = 0;
}

void mortise_held_events_add(struct mortise_live *live, const json_t *event)
{
    const struct mortise_mem *mem = live->m->mem;
    char *text = mortise_json_to_text(mem, event);
    size_t n = text != NULL ? strlen(text) : 0;
    struct mortise_held_event *h = NULL;

    if (live->n_unreported_missed > 0)
        mortise_held_events_add_missed(live, 0);
    if (text != NULL && mortise_event_space_reserve(live->m, sizeof *h + n)) {
        h = mortise_zalloc(mem, sizeof *h + n);
        if (h == NULL)
            mortise_event_space_release(live->m, sizeof *h + n);
    }
    if (h != NULL) {
        h->n = n;
        memcpy(h->text, text, n);
        append_held_event(live, h);
    } else {
        mortise_held_events_add_missed(live, 1);
    }
    mortise_release_str(mem, text);
}

uint64_t mortise_held_events_get_seq(const struct mortise_live *live)
{
    return live->held != NULL ? live->held->seq : UINT64_MAX;
}

uint64_t mortise_held_events_get_preceding(const struct mortise_live *live)
{
    return live->held != NULL ? live->held->behind : UINT64_MAX;
}

/* The event, or NULL and the number of missed events. */
static json_t *parse_held_event(const struct mortise_held_event *h,
                                uint64_t *id, uint64_t *missed)
{
    json_t *event = NULL;
    struct mortise_err err;

    *id = h->id;
    *missed = h->missed;
    if (h->missed == 0 &&
        mortise_json_parse_written(&event, h->text, h->n, &err) != MORTISE_OK)
        *missed = 1; /* out of memory */
    return event;
}

static void drop_first_held_event(struct mortise_live *live)
{
    struct mortise_held_event *h = live->held;

    live->held = h->next;
    if (h->missed == 0)
        mortise_event_space_release(live->m, sizeof *h + h->n);
    mortise_release(live->m->mem, h, sizeof *h + h->n);
}

json_t *mortise_held_events_take(struct mortise_live *live, uint64_t *id,
                                 uint64_t *missed)
{
    json_t *event = parse_held_event(live->held, id, missed);

    drop_first_held_event(live);
    return event;
}

const struct mortise_held_event *
mortise_held_events_find(const struct mortise_live *live,
                         const struct mortise_held_event *from, uint64_t id,
                         uint64_t seq, struct mortise_held_event_copy *out)
{
    const struct mortise_held_event *h = from != NULL ? from->next : live->held;

    while (h != NULL && h->id <= id)
        h = h->next;
    if (h == NULL || h->behind >= seq)
        return NULL;
    out->event = parse_held_event(h, &out->id, &out->missed);
    return h;
}

void mortise_held_events_drop(struct mortise_live *live)
{
    while (live->held != NULL)
        drop_first_held_event(live);
}
