/* eval.c -- evaluation of an expression by a traversal of its tree.
 *
 *   (1) It ends: each node costs 1, and the code that processes bytes or
 *       elements charges for each of them, until `left` is used up.
 *   (2) It needs little stack, because the parser limits the tree's height.
 *   (3) Scalars need no memory.  New strings, lists and maps are in the
 *       context's arena, whose first block is allocated at the first use.
 *   (4) `&&`, `||`, all() and exists() absorb errors as CEL requires: if one
 *       operand decides the result, errors of the others do not matter.  The
 *       end of cost or memory is not an error of the expression, and is never
 *       absorbed.
 *
 * A fault is only a small struct in the context (value.h). mortise_cel_report_fault()
 * makes the message, so an absorbed fault costs almost nothing.
 */
#include "lang/cel/eval.h"

#include <assert.h>
#include <string.h>

#include "lang/cel/func.h"

struct ev {
    struct cel_ctx *c;
    const struct cel_inputs *in;
    const struct mortise_cel_name *names; /* of the scope, for messages */
    struct cel_value *slots;
};

/* The parameters of evaluating functions: evaluate the node n into *out. */
#define EVAL struct ev *e, const struct cel_node *n, struct cel_value *out

static bool eval_expression(EVAL);

/* ---- faults ---------------------------------------------------------- */

/* A fault about a value of the wrong kind, at its node. */
static bool set_kind_fault(struct ev *e, enum cel_fault_kind kind,
                           const struct cel_node *at, const struct cel_value *v)
{
    mortise_cel_fault_of(e->c, kind, v->kind, 0);
    e->c->fault.at = at;
    return false;
}

static bool set_overload_fault(struct ev *e, const struct cel_value *a,
                               const struct cel_value *b)
{
    return mortise_cel_fault_of(e->c, CEL_OVERLOAD, a->kind,
                                b != NULL ? b->kind : CEL_KINDS);
}

static bool is_fatal_fault(const struct ev *e)
{
    return e->c->fault.kind >= CEL_COST;
}

/* ---- names and members ----------------------------------------------- */

static bool eval_name(EVAL)
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
    return mortise_cel_fault_named(e->c, CEL_UNSET, e->names[n->u.index].name,
                                   strlen(e->names[n->u.index].name));
}

static bool eval_select(EVAL)
{
    struct cel_value of, key;
    bool found;

    if (!eval_expression(e, n->kids[0], &of))
        return false;
    if (of.kind != CEL_MAP)
        return set_kind_fault(e, CEL_NO_MEMBERS, n, &of);
    key = cel_text(CEL_STRING, n->u.name.p, n->u.name.n);
    if (!mortise_cel_map_find(e->c, &of, &key, &found, out))
        return false;
    if (n->op == CEL_HAS)
        *out = cel_bool(found);
    else if (!found)
        return mortise_cel_fault_named(e->c, CEL_NO_KEY, n->u.name.p,
                                       n->u.name.n);
    return true;
}

static bool index_list(struct ev *e, const struct cel_value *list,
                       const struct cel_value *key, struct cel_value *out)
{
    uint64_t i;

    if (key->kind == CEL_INT && key->u.i >= 0)
        i = (uint64_t)key->u.i;
    else if (key->kind == CEL_UINT)
        i = key->u.u;
    else if (key->kind == CEL_DOUBLE && key->u.d >= 0 && key->u.d < 0x1p53 &&
             key->u.d == (double)(uint64_t)key->u.d)
        i = (uint64_t)key->u.d;
    else
        return mortise_cel_fault(e->c, key->kind == CEL_INT ? CEL_NO_INDEX
                                                            : CEL_BAD_INDEX);
    if (i >= mortise_cel_get_count(list))
        return mortise_cel_fault(e->c, CEL_NO_INDEX);
    *out = mortise_cel_get_item(list, i);
    return true;
}

static bool index_map(struct ev *e, const struct cel_value *map,
                      const struct cel_value *key, struct cel_value *out)
{
    bool found;

    if (!mortise_cel_map_find(e->c, map, key, &found, out))
        return false;
    if (found)
        return true;
    if (key->kind == CEL_STRING)
        return mortise_cel_fault_named(e->c, CEL_NO_KEY, key->u.s.p,
                                       key->u.s.n);
    return mortise_cel_fault_named(e->c, CEL_NO_KEY, NULL, 0);
}

static bool eval_index(EVAL)
{
    struct cel_value of, key;

    if (!eval_expression(e, n->kids[0], &of) ||
        !eval_expression(e, n->kids[1], &key))
        return false;
    if (of.kind == CEL_LIST)
        return index_list(e, &of, &key, out);
    if (of.kind == CEL_MAP)
        return index_map(e, &of, &key, out);
    return set_kind_fault(e, CEL_NO_MEMBERS, n, &of);
}

/* ---- arithmetic ------------------------------------------------------ */

static bool calc_int(struct ev *e, unsigned op, int64_t a, int64_t b,
                     struct cel_value *out)
{
    bool over = false;
    int64_t r = 0;

    if (op == CEL_DIVIDE || op == CEL_MODULO) {
        if (b == 0)
            return mortise_cel_fault(e->c, CEL_BY_ZERO);
        over = a == INT64_MIN && b == -1;
        if (!over)
            r = op == CEL_DIVIDE ? a / b : a % b;
    } else {
        over = op == CEL_ADD        ? __builtin_add_overflow(a, b, &r)
               : op == CEL_SUBTRACT ? __builtin_sub_overflow(a, b, &r)
                                    : __builtin_mul_overflow(a, b, &r);
    }
    *out = cel_int(r);
    return !over || mortise_cel_fault(e->c, CEL_OVERFLOW);
}

static bool calc_uint(struct ev *e, unsigned op, uint64_t a, uint64_t b,
                      struct cel_value *out)
{
    bool over = false;
    uint64_t r = 0;

    if (op == CEL_DIVIDE || op == CEL_MODULO) {
        if (b == 0)
            return mortise_cel_fault(e->c, CEL_BY_ZERO);
        r = op == CEL_DIVIDE ? a / b : a % b;
    } else {
        over = op == CEL_ADD        ? __builtin_add_overflow(a, b, &r)
               : op == CEL_SUBTRACT ? __builtin_sub_overflow(a, b, &r)
                                    : __builtin_mul_overflow(a, b, &r);
    }
    *out = cel_uint(r);
    return !over || mortise_cel_fault(e->c, CEL_OVERFLOW);
}

static double calc_double(unsigned op, double a, double b)
{
    return op == CEL_ADD        ? a + b
           : op == CEL_SUBTRACT ? a - b
           : op == CEL_MULTIPLY ? a * b
                                : a / b;
}

static bool join_text(struct ev *e, const struct cel_value *a,
                      const struct cel_value *b, struct cel_value *out)
{
    char *text;

    text = mortise_cel_alloc(e->c, a->u.s.n + b->u.s.n, 1);
    if (text == NULL)
        return false;
    memcpy(text, a->u.s.p, a->u.s.n);
    memcpy(text + a->u.s.n, b->u.s.p, b->u.s.n);
    *out = cel_text(a->kind, text, a->u.s.n + b->u.s.n);
    return true;
}

static bool join_lists(struct ev *e, const struct cel_value *a,
                       const struct cel_value *b, struct cel_value *out)
{
    size_t na = mortise_cel_get_count(a), nb = mortise_cel_get_count(b);
    struct cel_list *list = mortise_cel_list_new(e->c, na + nb);

    if (list == NULL)
        return false;
    for (size_t i = 0; i < na; i++)
        list->items[list->n++] = mortise_cel_get_item(a, i);
    for (size_t i = 0; i < nb; i++)
        list->items[list->n++] = mortise_cel_get_item(b, i);
    *out = cel_list_value(list);
    return true;
}

static bool set_range_fault(struct ev *e, enum cel_kind kind)
{
    return mortise_cel_fault_of(e->c, CEL_RANGE, kind, 0);
}

/* A timestamp and a duration, in either order, or two timestamps. */
static bool calc_time(struct ev *e, unsigned op, const struct cel_value *a,
                      const struct cel_value *b, struct cel_value *out)
{
    const struct cel_value *when = a->kind == CEL_TIMESTAMP ? a : b;
    int64_t ns = when == a ? b->u.i : a->u.i;
    bool fits;

    if (op == CEL_SUBTRACT && b->kind == CEL_TIMESTAMP) {
        if (a->kind != CEL_TIMESTAMP)
            return set_overload_fault(e, a, b);
        fits = mortise_cel_time_difference(a->u.time, b->u.time, &ns);
        *out = cel_duration(ns);
        return fits || set_range_fault(e, CEL_DURATION);
    }
    if (a->kind == b->kind || (op != CEL_ADD && op != CEL_SUBTRACT))
        return set_overload_fault(e, a, b);
    *out = cel_timestamp(when->u.time);
    fits = (op == CEL_ADD || !__builtin_sub_overflow(0, ns, &ns)) &&
           mortise_cel_time_add(when->u.time, ns, &out->u.time);
    return fits || set_range_fault(e, CEL_TIMESTAMP);
}

static bool calc_duration(struct ev *e, unsigned op, const struct cel_value *a,
                          const struct cel_value *b, struct cel_value *out)
{
    int64_t ns = 0;
    bool over;

    if (op != CEL_ADD && op != CEL_SUBTRACT)
        return set_overload_fault(e, a, b);
    over = op == CEL_ADD ? __builtin_add_overflow(a->u.i, b->u.i, &ns)
                         : __builtin_sub_overflow(a->u.i, b->u.i, &ns);
    *out = cel_duration(ns);
    return !over || set_range_fault(e, CEL_DURATION);
}

/* Can calc_time() process them? */
static bool are_times(const struct cel_value *a, const struct cel_value *b)
{
    return (a->kind == CEL_TIMESTAMP || a->kind == CEL_DURATION) &&
           (b->kind == CEL_TIMESTAMP || b->kind == CEL_DURATION);
}

static bool eval_arithmetic(struct ev *e, unsigned op,
                            const struct cel_value *a,
                            const struct cel_value *b, struct cel_value *out)
{
    if (a->kind != b->kind)
        return are_times(a, b) ? calc_time(e, op, a, b, out)
                               : set_overload_fault(e, a, b);
    switch (a->kind) {
    case CEL_INT:
        return calc_int(e, op, a->u.i, b->u.i, out);
    case CEL_UINT:
        return calc_uint(e, op, a->u.u, b->u.u, out);
    case CEL_DOUBLE:
        if (op == CEL_MODULO)
            return set_overload_fault(e, a, b);
        *out = cel_double(calc_double(op, a->u.d, b->u.d));
        return true;
    case CEL_STRING:
    case CEL_BYTES:
        return op == CEL_ADD ? join_text(e, a, b, out)
                             : set_overload_fault(e, a, b);
    case CEL_LIST:
        return op == CEL_ADD ? join_lists(e, a, b, out)
                             : set_overload_fault(e, a, b);
    case CEL_TIMESTAMP:
        return calc_time(e, op, a, b, out);
    case CEL_DURATION:
        return calc_duration(e, op, a, b, out);
    default:
        return set_overload_fault(e, a, b);
    }
}

static bool negate(struct ev *e, const struct cel_value *v,
                   struct cel_value *out)
{
    if (v->kind == CEL_INT)
        return calc_int(e, CEL_SUBTRACT, 0, v->u.i, out);
    if (v->kind != CEL_DOUBLE)
        return set_overload_fault(e, v, NULL);
    *out = cel_double(-v->u.d);
    return true;
}

/* ---- comparison ------------------------------------------------------ */

static bool eval_order(struct ev *e, unsigned op, const struct cel_value *a,
                       const struct cel_value *b, struct cel_value *out)
{
    int order;
    bool holds;

    if (!mortise_cel_compare(e->c, a, b, &order))
        return false;
    holds = op == CEL_LT   ? order < 0
            : op == CEL_LE ? order <= 0
            : op == CEL_GT ? order == 1
                           : order == 0 || order == 1;
    *out = cel_bool(holds); /* with a NaN, order is 2 and no comparison holds */
    return true;
}

static bool eval_membership(struct ev *e, const struct cel_value *v,
                            const struct cel_value *in, struct cel_value *out)
{
    struct cel_value item;
    bool found = false;

    if (in->kind == CEL_MAP) {
        if (!mortise_cel_map_find(e->c, in, v, &found, &item))
            return false;
    } else if (in->kind == CEL_LIST) {
        for (size_t i = 0; i < mortise_cel_get_count(in) && !found; i++) {
            item = mortise_cel_get_item(in, i);
            if (!mortise_cel_equal(e->c, v, &item, &found))
                return false;
        }
    } else {
        return set_overload_fault(e, v, in);
    }
    *out = cel_bool(found);
    return true;
}

static bool eval_binary(EVAL)
{
    struct cel_value a, b;
    bool same;

    if (!eval_expression(e, n->kids[0], &a) ||
        !eval_expression(e, n->kids[1], &b))
        return false;
    switch (n->op) {
    case CEL_EQ:
    case CEL_NE:
        if (!mortise_cel_equal(e->c, &a, &b, &same))
            return false;
        *out = cel_bool(same == (n->op == CEL_EQ));
        return true;
    case CEL_LT:
    case CEL_LE:
    case CEL_GT:
    case CEL_GE:
        return eval_order(e, n->op, &a, &b, out);
    case CEL_IN:
        return eval_membership(e, &a, &b, out);
    default:
        return eval_arithmetic(e, n->op, &a, &b, out);
    }
}

static bool eval_unary(EVAL)
{
    struct cel_value v;

    if (!eval_expression(e, n->kids[0], &v))
        return false;
    if (n->op == CEL_NEGATE)
        return negate(e, &v, out);
    if (v.kind != CEL_BOOL)
        return set_overload_fault(e, &v, NULL);
    *out = cel_bool(!v.u.b);
    return true;
}

/* ---- logic ----------------------------------------------------------- */

static bool eval_bool(struct ev *e, const struct cel_node *n, bool *out)
{
    struct cel_value v;

    if (!eval_expression(e, n, &v))
        return false;
    if (v.kind != CEL_BOOL)
        return set_kind_fault(e, CEL_NOT_BOOL, n, &v);
    *out = v.u.b;
    return true;
}

/* Several booleans, of which one can decide (false for a conjunction, true for
 * a disjunction) in spite of errors of the others. */
struct verdict {
    bool decisive; /* the value that decides */
    bool decided, failed;
    struct mortise_cel_fault first; /* the first fault */
};

/* Add one more operand; false: a fatal fault. */
static bool add_operand(struct ev *e, struct verdict *v,
                        const struct cel_node *n)
{
    bool b;

    if (eval_bool(e, n, &b)) {
        v->decided = b == v->decisive;
        return true;
    }
    if (is_fatal_fault(e))
        return false;
    if (!v->failed)
        v->first = e->c->fault;
    v->failed = true;
    mortise_cel_fault(e->c, CEL_FINE);
    return true;
}

static bool finish_verdict(struct ev *e, const struct verdict *v,
                           struct cel_value *out)
{
    if (!v->decided && v->failed) {
        e->c->fault = v->first;
        return false;
    }
    *out = cel_bool(v->decided == v->decisive);
    return true;
}

static bool eval_logic(EVAL)
{
    struct verdict v = {.decisive = n->op == CEL_OR};

    for (uint32_t i = 0; i < n->n && !v.decided; i++)
        if (!add_operand(e, &v, n->kids[i]))
            return false;
    return finish_verdict(e, &v, out);
}

static bool eval_condition(EVAL)
{
    bool test;

    return eval_bool(e, n->kids[0], &test) &&
           eval_expression(e, n->kids[test ? 1 : 2], out);
}

/* ---- making and calling ---------------------------------------------- */

static bool eval_list(EVAL)
{
    struct cel_list *list = mortise_cel_list_new(e->c, n->n);

    if (list == NULL)
        return false;
    for (; list->n < n->n; list->n++)
        if (!eval_expression(e, n->kids[list->n], &list->items[list->n]))
            return false;
    *out = cel_list_value(list);
    return true;
}

static bool eval_map(EVAL)
{
    struct cel_map *map = mortise_cel_map_new(e->c, n->n / 2);
    struct cel_value key, value;

    if (map == NULL)
        return false;
    for (uint32_t i = 0; i < n->n; i += 2)
        if (!eval_expression(e, n->kids[i], &key) ||
            !eval_expression(e, n->kids[i + 1], &value) ||
            !mortise_cel_map_add(e->c, map, &key, &value))
            return false;
    *out = (struct cel_value){.kind = CEL_MAP, .u.map = map};
    return true;
}

static bool eval_call(EVAL)
{
    const struct cel_function *f = n->u.call.function;
    struct cel_value args[CEL_ARGS];

    if (f->n_args == CEL_MANY && n->n > 1)
        return eval_list(e, n, &args[0]) && f->call(e->c, n, args, out);
    for (uint32_t i = 0; i < n->n; i++)
        if (!eval_expression(e, n->kids[i], &args[i]))
            return false;
    for (uint32_t i = 0; i < n->n; i++)
        if (!(f->args[i] & BIT(args[i].kind)))
            return mortise_cel_fail_overload(e->c, n, args);
    return f->call(e->c, n, args, out);
}

/* ---- macros ---------------------------------------------------------- */

/* An iteration over the range, with the variables in their slots. */
struct walk {
    const struct cel_node *node;
    struct cel_value range;
    struct cel_cursor cursor;
};

static bool begin_walk(struct ev *e, struct walk *w, const struct cel_node *n)
{
    w->node = n;
    if (!eval_expression(e, n->kids[0], &w->range))
        return false;
    if (w->range.kind != CEL_LIST && w->range.kind != CEL_MAP)
        return set_kind_fault(e, CEL_NO_MEMBERS, n, &w->range);
    mortise_cel_cursor_init(&w->cursor, &w->range);
    return true;
}

/* One variable is a list's element or a map's key; two are both. */
static bool advance_walk(struct ev *e, struct walk *w)
{
    struct cel_value key, value;
    const uint32_t *slot = w->node->u.fold.slot;

    if (!mortise_cel_next(&w->cursor, &key, &value))
        return false;
    if (w->node->u.fold.var[1].p != NULL) {
        e->slots[slot[0]] = key;
        e->slots[slot[1]] = value;
    } else {
        e->slots[slot[0]] = w->range.kind == CEL_LIST ? value : key;
    }
    return true;
}

/* Does the condition hold here?  It holds if there is none. */
static bool test_condition(struct ev *e, const struct cel_node *n, bool *out)
{
    *out = true;
    return n->kids[1] == NULL || eval_bool(e, n->kids[1], out);
}

static bool eval_quantifier(EVAL)
{
    struct verdict v = {.decisive = n->op == CEL_EXISTS};
    struct walk w;

    if (!begin_walk(e, &w, n))
        return false;
    while (!v.decided && advance_walk(e, &w))
        if (!add_operand(e, &v, n->kids[1]))
            return false;
    return finish_verdict(e, &v, out);
}

static bool eval_exists_one(EVAL)
{
    size_t count = 0;
    struct walk w;
    bool holds;

    if (!begin_walk(e, &w, n))
        return false;
    while (advance_walk(e, &w)) {
        if (!test_condition(e, n, &holds))
            return false;
        count += holds;
    }
    *out = cel_bool(count == 1);
    return true;
}

/* The element of the macro's result: the value of its body, or the element of
 * the range. */
static bool eval_product(EVAL)
{
    if (n->kids[2] != NULL)
        return eval_expression(e, n->kids[2], out);
    *out = e->slots[n->u.fold.slot[0]];
    return true;
}

static bool eval_make_list(EVAL)
{
    struct cel_list *list;
    struct walk w;
    bool holds;

    if (!begin_walk(e, &w, n))
        return false;
    list = mortise_cel_list_new(e->c, w.cursor.n);
    if (list == NULL)
        return false;
    while (advance_walk(e, &w)) {
        if (!test_condition(e, n, &holds) ||
            (holds && !eval_product(e, n, &list->items[list->n])))
            return false;
        list->n += holds;
    }
    *out = cel_list_value(list);
    return true;
}

static bool eval_make_map(EVAL)
{
    struct cel_value made;
    struct cel_map *map;
    struct walk w;
    bool holds;

    if (!begin_walk(e, &w, n))
        return false;
    map = mortise_cel_map_new(e->c, w.cursor.n);
    if (map == NULL)
        return false;
    while (advance_walk(e, &w)) {
        if (!test_condition(e, n, &holds))
            return false;
        if (holds && (!eval_product(e, n, &made) ||
                      !mortise_cel_map_add(
                          e->c, map, &e->slots[n->u.fold.slot[0]], &made)))
            return false;
    }
    *out = (struct cel_value){.kind = CEL_MAP, .u.map = map};
    return true;
}

/* ---- the traversal --------------------------------------------------- */

static bool eval_constant(EVAL)
{
    (void)e;
    *out = n->u.constant;
    return true;
}

static bool eval_local(EVAL)
{
    *out = e->slots[n->u.index];
    return true;
}

/* Without IDENT: the checker replaces all of them. */
static bool eval_node(EVAL)
{
    static bool (*const by_op[])(EVAL) = {
        [CEL_CONST] = eval_constant,      [CEL_NAME] = eval_name,
        [CEL_LOCAL] = eval_local,         [CEL_SELECT] = eval_select,
        [CEL_HAS] = eval_select,          [CEL_INDEX] = eval_index,
        [CEL_NOT] = eval_unary,           [CEL_NEGATE] = eval_unary,
        [CEL_ADD] = eval_binary,          [CEL_SUBTRACT] = eval_binary,
        [CEL_MULTIPLY] = eval_binary,     [CEL_DIVIDE] = eval_binary,
        [CEL_MODULO] = eval_binary,       [CEL_EQ] = eval_binary,
        [CEL_NE] = eval_binary,           [CEL_LT] = eval_binary,
        [CEL_LE] = eval_binary,           [CEL_GT] = eval_binary,
        [CEL_GE] = eval_binary,           [CEL_IN] = eval_binary,
        [CEL_AND] = eval_logic,           [CEL_OR] = eval_logic,
        [CEL_COND] = eval_condition,      [CEL_NEWLIST] = eval_list,
        [CEL_NEWMAP] = eval_map,          [CEL_CALL] = eval_call,
        [CEL_ALL] = eval_quantifier,      [CEL_EXISTS] = eval_quantifier,
        [CEL_MAKE_LIST] = eval_make_list, [CEL_EXISTS_ONE] = eval_exists_one,
        [CEL_MAKE_MAP] = eval_make_map};

    assert(n->op < sizeof by_op / sizeof by_op[0] && by_op[n->op] != NULL);
    return by_op[n->op](e, n, out);
}

static bool eval_expression(EVAL)
{
    if (cel_charge(e->c, 1) && eval_node(e, n, out))
        return true;
    if (e->c->fault.at == NULL)
        e->c->fault.at = n;
    return false;
}

bool mortise_cel_evaluate_typed(const struct mortise_cel *prog,
                                const struct cel_inputs *in, struct cel_ctx *c,
                                struct cel_value *out)
{
    enum { FEW = 8 };
    struct cel_value few[FEW];
    struct ev e = {.c = c, .in = in, .names = prog->names, .slots = few};

    mortise_cel_fault(c, CEL_FINE);
    if (prog->n_slots > FEW)
        e.slots =
            mortise_arena_alloc(c->arena, prog->n_slots * sizeof *e.slots);
    if (e.slots == NULL)
        return mortise_cel_fault(c, CEL_MEMORY);
    return eval_expression(&e, prog->root, out);
}
