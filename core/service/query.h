/* query.h -- what is asked about runs, as JSON (docs/json.md).
 *
 * A query is answered once the store has said what it takes, which may be
 * before the function that begins it returns. */
#ifndef MORTISE_SERVICE_QUERY_H
#define MORTISE_SERVICE_QUERY_H

#include "engine/runs/stored.h"

/* One query: the caller's until it is answered, as are the names it is given.
 */
struct mortise_query {
    /* Exactly once: a value, which is the asker's, or err. */
    void (*done)(struct mortise_query *q, json_t *value, int rv,
                 const struct mortise_err *err);
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

/* find.c: {run, is: there | removed | unknown, message?, like: [ID...], more}:
 * what is known of a run of that id, and the first few others whose ids begin
 * so. */
mortise_query_fn mortise_query_find;

/* For query.c and find.c: the answer, which takes the value; or an error. */
void mortise_query_answer(struct mortise_query *q, json_t *value);
void mortise_query_fail(struct mortise_query *q, int rv,
                        const struct mortise_err *err);
/* With an empty list for the answer, and room for `limit` entries (0: as many
 * as is usual).  False: it is answered, as that cannot be. */
bool mortise_query_begin_list(struct mortise *m, struct mortise_query *q,
                              const char *tenant, const char *word,
                              size_t limit);

#endif
