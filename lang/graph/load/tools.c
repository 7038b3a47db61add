/* tools.c -- the tools of a node: tool_allowlist and handoffs.
 *
 * The list of operations and graphs becomes a graph of its own, the node's
 * `tools`, in which each tool is a node.  It has no edges.  A call of a tool
 * (tool.invoke/1) executes its node by the rules for all nodes, and the node's
 * result is the answer.
 *
 *   (1) The list is closed.  A node without the key has no tools, a tool that
 *       no entry names is unavailable, and an entry that matches nothing is a
 *       finding.
 *   (2) A pattern matches the operations that are installed when the graph is
 *       loaded and that the deployment does not deny.  A pattern with a star in
 *       the plugin matches no operation that asks models: name those
 *       explicitly.
 *   (3) If several entries name a tool, the first one applies; an entry by name
 *       has precedence over a pattern.
 *   (4) Models know tools by names of [A-Za-z0-9_-]{1,64}.  The name is derived
 *       from the tool's own and is the same in every load.  If two would be
 *       equal, a hash distinguishes them.
 *   (5) The handover targets are offered in the same way, and each is one of
 *       the node's targets.
 *   (6) Tools that no node has (those of a role that no node plays) are checked
 *       for existence, but not loaded: a run pins only the plugins that it may
 *       use.  Graphs (`graph/NAME`) are checked by their users.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/wild.h"
#include "lang/graph/load/node.h"
#include "lang/schema/parameters.h"

enum {
    NAME_MAX_MODEL = 64, /* every server accepts this length */
    NODE_ID_MAX = 64,
    MAX_OUTPUT = 64 << 10
};

static const char handover[] = "transfer_to_";

/* The tools of a node while they are read. */
struct tools {
    struct mortise_loader *ld;
    struct mortise_node *nodes; /* allocated in the arena, copied at the end */
    struct mortise_offer *offers;
    size_t n, cap;
    const struct mortise_yaml *entry; /* the current entry, */
    const struct mortise_yaml *at;    /* and the name of its tool */
    bool any;                         /* the pattern matched a tool */
    bool is_planner; /* not offered to models, and separate from an equal
                      * tool */
};

/* An entry while it is read. */
struct entry {
    struct mortise_node_reader reading; /* first: rows of nodes read into it */
    const struct mortise_node_as_tool *as_tool; /* of its kind of node */
    const char *tool, *description;
    uint64_t max_output;
    bool ask;
};

/* ---- names (4) ------------------------------------------------------------ */

static bool is_tool_name_taken(const struct tools *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->offers[i].name, name) == 0)
            return true;
    return false;
}

/* Replace each character that a name cannot have by an underscore. */
static void make_plain_name(char *out, const char *tool)
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
static const char *make_tool_name(const struct tools *t, const char *tool)
{
    char name[NAME_MAX_MODEL + 4], hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    size_t n;

    make_plain_name(name, tool);
    n = strlen(name);
    if (n > NAME_MAX_MODEL || is_tool_name_taken(t, name)) {
        mortise_hasher_init(&h);
        mortise_hasher_add_str(&h, tool);
        mortise_hasher_final(&h, digest);
        mortise_hex_encode(hex, digest, MORTISE_DIGEST);
        n = n > NAME_MAX_MODEL - 9 ? NAME_MAX_MODEL - 9 : n;
        snprintf(name + n, sizeof name - n, "_%.8s", hex);
    }
    return mortise_arena_strdup(t->ld->arena, name);
}

/* ---- one tool ------------------------------------------------------------- */

/* Make room for one tool; false: memory ran out. */
static bool grow_tool_list(struct tools *t)
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

static const char *get_parameters_text(struct mortise_loader *ld,
                                       const struct mortise_schema *s)
{
    json_t *json =
        mortise_json_make_parameters(s != NULL ? mortise_schema_json(s) : NULL);
    const char *text = json != NULL ? mortise_load_json(ld, json) : NULL;

    ld->nomem |= text == NULL;
    json_decref(json);
    return text;
}

/* Set the description, the parameters and the limit of the result. */
static void describe_tool(struct mortise_loader *ld,
                          struct mortise_offer *offer,
                          const struct mortise_node *node,
                          const struct entry *e)
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
        get_parameters_text(ld, node->op != NULL    ? node->op->input
                                : node->sub != NULL ? node->sub->input
                                                    : NULL);
    offer->max_output = e->max_output;
}

/* The kind of node for a tool with this name: the one with the longest prefix
 * that fits. */
static enum mortise_node_type get_tool_type(const char *tool)
{
    enum mortise_node_type found = MORTISE_NODE_UNKNOWN;
    size_t longest = 0;

    for (int type = MORTISE_NODE_UNKNOWN + 1; type < MORTISE_NODE_TYPES;
         type++) {
        const struct mortise_node_as_tool *as =
            mortise_node_kind_of((enum mortise_node_type)type)->as_tool;
        size_t n = as != NULL ? strlen(as->prefix) : 0;

        if (as == NULL || strncmp(tool, as->prefix, n) != 0 ||
            (found != MORTISE_NODE_UNKNOWN && n <= longest))
            continue;
        found = (enum mortise_node_type)type;
        longest = n;
    }
    /* the prefix of operations is empty */
    assert(found != MORTISE_NODE_UNKNOWN);
    return found;
}

static void read_tool_entry_keys(struct mortise_loader *ld, struct entry *e);

static bool has_listed_tool(const struct tools *t, const char *tool)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->offers[i].tool, tool) == 0)
            return true;
    return false;
}

/* Add the tool with this name, by the current entry. */
static void add_listed_tool(struct tools *t, const char *tool,
                            const struct mortise_yaml *at)
{
    struct mortise_loader *ld = t->ld;
    const struct mortise_schema *output = ld->names[MORTISE_IN_OUTPUT].schema;
    const struct mortise_node_kind *kind;
    struct entry e = {.max_output = MAX_OUTPUT};
    struct mortise_node *node;
    struct mortise_offer *offer;

    t->any = true;
    if ((!t->is_planner && has_listed_tool(t, tool)) ||
        !grow_tool_list(t)) /* (3) */
        return;
    node = &t->nodes[t->n];
    offer = &t->offers[t->n];
    *offer =
        (struct mortise_offer){.name = make_tool_name(t, tool),
                               .tool = mortise_arena_strdup(ld->arena, tool)};
    node->id = offer->name;
    node->index = (uint32_t)t->n;
    node->span = at->span;
    node->type = get_tool_type(tool);
    kind = mortise_node_kind_of(node->type);
    e.as_tool = kind->as_tool;
    e.tool = t->entry->kind == MORTISE_YAML_MAP ? NULL : tool;
    ld->nomem |= offer->name == NULL || offer->tool == NULL;
    e.reading =
        (struct mortise_node_reader){.node = node, .key = at, .map = t->entry};
    mortise_node_begin(ld, &e.reading, kind);
    node->output_as = NULL;
    if (ld->nomem)
        return;
    e.as_tool->read(ld, &e.reading, tool + strlen(e.as_tool->prefix), at);
    if (t->entry->kind == MORTISE_YAML_MAP && !ld->nomem)
        read_tool_entry_keys(ld, &e);
    mortise_node_apply_defaults(ld, &e.reading);
    node->approve = e.ask;
    describe_tool(ld, offer, node, &e);
    ld->names[MORTISE_IN_OUTPUT].schema = output;
    t->n += e.tool != NULL;
}

/* ---- entries -------------------------------------------------------------- */

static void *get_tool_entry(void *into)
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
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_INPUT])},
    {.name = "output",
     .about = "Ids of guardrails that check the result of the tool.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_OUTPUT])},
    {.name = "on_violation",
     .about = "The reaction to a violation: block (the caller gets an error; "
              "the default), warn or sanitize.",
     .words = violation_words,
     .in = mortise_node_reader_get_node,
     MORTISE_INTO_WORD(struct mortise_node, on_violation)},
};
MORTISE_PLACE(guard, "guardrail_policy of a tool");

static const struct mortise_key entry_keys[] = {
    {.name = "tool",
     .about = "PLUGIN/OPERATION, with * for any characters; or graph/NAME.",
     .value = MORTISE_V_STRING,
     .required = true,
     .in = get_tool_entry,
     MORTISE_INTO_TEXT(struct entry, tool)},
    {.name = "description",
     .about = "A description for the model, instead of the tool's own.",
     .value = MORTISE_V_STRING,
     .in = get_tool_entry,
     MORTISE_INTO_TEXT(struct entry, description)},
    {.name = "ask",
     .about = "true: a person must approve each call, whatever hitl_mode is.",
     .in = get_tool_entry,
     MORTISE_INTO_BOOL(struct entry, ask)},
    {.name = "max_output",
     .about = "The longest text of a result for the model (default: 64KiB). A "
              "longer text is cut, with a mark. Images do not count.",
     .min = 64,
     .in = get_tool_entry,
     MORTISE_INTO_SIZE(struct entry, max_output)},
    MORTISE_ROWS(mortise_call_rows),
    {.name = "guardrail_policy",
     .about = "Guardrails that check the arguments and the result of the tool.",
     .value = MORTISE_V_MAP,
     .place = &guard_place,
     .read = mortise_node_read_guard_policy},
};
MORTISE_PLACE(entry, "a tool");

/* Rows of nodes expect a reading at the address that they read into. */
_Static_assert(offsetof(struct entry, reading) == 0, "an entry is a reading");

static void read_tool_entry_keys(struct mortise_loader *ld, struct entry *e)
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

/* Called for each installed operation: add it if the pattern matches. */
static int add_if_matching(void *into, const char *plugin, const char *op)
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
    if (!mortise_wild_match(at->str, tool))
        return MORTISE_OK;
    found = ld->catalog->operation(ld->catalog->ud, plugin, op, &why);
    ld->nomem |= why.code == MORTISE_ENOMEM;
    if (found == NULL || (open && (found->asks_models || why.code != 0)))
        return MORTISE_OK; /* (2) */
    mortise_load_record_match(ld, at->str, tool);
    add_listed_tool(t, tool, at);
    return ld->nomem ? MORTISE_ENOMEM : MORTISE_OK;
}

static void report_unmatched_pattern(struct mortise_loader *ld,
                                     const struct mortise_yaml *at)
{
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0514", at->span,
                                       "no tool matches '%s'", at->str),
                      "`mortise plugin list` lists the plugins, and `mortise "
                      "plugin inspect NAME` their operations");
}

static void add_pattern_tools(struct tools *t, const struct mortise_yaml *at)
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
        add_listed_tool(t, json_string_value(tool), at);
    }
    if (pinned == NULL && catalog->operations != NULL)
        rv = catalog->operations(catalog->ud, add_if_matching, t, &why);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (t->any || ld->nomem || pinned != NULL || catalog->operations == NULL)
        return;
    report_unmatched_pattern(ld, at);
}

static bool is_tool_pattern(const char *tool)
{
    return strchr(tool, '*') != NULL;
}

/* The name of an operation may contain further slashes: those in a lock file
 * do. */
static bool has_tool_syntax(const char *tool)
{
    const char *slash = strchr(tool, '/');

    return strcmp(tool, "*") == 0 ||
           (slash != NULL && slash != tool && slash[1] != '\0');
}

/* Report an entry without a tool's name. */
static void report_bad_entry(struct mortise_loader *ld,
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

static const struct mortise_yaml *
get_entry_name(const struct mortise_yaml *entry)
{
    const struct mortise_yaml *at = entry->kind == MORTISE_YAML_MAP
                                        ? mortise_yaml_get(entry, "tool")
                                        : entry;

    return at != NULL && at->kind == MORTISE_YAML_STRING && at->len > 0 ? at
                                                                        : NULL;
}

static bool check_tool_name(struct mortise_loader *ld,
                            const struct mortise_yaml *at)
{
    struct mortise_diag *d;

    if (has_tool_syntax(at->str))
        return true;
    d = mortise_diag_add(ld->diags, "E0505", at->span,
                         "'%s' is not a valid tool", at->str);
    mortise_diag_help(ld->diags, d,
                      "write a tool as PLUGIN/OPERATION, such as file/read, "
                      "with * for any characters, or as graph/NAME");
    return false;
}

/* The entries by name are read first, then the patterns (3). */
static void read_tool_list(struct tools *t, const struct mortise_yaml *list,
                           bool patterns)
{
    for (size_t i = 0; i < list->n && !t->ld->nomem; i++) {
        const struct mortise_yaml *at = get_entry_name(list->items[i]);

        t->entry = list->items[i];
        t->at = at;
        if (at == NULL && !patterns)
            report_bad_entry(t->ld, t->entry);
        if (at == NULL || is_tool_pattern(at->str) != patterns ||
            !check_tool_name(t->ld, at))
            continue;
        if (patterns)
            add_pattern_tools(t, at);
        else
            add_listed_tool(t, at->str, at);
    }
}

/* ---- tools that no node has (6) ------------------------------------------- */

/* The search for an operation that a pattern matches. */
struct search {
    const char *pattern;
    bool found;
};

static int find_pattern_match(void *into, const char *plugin, const char *op)
{
    struct search *s = into;
    char tool[MORTISE_TOOL_MAX];

    snprintf(tool, sizeof tool, "%s/%s", plugin, op);
    s->found |= mortise_wild_match(s->pattern, tool);
    return MORTISE_OK;
}

static void check_tool_pattern(struct mortise_loader *ld,
                               const struct mortise_yaml *at)
{
    struct search s = {.pattern = at->str};
    struct mortise_err why = {0};

    if (ld->catalog->operations == NULL)
        return;
    ld->nomem |= ld->catalog->operations(ld->catalog->ud, find_pattern_match,
                                         &s, &why) == MORTISE_ENOMEM;
    if (!s.found && !ld->nomem)
        report_unmatched_pattern(ld, at);
}

static void check_tool_operation(struct mortise_loader *ld,
                                 const struct mortise_yaml *at)
{
    const char *op = strchr(at->str, '/') + 1;
    const char *plugin =
        mortise_arena_strndup(ld->arena, at->str, (size_t)(op - 1 - at->str));
    struct mortise_err why = {0};

    if (plugin != NULL &&
        ld->catalog->operation(ld->catalog->ud, plugin, op, &why) == NULL &&
        why.code != MORTISE_ENOMEM)
        mortise_load_report_refusal(
            ld, why.code == MORTISE_ECONFIG ? "E0507" : "E0501", at->span,
            plugin, &why);
    ld->nomem |= plugin == NULL || why.code == MORTISE_ENOMEM;
}

void mortise_check_tools(struct mortise_loader *ld,
                         const struct mortise_yaml *list)
{
    for (size_t i = 0; i < list->n && !ld->nomem; i++) {
        const struct mortise_yaml *at = get_entry_name(list->items[i]);

        if (at == NULL || !check_tool_name(ld, at))
            continue; /* an entry that is no string has a finding */
        if (is_tool_pattern(at->str))
            check_tool_pattern(ld, at);
        else if (get_tool_type(at->str) == MORTISE_NODE_TOOL)
            check_tool_operation(ld, at);
    }
}

/* ---- the graph of tools -------------------------------------------------- */

/* Each node is by itself, in one region. */
static bool set_tool_nodes(struct mortise_graph *g, struct tools *t)
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

static struct mortise_graph *make_tools_graph(struct tools *t,
                                              const struct mortise_yaml *at)
{
    struct mortise_graph *g = mortise_inner_new(t->ld, at);

    if (g == NULL || !set_tool_nodes(g, t))
        return NULL;
    g->n_offered = g->n_nodes;
    for (int k = 0; k < MORTISE_USED_N; k++)
        g->unbounded[k] = MORTISE_NOWHERE;
    return g;
}

static struct mortise_graph *get_tools_graph(struct mortise_loader *ld,
                                             struct mortise_node_reader *r,
                                             const struct mortise_yaml *at)
{
    struct tools t = {.ld = ld, .n = 0};

    if (r->node->tools == NULL)
        r->node->tools = make_tools_graph(&t, at);
    return r->node->tools;
}

void mortise_node_read_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_yaml *list)
{
    struct tools t = {.ld = ld, .n = 0};

    read_tool_list(&t, list, false);
    read_tool_list(&t, list, true);
    if (!ld->nomem && t.n > 0)
        r->node->tools = make_tools_graph(&t, list);
}

static void read_tool_allowlist(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    mortise_node_read_tools(ctx, into, slot->value);
}

void mortise_node_add_planner(struct mortise_loader *ld,
                              struct mortise_node_reader *r,
                              const struct mortise_yaml *at)
{
    struct mortise_graph *g = get_tools_graph(ld, r, at);
    struct tools t = {.ld = ld, .entry = at, .at = at, .is_planner = true};

    if (g == NULL)
        return;
    t.nodes = g->nodes;
    t.offers = g->offers;
    t.n = t.cap = g->n_nodes;
    add_listed_tool(&t, at->str, at);
    if (!ld->nomem)
        set_tool_nodes(g, &t);
}

/* (5) */
static void read_handoff_nodes(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    const struct mortise_yaml *list = slot->value;
    struct mortise_graph *g = get_tools_graph(ld, r, list);
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
            .name = make_tool_name(&taken, name),
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
     .read = read_tool_allowlist},
    {.name = "handoffs",
     .about = "Nodes to which the node can hand over. The model gets each of "
              "them as a tool; a call of this tool continues the run at that "
              "node.",
     .value = MORTISE_V_STRINGS,
     .read = read_handoff_nodes},
};

/* ---- offers for models --------------------------------------------------- */

static int append_offer(json_t *list, const char *name, const char *description,
                        const char *parameters)
{
    json_t *schema = mortise_json_parse_trusted(parameters);
    json_t *one =
        schema != NULL
            ? json_pack("{s:s, s:s*, s:o}", "name", name, "description",
                        description[0] != '\0' ? description : NULL,
                        "parameters", schema)
            : NULL;

    return json_array_append_new(list, one);
}

static int append_handover_offer(json_t *list, const struct mortise_handover *h,
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
    return append_offer(list, h->name, words, parameters);
}

/* ---- guardrails of all tools --------------------------------------------- */

/* Concatenate two lists; an id in both appears twice. */
static void concat_guard_lists(struct mortise_loader *ld,
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

/* A tool call cannot be rerouted, so `reroute` becomes `block`. */
static enum mortise_on_violation
get_stricter_reaction(enum mortise_on_violation a, enum mortise_on_violation b)
{
    static const int rank[] = {[MORTISE_VIOLATION_WARN] = 1,
                               [MORTISE_VIOLATION_SANITIZE] = 2,
                               [MORTISE_VIOLATION_BLOCK] = 3,
                               [MORTISE_VIOLATION_REROUTE] = 3};
    const enum mortise_on_violation word = rank[a] > rank[b] ? a : b;

    return rank[word] == 1 || rank[word] == 2 ? word : MORTISE_VIOLATION_BLOCK;
}

static void report_unused_tool_guard(struct mortise_loader *ld,
                                     const struct mortise_node_reader *r,
                                     const char *list)
{
    const struct mortise_yaml *policy =
        mortise_yaml_get(r->map, "guardrail_policy");

    mortise_diag_add(ld->diags, "E0318", mortise_yaml_key(policy, list)->span,
                     "'%s' of the guardrail_policy has nothing to check: node "
                     "'%s' has no tool_allowlist",
                     list, r->node->id);
}

/* The node's guardrails check the arguments of a tool first, and its result
 * last.  The stricter of the node's and the tool's reaction applies, so that
 * neither weakens the other. */
static void apply_tool_guards(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_guard_list *in = &r->node->guards[MORTISE_GUARD_TOOLS];
    const struct mortise_guard_list *out =
        &r->node->guards[MORTISE_GUARD_TOOL_RESULTS];
    struct mortise_graph *g = r->node->tools;

    if (in->n + out->n > 0 && (g == NULL || g->n_offered == 0) &&
        !mortise_node_has_key(r, "tool_allowlist"))
        report_unused_tool_guard(ld, r, in->n > 0 ? "tools" : "tool_results");
    for (size_t i = 0; g != NULL && in->n + out->n > 0 && i < g->n_offered;
         i++) {
        struct mortise_node *tool = &g->nodes[i];
        bool own = tool->guards[MORTISE_GUARD_INPUT].n > 0 ||
                   tool->guards[MORTISE_GUARD_OUTPUT].n > 0;

        concat_guard_lists(ld, &tool->guards[MORTISE_GUARD_INPUT], in,
                           &tool->guards[MORTISE_GUARD_INPUT]);
        concat_guard_lists(ld, &tool->guards[MORTISE_GUARD_OUTPUT],
                           &tool->guards[MORTISE_GUARD_OUTPUT], out);
        tool->on_violation = get_stricter_reaction(own ? tool->on_violation
                                                       : r->node->on_violation,
                                                   r->node->on_violation);
    }
}

void mortise_node_complete_tools(struct mortise_loader *ld,
                                 struct mortise_node_reader *r)
{
    struct mortise_graph *g = r->node->tools;
    json_t *list = json_array();
    char *text = NULL;
    int rv = list != NULL ? 0 : -1;

    apply_tool_guards(ld, r);
    for (size_t i = 0; rv == 0 && g != NULL && i < g->n_offered; i++)
        rv = append_offer(list, g->offers[i].name, g->offers[i].description,
                          g->offers[i].parameters);
    for (size_t i = 0; rv == 0 && g != NULL && i < g->n_handovers; i++)
        rv = append_handover_offer(list, &g->handovers[i], ld->arena);
    if (rv == 0 && g != NULL &&
        (text = mortise_json_to_text(ld->mem, list)) != NULL)
        g->offered = mortise_arena_strdup(ld->arena, text);
    ld->nomem |= rv != 0 || (g != NULL && g->offered == NULL);
    mortise_release_str(ld->mem, text);
    json_decref(list);
}
