/* reducer.c -- state.reducers: how several writes to a path are combined.
 *
 * A reducer is a word or a mapping: {expr} computes the new value, {reduce:
 * concat, max_items} limits a list.  The reducers are sorted by the canonical
 * spelling of their paths, so that a run finds one by binary search.
 */
#include "lang/graph/load/loader.h"

#include <stdlib.h>
#include <string.h>

static const struct mortise_word words[] = {
    {"last", MORTISE_REDUCE_LAST, false},
    {"first", MORTISE_REDUCE_FIRST, false},
    {"concat", MORTISE_REDUCE_CONCAT, false},
    {"merge", MORTISE_REDUCE_MERGE, false},
    {"sum", MORTISE_REDUCE_SUM, false},
    {"min", MORTISE_REDUCE_MIN, false},
    {"max", MORTISE_REDUCE_MAX, false},
    {"longest", MORTISE_REDUCE_LONGEST, false},
    {"avg", MORTISE_REDUCE_AVG, false},
    {NULL, 0, false},
};

static const struct mortise_word overflows[] = {
    {"error", 0, false},
    {"drop_oldest", 1, false},
    {NULL, 0, false},
};

/* ---- mappings -------------------------------------------------------- */

/* `old` has the schema of the path; `new` may be anything. */
static void read_reducer_expr(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reducer *r = into;
    struct mortise_cel_name names[MORTISE_REDUCE_NAMES] = {
        [MORTISE_REDUCE_OLD] = {"old", mortise_load_schema_at(ld, &r->path)},
        [MORTISE_REDUCE_NEW] = {"new", NULL},
    };
    const struct mortise_cel_scope scope = {names, MORTISE_REDUCE_NAMES};

    if (r->reduce != MORTISE_REDUCE_DEFAULT)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "a reducer can have 'expr' or 'reduce', not both");
    r->reduce = MORTISE_REDUCE_EXPR;
    if (mortise_expr_compile(&r->expr, ld->arena, slot->value, &scope,
                             ld->diags) == MORTISE_ENOMEM)
        ld->nomem = true;
}

static const struct mortise_key keys[] = {
    {.name = "reduce",
     .about = "How a new value is combined with the old one.",
     .words = words,
     MORTISE_INTO_WORD(struct mortise_reducer, reduce)},
    {.name = "expr",
     .about = "An expression over old and new.",
     .value = MORTISE_V_EXPR,
     .read = read_reducer_expr},
    {.name = "max_items",
     .about = "The highest number of items of a concatenated list.",
     .min = 1,
     .max = 1e9,
     MORTISE_INTO_U64(struct mortise_reducer, max_items)},
    {.name = "overflow",
     .about = "The reaction to more items: error (the default) or drop_oldest.",
     .words = overflows,
     MORTISE_INTO_WORD_BOOL(struct mortise_reducer, drop_oldest)},
};

static const struct mortise_place place = {MORTISE_PLACE_OF("a reducer", keys)};

static const struct mortise_key forms[] = {
    {.value = MORTISE_V_WORD, .words = words},
    {.value = MORTISE_V_MAP, .place = &place},
};

const struct mortise_key mortise_reducer_row = {MORTISE_FORMS(forms)};

static void check_max_items(struct mortise_loader *ld,
                            const struct mortise_reducer *r,
                            const struct mortise_yaml *v)
{
    const struct mortise_yaml *max = mortise_yaml_key(v, "max_items"),
                              *overflow = mortise_yaml_key(v, "overflow");

    if (max != NULL && r->reduce != MORTISE_REDUCE_CONCAT &&
        !mortise_keys_is_uncertain(&place, v, "reduce"))
        mortise_diag_add(ld->diags, "E0212", max->span,
                         "'max_items' needs reduce: concat");
    if (overflow != NULL && !mortise_keys_has_key(&place, v, "max_items"))
        mortise_diag_add(ld->diags, "E0212", overflow->span,
                         "'overflow' needs 'max_items'");
}

static void read_reducer_map(struct mortise_loader *ld,
                             struct mortise_reducer *r,
                             const struct mortise_yaml *v)
{
    mortise_keys_read(&place, v, v->span, ld, r, ld->diags);
    check_max_items(ld, r, v);
    if (!mortise_keys_has_key(&place, v, "reduce") &&
        !mortise_keys_has_key(&place, v, "expr"))
        mortise_diag_add(ld->diags, "E0206", v->span,
                         "a reducer needs the key 'reduce' or 'expr'");
}

/* ---- one reducer, all reducers --------------------------------------- */

static void read_reducer_word(struct mortise_loader *ld,
                              struct mortise_reducer *r,
                              const struct mortise_yaml *v)
{
    const struct mortise_word *w =
        mortise_word_find(words, "reducer", v, ld->diags);

    if (w != NULL)
        r->reduce = (enum mortise_reduce)w->value;
}

static void read_path_reducer(struct mortise_loader *ld,
                              const struct mortise_yaml *key,
                              const struct mortise_yaml *v)
{
    struct mortise_reducer *r = &ld->g->reducers[ld->g->n_reducers];
    bool good = mortise_load_path(ld, &r->path, key);

    r->span = key->span;
    if (v->kind != MORTISE_YAML_MAP)
        read_reducer_word(ld, r, v);
    else if (good) /* the types depend on the path */
        read_reducer_map(ld, r, v);
    if (good)
        mortise_load_check_reducer_fit(ld, r);
    ld->g->n_reducers += good;
}

static int compare_reducer_paths(const void *a, const void *b)
{
    const struct mortise_reducer *ra = a, *rb = b;

    return strcmp(ra->path.text, rb->path.text);
}

/* Sort for mortise_graph_reducer().  Two reducers of one path become
 * adjacent. */
static void sort_reducers(struct mortise_loader *ld)
{
    struct mortise_reducer *list = ld->g->reducers;

    qsort(list, ld->g->n_reducers, sizeof *list, compare_reducer_paths);
    for (size_t i = 1; i < ld->g->n_reducers; i++)
        if (compare_reducer_paths(&list[i - 1], &list[i]) == 0)
            mortise_diag_add(ld->diags, "E0214", list[i].span,
                             "'%s' has two reducers", list[i].path.text);
}

void mortise_load_reducers(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    ld->g->reducers = mortise_load_alloc(ld, map->n * sizeof *ld->g->reducers);
    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_path_reducer(ld, map->keys[i], map->items[i]);
    if (!ld->nomem)
        sort_reducers(ld);
}
