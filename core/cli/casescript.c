/* casescript.c -- who answers in a case: operations, guardrails, people.
 *
 *   (1) An answer says one thing: what a success emits, or an error.  A verdict
 *       passes or does not.  A person does one thing.  Two at once is a finding,
 *       not a choice of ours.
 *   (2) Answers written as a list are given once each, in order; one that is
 *       no list, or that asks for certain `args`, is given as often as it is
 *       wanted.
 */
#include "cli/casereader.h"

/* ---- answers ------------------------------------------------------------ */

static const struct mortise_word classes[] = {{.word = "transient"},
                                              {.word = "permanent"},
                                              {.word = "timeout"},
                                              {.word = NULL}};

static const struct mortise_key error_keys[] = {
    {.name = "code",
     .about = "The error's code, such as 'not_found'.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_TEXT(struct mortise_case_answer, code)},
    {.name = "class",
     .about = "'transient', 'timeout' or 'permanent' (the default).",
     .value = MORTISE_V_WORD,
     .words = classes,
     MORTISE_INTO_TEXT(struct mortise_case_answer, error_class)},
    {.name = "message",
     .about = "What the error says.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_answer, message)},
};
MORTISE_PLACE(error, "a scripted error");

static void read_error(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_answer *a = into;

    a->has_error = true;
    a->error_class = "permanent";
    a->message = "scripted";
    mortise_keys_enter(slot, r, a, r->diags);
}

static const struct mortise_key update_keys[] = {
    {.name = "scratch",
     .about = "What the operation sets in scratch.",
     .value = MORTISE_V_MAP},
    {.name = "artifacts",
     .about = "What the operation sets in artifacts.",
     .value = MORTISE_V_MAP},
};
MORTISE_PLACE(update, "an update");

static void read_update(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_answer *a = into;

    mortise_keys_enter(slot, r, a, r->diags);
    a->update = slot->value;
}

#define COUNTED(word, words)                                                   \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_INT,              \
        .max = MORTISE_USAGE_MAX                                               \
    }

static const struct mortise_key usage_keys[] = {
    COUNTED("model_calls", "How many models it called."),
    COUNTED("input_tokens", "How many tokens it gave to them."),
    COUNTED("output_tokens", "How many tokens it got from them."),
    {.name = "usd",
     .about = "How many dollars that cost.",
     .value = MORTISE_V_NUMBER,
     .max = (double)MORTISE_USAGE_MAX / MORTISE_NANO},
    {.name = "model",
     .about = "The model that it called.",
     .value = MORTISE_V_STRING},
};
MORTISE_PLACE(usage, "usage");

int mortise_case_usage(const struct mortise_yaml *said,
                       struct mortise_usage *out, struct mortise_err *err)
{
    json_t *value = mortise_yaml_json(said, true);
    int rv = value != NULL ? mortise_usage_parse(out, value, err)
                           : mortise_nomem(err);

    json_decref(value);
    return rv;
}

static void read_usage(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_answer *a = into;
    size_t errors = r->diags->n_errors;
    struct mortise_usage usage = {0};
    struct mortise_err err;
    int rv;

    mortise_keys_enter(slot, r, a, r->diags);
    if (r->diags->n_errors != errors)
        return;
    rv = mortise_case_usage(slot->value, &usage, &err);
    if (rv == MORTISE_EINVAL)
        mortise_diag_add(r->diags, "E0208", slot->value->span, "%s", err.msg);
    r->nomem |= rv == MORTISE_ENOMEM;
    mortise_usage_finish(&usage);
    a->usage = slot->value;
}

static const struct mortise_word doubts[] = {
    {"done", MORTISE_CASE_DONE, false},
    {"retry", MORTISE_CASE_RETRY, false},
    {"fail", MORTISE_CASE_FAIL, false},
    {NULL, 0, false}};

static const struct mortise_key answer_keys[] = {
    {.name = "args",
     .about = "The answer is for calls with these arguments alone; others do "
              "not matter.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_case_answer, args)},
    {.name = "output",
     .about = "What the operation gives.",
     .value = MORTISE_V_ANY,
     MORTISE_INTO_YAML(struct mortise_case_answer, output)},
    {.name = "error",
     .about = "What the operation fails of.",
     .value = MORTISE_V_MAP,
     .place = &error_place,
     .read = read_error},
    {.name = "after",
     .about = "How long the call takes (default: no time at all).",
     .value = MORTISE_V_DURATION,
     MORTISE_INTO_MS(struct mortise_case_answer, after_ms)},
    {.name = "doubt",
     .about = "The call ends, and these words say why nobody knows whether it "
              "happened; who finds out, or does it again, gets the answer.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_answer, doubt)},
    {.name = "in_doubt",
     .about = "What a person says where the effect is in doubt, after a crash "
              "or by 'doubt': done, retry or fail.",
     .value = MORTISE_V_WORD,
     .words = doubts,
     MORTISE_INTO_WORD(struct mortise_case_answer, in_doubt)},
    {.name = "goto",
     .about = "The node that the operation says the run goes on at.",
     .value = MORTISE_V_ID,
     MORTISE_INTO_TEXT(struct mortise_case_answer, go_to)},
    {.name = "update",
     .about = "What the operation sets in the state.",
     .value = MORTISE_V_MAP,
     .place = &update_place,
     .read = read_update},
    {.name = "usage",
     .about = "What the operation says that it used, whether it succeeds or "
              "not.",
     .value = MORTISE_V_MAP,
     .place = &usage_place,
     .read = read_usage},
};
MORTISE_PLACE(answer, "a scripted answer");

/* ---- verdicts ----------------------------------------------------------- */

static void read_pass(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_answer *a = into;
    struct mortise_case_reader *r = ctx;

    a->passes = slot->value->u.b;
    if (!a->passes)
        mortise_diag_add(r->diags, "E0208", slot->value->span,
                         "a guardrail that does not pass has a 'violation'");
}

static void read_violation(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_case_answer *a = into;

    (void)ctx;
    a->has_violation = true;
    a->violation = slot->value->str;
}

static const struct mortise_key verdict_keys[] = {
    {.name = "pass",
     .about = "true: there is nothing to say against it.",
     .value = MORTISE_V_BOOL,
     .read = read_pass},
    {.name = "violation",
     .about = "Why it is a violation.",
     .value = MORTISE_V_STRING,
     .read = read_violation},
    {.name = "output",
     .about = "What replaces the judged value where it is sanitized.",
     .value = MORTISE_V_ANY,
     MORTISE_INTO_YAML(struct mortise_case_answer, output)},
    {.name = "after",
     .about = "How long the guardrail takes (default: no time at all).",
     .value = MORTISE_V_DURATION,
     MORTISE_INTO_MS(struct mortise_case_answer, after_ms)},
};
MORTISE_PLACE(verdict, "a scripted verdict");

/* ---- one or several ----------------------------------------------------- */

static const struct mortise_key answer_row = {.value = MORTISE_V_MAP,
                                              .place = &answer_place};
static const struct mortise_key answer_forms[] = {
    {.value = MORTISE_V_MAP, .place = &answer_place},
    {.value = MORTISE_V_LIST, .min = 1, .each = &answer_row},
};
const struct mortise_key mortise_case_answers_row = {
    MORTISE_FORMS(answer_forms)};

static const struct mortise_key verdict_row = {.value = MORTISE_V_MAP,
                                               .place = &verdict_place};
static const struct mortise_key verdict_forms[] = {
    {.value = MORTISE_V_MAP, .place = &verdict_place},
    {.value = MORTISE_V_LIST, .min = 1, .each = &verdict_row},
};
const struct mortise_key mortise_case_verdicts_row = {
    MORTISE_FORMS(verdict_forms)};

/* The items of what is one thing or a list of them; false after a finding. */
static bool items_of(struct mortise_case_reader *r,
                     const struct mortise_yaml *v, const char *what,
                     const struct mortise_yaml *const **items, size_t *n)
{
    if (v->kind == MORTISE_YAML_SEQ && v->n > 0) {
        *items = (const struct mortise_yaml *const *)v->items;
        *n = v->n;
        return true;
    }
    if (v->kind == MORTISE_YAML_SEQ) {
        mortise_diag_add(r->diags, "E0208", v->span, "'%s' must not be empty",
                         what);
        return false;
    }
    if (v->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(r->diags, "E0203", v->span,
                         "'%s' takes one answer or a list of them, and this "
                         "is %s",
                         what, mortise_yaml_kind_name(v->kind));
        return false;
    }
    return true;
}

/* Does it say what a call emits that succeeds? */
static bool succeeds(const struct mortise_case_answer *a)
{
    return a->output != NULL || a->go_to != NULL || a->update != NULL;
}

static void check_answer(struct mortise_case_reader *r,
                         const struct mortise_case_answer *a, bool verdict)
{
    if (verdict && a->has_violation + a->passes != 1)
        mortise_diag_add(r->diags, "E0212", a->at->span,
                         "a verdict is pass: true or a violation: one of them");
    else if (verdict && a->output != NULL && !a->has_violation)
        mortise_diag_add(r->diags, "E0212", a->output->span,
                         "'output' replaces what has a 'violation'");
    else if (!verdict && succeeds(a) + a->has_error != 1)
        mortise_diag_add(r->diags, "E0212", a->at->span,
                         "an answer has an 'output' (or 'goto', 'update') or "
                         "an 'error': one of them");
    else if (a->has_error && a->in_doubt == MORTISE_CASE_DONE)
        mortise_diag_add(r->diags, "E0212", a->at->span,
                         "in_doubt: done gives the 'output' of the answer, "
                         "and this is an error");
}

static void read_answer(struct mortise_case_reader *r,
                        struct mortise_case_answer *a,
                        const struct mortise_yaml *v,
                        const struct mortise_place *place)
{
    size_t errors = r->diags->n_errors;

    a->at = v;
    mortise_keys_read(place, v, v->span, r, a, r->diags);
    if (r->diags->n_errors == errors)
        check_answer(r, a, place == &verdict_place);
}

static void read_script(struct mortise_case_reader *r,
                        struct mortise_case_script *s,
                        const struct mortise_yaml *name,
                        const struct mortise_yaml *v,
                        const struct mortise_place *place)
{
    const struct mortise_yaml *const *items = &v;
    size_t n = 1;

    s->name = name;
    if (!items_of(r, v, name->str, &items, &n))
        return;
    s->list = mortise_case_take(r, n * sizeof *s->list);
    if (s->list == NULL)
        return;
    s->n = n;
    s->once = v->kind == MORTISE_YAML_SEQ;
    for (size_t i = 0; i < n; i++)
        read_answer(r, &s->list[i], items[i], place);
}

static void read_scripts(struct mortise_case_reader *r,
                         struct mortise_case_scripts *out,
                         const struct mortise_yaml *map,
                         const struct mortise_place *place)
{
    out->list = mortise_case_take(r, map->n * sizeof *out->list);
    for (size_t i = 0; i < map->n && out->list != NULL; i++)
        if (!mortise_yaml_is_x(map->keys[i]->str))
            read_script(r, &out->list[out->n++], map->keys[i], map->items[i],
                        place);
}

void mortise_case_read_operations(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_case *c = into;

    read_scripts(ctx, &c->operations, slot->value, &answer_place);
}

void mortise_case_read_nodes(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_case *c = into;

    read_scripts(ctx, &c->nodes, slot->value, &answer_place);
}

void mortise_case_read_guardrails(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_case *c = into;

    read_scripts(ctx, &c->guardrails, slot->value, &verdict_place);
}

/* ---- people ------------------------------------------------------------- */

static void does(struct mortise_case_deeds *p, enum mortise_case_deed deed)
{
    p->deed = deed;
    p->n_deeds++;
}

/* `approve: false` and `timeout: false` say nothing: why write them? */
static bool is_true(struct mortise_case_reader *r,
                    const struct mortise_slot *slot)
{
    if (slot->value->u.b)
        return true;
    mortise_diag_add(r->diags, "E0208", slot->value->span,
                     "'%s' is true or not there", slot->key->name);
    return false;
}

static void read_approve(void *ctx, void *into, const struct mortise_slot *slot)
{
    if (is_true(ctx, slot))
        does(into, MORTISE_CASE_APPROVE);
}

static void read_reject(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_deeds *p = into;

    (void)ctx;
    does(p, MORTISE_CASE_REJECT);
    p->reason = slot->value->str;
}

static void read_person_answer(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_case_deeds *p = into;

    (void)ctx;
    p->answer = slot->value;
    if (p->deed != MORTISE_CASE_APPROVE)
        does(p, MORTISE_CASE_ANSWER);
}

static void read_timeout(void *ctx, void *into, const struct mortise_slot *slot)
{
    if (is_true(ctx, slot))
        does(into, MORTISE_CASE_TIMEOUT);
}

static void read_edited(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_case_deeds *p = into;
    struct mortise_case_reader *r = ctx;

    p->args = slot->value;
    if (p->deed != MORTISE_CASE_APPROVE)
        mortise_diag_add(r->diags, "E0212", slot->name->span,
                         "'args' edits a call that is approved: it goes with "
                         "approve: true");
}

static const struct mortise_key person_keys[] = {
    {.name = "approve",
     .about = "true: the person approves.",
     .value = MORTISE_V_BOOL,
     .read = read_approve},
    {.name = "reject",
     .about = "Why the person rejects.",
     .value = MORTISE_V_STRING,
     .read = read_reject},
    {.name = "answer",
     .about = "The answer to a human node; it is an approval, too.",
     .value = MORTISE_V_ANY,
     .read = read_person_answer},
    {.name = "timeout",
     .about = "true: nobody answers until the time is over.",
     .value = MORTISE_V_BOOL,
     .read = read_timeout},
    {.name = "args",
     .about = "The call is approved with these arguments instead.",
     .value = MORTISE_V_MAP,
     .read = read_edited},
    {.name = "by",
     .about = "The name that is recorded.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_deeds, by)},
};
MORTISE_PLACE(person, "what a person does");

static const struct mortise_key person_row = {.value = MORTISE_V_MAP,
                                              .place = &person_place};
static const struct mortise_key person_forms[] = {
    {.value = MORTISE_V_MAP, .place = &person_place},
    {.value = MORTISE_V_LIST, .min = 1, .each = &person_row},
};
const struct mortise_key mortise_case_people_row = {
    MORTISE_FORMS(person_forms)};

static void read_deeds(struct mortise_case_reader *r,
                       struct mortise_case_deeds *p,
                       const struct mortise_yaml *v)
{
    size_t errors = r->diags->n_errors;

    mortise_keys_read(&person_place, v, v->span, r, p, r->diags);
    if (r->diags->n_errors == errors && p->n_deeds != 1)
        mortise_diag_add(r->diags, "E0212", v->span,
                         "a person does one of approve, reject, answer and "
                         "timeout");
}

static void read_person(struct mortise_case_reader *r,
                        struct mortise_case_person *p,
                        const struct mortise_yaml *name,
                        const struct mortise_yaml *v)
{
    const struct mortise_yaml *const *items = &v;
    size_t n = 1;

    p->name = name;
    if (!items_of(r, v, name->str, &items, &n))
        return;
    p->list = mortise_case_take(r, n * sizeof *p->list);
    if (p->list == NULL)
        return;
    p->n = n;
    p->once = v->kind == MORTISE_YAML_SEQ;
    for (size_t i = 0; i < n; i++)
        read_deeds(r, &p->list[i], items[i]);
}

void mortise_case_read_people(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case *c = into;
    const struct mortise_yaml *map = slot->value;

    c->people.list = mortise_case_take(r, map->n * sizeof *c->people.list);
    for (size_t i = 0; i < map->n && c->people.list != NULL; i++)
        if (!mortise_yaml_is_x(map->keys[i]->str))
            read_person(r, &c->people.list[c->people.n++], map->keys[i],
                        map->items[i]);
}
