/* ecma_first.c -- JSON Schema's patterns as they were read before ecma.c.
 *
 * PCRE2's language with some of ECMA-262's: runs that were admitted then keep
 * it, and nothing in here changes any more.  Where both write the same and mean
 * something else, the pattern is written anew, as far as that was seen; some of
 * what only PCRE2 has is refused:
 *
 *   \s \S       know all Unicode spaces, in classes, too (\d \w \D \W are the
 *               same in both: digits and letters are ASCII's, and all else is
 *               none)
 *   \p{Letter}  has a long name; PCRE2 has the short ones
 *   [           is itself inside a class, and no [:posix:]
 *   \A \Z ...   letters without a meaning are mistakes, not PCRE2's
 *   (*VERB)     likewise
 */
#include "base/ecma_first.h"

#include <stdbool.h>
#include <string.h>

#include "base/pattern.h"

#define SPACES "\\s\\ufeff\\p{Z}"

/* All else, as a class has to spell it.  Between two properties, so that it is
 * no end of a range, as \S is none. */
#define NO_SPACES                                                              \
    "\\p{Lu}"                                                                  \
    "\\u0000-\\u0008\\u000e-\\u001f\\u0021-\\u009f\\u00a1-\\u167f"             \
    "\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e\\u2030-\\u205e"             \
    "\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\\u{10ffff}"                        \
    "\\p{Lu}"

struct reading {
    struct mortise_buf *out;
    const char *p, *end;
    bool in_class;
    struct mortise_err *err;
};

/* Behind the prefix, if it is there. */
static const char *without(const char *p, const char *end, const char *prefix)
{
    size_t n = strlen(prefix);

    return (size_t)(end - p) > n && memcmp(p, prefix, n) == 0 ? p + n : p;
}

/* What stands between the braces of \p{...}. */
static void put_property(struct mortise_buf *out, const char *p,
                         const char *end)
{
    const char *category;

    p = without(without(p, end, "gc="), end, "General_Category=");
    category = mortise_property_category(p, (size_t)(end - p), true);
    if (category != NULL)
        mortise_buf_puts(out, category);
    else
        mortise_buf_put(out, p, (size_t)(end - p));
}

/* At the brace of \p{...}, or not: then PCRE2 finds the mistake. */
static void read_property(struct reading *r)
{
    const char *close = memchr(r->p, '}', (size_t)(r->end - r->p));

    if (r->p == r->end || *r->p != '{' || close == NULL)
        return;
    mortise_buf_put(r->out, "{", 1);
    put_property(r->out, r->p + 1, close);
    r->p = close;
}

static void put_spaces(struct reading *r, char c)
{
    if (r->in_class)
        mortise_buf_puts(r->out, c == 's' ? SPACES : NO_SPACES);
    else
        mortise_buf_puts(r->out, c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
}

/* A backslash and what follows. */
static int read_escape(struct reading *r)
{
    char c;

    if (++r->p == r->end) {
        mortise_buf_put(r->out, "\\", 1); /* PCRE2 says why not */
        return MORTISE_OK;
    }
    c = *r->p++;
    if (c == 's' || c == 'S') {
        put_spaces(r, c);
        return MORTISE_OK;
    }
    if (((c | 32) >= 'a' && (c | 32) <= 'z' &&
         strchr("dDwWbBfnrtvcxukpP", c) == NULL))
        return mortise_fail(r->err, MORTISE_EINVAL,
                            "not a regular expression: there is no \\%c in "
                            "ECMA-262",
                            c);
    mortise_buf_put(r->out, r->p - 2, 2);
    if (c == 'p' || c == 'P')
        read_property(r);
    return MORTISE_OK;
}

static int read_char(struct reading *r)
{
    char c = *r->p;

    if (c == '\\')
        return read_escape(r);
    if (c == '(' && !r->in_class && r->end - r->p > 1 && r->p[1] == '*')
        return mortise_fail(r->err, MORTISE_EINVAL,
                            "not a regular expression: there is no (* in "
                            "ECMA-262");
    if (c == '[' && r->in_class)
        mortise_buf_put(r->out, "\\", 1);
    r->in_class = c == '[' || (r->in_class && c != ']');
    mortise_buf_put(r->out, r->p++, 1);
    return MORTISE_OK;
}

int mortise_ecma_first_translate(struct mortise_buf *out, const char *pattern,
                                 size_t n, struct mortise_err *err)
{
    struct reading r = {out, pattern, pattern + n, false, err};
    int rv = MORTISE_OK;

    while (r.p < r.end && rv == MORTISE_OK)
        rv = read_char(&r);
    if (rv == MORTISE_OK && out->failed)
        rv = mortise_nomem(err);
    return rv;
}
