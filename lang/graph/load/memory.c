/* memory.c -- memory_policy of nodes: the traces that are read before a node
 * runs, and the storage of its output.
 *
 *     memory_policy:
 *       session: ${input.customer}
 *       read: {scope: session, semantic_query: "${input.message}"}
 *       write: {auto_encode: true, type: episodic, scope: session}
 *
 * The scope decides which runs share a trace.  `global` is shared by the
 * tenant, `persona` by the runs of graphs with this name.  `session` is shared
 * by the nodes with the same `session` text of the policy, or within the run if
 * there is none.  `conversation` is shared within the node's conversation in the
 * session.
 *
 * A policy that neither reads nor writes is an error.  So are a snapshot from a
 * memory that cannot read as of an earlier time, and a key whose companion is
 * missing.
 */
#include <math.h>
#include <string.h>

#include "lang/config/deploy_memory.h"
#include "lang/graph/load/node.h"

enum { MAX_TRACES = 8 }; /* the default of max_traces */

/* ---- words --------------------------------------------------------------- */

const struct mortise_word mortise_consistency_words[] = {
    {"snapshot", MORTISE_MEMORY_SNAPSHOT, false},
    {"live", MORTISE_MEMORY_LIVE, false},
    {"journaled", MORTISE_MEMORY_JOURNALED, false},
    {NULL, 0, false},
};

static const struct mortise_word scopes[] = {
    {"global", MORTISE_SCOPE_GLOBAL, false},
    {"persona", MORTISE_SCOPE_PERSONA, false},
    {"session", MORTISE_SCOPE_SESSION, false},
    {"conversation", MORTISE_SCOPE_CONVERSATION, false},
    {NULL, 0, false},
};

static const struct mortise_word types[] = {
    {.word = "episodic"},    {.word = "semantic"},   {.word = "procedural"},
    {.word = "prospective"}, {.word = "relational"}, {.word = NULL}};

/* ---- keys ---------------------------------------------------------------- */

/* A policy while it is read; the members besides `policy` need further work. */
struct reading {
    struct mortise_memory_policy policy;
    const struct mortise_yaml *session, *query, *read, *write;
    const struct mortise_yaml *consistency, *conversation, *encoded;
};

static void read_trace_types(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    for (size_t i = 0; i < slot->value->n; i++)
        mortise_word_find(types, "a type of traces", slot->value->items[i],
                          ld->diags);
    r->policy.types = mortise_load_strings(ctx, slot->value);
    r->policy.n_types = slot->value->n;
}

static void note_conversation_scope(struct reading *r,
                                    const struct mortise_slot *slot)
{
    if (slot->word == MORTISE_SCOPE_CONVERSATION)
        r->conversation = slot->value;
}

static void read_memory_scope(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->policy.scope = (enum mortise_memory_scope)slot->word;
    note_conversation_scope(r, slot);
}

static const struct mortise_key read_keys[] = {
    {.name = "types",
     .about = "Read only traces of these types: episodic, semantic, "
              "procedural, prospective, relational (default: all).",
     .value = MORTISE_V_STRINGS,
     .read = read_trace_types},
    {.name = "scope",
     .about = "Read only traces of this scope: global, persona, session or "
              "conversation (default: all that apply).",
     .value = MORTISE_V_WORD,
     .words = scopes,
     .read = read_memory_scope},
    {.name = "max_traces",
     .about = "The highest number of traces (default: 8).",
     .min = 1,
     .max = 1000,
     MORTISE_INTO_U32(struct reading, policy.max_traces)},
    {.name = "min_strength",
     .about =
         "The least current strength of a trace, from 0 to 1 (default: 0).",
     .value = MORTISE_V_NUMBER,
     .max = 1,
     MORTISE_INTO_DOUBLE(struct reading, policy.min_strength)},
    {.name = "semantic_query",
     .about = "The text to search for: a template. Without it, or if it is "
              "blank, the memory chooses the best traces.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct reading, query)},
};
MORTISE_PLACE(read, "read of memory_policy");

static void read_memory_read(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->read = slot->name;
    r->policy.reads = true;
    mortise_keys_read_slot(slot, ld, into, ld->diags);
}

static void read_trace_type(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->policy.type = slot->value->str;
    r->encoded = slot->name;
}

static void read_memory_write_scope(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->policy.write_scope = (enum mortise_memory_scope)slot->word;
    r->encoded = slot->name;
    note_conversation_scope(r, slot);
}

static const struct mortise_key write_keys[] = {
    {.name = "auto_encode",
     .about = "true: store the output as a trace when the node completes.",
     .required = true,
     MORTISE_INTO_BOOL(struct reading, policy.encodes)},
    {.name = "type",
     .about = "The type of the trace: episodic (the default), semantic, "
              "procedural, prospective or relational.",
     .value = MORTISE_V_WORD,
     .words = types,
     .read = read_trace_type},
    {.name = "scope",
     .about = "The scope of the trace: session (the default), global, persona "
              "or conversation.",
     .value = MORTISE_V_WORD,
     .words = scopes,
     .read = read_memory_write_scope},
};
MORTISE_PLACE(write, "write of memory_policy");

/* auto_encode is missing, or no bool: another check reports it. */
static bool lacks_auto_encode(const struct mortise_yaml *write)
{
    const struct mortise_yaml *said = mortise_yaml_get(write, "auto_encode");

    return said == NULL || said->kind != MORTISE_YAML_BOOL;
}

static void read_memory_write(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct reading *r = into;

    r->write = slot->name;
    mortise_keys_read_slot(slot, ld, into, ld->diags);
    if (!r->policy.encodes && r->encoded != NULL &&
        !lacks_auto_encode(slot->value))
        mortise_diag_help(ld->diags,
                          mortise_diag_add(ld->diags, "E0212", r->encoded->span,
                                           "'%s' has no effect here",
                                           r->encoded->str),
                          "set auto_encode: true, or remove the key");
}

static void read_memory_consistency(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct reading *r = into;

    (void)ctx;
    r->policy.consistency = (enum mortise_consistency)slot->word;
    r->consistency = slot->value;
}

static const struct mortise_key policy_keys[] = {
    {.name = "consistency",
     .about = "snapshot: read the traces from the start of the run, write when "
              "the run completes. live: read the newest traces, write before "
              "the node completes. journaled: read the newest traces and the "
              "run's own, write after the node's commit. Default: the graph's "
              "memory_consistency.",
     .value = MORTISE_V_WORD,
     .words = mortise_consistency_words,
     .read = read_memory_consistency},
    {.name = "session",
     .about = "The key of the session: a template (default: the run's own).",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct reading, session)},
    {.name = "read",
     .about = "What the node reads before it runs. It is `memory` in "
              "expressions, and part of the prompt of a gmi.",
     .value = MORTISE_V_MAP,
     .place = &read_place,
     .read = read_memory_read},
    {.name = "write",
     .about = "What the node writes after it completes.",
     .value = MORTISE_V_MAP,
     .place = &write_place,
     .read = read_memory_write},
};

const struct mortise_place mortise_memory_policy_place = {
    MORTISE_PLACE_OF("memory_policy", policy_keys)};

/* ---- requirements -------------------------------------------------------- */

static bool has_policy_key(const struct mortise_yaml *policy, const char *key)
{
    return mortise_keys_has_key(&mortise_memory_policy_place, policy, key);
}

/* auto_encode may be meant to be true, because its key has a finding: do not
 * report consequences. */
static bool may_encode(const struct mortise_yaml *policy)
{
    const struct mortise_yaml *write = mortise_yaml_get(policy, "write");

    return write != NULL ? lacks_auto_encode(write)
                         : has_policy_key(policy, "write");
}

/* Check that there is a memory, and that it supports the policy. */
static void check_memory_support(struct mortise_loader *ld,
                                 const struct reading *r,
                                 const struct mortise_yaml *name)
{
    const struct mortise_catalog *catalog = ld->catalog;
    const struct mortise_yaml *at =
        r->consistency != NULL ? r->consistency : name;
    struct mortise_err why = {0};
    bool as_of = true;
    int rv = catalog->memory != NULL
                 ? catalog->memory(catalog->ud, &as_of, &why)
                 : MORTISE_OK;

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        mortise_load_plugin(ld, MORTISE_MEMORY_INSTANCE, "");
    else if (rv != MORTISE_ENOMEM)
        mortise_load_report_refusal(ld,
                                    rv == MORTISE_EINVAL ? "E0607" : "E0450",
                                    name->span, "memory_policy", &why);
    if (rv == MORTISE_OK && !as_of && r->policy.reads &&
        r->policy.consistency == MORTISE_MEMORY_SNAPSHOT)
        mortise_diag_help(ld->diags,
                          mortise_diag_add(ld->diags, "E0451", at->span,
                                           "the memory of the deployment does "
                                           "not support consistency: snapshot"),
                          "use consistency: live or journaled");
}

/* A query cannot use the traces that it searches for. */
static void compile_memory_query(struct mortise_loader *ld,
                                 const struct mortise_deferred_expr *late)
{
    ld->names[MORTISE_IN_MEMORY].name = "";
    mortise_load_deferred_tmpl(ld, late);
}

static void defer_memory_template(struct mortise_loader *ld,
                                  const struct mortise_node_reader *r,
                                  struct mortise_tmpl **into,
                                  const struct mortise_yaml *at)
{
    if (at != NULL)
        mortise_load_defer(ld, compile_memory_query, into, at, r->node->index,
                           MORTISE_IN_OUTPUT);
}

void mortise_node_read_memory_policy(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *node = into;
    struct mortise_memory_policy *policy =
        mortise_load_alloc(ld, sizeof *policy);
    struct reading r = {.policy = {.consistency = ld->g->consistency,
                                   .max_traces = MAX_TRACES,
                                   .type = "episodic",
                                   .write_scope = MORTISE_SCOPE_SESSION}};

    if (policy == NULL)
        return;
    mortise_keys_read_slot(slot, ld, &r, ld->diags);
    *policy = r.policy;
    defer_memory_template(ld, node, &policy->session, r.session);
    defer_memory_template(ld, node, &policy->query, r.query);
    node->node->memory = policy;
    node->conversation = r.conversation;
    if (!has_policy_key(slot->value, "read") && !r.policy.encodes &&
        !may_encode(slot->value))
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0206", slot->name->span,
                             "memory_policy needs 'read', or 'write' with "
                             "auto_encode: true"),
            "without them the policy has no effect");
    check_memory_support(ld, &r, slot->name);
    if (policy->reads && policy->consistency == MORTISE_MEMORY_SNAPSHOT)
        ld->root->g->snapshots = true;
}

static void report_unused_memory_guard(struct mortise_loader *ld,
                                       const struct mortise_node_reader *r,
                                       const char *list, const char *what)
{
    const struct mortise_yaml *policy =
        mortise_yaml_get(r->map, "guardrail_policy");

    mortise_diag_add(ld->diags, "E0318", mortise_yaml_key(policy, list)->span,
                     "'%s' %s no memory, so '%s' of its guardrail_policy has "
                     "nothing to check",
                     r->node->id, what, list);
}

/* Report guardrails on reads or writes that the node does not do, unless the
 * missing read or write has a finding already. */
static void check_memory_guards(struct mortise_loader *ld,
                                const struct mortise_node_reader *r)
{
    const struct mortise_memory_policy *p = r->node->memory;
    const struct mortise_guard_list *guards = r->node->guards;
    const struct mortise_yaml *said = mortise_yaml_get(r->map, "memory_policy");

    if (p == NULL && mortise_node_has_key(r, "memory_policy"))
        return;
    if (guards[MORTISE_GUARD_RECALLED].n > 0 &&
        (p == NULL || !(p->reads || has_policy_key(said, "read"))))
        report_unused_memory_guard(ld, r, "memory_read", "reads");
    if (guards[MORTISE_GUARD_REMEMBERED].n > 0 &&
        (p == NULL || !(p->encodes || may_encode(said))))
        report_unused_memory_guard(ld, r, "memory_write", "writes");
}

void mortise_node_complete_memory(struct mortise_loader *ld,
                                  struct mortise_node_reader *r)
{
    check_memory_guards(ld, r);
    if (r->conversation == NULL || r->node->conversation != NULL ||
        mortise_node_has_key(r, "conversation"))
        return;
    mortise_diag_help(
        ld->diags,
        mortise_diag_add(ld->diags, "E0452", r->conversation->span,
                         "scope 'conversation' needs a key 'conversation' "
                         "in the node"),
        "only gmi nodes have the key 'conversation'");
}

/* ---- memory_consistency of the graph ------------------------------------- */

static bool uses_memory(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct mortise_node *n = &g->nodes[i];

        if (n->memory != NULL || (n->sub != NULL && uses_memory(n->sub)) ||
            (n->tools != NULL && uses_memory(n->tools)))
            return true;
    }
    return false;
}

void mortise_check_consistency(struct mortise_loader *ld)
{
    const struct mortise_yaml *said =
        mortise_yaml_key(ld->g->tree, "memory_consistency");

    if (said != NULL && !uses_memory(ld->g))
        mortise_diag_add(ld->diags, "W0826", said->span,
                         "'memory_consistency' has no effect: no node of the "
                         "graph has a memory_policy");
}
