/* func_convert.c -- conversion between kinds of values.
 *
 * A conversion returns the exact value or fails.  Values are never cut or
 * wrapped, except that a conversion from double to int drops the fraction.
 */
#include "lang/cel/func.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/real.h"
#include "core/base/utf8.h"

_Static_assert((int)CEL_TIME_TEXT >= (int)MORTISE_REAL_TEXT,
               "call_string() shares it");

/* [sign]digits, as a magnitude; false for anything else. */
static bool parse_magnitude(const struct cel_value *s, bool *negative,
                            uint64_t *v)
{
    const char *p = s->u.s.p, *end = p + s->u.s.n;

    *negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    *v = 0;
    if (p == end)
        return false;
    for (; p < end; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(*v, 10u, v) ||
            __builtin_add_overflow(*v, (uint64_t)(*p - '0'), v))
            return false;
    return true;
}

static bool string_to_int(const struct cel_value *s, int64_t *i)
{
    bool negative;
    uint64_t v;

    if (!parse_magnitude(s, &negative, &v) ||
        v > (uint64_t)INT64_MAX + negative)
        return false;
    *i = (int64_t)(negative ? 0 - v : v);
    return true;
}

static bool call_int(CEL_PARAMS)
{
    int64_t i = 0;
    bool ok = true;

    switch (args->kind) {
    case CEL_INT:
        i = args->u.i;
        break;
    case CEL_UINT:
        ok = args->u.u <= INT64_MAX;
        i = ok ? (int64_t)args->u.u : 0;
        break;
    case CEL_DOUBLE: /* the conformance tests exclude both ends */
        ok = args->u.d > -0x1p63 && args->u.d < 0x1p63;
        i = ok ? (int64_t)args->u.d : 0;
        break;
    case CEL_STRING:
        if (!cel_charge(c, args->u.s.n))
            return false;
        ok = string_to_int(args, &i);
        break;
    default: /* a timestamp */
        i = args->u.time.s;
    }
    *out = cel_int(i);
    return ok || mortise_cel_fail_conversion(c, args, CEL_INT);
}

static bool call_uint(CEL_PARAMS)
{
    uint64_t u = 0;
    bool ok = true, negative = false;

    switch (args->kind) {
    case CEL_INT:
        ok = args->u.i >= 0;
        u = ok ? (uint64_t)args->u.i : 0;
        break;
    case CEL_UINT:
        u = args->u.u;
        break;
    case CEL_DOUBLE:
        ok = args->u.d >= 0 && args->u.d < 0x1p64;
        u = ok ? (uint64_t)args->u.d : 0;
        break;
    default: /* a string */
        if (!cel_charge(c, args->u.s.n))
            return false;
        ok = parse_magnitude(args, &negative, &u) && !negative;
    }
    *out = cel_uint(u);
    return ok || mortise_cel_fail_conversion(c, args, CEL_UINT);
}

/* Accepts the names of infinities and NaN, too. */
static bool string_to_double(const struct cel_value *s, double *d)
{
    static const struct {
        const char *name;
        double is;
    } names[] = {{"NaN", NAN},           {"inf", INFINITY},
                 {"+inf", INFINITY},     {"-inf", -INFINITY},
                 {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

    if (mortise_real_parse(d, s->u.s.p, s->u.s.n) == 0)
        return !isinf(*d);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        *d = names[i].is;
        if (strlen(names[i].name) == s->u.s.n &&
            strncasecmp(names[i].name, s->u.s.p, s->u.s.n) == 0)
            return true;
    }
    return false;
}

static bool call_to_double(CEL_PARAMS)
{
    double d;
    bool ok;

    if (args->kind != CEL_STRING) {
        *out = cel_double(cel_as_double(args));
        return true;
    }
    if (!cel_charge(c, args->u.s.n))
        return false;
    ok = string_to_double(args, &d);
    *out = cel_double(d);
    return ok || mortise_cel_fail_conversion(c, args, CEL_DOUBLE);
}

size_t mortise_cel_format_number(char out[MORTISE_REAL_TEXT],
                                 const struct cel_value *v)
{
    if (v->kind == CEL_DOUBLE)
        return mortise_real_format(out, v->u.d);
    if (v->kind == CEL_INT)
        return (size_t)snprintf(out, MORTISE_REAL_TEXT, "%lld",
                                (long long)v->u.i);
    return (size_t)snprintf(out, MORTISE_REAL_TEXT, "%llu",
                            (unsigned long long)v->u.u);
}

static bool call_string(CEL_PARAMS)
{
    char text[CEL_TIME_TEXT]; /* large enough for a number */

    switch (args->kind) {
    case CEL_STRING:
        *out = *args;
        return true;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
        return mortise_cel_copy_text(
            c, text, mortise_cel_format_number(text, args), out);
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        return mortise_cel_copy_text(
            c, text, mortise_cel_format_time_value(text, args), out);
    case CEL_BOOL:
        *out = args->u.b ? cel_text(CEL_STRING, "true", 4)
                         : cel_text(CEL_STRING, "false", 5);
        return true;
    default: /* bytes */
        if (!cel_charge(c, args->u.s.n))
            return false;
        if (!mortise_utf8_is_valid(args->u.s.p, args->u.s.n))
            return mortise_cel_fault(c, CEL_NOT_UTF8);
        *out = cel_text(CEL_STRING, args->u.s.p, args->u.s.n);
        return true;
    }
}

static bool call_bytes(CEL_PARAMS)
{
    *out = cel_text(CEL_BYTES, args->u.s.p, args->u.s.n);
    return true;
}

static bool call_bool(CEL_PARAMS)
{
    static const char *const words[] = {
        "false", "true", "0", "1", "f", "t", "False", "True", "FALSE", "TRUE"};

    if (args->kind == CEL_BOOL) {
        *out = *args;
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == args->u.s.n &&
            memcmp(words[i], args->u.s.p, args->u.s.n) == 0) {
            *out = cel_bool(i % 2 == 1);
            return true;
        }
    }
    return mortise_cel_fail_conversion(c, args, CEL_BOOL);
}

static bool call_type(CEL_PARAMS)
{
    *out = (struct cel_value){.kind = CEL_TYPE, .u.type = args->kind};
    return true;
}

static bool call_dyn(CEL_PARAMS)
{
    *out = *args;
    return true;
}

#define OF(name, result, call, kinds)                                          \
    CEL_FUNCTION(name, 1, CEL_GLOBAL, 0, result, call, NULL, kinds)

static const struct cel_function rows[] = {
    OF("int", INT, call_int, NUMBER | STRING | TIMESTAMP),
    OF("uint", UINT, call_uint, NUMBER | STRING),
    OF("double", DOUBLE, call_to_double, NUMBER | STRING),
    OF("string", STRING, call_string,
       NUMBER | STRING | BOOL | BYTES | TIMESTAMP | DURATION),
    OF("bytes", BYTES, call_bytes, STRING | BYTES),
    OF("bool", BOOL, call_bool, STRING | BOOL),
    OF("type", TYPE, call_type, ANY),
    OF("dyn", ANY, call_dyn, ANY),
};

const struct cel_functions mortise_cel_convert_functions = {
    rows, sizeof rows / sizeof rows[0]};
