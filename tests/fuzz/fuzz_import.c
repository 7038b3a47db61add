/* fuzz_import.c -- any bytes are a graph of another system, or have findings.
 *
 * What comes out of the import is text that our own loader reads without a
 * fault of its syntax; the same bytes give the same file twice. */
#include <assert.h>
#include <stdint.h>

#include "any_graph.h"
#include "tools/import/import.h"
#include "lang/graph/load.h"
#include "lang/yaml/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int import(struct mortise_buf *out, const char *text, size_t n)
{
    struct mortise_diags diags;
    int rv;

    mortise_buf_init(out, &mortise_heap);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_import(out, "dir/fuzz.x.json", text, n, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    assert((rv == MORTISE_ECHECK) == (diags.n_errors > 0));
    check_findings(&diags);
    mortise_diags_finish(&diags);
    return rv;
}

/* Its syntax is ours, and `check` has an answer. */
static void check(const struct mortise_buf *out)
{
    struct mortise_arena arena;
    struct mortise_diags diags;
    struct mortise_yaml *root;
    struct mortise_graph *g;
    int rv;

    mortise_arena_init(&arena, &mortise_heap);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_yaml_parse(&root, &arena, "out", out->p, out->n, &diags);
    assert(rv == MORTISE_OK && diags.n_errors == 0);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&arena);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_load(&g, &mortise_heap, "out", out->p, out->n,
                            &any_catalog, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    mortise_graph_unref(g);
    mortise_diags_finish(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_buf first, second;
    int rv = import(&first, (const char *)data, size);

    assert(import(&second, (const char *)data, size) == rv);
    assert(first.n == second.n &&
           (first.n == 0 || memcmp(first.p, second.p, first.n) == 0));
    if (rv == MORTISE_OK)
        check(&first);
    mortise_buf_finish(&first);
    mortise_buf_finish(&second);
    return 0;
}
