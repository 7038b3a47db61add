/* why.c -- `mortise why`: what a run waits for, since when, who can unblock it,
 * and the commands that would.
 *
 * (1) Every status and reason has its own sentence; what has none would be said
 *     as such, never guessed.
 * (2) Every command that is printed is one that lets the run go on, in the
 *     state that it was looked at, as it stands: pasted into the same shell,
 *     in the order that they stand in, it works.  (An answer that a schema asks
 *     for is a sample to be changed.)  They are request.c's.
 * (3) Looking changes nothing: no run is loaded, no plugin started.
 *
 * What is at work and what is pending comes from `show`; since when, and by
 * whom, from the run's events.
 */
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

    /* What the events say; each NULL until one does. */
    json_t *asked;   /* request id -> when */
    json_t *retries; /* path -> its newest retry_scheduled */
    json_t *command; /* the newest of a person */
    json_t *end;     /* run_end */

    struct mortise_cli_way way; /* its lifts stand among the commands */
    struct mortise_buf text_bytes, command_bytes;
    struct mortise_out text, commands;
};

/* ---- looking ------------------------------------------------------------- */

static void keep(json_t **at, json_t *event)
{
    json_decref(*at);
    *at = json_incref(event);
}

static int note(void *ud, json_t *event)
{
    struct why *w = ud;
    const char *type = mortise_cli_text(event, "type");

    if (strcmp(type, "interrupt") == 0)
        json_object_set(w->asked, mortise_cli_text(event, "id"),
                        json_object_get(event, "at"));
    else if (strcmp(type, "retry_scheduled") == 0)
        json_object_set(w->retries, mortise_cli_text(event, "path"), event);
    else if (strcmp(type, "command") == 0 &&
             strcmp(mortise_cli_text(event, "command"), "accept_plugins") != 0)
        keep(&w->command, event);
    else if (strcmp(type, "run_end") == 0)
        keep(&w->end, event);
    return 0;
}

static int look(struct why *w, struct mortise_err *err)
{
    struct mortise_cli *cli = w->cli;
    int rv = mortise_cli_run_to_read(cli, cli->args.operands[0], w->run, err);

    w->asked = json_object();
    w->retries = json_object();
    if (rv == MORTISE_OK)
        rv = mortise_cli_show(cli, w->run, &w->show, err);
    return rv == MORTISE_OK ? mortise_cli_recall(cli, w->run, 0, note, w, err)
                            : rv;
}

/* ---- words ---------------------------------------------------------------
 */

/* Status and reason apart from what its plugins are by now. */
static const json_t *as_left(const struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    return blocked != NULL ? blocked : w->show;
}

/* Each %s is made safe (mortise_out_say()). */
static void say(struct why *w, const char *fmt, ...) MORTISE_PRINTF(2, 3);
static void say(struct why *w, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_out_vsay(&w->text, fmt, ap);
    va_end(ap);
}

/* " since TIME (3 min 5 s)"; nothing when it is not known. */
static void say_since(struct why *w, const char *word, const char *at)
{
    uint64_t then = mortise_cli_time(at), now = mortise_now_ms();
    char took[32];

    if (then == 0)
        return;
    say(w, "%s%s", word, at);
    if (now >= then)
        say(w, " (%s%s)", mortise_out_took(now - then, took),
            strcmp(word, " since ") == 0 ? "" : " ago");
}

static const char *since(const struct why *w)
{
    return mortise_cli_text(w->show, "updated");
}

/* " by ACTOR" and ": REASON" of a command. */
static void say_who(struct why *w, const json_t *command)
{
    const char *actor = mortise_cli_text(command, "actor");
    const json_t *reason = json_object_get(command, "reason");
    const char *words = json_is_string(reason) ? json_string_value(reason) : "";

    if (json_is_object(reason))
        words = mortise_cli_text(reason, "reason");
    if (actor[0] != '\0')
        say(w, " by %s", actor);
    if (words[0] != '\0')
        say(w, ", with the reason: %s", words);
}

static void say_error(struct why *w, const json_t *error)
{
    say(w, "%s: %s", mortise_cli_text(error, "code"),
        mortise_cli_text(error, "message"));
}

static void offer(struct why *w, const char *what)
{
    if (!w->way.stuck)
        mortise_cli_offer(&w->way, what);
}

/* ---- what is pending -------------------------------------------------------
 */

static void say_assignees(struct why *w, const json_t *request)
{
    const json_t *list = json_object_get(request, "assignees");
    size_t n = json_array_size(list);

    if (mortise_cli_asks_nobody(request))
        return;
    if (mortise_cli_is_kind(request, "scheduled_pause")) {
        say(w, " Anyone with access to this store can continue it.");
        return;
    }
    if (n == 0) {
        say(w, " Anyone with access to this store can settle it.");
        return;
    }
    say(w, " It is assigned to ");
    MORTISE_JSON_EACH (who, i, list) {
        say(w, "%s%s",
            i == 0       ? ""
            : i + 1 == n ? " or "
                         : ", ",
            json_string_value(who));
    }
    say(w, ".");
}

static void say_deadline(struct why *w, const json_t *request)
{
    const char *deadline = mortise_cli_text(request, "deadline");

    if (deadline[0] == '\0')
        return;
    if (mortise_cli_asks_nobody(request) || !mortise_cli_has_expired(request))
        say(w, ", until %s", deadline);
    else
        say(w,
            ", expired at %s; it cannot be answered any more, and when the run "
            "is resumed, the node follows its on_timeout",
            deadline);
}

/* One request: a sentence or two. */
static void say_request(struct why *w, const json_t *request)
{
    const char *prompt = mortise_cli_text(request, "prompt");
    const char *tool = mortise_cli_text(request, "tool");
    const char *cause = mortise_cli_text(request, "cause");
    const char *key = json_string_value(mortise_cli_key(request));
    char name[MORTISE_CLI_EXECUTION];

    say(w, " Node '%s' %s", mortise_cli_execution(request, name),
        mortise_cli_asks(request));
    if (prompt[0] != '\0' || tool[0] != '\0')
        say(w, " (%s)", prompt[0] != '\0' ? prompt : tool);
    say_since(w, ", since ",
              mortise_cli_text(w->asked, mortise_cli_text(request, "id")));
    say_deadline(w, request);
    say(w, "%s%s.", cause[0] != '\0' ? ": " : "", cause);
    if (key != NULL)
        say(w, " Its idempotency key is %s.", key);
    say_assignees(w, request);
}

static void explain_pending(struct why *w)
{
    const json_t *pending = json_object_get(w->show, "pending");
    bool accept = false;

    MORTISE_JSON_EACH (request, i, pending) {
        say_request(w, request);
        if (mortise_cli_is_asked_again(&w->way, request))
            accept = true;
        else if (!w->way.stuck && !mortise_cli_is_offered(pending, i))
            mortise_cli_settle(&w->way, request);
    }
    if (accept)
        offer(w, "resume");
}

/* Nobody is asked about it yet. */
static void say_unsettled(struct why *w)
{
    const json_t *nodes = json_object_get(w->show, "nodes");

    MORTISE_JSON_EACH (node, i, nodes) {
        char name[MORTISE_CLI_EXECUTION];

        if (!mortise_cli_is_unsettled(node) ||
            strcmp(mortise_cli_text(node, "status"), "failed") == 0)
            continue;
        say(w, " An effect of node '%s' may have happened.",
            mortise_cli_execution(node, name));
    }
}

/* ---- each status -----------------------------------------------------------
 */

/* Nobody is asked, and nothing is recorded: the call is tried again. */
static void say_descriptor(struct why *w, const json_t *node)
{
    say(w, "waits");
    say_since(w, " since ", mortise_cli_text(node, "started"));
    say(w, " for a file descriptor: the process has none left, and tries again "
           "at least every 2 seconds.  Start it with a higher limit (ulimit "
           "-n, or "
           "LimitNOFILE= of the service), or end what else uses its "
           "descriptors");
}

/* The nodes that are at work or wait for their next attempt. */
static void say_at_work(struct why *w)
{
    const json_t *nodes = json_object_get(w->show, "nodes");

    MORTISE_JSON_EACH (node, i, nodes) {
        const char *path = mortise_cli_text(node, "path");
        const json_t *retry = json_object_get(w->retries, path);
        bool runs = mortise_cli_is_at_work(node);
        char name[MORTISE_CLI_EXECUTION];

        if (!runs && (retry == NULL ||
                      strcmp(mortise_cli_text(node, "status"), "pending") != 0))
            continue;
        say(w, " Node '%s' ", mortise_cli_execution(node, name));
        if (mortise_cli_waits_for_descriptor(node)) {
            say_descriptor(w, node);
        } else if (runs) {
            say(w, "is running");
            say_since(w, " since ", mortise_cli_text(node, "started"));
        } else {
            say(w, "failed (");
            say_error(w, json_object_get(retry, "error"));
            say(w, ") and is retried at %s",
                mortise_cli_text(retry, "next_at"));
        }
        say(w, ".");
    }
}

/* Who works on it, between these words; false: nobody. */
static bool say_engine(struct why *w, const char *before, const char *after)
{
    json_t *engine = NULL;

    if (!json_is_true(json_object_get(w->show, "live")))
        return false;
    mortise_cli_call(w->cli, "engine", json_object(), NULL, NULL, &engine,
                     NULL);
    say(w, "%s%llu%s", before,
        (unsigned long long)mortise_cli_integer(engine, "pid"), after);
    json_decref(engine);
    return true;
}

static void why_running(struct why *w)
{
    if (!say_engine(w, " is running: process ", " executes it.")) {
        say(w, " was interrupted");
        say_since(w, " after ", since(w));
        say(w, ": its process ended before the run did, and no process "
               "executes it now.  No acknowledged data is lost.  Anyone with "
               "access to this store can resume it.");
        say_unsettled(w);
        explain_pending(w);
        offer(w, "resume");
        return;
    }
    say_at_work(w);
    explain_pending(w);
}

/* Nobody is asked; it goes on when time comes, if somebody works on it. */
static void why_timed(struct why *w)
{
    say(w, " waits for a point in time.");
    explain_pending(w);
    if (say_engine(w, "  Process ", " continues it then."))
        return;
    say(w, "  No process executes it: it continues if an engine runs at that "
           "time, or when anyone with access to this store resumes it.");
    offer(w, "resume");
}

static void why_waiting(struct why *w)
{
    const json_t *pending = json_object_get(w->show, "pending");
    const char *reason = mortise_cli_text(as_left(w), "reason");

    if (strcmp(reason, "timer") == 0) {
        why_timed(w);
        return;
    }
    say(w, " waits for %s.",
        strcmp(reason, "approval") == 0 ? "an approval"
        : strcmp(reason, "child") == 0  ? "the end of a child run"
                                        : "a person");
    if (json_array_size(pending) > 1)
        say(w, " Several requests are pending; each decision unblocks a part "
               "of the run.");
    explain_pending(w);
}

static void why_limited(struct why *w)
{
    const json_t *limit = json_object_get(w->show, "limit");

    say(w, " is paused by a limit of its graph");
    say_since(w, " since ", since(w));
    say(w,
        ": it is limited to %llu %s, and node '%s' would exceed that.  Anyone "
        "with access to this store can raise the limit.",
        (unsigned long long)mortise_cli_integer(limit, "value"),
        mortise_cli_text(limit, "limit"), mortise_cli_text(limit, "node"));
    explain_pending(w);
    if (!w->way.stuck)
        mortise_cli_raise(&w->way, limit);
}

/* Nobody paused it: something was recorded, and nothing has gone on since. */
static void why_recorded(struct why *w, const char *reason)
{
    say(w, " has not continued");
    say_since(w, " since ", since(w));
    say(w, "%s",
        strcmp(reason, "plugin") == 0
            ? ": the decision is recorded, but a plugin could not be used to "
              "continue the run.  When the plugins can be used again, the next "
              "`mortise engine` continues it, or anyone with access to this "
              "store can resume it."
            : ": the command is recorded, and the run was not continued "
              "(--no-continue).  Anyone with access to this store can resume "
              "it.");
    explain_pending(w);
    offer(w, "resume");
}

static void why_paused(struct why *w)
{
    const char *reason = mortise_cli_text(as_left(w), "reason");
    const json_t *unwritten =
        json_object_get(json_object_get(w->show, "unwritten"), "error");
    bool spent = strcmp(reason, "budget") == 0;

    if (json_is_object(json_object_get(w->show, "limit"))) {
        why_limited(w);
        return;
    }
    if (spent || strcmp(reason, "interrupt") == 0) {
        say(w, spent ? " is paused: the budget of its graph is used up."
                     : " is paused by an interrupt of its graph.");
        explain_pending(w);
        return;
    }
    if (strcmp(reason, "plugin") == 0 || strcmp(reason, "no_continue") == 0) {
        why_recorded(w, reason);
        return;
    }
    if (strcmp(reason, "memory") == 0) {
        say(w,
            " is paused: the deployment's memory rejected a write (%s: %s).  "
            "Correct that, then resume the run:",
            mortise_cli_text(unwritten, "code"),
            mortise_cli_text(unwritten, "message"));
        offer(w, "resume");
        return;
    }
    say(w, " is paused");
    if (strcmp(reason, "shutdown") == 0) {
        say(w, " because its engine was stopped");
        say_since(w, " at ", since(w));
        say(w, ".  The next `mortise engine` continues it, or anyone with "
               "access to this store can resume it.");
    } else {
        if (w->command != NULL)
            say_who(w, w->command);
        say_since(w, " since ",
                  w->command != NULL ? mortise_cli_text(w->command, "at")
                                     : since(w));
        say(w, ".  Anyone with access to this store can resume it.");
    }
    say_unsettled(w);
    explain_pending(w);
    offer(w, "resume");
}

static void why_doubt(struct why *w)
{
    say(w, " is in doubt: an effect may or may not have happened.  Find out "
           "whether it happened, then resolve it: as done (replace the example "
           "by the real result), as not happened, to retry it, or as failed.");
    explain_pending(w);
}

/* Somebody said what a step came to, and the call failed behind that. */
static void say_corrections(struct why *w)
{
    MORTISE_JSON_EACH (node, i, json_object_get(w->show, "nodes")) {
        char name[MORTISE_CLI_EXECUTION];

        if (json_object_get(node, "resolved") != NULL)
            say(w,
                "  In node '%s', a person resolved an effect in doubt.  To "
                "correct the recorded result, use resolve --done; the node is "
                "then retried with it.",
                mortise_cli_execution(node, name));
    }
    if (!w->way.stuck)
        mortise_cli_corrections(&w->way, w->show);
}

static void why_failed(struct why *w)
{
    const char *path =
        mortise_cli_text(json_object_get(w->show, "error"), "path");

    say(w, " has failed");
    say_since(w, " at ", mortise_cli_text(w->end, "at"));
    say(w, "%s%s.  ", path[0] != '\0' ? ", in " : "", path);
    say_error(w, json_object_get(w->show, "error"));
    say(w, "%s",
        mortise_cli_unsettled(w->show) != NULL
            ? ".  It is still in doubt whether an effect happened: resuming "
              "the run asks about it before anything is repeated."
            : ".  Anyone with access to this store can retry the failed nodes. "
              " Completed nodes keep their outputs and do not run again.  If "
              "the retry fails for the same reason, continue from an earlier "
              "node, which then runs again (resume --goto NODE).");
    say_corrections(w);
    offer(w, "resume");
}

static void why_over(struct why *w)
{
    bool cancelled =
        strcmp(mortise_cli_text(w->show, "status"), "cancelled") == 0;
    const json_t *node = mortise_cli_unsettled(w->show);

    say(w, cancelled ? " was cancelled" : " has completed");
    if (cancelled)
        say_who(w, w->command);
    say_since(w, " at ", mortise_cli_text(w->end, "at"));
    if (node == NULL) {
        say(w, ".  It waits for nothing.  It can only be continued from one of "
               "its nodes (resume --goto NODE).");
        return;
    }
    say(w,
        ".  It waits for nothing, but an effect of node %s may have happened: "
        "the node %s.  Resuming the run asks about the effect; until then, the "
        "run cannot be continued from a node.  Nothing is repeated by that.",
        mortise_cli_text(node, "node"),
        strcmp(mortise_cli_text(node, "status"), "skipped") == 0
            ? "was stopped during the effect"
            : "was recorded as failed");
    offer(w, "resume");
}

/* ---- plugins that changed --------------------------------------------------
 */

/* The run's plugin is not there. */
static void say_gone(struct why *w, struct mortise_plugin_set *s,
                     const char *name, const struct mortise_err *found)
{
    struct mortise_err lack;

    if (mortise_deployment_lacks(s->settings.deployment, name, &lack))
        say(w, " It is blocked: %s.", lack.msg);
    else
        say(w,
            " It is blocked: it needs plugin '%s', which is not available "
            "(%s).  The administrator of the plugins must restore it.",
            name, found->msg);
    w->way.stuck = true;
}

/* What stands in the way of the run's plugin, if anything does. */
static void plugin_problem(struct why *w, struct mortise_plugin_set *s,
                           const char *name, const char *was)
{
    struct mortise_err err;
    char is[MORTISE_DIGEST_HEX];
    const struct mortise_deployment *d = s->settings.deployment;
    const char *plugin = mortise_deployment_plugin(d, name, NULL);
    const struct mortise_tool_pin *tool;
    struct mortise_pin here;
    const struct mortise_manifest *m =
        mortise_pin_find(d, s->plugins, name, &here, &err);

    if (m != NULL) {
        mortise_hex(is, here.digest, MORTISE_DIGEST);
        if (strcmp(is, was) == 0)
            return;
    }
    if (m == NULL && mortise_plugins_is_quarantined(s->plugins, plugin)) {
        say(w,
            " It is blocked: it needs plugin '%s', which is quarantined (%s).  "
            "To end the quarantine and continue the run:",
            name, err.msg);
        mortise_cli_unquarantine(&w->way, plugin);
    } else if (m == NULL) {
        say_gone(w, s, name, &err);
    } else if (mortise_deployment_is_tool(d, name, &tool)) {
        say(w,
            " It is blocked: it needs tool '%s/%s' with its old definition, "
            "but mortise.lock has a new one.  Pin the old definition again, or "
            "accept the new one.",
            plugin, tool->operation);
        w->way.more = " --accept-plugins";
    } else {
        say(w,
            " It is blocked: it needs plugin '%s', which has changed (the "
            "installed one is %s %s%s).  Install the old plugin again, or "
            "accept the new one.",
            name, m->name, m->version, m->dev ? ", an unsigned build" : "");
        w->way.more = " --accept-plugins";
    }
}

/* An execution of it took the process down too often; false: none did. */
static bool say_deaths(struct why *w)
{
    const json_t *d =
        json_object_get(json_object_get(w->show, "blocked"), "deaths");
    const char *plugin = mortise_cli_text(d, "plugin");

    if (mortise_cli_integer(d, "times") < MORTISE_DEATHS_BLOCK)
        return false;
    say(w,
        " It is blocked: plugin '%s' crashed the process %llu times in node %s "
        "(the last time, at %s, it %s) and would crash it again.  The "
        "administrator of the plugins must install a version that does not "
        "crash; or retry with this one:",
        plugin, (unsigned long long)mortise_cli_integer(d, "times"),
        mortise_cli_text(d, "path"), mortise_cli_text(d, "last"),
        mortise_cli_text(d, "how"));
    mortise_cli_unquarantine(&w->way, plugin);
    return true;
}

/* In the words of who could not let it go on. */
static void say_blocked(struct why *w)
{
    char words[MORTISE_CLI_BLOCKED];

    mortise_cli_blocked(json_object_get(w->show, "blocked"), words);
    if (words[0] != '\0')
        say(w, " It is blocked: %s.", words);
}

/* All its plugins are as they were, and something else of the deployment that its
 * graph goes by is not: a model, say. */
static void check_rest(struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    mortise_out_flush(&w->text);
    if (w->text_bytes.n > 0 || !json_is_object(blocked))
        return;
    say_blocked(w);
    w->way.stuck = true;
}

/* What the engine that holds the store says, whose plugins are the ones that
 * count; false: this process holds it. */
static bool say_of_engine(struct why *w)
{
    const json_t *blocked = json_object_get(w->show, "blocked");

    if (mortise_session_engine(w->cli->session) != NULL)
        return false;
    w->way = mortise_cli_way_on(w->cli, &w->commands, w->run, blocked);
    say_blocked(w);
    return true;
}

/* A run goes on with the plugins that it started with, or that somebody
 * accepted in their place (R4).  Who works on it has them. */
static int check_plugins(struct why *w, struct mortise_err *err)
{
    const json_t *pins = json_object_get(w->show, "plugins");
    struct mortise_plugin_set s = {.plugins = NULL};
    const char *name;
    json_t *digest;
    int rv;

    if (json_is_true(json_object_get(w->show, "live")) || say_deaths(w) ||
        say_of_engine(w))
        return MORTISE_OK;
    rv = mortise_plugin_set_open(&s, w->cli, NULL, err);
    if (rv == MORTISE_OK) {
        json_object_foreach(mortise_json_unconst(pins), name, digest)
        {
            plugin_problem(w, &s, name, json_string_value(digest));
        }
        check_rest(w);
    }
    mortise_plugin_set_close(&s);
    return rv;
}

/* Whoever decides about the run should know. */
static void say_unsigned(struct why *w)
{
    const json_t *names = json_object_get(w->show, "unsigned");

    MORTISE_JSON_EACH (name, i, names)
        say(w, "%s'%s'",
            i == 0 ? " It uses, or has used, unsigned plugins: " : ", ",
            json_string_value(name));
    if (json_array_size(names) > 0)
        say(w, ".");
}

static void say_changed_file(struct why *w)
{
    char *path = mortise_cli_changed_file(w->cli, w->run);

    if (path != NULL)
        say(w, " Note that " MORTISE_CLI_CHANGED_FILE ".", path);
    mortise_release_str(w->cli->mem, path);
}

/* ---- all of it -------------------------------------------------------------
 */

static int compose(struct why *w, struct mortise_err *err)
{
    static void (*const of_status[])(struct why *) = {
        [MORTISE_RUN_ACCEPTED] = why_running,
        [MORTISE_RUN_RUNNING] = why_running,
        [MORTISE_RUN_WAITING] = why_waiting,
        [MORTISE_RUN_PAUSED] = why_paused,
        [MORTISE_RUN_IN_DOUBT] = why_doubt,
        [MORTISE_RUN_COMPLETED] = why_over,
        [MORTISE_RUN_FAILED] = why_failed,
        [MORTISE_RUN_CANCELLED] = why_over,
    };
    int status = mortise_status_of_name(mortise_cli_text(as_left(w), "status"));
    bool over =
        status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_CANCELLED;
    struct mortise_buf blocked;
    int rv = MORTISE_OK;

    if (status == 0)
        return mortise_fail(err, MORTISE_EFORMAT,
                            "run %s has a status that this build does not know",
                            w->run);
    /* Which commands work depends on the plugins; they are said at the end. */
    if (!over)
        rv = check_plugins(w, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_out_flush(&w->text);
    blocked = w->text_bytes;
    mortise_buf_init(&w->text_bytes, w->cli->mem);
    say(w, "Run %s", w->run);
    of_status[status](w);
    mortise_out_flush(&w->text);
    mortise_buf_put(&w->text_bytes, blocked.p, blocked.n);
    mortise_buf_finish(&blocked);
    say_unsigned(w);
    if (!over)
        say_changed_file(w);
    mortise_out_flush(&w->text);
    mortise_out_flush(&w->commands);
    if (mortise_buf_cstr(&w->text_bytes) == NULL ||
        mortise_buf_cstr(&w->command_bytes) == NULL)
        return mortise_nomem(err);
    return MORTISE_OK;
}

static void print(struct why *w)
{
    struct mortise_out *o = &w->cli->out;
    size_t columns, rows;

    mortise_out_window(o, &columns, &rows);
    mortise_out_paragraph(o, w->text_bytes.p,
                          columns < WIDTH ? columns : WIDTH);
    if (w->command_bytes.n == 0)
        return;
    mortise_out_puts(o, "\n");
    mortise_out_put(o, w->command_bytes.p, w->command_bytes.n);
}

static int print_json(struct why *w, struct mortise_err *err)
{
    json_t *v =
        json_pack("{s:s, s:s, s:s, s:s, s:O, s:o}", "run", w->run, "status",
                  mortise_cli_text(w->show, "status"), "reason",
                  mortise_cli_text(w->show, "reason"), "why", w->text_bytes.p,
                  "pending", json_object_get(w->show, "pending"), "commands",
                  mortise_cli_command_list(w->command_bytes.p));
    int rv =
        v != NULL ? mortise_cli_mark_lack(w->cli, v, err) : mortise_nomem(err);

    if (rv == MORTISE_OK)
        return mortise_cli_print(w->cli, v, true, err);
    json_decref(v);
    return rv;
}

static void finish(struct why *w)
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

    w.way = mortise_cli_way_on(cli, &w.commands, w.run, NULL);
    mortise_buf_init(&w.text_bytes, cli->mem);
    mortise_buf_init(&w.command_bytes, cli->mem);
    mortise_out_init_buf(&w.text, &w.text_bytes);
    mortise_out_init_buf(&w.commands, &w.command_bytes);
    rv = look(&w, err);
    if (rv == MORTISE_OK)
        rv = compose(&w, err);
    if (rv == MORTISE_OK && cli->args.json)
        rv = print_json(&w, err);
    else if (rv == MORTISE_OK)
        print(&w);
    if (rv == MORTISE_OK && !cli->args.json)
        mortise_cli_run_needs_engine(cli, w.show);
    finish(&w);
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
