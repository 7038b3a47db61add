/* seek.c -- discovery_policy of nodes with tools: which tools a model is
 * offered, and which skills join the prompt.
 *
 * The result of a discovery only narrows `tool_allowlist`: the model is never
 * offered a tool outside it, whatever a plugin returns.
 */
#include <string.h>

#include "lang/graph/load/node.h"

enum { MAX_RESULTS = 8 }; /* the default of max_results */

struct reading {
    struct mortise_discovery_policy policy;
    const struct mortise_yaml *query;
    bool enabled;
};

static void read_search_kind(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->policy.kind = slot->value->str;
}

static const struct mortise_word kinds[] = {{.word = "any"},
                                            {.word = "tool"},
                                            {.word = "extension"},
                                            {.word = "skill"},
                                            {.word = NULL}};

static const struct mortise_word fallbacks[] = {
    {"all", 0, false}, {"error", 1, false}, {NULL, 0, false}};

static const struct mortise_key policy_keys[] = {
    {.name = "enabled",
     .about = "false: do not search (default: true).",
     MORTISE_INTO_BOOL(struct reading, enabled)},
    {.name = "query",
     .about = "The text to search for: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_YAML(struct reading, query)},
    {.name = "kind",
     .about = "tool: the node's tools. extension: only tools that are "
              "operations of plugins. skill: texts that become part of the "
              "prompt. any (the default): tools and skills.",
     .value = MORTISE_V_WORD,
     .words = kinds,
     .read = read_search_kind},
    {.name = "max_results",
     .about = "The highest number of results (default: 8).",
     .min = 1,
     .max = 100,
     MORTISE_INTO_U32(struct reading, policy.max_results)},
    {.name = "fallback",
     .about = "If the search finds nothing or fails: all (the whole allowlist, "
              "the default) or error.",
     .words = fallbacks,
     MORTISE_INTO_WORD_BOOL(struct reading, policy.fails)},
};

const struct mortise_place mortise_discovery_policy_place = {
    MORTISE_PLACE_OF("discovery_policy", policy_keys)};

static void check_discovery_plugins(struct mortise_loader *ld,
                                    const struct mortise_yaml *at)
{
    struct mortise_err why = {0};
    int rv = mortise_load_discovery_plugins(ld, &why);

    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM)
        mortise_load_report_refusal(ld,
                                    rv == MORTISE_EINVAL ? "E0607" : "E0453",
                                    at->span, "discovery_policy", &why);
}

/* Warn about a search for tools in a node without tools. */
void mortise_node_complete_discovery(struct mortise_loader *ld,
                                     const struct mortise_node_reader *r)
{
    const struct mortise_discovery_policy *p = r->node->discovers;
    const struct mortise_yaml *kind;

    if (p == NULL || strcmp(p->kind, "any") == 0 ||
        strcmp(p->kind, "skill") == 0 ||
        mortise_node_has_key(r, "tool_allowlist"))
        return;
    kind =
        mortise_yaml_get(mortise_yaml_get(r->map, "discovery_policy"), "kind");
    mortise_diag_add(ld->diags, "W0826", kind->span,
                     "'kind: %s' finds nothing: the node has no tool_allowlist",
                     p->kind);
}

/* The discovery runs before all other lookups of the node. */
static void compile_discovery_query(struct mortise_loader *ld,
                                    const struct mortise_deferred_expr *late)
{
    ld->names[MORTISE_IN_MEMORY].name = "";
    ld->names[MORTISE_IN_DISCOVERY].name = "";
    mortise_load_deferred_tmpl(ld, late);
}

void mortise_node_read_discovery_policy(void *ctx, void *into,
                                        const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *node = into;
    struct mortise_discovery_policy *policy =
        mortise_load_alloc(ld, sizeof *policy);
    struct reading r = {.policy = {.kind = "any", .max_results = MAX_RESULTS},
                        .enabled = true};

    if (policy == NULL)
        return;
    mortise_keys_read_slot(slot, ld, &r, ld->diags);
    if (!r.enabled)
        return;
    *policy = r.policy;
    if (r.query != NULL)
        mortise_load_defer(ld, compile_discovery_query, &policy->query, r.query,
                           node->node->index, MORTISE_IN_OUTPUT);
    node->node->discovers = policy;
    check_discovery_plugins(ld, slot->name);
}
