/* func.c -- the standard functions.
 *
 * Each is handed values of any kind, in the number that the table says, and
 * answers with a value or a fault.  What it reads it is charged for, and what
 * it makes lies in the evaluation's arena.
 */
#include "cel/ast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/real.h"
#include "base/utf8.h"

#define BIT(kind) (1u << (kind))

enum {
    ANY = BIT(MORTISE_CEL_KINDS) - 1,
    BOOL = BIT(MORTISE_CEL_BOOL),
    INT = BIT(MORTISE_CEL_INT),
    UINT = BIT(MORTISE_CEL_UINT),
    DOUBLE = BIT(MORTISE_CEL_DOUBLE),
    STRING = BIT(MORTISE_CEL_STRING),
    BYTES = BIT(MORTISE_CEL_BYTES),
    LIST = BIT(MORTISE_CEL_LIST),
    MAP = BIT(MORTISE_CEL_MAP),
    TYPE = BIT(MORTISE_CEL_TYPE),
    NUMBER = INT | UINT | DOUBLE
};

/* ---- faults ---------------------------------------------------------- */

static bool overload(struct mortise_cel_ctx *c,
                     const struct mortise_cel_node *n,
                     const struct mortise_cel_value *args)
{
    mortise_cel_fault(c, MORTISE_CEL_OVERLOAD);
    c->fault.x = args[0].kind;
    c->fault.y = n->n > 1 ? args[1].kind : MORTISE_CEL_KINDS;
    return false;
}

static bool cannot_convert(struct mortise_cel_ctx *c,
                           const struct mortise_cel_value *from,
                           enum mortise_cel_kind to)
{
    mortise_cel_fault(c, MORTISE_CEL_CONVERT);
    c->fault.x = from->kind;
    c->fault.y = (uint8_t)to;
    return false;
}

/* ---- strings --------------------------------------------------------- */

static bool call_size(struct mortise_cel_ctx *c,
                      const struct mortise_cel_node *n,
                      const struct mortise_cel_value *args,
                      struct mortise_cel_value *out)
{
    size_t size;

    switch (args->kind) {
    case MORTISE_CEL_STRING:
        if (!mortise_cel_charge(c, args->u.s.n))
            return false;
        size = mortise_utf8_count(args->u.s.p, args->u.s.n);
        break;
    case MORTISE_CEL_BYTES:
        size = args->u.s.n;
        break;
    case MORTISE_CEL_LIST:
    case MORTISE_CEL_MAP:
        size = mortise_cel_count(args);
        break;
    default:
        return overload(c, n, args);
    }
    *out = mortise_cel_int((int64_t)size);
    return true;
}

/* Two strings, paid for; else the fault. */
static bool two_strings(struct mortise_cel_ctx *c,
                        const struct mortise_cel_node *n,
                        const struct mortise_cel_value *args)
{
    if (args[0].kind != MORTISE_CEL_STRING ||
        args[1].kind != MORTISE_CEL_STRING)
        return overload(c, n, args);
    return mortise_cel_charge(c, args[1].u.s.n);
}

static bool call_contains(struct mortise_cel_ctx *c,
                          const struct mortise_cel_node *n,
                          const struct mortise_cel_value *args,
                          struct mortise_cel_value *out)
{
    if (!two_strings(c, n, args) || !mortise_cel_charge(c, args[0].u.s.n))
        return false;
    *out = mortise_cel_bool(memmem(args[0].u.s.p, args[0].u.s.n, args[1].u.s.p,
                                   args[1].u.s.n) != NULL);
    return true;
}

static bool call_starts_with(struct mortise_cel_ctx *c,
                             const struct mortise_cel_node *n,
                             const struct mortise_cel_value *args,
                             struct mortise_cel_value *out)
{
    size_t len;

    if (!two_strings(c, n, args))
        return false;
    len = args[1].u.s.n;
    *out = mortise_cel_bool(len <= args[0].u.s.n &&
                            memcmp(args[0].u.s.p, args[1].u.s.p, len) == 0);
    return true;
}

static bool call_ends_with(struct mortise_cel_ctx *c,
                           const struct mortise_cel_node *n,
                           const struct mortise_cel_value *args,
                           struct mortise_cel_value *out)
{
    size_t len, all;

    if (!two_strings(c, n, args))
        return false;
    len = args[1].u.s.n;
    all = args[0].u.s.n;
    *out = mortise_cel_bool(len <= all && memcmp(args[0].u.s.p + all - len,
                                                 args[1].u.s.p, len) == 0);
    return true;
}

/* A pattern that does not stand in the text, for this search alone. */
static int search_with(const struct mortise_cel_value *pattern,
                       const struct mortise_cel_value *s,
                       const struct mortise_mem *mem, bool *found)
{
    struct mortise_regex *regex;
    struct mortise_arena own;
    int rv;

    mortise_arena_init(&own, mem);
    rv = mortise_regex_compile(&regex, &own, pattern->u.s.p, pattern->u.s.n,
                               NULL, NULL);
    if (rv == MORTISE_OK)
        rv = mortise_regex_search(regex, s->u.s.p, s->u.s.n, mem, found, NULL);
    mortise_arena_finish(&own);
    return rv;
}

static bool call_matches(struct mortise_cel_ctx *c,
                         const struct mortise_cel_node *n,
                         const struct mortise_cel_value *args,
                         struct mortise_cel_value *out)
{
    enum { START = 100 }; /* with the bytes, what the steps may cost */
    const struct mortise_regex *regex = n->u.call.regex;
    const struct mortise_mem *mem = c->arena->mem;
    bool found = false;
    int rv;

    if (!two_strings(c, n, args) ||
        !mortise_cel_charge(c, START + args[0].u.s.n))
        return false;
    rv = regex != NULL ? mortise_regex_search(regex, args[0].u.s.p,
                                              args[0].u.s.n, mem, &found, NULL)
                       : search_with(&args[1], &args[0], mem, &found);
    *out = mortise_cel_bool(found);
    if (rv == MORTISE_OK)
        return true;
    return mortise_cel_fault(c, rv == MORTISE_ENOMEM   ? MORTISE_CEL_MEMORY
                                : rv == MORTISE_ELIMIT ? MORTISE_CEL_STEPS
                                                       : MORTISE_CEL_REGEX);
}

/* ---- conversions ----------------------------------------------------- */

/* [sign]digits, as a magnitude; false for anything else. */
static bool read_integer(const struct mortise_cel_value *s, bool *negative,
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

static bool string_to_int(const struct mortise_cel_value *s, int64_t *i)
{
    bool negative;
    uint64_t v;

    if (!read_integer(s, &negative, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *i = (int64_t)(negative ? 0 - v : v);
    return true;
}

static bool call_int(struct mortise_cel_ctx *c,
                     const struct mortise_cel_node *n,
                     const struct mortise_cel_value *args,
                     struct mortise_cel_value *out)
{
    int64_t i = 0;
    bool ok = true;

    switch (args->kind) {
    case MORTISE_CEL_INT:
        i = args->u.i;
        break;
    case MORTISE_CEL_UINT:
        ok = args->u.u <= INT64_MAX;
        i = ok ? (int64_t)args->u.u : 0;
        break;
    case MORTISE_CEL_DOUBLE: /* the suite wants both ends outside */
        ok = args->u.d > -0x1p63 && args->u.d < 0x1p63;
        i = ok ? (int64_t)args->u.d : 0;
        break;
    case MORTISE_CEL_STRING:
        if (!mortise_cel_charge(c, args->u.s.n))
            return false;
        ok = string_to_int(args, &i);
        break;
    default:
        return overload(c, n, args);
    }
    *out = mortise_cel_int(i);
    return ok || cannot_convert(c, args, MORTISE_CEL_INT);
}

static bool call_uint(struct mortise_cel_ctx *c,
                      const struct mortise_cel_node *n,
                      const struct mortise_cel_value *args,
                      struct mortise_cel_value *out)
{
    uint64_t u = 0;
    bool ok = true, negative = false;

    switch (args->kind) {
    case MORTISE_CEL_INT:
        ok = args->u.i >= 0;
        u = ok ? (uint64_t)args->u.i : 0;
        break;
    case MORTISE_CEL_UINT:
        u = args->u.u;
        break;
    case MORTISE_CEL_DOUBLE:
        ok = args->u.d >= 0 && args->u.d < 0x1p64;
        u = ok ? (uint64_t)args->u.d : 0;
        break;
    case MORTISE_CEL_STRING:
        if (!mortise_cel_charge(c, args->u.s.n))
            return false;
        ok = read_integer(args, &negative, &u) && !negative;
        break;
    default:
        return overload(c, n, args);
    }
    *out = mortise_cel_uint(u);
    return ok || cannot_convert(c, args, MORTISE_CEL_UINT);
}

/* Also the names of what is no decimal. */
static bool string_to_double(const struct mortise_cel_value *s, double *d)
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

static bool call_double(struct mortise_cel_ctx *c,
                        const struct mortise_cel_node *n,
                        const struct mortise_cel_value *args,
                        struct mortise_cel_value *out)
{
    double d = 0;
    bool ok = true;

    switch (args->kind) {
    case MORTISE_CEL_INT:
        d = (double)args->u.i;
        break;
    case MORTISE_CEL_UINT:
        d = (double)args->u.u;
        break;
    case MORTISE_CEL_DOUBLE:
        d = args->u.d;
        break;
    case MORTISE_CEL_STRING:
        if (!mortise_cel_charge(c, args->u.s.n))
            return false;
        ok = string_to_double(args, &d);
        break;
    default:
        return overload(c, n, args);
    }
    *out = mortise_cel_double(d);
    return ok || cannot_convert(c, args, MORTISE_CEL_DOUBLE);
}

/* A copy of a short text as a string. */
static bool short_string(struct mortise_cel_ctx *c, const char *text, size_t n,
                         struct mortise_cel_value *out)
{
    char *copy = mortise_cel_alloc(c, n, 1);

    if (copy == NULL)
        return false;
    memcpy(copy, text, n);
    *out = mortise_cel_text(MORTISE_CEL_STRING, copy, n);
    return true;
}

static bool number_to_string(struct mortise_cel_ctx *c,
                             const struct mortise_cel_value *v,
                             struct mortise_cel_value *out)
{
    char text[MORTISE_REAL_TEXT];
    size_t n;

    if (v->kind == MORTISE_CEL_DOUBLE)
        n = mortise_real_text(text, v->u.d);
    else if (v->kind == MORTISE_CEL_INT)
        n = (size_t)snprintf(text, sizeof text, "%lld", (long long)v->u.i);
    else
        n = (size_t)snprintf(text, sizeof text, "%llu",
                             (unsigned long long)v->u.u);
    return short_string(c, text, n, out);
}

static bool call_string(struct mortise_cel_ctx *c,
                        const struct mortise_cel_node *n,
                        const struct mortise_cel_value *args,
                        struct mortise_cel_value *out)
{
    switch (args->kind) {
    case MORTISE_CEL_STRING:
        *out = *args;
        return true;
    case MORTISE_CEL_INT:
    case MORTISE_CEL_UINT:
    case MORTISE_CEL_DOUBLE:
        return number_to_string(c, args, out);
    case MORTISE_CEL_BOOL:
        *out = args->u.b ? mortise_cel_text(MORTISE_CEL_STRING, "true", 4)
                         : mortise_cel_text(MORTISE_CEL_STRING, "false", 5);
        return true;
    case MORTISE_CEL_BYTES:
        if (!mortise_cel_charge(c, args->u.s.n))
            return false;
        if (!mortise_utf8_valid(args->u.s.p, args->u.s.n))
            return mortise_cel_fault(c, MORTISE_CEL_NOT_UTF8);
        *out = mortise_cel_text(MORTISE_CEL_STRING, args->u.s.p, args->u.s.n);
        return true;
    default:
        return overload(c, n, args);
    }
}

static bool call_bytes(struct mortise_cel_ctx *c,
                       const struct mortise_cel_node *n,
                       const struct mortise_cel_value *args,
                       struct mortise_cel_value *out)
{
    if (args->kind != MORTISE_CEL_STRING && args->kind != MORTISE_CEL_BYTES)
        return overload(c, n, args);
    *out = mortise_cel_text(MORTISE_CEL_BYTES, args->u.s.p, args->u.s.n);
    return true;
}

static bool call_bool(struct mortise_cel_ctx *c,
                      const struct mortise_cel_node *n,
                      const struct mortise_cel_value *args,
                      struct mortise_cel_value *out)
{
    static const char *const words[] = {
        "false", "true", "0", "1", "f", "t", "False", "True", "FALSE", "TRUE"};

    if (args->kind == MORTISE_CEL_BOOL) {
        *out = *args;
        return true;
    }
    if (args->kind != MORTISE_CEL_STRING)
        return overload(c, n, args);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == args->u.s.n &&
            memcmp(words[i], args->u.s.p, args->u.s.n) == 0) {
            *out = mortise_cel_bool(i % 2 == 1);
            return true;
        }
    }
    return cannot_convert(c, args, MORTISE_CEL_BOOL);
}

static bool call_type(struct mortise_cel_ctx *c,
                      const struct mortise_cel_node *n,
                      const struct mortise_cel_value *args,
                      struct mortise_cel_value *out)
{
    (void)c;
    (void)n;
    *out = (struct mortise_cel_value){.kind = MORTISE_CEL_TYPE,
                                      .u.type = args->kind};
    return true;
}

static bool call_dyn(struct mortise_cel_ctx *c,
                     const struct mortise_cel_node *n,
                     const struct mortise_cel_value *args,
                     struct mortise_cel_value *out)
{
    (void)c;
    (void)n;
    *out = *args;
    return true;
}

/* ---- the table ------------------------------------------------------- */

static const struct mortise_cel_function functions[] = {
    {"size", 1, true, true, {STRING | BYTES | LIST | MAP}, INT, call_size},
    {"contains", 2, true, false, {STRING, STRING}, BOOL, call_contains},
    {"startsWith", 2, true, false, {STRING, STRING}, BOOL, call_starts_with},
    {"endsWith", 2, true, false, {STRING, STRING}, BOOL, call_ends_with},
    {"matches", 2, true, true, {STRING, STRING}, BOOL, call_matches},
    {"int", 1, false, true, {NUMBER | STRING}, INT, call_int},
    {"uint", 1, false, true, {NUMBER | STRING}, UINT, call_uint},
    {"double", 1, false, true, {NUMBER | STRING}, DOUBLE, call_double},
    {"string",
     1,
     false,
     true,
     {NUMBER | STRING | BOOL | BYTES},
     STRING,
     call_string},
    {"bytes", 1, false, true, {STRING | BYTES}, BYTES, call_bytes},
    {"bool", 1, false, true, {STRING | BOOL}, BOOL, call_bool},
    {"type", 1, false, true, {ANY}, TYPE, call_type},
    {"dyn", 1, false, true, {ANY}, ANY, call_dyn},
};

const struct mortise_cel_function *mortise_cel_functions(size_t *n)
{
    *n = sizeof functions / sizeof functions[0];
    return functions;
}

bool mortise_cel_is_later(const char *name)
{
    static const char *const later[] = {
        "timestamp", "duration", "getDate", "getDayOfMonth", "getDayOfWeek",
        "getDayOfYear", "getFullYear", "getHours", "getMilliseconds",
        "getMinutes", "getMonth", "getSeconds",
        /* strings */
        "charAt", "format", "indexOf", "join", "lastIndexOf", "lowerAscii",
        "quote", "replace", "reverse", "split", "substring", "trim",
        "upperAscii",
        /* math */
        "abs", "bitAnd", "bitNot", "bitOr", "bitShiftLeft", "bitShiftRight",
        "bitXor", "ceil", "floor", "greatest", "isFinite", "isInf", "isNaN",
        "least", "round", "sign", "sqrt", "trunc"};

    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(later[i], name) == 0)
            return true;
    return false;
}
