/* bounds.c -- the keys `limits` and `defaults` of a graph.
 *
 * Each limit has the graph's value, or else the deployment's, or else the
 * built-in default.  A graph cannot exceed a limit of the deployment: a larger
 * value is an error, not cut silently.  The deployment's limits also bound an
 * operator who raises the limit of a run.
 */
#include "lang/graph/load/loader.h"

#include <string.h>

/* The built-in defaults.  The limits of `spawn` have theirs in spawn.h. */
static const uint64_t builtin_limits[MORTISE_LIMIT_SPAWN] = {
    [MORTISE_LIMIT_CONCURRENCY] = 8,   [MORTISE_LIMIT_EXPR_COST] = 1000000,
    [MORTISE_LIMIT_NODES] = 100000,    [MORTISE_LIMIT_STEPS] = 256,
    [MORTISE_LIMIT_VISITS] = 32,       [MORTISE_LIMIT_DEPTH] = 8,
    [MORTISE_LIMIT_STATE] = 64u << 20, [MORTISE_LIMIT_TIMEOUT] = 0};

/* The deployment's limit, or 0 if it sets none. */
static uint64_t deployment_limit(const struct mortise_loader *ld,
                                 enum mortise_limit which)
{
    const struct mortise_bounds *b = ld->catalog->limits;

    return b != NULL && b->said[which] != NULL ? b->value[which] : 0;
}

/* Set each limit: the graph's value, else the deployment's, else the built-in
 * one. */
static void set_graph_limits(struct mortise_loader *ld,
                             const struct mortise_bounds *graph)
{
    const struct mortise_bounds *b = ld->catalog->limits;
    struct mortise_graph *g = ld->g;
    uint64_t v[MORTISE_N_LIMITS];

    for (int i = 0; i < MORTISE_N_LIMITS; i++) {
        v[i] = i < MORTISE_LIMIT_SPAWN
                   ? builtin_limits[i]
                   : mortise_spawn_default_caps.most[i - MORTISE_LIMIT_SPAWN];
        if (b != NULL && b->said[i] != NULL)
            v[i] = b->value[i];
        if (graph->said[i] != NULL)
            v[i] = graph->value[i];
    }
    ld->max_nodes = v[MORTISE_LIMIT_NODES];
    ld->max_depth = (uint32_t)v[MORTISE_LIMIT_DEPTH];
    g->concurrency = (uint32_t)v[MORTISE_LIMIT_CONCURRENCY];
    g->expr_cost = v[MORTISE_LIMIT_EXPR_COST];
    g->limits = (struct mortise_limits){
        .steps = v[MORTISE_LIMIT_STEPS],
        .visits = (uint32_t)v[MORTISE_LIMIT_VISITS],
        .state = v[MORTISE_LIMIT_STATE],
        .timeout_ms = v[MORTISE_LIMIT_TIMEOUT],
        .most_steps = deployment_limit(ld, MORTISE_LIMIT_STEPS),
        .most_visits = deployment_limit(ld, MORTISE_LIMIT_VISITS)};
    memcpy(g->limits.spawn.most, v + MORTISE_LIMIT_SPAWN,
           sizeof g->limits.spawn.most);
}

void mortise_load_limit_defaults(struct mortise_loader *ld)
{
    set_graph_limits(ld, &(struct mortise_bounds){.said = {NULL}});
}

void mortise_load_check_limit(struct mortise_loader *ld,
                              enum mortise_limit which, uint64_t value,
                              const struct mortise_yaml *at)
{
    const struct mortise_bounds *b = ld->catalog->limits;
    const struct mortise_yaml *by = b != NULL ? b->said[which] : NULL;

    if (by == NULL || value <= b->value[which])
        return;
    mortise_diag_add(ld->diags, "E0508", at->span,
                     "the deployment's limits.%s allows at most %s (%s:%u:%u)",
                     mortise_limit_name(which), by->str, by->span.file->path,
                     (unsigned)by->span.line, (unsigned)by->span.col);
}

/* ---- defaults -------------------------------------------------------- */

static void read_default_llm(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_defaults *d = into;
    struct mortise_llm *llm = mortise_load_alloc(ld, sizeof *llm);

    if (llm == NULL)
        return;
    mortise_llm_read_keys(ld, llm, slot);
    d->llm = llm;
}

static void read_default_tool_errors(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_defaults *d = into;

    (void)ctx;
    d->tool_errors = slot->value;
}

static const struct mortise_key default_keys[] = {
    {.name = "timeout",
     .about = "The default timeout of nodes.",
     .min = 1,
     MORTISE_INTO_MS(struct mortise_defaults, timeout_ms)},
    {.name = "retry_policy",
     .about = "The default retry_policy of nodes.",
     .value = MORTISE_V_MAP,
     .place = &mortise_retry_place,
     .read = mortise_load_default_retry,
     MORTISE_AT(struct mortise_retry, struct mortise_defaults, retry)},
    {.name = "effect_class",
     .about =
         "The default effect_class of nodes whose operation declares none.",
     .words = mortise_effect_words,
     MORTISE_INTO_WORD(struct mortise_defaults, effect)},
    {.name = "llm",
     .about = "The default llm of nodes.",
     .value = MORTISE_V_MAP,
     .place = &mortise_llm_place,
     .read = read_default_llm},
    {.name = "tool_errors",
     .about = "The default tool_errors of nodes.",
     .value = MORTISE_V_WORD,
     .words = mortise_tool_error_words,
     .read = read_default_tool_errors},
};

const struct mortise_place mortise_defaults_place = {
    MORTISE_PLACE_OF("defaults", default_keys)};

/* ---- entry ----------------------------------------------------------- */

/* A run has the limits of its outermost graph.  Those of an inner graph are
 * parsed for errors, but not used. */
void mortise_load_limits(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_bounds b = {.said = {NULL}};

    (void)into;
    mortise_keys_read_slot(slot, ld, &b, ld->diags);
    if (ld->outer != NULL)
        return;
    for (int i = 0; i < MORTISE_N_LIMITS; i++)
        if (b.said[i] != NULL)
            mortise_load_check_limit(ld, (enum mortise_limit)i, b.value[i],
                                     b.said[i]);
    set_graph_limits(ld, &b);
}

void mortise_load_defaults(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_keys_read_slot(slot, ld, &ld->defaults, ld->diags);
}
