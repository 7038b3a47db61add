/* state.c -- the key `state`: schemas, reducers, and paths below them.
 *
 * A path that a node may write is checked against the schemas here and now: a
 * member that a closed schema does not list would fail the run at its first
 * commit.  Reducers end up sorted by the canonical spelling of their paths, so
 * that finding one in a run costs a binary search.
 */
#include "graph/loader.h"

#include <stdlib.h>
#include <string.h>

/* The first member of the path that the schema of its root rules out. */
static const char *ruled_out(const struct mortise_schema *s,
                             const struct mortise_path *path)
{
    for (size_t i = 1; i < path->n && s != NULL; i++) {
        const char *key = path->steps[i].key;
        const struct mortise_schema *member =
            key != NULL ? mortise_schema_member(s, key)
                        : mortise_schema_items(s);

        if (key != NULL && member != NULL && mortise_schema_types(member) == 0)
            return key;
        s = member;
    }
    return NULL;
}

bool mortise_load_path(struct mortise_loader *ld, struct mortise_path *out,
                       const struct mortise_yaml *key)
{
    struct mortise_err err;
    const char *root, *member;
    struct mortise_diag *d;
    int rv = mortise_path_parse(out, ld->arena, key->str, key->len, &err);

    if (rv == MORTISE_ENOMEM) {
        ld->nomem = true;
        return false;
    }
    if (rv != MORTISE_OK) {
        mortise_diag_add(ld->diags, "E0213", key->span, "'%s' is no path: %s",
                         key->str, err.msg);
        return false;
    }
    root = out->steps[0].key;
    if (out->n < 2 ||
        (strcmp(root, "scratch") != 0 && strcmp(root, "artifacts") != 0)) {
        d = mortise_diag_add(ld->diags, "E0213", key->span,
                             "'%s' is not below scratch or artifacts",
                             key->str);
        mortise_diag_help(ld->diags, d,
                          "name a field of them, such as scratch.label");
        return false;
    }
    member = ruled_out(root[0] == 's' ? ld->g->scratch : ld->g->artifacts, out);
    if (member != NULL)
        mortise_diag_add(ld->diags, "E0213", key->span,
                         "the schema of %s has no member '%s'", root, member);
    return member == NULL;
}
/* ---- reducers -------------------------------------------------------- */

static const struct mortise_word reducers[] = {
    {"last", MORTISE_REDUCE_LAST, false},
    {"first", MORTISE_REDUCE_FIRST, false},
    {"concat", MORTISE_REDUCE_CONCAT, false},
    {"merge", MORTISE_REDUCE_MERGE, false},
    {"sum", MORTISE_REDUCE_SUM, false},
    {"min", MORTISE_REDUCE_MIN, false},
    {"max", MORTISE_REDUCE_MAX, false},
    {"longest", MORTISE_REDUCE_LONGEST, false},
    {"avg", 0, true},
    {NULL, 0, false},
};

static void read_reducer(struct mortise_loader *ld,
                         const struct mortise_yaml *key,
                         const struct mortise_yaml *v)
{
    struct mortise_reducer *r = &ld->g->reducers[ld->g->n_reducers];
    const struct mortise_word *w;

    if (v->kind == MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0205", v->span,
                         "reducers with expr or caps are not available in "
                         "this build");
        return;
    }
    w = mortise_word_find(reducers, "reducer", v, ld->diags);
    if (w == NULL || !mortise_load_path(ld, &r->path, key))
        return;
    r->reduce = (enum mortise_reduce)w->value;
    r->span = key->span;
    ld->g->n_reducers++;
}

static int by_path(const void *a, const void *b)
{
    const struct mortise_reducer *ra = a, *rb = b;

    return strcmp(ra->path.text, rb->path.text);
}

/* Sorted, for mortise_graph_reduce(); two of one path stand side by side. */
static void sort_reducers(struct mortise_loader *ld)
{
    struct mortise_reducer *list = ld->g->reducers;

    qsort(list, ld->g->n_reducers, sizeof *list, by_path);
    for (size_t i = 1; i < ld->g->n_reducers; i++)
        if (by_path(&list[i - 1], &list[i]) == 0)
            mortise_diag_add(ld->diags, "E0214", list[i].span,
                             "'%s' has two reducers", list[i].path.text);
}

static void read_reducers(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    ld->g->reducers = mortise_load_alloc(ld, map->n * sizeof *ld->g->reducers);
    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (!mortise_yaml_is_x(map->keys[i]->str))
            read_reducer(ld, map->keys[i], map->items[i]);
    sort_reducers(ld);
}

/* ---- schemas --------------------------------------------------------- */

/* A schema of input, scratch or artifacts, which are always objects. */
static struct mortise_schema *object_schema(struct mortise_loader *ld,
                                            const struct mortise_slot *slot)
{
    struct mortise_schema *s = mortise_load_schema(ld, slot->value);

    if (s != NULL && (mortise_schema_types(s) & MORTISE_T_OBJECT) == 0)
        mortise_diag_add(ld->diags, "E0208", slot->value->span,
                         "'%s' is an object, and this schema allows none",
                         slot->name->str);
    return s;
}

static void read_input(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->input = object_schema(ctx, slot);
}

static void read_scratch(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->scratch = object_schema(ctx, slot);
}

static void read_artifacts(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->artifacts = object_schema(ctx, slot);
}

static const struct mortise_key state_keys[] = {
    {.name = "input",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_input},
    {.name = "scratch",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_scratch},
    {.name = "artifacts",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_artifacts},
    {.name = "reducers",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_reducers},
};

static const struct mortise_place state_place = {.what = "state",
                                                 .keys = state_keys,
                                                 .n = sizeof state_keys /
                                                      sizeof state_keys[0]};
void mortise_load_state(struct mortise_loader *ld,
                        const struct mortise_slot *slot)
{
    mortise_keys_read(&state_place, MORTISE_HERE, slot->value, slot->name->span,
                      ld, ld->g, ld->diags);
}
