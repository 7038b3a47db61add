/* foreign_edge.c -- convert the edges of compiled execution graphs.
 *
 * In the source, the router's result selects the next node, and the router's
 * edges are ignored.  Here a router lists the nodes that it can select: its
 * edges become its `targets`.  All other edges are written to `edges`, in their
 * order.
 */
#include "tools/import/foreign.h"

#include <string.h>

/* `id` is not imported: nothing refers to the id of an edge. */
static const struct foreign_row edge_rows[] = {
    {"id", NULL, FOREIGN_CUSTOM, NULL},
    {"source", "from", FOREIGN_CUSTOM, NULL},
    {"target", "to", FOREIGN_CUSTOM, NULL},
    {"type", "type", FOREIGN_CUSTOM, NULL},
    {"condition", "when", FOREIGN_CUSTOM, NULL},
    {"discoveryQuery", "query", FOREIGN_CUSTOM, NULL},
    {"discoveryKind", "kind", FOREIGN_CUSTOM, NULL},
    {"discoveryFallback", "fallback", FOREIGN_CUSTOM, NULL},
    {"personalityCondition", "personality", FOREIGN_CUSTOM, NULL},
    {"guardrailPolicy", "guardrail_policy", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

/* ---- ends of edges ------------------------------------------------------ */

void mortise_foreign_record_edge(struct foreign *f, const char *from,
                                 const char *to)
{
    json_t *set = strcmp(from, "START") == 0 ? f->first : f->fed;

    if (to != NULL)
        mortise_foreign_set(f, set, to, json_true());
}

static const char *get_source_node(struct foreign *f,
                                   const struct mortise_yaml *edge)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, "source");

    if (v == NULL) {
        mortise_foreign_report_error(f, edge->span, NULL,
                                     "an edge needs a 'source'");
        return NULL;
    }
    return mortise_foreign_is_string(v, "__START__")
               ? "START"
               : mortise_foreign_find_id(f, v);
}

/* Is the target decided at run time, and this only a placeholder? */
static bool is_target_placeholder(const struct mortise_yaml *target)
{
    return mortise_foreign_is_string(target, "__CONDITIONAL__") ||
           mortise_foreign_is_string(target, "__DISCOVERY__") ||
           mortise_foreign_is_string(target, "__PERSONALITY__");
}

/* NULL: no fixed target; an invalid one was reported. */
static const char *get_target_node(struct foreign *f,
                                   const struct mortise_yaml *edge)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, "target");

    if (v == NULL) {
        mortise_foreign_report_error(f, edge->span, NULL,
                                     "an edge needs a 'target'");
        return NULL;
    }
    if (is_target_placeholder(v))
        return NULL;
    return mortise_foreign_is_string(v, "__END__")
               ? "END"
               : mortise_foreign_find_id(f, v);
}

/* ---- kinds -------------------------------------------------------------- */

static void add_edge_condition(struct foreign *f,
                               const struct mortise_yaml *edge, const char *to,
                               json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, "condition");
    const struct foreign_cond *expr = NULL;

    if (v == NULL || v->kind != MORTISE_YAML_MAP)
        mortise_foreign_report_loss(f, v != NULL ? v->span : edge->span,
                                    "give it a 'when'",
                                    "a conditional edge has no condition");
    else
        expr = mortise_foreign_parse_condition(f, v, "an edge");
    if (to == NULL)
        mortise_foreign_report_loss(
            f, edge->span, "write an edge for each node that it can lead to",
            "the targets of this edge are not imported: only "
            "its condition names them");
    if (expr != NULL && to != NULL)
        mortise_foreign_set(
            f, into, "when",
            mortise_foreign_make_edge_expr(
                f, expr, mortise_foreign_get(edge, "target")->str));
    else
        mortise_foreign_set(f, into, "type", json_string("conditional"));
}

static void copy_edge_field(struct foreign *f, const struct mortise_yaml *edge,
                            const char *theirs, const char *ours, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, theirs);

    if (v != NULL)
        mortise_foreign_set(f, into, ours, mortise_foreign_copy_literal(f, v));
}

/* If a discovery edge of the source names no fallback, its target is the
 * fallback. */
static void add_discovery_edge(struct foreign *f,
                               const struct mortise_yaml *edge,
                               const char *from, const char *to, json_t *into)
{
    const struct mortise_yaml *v =
        mortise_foreign_get(edge, "discoveryFallback");
    const char *fallback = v != NULL ? mortise_foreign_find_id(f, v) : to;
    json_t *discovery = json_object();

    mortise_foreign_record_edge(f, from, fallback);
    copy_edge_field(f, edge, "discoveryQuery", "query", discovery);
    copy_edge_field(f, edge, "discoveryKind", "kind", discovery);
    if (fallback != NULL)
        mortise_foreign_set(f, discovery, "fallback", json_string(fallback));
    if (fallback != NULL && to != NULL && strcmp(fallback, to) != 0)
        mortise_foreign_report_loss(
            f, mortise_yaml_get(edge, "target")->span,
            "a discovery edge leads to the node that is found, or to its "
            "fallback",
            "the 'target' of a discovery edge is not imported");
    mortise_foreign_report_loss(
        f, edge->span,
        "set 'capability' on the nodes that it can find; "
        "until then, `mortise check` reports an error",
        "the nodes that a discovery edge finds are not "
        "imported: here, nodes declare a 'capability'");
    mortise_foreign_set(f, into, "discovery", discovery);
}

static const struct foreign_row personality_rows[] = {
    {"trait", "trait", FOREIGN_COPY, NULL},
    {"threshold", "threshold", FOREIGN_COPY, NULL},
    {"above", "above", FOREIGN_ID, NULL},
    {"below", "below", FOREIGN_ID, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

/* A personality edge leads to `above` or `below`. */
static void add_personality_edge(struct foreign *f,
                                 const struct mortise_yaml *edge,
                                 const char *from, const char *to, json_t *into)
{
    const struct mortise_yaml *v =
        mortise_foreign_get(edge, "personalityCondition");
    json_t *p = json_object();
    const char *above, *below;

    if (v != NULL && v->kind == MORTISE_YAML_MAP)
        mortise_foreign_convert_map(f, personality_rows, v,
                                    "personalityCondition", p);
    above = json_string_value(json_object_get(p, "above"));
    below = json_string_value(json_object_get(p, "below"));
    mortise_foreign_record_edge(f, from, above);
    mortise_foreign_record_edge(f, from, below);
    if (to != NULL && (above == NULL || strcmp(above, to) != 0) &&
        (below == NULL || strcmp(below, to) != 0))
        mortise_foreign_report_loss(
            f, mortise_yaml_get(edge, "target")->span,
            "a personality edge leads to its 'above' or 'below'",
            "the 'target' of a personality edge is not imported");
    mortise_foreign_set(f, into, "personality", p);
}

/* Here, the guardrails of an edge check one value, listed as `input`. */
static const struct foreign_row policy_rows[] = {
    {"input", "input", FOREIGN_COPY, NULL},
    {"output", "output", FOREIGN_CUSTOM, NULL},
    {"onViolation", "on_violation", FOREIGN_COPY, NULL},
    {"rerouteTarget", "reroute_target", FOREIGN_ID, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static bool is_nonempty_list(const struct mortise_yaml *list)
{
    return list != NULL && list->kind == MORTISE_YAML_SEQ && list->n > 0;
}

static void add_edge_policy(struct foreign *f, const struct mortise_yaml *edge,
                            const char *from, json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, "guardrailPolicy");
    json_t *policy;

    if (v == NULL)
        return;
    if (is_nonempty_list(mortise_foreign_get(v, "output")))
        mortise_foreign_report_loss(
            f, mortise_yaml_key(v, "output")->span,
            "list its guardrails under 'input'",
            "'output' is not imported: the guardrails of an "
            "edge check only one value");
    if (strcmp(from, "START") == 0 ||
        !is_nonempty_list(mortise_foreign_get(v, "input"))) {
        mortise_foreign_report_loss(
            f, mortise_yaml_key(edge, "guardrailPolicy")->span, NULL,
            "'guardrailPolicy' is not imported: %s",
            strcmp(from, "START") == 0
                ? "an edge from START has no value to check"
                : "it has no 'input'");
        return;
    }
    policy = json_object();
    mortise_foreign_convert_map(f, policy_rows, v, "guardrailPolicy", policy);
    mortise_foreign_set(f, into, "guardrail_policy", policy);
}

/* Report fields that only edges of another type use. */
static void report_unused_fields(struct foreign *f,
                                 const struct mortise_yaml *edge,
                                 const char *type)
{
    static const struct {
        const char *field, *type;
    } strays[] = {{"condition", "conditional"},
                  {"discoveryQuery", "discovery"},
                  {"discoveryKind", "discovery"},
                  {"discoveryFallback", "discovery"},
                  {"personalityCondition", "personality"}};

    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++)
        if (strcmp(strays[i].type, type) != 0 &&
            mortise_foreign_get(edge, strays[i].field) != NULL)
            mortise_foreign_report_loss(
                f, mortise_yaml_key(edge, strays[i].field)->span, NULL,
                "'%s' is not imported: an edge of type '%s' does not use it",
                strays[i].field, type);
}

enum type { STATIC, CONDITIONAL, DISCOVERY, PERSONALITY, N_TYPES };

static const char *const types[N_TYPES] = {"static", "conditional", "discovery",
                                           "personality"};

/* N_TYPES: the type is invalid, which was reported. */
static enum type get_edge_type(struct foreign *f,
                               const struct mortise_yaml *edge)
{
    const struct mortise_yaml *v = mortise_foreign_get(edge, "type");
    enum type type = STATIC;

    while (type < N_TYPES && !mortise_foreign_is_string(v, types[type]))
        type++;
    if (type == N_TYPES)
        mortise_foreign_report_error(f, v != NULL ? v->span : edge->span, NULL,
                                     "the 'type' of an edge must be static, "
                                     "conditional, discovery or personality");
    return type;
}

static json_t *convert_edge(struct foreign *f, const struct mortise_yaml *edge,
                            const char *from, const char *to)
{
    const enum type type = get_edge_type(f, edge);
    json_t *into = json_object();

    if (type == N_TYPES)
        return into;
    mortise_foreign_set(f, into, "from", json_string(from));
    if (to != NULL && (type == STATIC || type == CONDITIONAL))
        mortise_foreign_set(f, into, "to", json_string(to));
    if (type == CONDITIONAL)
        add_edge_condition(f, edge, to, into);
    if (type == DISCOVERY)
        add_discovery_edge(f, edge, from, to, into);
    if (type == PERSONALITY)
        add_personality_edge(f, edge, from, to, into);
    add_edge_policy(f, edge, from, into);
    mortise_foreign_convert_map(f, edge_rows, edge, "an edge", into);
    report_unused_fields(f, edge, types[type]);
    mortise_foreign_convert_exit(f, edge, from, to, into);
    return into;
}

/* ---- interface ---------------------------------------------------------- */

static const struct foreign_row target_rows[] = {
    {"id", NULL, FOREIGN_CUSTOM, NULL},
    {"source", NULL, FOREIGN_CUSTOM, NULL},
    {"target", NULL, FOREIGN_CUSTOM, NULL},
    {"type", NULL, FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static void add_router_target(struct foreign *f,
                              const struct mortise_yaml *edge, const char *to,
                              json_t *targets)
{
    const struct mortise_yaml *v = mortise_yaml_get(edge, "target");

    mortise_foreign_convert_map(f, target_rows, edge, "a router's edge", NULL);
    if (to != NULL)
        mortise_foreign_set(f, targets, v->str, json_string(to));
}

static void import_edge(struct foreign *f, const struct mortise_yaml *edge,
                        json_t *routers, json_t *list)
{
    const char *from, *to;
    json_t *targets;

    if (edge->kind != MORTISE_YAML_MAP) {
        mortise_foreign_report_error(f, edge->span, NULL,
                                     "an edge must be a mapping, not %s",
                                     mortise_yaml_kind_name(edge->kind));
        return;
    }
    from = get_source_node(f, edge);
    to = get_target_node(f, edge);
    if (from == NULL)
        return;
    mortise_foreign_record_edge(f, from, to);
    targets = json_object_get(routers, from);
    if (targets != NULL)
        add_router_target(f, edge, to, targets);
    else if (json_array_append_new(list, convert_edge(f, edge, from, to)) != 0)
        f->nomem = true;
}

json_t *mortise_foreign_convert_edges(struct foreign *f,
                                      const struct mortise_yaml *list,
                                      json_t *routers)
{
    json_t *into = json_array();

    for (size_t i = 0; i < list->n && !f->nomem; i++)
        import_edge(f, list->items[i], routers, into);
    mortise_foreign_add_voice_edges(f, into);
    return into;
}
