/* agent.c -- the common part of gmi nodes, leaves and voice nodes, which ask
 * models. */
#include "lang/graph/kinds/agent.h"

#include "core/plugin/services.h"

/* ---- keys ------------------------------------------------------------------ */

void mortise_agent_read_own(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    mortise_built_map_add(ctx, &mortise_agent_of(into)->node, slot->name,
                          slot->value);
}

void mortise_agent_read_spawning(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    if (slot->value->u.b && mortise_method_find("spawn.claim/1", NULL) == NULL)
        mortise_diag_add(ld->diags, "E0202", slot->name->span,
                         "'%s' needs child runs, and this build does not have "
                         "the service 'spawn'",
                         slot->name->str);
    mortise_agent_read_own(ctx, into, slot);
}

static void read_agent_llm(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_agent *agent = mortise_agent_of(into);

    agent->llm = mortise_load_alloc(ld, sizeof *agent->llm);
    if (agent->llm != NULL)
        mortise_llm_read_keys(ld, agent->llm, slot);
}

static void read_agent_complexity(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    (void)ctx;
    r->node->complexity = mortise_yaml_get_number(slot->value);
}

const struct mortise_key mortise_agent_rows[MORTISE_AGENT_ROWS] = {
    [MORTISE_AGENT_LLM] = {.name = "llm",
                           .about = "The model that the node uses.",
                           .value = MORTISE_V_MAP,
                           .place = &mortise_llm_place,
                           .read = read_agent_llm},
    [MORTISE_AGENT_COMPLEXITY] = {.name = "complexity",
                                  .about =
                                      "The difficulty of the task, from 0 to "
                                      "1. It selects the tier of models.",
                                  .value = MORTISE_V_NUMBER,
                                  .max = 1,
                                  .read = read_agent_complexity},
    [MORTISE_AGENT_ITERATIONS] =
        {.name = "max_internal_iterations",
         .about = "The highest number of calls of the model (default: 10).",
         .value = MORTISE_V_INT,
         .min = 1,
         .max = 1000,
         .read = mortise_agent_read_own},
    [MORTISE_AGENT_TEMPERATURE] =
        {.name = "temperature",
         .about = "The sampling temperature (default: the server's).",
         .value = MORTISE_V_NUMBER,
         .max = 10,
         .read = mortise_agent_read_own},
    [MORTISE_AGENT_MAX_TOKENS] =
        {.name = "max_tokens",
         .about = "The longest reply in tokens, including reasoning.",
         .value = MORTISE_V_INT,
         .min = 1,
         .max = 1e9,
         .read = mortise_agent_read_own},
};

bool mortise_agent_has_true(const struct mortise_node_reader *r,
                            const char *key)
{
    const struct mortise_yaml *v = mortise_yaml_get(r->map, key);

    return v != NULL && v->kind == MORTISE_YAML_BOOL && v->u.b;
}

const struct mortise_key mortise_subagents_row = {
    .name = "subagents",
    .about = "true: the model can start child agents and get their results, "
             "within limits.spawn (default: false).",
    .value = MORTISE_V_BOOL,
    .read = mortise_agent_read_spawning};

/* ---- the arguments of the operation -------------------------------------- */

void mortise_agent_add_key(struct mortise_loader *ld,
                           struct mortise_node_reader *r, const char *key,
                           const struct mortise_yaml *value)
{
    mortise_built_map_add(ld, &mortise_agent_of(r)->node,
                          mortise_yaml_make_text(ld, key, r->key), value);
}

/* A provider_id that is a template is checked when it is evaluated.  Subagents
 * have no state for a template. */
static void set_model_choice(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_llm *llm)
{
    const size_t n = llm->allowlist != NULL ? llm->allowlist->n : 0;
    struct mortise_model_choice *c = mortise_load_alloc(ld, sizeof *c);

    if (mortise_agent_has_true(r, "subagents"))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(
                ld->diags, "E0212", llm->chosen->span,
                "'provider_id' cannot be a template if 'subagents' is true: "
                "child runs have another input"),
            "name the alias, or remove 'subagents'");
    if (c == NULL || n == 0)
        return;
    c->at = llm->chosen->span;
    c->n = n;
    c->aliases = mortise_load_strings(ld, llm->allowlist);
    r->node->models = c;
}

/* `default` is an alias like any other. */
void mortise_agent_add_llm(struct mortise_loader *ld,
                           struct mortise_node_reader *r)
{
    struct mortise_agent *agent = mortise_agent_of(r);
    const struct mortise_llm *llm =
        agent->llm != NULL ? agent->llm : ld->defaults.llm;

    r->node->has_no_token_limit =
        mortise_yaml_get(r->map, "max_tokens") == NULL;
    r->node->unpriced = agent->unpriced || (llm != NULL && llm->unpriced);
    if (llm == NULL || !mortise_llm_has_model(llm))
        r->node->unpriced |= !mortise_llm_check(ld, "default", r->key->span);
    if (llm == NULL)
        return;
    r->node->model_reason = llm->reason;
    agent->told = mortise_llm_make_map(ld, llm, r->node->complexity, r->key);
    mortise_agent_add_key(ld, r, "llm", agent->told);
    if (llm->chosen != NULL)
        set_model_choice(ld, r, llm);
    agent->told = mortise_llm_make_static_map(ld, llm, agent->told);
}

void mortise_agent_add_persona(struct mortise_loader *ld,
                               struct mortise_node_reader *r)
{
    const struct mortise_yaml *persona = mortise_node_make_persona(ld, r);

    r->node->asks_models = true;
    if (persona != NULL)
        mortise_agent_add_key(ld, r, "persona", persona);
}

void mortise_agent_add_schema(struct mortise_loader *ld,
                              struct mortise_node_reader *r)
{
    size_t at = mortise_yaml_find(r->map, "output_schema");
    const struct mortise_yaml *schema;

    if (at == SIZE_MAX)
        return;
    schema = mortise_tmpl_escape(ld->arena, r->map->items[at]);
    ld->nomem |= schema == NULL;
    if (schema != NULL)
        mortise_built_map_add(ld, &mortise_agent_of(r)->node, r->map->keys[at],
                              schema);
}

/* The operation asks which tools there are (tool.list/1). */
void mortise_agent_add_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    struct mortise_yaml *yes;

    if (r->node->tools == NULL ||
        r->node->tools->n_offered + r->node->tools->n_handovers == 0)
        return;
    yes = mortise_yaml_make_text(ld, "true", r->key);
    if (yes == NULL)
        return;
    yes->kind = MORTISE_YAML_BOOL;
    yes->u.b = true;
    mortise_agent_add_key(ld, r, "tools", yes);
}

void mortise_agent_set_args(struct mortise_loader *ld,
                            struct mortise_node_reader *r,
                            struct mortise_built_map *all)
{
    const struct mortise_yaml *node =
        mortise_built_map_to_yaml(ld, &mortise_agent_of(r)->node, r->map->span);
    const struct mortise_yaml *args;

    mortise_built_map_add(ld, all, mortise_yaml_make_text(ld, "node", r->key),
                          node);
    args = ld->nomem ? NULL : mortise_built_map_to_yaml(ld, all, r->map->span);
    if (args != NULL)
        mortise_node_set_args(ld, r, args);
}
