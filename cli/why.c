/* why.c -- `mortise why`: explains the state of a run: why it waits, since
 * when, who can unblock it, and by which commands.
 *
 *   (1) Each status and reason has its own sentence.  An unknown status is an
 *       error; nothing is guessed.
 *   (2) Each printed command continues the run from the state that was read.
 *       Pasted into the same shell in the printed order, they work.  (If an
 *       answer has a schema, the command contains a sample to be edited.)
 *       request.c prints them.
 *   (3) The command changes nothing: no run is loaded, and no plugin is
 *       started.
 *
 * Active nodes and pending requests come from `show`; times and actors come
 * from the run's events. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "cli/progress.h"
#include "cli/plugin_set.h"
#include "core/engine/common/engine.h"
#include "core/json/value.h"
#include "server/session.h"

enum { WIDTH = 78 };

struct why {
    struct mortise_cli *cli;
    char run[MORTISE_RUN_MAX];
    json_t *show;

    /* From the events; NULL if there is no such event. */
    json_t *asked;   /* request id -> time */
    json_t *retries; /* path -> its newest retry_scheduled */
    json_t *command; /* the newest command of a person */
    json_t *end;     /* run_end */

    struct mortise_cli_continuation way; /* its lifts are among the commands */
    struct mortise_buf text_bytes, command_bytes;
    struct mortise_out text, commands;
};

/* ---- reading ------------------------------------------------------------ */

static void keep_newest_event(json_t **at, json_t *event)
{
    json_decref(*at);
    *at = json_incref(event);
}

static int record_event(void *ud, json_t *event)
{
    struct why *w = ud;
    const char *type = mortise_cli_get_text(event, "type");

    if (strcmp(type, "interrupt") == 0)
        json_object_set(w->asked, mortise_cli_get_text(event, "id"),
                        json_object_get(event, "at"));
    else if (strcmp(type, "retry_scheduled") == 0)
        json_object_set(w->retries, mortise_cli_get_text(event, "path"), event);
    else if (strcmp(type, "command") == 0 &&
             strcmp(mortise_cli_get_text(event, "command"), "accept_plugins") !=
                 0)
        keep_newest_event(&w->command, event);
    else if (strcmp(type, "run_end") == 0)
        keep_newest_event(&w->end, event);
    return 0;
}

static int read_run_state(struct why *w, struct mortise_err *err)
{
    struct mortise_cli *cli = w->cli;
    int rv =
        mortise_cli_find_run_to_read(cli, cli->args.operands[0], w->run, err);

    w->asked = json_object();
    w->retries = json_object();
    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, w->run, &w->show, err);
    return rv == MORTISE_OK
               ? mortise_cli_replay_events(cli, w->run, 0, record_event, w, err)
               : rv;
}

/* ---- sentences ---------------------------------------------------------- */

/* Get the run's own status and reason, without the effect of its plugins'
 * present state. */
static const json_t *get_last_own_state(const struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    return blocked != NULL ? blocked : w->show;
}

/* Append to the explanation; each %s is escaped (mortise_out_print_escaped()). */
static void put_explanation(struct why *w, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
static void put_explanation(struct why *w, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_out_vprint_escaped(&w->text, fmt, ap);
    va_end(ap);
}

/* Put " since TIME (3 min 5 s)"; nothing if the time is unknown. */
static void explain_time(struct why *w, const char *word, const char *at)
{
    uint64_t then = mortise_cli_parse_time(at), now = mortise_now_ms();
    char took[32];

    if (then == 0)
        return;
    put_explanation(w, "%s%s", word, at);
    if (now >= then)
        put_explanation(w, " (%s%s)",
                        mortise_out_format_duration(now - then, took),
                        strcmp(word, " since ") == 0 ? "" : " ago");
}

static const char *get_update_time(const struct why *w)
{
    return mortise_cli_get_text(w->show, "updated");
}

/* Put " by ACTOR" and the reason of a command. */
static void explain_actor(struct why *w, const json_t *command)
{
    const char *actor = mortise_cli_get_text(command, "actor");
    const json_t *reason = json_object_get(command, "reason");
    const char *words = json_is_string(reason) ? json_string_value(reason) : "";

    if (json_is_object(reason))
        words = mortise_cli_get_text(reason, "reason");
    if (actor[0] != '\0')
        put_explanation(w, " by %s", actor);
    if (words[0] != '\0')
        put_explanation(w, ", with the reason: %s", words);
}

static void put_error_text(struct why *w, const json_t *error)
{
    put_explanation(w, "%s: %s", mortise_cli_get_text(error, "code"),
                    mortise_cli_get_text(error, "message"));
}

static void suggest_command(struct why *w, const char *what)
{
    if (!w->way.stuck)
        mortise_cli_print_command(&w->way, what);
}

/* ---- pending requests --------------------------------------------------- */

static void explain_assignees(struct why *w, const json_t *request)
{
    const json_t *list = json_object_get(request, "assignees");
    size_t n = json_array_size(list);

    if (mortise_cli_needs_no_person(request))
        return;
    if (mortise_cli_is_kind(request, "scheduled_pause")) {
        put_explanation(w,
                        " Anyone with access to this store can continue it.");
        return;
    }
    if (n == 0) {
        put_explanation(w, " Anyone with access to this store can settle it.");
        return;
    }
    put_explanation(w, " It is assigned to ");
    MORTISE_JSON_EACH (who, i, list) {
        put_explanation(w, "%s%s",
                        i == 0       ? ""
                        : i + 1 == n ? " or "
                                     : ", ",
                        json_string_value(who));
    }
    put_explanation(w, ".");
}

static void explain_deadline(struct why *w, const json_t *request)
{
    const char *deadline = mortise_cli_get_text(request, "deadline");

    if (deadline[0] == '\0')
        return;
    if (mortise_cli_needs_no_person(request) ||
        !mortise_cli_has_expired(request))
        put_explanation(w, ", until %s", deadline);
    else
        put_explanation(
            w,
            ", expired at %s; it cannot be answered any more, and when the run "
            "is resumed, the node follows its on_timeout",
            deadline);
}

/* Put one or two sentences about a request. */
static void explain_request(struct why *w, const json_t *request)
{
    const char *prompt = mortise_cli_get_text(request, "prompt");
    const char *tool = mortise_cli_get_text(request, "tool");
    const char *cause = mortise_cli_get_text(request, "cause");
    const char *key =
        json_string_value(mortise_cli_get_idempotency_key(request));
    char name[MORTISE_CLI_EXECUTION];

    put_explanation(w, " Node '%s' %s",
                    mortise_cli_format_execution(request, name),
                    mortise_cli_describe_kind(request));
    if (prompt[0] != '\0' || tool[0] != '\0')
        put_explanation(w, " (%s)", prompt[0] != '\0' ? prompt : tool);
    explain_time(
        w, ", since ",
        mortise_cli_get_text(w->asked, mortise_cli_get_text(request, "id")));
    explain_deadline(w, request);
    put_explanation(w, "%s%s.", cause[0] != '\0' ? ": " : "", cause);
    if (key != NULL)
        put_explanation(w, " Its idempotency key is %s.", key);
    explain_assignees(w, request);
}

static void explain_pending_requests(struct why *w)
{
    const json_t *pending = json_object_get(w->show, "pending");
    bool accept = false;

    MORTISE_JSON_EACH (request, i, pending) {
        explain_request(w, request);
        if (mortise_cli_is_asked_again(&w->way, request))
            accept = true;
        else if (!w->way.stuck && !mortise_cli_is_offered(pending, i))
            mortise_cli_print_settling(&w->way, request);
    }
    if (accept)
        suggest_command(w, "resume");
}

/* Effects in doubt for which no request exists yet. */
static void explain_unsettled_effects(struct why *w)
{
    const json_t *nodes = json_object_get(w->show, "nodes");

    MORTISE_JSON_EACH (node, i, nodes) {
        char name[MORTISE_CLI_EXECUTION];

        if (!mortise_cli_is_unsettled(node) ||
            strcmp(mortise_cli_get_text(node, "status"), "failed") == 0)
            continue;
        put_explanation(w, " An effect of node '%s' may have happened.",
                        mortise_cli_format_execution(node, name));
    }
}

/* ---- statuses ----------------------------------------------------------- */

/* The call is retried; no request and no record exists. */
static void explain_descriptor_wait(struct why *w, const json_t *node)
{
    put_explanation(w, "waits");
    explain_time(w, " since ", mortise_cli_get_text(node, "started"));
    put_explanation(
        w, " for a file descriptor: the process has none left, and tries again "
           "at least every 2 seconds.  Start it with a higher limit (ulimit "
           "-n, or "
           "LimitNOFILE= of the service), or end what else uses its "
           "descriptors");
}

/* Put the nodes that are active or wait for a retry. */
static void explain_active_nodes(struct why *w)
{
    const json_t *nodes = json_object_get(w->show, "nodes");

    MORTISE_JSON_EACH (node, i, nodes) {
        const char *path = mortise_cli_get_text(node, "path");
        const json_t *retry = json_object_get(w->retries, path);
        bool runs = mortise_cli_is_active(node);
        char name[MORTISE_CLI_EXECUTION];

        if (!runs &&
            (retry == NULL ||
             strcmp(mortise_cli_get_text(node, "status"), "pending") != 0))
            continue;
        put_explanation(w, " Node '%s' ",
                        mortise_cli_format_execution(node, name));
        if (mortise_cli_waits_for_descriptor(node)) {
            explain_descriptor_wait(w, node);
        } else if (runs) {
            put_explanation(w, "is running");
            explain_time(w, " since ", mortise_cli_get_text(node, "started"));
        } else {
            put_explanation(w, "failed (");
            put_error_text(w, json_object_get(retry, "error"));
            put_explanation(w, ") and is retried at %s",
                            mortise_cli_get_text(retry, "next_at"));
        }
        put_explanation(w, ".");
    }
}

/* Put the process that executes the run between two texts; false: there is
 * none. */
static bool explain_engine(struct why *w, const char *before, const char *after)
{
    json_t *engine = NULL;

    if (!json_is_true(json_object_get(w->show, "live")))
        return false;
    mortise_cli_call(w->cli, "engine", json_object(), NULL, NULL, &engine,
                     NULL);
    put_explanation(w, "%s%llu%s", before,
                    (unsigned long long)mortise_cli_get_integer(engine, "pid"),
                    after);
    json_decref(engine);
    return true;
}

static void explain_running(struct why *w)
{
    if (!explain_engine(w, " is running: process ", " executes it.")) {
        put_explanation(w, " was interrupted");
        explain_time(w, " after ", get_update_time(w));
        put_explanation(
            w, ": its process ended before the run did, and no process "
               "executes it now.  No acknowledged data is lost.  Anyone with "
               "access to this store can resume it.");
        explain_unsettled_effects(w);
        explain_pending_requests(w);
        suggest_command(w, "resume");
        return;
    }
    explain_active_nodes(w);
    explain_pending_requests(w);
}

/* The run needs no person; it continues at its time if a process executes it.
 */
static void explain_timer(struct why *w)
{
    put_explanation(w, " waits for a point in time.");
    explain_pending_requests(w);
    if (explain_engine(w, "  Process ", " continues it then."))
        return;
    put_explanation(
        w, "  No process executes it: it continues if an engine runs at that "
           "time, or when anyone with access to this store resumes it.");
    suggest_command(w, "resume");
}

static void explain_waiting(struct why *w)
{
    const json_t *pending = json_object_get(w->show, "pending");
    const char *reason = mortise_cli_get_text(get_last_own_state(w), "reason");

    if (strcmp(reason, "timer") == 0) {
        explain_timer(w);
        return;
    }
    put_explanation(w, " waits for %s.",
                    strcmp(reason, "approval") == 0 ? "an approval"
                    : strcmp(reason, "child") == 0  ? "the end of a child run"
                                                    : "a person");
    if (json_array_size(pending) > 1)
        put_explanation(
            w, " Several requests are pending; each decision unblocks a part "
               "of the run.");
    explain_pending_requests(w);
}

static void explain_limit(struct why *w)
{
    const json_t *limit = json_object_get(w->show, "limit");

    put_explanation(w, " is paused by a limit of its graph");
    explain_time(w, " since ", get_update_time(w));
    put_explanation(
        w,
        ": it is limited to %llu %s, and node '%s' would exceed that.  Anyone "
        "with access to this store can raise the limit.",
        (unsigned long long)mortise_cli_get_integer(limit, "value"),
        mortise_cli_get_text(limit, "limit"),
        mortise_cli_get_text(limit, "node"));
    explain_pending_requests(w);
    if (!w->way.stuck)
        mortise_cli_print_limit_raise(&w->way, limit);
}

/* The run was not paused: something was recorded, and nothing continued it. */
static void explain_recorded(struct why *w, const char *reason)
{
    put_explanation(w, " has not continued");
    explain_time(w, " since ", get_update_time(w));
    put_explanation(
        w, "%s",
        strcmp(reason, "plugin") == 0
            ? ": the decision is recorded, but a plugin could not be used to "
              "continue the run.  When the plugins can be used again, the next "
              "`mortise engine` continues it, or anyone with access to this "
              "store can resume it."
            : ": the command is recorded, and the run was not continued "
              "(--no-continue).  Anyone with access to this store can resume "
              "it.");
    explain_pending_requests(w);
    suggest_command(w, "resume");
}

static void explain_paused(struct why *w)
{
    const char *reason = mortise_cli_get_text(get_last_own_state(w), "reason");
    const json_t *unwritten =
        json_object_get(json_object_get(w->show, "unwritten"), "error");
    bool spent = strcmp(reason, "budget") == 0;

    if (json_is_object(json_object_get(w->show, "limit"))) {
        explain_limit(w);
        return;
    }
    if (spent || strcmp(reason, "interrupt") == 0) {
        put_explanation(
            w, spent ? " is paused: the budget of its graph is used up."
                     : " is paused by an interrupt of its graph.");
        explain_pending_requests(w);
        return;
    }
    if (strcmp(reason, "plugin") == 0 || strcmp(reason, "no_continue") == 0) {
        explain_recorded(w, reason);
        return;
    }
    if (strcmp(reason, "memory") == 0) {
        put_explanation(
            w,
            " is paused: the deployment's memory rejected a write (%s: %s).  "
            "Correct that, then resume the run:",
            mortise_cli_get_text(unwritten, "code"),
            mortise_cli_get_text(unwritten, "message"));
        suggest_command(w, "resume");
        return;
    }
    put_explanation(w, " is paused");
    if (strcmp(reason, "shutdown") == 0) {
        put_explanation(w, " because its engine was stopped");
        explain_time(w, " at ", get_update_time(w));
        put_explanation(
            w, ".  The next `mortise engine` continues it, or anyone with "
               "access to this store can resume it.");
    } else {
        if (w->command != NULL)
            explain_actor(w, w->command);
        explain_time(w, " since ",
                     w->command != NULL ? mortise_cli_get_text(w->command, "at")
                                        : get_update_time(w));
        put_explanation(w,
                        ".  Anyone with access to this store can resume it.");
    }
    explain_unsettled_effects(w);
    explain_pending_requests(w);
    suggest_command(w, "resume");
}

static void explain_doubt(struct why *w)
{
    put_explanation(
        w, " is in doubt: an effect may or may not have happened.  Find out "
           "whether it happened, then resolve it: as done (replace the example "
           "by the real result), as not happened, to retry it, or as failed.");
    explain_pending_requests(w);
}

/* A person resolved a step, and the call failed afterwards. */
static void explain_corrections(struct why *w)
{
    MORTISE_JSON_EACH (node, i, json_object_get(w->show, "nodes")) {
        char name[MORTISE_CLI_EXECUTION];

        if (json_object_get(node, "resolved") != NULL)
            put_explanation(
                w,
                "  In node '%s', a person resolved an effect in doubt.  To "
                "correct the recorded result, use resolve --done; the node is "
                "then retried with it.",
                mortise_cli_format_execution(node, name));
    }
    if (!w->way.stuck)
        mortise_cli_print_corrections(&w->way, w->show);
}

static void explain_failed(struct why *w)
{
    const char *path =
        mortise_cli_get_text(json_object_get(w->show, "error"), "path");

    put_explanation(w, " has failed");
    explain_time(w, " at ", mortise_cli_get_text(w->end, "at"));
    put_explanation(w, "%s%s.  ", path[0] != '\0' ? ", in " : "", path);
    put_error_text(w, json_object_get(w->show, "error"));
    put_explanation(
        w, "%s",
        mortise_cli_find_unsettled(w->show) != NULL
            ? ".  It is still in doubt whether an effect happened: resuming "
              "the run asks about it before anything is repeated."
            : ".  Anyone with access to this store can retry the failed nodes. "
              " Completed nodes keep their outputs and do not run again.  If "
              "the retry fails for the same reason, continue from an earlier "
              "node, which then runs again (resume --goto NODE).");
    explain_corrections(w);
    suggest_command(w, "resume");
}

static void explain_ended(struct why *w)
{
    bool cancelled =
        strcmp(mortise_cli_get_text(w->show, "status"), "cancelled") == 0;
    const json_t *node = mortise_cli_find_unsettled(w->show);

    put_explanation(w, cancelled ? " was cancelled" : " has completed");
    if (cancelled)
        explain_actor(w, w->command);
    explain_time(w, " at ", mortise_cli_get_text(w->end, "at"));
    if (node == NULL) {
        put_explanation(
            w, ".  It waits for nothing.  It can only be continued from one of "
               "its nodes (resume --goto NODE).");
        return;
    }
    put_explanation(
        w,
        ".  It waits for nothing, but an effect of node %s may have happened: "
        "the node %s.  Resuming the run asks about the effect; until then, the "
        "run cannot be continued from a node.  Nothing is repeated by that.",
        mortise_cli_get_text(node, "node"),
        strcmp(mortise_cli_get_text(node, "status"), "skipped") == 0
            ? "was stopped during the effect"
            : "was recorded as failed");
    suggest_command(w, "resume");
}

/* ---- plugins ------------------------------------------------------------ */

/* The run's plugin is not available. */
static void explain_missing_plugin(struct why *w, struct mortise_plugin_set *s,
                                   const char *name,
                                   const struct mortise_err *found)
{
    struct mortise_err lack;

    if (mortise_deployment_is_part_missing(s->settings.deployment, name, &lack))
        put_explanation(w, " It is blocked: %s.", lack.msg);
    else
        put_explanation(
            w,
            " It is blocked: it needs plugin '%s', which is not available "
            "(%s).  The administrator of the plugins must restore it.",
            name, found->msg);
    w->way.stuck = true;
}

/* Put the problem of one of the run's plugins, if there is one. */
static void explain_plugin_problem(struct why *w, struct mortise_plugin_set *s,
                                   const char *name, const char *was)
{
    struct mortise_err err;
    char is[MORTISE_DIGEST_HEX];
    const struct mortise_deployment *d = s->settings.deployment;
    const char *plugin = mortise_deployment_find_plugin(d, name, NULL);
    struct mortise_pin here;
    const char *digest;
    const struct mortise_manifest *m =
        mortise_pin_find(d, s->plugins, name, &here, &err);

    if (m != NULL) {
        mortise_hex_encode(is, here.digest, MORTISE_DIGEST);
        if (strcmp(is, was) == 0)
            return;
    }
    if (m == NULL && mortise_plugins_is_quarantined(s->plugins, plugin)) {
        put_explanation(
            w,
            " It is blocked: it needs plugin '%s', which is quarantined (%s).  "
            "To end the quarantine and continue the run:",
            name, err.msg);
        mortise_cli_print_unquarantine(&w->way, plugin);
    } else if (m == NULL) {
        explain_missing_plugin(w, s, name, &err);
    } else if (mortise_deployment_is_tool(d, name, &digest)) {
        put_explanation(
            w,
            " It is blocked: it needs tool '%s' with its old definition, but "
            "mortise.lock has a new one.  Pin the old definition again, or "
            "accept the new one.",
            name + sizeof MORTISE_TOOL_PIN_PREFIX - 1);
        w->way.more = " --accept-plugins";
    } else {
        put_explanation(
            w,
            " It is blocked: it needs plugin '%s', which has changed (the "
            "installed one is %s %s%s).  Install the old plugin again, or "
            "accept the new one.",
            name, m->name, m->version, m->dev ? ", an unsigned build" : "");
        w->way.more = " --accept-plugins";
    }
}

/* An execution crashed the process too often; false: none did. */
static bool explain_crashes(struct why *w)
{
    const json_t *d =
        json_object_get(json_object_get(w->show, "blocked"), "deaths");
    const char *plugin = mortise_cli_get_text(d, "plugin");

    if (mortise_cli_get_integer(d, "times") < MORTISE_DEATHS_BLOCK)
        return false;
    put_explanation(
        w,
        " It is blocked: plugin '%s' crashed the process %llu times in node %s "
        "(the last time, at %s, it %s) and would crash it again.  The "
        "administrator of the plugins must install a version that does not "
        "crash; or retry with this one:",
        plugin, (unsigned long long)mortise_cli_get_integer(d, "times"),
        mortise_cli_get_text(d, "path"), mortise_cli_get_text(d, "last"),
        mortise_cli_get_text(d, "how"));
    mortise_cli_print_unquarantine(&w->way, plugin);
    return true;
}

/* Put the message of the process that could not continue the run. */
static void explain_block(struct why *w)
{
    char words[MORTISE_CLI_BLOCKED];

    mortise_cli_format_block(json_object_get(w->show, "blocked"), words);
    if (words[0] != '\0')
        put_explanation(w, " It is blocked: %s.", words);
}

/* The plugins are unchanged, but something else that the graph needs is
 * missing, such as a model. */
static void explain_other_block(struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    mortise_out_flush(&w->text);
    if (w->text_bytes.n > 0 || !json_is_object(blocked))
        return;
    explain_block(w);
    w->way.stuck = true;
}

/* Put the message of the engine that holds the store, since its plugins are
 * used; false: this process holds the store. */
static bool explain_block_of_engine(struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    if (mortise_session_engine(w->cli->session) != NULL)
        return false;
    w->way =
        mortise_cli_get_continuation(w->cli, &w->commands, w->run, blocked);
    explain_block(w);
    return true;
}

/* Check the plugins that the run started with, or that were accepted instead
 * (R4).  If a process executes the run, it has them. */
static int check_run_plugins(struct why *w, struct mortise_err *err)
{
    const json_t *pins = json_object_get(w->show, "plugins");
    struct mortise_plugin_set s = {.plugins = NULL};
    const char *name;
    json_t *digest;
    int rv;

    if (json_is_true(json_object_get(w->show, "live")) || explain_crashes(w) ||
        explain_block_of_engine(w))
        return MORTISE_OK;
    rv = mortise_plugin_set_open(&s, w->cli, NULL, err);
    if (rv == MORTISE_OK) {
        json_object_foreach(mortise_json_unconst(pins), name, digest)
        {
            explain_plugin_problem(w, &s, name, json_string_value(digest));
        }
        explain_other_block(w);
    }
    mortise_plugin_set_close(&s);
    return rv;
}

/* Anyone who decides about the run should know this. */
static void explain_unsigned_plugins(struct why *w)
{
    const json_t *names = json_object_get(w->show, "unsigned");

    MORTISE_JSON_EACH (name, i, names)
        put_explanation(w, "%s'%s'",
                        i == 0 ? " It uses, or has used, unsigned plugins: "
                               : ", ",
                        json_string_value(name));
    if (json_array_size(names) > 0)
        put_explanation(w, ".");
}

static void explain_changed_file(struct why *w)
{
    char *path = mortise_cli_find_changed_file(w->cli, w->run);

    if (path != NULL)
        put_explanation(w, " Note that " MORTISE_CLI_CHANGED_FILE ".", path);
    mortise_release_str(w->cli->mem, path);
}

/* ---- command ------------------------------------------------------------ */

static int compose_explanation(struct why *w, struct mortise_err *err)
{
    static void (*const of_status[])(struct why *) = {
        [MORTISE_RUN_ACCEPTED] = explain_running,
        [MORTISE_RUN_RUNNING] = explain_running,
        [MORTISE_RUN_WAITING] = explain_waiting,
        [MORTISE_RUN_PAUSED] = explain_paused,
        [MORTISE_RUN_IN_DOUBT] = explain_doubt,
        [MORTISE_RUN_COMPLETED] = explain_ended,
        [MORTISE_RUN_FAILED] = explain_failed,
        [MORTISE_RUN_CANCELLED] = explain_ended,
    };
    int status = mortise_status_parse(
        mortise_cli_get_text(get_last_own_state(w), "status"));
    bool over =
        status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_CANCELLED;
    struct mortise_buf blocked;
    int rv = MORTISE_OK;

    if (status == 0)
        return mortise_fail(err, MORTISE_EFORMAT,
                            "run %s has a status that this build does not know",
                            w->run);
    /* The plugins determine which commands work, so they are checked first,
     * though they are explained last. */
    if (!over)
        rv = check_run_plugins(w, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_out_flush(&w->text);
    blocked = w->text_bytes;
    mortise_buf_init(&w->text_bytes, w->cli->mem);
    put_explanation(w, "Run %s", w->run);
    of_status[status](w);
    mortise_out_flush(&w->text);
    mortise_buf_put(&w->text_bytes, blocked.p, blocked.n);
    mortise_buf_finish(&blocked);
    explain_unsigned_plugins(w);
    if (!over)
        explain_changed_file(w);
    mortise_out_flush(&w->text);
    mortise_out_flush(&w->commands);
    if (mortise_buf_cstr(&w->text_bytes) == NULL ||
        mortise_buf_cstr(&w->command_bytes) == NULL)
        return mortise_nomem(err);
    return MORTISE_OK;
}

static void print_explanation(struct why *w)
{
    struct mortise_out *o = &w->cli->out;
    size_t columns, rows;

    mortise_out_get_window_size(o, &columns, &rows);
    mortise_out_put_paragraph(o, w->text_bytes.p,
                              columns < WIDTH ? columns : WIDTH);
    if (w->command_bytes.n == 0)
        return;
    mortise_out_puts(o, "\n");
    mortise_out_put(o, w->command_bytes.p, w->command_bytes.n);
}

static int print_explanation_json(struct why *w, struct mortise_err *err)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:s, s:O, s:o}", "run", w->run,
                          "status", mortise_cli_get_text(w->show, "status"),
                          "reason", mortise_cli_get_text(w->show, "reason"),
                          "why", w->text_bytes.p, "pending",
                          json_object_get(w->show, "pending"), "commands",
                          mortise_cli_split_commands(w->command_bytes.p));
    int rv = v != NULL ? mortise_cli_mark_incomplete(w->cli, v, err)
                       : mortise_nomem(err);

    if (rv == MORTISE_OK)
        return mortise_cli_print_json(w->cli, v, true, err);
    json_decref(v);
    return rv;
}

static void finish_why(struct why *w)
{
    mortise_buf_finish(&w->text_bytes);
    mortise_buf_finish(&w->command_bytes);
    json_decref(w->show);
    json_decref(w->asked);
    json_decref(w->retries);
    json_decref(w->command);
    json_decref(w->end);
}

static int why(struct mortise_cli *cli, struct mortise_err *err)
{
    struct why w = {.cli = cli};
    int rv;

    w.way = mortise_cli_get_continuation(cli, &w.commands, w.run, NULL);
    mortise_buf_init(&w.text_bytes, cli->mem);
    mortise_buf_init(&w.command_bytes, cli->mem);
    mortise_out_init_buf(&w.text, &w.text_bytes);
    mortise_out_init_buf(&w.commands, &w.command_bytes);
    rv = read_run_state(&w, err);
    if (rv == MORTISE_OK)
        rv = compose_explanation(&w, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = print_explanation_json(&w, err);
    else if (rv == MORTISE_OK)
        print_explanation(&w);
    if (rv == MORTISE_OK && !cli->args.json)
        mortise_cli_print_run_engine_hint(cli, w.show);
    finish_why(&w);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("One JSON object with the members why, pending and\n"
                     "commands"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_why = {
    .name = "why",
    .operands = "RUN",
    .looks = true,
    .summary = "Explain what a run waits for and what would unblock it",
    .text = "One paragraph explains what the run waits for, since when, and\n"
            "who can unblock it.  The commands that unblock the run follow;\n"
            "you can paste these into the shell.\n"
            "\n" MORTISE_CLI_RUN_BEGINS,
    .opts = opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise why 0197c2",
    .run = why,
};
