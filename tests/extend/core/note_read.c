/* note_read.c -- a kind of nodes that core/ does not know: it says something, which
 * is its output. */
#include "extend/core/note.h"
#include "lang/graph/load/node.h"

static void read_say(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct note *note = r->node->own;

    mortise_load_defer(ctx, mortise_load_deferred_tmpl, &note->say, slot->value,
                       r->node->index, MORTISE_IN_OUTPUT);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "say",
     .about = "What it says: JSON with ${...} templates.",
     .value = MORTISE_V_TEMPLATE,
     .required = true,
     .read = read_say},
    MORTISE_ROWS(mortise_work_rows),
};

static void finish(struct mortise_loader *ld, struct mortise_node_reader *r)
{
    const struct mortise_yaml *say = mortise_yaml_get(r->map, "say");

    if (say != NULL && say->kind == MORTISE_YAML_NULL)
        mortise_diag_add(ld->diags, "E0203", say->span,
                         "a note says something");
}

const struct mortise_node_kind mortise_graph_kind_note = {
    .place = {MORTISE_KIND_PLACE("note", keys)},
    .size = sizeof(struct note),
    .finish = finish};
