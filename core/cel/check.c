/* check.c -- what an expression's names, members, calls and types can be.
 *
 * The evaluator trusts this pass for places (which name, which slot, which
 * function) and for nothing else: values are judged again by what they are.
 * What is refused here is what no value could repair:
 *
 *   (1) names that are not in scope, functions that do not exist, members
 *       that a closed schema does not list;
 *   (2) operands of kinds for which the operator has no meaning, where the
 *       text itself or a schema says which kinds those are;
 *   (3) `==` and `!=` between kinds that are never equal, where a schema says
 *       so.  CEL compares anything with anything, so without a schema it is
 *       left alone, and null may always be compared.
 *
 * A type here is the set of kinds that may come, and what is known of their
 * elements: from the schema it came from, or from the text that made it.
 */
#include "cel/ast.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cel/kinds.h"

struct type {
    unsigned kinds;
    const struct mortise_schema *schema; /* or NULL */
    /* Of a list's elements or a map's values, where the text made it; NULL:
     * anything. */
    const struct type *item;
};

/* A macro's variable, while its body is checked. */
struct local {
    const struct local *up;
    struct mortise_cel_text name;
    uint32_t slot;
    struct type type;
};

struct checker {
    const struct mortise_cel_source *src;
    const struct mortise_cel_scope *scope;
    uint32_t n_live, n_slots;
};

static int check(struct checker *c, struct mortise_cel_node *n,
                 const struct local *locals, struct type *out);

/* ---- words ----------------------------------------------------------- */

static int fail_at(const struct checker *c, const struct mortise_cel_node *n,
                   const char *fmt, ...) MORTISE_PRINTF(3, 4);

static int fail_at(const struct checker *c, const struct mortise_cel_node *n,
                   const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_cel_vfail(c->src, MORTISE_EINVAL, n->offset, n->length, fmt, ap);
    va_end(ap);
    return MORTISE_EINVAL;
}

/* "no name 'x'", and what was perhaps meant. */
static int fail_unknown(const struct checker *c,
                        const struct mortise_cel_node *n, const char *what,
                        const char *name, const char *near)
{
    if (near == NULL)
        return fail_at(c, n, "unknown %s '%s'", what, name);
    return fail_at(c, n, "unknown %s '%s', did you mean '%s'?", what, name,
                   near);
}

struct words {
    char text[MORTISE_CEL_WORDS];
};

/* All of them have room. */
void mortise_cel_kinds_text(unsigned kinds, char out[MORTISE_CEL_WORDS])
{
    size_t n = 0;

    strcpy(out, "anything");
    for (unsigned k = 0; kinds != ANY && k < MORTISE_CEL_KINDS; k++)
        if (kinds & BIT(k))
            n +=
                (size_t)snprintf(out + n, MORTISE_CEL_WORDS - n, "%s%s",
                                 n > 0 ? " or " : "", mortise_cel_kind_name(k));
}

static struct words kinds_text(unsigned kinds)
{
    struct words w;

    mortise_cel_kinds_text(kinds, w.text);
    return w;
}

/* Some of these kinds must be possible. */
static int need(const struct checker *c, const struct mortise_cel_node *n,
                struct type t, unsigned kinds, const char *who)
{
    if (t.kinds & kinds)
        return MORTISE_OK;
    return fail_at(c, n, "%s needs %s, this is %s", who, kinds_text(kinds).text,
                   kinds_text(t.kinds).text);
}

/* ---- types from schemas ---------------------------------------------- */

static const struct type anything = {ANY, NULL, NULL};
static const struct type a_string = {STRING, NULL, NULL};

static struct type just(unsigned kinds)
{
    return (struct type){kinds, NULL, NULL};
}

static struct type type_of(const struct mortise_schema *s)
{
    static const struct {
        unsigned bit, kind;
    } map[] = {{MORTISE_T_NULL, BIT(MORTISE_CEL_NULL)},
               {MORTISE_T_BOOL, BOOL},
               {MORTISE_T_INT, INT},
               {MORTISE_T_NUMBER, DOUBLE},
               {MORTISE_T_STRING, STRING},
               {MORTISE_T_ARRAY, LIST},
               {MORTISE_T_OBJECT, MAP}};
    struct type t = {0, s, NULL};

    if (s == NULL || mortise_schema_types(s) == MORTISE_T_ANY)
        return (struct type){ANY, s, NULL};
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (mortise_schema_types(s) & map[i].bit)
            t.kinds |= map[i].kind;
    return t;
}

/* What a list's elements or a map's values are. */
static struct type item(struct type t)
{
    if (t.schema != NULL && !(t.kinds & MAP))
        return type_of(mortise_schema_items(t.schema));
    return t.schema == NULL && t.item != NULL ? *t.item : anything;
}

/* What may be either. */
static struct type either(struct type a, struct type b)
{
    return (struct type){a.kinds | b.kinds,
                         a.schema == b.schema ? a.schema : NULL,
                         a.item == b.item ? a.item : NULL};
}

/* A list or map with such elements. */
static int of_items(const struct checker *c, unsigned kind, struct type t,
                    struct type *out)
{
    struct type *item = mortise_arena_alloc(c->src->arena, sizeof *item);

    if (item == NULL)
        return mortise_nomem(c->src->err);
    *item = t;
    *out = (struct type){kind, NULL, item};
    return MORTISE_OK;
}

/* The type of a member; a failure when there can be none of that name. */
static int member(const struct checker *c, const struct mortise_cel_node *n,
                  struct type base, struct mortise_cel_text name,
                  struct type *out)
{
    const struct mortise_schema *m;

    *out = item(base);
    if (base.schema == NULL || memchr(name.p, '\0', name.n) != NULL)
        return MORTISE_OK;
    m = mortise_schema_member(base.schema, name.p);
    *out = type_of(m);
    if (out->kinds != 0)
        return MORTISE_OK;
    return fail_unknown(c, n, "member", name.p,
                        mortise_schema_nearest(base.schema, name.p));
}

/* ---- names ----------------------------------------------------------- */

static void become_name(struct mortise_cel_node *n, size_t index)
{
    n->op = MORTISE_CEL_NAME;
    n->n = 0;
    n->u.index = (uint32_t)index;
}

static bool is_text(struct mortise_cel_text a, const char *b, size_t n)
{
    return a.n == n && memcmp(a.p, b, n) == 0;
}

static const struct local *find_local(const struct local *locals,
                                      struct mortise_cel_text name)
{
    while (locals != NULL && !is_text(locals->name, name.p, name.n))
        locals = locals->up;
    return locals;
}

static void become_type(struct mortise_cel_node *n, unsigned kind)
{
    n->op = MORTISE_CEL_CONST;
    n->n = 0;
    n->u.constant =
        (struct mortise_cel_value){.kind = MORTISE_CEL_TYPE, .u.type = kind};
}

/* A type's name, as `int` in type(x) == int. */
static bool type_constant(struct mortise_cel_node *n)
{
    for (unsigned k = 0; k < MORTISE_CEL_KINDS; k++) {
        if (strcmp(n->u.name.p, mortise_cel_type_name(k)) != 0)
            continue;
        become_type(n, k);
        return true;
    }
    return false;
}

static int no_such_name(const struct checker *c,
                        const struct mortise_cel_node *n)
{
    const char *near = NULL;

    for (size_t i = 0; i < c->scope->n; i++) {
        const char *two[2] = {near, c->scope->names[i].name};

        near = mortise_nearest(n->u.name.p, two, 2);
    }
    return fail_unknown(c, n, "name", n->u.name.p, near);
}

/* Which name of the scope; its number of names: none. */
static size_t find_name(const struct checker *c, const char *name)
{
    size_t i = 0;

    while (i < c->scope->n && strcmp(c->scope->names[i].name, name) != 0)
        i++;
    return i;
}

static int check_ident(struct checker *c, struct mortise_cel_node *n,
                       const struct local *locals, struct type *out)
{
    const struct local *local =
        n->is_absolute ? NULL : find_local(locals, n->u.name);
    size_t i;

    if (local != NULL) {
        n->op = MORTISE_CEL_LOCAL;
        n->u.index = local->slot;
        *out = local->type;
        return MORTISE_OK;
    }
    i = find_name(c, n->u.name.p);
    if (i < c->scope->n) {
        become_name(n, i);
        *out = type_of(c->scope->names[i].schema);
        return MORTISE_OK;
    }
    *out = just(BIT(MORTISE_CEL_TYPE));
    return type_constant(n) ? MORTISE_OK : no_such_name(c, n);
}

/* Is the chain a.b.c spelled like this, and does it start in the scope? */
static bool is_spelled(const struct mortise_cel_node *n, const char *name,
                       size_t len, const struct local *locals)
{
    size_t own = n->u.name.n;

    if (n->op == MORTISE_CEL_IDENT)
        return is_text(n->u.name, name, len) &&
               (n->is_absolute || find_local(locals, n->u.name) == NULL);
    return n->op == MORTISE_CEL_SELECT && len > own + 1 &&
           is_text(n->u.name, name + len - own, own) &&
           name[len - own - 1] == '.' &&
           is_spelled(n->kids[0], name, len - own - 1, locals);
}

/* Names of the scope may hold points: the longest one wins, and the outermost
 * selection is looked at first. */
static bool dotted_name(struct checker *c, struct mortise_cel_node *n,
                        const struct local *locals, struct type *out)
{
    for (size_t i = 0; i < c->scope->n; i++) {
        const struct mortise_cel_name *name = &c->scope->names[i];

        if (is_spelled(n, name->name, strlen(name->name), locals)) {
            become_name(n, i);
            *out = type_of(name->schema);
            return true;
        }
    }
    for (unsigned k = MORTISE_CEL_TIMESTAMP; k <= MORTISE_CEL_DURATION; k++) {
        const char *name = mortise_cel_type_name(k);

        if (is_spelled(n, name, strlen(name), locals)) {
            become_type(n, k);
            *out = just(TYPE);
            return true;
        }
    }
    return false;
}

static int check_select(struct checker *c, struct mortise_cel_node *n,
                        const struct local *locals, struct type *out)
{
    bool has = n->op == MORTISE_CEL_HAS;
    struct type base;
    int rv;

    if (!has && dotted_name(c, n, locals, out))
        return MORTISE_OK;
    rv = check(c, n->kids[0], locals, &base);
    if (rv != MORTISE_OK)
        return rv;
    if (!(base.kinds & MAP))
        return fail_at(c, n, "'%s' is a member, but %s has none", n->u.name.p,
                       kinds_text(base.kinds).text);
    rv = member(c, n, base, n->u.name, out);
    if (rv == MORTISE_OK && has)
        *out = just(BOOL);
    return rv;
}

static int check_index(struct checker *c, struct mortise_cel_node *n,
                       const struct local *locals, struct type *out)
{
    const struct mortise_cel_node *key = n->kids[1];
    struct type base, index;
    int rv = check(c, n->kids[0], locals, &base);

    if (rv == MORTISE_OK)
        rv = check(c, n->kids[1], locals, &index);
    if (rv == MORTISE_OK)
        rv = need(c, n, base, LIST | MAP, "[]");
    if (rv != MORTISE_OK)
        return rv;
    *out = item(base);
    if (!(base.kinds & MAP)) {
        return need(c, key, index, NUMBER, "a list's index");
    }
    if (!(base.kinds & LIST) && key->op == MORTISE_CEL_CONST &&
        key->u.constant.kind == MORTISE_CEL_STRING)
        return member(c, key, base,
                      (struct mortise_cel_text){key->u.constant.u.s.p,
                                                key->u.constant.u.s.n},
                      out);
    return MORTISE_OK;
}

/* ---- operators ------------------------------------------------------- */

static int clash(const struct checker *c, const struct mortise_cel_node *n,
                 struct type a, struct type b)
{
    return fail_at(c, n, "'%s' cannot take %s and %s",
                   mortise_cel_symbol(n->op), kinds_text(a.kinds).text,
                   kinds_text(b.kinds).text);
}

static unsigned widened(unsigned kinds)
{
    return kinds & NUMBER ? kinds | NUMBER : kinds;
}

/* The kinds that an operator takes two of. */
static unsigned takes(unsigned op)
{
    switch (op) {
    case MORTISE_CEL_ADD:
        return NUMBER | STRING | BYTES | LIST | DURATION;
    case MORTISE_CEL_SUBTRACT:
        return NUMBER | DURATION;
    case MORTISE_CEL_MODULO:
        return WHOLE;
    case MORTISE_CEL_MULTIPLY:
    case MORTISE_CEL_DIVIDE:
        return NUMBER;
    default: /* an order */
        return BOOL | NUMBER | STRING | BYTES | TIMESTAMP | DURATION;
    }
}

/* The kinds that it may give, of operands of these. */
static unsigned gives(unsigned op, unsigned a, unsigned b)
{
    unsigned kinds = a & b & takes(op);

    if (op == MORTISE_CEL_ADD &&
        ((a & TIMESTAMP && b & DURATION) || (b & TIMESTAMP && a & DURATION)))
        kinds |= TIMESTAMP;
    if (op == MORTISE_CEL_SUBTRACT && a & TIMESTAMP && b & DURATION)
        kinds |= TIMESTAMP;
    if (op == MORTISE_CEL_SUBTRACT && a & TIMESTAMP && b & TIMESTAMP)
        kinds |= DURATION;
    return kinds;
}

static int check_equality(const struct checker *c,
                          const struct mortise_cel_node *n, struct type a,
                          struct type b)
{
    unsigned null = BIT(MORTISE_CEL_NULL);

    if ((a.schema == NULL && b.schema == NULL) ||
        widened(a.kinds) & widened(b.kinds) || (a.kinds | b.kinds) & null)
        return MORTISE_OK;
    return fail_at(c, n, "%s and %s are never equal", kinds_text(a.kinds).text,
                   kinds_text(b.kinds).text);
}

static int check_binary(struct checker *c, struct mortise_cel_node *n,
                        const struct local *locals, struct type *out)
{
    struct type a, b;
    int rv = check(c, n->kids[0], locals, &a);

    if (rv == MORTISE_OK)
        rv = check(c, n->kids[1], locals, &b);
    if (rv != MORTISE_OK)
        return rv;
    *out = just(BOOL);
    switch (n->op) {
    case MORTISE_CEL_EQ:
    case MORTISE_CEL_NE:
        return check_equality(c, n, a, b);
    case MORTISE_CEL_IN:
        return need(c, n, b, LIST | MAP, "the right side of 'in'");
    case MORTISE_CEL_LT:
    case MORTISE_CEL_LE:
    case MORTISE_CEL_GT:
    case MORTISE_CEL_GE:
        return widened(a.kinds) & widened(b.kinds) & takes(n->op)
                   ? MORTISE_OK
                   : clash(c, n, a, b);
    default:
        *out = just(gives(n->op, a.kinds, b.kinds));
        if (out->kinds == LIST)
            rv = of_items(c, LIST, either(item(a), item(b)), out);
        if (rv != MORTISE_OK)
            return rv;
        return out->kinds != 0 ? MORTISE_OK : clash(c, n, a, b);
    }
}

static int check_unary(struct checker *c, struct mortise_cel_node *n,
                       const struct local *locals, struct type *out)
{
    unsigned kinds = n->op == MORTISE_CEL_NOT ? BOOL : INT | DOUBLE;
    struct type t;
    int rv = check(c, n->kids[0], locals, &t);

    if (rv == MORTISE_OK)
        rv = need(c, n, t, kinds, n->op == MORTISE_CEL_NOT ? "'!'" : "'-'");
    *out = just(t.kinds & kinds);
    return rv;
}

static int check_logic(struct checker *c, struct mortise_cel_node *n,
                       const struct local *locals, struct type *out)
{
    *out = just(BOOL);
    for (uint32_t i = 0; i < n->n; i++) {
        struct type t;
        int rv = check(c, n->kids[i], locals, &t);

        if (rv == MORTISE_OK)
            rv = need(c, n->kids[i], t, BOOL,
                      n->op == MORTISE_CEL_AND ? "'&&'" : "'||'");
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

static int check_condition(struct checker *c, struct mortise_cel_node *n,
                           const struct local *locals, struct type *out)
{
    struct type test, a, b;
    int rv = check(c, n->kids[0], locals, &test);

    if (rv == MORTISE_OK)
        rv = need(c, n->kids[0], test, BOOL, "'?'");
    if (rv == MORTISE_OK)
        rv = check(c, n->kids[1], locals, &a);
    if (rv == MORTISE_OK)
        rv = check(c, n->kids[2], locals, &b);
    if (rv != MORTISE_OK)
        return rv;
    *out = either(a, b);
    return MORTISE_OK;
}

static int check_literal(struct checker *c, struct mortise_cel_node *n,
                         const struct local *locals, struct type *out)
{
    bool map = n->op == MORTISE_CEL_NEWMAP;
    struct type items = anything;

    for (uint32_t i = 0; i < n->n; i++) {
        bool is_key = map && i % 2 == 0;
        struct type t;
        int rv = check(c, n->kids[i], locals, &t);

        if (rv == MORTISE_OK && is_key)
            rv = need(c, n->kids[i], t, KEY, "a map's key");
        if (rv != MORTISE_OK)
            return rv;
        if (!is_key)
            items = i <= map ? t : either(items, t);
    }
    return of_items(c, map ? MAP : LIST, items, out);
}

/* ---- calls ----------------------------------------------------------- */

static int no_such_function(const struct checker *c,
                            const struct mortise_cel_node *n)
{
    const char *name = n->u.call.name.p, *near = NULL;
    const struct mortise_cel_function *f;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++) {
        const char *two[2] = {near, f->name};

        near = mortise_nearest(name, two, 2);
    }
    return fail_unknown(c, n, "function", name, near);
}

/* The function exists, but not so. */
static int wrong_call(const struct checker *c, const struct mortise_cel_node *n,
                      const struct mortise_cel_function *f, bool other_style)
{
    if (other_style)
        return fail_at(c, n,
                       n->is_receiver ? "%s is called with its argument in "
                                        "parentheses: %s(x)"
                                      : "%s is called on a value: x.%s(y)",
                       f->name, f->name);
    return fail_at(c, n, "%s() does not take %u argument%s", f->name,
                   (unsigned)(n->n - n->is_receiver),
                   n->n - n->is_receiver == 1 ? "" : "s");
}

/* The function of that name, style and number of arguments, or how it ought to
 * be called. */
static int find_function(const struct checker *c, struct mortise_cel_node *n)
{
    unsigned style = n->is_receiver ? MORTISE_CEL_RECEIVER : MORTISE_CEL_GLOBAL;
    const struct mortise_cel_function *f, *of_name = NULL;
    bool other_style = true;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++) {
        if (strcmp(f->name, n->u.call.name.p) != 0)
            continue;
        of_name = f;
        other_style = other_style && !(f->style & style);
        if (f->style & style && (f->n_args == n->n ||
                                 (f->n_args == MORTISE_CEL_MANY && n->n > 0))) {
            n->u.call.function = f;
            return MORTISE_OK;
        }
    }
    return of_name != NULL ? wrong_call(c, n, of_name, other_style)
                           : no_such_function(c, n);
}

/* Is there "NAMESPACE.name", or any function of the namespace (name NULL)? */
static bool has_function(struct mortise_cel_text space, const char *name)
{
    const struct mortise_cel_function *f;

    for (size_t i = 0; (f = mortise_cel_function_at(i)) != NULL; i++)
        if (strncmp(f->name, space.p, space.n) == 0 &&
            f->name[space.n] == '.' &&
            (name == NULL || strcmp(f->name + space.n + 1, name) == 0))
            return true;
    return false;
}

/* math.abs(x) is written as a call on a name that is none: it becomes a call of
 * the function with its namespace. */
static int qualify(const struct checker *c, struct mortise_cel_node *n,
                   const struct local *locals)
{
    const struct mortise_cel_node *of = n->kids[0];
    size_t size = of->u.name.n + n->u.call.name.n + 2;
    char *name;

    if (of->op != MORTISE_CEL_IDENT || find_local(locals, of->u.name) != NULL)
        return MORTISE_OK;
    if (!has_function(of->u.name, find_name(c, of->u.name.p) < c->scope->n
                                      ? n->u.call.name.p
                                      : NULL))
        return MORTISE_OK;
    name = mortise_arena_alloc(c->src->arena, size);
    if (name == NULL)
        return mortise_nomem(c->src->err);
    snprintf(name, size, "%s.%s", of->u.name.p, n->u.call.name.p);
    n->u.call.name.p = name;
    n->is_receiver = false;
    n->kids++;
    n->n--;
    return MORTISE_OK;
}

/* Each argument, of the kinds that its function takes; *first is the first. */
static int check_args(struct checker *c, struct mortise_cel_node *n,
                      const struct local *locals, struct type *first)
{
    const struct mortise_cel_function *f = n->u.call.function;
    char who[64];
    int rv = MORTISE_OK;

    *first = anything;
    snprintf(who, sizeof who, "%s()", f->name);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n; i++) {
        bool many = f->n_args == MORTISE_CEL_MANY;
        unsigned takes = !many ? f->args[i] : n->n > 1 ? NUMBER : f->args[0];
        struct type t;

        rv = check(c, n->kids[i], locals, &t);
        if (rv == MORTISE_OK)
            rv = need(c, n->kids[i], t, takes, who);
        if (i == 0)
            *first = t;
    }
    return rv;
}

static int check_call(struct checker *c, struct mortise_cel_node *n,
                      const struct local *locals, struct type *out)
{
    const struct mortise_cel_function *f;
    struct type first;
    int rv = n->is_receiver ? qualify(c, n, locals) : MORTISE_OK;

    if (rv == MORTISE_OK)
        rv = find_function(c, n);
    if (rv == MORTISE_OK)
        rv = check_args(c, n, locals, &first);
    if (rv != MORTISE_OK)
        return rv;
    f = n->u.call.function;
    *out = just(f->result != 0 ? f->result : first.kinds & f->args[0]);
    if (f->result == LIST)
        out->item = &a_string; /* of split(), which alone gives a list */
    return f->prepare != NULL ? f->prepare(c->src, n) : MORTISE_OK;
}

/* ---- macros ---------------------------------------------------------- */

/* What the variables of a macro over such a range are: {first, second}. */
static void variable_types(struct type range, bool two, struct type out[2])
{
    struct type key = just(range.schema != NULL ? STRING : KEY);

    out[0] = out[1] = anything;
    if (!(range.kinds & MAP)) {
        out[0] = two ? just(INT) : item(range);
        out[1] = item(range);
    } else if (!(range.kinds & LIST)) {
        out[0] = key;
        out[1] = range.schema == NULL ? item(range) : anything;
    }
}

/* *out is what the body makes, where there is one. */
static int check_body(struct checker *c, struct mortise_cel_node *n,
                      const struct local *locals, struct type *out)
{
    struct type t;
    int rv = MORTISE_OK;

    if (n->kids[1] != NULL) {
        rv = check(c, n->kids[1], locals, &t);
        if (rv == MORTISE_OK)
            rv = need(c, n->kids[1], t, BOOL, "this condition");
    }
    if (rv == MORTISE_OK && n->kids[2] != NULL)
        rv = check(c, n->kids[2], locals, out);
    return rv;
}

static int check_fold(struct checker *c, struct mortise_cel_node *n,
                      const struct local *locals, struct type *out)
{
    bool two = n->u.fold.var[1].p != NULL;
    struct local var[2];
    struct type types[2], range, made;
    uint32_t live = c->n_live;
    int rv = check(c, n->kids[0], locals, &range);

    if (rv == MORTISE_OK)
        rv = need(c, n, range, LIST | MAP, "this macro");
    if (rv != MORTISE_OK)
        return rv;
    variable_types(range, two, types);
    for (int i = 0; i < 2; i++) {
        n->u.fold.slot[i] = c->n_live++;
        var[i] = (struct local){i == 0 ? locals : &var[0], n->u.fold.var[i],
                                n->u.fold.slot[i], types[i]};
    }
    if (c->n_live > c->n_slots)
        c->n_slots = c->n_live;
    made = types[0]; /* what a filter lets pass */
    rv = check_body(c, n, two ? &var[1] : &var[0], &made);
    c->n_live = live;
    *out = just(BOOL);
    if (rv == MORTISE_OK && n->op == MORTISE_CEL_MAKE_LIST)
        rv = of_items(c, LIST, made, out);
    else if (rv == MORTISE_OK && n->op == MORTISE_CEL_MAKE_MAP)
        rv = of_items(c, MAP, made, out);
    return rv;
}

static int check(struct checker *c, struct mortise_cel_node *n,
                 const struct local *locals, struct type *out)
{
    *out = anything;
    switch ((enum mortise_cel_op)n->op) {
    case MORTISE_CEL_CONST:
        *out = just(BIT(n->u.constant.kind));
        return MORTISE_OK;
    case MORTISE_CEL_IDENT:
        return check_ident(c, n, locals, out);
    case MORTISE_CEL_NAME:
    case MORTISE_CEL_LOCAL:
        return MORTISE_OK; /* only we make them: each node is seen once */
    case MORTISE_CEL_SELECT:
    case MORTISE_CEL_HAS:
        return check_select(c, n, locals, out);
    case MORTISE_CEL_INDEX:
        return check_index(c, n, locals, out);
    case MORTISE_CEL_NOT:
    case MORTISE_CEL_NEGATE:
        return check_unary(c, n, locals, out);
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
        return check_binary(c, n, locals, out);
    case MORTISE_CEL_AND:
    case MORTISE_CEL_OR:
        return check_logic(c, n, locals, out);
    case MORTISE_CEL_COND:
        return check_condition(c, n, locals, out);
    case MORTISE_CEL_NEWLIST:
    case MORTISE_CEL_NEWMAP:
        return check_literal(c, n, locals, out);
    case MORTISE_CEL_CALL:
        return check_call(c, n, locals, out);
    case MORTISE_CEL_ALL:
    case MORTISE_CEL_EXISTS:
    case MORTISE_CEL_EXISTS_ONE:
    case MORTISE_CEL_MAKE_LIST:
    case MORTISE_CEL_MAKE_MAP:
        return check_fold(c, n, locals, out);
    }
    return MORTISE_OK;
}

int mortise_cel_check(const struct mortise_cel_source *src,
                      struct mortise_cel_node *root,
                      const struct mortise_cel_scope *scope, uint32_t *n_slots,
                      unsigned *kinds)
{
    struct checker c = {.src = src, .scope = scope};
    struct type t;
    int rv = check(&c, root, NULL, &t);

    *n_slots = c.n_slots;
    *kinds = t.kinds;
    return rv;
}
