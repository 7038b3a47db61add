/* func_list.c -- the list extension: functions that make new lists.
 *
 * The names and meanings are those of cel-go's extension `lists`: slice(),
 * flatten(), distinct(), sort(), reverse() (func_string.c has that of strings)
 * and lists.range(). sum() is that of Kubernetes' library.
 *
 * JSON has only one kind of numbers, so a list from JSON may contain ints and
 * doubles. sort() and sum() accept both kinds in one list. cel-go's lists have
 * only one kind.
 */
#include "lang/cel/func.h"

#include <math.h>
#include <stdlib.h>

/* The elements from `from` up to `to`; NULL: the fault is set. */
static struct cel_list *copy_list_range(struct cel_ctx *c,
                                        const struct cel_value *list,
                                        size_t from, size_t to)
{
    struct cel_list *made = mortise_cel_list_new(c, to - from);

    for (size_t i = from; made != NULL && i < to; i++)
        made->items[made->n++] = mortise_cel_get_item(list, i);
    return made;
}

/* slice(from, to) */
static bool call_slice(CEL_PARAMS)
{
    int64_t from = args[1].u.i, to = args[2].u.i;
    struct cel_list *made;

    if (from < 0 || from > to || (uint64_t)to > mortise_cel_get_count(args))
        return mortise_cel_fault(c, CEL_NO_INDEX);
    made = copy_list_range(c, args, (size_t)from, (size_t)to);
    if (made != NULL)
        *out = cel_list_value(made);
    return made != NULL;
}

/* lists.range(n) */
static bool call_range(CEL_PARAMS)
{
    size_t n_items = args->u.i > 0 ? (size_t)args->u.i : 0;
    struct cel_list *made = mortise_cel_list_new(c, n_items);

    if (made == NULL)
        return false;
    for (; made->n < n_items; made->n++)
        made->items[made->n] = cel_int((int64_t)made->n);
    *out = cel_list_value(made);
    return true;
}

/* ---- flatten() --------------------------------------------------------- */

enum { DEPTH = 300 }; /* of lists in lists: the maximum of all values */

/* Count the elements that are not lists, down to `levels`, or (into not NULL)
 * append them. */
static bool flatten(struct cel_ctx *c, const struct cel_value *list,
                    int64_t levels, struct cel_list *into, size_t *count)
{
    for (size_t i = 0; i < mortise_cel_get_count(list); i++) {
        struct cel_value item = mortise_cel_get_item(list, i);

        if (!cel_charge(c, 1))
            return false;
        if (item.kind == CEL_LIST && levels > 0) {
            if (!flatten(c, &item, levels - 1, into, count))
                return false;
            continue;
        }
        if (into != NULL)
            into->items[into->n++] = item;
        ++*count;
    }
    return true;
}

/* flatten(), flatten(levels) */
static bool call_flatten(CEL_PARAMS)
{
    int64_t levels = n->n > 1 ? args[1].u.i : 1;
    struct cel_list *made;
    size_t count = 0;

    if (levels < 0)
        return mortise_cel_fault(c, CEL_NO_LEVEL);
    if (levels > DEPTH)
        levels = DEPTH;
    if (!flatten(c, args, levels, NULL, &count))
        return false;
    made = mortise_cel_list_new(c, count);
    if (made == NULL || !flatten(c, args, levels, made, &count))
        return false;
    *out = cel_list_value(made);
    return true;
}

/* ---- distinct() -------------------------------------------------------- */

/* The values that were found: possible keys in a map, the others in a list. */
struct found {
    struct cel_map *keys;
    struct cel_list *others;
};

/* The key for a value.  Equal numbers of different kinds have the same key. */
static bool normalize_key(const struct cel_value *v, struct cel_value *key)
{
    const int64_t exact = (int64_t)1 << 53;

    *key = *v;
    if (v->kind == CEL_UINT && v->u.u <= (uint64_t)exact)
        *key = cel_int((int64_t)v->u.u);
    else if (v->kind == CEL_DOUBLE && fabs(v->u.d) <= (double)exact &&
             v->u.d == trunc(v->u.d))
        *key = cel_int((int64_t)v->u.d);
    if (key->kind == CEL_INT)
        return key->u.i <= exact && key->u.i >= -exact;
    return key->kind == CEL_BOOL || key->kind == CEL_STRING;
}

static bool find_known_key(struct cel_ctx *c, struct found *f,
                           const struct cel_value *key, bool *known)
{
    struct cel_value map = {.kind = CEL_MAP, .u.map = f->keys}, value;

    return mortise_cel_map_find(c, &map, key, known, &value) &&
           (*known || mortise_cel_map_add(c, f->keys, key, key));
}

static bool find_known_other(struct cel_ctx *c, struct found *f,
                             const struct cel_value *v, bool *known)
{
    *known = false;
    for (size_t i = 0; i < f->others->n && !*known; i++)
        if (!mortise_cel_equal(c, v, &f->others->items[i], known))
            return false;
    if (!*known)
        f->others->items[f->others->n++] = *v;
    return true;
}

static bool call_distinct(CEL_PARAMS)
{
    size_t count = mortise_cel_get_count(args);
    struct cel_list *made = mortise_cel_list_new(c, count);
    struct found f = {NULL, NULL};

    if (made != NULL)
        f.others = mortise_cel_list_new(c, count);
    if (f.others != NULL)
        f.keys = mortise_cel_map_new(c, count);
    if (f.keys == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct cel_value item = mortise_cel_get_item(args, i), key;
        bool known;

        if (!(normalize_key(&item, &key)
                  ? find_known_key(c, &f, &key, &known)
                  : find_known_other(c, &f, &item, &known)))
            return false;
        if (!known)
            made->items[made->n++] = item;
    }
    *out = cel_list_value(made);
    return true;
}

/* ---- sort() ------------------------------------------------------------ */

/* NaN comes last. */
static bool is_nan(const struct cel_value *v)
{
    return v->kind == CEL_DOUBLE && isnan(v->u.d);
}

/* For qsort_r(): a fault stays in the context, and no more values are
 * compared. */
static int compare_items(const void *a, const void *b, void *arg)
{
    struct cel_ctx *c = arg;
    int order = 0;

    if (c->fault.kind != CEL_FINE || !cel_charge(c, 1) ||
        !mortise_cel_compare(c, a, b, &order))
        return 0;
    return order != 2 ? order : is_nan(a) - is_nan(b);
}

/* Are they all numbers, or all of one kind with an order? */
static bool are_comparable(struct cel_ctx *c, const struct cel_list *list)
{
    const unsigned ordered =
        BOOL | NUMBER | STRING | BYTES | TIMESTAMP | DURATION;
    unsigned kinds = 0;

    for (size_t i = 0; i < list->n; i++) {
        unsigned bit = BIT(list->items[i].kind);

        kinds |= bit & NUMBER ? NUMBER : bit;
        if (!(bit & ordered) || (kinds != NUMBER && (kinds & (kinds - 1)) != 0))
            return mortise_cel_fault_of(c, CEL_ELEMENT, list->items[i].kind, 0);
    }
    return true;
}

static bool call_sort(CEL_PARAMS)
{
    struct cel_list *made =
        copy_list_range(c, args, 0, mortise_cel_get_count(args));

    if (made == NULL || !are_comparable(c, made))
        return false;
    qsort_r(made->items, made->n, sizeof made->items[0], compare_items, c);
    *out = cel_list_value(made);
    return c->fault.kind == CEL_FINE;
}

bool mortise_cel_reverse(struct cel_ctx *c, const struct cel_value *list,
                         struct cel_value *out)
{
    size_t count = mortise_cel_get_count(list);
    struct cel_list *made = mortise_cel_list_new(c, count);

    if (made == NULL)
        return false;
    for (; made->n < count; made->n++)
        made->items[made->n] = mortise_cel_get_item(list, count - 1 - made->n);
    *out = cel_list_value(made);
    return true;
}

/* ---- sum() ------------------------------------------------------------- */

/* Add a value of the same kind. */
static bool add_to_sum(struct cel_ctx *c, struct cel_value *sum,
                       const struct cel_value *v)
{
    bool over = false;

    if (sum->kind == CEL_DOUBLE)
        sum->u.d += cel_as_double(v);
    else if (sum->kind == CEL_UINT)
        over = __builtin_add_overflow(sum->u.u, v->u.u, &sum->u.u);
    else
        over = __builtin_add_overflow(sum->u.i, v->u.i, &sum->u.i);
    return !over || mortise_cel_fault(c, CEL_OVERFLOW);
}

/* The sum of ints and doubles is a double; else all must be of one kind. */
static bool get_sum_kind(struct cel_ctx *c, const struct cel_value *list,
                         uint8_t *kind)
{
    unsigned kinds = 0;

    *kind = CEL_INT;
    for (size_t i = 0; i < mortise_cel_get_count(list); i++) {
        uint8_t one = mortise_cel_get_item(list, i).kind;

        kinds |= BIT(one);
        if (!cel_charge(c, 1))
            return false;
        if (!(BIT(one) & (NUMBER | DURATION)) ||
            (kinds != (INT | DOUBLE) && (kinds & (kinds - 1)) != 0))
            return mortise_cel_fault_of(c, CEL_ELEMENT, one, 0);
        *kind = kinds & DOUBLE ? CEL_DOUBLE : one;
    }
    return true;
}

static bool call_sum(CEL_PARAMS)
{
    struct cel_value sum = cel_int(0);

    if (!get_sum_kind(c, args, &sum.kind))
        return false;
    if (sum.kind == CEL_DOUBLE)
        sum.u.d = 0;
    for (size_t i = 0; i < mortise_cel_get_count(args); i++) {
        struct cel_value item = mortise_cel_get_item(args, i);

        if (!add_to_sum(c, &sum, &item))
            return false;
    }
    *out = sum;
    return true;
}

static const struct cel_function rows[] = {
    CEL_METHOD("slice", 3, 0, 0, call_slice, LIST, INT, INT),
    CEL_METHOD("flatten", 1, 0, LIST, call_flatten, LIST),
    CEL_METHOD("flatten", 2, 0, LIST, call_flatten, LIST, INT),
    CEL_METHOD("distinct", 1, 0, 0, call_distinct, LIST),
    CEL_METHOD("sort", 1, 0, 0, call_sort, LIST),
    CEL_METHOD("sum", 1, 0, NUMBER | DURATION, call_sum, LIST),
    CEL_LISTS("lists.range", 1, CEL_GLOBAL, INT, call_range, INT),
};

const struct cel_functions mortise_cel_list_functions = {
    rows, sizeof rows / sizeof rows[0]};
