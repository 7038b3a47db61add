/* unfilled.c -- `${...}` in strings that are not templates.
 *
 * Only some keys take templates.  In any other key `${input.name}` remains as
 * written, and the author learns that from a model or a person who reads it.
 * So each string of the file that contains `${`, and in which no expression was
 * compiled, gets a warning (W0830).
 *
 * Excluded are metadata, schemas (patterns contain `${`), x- keys,
 * descriptions, and inner graphs, which have a loader of their own.
 */
#include "lang/graph/load/loader.h"

#include <stdlib.h>
#include <string.h>

/* The scalars with an expression of the graph, sorted by address. */
struct filled {
    struct mortise_loader *ld;
    const struct mortise_yaml **list;
    size_t n;
};

static int compare_addresses(const void *a, const void *b)
{
    const struct mortise_yaml *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

static bool is_template_filled(const struct filled *f,
                               const struct mortise_yaml *v)
{
    return bsearch(&v, f->list, f->n, sizeof *f->list, compare_addresses) !=
           NULL;
}

static bool is_ignored_key(const char *key)
{
    static const char *const keys[] = {
        "args",     "description",   "graph",  "input_schema", "message_schema",
        "metadata", "output_schema", "schema", "state"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return mortise_yaml_is_x_key(key);
}

static void check_unfilled_strings(struct filled *f,
                                   const struct mortise_yaml *v,
                                   const char *key)
{
    if (mortise_tmpl_has_expr(v) && !is_template_filled(f, v))
        mortise_diag_help(
            f->ld->diags,
            mortise_diag_add(
                f->ld->diags, "W0830", v->span,
                "'%s' does not evaluate templates: ${...} stays as text", key),
            "use a key that evaluates templates, such as 'prompt', 'goal' or "
            "'args'");
    for (size_t i = 0; i < v->n; i++) {
        if (v->kind == MORTISE_YAML_SEQ)
            check_unfilled_strings(f, v->items[i], key);
        else if (v->kind == MORTISE_YAML_MAP &&
                 !is_ignored_key(v->keys[i]->str))
            check_unfilled_strings(f, v->items[i], v->keys[i]->str);
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
    qsort(f.list, f.n, sizeof *f.list, compare_addresses);
    check_unfilled_strings(&f, ld->g->tree, "graph");
    mortise_release(ld->mem, f.list, size);
}
