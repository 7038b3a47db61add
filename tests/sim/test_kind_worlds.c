/* test_kind_worlds.c -- every kind of node, with every policy and every way out
 * of it, under commands, crashes and answers.
 *
 * The node `x` of each graph is of one kind, has one policy, and is left in one
 * way; what stands beside these three is chosen by the graph's number.  Each
 * graph runs in a simulated world (lib/sim) in which a seed chooses what happens
 * next: a call ends, a commit is synced, the process dies, a person decides, or
 * somebody gives one or two commands at once.  What must hold:
 *
 *   (1) Nothing aborts, and no step fails: a command is refused, or obeyed.
 *   (2) Where nothing more happens by itself, the run is at rest: it has ended,
 *       or its status says what it waits for.
 *   (3) A run that is left at rest by a commit is at rest after a crash, too.  An
 *       engine that starts loads no run that waits for people: there must be
 *       nothing that it would do with one.
 *   (4) Two cancels end any run.
 *
 * A part of the graphs runs by default, in one world each; MORTISE_MATRIX=whole
 * runs all of them, in several (`make whole`).  MORTISE_GRAPH=N runs the graph of
 * that number alone, and prints it and its commands. */
#include <signal.h>
#include <unistd.h>

#include "core/model/former.h"
#include "lang/graph/load.h"
#include "lib/drive.h"
#include "lib/matrix.h"
#include "lang/yaml/diag.h"

#define N_ITEMS(array) (sizeof(array) / sizeof(array)[0])

/* ---- what a graph is made of --------------------------------------------- */

#define ASKS(more) "type: tool, tool: t/ask, args: {asks: [" more "]}"
#define QUESTION   "{method: q, kind: question, body: {prompt: x}}"
#define TOOL(op)                                                               \
    "{method: tool.invoke/1, kind: tool, body: {tool: t/" op                   \
    ", arguments: {v: 1}}}"
#define INNER                                                                  \
    "{method: tool.invoke/1, kind: tool, body: {tool: graph/inner, "           \
    "arguments: {}}}"

/* The node. */
static const char *const kinds[] = {
    "type: tool, tool: t/echo, args: {v: \"${input.v}\"}",
    "type: human, prompt: well?",
    "type: guardrail, guardrails: [ok], target: \"1\"",
    "type: subgraph, graph: {start: i, nodes: {i: {type: tool, tool: t/rec, "
    "args: {v: 1}}}}",
    "type: team, goal: g, graph: {start: i, nodes: {i: {goal: q}}}",
    "type: router, condition: \"'b'\", targets: [b, c]",
    "type: gmi, prompt: hi, tool_allowlist: [t/echo, t/write], args: {asks: "
    "[" TOOL("echo") "]}",
    "type: leaf, goal: g",
    "type: voice, voice: {mode: listen-only, audio_in: a.wav}",
    "type: extension, extension: t, method: read, args: {v: 1}",
    "type: tool, tool: t/write, args: {v: 1}",
    "type: tool, tool: t/rec, args: {v: 1}",
    "type: tool, tool: t/idem, args: {v: 1}",
    "type: tool, tool: t/does, args: {asks: [{method: e, kind: effect, body: "
    "{n: 1}}]}",
    "type: tool, tool: t/acts_rec, args: {asks: [{method: e, kind: effect, "
    "lost: 1, body: {n: 1}}, " QUESTION "]}",
    ASKS(QUESTION),
    ASKS("{method: w, kind: timer, body: {for_ms: 90000}}"),
    "type: tool, tool: t/fail, args: {code: lab, class: transient, times: 1}",
    "type: tool, tool: t/fail, args: {code: lab}",
    "type: tool, tool: t/echo, args: {v: 1, goto: b}",
    "type: tool, tool: t/spend, args: {v: 1, usage: {model_calls: 2}}",
    "type: human, prompt: well?, auto_accept: true",
    "type: human, prompt: well?, auto_reject: true",
    "type: human, prompt: well?, wait: 1s, on_timeout: accept",
    "type: human, prompt: well?, wait: 1s, on_timeout: reject",
    "type: human, prompt: well?, wait: 1s, on_timeout: error",
    "type: human, prompt: well?, wait: 1s, on_timeout: {goto: b}",
    "type: human, prompt: well?, post_approval_guardrails: [ok, ok]",
    "type: human, prompt: well?, post_approval_guardrails: [stern]",
    "type: human, prompt: well?, judge: {criteria: '{\"approved\": true, "
    "\"confidence\": 0.9}'}",
    "type: human, prompt: well?, judge: {criteria: nobody knows}",
    "type: guardrail, guardrails: [stern], target: \"1\"",
    "type: guardrail, guardrails: [bad], target: scratch, on_violation: "
    "sanitize",
    "type: guardrail, guardrails: [stern], target: \"1\", on_violation: "
    "reroute, reroute_target: c",
    "type: router, routes: [{when: input.v == 1, to: b}], default: c",
    "type: router, condition: \"'nowhere'\", targets: [b, c]",
    "type: subgraph, graph: {start: i, nodes: {i: {type: human, prompt: "
    "inner?}}}",
    "type: subgraph, graph: {start: i, nodes: {i: {type: tool, tool: t/fail, "
    "args: {code: lab, class: transient, times: 1}}}}",
    "type: subgraph, graph: {hitl_mode: approve_tools, start: i, nodes: {i: "
    "{type: tool, tool: t/write, args: {v: 1}}}}",
    "type: subgraph, input_mapping: {input.n: input.v}, output_mapping: "
    "{scratch.m: artifacts.i.v}, graph: {start: i, nodes: {i: {type: tool, "
    "tool: t/echo, args: {v: \"${input.n}\"}}}}",
    "type: team, goal: g, graph: {start: [i, j], nodes: {i: {goal: q}, j: "
    "{type: tool, tool: t/write, args: {v: 1}}}}",
    "type: gmi, prompt: hi, tool_allowlist: [t/read, {tool: t/write, ask: "
    "true}], args: {asks: [" TOOL("write") ", " TOOL("read") "]}",
    "type: gmi, prompt: hi, tool_allowlist: [{tool: t/echo, ask: true}, {tool: "
    "t/read, ask: true}], args: {at_once: true, asks: [" TOOL("echo") ", " TOOL(
        "read") "]}",
    "type: gmi, prompt: hi, conversation: talk",
    "type: pass",
    "type: fail, code: lab, message: \"v is ${input.v}\"",
    "type: gmi, prompt: hi, max_tokens: 9, tool_allowlist: [graph/inner], "
    "args: {asks: [" INNER ", " INNER "]}",
};

/* The graph that is a tool: of two branches, of which one asks people. */
static const char inner[] =
    "apiVersion: mortise/v1\nkind: Graph\n"
    "metadata: {name: inner, version: 1.0.0}\n"
    "start: [i, j]\n"
    "nodes:\n"
    "  i: {type: tool, tool: t/rec, args: {v: 1}, next: k}\n"
    "  j: {type: human, prompt: inner?, wait: 1h, on_timeout: reject}\n"
    "  k: {type: tool, tool: t/fail, args: {code: lab, class: transient, "
    "times: 1}, retry_policy: {max_attempts: 2, delay: 1ms, retry_on: "
    "[transient]}}\n";

/* What it has besides: keys of the node, of the graph, and other nodes. */
static const struct policy {
    const char *node, *graph;
} policies[] = {
    {"", NULL},
    {"timeout: 5s", NULL},
    {"retry_policy: {max_attempts: 3, delay: 1ms, retry_on: [transient, lab]}",
     NULL},
    {"retry_policy: {max_attempts: 2, delay: 2h, retry_on: [transient, lab]}",
     NULL},
    {"on_error: {goto: c}", NULL},
    {"on_error: {goto: stop}", NULL},
    {"on_error: {value: \"{'e': error.code}\"}", NULL},
    {"on_error: {value: \"{'e': 1}\"}, guardrail_policy: {output: [ok]}", NULL},
    {"guardrail_policy: {output: [ok]}", NULL},
    {"guardrail_policy: {output: [stern]}", NULL},
    {"guardrail_policy: {input: [ok], output: [down]}", NULL},
    {"guardrail_policy: {input: [stern], on_violation: reroute, "
     "reroute_target: c}",
     NULL},
    {"memory_policy: {read: {scope: global}, write: {auto_encode: true}}",
     NULL},
    {"memory_policy: {consistency: live, write: {auto_encode: true}}", NULL},
    {"memory_policy: {write: {auto_encode: true}}, guardrail_policy: "
     "{memory_write: [ok]}",
     NULL},
    {"cache: true", NULL},
    {"checkpoint: before", NULL},
    {"checkpoint: both", "checkpoint_policy: none"},
    {"", "checkpoint_policy: explicit"},
    {"", "interrupt_before: [x]"},
    {"", "interrupt_after: [x]"},
    {"", "interrupt_before: [b]\ninterrupt_after: [a, x]"},
    {"resource: lathe", NULL},
    {"effect_class: write", NULL},
    {"effect_class: external", NULL},
    {"on_in_doubt: ask", NULL},
    {"on_in_doubt: retry", NULL},
    {"on_in_doubt: fail", NULL},
    {"outputs: {scratch.w: output}", NULL},
    {"outputs: {scratch.w: output.no.such}", NULL},
    {"output_as: made", NULL},
    {"output_schema: {type: object, required: [v]}", NULL},
    {"output_schema: {type: string}, on_error: {goto: c}", NULL},
    {"join: any", NULL},
    {"join: settled", NULL},
    {"join: settled", "failure: fail_fast"},
    {"join: settled, on_branch_error: collect", "end: first"},
    {"join: best_effort", NULL},
    {"max_visits: 2", NULL},
    {"compaction: t/brief", NULL},
    {"discovery_policy: {query: echo, fallback: error}", NULL},
    {"persona_policy: {traits: {openness: 0.2}}",
     "persona: {traits: {openness: 0.9}}"},
    {"", "hitl_mode: approve_tools"},
    {"", "hitl_mode: approve_each_node"},
    {"", "hitl_mode: approve_plan"},
    {"on_error: {value: \"{'e': 1}\"}, guardrail_policy: {output: [ok]}",
     "hitl_mode: approve_tools"},
    {"retry_policy: {max_attempts: 2, delay: 1ms, retry_on: [transient]}",
     "hitl_mode: approve_each_node"},
    {"", "failure: fail_fast"},
    {"", "end: first"},
    {"", "budget: {tool_calls: 1}"},
    {"", "budget: {tool_calls: 2, on_exceeded: fail}"},
    {"", "budget: {tool_calls: 2, on_exceeded: {goto: c}}"},
    {"", "budget: {model_calls: 1}"},
    {"", "budget: {wall: 3s, on_exceeded: fail}"},
    {"", "budget: {wall: 3s}"},
    {"", "limits: {steps: 3, visits: 2}"},
    {"", "limits: {timeout: 2s, steps: 30, visits: 3}"},
    {"", "limits: {concurrency: 1, steps: 30, visits: 3}"},
    {"", "state: {reducers: {artifacts.x: concat, scratch.w: last}}"},
    {"", "state: {scratch: {type: object, properties: {w: {type: integer}}}}"},
    {"", "memory_consistency: snapshot"},
    {"", "memory_consistency: journaled"},
    {"", "defaults: {retry_policy: {max_attempts: 2, delay: 1ms, retry_on: "
         "[transient]}, timeout: 9s, effect_class: write}"},
};

/* How it is left: a key of the node, and entries of `edges`. */
static const struct way {
    const char *node, *edges;
} ways[] = {
    {"next: b", ""},
    {"next: END", ""},
    {"next: [b, c]", ""},
    {"", "  - {from: x, discovery: {query: \"c\", fallback: b}}\n"},
    {"", "  - {from: x, discovery: {query: \"nothing\", fallback: b}}\n"},
    {"", "  - {from: x, discovery: {query: \"${artifacts.a.v}\", fallback: b}, "
         "guardrail_policy: {input: [ok]}}\n"
         "  - {from: x, discovery: {query: d, fallback: END}}\n"},
    {"", "  - {from: x, to: b, when: input.v == 1}\n"
         "  - {from: x, to: c, when: input.v != 1}\n"},
    {"routes: [{when: input.v == 2, to: b}], default: c", ""},
    {"routes: {all: [{when: input.v == 1, to: b}, {when: \"true\", to: c}]}, "
     "default: END",
     ""},
    {"map: {over: \"[1, 2, 3]\", as: one, to: m, join: c}", ""},
    {"map: {over: \"[1, 2]\", as: one, to: m, join: c, max_parallel: 1}", ""},
    {"routes: [{when: input.v == 1, map: {over: \"[1, 2]\", as: one, to: m, "
     "join: c}}], default: b",
     ""},
    {"", "  - {from: START, map: {over: \"[1, 2]\", as: one, to: m, join: c, "
         "max_parallel: 1}}\n"
         "  - {from: x, to: c}\n"},
    {"", "  - {from: x, personality: {trait: openness, threshold: 0.5, above: "
         "b, below: c}}\n"},
    {"", "  - {from: x, to: b, guardrail_policy: {input: [ok]}}\n"
         "  - {from: x, to: c, guardrail_policy: {input: [bad], on_violation: "
         "sanitize}}\n"},
    {"", "  - {from: x, to: b, guardrail_policy: {input: [stern], "
         "on_violation: reroute, reroute_target: c}}\n"},
    {"", "  - {from: x, to: b, guardrail_policy: {input: [stern]}}\n"},
    {"", "  - {from: x, to: a, when: node.visit < 2}\n"
         "  - {from: x, to: b, when: node.visit >= 2}\n"},
    {"", "  - {from: x, to: hand}\n"},
    {"", "  - {from: x, to: gather}\n  - {from: a, to: gather}\n"},
    {"", "  - {from: x, to: first}\n  - {from: a, to: first}\n"},
    {"", "  - {from: x, to: ask}\n"},
};

/* The nodes that x leads to.  Those that a way does not use are not there. */
static const struct {
    const char *name, *text;
} others[] = {
    {"b", "type: tool, tool: t/rec, args: {v: 2}"},
    {"c", "type: tool, tool: t/read, args: {v: 3}"},
    {"d", "type: tool, tool: t/read, args: {v: 4}, capability: takes d"},
    {"m", "type: tool, tool: t/rec, args: {v: \"${one}\"}, next: c"},
    {"hand", "type: leaf, goal: tell"},
    {"gather", "type: tool, tool: t/rec, args: {v: 5}, join: settled"},
    {"first", "type: tool, tool: t/rec, args: {v: 6}, join: any"},
    {"stop", "type: fail, code: over, message: it is over"},
    {"ask", "type: human, prompt: release?, join: settled"},
};

enum { N_GRAPHS = N_ITEMS(kinds) * N_ITEMS(policies) * N_ITEMS(ways) };

static char at_work[4096]; /* the graph that runs, for who fails */
static bool prints;

/* ---- a graph ------------------------------------------------------------- */

static bool names(const char *text, const char *node)
{
    size_t n = strlen(node);

    for (const char *at = text; (at = strstr(at, node)) != NULL; at++)
        if (at > text && strchr(" [\"'", at[-1]) != NULL &&
            strchr(",}]\n\"' ", at[n]) != NULL)
            return true;
    return false;
}

/* `capability` goes with a discovery edge alone. */
static void put_others(FILE *to, const char *edges, const char *text,
                       const char *top)
{
    bool looks = strstr(edges, "discovery:") != NULL;

    for (size_t i = 0; i < N_ITEMS(others); i++) {
        const char *name = others[i].name;

        if (strcmp(name, "d") == 0
                ? !looks
                : !names(text, name) && !names(edges, name) &&
                      !names(top, name))
            continue;
        fprintf(to, "  %s: {%s%s}\n", name, others[i].text,
                looks && strcmp(name, "c") == 0 ? ", capability: takes c" : "");
    }
}

static void put_keys(FILE *to, const char *keys)
{
    if (keys[0] != '\0')
        fprintf(to, ", %s", keys);
}

/* The graph of that number, with one node more: malloc()ed. */
static char *graph_of(unsigned number, bool more_nodes)
{
    const char *kind = kinds[number % N_ITEMS(kinds)];
    const struct policy *p =
        &policies[number / N_ITEMS(kinds) % N_ITEMS(policies)];
    const struct way *w =
        &ways[number / (N_ITEMS(kinds) * N_ITEMS(policies)) % N_ITEMS(ways)];
    uint32_t seed = number * 2654435761u + 1;
    const struct policy *more =
        &policies[sim_random(&seed) % N_ITEMS(policies)];
    bool has_more = more->graph != NULL && p->graph == NULL;
    const char *top = p->graph != NULL ? p->graph : has_more ? more->graph : "";
    char *text = NULL, *all = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    fprintf(to, "%s", kind);
    put_keys(to, p->node);
    put_keys(to, w->node);
    fclose(to);
    to = open_memstream(&all, &size);
    fprintf(to, HEAD "%s%s", top, top[0] != '\0' ? "\n" : "");
    if (strstr(top, "limits:") == NULL)
        fprintf(to, "limits: {steps: 30, visits: 3}\n");
    if (sim_random(&seed) % 3 == 0)
        fprintf(to,
                "start: [a, side]\nnodes:\n"
                "  side: {type: tool, tool: t/fail, args: {code: side, "
                "times: %u}, next: END}\n",
                (unsigned)(sim_random(&seed) % 2));
    else
        fprintf(to, "start: a\nnodes:\n");
    fprintf(to,
            "  a: {type: tool, tool: t/read, args: {v: \"${input.v}\"}, next: "
            "x}\n"
            "  x: {%s}\n",
            text);
    put_others(to, w->edges, text, top);
    if (more_nodes)
        fprintf(to, "  late: {type: tool, tool: t/rec, args: {v: 9}, "
                    "depends_on: x}\n");
    if (w->edges[0] != '\0')
        fprintf(to, "edges:\n%s", w->edges);
    fclose(to);
    free(text);
    return all;
}

static int finds(void *ud, void (*fn)(void *into, const char *name), void *into,
                 struct mortise_err *why)
{
    (void)ud;
    (void)fn;
    (void)into;
    (void)why;
    return MORTISE_OK;
}

/* NULL: it has findings. */
static struct mortise_graph *load(const char *yaml)
{
    const struct mortise_graph_files files = sim_files(inner);
    struct mortise_catalog catalog = sim_catalog;
    struct mortise_graph *g = NULL;
    struct mortise_diags diags;
    struct mortise_buf text;

    catalog.discovery = finds;
    catalog.files = &files;
    mortise_diags_init(&diags, &test_mem);
    if (mortise_graph_load(&g, &test_mem, "test.yaml", yaml, strlen(yaml),
                           &catalog, &diags, &err) != MORTISE_OK)
        g = NULL;
    if (g == NULL && prints) {
        mortise_buf_init(&text, &test_mem);
        mortise_diags_format(&diags, &text);
        fprintf(stderr, "%s\n", mortise_buf_cstr(&text));
        mortise_buf_finish(&text);
    }
    mortise_diags_finish(&diags);
    return g;
}

/* ---- which one fails ----------------------------------------------------- */

static void show_it(int sig)
{
    ssize_t n = write(STDERR_FILENO, at_work, strlen(at_work));

    (void)n;
    signal(sig, SIG_DFL);
    raise(sig);
}

static void stuck(const char *why)
{
    json_t *show = sim_show(&s);
    char *text = json_dumps(show, JSON_INDENT(1));

    fprintf(stderr, "%s\n%s\n", at_work, text);
    free(text);
    json_decref(show);
    ck_abort_msg("%s: %s %s", why,
                 mortise_run_status_name(mortise_run_status(s.run)),
                 mortise_run_reason(s.run));
}

/* ---- people -------------------------------------------------------------- */

enum { LIST_MOST = 3 };

struct list {
    struct mortise_command c[LIST_MOST];
    char id[40], json[256];
    size_t n;
};

/* One of the requests that wait; NULL: none does. */
static const json_t *one_request(uint32_t *seed)
{
    size_t n = json_object_size(s.pending), at;
    const char *id;
    json_t *one;

    if (n == 0)
        return NULL;
    at = sim_random(seed) % n;
    json_object_foreach(s.pending, id, one)
    {
        if (at-- == 0)
            return one;
    }
    return NULL;
}

static const char *text_in(const json_t *of, const char *member)
{
    const char *text = json_string_value(json_object_get(of, member));

    return text != NULL ? text : "";
}

static struct mortise_command *add(struct list *l,
                                   enum mortise_command_kind kind)
{
    struct mortise_command *c = &l->c[l->n++];

    *c = (struct mortise_command){.size = sizeof *c, .kind = (uint32_t)kind};
    return c;
}

/* A decision of the kind that the request is for; false: nothing waits. */
static bool add_decision(struct list *l, uint32_t *seed)
{
    const json_t *one = one_request(seed);
    const char *kind = text_in(one, "kind");
    bool yes = sim_random(seed) % 3 != 0;
    struct mortise_command *c;

    if (one == NULL)
        return false;
    snprintf(l->id, sizeof l->id, "%s", text_in(one, "id"));
    snprintf(l->json, sizeof l->json, "{\"approved\": %s}",
             yes || strcmp(kind, "scheduled_pause") == 0 ? "true" : "false");
    if (strcmp(kind, "approval_pending") == 0) {
        c = add(l, MORTISE_CMD_APPROVE_TOOL);
        c->decision = yes ? "approve" : "reject";
        if (yes && sim_random(seed) % 2 == 0)
            c->json = "{\"v\": 9}";
    } else if (strcmp(kind, "in_doubt") == 0) {
        static const char *const words[] = {"done", "retry", "fail"};

        c = add(l, MORTISE_CMD_RESOLVE);
        c->decision = words[sim_random(seed) % 3];
        c->json = "{\"v\": 1}";
    } else if (strcmp(kind, "budget") == 0) {
        c = add(l, MORTISE_CMD_BUDGET);
        snprintf(l->json, sizeof l->json, "{\"%s\": \"+%s\"}",
                 text_in(one, "budget"),
                 strcmp(text_in(one, "budget"), "wall") == 0 ? "60000" : "9");
        c->json = l->json;
        if (json_is_string(json_object_get(one, "graph")))
            c->node = text_in(one, "graph");
        return true;
    } else {
        c = add(l, MORTISE_CMD_ANSWER);
        c->json = strcmp(kind, "custom") == 0 ? "\"yes\"" : l->json;
    }
    c->id = l->id;
    return true;
}

static void add_move(struct list *l, uint32_t *seed)
{
    static const char *const nodes[] = {"a", "x", "b", "c", "m", "nobody"};
    struct mortise_command *c = add(l, MORTISE_CMD_GOTO);

    c->node = nodes[sim_random(seed) % N_ITEMS(nodes)];
    c->flags = sim_random(seed) % 2 == 0 ? MORTISE_CMD_FORCE : 0;
}

static void add_update(struct list *l, uint32_t *seed)
{
    static const char *const values[] = {
        "{\"scratch\": {\"w\": 1}}", "{\"artifacts\": {\"a\": {\"v\": \"c\"}}}",
        "{\"scratch\": {}, \"artifacts\": {}}", "{\"input\": 1}"};
    struct mortise_command *c = add(l, MORTISE_CMD_UPDATE);

    c->json = values[sim_random(seed) % N_ITEMS(values)];
    c->flags = sim_random(seed) % 2 == 0 ? MORTISE_CMD_MERGE : 0;
}

static void add_simple(struct list *l, uint32_t *seed)
{
    static const struct mortise_command all[] = {
        {.kind = MORTISE_CMD_RESUME},
        {.kind = MORTISE_CMD_PAUSE},
        {.kind = MORTISE_CMD_PAUSE, .flags = MORTISE_CMD_SHUTDOWN},
        {.kind = MORTISE_CMD_LIMIT, .json = "{\"steps\": 60}"},
        {.kind = MORTISE_CMD_LIMIT, .json = "{\"visits\": \"many\"}"},
        {.kind = MORTISE_CMD_BUDGET, .json = "{\"tool_calls\": \"+2\"}"},
        {.kind = MORTISE_CMD_BUDGET, .json = "{\"wall\": 1}"},
        {.kind = MORTISE_CMD_TELL, .json = "\"listen\""},
        {.kind = MORTISE_CMD_TELL, .json = "\"listen\"", .node = "x"},
        {.kind = MORTISE_CMD_CANCEL},
        {.kind = MORTISE_CMD_ANSWER, .id = "nobody", .json = "1"},
        {.kind = MORTISE_CMD_APPROVE_TOOL, .id = "x", .decision = "maybe"},
        {.kind = MORTISE_CMD_RESOLVE, .id = "", .decision = "done"},
    };
    size_t i = sim_random(seed) % N_ITEMS(all);

    if (all[i].kind == MORTISE_CMD_CANCEL && sim_random(seed) % 4 != 0)
        i = 0;
    *add(l, MORTISE_CMD_RESUME) = all[i];
    l->c[l->n - 1].size = sizeof l->c[0];
}

/* A decision about something else than it asks. */
static void add_wrong(struct list *l, uint32_t *seed)
{
    static const enum mortise_command_kind answers[] = {
        MORTISE_CMD_APPROVE_TOOL, MORTISE_CMD_ANSWER, MORTISE_CMD_RESOLVE};
    static const char *const values[] = {"null",
                                         "[1]",
                                         "{\"approved\": 1}",
                                         "{\"approved\": true, \"answer\": 1}",
                                         "\"x\"",
                                         NULL};
    const json_t *one = one_request(seed);
    struct mortise_command *c = add(l, answers[sim_random(seed) % 3]);

    snprintf(l->id, sizeof l->id, "%s", text_in(one, "id"));
    c->id = l->id;
    c->decision = sim_random(seed) % 2 == 0 ? "done" : "approve";
    c->json = values[sim_random(seed) % N_ITEMS(values)];
}

static const char *text_or(const char *text)
{
    return text != NULL ? text : "-";
}

/* What is given is refused, or obeyed.  Was it taken? */
static bool give(const struct list *l, uint32_t flags)
{
    for (size_t i = 0; prints && i < l->n; i++)
        fprintf(stderr, "  command %u, id %.8s, decision %s, node %s: %s\n",
                (unsigned)l->c[i].kind, text_or(l->c[i].id),
                text_or(l->c[i].decision), text_or(l->c[i].node),
                text_or(l->c[i].json));
    return l->n > 0 &&
           sim_command(&s, l->c, l->n, flags, "ann", &err) == MORTISE_OK;
}

/* One or two commands at once. */
static void somebody_commands(uint32_t *seed)
{
    struct list l = {.n = 0};
    uint32_t what = sim_random(seed) % 10;

    if (s.applied == 1)
        return; /* another is being applied */
    if (what < 6)
        add_decision(&l, seed);
    if (what == 0 || what == 6)
        add_update(&l, seed);
    else if (what == 1 || what == 7)
        add_move(&l, seed);
    else if (what == 2)
        add_simple(&l, seed);
    else if (what == 8)
        add_wrong(&l, seed);
    else if (what == 9)
        add_simple(&l, seed);
    if (what == 3 || (what == 6 && sim_random(seed) % 2 == 0))
        add(&l, MORTISE_CMD_RESUME);
    give(&l, sim_random(seed) % 8 == 0 ? MORTISE_NO_CONTINUE : 0);
}

/* Somebody steers it to a graph with one node more, if that can follow. */
static void somebody_steers(unsigned number)
{
    char *yaml = graph_of(number, true);
    struct mortise_graph *g = load(yaml);
    struct mortise_steering to = {.graph = g};
    struct list l = {.n = 0};

    free(yaml);
    if (g == NULL || s.applied == 1 ||
        mortise_graph_set_predecessor(g, mortise_run_graph(s.run), &err) !=
            MORTISE_OK) {
        mortise_graph_unref(g);
        return;
    }
    to.operations = json_pack("[{s:{s:s}}]", "remove", "id", "x");
    s.steering = &to;
    add(&l, MORTISE_CMD_STEER);
    if (give(&l, 0)) {
        mortise_graph_unref(s.graph);
        s.graph = mortise_graph_ref(g);
    }
    s.steering = NULL;
    json_decref(to.operations);
    mortise_graph_unref(g);
}

/* ---- the world ----------------------------------------------------------- */

static bool something_happens(uint32_t *seed)
{
    s.now_ms++;
    if (s.n_asks > 0 && sim_random(seed) % 2 == 0 &&
        sim_end_ask(&s, sim_random(seed) % s.n_asks))
        return true;
    if (s.n_calls > 0 && sim_random(seed) % 3 != 0 &&
        sim_end_call(&s, sim_random(seed) % s.n_calls))
        return true;
    return sim_sync_one(&s) || sim_end_ask(&s, 0) || sim_end_call(&s, 0);
}

/* Would an engine that starts load it (core/engine/recover.c), or has it something to
 * do, and nobody said that it is to? */
static bool is_loaded(int status, const char *reason)
{
    return status == MORTISE_RUN_ACCEPTED || status == MORTISE_RUN_RUNNING ||
           (status == MORTISE_RUN_PAUSED &&
            (strcmp(reason, "shutdown") == 0 ||
             strcmp(reason, "no_continue") == 0));
}

/* Nobody works on it, and it says so. */
static void check_rest(void)
{
    int status = mortise_run_status(s.run);

    if (!mortise_run_is_idle(s.run) || status == MORTISE_RUN_RUNNING ||
        status == MORTISE_RUN_ACCEPTED)
        stuck("it is not at rest");
}

/* (3) */
static void process_dies(uint32_t *seed)
{
    const struct sim_commit *last;
    size_t commits;
    bool rests;

    if (s.n_synced == 0)
        sim_sync_one(&s);
    if (prints)
        fprintf(stderr, "  the process dies\n");
    sim_crash(&s, seed);
    s.applied = 0;
    last = &s.commits[s.n_commits - 1];
    rests = !is_loaded(last->status, last->reason);
    commits = s.n_commits;
    sim_recover(&s);
    if (rests && (s.n_commits > commits || s.n_calls > 0))
        stuck("after a crash it was left alone, and had something to do");
}

static void play(unsigned number, uint32_t seed)
{
    struct list cancel = {.n = 0};
    int quiet = 0, deaths = 3;

    ck_assert_int_eq(sim_admit(&s, "{\"v\": 1}", &err), MORTISE_OK);
    sim_sync_one(&s);
    for (int turn = 0; turn < 120 && quiet < 8; turn++) {
        uint32_t what = sim_random(&seed) % 24;

        if (what == 0 && deaths-- > 0)
            process_dies(&seed);
        else if (what < 3)
            somebody_commands(&seed);
        else if (what == 3 && sim_random(&seed) % 4 == 0)
            somebody_steers(number);
        if (something_happens(&seed)) {
            quiet = 0;
            continue;
        }
        if (s.n_timers > 0 && sim_random(&seed) % 2 == 0) {
            sim_fire_timer(&s, sim_random(&seed) % s.n_timers);
            continue;
        }
        if (s.n_timers == 0)
            check_rest();
        quiet++;
        somebody_commands(&seed);
    }
    add(&cancel, MORTISE_CMD_CANCEL);
    for (int i = 0; i < 2; i++) {
        while (something_happens(&seed))
            continue;
        give(&cancel, 0);
        while (something_happens(&seed))
            continue;
    }
    if (!mortise_run_is_finished(s.run))
        stuck("two cancels do not end it");
}

/* False: `check` refuses such a graph. */
static bool run_graph(unsigned number, uint32_t world)
{
    char *yaml = graph_of(number, false);
    struct mortise_graph *g = load(yaml);

    snprintf(at_work, sizeof at_work, "---- graph %u, world %u\n%s\n", number,
             (unsigned)world, yaml);
    if (prints)
        fprintf(stderr, "%s", at_work);
    free(yaml);
    if (g == NULL)
        return false;
    sim_subject = at_work;
    sim_init(&s, g);
    play(number, number * 31 + world * 7919 + 1);
    sim_finish(&s);
    return true;
}

/* PARTS * SHARE has no divisor in common with the number of kinds: each part has
 * all of them. */
enum { PARTS = 8, SHARE = 8, WORLDS = 3, AT_LEAST = 5000 };

/* Each graph is run, of which `check` accepts the most. */
START_TEST(every_graph_comes_to_rest)
{
    const char *only = getenv("MORTISE_GRAPH");
    unsigned tried = 0, ran = 0;

    prints = only != NULL;
    signal(SIGABRT, show_it);
    for (unsigned i = (unsigned)_i; i < N_GRAPHS; i += PARTS) {
        if (only != NULL ? i != (unsigned)atoi(only)
                         : !matrix_takes(i / PARTS, SHARE))
            continue;
        tried++;
        for (uint32_t world = 0;
             world < (matrix_is_whole() || only != NULL ? WORLDS : 1); world++)
            ran += run_graph(i, world);
    }
    ck_assert(only != NULL || ran * 2 > tried);
    ck_assert(only != NULL || ran >= AT_LEAST / PARTS);
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("kinds: worlds");
    TCase *tc = tcase_create("worlds");

    tcase_set_timeout(tc, 3600);
    tcase_add_loop_test(tc, every_graph_comes_to_rest, 0, PARTS);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
