/* find.c -- which run is meant by a word: one of that id, one that was removed,
 * or those whose ids begin with it.
 *
 * Whoever asks decides what that is good for (cli/name.c): what changes a run
 * takes its whole id, what only reads may take the beginning of it.  Three
 * answers are kept apart for that: a run is there, a run was there and went with
 * store.retention (its tombstone answers for its id, and for no other), or there
 * never was one; and, whatever the answer, whose ids go on behind the word.
 */
#include <string.h>

#include "engine/common/engine.h"

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

    assert(last != NULL); /* mortise_live_check_name() */
    memcpy(out, prefix, n - 1);
    out[n - 1] = '\0';
    if (last == id_chars) /* "a-" comes right behind "a" */
        return;
    out[n - 1] = last[-1];
    memset(out + n, 'z', MORTISE_RUN_MAX - 1 - n);
    out[MORTISE_RUN_MAX - 1] = '\0';
}

struct like {
    const char *word;
    json_t *ids;
    bool more, failed;
};

static int add_like(void *ud, const char *tenant, const char *run,
                    const struct mortise_head *head)
{
    struct like *l = ud;

    (void)tenant;
    (void)head;
    if (strncmp(run, l->word, strlen(l->word)) != 0)
        return 1;
    if (strcmp(run, l->word) == 0)
        return 0;
    l->more = json_array_size(l->ids) == SHOWN;
    l->failed =
        !l->more && json_array_append_new(l->ids, json_string(run)) != 0;
    return l->more || l->failed;
}

static int find_like(struct mortise *m, const char *tenant, struct like *l,
                     struct mortise_err *err)
{
    char after[MORTISE_RUN_MAX];
    int rv;

    just_before(l->word, after);
    rv = mortise_store_runs(m->store, tenant, after[0] != '\0' ? after : NULL,
                            add_like, l, err);
    return rv == MORTISE_OK && l->failed ? mortise_nomem(err) : rv;
}

/* "there", "removed" or "unknown"; *why has the words for the latter two. */
static int find_exactly(struct mortise *m, const char *tenant, const char *run,
                        const char **what, struct mortise_err *why,
                        struct mortise_err *err)
{
    struct mortise_head_copy head;
    struct mortise_tombstone t;
    int rv = mortise_live_find(m, tenant, run) != NULL
                 ? MORTISE_OK
                 : mortise_head_read(m, tenant, run, &head, why);

    *what = "there";
    if (rv == MORTISE_OK)
        return rv;
    if (rv != MORTISE_ENOTFOUND) {
        *err = *why;
        return rv;
    }
    rv = mortise_store_removed(m->store, tenant, run, &t, err);
    *what = rv == MORTISE_OK ? "removed" : "unknown";
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

int mortise_query_find(struct mortise *m, const char *tenant, const char *run,
                       json_t **out, struct mortise_err *err)
{
    struct like like = {.word = run};
    struct mortise_err why = {.code = MORTISE_OK};
    const char *what;
    int rv = mortise_live_check_name("tenant", tenant, err);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv = mortise_live_check_name("run id", run, err);
    if (rv != MORTISE_OK)
        return rv;
    like.ids = json_array();
    rv = like.ids != NULL ? find_exactly(m, tenant, run, &what, &why, err)
                          : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = find_like(m, tenant, &like, err);
    if (rv == MORTISE_OK) {
        *out = json_pack("{s:s, s:s, s:s*, s:O, s:b}", "run", run, "is", what,
                         "message", why.code != MORTISE_OK ? why.msg : NULL,
                         "like", like.ids, "more", (int)like.more);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    json_decref(like.ids);
    return rv;
}
