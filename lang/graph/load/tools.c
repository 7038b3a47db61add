/* tools.c -- what a node may have run for it: tool_allowlist and handoffs.
 *
 * A list of operations and graphs becomes a graph of its own, the node's
 * `tools`, in which each is a node.  Nothing leads there and nothing leads from
 * one to another: what asks for a tool (tool.invoke/1) has its node run, by the
 * rules that hold for every node, and what comes of it is the answer.
 *
 *   (1) It fails closed.  A node without the key has no tools; what no entry of
 *       it names is not there; an entry that fits nothing is a finding.
 *   (2) A pattern stands for what is installed when the graph is loaded and the
 *       deployment does not deny.  One that leaves the plugin open stands for
 *       no operation that asks models itself: that is meant by its name alone.
 *   (3) Where several entries name a tool, the first says how; one that stands
 *       there by its name comes before one of a pattern.
 *   (4) Models know tools by names of [A-Za-z0-9_-]{1,64}.  A name is made of
 *       the tool's own and is the same in every load; where two would be alike,
 *       a hash tells them apart.
 *   (5) Whom the node hands over to is offered likewise, and is one of its
 *       targets.
 *   (6) Of tools that no node has (a role's that nobody plays) each is looked for,
 *       and nothing is loaded: a run pins what it may use.  Graphs (`graph/NAME`)
 *       are looked for by who uses them.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/wild.h"
#include "lang/config/policy.h"
#include "lang/graph/load/node.h"
#include "lang/schema/parameters.h"

enum {
    NAME_MAX_MODEL = 64, /* what every server takes */
    NODE_ID_MAX = 64,
    MAX_OUTPUT = 64 << 10
};

static const char handover[] = "transfer_to_";

/* The tools of a node while they are read. */
struct tools {
    struct mortise_loader *ld;
    struct mortise_node *nodes; /* made in the arena, and copied at the end */
    struct mortise_offer *offers;
    size_t n, cap;
    const struct mortise_yaml *entry; /* that is being read, */
    const struct mortise_yaml *at;    /* and which tool it says */
    bool any;                         /* the pattern stood for something */
    bool is_planner; /* models are not offered it, nor is it another's */
};

/* What an entry says beside which tool it is. */
struct entry {
    struct mortise_reading reading; /* first: rows of nodes read into it */
    const struct mortise_node_as_tool *as_tool; /* of its kind of node */
    const char *tool, *description;
    uint64_t max_output;
    bool ask;
};

/* ---- names (4) ------------------------------------------------------------ */

static bool is_taken(const struct tools *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->offers[i].name, name) == 0)
            return true;
    return false;
}

/* What may not stand in a name becomes an underscore. */
static void make_plain(char *out, const char *tool)
{
    size_t n = 0;

    for (; *tool != '\0' && n <= NAME_MAX_MODEL; tool++) {
        bool plain =
            (*tool >= 'a' && *tool <= 'z') || (*tool >= 'A' && *tool <= 'Z') ||
            (*tool >= '0' && *tool <= '9') || *tool == '-' || *tool == '_';

        out[n++] = plain ? *tool : '_';
        if (*tool == '/')
            out[n++] = '_';
    }
    out[n] = '\0';
}

/* NULL: memory ran out. */
static const char *name_for(const struct tools *t, const char *tool)
{
    char name[NAME_MAX_MODEL + 4], hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    size_t n;

    make_plain(name, tool);
    n = strlen(name);
    if (n > NAME_MAX_MODEL || is_taken(t, name)) {
        mortise_hasher_init(&h);
        mortise_hasher_str(&h, tool);
        mortise_hasher_final(&h, digest);
        mortise_hex(hex, digest, MORTISE_DIGEST);
        n = n > NAME_MAX_MODEL - 9 ? NAME_MAX_MODEL - 9 : n;
        snprintf(name + n, sizeof name - n, "_%.8s", hex);
    }
    return mortise_arena_strdup(t->ld->arena, name);
}

/* ---- one tool ------------------------------------------------------------- */

/* Room for one more; false: memory ran out. */
static bool grow(struct tools *t)
{
    size_t cap = t->cap != 0 ? 2 * t->cap : 8;
    struct mortise_node *nodes;
    struct mortise_offer *offers;

    if (t->n < t->cap)
        return true;
    nodes = mortise_load_alloc(t->ld, cap * sizeof *nodes);
    offers = mortise_load_alloc(t->ld, cap * sizeof *offers);
    if (nodes == NULL || offers == NULL)
        return false;
    if (t->n > 0) {
        memcpy(nodes, t->nodes, t->n * sizeof *nodes);
        memcpy(offers, t->offers, t->n * sizeof *offers);
    }
    t->nodes = nodes;
    t->offers = offers;
    t->cap = cap;
    return true;
}

static const char *text_of_schema(struct mortise_loader *ld,
                                  const struct mortise_schema *s)
{
    json_t *json =
        mortise_json_parameters(s != NULL ? mortise_schema_json(s) : NULL);
    const char *text = json != NULL ? mortise_load_json(ld, json) : NULL;

    ld->nomem |= text == NULL;
    json_decref(json);
    return text;
}

/* What it is to be told, and how much of what it gives. */
static void describe(struct mortise_loader *ld, struct mortise_offer *offer,
                     const struct mortise_node *node, const struct entry *e)
{
    const struct mortise_yaml *about =
        node->sub != NULL
            ? mortise_yaml_get(mortise_yaml_get(node->sub->tree, "metadata"),
                               "description")
            : NULL;

    if (e->description != NULL)
        offer->description = e->description;
    else if (node->op != NULL)
        offer->description = node->op->description;
    else
        offer->description = about != NULL && about->kind == MORTISE_YAML_STRING
                                 ? about->str
                                 : "";
    offer->parameters =
        text_of_schema(ld, node->op != NULL    ? node->op->input
                           : node->sub != NULL ? node->sub->input
                                               : NULL);
    offer->max_output = e->max_output;
}

/* The kind of node that a tool of that name is: the one whose prefix says most. */
static enum mortise_node_type type_of(const char *tool)
{
    enum mortise_node_type found = MORTISE_NODE_UNREAD;
    size_t longest = 0;

    for (int type = MORTISE_NODE_UNREAD + 1; type < MORTISE_NODE_TYPES;
         type++) {
        const struct mortise_node_as_tool *as =
            mortise_node_kind_of((enum mortise_node_type)type)->as_tool;
        size_t n = as != NULL ? strlen(as->prefix) : 0;

        if (as == NULL || strncmp(tool, as->prefix, n) != 0 ||
            (found != MORTISE_NODE_UNREAD && n <= longest))
            continue;
        found = (enum mortise_node_type)type;
        longest = n;
    }
    assert(found != MORTISE_NODE_UNREAD); /* operations have no prefix */
    return found;
}

static void read_entry_keys(struct mortise_loader *ld, struct entry *e);

static bool is_known(const struct tools *t, const char *tool)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->offers[i].tool, tool) == 0)
            return true;
    return false;
}

/* The tool of that name, as the entry has it. */
static void add_tool(struct tools *t, const char *tool,
                     const struct mortise_yaml *at)
{
    struct mortise_loader *ld = t->ld;
    const struct mortise_schema *output = ld->names[MORTISE_IN_OUTPUT].schema;
    const struct mortise_node_kind *kind;
    struct entry e = {.max_output = MAX_OUTPUT};
    struct mortise_node *node;
    struct mortise_offer *offer;

    t->any = true;
    if ((!t->is_planner && is_known(t, tool)) || !grow(t)) /* (3) */
        return;
    node = &t->nodes[t->n];
    offer = &t->offers[t->n];
    *offer =
        (struct mortise_offer){.name = name_for(t, tool),
                               .tool = mortise_arena_strdup(ld->arena, tool)};
    node->id = offer->name;
    node->index = (uint32_t)t->n;
    node->span = at->span;
    node->type = type_of(tool);
    kind = mortise_node_kind_of(node->type);
    e.as_tool = kind->as_tool;
    e.tool = t->entry->kind == MORTISE_YAML_MAP ? NULL : tool;
    ld->nomem |= offer->name == NULL || offer->tool == NULL;
    e.reading =
        (struct mortise_reading){.node = node, .key = at, .map = t->entry};
    mortise_node_begin(ld, &e.reading, kind);
    node->output_as = NULL;
    if (ld->nomem)
        return;
    e.as_tool->read(ld, &e.reading, tool + strlen(e.as_tool->prefix), at);
    if (t->entry->kind == MORTISE_YAML_MAP && !ld->nomem)
        read_entry_keys(ld, &e);
    mortise_node_apply_defaults(ld, &e.reading);
    node->approve = e.ask;
    describe(ld, offer, node, &e);
    ld->names[MORTISE_IN_OUTPUT].schema = output;
    t->n += e.tool != NULL;
}

/* ---- entries -------------------------------------------------------------- */

static void *entry_of(void *into)
{
    return into;
}

static const struct mortise_word violation_words[] = {
    {.word = "block", .value = MORTISE_VIOLATION_BLOCK},
    {.word = "warn", .value = MORTISE_VIOLATION_WARN},
    {.word = "sanitize", .value = MORTISE_VIOLATION_SANITIZE},
    {.word = NULL},
};

static const struct mortise_key guard_keys[] = {
    {.name = "input",
     .about = "Ids of guardrails that check the arguments of the tool.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_reading_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_INPUT])},
    {.name = "output",
     .about = "Ids of guardrails that check the result of the tool.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_reading_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_OUTPUT])},
    {.name = "on_violation",
     .about = "The reaction to a violation: block (the caller gets an error; "
              "the default), warn or sanitize.",
     .words = violation_words,
     .in = mortise_reading_node,
     MORTISE_INTO_WORD(struct mortise_node, on_violation)},
};
MORTISE_PLACE(guard, "guardrail_policy of a tool");

static const struct mortise_key entry_keys[] = {
    {.name = "tool",
     .about = "PLUGIN/OPERATION, with * for any characters; or graph/NAME.",
     .value = MORTISE_V_STRING,
     .required = true,
     .in = entry_of,
     MORTISE_INTO_TEXT(struct entry, tool)},
    {.name = "description",
     .about = "A description for the model, instead of the tool's own.",
     .value = MORTISE_V_STRING,
     .in = entry_of,
     MORTISE_INTO_TEXT(struct entry, description)},
    {.name = "ask",
     .about = "true: a person must approve each call, whatever hitl_mode is.",
     .in = entry_of,
     MORTISE_INTO_BOOL(struct entry, ask)},
    {.name = "max_output",
     .about = "The longest text of a result for the model (default: 64KiB). A "
              "longer text is cut, with a mark. Images do not count.",
     .min = 64,
     .in = entry_of,
     MORTISE_INTO_SIZE(struct entry, max_output)},
    MORTISE_ROWS(mortise_call_rows),
    {.name = "guardrail_policy",
     .about = "Guardrails that check the arguments and the result of the tool.",
     .value = MORTISE_V_MAP,
     .place = &guard_place,
     .read = mortise_node_read_guard_policy},
};
MORTISE_PLACE(entry, "a tool");

/* Rows of nodes take what they read into for a reading, which an entry begins
 * with. */
_Static_assert(offsetof(struct entry, reading) == 0, "an entry is a reading");

static void read_entry_keys(struct mortise_loader *ld, struct entry *e)
{
    const struct mortise_yaml *map = e->reading.map;
    struct mortise_diag *d;

    mortise_keys_read(&entry_place, map, map->span, ld, e, ld->diags);
    if (e->ask && !e->as_tool->has_approvals) {
        d = mortise_diag_add(ld->diags, "E0514",
                             mortise_yaml_get(map, "ask")->span,
                             "'ask' cannot be set for a tool that is a graph");
        mortise_diag_help(ld->diags, d,
                          "set hitl_mode: approve_tools in the graph, or add a "
                          "human node to it");
    }
}

/* Of a pattern: an operation that is installed. */
static int match(void *into, const char *plugin, const char *op)
{
    struct tools *t = into;
    struct mortise_loader *ld = t->ld;
    const struct mortise_yaml *at = t->at;
    const char *slash = strchr(at->str, '/');
    bool open = slash == NULL ||
                memchr(at->str, '*', (size_t)(slash - at->str)) != NULL;
    const struct mortise_operation *found;
    struct mortise_err why = {0};
    char tool[MORTISE_TOOL_MAX];

    snprintf(tool, sizeof tool, "%s/%s", plugin, op);
    if (!mortise_wild_fits(at->str, tool))
        return MORTISE_OK;
    found = ld->catalog->operation(ld->catalog->ud, plugin, op, &why);
    ld->nomem |= why.code == MORTISE_ENOMEM;
    if (found == NULL || (open && (found->asks_models || why.code != 0)))
        return MORTISE_OK; /* (2) */
    mortise_load_note_match(ld, at->str, tool);
    add_tool(t, tool, at);
    return ld->nomem ? MORTISE_ENOMEM : MORTISE_OK;
}

static void refuse_pattern(struct mortise_loader *ld,
                           const struct mortise_yaml *at)
{
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0514", at->span,
                                       "no tool matches '%s'", at->str),
                      "`mortise plugin list` lists the plugins, and `mortise "
                      "plugin inspect NAME` their operations");
}

static void add_matches(struct tools *t, const struct mortise_yaml *at)
{
    struct mortise_loader *ld = t->ld;
    const struct mortise_catalog *catalog = ld->catalog;
    const json_t *pinned = mortise_load_matches(ld, at->str);
    const struct mortise_yaml *entry = t->entry;
    struct mortise_err why = {0};
    int rv = MORTISE_OK;

    t->any = false;
    MORTISE_JSON_EACH (tool, i, pinned) {
        t->entry = entry;
        add_tool(t, json_string_value(tool), at);
    }
    if (pinned == NULL && catalog->operations != NULL)
        rv = catalog->operations(catalog->ud, match, t, &why);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (t->any || ld->nomem || pinned != NULL || catalog->operations == NULL)
        return;
    refuse_pattern(ld, at);
}

static bool is_pattern(const char *tool)
{
    return strchr(tool, '*') != NULL;
}

/* An operation may have further slashes in its name: the lock says so. */
static bool is_tool(const char *tool)
{
    const char *slash = strchr(tool, '/');

    return strcmp(tool, "*") == 0 ||
           (slash != NULL && slash != tool && slash[1] != '\0');
}

/* An entry that says no tool, or none that could be one: what is wrong with it.
 */
static void refuse_entry(struct mortise_loader *ld,
                         const struct mortise_yaml *entry)
{
    struct mortise_node nobody = {.effect = MORTISE_PURE};
    struct entry e = {.reading = {.node = &nobody, .key = entry, .map = entry}};

    if (entry->kind == MORTISE_YAML_MAP)
        mortise_keys_read(&entry_place, entry, entry->span, ld, &e, ld->diags);
    else
        mortise_diag_add(ld->diags, "E0203", entry->span,
                         "a tool must be PLUGIN/OPERATION or a mapping with "
                         "the key 'tool', not %s",
                         mortise_yaml_kind_name(entry->kind));
}

static const struct mortise_yaml *name_at(const struct mortise_yaml *entry)
{
    const struct mortise_yaml *at = entry->kind == MORTISE_YAML_MAP
                                        ? mortise_yaml_get(entry, "tool")
                                        : entry;

    return at != NULL && at->kind == MORTISE_YAML_STRING && at->len > 0 ? at
                                                                        : NULL;
}

static bool is_right(struct mortise_loader *ld, const struct mortise_yaml *at)
{
    struct mortise_diag *d;

    if (is_tool(at->str))
        return true;
    d = mortise_diag_add(ld->diags, "E0505", at->span,
                         "'%s' is not a valid tool", at->str);
    mortise_diag_help(ld->diags, d,
                      "write a tool as PLUGIN/OPERATION, such as file/read, "
                      "with * for any characters, or as graph/NAME");
    return false;
}

/* Those that stand by their names come first (3). */
static void read_list(struct tools *t, const struct mortise_yaml *list,
                      bool patterns)
{
    for (size_t i = 0; i < list->n && !t->ld->nomem; i++) {
        const struct mortise_yaml *at = name_at(list->items[i]);

        t->entry = list->items[i];
        t->at = at;
        if (at == NULL && !patterns)
            refuse_entry(t->ld, t->entry);
        if (at == NULL || is_pattern(at->str) != patterns ||
            !is_right(t->ld, at))
            continue;
        if (patterns)
            add_matches(t, at);
        else
            add_tool(t, at->str, at);
    }
}

/* ---- tools that no node has (6) ------------------------------------------- */

/* Of a pattern: is there one that fits? */
struct search {
    const char *pattern;
    bool found;
};

static int seek(void *into, const char *plugin, const char *op)
{
    struct search *s = into;
    char tool[MORTISE_TOOL_MAX];

    snprintf(tool, sizeof tool, "%s/%s", plugin, op);
    s->found |= mortise_wild_fits(s->pattern, tool);
    return MORTISE_OK;
}

static void check_pattern(struct mortise_loader *ld,
                          const struct mortise_yaml *at)
{
    struct search s = {.pattern = at->str};
    struct mortise_err why = {0};

    if (ld->catalog->operations == NULL)
        return;
    ld->nomem |= ld->catalog->operations(ld->catalog->ud, seek, &s, &why) ==
                 MORTISE_ENOMEM;
    if (!s.found && !ld->nomem)
        refuse_pattern(ld, at);
}

static void check_operation(struct mortise_loader *ld,
                            const struct mortise_yaml *at)
{
    const char *op = strchr(at->str, '/') + 1;
    const char *plugin =
        mortise_arena_strndup(ld->arena, at->str, (size_t)(op - 1 - at->str));
    struct mortise_err why = {0};

    if (plugin != NULL &&
        ld->catalog->operation(ld->catalog->ud, plugin, op, &why) == NULL &&
        why.code != MORTISE_ENOMEM)
        mortise_load_refuse(ld, why.code == MORTISE_ECONFIG ? "E0507" : "E0501",
                            at->span, plugin, &why);
    ld->nomem |= plugin == NULL || why.code == MORTISE_ENOMEM;
}

void mortise_check_tools(struct mortise_loader *ld,
                         const struct mortise_yaml *list)
{
    for (size_t i = 0; i < list->n && !ld->nomem; i++) {
        const struct mortise_yaml *at = name_at(list->items[i]);

        if (at == NULL || !is_right(ld, at))
            continue; /* what is no text has its finding */
        if (is_pattern(at->str))
            check_pattern(ld, at);
        else if (type_of(at->str) == MORTISE_NODE_TOOL)
            check_operation(ld, at);
    }
}

/* ---- the graph of them ---------------------------------------------------- */

/* Every node stands in it by itself. */
static bool set_nodes(struct mortise_graph *g, struct tools *t)
{
    struct mortise_loader *ld = t->ld;
    struct mortise_region *region = mortise_load_alloc(ld, sizeof *region);
    uint32_t *nodes = mortise_load_alloc(ld, t->n * sizeof *nodes);

    if (region == NULL || nodes == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        nodes[i] = (uint32_t)i;
        t->nodes[i].slot = (uint32_t)i;
    }
    *region = (struct mortise_region){.kind = MORTISE_REGION_GRAPH,
                                      .entry = MORTISE_START,
                                      .nodes = nodes,
                                      .n_nodes = (uint32_t)t->n};
    ld->root->n_nodes += t->n - g->n_nodes;
    g->nodes = t->nodes;
    g->n_nodes = (uint32_t)t->n;
    g->regions = region;
    g->n_regions = 1;
    g->offers = t->offers;
    return true;
}

static struct mortise_graph *graph_of(struct tools *t,
                                      const struct mortise_yaml *at)
{
    struct mortise_graph *g = mortise_inner_new(t->ld, at);

    if (g == NULL || !set_nodes(g, t))
        return NULL;
    g->n_offered = g->n_nodes;
    for (int k = 0; k < MORTISE_USED_N; k++)
        g->unbounded[k] = MORTISE_NOWHERE;
    return g;
}

static struct mortise_graph *tools_of(struct mortise_loader *ld,
                                      struct mortise_reading *r,
                                      const struct mortise_yaml *at)
{
    struct tools t = {.ld = ld, .n = 0};

    if (r->node->tools == NULL)
        r->node->tools = graph_of(&t, at);
    return r->node->tools;
}

void mortise_node_read_tools(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             const struct mortise_yaml *list)
{
    struct tools t = {.ld = ld, .n = 0};

    read_list(&t, list, false);
    read_list(&t, list, true);
    if (!ld->nomem && t.n > 0)
        r->node->tools = graph_of(&t, list);
}

static void read_allowlist(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    mortise_node_read_tools(ctx, into, slot->value);
}

void mortise_node_add_planner(struct mortise_loader *ld,
                              struct mortise_reading *r,
                              const struct mortise_yaml *at)
{
    struct mortise_graph *g = tools_of(ld, r, at);
    struct tools t = {.ld = ld, .entry = at, .at = at, .is_planner = true};

    if (g == NULL)
        return;
    t.nodes = g->nodes;
    t.offers = g->offers;
    t.n = t.cap = g->n_nodes;
    add_tool(&t, at->str, at);
    if (!ld->nomem)
        set_nodes(g, &t);
}

/* (5) */
static void read_handoffs(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    const struct mortise_yaml *list = slot->value;
    struct mortise_graph *g = tools_of(ld, r, list);
    struct mortise_handover *all =
        mortise_load_alloc(ld, list->n * sizeof *all);
    struct tools taken = {.ld = ld};

    if (g == NULL || all == NULL)
        return;
    taken.offers = g->offers;
    taken.n = g->n_nodes;
    mortise_node_read_targets(ctx, into, slot);
    for (size_t i = 0; i < list->n; i++) {
        const struct mortise_yaml *id = list->items[i];
        const struct mortise_yaml *map =
            mortise_yaml_get(ld->g->nodes_map, id->str);
        const struct mortise_yaml *what =
            map != NULL ? mortise_yaml_get(map, "capability") : NULL;
        char name[sizeof handover + NODE_ID_MAX];

        snprintf(name, sizeof name, "%s%.*s", handover, NODE_ID_MAX, id->str);
        all[i] = (struct mortise_handover){
            .name = name_for(&taken, name),
            .node = id->str,
            .description = what != NULL && what->kind == MORTISE_YAML_STRING
                               ? what->str
                               : ""};
    }
    for (size_t i = 0; i < list->n; i++)
        ld->nomem |= all[i].name == NULL;
    g->handovers = all;
    g->n_handovers = list->n;
}

const struct mortise_key mortise_tool_rows[2] = {
    {.name = "tool_allowlist",
     .about =
         "The tools that the node can use: PLUGIN/OPERATION, with * for any "
         "characters, or graph/NAME. {tool: ...} adds options. Default: none.",
     .value = MORTISE_V_LIST,
     .each =
         &(const struct mortise_key){
             .value = MORTISE_V_FORMS,
             .forms = (const struct mortise_key[2]){{.value = MORTISE_V_STRING},
                                                    {.value = MORTISE_V_MAP,
                                                     .place = &entry_place}},
             .n_forms = 2},
     .read = read_allowlist},
    {.name = "handoffs",
     .about = "Nodes to which the node can hand over. The model gets each of "
              "them as a tool; a call of this tool continues the run at that "
              "node.",
     .value = MORTISE_V_STRINGS,
     .read = read_handoffs},
};

/* ---- as models are told --------------------------------------------------- */

static int put_offer(json_t *list, const char *name, const char *description,
                     const char *parameters)
{
    json_t *schema = mortise_json_ours(parameters);
    json_t *one =
        schema != NULL
            ? json_pack("{s:s, s:s*, s:o}", "name", name, "description",
                        description[0] != '\0' ? description : NULL,
                        "parameters", schema)
            : NULL;

    return json_array_append_new(list, one);
}

static int put_handover(json_t *list, const struct mortise_handover *h,
                        struct mortise_arena *a)
{
    static const char parameters[] =
        "{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\","
        "\"description\":\"Why, in a sentence.\"}}}";
    size_t size = strlen(h->node) + strlen(h->description) + 64;
    char *words = mortise_arena_alloc(a, size);

    if (words == NULL)
        return -1;
    snprintf(words, size, "Hand the conversation over to %s.%s%s", h->node,
             h->description[0] != '\0' ? " " : "", h->description);
    return put_offer(list, h->name, words, parameters);
}

/* ---- guardrails of all of them --------------------------------------------- */

/* `ahead` and behind them `behind`, each once for each time that it is listed. */
static void join_guards(struct mortise_loader *ld,
                        struct mortise_guard_list *out,
                        const struct mortise_guard_list *ahead,
                        const struct mortise_guard_list *behind)
{
    const size_t n = ahead->n + behind->n;
    const char **ids = n > 0 ? mortise_load_alloc(ld, n * sizeof *ids) : NULL;

    if (ids == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        ids[i] = i < ahead->n ? ahead->ids[i] : behind->ids[i - ahead->n];
    *out = (struct mortise_guard_list){.ids = ids, .n = n};
}

/* There is no way around a tool call: who would be led elsewhere is refused. */
static enum mortise_on_violation stricter(enum mortise_on_violation a,
                                          enum mortise_on_violation b)
{
    static const int rank[] = {[MORTISE_VIOLATION_WARN] = 1,
                               [MORTISE_VIOLATION_SANITIZE] = 2,
                               [MORTISE_VIOLATION_BLOCK] = 3,
                               [MORTISE_VIOLATION_REROUTE] = 3};
    const enum mortise_on_violation word = rank[a] > rank[b] ? a : b;

    return rank[word] == 1 || rank[word] == 2 ? word : MORTISE_VIOLATION_BLOCK;
}

static void guard_nothing(struct mortise_loader *ld,
                          const struct mortise_reading *r, const char *list)
{
    const struct mortise_yaml *policy =
        mortise_yaml_get(r->map, "guardrail_policy");

    mortise_diag_add(ld->diags, "E0318", mortise_yaml_key(policy, list)->span,
                     "'%s' of the guardrail_policy has nothing to check: node "
                     "'%s' has no tool_allowlist",
                     list, r->node->id);
}

/* The node's guardrails see what its model calls a tool with first, and what it
 * gives last.  The tool's own word holds beside the node's, the stricter of
 * both, for either would be broken by the other. */
static void guard_tools(struct mortise_loader *ld,
                        const struct mortise_reading *r)
{
    const struct mortise_guard_list *in = &r->node->guards[MORTISE_GUARD_TOOLS];
    const struct mortise_guard_list *out =
        &r->node->guards[MORTISE_GUARD_TOOL_RESULTS];
    struct mortise_graph *g = r->node->tools;

    if (in->n + out->n > 0 && (g == NULL || g->n_offered == 0) &&
        !mortise_node_says(r, "tool_allowlist"))
        guard_nothing(ld, r, in->n > 0 ? "tools" : "tool_results");
    for (size_t i = 0; g != NULL && in->n + out->n > 0 && i < g->n_offered;
         i++) {
        struct mortise_node *tool = &g->nodes[i];
        bool own = tool->guards[MORTISE_GUARD_INPUT].n > 0 ||
                   tool->guards[MORTISE_GUARD_OUTPUT].n > 0;

        join_guards(ld, &tool->guards[MORTISE_GUARD_INPUT], in,
                    &tool->guards[MORTISE_GUARD_INPUT]);
        join_guards(ld, &tool->guards[MORTISE_GUARD_OUTPUT],
                    &tool->guards[MORTISE_GUARD_OUTPUT], out);
        tool->on_violation =
            stricter(own ? tool->on_violation : r->node->on_violation,
                     r->node->on_violation);
    }
}

void mortise_node_finish_tools(struct mortise_loader *ld,
                               struct mortise_reading *r)
{
    struct mortise_graph *g = r->node->tools;
    json_t *list = json_array();
    char *text = NULL;
    int rv = list != NULL ? 0 : -1;

    guard_tools(ld, r);
    for (size_t i = 0; rv == 0 && g != NULL && i < g->n_offered; i++)
        rv = put_offer(list, g->offers[i].name, g->offers[i].description,
                       g->offers[i].parameters);
    for (size_t i = 0; rv == 0 && g != NULL && i < g->n_handovers; i++)
        rv = put_handover(list, &g->handovers[i], ld->arena);
    if (rv == 0 && g != NULL &&
        (text = mortise_json_text(ld->mem, list)) != NULL)
        g->offered = mortise_arena_strdup(ld->arena, text);
    ld->nomem |= rv != 0 || (g != NULL && g->offered == NULL);
    mortise_release_str(ld->mem, text);
    json_decref(list);
}
