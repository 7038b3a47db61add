/* plan.c -- `mortise plan`: a model plans a goal as a task graph.
 *
 * Planning is itself a run, of the graph that this file builds.  In one node a
 * model writes a graph.  Another node checks it like any other graph
 * (agent/proposal), and returns the findings to the first, up to a number of
 * times.  Therefore planning is durable, counts against budgets and is visible
 * in show and events, like any run.  It can be continued after a crash with
 * --continue.
 *
 * With --departments, the model first chooses departments; the part of each is
 * planned and checked independently, in parallel; a director then merges the
 * parts into one plan, which is checked again.
 *
 * The prompts of the models are below, and are the input of that run. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/files.h"
#include "core/base/id.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "cli/watch.h"
#include "core/model/graph.h"
#include "core/json/value.h"
#include "lang/yaml/tree.h"

static const char graph_name[] = "mortise-plan";

enum {
    REPLANS = 2,      /* default */
    REPLANS_MAX = 30, /* limits.visits is 32 */
    MAX_NODES = 64    /* in a graph that a model proposes */
};

/* ---- prompts ------------------------------------------------------------ */

static const char instructions[] =
    "You plan how a goal is reached. Write the plan as a graph of tasks, in "
    "YAML, and nothing else:\n"
    "\n"
    "metadata: {name: short-name, version: 1.0.0}\n"
    "start: [find]        # the tasks that depend on none\n"
    "nodes:\n"
    "  find:\n"
    "    goal: What is to be done, in full\n"
    "    tool_allowlist: [PLUGIN/OPERATION]\n"
    "    role: researcher\n"
    "  write:\n"
    "    goal: What is to be made of that\n"
    "    depends_on: [find]\n"
    "  review:\n"
    "    type: team\n"
    "    goal: What these are to come to together\n"
    "    depends_on: [write]\n"
    "    graph:\n"
    "      start: [one, other]\n"
    "      nodes: {one: {goal: A part}, other: {goal: Another part}}\n"
    "\n"
    "Each task is done by a worker that sees its goal and what those came to "
    "that it depends on, and nothing else. Tasks that do not depend on each "
    "other are done side by side. A role and a list of tools may be left out; "
    "use only those that you are told of. Make no more tasks than it takes.";

static const char to_split[] =
    "Which departments are to work on it? Reply with two to six of them as "
    "JSON, {\"departments\": [{\"id\": a short word, \"goal\": what it is to "
    "do}]}.";

static const char to_direct[] =
    "You are the director. Make one plan of what the departments planned: a "
    "task or a team for what each of them does, what depends on what between "
    "them, and what brings it together.";

/* ---- the planning graph ------------------------------------------------- */

/* The graph consists of: `graph_head`, the model, one of the two starts, the
 * plan node, with departments the merge prompt, and the check node. */
static const char graph_head[] =
    "apiVersion: mortise/v1\n"
    "kind: Graph\n"
    "metadata: {name: mortise-plan, version: 1.0.0}\n"
    "defaults:\n"
    "  retry_policy: {max_attempts: 3, delay: 2s}\n"
    "  llm: {provider_id: ";

#define CHECK(what, next)                                                      \
    "    type: tool\n"                                                         \
    "    tool: agent/proposal\n"                                               \
    "    args:\n"                                                              \
    "      text: ${artifacts." what "}\n"                                      \
    "      with: ${input.with}\n"                                              \
    "      last: ${node.visit > input.max_replans}\n"                          \
    "    routes: [{when: output.valid, to: " next "}]\n"                       \
    "    default: " what "\n"

static const char start_without_departments[] = "}\n"
                                                "start: plan\n"
                                                "nodes:\n";

/* A prompt ends with the findings about the previous plan, if there is one. */
#define AGAIN(check)                                                           \
    "${has(artifacts." check ") ? \"\\n\\n\" + artifacts." check               \
    ".again : \"\"}\n"

static const char start_with_departments[] =
    "}\n"
    "start: split\n"
    "nodes:\n"
    "  split:\n"
    "    type: gmi\n"
    "    prompt: |-\n"
    "      ${input.brief}\n"
    "\n"
    "      ${input.split}\n"
    "    execution_mode: react_bounded\n"
    "    output_schema:\n"
    "      type: object\n"
    "      required: [departments]\n"
    "      properties:\n"
    "        departments:\n"
    "          type: array\n"
    "          minItems: 1\n"
    "          maxItems: 6\n"
    "          items:\n"
    "            type: object\n"
    "            required: [id, goal]\n"
    "            properties: {id: {type: string}, goal: {type: string}}\n"
    "    map: {over: artifacts.split.departments, as: department, to: draft, "
    "join: plan}\n"
    "  draft:\n"
    "    type: gmi\n"
    "    instructions: ${input.instructions}\n"
    "    prompt: |-\n"
    "      ${input.brief}\n"
    "\n"
    "      Plan the part of the department \"${department.id}\" alone: "
    "${department.goal}" AGAIN("checked") "    next: checked\n"
                                          "  checked:\n" CHECK("draft", "plan");

static const char graph_plan_node[] =
    "  plan:\n"
    "    type: gmi\n"
    "    instructions: ${input.instructions}\n"
    "    prompt: |-\n"
    "      ${input.brief}";

static const char graph_merge_prompt[] =
    "\n\n"
    "      ${input.direct}\n"
    "\n"
    "      ${artifacts.draft.results.map(one, one.graph).join(\"\\n---\\n\")}";

static const char graph_check_node[] =
    AGAIN("check") "    next: check\n"
                   "  check:\n" CHECK("plan", "END");

/* Encode as a JSON string. */
static json_t *encode_planning_graph(const struct mortise_args *a,
                                     const struct mortise_mem *mem)
{
    const char *model = a->model != NULL ? a->model : "default";
    const char *parts[] = {
        a->departments ? start_with_departments : start_without_departments,
        graph_plan_node, a->departments ? graph_merge_prompt : "",
        graph_check_node};
    json_t *out = NULL, *name = json_string(model);
    struct mortise_buf text;

    mortise_buf_init(&text, mem);
    mortise_buf_puts(&text, graph_head);
    if (name == NULL || mortise_json_write(&text, name) != MORTISE_OK)
        text.failed = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        mortise_buf_puts(&text, parts[i]);
    if (mortise_buf_cstr(&text) != NULL)
        out = json_string(text.p);
    mortise_buf_finish(&text);
    json_decref(name);
    return out;
}

/* ---- roles and tools ---------------------------------------------------- */

/* The roles of --roles, and their text, which has the same line numbers as the
 * file. */
struct roles {
    json_t *list; /* owned: by id */
    struct mortise_buf text;
};

/* Put the content of a document without the markers `---` and `...`, at its
 * original line and column. */
static void put_yaml_document(struct mortise_buf *b,
                              const struct mortise_yaml *root)
{
    const struct mortise_source_file *f = root->span.file;
    const struct mortise_span at = root->span;
    size_t from = f->line_at[at.line - 1] + at.col - 1, to = f->size;

    if (at.end_line <= f->n_lines &&
        f->line_at[at.end_line - 1] + at.end_col - 1 < to)
        to = f->line_at[at.end_line - 1] + at.end_col - 1;
    for (uint32_t line = 1; line < at.line; line++)
        mortise_buf_puts(b, "\n");
    for (uint32_t col = 1; col < at.col; col++)
        mortise_buf_puts(b, " ");
    mortise_buf_put(b, f->text + from, to - from);
}

/* The file must be a mapping like that under `roles` in a graph, without the
 * key itself. */
static int check_roles_shape(const struct mortise_yaml *root,
                             struct mortise_diags *diags)
{
    const struct mortise_yaml *in = root;
    struct mortise_diag *d;

    if (root->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(diags, "E0203", root->span,
                         "the file must be a mapping from ids to roles");
        return MORTISE_ECHECK;
    }
    if (root->n != 1 || strcmp(root->keys[0]->str, "roles") != 0)
        return MORTISE_OK;
    in = root->items[0];
    if (in->kind != MORTISE_YAML_MAP || in->n == 0 ||
        in->items[0]->kind != MORTISE_YAML_MAP)
        return MORTISE_OK;
    d = mortise_diag_add(
        diags, "E0203", root->keys[0]->span,
        "this file must map ids to roles directly, without the key 'roles'");
    mortise_diag_help(diags, d,
                      "remove the line `roles:`, and begin the file with the "
                      "id of the first role");
    return MORTISE_ECHECK;
}

static int read_roles_file(struct mortise_cli *cli, struct roles *r,
                           struct mortise_err *err)
{
    const char *path = cli->args.roles;
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    int rv;

    mortise_diags_init(&diags, cli->mem);
    mortise_arena_init(&arena, cli->mem);
    rv = mortise_yaml_read(&root, &arena, path, &diags);
    if (rv == MORTISE_OK)
        rv = check_roles_shape(root, &diags);
    if (rv == MORTISE_OK) {
        r->list = mortise_yaml_to_json(root, true);
        put_yaml_document(&r->text, root);
        rv = r->list != NULL && !r->text.failed ? MORTISE_OK
                                                : mortise_nomem(err);
    }
    mortise_cli_print_findings(cli, &diags);
    mortise_arena_finish(&arena);
    return rv == MORTISE_ECHECK
               ? mortise_fail(err, rv, "%s is not a valid file of roles", path)
               : rv;
}

/* The roles, tools and limits to plan with. */
struct means {
    struct roles roles;
    json_t *model;      /* owned: its alias */
    json_t *brief;      /* owned: the description for the model */
    uint64_t nodes;     /* the maximal nodes of a plan */
    bool lacks_default; /* no alias "default": plans use `model` */
};

/* Put each line indented by two columns; returns the number of lines. */
static uint32_t put_indented_lines(struct mortise_buf *b,
                                   const struct mortise_buf *in)
{
    uint32_t lines = 0;

    for (size_t at = 0; at < in->n; lines++) {
        const char *line = in->p + at, *stop;
        size_t n;

        stop = memchr(line, '\n', in->n - at);
        n = stop != NULL ? (size_t)(stop - line) : in->n - at;
        mortise_buf_puts(b, "  ");
        mortise_buf_put(b, line, n);
        mortise_buf_puts(b, "\n");
        at += n + 1;
    }
    return lines;
}

/* Put a node with the role. */
static void put_role_node(struct mortise_buf *b, size_t i, const char *role)
{
    json_t *name = json_string(role);

    mortise_buf_printf(b, "  role%zu: {type: leaf, goal: x, role: ", i);
    b->failed |= name == NULL || mortise_json_write(b, name) != MORTISE_OK;
    mortise_buf_puts(b, "}\n");
    json_decref(name);
}

/* Put a graph that tests the deployment's tools and the roles: the first node
 * may use all tools, and each other node has one role, as far as the limit of
 * nodes allows.  Returns the number of lines of the roles. */
static uint32_t put_probe_graph(struct mortise_buf *b, const struct means *with)
{
    json_t *roles = with->roles.list;
    size_t n = json_object_size(roles), i = 0;
    uint32_t lines;

    if (n >= with->nodes)
        n = with->nodes - 1;
    if (with->roles.text.n > 0)
        mortise_buf_puts(b, "roles:\n");
    lines = put_indented_lines(b, &with->roles.text);
    mortise_buf_puts(b, "apiVersion: mortise/v1\n"
                        "kind: Graph\n"
                        "metadata: {name: probe, version: 1.0.0}\n"
                        "defaults: {llm: {provider_id: ");
    b->failed |= mortise_json_write(b, with->model) != MORTISE_OK;
    mortise_buf_puts(b, "}}\nstart: [all");
    for (size_t k = 0; k < n; k++)
        mortise_buf_printf(b, ", role%zu", k);
    mortise_buf_puts(b, "]\n"
                        "nodes:\n"
                        "  all: {type: gmi, prompt: x, tool_allowlist: "
                        "['*/*'], next: END}\n");
    for (void *it = json_object_iter(roles); it != NULL && i < n;
         it = json_object_iter_next(roles, it))
        put_role_node(b, i++, json_object_iter_key(it));
    return lines;
}

/* Move findings about the roles to their place in the file, one line up and two
 * columns to the left.  Other findings are about the deployment or the command
 * line, and lose their place. */
static void relocate_findings(struct mortise_diags *d, uint32_t lines)
{
    for (size_t i = 0; i < d->n; i++) {
        struct mortise_diag *f = &d->list[i];

        if (f->span.line < 2 || f->span.line > lines + 1) {
            f->span = (struct mortise_span){.file = NULL};
            f->path = f->source = NULL;
            continue;
        }
        f->span.line--;
        f->span.end_line--;
        f->span.col -= f->span.col > 2 ? 2 : 0;
        f->span.end_col -= f->span.end_col > 2 ? 2 : 0;
    }
}

static void put_tool_list(struct mortise_buf *b, const struct mortise_graph *g)
{
    const struct mortise_graph *tools = g->nodes[0].tools;
    json_t *offered; /* the plugins' own copies of the texts are freed */

    if (tools == NULL || tools->n_offered == 0) {
        mortise_buf_puts(b, "\n\nThere are no tools.");
        return;
    }
    mortise_buf_puts(b, "\n\nTools:");
    offered = mortise_json_parse_trusted(tools->offered);
    MORTISE_JSON_EACH (one_tool, i, offered) {
        const char *about = mortise_cli_get_text(one_tool, "description");

        mortise_buf_puts(b, "\n- ");
        mortise_buf_puts(b, tools->offers[i].tool);
        mortise_buf_puts(b, about[0] != '\0' ? ": " : "");
        mortise_buf_puts(b, about);
    }
    b->failed |= offered == NULL;
    json_decref(offered);
}

static void put_role_list(struct mortise_buf *b, const json_t *roles)
{
    static const char *const said[] = {"display_name",
                                       "system_prompt_fragment"};
    const char *id;
    json_t *role;

    mortise_buf_puts(b,
                     "\n\nRoles: researcher, red-team, fact-checker, writer, "
                     "editor, critic, synthesizer");
    json_object_foreach(mortise_json_unconst(roles), id, role)
    {
        mortise_buf_puts(b, "\n- ");
        mortise_buf_puts(b, id);
        for (size_t i = 0; i < 2; i++) {
            const char *text = mortise_cli_get_text(role, said[i]);

            mortise_buf_puts(b, text[0] != '\0' ? ": " : "");
            mortise_buf_puts(b, text);
        }
    }
}

static void finish_means(struct means *with)
{
    mortise_buf_finish(&with->roles.text);
    json_decref(with->roles.list);
    json_decref(with->model);
    json_decref(with->brief);
}

static int init_means(struct means *with, struct mortise_cli *cli,
                      struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    *with = (struct means){
        .roles.list = a->roles == NULL ? json_object() : NULL,
        .model = json_string(a->model != NULL ? a->model : "default")};
    mortise_buf_init(&with->roles.text, cli->mem);
    if (with->model == NULL || (a->roles == NULL && with->roles.list == NULL))
        return mortise_nomem(err);
    return a->roles != NULL ? read_roles_file(cli, &with->roles, err)
                            : MORTISE_OK;
}

static int read_planning_limits(struct means *with, struct mortise_cli *cli,
                                struct mortise_err *err)
{
    struct mortise_settings settings;
    int rv = mortise_cli_open_settings_quietly(cli, &settings, err);

    if (rv == MORTISE_OK) {
        const struct mortise_models *models = &settings.deployment->models;

        with->nodes =
            mortise_cli_get_limit(&settings, MORTISE_LIMIT_NODES, MAX_NODES);
        with->lacks_default = mortise_model_find(models, "default") == NULL;
    }
    mortise_settings_close(&settings);
    return rv;
}

/* Make the model's description of the task: the goal, the roles and the tools.
 */
static int make_planning_brief(struct means *with, struct mortise_cli *cli,
                               const struct mortise_graph *probe,
                               struct mortise_err *err)
{
    struct mortise_buf text;

    mortise_buf_init(&text, cli->mem);
    mortise_buf_puts(&text, "The goal: ");
    mortise_buf_puts(&text, cli->args.operands[0]);
    put_role_list(&text, with->roles.list);
    put_tool_list(&text, probe);
    if (mortise_buf_cstr(&text) != NULL)
        with->brief = json_string(text.p);
    mortise_buf_finish(&text);
    return with->brief != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int probe_deployment(struct means *with, struct mortise_cli *cli,
                            struct mortise_err *err)
{
    const char *path = cli->args.roles != NULL ? cli->args.roles : graph_name;
    struct mortise_graph *g = NULL;
    struct mortise_diags diags;
    struct mortise_buf probe;
    uint32_t lines;
    int rv;

    mortise_buf_init(&probe, cli->mem);
    mortise_diags_init(&diags, cli->mem);
    lines = put_probe_graph(&probe, with);
    rv = mortise_buf_cstr(&probe) != NULL
             ? mortise_cli_make_graph(cli, path, probe.p, probe.n, &diags, &g,
                                      err)
             : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = make_planning_brief(with, cli, g, err);
    relocate_findings(&diags, lines);
    if (rv != MORTISE_OK) /* other findings are about the generated probe */
        mortise_cli_print_findings(cli, &diags);
    else
        mortise_diags_finish(&diags);
    mortise_graph_unref(g);
    mortise_buf_finish(&probe);
    return rv;
}

/* Encode the members that each plan must have. */
static json_t *encode_fixed_parts(const struct mortise_args *a,
                                  const struct means *with)
{
    json_t *roles = with->roles.list, *defaults = NULL;

    if (with->lacks_default)
        defaults = json_pack("{s:{s:O}}", "llm", "provider_id", with->model);
    return json_pack("{s:s, s:s, s:s, s:{s:I}, s:o*, s:O*, s:s*}", "apiVersion",
                     "mortise/v1", "kind", "Graph", "goal", a->operands[0],
                     "limits", "nodes", (json_int_t)with->nodes, "defaults",
                     defaults, "roles",
                     json_object_size(roles) > 0 ? roles : NULL, "hitl_mode",
                     a->approve ? "approve_plan" : NULL);
}

static int parse_max_replans(const struct mortise_args *a, uint64_t *out,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    *out = REPLANS;
    if (a->max_replans != NULL)
        rv =
            mortise_cli_parse_number("--max-replans", a->max_replans, out, err);
    return rv == MORTISE_OK && *out > REPLANS_MAX
               ? mortise_fail(err, MORTISE_EINVAL, "--max-replans: at most %d",
                              REPLANS_MAX)
               : rv;
}

static int make_planning_input(struct mortise_cli *cli, json_t **out,
                               struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct means with;
    uint64_t replans;
    int rv = parse_max_replans(a, &replans, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = init_means(&with, cli, err);
    if (rv == MORTISE_OK)
        rv = read_planning_limits(&with, cli, err);
    if (rv == MORTISE_OK)
        rv = probe_deployment(&with, cli, err);
    if (rv == MORTISE_OK) {
        *out = json_pack(
            "{s:s, s:s, s:s, s:O, s:o, s:I}", "instructions", instructions,
            "split", to_split, "direct", to_direct, "brief", with.brief, "with",
            encode_fixed_parts(a, &with), "max_replans", (json_int_t)replans);
        rv = *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    finish_means(&with);
    return rv;
}

/* ---- running ------------------------------------------------------------ */

/* Takes the body; shows the events until the run rests. */
static int watch_planning(struct mortise_watch_session *w, const char *what,
                          json_t *body, struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv = mortise_watch_run(w, what, body, &reply, err);

    json_decref(reply);
    return rv;
}

static int start_planning(struct mortise_watch_session *w,
                          struct mortise_err *err)
{
    const struct mortise_args *a = &w->cli->args;
    char made[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];
    json_t *input = NULL;
    int rv = make_planning_input(w->cli, &input, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_open(w->cli, NULL, err);
    if (rv != MORTISE_OK) {
        json_decref(input);
        return rv;
    }
    mortise_uuid_format(made, mortise_uuid7_make_now());
    mortise_uuid_format(order, mortise_uuid7_make_now());
    return watch_planning(
        w, "start",
        json_pack("{s:{s:s, s:o}, s:s, s:o, s:s, s:s}", "graph", "path",
                  graph_name, "source", encode_planning_graph(a, w->cli->mem),
                  "run", a->id != NULL ? a->id : made, "input", input, "order",
                  order, "until", "idle"),
        err);
}

static bool has_text_member(const json_t *show, const char *member,
                            const char *word)
{
    return strcmp(mortise_cli_get_text(show, member), word) == 0;
}

static size_t count_node_visits(const json_t *show, const char *node)
{
    size_t n = 0;

    MORTISE_JSON_EACH (one_node, i, json_object_get(show, "nodes"))
        n += has_text_member(one_node, "node", node);
    return n;
}

/* Did the run fail because the last allowed plan still had errors? */
static bool has_exhausted_replans(const json_t *show)
{
    return has_text_member(show, "status", "failed") &&
           has_text_member(json_object_get(show, "error"), "code", "plan");
}

/* Give the model the findings of the last check and let it plan again.  With
 * departments, any of them may have failed, so all planning starts again. */
static json_t *build_correction_commands(const json_t *show)
{
    const json_t *state = json_object_get(show, "state");
    struct mortise_buf again;
    json_t *out = NULL;

    if (count_node_visits(show, "plan") == 0)
        return json_pack("[{s:s, s:s}]", "kind", "goto", "node", "split");
    mortise_buf_init(&again, &mortise_heap);
    mortise_buf_puts(&again, "You planned:\n\n");
    mortise_buf_puts(&again, mortise_cli_get_text(
                                 json_object_get(state, "artifacts"), "plan"));
    mortise_buf_puts(&again, "\n\nBut ");
    mortise_buf_puts(&again, mortise_cli_get_text(
                                 json_object_get(show, "error"), "message"));
    mortise_buf_puts(&again,
                     "\nReply with the whole plan once more, corrected.");
    if (mortise_buf_cstr(&again) != NULL)
        out = json_pack("[{s:s, s:{s:{s:{s:s}}}, s:b}, {s:s, s:s}]", "kind",
                        "update", "value", "artifacts", "check", "again",
                        again.p, "merge", 1, "kind", "goto", "node", "plan");
    mortise_buf_finish(&again);
    return out;
}

/* If the last plan had errors, resuming would only repeat the check, so the
 * model is asked again. */
static json_t *build_continue_commands(const json_t *show)
{
    return has_exhausted_replans(show) ? build_correction_commands(show)
                                       : json_pack("[{s:s}]", "kind", "resume");
}

/* Continue a run that crashed, was paused or failed.  A completed run already
 * has its plan. */
static int continue_planning(struct mortise_watch_session *w,
                             struct mortise_err *err)
{
    json_t *show = NULL;
    int rv = mortise_cli_open(w->cli, NULL, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_find_run_to_change(w->cli, w->cli->args.id, w->run,
                                            err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(w->cli, w->run, &show, err);
    if (rv == MORTISE_OK &&
        !has_text_member(json_object_get(show, "graph"), "name", graph_name))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "run %s was not started by 'mortise plan'", w->run);
    if (rv == MORTISE_OK && !has_text_member(show, "status", "completed"))
        rv = watch_planning(
            w, "command",
            mortise_watch_make_command(w, build_continue_commands(show)), err);
    json_decref(show);
    return rv;
}

/* ---- results ------------------------------------------------------------ */

/* Get the plan that was checked last. */
static const json_t *get_checked_plan(const json_t *show)
{
    const json_t *state = json_object_get(show, "state");

    return json_object_get(json_object_get(state, "artifacts"), "check");
}

static int print_plan(struct mortise_watch_session *w, const json_t *show,
                      struct mortise_err *err)
{
    struct mortise_cli *cli = w->cli;
    const json_t *plan = get_checked_plan(show);
    const char *text = mortise_cli_get_text(plan, "graph"), *to = cli->args.to;
    int rv = MORTISE_OK;

    if (to != NULL)
        rv = mortise_file_write_output(to, text, strlen(text), 0644, 0, err);
    if (rv != MORTISE_OK)
        return rv;
    if (cli->args.json) {
        json_t *out = json_pack(
            "{s:s, s:s, s:s, s:I, s:s*}", "run", w->run, "graph", text,
            "picture", mortise_cli_get_text(plan, "picture"), "plans",
            (json_int_t)count_node_visits(show, "plan"), "file", to);

        mortise_out_put_json(&cli->out, out, false);
        json_decref(out);
        return MORTISE_OK;
    }
    mortise_out_put_text(&cli->out, mortise_cli_get_text(plan, "picture"), 0);
    mortise_out_puts(&cli->out, "\n");
    mortise_out_put_text(&cli->out, text, 0);
    return MORTISE_OK;
}

/* Print the commands that settle pending requests or raise limits, and the one
 * that continues the planning. */
static void print_next_commands(struct mortise_cli *cli, struct mortise_out *o,
                                const char *run, const json_t *show)
{
    const json_t *limit = json_object_get(show, "limit");
    struct mortise_cli_continuation way = mortise_cli_get_continuation(
        cli, o, run, json_object_get(show, "blocked"));

    MORTISE_JSON_EACH (request, i, json_object_get(show, "pending"))
        mortise_cli_print_request(&way, request);
    if (way.stuck)
        return;
    mortise_cli_print_unquarantines(&way);
    if (json_is_object(limit))
        mortise_cli_print_limit_raise(&way, limit);
    mortise_cli_start_suggestion(cli, o, "plan");
    mortise_out_puts(o, " --continue --id ");
    mortise_out_put_shell_word(o, run);
    mortise_out_puts(o, "\n");
}

static void print_no_plan_json(struct mortise_watch_session *w,
                               const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    bool failed = json_is_object(error);
    struct mortise_buf b;
    struct mortise_out o;

    mortise_buf_init(&b, w->cli->mem);
    mortise_out_init_buf(&o, &b);
    print_next_commands(w->cli, &o, w->run, show);
    mortise_out_flush(&o);
    mortise_cli_print_json_error(
        w->cli,
        failed ? mortise_cli_get_text(error, "code")
               : mortise_result_name(MORTISE_ESTATE),
        failed ? mortise_cli_get_text(error, "message")
               : "the run has no plan yet",
        json_pack("{s:s, s:s, s:O*, s:o}", "run", w->run, "status",
                  mortise_cli_get_text(show, "status"), "pending",
                  json_object_get(show, "pending"), "commands",
                  mortise_cli_split_commands(
                      mortise_buf_cstr(&b) != NULL ? b.p : "")));
    mortise_buf_finish(&b);
}

/* The run rests without a plan: print the reason and the next commands. */
static int print_no_plan(struct mortise_watch_session *w, const json_t *show)
{
    struct mortise_cli *cli = w->cli;
    const json_t *error = json_object_get(show, "error");
    const char *status = mortise_cli_get_text(show, "status");

    mortise_out_flush(&cli->out);
    if (cli->args.json) {
        print_no_plan_json(w, show);
    } else {
        if (json_is_object(error)) {
            mortise_out_print_escaped(&cli->err,
                                      "mortise: the run has no plan (%s)\n",
                                      mortise_cli_get_text(error, "code"));
            mortise_out_put_text(&cli->err,
                                 mortise_cli_get_text(error, "message"), 2);
        } else {
            mortise_out_print_escaped(&cli->err, "mortise: run %s is %s\n",
                                      w->run, status);
        }
        mortise_out_print_escaped(&cli->err, has_exhausted_replans(show)
                                                 ? "to ask the model again:\n"
                                                 : "to continue:\n");
        print_next_commands(cli, &cli->err, w->run, show);
    }
    return (int)mortise_exit_code_of_status(mortise_status_parse(status));
}

/* Run the plan like any other graph. */
static int run_printed_plan(struct mortise_watch_session *w, const json_t *show)
{
    char made[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];
    const char *to = w->cli->args.to;

    mortise_uuid_format(made, mortise_uuid7_make_now());
    mortise_uuid_format(order, mortise_uuid7_make_now());
    return mortise_cli_run_and_watch(
        w->cli, "start",
        json_pack("{s:{s:s, s:O}, s:s, s:s, s:s}", "graph", "path",
                  to != NULL ? to : "plan.yaml", "source",
                  json_object_get(get_checked_plan(show), "graph"), "run", made,
                  "order", order, "until", "idle"),
        "", 0);
}

static int finish_planning(struct mortise_watch_session *w, int *code,
                           struct mortise_err *err)
{
    json_t *show = NULL;
    int rv = mortise_cli_get_show(w->cli, w->run, &show, err);
    bool done =
        rv == MORTISE_OK && has_text_member(show, "status", "completed");

    if (done)
        rv = print_plan(w, show, err);
    else if (rv == MORTISE_OK)
        *code = print_no_plan(w, show);
    if (done && rv == MORTISE_OK && w->cli->args.runs)
        *code = run_printed_plan(w, show);
    json_decref(show);
    return rv;
}

/* ---- command ------------------------------------------------------------ */

static int plan(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_watch_session w;
    int code = MORTISE_EXIT_OK, rv;

    if (a->go_on && (a->id == NULL || a->n_operands > 0 || a->roles != NULL ||
                     a->model != NULL || a->max_replans != NULL ||
                     a->departments || a->approve))
        return mortise_cli_fail_usage(
            cli, "--continue continues the run of --id with its recorded goal "
                 "and options; give only --out and --run, and no GOAL");
    if (!a->go_on && a->n_operands == 0)
        return mortise_cli_fail_usage(cli, "GOAL is missing");
    mortise_watch_session_init(&w, cli);
    w.made_graph = true;
    rv = mortise_stop_install(err);
    if (rv == MORTISE_OK)
        rv = a->go_on ? continue_planning(&w, err) : start_planning(&w, err);
    if (rv == MORTISE_OK)
        rv = finish_planning(&w, &code, err);
    return rv == MORTISE_OK ? code : rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("model", "ALIAS", model,
                     "Alias of the model that plans (default: default);\n"
                     "the plan's nodes use it, too, if the deployment\n"
                     "has no alias default"),
    MORTISE_OPT_TEXT("roles", "FILE", roles,
                     "Roles for the plan, in addition to the built-in\n"
                     "ones: a mapping, as under `roles` of a graph"),
    MORTISE_OPT_FLAG("departments", departments,
                     "Plan in three steps: choose departments, plan the\n"
                     "part of each, and merge the parts into one plan"),
    MORTISE_OPT_TEXT("max-replans", "N", max_replans,
                     "How often the model can correct a plan that has\n"
                     "errors (default: 2)"),
    MORTISE_OPT_TEXT("out", "FILE", to, "Also write the plan to this file"),
    MORTISE_OPT_FLAG("approve", approve,
                     "Set `hitl_mode: approve_plan` in the plan: each run\n"
                     "of the plan first asks a person to approve the plan"),
    MORTISE_OPT_FLAG("run", runs, "Run the plan"),
    MORTISE_OPT_FLAG("continue", go_on,
                     "Continue the planning run of --id, or print its plan\n"
                     "if it has completed; if it failed because each plan\n"
                     "had errors, the model tries once more"),
    MORTISE_OPT_TEXT("id", "X", id,
                     "Id of the planning run; with --continue, of the\n"
                     "run to continue"),
    MORTISE_OPTS_OF_CONTINUING,
};

const struct mortise_cmd mortise_cmd_plan = {
    .name = "plan",
    .operands = "[GOAL]",
    .summary = "Let a model plan a goal as a graph of tasks",
    .text =
        "The model gets the goal, the roles and the deployment's tools.\n"
        "It writes a graph of tasks (leaves) and groups of tasks (teams),\n"
        "with at most 64 nodes.  Mortise checks the graph as 'mortise\n"
        "check' does.  If the check finds errors, the model gets the\n"
        "findings and writes a new graph, at most --max-replans times.  If\n"
        "the last graph still has errors, the command prints the findings,\n"
        "and the exit code is 1.  Otherwise the command prints the plan as\n"
        "a picture and as YAML.\n"
        "\n"
        "Planning is a run like any other: 'mortise show' lists each\n"
        "attempt, and --continue --id X continues the planning after a\n"
        "crash.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_SAME_DEPLOYMENT,
    .example = "mortise plan \"Compare three ways to store our logs\" "
               "--out logs.graph.yaml",
    .run = plan,
};
