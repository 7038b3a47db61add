/* absent.c -- the kinds that the language has and this build does not: which
 * keys are theirs, for who puts one of those on a node of another kind. */
#include "graph/load/node.h"

#define ABSENT(word, table)                                                    \
    const struct mortise_place mortise_graph_absent_##word = {                 \
        MORTISE_KIND_PLACE(#word, table), .later = true}

static const struct mortise_key call_keys[] = {
    MORTISE_ROWS(mortise_call_rows),   MORTISE_ROW(mortise_policy_row),
    MORTISE_ROWS(mortise_output_rows), MORTISE_ROW(mortise_next_row),
    MORTISE_ROW(mortise_map_row),      MORTISE_ROW(mortise_cache_row),
};

static const struct mortise_key voice_keys[] = {
    MORTISE_ROWS(call_keys),          MORTISE_ROW(mortise_args_row),
    MORTISE_ROW(mortise_targets_row), MORTISE_ROW(mortise_persona_row),
    {.name = "voice", .later = true},
};

ABSENT(voice, voice_keys);
