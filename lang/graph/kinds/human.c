/* human.c -- human nodes: the question, the people who are asked, the time
 * limit, and decisions without a person. */
#include "core/model/human.h"

#include "lang/graph/load/node.h"

/* For `.in` of rows whose field is in the kind's own data. */
static void *get_human_data(void *reading)
{
    struct mortise_node_reader *r = reading;

    return r->node->own;
}

/* ---- the question -------------------------------------------------------- */

static void read_human_prompt(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;

    mortise_load_defer(ctx, mortise_load_deferred_tmpl, &human->prompt,
                       slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

static void read_human_assignees(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;

    human->assignees = mortise_load_strings(ctx, slot->value);
    human->n_assignees = slot->value->n;
}

static const struct mortise_word timeouts[] = {
    {"error", MORTISE_TIMEOUT_ERROR, false},
    {"accept", MORTISE_TIMEOUT_ACCEPT, false},
    {"reject", MORTISE_TIMEOUT_REJECT, false},
    {NULL, 0, false},
};

static void read_timeout_goto(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;

    human->on_timeout = MORTISE_TIMEOUT_GOTO;
    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_TIMEOUT);
}

static const struct mortise_key on_timeout_keys[] = {
    {.name = "goto",
     .about = "The next node if nobody answers in time.",
     .value = MORTISE_V_ID,
     .required = true,
     .read = read_timeout_goto},
};

MORTISE_PLACE(on_timeout, "on_timeout");

static const struct mortise_key on_timeout_forms[] = {
    {.value = MORTISE_V_WORD, .words = timeouts},
    {.value = MORTISE_V_MAP, .place = &on_timeout_place},
};

static void read_human_wait(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;

    mortise_load_duration(ctx, slot, r->node->index, &human->wait_ms,
                          &human->wait);
}

static void read_human_on_timeout(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;
    const struct mortise_word *w;

    if (!mortise_slot_has_sibling(slot, "wait"))
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'on_timeout' needs 'wait': without it, the request "
                         "never times out");
    w = mortise_node_word_or_map(ld, r, slot, "{goto: ID}");
    if (w != NULL)
        human->on_timeout = (enum mortise_on_timeout)w->value;
}

/* ---- decisions without a person ------------------------------------------ */

static const struct mortise_key auto_reject_forms[] = {
    {.value = MORTISE_V_BOOL},
    {.value = MORTISE_V_STRING},
};

static void read_human_auto_reject(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;
    const struct mortise_yaml *v = slot->value;
    bool reason = v->kind == MORTISE_YAML_STRING && v->len > 0;

    if (!reason && v->kind != MORTISE_YAML_BOOL) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "'auto_reject' must be true, false or a reason");
        return;
    }
    human->auto_reject = reason || v->u.b;
    human->auto_reason = reason ? v->str : "";
    if (human->auto_reject && human->auto_accept)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'auto_accept' and 'auto_reject' exclude each other: "
                         "remove one of them");
}

static void read_guardrail_override(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;

    human->trusts_auto_accept = !slot->value->u.b;
    if (!human->auto_accept || r->node->guards[MORTISE_GUARD_DECISION].n == 0)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'guardrail_override' needs 'auto_accept' and "
                         "'post_approval_guardrails': it sets whether the "
                         "guardrails check an automatic acceptance");
}

/* ---- the judge ----------------------------------------------------------- */

static const char judge_plugin[] = "agent", judge_operation[] = "judge";

struct judge { /* a judge while it is read */
    const struct mortise_yaml *provider, *model, *criteria;
    double threshold;
};

static const struct mortise_key judge_keys[] = {
    {.name = "provider",
     .about = "An alias of the deployment's models (default: default).",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct judge, provider)},
    {.name = "model",
     .about = "The server's name for the model (default: the alias's).",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_YAML(struct judge, model)},
    {.name = "criteria",
     .about = "The instructions of the judge: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_YAML(struct judge, criteria)},
    {.name = "confidence_threshold",
     .about = "The least confidence of the judge, from 0 to 1 (default: 0.7). "
              "Below it, a person is asked.",
     .value = MORTISE_V_NUMBER,
     .max = 1,
     MORTISE_INTO_DOUBLE(struct judge, threshold)},
};
MORTISE_PLACE(judge, "judge");

/* {provider_id, model?}, as JSON text. */
static const char *get_judge_llm(struct mortise_loader *ld,
                                 const struct judge *judge, const char *alias)
{
    json_t *json = json_pack("{s:s, s:s*}", "provider_id", alias, "model",
                             judge->model != NULL ? judge->model->str : NULL);
    const char *text = mortise_load_json(ld, json);

    json_decref(json);
    return text;
}

static void find_judge_operation(struct mortise_loader *ld,
                                 struct mortise_side_operation *a,
                                 struct mortise_span at)
{
    struct mortise_err why = {0};

    a->plugin = judge_plugin;
    a->operation = judge_operation;
    a->op =
        ld->catalog->operation(ld->catalog->ud, a->plugin, a->operation, &why);
    ld->nomem |= why.code == MORTISE_ENOMEM;
    if (a->op == NULL)
        mortise_load_report_refusal(
            ld, why.code == MORTISE_ECONFIG ? "E0507" : "E0501", at, a->plugin,
            &why);
    else
        mortise_load_plugin(ld, "", a->plugin);
}

static void read_human_judge(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    struct mortise_human *human = r->node->own;
    struct judge judge = {.threshold = 0.7};
    struct mortise_side_operation *a = mortise_load_alloc(ld, sizeof *a);
    const char *alias;

    mortise_keys_read_slot(slot, ld, &judge, ld->diags);
    if (a == NULL || judge.criteria == NULL)
        return;
    if (human->auto_accept || human->auto_reject)
        mortise_diag_add(ld->diags, "W0826", slot->name->span,
                         "'judge' has no effect, because '%s' already decides: "
                         "remove one of them",
                         human->auto_accept ? "auto_accept" : "auto_reject");
    alias = judge.provider != NULL ? judge.provider->str : "default";
    mortise_llm_check(ld, alias,
                      judge.provider != NULL ? judge.provider->span
                                             : slot->name->span);
    find_judge_operation(ld, a, slot->name->span);
    a->llm = get_judge_llm(ld, &judge, alias);
    human->threshold = judge.threshold;
    mortise_load_defer(ld, mortise_load_deferred_tmpl, &human->criteria,
                       judge.criteria, r->node->index, MORTISE_IN_OUTPUT);
    if (a->op != NULL && !ld->nomem)
        r->node->judge = a;
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROW(mortise_effect_row),
    {.name = "prompt",
     .about = "The question to the person: a template.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_human_prompt},
    {.name = "schema",
     .about = "A JSON Schema for the answer.",
     .value = MORTISE_V_SCHEMA,
     .read = mortise_load_schema,
     .in = get_human_data,
     MORTISE_AT(struct mortise_schema *, struct mortise_human, answer_schema)},
    {.name = "assignees",
     .about = "The people who are asked.",
     .value = MORTISE_V_STRINGS,
     .read = read_human_assignees},
    {.name = "wait",
     .about = "The time limit of the question (default: none).",
     MORTISE_FORMS(mortise_duration_forms),
     .read = read_human_wait},
    {.name = "on_timeout",
     .about = "The result if nobody answers in time: error (the default), "
              "accept, reject, or {goto: NODE}.",
     MORTISE_FORMS(on_timeout_forms),
     .read = read_human_on_timeout},
    {.name = "auto_accept",
     .about = "true: accept without asking a person.",
     .in = get_human_data,
     MORTISE_INTO_BOOL(struct mortise_human, auto_accept)},
    {.name = "auto_reject",
     .about = "true, or a reason: reject without asking a person.",
     MORTISE_FORMS(auto_reject_forms),
     .read = read_human_auto_reject},
    {.name = "post_approval_guardrails",
     .about = "Ids of guardrails that check what was approved.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_DECISION])},
    {.name = "guardrail_override",
     .about =
         "true: post_approval_guardrails also check an automatic acceptance.",
     .value = MORTISE_V_BOOL,
     .read = read_guardrail_override},
    {.name = "judge",
     .about = "A model that decides instead of the person if it is confident.",
     .value = MORTISE_V_MAP,
     .place = &judge_place,
     .read = read_human_judge},
    MORTISE_ROWS(mortise_work_rows),
};

/* ---- the kind ------------------------------------------------------------ */

/* The schema of `output` in the node's expressions: a decision. */
static const struct mortise_schema *
make_decision_schema(struct mortise_loader *ld, struct mortise_schema *answer)
{
    const struct mortise_schema *s = mortise_schema_add_member(
        ld->arena,
        mortise_load_internal_schema(
            ld, json_pack("{s:s,s:{s:{s:s},s:{s:s},s:{s:s}},s:b}", "type",
                          "object", "properties", "approved", "type", "boolean",
                          "reason", "type", "string", "decided_by", "type",
                          "string", "additionalProperties", 0)),
        "answer", mortise_schema_allow_null(ld->arena, answer));

    ld->nomem |= s == NULL;
    return s;
}

/* An acceptance without a person has a null answer, which the schema may
 * forbid.  With auto_accept that is an error.  With a timeout it may be
 * intended, so it is only a warning: the reader of the answer must expect
 * null. */
static void check_null_answer(struct mortise_loader *ld,
                              const struct mortise_node_reader *r)
{
    const struct mortise_human *human = r->node->own;
    const struct mortise_schema *schema = human->answer_schema;
    json_t *null = json_null();
    bool refused = schema != NULL &&
                   mortise_schema_check(schema, null, NULL) != MORTISE_OK;

    if (refused && human->auto_accept)
        mortise_diag_add(ld->diags, "E0212",
                         mortise_yaml_get(r->map, "auto_accept")->span,
                         "'auto_accept' answers null, which 'schema' does not "
                         "allow: allow null there, or remove 'auto_accept'");
    if (refused && human->on_timeout == MORTISE_TIMEOUT_ACCEPT)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0812",
                             mortise_yaml_get(r->map, "on_timeout")->span,
                             "'on_timeout: accept' answers null, which "
                             "'schema' does not allow"),
            "allow null in the schema if the nodes that read the answer accept "
            "it");
    json_decref(null);
}

static void finish_human_node(struct mortise_loader *ld,
                              struct mortise_node_reader *r)
{
    const struct mortise_human *human = r->node->own;

    ld->output_of[r->node->index] =
        make_decision_schema(ld, human->answer_schema);
    r->node->timeout_ms = ld->defaults.timeout_ms; /* for its guardrails */
    check_null_answer(ld, r);
}

const struct mortise_node_kind mortise_graph_kind_human = {
    .place = {MORTISE_KIND_PLACE("human", keys)},
    .size = sizeof(struct mortise_human),
    .finish = finish_human_node};
