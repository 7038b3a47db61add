/* order.c -- comparing values by the rules of JSON Schema.
 *
 * jansson distinguishes 64-bit integers from doubles, and for json_equal() 1
 * differs from 1.0.  JSON Schema has only numbers.  The promises:
 *
 *   (1) Comparison is exact: no integer is rounded to a double, so 2^53 + 1
 *       differs from 2^53 in any notation.
 *   (2) It is a total order, so equal ones among n elements are found in n log
 *       n comparisons, whatever the elements are.  A hash table would need a
 *       secret against elements chosen by an attacker.
 *   (3) Multiples are those of decimals as written: a double stands for the
 *       shortest decimal that reads back as it, and the division uses these
 *       decimals, not the doubles.
 */
#include "lang/schema/order.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/real.h"
#include "core/json/value.h"

/* ---- order ----------------------------------------------------------- */

static int order_integers(json_int_t a, json_int_t b)
{
    return (a > b) - (a < b);
}

static int order_reals(double a, double b)
{
    return (a > b) - (a < b); /* jansson has no NaN */
}

static int order_mixed(json_int_t i, double d)
{
    int by_whole;

    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    by_whole = order_integers(i, (json_int_t)d);
    return by_whole != 0 ? by_whole : order_reals(0, d - trunc(d));
}

static int order_numbers(const json_t *a, const json_t *b)
{
    if (json_is_integer(a))
        return json_is_integer(b)
                   ? order_integers(json_integer_value(a),
                                    json_integer_value(b))
                   : order_mixed(json_integer_value(a), json_real_value(b));
    return json_is_integer(b)
               ? -order_mixed(json_integer_value(b), json_real_value(a))
               : order_reals(json_real_value(a), json_real_value(b));
}

static int order_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int order_strings(const json_t *a, const json_t *b)
{
    size_t na = json_string_length(a), nb = json_string_length(b);
    int d =
        memcmp(json_string_value(a), json_string_value(b), na < nb ? na : nb);

    return d != 0 ? d : order_sizes(na, nb);
}

static int order_arrays(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);
    int d = order_sizes(n, json_array_size(b));

    for (size_t i = 0; i < n && d == 0; i++)
        d = mortise_json_compare(json_array_get(a, i), json_array_get(b, i));
    return d;
}

/* The member of b with this name; `it` is probably its position. */
static const json_t *find_counterpart(const json_t *b, void *it,
                                      const char *key)
{
    if (it != NULL && strcmp(json_object_iter_key(it), key) == 0)
        return json_object_iter_value(it);
    return json_object_get(b, key);
}

/* The smallest name at which `a` differs from b, stored in *name if it is
 * smaller than the current one, and the order there.  A missing member comes
 * after every value; *alone is set if there was one. */
static int first_difference(const json_t *a, const json_t *b, const char **name,
                            bool *alone)
{
    json_t *object = mortise_json_unconst(a), *other = mortise_json_unconst(b);
    void *beside = json_object_iter(other);
    int d = 0;

    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it)) {
        const char *key = json_object_iter_key(it);
        const json_t *peer = find_counterpart(b, beside, key);
        int here = -1;

        if (beside != NULL)
            beside = json_object_iter_next(other, beside);
        *alone |= peer == NULL;
        if (*name != NULL && strcmp(key, *name) >= 0)
            continue;
        if (peer != NULL)
            here = mortise_json_compare(json_object_iter_value(it), peer);
        if (here != 0) {
            *name = key;
            d = here;
        }
    }
    return d;
}

/* Equivalent to comparing lists sorted by name. */
static int order_objects(const json_t *a, const json_t *b)
{
    int d = order_sizes(json_object_size(a), json_object_size(b)), other;
    const char *name = NULL, *before;
    bool alone = false;

    if (d != 0)
        return d;
    d = first_difference(a, b, &name, &alone);
    if (!alone)
        return d; /* the names are equal */
    before = name;
    other = first_difference(b, a, &name, &alone);
    return name != before ? -other : d;
}

static int get_type_rank(const json_t *v)
{
    static const int ranks[] = {
        [JSON_NULL] = 0,    [JSON_FALSE] = 1,  [JSON_TRUE] = 2,
        [JSON_INTEGER] = 3, [JSON_REAL] = 3,   [JSON_STRING] = 4,
        [JSON_ARRAY] = 5,   [JSON_OBJECT] = 6,
    };

    return ranks[json_typeof(v)];
}

int mortise_json_compare(const json_t *a, const json_t *b)
{
    int d = get_type_rank(a) - get_type_rank(b);

    if (d != 0 || a == b)
        return d;
    switch (json_typeof(a)) {
    case JSON_INTEGER:
    case JSON_REAL:
        return order_numbers(a, b);
    case JSON_STRING:
        return order_strings(a, b);
    case JSON_ARRAY:
        return order_arrays(a, b);
    case JSON_OBJECT:
        return order_objects(a, b);
    default:
        return 0;
    }
}

/* ---- duplicates ------------------------------------------------------ */

struct element {
    const json_t *value;
    size_t index;
};

static int compare_array_elements(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    int d = mortise_json_compare(x->value, y->value);

    return d != 0 ? d : order_sizes(x->index, y->index);
}

/* Equal elements are adjacent, so only the first two of a group matter. */
static void find_equal_pair(const struct element *list, size_t n, bool *found,
                            size_t *first, size_t *second)
{
    for (size_t i = 1; i < n; i++) {
        if (mortise_json_compare(list[i - 1].value, list[i].value) != 0 ||
            (*found && list[i].index >= *second))
            continue;
        *found = true;
        *first = list[i - 1].index;
        *second = list[i].index;
    }
}

int mortise_json_find_repeated(const json_t *array,
                               const struct mortise_mem *mem, bool *found,
                               size_t *first, size_t *second)
{
    enum { FEW = 16 };
    struct element few[FEW], *list = few;
    size_t n = json_array_size(array);

    *found = false;
    if (n > FEW)
        list = mortise_alloc(mem, n * sizeof *list);
    if (list == NULL)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct element){json_array_get(array, i), i};
    qsort(list, n, sizeof *list, compare_array_elements);
    find_equal_pair(list, n, found, first, second);
    if (list != few)
        mortise_release(mem, list, n * sizeof *list);
    return MORTISE_OK;
}

/* ---- multiples ------------------------------------------------------- */

/* digits * 10^exponent, without trailing zeros in the digits. */
struct decimal {
    uint64_t digits;
    int exponent;
};

static struct decimal normalize_decimal(struct decimal d)
{
    while (d.digits != 0 && d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

/* At most 17 digits, which is enough for every double. */
static struct decimal make_real_decimal(double v)
{
    char text[MORTISE_REAL_TEXT];
    struct decimal d = {0, 0};
    bool behind = false;
    const char *p = text;

    mortise_real_format(text, fabs(v));
    for (; *p != '\0' && *p != 'e'; p++) {
        if (*p == '.') {
            behind = true;
            continue;
        }
        if (d.digits < UINT64_MAX / 10 - 1)
            d.digits = d.digits * 10 + (uint64_t)(*p - '0');
        else
            d.exponent++; /* a zero after 17 digits */
        d.exponent -= behind;
    }
    if (*p == 'e')
        d.exponent += atoi(p + 1);
    return normalize_decimal(d);
}

static struct decimal make_decimal(const json_t *v)
{
    json_int_t i = json_integer_value(v);

    if (!json_is_integer(v))
        return make_real_decimal(json_real_value(v));
    return normalize_decimal(
        (struct decimal){i < 0 ? 0 - (uint64_t)i : (uint64_t)i, 0});
}

/* 2r, modulo m; r < m <= 2^63. */
static uint64_t double_modulo(uint64_t r, uint64_t m)
{
    return 2 * r >= m ? 2 * r - m : 2 * r;
}

static uint64_t multiply_ten_modulo(uint64_t r, uint64_t m)
{
    uint64_t two = double_modulo(r, m),
             sum = double_modulo(double_modulo(two, m), m);

    sum = sum >= m - two ? sum - (m - two) : sum + two; /* 8r + 2r */
    return sum;
}

bool mortise_json_is_multiple(const json_t *v, const json_t *of)
{
    struct decimal a = make_decimal(v), b = make_decimal(of);
    uint64_t rest;

    assert(b.digits != 0); /* the compiler refuses 0 */
    if (a.digits == 0)
        return true;
    if (a.exponent < b.exponent)
        return false; /* v has a digit below the last one of `of` */
    rest = a.digits % b.digits;
    for (int i = a.exponent; i > b.exponent && rest != 0; i--)
        rest = multiply_ten_modulo(rest, b.digits);
    return rest == 0;
}

bool mortise_json_is_whole(const json_t *v)
{
    double d = json_real_value(v);

    if (!json_is_real(v))
        return json_is_integer(v);
    return d >= -0x1p63 && d < 0x1p63 && d == trunc(d);
}
