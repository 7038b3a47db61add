/* parse.c -- the tree of an expression, by recursive descent.
 *
 * One loop processes the precedences of binary operators, so that a parenthesis
 * needs only a few stack frames.  CEL_HEIGHT limits the number of open
 * parentheses and the height of the tree.  So neither the parser nor the
 * evaluator can exhaust the stack, whatever the text.  A chain of && or of ||
 * is one node, whatever its length.
 *
 * Macros are recognized here, by name and number of arguments as in the
 * language definition, and become nodes of their own.  Other implementations
 * expand them to a fold over growing lists, which would cost quadratic time.
 *
 * Errors leave through mortise_cel_fail() from any depth, and so does a lack of
 * memory.  A function that returns has parsed the construct in its name.
 */
#include "lang/cel/lex.h"

#include <string.h>

#include "core/base/utf8.h"

struct parser {
    const struct cel_source *src;
    struct cel_token tok; /* the next token, not yet consumed */
    size_t offset;        /* after that token */
    size_t depth;
};

/* A growing list of kids in the arena, doubled when it is full. */
struct kids {
    struct cel_node **p;
    uint32_t n, cap;
};

static struct cel_node *parse_expr(struct parser *ps);

/* ---- tokens ---------------------------------------------------------- */

static void advance_token(struct parser *ps)
{
    mortise_cel_lex(ps->src, &ps->offset, &ps->tok);
}

static bool is_at_token(const struct parser *ps, int op)
{
    return ps->tok.kind == CEL_T_PUNCT && ps->tok.op == op;
}

static _Noreturn void fail_unexpected(struct parser *ps, const char *wanted)
{
    const char *found = ps->src->text + ps->tok.offset;

    if (ps->tok.kind == CEL_T_END)
        CEL_FAIL_AT(ps->src, &ps->tok, "expected %s, but the expression ends",
                    wanted);
    CEL_FAIL_AT(ps->src, &ps->tok, "expected %s, found '%.*s'", wanted,
                (int)mortise_utf8_get_prefix_size(found, ps->tok.length, 40),
                found);
}

static void expect_token(struct parser *ps, int op, const char *name)
{
    if (!is_at_token(ps, op))
        fail_unexpected(ps, name);
    advance_token(ps);
}

static _Noreturn void fail_unsupported(struct parser *ps, const char *what)
{
    mortise_cel_fail(ps->src, MORTISE_EUNAVAILABLE, ps->tok.offset,
                     ps->tok.length,
                     "%s of CEL are not available in this build", what);
}

/* Refuse the extensions of other implementations that begin with '?'. */
static void refuse_optional(struct parser *ps, const char *what)
{
    if (is_at_token(ps, '?'))
        fail_unsupported(ps, what);
}

/* Enter one more level; the caller decrements the depth. */
static void enter_level(struct parser *ps)
{
    if (++ps->depth > CEL_HEIGHT)
        CEL_FAIL_AT(ps->src, &ps->tok, "the expression is nested too deeply");
}

static bool is_word_in(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

static bool is_keyword(const char *name)
{
    static const char *const words[] = {"in", "true", "false", "null", NULL};

    return is_word_in(name, words);
}

static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "as",       "break",  "const",  "continue", "else",  "for",
        "function", "if",     "import", "let",      "loop",  "namespace",
        "package",  "return", "var",    "void",     "while", NULL};

    return is_word_in(name, words);
}

/* ---- nodes ----------------------------------------------------------- */

/* A node over n kids with the position of `tok`. */
static struct cel_node *make_cel_node(struct parser *ps, enum cel_op op,
                                      const struct cel_token *tok, uint32_t n,
                                      struct cel_node *const *kids)
{
    struct cel_node *node = cel_source_alloc(ps->src, 1, sizeof *node);

    node->kids = cel_source_alloc(ps->src, n, sizeof(struct cel_node *));
    for (uint32_t i = 0; i < n; i++) {
        node->kids[i] = kids[i];
        if (kids[i] != NULL && kids[i]->height > node->height)
            node->height = kids[i]->height;
    }
    if (node->height++ >= CEL_HEIGHT)
        CEL_FAIL_AT(ps->src, tok, "the expression is nested too deeply");
    node->op = (uint8_t)op;
    node->offset = (uint32_t)tok->offset; /* TEXT_MAX is far below 2^32 */
    node->length = (uint32_t)tok->length;
    node->n = n;
    return node;
}

static void kids_add(struct parser *ps, struct kids *k, struct cel_node *node)
{
    if (k->n == k->cap) {
        struct cel_node **old = k->p;

        k->cap = k->cap > 0 ? 2 * k->cap : 4;
        k->p = cel_source_alloc(ps->src, k->cap, sizeof(struct cel_node *));
        for (uint32_t i = 0; i < k->n; i++)
            k->p[i] = old[i];
    }
    k->p[k->n++] = node;
}

static struct cel_node *
make_const(struct parser *ps, const struct cel_token *tok, struct cel_value v)
{
    struct cel_node *node = make_cel_node(ps, CEL_CONST, tok, 0, NULL);

    node->u.constant = v;
    return node;
}

/* ---- macros ---------------------------------------------------------- */

struct macro {
    const char *name;
    uint8_t n_args, n_vars;
    enum cel_op op;
    int8_t condition, body; /* index of the argument, or -1 */
};

static const struct macro macros[] = {
    {"all", 2, 1, CEL_ALL, 1, -1},
    {"all", 3, 2, CEL_ALL, 2, -1},
    {"exists", 2, 1, CEL_EXISTS, 1, -1},
    {"exists", 3, 2, CEL_EXISTS, 2, -1},
    {"exists_one", 2, 1, CEL_EXISTS_ONE, 1, -1},
    {"exists_one", 3, 2, CEL_EXISTS_ONE, 2, -1},
    {"existsOne", 2, 1, CEL_EXISTS_ONE, 1, -1},
    {"existsOne", 3, 2, CEL_EXISTS_ONE, 2, -1},
    {"filter", 2, 1, CEL_MAKE_LIST, 1, -1},
    {"map", 2, 1, CEL_MAKE_LIST, -1, 1},
    {"map", 3, 1, CEL_MAKE_LIST, 1, 2},
    {"transformList", 3, 2, CEL_MAKE_LIST, -1, 2},
    {"transformList", 4, 2, CEL_MAKE_LIST, 2, 3},
    {"transformMap", 3, 2, CEL_MAKE_MAP, -1, 2},
    {"transformMap", 4, 2, CEL_MAKE_MAP, 2, 3},
};

const char *mortise_cel_macro_at(size_t i)
{
    size_t n = sizeof macros / sizeof macros[0];

    return i < n ? macros[i].name : i == n ? "has" : NULL;
}

/* The macro of that name and number of arguments; *known is set if a macro of
 * the name exists. */
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
static struct cel_node *expand_macro(struct parser *ps, const struct macro *m,
                                     const struct cel_token *tok,
                                     struct cel_node *call)
{
    struct cel_node **args = call->kids + 1;
    struct cel_node *kids[3] = {call->kids[0],
                                m->condition >= 0 ? args[m->condition] : NULL,
                                m->body >= 0 ? args[m->body] : NULL};
    struct cel_node *node;

    for (int i = 0; i < m->n_vars; i++)
        if (args[i]->op != CEL_IDENT || args[i]->is_absolute)
            CEL_FAIL_AT(ps->src, args[i],
                        "%s() needs a name for its variable here", m->name);
    if (m->n_vars == 2 && strcmp(args[0]->u.name.p, args[1]->u.name.p) == 0)
        CEL_FAIL_AT(ps->src, args[1],
                    "the two variables of %s() need different names", m->name);
    node = make_cel_node(ps, m->op, tok, 3, kids);
    for (int i = 0; i < m->n_vars; i++)
        node->u.fold.var[i] = args[i]->u.name;
    return node;
}

static struct cel_node *expand_has(struct parser *ps,
                                   const struct cel_token *tok,
                                   const struct cel_node *call)
{
    if (call->n != 1 || call->kids[0]->op != CEL_SELECT)
        CEL_FAIL_AT(ps->src, tok, "has() takes one member: has(a.b)");
    call->kids[0]->op = CEL_HAS;
    return call->kids[0];
}

/* A call as written, or the expansion of a macro. */
static struct cel_node *make_call(struct parser *ps,
                                  const struct cel_token *tok,
                                  const struct kids *k, bool is_receiver)
{
    struct cel_node *call = make_cel_node(ps, CEL_CALL, tok, k->n, k->p);
    const struct macro *m;
    bool known;

    call->is_receiver = is_receiver;
    call->u.call.name = tok->text;
    if (!is_receiver)
        return strcmp(tok->text.p, "has") == 0 ? expand_has(ps, tok, call)
                                               : call;
    m = find_macro(tok->text.p, k->n - 1, &known);
    if (m != NULL)
        return expand_macro(ps, m, tok, call);
    if (known)
        CEL_FAIL_AT(ps->src, tok, "%s() does not take %u arguments",
                    tok->text.p, (unsigned)(k->n - 1));
    return call;
}

/* ---- primaries ------------------------------------------------------- */

/* Expressions up to the closing token, which is consumed.  A trailing comma is
 * allowed in a list, but not in arguments. */
static void parse_list(struct parser *ps, int close, const char *close_name,
                       bool may_trail, struct kids *k)
{
    advance_token(ps);
    while (!is_at_token(ps, close)) {
        refuse_optional(ps, "optional elements");
        kids_add(ps, k, parse_expr(ps));
        if (!is_at_token(ps, ','))
            break;
        advance_token(ps);
        if (is_at_token(ps, close) && !may_trail)
            fail_unexpected(ps, "an argument");
    }
    expect_token(ps, close, close_name);
}

static struct cel_node *parse_map(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct kids k = {NULL, 0, 0};

    advance_token(ps);
    while (!is_at_token(ps, '}')) {
        refuse_optional(ps, "optional entries");
        kids_add(ps, &k, parse_expr(ps));
        expect_token(ps, ':', "':'");
        kids_add(ps, &k, parse_expr(ps));
        if (!is_at_token(ps, ','))
            break;
        advance_token(ps);
    }
    expect_token(ps, '}', "',' or '}'");
    return make_cel_node(ps, CEL_NEWMAP, &tok, k.n, k.p);
}

static struct cel_node *parse_array(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct kids k = {NULL, 0, 0};

    parse_list(ps, ']', "',' or ']'", true, &k);
    return make_cel_node(ps, CEL_NEWLIST, &tok, k.n, k.p);
}

static struct cel_node *parse_parens(struct parser *ps)
{
    struct cel_node *node;

    advance_token(ps);
    node = parse_expr(ps);
    expect_token(ps, ')', "')'");
    return node;
}

/* The literal at the current token, negated after a minus.  Otherwise the least
 * int could not be written. */
static struct cel_node *parse_literal(struct parser *ps, bool negative,
                                      struct cel_token tok)
{
    uint64_t m = ps->tok.magnitude, most = (uint64_t)INT64_MAX + negative;
    struct cel_value v;

    switch (ps->tok.kind) {
    case CEL_T_INT:
        if (m > most)
            CEL_FAIL_AT(
                ps->src, &ps->tok,
                "this number does not fit into an int; a uint ends in 'u'");
        v = cel_int(negative ? (int64_t)(0 - m) : (int64_t)m);
        break;
    case CEL_T_UINT:
        v = cel_uint(m);
        break;
    case CEL_T_DOUBLE:
        v = cel_double(negative ? -ps->tok.real : ps->tok.real);
        break;
    default:
        v = cel_text(ps->tok.kind == CEL_T_BYTES ? CEL_BYTES : CEL_STRING,
                     ps->tok.text.p, ps->tok.text.n);
    }
    tok.length = ps->tok.offset + ps->tok.length - tok.offset;
    advance_token(ps);
    return make_const(ps, &tok, v);
}

static struct cel_node *parse_keyword(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct cel_value v = {.kind = CEL_NULL};

    if (strcmp(tok.text.p, "in") == 0)
        fail_unexpected(ps, "a value");
    if (strcmp(tok.text.p, "null") != 0)
        v = cel_bool(strcmp(tok.text.p, "true") == 0);
    advance_token(ps);
    return make_const(ps, &tok, v);
}

/* A name or a call of a global function. */
static struct cel_node *parse_name(struct parser *ps, bool absolute)
{
    struct cel_token tok = ps->tok;
    struct cel_node *node;
    struct kids k = {NULL, 0, 0};

    if (is_keyword(tok.text.p) && !absolute)
        return parse_keyword(ps);
    if (is_reserved(tok.text.p) || is_keyword(tok.text.p))
        CEL_FAIL_AT(ps->src, &tok, "'%s' is a reserved word", tok.text.p);
    advance_token(ps);
    if (is_at_token(ps, '(')) {
        parse_list(ps, ')', "',' or ')'", false, &k);
        return make_call(ps, &tok, &k, false);
    }
    node = make_cel_node(ps, CEL_IDENT, &tok, 0, NULL);
    node->u.name = tok.text;
    node->is_absolute = absolute;
    return node;
}

static struct cel_node *parse_primary(struct parser *ps)
{
    switch (ps->tok.kind) {
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
    case CEL_T_STRING:
    case CEL_T_BYTES:
        return parse_literal(ps, false, ps->tok);
    case CEL_T_IDENT:
        return parse_name(ps, false);
    default:
        break;
    }
    if (is_at_token(ps, '('))
        return parse_parens(ps);
    if (is_at_token(ps, '['))
        return parse_array(ps);
    if (is_at_token(ps, '{'))
        return parse_map(ps);
    expect_token(ps, '.', "a value");
    if (ps->tok.kind != CEL_T_IDENT)
        fail_unexpected(ps, "a name");
    return parse_name(ps, true);
}

/* ---- members --------------------------------------------------------- */

/* After `of`, at the dot: a member or a method call. */
static struct cel_node *parse_select(struct parser *ps, struct cel_node *of)
{
    struct cel_token tok;
    struct kids k = {NULL, 0, 0};

    advance_token(ps);
    refuse_optional(ps, "optional members");
    tok = ps->tok;
    if (tok.kind != CEL_T_QUOTED &&
        (tok.kind != CEL_T_IDENT || is_keyword(tok.text.p)))
        fail_unexpected(ps, "a member's name");
    advance_token(ps);
    if (is_at_token(ps, '(') && tok.kind == CEL_T_IDENT) {
        kids_add(ps, &k, of);
        parse_list(ps, ')', "',' or ')'", false, &k);
        return make_call(ps, &tok, &k, true);
    }
    of = make_cel_node(ps, CEL_SELECT, &tok, 1, &of);
    of->u.name = tok.text;
    return of;
}

static struct cel_node *parse_index_suffix(struct parser *ps,
                                           struct cel_node *of)
{
    struct cel_token tok = ps->tok;
    struct cel_node *kids[2] = {of, NULL};

    advance_token(ps);
    refuse_optional(ps, "optional elements");
    kids[1] = parse_expr(ps);
    tok.length = ps->tok.offset + ps->tok.length - tok.offset;
    expect_token(ps, ']', "']'");
    return make_cel_node(ps, CEL_INDEX, &tok, 2, kids);
}

/* a.b.C{...}: a message. */
static bool is_message(const struct parser *ps, const struct cel_node *node)
{
    if (!is_at_token(ps, '{'))
        return false;
    while (node->op == CEL_SELECT)
        node = node->kids[0];
    return node->op == CEL_IDENT;
}

/* All selections, method calls and indexes after the node. */
static struct cel_node *parse_suffixes(struct parser *ps, struct cel_node *node)
{
    for (;;) {
        if (is_at_token(ps, '.'))
            node = parse_select(ps, node);
        else if (is_at_token(ps, '['))
            node = parse_index_suffix(ps, node);
        else if (is_message(ps, node))
            fail_unsupported(ps, "message literals");
        else
            return node;
    }
}

/* ---- operators ------------------------------------------------------- */

/* Is the next token a number literal, so that a minus is part of it? */
static bool is_at_number(const struct parser *ps)
{
    return ps->tok.kind == CEL_T_INT || ps->tok.kind == CEL_T_DOUBLE;
}

static struct cel_node *parse_unary(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    bool minus = is_at_token(ps, '-');
    struct cel_node *node;

    if (!minus && !is_at_token(ps, '!'))
        return parse_suffixes(ps, parse_primary(ps));
    enter_level(ps);
    advance_token(ps);
    if (minus && is_at_number(ps)) {
        node = parse_suffixes(ps, parse_literal(ps, true, tok));
    } else {
        node = parse_unary(ps);
        node = make_cel_node(ps, minus ? CEL_NEGATE : CEL_NOT, &tok, 1, &node);
    }
    ps->depth--;
    return node;
}

struct binary {
    enum cel_op op;
    int precedence; /* 0: none */
};

static struct binary operator_here(const struct parser *ps)
{
    static const struct {
        int token;
        struct binary is;
    } table[] = {
        {'+', {CEL_ADD, 2}},      {'-', {CEL_SUBTRACT, 2}},
        {'*', {CEL_MULTIPLY, 3}}, {'/', {CEL_DIVIDE, 3}},
        {'%', {CEL_MODULO, 3}},   {'<', {CEL_LT, 1}},
        {'>', {CEL_GT, 1}},       {CEL_P_LE, {CEL_LE, 1}},
        {CEL_P_GE, {CEL_GE, 1}},  {CEL_P_EQ, {CEL_EQ, 1}},
        {CEL_P_NE, {CEL_NE, 1}},
    };

    if (ps->tok.kind == CEL_T_IDENT && strcmp(ps->tok.text.p, "in") == 0)
        return (struct binary){CEL_IN, 1};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (is_at_token(ps, table[i].token))
            return table[i].is;
    return (struct binary){CEL_CONST, 0};
}

/* Operators of at least that precedence, all left-associative. */
static struct cel_node *parse_binary(struct parser *ps, int least)
{
    struct cel_node *node = parse_unary(ps);

    for (;;) {
        struct cel_token tok = ps->tok;
        struct binary is = operator_here(ps);
        struct cel_node *kids[2] = {node, NULL};

        if (is.precedence == 0 || is.precedence < least)
            return node;
        advance_token(ps);
        kids[1] = parse_binary(ps, is.precedence + 1);
        node = make_cel_node(ps, is.op, &tok, 2, kids);
    }
}

/* A chain of && (of comparisons) or of || (of such chains): one node. */
static struct cel_node *parse_chain(struct parser *ps, bool of_or)
{
    int token = of_or ? CEL_P_OR : CEL_P_AND;
    struct cel_token tok;
    struct kids k = {NULL, 0, 0};

    for (;;) {
        struct cel_node *node =
            of_or ? parse_chain(ps, false) : parse_binary(ps, 1);

        if (k.n == 0 && !is_at_token(ps, token))
            return node;
        if (k.n == 0)
            tok = ps->tok;
        kids_add(ps, &k, node);
        if (!is_at_token(ps, token))
            return make_cel_node(ps, of_or ? CEL_OR : CEL_AND, &tok, k.n, k.p);
        advance_token(ps);
    }
}

static struct cel_node *parse_expr(struct parser *ps)
{
    struct cel_node *kids[3];
    struct cel_token tok;

    enter_level(ps);
    kids[0] = parse_chain(ps, true);
    if (is_at_token(ps, '?')) {
        tok = ps->tok;
        advance_token(ps);
        kids[1] = parse_chain(ps, true);
        expect_token(ps, ':', "':'");
        kids[2] = parse_expr(ps);
        kids[0] = make_cel_node(ps, CEL_COND, &tok, 3, kids);
    }
    ps->depth--;
    return kids[0];
}

struct cel_node *mortise_cel_parse(const struct cel_source *src)
{
    struct parser ps = {.src = src};
    struct cel_node *root;

    advance_token(&ps);
    if (ps.tok.kind == CEL_T_END)
        CEL_FAIL_AT(src, &ps.tok, "the expression is empty");
    root = parse_expr(&ps);
    if (ps.tok.kind != CEL_T_END)
        fail_unexpected(&ps, "an operator");
    return root;
}
