/* newest.c -- runs, those that began last first, and of those the ones that are
 * asked for: by status, by graph, since when.
 *
 * A store has its runs by id, and ids that people choose say nothing of when a
 * run began; so a page of this list looks at the head of each run that the tenant
 * has.  The promises:
 *
 *   (1) What a page holds in memory is its own entries, however many runs there
 *       are: the best so far, the worst of them on top of a heap.
 *   (2) SLICE heads are looked at in one go, and then others have their turn.
 *   (3) Pages meet.  A cursor is when the last entry began, and its id: neither
 *       ever changes, and what begins between two pages is newer than both.
 *   (4) An entry is what is stored of the run at the end of the page; one that was
 *       removed or begun meanwhile may be there or not.
 *   (5) An engine that closes does not leave a page behind: it is answered.
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/query/query.h"

enum { SLICE = 512, MS_DIGITS = 20 };

/* A run as it may come to stand in the page. */
struct one {
    uint64_t created_ms;
    json_t *entry; /* ours */
    char run[MORTISE_RUN_MAX];
};

struct mortise_newest {
    struct mortise_query *q;
    struct mortise_task task;
    size_t wanted;  /* entries of a page, and one to know that there are more */
    size_t n, seen; /* in the heap; of this slice */
    bool begun, more;   /* behind the first slice; the slice ended early */
    uint64_t before_ms; /* of the cursor; its id is the query's after_run */
    bool paged;
    char run[MORTISE_RUN_MAX], after[MORTISE_RUN_MAX]; /* looked at last */
    struct one heap[];
};

/* Does it stand behind in the list? */
static bool is_behind(uint64_t created_ms, const char *run, uint64_t than_ms,
                      const char *than)
{
    return created_ms != than_ms ? created_ms < than_ms : strcmp(run, than) < 0;
}

static bool one_is_behind(const struct one *a, const struct one *b)
{
    return is_behind(a->created_ms, a->run, b->created_ms, b->run);
}

/* ---- the heap ------------------------------------------------------------- */

static void swap(struct one *a, struct one *b)
{
    struct one c = *a;

    *a = *b;
    *b = c;
}

static void sift_up(struct one *heap, size_t i)
{
    for (; i > 0 && one_is_behind(&heap[i], &heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_down(struct one *heap, size_t n, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;

        for (size_t k = left; k < left + 2 && k < n; k++)
            if (one_is_behind(&heap[k], &heap[least]))
                least = k;
        if (least == i)
            return;
        swap(&heap[i], &heap[least]);
        i = least;
    }
}

/* The page in its order, first of all the newest. */
static void heap_sort(struct one *heap, size_t n)
{
    while (n > 1) {
        swap(&heap[0], &heap[--n]);
        sift_down(heap, n, 0);
    }
}

/* ---- what is wanted ------------------------------------------------------- */

/* The words of `status`, apart from each other by commas. */
static bool is_among(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = words; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

static const char interrupted[] = "interrupted";

/* Its status as people are told it. */
static const char *status_of(struct mortise *m, const char *tenant,
                             const char *run, const struct mortise_head *h)
{
    if (mortise_query_is_deadly(m, tenant, run, h))
        return mortise_run_status_name(MORTISE_RUN_BLOCKED);
    if (((int)h->status == MORTISE_RUN_ACCEPTED ||
         (int)h->status == MORTISE_RUN_RUNNING) &&
        mortise_live_find(m, tenant, run) == NULL)
        return interrupted;
    return mortise_run_status_name((int)h->status);
}

static bool is_wanted(const struct mortise_newest *w, const char *tenant,
                      const char *run, const struct mortise_head *h)
{
    const struct mortise_query *q = w->q;
    const struct mortise_query_filter *f = &q->filter;

    return h->created_ms >= f->since_ms &&
           (!w->paged ||
            is_behind(h->created_ms, run, w->before_ms, q->after_run)) &&
           (w->n < w->wanted || is_behind(w->heap[0].created_ms, w->heap[0].run,
                                          h->created_ms, run)) &&
           (f->graph == NULL || strcmp(f->graph, h->graph_name) == 0) &&
           (f->status == NULL ||
            is_among(f->status, status_of(q->m, tenant, run, h)));
}

/* `status` is a list of words that a run may have there. */
static int check_status(const char *words, struct mortise_err *err)
{
    for (const char *p = words; p != NULL; p = strchr(p, ',')) {
        char word[32];
        size_t n;
        bool is;

        p += *p == ',';
        n = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), p);
        is = strcmp(word, interrupted) == 0;
        for (int s = MORTISE_RUN_ACCEPTED; s <= MORTISE_RUN_CANCELLED; s++)
            is |= strcmp(word, mortise_run_status_name(s)) == 0;
        if (!is)
            return mortise_fail(err, MORTISE_EINVAL,
                                "unknown status '%s'; use accepted, running, "
                                "waiting, paused, in_doubt, blocked, "
                                "completed, failed, cancelled or interrupted",
                                word);
    }
    return MORTISE_OK;
}

/* "MS/RUN": when the last entry of the page before began, and which it was. */
static int read_cursor(struct mortise_newest *w, const char *after,
                       struct mortise_err *err)
{
    char *end = NULL;
    size_t digits = strspn(after, "0123456789");
    struct mortise_query *q = w->q;

    w->paged = digits > 0 && digits < MS_DIGITS && after[digits] == '/' &&
               strlen(after + digits + 1) < sizeof q->after_run &&
               after[digits + 1] != '\0';
    if (!w->paged)
        return mortise_fail(err, MORTISE_EINVAL,
                            "'%.200s' is not a cursor of a page of runs",
                            after);
    w->before_ms = strtoull(after, &end, 10);
    strcpy(q->after_run, end + 1);
    return MORTISE_OK;
}

/* ---- looking --------------------------------------------------------------- */

static void add(struct mortise_newest *w, const char *tenant, const char *run,
                const struct mortise_head *h)
{
    struct one *to = &w->heap[w->n];
    struct one new = {.created_ms = h->created_ms,
                      .entry =
                          mortise_query_run_entry(w->q->m, tenant, run, h)};

    if (new.entry == NULL) {
        w->q->failed = true;
        return;
    }
    snprintf(new.run, sizeof new.run, "%s", run);
    if (w->n < w->wanted) {
        *to = new;
        sift_up(w->heap, w->n++);
        return;
    }
    json_decref(w->heap[0].entry);
    w->heap[0] = new;
    sift_down(w->heap, w->n, 0);
}

static int look(void *ud, const char *tenant, const char *run,
                const struct mortise_head *head)
{
    struct mortise_newest *w = ud;

    w->more = w->seen == SLICE;
    if (w->more)
        return 1;
    w->seen++;
    snprintf(w->run, sizeof w->run, "%s", run);
    if (is_wanted(w, tenant, run, head))
        add(w, tenant, run, head);
    return w->q->failed;
}

static void newest_free(struct mortise_newest *w)
{
    for (size_t i = 0; i < w->n; i++)
        json_decref(w->heap[i].entry);
    mortise_release(w->q->m->mem, w, sizeof *w + w->wanted * sizeof *w->heap);
}

/* {runs: list, next: cursor or null}. */
static void answer(struct mortise_newest *w)
{
    struct mortise_query *q = w->q;
    size_t n = w->n < w->wanted ? w->n : w->wanted - 1;
    int rv = 0;

    heap_sort(w->heap, w->n);
    for (size_t i = 0; rv == 0 && i < n; i++)
        rv = json_array_append(q->list, w->heap[i].entry);
    if (w->n > n)
        snprintf(q->next, sizeof q->next, "%" PRIu64 "/%s",
                 w->heap[n - 1].created_ms, w->heap[n - 1].run);
    q->more = w->n > n;
    newest_free(w);
    mortise_query_answer(q, rv != 0 || q->failed
                                ? NULL
                                : json_pack("{s:O, s:s?}", q->word, q->list,
                                            "next", q->more ? q->next : NULL));
}

static void end_badly(struct mortise_newest *w, int rv,
                      const struct mortise_err *err)
{
    struct mortise_query *q = w->q;
    struct mortise_err why = *err;

    newest_free(w);
    mortise_query_fail(q, rv, &why);
}

static void slice_read(struct mortise_read *r, int rv,
                       const struct mortise_err *err)
{
    struct mortise_newest *w =
        MORTISE_OF(r, struct mortise_query, read)->newest;

    if (rv != MORTISE_OK) {
        end_badly(w, rv, err);
    } else if (w->more && !w->q->failed) {
        w->q->m->n_listing++;
        mortise_ready(w->q->m, &w->task);
    } else {
        answer(w);
    }
}

static void read_slice(struct mortise_newest *w)
{
    struct mortise_query *q = w->q;

    w->more = false;
    w->seen = 0;
    strcpy(w->after, w->run); /* what is looked at moves the other one on */
    q->read = (struct mortise_read){.kind = MORTISE_READ_RUNS,
                                    .tenant = q->tenant,
                                    .run = w->begun ? w->after : NULL,
                                    .head = look,
                                    .ud = w,
                                    .done = slice_read};
    w->begun = true;
    mortise_store_read(q->m->store, &q->read);
}

static void go_on(struct mortise_task *t)
{
    struct mortise_newest *w = MORTISE_OF(t, struct mortise_newest, task);
    struct mortise_err err;
    int rv = mortise_engine_ready(w->q->m, &err);

    assert(w->q->m->n_listing > 0);
    w->q->m->n_listing--;
    if (rv != MORTISE_OK)
        end_badly(w, rv, &err);
    else
        read_slice(w);
}

/* `q` is begun, with an empty list and room for so many entries. */
void mortise_query_newest(struct mortise_query *q, const char *after)
{
    size_t wanted = q->left + 1;
    struct mortise_err err;
    struct mortise_newest *w =
        mortise_zalloc(q->m->mem, sizeof *w + wanted * sizeof *w->heap);
    int rv = w != NULL ? MORTISE_OK : mortise_nomem(&err);

    if (rv != MORTISE_OK) {
        mortise_query_fail(q, rv, &err);
        return;
    }
    w->q = q;
    w->wanted = wanted;
    w->task.run = go_on;
    q->newest = w;
    if (q->filter.status != NULL)
        rv = check_status(q->filter.status, &err);
    if (rv == MORTISE_OK && after != NULL)
        rv = read_cursor(w, after, &err);
    if (rv != MORTISE_OK)
        end_badly(w, rv, &err);
    else
        read_slice(w);
}
