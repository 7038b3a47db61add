/* unfilled.c -- `${...}` in strings that nothing fills.
 *
 * Only some keys take templates.  In any other key `${input.name}` stays as it
 * is written, and the author learns that from a model or a person who reads
 * it.  So each string of the file that has `${`, and in which no expression was
 * compiled, is a warning (W0830).
 *
 * Not looked at: metadata, schemas (patterns have `${`), keys that begin with
 * x-, descriptions, and graphs inside this one, which have a loader of their
 * own.
 */
#include "lang/graph/load/loader.h"

#include <stdlib.h>
#include <string.h>

/* The scalars that have an expression of the graph, in the order of addresses. */
struct filled {
    struct mortise_loader *ld;
    const struct mortise_yaml **list;
    size_t n;
};

static int by_address(const void *a, const void *b)
{
    const struct mortise_yaml *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

static bool is_filled(const struct filled *f, const struct mortise_yaml *v)
{
    return bsearch(&v, f->list, f->n, sizeof *f->list, by_address) != NULL;
}

static bool is_passed_over(const char *key)
{
    static const char *const keys[] = {
        "args",     "description",   "graph",  "input_schema", "message_schema",
        "metadata", "output_schema", "schema", "state"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return mortise_yaml_is_x(key);
}

static void look(struct filled *f, const struct mortise_yaml *v,
                 const char *key)
{
    if (mortise_tmpl_opens(v) && !is_filled(f, v))
        mortise_diag_help(
            f->ld->diags,
            mortise_diag_add(
                f->ld->diags, "W0830", v->span,
                "'%s' does not evaluate templates: ${...} stays as text", key),
            "use a key that evaluates templates, such as 'prompt', 'goal' or "
            "'args'");
    for (size_t i = 0; i < v->n; i++) {
        if (v->kind == MORTISE_YAML_SEQ)
            look(f, v->items[i], key);
        else if (v->kind == MORTISE_YAML_MAP &&
                 !is_passed_over(v->keys[i]->str))
            look(f, v->items[i], v->keys[i]->str);
    }
}

void mortise_check_unfilled(struct mortise_loader *ld)
{
    size_t size = (ld->n_looked + 1) * sizeof(const struct mortise_yaml *);
    struct filled f = {ld, mortise_alloc(ld->mem, size), 0};

    if (f.list == NULL) {
        ld->nomem = true;
        return;
    }
    for (size_t i = 0; i < ld->n_looked; i++)
        f.list[f.n++] = ld->looked[i].expr.at;
    qsort(f.list, f.n, sizeof *f.list, by_address);
    look(&f, ld->g->tree, "graph");
    mortise_release(ld->mem, f.list, size);
}
