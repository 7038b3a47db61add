/* limits.c -- the keys `limits` and `defaults`. */
#include "graph/loader.h"

/* ---- limits ---------------------------------------------------------- */

static void read_concurrency(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->concurrency = (uint32_t)slot->value->u.i;
}

static void read_expr_cost(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->expr_cost = (uint64_t)slot->value->u.i;
}

static void read_steps(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->limits.steps = (uint64_t)slot->value->u.i;
}

static void read_visits(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->limits.visits = (uint32_t)slot->value->u.i;
}

static void read_max_nodes(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->max_nodes = (uint64_t)slot->value->u.i;
}

static void read_state(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->limits.state = slot->bytes;
}

static void read_timeout(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->limits.timeout_ms = slot->ms;
}

static void read_depth(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->max_depth = (uint32_t)slot->value->u.i;
}

static const struct mortise_key limit_keys[] = {
    {.name = "concurrency",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 100000,
     .read = read_concurrency},
    {.name = "expr_cost",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1e15,
     .read = read_expr_cost},
    {.name = "nodes",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1000000,
     .read = read_max_nodes},
    {.name = "steps",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1e15,
     .read = read_steps},
    {.name = "visits",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1e9,
     .read = read_visits},
    {.name = "depth",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 0,
     .max = 64,
     .read = read_depth},
    {.name = "spawn", .later = MORTISE_HERE},
    {.name = "state",
     .value = MORTISE_V_SIZE,
     .here = MORTISE_HERE,
     .min = 1024,
     .read = read_state},
    {.name = "timeout",
     .value = MORTISE_V_DURATION,
     .here = MORTISE_HERE,
     .min = 1,
     .read = read_timeout},
};

const struct mortise_place mortise_limits_place = {.what = "limits",
                                                   .keys = limit_keys,
                                                   .n = sizeof limit_keys /
                                                        sizeof limit_keys[0]};

/* ---- defaults -------------------------------------------------------- */

static void read_default_timeout(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    (void)ctx;
    defaults->timeout_ms = slot->ms;
}

static void read_default_retry(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    mortise_load_retry(ctx, &defaults->retry, slot);
}

static void read_default_effect(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    (void)ctx;
    defaults->effect = (enum mortise_effect)slot->word;
}

static const struct mortise_key default_keys[] = {
    {.name = "timeout",
     .value = MORTISE_V_DURATION,
     .here = MORTISE_HERE,
     .min = 1,
     .read = read_default_timeout},
    {.name = "retry_policy",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .place = &mortise_retry_place,
     .read = read_default_retry},
    {.name = "effect_class",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = mortise_effect_words,
     .read = read_default_effect},
    {.name = "llm", .later = MORTISE_HERE},
    {.name = "tool_errors", .later = MORTISE_HERE},
};

const struct mortise_place mortise_defaults_place = {
    .what = "defaults",
    .keys = default_keys,
    .n = sizeof default_keys / sizeof default_keys[0]};
/* ---- entry ----------------------------------------------------------- */

void mortise_load_limits(struct mortise_loader *ld,
                         const struct mortise_slot *slot)
{
    mortise_keys_enter(slot, ld, ld, ld->diags);
}

void mortise_load_defaults(struct mortise_loader *ld,
                           const struct mortise_slot *slot)
{
    mortise_keys_enter(slot, ld, &ld->defaults, ld->diags);
}
