/* lines.c -- lines of text cut, searched, counted and ranked.
 *
 * All four read their lines through struct source, one after another, and never
 * hold more of the text than the host lent; only `top` keeps what it counts.
 */
#include <stdlib.h>

#include "text.h"

enum {
    CLIP = 2000,         /* bytes of a line in a result */
    MAX_LINES = 100000,  /* of lines.count */
    MAX_MATCHES = 10000, /* of grep.max */
    MAX_PATTERNS = 64,   /* of count.patterns */
    MAX_TOP = 1000,      /* of top.n */
    MAX_VALUES = 1000000 /* lines that top keeps */
};

/* ---- where lines come from
 * ------------------------------------------------------------- */

/* Where lines come from: a text, or a list of strings, whose contents are
 * decoded behind each other into room and stay there. */
struct source {
    mortise_str text; /* what is left of it */
    bool is_list;
    mortise_jv_iter list;
    char *room;
    uint64_t used, cap;
};

static mortise_status open_list(const struct job *j, mortise_jv v,
                                struct source *s)
{
    if (mortise_jv_type(v) != MORTISE_JV_ARRAY)
        return text_no(j, &text_invalid, "lines must be a list of strings");
    s->is_list = true;
    s->list = mortise_jv_each(v);
    s->cap = v.n; /* no string is longer decoded */
    s->room = malloc(s->cap);
    return s->room != NULL ? MORTISE_S_OK : text_no_mem(j);
}

/* The caller frees s->room, also after an error. */
static mortise_status open_source(const struct job *j, bool list_too,
                                  struct source *s)
{
    mortise_jv list = mortise_jv_get(j->body, "lines");
    mortise_jv text = mortise_jv_get(j->body, "text");

    memset(s, 0, sizeof *s);
    if (list_too && list.n > 0 && text.n > 0)
        return text_no(j, &text_invalid, "give either text or lines, not both");
    if (list_too && list.n > 0)
        return open_list(j, list, s);
    return text_string(j, "text", text, &s->room, &s->text);
}

static bool cut_line(struct source *s, mortise_str *line)
{
    const char *nl;

    if (s->text.n == 0)
        return false;
    nl = memchr(s->text.p, '\n', s->text.n);
    line->p = s->text.p;
    line->n = nl != NULL ? (uint64_t)(nl - s->text.p) : s->text.n;
    s->text.p += line->n + (nl != NULL);
    s->text.n -= line->n + (nl != NULL);
    if (nl != NULL && line->n > 0 && nl[-1] == '\r')
        line->n--;
    return true;
}

/* The next line; false at the end, or with *status when it must end. */
static bool next_line(struct job *j, struct source *s, mortise_str *line,
                      mortise_status *status)
{
    mortise_jv v;
    uint64_t n;

    *status = MORTISE_S_OK;
    if (regex_asked(&j->run) != REGEX_NONE) {
        *status = text_no_result(j, j->run.stop);
        return false;
    }
    if (!s->is_list)
        return cut_line(s, line);
    if (!mortise_jv_next(&s->list, NULL, &v))
        return false;
    if (mortise_jv_decode(v, s->room + s->used, s->cap - s->used, &n) !=
        MORTISE_S_OK) {
        *status = text_no(j, &text_invalid, "lines must be a list of strings");
        return false;
    }
    *line = mortise_strn(s->room + s->used, n);
    s->used += n;
    return true;
}

static void put_clipped(mortise_jw *w, mortise_str s)
{
    mortise_jw_string_begin(w);
    if (s.n <= CLIP) {
        mortise_jw_string_put(w, s);
    } else {
        s.n = CLIP;
        s.n = mortise_str_utf8(s);
        mortise_jw_string_put(w, s);
        mortise_jw_string_put(w, mortise_strz("\xE2\x80\xA6"));
    }
    mortise_jw_string_end(w);
}

/* ---- lines ------------------------------------------------------------- */

static mortise_status emit_lines(struct job *j, struct source *s, int64_t from,
                                 int64_t count)
{
    mortise_jw *w = text_begin(j);
    mortise_status status;
    mortise_str line;
    int64_t n = 0;

    mortise_jw_key(w, "lines");
    mortise_jw_array(w);
    while (next_line(j, s, &line, &status))
        if (++n >= from && n - from < count)
            put_clipped(w, line);
    mortise_jw_end(w);
    text_put_number(w, "total", (uint64_t)n);
    return status == MORTISE_S_OK ? text_finish(j) : status;
}

mortise_status text_lines(struct job *j)
{
    int64_t from = 1, count = 100;
    mortise_status status = text_number(j, "from", 1, INT64_MAX, &from);
    struct source s;

    if (status == MORTISE_S_OK)
        status = text_number(j, "count", 0, MAX_LINES, &count);
    if (status != MORTISE_S_OK)
        return status;
    status = open_source(j, false, &s);
    if (status == MORTISE_S_OK)
        status = emit_lines(j, &s, from, count);
    free(s.room);
    return status;
}

/* ---- grep -------------------------------------------------------------- */

/* Does the line match?  *status when that cannot be told. */
static bool matches(struct job *j, const pcre2_code *code, mortise_str line,
                    mortise_status *status)
{
    enum regex_result r = regex_match(&j->run, code, line, 0, 0);

    if (r != REGEX_NONE && r != REGEX_FOUND)
        *status = text_no_result(j, r);
    return r == REGEX_FOUND;
}

static void put_match(mortise_jw *w, uint64_t number, mortise_str line)
{
    mortise_jw_object(w);
    text_put_number(w, "line", number);
    mortise_jw_key(w, "text");
    put_clipped(w, line);
    mortise_jw_end(w);
}

static mortise_status emit_matches(struct job *j, struct source *s,
                                   const pcre2_code *code, uint64_t max)
{
    mortise_jw *w = text_begin(j);
    mortise_status status;
    uint64_t lines = 0, count = 0;
    mortise_str line;

    mortise_jw_key(w, "matches");
    mortise_jw_array(w);
    while (next_line(j, s, &line, &status)) {
        lines++;
        if (matches(j, code, line, &status) && count++ < max)
            put_match(w, lines, line);
        if (status != MORTISE_S_OK)
            return status;
    }
    mortise_jw_end(w);
    text_put_number(w, "count", count);
    text_put_number(w, "lines", lines);
    return status == MORTISE_S_OK ? text_finish(j) : status;
}

mortise_status text_grep(struct job *j)
{
    int64_t max = 100;
    pcre2_code *code = NULL;
    mortise_status status = text_number(j, "max", 0, MAX_MATCHES, &max);
    struct source s;

    if (status == MORTISE_S_OK)
        status = text_pattern(j, "pattern", mortise_jv_get(j->body, "pattern"),
                              &code);
    if (status != MORTISE_S_OK)
        return status;
    status = open_source(j, false, &s);
    if (status == MORTISE_S_OK)
        status = emit_matches(j, &s, code, (uint64_t)max);
    free(s.room);
    pcre2_code_free(code);
    return status;
}

/* ---- count ------------------------------------------------------------- */

struct counter {
    mortise_jv name;
    pcre2_code *code;
    uint64_t n;
};

struct counters {
    struct counter v[MAX_PATTERNS];
    size_t n;
};

static void free_counters(struct counters *c)
{
    for (size_t i = 0; i < c->n; i++)
        pcre2_code_free(c->v[i].code);
}

/* The caller frees them, also after an error. */
static mortise_status open_counters(const struct job *j, struct counters *c)
{
    mortise_jv patterns = mortise_jv_get(j->body, "patterns"), name, v;
    mortise_jv_iter it = mortise_jv_each(patterns);
    mortise_status status = MORTISE_S_OK;
    char label[64];

    c->n = 0;
    if (mortise_jv_type(patterns) != MORTISE_JV_OBJECT)
        return text_no(j, &text_invalid,
                       "patterns must be an object of patterns");
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &v)) {
        if (c->n == MAX_PATTERNS)
            return text_no(j, &text_too_large, "at most %d patterns",
                           MAX_PATTERNS);
        if (mortise_jv_cstr(name, label, sizeof label) != MORTISE_S_OK)
            return text_no(
                j, &text_invalid,
                "the name of a pattern must have at most %zu bytes and no NUL",
                sizeof label - 1);
        status = text_pattern(j, label, v, &c->v[c->n].code);
        c->v[c->n].name = name;
        c->v[c->n].n = 0;
        c->n += status == MORTISE_S_OK;
    }
    return status;
}

static mortise_status count_lines(struct job *j, struct source *s,
                                  struct counters *c, uint64_t *lines)
{
    mortise_status status;
    mortise_str line;

    for (*lines = 0; next_line(j, s, &line, &status); ++*lines)
        for (size_t i = 0; i < c->n && status == MORTISE_S_OK; i++) {
            c->v[i].n += matches(j, c->v[i].code, line, &status);
            if (status != MORTISE_S_OK)
                return status;
        }
    return status;
}

static mortise_status emit_counts(struct job *j, const struct counters *c,
                                  uint64_t lines)
{
    mortise_jw *w = text_begin(j);
    char label[64];

    text_put_number(w, "lines", lines);
    mortise_jw_key(w, "counts");
    mortise_jw_object(w);
    for (size_t i = 0; i < c->n; i++) {
        mortise_jv_cstr(c->v[i].name, label, sizeof label); /* it fitted */
        text_put_number(w, label, c->v[i].n);
    }
    mortise_jw_end(w);
    return text_finish(j);
}

mortise_status text_count(struct job *j)
{
    struct counters c;
    struct source s = {.room = NULL};
    uint64_t lines;
    mortise_status status = open_counters(j, &c);

    if (status == MORTISE_S_OK)
        status = open_source(j, false, &s);
    if (status == MORTISE_S_OK)
        status = count_lines(j, &s, &c, &lines);
    if (status == MORTISE_S_OK)
        status = emit_counts(j, &c, lines);
    free(s.room);
    free_counters(&c);
    return status;
}

/* ---- top --------------------------------------------------------------- */

struct value {
    mortise_str text; /* in the source */
    uint64_t count;
};

struct values {
    struct value *v;
    size_t n, cap;
};

static int by_text(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    uint64_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int c = n > 0 ? memcmp(x->text.p, y->text.p, n) : 0;

    return c != 0 ? c : (x->text.n > y->text.n) - (x->text.n < y->text.n);
}

static int by_count(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return by_text(a, b);
}

static mortise_status add_value(const struct job *j, struct values *l,
                                mortise_str text)
{
    if (l->n == MAX_VALUES)
        return text_no(j, &text_too_large, "more than %d lines match",
                       MAX_VALUES);
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 256;
        struct value *v = realloc(l->v, cap * sizeof *v);

        if (v == NULL)
            return text_no_mem(j);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = (struct value){text, 1};
    return MORTISE_S_OK;
}

/* What the group holds in each line. */
static mortise_status collect(struct job *j, struct source *s,
                              const pcre2_code *code, struct values *l)
{
    mortise_status status;
    mortise_str line;
    uint64_t from, to;

    while (next_line(j, s, &line, &status)) {
        if (matches(j, code, line, &status) &&
            regex_group(&j->run, 1, &from, &to) && to > from)
            status = add_value(j, l, mortise_strn(line.p + from, to - from));
        if (status != MORTISE_S_OK)
            return status;
    }
    return status;
}

/* Equal ones become one.  Sorted rather than hashed: whoever writes the log
 * could choose texts that all hash alike. */
static void rank(struct values *l)
{
    size_t n = 0;

    if (l->n == 0)
        return;
    qsort(l->v, l->n, sizeof *l->v, by_text);
    for (size_t i = 1; i < l->n; i++) {
        if (by_text(&l->v[n], &l->v[i]) == 0)
            l->v[n].count++;
        else
            l->v[++n] = l->v[i];
    }
    l->n = n + 1;
    qsort(l->v, l->n, sizeof *l->v, by_count);
}

static mortise_status emit_top(struct job *j, struct values *l, size_t max)
{
    mortise_jw *w = text_begin(j);

    text_put_number(w, "total", l->n);
    rank(l);
    text_put_number(w, "distinct", l->n);
    mortise_jw_key(w, "top");
    mortise_jw_array(w);
    for (size_t i = 0; i < l->n && i < max; i++) {
        mortise_jw_object(w);
        mortise_jw_key(w, "value");
        put_clipped(w, l->v[i].text);
        text_put_number(w, "count", l->v[i].count);
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
    return text_finish(j);
}

static mortise_status one_group(const struct job *j, const pcre2_code *code)
{
    uint32_t groups = 0;

    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups == 1)
        return MORTISE_S_OK;
    return text_no(j, &text_bad_pattern,
                   "pattern: it must have one group, but has %u; use (?:..) "
                   "for groups that do not count",
                   (unsigned)groups);
}

mortise_status text_top(struct job *j)
{
    int64_t max = 10;
    struct values l = {NULL, 0, 0};
    struct source s = {.room = NULL};
    pcre2_code *code = NULL;
    mortise_status status = text_number(j, "n", 0, MAX_TOP, &max);

    if (status == MORTISE_S_OK)
        status = text_pattern(j, "pattern", mortise_jv_get(j->body, "pattern"),
                              &code);
    if (status == MORTISE_S_OK)
        status = one_group(j, code);
    if (status == MORTISE_S_OK)
        status = open_source(j, true, &s);
    if (status == MORTISE_S_OK)
        status = collect(j, &s, code, &l);
    if (status == MORTISE_S_OK)
        status = emit_top(j, &l, (size_t)max);
    free(l.v);
    free(s.room);
    pcre2_code_free(code);
    return status;
}
