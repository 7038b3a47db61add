/* mcp_diff.c -- what is different in the pins of an MCP server, for people.
 *
 *     files: 1 new, 1 changed, 1 gone
 *     + write_file
 *         Write a file
 *     - old_tool
 *     ~ read_file
 *         description
 *         - Read a file
 *         + Read a file, or a directory
 *         input_schema/properties/path/maxLength
 *         - 64
 *
 * A description is what a model is told, and a schema what it fills in, so each
 * line of both that came or went is shown.  Values are compared member by member;
 * of texts the lines that both begin and end with are left out. */
#include "cli/mcp.h"

#include <errno.h>
#include <string.h>

#include "core/json/diff.h"

enum { LINES_MOST = 2000 };

struct diff {
    struct mortise_out *out; /* NULL: it is only looked */
    size_t n_new, n_changed, n_gone;
    size_t n_said;
    bool other; /* something else that a call could meet */
};

static const json_t *tools_of(const json_t *section)
{
    return json_object_get(section, "tools");
}

/* ---- texts ---------------------------------------------------------------------- */

/* Where the line behind that of `s` begins; NULL: there is none. */
static const char *behind(const char *s)
{
    const char *end = strchr(s, '\n');

    return end != NULL ? end + 1 : NULL;
}

static size_t line_of(const char *s)
{
    return strcspn(s, "\n");
}

static void put_line(struct diff *d, const char *sign, const char *s, size_t n)
{
    mortise_out_printf(d->out, "    %s ", sign);
    mortise_out_piece(d->out, s, n);
    mortise_out_puts(d->out, "\n");
}

/* The lines of [s, end), which is behind the last one; NULL: to the last. */
static void put_lines(struct diff *d, const char *sign, const char *s,
                      const char *end)
{
    for (; s != NULL && s != end; s = behind(s))
        put_line(d, sign, s, line_of(s));
}

/* Lines of a and b that are alike from the first on; both move behind them. */
static void skip_begin(const char **a, const char **b)
{
    while (*a != NULL && *b != NULL && line_of(*a) == line_of(*b) &&
           strncmp(*a, *b, line_of(*a)) == 0) {
        *a = behind(*a);
        *b = behind(*b);
    }
}

static size_t count(const char *s)
{
    size_t n = 0;

    for (; s != NULL; s = behind(s))
        n++;
    return n;
}

static const char *nth(const char *s, size_t n)
{
    while (n-- > 0)
        s = behind(s);
    return s;
}

/* How many of the last lines are alike; of very long texts it is not looked
 * at, which costs lines and no more. */
static size_t same_end(const char *a, const char *b)
{
    size_t n_a = count(a), n_b = count(b), n = 0;

    if (n_a > LINES_MOST || n_b > LINES_MOST)
        return 0;
    while (n < n_a && n < n_b) {
        const char *x = nth(a, n_a - n - 1), *y = nth(b, n_b - n - 1);

        if (line_of(x) != line_of(y) || strncmp(x, y, line_of(x)) != 0)
            break;
        n++;
    }
    return n;
}

static void diff_text(struct diff *d, const char *a, const char *b)
{
    size_t alike;

    skip_begin(&a, &b);
    alike = a != NULL && b != NULL ? same_end(a, b) : 0;
    put_lines(d, "-", a, a != NULL ? nth(a, count(a) - alike) : NULL);
    put_lines(d, "+", b, b != NULL ? nth(b, count(b) - alike) : NULL);
}

/* ---- values ----------------------------------------------------------------------- */

static void put_value(struct diff *d, const char *sign, const json_t *v)
{
    if (v == NULL)
        return;
    if (json_is_string(v)) {
        put_lines(d, sign, json_string_value(v), NULL);
        return;
    }
    mortise_out_printf(d->out, "    %s ", sign);
    mortise_out_json(d->out, v, false);
}

static void put_difference(void *ud, const char *pointer, const json_t *a,
                           const json_t *b)
{
    struct diff *d = ud;

    if (strcmp(pointer, "/digest") == 0)
        return; /* of what else is different */
    d->n_said++;
    mortise_out_say(d->out, "    %s\n", pointer[0] == '/' ? pointer + 1 : "");
    if (json_is_string(a) && json_is_string(b)) {
        diff_text(d, json_string_value(a), json_string_value(b));
    } else {
        put_value(d, "-", a);
        put_value(d, "+", b);
    }
}

static void diff_value(struct diff *d, const json_t *a, const json_t *b)
{
    if (mortise_json_diff(a, b, d->out->mem, put_difference, d) != MORTISE_OK)
        d->out->errnum = ENOMEM;
}

/* ---- a server ------------------------------------------------------------------------ */

static bool is_same_tool(const json_t *a, const json_t *b)
{
    return strcmp(mortise_cli_text(a, "digest"),
                  mortise_cli_text(b, "digest")) == 0;
}

static void count_tools(struct diff *d, const json_t *before, const json_t *now)
{
    MORTISE_JSON_MEMBERS (name, tool, tools_of(before)) {
        const json_t *its = json_object_get(tools_of(now), name);

        d->n_gone += its == NULL;
        d->n_changed += its != NULL && !is_same_tool(tool, its);
    }
    MORTISE_JSON_MEMBERS (key, one, tools_of(now))
        d->n_new += json_object_get(tools_of(before), key) == NULL;
}

static void put_name(struct diff *d, enum mortise_style style, const char *sign,
                     const char *name)
{
    mortise_out_style(d->out, style);
    mortise_out_say(d->out, "%s %s", sign, name);
    mortise_out_style(d->out, MORTISE_PLAIN);
    mortise_out_puts(d->out, "\n");
}

static void put_tools(struct diff *d, const json_t *before, const json_t *now)
{
    MORTISE_JSON_MEMBERS (name, tool, tools_of(before)) {
        const json_t *its = json_object_get(tools_of(now), name);

        if (its == NULL)
            put_name(d, MORTISE_BAD, "-", name);
        if (its == NULL || is_same_tool(tool, its))
            continue;
        put_name(d, MORTISE_ASKS, "~", name);
        d->n_said = 0;
        diff_value(d, tool, its);
        if (d->n_said == 0)
            mortise_out_puts(d->out, "    only its digest: the pinned data "
                                     "differs from its digest\n");
    }
    MORTISE_JSON_MEMBERS (key, one, tools_of(now)) {
        if (json_object_get(tools_of(before), key) != NULL)
            continue;
        put_name(d, MORTISE_GOOD, "+", key);
        if (mortise_cli_text(one, "description")[0] != '\0')
            mortise_out_text(d->out, mortise_cli_text(one, "description"), 4);
    }
}

/* What is pinned besides its tools: its other members. */
static void put_rest(struct diff *d, const json_t *before, const json_t *now)
{
    json_t *a = json_copy(mortise_json_unconst(before));
    json_t *b = json_copy(mortise_json_unconst(now));

    json_object_del(a, "tools");
    json_object_del(b, "tools");
    if (a != NULL && b != NULL)
        diff_value(d, a, b);
    json_decref(a);
    json_decref(b);
}

static void put_head(struct diff *d, const char *server, const json_t *before,
                     const json_t *now)
{
    mortise_out_style(d->out, MORTISE_BOLD);
    mortise_out_say(d->out, "%s", server);
    mortise_out_style(d->out, MORTISE_PLAIN);
    if (now == NULL)
        mortise_out_puts(d->out, ": no longer pinned\n");
    else if (d->n_new + d->n_changed + d->n_gone == 0)
        mortise_out_printf(d->out, ": %zu tools, as pinned\n",
                           json_object_size(tools_of(now)));
    else
        mortise_out_printf(d->out, ": %zu new, %zu changed, %zu removed%s\n",
                           d->n_new, d->n_changed, d->n_gone,
                           before == NULL ? " (not pinned before)" : "");
}

bool mortise_mcp_diff(struct mortise_out *o, const char *server,
                      const json_t *before, const json_t *now)
{
    struct diff d = {.out = o};

    count_tools(&d, before, now);
    d.other = (before == NULL) != (now == NULL) ||
              strcmp(mortise_cli_text(before, "instructions"),
                     mortise_cli_text(now, "instructions")) != 0;
    if (o != NULL) {
        put_head(&d, server, before, now);
        put_rest(&d, before, now);
        if (now != NULL)
            put_tools(&d, before, now);
    }
    return d.other || d.n_new + d.n_changed + d.n_gone > 0;
}
