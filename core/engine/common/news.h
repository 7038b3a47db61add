/* news.h -- what happens to runs that others may want to hear of: parents,
 * children.  Who knows of it says so here and goes on; it is heard in a task of the
 * loop, behind the step that is under way (runs/children.c).  [loop] */
#ifndef MORTISE_ENGINE_COMMON_NEWS_H
#define MORTISE_ENGINE_COMMON_NEWS_H

#include "core/engine/common/engine.h"

enum mortise_news_kind {
    MORTISE_NEWS_LOADED = 1, /* a run came into memory */
    MORTISE_NEWS_AWAITS,     /* a step of it begins to wait for a child */
    MORTISE_NEWS_SETTLED,    /* a handle of it was */
    MORTISE_NEWS_ENDED,      /* the commit of its end is stored */
    MORTISE_NEWS_LEFT,       /* ... of what may leave children behind */
    MORTISE_NEWS_BEGAN,      /* the child of that handle did; nobody asks */
    MORTISE_NEWS_RESTS       /* the child of that handle does not go on */
};

struct mortise_news {
    struct mortise_news *next;
    enum mortise_news_kind kind;
    struct mortise_live *live; /* LOADED, AWAITS, LEFT: it stays till heard */
    char tenant[MORTISE_NAME_MAX + 1];
    char name[MORTISE_SPAWN_HANDLE_MAX]; /* of the run, or the handle */
};

/* Where memory runs out it is logged, and was missed. */
void mortise_news_of(struct mortise_live *live, enum mortise_news_kind kind);
void mortise_news_put(struct mortise *m, enum mortise_news_kind kind,
                      const char *tenant, const char *name);
/* Somebody did not hear, for want of memory: whoever is in memory looks again a
 * little later, until there is some. */
void mortise_news_missed(struct mortise *m);
/* The oldest that nobody heard, or NULL; the caller's to release. */
struct mortise_news *mortise_news_take(struct mortise *m);
void mortise_news_free(struct mortise *m, struct mortise_news *n);

#endif
