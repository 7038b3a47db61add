/* func_math.c -- the math extension: math.greatest() and similar functions.
 *
 * Numbers of different kinds are compared by value, and of equal numbers the
 * first is returned.  Bit functions operate on 64-bit numbers: a right shift of
 * an int fills with zeros, and a shift by 64 or more returns 0.
 */
#include "lang/cel/func.h"

#include <math.h>

static bool is_number_kind(const struct cel_value *v)
{
    return (NUMBER & BIT(v->kind)) != 0;
}

/* ---- the greatest and the least ---------------------------------------- */

enum { GREATEST, LEAST };

static bool keep_extreme(struct cel_ctx *c, const struct cel_node *n,
                         const struct cel_value *v, struct cel_value *best)
{
    int order, wanted = n->u.call.function->which == GREATEST ? 1 : -1;

    if (!is_number_kind(v))
        return mortise_cel_fault_of(c, CEL_ELEMENT, v->kind, 0);
    if (!cel_charge(c, 1) || !mortise_cel_compare(c, v, best, &order))
        return false;
    if (order == wanted)
        *best = *v;
    return true;
}

/* A single number is returned itself.  Otherwise the argument is a list,
 * perhaps made from several arguments. */
static bool call_extreme(CEL_PARAMS)
{
    struct cel_value item;

    if (is_number_kind(args)) {
        *out = *args;
        return true;
    }
    if (mortise_cel_get_count(args) == 0)
        return mortise_cel_fault(c, CEL_EMPTY);
    *out = mortise_cel_get_item(args, 0);
    for (size_t i = 0; i < mortise_cel_get_count(args); i++) {
        item = mortise_cel_get_item(args, i);
        if (!is_number_kind(out))
            *out = item; /* keep_extreme() refuses it */
        if (!keep_extreme(c, n, &item, out))
            return false;
    }
    return true;
}

/* ---- of one double ----------------------------------------------------- */

enum { CEIL, FLOOR, ROUND, TRUNC, IS_NAN, IS_INF, IS_FINITE };

static bool call_on_double(CEL_PARAMS)
{
    /* round(): halves are rounded away from zero */
    static double (*const whole[])(double) = {
        [CEIL] = ceil, [FLOOR] = floor, [ROUND] = round, [TRUNC] = trunc};
    const uint8_t which = n->u.call.function->which;
    const double d = args->u.d;

    if (which <= TRUNC)
        *out = cel_double(whole[which](d));
    else
        *out = cel_bool(which == IS_NAN   ? isnan(d)
                        : which == IS_INF ? isinf(d)
                                          : isfinite(d));
    return true;
}

/* ---- of one number ----------------------------------------------------- */

static bool call_abs(CEL_PARAMS)
{
    *out = *args;
    if (args->kind == CEL_DOUBLE)
        out->u.d = fabs(args->u.d);
    if (args->kind != CEL_INT || args->u.i >= 0)
        return true;
    return !__builtin_sub_overflow(0, args->u.i, &out->u.i) ||
           mortise_cel_fault(c, CEL_OVERFLOW);
}

static bool call_sign(CEL_PARAMS)
{
    double d = args->u.d;

    if (args->kind == CEL_INT)
        *out = cel_int((args->u.i > 0) - (args->u.i < 0));
    else if (args->kind == CEL_UINT)
        *out = cel_uint(args->u.u > 0);
    else
        *out = cel_double(isnan(d) ? d : (d > 0) - (d < 0));
    return true;
}

static bool call_sqrt(CEL_PARAMS)
{
    *out = cel_double(sqrt(cel_as_double(args)));
    return true;
}

/* ---- bits -------------------------------------------------------------- */

enum { AND, OR, XOR, LEFT, RIGHT };

/* An int and a uint use the same bits. */
static struct cel_value make_bits(const struct cel_value *like, uint64_t u)
{
    return (struct cel_value){.kind = like->kind, .u.u = u};
}

static bool call_bits(CEL_PARAMS)
{
    uint64_t a = args[0].u.u, b = args[1].u.u;
    uint8_t which = n->u.call.function->which;

    if (args[1].kind != args[0].kind)
        return mortise_cel_fail_overload(c, n, args);
    *out = make_bits(args, which == AND ? a & b : which == OR ? a | b : a ^ b);
    return true;
}

static bool call_bit_not(CEL_PARAMS)
{
    *out = make_bits(args, ~args->u.u);
    return true;
}

static bool call_shift(CEL_PARAMS)
{
    uint64_t a = args[0].u.u;
    int64_t by = args[1].u.i;

    if (by < 0)
        return mortise_cel_fault(c, CEL_SHIFT);
    *out = make_bits(args, by > 63                              ? 0
                           : n->u.call.function->which == RIGHT ? a >> by
                                                                : a << by);
    return true;
}

/* result 0: the kind of the argument. */
#define MATH(name, n, which, result, call, ...)                                \
    CEL_FUNCTION("math." name, n, CEL_GLOBAL, which, result, call, NULL,       \
                 __VA_ARGS__)

static const struct cel_function rows[] = {
    MATH("greatest", CEL_MANY, GREATEST, NUMBER, call_extreme, NUMBER | LIST),
    MATH("least", CEL_MANY, LEAST, NUMBER, call_extreme, NUMBER | LIST),
    MATH("ceil", 1, CEIL, DOUBLE, call_on_double, DOUBLE),
    MATH("floor", 1, FLOOR, DOUBLE, call_on_double, DOUBLE),
    MATH("round", 1, ROUND, DOUBLE, call_on_double, DOUBLE),
    MATH("trunc", 1, TRUNC, DOUBLE, call_on_double, DOUBLE),
    MATH("isNaN", 1, IS_NAN, BOOL, call_on_double, DOUBLE),
    MATH("isInf", 1, IS_INF, BOOL, call_on_double, DOUBLE),
    MATH("isFinite", 1, IS_FINITE, BOOL, call_on_double, DOUBLE),
    MATH("abs", 1, 0, 0, call_abs, NUMBER),
    MATH("sign", 1, 0, 0, call_sign, NUMBER),
    MATH("sqrt", 1, 0, DOUBLE, call_sqrt, NUMBER),
    MATH("bitAnd", 2, AND, 0, call_bits, WHOLE, WHOLE),
    MATH("bitOr", 2, OR, 0, call_bits, WHOLE, WHOLE),
    MATH("bitXor", 2, XOR, 0, call_bits, WHOLE, WHOLE),
    MATH("bitNot", 1, 0, 0, call_bit_not, WHOLE),
    MATH("bitShiftLeft", 2, LEFT, 0, call_shift, WHOLE, INT),
    MATH("bitShiftRight", 2, RIGHT, 0, call_shift, WHOLE, INT),
};

const struct cel_functions mortise_cel_math_functions = {
    rows, sizeof rows / sizeof rows[0]};
