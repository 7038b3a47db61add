/* vector.c -- what traces are about, by vectors that a model makes (`embed`).
 *
 *   (1) A trace is written first, and due for a vector in the same transaction;
 *       vectors are made afterwards, BATCH at a time.  A model that fails, or a
 *       process that dies, leaves it due: the next write goes on with it, and so
 *       does a search, by one batch.
 *   (2) A search whose query gets no vector goes by words alone, and says so.
 *   (3) Vectors of one tenant that was searched are in memory, and those that
 *       are made later, here or by another process, join them with the next
 *       search.
 *
 * A vector of another length than the query's, of a model that was there before,
 * is not looked at. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

#include "near.h"

enum {
    BATCH = 64,        /* texts of one request */
    BATCHES = 16,      /* of one write */
    NUMBERS_MAX = 8192 /* of a vector */
};

struct tenants_near {
    struct tenants_near *next;
    int64_t tenant, last; /* the newest row of `vector` that is there */
    struct near *near;
};

struct vectors {
    pthread_mutex_t lock; /* guards the list, and what is in it */
    struct tenants_near *first;
};

/* ---- asking the model ---------------------------------------------------- */

/* {"alias", "texts": [...]}; texts are those of the rows, or the one. */
static mortise_status begin_body(const struct job *j, mortise_jw *w)
{
    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
    mortise_jw_key(w, "alias");
    mortise_jw_cstr(w, j->inst->embed);
    mortise_jw_key(w, "texts");
    mortise_jw_array(w);
    return w->status;
}

/* The list of vectors in the answer; false: there is none. */
static bool ask(const struct job *j, mortise_jw *w, mortise_jv *vectors)
{
    mortise_str body, answer;
    mortise_jv said;

    mortise_jw_end(w);
    mortise_jw_end(w);
    if (mortise_jw_finish(w, &body) != MORTISE_S_OK ||
        mortise_model_embed_wait(j->inst->host, j->inst->api, j->call, body,
                                 &answer) != MORTISE_S_OK ||
        mortise_jv_parse(answer, &said) != MORTISE_S_OK)
        return false;
    *vectors = mortise_jv_get(mortise_jv_get(said, "reply"), "vectors");
    return mortise_jv_type(*vectors) == MORTISE_JV_ARRAY;
}

/* *v is to be freed; 0: it is no vector, or memory ran out. */
static size_t read_vector(mortise_jv from, float **v)
{
    uint64_t n = mortise_jv_count(from);
    mortise_jv_iter it = mortise_jv_each(from);
    mortise_jv one;
    size_t k = 0;

    *v = n > 0 && n <= NUMBERS_MAX ? malloc((size_t)n * sizeof **v) : NULL;
    while (*v != NULL && mortise_jv_next(&it, NULL, &one)) {
        double d;

        if (mortise_jv_double(one, &d) != MORTISE_S_OK) {
            free(*v);
            *v = NULL;
            return 0;
        }
        (*v)[k++] = (float)d;
    }
    return k;
}

/* ---- making them (1) ----------------------------------------------------- */

struct batch {
    int64_t traces[BATCH];
    size_t n;
};

static bool list_due(const struct job *j, struct batch *b, mortise_jw *w)
{
    sqlite3_stmt *s = statement(j, S_DUE);
    int code = SQLITE_ERROR;

    if (s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
        sqlite3_bind_int(s, 2, BATCH) == SQLITE_OK)
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            b->traces[b->n++] = sqlite3_column_int64(s, 0);
            mortise_jw_string(
                w, mortise_strn((const char *)sqlite3_column_text(s, 1),
                                (uint64_t)sqlite3_column_bytes(s, 1)));
        }
    sqlite3_reset(s);
    return code == SQLITE_DONE;
}

static bool keep_one(const struct job *j, int64_t trace, mortise_jv from)
{
    sqlite3_stmt *add = statement(j, S_VECTOR_ADD),
                 *due = statement(j, S_DUE_DROP);
    float *v;
    size_t n = read_vector(from, &v);
    bool right = n > 0 && add != NULL && due != NULL &&
                 sqlite3_bind_int64(add, 1, j->tenant) == SQLITE_OK &&
                 sqlite3_bind_int64(add, 2, trace) == SQLITE_OK &&
                 sqlite3_bind_blob(add, 3, v, (int)(n * sizeof *v),
                                   SQLITE_STATIC) == SQLITE_OK &&
                 run(add) &&
                 sqlite3_bind_int64(due, 1, j->tenant) == SQLITE_OK &&
                 sqlite3_bind_int64(due, 2, trace) == SQLITE_OK && run(due);

    free(v);
    return right;
}

/* One that was forgotten meanwhile is due no more, and gets none. */
static bool is_due(const struct job *j, int64_t trace)
{
    struct trace t;
    bool failed;

    return trace_get(j, trace, &t, &failed);
}

static bool keep_all(const struct job *j, const struct batch *b,
                     mortise_jv vectors)
{
    mortise_jv_iter it = mortise_jv_each(vectors);
    bool right = run_plain(j, S_BEGIN_WRITE);
    mortise_jv one;
    size_t k = 0;

    if (!right)
        return false;
    while (right && k < b->n && mortise_jv_next(&it, NULL, &one)) {
        if (is_due(j, b->traces[k]))
            right = keep_one(j, b->traces[k], one);
        k++;
    }
    right = right && k == b->n && run_plain(j, S_COMMIT);
    if (!right)
        run_plain(j, S_ROLLBACK);
    return right;
}

/* True: there may be more. */
static bool make_batch(struct job *j)
{
    struct batch b = {.n = 0};
    mortise_jv vectors;
    mortise_jw w;
    bool right = begin_body(j, &w) == MORTISE_S_OK && list_due(j, &b, &w) &&
                 b.n > 0 && ask(j, &w, &vectors);

    if (right) {
        pthread_mutex_lock(&j->inst->writing);
        right = keep_all(j, &b, vectors);
        pthread_mutex_unlock(&j->inst->writing);
    }
    free(w.p);
    return right && b.n == BATCH;
}

void vectors_make(struct job *j)
{
    int left = BATCHES;

    while (j->inst->embed != NULL && j->tenant > 0 && left-- > 0 &&
           make_batch(j))
        continue;
}

/* ---- the query ----------------------------------------------------------- */

void vectors_ask(struct job *j)
{
    mortise_jv query = mortise_jv_get(j->body, "query"), vectors, one;
    mortise_jv_iter it;
    mortise_jw w;

    if (j->inst->embed == NULL || query.n == 0)
        return;
    if (tenant_find(j, false) == MORTISE_S_OK && j->tenant > 0)
        make_batch(j);
    if (begin_body(j, &w) == MORTISE_S_OK) {
        mortise_jw_value(&w, query);
        if (ask(j, &w, &vectors)) {
            it = mortise_jv_each(vectors);
            if (mortise_jv_next(&it, NULL, &one))
                j->n_vector = read_vector(one, &j->vector);
        }
    }
    free(w.p);
    if (j->n_vector == 0)
        j->note = "the model did not compute a vector of the query, so only "
                  "words were searched";
}

/* ---- those in memory (3) ------------------------------------------------- */

static struct tenants_near *of_tenant(struct vectors *all, int64_t tenant)
{
    struct tenants_near *t = all->first;

    while (t != NULL && t->tenant != tenant)
        t = t->next;
    if (t == NULL && (t = calloc(1, sizeof *t)) != NULL) {
        t->tenant = tenant;
        t->next = all->first;
        all->first = t;
    }
    return t;
}

/* The vectors that came since, of the length of the query's. */
static bool load(const struct job *j, struct tenants_near *t)
{
    sqlite3_stmt *s = statement(j, S_VECTORS);
    bool right = s != NULL &&
                 sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
                 sqlite3_bind_int64(s, 2, t->last) == SQLITE_OK;
    int code = SQLITE_DONE;

    while (right && (code = sqlite3_step(s)) == SQLITE_ROW) {
        struct near_of of = {.trace = sqlite3_column_int64(s, 1),
                             .place = sqlite3_column_int64(s, 2),
                             .scope = sqlite3_column_int(s, 3),
                             .type = sqlite3_column_int(s, 4)};
        const void *blob = sqlite3_column_blob(s, 5);
        size_t n = (size_t)sqlite3_column_bytes(s, 5) / sizeof(float);
        float v[NUMBERS_MAX];

        t->last = sqlite3_column_int64(s, 0);
        if (n != near_dim(t->near))
            continue;
        memcpy(v, blob, n * sizeof *v);
        right = near_add(t->near, &of, v);
    }
    sqlite3_reset(s);
    return right && code == SQLITE_DONE;
}

static bool is_meant(const struct near_of *of, const void *ud)
{
    const struct filter *f = ud;
    struct trace t = {.n = of->trace,
                      .place = of->place,
                      .scope = of->scope,
                      .type = of->type,
                      .created = INT64_MIN};

    return trace_fits(f, &t);
}

static bool find(const struct job *j, struct tenants_near *t,
                 const struct filter *f, struct hit **out, size_t *n)
{
    struct near_hit hits[VECTOR_HITS];
    long found;

    if (t->near != NULL && near_dim(t->near) != j->n_vector) {
        near_free(t->near);
        t->near = NULL;
        t->last = 0;
    }
    if (t->near == NULL)
        t->near = near_new(j->n_vector, (size_t)j->inst->exact);
    if (t->near == NULL || !load(j, t))
        return false;
    found = near_find(t->near, j->vector, is_meant, f, VECTOR_HITS, hits);
    *out = found > 0 ? calloc((size_t)found, sizeof **out) : NULL;
    for (long k = 0; *out != NULL && k < found; k++)
        (*out)[(*n)++] = (struct hit){hits[k].trace, (double)hits[k].likeness};
    return found <= 0 ? found == 0 : *out != NULL;
}

bool vectors_search(struct job *j, const struct filter *f, struct hit **out,
                    size_t *n)
{
    struct vectors *all = j->inst->vectors;
    struct tenants_near *t;
    bool right;

    *out = NULL;
    *n = 0;
    if (j->n_vector == 0)
        return true;
    pthread_mutex_lock(&all->lock);
    t = of_tenant(all, j->tenant);
    right = t != NULL && find(j, t, f, out, n);
    pthread_mutex_unlock(&all->lock);
    return right;
}

/* ---- the instance's ------------------------------------------------------ */

bool vectors_open(struct mortise_inst *i)
{
    i->vectors = calloc(1, sizeof *i->vectors);
    if (i->vectors != NULL)
        pthread_mutex_init(&i->vectors->lock, NULL);
    return i->vectors != NULL;
}

void vectors_close(struct mortise_inst *i)
{
    struct tenants_near *next;

    if (i->vectors == NULL)
        return;
    for (struct tenants_near *t = i->vectors->first; t != NULL; t = next) {
        next = t->next;
        near_free(t->near);
        free(t);
    }
    pthread_mutex_destroy(&i->vectors->lock);
    free(i->vectors);
}
