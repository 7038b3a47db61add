/* text.c -- lines of text: cut, searched, counted, ranked; and templates.
 *
 * Operations (a line ends at \n, a \r before it does not count; the last one
 * needs no end)
 *   lines     {text, from?, count?}             -> {lines, total}
 *             `count` lines (100, at most 100,000) from line `from` (1) on;
 *             total: how many there are.
 *   grep      {text, pattern, ignore_case?, max?} -> {count, lines, matches}
 *             count: lines that match; matches: the first `max` (100, at most
 *             10,000) as {line, text}.
 *   count     {text, patterns, ignore_case?}    -> {lines, counts}
 *             patterns: {name: pattern}, at most 64; counts: {name: how many
 *             lines match}.  One pass over the text for all of them.
 *   top       {text | lines, pattern, ignore_case?, n?}
 *                                               -> {total, distinct, top}
 *             pattern has one group; its content in each matching line is
 *             counted.  top: the n (10, at most 1,000) most frequent as
 *             {value, count}, equals in the order of their bytes.  `lines`: a
 *             list of strings in place of a text.
 *   template  {template, values}                -> {text}
 *             {{name}}          the value; a.b reaches into objects.  Strings
 *                               and numbers as they are, null is nothing,
 *                               objects and lists are JSON.  A name that has
 *                               no value is an error.
 *             {{.}}             the current element
 *             {{#name}}..{{/name}}  for each element of a list; for an object
 *                               once, with it as the context; for anything
 *                               else once.  Not at all for what is absent,
 *                               null, false, 0, "" or an empty list.
 *             {{^name}}..{{/name}}  exactly when the # form does nothing
 *             {{! words}}       nothing
 *             Names are looked up in the innermost context that has them.  A
 *             #, ^, / or ! tag alone on its line takes the whole line away.
 *             Nothing is escaped.  {{ always opens a tag.
 *
 * Patterns are PCRE2 (UTF), matched line by line, at most 4,096 bytes; \w, \d
 * and \b know ASCII only (\p{L} is any letter).
 * Texts in results are cut at 2,000 bytes, and then end in U+2026.
 *
 * Error codes
 *   invalid  bad_pattern  limit  bad_template  no_value  too_large
 *   timeout  no_memory*  cancelled                     (* transient)
 *
 * Config: none.
 *
 * A node that uses it
 *   errors:
 *     type: tool
 *     tool: text/grep
 *     args: {text: "${scratch.log}", pattern: '\b(error|failed)\b',
 *            ignore_case: true, max: 5}
 *
 * What it promises: every operation is a function of its arguments alone
 * (`pure`), and ends: regex.h bounds the patterns, and the whole call has ten
 * seconds (REGEX_SECONDS), after which it fails with `timeout`.  That is why
 * the manifest says `blocking` though nothing here ever waits: megabytes of
 * log are too much work for the engine's own thread.
 */
#include <stdarg.h>

#include "../../regex.h"

enum {
    CLIP = 2000,          /* bytes of a line in a result */
    MAX_LINES = 100000,   /* of lines.count */
    MAX_MATCHES = 10000,  /* of grep.max */
    MAX_PATTERNS = 64,    /* of count.patterns */
    MAX_TOP = 1000,       /* of top.n */
    MAX_VALUES = 1000000, /* lines that top keeps */
    MAX_TEXT = 16 << 20,  /* bytes that a template may make */
    MAX_SECTIONS = 32,    /* open at once */
    MAX_WORK = 1 << 28,   /* of a template: bytes searched, and ... */
    TAG_WORK = 64,        /* ... what each tag counts besides */
    ROOM = 16 << 10       /* of an emitter, on the stack */
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
};

/* One call, as its functions need it. */
struct job {
    struct mortise_inst *inst;
    mortise_call call;
    mortise_jv body;
    struct regex_run run;
    mortise_emitter out;
    char room[ROOM];
};

/* ---- saying no --------------------------------------------------------- */

struct reason {
    const char *code, *klass;
    mortise_status status;
};

static const struct reason invalid = {"invalid", "permanent",
                                      MORTISE_S_INVALID};
static const struct reason bad_pattern = {"bad_pattern", "permanent",
                                          MORTISE_S_INVALID};
static const struct reason bad_template = {"bad_template", "permanent",
                                           MORTISE_S_INVALID};
static const struct reason no_value = {"no_value", "permanent",
                                       MORTISE_S_NOTFOUND};
static const struct reason limit = {"limit", "permanent", MORTISE_S_FAILED};
static const struct reason too_large = {"too_large", "permanent",
                                        MORTISE_S_INVALID};
static const struct reason timeout = {"timeout", "timeout", MORTISE_S_FAILED};
static const struct reason no_memory = {"no_memory", "transient",
                                        MORTISE_S_NOMEM};
static const struct reason cancelled = {"cancelled", "cancelled",
                                        MORTISE_S_CANCELLED};
static const struct reason unsupported = {"unsupported", "permanent",
                                          MORTISE_S_UNSUPPORTED};

__attribute__((format(printf, 3, 4))) static mortise_status
no(const struct job *j, const struct reason *r, const char *fmt, ...)
{
    char msg[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    /* never half a character, where a name was too long for the sentence */
    msg[mortise_str_utf8(mortise_strz(msg))] = '\0';
    return mortise_refuse(j->inst->host, j->inst->api, j->call, r->status,
                          r->klass, r->code, msg);
}

static mortise_status no_mem(const struct job *j)
{
    return no(j, &no_memory, "out of memory");
}

/* Why matching ended early. */
static mortise_status no_result(const struct job *j, enum regex_result why)
{
    switch (why) {
    case REGEX_CANCELLED:
        return no(j, &cancelled, "cancelled");
    case REGEX_TIME:
        return no(j, &timeout, "not done within %d seconds or the deadline",
                  REGEX_SECONDS);
    case REGEX_NOMEM:
        return no_mem(j);
    default:
        return no(j, &limit,
                  "a pattern takes too many steps on some line; make it "
                  "simpler, for example without repeats inside repeats");
    }
}

/* ---- arguments --------------------------------------------------------- */

/* The content of a string value; *room (the caller frees it) holds it where
 * it had escapes. */
static mortise_status text_of(const struct job *j, const char *what,
                              mortise_jv v, char **room, mortise_str *out)
{
    mortise_status status = mortise_jv_text(v, NULL, 0, out);

    if (status == MORTISE_S_NOMEM) {
        *room = malloc(v.n);
        if (*room == NULL)
            return no_mem(j);
        status = mortise_jv_text(v, *room, v.n, out);
    }
    if (status != MORTISE_S_OK)
        return no(j, &invalid, "%s must be a string", what);
    return MORTISE_S_OK;
}

/* A whole number of the body within bounds; *out keeps its default where it
 * is absent. */
static mortise_status number_of(const struct job *j, const char *name,
                                int64_t min, int64_t max, int64_t *out)
{
    mortise_jv v = mortise_jv_get(j->body, name);

    if (v.n == 0)
        return MORTISE_S_OK;
    if (mortise_jv_int(v, out) != MORTISE_S_OK || *out < min || *out > max)
        return no(j, &invalid, "%s must be a whole number from %lld to %lld",
                  name, (long long)min, (long long)max);
    return MORTISE_S_OK;
}

/* Compile a pattern of the body's ignore_case; `name` for people. */
static mortise_status pattern_of(const struct job *j, const char *name,
                                 mortise_jv v, pcre2_code **out)
{
    mortise_jv fold = mortise_jv_get(j->body, "ignore_case");
    char room[REGEX_PATTERN], why[256];
    mortise_str text;
    int32_t yes = 0;

    if (fold.n > 0 && mortise_jv_bool(fold, &yes) != MORTISE_S_OK)
        return no(j, &invalid, "ignore_case must be true or false");
    switch (mortise_jv_text(v, room, sizeof room, &text)) {
    case MORTISE_S_OK:
        break;
    case MORTISE_S_NOMEM:
        return no(j, &bad_pattern, "%s: it must have 1 to %d bytes", name,
                  REGEX_PATTERN);
    default:
        return no(j, &invalid, "%s must be a string", name);
    }
    if (regex_compile(out, text, yes ? PCRE2_CASELESS : 0, why, sizeof why))
        return MORTISE_S_OK;
    return no(j, &bad_pattern, "%s: %s", name, why);
}

/* ---- lines ------------------------------------------------------------- */

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
        return no(j, &invalid, "lines must be a list of strings");
    s->is_list = true;
    s->list = mortise_jv_each(v);
    s->cap = v.n; /* no string is longer decoded */
    s->room = malloc(s->cap);
    return s->room != NULL ? MORTISE_S_OK : no_mem(j);
}

/* The caller frees s->room, also after an error. */
static mortise_status open_source(const struct job *j, bool list_too,
                                  struct source *s)
{
    mortise_jv list = mortise_jv_get(j->body, "lines");
    mortise_jv text = mortise_jv_get(j->body, "text");

    memset(s, 0, sizeof *s);
    if (list_too && list.n > 0 && text.n > 0)
        return no(j, &invalid, "give either text or lines, not both");
    if (list_too && list.n > 0)
        return open_list(j, list, s);
    return text_of(j, "text", text, &s->room, &s->text);
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
        *status = no_result(j, j->run.stop);
        return false;
    }
    if (!s->is_list)
        return cut_line(s, line);
    if (!mortise_jv_next(&s->list, NULL, &v))
        return false;
    if (mortise_jv_decode(v, s->room + s->used, s->cap - s->used, &n) !=
        MORTISE_S_OK) {
        *status = no(j, &invalid, "lines must be a list of strings");
        return false;
    }
    *line = mortise_strn(s->room + s->used, n);
    s->used += n;
    return true;
}

/* ---- results ----------------------------------------------------------- */

static mortise_jw *begin(struct job *j)
{
    mortise_emitter_init(&j->out, j->inst->host, j->inst->api, j->call, j->room,
                         sizeof j->room);
    mortise_jw_object(&j->out.w);
    return &j->out.w;
}

static mortise_status finish(struct job *j)
{
    mortise_jw_end(&j->out.w);
    return mortise_emitter_finish(&j->out);
}

static void put_number(mortise_jw *w, const char *name, uint64_t v)
{
    mortise_jw_key(w, name);
    mortise_jw_int(w, (int64_t)v);
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
    mortise_jw *w = begin(j);
    mortise_status status;
    mortise_str line;
    int64_t n = 0;

    mortise_jw_key(w, "lines");
    mortise_jw_array(w);
    while (next_line(j, s, &line, &status))
        if (++n >= from && n - from < count)
            put_clipped(w, line);
    mortise_jw_end(w);
    put_number(w, "total", (uint64_t)n);
    return status == MORTISE_S_OK ? finish(j) : status;
}

static mortise_status do_lines(struct job *j)
{
    int64_t from = 1, count = 100;
    mortise_status status = number_of(j, "from", 1, INT64_MAX, &from);
    struct source s;

    if (status == MORTISE_S_OK)
        status = number_of(j, "count", 0, MAX_LINES, &count);
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
        *status = no_result(j, r);
    return r == REGEX_FOUND;
}

static void put_match(mortise_jw *w, uint64_t number, mortise_str line)
{
    mortise_jw_object(w);
    put_number(w, "line", number);
    mortise_jw_key(w, "text");
    put_clipped(w, line);
    mortise_jw_end(w);
}

static mortise_status emit_matches(struct job *j, struct source *s,
                                   const pcre2_code *code, uint64_t max)
{
    mortise_jw *w = begin(j);
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
    put_number(w, "count", count);
    put_number(w, "lines", lines);
    return status == MORTISE_S_OK ? finish(j) : status;
}

static mortise_status do_grep(struct job *j)
{
    int64_t max = 100;
    pcre2_code *code = NULL;
    mortise_status status = number_of(j, "max", 0, MAX_MATCHES, &max);
    struct source s;

    if (status == MORTISE_S_OK)
        status =
            pattern_of(j, "pattern", mortise_jv_get(j->body, "pattern"), &code);
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
        return no(j, &invalid, "patterns must be an object of patterns");
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &v)) {
        if (c->n == MAX_PATTERNS)
            return no(j, &too_large, "at most %d patterns", MAX_PATTERNS);
        if (mortise_jv_cstr(name, label, sizeof label) != MORTISE_S_OK)
            return no(j, &invalid,
                      "a pattern's name has at most %zu bytes and no NUL",
                      sizeof label - 1);
        status = pattern_of(j, label, v, &c->v[c->n].code);
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
    mortise_jw *w = begin(j);
    char label[64];

    put_number(w, "lines", lines);
    mortise_jw_key(w, "counts");
    mortise_jw_object(w);
    for (size_t i = 0; i < c->n; i++) {
        mortise_jv_cstr(c->v[i].name, label, sizeof label); /* it fitted */
        put_number(w, label, c->v[i].n);
    }
    mortise_jw_end(w);
    return finish(j);
}

static mortise_status do_count(struct job *j)
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
        return no(j, &too_large, "more than %d lines match", MAX_VALUES);
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 256;
        struct value *v = realloc(l->v, cap * sizeof *v);

        if (v == NULL)
            return no_mem(j);
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
    mortise_jw *w = begin(j);

    put_number(w, "total", l->n);
    rank(l);
    put_number(w, "distinct", l->n);
    mortise_jw_key(w, "top");
    mortise_jw_array(w);
    for (size_t i = 0; i < l->n && i < max; i++) {
        mortise_jw_object(w);
        mortise_jw_key(w, "value");
        put_clipped(w, l->v[i].text);
        put_number(w, "count", l->v[i].count);
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
    return finish(j);
}

static mortise_status one_group(const struct job *j, const pcre2_code *code)
{
    uint32_t groups = 0;

    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups == 1)
        return MORTISE_S_OK;
    return no(j, &bad_pattern,
              "pattern: it must have one group (it has %u); (?:..) groups "
              "without counting",
              (unsigned)groups);
}

static mortise_status do_top(struct job *j)
{
    int64_t max = 10;
    struct values l = {NULL, 0, 0};
    struct source s = {.room = NULL};
    pcre2_code *code = NULL;
    mortise_status status = number_of(j, "n", 0, MAX_TOP, &max);

    if (status == MORTISE_S_OK)
        status =
            pattern_of(j, "pattern", mortise_jv_get(j->body, "pattern"), &code);
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

/* ---- template ---------------------------------------------------------- */

struct tmpl {
    struct job *job;
    mortise_str text;
    mortise_jw *w;
    mortise_jv context[MAX_SECTIONS + 1]; /* the last is the innermost */
    size_t depth;                         /* of contexts */
    size_t open;                          /* sections */
    bool muted;    /* inside a section that does nothing */
    uint64_t made; /* bytes of text */
    uint64_t work; /* see MAX_WORK */
    char *room;    /* of the string that is being put */
    uint64_t cap;
    mortise_status status; /* the first failure ends it all */
};

struct tag {
    char kind; /* # ^ / ! or 0: a value */
    mortise_str name;
    uint64_t from, to; /* what it takes of the template, its line perhaps */
};

static unsigned long long line_of(const struct tmpl *t, uint64_t at)
{
    unsigned long long n = 1;

    for (uint64_t i = 0; i < at; i++)
        n += t->text.p[i] == '\n';
    return n;
}

__attribute__((format(printf, 4, 5))) static void
wrong(struct tmpl *t, const struct reason *r, uint64_t at, const char *fmt, ...)
{
    char what[256];
    va_list ap;

    if (t->status != MORTISE_S_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    t->status = no(t->job, r, "template, line %llu: %s", line_of(t, at), what);
}

static void put_text(struct tmpl *t, mortise_str s)
{
    if (t->muted || s.n == 0)
        return;
    t->made += s.n;
    if (t->made > MAX_TEXT)
        wrong(t, &too_large, 0, "it makes more than %d bytes", MAX_TEXT);
    else
        mortise_jw_string_put(t->w, s);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Does the tag stand alone on its line?  Then it takes that line with it. */
static void widen(const struct tmpl *t, struct tag *tag)
{
    uint64_t from = tag->from, to = tag->to, n = t->text.n;
    const char *p = t->text.p;

    while (from > 0 && is_blank(p[from - 1]))
        from--;
    while (to < n && is_blank(p[to]))
        to++;
    if (to + 1 < n && p[to] == '\r' && p[to + 1] == '\n')
        to++;
    if ((from > 0 && p[from - 1] != '\n') || (to < n && p[to] != '\n'))
        return;
    tag->from = from;
    tag->to = to < n ? to + 1 : to;
}

static bool is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* "." or parts with dots between them. */
static bool is_name(mortise_str s)
{
    if (mortise_str_is(s, "."))
        return true;
    for (uint64_t i = 0; i < s.n; i++) {
        bool dot = s.p[i] == '.' && i > 0 && s.p[i - 1] != '.' && i + 1 < s.n;

        if (!dot && !is_name_char(s.p[i]))
            return false;
    }
    return s.n > 0 && s.n <= 128;
}

static mortise_str trimmed(mortise_str s)
{
    while (s.n > 0 && is_blank(s.p[0]))
        s = mortise_strn(s.p + 1, s.n - 1);
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* The next tag from `at` on; false when there is none, or it is wrong. */
static bool next_tag(struct tmpl *t, uint64_t at, struct tag *tag)
{
    const char *p = t->text.p, *open, *close;
    uint64_t left = t->text.n - at;

    open = left > 0 ? memmem(p + at, left, "{{", 2) : NULL;
    if (open == NULL)
        return false;
    tag->from = (uint64_t)(open - p);
    close = memmem(open, t->text.n - tag->from, "}}", 2);
    if (close == NULL) {
        wrong(t, &bad_template, tag->from, "{{ without }}");
        return false;
    }
    tag->to = (uint64_t)(close + 2 - p);
    tag->name = trimmed(mortise_strn(open + 2, (uint64_t)(close - open) - 2));
    tag->kind = 0;
    if (tag->name.n > 0 && strchr("#^/!", tag->name.p[0]) != NULL &&
        tag->name.p[0] != '\0') {
        tag->kind = tag->name.p[0];
        tag->name = trimmed(mortise_strn(tag->name.p + 1, tag->name.n - 1));
        widen(t, tag);
    }
    if (tag->kind != '!' && !is_name(tag->name)) {
        wrong(t, &bad_template, tag->from,
              "a tag is {{name}}, {{#name}}, {{^name}}, {{/name}} or "
              "{{! words}}");
        return false;
    }
    return true;
}

static mortise_jv member(struct tmpl *t, mortise_jv v, mortise_str name)
{
    t->work += v.n;
    return mortise_jv_getn(v, name);
}

/* The first part of a dotted name, and what is left of it. */
static mortise_str head(mortise_str *name)
{
    const char *dot = memchr(name->p, '.', name->n);
    mortise_str first = *name;

    if (dot == NULL) {
        *name = mortise_str_empty();
        return first;
    }
    first.n = (uint64_t)(dot - name->p);
    *name = mortise_strn(dot + 1, name->n - first.n - 1);
    return first;
}

/* The value of a name; none when there is none. */
static mortise_jv look_up(struct tmpl *t, mortise_str name)
{
    size_t i = t->depth;
    mortise_jv v = mortise_jv_none();
    mortise_str first;

    if (mortise_str_is(name, "."))
        return t->context[t->depth - 1];
    first = head(&name);
    while (v.n == 0 && i > 0)
        v = member(t, t->context[--i], first);
    while (v.n > 0 && name.n > 0)
        v = member(t, v, head(&name));
    t->work += v.n; /* a section walks over it */
    return v;
}

/* A string's content, through room that only grows. */
static void put_string(struct tmpl *t, mortise_jv v)
{
    mortise_str s;

    if (mortise_jv_text(v, t->room, t->cap, &s) != MORTISE_S_OK) {
        char *room = realloc(t->room, v.n);

        if (room == NULL) {
            t->status = no_mem(t->job);
            return;
        }
        t->room = room;
        t->cap = v.n;
        mortise_jv_text(v, t->room, t->cap, &s);
    }
    put_text(t, s);
}

static void put_value(struct tmpl *t, const struct tag *tag)
{
    mortise_jv v;

    if (t->muted)
        return;
    v = look_up(t, tag->name);
    switch (mortise_jv_type(v)) {
    case MORTISE_JV_NONE:
        wrong(t, &no_value, tag->from, "there is no value '%.*s'",
              (int)tag->name.n, tag->name.p);
        break;
    case MORTISE_JV_NULL:
        break;
    case MORTISE_JV_STRING:
        put_string(t, v);
        break;
    default:
        put_text(t, mortise_strn(v.p, v.n));
    }
}

static bool is_something(mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv one;
    double d = 1;

    switch (mortise_jv_type(v)) {
    case MORTISE_JV_NONE:
    case MORTISE_JV_NULL:
        return false;
    case MORTISE_JV_BOOL:
        return *v.p == 't';
    case MORTISE_JV_NUMBER:
        return mortise_jv_double(v, &d) != MORTISE_S_OK || d > 0 || d < 0;
    case MORTISE_JV_ARRAY:
        return mortise_jv_next(&it, NULL, &one) != 0;
    case MORTISE_JV_STRING:
        return v.n > 2;
    default:
        return true;
    }
}

static uint64_t block(struct tmpl *t, uint64_t at, const mortise_str *name);

/* The body once, with one more context (none: the same); returns behind the
 * closing tag. */
static uint64_t body(struct tmpl *t, const struct tag *tag, mortise_jv context)
{
    uint64_t end;

    if (context.n > 0)
        t->context[t->depth++] = context;
    end = block(t, tag->to, &tag->name);
    if (context.n > 0)
        t->depth--;
    return end;
}

/* Over the body without a word, to find its end. */
static uint64_t pass_over(struct tmpl *t, const struct tag *tag)
{
    bool muted = t->muted;
    uint64_t end;

    t->muted = true;
    end = body(t, tag, mortise_jv_none());
    t->muted = muted;
    return end;
}

/* A section, from behind its opening tag; returns behind its closing one. */
static uint64_t section(struct tmpl *t, const struct tag *tag)
{
    mortise_jv v = t->muted ? mortise_jv_none() : look_up(t, tag->name), one;
    bool yes = is_something(v) == (tag->kind == '#');
    uint64_t end = tag->to;
    mortise_jv_iter it;

    if (t->open == MAX_SECTIONS)
        wrong(t, &bad_template, tag->from, "more than %d sections open",
              MAX_SECTIONS);
    if (t->status != MORTISE_S_OK)
        return end;
    t->open++;
    if (t->muted || !yes) {
        end = pass_over(t, tag);
    } else if (tag->kind == '#' && mortise_jv_type(v) == MORTISE_JV_ARRAY) {
        for (it = mortise_jv_each(v);
             t->status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one);)
            end = body(t, tag, one);
    } else {
        end = body(t, tag,
                   tag->kind == '#' && mortise_jv_type(v) == MORTISE_JV_OBJECT
                       ? v
                       : mortise_jv_none());
    }
    t->open--;
    return end;
}

/* Each tag is a place to stop. */
static void count_work(struct tmpl *t, uint64_t at)
{
    t->work += TAG_WORK;
    if (t->work > MAX_WORK)
        wrong(t, &too_large, at,
              "it is too much work: lists in lists, or too "
              "many names in too many values");
    else if (regex_asked(&t->job->run) != REGEX_NONE)
        t->status = no_result(t->job, t->job->run.stop);
}

/* From `at` to the closing tag of `name` (NULL: to the end); returns behind
 * it.  The recursion is as deep as sections are open. */
static uint64_t block(struct tmpl *t, uint64_t at, const mortise_str *name)
{
    struct tag tag;

    while (next_tag(t, at, &tag) && t->status == MORTISE_S_OK) {
        count_work(t, tag.from);
        if (tag.from > at)
            put_text(t, mortise_strn(t->text.p + at, tag.from - at));
        at = tag.to;
        if (tag.kind == '#' || tag.kind == '^')
            at = section(t, &tag);
        else if (tag.kind == 0)
            put_value(t, &tag);
        if (tag.kind != '/')
            continue;
        if (name != NULL && name->n == tag.name.n &&
            memcmp(name->p, tag.name.p, name->n) == 0)
            return at;
        wrong(t, &bad_template, tag.from, "{{/%.*s}} closes nothing",
              (int)tag.name.n, tag.name.p);
    }
    if (name != NULL)
        wrong(t, &bad_template, at, "{{#%.*s}} is never closed", (int)name->n,
              name->p);
    if (t->status == MORTISE_S_OK)
        put_text(t, mortise_strn(t->text.p + at, t->text.n - at));
    return t->text.n;
}

static mortise_status render(struct tmpl *t)
{
    t->w = begin(t->job);
    mortise_jw_key(t->w, "text");
    mortise_jw_string_begin(t->w);
    block(t, 0, NULL);
    mortise_jw_string_end(t->w);
    return t->status == MORTISE_S_OK ? finish(t->job) : t->status;
}

static mortise_status do_template(struct job *j)
{
    struct tmpl t = {.job = j, .depth = 1};
    char *room = NULL;
    mortise_status status;

    t.context[0] = mortise_jv_get(j->body, "values");
    if (mortise_jv_type(t.context[0]) != MORTISE_JV_OBJECT)
        return no(j, &invalid, "values must be an object");
    status = text_of(j, "template", mortise_jv_get(j->body, "template"), &room,
                     &t.text);
    if (status == MORTISE_S_OK)
        status = render(&t);
    free(t.room);
    free(room);
    return status;
}

/* ---- the interface ----------------------------------------------------- */

static mortise_status dispatch(struct job *j, mortise_str operation)
{
    static const struct {
        const char *name;
        mortise_status (*run)(struct job *);
    } operations[] = {{"lines", do_lines},
                      {"grep", do_grep},
                      {"count", do_count},
                      {"top", do_top},
                      {"template", do_template}};

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (mortise_str_is(operation, operations[i].name))
            return operations[i].run(j);
    return no(j, &unsupported, "text has no such operation");
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct job j;
    mortise_status status;

    j.inst = i;
    j.call = r->call;
    if (mortise_jv_parse(r->body, &j.body) != MORTISE_S_OK)
        return no(&j, &invalid, "the arguments are not JSON");
    if (!regex_init(&j.run, i->host, i->api, r))
        return no_mem(&j);
    status = dispatch(&j, r->operation);
    regex_finish(&j.run);
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)config; /* the schema lets nothing in */
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return mortise_refuse(host, api, 0, MORTISE_S_NOMEM, "transient",
                              "no_memory", "out of memory");
    (*out)->host = host;
    (*out)->api = api;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const mortise_executor executor = {sizeof executor, 0, execute, NULL};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "text",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
