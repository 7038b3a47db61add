/* role.c -- roles: the roles of a file, the built-in ones, and their use by
 * nodes.
 *
 *   (1) A role of the file has precedence over a built-in role with its id.
 *   (2) A role sets: the instructions ahead of the goal
 *       (`system_prompt_fragment`, which is no template), the tools of a node
 *       that names none itself (`default_tool_allowlist`; absent: none), the
 *       default temperature (`suggested_temperature`), whether a person must
 *       approve each execution (`requires_approval`), and its name for people
 *       (`display_name`).
 *   (2b) The tools of a role are loaded for the nodes that have none of their
 *        own.  If there is no such node, the tools are still checked for
 *        existence, but not pinned.  The pinned graph of a run is not checked
 *        again.
 *   (3) The roles of a file apply to all graphs written in it, but not to a
 *       file that a node names.
 */
#include "lang/graph/load/node.h"

#include <math.h>
#include <string.h>

static const struct mortise_role built_in[] = {
    {.id = "researcher",
     .display_name = "Researcher",
     .fragment =
         "You are a researcher. Find out what is asked, from the sources that "
         "you are given and with the tools that you have. Say where each "
         "statement comes from, and what you could not find out.",
     .temperature = 0.3},
    {.id = "red-team",
     .display_name = "Red team",
     .fragment =
         "You are the red team. Look for what is wrong with the work in front "
         "of you: errors, risks, cases that nobody thought of, ways to abuse "
         "it. For each finding say how it comes about and how much it matters.",
     .temperature = 0.7},
    {.id = "fact-checker",
     .display_name = "Fact checker",
     .fragment =
         "You check facts. Go through the statements one by one, and say of "
         "each whether it is supported, contradicted or open, and by what. "
         "Take nothing as true because it sounds so.",
     .temperature = 0},
    {.id = "writer",
     .display_name = "Writer",
     .fragment =
         "You are a writer. Write clearly, for readers who know nothing of how "
         "the work came about. Keep to the material that you are given, and "
         "invent nothing.",
     .temperature = 0.7},
    {.id = "editor",
     .display_name = "Editor",
     .fragment =
         "You are an editor. Make the text shorter, clearer and right, and "
         "keep what it says. Give back the whole text as it is to be.",
     .temperature = 0.3},
    {.id = "critic",
     .display_name = "Critic",
     .fragment =
         "You are a critic. Judge the work by what it was to be: say what is "
         "good about it, what is not, and what would make it better, the most "
         "important first.",
     .temperature = 0.4},
    {.id = "synthesizer",
     .display_name = "Synthesizer",
     .fragment =
         "You bring results together. Make one whole of what you are given: "
         "say once what several found, keep what only one did, and where they "
         "contradict each other say so.",
     .temperature = 0.3},
};

enum { N_BUILT_IN = sizeof built_in / sizeof built_in[0] };

/* ---- the roles of a file ---------------------------------------------- */

/* An empty list has a meaning: no tools. */
static void read_role_tools(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    const struct mortise_loader *ld = ctx;
    struct mortise_role *role = into;

    role->tools = slot->value;
    for (size_t i = 0; i < slot->value->n; i++) {
        const struct mortise_yaml *v = slot->value->items[i];

        if (v->kind != MORTISE_YAML_STRING)
            mortise_diag_add(ld->diags, "E0203", v->span,
                             "'%s' must contain names of tools, not %s",
                             slot->key->name, mortise_yaml_kind_name(v->kind));
    }
}

static const struct mortise_key role_keys[] = {
    {.name = "display_name",
     .about = "The name of the role for people.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_role, display_name)},
    {.name = "system_prompt_fragment",
     .about = "Instructions for the model, before the goal.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_role, fragment)},
    {.name = "default_tool_allowlist",
     .about = "The default tools of nodes with this role.",
     .value = MORTISE_V_LIST,
     .each = &(const struct mortise_key){.value = MORTISE_V_STRING},
     .read = read_role_tools},
    {.name = "suggested_temperature",
     .about = "The default sampling temperature of nodes with this role.",
     .value = MORTISE_V_NUMBER,
     .min = 0,
     .max = 2,
     MORTISE_INTO_DOUBLE(struct mortise_role, temperature)},
    {.name = "requires_approval",
     .about =
         "true: a person must approve each node with this role before it runs.",
     MORTISE_INTO_BOOL(struct mortise_role, requires_approval)},
};

MORTISE_PLACE(role, "a role");

const struct mortise_key mortise_role_row = {.value = MORTISE_V_MAP,
                                             .place = &role_place};

void mortise_load_roles(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;
    struct mortise_role *all = mortise_load_alloc(ld, map->n * sizeof *all);

    (void)into;
    for (size_t i = 0; all != NULL && i < map->n; i++) {
        struct mortise_role *role = &all[ld->n_roles];

        if (mortise_yaml_is_x_key(map->keys[i]->str))
            continue;
        *role =
            (struct mortise_role){.id = map->keys[i]->str, .temperature = NAN};
        mortise_keys_read(&role_place, map->items[i], map->keys[i]->span, ld,
                          role, ld->diags);
        ld->n_roles++;
    }
    ld->roles = all;
}

/* ---- use by nodes ----------------------------------------------------- */

static const struct mortise_role *find_role(const struct mortise_loader *ld,
                                            const char *id)
{
    for (size_t i = 0; i < ld->n_roles; i++)
        if (strcmp(ld->roles[i].id, id) == 0)
            return &ld->roles[i];
    for (size_t i = 0; i < N_BUILT_IN; i++)
        if (strcmp(built_in[i].id, id) == 0)
            return &built_in[i];
    return NULL;
}

/* The role that was probably intended, or NULL. */
static const char *find_similar_role(struct mortise_loader *ld,
                                     const char *role)
{
    const size_t n = ld->n_roles + N_BUILT_IN;
    const char **known = mortise_load_alloc(ld, n * sizeof *known);

    if (known == NULL || ld->suggestions == 0)
        return NULL;
    ld->suggestions--;
    for (size_t i = 0; i < n; i++)
        known[i] =
            i < ld->n_roles ? ld->roles[i].id : built_in[i - ld->n_roles].id;
    return mortise_nearest_find(role, known, n);
}

const struct mortise_role *mortise_role_find(struct mortise_loader *ld,
                                             const struct mortise_yaml *id)
{
    const struct mortise_role *role = find_role(ld, id->str);
    struct mortise_diag *d;
    const char *near;

    if (role != NULL)
        return role;
    d = mortise_diag_add(ld->diags, "E0510", id->span, "unknown role '%s'",
                         id->str);
    near = find_similar_role(ld, id->str);
    if (near != NULL)
        mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
    else
        mortise_diag_help(
            ld->diags, d,
            "define it under 'roles', or use researcher, red-team, "
            "fact-checker, writer, editor, critic or synthesizer");
    return NULL;
}

void mortise_role_read_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_role *role)
{
    for (size_t i = 0; i < ld->n_roles; i++)
        if (&ld->roles[i] == role)
            ld->roles[i].tools_read = true;
    mortise_node_read_tools(ld, r, role->tools);
}

void mortise_check_roles(struct mortise_loader *ld)
{
    for (size_t i = 0; i < ld->n_roles && !mortise_load_is_pinned(ld); i++)
        if (ld->roles[i].tools != NULL && !ld->roles[i].tools_read)
            mortise_check_tools(ld, ld->roles[i].tools);
}
