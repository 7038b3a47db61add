/* template.c -- {{templates}} filled with values; text.c's page has the syntax.
 *
 * One pass over the template, writing as it goes.  Sections recurse, at most
 * MAX_SECTIONS deep.  A template and values that multiply (lists in lists) end
 * at MAX_WORK, whatever they would have made.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"

enum {
    MAX_TEXT = 16 << 20, /* bytes that a template may make */
    MAX_SECTIONS = 32,   /* open at once */
    MAX_WORK = 1 << 28,  /* bytes searched, and what each tag */
    TAG_WORK = 64        /* counts besides */
};

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
    t->status =
        text_no(t->job, r, "template, line %llu: %s", line_of(t, at), what);
}

static void put_text(struct tmpl *t, mortise_str s)
{
    if (t->muted || s.n == 0)
        return;
    t->made += s.n;
    if (t->made > MAX_TEXT)
        wrong(t, &text_too_large, 0, "the result exceeds %d bytes", MAX_TEXT);
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
        wrong(t, &text_bad_template, tag->from, "{{ without }}");
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
        wrong(t, &text_bad_template, tag->from,
              "a tag must be {{name}}, {{#name}}, {{^name}}, {{/name}} or {{! "
              "comment}}");
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
            t->status = text_no_mem(t->job);
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
        wrong(t, &text_no_value, tag->from, "no value '%.*s'", (int)tag->name.n,
              tag->name.p);
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
        wrong(t, &text_bad_template, tag->from, "more than %d open sections",
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
        wrong(t, &text_too_large, at,
              "the template needs too many steps: lists in lists, or too many "
              "names in too many values");
    else if (regex_asked(&t->job->run) != REGEX_NONE)
        t->status = text_no_result(t->job, t->job->run.stop);
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
        wrong(t, &text_bad_template, tag.from, "{{/%.*s}} closes no section",
              (int)tag.name.n, tag.name.p);
    }
    if (name != NULL)
        wrong(t, &text_bad_template, at, "{{#%.*s}} is never closed",
              (int)name->n, name->p);
    if (t->status == MORTISE_S_OK)
        put_text(t, mortise_strn(t->text.p + at, t->text.n - at));
    return t->text.n;
}

static mortise_status render(struct tmpl *t)
{
    t->w = text_begin(t->job);
    mortise_jw_key(t->w, "text");
    mortise_jw_string_begin(t->w);
    block(t, 0, NULL);
    mortise_jw_string_end(t->w);
    return t->status == MORTISE_S_OK ? text_finish(t->job) : t->status;
}

mortise_status text_template(struct job *j)
{
    struct tmpl t = {.job = j, .depth = 1};
    char *room = NULL;
    mortise_status status;

    t.context[0] = mortise_jv_get(j->body, "values");
    if (mortise_jv_type(t.context[0]) != MORTISE_JV_OBJECT)
        return text_no(j, &text_invalid, "values must be an object");
    status = text_string(j, "template", mortise_jv_get(j->body, "template"),
                         &room, &t.text);
    if (status == MORTISE_S_OK)
        status = render(&t);
    free(t.room);
    free(room);
    return status;
}
