/* explain.c -- `mortise explain`: explain an error code.
 *
 * The codes are in tables: findings about files, rejections of shared objects,
 * results, errors in runs.  docs/errors.md is made from the same tables.  A
 * code may be given in upper or lower case.
 *
 * The output is Markdown: a title, a paragraph, and an example indented by
 * four.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "cli/cli.h"
#include "cli/error_codes.h"
#include "cli/refusals.h"
#include "cli/results.h"

enum { WIDTH = 78 };

/* Code i of all tables, or NULL after the last. */
static const struct mortise_code *get_code_at(size_t i)
{
    const struct {
        const struct mortise_code *rows;
        size_t n;
    } tables[] = {
        {mortise_codes, mortise_n_codes},
        {mortise_refusals, mortise_n_refusals},
        {mortise_result_codes, mortise_n_result_codes},
        {mortise_error_codes, mortise_n_error_codes},
    };

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        if (i < tables[t].n)
            return &tables[t].rows[i];
        i -= tables[t].n;
    }
    return NULL;
}

/* Is it an HTTP status from 100 to 599?  All of them share one explanation. */
static bool is_http_status_code(const char *given)
{
    return strncasecmp(given, "http.", 5) == 0 && given[5] >= '1' &&
           given[5] <= '5' && isdigit((unsigned char)given[6]) &&
           isdigit((unsigned char)given[7]) && given[8] == '\0';
}

/* Find the row of a code.  For an HTTP status, out->code is the given one. */
static bool find_code_row(struct mortise_code *out, const char *given)
{
    const char *spelt = is_http_status_code(given) ? "http.404" : given;
    const struct mortise_code *c;

    for (size_t i = 0; (c = get_code_at(i)) != NULL; i++) {
        if (strcasecmp(c->code, spelt) != 0)
            continue;
        *out = *c;
        if (spelt != given)
            out->code = given;
        return true;
    }
    return false;
}

static int fail_unknown_code(const char *given, struct mortise_err *err)
{
    const struct mortise_code *c;
    const char *names[512], *near;
    size_t n = 0;

    for (; n < sizeof names / sizeof names[0] && (c = get_code_at(n)) != NULL;
         n++)
        names[n] = c->code;
    near = mortise_nearest_find(given, names, n);
    return near != NULL
               ? mortise_fail(err, MORTISE_ENOTFOUND,
                              "no code '%s'; did you mean '%s'?", given, near)
               : mortise_fail(
                     err, MORTISE_ENOTFOUND,
                     "no code '%s' of Mortise or its bundled plugins; 'mortise "
                     "explain' lists the codes; other plugins have their own "
                     "codes",
                     given);
}

static void print_code_text(struct mortise_out *o, const struct mortise_code *c)
{
    mortise_out_set_style(o, MORTISE_BOLD);
    mortise_out_print_escaped(o, "%s: %s", c->code, c->title);
    mortise_out_set_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n\n");
    mortise_out_put_paragraph(o, c->explanation, WIDTH);
    if (c->example == NULL)
        return;
    mortise_out_puts(o, "\nExample:\n\n");
    mortise_out_put_text(o, c->example, 4);
}

static int print_code_json(struct mortise_cli *cli,
                           const struct mortise_code *c,
                           struct mortise_err *err)
{
    return mortise_cli_print_json(
        cli,
        json_pack("{s:s, s:s, s:s, s:s*}", "code", c->code, "title", c->title,
                  "explanation", c->explanation, "example", c->example),
        false, err);
}

static int list_all_codes(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_code *c;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && (c = get_code_at(i)) != NULL; i++) {
        if (cli->args.json) {
            rv = print_code_json(cli, c, err);
            continue;
        }
        mortise_out_put_cell(&cli->out, c->code, 22);
        mortise_out_printf(&cli->out, "%s\n", c->title);
    }
    return rv;
}

static int explain(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_code c;

    if (cli->args.n_operands == 0)
        return list_all_codes(cli, err);
    if (!find_code_row(&c, cli->args.operands[0]))
        return fail_unknown_code(cli->args.operands[0], err);
    if (cli->args.json)
        return print_code_json(cli, &c, err);
    print_code_text(&cli->out, &c);
    return MORTISE_EXIT_OK;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_explain = {
    .name = "explain",
    .operands = "[CODE]",
    .summary = "Explain an error code, such as E0301 or model.connect",
    .text = "The command prints the meaning of the code, what to do, and an\n"
            "example.  There are codes for findings in files, for errors of\n"
            "commands, and for failed nodes and runs.  Without CODE, the\n"
            "command lists all codes.  docs/errors.md has the same text.\n",
    .opts = opts,
    .example = "mortise explain E0301",
    .run = explain,
};
