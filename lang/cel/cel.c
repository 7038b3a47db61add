/* cel.c -- programs: compiled once, evaluated often.
 *
 * The text is parsed into a tree (lex.c, parse.c).  Then its names are
 * resolved, and its types are checked (check.c).  Each evaluation traverses the
 * tree (eval.c, func*.c, value.c), and errors.c makes the messages.  This file
 * is the public interface: JSON in, JSON out, and errors as text with a
 * position.
 *
 * Each error of the compilation uses one exit (core/base/escape.h).  All
 * allocations are in the arena, except for one buffer that is freed at that
 * exit.
 *
 * A program is in the caller's arena and never changes.  An evaluation has its
 * own arena on the stack, which allocates nothing before a string, a list or a
 * map is made.  So a condition over scalars uses no heap.
 *
 * Texts and values come from untrusted sources.  The length of the text and the
 * height of its tree are limited, and with it our stack (about 350 KiB at
 * worst).  The cost limits an evaluation, and with it the memory.
 */
#include "lang/cel/cel.h"

#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "lang/cel/eval.h"
#include "lang/cel/kinds.h"
#include "core/json/path.h"

/* ---- compiling ------------------------------------------------------- */

struct compiler {
    struct mortise_escape escape;
    struct cel_source src;
    const struct mortise_cel_scope *scope;
    struct mortise_cel *prog;
    struct mortise_buf path; /* of the program, as written in the text */
};

static void copy_source_text(struct cel_source *src, const char *text, size_t n)
{
    char *copy;
    uint32_t cp;

    if (n > CEL_TEXT_MAX)
        mortise_cel_fail(src, MORTISE_EINVAL, 0, n,
                         "an expression can have at most %d bytes",
                         CEL_TEXT_MAX);
    for (size_t i = 0, step; i < n; i += step) {
        step = mortise_utf8_decode(text + i, text + n, &cp);
        if (step == 0)
            mortise_cel_fail(src, MORTISE_EINVAL, i, 1,
                             "this byte is not valid UTF-8");
    }
    copy = cel_source_alloc(src, n + 1, 1);
    memcpy(copy, text, n);
    src->text = copy;
}

/* Copy the names, for messages during evaluation. */
static void copy_scope_names(struct compiler *c)
{
    size_t n = c->scope->n;
    struct mortise_cel_name *names =
        cel_source_alloc(&c->src, n, sizeof *names);

    for (size_t i = 0; i < n; i++) {
        const char *name = c->scope->names[i].name;
        char *copy = cel_source_alloc(&c->src, strlen(name) + 1, 1);

        names[i].name = strcpy(copy, name);
    }
    c->prog->names = names;
    c->prog->n_names = n;
}

static uint32_t get_used_names(const struct cel_node *n)
{
    uint32_t bits = 0;

    if (n->op == CEL_NAME && n->u.index < 32)
        bits = 1u << n->u.index;
    for (uint32_t i = 0; i < n->n; i++)
        if (n->kids[i] != NULL)
            bits |= get_used_names(n->kids[i]);
    return bits;
}

static void write_path_key(struct mortise_buf *b, const char *key, size_t n)
{
    mortise_buf_puts(b, "[\"");
    mortise_buf_put_escaped(b, key, n);
    mortise_buf_puts(b, "\"]");
}

/* Append one step of a path; false: the node is not a step. */
static bool write_path_step(struct mortise_buf *b, const struct cel_node *n)
{
    const struct cel_value *v;

    if (n->op == CEL_SELECT) {
        write_path_key(b, n->u.name.p, n->u.name.n);
        return true;
    }
    v = &n->kids[1]->u.constant;
    if (n->op != CEL_INDEX || n->kids[1]->op != CEL_CONST)
        return false;
    if (v->kind == CEL_STRING)
        write_path_key(b, v->u.s.p, v->u.s.n);
    else if (v->kind == CEL_INT && v->u.i >= 0)
        mortise_buf_printf(b, "[%lld]", (long long)v->u.i);
    else
        return false;
    return true;
}

/* Append the path from a name to the node; false: the node is not a path. */
static bool write_node_path(struct mortise_buf *b,
                            const struct mortise_cel *prog,
                            const struct cel_node *n)
{
    if (n->op == CEL_NAME) {
        mortise_buf_puts(b, prog->names[n->u.index].name);
        return true;
    }
    return (n->op == CEL_SELECT || n->op == CEL_INDEX) &&
           write_node_path(b, prog, n->kids[0]) && write_path_step(b, n);
}

/* path.c checks the text, and makes its canonical form. */
static void derive_path(struct compiler *c)
{
    struct mortise_path path = {.text = NULL};
    int rv;

    if (!write_node_path(&c->path, c->prog, c->prog->root))
        return;
    rv = c->path.failed ? MORTISE_ENOMEM
                        : mortise_path_parse(&path, c->src.arena, c->path.p,
                                             c->path.n, NULL);
    if (rv == MORTISE_ENOMEM)
        mortise_escape(&c->escape, mortise_nomem(c->escape.err));
    if (rv == MORTISE_OK)
        c->prog->path = path.text;
}

static void compile_program(void *arg)
{
    struct compiler *c = arg;
    struct mortise_cel *prog = cel_source_alloc(&c->src, 1, sizeof *prog);
    struct cel_node *root;

    c->prog = prog;
    prog->mem = c->src.arena->mem;
    copy_source_text(&c->src, c->src.text, c->src.n);
    copy_scope_names(c);
    root = mortise_cel_parse(&c->src);
    prog->kinds = mortise_cel_check(&c->src, root, c->scope, &prog->n_slots);
    prog->root = root;
    prog->uses = get_used_names(root);
    derive_path(c);
}

int mortise_cel_compile(struct mortise_cel **out, struct mortise_arena *a,
                        const char *text, size_t n,
                        const struct mortise_cel_scope *scope,
                        struct mortise_cel_range *where,
                        struct mortise_err *err)
{
    struct compiler c = {
        .escape.err = err,
        .src = {text, n, a, where, &c.escape},
        .scope = scope,
    };
    int rv;

    if (where != NULL)
        *where = (struct mortise_cel_range){0, 0};
    mortise_buf_init(&c.path, a->mem);
    rv = mortise_escape_catch(&c.escape, compile_program, &c);
    mortise_buf_finish(&c.path);
    *out = rv == MORTISE_OK ? c.prog : NULL;
    return rv;
}

uint32_t mortise_cel_get_uses(const struct mortise_cel *prog)
{
    return prog->uses;
}

const char *mortise_cel_get_path(const struct mortise_cel *prog)
{
    return prog->path;
}

unsigned mortise_cel_get_types(const struct mortise_cel *prog)
{
    static const struct {
        unsigned kinds, types;
    } map[] = {{NONE, MORTISE_T_NULL},
               {BOOL, MORTISE_T_BOOL},
               {NUMBER, MORTISE_T_INT | MORTISE_T_NUMBER},
               {STRING | TIMESTAMP | DURATION, MORTISE_T_STRING},
               {LIST, MORTISE_T_ARRAY},
               {MAP, MORTISE_T_OBJECT}};
    unsigned types = 0;

    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (prog->kinds & map[i].kinds)
            types |= map[i].types;
    return types;
}

const char *mortise_cel_format_types(const struct mortise_cel *prog,
                                     char out[MORTISE_CEL_WORDS])
{
    mortise_cel_format_kinds(prog->kinds, out);
    return out;
}

/* ---- evaluating ------------------------------------------------------ */

/* The result as JSON, or (json NULL) as a condition. */
static int evaluate_program(const struct mortise_cel *prog,
                            const struct mortise_expr_env *env, json_t **json,
                            bool *test, struct mortise_cel_range *where,
                            struct mortise_err *err)
{
    struct cel_inputs in = {.json = env->values};
    struct mortise_arena a;
    struct cel_ctx c = {.left = cel_budget(env), .arena = &a};
    struct cel_value v;
    bool good = true;
    int rv;

    mortise_arena_init(&a, prog->mem);
    if (mortise_cel_evaluate_typed(prog, &in, &c, &v)) {
        if (json != NULL)
            good = mortise_cel_to_json(&c, &v, json);
        else if (v.kind == CEL_BOOL)
            *test = v.u.b;
        else
            good = mortise_cel_fault_of(&c, CEL_NOT_BOOL, v.kind, 0);
        if (!good)
            c.fault.at = prog->root;
    }
    rv = mortise_cel_report_fault(&c, where, err);
    mortise_arena_finish(&a);
    return rv;
}

int mortise_cel_eval(const struct mortise_cel *prog,
                     const struct mortise_expr_env *env, json_t **out,
                     struct mortise_cel_range *where, struct mortise_err *err)
{
    *out = NULL;
    return evaluate_program(prog, env, out, NULL, where, err);
}

int mortise_cel_test(const struct mortise_cel *prog,
                     const struct mortise_expr_env *env, bool *out,
                     struct mortise_cel_range *where, struct mortise_err *err)
{
    *out = false;
    return evaluate_program(prog, env, NULL, out, where, err);
}
