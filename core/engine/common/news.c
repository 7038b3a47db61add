/* news.c -- the queue of run events for parents and children. */
#include "core/engine/common/news.h"

#include <string.h>

#include "core/base/clock.h"

enum { AGAIN_MS = 100 };

void mortise_news_schedule_retry(struct mortise *m)
{
    if (!m->news_again.armed && m->news_again.fire != NULL &&
        m->state == MORTISE_ENGINE_RUNNING)
        mortise_timer_arm(&m->timers, &m->news_again,
                          mortise_mono_ns_after(AGAIN_MS));
}

static void queue_run_news(struct mortise *m, enum mortise_news_kind kind,
                           struct mortise_live *live, const char *tenant,
                           const char *name)
{
    struct mortise_news *n = mortise_zalloc(m->mem, sizeof *n), **at = &m->news;

    assert_on_loop(m);
    if (n == NULL) {
        mortise_log(m, MORTISE_LOG_WARN,
                    "%s: out of memory, so its parent or its children were not "
                    "notified",
                    name);
        mortise_news_schedule_retry(m);
        return;
    }
    n->kind = kind;
    n->live = live;
    if (live != NULL)
        live->pending++;
    strcpy(n->tenant, tenant); /* callers checked the lengths */
    strcpy(n->name, name);
    while (*at != NULL)
        at = &(*at)->next;
    *at = n;
    if (m->news_queued || m->news_task.run == NULL)
        return;
    m->news_queued = true;
    mortise_task_make_ready(m, &m->news_task);
}

void mortise_news_add_for_run(struct mortise_live *live,
                              enum mortise_news_kind kind)
{
    queue_run_news(live->m, kind, live, live->tenant, live->id);
}

void mortise_news_add(struct mortise *m, enum mortise_news_kind kind,
                      const char *tenant, const char *name)
{
    queue_run_news(m, kind, NULL, tenant, name);
}

struct mortise_news *mortise_news_take(struct mortise *m)
{
    struct mortise_news *n = m->news;

    if (n != NULL)
        m->news = n->next;
    return n;
}

void mortise_news_free(struct mortise *m, struct mortise_news *n)
{
    mortise_release(m->mem, n, sizeof *n);
}
