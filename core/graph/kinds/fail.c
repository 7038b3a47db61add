/* fail.c -- fail nodes: the graph ends here with an error of its author's, which
 * has a code that the caller can act upon. */
#include "graph/kinds/pass.h"
#include "graph/load/node.h"

#include <string.h>

enum { CODE_MAX = 64 };

/* "refund.too_late": small letters, digits, '_' and '.', as codes of plugins. */
static bool is_code(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n <= CODE_MAX && text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n;
}

static void read_code(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    struct mortise_failing *failing = r->node->own;

    failing->code = slot->value->str;
    if (!is_code(failing->code))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0211", slot->value->span,
                             "'%s' cannot be a code of an error",
                             failing->code),
            "a small letter, then small letters, digits, _ and ., 64 at most: "
            "refund.too_late");
}

static void read_message(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;
    struct mortise_failing *failing = r->node->own;

    mortise_load_late(ctx, mortise_load_late_tmpl, &failing->message,
                      slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "code",
     .about = "The code of the error (default: failed).",
     .value = MORTISE_V_STRING,
     .read = read_code},
    {.name = "message",
     .about = "What went wrong: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_message},
    MORTISE_ROWS(mortise_join_rows),
    MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROWS(mortise_last_rows),
};

static void begin(struct mortise_loader *ld, struct mortise_reading *r)
{
    struct mortise_failing *failing = r->node->own;

    (void)ld;
    r->node->output_as = NULL; /* there is no output */
    if (failing != NULL)
        failing->code = "failed";
}

static void finish(struct mortise_loader *ld, struct mortise_reading *r)
{
    const struct mortise_yaml *key = mortise_yaml_key(r->map, "on_error");

    if (key != NULL)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0212", key->span,
                             "'on_error' would undo what a fail node is for"),
            "let an edge lead to where the graph continues, instead of here");
}

const struct mortise_node_kind mortise_graph_kind_fail = {
    .place = {MORTISE_KIND_PLACE("fail", keys)},
    .size = sizeof(struct mortise_failing),
    .begin = begin,
    .finish = finish};
