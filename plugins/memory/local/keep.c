/* keep.c -- write() and forget().
 *
 * Each is one transaction, with one sequence number where it changes anything:
 * all of it is there, or none.  A trace whose id is there, a use whose name is
 * there, and what was forgotten change nothing, so a call that comes twice is as
 * one.
 *
 * Of a trace that is forgotten sixteen bytes stay, a hash of its id: enough to
 * know it again, too few to read it from. */
#include "base.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { GONE = 16, AT_ONCE = 512 };

/* ---- small steps --------------------------------------------------------- */

static sqlite3_stmt *of_gone(const struct job *j, enum statement which,
                             mortise_str id)
{
    sqlite3_stmt *s = statement(j, which);
    unsigned char hash[GONE];

    crypto_generichash(hash, sizeof hash, (const unsigned char *)id.p, id.n,
                       NULL, 0);
    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
                   sqlite3_bind_blob(s, 2, hash, sizeof hash,
                                     SQLITE_TRANSIENT) == SQLITE_OK
               ? s
               : NULL;
}

static mortise_status read_text(const struct job *j, mortise_jv from,
                                const char *name, uint64_t most,
                                struct bytes *out)
{
    mortise_jv v = mortise_jv_get(from, name);

    out->n = 0;
    if (bytes_decode(out, v) != MORTISE_S_OK || out->n == 0 || out->n > most)
        return no(j->inst, j->call, &bad_request,
                  "%s must be a text of 1 to %llu bytes", name,
                  (unsigned long long)most);
    return MORTISE_S_OK;
}

/* ---- a trace ------------------------------------------------------------- */

struct writing {
    int64_t written;
    bool changed, restore;
    int64_t any_gone; /* of the tenant's traces something was forgotten */
};

struct one { /* as it is asked for */
    int scope, type;
    int64_t created, place;
    double strength;
    mortise_jv metadata;
};

static int is_time(int64_t ms)
{
    return ms >= 0 && ms <= MORTISE_MEMORY_TIME;
}

static mortise_status read_one(struct job *j, mortise_jv v, struct one *t)
{
    mortise_status status = read_text(j, v, "id", MORTISE_MEMORY_ID, &j->id);

    t->scope = scope_of(mortise_jv_get(v, "scope"));
    t->type = type_of(mortise_jv_get(v, "type"));
    t->metadata = mortise_jv_get(v, "metadata");
    j->key.n = 0;
    if (status == MORTISE_S_OK && t->scope > 0)
        status = read_text(j, v, "key", MORTISE_MEMORY_KEY, &j->key);
    if (status == MORTISE_S_OK)
        status = read_text(j, v, "content", MORTISE_MEMORY_CONTENT, &j->text);
    if (status != MORTISE_S_OK)
        return status;
    if (t->scope < 0 || t->type < 0 ||
        t->metadata.n > MORTISE_MEMORY_METADATA ||
        mortise_jv_double(mortise_jv_get(v, "strength"), &t->strength) !=
            MORTISE_S_OK ||
        !(t->strength >= 0 && t->strength <= 1) ||
        mortise_jv_int(mortise_jv_get(v, "created_at"), &t->created) !=
            MORTISE_S_OK ||
        !is_time(t->created))
        return no(j->inst, j->call, &bad_request, "invalid trace: %.*s",
                  (int)j->id.n, j->id.p);
    return MORTISE_S_OK;
}

/* *n 0: it is there already.  False: the file failed. */
static bool insert(struct job *j, const struct one *t, int64_t *n)
{
    sqlite3_stmt *s = statement_of_id(j, S_TRACE_ADD);

    *n = 0;
    if (s == NULL || sqlite3_bind_int64(s, 3, j->seq + 1) != SQLITE_OK ||
        sqlite3_bind_int64(s, 4, t->place) != SQLITE_OK ||
        sqlite3_bind_int(s, 5, t->scope) != SQLITE_OK ||
        sqlite3_bind_int(s, 6, t->type) != SQLITE_OK ||
        sqlite3_bind_int64(s, 7, t->created) != SQLITE_OK ||
        sqlite3_bind_double(s, 8, t->strength) != SQLITE_OK ||
        (t->metadata.n > 0 &&
         sqlite3_bind_text(s, 9, t->metadata.p, (int)t->metadata.n,
                           SQLITE_STATIC) != SQLITE_OK) ||
        sqlite3_bind_text(s, 10, j->text.p, (int)j->text.n, SQLITE_STATIC) !=
            SQLITE_OK ||
        !run(s))
        return false;
    if (sqlite3_changes(j->c->db) > 0)
        *n = sqlite3_last_insert_rowid(j->c->db);
    return true;
}

/* A trace that has a number by now is to be found, and to get a vector. */
static bool index_one(struct job *j, const struct one *t, int64_t n)
{
    sqlite3_stmt *due;

    if (!text_add(j, n, bytes_str(&j->text), t->scope, t->place, t->type))
        return false;
    if (j->inst->embed == NULL)
        return true;
    due = statement(j, S_DUE_ADD);
    return due != NULL && sqlite3_bind_int64(due, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int64(due, 2, n) == SQLITE_OK && run(due);
}

static mortise_status write_one(struct job *j, mortise_jv v, struct writing *w)
{
    struct one t = {0};
    mortise_status status = read_one(j, v, &t);
    mortise_str id;
    int64_t gone = 0, n;

    if (status != MORTISE_S_OK)
        return status;
    id = bytes_str(&j->id);
    if (w->any_gone && !run_number(of_gone(j, S_GONE, id), &gone))
        return no_database(j, "write");
    if (gone && !w->restore)
        return MORTISE_S_OK;
    if ((gone && !run(of_gone(j, S_GONE_DROP, id))) ||
        !place_find(j, t.scope, bytes_str(&j->key), true, &t.place) ||
        !insert(j, &t, &n) || (n > 0 && !index_one(j, &t, n)))
        return no_database(j, "write");
    if (n > 0) {
        w->written++;
        w->changed = true;
        j->traces++;
        j->bytes += (int64_t)j->text.n;
    }
    return MORTISE_S_OK;
}

/* ---- a use --------------------------------------------------------------- */

static bool strengthen(const struct job *j, int64_t n)
{
    struct trace t;
    sqlite3_stmt *s;
    double by_now;
    int64_t at;
    bool failed;

    if (!trace_get(j, n, &t, &failed) ||
        !strength_fold(j, n, t.strength, t.created, -1, &by_now, &at))
        return false;
    s = statement(j, S_STRENGTH_SET);
    return s != NULL && sqlite3_bind_int64(s, 1, n) == SQLITE_OK &&
           sqlite3_bind_double(s, 2, by_now) == SQLITE_OK &&
           sqlite3_bind_int64(s, 3, at) == SQLITE_OK && run(s);
}

static bool add_use(struct job *j, int64_t n, int64_t at, struct writing *w)
{
    sqlite3_stmt *s = statement(j, S_USE_ADD);

    if (s == NULL || sqlite3_bind_int64(s, 1, n) != SQLITE_OK ||
        sqlite3_bind_text(s, 2, j->key.p, (int)j->key.n, SQLITE_STATIC) !=
            SQLITE_OK ||
        sqlite3_bind_int64(s, 3, at) != SQLITE_OK ||
        sqlite3_bind_int64(s, 4, j->seq + 1) != SQLITE_OK || !run(s))
        return false;
    if (sqlite3_changes(j->c->db) == 0)
        return true;
    w->changed = true;
    return strengthen(j, n);
}

static mortise_status use_one(struct job *j, mortise_jv v, struct writing *w)
{
    mortise_status status = read_text(j, v, "id", MORTISE_MEMORY_ID, &j->id);
    int64_t at, n;

    if (status == MORTISE_S_OK)
        status = read_text(j, v, "by", MORTISE_MEMORY_ID, &j->key);
    if (status != MORTISE_S_OK)
        return status;
    if (mortise_jv_int(mortise_jv_get(v, "at"), &at) != MORTISE_S_OK ||
        !is_time(at))
        return no(j->inst, j->call, &bad_request,
                  "the `at` of a use must be a time");
    return trace_find(j, &n) && (n == 0 || add_use(j, n, at, w))
               ? MORTISE_S_OK
               : no_database(j, "write");
}

/* ---- write() ------------------------------------------------------------- */

static mortise_status each(struct job *j, const char *name, struct writing *w,
                           mortise_status (*one)(struct job *j, mortise_jv v,
                                                 struct writing *w))
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(j->body, name));
    mortise_status status = MORTISE_S_OK;
    mortise_jv v;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &v))
        status = one(j, v, w);
    return status;
}

/* The transaction is over, one way or the other. */
static mortise_status end(struct job *j, mortise_status status, bool changed)
{
    if (status == MORTISE_S_OK && changed) {
        j->seq++;
        if (!tenant_set(j))
            status = no_database(j, "write");
    }
    if (status == MORTISE_S_OK && !run_plain(j, S_COMMIT))
        status = no_database(j, "write");
    if (status != MORTISE_S_OK)
        run_plain(j, S_ROLLBACK);
    return status;
}

static mortise_status answer(const struct job *j, const char *word, int64_t n)
{
    mortise_str json;
    char room[128];
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, word);
    mortise_jw_int(&w, n);
    mortise_jw_key(&w, "seq");
    mortise_jw_int(&w, j->seq);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &json);
    return mortise_emit_output(j->inst->host, j->inst->api, j->call, json);
}

static bool any_gone(const struct job *j, int64_t *out)
{
    sqlite3_stmt *s = statement(j, S_ANY_GONE);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           run_number(s, out);
}

static mortise_status write_within(struct job *j, struct writing *w)
{
    bool has = mortise_jv_count(mortise_jv_get(j->body, "traces")) > 0;
    mortise_status status = tenant_find(j, has);

    if (status == MORTISE_S_OK && !any_gone(j, &w->any_gone))
        status = no_database(j, "write");
    if (status == MORTISE_S_OK && j->tenant > 0)
        status = each(j, "traces", w, write_one);
    return status == MORTISE_S_OK && j->tenant > 0 ? each(j, "uses", w, use_one)
                                                   : status;
}

mortise_status do_write(struct job *j)
{
    struct writing w = {0};
    mortise_status status;
    int32_t restore = 0;

    mortise_jv_bool(mortise_jv_get(j->body, "restore"), &restore);
    w.restore = restore != 0;
    pthread_mutex_lock(&j->inst->writing);
    status = run_plain(j, S_BEGIN_WRITE) ? write_within(j, &w)
                                         : no_database(j, "write");
    status = end(j, status, w.changed);
    pthread_mutex_unlock(&j->inst->writing);
    if (status == MORTISE_S_OK)
        vectors_make(j);
    return status == MORTISE_S_OK ? answer(j, "written", w.written) : status;
}

/* ---- forget() ------------------------------------------------------------ */

static bool drop_of(const struct job *j, enum statement which, int64_t n)
{
    sqlite3_stmt *s = statement(j, which);

    return s != NULL && sqlite3_bind_int64(s, 1, n) == SQLITE_OK && run(s);
}

static bool drop(struct job *j, const struct trace *t)
{
    sqlite3_stmt *due = statement(j, S_DUE_DROP);

    j->traces--;
    j->bytes -= t->bytes;
    return run(of_gone(j, S_GONE_ADD, t->id)) &&
           text_drop(j, t->n, t->content, t->scope, t->place, t->type) &&
           due != NULL && sqlite3_bind_int64(due, 1, j->tenant) == SQLITE_OK &&
           sqlite3_bind_int64(due, 2, t->n) == SQLITE_OK && run(due) &&
           drop_of(j, S_USES_DROP, t->n) && drop_of(j, S_VECTOR_DROP, t->n) &&
           drop_of(j, S_TRACE_DROP, t->n);
}

/* *dropped: it is one of those that are meant, and gone now. */
static bool drop_if(struct job *j, const struct filter *f, int64_t n,
                    int64_t *seq, bool *dropped)
{
    struct trace t;
    bool failed;

    *dropped = false;
    if (!trace_get(j, n, &t, &failed))
        return !failed;
    if (seq != NULL)
        *seq = t.seq;
    if (!trace_fits(f, &t))
        return true;
    *dropped = true;
    return drop(j, &t);
}

static mortise_status forget_ids(struct job *j, const struct filter *f,
                                 mortise_jv ids, int64_t *count)
{
    mortise_jv_iter it = mortise_jv_each(ids);
    mortise_jv v;

    while (mortise_jv_next(&it, NULL, &v)) {
        bool dropped;
        int64_t n;

        j->id.n = 0;
        if (bytes_decode(&j->id, v) != MORTISE_S_OK)
            return no(j->inst, j->call, &bad_request, "an id must be text");
        if (!trace_find(j, &n) || (n > 0 && !drop_if(j, f, n, NULL, &dropped)))
            return no_database(j, "forget");
        *count += n > 0 && dropped;
    }
    return MORTISE_S_OK;
}

static mortise_status forget_all(struct job *j, const struct filter *f,
                                 int64_t *count)
{
    int64_t seq = INT64_MAX, at = INT64_MAX;
    size_t n = 1;
    bool right = true;

    while (right && n > 0) {
        struct hit *page = NULL;

        right = newest(j, f, seq, at, AT_ONCE, &page, &n);
        n = n < AT_ONCE ? n : AT_ONCE; /* behind it there may be others' */
        for (size_t k = 0; right && k < n; k++) {
            bool dropped;

            right = drop_if(j, f, page[k].n, &seq, &dropped);
            at = page[k].n;
            *count += dropped;
        }
        free(page);
    }
    return right ? MORTISE_S_OK : no_database(j, "forget");
}

static bool drop_places(const struct job *j)
{
    sqlite3_stmt *s = statement(j, S_PLACES_DROP);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           run(s) && text_settle(j);
}

static bool says_which(mortise_jv body)
{
    static const char *const names[] = {"ids",  "types",  "scope",
                                        "keys", "before", "all"};

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (mortise_jv_get(body, names[k]).n > 0)
            return true;
    return false;
}

static mortise_status forget_within(struct job *j, int64_t *count)
{
    mortise_jv ids = mortise_jv_get(j->body, "ids");
    mortise_status status = tenant_find(j, false);
    struct filter f;
    bool none = true;

    if (status == MORTISE_S_OK && j->tenant > 0)
        status = filter_read(j, &f, &none);
    if (status == MORTISE_S_OK && !none)
        status = ids.n > 0 ? forget_ids(j, &f, ids, count)
                           : forget_all(j, &f, count);
    return status == MORTISE_S_OK && *count > 0 && !drop_places(j)
               ? no_database(j, "forget")
               : status;
}

mortise_status do_forget(struct job *j)
{
    mortise_status status;
    int64_t count = 0;

    if (!says_which(j->body))
        return no(j->inst, j->call, &bad_request,
                  "name the traces to forget, or give `all`");
    pthread_mutex_lock(&j->inst->writing);
    status = run_plain(j, S_BEGIN_WRITE) ? forget_within(j, &count)
                                         : no_database(j, "forget");
    status = end(j, status, count > 0);
    /* What was overwritten in the file stands in the log until then. */
    if (status == MORTISE_S_OK &&
        sqlite3_wal_checkpoint_v2(j->c->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                  NULL, NULL) != SQLITE_OK)
        status = no_database(j, "forget");
    pthread_mutex_unlock(&j->inst->writing);
    return status == MORTISE_S_OK ? answer(j, "forgotten", count) : status;
}
