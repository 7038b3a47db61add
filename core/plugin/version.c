/* version.c -- dotted versions and ranges of them.
 *
 * Plain numbers, compared as numbers: 1.10 is newer than 1.9.  No suffixes: an
 * order that needs a table to explain is no help when a person decides what to
 * install.  Nine digits fit 32 bits, so nothing overflows.
 */
#include "core/plugin/version.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { PARTS = 4, DIGITS = 9 };

/* Reads one version at p; returns its end, or NULL if there is none. */
static const char *parse(uint32_t part[PARTS], const char *p)
{
    memset(part, 0, PARTS * sizeof *part);
    for (int i = 0; i < PARTS; i++) {
        int digits = 0;

        while (isdigit((unsigned char)*p) && ++digits <= DIGITS)
            part[i] = part[i] * 10 + (uint32_t)(*p++ - '0');
        if (digits == 0 || digits > DIGITS)
            return NULL;
        if (*p != '.')
            return p;
        p++;
    }
    return NULL;
}

bool mortise_version_valid(const char *v)
{
    uint32_t part[PARTS];
    const char *end = parse(part, v);

    return end != NULL && *end == '\0';
}

static int compare(const uint32_t a[PARTS], const uint32_t b[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

int mortise_version_compare(const char *a, const char *b)
{
    uint32_t pa[PARTS], pb[PARTS];
    const char *ea = parse(pa, a), *eb = parse(pb, b);

    assert(ea != NULL && eb != NULL); /* the caller checked both */
    (void)ea;
    (void)eb;
    return compare(pa, pb);
}

/* One comparison of a range: its sign, the version behind it. */
struct term {
    bool less, equal, greater; /* which outcomes are in the range */
    uint32_t part[PARTS];
};

/* The end of the term at p, or NULL. */
static const char *parse_term(struct term *t, const char *p)
{
    *t = (struct term){0};
    t->less = *p == '<';
    t->greater = *p == '>';
    if (t->less || t->greater)
        p++;
    t->equal = *p == '=';
    if (t->equal)
        p++;
    if (!t->less && !t->greater && !t->equal)
        return NULL;
    p = parse(t->part, p);
    return p != NULL && (*p == ' ' || *p == '\0') ? p : NULL;
}

/* Does every term hold for v (NULL: is every term one)? */
static bool each(const char *range, const uint32_t *v)
{
    struct term t;
    int n = 0;

    for (const char *p = range; *p != '\0'; n++) {
        int c;

        p = parse_term(&t, p);
        if (p == NULL)
            return false;
        c = v != NULL ? compare(v, t.part) : 0;
        if (v != NULL && !(c < 0 ? t.less : c > 0 ? t.greater : t.equal))
            return false;
        if (*p == ' ' && p[1] != '\0')
            p++;
    }
    return n > 0;
}

bool mortise_range_valid(const char *range)
{
    return each(range, NULL);
}

bool mortise_range_has(const char *range, const char *v)
{
    uint32_t part[PARTS];
    const char *end = parse(part, v);

    assert(end != NULL); /* the caller checked it */
    (void)end;
    return each(range, part);
}
