/* any_graph.h -- for the fuzzers of graphs: a catalogue that has any operation
 * and guardrail with a short name, and what must hold of any findings.
 *
 * They link the library alone, without Check and tests/lib. */
#ifndef FUZZ_ANY_GRAPH_H
#define FUZZ_ANY_GRAPH_H

#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/model/graph.h"
#include "lang/yaml/codes.h"

static const struct mortise_operation *any_operation(void *ud,
                                                     const char *plugin,
                                                     const char *name,
                                                     struct mortise_err *why)
{
    static const struct mortise_operation op = {
        .plugin = "p", .name = "o", .description = "", .effect = MORTISE_WRITE};

    (void)ud;
    if (strlen(plugin) < 8 && strlen(name) < 8)
        return &op;
    mortise_fail(why, MORTISE_ENOTFOUND, "no such operation");
    return NULL;
}

static int any_guardrail(void *ud, const char *id, struct mortise_err *why)
{
    (void)ud;
    return strlen(id) < 8 ? MORTISE_OK
                          : mortise_fail(why, MORTISE_ENOTFOUND, "none");
}

static const struct mortise_catalog any_catalog = {.operation = any_operation,
                                                   .guardrail = any_guardrail};

/* Each has a place and a code that `explain` knows; their text is UTF-8. */
static inline void check_findings(struct mortise_diags *diags)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &mortise_heap);
    mortise_diags_format(diags, &b);
    assert(!b.failed && mortise_utf8_is_valid(b.p != NULL ? b.p : "", b.n));
    for (size_t i = 0; i < diags->n; i++) {
        assert(diags->list[i].path != NULL && diags->list[i].span.line > 0);
        assert(mortise_code(diags->list[i].code) != NULL);
    }
    mortise_buf_finish(&b);
}

#endif
