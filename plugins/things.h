/* things.h -- things that may be found: a list of them, which of them have the
 * words of a query, by SQLite's FTS5, and how much of each is shown.
 *
 *   (1) A thing is its name, what it is for, and the names and descriptions of
 *       what it takes; a word in its name counts four times as much as one in
 *       the last, one in what it is for twice.  What that comes to is BM25.
 *   (2) Words are what unicode61 takes for such, in their stems (porter); names
 *       are cut where a small letter is followed by a capital, too.
 *   (3) Any word of the query finds a thing, and the more and the rarer ones put
 *       it ahead.  Words that say nothing are left out, or everything would be
 *       found by "the"; a query of nothing else finds nothing.  Of long queries
 *       the first THINGS_WORDS different words count.
 *   (4) Equals stand in the order in which they were given.
 *   (5) What is shown fits the request's tokens, a token for each four bytes or
 *       part of that.  First each thing gets its name, in order, as long as they
 *       last; then, from the best on, each its summary where that still fits,
 *       then each in full.
 *
 * The index is in memory and of one query: what may be found is another list
 * each time, and short.
 *
 * Threads    No state but the caller's own.
 */
#ifndef PLUGINS_THINGS_H
#define PLUGINS_THINGS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <mortise/discovery.h>

#include "ascii.h"
#include "bytes.h"

enum {
    THINGS_WORDS = 64, /* of a query that are looked for */
    THINGS_SAYS = 256, /* bytes for why something is not so */
    THINGS_TIERS = 3   /* and none */
};

/* One thing; the texts are its own, but for the body. */
struct thing {
    char *id, *kind, *name, *about; /* "" where it has none */
    const char *body;  /* shown in full, instead of a schema; lent */
    mortise_jv schema; /* of its input; none */
    size_t place;      /* in which it was given */
    double score;
    bool found;
};

struct things {
    struct thing *list;
    size_t n, cap;
};

static const char *const things_tiers[THINGS_TIERS] = {"name", "summary",
                                                       "full"};

static inline void things_free(struct things *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->list[i].id);
        free(l->list[i].kind);
        free(l->list[i].name);
        free(l->list[i].about);
    }
    free(l->list);
}

/* One more, with nothing in it; NULL: memory ran out. */
static inline struct thing *things_add(struct things *l)
{
    struct thing *more;

    if (l->n == l->cap) {
        l->cap = l->cap > 0 ? 2 * l->cap : 64;
        more = (struct thing *)realloc(l->list, l->cap * sizeof *more);
        if (more == NULL)
            return NULL;
        l->list = more;
    }
    more = &l->list[l->n];
    *more = (struct thing){.place = l->n++};
    return more;
}

/* The last one, not there any more. */
static inline void things_pop(struct things *l)
{
    struct thing *t = &l->list[--l->n];

    free(t->id);
    free(t->kind);
    free(t->name);
    free(t->about);
}

/* The text of a value, "" where it is none; NULL: memory ran out. */
static inline char *things_text(mortise_jv v)
{
    char *text = (char *)malloc(v.n + 1);

    if (text != NULL && mortise_jv_cstr(v, text, v.n + 1) != MORTISE_S_OK)
        text[0] = '\0';
    return text;
}

/* One of a request's candidates; false: memory ran out. */
static inline bool things_candidate(struct things *l, mortise_jv one)
{
    struct thing *t = things_add(l);

    if (t == NULL)
        return false;
    t->id = things_text(mortise_jv_get(one, "id"));
    t->kind = things_text(mortise_jv_get(one, "kind"));
    t->name = things_text(mortise_jv_get(one, "name"));
    t->about = things_text(mortise_jv_get(one, "description"));
    t->schema = mortise_jv_get(one, "input_schema");
    return t->id != NULL && t->kind != NULL && t->name != NULL &&
           t->about != NULL;
}

/* Does the request look for things of this kind? */
static inline bool things_wants(mortise_jv body, const char *kind)
{
    mortise_jv wanted = mortise_jv_get(body, "kind");

    return mortise_jv_is(wanted, mortise_strz("any")) ||
           mortise_jv_is(wanted, mortise_strz(kind));
}

static inline int64_t things_number(mortise_jv body, const char *name,
                                    int64_t unless)
{
    int64_t v;

    return mortise_jv_int(mortise_jv_get(body, name), &v) == MORTISE_S_OK &&
                   v > 0
               ? v
               : unless;
}

/* ---- words that say nothing (3) ------------------------------------------ */

static const char *const things_english[] = {
    "a",     "about", "all",  "an",     "and",   "any",   "are",   "as",
    "at",    "be",    "been", "but",    "by",    "can",   "could", "do",
    "does",  "for",   "from", "had",    "has",   "have",  "he",    "her",
    "his",   "how",   "i",    "if",     "in",    "into",  "is",    "it",
    "its",   "me",    "my",   "no",     "not",   "of",    "on",    "or",
    "our",   "out",   "she",  "should", "so",    "some",  "such",  "that",
    "the",   "their", "them", "then",   "there", "these", "they",  "this",
    "to",    "us",    "was",  "we",     "were",  "what",  "when",  "where",
    "which", "who",   "why",  "will",   "with",  "would", "you",   "your"};

/* ---- the query ----------------------------------------------------------- */

static inline bool things_is_sign(char c)
{
    return (unsigned char)c < 0x80 && !ascii_alnum(c);
}

static inline bool things_is_one_of(const char *word, size_t n,
                                    const char *const *list, size_t n_list)
{
    for (size_t i = 0; i < n_list; i++)
        if (strlen(list[i]) == n && strncasecmp(list[i], word, n) == 0)
            return true;
    return false;
}

/* Is the word in `terms` already? */
static inline bool things_is_there(const char *terms, const char *word,
                                   size_t n)
{
    char quoted[512];

    if (n + 3 > sizeof quoted)
        return false;
    snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)n, word);
    return strcasestr(terms, quoted) != NULL;
}

/* "refund" OR "money": what FTS5 is asked; "": there is no word that counts.
 * NULL: memory ran out. */
static inline char *things_terms_of(const char *query, const char *const *stop,
                                    size_t n_stop)
{
    /* at worst a word of one byte and a blank become five and four more */
    char *terms = malloc(strlen(query) * 8 + 16), *to = terms;
    size_t words = 0;

    if (terms == NULL)
        return NULL;
    *to = '\0';
    for (const char *p = query; *p != '\0' && words < THINGS_WORDS;) {
        size_t n = 0;

        while (*p != '\0' && things_is_sign(*p))
            p++;
        while (p[n] != '\0' && !things_is_sign(p[n]))
            n++;
        if (n > 0 &&
            !things_is_one_of(p, n, things_english,
                              sizeof things_english /
                                  sizeof things_english[0]) &&
            !things_is_one_of(p, n, stop, n_stop) &&
            !things_is_there(terms, p, n)) {
            to += sprintf(to, "%s\"%.*s\"", words > 0 ? " OR " : "", (int)n, p);
            words++;
        }
        p += n;
    }
    return terms;
}

/* ---- the index ----------------------------------------------------------- */

/* A name with a blank where a capital begins a word (2).  NULL: memory ran
 * out. */
static inline char *things_spread(const char *name)
{
    char *out = malloc(2 * strlen(name) + 1), *to = out;

    for (const char *p = name; out != NULL && *p != '\0'; p++) {
        if (p > name && p[-1] >= 'a' && p[-1] <= 'z' && *p >= 'A' && *p <= 'Z')
            *to++ = ' ';
        *to++ = *p;
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

static inline mortise_status things_put_word(struct bytes *to, mortise_jv text)
{
    mortise_status status = bytes_put(to, mortise_strz(" "));

    return status == MORTISE_S_OK ? bytes_decode(to, text) : status;
}

/* The names and descriptions in a schema: of all that may be in it, and of no
 * word that is the schema's own. */
static inline mortise_status
things_put_schema(struct bytes *to, mortise_jv schema, bool properties)
{
    mortise_jv_iter it = mortise_jv_each(schema);
    mortise_status status = MORTISE_S_OK;
    mortise_jv name = mortise_jv_none(), v;

    while (status == MORTISE_S_OK &&
           mortise_jv_next(&it, it.is_object ? &name : NULL, &v)) {
        int32_t type = mortise_jv_type(v);
        bool told = !properties && name.n > 0 && type == MORTISE_JV_STRING &&
                    mortise_jv_is(name, mortise_strz("description"));

        if (properties || told)
            status = things_put_word(to, told ? v : name);
        if (status == MORTISE_S_OK &&
            (type == MORTISE_JV_OBJECT || type == MORTISE_JV_ARRAY))
            status = things_put_schema(
                to, v,
                !properties && name.n > 0 &&
                    mortise_jv_is(name, mortise_strz("properties")));
    }
    return status;
}

static inline bool things_put_one(sqlite3_stmt *put, const struct thing *t,
                                  size_t i)
{
    struct bytes takes = {0};
    char *name = things_spread(t->name), *id = things_spread(t->id);
    char *both =
        name != NULL && id != NULL ? sqlite3_mprintf("%s %s", name, id) : NULL;
    bool ok = both != NULL &&
              things_put_schema(&takes, t->schema, false) == MORTISE_S_OK;

    ok = ok && sqlite3_bind_int64(put, 1, (sqlite3_int64)i + 1) == SQLITE_OK &&
         sqlite3_bind_text(put, 2, both, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
         sqlite3_bind_text(put, 3, t->about, -1, SQLITE_STATIC) == SQLITE_OK &&
         sqlite3_bind_text(put, 4, takes.n > 0 ? takes.p : "", (int)takes.n,
                           SQLITE_STATIC) == SQLITE_OK &&
         sqlite3_step(put) == SQLITE_DONE;
    sqlite3_reset(put);
    bytes_free(&takes);
    sqlite3_free(both);
    free(name);
    free(id);
    return ok;
}

static inline bool things_fill(sqlite3 *db, const struct thing *things,
                               size_t n)
{
    sqlite3_stmt *put = NULL;
    bool ok =
        sqlite3_exec(db,
                     "CREATE VIRTUAL TABLE t USING fts5(name, about, takes, "
                     "tokenize = 'porter unicode61'); BEGIN",
                     NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "INSERT INTO t(rowid, name, about, takes) "
                           "VALUES(?1, ?2, ?3, ?4)",
                           -1, &put, NULL) == SQLITE_OK;

    for (size_t i = 0; ok && i < n; i++)
        ok = things_put_one(put, &things[i], i);
    sqlite3_finalize(put);
    return ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static inline bool things_look(sqlite3 *db, const char *terms,
                               struct thing *things)
{
    sqlite3_stmt *get = NULL;
    int rv = sqlite3_prepare_v2(db,
                                "SELECT rowid, bm25(t, 4.0, 2.0, 1.0) FROM t "
                                "WHERE t MATCH ?1",
                                -1, &get, NULL);

    if (rv == SQLITE_OK)
        rv = sqlite3_bind_text(get, 1, terms, -1, SQLITE_STATIC);
    if (rv == SQLITE_OK)
        rv = SQLITE_ROW;
    while (rv == SQLITE_ROW) {
        rv = sqlite3_step(get);
        if (rv == SQLITE_ROW) {
            struct thing *t = &things[sqlite3_column_int64(get, 0) - 1];

            t->score = -sqlite3_column_double(get, 1);
            t->found = true;
        }
    }
    sqlite3_finalize(get);
    return rv == SQLITE_DONE;
}

/* ---- in order (4) -------------------------------------------------------- */

static inline int things_by_score(const void *a, const void *b)
{
    const struct thing *x = a, *y = b;

    if (x->found != y->found)
        return x->found ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static inline size_t things_sort(struct thing *things, size_t n)
{
    size_t found = 0;

    qsort(things, n, sizeof *things, things_by_score);
    while (found < n && things[found].found)
        found++;
    return found;
}

static inline bool things_search(struct thing *things, size_t n,
                                 const char *query,
                                 const char *const *stop_words, size_t n_stop,
                                 size_t *found, char why[THINGS_SAYS])
{
    char *terms = things_terms_of(query, stop_words, n_stop);
    sqlite3 *db = NULL;
    bool ok = terms != NULL;

    *found = 0;
    if (ok && terms[0] != '\0' && n > 0) {
        ok = sqlite3_open_v2(":memory:", &db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                 SQLITE_OPEN_NOMUTEX,
                             NULL) == SQLITE_OK &&
             things_fill(db, things, n) && things_look(db, terms, things);
        if (ok)
            *found = things_sort(things, n);
        else
            snprintf(why, THINGS_SAYS, "the search failed: %.200s",
                     db != NULL ? sqlite3_errmsg(db) : "out of memory");
        sqlite3_close(db);
    } else if (!ok) {
        snprintf(why, THINGS_SAYS, "out of memory");
    }
    free(terms);
    return ok;
}

/* ---- how much is shown --------------------------------------------------- */

static inline mortise_status things_put_summary(struct bytes *b,
                                                const struct thing *t)
{
    mortise_status status = bytes_put(b, mortise_strz(t->name));

    if (status == MORTISE_S_OK && t->about[0] != '\0')
        status = bytes_put(b, mortise_strz(": "));
    return status == MORTISE_S_OK ? bytes_put(b, mortise_strz(t->about))
                                  : status;
}

/* Of a tier, from 0; what there is of it. */
static inline mortise_status things_put_tier(struct bytes *b,
                                             const struct thing *t, int tier)
{
    mortise_status status = tier == 0 ? bytes_put(b, mortise_strz(t->name))
                                      : things_put_summary(b, t);

    if (status != MORTISE_S_OK || tier < 2)
        return status;
    if (t->body != NULL) {
        status = bytes_put(b, mortise_strz("\n\n"));
        return status == MORTISE_S_OK ? bytes_put(b, mortise_strz(t->body))
                                      : status;
    }
    if (t->schema.n > 0)
        status = bytes_put(b, mortise_strz("\n"));
    return status == MORTISE_S_OK && t->schema.n > 0
               ? bytes_put(b, mortise_strn(t->schema.p, t->schema.n))
               : status;
}

struct things_shown {
    struct bytes text;
    int tier; /* -1: nothing */
};

static inline uint64_t things_tokens_of(uint64_t bytes)
{
    return (bytes + 3) / 4;
}

/* Show the thing in that tier, if the budget has room for what it takes more. */
static inline mortise_status things_raise(struct things_shown *s,
                                          const struct thing *t, int tier,
                                          uint64_t *left)
{
    uint64_t has = things_tokens_of(s->text.n), needs;
    struct bytes text = {0};
    mortise_status status;

    if (s->tier != tier - 1)
        return MORTISE_S_OK;
    status = things_put_tier(&text, t, tier);
    needs = things_tokens_of(text.n);
    if (status != MORTISE_S_OK || needs > has + *left ||
        (tier == 2 && text.n == s->text.n)) { /* there is no more of it */
        bytes_free(&text);
        return status;
    }
    *left = *left + has - needs;
    bytes_free(&s->text);
    s->text = text;
    s->tier = tier;
    return MORTISE_S_OK;
}

static inline mortise_status things_show(struct things_shown *shown,
                                         const struct thing *things, size_t n,
                                         uint64_t budget)
{
    mortise_status status = MORTISE_S_OK;

    for (int tier = 0; tier < THINGS_TIERS; tier++)
        for (size_t k = 0; status == MORTISE_S_OK && k < n; k++)
            status = things_raise(&shown[k], &things[k], tier, &budget);
    return status;
}

static inline mortise_status
things_emit(mortise_host *host, const mortise_host_api *api, mortise_call call,
            const struct thing *things, const struct things_shown *shown,
            size_t n)
{
    mortise_status status;
    mortise_str text, json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "results");
    mortise_jw_array(&w);
    for (size_t k = 0; k < n; k++) {
        text = bytes_str(&shown[k].text);
        mortise_jw_found(&w, things[k].id, things[k].kind, things[k].score,
                         shown[k].tier >= 0 ? &text : NULL,
                         shown[k].tier >= 0 ? things_tiers[shown[k].tier]
                                            : NULL);
    }
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(host, api, call, json);
    free(w.p);
    return status;
}

static inline mortise_status things_answer(mortise_host *host,
                                           const mortise_host_api *api,
                                           mortise_call call,
                                           const struct thing *things, size_t n,
                                           uint64_t budget)
{
    struct things_shown *shown = calloc(n + 1, sizeof *shown);
    mortise_status status = MORTISE_S_NOMEM;

    if (shown == NULL)
        return status;
    for (size_t k = 0; k < n; k++)
        shown[k].tier = -1;
    status = things_show(shown, things, n, budget);
    if (status == MORTISE_S_OK)
        status = things_emit(host, api, call, things, shown, n);
    for (size_t k = 0; k < n; k++)
        bytes_free(&shown[k].text);
    free(shown);
    return status;
}

/* All of that: the answer to a request about these things. */
static inline mortise_status
things_find(mortise_host *host, const mortise_host_api *api, mortise_call call,
            mortise_jv body, struct things *l, const char *const *stop_words,
            size_t n_stop)
{
    size_t max = (size_t)things_number(body, "max", 8), found;
    char *query = things_text(mortise_jv_get(body, "query"));
    char why[THINGS_SAYS];
    mortise_status status = MORTISE_S_NOMEM;

    if (query != NULL &&
        !things_search(l->list, l->n, query, stop_words, n_stop, &found, why))
        status = mortise_refuse(host, api, call, MORTISE_S_FAILED, "transient",
                                "search", why);
    else if (query != NULL)
        status =
            things_answer(host, api, call, l->list, found < max ? found : max,
                          (uint64_t)things_number(body, "tokens", 4000));
    free(query);
    return status;
}

#endif
