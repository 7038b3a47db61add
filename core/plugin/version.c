/* version.c -- dotted versions and version ranges.
 *
 * Versions are plain numbers: 1.10 is newer than 1.9.  There are no suffixes,
 * because people should see the order of two versions without a table of rules.
 * Nine digits fit 32 bits, so nothing overflows. */
#include "core/plugin/version.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { PARTS = 4, DIGITS = 9 };

/* Parse a version at p; returns its end, or NULL if there is none. */
static const char *parse_version(uint32_t part[PARTS], const char *p)
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

bool mortise_version_is_valid(const char *v)
{
    uint32_t part[PARTS];
    const char *end = parse_version(part, v);

    return end != NULL && *end == '\0';
}

static int compare_parts(const uint32_t a[PARTS], const uint32_t b[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

int mortise_version_compare(const char *a, const char *b)
{
    uint32_t pa[PARTS], pb[PARTS];
    const char *ea = parse_version(pa, a), *eb = parse_version(pb, b);

    assert(ea != NULL && eb != NULL); /* the caller checked both */
    (void)ea;
    (void)eb;
    return compare_parts(pa, pb);
}

/* A comparison of a range: operator and version. */
struct term {
    bool less, equal, greater; /* the results that match */
    uint32_t part[PARTS];
};

/* Parse a term at p; returns its end, or NULL. */
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
    p = parse_version(t->part, p);
    return p != NULL && (*p == ' ' || *p == '\0') ? p : NULL;
}

/* Does v match every term? v NULL: is every term valid? */
static bool match_range_terms(const char *range, const uint32_t *v)
{
    struct term t;
    int n = 0;

    for (const char *p = range; *p != '\0'; n++) {
        int c;

        p = parse_term(&t, p);
        if (p == NULL)
            return false;
        c = v != NULL ? compare_parts(v, t.part) : 0;
        if (v != NULL && !(c < 0 ? t.less : c > 0 ? t.greater : t.equal))
            return false;
        if (*p == ' ' && p[1] != '\0')
            p++;
    }
    return n > 0;
}

bool mortise_range_is_valid(const char *range)
{
    return match_range_terms(range, NULL);
}

bool mortise_range_has(const char *range, const char *v)
{
    uint32_t part[PARTS];
    const char *end = parse_version(part, v);

    assert(end != NULL); /* the caller checked it */
    (void)end;
    return match_range_terms(range, part);
}
