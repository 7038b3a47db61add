/* eval.c -- an expression's value, by walking its tree.
 *
 *   (1) It ends: every node entered costs 1 and every byte or element touched
 *       is charged by who touches it, until `left` is spent.
 *   (2) It needs little stack: the tree's height was bounded by the parser.
 *   (3) Scalars need no memory.  What is made (strings, lists, maps) lies in
 *       the context's arena, whose first block is allocated by the first need.
 *   (4) `&&`, `||`, all() and exists() absorb errors as CEL demands: what one
 *       operand decides stands, whatever the others did.  Running out of
 *       cost or memory is not an error of the expression and is never absorbed.
 *
 * A fault is a few words in the context (value.h); only mortise_cel_report()
 * makes sentences of it, so that an absorbed one costs next to nothing.
 */
#include "cel/eval.h"

#include <assert.h>
#include <string.h>

struct ev {
    struct mortise_cel_ctx *c;
    const struct mortise_cel_inputs *in;
    const struct mortise_cel_name *names; /* of the scope, for messages */
    struct mortise_cel_value *slots;
};

static bool eval(struct ev *e, const struct mortise_cel_node *n,
                 struct mortise_cel_value *out);

/* ---- faults ---------------------------------------------------------- */

/* A fault about one value of the wrong kind, at the node that gave it. */
static bool wrong_kind(struct ev *e, enum mortise_cel_fault_kind kind,
                       const struct mortise_cel_node *at,
                       const struct mortise_cel_value *v)
{
    mortise_cel_fault(e->c, kind);
    e->c->fault.x = v->kind;
    e->c->fault.at = at;
    return false;
}

static bool overload(struct ev *e, const struct mortise_cel_value *a,
                     const struct mortise_cel_value *b)
{
    mortise_cel_fault(e->c, MORTISE_CEL_OVERLOAD);
    e->c->fault.x = a->kind;
    e->c->fault.y = b != NULL ? b->kind : MORTISE_CEL_KINDS;
    return false;
}

static bool named_fault(struct ev *e, enum mortise_cel_fault_kind kind,
                        const char *name, size_t n)
{
    mortise_cel_fault(e->c, kind);
    e->c->fault.name = name;
    e->c->fault.n_name = n;
    return false;
}

static bool is_fatal(const struct ev *e)
{
    return e->c->fault.kind >= MORTISE_CEL_COST;
}

/* ---- names and members ----------------------------------------------- */

static bool eval_name(struct ev *e, const struct mortise_cel_node *n,
                      struct mortise_cel_value *out)
{
    const json_t *v;

    if (e->in->typed != NULL) {
        *out = e->in->typed[n->u.index];
        return true;
    }
    v = e->in->json[n->u.index];
    if (v != NULL) {
        *out = mortise_cel_from_json(v);
        return true;
    }
    return named_fault(e, MORTISE_CEL_UNSET, e->names[n->u.index].name,
                       strlen(e->names[n->u.index].name));
}

static bool eval_select(struct ev *e, const struct mortise_cel_node *n,
                        struct mortise_cel_value *out)
{
    struct mortise_cel_value of, key;
    bool found;

    if (!eval(e, n->kids[0], &of))
        return false;
    if (of.kind != MORTISE_CEL_MAP)
        return wrong_kind(e, MORTISE_CEL_NO_MEMBERS, n, &of);
    key = mortise_cel_text(MORTISE_CEL_STRING, n->u.name.p, n->u.name.n);
    if (!mortise_cel_map_find(e->c, &of, &key, &found, out))
        return false;
    if (n->op == MORTISE_CEL_HAS)
        *out = mortise_cel_bool(found);
    else if (!found)
        return named_fault(e, MORTISE_CEL_NO_KEY, n->u.name.p, n->u.name.n);
    return true;
}

static bool index_list(struct ev *e, const struct mortise_cel_value *list,
                       const struct mortise_cel_value *key,
                       struct mortise_cel_value *out)
{
    uint64_t i;

    if (key->kind == MORTISE_CEL_INT && key->u.i >= 0)
        i = (uint64_t)key->u.i;
    else if (key->kind == MORTISE_CEL_UINT)
        i = key->u.u;
    else if (key->kind == MORTISE_CEL_DOUBLE && key->u.d >= 0 &&
             key->u.d < 0x1p53 && key->u.d == (double)(uint64_t)key->u.d)
        i = (uint64_t)key->u.d;
    else
        return mortise_cel_fault(e->c, key->kind == MORTISE_CEL_INT
                                           ? MORTISE_CEL_NO_INDEX
                                           : MORTISE_CEL_BAD_INDEX);
    if (i >= mortise_cel_count(list))
        return mortise_cel_fault(e->c, MORTISE_CEL_NO_INDEX);
    *out = mortise_cel_item(list, i);
    return true;
}

static bool index_map(struct ev *e, const struct mortise_cel_value *map,
                      const struct mortise_cel_value *key,
                      struct mortise_cel_value *out)
{
    bool found;

    if (!mortise_cel_map_find(e->c, map, key, &found, out))
        return false;
    if (found)
        return true;
    if (key->kind == MORTISE_CEL_STRING)
        return named_fault(e, MORTISE_CEL_NO_KEY, key->u.s.p, key->u.s.n);
    return named_fault(e, MORTISE_CEL_NO_KEY, NULL, 0);
}

static bool eval_index(struct ev *e, const struct mortise_cel_node *n,
                       struct mortise_cel_value *out)
{
    struct mortise_cel_value of, key;

    if (!eval(e, n->kids[0], &of) || !eval(e, n->kids[1], &key))
        return false;
    if (of.kind == MORTISE_CEL_LIST)
        return index_list(e, &of, &key, out);
    if (of.kind == MORTISE_CEL_MAP)
        return index_map(e, &of, &key, out);
    return wrong_kind(e, MORTISE_CEL_NO_MEMBERS, n, &of);
}

/* ---- arithmetic ------------------------------------------------------ */

static bool calc_int(struct ev *e, unsigned op, int64_t a, int64_t b,
                     struct mortise_cel_value *out)
{
    bool over = false;
    int64_t r = 0;

    if (op == MORTISE_CEL_DIVIDE || op == MORTISE_CEL_MODULO) {
        if (b == 0)
            return mortise_cel_fault(e->c, MORTISE_CEL_BY_ZERO);
        over = a == INT64_MIN && b == -1;
        if (!over)
            r = op == MORTISE_CEL_DIVIDE ? a / b : a % b;
    } else {
        over = op == MORTISE_CEL_ADD        ? __builtin_add_overflow(a, b, &r)
               : op == MORTISE_CEL_SUBTRACT ? __builtin_sub_overflow(a, b, &r)
                                            : __builtin_mul_overflow(a, b, &r);
    }
    *out = mortise_cel_int(r);
    return !over || mortise_cel_fault(e->c, MORTISE_CEL_OVERFLOW);
}

static bool calc_uint(struct ev *e, unsigned op, uint64_t a, uint64_t b,
                      struct mortise_cel_value *out)
{
    bool over = false;
    uint64_t r = 0;

    if (op == MORTISE_CEL_DIVIDE || op == MORTISE_CEL_MODULO) {
        if (b == 0)
            return mortise_cel_fault(e->c, MORTISE_CEL_BY_ZERO);
        r = op == MORTISE_CEL_DIVIDE ? a / b : a % b;
    } else {
        over = op == MORTISE_CEL_ADD        ? __builtin_add_overflow(a, b, &r)
               : op == MORTISE_CEL_SUBTRACT ? __builtin_sub_overflow(a, b, &r)
                                            : __builtin_mul_overflow(a, b, &r);
    }
    *out = mortise_cel_uint(r);
    return !over || mortise_cel_fault(e->c, MORTISE_CEL_OVERFLOW);
}

static double calc_double(unsigned op, double a, double b)
{
    return op == MORTISE_CEL_ADD        ? a + b
           : op == MORTISE_CEL_SUBTRACT ? a - b
           : op == MORTISE_CEL_MULTIPLY ? a * b
                                        : a / b;
}

static bool join_text(struct ev *e, const struct mortise_cel_value *a,
                      const struct mortise_cel_value *b,
                      struct mortise_cel_value *out)
{
    char *text;

    text = mortise_cel_alloc(e->c, a->u.s.n + b->u.s.n, 1);
    if (text == NULL)
        return false;
    memcpy(text, a->u.s.p, a->u.s.n);
    memcpy(text + a->u.s.n, b->u.s.p, b->u.s.n);
    *out = mortise_cel_text(a->kind, text, a->u.s.n + b->u.s.n);
    return true;
}

static bool join_lists(struct ev *e, const struct mortise_cel_value *a,
                       const struct mortise_cel_value *b,
                       struct mortise_cel_value *out)
{
    size_t na = mortise_cel_count(a), nb = mortise_cel_count(b);
    struct mortise_cel_list *list = mortise_cel_list_new(e->c, na + nb);

    if (list == NULL)
        return false;
    for (size_t i = 0; i < na; i++)
        list->items[list->n++] = mortise_cel_item(a, i);
    for (size_t i = 0; i < nb; i++)
        list->items[list->n++] = mortise_cel_item(b, i);
    *out = mortise_cel_list_value(list);
    return true;
}

static bool out_of_range(struct ev *e, enum mortise_cel_kind kind)
{
    mortise_cel_fault(e->c, MORTISE_CEL_RANGE);
    e->c->fault.x = (uint8_t)kind;
    return false;
}

/* A timestamp and a duration, in either order, or two timestamps. */
static bool calc_time(struct ev *e, unsigned op,
                      const struct mortise_cel_value *a,
                      const struct mortise_cel_value *b,
                      struct mortise_cel_value *out)
{
    const struct mortise_cel_value *when =
        a->kind == MORTISE_CEL_TIMESTAMP ? a : b;
    int64_t ns = when == a ? b->u.i : a->u.i;
    bool fits;

    if (op == MORTISE_CEL_SUBTRACT && b->kind == MORTISE_CEL_TIMESTAMP) {
        if (a->kind != MORTISE_CEL_TIMESTAMP)
            return overload(e, a, b);
        fits = mortise_cel_time_difference(a->u.time, b->u.time, &ns);
        *out = mortise_cel_duration(ns);
        return fits || out_of_range(e, MORTISE_CEL_DURATION);
    }
    if (a->kind == b->kind ||
        (op != MORTISE_CEL_ADD && op != MORTISE_CEL_SUBTRACT))
        return overload(e, a, b);
    *out = mortise_cel_timestamp(when->u.time);
    fits = (op == MORTISE_CEL_ADD || !__builtin_sub_overflow(0, ns, &ns)) &&
           mortise_cel_time_add(when->u.time, ns, &out->u.time);
    return fits || out_of_range(e, MORTISE_CEL_TIMESTAMP);
}

static bool calc_duration(struct ev *e, unsigned op,
                          const struct mortise_cel_value *a,
                          const struct mortise_cel_value *b,
                          struct mortise_cel_value *out)
{
    int64_t ns = 0;
    bool over;

    if (op != MORTISE_CEL_ADD && op != MORTISE_CEL_SUBTRACT)
        return overload(e, a, b);
    over = op == MORTISE_CEL_ADD ? __builtin_add_overflow(a->u.i, b->u.i, &ns)
                                 : __builtin_sub_overflow(a->u.i, b->u.i, &ns);
    *out = mortise_cel_duration(ns);
    return !over || out_of_range(e, MORTISE_CEL_DURATION);
}

/* Are they what calc_time() can take? */
static bool is_time(const struct mortise_cel_value *a,
                    const struct mortise_cel_value *b)
{
    return (a->kind == MORTISE_CEL_TIMESTAMP ||
            a->kind == MORTISE_CEL_DURATION) &&
           (b->kind == MORTISE_CEL_TIMESTAMP ||
            b->kind == MORTISE_CEL_DURATION);
}

static bool calc(struct ev *e, unsigned op, const struct mortise_cel_value *a,
                 const struct mortise_cel_value *b,
                 struct mortise_cel_value *out)
{
    if (a->kind != b->kind)
        return is_time(a, b) ? calc_time(e, op, a, b, out) : overload(e, a, b);
    switch (a->kind) {
    case MORTISE_CEL_INT:
        return calc_int(e, op, a->u.i, b->u.i, out);
    case MORTISE_CEL_UINT:
        return calc_uint(e, op, a->u.u, b->u.u, out);
    case MORTISE_CEL_DOUBLE:
        if (op == MORTISE_CEL_MODULO)
            return overload(e, a, b);
        *out = mortise_cel_double(calc_double(op, a->u.d, b->u.d));
        return true;
    case MORTISE_CEL_STRING:
    case MORTISE_CEL_BYTES:
        return op == MORTISE_CEL_ADD ? join_text(e, a, b, out)
                                     : overload(e, a, b);
    case MORTISE_CEL_LIST:
        return op == MORTISE_CEL_ADD ? join_lists(e, a, b, out)
                                     : overload(e, a, b);
    case MORTISE_CEL_TIMESTAMP:
        return calc_time(e, op, a, b, out);
    case MORTISE_CEL_DURATION:
        return calc_duration(e, op, a, b, out);
    default:
        return overload(e, a, b);
    }
}

static bool negate(struct ev *e, const struct mortise_cel_value *v,
                   struct mortise_cel_value *out)
{
    if (v->kind == MORTISE_CEL_INT)
        return calc_int(e, MORTISE_CEL_SUBTRACT, 0, v->u.i, out);
    if (v->kind != MORTISE_CEL_DOUBLE)
        return overload(e, v, NULL);
    *out = mortise_cel_double(-v->u.d);
    return true;
}

/* ---- comparison ------------------------------------------------------ */

static bool ordered(struct ev *e, unsigned op,
                    const struct mortise_cel_value *a,
                    const struct mortise_cel_value *b,
                    struct mortise_cel_value *out)
{
    int order;
    bool holds;

    if (!mortise_cel_compare(e->c, a, b, &order))
        return false;
    holds = op == MORTISE_CEL_LT   ? order < 0
            : op == MORTISE_CEL_LE ? order <= 0
            : op == MORTISE_CEL_GT ? order == 1
                                   : order == 0 || order == 1;
    *out = mortise_cel_bool(holds); /* with a NaN, order 2, none does */
    return true;
}

static bool is_in(struct ev *e, const struct mortise_cel_value *v,
                  const struct mortise_cel_value *in,
                  struct mortise_cel_value *out)
{
    struct mortise_cel_value item;
    bool found = false;

    if (in->kind == MORTISE_CEL_MAP) {
        if (!mortise_cel_map_find(e->c, in, v, &found, &item))
            return false;
    } else if (in->kind == MORTISE_CEL_LIST) {
        for (size_t i = 0; i < mortise_cel_count(in) && !found; i++) {
            item = mortise_cel_item(in, i);
            if (!mortise_cel_equal(e->c, v, &item, &found))
                return false;
        }
    } else {
        return overload(e, v, in);
    }
    *out = mortise_cel_bool(found);
    return true;
}

static bool eval_binary(struct ev *e, const struct mortise_cel_node *n,
                        struct mortise_cel_value *out)
{
    struct mortise_cel_value a, b;
    bool same;

    if (!eval(e, n->kids[0], &a) || !eval(e, n->kids[1], &b))
        return false;
    switch (n->op) {
    case MORTISE_CEL_EQ:
    case MORTISE_CEL_NE:
        if (!mortise_cel_equal(e->c, &a, &b, &same))
            return false;
        *out = mortise_cel_bool(same == (n->op == MORTISE_CEL_EQ));
        return true;
    case MORTISE_CEL_LT:
    case MORTISE_CEL_LE:
    case MORTISE_CEL_GT:
    case MORTISE_CEL_GE:
        return ordered(e, n->op, &a, &b, out);
    case MORTISE_CEL_IN:
        return is_in(e, &a, &b, out);
    default:
        return calc(e, n->op, &a, &b, out);
    }
}

static bool eval_unary(struct ev *e, const struct mortise_cel_node *n,
                       struct mortise_cel_value *out)
{
    struct mortise_cel_value v;

    if (!eval(e, n->kids[0], &v))
        return false;
    if (n->op == MORTISE_CEL_NEGATE)
        return negate(e, &v, out);
    if (v.kind != MORTISE_CEL_BOOL)
        return overload(e, &v, NULL);
    *out = mortise_cel_bool(!v.u.b);
    return true;
}

/* ---- logic ----------------------------------------------------------- */

static bool eval_bool(struct ev *e, const struct mortise_cel_node *n, bool *out)
{
    struct mortise_cel_value v;

    if (!eval(e, n, &v))
        return false;
    if (v.kind != MORTISE_CEL_BOOL)
        return wrong_kind(e, MORTISE_CEL_NOT_BOOL, n, &v);
    *out = v.u.b;
    return true;
}

/* Many booleans of which one may decide (false for a conjunction, true for a
 * disjunction), whatever errors the others are. */
struct verdict {
    bool decisive; /* the value that decides */
    bool decided, failed;
    struct mortise_cel_fault first; /* where it failed */
};

/* Hear one more; false when nothing more can be heard. */
static bool hear(struct ev *e, struct verdict *v,
                 const struct mortise_cel_node *n)
{
    bool b;

    if (eval_bool(e, n, &b)) {
        v->decided = b == v->decisive;
        return true;
    }
    if (is_fatal(e))
        return false;
    if (!v->failed)
        v->first = e->c->fault;
    v->failed = true;
    mortise_cel_fault(e->c, MORTISE_CEL_FINE);
    return true;
}

static bool conclude(struct ev *e, const struct verdict *v,
                     struct mortise_cel_value *out)
{
    if (!v->decided && v->failed) {
        e->c->fault = v->first;
        return false;
    }
    *out = mortise_cel_bool(v->decided == v->decisive);
    return true;
}

static bool eval_logic(struct ev *e, const struct mortise_cel_node *n,
                       struct mortise_cel_value *out)
{
    struct verdict v = {.decisive = n->op == MORTISE_CEL_OR};

    for (uint32_t i = 0; i < n->n && !v.decided; i++)
        if (!hear(e, &v, n->kids[i]))
            return false;
    return conclude(e, &v, out);
}

static bool eval_condition(struct ev *e, const struct mortise_cel_node *n,
                           struct mortise_cel_value *out)
{
    bool test;

    return eval_bool(e, n->kids[0], &test) &&
           eval(e, n->kids[test ? 1 : 2], out);
}

/* ---- making and calling ---------------------------------------------- */

static bool eval_list(struct ev *e, const struct mortise_cel_node *n,
                      struct mortise_cel_value *out)
{
    struct mortise_cel_list *list = mortise_cel_list_new(e->c, n->n);

    if (list == NULL)
        return false;
    for (; list->n < n->n; list->n++)
        if (!eval(e, n->kids[list->n], &list->items[list->n]))
            return false;
    *out = mortise_cel_list_value(list);
    return true;
}

static bool eval_map(struct ev *e, const struct mortise_cel_node *n,
                     struct mortise_cel_value *out)
{
    struct mortise_cel_map *map = mortise_cel_map_new(e->c, n->n / 2);
    struct mortise_cel_value key, value;

    if (map == NULL)
        return false;
    for (uint32_t i = 0; i < n->n; i += 2)
        if (!eval(e, n->kids[i], &key) || !eval(e, n->kids[i + 1], &value) ||
            !mortise_cel_map_add(e->c, map, &key, &value))
            return false;
    *out = (struct mortise_cel_value){.kind = MORTISE_CEL_MAP, .u.map = map};
    return true;
}

static bool eval_call(struct ev *e, const struct mortise_cel_node *n,
                      struct mortise_cel_value *out)
{
    const struct mortise_cel_function *f = n->u.call.function;
    struct mortise_cel_value args[MORTISE_CEL_ARGS];

    if (f->n_args == MORTISE_CEL_MANY && n->n > 1)
        return eval_list(e, n, &args[0]) && f->call(e->c, n, args, out);
    for (uint32_t i = 0; i < n->n; i++)
        if (!eval(e, n->kids[i], &args[i]))
            return false;
    return f->call(e->c, n, args, out);
}

/* ---- macros ---------------------------------------------------------- */

/* A walk over the range, with the variables in their slots. */
struct walk {
    const struct mortise_cel_node *node;
    struct mortise_cel_value range;
    struct mortise_cel_cursor cursor;
};

static bool walk_init(struct ev *e, struct walk *w,
                      const struct mortise_cel_node *n)
{
    w->node = n;
    if (!eval(e, n->kids[0], &w->range))
        return false;
    if (w->range.kind != MORTISE_CEL_LIST && w->range.kind != MORTISE_CEL_MAP)
        return wrong_kind(e, MORTISE_CEL_NO_MEMBERS, n, &w->range);
    mortise_cel_cursor_init(&w->cursor, &w->range);
    return true;
}

/* One variable is a list's element or a map's key; two are both. */
static bool walk_next(struct ev *e, struct walk *w)
{
    struct mortise_cel_value key, value;
    const uint32_t *slot = w->node->u.fold.slot;

    if (!mortise_cel_next(&w->cursor, &key, &value))
        return false;
    if (w->node->u.fold.var[1].p != NULL) {
        e->slots[slot[0]] = key;
        e->slots[slot[1]] = value;
    } else {
        e->slots[slot[0]] = w->range.kind == MORTISE_CEL_LIST ? value : key;
    }
    return true;
}

/* Does the condition, where there is one, hold here? */
static bool wanted(struct ev *e, const struct mortise_cel_node *n, bool *out)
{
    *out = true;
    return n->kids[1] == NULL || eval_bool(e, n->kids[1], out);
}

static bool eval_quantifier(struct ev *e, const struct mortise_cel_node *n,
                            struct mortise_cel_value *out)
{
    struct verdict v = {.decisive = n->op == MORTISE_CEL_EXISTS};
    struct walk w;

    if (!walk_init(e, &w, n))
        return false;
    while (!v.decided && walk_next(e, &w))
        if (!hear(e, &v, n->kids[1]))
            return false;
    return conclude(e, &v, out);
}

static bool eval_exists_one(struct ev *e, const struct mortise_cel_node *n,
                            struct mortise_cel_value *out)
{
    size_t count = 0;
    struct walk w;
    bool holds;

    if (!walk_init(e, &w, n))
        return false;
    while (walk_next(e, &w)) {
        if (!wanted(e, n, &holds))
            return false;
        count += holds;
    }
    *out = mortise_cel_bool(count == 1);
    return true;
}

/* What the macro makes here: its body, or the element itself. */
static bool product(struct ev *e, const struct mortise_cel_node *n,
                    struct mortise_cel_value *out)
{
    if (n->kids[2] != NULL)
        return eval(e, n->kids[2], out);
    *out = e->slots[n->u.fold.slot[0]];
    return true;
}

static bool eval_make_list(struct ev *e, const struct mortise_cel_node *n,
                           struct mortise_cel_value *out)
{
    struct mortise_cel_list *list;
    struct walk w;
    bool holds;

    if (!walk_init(e, &w, n))
        return false;
    list = mortise_cel_list_new(e->c, w.cursor.n);
    if (list == NULL)
        return false;
    while (walk_next(e, &w)) {
        if (!wanted(e, n, &holds) ||
            (holds && !product(e, n, &list->items[list->n])))
            return false;
        list->n += holds;
    }
    *out = mortise_cel_list_value(list);
    return true;
}

static bool eval_make_map(struct ev *e, const struct mortise_cel_node *n,
                          struct mortise_cel_value *out)
{
    struct mortise_cel_value made;
    struct mortise_cel_map *map;
    struct walk w;
    bool holds;

    if (!walk_init(e, &w, n))
        return false;
    map = mortise_cel_map_new(e->c, w.cursor.n);
    if (map == NULL)
        return false;
    while (walk_next(e, &w)) {
        if (!wanted(e, n, &holds))
            return false;
        if (holds && (!product(e, n, &made) ||
                      !mortise_cel_map_add(
                          e->c, map, &e->slots[n->u.fold.slot[0]], &made)))
            return false;
    }
    *out = (struct mortise_cel_value){.kind = MORTISE_CEL_MAP, .u.map = map};
    return true;
}

/* ---- the walk -------------------------------------------------------- */

static bool eval_node(struct ev *e, const struct mortise_cel_node *n,
                      struct mortise_cel_value *out)
{
    switch ((enum mortise_cel_op)n->op) {
    case MORTISE_CEL_CONST:
        *out = n->u.constant;
        return true;
    case MORTISE_CEL_IDENT:
        break;
    case MORTISE_CEL_NAME:
        return eval_name(e, n, out);
    case MORTISE_CEL_LOCAL:
        *out = e->slots[n->u.index];
        return true;
    case MORTISE_CEL_SELECT:
    case MORTISE_CEL_HAS:
        return eval_select(e, n, out);
    case MORTISE_CEL_INDEX:
        return eval_index(e, n, out);
    case MORTISE_CEL_NOT:
    case MORTISE_CEL_NEGATE:
        return eval_unary(e, n, out);
    case MORTISE_CEL_ADD:
    case MORTISE_CEL_SUBTRACT:
    case MORTISE_CEL_MULTIPLY:
    case MORTISE_CEL_DIVIDE:
    case MORTISE_CEL_MODULO:
    case MORTISE_CEL_EQ:
    case MORTISE_CEL_NE:
    case MORTISE_CEL_LT:
    case MORTISE_CEL_LE:
    case MORTISE_CEL_GT:
    case MORTISE_CEL_GE:
    case MORTISE_CEL_IN:
        return eval_binary(e, n, out);
    case MORTISE_CEL_AND:
    case MORTISE_CEL_OR:
        return eval_logic(e, n, out);
    case MORTISE_CEL_COND:
        return eval_condition(e, n, out);
    case MORTISE_CEL_NEWLIST:
        return eval_list(e, n, out);
    case MORTISE_CEL_NEWMAP:
        return eval_map(e, n, out);
    case MORTISE_CEL_CALL:
        return eval_call(e, n, out);
    case MORTISE_CEL_ALL:
    case MORTISE_CEL_EXISTS:
        return eval_quantifier(e, n, out);
    case MORTISE_CEL_EXISTS_ONE:
        return eval_exists_one(e, n, out);
    case MORTISE_CEL_MAKE_LIST:
        return eval_make_list(e, n, out);
    case MORTISE_CEL_MAKE_MAP:
        return eval_make_map(e, n, out);
    }
    assert(false); /* the checker leaves no IDENT, and there is no other op */
    return mortise_cel_fault(e->c, MORTISE_CEL_DEPTH);
}

static bool eval(struct ev *e, const struct mortise_cel_node *n,
                 struct mortise_cel_value *out)
{
    if (mortise_cel_charge(e->c, 1) && eval_node(e, n, out))
        return true;
    if (e->c->fault.at == NULL)
        e->c->fault.at = n;
    return false;
}

bool mortise_cel_run(const struct mortise_cel *prog,
                     const struct mortise_cel_inputs *in,
                     struct mortise_cel_ctx *c, struct mortise_cel_value *out)
{
    enum { FEW = 8 };
    struct mortise_cel_value few[FEW];
    struct ev e = {.c = c, .in = in, .names = prog->names, .slots = few};

    mortise_cel_fault(c, MORTISE_CEL_FINE);
    if (prog->n_slots > FEW)
        e.slots =
            mortise_arena_alloc(c->arena, prog->n_slots * sizeof *e.slots);
    if (e.slots == NULL)
        return mortise_cel_fault(c, MORTISE_CEL_MEMORY);
    return eval(&e, prog->root, out);
}
