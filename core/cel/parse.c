/* parse.c -- the tree of an expression, by recursive descent.
 *
 * Binary operators climb precedences in one loop, so that a parenthesis costs
 * a handful of stack frames; MORTISE_CEL_HEIGHT bounds how many may be open and
 * how high the tree may grow, so neither we nor the evaluator can run out of
 * stack, whatever the text.  Chains of && and || are one node each, however
 * long.
 *
 * Macros are recognised here, by name and number of arguments as the language
 * definition says, and become nodes of their own: a fold over accumulating
 * lists, as other implementations expand them, would cost the square.
 */
#include "cel/lex.h"

#include <string.h>

#include "base/utf8.h"

struct parser {
    const struct mortise_cel_source *src;
    struct mortise_cel_token tok; /* the next one, not yet taken */
    size_t offset;                /* behind it */
    size_t depth;
};

/* Kids while their number is not known: chained, then counted. */
struct kids {
    struct kid *first, **last;
    uint32_t n;
};
struct kid {
    struct mortise_cel_node *node;
    struct kid *next;
};

static int parse_expr(struct parser *ps, struct mortise_cel_node **out);

/* ---- tokens ---------------------------------------------------------- */

static int advance(struct parser *ps)
{
    return mortise_cel_lex(ps->src, &ps->offset, &ps->tok);
}

static bool at(const struct parser *ps, int op)
{
    return ps->tok.kind == MORTISE_CEL_T_PUNCT && ps->tok.op == op;
}

static int fail_here(struct parser *ps, const char *words)
{
    return mortise_cel_fail(ps->src, MORTISE_EINVAL, ps->tok.offset,
                            ps->tok.length, "%s", words);
}

static int unexpected(struct parser *ps, const char *wanted)
{
    const char *found = ps->src->text + ps->tok.offset;

    if (ps->tok.kind == MORTISE_CEL_T_END)
        return mortise_cel_fail(ps->src, MORTISE_EINVAL, ps->tok.offset, 0,
                                "expected %s, but the expression ends", wanted);
    return mortise_cel_fail(ps->src, MORTISE_EINVAL, ps->tok.offset,
                            ps->tok.length, "expected %s, found '%.*s'", wanted,
                            (int)mortise_utf8_cut(found, ps->tok.length, 40),
                            found);
}

static int expect(struct parser *ps, int op, const char *name)
{
    return at(ps, op) ? advance(ps) : unexpected(ps, name);
}

static int later(struct parser *ps, const char *what)
{
    return mortise_cel_fail(ps->src, MORTISE_EUNAVAILABLE, ps->tok.offset,
                            ps->tok.length,
                            "%s of CEL are not available in this build", what);
}

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

static bool is_keyword(const char *name)
{
    static const char *const words[] = {"in", "true", "false", "null", NULL};

    return is_one_of(name, words);
}

static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "as",       "break",  "const",  "continue", "else",  "for",
        "function", "if",     "import", "let",      "loop",  "namespace",
        "package",  "return", "var",    "void",     "while", NULL};

    return is_one_of(name, words);
}

/* ---- nodes ----------------------------------------------------------- */

/* A node over n kids that points at `tok`. */
static int make(struct parser *ps, enum mortise_cel_op op,
                const struct mortise_cel_token *tok, uint32_t n,
                struct mortise_cel_node *const *kids,
                struct mortise_cel_node **out)
{
    struct mortise_cel_node *node =
        mortise_arena_alloc(ps->src->arena, sizeof *node);
    struct mortise_cel_node **own =
        mortise_arena_alloc(ps->src->arena, n * sizeof(struct kid *));
    uint16_t height = 0;

    if (node == NULL || own == NULL)
        return mortise_nomem(ps->src->err);
    for (uint32_t i = 0; i < n; i++) {
        own[i] = kids[i];
        if (kids[i] != NULL && kids[i]->height > height)
            height = kids[i]->height;
    }
    if (height >= MORTISE_CEL_HEIGHT)
        return mortise_cel_fail(ps->src, MORTISE_EINVAL, tok->offset,
                                tok->length,
                                "the expression is nested too deeply");
    node->op = (uint8_t)op;
    node->height = (uint16_t)(height + 1);
    node->offset = (uint32_t)tok->offset; /* TEXT_MAX is far below 2^32 */
    node->length = (uint32_t)tok->length;
    node->n = n;
    node->kids = own;
    *out = node;
    return MORTISE_OK;
}

static void kids_init(struct kids *k)
{
    k->first = NULL;
    k->last = &k->first;
    k->n = 0;
}

static int kids_add(struct parser *ps, struct kids *k,
                    struct mortise_cel_node *node)
{
    struct kid *kid = mortise_arena_alloc(ps->src->arena, sizeof *kid);

    if (kid == NULL)
        return mortise_nomem(ps->src->err);
    kid->node = node;
    *k->last = kid;
    k->last = &kid->next;
    k->n++;
    return MORTISE_OK;
}

static int make_of(struct parser *ps, enum mortise_cel_op op,
                   const struct mortise_cel_token *tok, const struct kids *k,
                   struct mortise_cel_node **out)
{
    struct mortise_cel_node **list =
        mortise_arena_alloc(ps->src->arena, k->n * sizeof(struct kid *));
    uint32_t i = 0;

    if (list == NULL)
        return mortise_nomem(ps->src->err);
    for (const struct kid *kid = k->first; kid != NULL; kid = kid->next)
        list[i++] = kid->node;
    return make(ps, op, tok, k->n, list, out);
}

static int make_const(struct parser *ps, const struct mortise_cel_token *tok,
                      struct mortise_cel_value v, struct mortise_cel_node **out)
{
    int rv = make(ps, MORTISE_CEL_CONST, tok, 0, NULL, out);

    if (rv == MORTISE_OK)
        (*out)->u.constant = v;
    return rv;
}

/* ---- macros ---------------------------------------------------------- */

struct macro {
    const char *name;
    uint8_t n_args, n_vars;
    enum mortise_cel_op op;
    int8_t condition, body; /* which argument, or -1 */
};

static const struct macro macros[] = {
    {"all", 2, 1, MORTISE_CEL_ALL, 1, -1},
    {"all", 3, 2, MORTISE_CEL_ALL, 2, -1},
    {"exists", 2, 1, MORTISE_CEL_EXISTS, 1, -1},
    {"exists", 3, 2, MORTISE_CEL_EXISTS, 2, -1},
    {"exists_one", 2, 1, MORTISE_CEL_EXISTS_ONE, 1, -1},
    {"exists_one", 3, 2, MORTISE_CEL_EXISTS_ONE, 2, -1},
    {"existsOne", 2, 1, MORTISE_CEL_EXISTS_ONE, 1, -1},
    {"existsOne", 3, 2, MORTISE_CEL_EXISTS_ONE, 2, -1},
    {"filter", 2, 1, MORTISE_CEL_MAKE_LIST, 1, -1},
    {"map", 2, 1, MORTISE_CEL_MAKE_LIST, -1, 1},
    {"map", 3, 1, MORTISE_CEL_MAKE_LIST, 1, 2},
    {"transformList", 3, 2, MORTISE_CEL_MAKE_LIST, -1, 2},
    {"transformList", 4, 2, MORTISE_CEL_MAKE_LIST, 2, 3},
    {"transformMap", 3, 2, MORTISE_CEL_MAKE_MAP, -1, 2},
    {"transformMap", 4, 2, MORTISE_CEL_MAKE_MAP, 2, 3},
};

/* The macro of that name and number of arguments; *known if there is one of
 * the name. */
static const struct macro *find_macro(const char *name, uint32_t n, bool *known)
{
    *known = false;
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++) {
        if (strcmp(macros[i].name, name) != 0)
            continue;
        *known = true;
        if (macros[i].n_args == n)
            return &macros[i];
    }
    return NULL;
}

/* The arguments are kids[1..] of a call; the range is kids[0]. */
static int expand_macro(struct parser *ps, const struct macro *m,
                        const struct mortise_cel_token *tok,
                        struct mortise_cel_node *call,
                        struct mortise_cel_node **out)
{
    struct mortise_cel_node **args = call->kids + 1;
    struct mortise_cel_node *kids[3] = {
        call->kids[0], m->condition >= 0 ? args[m->condition] : NULL,
        m->body >= 0 ? args[m->body] : NULL};
    int rv;

    for (int i = 0; i < m->n_vars; i++)
        if (args[i]->op != MORTISE_CEL_IDENT || args[i]->is_absolute)
            return mortise_cel_fail(
                ps->src, MORTISE_EINVAL, args[i]->offset, args[i]->length,
                "%s() needs a name here, for its variable", m->name);
    if (m->n_vars == 2 && strcmp(args[0]->u.name.p, args[1]->u.name.p) == 0)
        return mortise_cel_fail(
            ps->src, MORTISE_EINVAL, args[1]->offset, args[1]->length,
            "the two variables of %s() need two names", m->name);
    rv = make(ps, m->op, tok, 3, kids, out);
    for (int i = 0; rv == MORTISE_OK && i < m->n_vars; i++)
        (*out)->u.fold.var[i] = args[i]->u.name;
    return rv;
}

static int expand_has(struct parser *ps, const struct mortise_cel_token *tok,
                      const struct mortise_cel_node *call,
                      struct mortise_cel_node **out)
{
    if (call->n != 1 || call->kids[0]->op != MORTISE_CEL_SELECT)
        return mortise_cel_fail(ps->src, MORTISE_EINVAL, tok->offset,
                                tok->length,
                                "has() takes one member: has(a.b)");
    *out = call->kids[0];
    (*out)->op = MORTISE_CEL_HAS;
    return MORTISE_OK;
}

/* A call as it was written; macros become what they stand for. */
static int make_call(struct parser *ps, const struct mortise_cel_token *tok,
                     const struct kids *k, bool is_receiver,
                     struct mortise_cel_node **out)
{
    const struct macro *m;
    bool known;
    int rv = make_of(ps, MORTISE_CEL_CALL, tok, k, out);

    if (rv != MORTISE_OK)
        return rv;
    (*out)->is_receiver = is_receiver;
    (*out)->u.call.name = tok->text;
    if (!is_receiver && strcmp(tok->text.p, "has") == 0)
        return expand_has(ps, tok, *out, out);
    if (!is_receiver)
        return MORTISE_OK;
    m = find_macro(tok->text.p, k->n - 1, &known);
    if (m != NULL)
        return expand_macro(ps, m, tok, *out, out);
    if (!known)
        return MORTISE_OK;
    return mortise_cel_fail(ps->src, MORTISE_EINVAL, tok->offset, tok->length,
                            "%s() does not take %u arguments", tok->text.p,
                            (unsigned)(k->n - 1));
}

/* ---- primaries ------------------------------------------------------- */

/* Expressions up to the closing token, which is taken.  A comma may end a
 * list, not arguments. */
static int parse_list(struct parser *ps, int close, const char *close_name,
                      bool may_trail, struct kids *k)
{
    int rv = advance(ps);

    while (rv == MORTISE_OK && !at(ps, close)) {
        struct mortise_cel_node *item = NULL;

        if (at(ps, '?'))
            return later(ps, "optional elements");
        rv = parse_expr(ps, &item);
        if (rv == MORTISE_OK)
            rv = kids_add(ps, k, item);
        if (rv != MORTISE_OK)
            return rv;
        if (!at(ps, ','))
            break;
        rv = advance(ps);
        if (rv == MORTISE_OK && at(ps, close) && !may_trail)
            return unexpected(ps, "an argument");
    }
    return rv == MORTISE_OK ? expect(ps, close, close_name) : rv;
}

static int parse_map(struct parser *ps, struct mortise_cel_node **out)
{
    struct mortise_cel_token tok = ps->tok;
    struct mortise_cel_node *part = NULL;
    struct kids k;
    int rv = advance(ps);

    kids_init(&k);
    while (rv == MORTISE_OK && !at(ps, '}')) {
        if (at(ps, '?'))
            return later(ps, "optional entries");
        rv = parse_expr(ps, &part);
        if (rv == MORTISE_OK)
            rv = kids_add(ps, &k, part);
        if (rv == MORTISE_OK)
            rv = expect(ps, ':', "':'");
        if (rv == MORTISE_OK)
            rv = parse_expr(ps, &part);
        if (rv == MORTISE_OK)
            rv = kids_add(ps, &k, part);
        if (rv != MORTISE_OK || !at(ps, ','))
            break;
        rv = advance(ps);
    }
    if (rv == MORTISE_OK)
        rv = expect(ps, '}', "',' or '}'");
    return rv == MORTISE_OK ? make_of(ps, MORTISE_CEL_NEWMAP, &tok, &k, out)
                            : rv;
}

static int parse_array(struct parser *ps, struct mortise_cel_node **out)
{
    struct mortise_cel_token tok = ps->tok;
    struct kids k;
    int rv;

    kids_init(&k);
    rv = parse_list(ps, ']', "',' or ']'", true, &k);
    return rv == MORTISE_OK ? make_of(ps, MORTISE_CEL_NEWLIST, &tok, &k, out)
                            : rv;
}

static int parse_parens(struct parser *ps, struct mortise_cel_node **out)
{
    int rv = advance(ps);

    if (rv == MORTISE_OK)
        rv = parse_expr(ps, out);
    return rv == MORTISE_OK ? expect(ps, ')', "')'") : rv;
}

/* The literal under the cursor, negated where a minus stands before it: only
 * so the least int can be written. */
static int parse_literal(struct parser *ps, bool negative,
                         struct mortise_cel_token tok,
                         struct mortise_cel_node **out)
{
    uint64_t m = ps->tok.magnitude, most = (uint64_t)INT64_MAX + negative;
    struct mortise_cel_value v;
    int rv;

    switch (ps->tok.kind) {
    case MORTISE_CEL_T_INT:
        if (m > most)
            return fail_here(ps, "this number does not fit into an int; a "
                                 "uint ends in 'u'");
        v = mortise_cel_int(negative ? (int64_t)(0 - m) : (int64_t)m);
        break;
    case MORTISE_CEL_T_UINT:
        v = mortise_cel_uint(m);
        break;
    case MORTISE_CEL_T_DOUBLE:
        v = mortise_cel_double(negative ? -ps->tok.real : ps->tok.real);
        break;
    default:
        v = mortise_cel_text(ps->tok.kind == MORTISE_CEL_T_BYTES
                                 ? MORTISE_CEL_BYTES
                                 : MORTISE_CEL_STRING,
                             ps->tok.text.p, ps->tok.text.n);
    }
    tok.length = ps->tok.offset + ps->tok.length - tok.offset;
    rv = advance(ps);
    return rv == MORTISE_OK ? make_const(ps, &tok, v, out) : rv;
}

static int parse_keyword(struct parser *ps, struct mortise_cel_node **out)
{
    struct mortise_cel_token tok = ps->tok;
    struct mortise_cel_value v = {.kind = MORTISE_CEL_NULL};
    int rv;

    if (strcmp(tok.text.p, "in") == 0)
        return unexpected(ps, "a value");
    if (strcmp(tok.text.p, "null") != 0)
        v = mortise_cel_bool(strcmp(tok.text.p, "true") == 0);
    rv = advance(ps);
    return rv == MORTISE_OK ? make_const(ps, &tok, v, out) : rv;
}

/* A name or a call of a global function. */
static int parse_name(struct parser *ps, bool absolute,
                      struct mortise_cel_node **out)
{
    struct mortise_cel_token tok = ps->tok;
    struct kids k;
    int rv;

    if (is_keyword(tok.text.p) && !absolute)
        return parse_keyword(ps, out);
    if (is_reserved(tok.text.p) || is_keyword(tok.text.p))
        return mortise_cel_fail(ps->src, MORTISE_EINVAL, tok.offset, tok.length,
                                "'%s' is a reserved word", tok.text.p);
    rv = advance(ps);
    if (rv != MORTISE_OK)
        return rv;
    if (at(ps, '(')) {
        kids_init(&k);
        rv = parse_list(ps, ')', "',' or ')'", false, &k);
        return rv == MORTISE_OK ? make_call(ps, &tok, &k, false, out) : rv;
    }
    rv = make(ps, MORTISE_CEL_IDENT, &tok, 0, NULL, out);
    if (rv != MORTISE_OK)
        return rv;
    (*out)->u.name = tok.text;
    (*out)->is_absolute = absolute;
    return MORTISE_OK;
}

static int parse_primary(struct parser *ps, struct mortise_cel_node **out)
{
    int rv;

    switch (ps->tok.kind) {
    case MORTISE_CEL_T_INT:
    case MORTISE_CEL_T_UINT:
    case MORTISE_CEL_T_DOUBLE:
    case MORTISE_CEL_T_STRING:
    case MORTISE_CEL_T_BYTES:
        return parse_literal(ps, false, ps->tok, out);
    case MORTISE_CEL_T_IDENT:
        return parse_name(ps, false, out);
    default:
        break;
    }
    if (at(ps, '('))
        return parse_parens(ps, out);
    if (at(ps, '['))
        return parse_array(ps, out);
    if (at(ps, '{'))
        return parse_map(ps, out);
    if (!at(ps, '.'))
        return unexpected(ps, "a value");
    rv = advance(ps);
    if (rv != MORTISE_OK)
        return rv;
    return ps->tok.kind == MORTISE_CEL_T_IDENT ? parse_name(ps, true, out)
                                               : unexpected(ps, "a name");
}

/* ---- members --------------------------------------------------------- */

/* Behind `operand`, at the point: a member or a call on the operand. */
static int parse_select(struct parser *ps, struct mortise_cel_node **node)
{
    struct mortise_cel_token tok;
    struct kids k;
    int rv = advance(ps);

    if (rv != MORTISE_OK)
        return rv;
    if (at(ps, '?'))
        return later(ps, "optional members");
    tok = ps->tok;
    if (tok.kind != MORTISE_CEL_T_QUOTED &&
        (tok.kind != MORTISE_CEL_T_IDENT || is_keyword(tok.text.p)))
        return unexpected(ps, "a member's name");
    rv = advance(ps);
    if (rv != MORTISE_OK)
        return rv;
    if (at(ps, '(') && tok.kind == MORTISE_CEL_T_IDENT) {
        kids_init(&k);
        rv = kids_add(ps, &k, *node);
        if (rv == MORTISE_OK)
            rv = parse_list(ps, ')', "',' or ')'", false, &k);
        return rv == MORTISE_OK ? make_call(ps, &tok, &k, true, node) : rv;
    }
    rv = make(ps, MORTISE_CEL_SELECT, &tok, 1, node, node);
    if (rv == MORTISE_OK)
        (*node)->u.name = tok.text;
    return rv;
}

static int parse_index(struct parser *ps, struct mortise_cel_node **node)
{
    struct mortise_cel_token tok = ps->tok;
    struct mortise_cel_node *kids[2] = {*node, NULL};
    int rv = advance(ps);

    if (rv == MORTISE_OK && at(ps, '?'))
        return later(ps, "optional elements");
    if (rv == MORTISE_OK)
        rv = parse_expr(ps, &kids[1]);
    if (rv == MORTISE_OK) {
        tok.length = ps->tok.offset + ps->tok.length - tok.offset;
        rv = expect(ps, ']', "']'");
    }
    return rv == MORTISE_OK ? make(ps, MORTISE_CEL_INDEX, &tok, 2, kids, node)
                            : rv;
}

/* a.b.C{...}: a message. */
static bool is_message(const struct parser *ps,
                       const struct mortise_cel_node *node)
{
    if (!at(ps, '{'))
        return false;
    while (node->op == MORTISE_CEL_SELECT)
        node = node->kids[0];
    return node->op == MORTISE_CEL_IDENT;
}

/* What is selected of *out, called on it or indexed in it. */
static int parse_suffixes(struct parser *ps, struct mortise_cel_node **out)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK) {
        if (at(ps, '.'))
            rv = parse_select(ps, out);
        else if (at(ps, '['))
            rv = parse_index(ps, out);
        else if (is_message(ps, *out))
            return later(ps, "message literals");
        else
            break;
    }
    return rv;
}

/* ---- operators ------------------------------------------------------- */

/* Is a number literal next, so that a minus belongs to it? */
static bool at_number(const struct parser *ps)
{
    return ps->tok.kind == MORTISE_CEL_T_INT ||
           ps->tok.kind == MORTISE_CEL_T_DOUBLE;
}

static int parse_unary(struct parser *ps, struct mortise_cel_node **out)
{
    struct mortise_cel_token tok = ps->tok;
    bool minus = at(ps, '-');
    int rv;

    if (!minus && !at(ps, '!')) {
        rv = parse_primary(ps, out);
        return rv == MORTISE_OK ? parse_suffixes(ps, out) : rv;
    }
    if (++ps->depth > MORTISE_CEL_HEIGHT)
        return fail_here(ps, "the expression is nested too deeply");
    rv = advance(ps);
    if (rv == MORTISE_OK && minus && at_number(ps)) {
        rv = parse_literal(ps, true, tok, out);
        if (rv == MORTISE_OK)
            rv = parse_suffixes(ps, out);
    } else {
        if (rv == MORTISE_OK)
            rv = parse_unary(ps, out);
        if (rv == MORTISE_OK)
            rv = make(ps, minus ? MORTISE_CEL_NEGATE : MORTISE_CEL_NOT, &tok, 1,
                      out, out);
    }
    ps->depth--;
    return rv;
}

struct binary {
    enum mortise_cel_op op;
    int precedence; /* 0: none */
};

static struct binary operator_here(const struct parser *ps)
{
    static const struct {
        int token;
        struct binary is;
    } table[] = {
        {'+', {MORTISE_CEL_ADD, 2}},
        {'-', {MORTISE_CEL_SUBTRACT, 2}},
        {'*', {MORTISE_CEL_MULTIPLY, 3}},
        {'/', {MORTISE_CEL_DIVIDE, 3}},
        {'%', {MORTISE_CEL_MODULO, 3}},
        {'<', {MORTISE_CEL_LT, 1}},
        {'>', {MORTISE_CEL_GT, 1}},
        {MORTISE_CEL_P_LE, {MORTISE_CEL_LE, 1}},
        {MORTISE_CEL_P_GE, {MORTISE_CEL_GE, 1}},
        {MORTISE_CEL_P_EQ, {MORTISE_CEL_EQ, 1}},
        {MORTISE_CEL_P_NE, {MORTISE_CEL_NE, 1}},
    };

    if (ps->tok.kind == MORTISE_CEL_T_IDENT &&
        strcmp(ps->tok.text.p, "in") == 0)
        return (struct binary){MORTISE_CEL_IN, 1};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (at(ps, table[i].token))
            return table[i].is;
    return (struct binary){MORTISE_CEL_CONST, 0};
}

/* Operators of at least that precedence, all of them left-associative. */
static int parse_binary(struct parser *ps, int least,
                        struct mortise_cel_node **out)
{
    int rv = parse_unary(ps, out);

    while (rv == MORTISE_OK) {
        struct mortise_cel_token tok = ps->tok;
        struct binary is = operator_here(ps);
        struct mortise_cel_node *kids[2] = {*out, NULL};

        if (is.precedence == 0 || is.precedence < least)
            break;
        rv = advance(ps);
        if (rv == MORTISE_OK)
            rv = parse_binary(ps, is.precedence + 1, &kids[1]);
        if (rv == MORTISE_OK)
            rv = make(ps, is.op, &tok, 2, kids, out);
    }
    return rv;
}

/* A chain of && (of comparisons) or of || (of such chains): one node. */
static int parse_logic(struct parser *ps, int token,
                       struct mortise_cel_node **out)
{
    struct mortise_cel_token tok;
    struct kids k;
    int rv;

    kids_init(&k);
    for (;;) {
        rv = token == MORTISE_CEL_P_OR ? parse_logic(ps, MORTISE_CEL_P_AND, out)
                                       : parse_binary(ps, 1, out);
        if (rv != MORTISE_OK || (k.n == 0 && !at(ps, token)))
            return rv;
        if (k.n == 0)
            tok = ps->tok;
        rv = kids_add(ps, &k, *out);
        if (rv == MORTISE_OK && !at(ps, token))
            return make_of(ps,
                           token == MORTISE_CEL_P_OR ? MORTISE_CEL_OR
                                                     : MORTISE_CEL_AND,
                           &tok, &k, out);
        if (rv == MORTISE_OK)
            rv = advance(ps);
        if (rv != MORTISE_OK)
            return rv;
    }
}

static int parse_condition(struct parser *ps, struct mortise_cel_node **out)
{
    struct mortise_cel_token tok;
    struct mortise_cel_node *kids[3] = {NULL};
    int rv = parse_logic(ps, MORTISE_CEL_P_OR, &kids[0]);

    *out = kids[0];
    if (rv != MORTISE_OK || !at(ps, '?'))
        return rv;
    tok = ps->tok;
    rv = advance(ps);
    if (rv == MORTISE_OK)
        rv = parse_logic(ps, MORTISE_CEL_P_OR, &kids[1]);
    if (rv == MORTISE_OK)
        rv = expect(ps, ':', "':'");
    if (rv == MORTISE_OK)
        rv = parse_expr(ps, &kids[2]);
    return rv == MORTISE_OK ? make(ps, MORTISE_CEL_COND, &tok, 3, kids, out)
                            : rv;
}

static int parse_expr(struct parser *ps, struct mortise_cel_node **out)
{
    int rv;

    if (++ps->depth > MORTISE_CEL_HEIGHT)
        return fail_here(ps, "the expression is nested too deeply");
    rv = parse_condition(ps, out);
    ps->depth--;
    return rv;
}

int mortise_cel_parse(const struct mortise_cel_source *src,
                      struct mortise_cel_node **out)
{
    struct parser ps = {.src = src};
    int rv = advance(&ps);

    if (rv == MORTISE_OK && ps.tok.kind == MORTISE_CEL_T_END)
        return fail_here(&ps, "there is no expression");
    if (rv == MORTISE_OK)
        rv = parse_expr(&ps, out);
    if (rv == MORTISE_OK && ps.tok.kind != MORTISE_CEL_T_END)
        return unexpected(&ps, "an operator");
    return rv;
}
