/* answers.c -- answer the calls of a test from its script.
 *
 *   (1) An answer belongs to an execution and its attempt, not to a time.  The
 *       choice is in the ledger before the answer is given, so a call that is
 *       repeated after a crash gets the same answer.  (A retried subgraph
 *       starts a new generation of its failed executions, with new attempts.)
 *       A person who confirms an effect also uses up its answer, even if the
 *       call never came.
 *   (2) Each context (a node within its map elements) has its own position in
 *       a list of answers, because contexts run in parallel, in no order.
 *   (3) An unscripted call that would have an effect outside the test fails.
 *   (4) The ledger records each effect of the scripted world, so a forbidden
 *       repetition is detected.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "cli/cli.h"
#include "testkit/expect.h"
#include "testkit/rehearsing.h"
#include "mortise/plugin.h"

enum { ID = MORTISE_EXEC_PATH + 300 };

/* ---- choosing the script ----------------------------------------------- */

static const struct mortise_case_script *
find_node_script(const struct mortise_case *c, const char *path,
                 const char *tool)
{
    char node[MORTISE_CONTEXT_SIZE];
    const struct mortise_case_script *s =
        mortise_case_script(&c->nodes, mortise_make_context_node(path, node));

    return s != NULL ? s : mortise_case_script(&c->operations, tool);
}

/* A compaction is not the node's own call: its script is under `operations`.
 * The judge is the only call of a human node. */
static const struct mortise_case_script *
find_call_script(const struct mortise_case *c,
                 const struct mortise_run_call *call, const char *tool)
{
    if (call->kind == MORTISE_RUN_CHECK)
        return mortise_case_script(&c->guardrails, tool);
    if (call->kind == MORTISE_RUN_COMPACT)
        return mortise_case_script(&c->operations, tool);
    return find_node_script(c, call->path, tool);
}

static bool is_in_name_list(const struct mortise_yaml *list, const char *name)
{
    for (size_t i = 0; list != NULL && i < list->n; i++)
        if (strcmp(list->items[i]->str, name) == 0)
            return true;
    return false;
}

/* May this unscripted call really run?  (3) */
static bool is_really_called(const struct mortise_rehearsal_state *r,
                             const struct mortise_run_call *call)
{
    const struct mortise_guards *guards = &r->m->settings.deployment->guards;
    const struct mortise_guard *g;
    const struct mortise_manifest *man;

    if (is_in_name_list(r->what->one->real, call->plugin))
        return true;
    if (mortise_call_is_helper(call->kind)) /* it may call a model */
        return false;
    if (call->kind != MORTISE_RUN_CHECK)
        return call->node->op->effect == MORTISE_PURE;
    g = mortise_guard_find(guards, call->plugin);
    man = mortise_plugins_find(r->m->plugins,
                               g != NULL ? g->plugin : call->plugin, NULL);
    return man != NULL && man->n_methods == 0;
}

/* ---- choosing the answer (1, 2) ---------------------------------------- */

static bool was_answer_given(const struct mortise_rehearsal_state *r,
                             const char *context, const char *script, size_t i)
{
    const json_t *list = r->ledger.list;

    MORTISE_JSON_EACH (e, k, list) {
        if (strcmp(mortise_cli_get_text(e, "context"), context) == 0 &&
            strcmp(mortise_cli_get_text(e, "script"), script) == 0 &&
            json_integer_value(json_object_get(e, "answer")) == (json_int_t)i)
            return true;
    }
    return false;
}

/* The index of the answer for this call; s->n if there is none. */
static size_t pick_answer(const struct mortise_rehearsal_state *r,
                          const struct mortise_case_script *s,
                          const char *context, const json_t *args)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        const struct mortise_case_answer *a = &s->list[i].answer;

        if (a->args != NULL
                ? mortise_expect_is_match(a->args, args)
                : !s->once || !was_answer_given(r, context, s->name->str, i))
            break;
    }
    return i;
}

static void format_call_id(char out[ID], const struct mortise_run_call *call)
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

static void format_tool_name(char out[MORTISE_TOOL_MAX],
                             const struct mortise_run_call *call)
{
    snprintf(out, MORTISE_TOOL_MAX, "%s%s%s", call->plugin,
             call->kind == MORTISE_RUN_CHECK ? "" : "/",
             call->kind == MORTISE_RUN_CHECK ? "" : call->operation);
}

static void fail_unscripted_call(struct mortise_script_reply *out)
{
    *out = (struct mortise_script_reply){
        .status = MORTISE_S_FAILED,
        .code = "unscripted",
        .error_class = "permanent",
        .message = "the test has no answer for this call"};
}

/* ---- forbidden repetitions (4) ----------------------------------------- */

/* May this effect, which has an earlier entry, happen again?  Steps are
 * checked by mortise_answer_record_step() instead. */
static bool may_repeat_effect(const struct mortise_rehearsal_state *r,
                              const struct mortise_run_call *call,
                              const json_t *entry)
{
    const struct mortise_operation *op = call->node->op;
    bool real = mortise_cli_get_text(entry, "script")[0] == '\0';

    return op->idempotent || (real && op->reconcile) /* not done */ ||
           op->steps || call->resumed ||
           call->node->on_in_doubt == MORTISE_DOUBT_RETRY ||
           !json_is_true(json_object_get(entry, "happened")) ||
           mortise_ledger_find(&r->ledger, "doubt", call->path, "how",
                               "retry") != NULL;
}

static void check_repetition(struct mortise_rehearsal_state *r,
                             const struct mortise_run_call *call,
                             const json_t *entry)
{
    char tool[MORTISE_TOOL_MAX], name[MORTISE_CLI_EXECUTION];

    format_tool_name(tool, call);
    if (call->kind != MORTISE_RUN_EXECUTE)
        return;
    if (json_object_get(r->done, call->path) != NULL)
        mortise_rehearsal_add_problem(
            r, "E0904", NULL,
            "%s was called again by %s, whose execution had ended "
            "before the crash",
            tool, mortise_cli_format_short_path(call->path, name));
    else if (entry != NULL && call->node->op->effect >= MORTISE_WRITE &&
             !may_repeat_effect(r, call, entry))
        mortise_rehearsal_add_problem(
            r, "E0904", NULL,
            "the effect of %s was repeated, and no person was asked", tool);
    else if (entry != NULL &&
             strcmp(mortise_cli_get_text(entry, "key"), call->key) != 0)
        mortise_rehearsal_add_problem(
            r, "E0904", NULL,
            "%s was repeated with a different idempotency key", tool);
}

/* The entry's `twice` permits repetition.  A call without an answer has no
 * entry; it fails. */
bool mortise_answer_record_step(void *ud, size_t token)
{
    struct mortise_rehearsal_state *r = ud;
    const json_t *entry = json_array_get(r->ledger.list, token);
    const char *id = mortise_cli_get_text(entry, "call");
    const char *path = mortise_cli_get_text(entry, "path");
    char name[MORTISE_CLI_EXECUTION];
    bool first =
        mortise_ledger_find(&r->ledger, "acted", id, NULL, NULL) == NULL;

    if (id[0] == '\0')
        return true;
    if (!first && !json_is_true(json_object_get(entry, "twice")) &&
        mortise_ledger_find(&r->ledger, "doubt", path, "how", "retry") == NULL)
        mortise_rehearsal_add_problem(
            r, "E0904", NULL,
            "the effect of %s happened twice, and no person was asked",
            mortise_cli_format_short_path(path, name));
    mortise_rehearsal_record(r, json_pack("{s:s}", "acted", id));
    return first;
}

/* ---- answering --------------------------------------------------------- */

/* Does the answer arrive before the timeout of the call? */
static bool is_answered_in_time(const struct mortise_run_call *call,
                                const struct mortise_case_answer *a)
{
    return call->timeout_ms == 0 || a->after_ms < call->timeout_ms;
}

/* Was the call made by a process that crashed? */
static bool is_from_crashed_process(const struct mortise_rehearsal_state *r,
                                    const json_t *entry)
{
    return mortise_cli_get_integer(entry, "process") != r->inherited;
}

/* The time of the answer.  A call of a crashed process is answered when it
 * would have been without the crash, because the other side kept working.  So
 * it wins the same races.  A call that exceeds its timeout does so each time.
 * After a person retries it, it ends at once; otherwise that could repeat
 * forever. */
static uint64_t get_answer_time(const struct mortise_rehearsal_state *r,
                                const struct mortise_run_call *call,
                                const struct mortise_case_answer *a,
                                const json_t *entry)
{
    if (entry != NULL && is_answered_in_time(call, a) &&
        is_from_crashed_process(r, entry))
        return mortise_cli_get_integer(entry, "due");
    if (entry != NULL && !is_answered_in_time(call, a) &&
        mortise_ledger_find(&r->ledger, "doubt", call->path, "how", "retry") !=
            NULL)
        return mortise_now_ms();
    return mortise_now_ms() + a->after_ms;
}

static void record_call(struct mortise_rehearsal_state *r,
                        const struct mortise_run_call *call, const char *id,
                        const char *context,
                        const struct mortise_case_script *s, size_t answer,
                        uint64_t due_ms)
{
    const struct mortise_operation *op = call->node->op;
    bool happened = s == NULL || s->list[answer].answer.code == NULL;
    bool twice = !happened || (op != NULL && op->idempotent) ||
                 call->node->on_in_doubt == MORTISE_DOUBT_RETRY ||
                 mortise_script_step(r->m, call) == MORTISE_SCRIPT_REPEAT;

    mortise_rehearsal_record(
        r, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:I, s:I}",
                     "call", id, "path", call->path, "context", context, "key",
                     call->key, "script", s != NULL ? s->name->str : "",
                     "answer", (json_int_t)answer, "happened", (int)happened,
                     "twice", (int)twice, "due", (json_int_t)due_ms, "process",
                     (json_int_t)r->inherited));
}

/* {update?, goto?}; NULL: memory ran out. */
static json_t *make_update_and_goto(const struct mortise_case_answer *a)
{
    json_t *update =
        a->update != NULL ? mortise_yaml_to_json(a->update, true) : NULL;

    if (a->update != NULL && update == NULL)
        return NULL;
    return json_pack("{s:o*, s:s*}", "update", update, "goto", a->go_to);
}

static void fill_scripted_answer(struct mortise_rehearsal_state *r,
                                 const struct mortise_case_answer *a,
                                 struct mortise_script_reply *out)
{
    if (a->usage != NULL)
        mortise_case_parse_usage(a->usage, &out->usage, &r->err);
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
        out->output = mortise_yaml_to_json(a->output, false);
    if (a->go_to != NULL || a->update != NULL)
        out->said = make_update_and_goto(a);
    if ((a->output != NULL && out->output == NULL) ||
        ((a->go_to != NULL || a->update != NULL) && out->said == NULL))
        mortise_nomem(&r->err);
}

json_t *mortise_answer_make_result(const struct mortise_case_answer *a)
{
    return a->output != NULL ? mortise_yaml_to_json(a->output, false)
                             : json_null();
}

/* Answer a reconcile call from the ledger.  If the original call died with its
 * process, the other side knows the result when that call would have been
 * answered. */
static void reconcile(struct mortise_rehearsal_state *r,
                      const struct mortise_run_call *call,
                      const struct mortise_case_script *s, const json_t *entry,
                      struct mortise_script_reply *out)
{
    const struct mortise_case_answer *a =
        &s->list[mortise_cli_get_integer(entry, "answer")].answer;
    bool happened = json_is_true(json_object_get(entry, "happened"));
    uint64_t now = mortise_now_ms(),
             due_ms = mortise_cli_get_integer(entry, "due");

    if (is_answered_in_time(call, a) && is_from_crashed_process(r, entry) &&
        due_ms > now)
        out->after_ms = due_ms - now;
    out->output = happened ? json_pack("{s:b, s:o}", "happened", 1, "result",
                                       mortise_answer_make_result(a))
                           : json_pack("{s:b}", "happened", 0);
    if (out->output == NULL)
        mortise_nomem(&r->err);
}

static void report_unscripted_call(struct mortise_rehearsal_state *r,
                                   const struct mortise_run_call *call,
                                   const struct mortise_case_script *s,
                                   const char *tool)
{
    bool check = call->kind == MORTISE_RUN_CHECK;
    char help[512], name[MORTISE_CLI_EXECUTION];

    if (s != NULL) {
        mortise_rehearsal_add_problem(
            r, "E0903",
            "add an answer; or write the answer without [], so that every call "
            "gets it",
            "'%s' has no more answers that match a call of %s by %s",
            s->name->str, tool,
            mortise_cli_format_short_path(call->path, name));
        return;
    }
    snprintf(help, sizeof help,
             "add %s: {%s: ...}, or add real: [%s] to run it",
             check ? "guardrails" : "operations", tool, call->plugin);
    mortise_rehearsal_add_problem(
        r, "E0903", help,
        "%s was called by %s, but the case has no answer for it", tool,
        mortise_cli_format_short_path(call->path, name));
}

/* Why the call can never be in doubt; NULL: it can be. */
static const char *
explain_never_in_doubt(const struct mortise_rehearsal_state *r,
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

/* Apply a scripted `doubt`.  It applies once; if the call can never be in
 * doubt, it is a problem of the case.  Returns true if the call itself ends in
 * doubt; false if its step does, or if this is a repetition. */
static bool apply_scripted_doubt(struct mortise_rehearsal_state *r,
                                 const struct mortise_run_call *call,
                                 const struct mortise_case_answer *a,
                                 const char *tool, bool first,
                                 struct mortise_script_reply *out)
{
    const char *never = explain_never_in_doubt(r, call);
    char name[MORTISE_CLI_EXECUTION];

    if (never != NULL)
        mortise_rehearsal_add_problem(
            r, "E0903", "remove 'doubt'",
            "a call of %s by %s is never in doubt: %s", tool,
            mortise_cli_format_short_path(call->path, name), never);
    if (mortise_script_step(r->m, call) != MORTISE_SCRIPT_NONE)
        out->doubt = a->doubt;
    if (out->doubt != NULL || !first)
        return false;
    *out = (struct mortise_script_reply){.status = MORTISE_S_DOUBT,
                                         .code = "in_doubt",
                                         .error_class = "permanent",
                                         .message = a->doubt};
    return true;
}

bool mortise_answer_call(void *ud, const struct mortise_run_call *call,
                         struct mortise_script_reply *out)
{
    struct mortise_rehearsal_state *r = ud;
    const struct mortise_case *c = r->what->one;
    char id[ID], tool[MORTISE_TOOL_MAX], context[MORTISE_CONTEXT_SIZE];
    const struct mortise_case_script *s;
    const struct mortise_case_answer *a;
    const json_t *entry;
    uint64_t now = mortise_now_ms(), due_ms;
    size_t i;

    if (mortise_answer_lookup(r, call, out))
        return true;
    format_call_id(id, call);
    format_tool_name(tool, call);
    mortise_make_context_path(call->path, context);
    s = find_call_script(c, call, tool);
    entry = mortise_ledger_find(&r->ledger, "call", id, NULL, NULL);
    check_repetition(r, call, entry);
    if (s == NULL && is_really_called(r, call)) {
        if (entry == NULL)
            record_call(r, call, id, context, NULL, 0, mortise_now_ms());
        return false;
    }
    if (s != NULL && call->kind == MORTISE_RUN_RECONCILE) {
        reconcile(r, call, s, entry, out);
        return true;
    }
    i = s == NULL       ? 0
        : entry != NULL ? mortise_cli_get_integer(entry, "answer")
                        : pick_answer(r, s, context, call->body);
    if (s == NULL || i == s->n) {
        report_unscripted_call(r, call, s, tool);
        fail_unscripted_call(out);
        return true;
    }
    a = &s->list[i].answer;
    due_ms = get_answer_time(r, call, a, entry);
    record_call(r, call, id, context, s, i, due_ms);
    if (a->doubt == NULL || call->kind != MORTISE_RUN_EXECUTE ||
        !apply_scripted_doubt(r, call, a, tool, entry == NULL, out))
        fill_scripted_answer(r, a, out);
    out->token = json_array_size(r->ledger.list) - 1;
    out->after_ms = due_ms > now ? due_ms - now : 0;
    return true;
}

/* The ledger entry for the call of a request: its resolution, if the request
 * was resolved before, otherwise the call. */
static const json_t *find_doubt_entry(const struct mortise_rehearsal_state *r,
                                      const struct mortise_case_script *s,
                                      const json_t *request)
{
    const json_t *entry = mortise_ledger_find(
        &r->ledger, "doubt", mortise_cli_get_text(request, "path"), "request",
        mortise_cli_get_text(request, "id"));

    return entry != NULL
               ? entry
               : mortise_ledger_find(&r->ledger, "path",
                                     mortise_cli_get_text(request, "path"),
                                     "script", s->name->str);
}

static void record_doubt_resolution(struct mortise_rehearsal_state *r,
                                    const json_t *request, const char *how,
                                    const struct mortise_case_script *s,
                                    const char *context, size_t i)
{
    /* a retried call uses up its answer when it is called */
    bool used = strcmp(how, "retry") != 0;

    mortise_rehearsal_record(
        r, json_pack("{s:s, s:s, s:s, s:s*, s:s, s:I}", "doubt",
                     mortise_cli_get_text(request, "path"), "request",
                     mortise_cli_get_text(request, "id"), "how", how, "context",
                     used ? context : NULL, "script", s->name->str, "answer",
                     (json_int_t)i));
}

const struct mortise_case_answer *
mortise_answer_find_resolution(struct mortise_rehearsal_state *r,
                               const json_t *request, const char **how)
{
    static const char *const words[] = {[MORTISE_CASE_DONE] = "done",
                                        [MORTISE_CASE_RETRY] = "retry",
                                        [MORTISE_CASE_FAIL] = "fail"};
    const char *path = mortise_cli_get_text(request, "path");
    const struct mortise_case_script *s = find_node_script(
        r->what->one, path, mortise_cli_get_text(request, "tool"));
    char context[MORTISE_CONTEXT_SIZE];
    const struct mortise_case_answer *a;
    const json_t *entry, *args = json_object_get(request, "args");
    size_t i;

    if (s == NULL)
        return NULL;
    if (json_object_get(request, "step") != NULL) /* of the call */
        args = json_object_get(args, "arguments");
    mortise_make_context_path(path, context);
    entry = find_doubt_entry(r, s, request);
    i = entry != NULL ? mortise_cli_get_integer(entry, "answer")
                      : pick_answer(r, s, context, args);
    if (i >= s->n)
        return NULL;
    a = &s->list[i].answer;
    if (a->in_doubt == MORTISE_CASE_UNSCRIPTED)
        return a->doubt != NULL || !r->crashed ? a : NULL;
    *how = words[a->in_doubt];
    record_doubt_resolution(r, request, *how, s, context, i);
    return a;
}
