/* gmi.c -- gmi nodes (general model invocation): an operation that asks models.
 *
 * The node describes the request to the model.  The operation is agent/gmi
 * unless the deployment's `executors` has another one.  Its arguments are
 *
 *     {args, node}
 *
 * where `node` has the keys below as written, with their templates evaluated,
 * and the output_schema, in which nothing is a template.  Keys that are not
 * written are absent: the operation has the defaults.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lang/graph/kinds/agent.h"

/* The data of a node. */
struct gmi {
    struct mortise_agent agent;         /* first: agent.h's rows read into it */
    const struct mortise_yaml *choice;  /* the name of a tool; or NULL */
    const struct mortise_yaml *planner; /* an operation; or NULL */
};

_Static_assert(offsetof(struct gmi, agent) == 0, "a gmi node is an agent");

static struct gmi *get_gmi_data(const void *reading)
{
    const struct mortise_node_reader *r = reading;

    return r->node->own;
}

static struct mortise_node *get_gmi_node(void *reading)
{
    struct mortise_node_reader *r = reading;

    return r->node;
}

/* ---- keys ------------------------------------------------------------------ */

static const struct mortise_word modes[] = {
    {.word = "single_turn"},
    {.word = "react_bounded"},
    {.word = "planner_controlled"},
    {.word = NULL},
};

static const struct mortise_word responses[] = {
    {.word = "text"}, {.word = "json"}, {.word = NULL}};

static const struct mortise_word choice_words[] = {
    {.word = "auto"}, {.word = "none"}, {.word = "required"}, {.word = NULL}};

static const struct mortise_key choice_keys[] = {
    {.name = "tool",
     .about = "PLUGIN/OPERATION or graph/NAME, from the tool_allowlist.",
     .value = MORTISE_V_STRING,
     .required = true},
};
MORTISE_PLACE(choice, "tool_choice");

static const struct mortise_key choices[] = {
    {.value = MORTISE_V_WORD, .words = choice_words},
    {.value = MORTISE_V_MAP, .place = &choice_place},
};

/* The tool of {tool} is resolved after all tools were read. */
static void read_tool_choice(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    const struct mortise_word *w =
        mortise_node_word_or_map(ctx, into, slot, "{tool: NAME}");

    if (slot->value->kind == MORTISE_YAML_MAP)
        get_gmi_data(into)->choice = mortise_yaml_get(slot->value, "tool");
    else if (w != NULL)
        mortise_agent_read_own(ctx, into, slot);
}

/* A planner is a model, {alias}, or an operation, which is added after the
 * tools were read. */
static void read_gmi_planner(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct gmi *gmi = get_gmi_data(into);
    struct mortise_built_map made = {.n = 0};
    bool is_operation = strchr(slot->value->str, '/') != NULL;

    if (is_operation)
        gmi->planner = slot->value;
    else
        gmi->agent.unpriced |=
            !mortise_llm_check(ld, slot->value->str, slot->value->span);
    mortise_built_map_add(
        ld, &made,
        mortise_yaml_make_text(ld, is_operation ? "operation" : "alias",
                               slot->value),
        slot->value);
    mortise_built_map_add(
        ld, &gmi->agent.node, slot->name,
        mortise_built_map_to_yaml(ld, &made, slot->value->span));
}

/* The path of the conversation in the state. */
static void read_gmi_conversation(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_path *path = mortise_load_alloc(ld, sizeof *path);
    const char *name = slot->value->str;
    size_t n = sizeof "conversations[\"\"]" + strlen(name);
    char *text = mortise_load_alloc(ld, n);

    if (path == NULL || text == NULL)
        return;
    if (!mortise_node_is_id(name)) {
        mortise_node_report_bad_id(ld, slot->value);
        return;
    }
    snprintf(text, n, "conversations[\"%s\"]", name);
    ld->nomem |= mortise_path_parse(path, ld->arena, text, strlen(text),
                                    NULL) != MORTISE_OK;
    get_gmi_node(into)->conversation = path;
    mortise_agent_read_own(ctx, into, slot);
}

static const struct mortise_key own_keys[] = {
    {.name = "instructions",
     .about = "The system message, before all other messages.",
     .value = MORTISE_V_TEMPLATE,
     .read = mortise_agent_read_own},
    {.name = "prompt",
     .about = "The prompt: text, or a list of parts (text, image, file). "
              "Default: the graph's input.",
     .value = MORTISE_V_TEMPLATE,
     .read = mortise_agent_read_own},
    MORTISE_ROWS(mortise_agent_rows),
    {.name = "execution_mode",
     .about = "single_turn: one call of the model (the default without tools). "
              "react_bounded: more calls, until the model is done (the default "
              "with tools). planner_controlled: until a planner ends it.",
     .value = MORTISE_V_WORD,
     .words = modes,
     .read = mortise_agent_read_own},
    {.name = "reasoning_effort",
     .about = "The reasoning effort, in the server's terms.",
     .value = MORTISE_V_STRING,
     .read = mortise_agent_read_own},
    {.name = "response",
     .about = "The type of the output: text (the default), or json that "
              "matches output_schema if it is set.",
     .value = MORTISE_V_WORD,
     .words = responses,
     .read = mortise_agent_read_own},
    {.name = "stream",
     .about = "true: emit the text while it arrives (default: true).",
     .value = MORTISE_V_BOOL,
     .read = mortise_agent_read_own},
    {.name = "cache",
     .about =
         "true: ask the server to cache the unchanging part of the prompt.",
     .value = MORTISE_V_BOOL,
     .read = mortise_agent_read_own},
    {.name = "extra",
     .about = "Additional members of the request to the server, unchanged.",
     .value = MORTISE_V_MAP,
     .each = &(const struct mortise_key){.value = MORTISE_V_ANY},
     .read = mortise_agent_read_own},
    {.name = "parallel_tools",
     .about =
         "true: one reply can call several tools at once (default: false).",
     .value = MORTISE_V_BOOL,
     .read = mortise_agent_read_own},
    {.name = "tool_choice",
     .about = "The tools that the model must use: auto (the default), none, "
              "required, or {tool: NAME}.",
     MORTISE_FORMS(choices),
     .read = read_tool_choice},
    {.name = "tool_errors",
     .about = "Errors of tools. feed: the model gets them (the default). fail: "
              "the first one fails the node.",
     .value = MORTISE_V_WORD,
     .words = mortise_tool_error_words,
     .read = mortise_agent_read_own},
    MORTISE_ROWS(mortise_tool_rows),
    {.name = "conversation",
     .about = "The key of a conversation. The node continues it and adds its "
              "messages.",
     .value = MORTISE_V_ID,
     .read = read_gmi_conversation},
    {.name = "messages",
     .about = "Earlier messages, before the prompt: a list in the format of "
              "model requests.",
     .value = MORTISE_V_TEMPLATE,
     .read = mortise_agent_read_own},
    {.name = "message_schema",
     .about =
         "A JSON Schema for messages to the running node (mortise tell). "
         "Messages that do not match are rejected and do not reach the model.",
     .value = MORTISE_V_SCHEMA,
     .read = mortise_load_schema,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_schema *, struct mortise_node, message_schema)},
    {.name = "reports",
     .about =
         "true: the output is the argument of report_result, and the model can "
         "report progress with report_task_progress (default: false).",
     .value = MORTISE_V_BOOL,
     .read = mortise_agent_read_spawning},
    MORTISE_ROW(mortise_subagents_row),
    {.name = "planner",
     .about = "For planner_controlled: PLUGIN/OPERATION or an alias of a model "
              "that decides whether the task is done.",
     .value = MORTISE_V_STRING,
     .read = read_gmi_planner},
};

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),      MORTISE_ROWS(mortise_call_rows),
    MORTISE_ROW(mortise_args_row),      MORTISE_ROWS(own_keys),
    MORTISE_ROW(mortise_policy_row),    MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),    MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows),   MORTISE_ROW(mortise_targets_row),
    MORTISE_ROW(mortise_map_row),       MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_persona_row),   MORTISE_ROW(mortise_resource_row),
    MORTISE_ROWS(mortise_end_rows),     MORTISE_ROW(mortise_memory_row),
    MORTISE_ROW(mortise_discovery_row),
};

/* ---- the arguments of the operation -------------------------------------- */

static void begin_gmi_node(struct mortise_loader *ld,
                           struct mortise_node_reader *r)
{
    mortise_node_read_executor(ld, r, "gmi", "agent/gmi");
}

static void set_default_tool_errors(struct mortise_loader *ld,
                                    struct mortise_node_reader *r)
{
    if (ld->defaults.tool_errors != NULL &&
        mortise_yaml_get(r->map, "tool_errors") == NULL)
        mortise_agent_add_key(ld, r, "tool_errors", ld->defaults.tool_errors);
}

/* Replace {tool: NAME} by {name}, the name that models see. */
static void set_tool_choice(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    const struct mortise_yaml *at = get_gmi_data(r)->choice;
    const struct mortise_node *tool;
    struct mortise_built_map made = {.n = 0};
    struct mortise_yaml *map;

    if (at == NULL || at->kind != MORTISE_YAML_STRING)
        return;
    tool = mortise_graph_find_tool(r->node->tools, at->str);
    if (tool == NULL) {
        mortise_diag_add(ld->diags, "E0514", at->span,
                         "'%s' is not a tool of '%s'", at->str, r->node->id);
        return;
    }
    mortise_built_map_add(ld, &made, mortise_yaml_make_text(ld, "name", at),
                          mortise_yaml_make_text(ld, tool->id, at));
    map = mortise_built_map_to_yaml(ld, &made, at->span);
    mortise_built_map_add(ld, &get_gmi_data(r)->agent.node,
                          mortise_yaml_key(r->map, "tool_choice"), map);
}

/* A planner is required in mode planner_controlled, and has no effect
 * elsewhere. */
static void check_gmi_planner(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_yaml *mode =
        mortise_yaml_get(r->map, "execution_mode");
    const struct mortise_yaml *planner = mortise_yaml_get(r->map, "planner");
    bool plans = mode != NULL && mode->kind == MORTISE_YAML_STRING &&
                 strcmp(mode->str, "planner_controlled") == 0;

    if (plans && !mortise_node_has_key(r, "planner"))
        mortise_diag_add(ld->diags, "E0206", mode->span,
                         "planner_controlled needs the key 'planner'");
    if (!plans && planner != NULL &&
        !mortise_keys_is_uncertain(&mortise_node_kind_of(r->node->type)->place,
                                   r->map, "execution_mode"))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0212", planner->span,
                             "'planner' has no effect here"),
            "set execution_mode: planner_controlled, or remove 'planner'");
}

/* In mode single_turn the model runs no tools, so these keys have no effect. */
static void check_gmi_mode(struct mortise_loader *ld,
                           const struct mortise_node_reader *r)
{
    const struct mortise_yaml *mode =
        mortise_yaml_get(r->map, "execution_mode");
    bool once = mode != NULL && mode->kind == MORTISE_YAML_STRING &&
                strcmp(mode->str, "single_turn") == 0;
    const char *key = mortise_agent_has_true(r, "subagents") ? "subagents"
                      : mortise_agent_has_true(r, "reports") ? "reports"
                                                             : NULL;

    if (once && key != NULL)
        mortise_diag_add(ld->diags, "E0212", mode->span,
                         "single_turn calls the model once, but '%s' needs "
                         "tool calls: remove one of them",
                         key);
}

/* Earlier messages come from the conversation or from `messages`, not both. */
static void check_gmi_messages(struct mortise_loader *ld,
                               const struct mortise_node_reader *r)
{
    const struct mortise_yaml *messages = mortise_yaml_get(r->map, "messages");

    if (messages != NULL && r->node->conversation != NULL)
        mortise_diag_add(ld->diags, "E0212", messages->span,
                         "'conversation' already has the earlier messages: "
                         "remove 'messages' or 'conversation'");
}

/* Check a literal part of a prompt.  The operation checks the results of
 * templates. */
static void check_prompt_part(struct mortise_loader *ld,
                              const struct mortise_yaml *part)
{
    static const struct {
        const char *type, *one, *other;
    } types[] = {{"text", "text", "text"},
                 {"image", "url", "data"},
                 {"file", "url", "data"}};
    const struct mortise_yaml *type =
        part->kind == MORTISE_YAML_MAP ? mortise_yaml_get(part, "type") : NULL;

    if (part->kind == MORTISE_YAML_STRING && strstr(part->str, "${") != NULL)
        return;
    if (type == NULL || type->kind != MORTISE_YAML_STRING) {
        mortise_diag_add(
            ld->diags, "E0203", part->span,
            "a part of a prompt must be {type: text, text: TEXT}, {type: "
            "image, url: URL} or {type: file, url: URL}; an image or a file "
            "can have data: BASE64 instead of url");
        return;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type->str, types[i].type) != 0)
            continue;
        if (mortise_yaml_get(part, types[i].one) == NULL &&
            mortise_yaml_get(part, types[i].other) == NULL)
            mortise_diag_add(ld->diags, "E0206", part->span,
                             "a part of type %s needs %s%s%s", type->str,
                             types[i].one, i > 0 ? " or " : "",
                             i > 0 ? types[i].other : "");
        return;
    }
    if (strstr(type->str, "${") == NULL)
        mortise_diag_add(
            ld->diags, "E0207", type->span,
            "a part of a prompt must be text, image or file, not '%s'",
            type->str);
}

static void check_prompt(struct mortise_loader *ld,
                         const struct mortise_yaml *prompt)
{
    if (prompt == NULL || prompt->kind != MORTISE_YAML_SEQ)
        return;
    if (prompt->n == 0)
        mortise_diag_add(ld->diags, "E0208", prompt->span,
                         "a prompt needs at least one part");
    for (size_t i = 0; i < prompt->n; i++)
        check_prompt_part(ld, prompt->items[i]);
}

/* Pass the results of the node's lookups, as templates. */
static void add_lookup_templates(struct mortise_loader *ld,
                                 const struct mortise_node_reader *r,
                                 struct mortise_built_map *to)
{
    if (r->node->memory != NULL && r->node->memory->reads)
        mortise_built_map_add(ld, to,
                              mortise_yaml_make_text(ld, "memory", r->key),
                              mortise_yaml_make_text(ld, "${memory}", r->key));
    if (r->node->discovers != NULL)
        mortise_built_map_add(
            ld, to, mortise_yaml_make_text(ld, "skills", r->key),
            mortise_yaml_make_text(ld, "${discovery.skills}", r->key));
}

/* Is the value of this key `true`, or the word `word`? */
static bool has_value_or_true(const struct mortise_node_reader *r,
                              const char *key, const char *word)
{
    const struct mortise_yaml *v = mortise_yaml_get(r->map, key);

    if (v == NULL)
        return false;
    return v->kind == MORTISE_YAML_BOOL ? v->u.b : strcmp(v->str, word) == 0;
}

/* The output of the bundled executor is a string unless a key changes that. */
static void set_text_output(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    static const char *const others[] = {"handoffs", "output_schema",
                                         "planner"};

    if (strcmp(r->node->plugin, "agent") != 0 ||
        has_value_or_true(r, "response", "json") ||
        has_value_or_true(r, "reports", "true"))
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (mortise_yaml_get(r->map, others[i]) != NULL)
            return;
    ld->output_of[r->node->index] =
        mortise_load_internal_schema(ld, json_pack("{s:s}", "type", "string"));
}

static void finish_gmi_node(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    struct mortise_built_map all = {.n = 0};
    size_t at = mortise_yaml_find(r->map, "args");

    mortise_agent_add_llm(ld, r);
    mortise_agent_add_persona(ld, r);
    set_default_tool_errors(ld, r);
    check_gmi_planner(ld, r);
    check_gmi_mode(ld, r);
    check_gmi_messages(ld, r);
    check_prompt(ld, mortise_yaml_get(r->map, "prompt"));
    if (get_gmi_data(r)->planner != NULL)
        mortise_node_add_planner(ld, r, get_gmi_data(r)->planner);
    mortise_node_complete_tools(ld, r);
    mortise_node_complete_discovery(ld, r);
    set_tool_choice(ld, r);
    mortise_agent_add_tools(ld, r);
    mortise_agent_add_schema(ld, r);
    if (mortise_yaml_get(r->map, "prompt") == NULL)
        mortise_agent_add_key(ld, r, "prompt",
                              mortise_yaml_make_text(ld, "${input}", r->key));
    if (at != SIZE_MAX)
        mortise_built_map_add(ld, &all, r->map->keys[at], r->map->items[at]);
    add_lookup_templates(ld, r, &all);
    mortise_agent_set_args(ld, r, &all);
    set_text_output(ld, r);
}

const struct mortise_node_kind mortise_graph_kind_gmi = {
    .place = {MORTISE_KIND_PLACE("gmi", keys)},
    .size = sizeof(struct gmi),
    .is_agent = true,
    .begin = begin_gmi_node,
    .finish = finish_gmi_node};
