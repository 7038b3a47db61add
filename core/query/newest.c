/* newest.c -- a list of runs, newest first, filtered by status, graph and time.
 *
 * The store orders runs by id, and ids do not tell when a run began.  Therefore
 * a page of this list reads the head of each run of the tenant.  Promises:
 *
 *   (1) Memory holds only the entries of the page, whatever the number of runs:
 *       a heap of the best so far, with the worst of them on top.
 *   (2) SLICE heads are read at a time; then other work gets its turn.
 *   (3) Pages are contiguous.  A cursor is the start time of the last entry,
 *       and its id.  Neither ever changes, and a run that begins between two
 *       pages is newer than both.
 *   (4) An entry shows the run as stored at the end of the page.  A run that is
 *       removed or begun meanwhile may be present or absent.
 *   (5) If the engine closes, the query is answered. */
#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/query/query.h"

enum { SLICE = 512, MS_DIGITS = 20 };

/* A candidate for the page. */
struct page_entry {
    uint64_t created_ms;
    json_t *entry; /* owned */
    char run[MORTISE_RUN_MAX];
};

struct mortise_newest {
    struct mortise_query *q;
    struct mortise_task task;
    size_t wanted;    /* entries of a page + 1, to detect that there are more */
    size_t n, seen;   /* in the heap; heads read in this slice */
    bool begun, more; /* the first slice was read; the slice ended early */
    uint64_t before_ms; /* from the cursor; its id is the query's after_run */
    bool paged;
    /* The last head that was read. */
    char run[MORTISE_RUN_MAX], after[MORTISE_RUN_MAX];
    struct page_entry heap[];
};

/* Does the run come later in the list? */
static bool comes_later(uint64_t created_ms, const char *run, uint64_t than_ms,
                        const char *than)
{
    return created_ms != than_ms ? created_ms < than_ms : strcmp(run, than) < 0;
}

static bool entry_comes_later(const struct page_entry *a,
                              const struct page_entry *b)
{
    return comes_later(a->created_ms, a->run, b->created_ms, b->run);
}

/* ---- the heap ------------------------------------------------------------ */

static void swap_entries(struct page_entry *a, struct page_entry *b)
{
    struct page_entry c = *a;

    *a = *b;
    *b = c;
}

static void sift_entry_up(struct page_entry *heap, size_t i)
{
    for (; i > 0 && entry_comes_later(&heap[i], &heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap_entries(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_entry_down(struct page_entry *heap, size_t n, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;

        for (size_t k = left; k < left + 2 && k < n; k++)
            if (entry_comes_later(&heap[k], &heap[least]))
                least = k;
        if (least == i)
            return;
        swap_entries(&heap[i], &heap[least]);
        i = least;
    }
}

/* Sort the page, newest first. */
static void sort_page(struct page_entry *heap, size_t n)
{
    while (n > 1) {
        swap_entries(&heap[0], &heap[--n]);
        sift_entry_down(heap, n, 0);
    }
}

/* ---- the filter ---------------------------------------------------------- */

/* Is the word in `words`, a list separated by commas? */
static bool has_status_word(const char *words, const char *word)
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

/* The status as users see it. */
static const char *get_shown_status(struct mortise *m, const char *tenant,
                                    const char *run,
                                    const struct mortise_head *h)
{
    if (mortise_query_is_run_blocked(m, tenant, run, h))
        return mortise_run_status_name(MORTISE_RUN_BLOCKED);
    if (((int)h->status == MORTISE_RUN_ACCEPTED ||
         (int)h->status == MORTISE_RUN_RUNNING) &&
        mortise_live_find(m, tenant, run) == NULL)
        return interrupted;
    return mortise_run_status_name((int)h->status);
}

static bool is_run_wanted(const struct mortise_newest *w, const char *tenant,
                          const char *run, const struct mortise_head *h)
{
    const struct mortise_query *q = w->q;
    const struct mortise_query_filter *f = &q->filter;

    return h->created_ms >= f->since_ms &&
           (!w->paged ||
            comes_later(h->created_ms, run, w->before_ms, q->after_run)) &&
           (w->n < w->wanted ||
            comes_later(w->heap[0].created_ms, w->heap[0].run, h->created_ms,
                        run)) &&
           (f->graph == NULL || strcmp(f->graph, h->graph_name) == 0) &&
           (f->status == NULL ||
            has_status_word(f->status, get_shown_status(q->m, tenant, run, h)));
}

/* Check that each word of the list is a status. */
static int check_status_filter(const char *words, struct mortise_err *err)
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

/* Parse "MS/RUN": the start time and id of the last entry of the previous
 * page. */
static int parse_newest_cursor(struct mortise_newest *w, const char *after,
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

/* ---- reading ------------------------------------------------------------- */

static void add_to_page(struct mortise_newest *w, const char *tenant,
                        const char *run, const struct mortise_head *h)
{
    struct page_entry *to = &w->heap[w->n];
    struct page_entry new = {
        .created_ms = h->created_ms,
        .entry = mortise_query_run_entry(w->q->m, tenant, run, h)};

    if (new.entry == NULL) {
        w->q->failed = true;
        return;
    }
    snprintf(new.run, sizeof new.run, "%s", run);
    if (w->n < w->wanted) {
        *to = new;
        sift_entry_up(w->heap, w->n++);
        return;
    }
    json_decref(w->heap[0].entry);
    w->heap[0] = new;
    sift_entry_down(w->heap, w->n, 0);
}

static int visit_head(void *ud, const char *tenant, const char *run,
                      const struct mortise_head *head)
{
    struct mortise_newest *w = ud;

    w->more = w->seen == SLICE;
    if (w->more)
        return 1;
    w->seen++;
    snprintf(w->run, sizeof w->run, "%s", run);
    if (is_run_wanted(w, tenant, run, head))
        add_to_page(w, tenant, run, head);
    return w->q->failed;
}

static void free_newest(struct mortise_newest *w)
{
    for (size_t i = 0; i < w->n; i++)
        json_decref(w->heap[i].entry);
    mortise_release(w->q->m->mem, w, sizeof *w + w->wanted * sizeof *w->heap);
}

/* Answer {runs: list, next: cursor or null}. */
static void answer_newest(struct mortise_newest *w)
{
    struct mortise_query *q = w->q;
    size_t n = w->n < w->wanted ? w->n : w->wanted - 1;
    int rv = 0;

    sort_page(w->heap, w->n);
    for (size_t i = 0; rv == 0 && i < n; i++)
        rv = json_array_append(q->list, w->heap[i].entry);
    if (w->n > n)
        snprintf(q->next, sizeof q->next, "%" PRIu64 "/%s",
                 w->heap[n - 1].created_ms, w->heap[n - 1].run);
    q->more = w->n > n;
    free_newest(w);
    mortise_query_answer(q, rv != 0 || q->failed
                                ? NULL
                                : json_pack("{s:O, s:s?}", q->word, q->list,
                                            "next", q->more ? q->next : NULL));
}

static void fail_newest(struct mortise_newest *w, int rv,
                        const struct mortise_err *err)
{
    struct mortise_query *q = w->q;
    struct mortise_err why = *err;

    free_newest(w);
    mortise_query_fail(q, rv, &why);
}

static void finish_slice(struct mortise_read *r, int rv,
                         const struct mortise_err *err)
{
    struct mortise_newest *w =
        MORTISE_CONTAINER_OF(r, struct mortise_query, read)->newest;

    if (rv != MORTISE_OK) {
        fail_newest(w, rv, err);
    } else if (w->more && !w->q->failed) {
        w->q->m->n_listing++;
        mortise_task_make_ready(w->q->m, &w->task);
    } else {
        answer_newest(w);
    }
}

static void start_slice(struct mortise_newest *w)
{
    struct mortise_query *q = w->q;

    w->more = false;
    w->seen = 0;
    strcpy(w->after, w->run); /* visit_head() overwrites w->run */
    q->read = (struct mortise_read){.kind = MORTISE_READ_RUNS,
                                    .tenant = q->tenant,
                                    .run = w->begun ? w->after : NULL,
                                    .head = visit_head,
                                    .ud = w,
                                    .done = finish_slice};
    w->begun = true;
    mortise_store_read(q->m->store, &q->read);
}

static void continue_newest(struct mortise_task *t)
{
    struct mortise_newest *w =
        MORTISE_CONTAINER_OF(t, struct mortise_newest, task);
    struct mortise_err err;
    int rv = mortise_engine_check_ready(w->q->m, &err);

    assert(w->q->m->n_listing > 0);
    w->q->m->n_listing--;
    if (rv != MORTISE_OK)
        fail_newest(w, rv, &err);
    else
        start_slice(w);
}

/* `q` was started with an empty list and room for q->left entries. */
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
    w->task.run = continue_newest;
    q->newest = w;
    if (q->filter.status != NULL)
        rv = check_status_filter(q->filter.status, &err);
    if (rv == MORTISE_OK && after != NULL)
        rv = parse_newest_cursor(w, after, &err);
    if (rv != MORTISE_OK)
        fail_newest(w, rv, &err);
    else
        start_slice(w);
}
