/* fuzz_graph.c -- libFuzzer: any bytes are a graph or have findings.
 *
 *     make LAYERS="base json yaml cel graph" B=/tmp/fuzz CC=clang \
 *         CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address,undefined" \
 *         /tmp/fuzz/libmortise.a, then link this with -fsanitize=fuzzer;
 *     start from tests/graphs/good and tests/graphs/bad.
 *
 * It needs no Check: the catalogue is one operation without schemas. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "graph/graph.h"
#include "yaml/codes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mortise_operation *operation(void *ud, const char *plugin,
                                                 const char *name,
                                                 struct mortise_err *why)
{
    static const struct mortise_operation op = {
        .plugin = "p", .name = "o", .effect = MORTISE_WRITE};

    (void)ud;
    if (strlen(plugin) < 8 && strlen(name) < 8)
        return &op;
    mortise_fail(why, MORTISE_ENOTFOUND, "no such operation");
    return NULL;
}

static int guardrail(void *ud, const char *id, struct mortise_err *why)
{
    (void)ud;
    return strlen(id) < 8 ? MORTISE_OK
                          : mortise_fail(why, MORTISE_ENOTFOUND, "none");
}

static void check_findings(struct mortise_diags *diags)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    mortise_diags_text(diags, &b);
    assert(!b.failed && mortise_utf8_valid(b.p != NULL ? b.p : "", b.n));
    for (size_t i = 0; i < diags->n; i++) {
        assert(diags->list[i].path != NULL && diags->list[i].span.line > 0);
        assert(mortise_code(diags->list[i].code) != NULL);
    }
    mortise_buf_finish(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mortise_catalog catalog = {.operation = operation,
                                                   .guardrail = guardrail};
    struct mortise_graph *g;
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_load(&g, &mortise_heap, "fuzz", (const char *)data, size,
                            &catalog, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    assert((rv == MORTISE_ECHECK) == (diags.n_errors > 0));
    check_findings(&diags);
    mortise_graph_unref(g);
    mortise_diags_finish(&diags);
    return 0;
}
