/* codes.h -- every code that a finding may carry, with its explanation.
 *
 * Codes are stable: what one means never changes and a retired one is not
 * used again.  E01 files and YAML, E02 keys and values, E03 structure, E04
 * expressions, E05 plugins and operations, E06 deployments, E07 manifests,
 * W08 warnings, E09 tests of graphs, 10 imports, E11 diffs of running graphs.  Each
 * has a failing fixture in tests/graphs/bad, tests/cases or tests/graphs/import, or
 * (E11) a test of its own in test_cli_steer.c. */
#ifndef MORTISE_LANG_YAML_CODES_H
#define MORTISE_LANG_YAML_CODES_H

#include <stddef.h>

struct mortise_code {
    const char *code, *title;
    const char *explanation; /* what it means and what to do, sentences */
    /* Lines of a file that gets it; apiVersion, kind (Graph) and metadata stand
     * before them unless they say it themselves.  Nothing but comments where no
     * lines can show it. */
    const char *example;
};

extern const struct mortise_code mortise_codes[]; /* sorted by code */
extern const size_t mortise_n_codes;

/* NULL when there is none. */
const struct mortise_code *mortise_code(const char *code);

#endif
