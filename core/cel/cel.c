/* cel.c -- programs: compiled once, evaluated often.
 *
 * Text becomes a tree (lex.c, parse.c), its names become places and its types
 * are judged (check.c), and then the tree is walked for each evaluation
 * (eval.c, func*.c, value.c); errors.c says what is wrong.  Here is what the
 * outside sees: JSON in, JSON out, errors as words with a place.
 *
 * A program lives in the arena of whoever compiles it and never changes.  An
 * evaluation has its own arena on the stack, which allocates nothing until a
 * string, list or map is made: a condition over scalars touches no heap.
 *
 * Both take their arguments from strangers.  What bounds them: the length of
 * the text, the height of its tree (and with it our stack, some 350 KiB at
 * worst), and for an evaluation its cost, which memory follows.
 */
#include "cel/cel.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "cel/eval.h"
#include "cel/kinds.h"
#include "json/path.h"

/* ---- compiling ------------------------------------------------------- */

static int take_text(struct mortise_cel_source *src, const char *text, size_t n)
{
    uint32_t cp;

    if (n > MORTISE_CEL_TEXT_MAX)
        return mortise_cel_fail(src, MORTISE_EINVAL, 0, n,
                                "an expression has at most %d bytes",
                                MORTISE_CEL_TEXT_MAX);
    for (size_t i = 0, step; i < n; i += step) {
        step = mortise_utf8_decode(text + i, text + n, &cp);
        if (step == 0)
            return mortise_cel_fail(src, MORTISE_EINVAL, i, 1,
                                    "this byte is not UTF-8");
    }
    src->text = mortise_arena_strndup(src->arena, text, n);
    src->n = n;
    return src->text != NULL ? MORTISE_OK : mortise_nomem(src->err);
}

/* The names, for messages at evaluation. */
static int take_names(struct mortise_cel *prog, struct mortise_arena *a,
                      const struct mortise_cel_scope *scope,
                      struct mortise_err *err)
{
    prog->names = mortise_arena_alloc(a, scope->n * sizeof *prog->names);
    if (prog->names == NULL)
        return mortise_nomem(err);
    prog->n_names = scope->n;
    for (size_t i = 0; i < scope->n; i++) {
        prog->names[i].name = mortise_arena_strdup(a, scope->names[i].name);
        if (prog->names[i].name == NULL)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

static uint32_t uses_of(const struct mortise_cel_node *n)
{
    uint32_t bits = 0;

    if (n->op == MORTISE_CEL_NAME && n->u.index < 32)
        bits = 1u << n->u.index;
    for (uint32_t i = 0; i < n->n; i++)
        if (n->kids[i] != NULL)
            bits |= uses_of(n->kids[i]);
    return bits;
}

static void spell_key(struct mortise_buf *b, struct mortise_cel_text key)
{
    mortise_buf_puts(b, "[\"");
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '"' || key.p[i] == '\\')
            mortise_buf_put(b, "\\", 1);
        mortise_buf_put(b, key.p + i, 1);
    }
    mortise_buf_puts(b, "\"]");
}

/* Append one step of a path; false when it is none. */
static bool spell_step(struct mortise_buf *b, const struct mortise_cel_node *n)
{
    const struct mortise_cel_value *v;

    if (n->op == MORTISE_CEL_SELECT) {
        spell_key(b, n->u.name);
        return true;
    }
    v = &n->kids[1]->u.constant;
    if (n->op != MORTISE_CEL_INDEX || n->kids[1]->op != MORTISE_CEL_CONST)
        return false;
    if (v->kind == MORTISE_CEL_STRING)
        spell_key(b, (struct mortise_cel_text){v->u.s.p, v->u.s.n});
    else if (v->kind == MORTISE_CEL_INT && v->u.i >= 0)
        mortise_buf_printf(b, "[%lld]", (long long)v->u.i);
    else
        return false;
    return true;
}

/* The steps down to a node, from its name on; false when it is no path. */
static bool spell_path(struct mortise_buf *b, const struct mortise_cel *prog,
                       const struct mortise_cel_node *n)
{
    if (n->op == MORTISE_CEL_NAME) {
        mortise_buf_puts(b, prog->names[n->u.index].name);
        return true;
    }
    return (n->op == MORTISE_CEL_SELECT || n->op == MORTISE_CEL_INDEX) &&
           spell_path(b, prog, n->kids[0]) && spell_step(b, n);
}

/* path.c judges what we spelled, and spells it canonically. */
static int find_path(struct mortise_cel *prog, struct mortise_arena *a,
                     struct mortise_err *err)
{
    struct mortise_path path = {.text = NULL};
    struct mortise_buf b;
    int rv = MORTISE_EINVAL;

    mortise_buf_init(&b, a->mem);
    if (spell_path(&b, prog, prog->root))
        rv = b.failed ? MORTISE_ENOMEM
                      : mortise_path_parse(&path, a, b.p, b.n, NULL);
    mortise_buf_finish(&b);
    if (rv == MORTISE_OK)
        prog->path = path.text;
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : MORTISE_OK;
}

int mortise_cel_compile(struct mortise_cel **out, struct mortise_arena *a,
                        const char *text, size_t n,
                        const struct mortise_cel_scope *scope,
                        struct mortise_cel_where *where,
                        struct mortise_err *err)
{
    struct mortise_cel_source src = {.arena = a, .where = where, .err = err};
    struct mortise_cel *prog = mortise_arena_alloc(a, sizeof *prog);
    struct mortise_cel_node *root = NULL;
    int rv;

    *out = NULL;
    if (where != NULL)
        *where = (struct mortise_cel_where){0, 0};
    if (prog == NULL)
        return mortise_nomem(err);
    prog->mem = a->mem;
    rv = take_text(&src, text, n);
    if (rv == MORTISE_OK)
        rv = take_names(prog, a, scope, err);
    if (rv == MORTISE_OK)
        rv = mortise_cel_parse(&src, &root);
    if (rv == MORTISE_OK)
        rv = mortise_cel_check(&src, root, scope, &prog->n_slots, &prog->kinds);
    if (rv != MORTISE_OK)
        return rv;
    prog->root = root;
    prog->uses = uses_of(root);
    rv = find_path(prog, a, err);
    if (rv == MORTISE_OK)
        *out = prog;
    return rv;
}

uint32_t mortise_cel_uses(const struct mortise_cel *prog)
{
    return prog->uses;
}

const char *mortise_cel_as_path(const struct mortise_cel *prog)
{
    return prog->path;
}

unsigned mortise_cel_types(const struct mortise_cel *prog)
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

const char *mortise_cel_gives(const struct mortise_cel *prog,
                              char out[MORTISE_CEL_WORDS])
{
    mortise_cel_kinds_text(prog->kinds, out);
    return out;
}

/* ---- evaluating ------------------------------------------------------ */

static void begin(const struct mortise_cel *prog,
                  const struct mortise_cel_env *env, struct mortise_arena *a,
                  struct mortise_cel_ctx *c)
{
    mortise_arena_init(a, prog->mem);
    *c = (struct mortise_cel_ctx){.left = mortise_cel_budget(env), .arena = a};
}

int mortise_cel_eval(const struct mortise_cel *prog,
                     const struct mortise_cel_env *env, json_t **out,
                     struct mortise_cel_where *where, struct mortise_err *err)
{
    struct mortise_cel_inputs in = {.json = env->values};
    struct mortise_cel_value v;
    struct mortise_cel_ctx c;
    struct mortise_arena a;
    int rv;

    *out = NULL;
    begin(prog, env, &a, &c);
    if (mortise_cel_run(prog, &in, &c, &v) && !mortise_cel_to_json(&c, &v, out))
        c.fault.at = prog->root;
    rv = mortise_cel_report(&c, where, err);
    mortise_arena_finish(&a);
    return rv;
}

int mortise_cel_test(const struct mortise_cel *prog,
                     const struct mortise_cel_env *env, bool *out,
                     struct mortise_cel_where *where, struct mortise_err *err)
{
    struct mortise_cel_inputs in = {.json = env->values};
    struct mortise_cel_value v;
    struct mortise_cel_ctx c;
    struct mortise_arena a;
    int rv;

    *out = false;
    begin(prog, env, &a, &c);
    if (mortise_cel_run(prog, &in, &c, &v)) {
        *out = v.kind == MORTISE_CEL_BOOL && v.u.b;
        if (v.kind != MORTISE_CEL_BOOL) {
            mortise_cel_fault(&c, MORTISE_CEL_NOT_BOOL);
            c.fault.x = v.kind;
            c.fault.at = prog->root;
        }
    }
    rv = mortise_cel_report(&c, where, err);
    mortise_arena_finish(&a);
    return rv;
}
