/* find.c -- read(): which traces a request means, and which of them come first.
 *
 *   order time   what was written last first, page by page
 *   ids          those, in their order
 *   a query      by words (text.c), and by vectors where there are some
 *                (vector.c).  Of one alone its score counts; of both the ranks,
 *                1 / (60 + rank) of each, as their scores do not compare.  Then
 *                strength: of words a trace without any counts half of one that
 *                has all, of ranks that is as much as three places.  It counts
 *                among the first 256 that are meant, or four times as many as are
 *                wanted, of the first 4,096
 *   else         the strongest of the newest 4,096 of each place
 *
 * The length of a text counts as in BM25, by bytes: twice the mean length costs
 * a third of the score. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 4096, LOOKED_AT = 256, FUSED = 60 };

/* ---- one trace ----------------------------------------------------------- */

static mortise_str column(sqlite3_stmt *s, int k)
{
    const char *p = (const char *)sqlite3_column_text(s, k);

    return mortise_strn(p, (uint64_t)sqlite3_column_bytes(s, k));
}

sqlite3_stmt *statement_of_id(const struct job *j, enum statement which)
{
    sqlite3_stmt *s = statement(j, which);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
                   sqlite3_bind_text(s, 2, j->id.p, (int)j->id.n,
                                     SQLITE_STATIC) == SQLITE_OK
               ? s
               : NULL;
}

bool trace_find(const struct job *j, int64_t *n)
{
    return run_number(statement_of_id(j, S_TRACE_OF), n);
}

bool trace_get(const struct job *j, int64_t n, struct trace *t, bool *failed)
{
    sqlite3_stmt *s = statement(j, S_TRACE);
    int code = SQLITE_ERROR;

    if (s != NULL && sqlite3_bind_int64(s, 1, n) == SQLITE_OK &&
        sqlite3_bind_int64(s, 2, j->tenant) == SQLITE_OK)
        code = sqlite3_step(s);
    *failed = code != SQLITE_ROW && code != SQLITE_DONE;
    if (code != SQLITE_ROW)
        return false;
    *t = (struct trace){.n = n,
                        .id = column(s, 0),
                        .seq = sqlite3_column_int64(s, 1),
                        .place = sqlite3_column_int64(s, 2),
                        .scope = sqlite3_column_int(s, 3),
                        .type = sqlite3_column_int(s, 4),
                        .created = sqlite3_column_int64(s, 5),
                        .strength = sqlite3_column_double(s, 6),
                        .by_now = sqlite3_column_double(s, 7),
                        .at = sqlite3_column_int64(s, 8),
                        .uses = sqlite3_column_int64(s, 9),
                        .bytes = sqlite3_column_int64(s, 10),
                        .metadata = column(s, 11),
                        .content = column(s, 12),
                        .key = column(s, 13)};
    return true;
}

bool trace_fits(const struct filter *f, const struct trace *t)
{
    bool placed = !f->by_place;

    for (size_t k = 0; k < f->n_places; k++)
        placed |= f->places[k] == t->place;
    return placed && t->n <= f->horizon && t->created < f->before &&
           (f->scope < 0 || t->scope == f->scope) &&
           (f->types == 0 || (f->types & 1u << t->type) != 0);
}

/* By then; false: the file failed. */
static bool strength_of(const struct job *j, const struct filter *f,
                        const struct trace *t, double *out)
{
    double was = t->by_now;
    int64_t at = t->at;

    if (f->as_of >= 0 && t->uses > 0 &&
        !strength_fold(j, t->n, t->strength, t->created, f->as_of, &was, &at))
        return false;
    *out = faded(j->inst, was, at, j->now);
    return true;
}

/* ---- what is meant ------------------------------------------------------- */

static mortise_status add_place(const struct job *j, struct filter *f,
                                int scope, mortise_jv key)
{
    struct bytes text = {0};
    mortise_status status = MORTISE_S_OK;
    int64_t place = 0;

    if (f->scope >= 0 && f->scope != scope)
        return status;
    if (key.n > 0)
        status = bytes_decode(&text, key);
    if (status != MORTISE_S_OK)
        return no(j->inst, j->call, &bad_request, "a key must be text");
    if (!place_find(j, scope, bytes_str(&text), false, &place))
        status = no_database(j, "read");
    if (place > 0)
        f->places[f->n_places++] = place;
    bytes_free(&text);
    return status;
}

static mortise_status read_places(const struct job *j, struct filter *f)
{
    mortise_jv scope = mortise_jv_get(j->body, "scope"),
               keys = mortise_jv_get(j->body, "keys");
    mortise_status status = MORTISE_S_OK;

    f->scope = -1;
    if (scope.n > 0 && (f->scope = scope_of(scope)) < 0)
        return no(j->inst, j->call, &bad_request, "unknown scope");
    if (keys.n == 0 && f->scope != 0)
        return status;
    f->by_place = true;
    for (int k = 0; status == MORTISE_S_OK && k < 4; k++) {
        mortise_jv key = mortise_jv_get(keys, scope_name(k));

        if (k == 0 || key.n > 0)
            status = add_place(j, f, k, k == 0 ? mortise_jv_none() : key);
    }
    return status;
}

static mortise_status read_types(const struct job *j, struct filter *f)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(j->body, "types"));
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        int type = type_of(one);

        if (type < 0)
            return no(j->inst, j->call, &bad_request, "unknown type");
        f->types |= 1u << type;
    }
    return MORTISE_S_OK;
}

/* The newest number that is to be seen; 0: there is none. */
static bool find_horizon(const struct job *j, struct filter *f)
{
    sqlite3_stmt *s = statement(j, S_HORIZON);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int64(s, 2, f->as_of >= 0 ? f->as_of : INT64_MAX) ==
               SQLITE_OK &&
           run_number(s, &f->horizon);
}

mortise_status filter_read(const struct job *j, struct filter *f, bool *none)
{
    mortise_jv as_of = mortise_jv_get(j->body, "as_of"),
               least = mortise_jv_get(j->body, "min_strength"),
               before = mortise_jv_get(j->body, "before");
    mortise_status status;

    *f = (struct filter){.as_of = -1, .before = INT64_MAX};
    if ((as_of.n > 0 &&
         (mortise_jv_int(as_of, &f->as_of) != MORTISE_S_OK || f->as_of < 0)) ||
        (least.n > 0 &&
         mortise_jv_double(least, &f->min_strength) != MORTISE_S_OK) ||
        (before.n > 0 && mortise_jv_int(before, &f->before) != MORTISE_S_OK))
        return no(j->inst, j->call, &bad_request,
                  "as_of, min_strength and before must be numbers");
    status = read_places(j, f);
    if (status == MORTISE_S_OK)
        status = read_types(j, f);
    if (status == MORTISE_S_OK && !find_horizon(j, f))
        status = no_database(j, "read");
    *none = f->horizon == 0 || (f->by_place && f->n_places == 0);
    return status;
}

/* ---- without a query ----------------------------------------------------- */

static int newer(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    return (x->n < y->n) - (x->n > y->n);
}

static bool take_rows(sqlite3_stmt *s, struct hit *out, size_t *n)
{
    int code;

    while ((code = sqlite3_step(s)) == SQLITE_ROW)
        out[(*n)++] = (struct hit){sqlite3_column_int64(s, 0), 0};
    sqlite3_reset(s);
    return code == SQLITE_DONE;
}

static bool of_place(const struct job *j, int64_t place, int64_t n, size_t most,
                     struct hit *out, size_t *n_out)
{
    sqlite3_stmt *s = statement(j, S_OF_PLACE);

    return s != NULL && sqlite3_bind_int64(s, 1, place) == SQLITE_OK &&
           sqlite3_bind_int64(s, 2, n) == SQLITE_OK &&
           sqlite3_bind_int64(s, 3, (int64_t)most) == SQLITE_OK &&
           take_rows(s, out, n_out);
}

static bool of_tenant(const struct job *j, int64_t seq, int64_t n, size_t most,
                      struct hit *out, size_t *n_out)
{
    sqlite3_stmt *s = statement(j, S_OF_TENANT);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int64(s, 2, n) == SQLITE_OK &&
           sqlite3_bind_int64(s, 3, (int64_t)most) == SQLITE_OK &&
           sqlite3_bind_int64(s, 4, seq) == SQLITE_OK &&
           take_rows(s, out, n_out);
}

bool newest(const struct job *j, const struct filter *f, int64_t seq, int64_t n,
            size_t most, struct hit **out, size_t *n_out)
{
    size_t places = f->by_place ? f->n_places : 1;
    bool right = true;

    *n_out = 0;
    *out = calloc(places * most, sizeof **out);
    if (*out == NULL)
        return false;
    if (!f->by_place)
        return of_tenant(j, seq, n, most, *out, n_out);
    for (size_t k = 0; right && k < places; k++)
        right = of_place(j, f->places[k], n, most, *out, n_out);
    qsort(*out, *n_out, sizeof **out, newer);
    return right;
}

/* ---- ranks --------------------------------------------------------------- */

/* What is found, in the order in which it is given. */
struct finding {
    struct job *j;
    struct filter f;
    struct hit *hits; /* ours */
    size_t n;
    int64_t most;
    bool scored;
    char next[48]; /* "": there are no more */
};

int better(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->n < y->n) - (x->n > y->n);
}

/* The first `most` of them that fit, weighed by `weigh`, the best first. */
static bool weigh_all(struct finding *r, size_t most,
                      double (*weigh)(const struct finding *r, double score,
                                      double strength, const struct trace *t))
{
    size_t kept = 0;
    struct trace t;
    double strength;
    bool failed;

    for (size_t k = 0; k < r->n && kept < most; k++) {
        if (!trace_get(r->j, r->hits[k].n, &t, &failed)) {
            if (failed)
                return false;
            continue; /* a vector of one that is gone */
        }
        if (!strength_of(r->j, &r->f, &t, &strength))
            return false;
        if (!trace_fits(&r->f, &t) || strength < r->f.min_strength)
            continue;
        r->hits[kept++] =
            (struct hit){t.n, weigh(r, r->hits[k].score, strength, &t)};
    }
    r->n = kept;
    qsort(r->hits, r->n, sizeof *r->hits, better);
    return true;
}

static double by_strength(const struct finding *r, double score,
                          double strength, const struct trace *t)
{
    (void)r;
    (void)score;
    (void)t;
    return strength;
}

static double by_text(const struct finding *r, double score, double strength,
                      const struct trace *t)
{
    double mean =
        (double)r->j->bytes / (double)(r->j->traces > 0 ? r->j->traces : 1);
    double length = mean > 0 ? (double)t->bytes / mean : 1;

    return score * (2.2 / (1 + 1.2 * (0.25 + 0.75 * length))) *
           (0.5 + 0.5 * strength);
}

static double by_ranks(const struct finding *r, double score, double strength,
                       const struct trace *t)
{
    (void)r;
    (void)t;
    return score * (0.95 + 0.05 * strength);
}

/* Ranks in the place of scores, and those of both lists together. */
static bool fuse(struct finding *r, const struct hit *near, size_t n)
{
    struct hit *all = realloc(r->hits, (r->n + n + 1) * sizeof *all);
    size_t kept = 0;

    if (all == NULL)
        return false;
    r->hits = all;
    for (size_t k = 0; k < r->n; k++)
        all[k].score = 1.0 / (FUSED + 1 + (double)k);
    for (size_t k = 0; k < n; k++)
        all[r->n + k] = (struct hit){near[k].n, 1.0 / (FUSED + 1 + (double)k)};
    r->n += n;
    qsort(all, r->n, sizeof *all, newer);
    for (size_t k = 0; k < r->n; k++) {
        if (kept > 0 && all[kept - 1].n == all[k].n)
            all[kept - 1].score += all[k].score;
        else
            all[kept++] = all[k];
    }
    r->n = kept;
    qsort(all, r->n, sizeof *all, better);
    return true;
}

static void cut(struct finding *r, size_t most)
{
    r->n = r->n > most ? most : r->n;
}

static mortise_status find_query(struct finding *r, mortise_jv query)
{
    size_t looked =
        4 * (size_t)r->most > LOOKED_AT ? 4 * (size_t)r->most : LOOKED_AT;
    struct job *j = r->j;
    struct hit *near = NULL;
    size_t n = 0;
    bool right;

    j->text.n = 0;
    if (bytes_decode(&j->text, query) != MORTISE_S_OK)
        return no(j->inst, j->call, &bad_request, "query must be text");
    right = text_search(j, bytes_str(&j->text), &r->f, &r->hits, &r->n);
    if (right && j->inst->embed != NULL)
        right = vectors_search(j, &r->f, &near, &n);
    if (right && n > 0)
        right = fuse(r, near, n);
    cut(r, CANDIDATES);
    if (right)
        right = weigh_all(r, looked, n > 0 ? by_ranks : by_text);
    free(near);
    r->scored = true;
    cut(r, (size_t)r->most);
    return right ? MORTISE_S_OK : no_database(j, "search");
}

static mortise_status find_strongest(struct finding *r)
{
    bool right = newest(r->j, &r->f, INT64_MAX, r->f.horizon + 1, CANDIDATES,
                        &r->hits, &r->n) &&
                 weigh_all(r, r->n, by_strength);

    cut(r, (size_t)r->most);
    return right ? MORTISE_S_OK : no_database(r->j, "read");
}

static mortise_status find_ids(struct finding *r, mortise_jv ids)
{
    mortise_jv_iter it = mortise_jv_each(ids);
    struct job *j = r->j;
    struct trace t;
    bool failed = false;
    mortise_jv one;

    r->hits = calloc(mortise_jv_count(ids) + 1, sizeof *r->hits);
    if (r->hits == NULL)
        return no(j->inst, j->call, &out_of_memory, "out of memory");
    while (mortise_jv_next(&it, NULL, &one) && r->n < (size_t)r->most) {
        int64_t n;
        double strength;

        j->id.n = 0;
        if (bytes_decode(&j->id, one) != MORTISE_S_OK)
            return no(j->inst, j->call, &bad_request, "an id must be text");
        if (!trace_find(j, &n))
            return no_database(j, "read");
        if (!trace_get(j, n, &t, &failed) || !trace_fits(&r->f, &t)) {
            if (failed)
                return no_database(j, "read");
            continue;
        }
        if (!strength_of(j, &r->f, &t, &strength))
            return no_database(j, "read");
        if (strength >= r->f.min_strength)
            r->hits[r->n++] = (struct hit){n, 0};
    }
    return MORTISE_S_OK;
}

/* ---- pages of all -------------------------------------------------------- */

/* "SEQ.N"; false: it is none. */
static bool read_cursor(mortise_jv after, int64_t *seq, int64_t *n)
{
    char text[48], *end;

    if (mortise_jv_cstr(after, text, sizeof text) != MORTISE_S_OK)
        return false;
    *seq = strtoll(text, &end, 10);
    if (*end != '.')
        return false;
    *n = strtoll(end + 1, &end, 10);
    return *end == '\0' && *n > 0 && *seq >= 0;
}

/* One more step back in time; what fits goes to the end of r->hits. */
static bool add_page(struct finding *r, const struct hit *page, size_t n,
                     int64_t *seq, int64_t *at)
{
    struct trace t;
    double strength;
    bool failed;

    for (size_t k = 0; k < n; k++) {
        if (!trace_get(r->j, page[k].n, &t, &failed))
            return false;
        if (trace_fits(&r->f, &t)) {
            if (!strength_of(r->j, &r->f, &t, &strength))
                return false;
            if (r->n == (size_t)r->most) {
                snprintf(r->next, sizeof r->next, "%lld.%lld", (long long)*seq,
                         (long long)*at);
                return true;
            }
            if (strength >= r->f.min_strength)
                r->hits[r->n++] = (struct hit){t.n, 0};
        }
        *seq = t.seq;
        *at = t.n;
    }
    return true;
}

static mortise_status find_by_time(struct finding *r, mortise_jv after)
{
    int64_t seq = INT64_MAX, at = INT64_MAX;
    struct hit *page = NULL;
    bool right = true;
    size_t n = 1, most = (size_t)r->most + 1;

    if (after.n > 0 && !read_cursor(after, &seq, &at))
        return no(r->j->inst, r->j->call, &bad_request,
                  "`after` must be the `next` of an earlier answer");
    r->hits = calloc(most, sizeof *r->hits);
    if (r->hits == NULL)
        return no(r->j->inst, r->j->call, &out_of_memory, "out of memory");
    while (right && n > 0 && r->next[0] == '\0') {
        right = newest(r->j, &r->f, seq, at, most, &page, &n);
        n = n < most ? n : most; /* behind it there may be others' */
        right = right && add_page(r, page, n, &seq, &at);
        free(page);
        page = NULL;
    }
    return right ? MORTISE_S_OK : no_database(r->j, "read");
}

/* ---- the answer ---------------------------------------------------------- */

static void write_text(mortise_jw *w, const char *key, mortise_str text)
{
    mortise_jw_key(w, key);
    mortise_jw_string(w, text);
}

static void write_trace(mortise_jw *w, const struct finding *r,
                        const struct trace *t, double strength, double score)
{
    mortise_jv metadata = {.p = t->metadata.p, .n = t->metadata.n};

    mortise_jw_object(w);
    write_text(w, "id", t->id);
    write_text(w, "type", mortise_strz(type_name(t->type)));
    write_text(w, "scope", mortise_strz(scope_name(t->scope)));
    if (t->scope != 0)
        write_text(w, "key", t->key);
    write_text(w, "content", t->content);
    mortise_jw_key(w, "strength");
    mortise_jw_double(w, strength);
    if (t->strength != strength) {
        mortise_jw_key(w, "initial");
        mortise_jw_double(w, t->strength);
    }
    mortise_jw_key(w, "created_at");
    mortise_jw_int(w, t->created);
    if (metadata.p != NULL) {
        mortise_jw_key(w, "metadata");
        mortise_jw_value(w, metadata);
    }
    if (r->scored) {
        mortise_jw_key(w, "score");
        mortise_jw_double(w, score);
    }
    mortise_jw_end(w);
}

/* What nobody could have written makes no trace of an answer. */
static bool is_whole(const struct trace *t, double strength)
{
    return t->created >= 0 && t->created <= MORTISE_MEMORY_TIME &&
           t->strength >= 0 && t->strength <= 1 && strength >= 0 &&
           strength <= 1;
}

/* As many as fit into one answer. */
static mortise_status write_traces(mortise_jw *w, struct finding *r)
{
    int64_t bytes = 0, seq = 0, at = 0;
    struct trace t;
    double strength;
    bool failed;

    mortise_jw_key(w, "traces");
    mortise_jw_array(w);
    for (size_t k = 0; k < r->n; k++) {
        if (!trace_get(r->j, r->hits[k].n, &t, &failed) ||
            !strength_of(r->j, &r->f, &t, &strength))
            return no_database(r->j, "read");
        if (!is_whole(&t, strength))
            return no(r->j->inst, r->j->call, &corrupt_file,
                      "%s: the time or the strength of trace '%.*s' is invalid",
                      r->j->inst->path, (int)t.id.n, t.id.p);
        bytes += t.bytes + (int64_t)t.metadata.n;
        if (k > 0 && bytes > MORTISE_MEMORY_ANSWER) {
            snprintf(r->next, sizeof r->next, "%lld.%lld", (long long)seq,
                     (long long)at);
            break;
        }
        write_trace(w, r, &t, strength, r->hits[k].score);
        seq = t.seq;
        at = t.n;
    }
    mortise_jw_end(w);
    return MORTISE_S_OK;
}

static mortise_status answer(struct finding *r, bool by_time)
{
    struct job *j = r->j;
    mortise_status status;
    mortise_emitter e;
    char room[16384];

    mortise_emitter_init(&e, j->inst->host, j->inst->api, j->call, room,
                         sizeof room);
    mortise_jw_object(&e.w);
    status = write_traces(&e.w, r);
    if (status != MORTISE_S_OK)
        return status;
    mortise_jw_key(&e.w, "seq");
    mortise_jw_int(&e.w, r->f.as_of >= 0 && r->f.as_of < j->seq ? r->f.as_of
                                                                : j->seq);
    if (by_time && r->next[0] != '\0')
        write_text(&e.w, "next", mortise_strz(r->next));
    if (j->note != NULL)
        write_text(&e.w, "note", mortise_strz(j->note));
    mortise_jw_end(&e.w);
    if (mortise_emitter_finish(&e) == MORTISE_S_OK)
        return MORTISE_S_OK;
    return no(j->inst, j->call, &corrupt_file, "%s: a stored trace is damaged",
              j->inst->path);
}

/* ---- read() -------------------------------------------------------------- */

static mortise_status find(struct finding *r, bool by_time)
{
    mortise_jv ids = mortise_jv_get(r->j->body, "ids"),
               query = mortise_jv_get(r->j->body, "query");

    if (r->most == 0)
        return MORTISE_S_OK;
    if (ids.n > 0)
        return find_ids(r, ids);
    if (by_time)
        return find_by_time(r, mortise_jv_get(r->j->body, "after"));
    return query.n > 0 ? find_query(r, query) : find_strongest(r);
}

static mortise_status read_within(struct finding *r)
{
    bool by_time = mortise_jv_is(mortise_jv_get(r->j->body, "order"),
                                 mortise_strz("time"));
    bool none = true;
    mortise_status status = tenant_find(r->j, false);

    if (status == MORTISE_S_OK && r->j->tenant > 0)
        status = filter_read(r->j, &r->f, &none);
    if (status == MORTISE_S_OK && !none)
        status = find(r, by_time);
    return status == MORTISE_S_OK ? answer(r, by_time) : status;
}

mortise_status do_read(struct job *j)
{
    struct finding r = {.j = j, .f = {.as_of = -1}};
    mortise_status status;

    if (mortise_jv_int(mortise_jv_get(j->body, "max_traces"), &r.most) !=
            MORTISE_S_OK ||
        r.most < 0 || r.most > MORTISE_MEMORY_TRACES)
        return no(j->inst, j->call, &bad_request,
                  "max_traces must be a number from 0 to %d",
                  MORTISE_MEMORY_TRACES);
    vectors_ask(j);
    if (!run_plain(j, S_BEGIN))
        return no_database(j, "read");
    status = read_within(&r);
    run_plain(j, S_COMMIT);
    free(r.hits);
    return status;
}
