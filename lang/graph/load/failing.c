/* failing.c -- errors that the author of a graph defines: `code` and `message`
 * of a fail node and of on_error: {fail}. */
#include "lang/graph/load/node.h"

#include <string.h>

#include "core/json/code.h"

enum { CODE_MAX = 64 };

/* "refund.too_late": lowercase letters, digits, '_' and '.', like the codes of
 * plugins.  The codes of the engine are reserved. */
static bool is_author_code(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n <= CODE_MAX && text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n &&
           !mortise_code_is_reserved(text);
}

void mortise_node_begin_failing(struct mortise_loader *ld,
                                struct mortise_node_reader *r)
{
    r->node->failing = mortise_load_alloc(ld, sizeof *r->node->failing);
    if (r->node->failing != NULL)
        r->node->failing->code = "failed";
}

static void read_fail_code(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    const char *code = slot->value->str;

    if (r->node->failing != NULL)
        r->node->failing->code = code;
    if (!is_author_code(code))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0211", slot->value->span,
                             "'%s' is not a valid error code", code),
            "use at most 64 lowercase letters, digits, _ and ., and begin with "
            "a letter: refund.too_late; determinism, guardrail, in_doubt and "
            "rejected are reserved");
}

/* The message in on_error can use `error`; that of a fail node cannot. */
static void read_fail_message(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    if (r->node->failing != NULL)
        mortise_load_defer(
            ctx, mortise_load_deferred_tmpl, &r->node->failing->message,
            slot->value, r->node->index,
            r->node->type == MORTISE_NODE_FAIL ? MORTISE_IN_OUTPUT
                                               : MORTISE_IN_N);
}

const struct mortise_key mortise_failing_rows[2] = {
    {.name = "code",
     .about = "The code of the error (default: failed).",
     .value = MORTISE_V_STRING,
     .read = read_fail_code},
    {.name = "message",
     .about = "The message of the error: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_fail_message},
};
