/* human_answers.c -- act for people in a test.
 *
 * Pending requests are handled whenever the run has nothing else to do.  The
 * id of a request survives a crash.  The scripted answer is recorded in the
 * ledger before it is given, so each request gets one answer, always the same.
 *
 * A request without a scripted answer stays open, and the clock never advances
 * to its deadline.  A request with `timeout: true` also stays open, but the
 * clock advances to its deadline.  If the former's deadline is not later than
 * the latter's, the case contradicts itself, and that is reported.
 */
#include <string.h>

#include "cli/cli.h"
#include "testkit/rehearsing.h"
#include "core/json/value.h"

/* ---- finding the scripted answer --------------------------------------- */

/* How often was this context asked before? */
static size_t count_times_asked(const struct mortise_rehearsal_state *r,
                                const char *context)
{
    const json_t *list = r->ledger.list;
    size_t n = 0;

    MORTISE_JSON_EACH (entry, i, list)
        n += strcmp(mortise_cli_get_text(entry, "asks"), context) == 0;
    return n;
}

/* The key under `people` for the node that asks. */
static const char *get_people_key(const json_t *request,
                                  char out[MORTISE_CONTEXT_SIZE])
{
    return mortise_make_context_node(mortise_cli_get_text(request, "path"),
                                     out);
}

/* The scripted action for a request; NULL: none. */
static const struct mortise_case_person *
find_scripted_deed(struct mortise_rehearsal_state *r, const json_t *request)
{
    const char *id = mortise_cli_get_text(request, "id");
    char context[MORTISE_CONTEXT_SIZE];
    const struct mortise_case_script *p = mortise_case_script(
        &r->what->one->people, get_people_key(request, context));
    const json_t *entry =
        mortise_ledger_find(&r->ledger, "asked", id, NULL, NULL);
    const struct mortise_case_person *d;
    size_t i;

    if (p == NULL)
        return NULL;
    mortise_make_context_path(mortise_cli_get_text(request, "path"), context);
    i = entry != NULL ? mortise_cli_get_integer(entry, "action_kind")
        : p->once     ? count_times_asked(r, context)
                      : 0;
    if (i >= p->n)
        return NULL;
    d = &p->list[i].person_action;
    if (entry == NULL)
        mortise_rehearsal_record(
            r, json_pack("{s:s, s:s, s:I, s:b}", "asked", id, "asks", context,
                         "action_kind", (json_int_t)i, "late",
                         d->action_kind == MORTISE_CASE_TIMEOUT));
    return d;
}

static bool is_scripted_timeout(const struct mortise_rehearsal_state *r,
                                const char *id)
{
    return json_is_true(json_object_get(
        mortise_ledger_find(&r->ledger, "asked", id, NULL, NULL), "late"));
}

bool mortise_human_answers_is_timeout(void *ud, const char *id)
{
    return is_scripted_timeout(ud, id);
}

/* ---- giving the answer ------------------------------------------------- */

/* Apply a command with `value` (taken) as its JSON.  Returns false if it was
 * rejected. */
static bool apply_person_command(struct mortise_rehearsal_state *r,
                                 struct mortise_command *cmd, json_t *value,
                                 const char *actor, const char *node)
{
    char *text =
        value != NULL ? mortise_json_to_text(r->what->mem, value) : NULL;
    struct mortise_err err;
    int rv = MORTISE_ENOMEM;

    cmd->size = sizeof *cmd;
    cmd->json = text;
    if (value == NULL || text != NULL)
        rv = mortise_apply(r->m, NULL, MORTISE_REHEARSAL_RUN_ID, cmd, 1, 0,
                           actor, &err);
    mortise_release_str(r->what->mem, text);
    json_decref(value);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(&r->err);
    else if (rv != MORTISE_OK)
        mortise_rehearsal_add_problem(r, "E0903", NULL,
                                      "the answer to '%s' is invalid: %s", node,
                                      err.msg);
    return rv == MORTISE_OK;
}

static json_t *convert_answer(const struct mortise_yaml *v)
{
    return v != NULL ? mortise_yaml_to_json(v, false) : NULL;
}

/* Fill in the command for a request; returns its value, a new reference or
 * NULL. */
static json_t *fill_human_command(const struct mortise_case_person *d,
                                  const json_t *request,
                                  struct mortise_command *cmd)
{
    (void)request;
    cmd->kind = MORTISE_CMD_ANSWER;
    return json_pack("{s:b, s:s*, s:o*}", "approved",
                     d->action_kind != MORTISE_CASE_REJECT, "reason", d->reason,
                     "answer", convert_answer(d->answer));
}

static json_t *fill_tool_command(const struct mortise_case_person *d,
                                 const json_t *request,
                                 struct mortise_command *cmd)
{
    cmd->kind = MORTISE_CMD_APPROVE_TOOL;
    cmd->decision =
        d->action_kind == MORTISE_CASE_REJECT ? "reject" : "approve";
    cmd->reason = d->reason;
    cmd->digest = mortise_cli_get_text(request, "digest");
    return convert_answer(d->args);
}

static json_t *fill_custom_command(const struct mortise_case_person *d,
                                   const json_t *request,
                                   struct mortise_command *cmd)
{
    (void)request;
    cmd->kind = MORTISE_CMD_ANSWER;
    return convert_answer(d->answer);
}

static json_t *fill_pause_command(const struct mortise_case_person *d,
                                  const json_t *request,
                                  struct mortise_command *cmd)
{
    (void)d;
    (void)request;
    *cmd = (struct mortise_command){.kind = MORTISE_CMD_RESUME};
    return NULL;
}

/* ---- the actions that each kind of request accepts --------------------- */

static const struct {
    const char *kind;
    json_t *(*fill_deed_command)(const struct mortise_case_person *d,
                                 const json_t *request,
                                 struct mortise_command *cmd);
    unsigned person_action; /* bits: 1 << action_kind */
    bool args, answer;
    const char *takes;
} kinds[] = {
    {"human", fill_human_command,
     1u << MORTISE_CASE_APPROVE | 1u << MORTISE_CASE_REJECT |
         1u << MORTISE_CASE_ANSWER,
     false, true, "approve, reject or answer"},
    {"approval_pending", fill_tool_command,
     1u << MORTISE_CASE_APPROVE | 1u << MORTISE_CASE_REJECT, true, false,
     "approve (optionally with args) or reject"},
    {"node", fill_human_command,
     1u << MORTISE_CASE_APPROVE | 1u << MORTISE_CASE_REJECT, false, false,
     "approve or reject"},
    {"plan", fill_human_command,
     1u << MORTISE_CASE_APPROVE | 1u << MORTISE_CASE_REJECT, false, false,
     "approve or reject"},
    {"custom", fill_custom_command, 1u << MORTISE_CASE_ANSWER, false, true,
     "answer"},
    {"scheduled_pause", fill_pause_command, 1u << MORTISE_CASE_APPROVE, false,
     false, "approve, which continues the run"},
};

/* Returns false if no command was applied. */
static bool fill_deed_command(struct mortise_rehearsal_state *r,
                              const json_t *request,
                              const struct mortise_case_person *d)
{
    const char *kind = mortise_cli_get_text(request, "kind");
    char name[MORTISE_CONTEXT_SIZE];
    const char *node = get_people_key(request, name);
    struct mortise_command cmd = {.id = mortise_cli_get_text(request, "id")};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) != 0)
            continue;
        if (kinds[i].person_action & 1u << d->action_kind &&
            (d->args == NULL || kinds[i].args) &&
            (d->answer == NULL || kinds[i].answer))
            return apply_person_command(
                r, &cmd, kinds[i].fill_deed_command(d, request, &cmd), d->by,
                node);
        mortise_rehearsal_add_problem(r, "E0903", NULL,
                                      "'%s' asks (%s); its answer must be: %s",
                                      node, kind, kinds[i].takes);
        return false;
    }
    mortise_rehearsal_add_problem(r, "E0903", NULL,
                                  "'%s' asks (%s); a test cannot answer that",
                                  node, kind);
    return false;
}

/* ---- doubt --------------------------------------------------------------- */

/* The value of `done`: the result of the call, or of its step. */
static json_t *make_done_value(const struct mortise_case_answer *a,
                               const json_t *request)
{
    json_t *result = mortise_answer_make_result(a);

    return json_object_get(request, "step") != NULL
               ? json_pack("{s:o}", "result", result)
               : result;
}

static bool resolve_scripted_doubt(struct mortise_rehearsal_state *r,
                                   const json_t *request)
{
    char name[MORTISE_CONTEXT_SIZE];
    const char *node = get_people_key(request, name);
    struct mortise_command cmd = {.kind = MORTISE_CMD_RESOLVE,
                                  .id = mortise_cli_get_text(request, "id"),
                                  .decision = NULL};
    const struct mortise_case_answer *a =
        mortise_answer_find_resolution(r, request, &cmd.decision);

    if (a == NULL) {
        mortise_rehearsal_add_problem(
            r, "E0903", "add in_doubt: done, retry or fail to its answer",
            "after a crash it is unknown whether %s happened, and "
            "the answer of '%s' does not state how to resolve that",
            mortise_cli_get_text(request, "tool"), node);
        return false;
    }
    if (cmd.decision == NULL)
        return false; /* `doubt` without `in_doubt`: it stays in doubt */
    r->failed_doubt |= a->in_doubt == MORTISE_CASE_FAIL;
    return apply_person_command(
        r, &cmd,
        a->in_doubt == MORTISE_CASE_DONE ? make_done_value(a, request) : NULL,
        NULL, node);
}

/* ---- all pending requests ---------------------------------------------- */

static bool handle_request(struct mortise_rehearsal_state *r,
                           const json_t *request)
{
    const struct mortise_case_person *d;

    if (mortise_cli_needs_no_person(request))
        return false;
    if (strcmp(mortise_cli_get_text(request, "kind"), "in_doubt") == 0)
        return resolve_scripted_doubt(r, request);
    d = find_scripted_deed(r, request);
    return d != NULL && r->err.code == MORTISE_OK &&
           d->action_kind != MORTISE_CASE_TIMEOUT &&
           fill_deed_command(r, request, d);
}

/* The unscripted request with the earliest deadline; NULL if there is none.
 * Times as text sort in order of time. */
static const json_t *
find_first_unscripted(const struct mortise_rehearsal_state *r,
                      const json_t *list)
{
    const json_t *first = NULL;

    MORTISE_JSON_EACH (request, i, list) {
        const char *deadline = mortise_cli_get_text(request, "deadline");

        if (deadline[0] == '\0' || mortise_cli_needs_no_person(request) ||
            is_scripted_timeout(r, mortise_cli_get_text(request, "id")))
            continue;
        if (first == NULL ||
            strcmp(deadline, mortise_cli_get_text(first, "deadline")) < 0)
            first = request;
    }
    return first;
}

void mortise_human_answers_check_idle(struct mortise_rehearsal_state *r)
{
    const json_t *list, *first;
    json_t *show = NULL;

    mortise_rehearsal_get_show(r, &show, &r->err);
    list = json_object_get(show, "pending");
    first = find_first_unscripted(r, list);
    MORTISE_JSON_EACH (request, i, list) {
        char one[MORTISE_CONTEXT_SIZE], other[MORTISE_CONTEXT_SIZE];

        if (first == NULL ||
            !is_scripted_timeout(r, mortise_cli_get_text(request, "id")) ||
            strcmp(mortise_cli_get_text(request, "deadline"),
                   mortise_cli_get_text(first, "deadline")) < 0)
            continue;
        mortise_rehearsal_add_problem(
            r, "E0903",
            "script the second node too: an answer, or timeout: true",
            "'%s' has timeout: true, but '%s', which the case does not script, "
            "times out no later",
            get_people_key(request, one), get_people_key(first, other));
    }
    json_decref(show);
}

bool mortise_human_answers_send(struct mortise_rehearsal_state *r)
{
    json_t *show = NULL;
    bool any = false;

    mortise_rehearsal_get_show(r, &show, &r->err);
    MORTISE_JSON_EACH (request, i, json_object_get(show, "pending")) {
        any = r->err.code == MORTISE_OK && handle_request(r, request);
        if (any)
            break; /* the list of pending requests has changed */
    }
    json_decref(show);
    return any;
}
