/* parse.c -- the tree of an expression, by recursive descent.
 *
 * Binary operators climb precedences in one loop, so that a parenthesis costs
 * a handful of stack frames; CEL_HEIGHT bounds how many may be open and
 * how high the tree may grow, so neither we nor the evaluator can run out of
 * stack, whatever the text.  Chains of && and || are one node each, however
 * long.
 *
 * Macros are recognised here, by name and number of arguments as the language
 * definition says, and become nodes of their own: a fold over accumulating
 * lists, as other implementations expand them, would cost the square.
 *
 * What is wrong leaves by mortise_cel_fail(), from wherever it is seen; so does
 * the end of memory.  A function that returns has read what its name says.
 */
#include "lang/cel/lex.h"

#include <string.h>

#include "core/base/utf8.h"

struct parser {
    const struct cel_source *src;
    struct cel_token tok; /* the next one, not yet taken */
    size_t offset;        /* behind it */
    size_t depth;
};

/* Kids while their number is not known: room in the arena, doubled. */
struct kids {
    struct cel_node **p;
    uint32_t n, cap;
};

static struct cel_node *parse_expr(struct parser *ps);

/* ---- tokens ---------------------------------------------------------- */

static void advance(struct parser *ps)
{
    mortise_cel_lex(ps->src, &ps->offset, &ps->tok);
}

static bool at(const struct parser *ps, int op)
{
    return ps->tok.kind == CEL_T_PUNCT && ps->tok.op == op;
}

static _Noreturn void unexpected(struct parser *ps, const char *wanted)
{
    const char *found = ps->src->text + ps->tok.offset;

    if (ps->tok.kind == CEL_T_END)
        CEL_FAIL_AT(ps->src, &ps->tok, "expected %s, but the expression ends",
                    wanted);
    CEL_FAIL_AT(ps->src, &ps->tok, "expected %s, found '%.*s'", wanted,
                (int)mortise_utf8_cut(found, ps->tok.length, 40), found);
}

static void expect(struct parser *ps, int op, const char *name)
{
    if (!at(ps, op))
        unexpected(ps, name);
    advance(ps);
}

static _Noreturn void later(struct parser *ps, const char *what)
{
    mortise_cel_fail(ps->src, MORTISE_EUNAVAILABLE, ps->tok.offset,
                     ps->tok.length,
                     "%s of CEL are not available in this build", what);
}

/* What other implementations read behind a '?'. */
static void refuse_optional(struct parser *ps, const char *what)
{
    if (at(ps, '?'))
        later(ps, what);
}

/* One level more is open; who closes it counts it back. */
static void deeper(struct parser *ps)
{
    if (++ps->depth > CEL_HEIGHT)
        CEL_FAIL_AT(ps->src, &ps->tok, "the expression is nested too deeply");
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
static struct cel_node *make(struct parser *ps, enum cel_op op,
                             const struct cel_token *tok, uint32_t n,
                             struct cel_node *const *kids)
{
    struct cel_node *node = cel_room(ps->src, 1, sizeof *node);

    node->kids = cel_room(ps->src, n, sizeof(struct cel_node *));
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
        k->p = cel_room(ps->src, k->cap, sizeof(struct cel_node *));
        for (uint32_t i = 0; i < k->n; i++)
            k->p[i] = old[i];
    }
    k->p[k->n++] = node;
}

static struct cel_node *
make_const(struct parser *ps, const struct cel_token *tok, struct cel_value v)
{
    struct cel_node *node = make(ps, CEL_CONST, tok, 0, NULL);

    node->u.constant = v;
    return node;
}

/* ---- macros ---------------------------------------------------------- */

struct macro {
    const char *name;
    uint8_t n_args, n_vars;
    enum cel_op op;
    int8_t condition, body; /* which argument, or -1 */
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
    node = make(ps, m->op, tok, 3, kids);
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

/* A call as it was written; macros become what they stand for. */
static struct cel_node *make_call(struct parser *ps,
                                  const struct cel_token *tok,
                                  const struct kids *k, bool is_receiver)
{
    struct cel_node *call = make(ps, CEL_CALL, tok, k->n, k->p);
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

/* Expressions up to the closing token, which is taken.  A comma may end a
 * list, not arguments. */
static void parse_list(struct parser *ps, int close, const char *close_name,
                       bool may_trail, struct kids *k)
{
    advance(ps);
    while (!at(ps, close)) {
        refuse_optional(ps, "optional elements");
        kids_add(ps, k, parse_expr(ps));
        if (!at(ps, ','))
            break;
        advance(ps);
        if (at(ps, close) && !may_trail)
            unexpected(ps, "an argument");
    }
    expect(ps, close, close_name);
}

static struct cel_node *parse_map(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct kids k = {NULL, 0, 0};

    advance(ps);
    while (!at(ps, '}')) {
        refuse_optional(ps, "optional entries");
        kids_add(ps, &k, parse_expr(ps));
        expect(ps, ':', "':'");
        kids_add(ps, &k, parse_expr(ps));
        if (!at(ps, ','))
            break;
        advance(ps);
    }
    expect(ps, '}', "',' or '}'");
    return make(ps, CEL_NEWMAP, &tok, k.n, k.p);
}

static struct cel_node *parse_array(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct kids k = {NULL, 0, 0};

    parse_list(ps, ']', "',' or ']'", true, &k);
    return make(ps, CEL_NEWLIST, &tok, k.n, k.p);
}

static struct cel_node *parse_parens(struct parser *ps)
{
    struct cel_node *node;

    advance(ps);
    node = parse_expr(ps);
    expect(ps, ')', "')'");
    return node;
}

/* The literal under the cursor, negated where a minus stands before it: only
 * so the least int can be written. */
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
    advance(ps);
    return make_const(ps, &tok, v);
}

static struct cel_node *parse_keyword(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    struct cel_value v = {.kind = CEL_NULL};

    if (strcmp(tok.text.p, "in") == 0)
        unexpected(ps, "a value");
    if (strcmp(tok.text.p, "null") != 0)
        v = cel_bool(strcmp(tok.text.p, "true") == 0);
    advance(ps);
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
    advance(ps);
    if (at(ps, '(')) {
        parse_list(ps, ')', "',' or ')'", false, &k);
        return make_call(ps, &tok, &k, false);
    }
    node = make(ps, CEL_IDENT, &tok, 0, NULL);
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
    if (at(ps, '('))
        return parse_parens(ps);
    if (at(ps, '['))
        return parse_array(ps);
    if (at(ps, '{'))
        return parse_map(ps);
    expect(ps, '.', "a value");
    if (ps->tok.kind != CEL_T_IDENT)
        unexpected(ps, "a name");
    return parse_name(ps, true);
}

/* ---- members --------------------------------------------------------- */

/* Behind `of`, at the point: a member or a call on it. */
static struct cel_node *parse_select(struct parser *ps, struct cel_node *of)
{
    struct cel_token tok;
    struct kids k = {NULL, 0, 0};

    advance(ps);
    refuse_optional(ps, "optional members");
    tok = ps->tok;
    if (tok.kind != CEL_T_QUOTED &&
        (tok.kind != CEL_T_IDENT || is_keyword(tok.text.p)))
        unexpected(ps, "a member's name");
    advance(ps);
    if (at(ps, '(') && tok.kind == CEL_T_IDENT) {
        kids_add(ps, &k, of);
        parse_list(ps, ')', "',' or ')'", false, &k);
        return make_call(ps, &tok, &k, true);
    }
    of = make(ps, CEL_SELECT, &tok, 1, &of);
    of->u.name = tok.text;
    return of;
}

static struct cel_node *parse_index(struct parser *ps, struct cel_node *of)
{
    struct cel_token tok = ps->tok;
    struct cel_node *kids[2] = {of, NULL};

    advance(ps);
    refuse_optional(ps, "optional elements");
    kids[1] = parse_expr(ps);
    tok.length = ps->tok.offset + ps->tok.length - tok.offset;
    expect(ps, ']', "']'");
    return make(ps, CEL_INDEX, &tok, 2, kids);
}

/* a.b.C{...}: a message. */
static bool is_message(const struct parser *ps, const struct cel_node *node)
{
    if (!at(ps, '{'))
        return false;
    while (node->op == CEL_SELECT)
        node = node->kids[0];
    return node->op == CEL_IDENT;
}

/* What is selected of the node, called on it or indexed in it. */
static struct cel_node *parse_suffixes(struct parser *ps, struct cel_node *node)
{
    for (;;) {
        if (at(ps, '.'))
            node = parse_select(ps, node);
        else if (at(ps, '['))
            node = parse_index(ps, node);
        else if (is_message(ps, node))
            later(ps, "message literals");
        else
            return node;
    }
}

/* ---- operators ------------------------------------------------------- */

/* Is a number literal next, so that a minus belongs to it? */
static bool at_number(const struct parser *ps)
{
    return ps->tok.kind == CEL_T_INT || ps->tok.kind == CEL_T_DOUBLE;
}

static struct cel_node *parse_unary(struct parser *ps)
{
    struct cel_token tok = ps->tok;
    bool minus = at(ps, '-');
    struct cel_node *node;

    if (!minus && !at(ps, '!'))
        return parse_suffixes(ps, parse_primary(ps));
    deeper(ps);
    advance(ps);
    if (minus && at_number(ps)) {
        node = parse_suffixes(ps, parse_literal(ps, true, tok));
    } else {
        node = parse_unary(ps);
        node = make(ps, minus ? CEL_NEGATE : CEL_NOT, &tok, 1, &node);
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
        if (at(ps, table[i].token))
            return table[i].is;
    return (struct binary){CEL_CONST, 0};
}

/* Operators of at least that precedence, all of them left-associative. */
static struct cel_node *parse_binary(struct parser *ps, int least)
{
    struct cel_node *node = parse_unary(ps);

    for (;;) {
        struct cel_token tok = ps->tok;
        struct binary is = operator_here(ps);
        struct cel_node *kids[2] = {node, NULL};

        if (is.precedence == 0 || is.precedence < least)
            return node;
        advance(ps);
        kids[1] = parse_binary(ps, is.precedence + 1);
        node = make(ps, is.op, &tok, 2, kids);
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

        if (k.n == 0 && !at(ps, token))
            return node;
        if (k.n == 0)
            tok = ps->tok;
        kids_add(ps, &k, node);
        if (!at(ps, token))
            return make(ps, of_or ? CEL_OR : CEL_AND, &tok, k.n, k.p);
        advance(ps);
    }
}

static struct cel_node *parse_expr(struct parser *ps)
{
    struct cel_node *kids[3];
    struct cel_token tok;

    deeper(ps);
    kids[0] = parse_chain(ps, true);
    if (at(ps, '?')) {
        tok = ps->tok;
        advance(ps);
        kids[1] = parse_chain(ps, true);
        expect(ps, ':', "':'");
        kids[2] = parse_expr(ps);
        kids[0] = make(ps, CEL_COND, &tok, 3, kids);
    }
    ps->depth--;
    return kids[0];
}

struct cel_node *mortise_cel_parse(const struct cel_source *src)
{
    struct parser ps = {.src = src};
    struct cel_node *root;

    advance(&ps);
    if (ps.tok.kind == CEL_T_END)
        CEL_FAIL_AT(src, &ps.tok, "the expression is empty");
    root = parse_expr(&ps);
    if (ps.tok.kind != CEL_T_END)
        unexpected(&ps, "an operator");
    return root;
}
