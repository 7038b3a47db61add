/* text.c -- what stands in traces, found by its words.
 *
 * Each tenant has an index of its own (FTS5, contents left out, as the trace has
 * them): text_N (content, place).  Words are those of unicode61, without
 * diacritics, stemmed by porter.  Chinese, Japanese and Korean put no blanks where
 * words end, or none that tell: there each character is a word, and a query has
 * its pairs of neighbours for words.  `place` has words that no text has: s1 for the
 * scope, p7 for scope and key, t2 for the type; so a search in one conversation
 * opens the postings of that conversation, and not those of a million others.
 *
 * How much is looked at.  A word that a third of all traces have is worth little
 * and costs most, so:
 *
 *   (1) Of each word of a query the newest OPENED traces that have it are
 *       opened.  One with no more than that is `rare`: all of them are there.
 *   (2) Traces with a rare word, up to ASKED of them, are also asked for the
 *       common ones, but for those that more than a tenth of all traces have,
 *       which say next to nothing.
 *   (3) Which of them are at the places that are meant is seen from the traces.
 *       Where that leaves few of a common word, the places are sparse, and the
 *       word is opened again, within them, by the words of `place`.
 *   (4) A query has WORDS_MAX words, the first ones.
 *
 * So a search costs some thousands of postings, whatever the number of traces;
 * what it may miss is an old trace that has nothing but common words of the
 * query, of which the newest count.
 *
 * Scores are BM25 (k1 1.2, b 0.75), with the frequency of a common word taken
 * from how densely its newest lie.  Built-in bm25() counts all postings of a word
 * for that, at each query. */
#include "base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ascii.h"

enum {
    WORD_ROOM = 256,   /* bytes of a word that count */
    PLACE_ROOM = 1024, /* of the part of a MATCH about places */
    RARE_ROOM = WORDS_MAX * (WORD_ROOM + 8), /* ... with all words */
    ASKED = 512,         /* rare traces of which common words are asked: (2) */
    ENOUGH = OPENED / 16 /* of those opened are at the places: (3) */
};

/* ---- the table ----------------------------------------------------------- */

/* Parts of the index are merged when there are 8 of a size, and not 4: a third less
 * is written, and searches open as many words in more places. */
bool text_make(const struct job *j)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "CREATE VIRTUAL TABLE text_%lld USING fts5(content, place, "
             "content='', columnsize=0, "
             "tokenize='porter unicode61 remove_diacritics 2')",
             (long long)j->tenant);
    if (!run_text(j, sql))
        return false;
    snprintf(sql, sizeof sql,
             "INSERT INTO text_%lld (text_%lld, rank) VALUES ('automerge', 8)",
             (long long)j->tenant, (long long)j->tenant);
    return run_text(j, sql);
}

/* Statements for this tenant's, in the place of another's. */
static bool turn_to(const struct job *j)
{
    struct connection *c = j->c;
    char sql[256];

    if (c->text_tenant == j->tenant && c->text_add != NULL)
        return true;
    sqlite3_finalize(c->text_add);
    sqlite3_finalize(c->text_drop);
    c->text_add = c->text_drop = NULL;
    c->text_tenant = j->tenant;
    snprintf(sql, sizeof sql,
             "INSERT INTO text_%lld (rowid, content, place) VALUES (?1, ?2, "
             "?3)",
             (long long)j->tenant);
    if (sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &c->text_add, NULL) != SQLITE_OK)
        return false;
    snprintf(sql, sizeof sql,
             "INSERT INTO text_%lld (text_%lld, rowid, content, place) VALUES "
             "('delete', ?1, ?2, ?3)",
             (long long)j->tenant, (long long)j->tenant);
    return sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                              &c->text_drop, NULL) == SQLITE_OK;
}

static bool put(sqlite3_stmt *s, int64_t n, mortise_str content, int scope,
                int64_t place, int type)
{
    char words[64];

    snprintf(words, sizeof words, "s%d p%lld t%d", scope, (long long)place,
             type);
    sqlite3_reset(s);
    return sqlite3_bind_int64(s, 1, n) == SQLITE_OK &&
           sqlite3_bind_text(s, 2, content.p, (int)content.n, SQLITE_STATIC) ==
               SQLITE_OK &&
           sqlite3_bind_text(s, 3, words, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
           run(s);
}

/* ---- words --------------------------------------------------------------- */

/* A character that is a word: Han, kana, bopomofo or hangul; 0: it is none, else
 * its bytes.  `p` is UTF-8. */
static size_t stands_alone(const char *p, size_t n)
{
    static const struct {
        uint32_t from, to;
    } blocks[] = {{0x2e80, 0x2fdf}, {0x3005, 0x3007},   {0x3041, 0x3096},
                  {0x309d, 0x309f}, {0x30a1, 0x30fa},   {0x30fc, 0x318e},
                  {0x31a0, 0x31bf}, {0x31f0, 0x31ff},   {0x3400, 0x4dbf},
                  {0x4e00, 0x9fff}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                  {0xff66, 0xff9f}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff}};
    const unsigned char *u = (const unsigned char *)p;
    size_t size = n > 0 && u[0] >= 0xf0 ? 4 : 3;
    uint32_t c;

    if (n < size || u[0] < 0xe0)
        return 0;
    c = size == 4 ? (u[0] & 7u) << 18 | (u[1] & 63u) << 12 | (u[2] & 63u) << 6 |
                        (u[3] & 63u)
                  : (u[0] & 15u) << 12 | (u[1] & 63u) << 6 | (u[2] & 63u);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i].from && c <= blocks[i].to)
            return size;
    return 0;
}

/* The text as it is to be indexed, with blanks around characters that stand
 * alone: itself where it has none, else in *room, which the caller frees.  False:
 * memory ran out. */
static bool space_out(mortise_str *text, char **room)
{
    size_t at = 0, n = 0, size;

    *room = NULL;
    while (at < text->n && stands_alone(text->p + at, text->n - at) == 0)
        at++;
    if (at == text->n)
        return true;
    *room = malloc(2 * text->n + 1); /* 3 bytes become 5 */
    if (*room == NULL)
        return false;
    for (at = 0; at < text->n; at += size) {
        size = stands_alone(text->p + at, text->n - at);
        if (size > 0)
            (*room)[n++] = ' ';
        else
            size = 1;
        memcpy(*room + n, text->p + at, size);
        n += size;
        if (size > 1)
            (*room)[n++] = ' ';
    }
    *text = mortise_strn(*room, n);
    return true;
}

static bool put_words(sqlite3_stmt *s, int64_t n, mortise_str content,
                      int scope, int64_t place, int type)
{
    char *room;
    bool right =
        space_out(&content, &room) && put(s, n, content, scope, place, type);

    sqlite3_clear_bindings(s); /* they are lent */
    free(room);
    return right;
}

bool text_add(const struct job *j, int64_t n, mortise_str content, int scope,
              int64_t place, int type)
{
    return turn_to(j) &&
           put_words(j->c->text_add, n, content, scope, place, type);
}

bool text_drop(const struct job *j, int64_t n, mortise_str content, int scope,
               int64_t place, int type)
{
    return turn_to(j) &&
           put_words(j->c->text_drop, n, content, scope, place, type);
}

/* Words of what is gone stand in the index until its parts are merged: that is
 * done at once where it takes no more than moments, and else begun. */
bool text_settle(const struct job *j)
{
    enum { WHOLE = 20000, PAGES = 2000 };
    char sql[160];

    if (j->traces <= WHOLE)
        snprintf(sql, sizeof sql,
                 "INSERT INTO text_%lld (text_%lld) VALUES ('optimize')",
                 (long long)j->tenant, (long long)j->tenant);
    else
        snprintf(sql, sizeof sql,
                 "INSERT INTO text_%lld (text_%lld, rank) VALUES ('merge', "
                 "-%d)",
                 (long long)j->tenant, (long long)j->tenant, PAGES);
    return run_text(j, sql);
}

/* hits(text): how often the first phrase of the query is there. */
static void hits(const Fts5ExtensionApi *api, Fts5Context *fts,
                 sqlite3_context *ctx, int n, sqlite3_value **values)
{
    Fts5PhraseIter at;
    int column, offset, code, count = 0;

    (void)n;
    (void)values;
    code = api->xPhraseFirst(fts, 0, &at, &column, &offset);
    while (code == SQLITE_OK && column >= 0) {
        count++;
        api->xPhraseNext(fts, &at, &column, &offset);
    }
    if (code == SQLITE_OK)
        sqlite3_result_int(ctx, count);
    else
        sqlite3_result_error_code(ctx, code);
}

bool text_prepare(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    fts5_api *api = NULL;
    bool made = false;

    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", NULL) == SQLITE_OK) {
        sqlite3_step(s);
        made = api != NULL &&
               api->xCreateFunction(api, "hits", NULL, hits, NULL) == SQLITE_OK;
    }
    sqlite3_finalize(s);
    return made;
}

/* ---- queries ------------------------------------------------------------- */

struct word {
    char text[WORD_ROOM];
    double idf;
    bool common;
    int64_t oldest; /* of those that were opened */
    size_t n;       /* ... so many */
};

/* That a trace has a word. */
struct found {
    int64_t n;
    uint32_t word;
    uint32_t times;
};

struct search {
    const struct job *j;
    const struct filter *f;
    sqlite3_stmt *s;
    struct word words[WORDS_MAX];
    size_t n_words;
    struct found *found;
    size_t n_found, room;
    char place[PLACE_ROOM]; /* " AND place : (...)", or "" */
};

static bool is_of_word(unsigned char c)
{
    return c >= 0x80 || ascii_alnum(c);
}

static void add_word(struct search *q, const char *p, size_t n)
{
    struct word *w = &q->words[q->n_words];

    if (n >= WORD_ROOM)
        n = mortise_str_utf8(mortise_strn(p, WORD_ROOM - 1));
    for (size_t k = 0; k < n; k++)
        w->text[k] = ascii_lower(p[k]);
    w->text[n] = '\0';
    for (size_t k = 0; k < q->n_words; k++)
        if (strcmp(q->words[k].text, w->text) == 0)
            return;
    q->n_words += n > 0;
}

/* One or more characters that stand alone: pairs of neighbours, "a b"; of one,
 * itself.  How many bytes they were. */
static size_t add_pairs(struct search *q, const char *p, size_t n)
{
    size_t at = stands_alone(p, n), before = 0, size;
    char pair[16];

    if (stands_alone(p + at, n - at) == 0)
        add_word(q, p, at);
    while ((size = stands_alone(p + at, n - at)) > 0) {
        snprintf(pair, sizeof pair, "%.*s %.*s", (int)(at - before), p + before,
                 (int)size, p + at);
        if (q->n_words < WORDS_MAX)
            add_word(q, pair, strlen(pair));
        before = at;
        at += size;
    }
    return at;
}

static void split(struct search *q, mortise_str query)
{
    for (size_t at = 0; at < query.n && q->n_words < WORDS_MAX;) {
        const char *p = query.p + at;
        size_t left = query.n - at, n = 0;

        while (n < left && is_of_word((unsigned char)p[n]) &&
               stands_alone(p + n, left - n) == 0)
            n++;
        if (n > 0)
            add_word(q, p, n);
        else if (stands_alone(p, left) > 0)
            n = add_pairs(q, p, left);
        else
            n = 1;
        at += n;
    }
}

/* What a posting must stand beside: places, and types. */
static void write_place(struct search *q)
{
    const struct filter *f = q->f;
    char *p = q->place;
    size_t n = 0;

    if (f->by_place) {
        n += (size_t)snprintf(p + n, PLACE_ROOM - n, " AND place : (");
        for (size_t k = 0; k < f->n_places; k++)
            n += (size_t)snprintf(p + n, PLACE_ROOM - n, "%s\"p%lld\"",
                                  k > 0 ? " OR " : "", (long long)f->places[k]);
        n += (size_t)snprintf(p + n, PLACE_ROOM - n, ")");
    } else if (f->scope >= 0) {
        n += (size_t)snprintf(p + n, PLACE_ROOM - n, " AND place : \"s%d\"",
                              f->scope);
    }
    for (int k = 0, any = 0; k < 5; k++) {
        if ((f->types & 1u << k) == 0)
            continue;
        n += (size_t)snprintf(p + n, PLACE_ROOM - n, "%s\"t%d\"",
                              any ? " OR " : " AND place : (", k);
        any = 1;
    }
    if (f->types != 0)
        snprintf(p + n, PLACE_ROOM - n, ")");
}

static bool prepare(struct search *q)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT rowid, hits(text_%lld) FROM text_%lld WHERE text_%lld "
             "MATCH ?1 AND rowid <= ?2 ORDER BY rowid DESC LIMIT %d",
             (long long)q->j->tenant, (long long)q->j->tenant,
             (long long)q->j->tenant, OPENED);
    return sqlite3_prepare_v2(q->j->c->db, sql, -1, &q->s, NULL) == SQLITE_OK;
}

static bool note(struct search *q, int64_t n, size_t word, int times)
{
    if (q->n_found == q->room) {
        size_t room = q->room > 0 ? 2 * q->room : 1024;
        struct found *more = realloc(q->found, room * sizeof *more);

        if (more == NULL)
            return false;
        q->found = more;
        q->room = room;
    }
    q->found[q->n_found++] =
        (struct found){n, (uint32_t)word, (uint32_t)(times > 0 ? times : 1)};
    return true;
}

/* Is it at the places that are meant?  False, too, where the file failed. */
static bool is_placed(const struct search *q, int64_t n)
{
    sqlite3_stmt *s = statement(q->j, S_WHERE);
    struct trace t = {.n = n, .created = INT64_MIN};

    if (s == NULL || sqlite3_bind_int64(s, 1, n) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW)
        return false;
    t.place = sqlite3_column_int64(s, 0);
    t.scope = sqlite3_column_int(s, 1);
    t.type = sqlite3_column_int(s, 2);
    sqlite3_reset(s);
    return trace_fits(q->f, &t);
}

/* Traces that a MATCH gives: each has the word, and is noted if it is meant.  *n
 * are there, the last is *oldest, and *meant are noted. */
static bool open_postings(struct search *q, const char *match, size_t word,
                          bool look, size_t *meant)
{
    struct word *w = &q->words[word];
    int code;

    sqlite3_reset(q->s);
    if (sqlite3_bind_text(q->s, 1, match, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(q->s, 2, q->f->horizon) != SQLITE_OK)
        return false;
    w->n = *meant = 0;
    w->oldest = q->f->horizon;
    while ((code = sqlite3_step(q->s)) == SQLITE_ROW) {
        w->oldest = sqlite3_column_int64(q->s, 0);
        w->n++;
        if (look && !is_placed(q, w->oldest))
            continue;
        ++*meant;
        if (!note(q, w->oldest, word, sqlite3_column_int(q->s, 1)))
            return false;
    }
    return code == SQLITE_DONE;
}

/* Of how many traces, as far as it can be told. */
static double frequency(const struct search *q, const struct word *w,
                        int64_t first)
{
    double all = (double)q->j->traces, has = (double)w->n;

    if (w->common)
        has *= (double)(q->f->horizon - first + 1) /
               (double)(q->f->horizon - w->oldest + 1);
    return has > all ? all : has;
}

/* (1), (3), and how much the word says. */
static bool open_word(struct search *q, size_t k, int64_t first)
{
    struct word *w = &q->words[k];
    char match[PLACE_ROOM + WORD_ROOM + 32];
    size_t before = q->n_found, meant;
    double all = (double)q->j->traces, has;

    snprintf(match, sizeof match, "content : \"%s\"", w->text);
    if (!open_postings(q, match, k, q->place[0] != '\0', &meant))
        return false;
    w->common = w->n == OPENED;
    has = frequency(q, w, first);
    w->idf = log(1 + (all - has + 0.5) / (has + 0.5));
    if (!w->common || q->place[0] == '\0' || meant >= ENOUGH)
        return true;
    q->n_found = before;
    snprintf(match, sizeof match, "content : \"%s\"%s", w->text, q->place);
    if (!open_postings(q, match, k, false, &meant))
        return false;
    w->common = w->n == OPENED;
    return true;
}

/* The rare words as "a" OR "b"; how many traces they have. */
static size_t list_rare(const struct search *q, char *out, size_t room)
{
    size_t n = 0, traces = 0;

    out[0] = '\0';
    for (size_t k = 0; k < q->n_words; k++) {
        if (q->words[k].common || q->words[k].n == 0)
            continue;
        n += (size_t)snprintf(out + n, room - n, "%s\"%s\"",
                              traces > 0 ? " OR " : "", q->words[k].text);
        traces += q->words[k].n;
    }
    return traces;
}

/* (2) */
static bool ask_rare(struct search *q)
{
    const double tenth = log(1 + 9);
    char rare[RARE_ROOM], match[RARE_ROOM + WORD_ROOM + 64];
    size_t n = list_rare(q, rare, sizeof rare), meant;
    bool right = true;

    if (n == 0 || n > ASKED)
        return true;
    for (size_t k = 0; right && k < q->n_words; k++) {
        if (!q->words[k].common || q->words[k].idf < tenth)
            continue;
        snprintf(match, sizeof match, "content : \"%s\" AND content : (%s)",
                 q->words[k].text, rare);
        right = open_postings(q, match, k, q->place[0] != '\0', &meant);
    }
    return right;
}

/* ---- scores -------------------------------------------------------------- */

static int by_trace(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->word != y->word ? (x->word > y->word) - (x->word < y->word)
                              : (x->times < y->times) - (x->times > y->times);
}

/* Each trace once, with what its words say; in place of what was found. */
static size_t add_up(struct search *q, struct hit *out)
{
    size_t n = 0;

    qsort(q->found, q->n_found, sizeof *q->found, by_trace);
    for (size_t k = 0; k < q->n_found; k++) {
        const struct found *it = &q->found[k];
        double times = it->times;

        if (n == 0 || out[n - 1].n != it->n)
            out[n++] = (struct hit){it->n, 0};
        else if (it[-1].word == it->word)
            continue; /* it was opened in two ways */
        out[n - 1].score +=
            q->words[it->word].idf * times * 2.2 / (times + 1.2);
    }
    qsort(out, n, sizeof *out, better);
    return n;
}

/* The oldest number that the tenant has. */
static bool first_of(const struct job *j, int64_t *n)
{
    sqlite3_stmt *s = statement(j, S_FIRST);

    return s != NULL && sqlite3_bind_int64(s, 1, j->tenant) == SQLITE_OK &&
           run_number(s, n);
}

bool text_search(const struct job *j, mortise_str query, const struct filter *f,
                 struct hit **out, size_t *n)
{
    struct search *q = calloc(1, sizeof *q);
    int64_t first;
    bool right;

    *out = NULL;
    *n = 0;
    if (q == NULL)
        return false;
    q->j = j;
    q->f = f;
    split(q, query);
    write_place(q);
    right = first_of(j, &first) && (q->n_words == 0 || prepare(q));
    for (size_t k = 0; right && k < q->n_words; k++)
        right = open_word(q, k, first);
    if (right && q->n_words > 0)
        right = ask_rare(q);
    if (right && q->n_found > 0) {
        *out = calloc(q->n_found, sizeof **out);
        right = *out != NULL;
        *n = right ? add_up(q, *out) : 0;
    }
    sqlite3_finalize(q->s);
    free(q->found);
    free(q);
    return right;
}
