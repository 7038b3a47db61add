/* limits.c -- the key `limits`, of a graph and of a deployment. */
#include "config/limits.h"

static const struct mortise_key limit_keys[MORTISE_N_LIMITS + 1];

static void read_limit(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_bounds *b = into;
    size_t i = (size_t)(slot->key - limit_keys);

    (void)ctx;
    b->said[i] = slot->value;
    b->value[i] = slot->amount;
}

#define LIMIT(kind, least, most)                                               \
    .value = MORTISE_V_##kind, .min = (least), .max = (most), .read = read_limit

static const struct mortise_key limit_keys[MORTISE_N_LIMITS + 1] = {
    [MORTISE_LIMIT_CONCURRENCY] =
        {.name = "concurrency",
         .about = "How many nodes run beside each other (8).",
         LIMIT(INT, 1, 100000)},
    [MORTISE_LIMIT_EXPR_COST] =
        {.name = "expr_cost",
         .about = "What the evaluation of one expression may cost (1,000,000).",
         LIMIT(INT, 1, 1e15)},
    [MORTISE_LIMIT_NODES] = {.name = "nodes",
                             .about = "How many nodes the graph has, those of "
                                      "inner graphs included (100,000).",
                             LIMIT(INT, 1, 1000000)},
    [MORTISE_LIMIT_STEPS] =
        {.name = "steps",
         .about = "How many executions a run has before it pauses (256).",
         LIMIT(INT, 1, 1e15)},
    [MORTISE_LIMIT_VISITS] =
        {.name = "visits",
         .about = "How often one node runs before the run pauses (32).",
         LIMIT(INT, 1, 1e9)},
    [MORTISE_LIMIT_DEPTH] =
        {.name = "depth",
         .about = "How many graphs may be inside each other (8).",
         LIMIT(INT, 0, 64)},
    [MORTISE_LIMIT_STATE] = {.name = "state",
                             .about = "How large the state may be (64MiB).",
                             LIMIT(SIZE, 1024, 0)},
    [MORTISE_LIMIT_TIMEOUT] =
        {.name = "timeout",
         .about = "How long a run may be active (default: any time).",
         LIMIT(DURATION, 1, 0)},
    [MORTISE_N_LIMITS] = {.name = "spawn", .later = true},
};

const struct mortise_place mortise_limits_place = {
    MORTISE_PLACE_OF("limits", limit_keys)};
