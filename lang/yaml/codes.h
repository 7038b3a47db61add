/* codes.h -- all codes of findings, with their explanations.
 *
 * Codes are stable: the meaning of a code never changes, and a retired code is
 * never used again.  E01 files and YAML, E02 keys and values, E03 structure,
 * E04 expressions, E05 plugins and operations, E06 deployments, E07 manifests,
 * W08 warnings, E09 tests of graphs, 10 imports, E11 diffs of running graphs.
 * Each has a failing fixture in tests/graphs/bad, tests/cases or
 * tests/graphs/import, or (E11) a test of its own in test_cli_steer.c. */
#ifndef MORTISE_LANG_YAML_CODES_H
#define MORTISE_LANG_YAML_CODES_H

#include <stddef.h>

struct mortise_code {
    const char *code, *title;
    const char *explanation; /* sentences: its meaning, and the remedy */
    /* Lines of a file that causes the finding. apiVersion, kind (Graph) and
     * metadata precede them, unless the lines contain these keys.  Only
     * comments if lines cannot show it. */
    const char *example;
};

extern const struct mortise_code mortise_codes[]; /* sorted by code */
extern const size_t mortise_n_codes;

/* NULL: the code does not exist. */
const struct mortise_code *mortise_code(const char *code);

#endif
