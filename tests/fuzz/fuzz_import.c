/* fuzz_import.c -- any bytes are a graph of another system, or have findings.
 *
 * What comes out of the import is text that our own loader reads without a
 * fault of its syntax; the same bytes give the same file twice. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "graph/graph.h"
#include "graph/import.h"
#include "yaml/codes.h"
#include "yaml/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int import(struct mortise_buf *out, const char *text, size_t n)
{
    struct mortise_diags diags;
    struct mortise_buf b;
    int rv;

    mortise_buf_init(out, &mortise_heap);
    mortise_buf_init(&b, &mortise_heap);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_import(out, "dir/fuzz.x.json", text, n, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    assert((rv == MORTISE_ECHECK) == (diags.n_errors > 0));
    for (size_t i = 0; i < diags.n; i++) {
        assert(diags.list[i].span.line > 0);
        assert(mortise_code(diags.list[i].code) != NULL);
    }
    mortise_diags_text(&diags, &b);
    assert(!b.failed && mortise_utf8_valid(b.p != NULL ? b.p : "", b.n));
    mortise_buf_finish(&b);
    mortise_diags_finish(&diags);
    return rv;
}

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

/* Its syntax is ours, and `check` has an answer. */
static void check(const struct mortise_buf *out)
{
    static const struct mortise_catalog catalog = {.operation = operation,
                                                   .guardrail = guardrail};
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
    rv = mortise_graph_load(&g, &mortise_heap, "out", out->p, out->n, &catalog,
                            &diags, NULL);
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
