/* scalar.c -- the type of a plain scalar, by YAML 1.2's core schema; durations
 * and sizes.
 *
 * The rules are exactly those of YAML 1.2.2 section 10.3.2, because readers
 * with rules of their own cause most surprises in YAML. `no`, `on`, `y`, `1:30`
 * and `1_000` are strings here, `017` is seventeen and `0o17` fifteen.  Numbers
 * are kept exactly or refused.  Integers are signed and have 64 bits.  JSON
 * cannot express .inf and .nan (or 1e999), so they are findings, and not
 * surprises in a later step.
 */
#include "lang/yaml/scalar.h"

#include <math.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/base/real.h"
#include "core/base/unit.h"

static bool is_listed_word(const char *s, const char *const words[])
{
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", NULL};
static const char *const falses[] = {"false", "False", "FALSE", NULL};
static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
static const char *const infs[] = {".inf", ".Inf", ".INF", NULL};

enum number { NOT_ONE, FITS, TOO_LARGE };

/* One or more digits of that base, to the end of the string. */
static enum number parse_digits(uint64_t *out, const char *s, unsigned base)
{
    enum number result = *s != '\0' ? FITS : NOT_ONE;
    uint64_t v = 0;

    for (; *s != '\0'; s++) {
        unsigned d = mortise_digit_get_value(*s);

        if (d >= base)
            return NOT_ONE;
        if (v > (UINT64_MAX - d) / base)
            result = TOO_LARGE;
        v = v * base + d;
    }
    *out = v;
    return result;
}

static enum number parse_integer(int64_t *out, const char *s)
{
    bool negative = s[0] == '-';
    enum number result;
    uint64_t v = 0;

    if (s[0] == '0' && s[1] == 'o')
        result = parse_digits(&v, s + 2, 8);
    else if (s[0] == '0' && s[1] == 'x')
        result = parse_digits(&v, s + 2, 16);
    else
        result = parse_digits(&v, s + (negative || s[0] == '+'), 10);
    if (result == FITS && v > (uint64_t)INT64_MAX + negative)
        result = TOO_LARGE;
    if (result == FITS)
        *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return result;
}

static enum number parse_real(double *out, const char *s, size_t n)
{
    const char *unsigned_part = s + (s[0] == '-' || s[0] == '+');

    if (is_listed_word(s, nans) || is_listed_word(unsigned_part, infs))
        return TOO_LARGE;
    if (mortise_real_parse(out, s, n) != 0)
        return NOT_ONE;
    return isfinite(*out) ? FITS : TOO_LARGE;
}

/* Parse an integer or a real; neither is no error. */
static const char *parse_number(struct mortise_yaml *node)
{
    enum number i = parse_integer(&node->u.i, node->str), r;

    if (i == FITS)
        node->kind = MORTISE_YAML_INT;
    if (i == TOO_LARGE)
        return "integers are signed and have 64 bits";
    if (i != NOT_ONE)
        return NULL;
    r = parse_real(&node->u.d, node->str, node->len);
    if (r == FITS)
        node->kind = MORTISE_YAML_REAL;
    return r == TOO_LARGE ? "numbers must be finite" : NULL;
}

const char *mortise_yaml_set_type(struct mortise_yaml *node)
{
    node->kind = MORTISE_YAML_STRING;
    if (strlen(node->str) != node->len)
        return NULL; /* "\0" inside */
    if (is_listed_word(node->str, nulls)) {
        node->kind = MORTISE_YAML_NULL;
    } else if (is_listed_word(node->str, trues)) {
        node->kind = MORTISE_YAML_BOOL;
        node->u.b = true;
    } else if (is_listed_word(node->str, falses)) {
        node->kind = MORTISE_YAML_BOOL;
    } else {
        return parse_number(node);
    }
    return NULL;
}

int mortise_yaml_parse_duration(const struct mortise_yaml *scalar, uint64_t *ms)
{
    return scalar->kind == MORTISE_YAML_STRING &&
                   mortise_duration_parse(scalar->str, scalar->len, ms)
               ? 0
               : -1;
}

int mortise_yaml_parse_size(const struct mortise_yaml *scalar, uint64_t *bytes)
{
    return scalar->kind == MORTISE_YAML_STRING &&
                   mortise_size_parse(scalar->str, scalar->len, bytes)
               ? 0
               : -1;
}
