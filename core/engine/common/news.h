/* news.h -- events of runs that concern their parents or children.
 *
 * The code that notices an event puts it here and continues.  A task of the
 * loop handles it after the current step (runs/children.c).  [loop]
 */
#ifndef MORTISE_ENGINE_COMMON_NEWS_H
#define MORTISE_ENGINE_COMMON_NEWS_H

#include "core/engine/common/engine.h"

enum mortise_news_kind {
    MORTISE_NEWS_LOADED = 1, /* a run was loaded into memory */
    MORTISE_NEWS_AWAITS,     /* a step of it begins to wait for a child */
    MORTISE_NEWS_SETTLED,    /* a handle of it was settled */
    MORTISE_NEWS_ENDED,      /* the commit of its end is stored */
    MORTISE_NEWS_LEFT,       /* ... and it may leave children behind */
    MORTISE_NEWS_BEGAN,      /* the child of the handle began unasked */
    MORTISE_NEWS_STOPPED     /* the child of the handle does not continue */
};

struct mortise_news {
    struct mortise_news *next;
    enum mortise_news_kind kind;
    struct mortise_live *live; /* LOADED, AWAITS, LEFT: it stays in memory until
                                  this is handled */
    char tenant[MORTISE_NAME_MAX + 1];
    char name[MORTISE_SPAWN_HANDLE_MAX]; /* of the run, or of the handle */
};

/* If memory runs out, the event is logged and lost. */
void mortise_news_add_for_run(struct mortise_live *live,
                              enum mortise_news_kind kind);
void mortise_news_add(struct mortise *m, enum mortise_news_kind kind,
                      const char *tenant, const char *name);
/* An event was lost because memory ran out: all runs in memory look again a
 * little later, repeatedly until there is memory. */
void mortise_news_schedule_retry(struct mortise *m);
/* Remove the oldest event, or NULL; the caller releases it. */
struct mortise_news *mortise_news_take(struct mortise *m);
void mortise_news_free(struct mortise *m, struct mortise_news *n);

#endif
