/* find.c -- find a run by its id or the beginning of its id.
 *
 * The caller decides how to use the answer: a command that changes a run needs
 * the whole id, a command that only reads may accept a prefix.  The answer
 * distinguishes three cases: the run exists; it existed and store.retention
 * removed it (its tombstone answers for this id only); or it never existed.  In
 * each case the answer also lists other ids that start with the word. */
#include <string.h>

#include "core/query/query.h"

enum { SHOWN = 8 }; /* maximum number of listed ids */

/* The characters of run ids, in the store's order. */
static const char id_chars[] = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                               "abcdefghijklmnopqrstuvwxyz";

/* Make a cursor directly before `prefix`: no id lies between the two, so a list
 * after the cursor starts at `prefix` itself.  "" is before everything. */
static void make_cursor_before(const char *prefix, char out[MORTISE_RUN_MAX])
{
    size_t n = strlen(prefix);
    const char *last = strchr(id_chars, prefix[n - 1]);

    assert(last != NULL); /* checked by mortise_name_check() */
    memcpy(out, prefix, n - 1);
    out[n - 1] = '\0';
    if (last == id_chars) /* "a-" comes directly after "a" */
        return;
    out[n - 1] = last[-1];
    memset(out + n, 'z', MORTISE_RUN_MAX - 1 - n);
    out[MORTISE_RUN_MAX - 1] = '\0';
}

static int add_matching_id(void *ud, const char *tenant, const char *run,
                           const struct mortise_head *head)
{
    struct mortise_query *q = ud;

    (void)tenant;
    (void)head;
    if (strncmp(run, q->word, strlen(q->word)) != 0)
        return 1;
    if (strcmp(run, q->word) == 0)
        return 0;
    q->more = json_array_size(q->list) == SHOWN;
    q->failed =
        !q->more && json_array_append_new(q->list, json_string(run)) != 0;
    return q->more || q->failed;
}

/* q->rv is the state of the run itself: MORTISE_OK: it exists; MORTISE_EEXISTS:
 * it was removed; MORTISE_ENOTFOUND. q->err has the message. */
static void finish_find(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(r, struct mortise_query, read);
    const char *what = q->rv == MORTISE_OK        ? "there"
                       : q->rv == MORTISE_EEXISTS ? "removed"
                                                  : "unknown";

    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, err);
    else
        mortise_query_answer(
            q, q->failed ? NULL
                         : json_pack("{s:s, s:s, s:s*, s:O, s:b}", "run",
                                     q->word, "is", what, "message",
                                     q->rv != MORTISE_OK ? q->err.msg : NULL,
                                     "like", q->list, "more", (int)q->more));
}

static void find_matching_ids(struct mortise_query *q)
{
    make_cursor_before(q->word, q->after_run);
    q->read = (struct mortise_read){
        .kind = MORTISE_READ_RUNS,
        .tenant = q->tenant,
        .run = q->after_run[0] != '\0' ? q->after_run : NULL,
        .head = add_matching_id,
        .ud = q,
        .done = finish_find};
    mortise_store_read(q->m->store, &q->read);
}

static void handle_find_head(struct mortise_stored_read *s, int rv,
                             const struct mortise_err *err)
{
    struct mortise_query *q =
        MORTISE_CONTAINER_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND) {
        mortise_query_fail(q, rv, err);
        return;
    }
    q->err = *err;
    q->rv = s->removed ? MORTISE_EEXISTS : rv;
    find_matching_ids(q);
}

void mortise_query_find(struct mortise *m, struct mortise_query *q,
                        const char *tenant, const char *run, size_t limit)
{
    struct mortise_err err;
    int rv;

    if (!mortise_query_begin_list(m, q, tenant, run, limit))
        return;
    rv = mortise_name_check("run id", run, &err);
    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, &err);
    else if (mortise_live_find(m, tenant, run) != NULL)
        find_matching_ids(q);
    else
        mortise_stored_read_head(m, &q->stored, tenant, run, handle_find_head);
}
