/* limits.c -- the key `limits`, of a graph and of a deployment. */
#include "lang/config/limits.h"

static const struct mortise_key limit_keys[MORTISE_LIMIT_SPAWN + 1];
static const struct mortise_key spawn_keys[MORTISE_SPAWN_CAPS];

static void set_bound(struct mortise_bounds *b, size_t i,
                      const struct mortise_slot *slot)
{
    b->said[i] = slot->value;
    b->value[i] = slot->amount;
}

static void load_limit(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)ctx;
    set_bound(into, (size_t)(slot->key - limit_keys), slot);
}

static void read_cap(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)ctx;
    set_bound(into, MORTISE_LIMIT_SPAWN + (size_t)(slot->key - spawn_keys),
              slot);
}

#define LIMIT(kind, least, most)                                               \
    .value = MORTISE_V_##kind, .min = (least), .max = (most), .read = load_limit

#define CAP(most_of_it)                                                        \
    .value = MORTISE_V_INT, .min = 0, .max = (most_of_it), .read = read_cap

static const struct mortise_key spawn_keys[MORTISE_SPAWN_CAPS] = {
    [MORTISE_SPAWN_CAP_DEPTH] =
        {.name = "depth",
         .about =
             "The highest depth of child runs (default: 2; 0: no child runs).",
         CAP(64)},
    [MORTISE_SPAWN_CAP_ACTIVE] = {.name = "active",
                                  .about =
                                      "The number of child runs in a tree that "
                                      "can run at once (default: 16).",
                                  CAP(100000)},
    [MORTISE_SPAWN_CAP_TOTAL] = {.name = "total",
                                 .about =
                                     "The number of child runs in a tree, "
                                     "including ended ones (default: 200).",
                                 CAP(100000)},
    [MORTISE_SPAWN_CAP_DETACHED_ACTIVE] =
        {.name = "detached_active",
         .about = "The number of running child runs that can be detached "
                  "(default: 8).",
         CAP(100000)},
    [MORTISE_SPAWN_CAP_DETACHED_TOTAL] =
        {.name = "detached_total",
         .about =
             "The number of all child runs that can be detached (default: 50).",
         CAP(100000)},
};
MORTISE_PLACE(spawn, "limits.spawn");

static const struct mortise_key limit_keys[MORTISE_LIMIT_SPAWN + 1] = {
    [MORTISE_LIMIT_CONCURRENCY] =
        {.name = "concurrency",
         .about = "The number of nodes that run at once (default: 8).",
         LIMIT(INT, 1, 100000)},
    [MORTISE_LIMIT_EXPR_COST] = {.name = "expr_cost",
                                 .about = "The highest cost of evaluating one "
                                          "expression (default: 1,000,000).",
                                 LIMIT(INT, 1, 1e15)},
    [MORTISE_LIMIT_NODES] = {.name = "nodes",
                             .about =
                                 "The number of nodes of the graph, including "
                                 "inner graphs (default: 100,000).",
                             LIMIT(INT, 1, 1000000)},
    [MORTISE_LIMIT_STEPS] =
        {.name = "steps",
         .about = "The number of executions of nodes before the run pauses "
                  "(default: 256). Tool calls of models do not count: "
                  "budget.tool_calls limits them.",
         LIMIT(INT, 1, 1e15)},
    [MORTISE_LIMIT_VISITS] = {.name = "visits",
                              .about = "The number of executions of one node "
                                       "before the run pauses (default: 32).",
                              LIMIT(INT, 1, 1e9)},
    [MORTISE_LIMIT_DEPTH] = {.name = "depth",
                             .about =
                                 "The nesting depth of graphs (default: 8).",
                             LIMIT(INT, 0, 64)},
    [MORTISE_LIMIT_STATE] =
        {.name = "state",
         .about = "The largest size of the state (default: 64MiB).",
         LIMIT(SIZE, 1024, 0)},
    [MORTISE_LIMIT_TIMEOUT] =
        {.name = "timeout",
         .about = "The longest active time of a run (default: no limit).",
         LIMIT(DURATION, 1, 0)},
    [MORTISE_LIMIT_SPAWN] =
        {.name = "spawn",
         .about = "Limits of the child runs of a run, at all depths.",
         MORTISE_INTO_SAME(spawn_place)},
};

const struct mortise_place mortise_limits_place = {
    MORTISE_PLACE_OF("limits", limit_keys)};

const char *mortise_limit_name(enum mortise_limit which)
{
    static const char *const caps[MORTISE_SPAWN_CAPS] = {
        [MORTISE_SPAWN_CAP_DEPTH] = "spawn.depth",
        [MORTISE_SPAWN_CAP_ACTIVE] = "spawn.active",
        [MORTISE_SPAWN_CAP_TOTAL] = "spawn.total",
        [MORTISE_SPAWN_CAP_DETACHED_ACTIVE] = "spawn.detached_active",
        [MORTISE_SPAWN_CAP_DETACHED_TOTAL] = "spawn.detached_total"};

    return which >= MORTISE_LIMIT_SPAWN ? caps[which - MORTISE_LIMIT_SPAWN]
                                        : limit_keys[which].name;
}
