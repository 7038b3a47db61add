/* persona.c -- personas: traits, personality edges, and the persona of model
 * calls.
 *
 * `persona.traits` of a graph and `persona_policy.traits` of a node set the six
 * HEXACO traits, each a number from 0 to 1.  The node's value has precedence,
 * then the graph's, then 0.5.  Each graph, inner ones included, has its own
 * persona, so that a file has the same meaning wherever it is used.
 *
 * A personality edge is two edges, of which a run takes one: `above` if the
 * source has the trait at the threshold or above, else `below`.  Traits are
 * literals, so the loader knows which one is taken.  All checks still apply to
 * both edges, because people try another persona on a graph that they have
 * checked.
 *
 * A node that asks models receives its persona, {traits, mood?, adapt_style?},
 * if the graph or the node sets one.
 *
 * A persona that neither a personality edge nor such a node uses is an error.
 * A trait that no edge uses (in a graph whose models do not see it) and an
 * empty persona get a warning.
 */
#include "lang/graph/load/node.h"

#include <string.h>

#define WORD(trait, text) {(text), trait, false},
static const struct mortise_word words[] = {
    MORTISE_TRAIT_NAMES(WORD){NULL, 0, false}};
#undef WORD

/* ---- traits ------------------------------------------------------------- */

/* Into an array of all traits. */
#define TRAIT(trait, word, noun)                                               \
    [trait] = {.name = (word),                                                 \
               .about = noun ", from 0 to 1 (default: 0.5).",                  \
               .value = MORTISE_V_NUMBER,                                      \
               .min = 0,                                                       \
               .max = 1,                                                       \
               .as = MORTISE_INTO_A_DOUBLE,                                    \
               .at = (trait) * sizeof(double)}

static const struct mortise_key traits_keys[MORTISE_TRAITS] = {
    TRAIT(MORTISE_TRAIT_HONESTY_HUMILITY, "honesty_humility",
          "Honesty and humility"),
    TRAIT(MORTISE_TRAIT_EMOTIONALITY, "emotionality", "Emotionality"),
    TRAIT(MORTISE_TRAIT_EXTRAVERSION, "extraversion", "Extraversion"),
    TRAIT(MORTISE_TRAIT_AGREEABLENESS, "agreeableness", "Agreeableness"),
    TRAIT(MORTISE_TRAIT_CONSCIENTIOUSNESS, "conscientiousness",
          "Conscientiousness"),
    TRAIT(MORTISE_TRAIT_OPENNESS, "openness", "Openness to experience"),
};

MORTISE_PLACE(traits, "traits");

static const struct mortise_key persona_keys[] = {
    {.name = "traits",
     .about = "HEXACO traits, each from 0 to 1.",
     MORTISE_INTO_PLACE(traits_place, struct mortise_persona, traits)},
    {.name = "mood",
     .about =
         "The mood of the persona: a text that becomes part of the prompt.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct mortise_persona, mood)},
    {.name = "adapt_style",
     .about = "true: the persona adapts its style to the other person "
              "(default: false).",
     .value = MORTISE_V_BOOL,
     MORTISE_INTO_YAML(struct mortise_persona, adapts)},
};

const struct mortise_place mortise_persona_place = {
    MORTISE_PLACE_OF("a persona", persona_keys)};

void mortise_load_persona_defaults(struct mortise_loader *ld)
{
    for (int i = 0; i < MORTISE_TRAITS; i++)
        ld->its.traits[i] = 0.5;
}

void mortise_load_persona(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->persona = slot->name;
    mortise_keys_read_slot(slot, ld, &ld->its, ld->diags);
}

void mortise_node_read_persona_policy(void *ctx, void *into,
                                      const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_persona *its = mortise_load_alloc(ld, sizeof *its);

    if (its == NULL)
        return;
    *its = ld->its;
    r->node->traits = its->traits;
    r->persona = its;
    mortise_keys_read_slot(slot, ld, its, ld->diags);
}

/* ---- the persona of model calls ------------------------------------------ */

const struct mortise_yaml *
mortise_node_make_persona(struct mortise_loader *ld,
                          const struct mortise_node_reader *r)
{
    const struct mortise_persona *its =
        r->persona != NULL ? r->persona : &ld->its;
    struct mortise_built_map all = {.n = 0}, traits = {.n = 0};

    if (r->persona == NULL && ld->persona == NULL)
        return NULL;
    for (int i = 0; i < MORTISE_TRAITS; i++)
        mortise_built_map_add(
            ld, &traits, mortise_yaml_make_text(ld, words[i].word, r->key),
            mortise_yaml_make_number(ld, its->traits[i], r->key));
    mortise_built_map_add(ld, &all,
                          mortise_yaml_make_text(ld, "traits", r->key),
                          mortise_built_map_to_yaml(ld, &traits, r->key->span));
    if (its->mood != NULL)
        mortise_built_map_add(
            ld, &all, mortise_yaml_make_text(ld, "mood", r->key), its->mood);
    if (its->adapts != NULL)
        mortise_built_map_add(ld, &all,
                              mortise_yaml_make_text(ld, "adapt_style", r->key),
                              its->adapts);
    return mortise_built_map_to_yaml(ld, &all, r->key->span);
}

/* ---- personality edges -------------------------------------------------- */

struct reading {
    const struct mortise_yaml *above, *below;
    enum mortise_trait trait;
    double threshold;
};

static const struct mortise_key keys[] = {
    {.name = "trait",
     .about = "The trait that decides.",
     .required = true,
     .words = words,
     MORTISE_INTO_WORD(struct reading, trait)},
    {.name = "threshold",
     .about = "The threshold of the trait, from 0 to 1.",
     .value = MORTISE_V_NUMBER,
     .required = true,
     .min = 0,
     .max = 1,
     MORTISE_INTO_DOUBLE(struct reading, threshold)},
    {.name = "above",
     .about = "The next node if the trait is at or above the threshold.",
     .value = MORTISE_V_ID,
     .required = true,
     MORTISE_INTO_YAML(struct reading, above)},
    {.name = "below",
     .about = "The next node if the trait is below the threshold.",
     .value = MORTISE_V_ID,
     .required = true,
     MORTISE_INTO_YAML(struct reading, below)},
};

const struct mortise_place mortise_personality_place = {
    MORTISE_PLACE_OF("personality", keys)};

static void add_personality_edge(struct mortise_loader *ld, uint32_t from,
                                 const struct mortise_yaml *to,
                                 enum mortise_edge_kind kind,
                                 const struct reading *r)
{
    const double *traits =
        from != MORTISE_START && ld->g->nodes[from].traits != NULL
            ? ld->g->nodes[from].traits
            : ld->its.traits;
    struct mortise_edge_draft *draft = mortise_load_edge(ld, from, to, kind);
    bool above = traits[r->trait] >= r->threshold;

    if (draft == NULL)
        return;
    draft->edge.trait = r->trait;
    draft->edge.threshold = r->threshold;
    draft->edge.holds = above == (kind == MORTISE_EDGE_ABOVE);
}

void mortise_load_personality(struct mortise_loader *ld, uint32_t from,
                              const struct mortise_slot *slot)
{
    struct reading r = {NULL, NULL, MORTISE_TRAIT_OPENNESS, 0};

    mortise_keys_read_slot(slot, ld, &r, ld->diags);
    if (from == MORTISE_NOWHERE || r.above == NULL || r.below == NULL)
        return;
    add_personality_edge(ld, from, r.above, MORTISE_EDGE_ABOVE, &r);
    add_personality_edge(ld, from, r.below, MORTISE_EDGE_BELOW, &r);
}

/* ---- unused keys --------------------------------------------------------- */

static bool has_personality_edge(const struct mortise_graph *g,
                                 const uint32_t *out, uint32_t n, bool own)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct mortise_edge *e = &g->edges[out[i]];

        if (e->kind == MORTISE_EDGE_ABOVE && (own || e->from == MORTISE_START ||
                                              g->nodes[e->from].traits == NULL))
            return true;
    }
    return false;
}

static void report_unused_persona(struct mortise_loader *ld,
                                  const struct mortise_yaml *key,
                                  const char *what, const char *where)
{
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0212", key->span,
                                       "'%s' needs %s %s", key->str, what,
                                       where),
                      "nothing else uses this key");
}

static bool is_model_node(const struct mortise_node *n)
{
    return n->asks_models;
}

static const char edge_or_asking[] =
    "a personality edge or a node that asks a model",
                  edge[] = "a personality edge",
                  asking[] = "a node that asks a model";

/* Only models use mood and style. */
static void check_persona_words(struct mortise_loader *ld,
                                const struct mortise_yaml *map,
                                const char *where)
{
    static const char *const names[] = {"mood", "adapt_style"};

    for (size_t i = 0; map != NULL && i < 2; i++)
        if (mortise_yaml_get(map, names[i]) != NULL)
            report_unused_persona(ld, mortise_yaml_key(map, names[i]), asking,
                                  where);
}

/* Does one of these edges use the trait? */
static bool edges_use_trait(const struct mortise_graph *g, const uint32_t *out,
                            uint32_t n, const char *trait)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct mortise_edge *e = &g->edges[out[i]];

        if (e->kind == MORTISE_EDGE_ABOVE &&
            strcmp(mortise_trait_name(e->trait), trait) == 0)
            return true;
    }
    return false;
}

static const struct mortise_yaml *
get_policy_traits(const struct mortise_graph *g, const struct mortise_node *n)
{
    return mortise_yaml_get(
        mortise_yaml_get(mortise_yaml_get(g->nodes_map, n->id),
                         "persona_policy"),
        "traits");
}

/* Does an edge use the graph's value of the trait, because its node sets
 * none? */
static bool graph_uses_trait(const struct mortise_graph *g, const char *trait)
{
    if (edges_use_trait(g, g->start, g->n_start, trait))
        return true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (edges_use_trait(g, n->out, n->n_out, trait) &&
            mortise_yaml_get(get_policy_traits(g, n), trait) == NULL)
            return true;
    }
    return false;
}

static void warn_unused_trait(struct mortise_loader *ld,
                              const struct mortise_yaml *trait,
                              const char *where)
{
    mortise_diag_add(ld->diags, "W0826", trait->span,
                     "'%s' has no effect: no personality edge %s uses it",
                     trait->str, where);
}

/* For personas that only edges use. */
static void check_unused_traits(struct mortise_loader *ld,
                                const struct mortise_yaml *traits,
                                const struct mortise_node *n)
{
    for (size_t i = 0; traits != NULL && i < traits->n; i++) {
        const struct mortise_yaml *key = traits->keys[i];

        if (mortise_yaml_is_x_key(key->str))
            continue;
        if (n != NULL && !edges_use_trait(ld->g, n->out, n->n_out, key->str))
            warn_unused_trait(ld, key, "from the node");
        if (n == NULL && !graph_uses_trait(ld->g, key->str))
            warn_unused_trait(ld, key, "in the graph");
    }
}

/* Warn about an empty persona, or empty traits. */
static void check_empty_persona(struct mortise_loader *ld,
                                const struct mortise_yaml *map,
                                const char *name)
{
    const struct mortise_yaml *said = mortise_yaml_get(map, name);

    if (said == NULL)
        return;
    if (said->n == 0)
        mortise_diag_add(ld->diags, "W0826", mortise_yaml_key(map, name)->span,
                         "'%s' has no effect: it is empty", name);
    check_empty_persona(ld, said, "traits");
}

static void check_persona_policy(struct mortise_loader *ld,
                                 const struct mortise_node *n,
                                 const struct mortise_yaml *map)
{
    const struct mortise_graph *g = ld->g;

    if (!is_model_node(n) && !has_personality_edge(g, n->out, n->n_out, true)) {
        report_unused_persona(ld, mortise_yaml_key(map, "persona_policy"), edge,
                              "from the node");
        return;
    }
    check_empty_persona(ld, map, "persona_policy");
    if (is_model_node(n))
        return;
    check_persona_words(ld, mortise_yaml_get(map, "persona_policy"), "here");
    check_unused_traits(ld, get_policy_traits(g, n), n);
}

/* `asks`: a node of the graph asks models. */
static void check_graph_persona(struct mortise_loader *ld, bool asks)
{
    const struct mortise_yaml *map = mortise_yaml_get(ld->g->tree, "persona");

    check_empty_persona(ld, ld->g->tree, "persona");
    if (asks)
        return;
    check_persona_words(ld, map, "in the graph");
    check_unused_traits(ld, mortise_yaml_get(map, "traits"), NULL);
}

void mortise_check_personas(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    bool used = has_personality_edge(g, g->start, g->n_start, false),
         asks = false;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        asks = asks || is_model_node(n);
        if (n->traits != NULL)
            check_persona_policy(ld, n, mortise_yaml_get(g->nodes_map, n->id));
        used = used || n->traits != NULL ||
               has_personality_edge(g, n->out, n->n_out, false);
    }
    if (ld->persona != NULL && !used && !asks)
        report_unused_persona(ld, ld->persona, edge_or_asking, "in the graph");
    else if (ld->persona != NULL)
        check_graph_persona(ld, asks);
}
