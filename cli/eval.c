/* eval.c -- `mortise eval`: evaluate one expression.
 *
 * For people who write conditions, and for scripts.  The expression is
 * compiled and evaluated by the functions that serve graphs, with only the
 * variables of --vars.
 *
 * A compile error is printed like a finding in a file, with its place marked.
 * An evaluation error has its place in the message.
 */
#include <string.h>

#include "core/base/err.h"
#include "lang/cel/cel.h"
#include "cli/cli.h"
#include "lang/yaml/text.h"

/* The expression and its variables. */
struct eval_input {
    struct mortise_arena arena;
    const char *text;
    size_t n;
    json_t *vars; /* an object, or NULL */
    struct mortise_cel_scope scope;
    const json_t **values;
};

/* ---- input ------------------------------------------------------------- */

static int read_eval_variables(struct mortise_cli *cli, struct eval_input *g,
                               struct mortise_err *err)
{
    const char *path = cli->args.vars;
    int rv = path != NULL
                 ? mortise_cli_parse_json(cli, "--vars", path, &g->vars, err)
                 : MORTISE_OK;

    if (rv == MORTISE_OK && path != NULL && !json_is_object(g->vars))
        return mortise_fail(err, MORTISE_EINVAL,
                            "--vars %s: not an object of names and values",
                            path);
    return rv;
}

static int make_eval_scope(struct eval_input *g, struct mortise_err *err)
{
    size_t n = json_object_size(g->vars);
    struct mortise_cel_name *names =
        mortise_arena_alloc(&g->arena, (n + 1) * sizeof *names);

    g->values = mortise_arena_alloc(&g->arena, (n + 1) * sizeof *g->values);
    if (names == NULL || g->values == NULL)
        return mortise_nomem(err);
    g->scope.names = names;
    MORTISE_JSON_MEMBERS (name, value, g->vars) {
        names[g->scope.n].name = name;
        g->values[g->scope.n++] = value;
    }
    return MORTISE_OK;
}

/* Read the expression: the operand, or all of stdin. */
static int read_expression(struct mortise_cli *cli, struct eval_input *g,
                           struct mortise_err *err)
{
    const char *operand = cli->args.operands[0];
    char *text;
    int rv;

    g->text = operand;
    g->n = strlen(operand);
    if (strcmp(operand, "-") != 0)
        return MORTISE_OK;
    if (cli->args.vars != NULL && strcmp(cli->args.vars, "-") == 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the expression and --vars cannot both come from stdin");
    rv = mortise_cli_read_file(cli, operand, &text, &g->n, err);
    if (rv != MORTISE_OK)
        return rv;
    g->text = mortise_arena_strndup(&g->arena, text, g->n);
    mortise_release(cli->mem, text, g->n + 1);
    return g->text != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int read_eval_input(struct mortise_cli *cli, struct eval_input *g,
                           struct mortise_err *err)
{
    int rv = read_expression(cli, g, err);

    if (rv == MORTISE_OK)
        rv = read_eval_variables(cli, g, err);
    return rv == MORTISE_OK ? make_eval_scope(g, err) : rv;
}

/* ---- places ------------------------------------------------------------ */

/* Describe the expression as a file, so that spans can refer to it. */
static bool describe_as_file(struct eval_input *g,
                             struct mortise_source_file *file)
{
    uint32_t *line_at =
        mortise_arena_alloc(&g->arena, (g->n + 1) * sizeof *line_at);

    *file = (struct mortise_source_file){.path = "expression",
                                         .text = g->text,
                                         .size = g->n,
                                         .line_at = line_at,
                                         .n_lines = 1};
    if (line_at == NULL)
        return false;
    line_at[0] = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->text[i] == '\n')
            line_at[file->n_lines++] = (uint32_t)i + 1;
    return true;
}

static struct mortise_span get_expression_span(struct mortise_source_file *file,
                                               struct mortise_cel_range where)
{
    const struct mortise_text text = {.file = file};

    return mortise_text_span(&text, where.offset, where.offset + where.length);
}

/* Print a compile error as `mortise check` would. */
static int print_compile_error(struct mortise_cli *cli, struct eval_input *g,
                               int rv, struct mortise_cel_range where,
                               const struct mortise_err *err)
{
    struct mortise_source_file file;
    struct mortise_diags diags;

    if (rv == MORTISE_ENOMEM || !describe_as_file(g, &file))
        return mortise_cli_fail(cli, err);
    mortise_diags_init(&diags, cli->mem);
    mortise_diag_add(&diags, rv == MORTISE_EUNAVAILABLE ? "E0404" : "E0401",
                     get_expression_span(&file, where), "%s", err->msg);
    mortise_cli_print_findings(cli, &diags);
    return MORTISE_EXIT_FINDINGS;
}

/* Print an evaluation error after its place. */
static int print_eval_error(struct mortise_cli *cli, struct eval_input *g,
                            int rv, struct mortise_cel_range where,
                            struct mortise_err *err)
{
    struct mortise_source_file file;
    struct mortise_span span;

    if (rv != MORTISE_ENOMEM && describe_as_file(g, &file)) {
        span = get_expression_span(&file, where);
        mortise_err_prefix(err, rv, "%s:%u:%u", file.path, span.line, span.col);
    }
    mortise_cli_fail(cli, err);
    return MORTISE_EXIT_FAILED;
}

/* ---- the command ------------------------------------------------------- */

static int evaluate_and_print(struct mortise_cli *cli, struct eval_input *g)
{
    struct mortise_cel_range where = {0, 0};
    struct mortise_expr_env env = {g->values, 0};
    struct mortise_err err = {0};
    struct mortise_cel *prog;
    json_t *v;
    int rv = mortise_cel_compile(&prog, &g->arena, g->text, g->n, &g->scope,
                                 &where, &err);

    if (rv != MORTISE_OK)
        return print_compile_error(cli, g, rv, where, &err);
    rv = mortise_cel_eval(prog, &env, &v, &where, &err);
    if (rv != MORTISE_OK)
        return print_eval_error(cli, g, rv, where, &err);
    mortise_out_put_json(&cli->out, v, false);
    json_decref(v);
    return MORTISE_EXIT_OK;
}

static int run_eval_command(struct mortise_cli *cli, struct mortise_err *err)
{
    struct eval_input g = {.vars = NULL};
    int rv;

    mortise_arena_init(&g.arena, cli->mem);
    rv = read_eval_input(cli, &g, err);
    if (rv == MORTISE_OK)
        rv = evaluate_and_print(cli, &g);
    json_decref(g.vars);
    mortise_arena_finish(&g.arena);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("vars", "FILE", vars,
                     "A JSON object; its members are the variables"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_eval = {
    .name = "eval",
    .operands = "EXPR",
    .dashes = true,
    .summary = "Evaluate one expression (CEL)",
    .text = "The expression is evaluated as in conditions and ${...} of\n"
            "graphs, with the same limits.  The value is printed as JSON, on\n"
            "one line.  Either EXPR or FILE can be -, which reads stdin.  The\n"
            "exit code is 2 if the expression is not valid, and 1 if its\n"
            "evaluation with the given variables fails.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS,
    .example = "mortise eval 'size(tags) > 1 && tags[0] != \"\"' --vars "
               "state.json",
    .run = run_eval_command,
};
