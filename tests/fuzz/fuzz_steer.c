/* fuzz_steer.c -- any bytes are a diff of a task graph, or have findings.
 *
 * What a diff makes is a graph, or has findings that have a place; written down, it
 * is the same graph still. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "any_graph.h"
#include "lang/graph/load.h"
#include "lang/graph/steer.h"
#include "lang/yaml/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g}\n"
    "start: [find, ask]\n"
    "nodes:\n"
    "  find: {type: tool, tool: t/echo}\n"
    "  ask: {type: human, prompt: Enough?}\n"
    "  write: {type: tool, tool: t/echo, depends_on: [find, ask]}\n"
    "  crew:\n"
    "    type: team\n"
    "    goal: go\n"
    "    synthesis: t/echo\n"
    "    depends_on: write\n"
    "    graph:\n"
    "      start: a\n"
    "      nodes:\n"
    "        a: {type: tool, tool: t/echo}\n"
    "        b: {type: tool, tool: t/echo, depends_on: a}\n"
    "  print: {type: tool, tool: t/echo, depends_on: crew}\n";

static struct mortise_graph *load(const char *p, size_t n)
{
    struct mortise_diags diags;
    struct mortise_graph *g;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_load(&g, &mortise_heap, "g.yaml", p, n, &any_catalog,
                            &diags, NULL);
    assert(rv == MORTISE_OK);
    mortise_diags_finish(&diags);
    return g;
}

static struct mortise_graph *the_graph(void)
{
    static struct mortise_graph *g;

    if (g == NULL)
        g = load(text, sizeof text - 1);
    return g;
}

static const char *begun(void *ud, const char *path)
{
    (void)ud;
    return strcmp(path, "find") == 0 ? "has ended" : NULL;
}

/* It is what it is once it is written down. */
static void check_written(const struct mortise_yaml *tree,
                          const struct mortise_graph *g)
{
    json_t *v = mortise_yaml_to_json(tree, false);
    struct mortise_graph *again;
    struct mortise_buf out;

    mortise_buf_init(&out, &mortise_heap);
    assert(mortise_yaml_write(&out, v, NULL, NULL) == MORTISE_OK);
    again = load(out.p, out.n);
    assert(memcmp(again->content, g->content, sizeof g->content) == 0);
    mortise_graph_unref(again);
    mortise_buf_finish(&out);
    json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mortise_steer_target of = {the_graph(), begun, NULL};
    const struct mortise_yaml *tree;
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_graph *g = NULL;
    json_t *operations;
    int rv;

    mortise_arena_init(&arena, &mortise_heap);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_steer_apply(&tree, &operations, &arena, &of, "diff.yaml",
                             (const char *)data, size, &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    assert((rv == MORTISE_ECHECK) == (diags.n_errors > 0));
    if (rv == MORTISE_OK)
        rv = mortise_graph_load_tree(&g, &mortise_heap, tree, &any_catalog,
                                     &diags, NULL);
    assert(rv == MORTISE_OK || rv == MORTISE_ECHECK);
    check_findings(&diags);
    if (rv == MORTISE_OK)
        check_written(tree, g);
    mortise_graph_unref(g);
    json_decref(operations);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&arena);
    return 0;
}
