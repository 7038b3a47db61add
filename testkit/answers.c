/* answers.c -- what calls are answered with in a test.
 *
 *   (1) An answer belongs to an execution and its attempt, never to a moment:
 *       which one it was is in the ledger before it is given, so a call that a
 *       crash repeats gets the same again.  (A subgraph that is tried again begins
 *       the next generation of what failed in it, whose attempts are others.)  It
 *       is used up by whoever says that the effect happened, too, when the call
 *       itself never came.
 *   (2) Each context (a node, in each element of a map by itself) goes through
 *       a list on its own: contexts run beside each other, in no order.
 *   (3) What is not scripted and would reach the world is not called.
 *   (4) The ledger knows what happened in the scripted world, so it also finds
 *       out when something happened twice that must not.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "cli/cli.h"
#include "testkit/expect.h"
#include "testkit/rehearsing.h"
#include "lang/config/policy.h"
#include "mortise/plugin.h"

enum { ID = MORTISE_EXEC_PATH + 300 };

/* ---- which script -------------------------------------------------------- */

static const struct mortise_case_script *
script_of(const struct mortise_case *c, const char *path, const char *tool)
{
    char node[MORTISE_CONTEXT];
    const struct mortise_case_script *s =
        mortise_case_script(&c->nodes, mortise_context_node(path, node));

    return s != NULL ? s : mortise_case_script(&c->operations, tool);
}

/* What makes an output short is not the node: its script stands under
 * `operations`.  The judge of a human node is all that the node calls. */
static const struct mortise_case_script *
script_of_call(const struct mortise_case *c,
               const struct mortise_run_call *call, const char *tool)
{
    if (call->kind == MORTISE_RUN_CHECK)
        return mortise_case_script(&c->guardrails, tool);
    if (call->kind == MORTISE_RUN_COMPACT)
        return mortise_case_script(&c->operations, tool);
    return script_of(c, call->path, tool);
}

static bool is_listed(const struct mortise_yaml *list, const char *name)
{
    for (size_t i = 0; list != NULL && i < list->n; i++)
        if (strcmp(list->items[i]->str, name) == 0)
            return true;
    return false;
}

/* (3) */
static bool is_real(const struct mortise_rehearsing *r,
                    const struct mortise_run_call *call)
{
    const struct mortise_guards *guards = &r->m->settings.deployment->guards;
    const struct mortise_guard *g;
    const struct mortise_manifest *man;

    if (is_listed(r->what->one->real, call->plugin))
        return true;
    if (mortise_call_is_beside(call->kind)) /* it asks a model, or may */
        return false;
    if (call->kind != MORTISE_RUN_CHECK)
        return call->node->op->effect == MORTISE_PURE;
    g = mortise_guard_find(guards, call->plugin);
    man = mortise_plugins_find(r->m->plugins,
                               g != NULL ? g->plugin : call->plugin, NULL);
    return man != NULL && man->n_methods == 0;
}

/* ---- which answer (1, 2) ------------------------------------------------- */

static bool was_given(const struct mortise_rehearsing *r, const char *context,
                      const char *script, size_t i)
{
    const json_t *list = r->ledger.list;

    MORTISE_JSON_EACH (e, k, list) {
        if (strcmp(mortise_cli_text(e, "context"), context) == 0 &&
            strcmp(mortise_cli_text(e, "script"), script) == 0 &&
            json_integer_value(json_object_get(e, "answer")) == (json_int_t)i)
            return true;
    }
    return false;
}

/* The position of the answer for such a call of a context; s->n: none. */
static size_t pick(const struct mortise_rehearsing *r,
                   const struct mortise_case_script *s, const char *context,
                   const json_t *args)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        const struct mortise_case_answer *a = &s->list[i].answer;

        if (a->args != NULL
                ? mortise_expect_fits(a->args, args)
                : !s->once || !was_given(r, context, s->name->str, i))
            break;
    }
    return i;
}

static void call_id(char out[ID], const struct mortise_run_call *call)
{
    if (call->kind == MORTISE_RUN_CHECK)
        snprintf(out, ID, "%s@%u.%u %s %u %.256s", call->path, call->generation,
                 call->attempt, mortise_guard_stage_name(call->stage),
                 call->turn, call->plugin);
    else
        snprintf(out, ID, "%s@%u.%u%s", call->path, call->generation,
                 call->attempt,
                 call->kind == MORTISE_RUN_COMPACT ? " compact"
                 : call->kind == MORTISE_RUN_JUDGE ? " judge"
                                                   : "");
}

static void tool_of(char out[MORTISE_TOOL_MAX],
                    const struct mortise_run_call *call)
{
    snprintf(out, MORTISE_TOOL_MAX, "%s%s%s", call->plugin,
             call->kind == MORTISE_RUN_CHECK ? "" : "/",
             call->kind == MORTISE_RUN_CHECK ? "" : call->operation);
}

static void refuse(struct mortise_scripted *out)
{
    *out = (struct mortise_scripted){
        .status = MORTISE_S_FAILED,
        .code = "unscripted",
        .error_class = "permanent",
        .message = "the test has no answer for this call"};
}

/* ---- what must not happen (4) -------------------------------------------- */

/* An effect with an earlier entry: may it be there again?  A step is judged by
 * mortise_answer_act(). */
static bool may_repeat(const struct mortise_rehearsing *r,
                       const struct mortise_run_call *call, const json_t *entry)
{
    const struct mortise_operation *op = call->node->op;
    bool real = mortise_cli_text(entry, "script")[0] == '\0';

    return op->idempotent || (real && op->reconcile) /* it said: no */ ||
           op->steps || call->resumed ||
           call->node->on_in_doubt == MORTISE_DOUBT_RETRY ||
           !json_is_true(json_object_get(entry, "happened")) ||
           mortise_ledger_find(&r->ledger, "doubt", call->path, "how",
                               "retry") != NULL;
}

static void watch(struct mortise_rehearsing *r,
                  const struct mortise_run_call *call, const json_t *entry)
{
    char tool[MORTISE_TOOL_MAX], name[MORTISE_CLI_EXECUTION];

    tool_of(tool, call);
    if (call->kind != MORTISE_RUN_EXECUTE)
        return;
    if (json_object_get(r->done, call->path) != NULL)
        mortise_problem(r, "E0904", NULL,
                        "%s was called again by %s, whose execution had ended "
                        "before the crash",
                        tool, mortise_cli_short_path(call->path, name));
    else if (entry != NULL && call->node->op->effect >= MORTISE_WRITE &&
             !may_repeat(r, call, entry))
        mortise_problem(
            r, "E0904", NULL,
            "the effect of %s was repeated, and no person was asked", tool);
    else if (entry != NULL &&
             strcmp(mortise_cli_text(entry, "key"), call->key) != 0)
        mortise_problem(r, "E0904", NULL,
                        "%s was repeated with a different idempotency key",
                        tool);
}

/* Its entry says `twice`: that may be.  A call without an answer has no entry, and
 * fails. */
bool mortise_answer_act(void *ud, size_t token)
{
    struct mortise_rehearsing *r = ud;
    const json_t *entry = json_array_get(r->ledger.list, token);
    const char *id = mortise_cli_text(entry, "call");
    const char *path = mortise_cli_text(entry, "path");
    char name[MORTISE_CLI_EXECUTION];
    bool first =
        mortise_ledger_find(&r->ledger, "acted", id, NULL, NULL) == NULL;

    if (id[0] == '\0')
        return true;
    if (!first && !json_is_true(json_object_get(entry, "twice")) &&
        mortise_ledger_find(&r->ledger, "doubt", path, "how", "retry") == NULL)
        mortise_problem(
            r, "E0904", NULL,
            "the effect of %s happened twice, and no person was asked",
            mortise_cli_short_path(path, name));
    mortise_remember(r, json_pack("{s:s}", "acted", id));
    return first;
}

/* ---- answering ----------------------------------------------------------- */

/* Is it answered within the timeout of the call? */
static bool ends(const struct mortise_run_call *call,
                 const struct mortise_case_answer *a)
{
    return call->timeout_ms == 0 || a->after_ms < call->timeout_ms;
}

/* Was the call made by a process that died? */
static bool is_of_dead(const struct mortise_rehearsing *r, const json_t *entry)
{
    return mortise_cli_integer(entry, "process") != r->inherited;
}

/* When the call is answered.  One that a process made which died is answered when
 * that one would have been: the other side continued its work.  So it wins the
 * races that it would have won.  One that takes longer than its timeout does so
 * each time, until a person has it made again: that could go on for ever. */
static uint64_t due(const struct mortise_rehearsing *r,
                    const struct mortise_run_call *call,
                    const struct mortise_case_answer *a, const json_t *entry)
{
    if (entry != NULL && ends(call, a) && is_of_dead(r, entry))
        return mortise_cli_integer(entry, "due");
    if (entry != NULL && !ends(call, a) &&
        mortise_ledger_find(&r->ledger, "doubt", call->path, "how", "retry") !=
            NULL)
        return mortise_now_ms();
    return mortise_now_ms() + a->after_ms;
}

static void note(struct mortise_rehearsing *r,
                 const struct mortise_run_call *call, const char *id,
                 const char *context, const struct mortise_case_script *s,
                 size_t answer, uint64_t due_ms)
{
    const struct mortise_operation *op = call->node->op;
    bool happened = s == NULL || s->list[answer].answer.code == NULL;
    bool twice = !happened || (op != NULL && op->idempotent) ||
                 call->node->on_in_doubt == MORTISE_DOUBT_RETRY ||
                 mortise_script_step(r->m, call) == MORTISE_SCRIPT_REPEAT;

    mortise_remember(
        r, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:I, s:I}",
                     "call", id, "path", call->path, "context", context, "key",
                     call->key, "script", s != NULL ? s->name->str : "",
                     "answer", (json_int_t)answer, "happened", (int)happened,
                     "twice", (int)twice, "due", (json_int_t)due_ms, "process",
                     (json_int_t)r->inherited));
}

/* {update?, goto?}; NULL: memory ran out. */
static json_t *said_by(const struct mortise_case_answer *a)
{
    json_t *update =
        a->update != NULL ? mortise_yaml_json(a->update, true) : NULL;

    if (a->update != NULL && update == NULL)
        return NULL;
    return json_pack("{s:o*, s:s*}", "update", update, "goto", a->go_to);
}

static void give(struct mortise_rehearsing *r,
                 const struct mortise_case_answer *a,
                 struct mortise_scripted *out)
{
    if (a->usage != NULL)
        mortise_case_usage(a->usage, &out->usage, &r->err);
    if (a->code != NULL) {
        out->status = strcmp(a->error_class, "timeout") == 0 ? MORTISE_S_TIMEOUT
                                                             : MORTISE_S_FAILED;
        out->code = a->code;
        out->error_class = a->error_class;
        out->message = a->message;
        out->ending = a->ending;
        return;
    }
    if (a->violation != NULL) {
        out->violation = true;
        out->message = a->violation;
    }
    if (a->output != NULL)
        out->output = mortise_yaml_json(a->output, false);
    if (a->go_to != NULL || a->update != NULL)
        out->said = said_by(a);
    if ((a->output != NULL && out->output == NULL) ||
        ((a->go_to != NULL || a->update != NULL) && out->said == NULL))
        mortise_nomem(&r->err);
}

json_t *mortise_answer_result(const struct mortise_case_answer *a)
{
    return a->output != NULL ? mortise_yaml_json(a->output, false)
                             : json_null();
}

/* "did it happen?"  The ledger knows, for what was scripted.  Of a call that died
 * with its process, the other side knows when that call would have been answered. */
static void reconcile(struct mortise_rehearsing *r,
                      const struct mortise_run_call *call,
                      const struct mortise_case_script *s, const json_t *entry,
                      struct mortise_scripted *out)
{
    const struct mortise_case_answer *a =
        &s->list[mortise_cli_integer(entry, "answer")].answer;
    bool happened = json_is_true(json_object_get(entry, "happened"));
    uint64_t now = mortise_now_ms(), due_ms = mortise_cli_integer(entry, "due");

    if (ends(call, a) && is_of_dead(r, entry) && due_ms > now)
        out->after_ms = due_ms - now;
    out->output = happened ? json_pack("{s:b, s:o}", "happened", 1, "result",
                                       mortise_answer_result(a))
                           : json_pack("{s:b}", "happened", 0);
    if (out->output == NULL)
        mortise_nomem(&r->err);
}

static void unscripted(struct mortise_rehearsing *r,
                       const struct mortise_run_call *call,
                       const struct mortise_case_script *s, const char *tool)
{
    bool check = call->kind == MORTISE_RUN_CHECK;
    char help[512], name[MORTISE_CLI_EXECUTION];

    if (s != NULL) {
        mortise_problem(
            r, "E0903",
            "add an answer; or write the answer without [], so that every call "
            "gets it",
            "'%s' has no more answers that match a call of %s by %s",
            s->name->str, tool, mortise_cli_short_path(call->path, name));
        return;
    }
    snprintf(help, sizeof help,
             "add %s: {%s: ...}, or add real: [%s] to run it",
             check ? "guardrails" : "operations", tool, call->plugin);
    mortise_problem(r, "E0903", help,
                    "%s was called by %s, but the case has no answer for it",
                    tool, mortise_cli_short_path(call->path, name));
}

/* Why the call can never be in doubt; NULL: it can be. */
static const char *never_in_doubt(const struct mortise_rehearsing *r,
                                  const struct mortise_run_call *call)
{
    const struct mortise_operation *op = call->node->op;
    enum mortise_script_step step = mortise_script_step(r->m, call);

    if (call->node->effect < MORTISE_WRITE)
        return "the operation has no effect";
    if (op->idempotent)
        return "the operation can be repeated (idempotent)";
    if (call->node->on_in_doubt == MORTISE_DOUBT_RETRY)
        return "its node has on_in_doubt: retry";
    if (op->steps && step == MORTISE_SCRIPT_NONE)
        return "its request only reads";
    return step == MORTISE_SCRIPT_REPEAT ? "its request can be repeated" : NULL;
}

/* A scripted doubt is one of the first time; where the run would take it for a
 * failure like any, the case says what cannot be.  True: the call itself ends so;
 * false: its step does, or it is not the first time. */
static bool leave_open(struct mortise_rehearsing *r,
                       const struct mortise_run_call *call,
                       const struct mortise_case_answer *a, const char *tool,
                       bool first, struct mortise_scripted *out)
{
    const char *never = never_in_doubt(r, call);
    char name[MORTISE_CLI_EXECUTION];

    if (never != NULL)
        mortise_problem(r, "E0903", "remove 'doubt'",
                        "a call of %s by %s is never in doubt: %s", tool,
                        mortise_cli_short_path(call->path, name), never);
    if (mortise_script_step(r->m, call) != MORTISE_SCRIPT_NONE)
        out->doubt = a->doubt;
    if (out->doubt != NULL || !first)
        return false;
    *out = (struct mortise_scripted){.status = MORTISE_S_DOUBT,
                                     .code = "in_doubt",
                                     .error_class = "permanent",
                                     .message = a->doubt};
    return true;
}

bool mortise_answer_call(void *ud, const struct mortise_run_call *call,
                         struct mortise_scripted *out)
{
    struct mortise_rehearsing *r = ud;
    const struct mortise_case *c = r->what->one;
    char id[ID], tool[MORTISE_TOOL_MAX], context[MORTISE_CONTEXT];
    const struct mortise_case_script *s;
    const struct mortise_case_answer *a;
    const json_t *entry;
    uint64_t now = mortise_now_ms(), due_ms;
    size_t i;

    if (mortise_answer_lookup(r, call, out))
        return true;
    call_id(id, call);
    tool_of(tool, call);
    mortise_context(call->path, context);
    s = script_of_call(c, call, tool);
    entry = mortise_ledger_find(&r->ledger, "call", id, NULL, NULL);
    watch(r, call, entry);
    if (s == NULL && is_real(r, call)) {
        if (entry == NULL)
            note(r, call, id, context, NULL, 0, mortise_now_ms());
        return false;
    }
    if (s != NULL && call->kind == MORTISE_RUN_RECONCILE) {
        reconcile(r, call, s, entry, out);
        return true;
    }
    i = s == NULL       ? 0
        : entry != NULL ? mortise_cli_integer(entry, "answer")
                        : pick(r, s, context, call->body);
    if (s == NULL || i == s->n) {
        unscripted(r, call, s, tool);
        refuse(out);
        return true;
    }
    a = &s->list[i].answer;
    due_ms = due(r, call, a, entry);
    note(r, call, id, context, s, i, due_ms);
    if (a->doubt == NULL || call->kind != MORTISE_RUN_EXECUTE ||
        !leave_open(r, call, a, tool, entry == NULL, out))
        give(r, a, out);
    out->token = json_array_size(r->ledger.list) - 1;
    out->after_ms = due_ms > now ? due_ms - now : 0;
    return true;
}

/* What is known of the call that a request is about: that it was made, or what
 * was said when the request was there before. */
static const json_t *known_of(const struct mortise_rehearsing *r,
                              const struct mortise_case_script *s,
                              const json_t *request)
{
    const json_t *entry = mortise_ledger_find(
        &r->ledger, "doubt", mortise_cli_text(request, "path"), "request",
        mortise_cli_text(request, "id"));

    return entry != NULL
               ? entry
               : mortise_ledger_find(&r->ledger, "path",
                                     mortise_cli_text(request, "path"),
                                     "script", s->name->str);
}

static void note_doubt(struct mortise_rehearsing *r, const json_t *request,
                       const char *how, const struct mortise_case_script *s,
                       const char *context, size_t i)
{
    /* What is done again is called, and answered then. */
    bool used = strcmp(how, "retry") != 0;

    mortise_remember(r, json_pack("{s:s, s:s, s:s, s:s*, s:s, s:I}", "doubt",
                                  mortise_cli_text(request, "path"), "request",
                                  mortise_cli_text(request, "id"), "how", how,
                                  "context", used ? context : NULL, "script",
                                  s->name->str, "answer", (json_int_t)i));
}

const struct mortise_case_answer *
mortise_answer_doubt(struct mortise_rehearsing *r, const json_t *request,
                     const char **how)
{
    static const char *const words[] = {[MORTISE_CASE_DONE] = "done",
                                        [MORTISE_CASE_RETRY] = "retry",
                                        [MORTISE_CASE_FAIL] = "fail"};
    const char *path = mortise_cli_text(request, "path");
    const struct mortise_case_script *s =
        script_of(r->what->one, path, mortise_cli_text(request, "tool"));
    char context[MORTISE_CONTEXT];
    const struct mortise_case_answer *a;
    const json_t *entry, *args = json_object_get(request, "args");
    size_t i;

    if (s == NULL)
        return NULL;
    if (json_object_get(request, "step") != NULL) /* of the call (script.c) */
        args = json_object_get(args, "arguments");
    mortise_context(path, context);
    entry = known_of(r, s, request);
    i = entry != NULL ? mortise_cli_integer(entry, "answer")
                      : pick(r, s, context, args);
    if (i >= s->n)
        return NULL;
    a = &s->list[i].answer;
    if (a->in_doubt == MORTISE_CASE_UNTOLD)
        return a->doubt != NULL || !r->crashed ? a : NULL;
    *how = words[a->in_doubt];
    note_doubt(r, request, *how, s, context, i);
    return a;
}
