/* fuzz_graph.c -- libFuzzer: any bytes are a graph or have findings.
 *
 *     make fuzz FUZZ=graph        (from tests/graphs/good and tests/graphs/bad)
 *
 * It needs no Check: the catalogue is one operation without schemas. */
#include <assert.h>
#include <stdint.h>

#include "any_graph.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_graph *g;
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_load(&g, &mortise_heap, "fuzz", (const char *)data, size,
                            &any_catalog, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    assert((rv == MORTISE_ECHECK) == (diags.n_errors > 0));
    check_findings(&diags);
    mortise_graph_unref(g);
    mortise_diags_finish(&diags);
    return 0;
}
