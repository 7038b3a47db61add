/* persona.c -- traits, and the edges that they decide.
 *
 * `persona.traits` of a graph and `persona_policy.traits` of a node give
 * numbers from 0 to 1 to the six HEXACO traits.  A node's own word comes first,
 * then its graph's, then 0.5.  Each graph has its own persona, one inside
 * another too, so that a file means the same wherever it is used.
 *
 * A personality edge is two edges, of which one is taken: `above` when the
 * source has the trait at the threshold or beyond, else `below`.  Traits are
 * written down, so which one that is, is known here; both are edges in every
 * respect all the same, as people try another persona on a graph that they
 * have checked.
 *
 * Nothing else looks at traits in this build: where no such edge does, they
 * are refused and not ignored.
 */
#include "graph/load/node.h"

#include <string.h>

static const struct mortise_word words[] = {
    {"honesty_humility", MORTISE_TRAIT_HONESTY_HUMILITY, false},
    {"emotionality", MORTISE_TRAIT_EMOTIONALITY, false},
    {"extraversion", MORTISE_TRAIT_EXTRAVERSION, false},
    {"agreeableness", MORTISE_TRAIT_AGREEABLENESS, false},
    {"conscientiousness", MORTISE_TRAIT_CONSCIENTIOUSNESS, false},
    {"openness", MORTISE_TRAIT_OPENNESS, false},
    {NULL, 0, false},
};

const char *mortise_trait_name(enum mortise_trait trait)
{
    return words[trait].word;
}

/* ---- traits ------------------------------------------------------------- */

/* Into an array of all of them. */
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
     MORTISE_INTO_SAME(traits_place)},
    {.name = "mood", .later = true},
    {.name = "adapt_style", .later = true},
};

const struct mortise_place mortise_persona_place = {
    MORTISE_PLACE_OF("a persona", persona_keys)};

void mortise_load_persona_defaults(struct mortise_loader *ld)
{
    for (int i = 0; i < MORTISE_TRAITS; i++)
        ld->traits[i] = 0.5;
}

void mortise_load_persona(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->persona = slot->name;
    mortise_keys_enter(slot, ld, ld->traits, ld->diags);
}

void mortise_node_read_persona_policy(void *ctx, void *into,
                                      const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    double *traits = mortise_load_alloc(ld, sizeof ld->traits);

    if (traits == NULL)
        return;
    memcpy(traits, ld->traits, sizeof ld->traits);
    r->node->traits = traits;
    mortise_keys_enter(slot, ld, traits, ld->diags);
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
     .about = "From 0 to 1: the trait is at it or beyond it, or below.",
     .value = MORTISE_V_NUMBER,
     .required = true,
     .min = 0,
     .max = 1,
     MORTISE_INTO_DOUBLE(struct reading, threshold)},
    {.name = "above",
     .about =
         "The node to go to when the trait is at the threshold or beyond it.",
     .value = MORTISE_V_ID,
     .required = true,
     MORTISE_INTO_YAML(struct reading, above)},
    {.name = "below",
     .about = "The node to go to when it is not.",
     .value = MORTISE_V_ID,
     .required = true,
     MORTISE_INTO_YAML(struct reading, below)},
};

const struct mortise_place mortise_personality_place = {
    MORTISE_PLACE_OF("personality", keys)};

static void add_arm(struct mortise_loader *ld, uint32_t from,
                    const struct mortise_yaml *to, enum mortise_edge_kind kind,
                    const struct reading *r)
{
    const double *traits =
        from != MORTISE_START && ld->g->nodes[from].traits != NULL
            ? ld->g->nodes[from].traits
            : ld->traits;
    struct mortise_draft *draft = mortise_load_edge(ld, from, to, kind);
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

    mortise_keys_enter(slot, ld, &r, ld->diags);
    if (from == MORTISE_NOWHERE || r.above == NULL || r.below == NULL)
        return;
    add_arm(ld, from, r.above, MORTISE_EDGE_ABOVE, &r);
    add_arm(ld, from, r.below, MORTISE_EDGE_BELOW, &r);
}

/* ---- traits that nobody looks at ---------------------------------------- */

static bool looks(const struct mortise_graph *g, const uint32_t *out,
                  uint32_t n, bool own)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct mortise_edge *e = &g->edges[out[i]];

        if (e->kind == MORTISE_EDGE_ABOVE && (own || e->from == MORTISE_START ||
                                              g->nodes[e->from].traits == NULL))
            return true;
    }
    return false;
}

static void report(struct mortise_loader *ld, const struct mortise_yaml *key,
                   const char *where)
{
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0212", key->span,
                                       "'%s' needs a personality edge %s",
                                       key->str, where),
                      "nothing else looks at traits in this build");
}

void mortise_check_personas(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    bool used = looks(g, g->start, g->n_start, false);

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (n->traits != NULL && !looks(g, n->out, n->n_out, true))
            report(ld,
                   mortise_yaml_key(mortise_yaml_get(g->nodes_map, n->id),
                                    "persona_policy"),
                   "out of the node");
        used = used || n->traits != NULL || looks(g, n->out, n->n_out, false);
    }
    if (ld->persona != NULL && !used)
        report(ld, ld->persona, "in the graph");
}
