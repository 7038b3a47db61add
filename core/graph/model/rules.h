/* rules.h -- the revisions of the language: what a graph means, where that has
 * changed.  A run keeps the one under which it was admitted, for its journal
 * follows it (run/state/rules.c says what each one means), and so its graph is
 * loaded under it.  [any] */
#ifndef MORTISE_GRAPH_MODEL_RULES_H
#define MORTISE_GRAPH_MODEL_RULES_H

enum mortise_rules {
    MORTISE_RULES_FIRST,  /* an admission that names none */
    MORTISE_RULES_SECOND, /* `any` and `quorum` drop what failed; see rules.c */
    MORTISE_RULES_THIRD,  /* as SECOND, and both count the elements of maps */
    MORTISE_RULES_FOURTH, /* texts are read by their standards */
    MORTISE_RULES_FIFTH,  /* an element's artifacts are its own */
    MORTISE_RULES_SIXTH,  /* gmi nodes are told their persona; see rules.c */
    MORTISE_RULES_SEVENTH, /* a stricter hitl_mode implies the weaker ones */
    MORTISE_N_RULES,
    MORTISE_RULES_NOW = MORTISE_N_RULES - 1
};

#endif
