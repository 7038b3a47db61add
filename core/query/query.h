/* query.h -- queries about runs, answered as JSON (docs/json.md).
 *
 * A query is answered when the store has returned its data, possibly before the
 * function that starts it returns. */
#ifndef MORTISE_QUERY_QUERY_H
#define MORTISE_QUERY_QUERY_H

#include "core/engine/runs/stored.h"

/* Filter of a list of runs; strings are lent until the query is answered. */
struct mortise_query_filter {
    bool newest;        /* newest first; else by id */
    const char *status; /* words, separated by commas; NULL: any */
    const char *graph;  /* name of the graph; NULL: any */
    uint64_t since_ms;  /* that began at or after this time */
};

struct mortise_newest;

/* A query.  The caller must keep it, and the names given to it, until it is
 * answered. */
struct mortise_query {
    /* Called exactly once, with a value, which the callee owns, or with err. */
    void (*done)(struct mortise_query *q, json_t *value, int rv,
                 const struct mortise_err *err);
    /* Set by the caller, for runs; else zero. */
    struct mortise_query_filter filter;
    const json_t *diff; /* set by the caller, for a graph; else NULL */
    /* Internal fields. */
    struct mortise *m;
    /* A run's id, or the member name of the list. */
    const char *tenant, *word;
    struct mortise_stored_read stored;
    struct mortise_read read;
    json_t *list;
    size_t left; /* number of entries that still fit the page */
    bool more;   /* there are entries after the page */
    bool failed; /* out of memory */
    char next[2 * MORTISE_NAME_MAX + 2];  /* cursor after the last entry */
    char after_run[MORTISE_NAME_MAX + 1]; /* from the given cursor */
    int rv;                               /* the result of handling a record */
    struct mortise_err err;
    struct mortise_newest *newest; /* newest.c */
};

/* For a list: a page of `limit` entries (0: the default) after the cursor
 * `word` (NULL: from the beginning).  For one run: `word` is its id, and
 * `limit` is ignored. */
typedef void mortise_query_fn(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit);

mortise_query_fn mortise_query_runs;
mortise_query_fn mortise_query_inbox;
mortise_query_fn mortise_query_show;
mortise_query_fn mortise_query_history;
/* The graph of a run, as texts; with a diff, the graph after the diff, or the
 * diff's findings. */
mortise_query_fn mortise_query_graph;

/* find.c: {run, is: there | removed | unknown, message?, like: [ID...], more}:
 * the state of the run with this id, and the first ids that start with it. */
mortise_query_fn mortise_query_find;

/* newest.c: answer a list of runs with the page of its filter. */
void mortise_query_newest(struct mortise_query *q, const char *after);
/* For newest.c: an entry of the list, as a new reference.
 *
 * mortise_query_is_run_blocked(): is the run blocked because an execution of it
 * ended the process too often? */
json_t *mortise_query_run_entry(struct mortise *m, const char *tenant,
                                const char *run, const struct mortise_head *h);
bool mortise_query_is_run_blocked(struct mortise *m, const char *tenant,
                                  const char *run,
                                  const struct mortise_head *h);

/* For query.c, find.c and newest.c: answer the query with a value, which is
 * consumed, or with an error. */
void mortise_query_answer(struct mortise_query *q, json_t *value);
void mortise_query_fail(struct mortise_query *q, int rv,
                        const struct mortise_err *err);
/* Start a list query with an empty list and room for `limit` entries (0: the
 * default).  False: it failed and was answered. */
bool mortise_query_begin_list(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit);

#endif
