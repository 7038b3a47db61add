/* find.c -- which run is meant by a word: one of that id, one that was removed,
 * or those whose ids begin with it.
 *
 * Whoever asks decides what that is good for (cli/name.c): what changes a run
 * takes its whole id, what only reads may take the beginning of it.  Three
 * answers are kept apart for that: a run is there, a run was there and went
 * with store.retention (its tombstone answers for its id, and for no other), or
 * there never was one; and, whatever the answer, whose ids go on behind the
 * word.
 */
#include <string.h>

#include "core/query/query.h"

enum { SHOWN = 8 }; /* so many ids that go on */

/* Run ids are of these, in the order that the store lists them. */
static const char id_chars[] = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                               "abcdefghijklmnopqrstuvwxyz";

/* Something that no id lies between, and `prefix`: so that listing what comes
 * after it begins at `prefix` itself.  "" is before everything. */
static void just_before(const char *prefix, char out[MORTISE_RUN_MAX])
{
    size_t n = strlen(prefix);
    const char *last = strchr(id_chars, prefix[n - 1]);

    assert(last != NULL); /* mortise_check_name() */
    memcpy(out, prefix, n - 1);
    out[n - 1] = '\0';
    if (last == id_chars) /* "a-" comes right behind "a" */
        return;
    out[n - 1] = last[-1];
    memset(out + n, 'z', MORTISE_RUN_MAX - 1 - n);
    out[MORTISE_RUN_MAX - 1] = '\0';
}

static int add_like(void *ud, const char *tenant, const char *run,
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

/* What is known of the run itself stands in q->rv: MORTISE_OK, it is there;
 * MORTISE_EEXISTS, it was; MORTISE_ENOTFOUND; the words for it in q->err. */
static void like_read(struct mortise_read *r, int rv,
                      const struct mortise_err *err)
{
    struct mortise_query *q = MORTISE_OF(r, struct mortise_query, read);
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

static void find_like(struct mortise_query *q)
{
    just_before(q->word, q->after_run);
    q->read = (struct mortise_read){
        .kind = MORTISE_READ_RUNS,
        .tenant = q->tenant,
        .run = q->after_run[0] != '\0' ? q->after_run : NULL,
        .head = add_like,
        .ud = q,
        .done = like_read};
    mortise_store_read(q->m->store, &q->read);
}

static void head_read(struct mortise_stored *s, int rv,
                      const struct mortise_err *err)
{
    struct mortise_query *q = MORTISE_OF(s, struct mortise_query, stored);

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND) {
        mortise_query_fail(q, rv, err);
        return;
    }
    q->err = *err;
    q->rv = s->removed ? MORTISE_EEXISTS : rv;
    find_like(q);
}

void mortise_query_find(struct mortise *m, struct mortise_query *q,
                        const char *tenant, const char *run, size_t limit)
{
    struct mortise_err err;
    int rv;

    if (!mortise_query_begin_list(m, q, tenant, run, limit))
        return;
    rv = mortise_check_name("run id", run, &err);
    if (rv != MORTISE_OK)
        mortise_query_fail(q, rv, &err);
    else if (mortise_live_find(m, tenant, run) != NULL)
        find_like(q);
    else
        mortise_stored_head(m, &q->stored, tenant, run, head_read);
}
