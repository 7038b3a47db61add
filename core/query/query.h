/* query.h -- what is asked about runs, as JSON (docs/json.md).
 *
 * A query is answered once the store has said what it takes, which may be
 * before the function that begins it returns. */
#ifndef MORTISE_QUERY_QUERY_H
#define MORTISE_QUERY_QUERY_H

#include "core/engine/runs/stored.h"

/* Of a list of runs; strings are lent until the query is answered. */
struct mortise_query_filter {
    bool newest;        /* those that began last first; else by their ids */
    const char *status; /* one of these words, commas in between; NULL: any */
    const char *graph;  /* of a graph of this name; NULL: of any */
    uint64_t since_ms;  /* that began no earlier */
};

struct mortise_newest;

/* One query: the caller's until it is answered, as are the names it is given.
 */
struct mortise_query {
    /* Exactly once: a value, which is the asker's, or err. */
    void (*done)(struct mortise_query *q, json_t *value, int rv,
                 const struct mortise_err *err);
    struct mortise_query_filter filter; /* the caller's, of runs; else zero */
    const json_t *diff; /* the caller's, of a graph; else NULL */
    /* Of the query alone. */
    struct mortise *m;
    /* The word is a run's id, or the name of the list that is made. */
    const char *tenant, *word;
    struct mortise_stored stored;
    struct mortise_read read;
    json_t *list;
    size_t left;                         /* so many more of the list may come */
    bool more;                           /* there are */
    bool failed;                         /* memory ran out */
    char next[2 * MORTISE_NAME_MAX + 2]; /* cursor behind the last one */
    char after_run[MORTISE_NAME_MAX + 1]; /* of the cursor that was given */
    int rv;                               /* of what was done with a record */
    struct mortise_err err;
    struct mortise_newest *newest; /* newest.c */
};

/* Of a list: a page of `limit` entries (0: as many as is usual) behind the
 * cursor `word` (NULL: its beginning).  Of one run: `word` is its id, and
 * `limit` says nothing. */
typedef void mortise_query_fn(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit);

mortise_query_fn mortise_query_runs;
mortise_query_fn mortise_query_inbox;
mortise_query_fn mortise_query_show;
mortise_query_fn mortise_query_history;
/* The graph that a run goes by, as texts, or what the diff makes of that; where the
 * diff has findings, those. */
mortise_query_fn mortise_query_graph;

/* find.c: {run, is: there | removed | unknown, message?, like: [ID...], more}:
 * what is known of a run of that id, and the first few others whose ids begin
 * so. */
mortise_query_fn mortise_query_find;

/* newest.c: the page of a begun list of runs, by its filter. */
void mortise_query_newest(struct mortise_query *q, const char *after);
/* query.c, for it: an entry of that list, a new reference; and is that run
 * blocked, as an execution of it took the process down too often? */
json_t *mortise_query_run_entry(struct mortise *m, const char *tenant,
                                const char *run, const struct mortise_head *h);
bool mortise_query_is_deadly(struct mortise *m, const char *tenant,
                             const char *run, const struct mortise_head *h);

/* For query.c and those: the answer, which takes the value; or an error. */
void mortise_query_answer(struct mortise_query *q, json_t *value);
void mortise_query_fail(struct mortise_query *q, int rv,
                        const struct mortise_err *err);
/* With an empty list for the answer, and room for `limit` entries (0: as many
 * as is usual).  False: it is answered, as that cannot be. */
bool mortise_query_begin_list(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit);

#endif
