/* human.c -- human nodes: the question, who answers, how long it stands, and
 * whether anybody is asked at all. */
#include "graph/load/node.h"

void mortise_node_read_prompt(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    mortise_load_late_tmpl(ctx, &r->node->prompt, slot->value, r->node->index);
}

void mortise_node_read_schema(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    r->node->answer_schema = mortise_load_schema(ld, slot->value);
    ld->names[MORTISE_IN_OUTPUT].schema =
        mortise_load_decision(ld, r->node->answer_schema);
}

void mortise_node_read_assignees(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    r->node->assignees = mortise_load_strings(ctx, slot->value);
    r->node->n_assignees = slot->value->n;
}

void mortise_node_read_wait(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    (void)ctx;
    r->node->wait_ms = slot->ms;
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
    struct mortise_reading *r = into;

    r->node->on_timeout = MORTISE_TIMEOUT_GOTO;
    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_TIMEOUT);
}

static const struct mortise_key on_timeout_keys[] = {
    {.name = "goto",
     .about = "The node to go to when nobody answered in time.",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .read = read_timeout_goto},
};

static const struct mortise_place on_timeout_place = {
    .what = "on_timeout", .keys = on_timeout_keys, .n = 1};

const struct mortise_key mortise_on_timeout_forms[2] = {
    {.value = MORTISE_V_WORD, .words = timeouts},
    {.value = MORTISE_V_MAP, .place = &on_timeout_place},
};

void mortise_node_read_on_timeout(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    const struct mortise_word *w;

    if (mortise_yaml_get(r->map, "wait") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'on_timeout' needs 'wait': without it nothing times "
                         "out");
    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(&on_timeout_place, MORTISE_HERE, slot->value,
                          slot->name->span, ld, r, ld->diags);
        return;
    }
    w = mortise_word_find(timeouts, "on_timeout", slot->value, ld->diags);
    if (w != NULL)
        r->node->on_timeout = (enum mortise_on_timeout)w->value;
    else
        mortise_node_also_takes(ld, "{goto: ID}");
}

/* ---- who is not asked ---------------------------------------------------- */

void mortise_node_read_auto_accept(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    (void)ctx;
    r->node->auto_accept = slot->value->u.b;
}

const struct mortise_key mortise_auto_reject_forms[2] = {
    {.value = MORTISE_V_BOOL},
    {.value = MORTISE_V_STRING},
};

void mortise_node_read_auto_reject(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    const struct mortise_yaml *v = slot->value;
    bool reason = v->kind == MORTISE_YAML_STRING && v->len > 0;

    if (!reason && v->kind != MORTISE_YAML_BOOL) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "'auto_reject' takes true, false or a reason");
        return;
    }
    r->node->auto_reject = reason || v->u.b;
    r->node->auto_reason = reason ? v->str : "";
    if (r->node->auto_reject && r->node->auto_accept)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'auto_accept' accepts all, and leaves nothing to "
                         "reject");
}

void mortise_node_read_guardrail_override(void *ctx, void *into,
                                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    r->node->trusts_auto_accept = !slot->value->u.b;
    if (!r->node->auto_accept || r->node->guards[MORTISE_GUARD_DECISION].n == 0)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'guardrail_override' needs 'auto_accept' and "
                         "'post_approval_guardrails': it says whether these "
                         "see what is accepted so");
}

/* What is accepted without anybody's answer is accepted with null.  That nobody
 * is ever asked is a mistake then; that nobody answers in time may be what is
 * meant, and whoever reads the answer has to know. */
void mortise_node_finish_human(struct mortise_loader *ld,
                               struct mortise_reading *r)
{
    const struct mortise_schema *schema = r->node->answer_schema;
    json_t *null = json_null();
    bool refused = schema != NULL &&
                   mortise_schema_check(schema, null, NULL) != MORTISE_OK;

    if (refused && r->node->auto_accept)
        mortise_diag_add(ld->diags, "E0212",
                         mortise_yaml_get(r->map, "auto_accept")->span,
                         "'auto_accept' answers null, which 'schema' refuses");
    if (refused && r->node->on_timeout == MORTISE_TIMEOUT_ACCEPT)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0812",
                             mortise_yaml_get(r->map, "on_timeout")->span,
                             "'on_timeout: accept' accepts with the answer "
                             "null, which 'schema' refuses"),
            "let the schema take null, if what reads the answer does");
    json_decref(null);
}
