/* check.c -- the possible meanings of an expression's names, members, calls and
 * types.
 *
 * The evaluator relies on this pass for resolved names, slots and functions,
 * and for nothing else: it checks the kinds of values again.  This pass refuses
 * only errors that no value can avoid:
 *
 *   (1) names that are not in scope, functions that do not exist, members that
 *       a closed schema does not list;
 *   (2) operands of kinds that the operator does not support, if the text
 *       itself or a schema determines the kinds;
 *   (3) `==` and `!=` between kinds that are never equal, if a schema
 *       determines the kinds.  CEL can compare any two values, so without a
 *       schema this is accepted.  A comparison with null is always accepted.
 *
 * A type here is the set of possible kinds and the known type of the elements:
 * from a schema, or from the literal in the text.
 */
#include "lang/cel/ast.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "lang/cel/kinds.h"

struct type {
    unsigned kinds;
    const struct mortise_schema *schema; /* or NULL */
    /* The type of a list's elements or a map's values, if the text makes the
     * list or map; NULL: anything. */
    const struct type *item;
};

/* A macro's variable, during the check of its body. */
struct local {
    const struct local *up;
    struct cel_text name;
    uint32_t slot;
    struct type type;
};

struct checker {
    const struct cel_source *src;
    const struct mortise_cel_scope *scope;
    const struct local *locals; /* visible variables; the innermost */
    uint32_t n_live, n_slots;
};

static struct type check_cel_node(struct checker *c, struct cel_node *n);

/* ---- words ----------------------------------------------------------- */

/* "unknown name 'x'", with the probable correct name. */
static _Noreturn void fail_unknown(const struct checker *c,
                                   const struct cel_node *n, const char *what,
                                   const char *name, const char *near)
{
    if (near == NULL)
        CEL_FAIL_AT(c->src, n, "unknown %s '%s'", what, name);
    CEL_FAIL_AT(c->src, n, "unknown %s '%s', did you mean '%s'?", what, name,
                near);
}

struct words {
    char text[MORTISE_CEL_WORDS];
};

/* The text of any set fits. */
void mortise_cel_format_kinds(unsigned kinds, char out[MORTISE_CEL_WORDS])
{
    size_t n = 0;

    strcpy(out, "anything");
    for (unsigned k = 0; kinds != ANY && k < CEL_KINDS; k++)
        if (kinds & BIT(k))
            n +=
                (size_t)snprintf(out + n, MORTISE_CEL_WORDS - n, "%s%s",
                                 n > 0 ? " or " : "", mortise_cel_kind_name(k));
}

static struct words kinds_text(unsigned kinds)
{
    struct words w;

    mortise_cel_format_kinds(kinds, w.text);
    return w;
}

/* At least one of these kinds must be possible. */
static void require_kinds(const struct checker *c, const struct cel_node *n,
                          struct type t, unsigned kinds, const char *who)
{
    if (!(t.kinds & kinds))
        CEL_FAIL_AT(c->src, n, "%s needs %s, not %s", who,
                    kinds_text(kinds).text, kinds_text(t.kinds).text);
}

/* The type of an operand that must have one of these kinds. */
static struct type check_as(struct checker *c, struct cel_node *n,
                            unsigned kinds, const char *who)
{
    struct type t = check_cel_node(c, n);

    require_kinds(c, n, t, kinds, who);
    return t;
}

/* ---- types from schemas ---------------------------------------------- */

static const struct type anything = {ANY, NULL, NULL};
static const struct type a_string = {STRING, NULL, NULL};
static const struct type an_int = {INT, NULL, NULL};

static struct type make_kinds_type(unsigned kinds)
{
    return (struct type){kinds, NULL, NULL};
}

static struct type get_schema_type(const struct mortise_schema *s)
{
    static const struct {
        unsigned bit, kind;
    } map[] = {{MORTISE_T_NULL, BIT(CEL_NULL)},
               {MORTISE_T_BOOL, BOOL},
               {MORTISE_T_INT, INT},
               {MORTISE_T_NUMBER, DOUBLE},
               {MORTISE_T_STRING, STRING},
               {MORTISE_T_ARRAY, LIST},
               {MORTISE_T_OBJECT, MAP}};
    struct type t = {0, s, NULL};

    if (s == NULL || mortise_schema_get_types(s) == MORTISE_T_ANY)
        return (struct type){ANY, s, NULL};
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (mortise_schema_get_types(s) & map[i].bit)
            t.kinds |= map[i].kind;
    return t;
}

/* The type of a list's elements or a map's values. */
static struct type get_item_type(struct type t)
{
    if (t.schema != NULL && !(t.kinds & MAP))
        return get_schema_type(mortise_schema_get_items(t.schema));
    return t.schema == NULL && t.item != NULL ? *t.item : anything;
}

/* The type of a value that may have either type. */
static struct type merge_types(struct type a, struct type b)
{
    return (struct type){a.kinds | b.kinds,
                         a.schema == b.schema ? a.schema : NULL,
                         a.item == b.item ? a.item : NULL};
}

/* A list or map with elements of this type. */
static struct type make_items_type(const struct checker *c, unsigned kind,
                                   struct type t)
{
    struct type *item = cel_source_alloc(c->src, 1, sizeof *item);

    *item = t;
    return (struct type){kind, NULL, item};
}

/* The type of a member; an error if no member of that name can exist. */
static struct type get_member_type(const struct checker *c,
                                   const struct cel_node *n, struct type base,
                                   struct cel_text name)
{
    struct type t;

    if (base.schema == NULL || memchr(name.p, '\0', name.n) != NULL)
        return get_item_type(base);
    t = get_schema_type(mortise_schema_get_member(base.schema, name.p));
    if (t.kinds == 0)
        fail_unknown(c, n, "member", name.p,
                     mortise_schema_find_nearest(base.schema, name.p));
    return t;
}

/* ---- names ----------------------------------------------------------- */

static void become_name(struct cel_node *n, size_t index)
{
    n->op = CEL_NAME;
    n->n = 0;
    n->u.index = (uint32_t)index;
}

static bool equals_text(struct cel_text a, const char *b, size_t n)
{
    return a.n == n && memcmp(a.p, b, n) == 0;
}

static const struct local *find_local(const struct checker *c,
                                      struct cel_text name)
{
    const struct local *local = c->locals;

    while (local != NULL && !equals_text(local->name, name.p, name.n))
        local = local->up;
    return local;
}

static void become_type(struct cel_node *n, unsigned kind)
{
    n->op = CEL_CONST;
    n->n = 0;
    n->u.constant = (struct cel_value){.kind = CEL_TYPE, .u.type = kind};
}

/* The name of a type, as `int` in type(x) == int. */
static bool resolve_type_name(struct cel_node *n)
{
    for (unsigned k = 0; k < CEL_KINDS; k++) {
        if (strcmp(n->u.name.p, mortise_cel_type_name(k)) != 0)
            continue;
        become_type(n, k);
        return true;
    }
    return false;
}

static _Noreturn void fail_unknown_name(const struct checker *c,
                                        const struct cel_node *n)
{
    const char *near = NULL;

    for (size_t i = 0; i < c->scope->n; i++) {
        const char *two[2] = {near, c->scope->names[i].name};

        near = mortise_nearest_find(n->u.name.p, two, 2);
    }
    fail_unknown(c, n, "name", n->u.name.p, near);
}

/* The index of the name in the scope; the number of names: not found. */
static size_t find_scope_name(const struct checker *c, const char *name)
{
    size_t i = 0;

    while (i < c->scope->n && strcmp(c->scope->names[i].name, name) != 0)
        i++;
    return i;
}

static struct type check_ident(struct checker *c, struct cel_node *n)
{
    const struct local *local =
        n->is_absolute ? NULL : find_local(c, n->u.name);
    size_t i;

    if (local != NULL) {
        n->op = CEL_LOCAL;
        n->u.index = local->slot;
        return local->type;
    }
    i = find_scope_name(c, n->u.name.p);
    if (i < c->scope->n) {
        become_name(n, i);
        return get_schema_type(c->scope->names[i].schema);
    }
    if (!resolve_type_name(n))
        fail_unknown_name(c, n);
    return make_kinds_type(TYPE);
}

/* Does the chain a.b.c equal this name, and does it start in the scope? */
static bool is_spelled(const struct checker *c, const struct cel_node *n,
                       const char *name, size_t len)
{
    size_t own = n->u.name.n;

    if (n->op == CEL_IDENT)
        return equals_text(n->u.name, name, len) &&
               (n->is_absolute || find_local(c, n->u.name) == NULL);
    return n->op == CEL_SELECT && len > own + 1 &&
           equals_text(n->u.name, name + len - own, own) &&
           name[len - own - 1] == '.' &&
           is_spelled(c, n->kids[0], name, len - own - 1);
}

/* Names of the scope may contain dots.  The longest one applies, because the
 * outermost selection is checked first. */
static bool resolve_dotted_name(const struct checker *c, struct cel_node *n,
                                struct type *out)
{
    for (size_t i = 0; i < c->scope->n; i++) {
        const struct mortise_cel_name *name = &c->scope->names[i];

        if (is_spelled(c, n, name->name, strlen(name->name))) {
            become_name(n, i);
            *out = get_schema_type(name->schema);
            return true;
        }
    }
    for (unsigned k = CEL_TIMESTAMP; k <= CEL_DURATION; k++) {
        const char *name = mortise_cel_type_name(k);

        if (is_spelled(c, n, name, strlen(name))) {
            become_type(n, k);
            *out = make_kinds_type(TYPE);
            return true;
        }
    }
    return false;
}

static struct type check_select(struct checker *c, struct cel_node *n)
{
    bool has = n->op == CEL_HAS;
    struct type base, t;

    if (!has && resolve_dotted_name(c, n, &t))
        return t;
    base = check_cel_node(c, n->kids[0]);
    if (!(base.kinds & MAP))
        CEL_FAIL_AT(c->src, n, "cannot read member '%s': %s has no members",
                    n->u.name.p, kinds_text(base.kinds).text);
    t = get_member_type(c, n, base, n->u.name);
    return has ? make_kinds_type(BOOL) : t;
}

static struct type check_index(struct checker *c, struct cel_node *n)
{
    const struct cel_node *key = n->kids[1];
    struct type base = check_cel_node(c, n->kids[0]),
                index = check_cel_node(c, n->kids[1]);

    require_kinds(c, n, base, LIST | MAP, "[]");
    if (!(base.kinds & MAP))
        require_kinds(c, key, index, NUMBER, "a list's index");
    else if (!(base.kinds & LIST) && key->op == CEL_CONST &&
             key->u.constant.kind == CEL_STRING)
        return get_member_type(
            c, key, base,
            (struct cel_text){key->u.constant.u.s.p, key->u.constant.u.s.n});
    return get_item_type(base);
}

/* ---- operators ------------------------------------------------------- */

static _Noreturn void fail_operands(const struct checker *c,
                                    const struct cel_node *n, struct type a,
                                    struct type b)
{
    CEL_FAIL_AT(c->src, n, "'%s' cannot be applied to %s and %s",
                mortise_cel_symbol(n->op), kinds_text(a.kinds).text,
                kinds_text(b.kinds).text);
}

static unsigned widen_kinds(unsigned kinds)
{
    return kinds & NUMBER ? kinds | NUMBER : kinds;
}

/* The kinds that both operands of an operator may have. */
static unsigned get_operand_kinds(unsigned op)
{
    switch (op) {
    case CEL_ADD:
        return NUMBER | STRING | BYTES | LIST | DURATION;
    case CEL_SUBTRACT:
        return NUMBER | DURATION;
    case CEL_MODULO:
        return WHOLE;
    case CEL_MULTIPLY:
    case CEL_DIVIDE:
        return NUMBER;
    default: /* an order */
        return BOOL | NUMBER | STRING | BYTES | TIMESTAMP | DURATION;
    }
}

/* The possible kinds of the result for these kinds of operands. */
static unsigned get_result_kinds(unsigned op, unsigned a, unsigned b)
{
    unsigned kinds = a & b & get_operand_kinds(op);

    if (op == CEL_ADD &&
        ((a & TIMESTAMP && b & DURATION) || (b & TIMESTAMP && a & DURATION)))
        kinds |= TIMESTAMP;
    if (op == CEL_SUBTRACT && a & TIMESTAMP && b & DURATION)
        kinds |= TIMESTAMP;
    if (op == CEL_SUBTRACT && a & TIMESTAMP && b & TIMESTAMP)
        kinds |= DURATION;
    return kinds;
}

static void check_equality(const struct checker *c, const struct cel_node *n,
                           struct type a, struct type b)
{
    if ((a.schema != NULL || b.schema != NULL) &&
        !(widen_kinds(a.kinds) & widen_kinds(b.kinds)) &&
        !((a.kinds | b.kinds) & NONE))
        CEL_FAIL_AT(c->src, n, "%s and %s are never equal",
                    kinds_text(a.kinds).text, kinds_text(b.kinds).text);
}

static struct type check_arithmetic(const struct checker *c,
                                    const struct cel_node *n, struct type a,
                                    struct type b)
{
    unsigned kinds = get_result_kinds(n->op, a.kinds, b.kinds);

    if (kinds == 0)
        fail_operands(c, n, a, b);
    return kinds == LIST
               ? make_items_type(
                     c, LIST, merge_types(get_item_type(a), get_item_type(b)))
               : make_kinds_type(kinds);
}

static struct type check_binary(struct checker *c, struct cel_node *n)
{
    struct type a = check_cel_node(c, n->kids[0]),
                b = check_cel_node(c, n->kids[1]);

    switch (n->op) {
    case CEL_EQ:
    case CEL_NE:
        check_equality(c, n, a, b);
        break;
    case CEL_IN:
        require_kinds(c, n, b, LIST | MAP, "the right side of 'in'");
        break;
    case CEL_LT:
    case CEL_LE:
    case CEL_GT:
    case CEL_GE:
        if (!(widen_kinds(a.kinds) & widen_kinds(b.kinds) &
              get_operand_kinds(n->op)))
            fail_operands(c, n, a, b);
        break;
    default:
        return check_arithmetic(c, n, a, b);
    }
    return make_kinds_type(BOOL);
}

static struct type check_unary(struct checker *c, struct cel_node *n)
{
    bool logical = n->op == CEL_NOT;
    unsigned kinds = logical ? BOOL : INT | DOUBLE;
    struct type t = check_cel_node(c, n->kids[0]);

    require_kinds(c, n, t, kinds, logical ? "'!'" : "'-'");
    return make_kinds_type(t.kinds & kinds);
}

static struct type check_logic(struct checker *c, struct cel_node *n)
{
    for (uint32_t i = 0; i < n->n; i++)
        check_as(c, n->kids[i], BOOL, n->op == CEL_AND ? "'&&'" : "'||'");
    return make_kinds_type(BOOL);
}

static struct type check_condition(struct checker *c, struct cel_node *n)
{
    struct type a, b;

    check_as(c, n->kids[0], BOOL, "'?'");
    a = check_cel_node(c, n->kids[1]);
    b = check_cel_node(c, n->kids[2]);
    return merge_types(a, b);
}

static struct type check_literal(struct checker *c, struct cel_node *n)
{
    bool map = n->op == CEL_NEWMAP;
    struct type items = anything;

    for (uint32_t i = 0; i < n->n; i++) {
        struct type t;

        if (map)
            check_as(c, n->kids[i++], KEY, "a map's key");
        t = check_cel_node(c, n->kids[i]);
        items = i <= map ? t : merge_types(items, t);
    }
    return make_items_type(c, map ? MAP : LIST, items);
}

/* ---- calls ----------------------------------------------------------- */

static _Noreturn void fail_unknown_function(const struct checker *c,
                                            const struct cel_node *n)
{
    const char *name = n->u.call.name.p, *near = NULL;
    const struct cel_function *f;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++) {
        const char *two[2] = {near, f->name};

        near = mortise_nearest_find(name, two, 2);
    }
    for (size_t i = 0; mortise_cel_macro_at(i) != NULL; i++) {
        const char *two[2] = {near, mortise_cel_macro_at(i)};

        near = mortise_nearest_find(name, two, 2);
    }
    fail_unknown(c, n, "function", name, near);
}

/* The function exists, but with another form of call. */
static _Noreturn void fail_wrong_call(const struct checker *c,
                                      const struct cel_node *n,
                                      const struct cel_function *f,
                                      bool other_style)
{
    unsigned given = n->n - n->is_receiver;

    if (other_style)
        CEL_FAIL_AT(c->src, n,
                    n->is_receiver
                        ? "call %s with its argument in parentheses: %s(x)"
                        : "call %s on a value: x.%s(y)",
                    f->name, f->name);
    CEL_FAIL_AT(c->src, n, "%s() does not take %u argument%s", f->name, given,
                given == 1 ? "" : "s");
}

/* The function of that name, form and number of arguments; else an error with
 * the correct form. */
static const struct cel_function *find_function(const struct checker *c,
                                                const struct cel_node *n)
{
    unsigned style = n->is_receiver ? CEL_RECEIVER : CEL_GLOBAL;
    const struct cel_function *f, *of_name = NULL;
    bool other_style = true;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++) {
        if (strcmp(f->name, n->u.call.name.p) != 0)
            continue;
        of_name = f;
        other_style = other_style && !(f->style & style);
        if (f->style & style &&
            (f->n_args == n->n || (f->n_args == CEL_MANY && n->n > 0)))
            return f;
    }
    if (of_name == NULL)
        fail_unknown_function(c, n);
    fail_wrong_call(c, n, of_name, other_style);
}

/* Does "NAMESPACE.name" exist, or any function of the namespace (name NULL)? */
static bool has_function(struct cel_text space, const char *name)
{
    const struct cel_function *f;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++)
        if (strncmp(f->name, space.p, space.n) == 0 &&
            f->name[space.n] == '.' &&
            (name == NULL || strcmp(f->name + space.n + 1, name) == 0))
            return true;
    return false;
}

/* math.abs(x) has the form of a call on a name that does not exist.  Change it
 * to a call of the function with its namespace. */
static void resolve_namespace(const struct checker *c, struct cel_node *n)
{
    const struct cel_node *of = n->kids[0];
    size_t size = of->u.name.n + n->u.call.name.n + 2;
    char *name;

    if (of->op != CEL_IDENT || find_local(c, of->u.name) != NULL)
        return;
    if (!has_function(of->u.name, find_scope_name(c, of->u.name.p) < c->scope->n
                                      ? n->u.call.name.p
                                      : NULL))
        return;
    name = cel_source_alloc(c->src, size, 1);
    snprintf(name, size, "%s.%s", of->u.name.p, n->u.call.name.p);
    n->u.call.name.p = name;
    n->is_receiver = false;
    n->kids++;
    n->n--;
}

/* Check the kinds of all arguments.  Returns the type of the first. */
static struct type check_arguments(struct checker *c, struct cel_node *n)
{
    const struct cel_function *f = n->u.call.function;
    struct type first = anything, t;
    char who[64];

    snprintf(who, sizeof who, "%s()", f->name);
    for (uint32_t i = 0; i < n->n; i++) {
        bool many = f->n_args == CEL_MANY;

        t = check_as(c, n->kids[i],
                     !many      ? f->args[i]
                     : n->n > 1 ? NUMBER
                                : f->args[0],
                     who);
        if (i == 0)
            first = t;
    }
    return first;
}

static struct type check_call(struct checker *c, struct cel_node *n)
{
    const struct cel_function *f;
    struct type first, t;

    if (n->is_receiver)
        resolve_namespace(c, n);
    f = n->u.call.function = find_function(c, n);
    first = check_arguments(c, n);
    t = make_kinds_type(f->result != 0 ? f->result : first.kinds & f->args[0]);
    if (f->items != 0)
        t.item = f->items == INT ? &an_int : &a_string;
    if (t.kinds == LIST && f->result == 0)
        t = (struct type){LIST, first.schema, first.item};
    if (f->prepare != NULL)
        f->prepare(c->src, n);
    return t;
}

/* ---- macros ---------------------------------------------------------- */

/* The types of the variables of a macro over such a range: {first, second}. */
static void variable_types(struct type range, bool two, struct type out[2])
{
    struct type key = make_kinds_type(range.schema != NULL ? STRING : KEY);

    out[0] = out[1] = anything;
    if (!(range.kinds & MAP)) {
        out[0] = two ? make_kinds_type(INT) : get_item_type(range);
        out[1] = get_item_type(range);
    } else if (!(range.kinds & LIST)) {
        out[0] = key;
        out[1] = range.schema == NULL ? get_item_type(range) : anything;
    }
}

static struct type check_fold(struct checker *c, struct cel_node *n)
{
    bool two = n->u.fold.var[1].p != NULL;
    const struct local *outer = c->locals;
    uint32_t live = c->n_live;
    struct type types[2], made, range = check_cel_node(c, n->kids[0]);
    struct local var[2];

    require_kinds(c, n, range, LIST | MAP, "this macro");
    variable_types(range, two, types);
    for (int i = 0; i < 2; i++) {
        n->u.fold.slot[i] = c->n_live++;
        var[i] = (struct local){i == 0 ? outer : &var[0], n->u.fold.var[i],
                                n->u.fold.slot[i], types[i]};
    }
    if (c->n_live > c->n_slots)
        c->n_slots = c->n_live;
    c->locals = two ? &var[1] : &var[0];
    if (n->kids[1] != NULL)
        check_as(c, n->kids[1], BOOL, "this condition");
    /* A filter returns its elements. */
    made = n->kids[2] != NULL ? check_cel_node(c, n->kids[2]) : types[0];
    c->n_live = live;
    c->locals = outer;
    if (n->op == CEL_MAKE_LIST)
        return make_items_type(c, LIST, made);
    return n->op == CEL_MAKE_MAP ? make_items_type(c, MAP, made)
                                 : make_kinds_type(BOOL);
}

static struct type check_constant(struct checker *c, struct cel_node *n)
{
    (void)c;
    return make_kinds_type(BIT(n->u.constant.kind));
}

/* Without NAME and LOCAL: only check_ident() makes them, and each node is
 * checked once. */
static struct type check_cel_node(struct checker *c, struct cel_node *n)
{
    static struct type (*const by_op[])(struct checker *, struct cel_node *) = {
        [CEL_CONST] = check_constant,  [CEL_IDENT] = check_ident,
        [CEL_SELECT] = check_select,   [CEL_HAS] = check_select,
        [CEL_INDEX] = check_index,     [CEL_NOT] = check_unary,
        [CEL_NEGATE] = check_unary,    [CEL_ADD] = check_binary,
        [CEL_SUBTRACT] = check_binary, [CEL_MULTIPLY] = check_binary,
        [CEL_DIVIDE] = check_binary,   [CEL_MODULO] = check_binary,
        [CEL_EQ] = check_binary,       [CEL_NE] = check_binary,
        [CEL_LT] = check_binary,       [CEL_LE] = check_binary,
        [CEL_GT] = check_binary,       [CEL_GE] = check_binary,
        [CEL_IN] = check_binary,       [CEL_AND] = check_logic,
        [CEL_OR] = check_logic,        [CEL_COND] = check_condition,
        [CEL_NEWLIST] = check_literal, [CEL_NEWMAP] = check_literal,
        [CEL_CALL] = check_call,       [CEL_ALL] = check_fold,
        [CEL_EXISTS] = check_fold,     [CEL_EXISTS_ONE] = check_fold,
        [CEL_MAKE_LIST] = check_fold,  [CEL_MAKE_MAP] = check_fold};

    struct type t;

    assert(n->op < sizeof by_op / sizeof by_op[0] && by_op[n->op] != NULL);
    t = by_op[n->op](c, n);
    n->kinds = (uint16_t)t.kinds;
    return t;
}

unsigned mortise_cel_check(const struct cel_source *src, struct cel_node *root,
                           const struct mortise_cel_scope *scope,
                           uint32_t *n_slots)
{
    struct checker c = {.src = src, .scope = scope};
    struct type t = check_cel_node(&c, root);

    *n_slots = c.n_slots;
    return t.kinds;
}
