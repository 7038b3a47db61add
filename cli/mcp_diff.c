/* mcp_diff.c -- prints the differences between two pins of an MCP server.
 *
 *    files: 1 new, 1 changed, 1 gone
 *    + write_file
 *        Write a file
 *    - old_tool
 *    ~ read_file
 *        description
 *        - Read a file
 *        + Read a file, or a directory
 *        input_schema/properties/path/maxLength
 *        - 64
 *
 * A model gets the descriptions and fills in the schemas, so each added or
 * removed line of both is shown.  Values are compared member by member; of
 * texts, equal lines at the beginning and the end are omitted. */
#include "cli/mcp.h"

#include <errno.h>
#include <string.h>

#include "core/json/diff.h"

enum { DIFF_LINES_MAX = 2000 };

struct diff {
    struct mortise_out *out; /* NULL: only compare */
    size_t n_new, n_changed, n_gone;
    size_t n_printed;
    bool other; /* another difference that can affect calls */
};

static const json_t *get_section_tools(const json_t *section)
{
    return json_object_get(section, "tools");
}

/* ---- texts -------------------------------------------------------------- */

/* The start of the next line; NULL: there is none. */
static const char *next_diff_line(const char *s)
{
    const char *end = strchr(s, '\n');

    return end != NULL ? end + 1 : NULL;
}

static size_t get_line_length(const char *s)
{
    return strcspn(s, "\n");
}

static void print_diff_line(struct diff *d, const char *sign, const char *s,
                            size_t n)
{
    mortise_out_printf(d->out, "    %s ", sign);
    mortise_out_put_piece(d->out, s, n);
    mortise_out_puts(d->out, "\n");
}

/* Print the lines from s to `end` (exclusive; NULL: to the last). */
static void print_diff_lines(struct diff *d, const char *sign, const char *s,
                             const char *end)
{
    for (; s != NULL && s != end; s = next_diff_line(s))
        print_diff_line(d, sign, s, get_line_length(s));
}

/* Skip equal lines at the beginning of both. */
static void skip_equal_lines(const char **a, const char **b)
{
    while (*a != NULL && *b != NULL &&
           get_line_length(*a) == get_line_length(*b) &&
           strncmp(*a, *b, get_line_length(*a)) == 0) {
        *a = next_diff_line(*a);
        *b = next_diff_line(*b);
    }
}

static size_t count_diff_lines(const char *s)
{
    size_t n = 0;

    for (; s != NULL; s = next_diff_line(s))
        n++;
    return n;
}

static const char *get_nth_line(const char *s, size_t n)
{
    while (n-- > 0)
        s = next_diff_line(s);
    return s;
}

/* Count equal lines at the end.  Skipped for long texts, since it takes
 * quadratic time; they only print more lines. */
static size_t count_equal_last_lines(const char *a, const char *b)
{
    size_t n_a = count_diff_lines(a), n_b = count_diff_lines(b), n = 0;

    if (n_a > DIFF_LINES_MAX || n_b > DIFF_LINES_MAX)
        return 0;
    while (n < n_a && n < n_b) {
        const char *x = get_nth_line(a, n_a - n - 1),
                   *y = get_nth_line(b, n_b - n - 1);

        if (get_line_length(x) != get_line_length(y) ||
            strncmp(x, y, get_line_length(x)) != 0)
            break;
        n++;
    }
    return n;
}

static void print_text_diff(struct diff *d, const char *a, const char *b)
{
    size_t alike;

    skip_equal_lines(&a, &b);
    alike = a != NULL && b != NULL ? count_equal_last_lines(a, b) : 0;
    print_diff_lines(d, "-", a,
                     a != NULL ? get_nth_line(a, count_diff_lines(a) - alike)
                               : NULL);
    print_diff_lines(d, "+", b,
                     b != NULL ? get_nth_line(b, count_diff_lines(b) - alike)
                               : NULL);
}

/* ---- values ------------------------------------------------------------- */

static void print_diff_value(struct diff *d, const char *sign, const json_t *v)
{
    if (v == NULL)
        return;
    if (json_is_string(v)) {
        print_diff_lines(d, sign, json_string_value(v), NULL);
        return;
    }
    mortise_out_printf(d->out, "    %s ", sign);
    mortise_out_put_json(d->out, v, false);
}

static void on_json_difference(void *ud, const char *pointer, const json_t *a,
                               const json_t *b)
{
    struct diff *d = ud;

    if (strcmp(pointer, "/digest") == 0)
        return; /* it follows from the other differences */
    d->n_printed++;
    mortise_out_print_escaped(d->out, "    %s\n",
                              pointer[0] == '/' ? pointer + 1 : "");
    if (json_is_string(a) && json_is_string(b)) {
        print_text_diff(d, json_string_value(a), json_string_value(b));
    } else {
        print_diff_value(d, "-", a);
        print_diff_value(d, "+", b);
    }
}

static void print_value_diff(struct diff *d, const json_t *a, const json_t *b)
{
    if (mortise_json_diff(a, b, d->out->mem, on_json_difference, d) !=
        MORTISE_OK)
        d->out->errnum = ENOMEM;
}

/* ---- servers ------------------------------------------------------------ */

static bool has_same_digest(const json_t *a, const json_t *b)
{
    return strcmp(mortise_cli_get_text(a, "digest"),
                  mortise_cli_get_text(b, "digest")) == 0;
}

static void count_tool_changes(struct diff *d, const json_t *before,
                               const json_t *now)
{
    MORTISE_JSON_MEMBERS (name, tool, get_section_tools(before)) {
        const json_t *its = json_object_get(get_section_tools(now), name);

        d->n_gone += its == NULL;
        d->n_changed += its != NULL && !has_same_digest(tool, its);
    }
    MORTISE_JSON_MEMBERS (key, one, get_section_tools(now))
        d->n_new += json_object_get(get_section_tools(before), key) == NULL;
}

static void print_diff_name(struct diff *d, enum mortise_style style,
                            const char *sign, const char *name)
{
    mortise_out_set_style(d->out, style);
    mortise_out_print_escaped(d->out, "%s %s", sign, name);
    mortise_out_set_style(d->out, MORTISE_PLAIN);
    mortise_out_puts(d->out, "\n");
}

static void print_tool_diffs(struct diff *d, const json_t *before,
                             const json_t *now)
{
    MORTISE_JSON_MEMBERS (name, tool, get_section_tools(before)) {
        const json_t *its = json_object_get(get_section_tools(now), name);

        if (its == NULL)
            print_diff_name(d, MORTISE_BAD, "-", name);
        if (its == NULL || has_same_digest(tool, its))
            continue;
        print_diff_name(d, MORTISE_ATTENTION, "~", name);
        d->n_printed = 0;
        print_value_diff(d, tool, its);
        if (d->n_printed == 0)
            mortise_out_puts(d->out, "    only its digest: the pinned data "
                                     "differs from its digest\n");
    }
    MORTISE_JSON_MEMBERS (key, one, get_section_tools(now)) {
        if (json_object_get(get_section_tools(before), key) != NULL)
            continue;
        print_diff_name(d, MORTISE_GOOD, "+", key);
        if (mortise_cli_get_text(one, "description")[0] != '\0')
            mortise_out_put_text(d->out,
                                 mortise_cli_get_text(one, "description"), 4);
    }
}

/* Compare the members other than the tools. */
static void print_other_diff(struct diff *d, const json_t *before,
                             const json_t *now)
{
    json_t *a = json_copy(mortise_json_unconst(before));
    json_t *b = json_copy(mortise_json_unconst(now));

    json_object_del(a, "tools");
    json_object_del(b, "tools");
    if (a != NULL && b != NULL)
        print_value_diff(d, a, b);
    json_decref(a);
    json_decref(b);
}

static void print_diff_header(struct diff *d, const char *server,
                              const json_t *before, const json_t *now)
{
    mortise_out_set_style(d->out, MORTISE_BOLD);
    mortise_out_print_escaped(d->out, "%s", server);
    mortise_out_set_style(d->out, MORTISE_PLAIN);
    if (now == NULL)
        mortise_out_puts(d->out, ": no longer pinned\n");
    else if (d->n_new + d->n_changed + d->n_gone == 0)
        mortise_out_printf(d->out, ": %zu tools, as pinned\n",
                           json_object_size(get_section_tools(now)));
    else
        mortise_out_printf(d->out, ": %zu new, %zu changed, %zu removed%s\n",
                           d->n_new, d->n_changed, d->n_gone,
                           before == NULL ? " (not pinned before)" : "");
}

bool mortise_mcp_compare_pins(struct mortise_out *o, const char *server,
                              const json_t *before, const json_t *now)
{
    struct diff d = {.out = o};

    count_tool_changes(&d, before, now);
    d.other = (before == NULL) != (now == NULL) ||
              strcmp(mortise_cli_get_text(before, "instructions"),
                     mortise_cli_get_text(now, "instructions")) != 0;
    if (o != NULL) {
        print_diff_header(&d, server, before, now);
        print_other_diff(&d, before, now);
        if (now != NULL)
            print_tool_diffs(&d, before, now);
    }
    return d.other || d.n_new + d.n_changed + d.n_gone > 0;
}
