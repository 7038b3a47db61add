/* casescript.c -- read the scripted answers of operations, guardrails and
 * people.
 *
 *   (1) An answer has either an output or an error.  A verdict passes or not.
 *       A person takes one action.  Two at once are an error of the file.
 *   (2) Answers in a list are given once each, in order.  A single answer, or
 *       one with `args`, is given as often as a call needs it.
 */
#include "testkit/cases/casereader.h"

#include <string.h>

/* ---- answers ------------------------------------------------------------ */

static const struct mortise_word classes[] = {{.word = "transient"},
                                              {.word = "permanent"},
                                              {.word = "timeout"},
                                              {.word = NULL}};

static void read_error_exit_code(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_case_answer *a = into;

    (void)ctx;
    a->ending.exit_code = (int32_t)slot->value->u.i;
}

static void read_error_status(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_case_answer *a = into;

    (void)ctx;
    a->ending.status = (int32_t)slot->value->u.i;
}

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
     .about = "The message of the error.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_answer, message)},
    {.name = "exit_code",
     .about = "The exit code of the program, for an error `exec.exit`.",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 255,
     .read = read_error_exit_code},
    {.name = "status",
     .about = "The status of the answer, for an error such as `http.404`.",
     .value = MORTISE_V_INT,
     .min = 100,
     .max = 599,
     .read = read_error_status},
};
MORTISE_PLACE(error, "a scripted error");

static const struct mortise_key update_keys[] = {
    {.name = "scratch",
     .about = "Values that the operation sets in scratch.",
     .value = MORTISE_V_MAP},
    {.name = "artifacts",
     .about = "Values that the operation sets in artifacts.",
     .value = MORTISE_V_MAP},
};
MORTISE_PLACE(update, "an update");

static void read_scripted_update(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_answer *a = into;

    mortise_keys_read_slot(slot, r, a, r->diags);
    a->update = slot->value;
}

#define COUNTED(word, words)                                                   \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_INT,              \
        .max = MORTISE_USAGE_MAX                                               \
    }

static const struct mortise_key usage_keys[] = {
    COUNTED("model_calls", "The number of calls of models."),
    COUNTED("input_tokens", "The number of input tokens."),
    COUNTED("output_tokens", "The number of output tokens."),
    {.name = "usd",
     .about = "The cost in dollars.",
     .value = MORTISE_V_NUMBER,
     .max = (double)MORTISE_USAGE_MAX / MORTISE_NANO},
    COUNTED("cached_tokens",
            "The number of input tokens that came from a cache."),
    COUNTED("cache_write_tokens",
            "The number of input tokens that were written to a cache."),
    COUNTED("reasoning_tokens",
            "The number of output tokens that were reasoning."),
    {.name = "model",
     .about = "The model that the operation called.",
     .value = MORTISE_V_STRING},
};
MORTISE_PLACE(usage, "usage");

int mortise_case_parse_usage(const struct mortise_yaml *said,
                             struct mortise_usage *out, struct mortise_err *err)
{
    json_t *value = mortise_yaml_to_json(said, true);
    int rv = value != NULL ? mortise_usage_parse(out, value, err)
                           : mortise_nomem(err);

    json_decref(value);
    return rv;
}

static void read_scripted_usage(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;
    struct mortise_case_answer *a = into;
    size_t errors = r->diags->n_errors;
    struct mortise_usage usage = {0};
    struct mortise_err err;
    int rv;

    mortise_keys_read_slot(slot, r, a, r->diags);
    if (r->diags->n_errors != errors)
        return;
    rv = mortise_case_parse_usage(slot->value, &usage, &err);
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
     .about = "Use this answer only for calls with these arguments; other "
              "arguments are ignored.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_case_answer, args)},
    {.name = "output",
     .about = "The output of the operation.",
     .value = MORTISE_V_ANY,
     MORTISE_INTO_YAML(struct mortise_case_answer, output)},
    {.name = "error",
     .about = "The error with which the operation fails.",
     MORTISE_INTO_SAME(error_place)},
    {.name = "after",
     .about = "The duration of the call (default: 0).",
     MORTISE_INTO_MS(struct mortise_case_answer, after_ms)},
    {.name = "doubt",
     .about = "The call ends in doubt, for this reason. A reconcile or a retry "
              "gets the answer.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_answer, doubt)},
    {.name = "in_doubt",
     .about = "How a person settles the effect if it is in doubt after a "
              "crash, a timeout or 'doubt': done, retry or fail.",
     .words = doubts,
     MORTISE_INTO_WORD(struct mortise_case_answer, in_doubt)},
    {.name = "goto",
     .about = "The node at which the operation lets the run continue.",
     .value = MORTISE_V_ID,
     MORTISE_INTO_TEXT(struct mortise_case_answer, go_to)},
    {.name = "update",
     .about = "Values that the operation sets in the state.",
     .value = MORTISE_V_MAP,
     .place = &update_place,
     .read = read_scripted_update},
    {.name = "usage",
     .about = "The usage that the operation reports, also if it fails.",
     .value = MORTISE_V_MAP,
     .place = &usage_place,
     .read = read_scripted_usage},
};
MORTISE_PLACE(answer, "a scripted answer");

/* ---- verdicts ----------------------------------------------------------- */

static void read_verdict_pass(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_case_answer *a = into;
    struct mortise_case_reader *r = ctx;

    a->passes = slot->value->u.b;
    if (!a->passes)
        mortise_diag_add(
            r->diags, "E0208", slot->value->span,
            "a guardrail verdict without pass: true needs a 'violation'");
}

static const struct mortise_key verdict_keys[] = {
    {.name = "pass",
     .about = "true: no violation.",
     .value = MORTISE_V_BOOL,
     .read = read_verdict_pass},
    {.name = "violation",
     .about = "The reason of the violation.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_answer, violation)},
    {.name = "output",
     .about = "The value that replaces the judged value if it is sanitized.",
     .value = MORTISE_V_ANY,
     MORTISE_INTO_YAML(struct mortise_case_answer, output)},
    {.name = "after",
     .about = "The duration of the call of the guardrail (default: 0).",
     MORTISE_INTO_MS(struct mortise_case_answer, after_ms)},
};
MORTISE_PLACE(verdict, "a scripted verdict");

/* ---- people ------------------------------------------------------------- */

/* `approve: false` and `timeout: false` would have no effect, so they are
 * rejected. */
static void read_true_flag(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_case_reader *r = ctx;

    *(bool *)((char *)into + slot->key->at) = slot->value->u.b;
    if (!slot->value->u.b)
        mortise_diag_add(r->diags, "E0208", slot->value->span,
                         "'%s' must be true or absent", slot->key->name);
}

static void read_edited_args(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_case_person *p = into;
    struct mortise_case_reader *r = ctx;

    p->args = slot->value;
    if (!p->approves || p->reason != NULL || p->answer != NULL || p->times_out)
        mortise_diag_add(r->diags, "E0212", slot->name->span,
                         "'args' edits the arguments of an approved call; add "
                         "approve: true");
}

static const struct mortise_key person_keys[] = {
    {.name = "approve",
     .about = "true: the person approves.",
     .value = MORTISE_V_BOOL,
     .read = read_true_flag,
     .at = offsetof(struct mortise_case_person, approves)},
    {.name = "reject",
     .about = "The person's reason for the rejection.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_person, reason)},
    {.name = "answer",
     .about = "The answer to a human node; it also approves.",
     .value = MORTISE_V_ANY,
     MORTISE_INTO_YAML(struct mortise_case_person, answer)},
    {.name = "timeout",
     .about = "true: nobody answers within the time limit.",
     .value = MORTISE_V_BOOL,
     .read = read_true_flag,
     .at = offsetof(struct mortise_case_person, times_out)},
    {.name = "args",
     .about = "The person approves the call with these arguments instead.",
     .value = MORTISE_V_MAP,
     .read = read_edited_args},
    {.name = "by",
     .about = "The recorded name of the person.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_case_person, by)},
};
MORTISE_PLACE(person, "what a person does");

/* ---- one or several ----------------------------------------------------- */

/* A key of a case: a single item of a place, or a list of such items. */
#define ONE_OR_SEVERAL(what, row)                                              \
    static const struct mortise_key what##_row = {.value = MORTISE_V_MAP,      \
                                                  .place = &what##_place};     \
    static const struct mortise_key what##_forms[] = {                         \
        {.value = MORTISE_V_MAP, .place = &what##_place},                      \
        {.value = MORTISE_V_LIST, .min = 1, .each = &what##_row},              \
    };                                                                         \
    const struct mortise_key row = {MORTISE_FORMS(what##_forms)}

ONE_OR_SEVERAL(answer, mortise_case_answers_row);
ONE_OR_SEVERAL(verdict, mortise_case_verdicts_row);
ONE_OR_SEVERAL(person, mortise_case_people_row);

static void check_scripted_answer(struct mortise_case_reader *r,
                                  const struct mortise_case_answer *a,
                                  const struct mortise_yaml *at, bool verdict)
{
    bool has_error = a->code != NULL, has_violation = a->violation != NULL,
         succeeds = a->output != NULL || a->go_to != NULL || a->update != NULL;

    if (verdict && has_violation == a->passes)
        mortise_diag_add(r->diags, "E0212", at->span,
                         "a verdict has either pass: true or a 'violation'");
    else if (verdict && a->output != NULL && !has_violation)
        mortise_diag_add(r->diags, "E0212", a->output->span,
                         "'output' needs a 'violation', because it replaces "
                         "the rejected value");
    else if (!verdict && succeeds == has_error)
        mortise_diag_add(r->diags, "E0212", at->span,
                         "an answer has either an 'output' (or 'goto', "
                         "'update') or an 'error'");
    else if (has_error && a->in_doubt == MORTISE_CASE_DONE)
        mortise_diag_add(
            r->diags, "E0212", at->span,
            "in_doubt: done needs an 'output', but this answer is an error");
}

static void set_person_deed(struct mortise_case_reader *r,
                            struct mortise_case_person *p,
                            const struct mortise_yaml *at)
{
    bool rejects = p->reason != NULL,
         answers = p->answer != NULL && !p->approves;

    if (p->approves + rejects + answers + p->times_out != 1)
        mortise_diag_add(
            r->diags, "E0212", at->span,
            "give exactly one of approve, reject, answer and timeout");
    p->action_kind = p->approves ? MORTISE_CASE_APPROVE
                     : rejects   ? MORTISE_CASE_REJECT
                     : answers   ? MORTISE_CASE_ANSWER
                                 : MORTISE_CASE_TIMEOUT;
}

static void read_script_item(struct mortise_case_reader *r,
                             const struct mortise_place *place,
                             const struct mortise_yaml *v,
                             union mortise_case_item *out)
{
    size_t errors = r->diags->n_errors;

    if (place == &answer_place)
        out->answer = (struct mortise_case_answer){.error_class = "permanent",
                                                   .message = "scripted"};
    mortise_keys_read(place, v, v->span, r, out, r->diags);
    if (r->diags->n_errors != errors)
        return;
    if (place == &person_place)
        set_person_deed(r, &out->person_action, v);
    else
        check_scripted_answer(r, &out->answer, v, place == &verdict_place);
}

static void read_script_items(struct mortise_case_reader *r,
                              const struct mortise_place *place,
                              const struct mortise_yaml *v,
                              struct mortise_case_script *s)
{
    size_t n;

    s->once = v->kind == MORTISE_YAML_SEQ;
    n = s->once ? v->n : 1;
    if (n == 0)
        mortise_diag_add(r->diags, "E0208", v->span, "'%s' must not be empty",
                         s->name->str);
    else if (!s->once && v->kind != MORTISE_YAML_MAP)
        mortise_diag_add(r->diags, "E0203", v->span,
                         "'%s' takes one answer or a list of answers, not %s",
                         s->name->str, mortise_yaml_kind_name(v->kind));
    else
        s->list = mortise_case_alloc(r, n * sizeof *s->list);
    for (; s->list != NULL && s->n < n; s->n++)
        read_script_item(r, place, s->once ? v->items[s->n] : v,
                         &s->list[s->n]);
}

void mortise_case_read_scripts(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_case_scripts *out =
        (struct mortise_case_scripts *)((char *)into + slot->key->at);
    const struct mortise_place *place = slot->key->each->forms[0].place;
    const struct mortise_yaml *map = slot->value;

    out->list = mortise_case_alloc(ctx, map->n * sizeof *out->list);
    for (size_t i = 0; i < map->n && out->list != NULL; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str)) {
            out->list[out->n].name = map->keys[i];
            read_script_items(ctx, place, map->items[i], &out->list[out->n++]);
        }
}

const struct mortise_case_script *
mortise_case_script(const struct mortise_case_scripts *scripts,
                    const char *name)
{
    for (size_t i = 0; i < scripts->n; i++)
        if (strcmp(scripts->list[i].name->str, name) == 0)
            return &scripts->list[i];
    return NULL;
}
