/* watch.c -- watches a run: prints its events, its final state and the commands
 * that unblock it.
 *
 * `run`, `resume` and all decisions end here.  When the prompt returns, the
 * last lines name the reason why the run stopped and the commands that continue
 * it.  For scripts, the exit code (exit_code.c) has the same information, and
 * with --json the last line.
 *
 * SIGINT and SIGTERM pause the run, in whichever process it is active, and the
 * command waits until it is paused.  A run that is not active is left as it is.
 *
 * The process that executes the run may end.  Then session.c finds or becomes
 * another engine, the run continues there, and watching continues after the
 * last event.  If it ended before it answered a command, the command is
 * repeated only if it is not recorded. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/owner.h"
#include "cli/stop.h"
#include "cli/watch.h"
#include "server/control.h"
#include "server/requests.h"
#include "core/json/value.h"

static int update_newest_seq(void *ud, json_t *event)
{
    uint64_t *seq = ud, its = mortise_cli_get_integer(event, "seq");

    *seq = its > *seq ? its : *seq;
    return 0;
}

int mortise_cli_replay_events(struct mortise_cli *cli, const char *run,
                              uint64_t after, mortise_item_fn *fn, void *ud,
                              struct mortise_err *err)
{
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:I, s:s}", "run", run, "after",
                                      (json_int_t)after, "until", "now"),
                            fn, ud, NULL, err);
}

/* ---- final state -------------------------------------------------------- */

static void print_status_line(struct mortise_out *o, const char *run,
                              const char *name, const char *reason)
{
    enum mortise_exit_code code =
        mortise_exit_code_of_status(mortise_status_parse(name));

    mortise_out_print_escaped(o, "run %s ", run);
    mortise_out_put_styled(o,
                           code == MORTISE_EXIT_OK        ? MORTISE_GOOD
                           : code == MORTISE_EXIT_WAITING ? MORTISE_ATTENTION
                                                          : MORTISE_BAD,
                           name, 0);
    mortise_out_print_escaped(o, "%s%s\n", reason[0] != '\0' ? ": " : "",
                              reason);
}

/* Print the effects in doubt of a run that has ended; returns whether there are
 * any. */
static bool print_unsettled_effects(struct mortise_cli *cli, const json_t *show)
{
    const json_t *nodes = json_object_get(show, "nodes");
    bool any = false;

    MORTISE_JSON_EACH (node, i, nodes) {
        char name[MORTISE_CLI_EXECUTION];

        if (!mortise_cli_is_unsettled(node))
            continue;
        any = true;
        if (cli->args.json)
            continue;
        mortise_out_print_escaped(
            &cli->out,
            "  node '%s': an effect may have happened; resume asks about it\n",
            mortise_cli_format_execution(node, name));
    }
    return any;
}

static bool is_completed_or_cancelled(int status)
{
    return status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_CANCELLED;
}

/* Find the node to suggest for --goto: the newest of the run's own graph whose
 * status is not "done", or else the newest; NULL: there is none. */
static const char *find_node_to_repeat(const json_t *show)
{
    const json_t *nodes = json_object_get(show, "nodes");
    const char *newest = NULL, *undone = NULL;

    MORTISE_JSON_EACH (one, i, nodes) {
        const char *path = mortise_cli_get_text(one, "path");

        if (strncmp(path, "1.0/", 4) != 0 || strpbrk(path + 4, "/[") != NULL)
            continue;
        newest = mortise_cli_get_text(one, "node");
        if (strcmp(mortise_cli_get_text(one, "status"), "done") != 0)
            undone = newest;
    }
    return undone != NULL ? undone : newest;
}

static int keep_newest_cancel(void *ud, json_t *event)
{
    json_t **newest = ud;

    if (strcmp(mortise_cli_get_text(event, "command"), "cancel") == 0) {
        json_decref(*newest);
        *newest = json_incref(event);
    }
    return 0;
}

/* Print that nothing was done because the run had ended; if it was cancelled,
 * by whom and why; and the command that continues it from a node. */
static void print_already_ended(struct mortise_cli *cli, const char *run,
                                int status, const json_t *show)
{
    const char *node = find_node_to_repeat(show), *reason;
    struct mortise_out *o = &cli->out;
    json_t *by = NULL;

    if (status == MORTISE_RUN_CANCELLED)
        mortise_cli_replay_events(cli, run, 0, keep_newest_cancel, &by, NULL);
    reason = mortise_cli_get_text(by, "reason");
    mortise_out_puts(o, "  the run had already ended; nothing was done");
    if (by != NULL)
        mortise_out_print_escaped(
            o, ": %s cancelled it at %s%s%s", mortise_cli_get_text(by, "actor"),
            mortise_cli_get_text(by, "at"),
            reason[0] != '\0' ? ", with the reason: " : "", reason);
    mortise_out_puts(o, "\n");
    if (node != NULL) {
        mortise_out_puts(o, "  to continue it from one of its nodes:\n");
        mortise_cli_print_suggestion(cli, o, "resume", run);
        mortise_out_puts(o, " --goto ");
        mortise_out_put_shell_word(o, node);
        mortise_out_puts(o, "\n");
    }
    json_decref(by);
}

/* Print the state of a stopped run, from `show`. */
static void print_stopped_run(struct mortise_cli *cli, const char *run,
                              int status, const json_t *show)
{
    const struct mortise_cli_continuation way = mortise_cli_get_continuation(
        cli, &cli->out, run,
        is_completed_or_cancelled(status) ? NULL
                                          : json_object_get(show, "blocked"));
    const json_t *error = json_object_get(show, "error");
    const json_t *pending = json_object_get(show, "pending");

    if (json_is_object(error))
        mortise_out_print_escaped(&cli->out, "  %s: %s\n",
                                  mortise_cli_get_text(error, "code"),
                                  mortise_cli_get_text(error, "message"));
    MORTISE_JSON_EACH (one, i, pending) {
        if (mortise_cli_is_offered(pending, i)) /* same commands */
            mortise_cli_print_question(&cli->out, one);
        else
            mortise_cli_print_request(&way, one);
    }
    if (status == MORTISE_RUN_FAILED && !way.stuck)
        mortise_cli_print_corrections(&way, show);
    if (is_completed_or_cancelled(status) &&
        mortise_cli_find_unsettled(show) == NULL)
        mortise_cli_print_command(&way, "show");
    else
        mortise_cli_print_unblock(&way, show);
}

/* A decision was recorded, but a plugin prevents the run from continuing.
 * Print the reason and the commands that help; the exit code is that of the
 * plugin's error. */
static int print_blocked_state(struct mortise_cli *cli, const char *run,
                               json_t *reply, const json_t *show)
{
    static const char *const members[] = {"status", "reason", "blocked",
                                          "pending", "error"};
    const json_t *blocked = json_object_get(show, "blocked");

    if (cli->args.json) {
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            json_object_set(reply, members[i],
                            json_object_get(show, members[i]));
        mortise_out_put_json(&cli->out, reply, false);
    } else {
        mortise_out_print_escaped(&cli->out, "run %s recorded; ", run);
        mortise_out_put_styled(&cli->out, MORTISE_BAD, "blocked", 0);
        mortise_out_puts(&cli->out, ": ");
        mortise_out_put_text(&cli->out,
                             mortise_cli_get_text(blocked, "message"), 0);
        print_stopped_run(cli, run, MORTISE_RUN_BLOCKED, show);
    }
    return (int)mortise_exit_code_of_result(
        mortise_requests_parse_code(mortise_cli_get_text(blocked, "code")));
}

/* Print the final state; returns the exit code.  `idle`: no event was seen. */
static int print_final_state(struct mortise_cli *cli, const char *run,
                             json_t *reply, bool idle)
{
    const char *name = mortise_cli_get_text(reply, "status");
    int status = mortise_status_parse(name);
    enum mortise_exit_code code;
    struct mortise_err err;
    json_t *show = NULL;
    bool blocked, doubt;
    int rv = mortise_cli_get_show(cli, run, &show, &err);

    if (rv != MORTISE_OK)
        return mortise_cli_fail(cli, &err);
    /* A plugin prevented the run from continuing after the decision, and still
     * does. */
    blocked = json_is_true(json_object_get(reply, "blocked")) &&
              json_object_get(show, "blocked") != NULL;
    if (blocked) {
        int its = print_blocked_state(cli, run, reply, show);

        json_decref(show);
        return its;
    }
    if (cli->args.json) {
        json_object_set(reply, "pending", json_object_get(show, "pending"));
        json_object_set(reply, "error", json_object_get(show, "error"));
        mortise_out_put_json(&cli->out, reply, false);
    } else {
        print_status_line(&cli->out, run, name,
                          mortise_cli_get_text(reply, "reason"));
    }
    doubt =
        is_completed_or_cancelled(status) && print_unsettled_effects(cli, show);
    if (!cli->args.json && idle && is_completed_or_cancelled(status) && !doubt)
        print_already_ended(cli, run, status, show);
    if (!cli->args.json) {
        print_stopped_run(cli, run, status, show);
        mortise_cli_print_run_engine_hint(cli, show);
    }
    code = mortise_exit_code_of_status(status);
    if (doubt ||
        (code == MORTISE_EXIT_WAITING &&
         mortise_cli_has_kind(json_object_get(show, "pending"), "in_doubt")))
        code = MORTISE_EXIT_IN_DOUBT;
    json_decref(show);
    return cli->wanted != 0 && status == cli->wanted &&
                   code != MORTISE_EXIT_IN_DOUBT
               ? MORTISE_EXIT_OK
               : (int)code;
}

void mortise_watch_session_init(struct mortise_watch_session *w,
                                struct mortise_cli *cli)
{
    memset(w, 0, sizeof *w);
    w->cli = cli;
    mortise_progress_init(&w->progress, &cli->out, cli->args.json);
}

static int on_watched_event(void *ud, json_t *item)
{
    struct mortise_watch_session *w = ud;

    update_newest_seq(&w->seq, item);
    mortise_progress_print_event(&w->progress, item); /* ignore errors */
    return 0;
}

/* Print the run's id before anything else; in a chat, to stderr. */
static void print_run_id(struct mortise_watch_session *w)
{
    struct mortise_out *o = w->progress.chat ? &w->cli->err : &w->cli->out;

    if (!w->cli->args.json)
        mortise_out_print_escaped(o, "run %s\n", w->run);
    mortise_out_flush(o);
}

/* The request is on disk: from now on, a signal pauses the run. */
static int start_pausing_on_signal(struct mortise_watch_session *w)
{
    mortise_session_set_until(w->cli->session, mortise_stop_fd(), &w->err);
    return w->err.code != MORTISE_OK;
}

/* Print findings in a graph that the command generated, without places, because
 * the user cannot see that graph. */
static void print_findings_without_places(struct mortise_cli *cli,
                                          const json_t *findings)
{
    static const char *const places[] = {"line", "col", "end_line", "end_col"};

    MORTISE_JSON_EACH (borrowed, i, findings) {
        json_t *one = mortise_json_unconst(borrowed);
        const char *help = mortise_cli_get_text(one, "help");

        json_object_set_new(one, "path", json_null());
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
            json_object_set_new(one, places[k], json_integer(0));
        if (cli->args.json)
            continue;
        mortise_out_print_escaped(&cli->err, "%s[%s]: %s\n",
                                  mortise_cli_get_text(one, "severity"),
                                  mortise_cli_get_text(one, "code"),
                                  mortise_cli_get_text(one, "message"));
        if (help[0] != '\0')
            mortise_out_print_escaped(&cli->err, "help: %s\n", help);
    }
    if (cli->args.json)
        mortise_cli_keep_findings(cli, findings);
}

/* Print the findings in the run's graph. */
static void print_graph_findings(const struct mortise_watch_session *w,
                                 const json_t *item)
{
    const json_t *findings = json_object_get(item, "findings");

    if (w->made_graph)
        print_findings_without_places(w->cli, findings);
    else if (w->cli->args.json)
        mortise_cli_keep_findings(w->cli, findings);
    else
        mortise_out_put_text(&w->cli->err, mortise_cli_get_text(item, "text"),
                             0);
}

/* For a request without a watch. */
static int on_unwatched_item(void *ud, json_t *item)
{
    struct mortise_watch_session *w = ud;

    if (strcmp(mortise_cli_get_text(item, "type"), "report") == 0)
        print_graph_findings(w, item);
    return 0;
}

/* For a request with a watch: its own items, then events. */
static int on_watch_item(void *ud, json_t *item)
{
    struct mortise_watch_session *w = ud;
    const char *type = mortise_cli_get_text(item, "type");

    if (strcmp(type, "report") == 0) {
        print_graph_findings(w, item);
        return 0;
    }
    if (strcmp(type, "started") == 0) {
        snprintf(w->run, sizeof w->run, "%s",
                 mortise_cli_get_text(item, "run"));
        print_run_id(w);
        return start_pausing_on_signal(w);
    }
    return strcmp(type, "recorded") == 0 ? start_pausing_on_signal(w)
                                         : on_watched_event(w, item);
}

/* Follow the run.  *reply NULL with MORTISE_OK: a signal arrived.  `go_on`: if
 * the run was active when its engine ended, the new engine continues it. */
static int follow_run(struct mortise_cli *cli, const char *run,
                      const char *until, bool go_on,
                      struct mortise_watch_session *w, json_t **reply,
                      struct mortise_err *err)
{
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:I, s:s, s:b}", "run", run,
                                      "after", (json_int_t)w->seq, "until",
                                      until, "go_on", go_on),
                            on_watched_event, w, reply, err);
}

/* Would the run continue by itself?  So does a run in memory that waits for a
 * timer, even if it also waits for other requests. */
static bool is_run_active(const json_t *show)
{
    return strcmp(mortise_cli_get_text(show, "status"), "running") == 0 ||
           (json_is_true(json_object_get(show, "live")) &&
            mortise_cli_has_kind(json_object_get(show, "pending"), "timer"));
}

/* The run cannot be paused because it has ended or is being cancelled.  If it
 * is being cancelled, do not wait for its engine: *reply is the present state.
 */
static int get_state_without_pause(struct mortise_cli *cli, const char *run,
                                   json_t **reply, struct mortise_err *err)
{
    int rv = mortise_cli_get_show(cli, run, reply, err);

    if (rv == MORTISE_OK && !is_run_active(*reply))
        mortise_json_clear_ref(reply);
    return rv;
}

/* Pause the run if it is active.  *reply NULL: wait until it rests. */
static int pause_active_run(struct mortise_cli *cli, const char *run,
                            json_t **reply, struct mortise_err *err)
{
    char order[MORTISE_UUID_TEXT];
    json_t *show = NULL;
    bool works;
    int rv = mortise_session_engine(cli->session) != NULL
                 ? mortise_session_set_until(cli->session, -1, err)
                 : mortise_cli_reopen(cli, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, run, &show, err);
    works = rv == MORTISE_OK && is_run_active(show);
    json_decref(show);
    if (rv != MORTISE_OK || !works)
        return rv;
    mortise_uuid_format(order, mortise_uuid7_make_now());
    rv = mortise_cli_call(cli, "command",
                          json_pack("{s:s, s:b, s:[{s:s}], s:s}", "run", run,
                                    "no_continue", 1, "commands", "kind",
                                    "pause", "order", order),
                          NULL, NULL, NULL, err);
    return rv == MORTISE_ESTATE ? get_state_without_pause(cli, run, reply, err)
                                : rv;
}

/* A signal arrived: pause our run and watch until it rests.  If this process
 * also executes others' runs, a second signal is for these (host.c); otherwise
 * it kills the process. */
static int pause_and_watch(struct mortise_cli *cli, const char *run,
                           struct mortise_watch_session *w, json_t **reply,
                           struct mortise_err *err)
{
    bool hosts = mortise_cli_has_clients(cli);
    int sig = mortise_stop_get_signal(), rv;

    if (hosts)
        mortise_stop_reset();
    rv = pause_active_run(cli, run, reply, err);
    cli->hasty = sig == SIGTERM || *reply != NULL;
    if (rv != MORTISE_OK || *reply != NULL)
        return rv;
    if (rv == MORTISE_OK && hosts)
        rv = mortise_session_set_until(cli->session, mortise_stop_fd(), err);
    if (rv == MORTISE_OK)
        rv = follow_run(cli, run, "idle", false, w, reply, err);
    if (rv != MORTISE_OK || *reply != NULL)
        return rv;
    cli->hasty = true;
    rv = mortise_session_set_until(cli->session, -1, err);
    return rv == MORTISE_OK ? follow_run(cli, run, "idle", false, w, reply, err)
                            : rv;
}

/* The same as JSON: {error: {code, message, run, pending?, commands?}}. */
static int print_command_refusal_json(struct mortise_cli *cli, const char *run,
                                      const struct mortise_err *why)
{
    bool doubt = why->code == MORTISE_EINDOUBT;
    json_t *more = NULL, *show = NULL;
    struct mortise_cli_continuation way;
    struct mortise_buf b;
    struct mortise_out o;

    if (run[0] == '\0' || (!doubt && why->code != MORTISE_EBLOCKED) ||
        mortise_cli_get_show(cli, run, &show, NULL) != MORTISE_OK)
        return mortise_cli_fail(cli, why);
    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    way = mortise_cli_get_continuation(cli, &o, run,
                                       json_object_get(show, "blocked"));
    mortise_cli_print_unblock_refused(&way, show, doubt);
    mortise_out_flush(&o);
    more = json_pack(
        "{s:s, s:O*, s:o}", "run", run, "pending",
        json_object_get(show, "pending"), "commands",
        mortise_cli_split_commands(mortise_buf_cstr(&b) != NULL ? b.p : ""));
    mortise_buf_finish(&b);
    json_decref(show);
    return mortise_cli_fail_with(cli, why, more);
}

/* Print why the run rejected a command.  If an effect is in doubt or the run is
 * blocked, also print the commands that help. */
static int print_command_refusal(struct mortise_cli *cli, const char *run,
                                 const struct mortise_err *why)
{
    struct mortise_cli_continuation way;
    struct mortise_err err;
    json_t *show = NULL;
    int code;

    if (cli->args.json)
        return print_command_refusal_json(cli, run, why);
    code = mortise_cli_fail(cli, why);
    if (run[0] == '\0' ||
        (why->code != MORTISE_EINDOUBT && why->code != MORTISE_EBLOCKED) ||
        mortise_cli_get_show(cli, run, &show, &err) != MORTISE_OK)
        return code;
    way = mortise_cli_get_continuation(cli, &cli->err, run,
                                       json_object_get(show, "blocked"));
    mortise_cli_print_unblock_refused(&way, show,
                                      why->code == MORTISE_EINDOUBT);
    mortise_out_flush(&cli->err);
    json_decref(show);
    return code;
}

int mortise_watch_run(struct mortise_watch_session *w, const char *what,
                      json_t *body, json_t **reply, struct mortise_err *err)
{
    int rv = mortise_session_set_until(w->cli->session, -1,
                                       err); /* until `started` */

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(w->cli, what, body, on_watch_item, w, reply, err);
    else
        json_decref(body);
    if (rv == MORTISE_OK && w->err.code != MORTISE_OK) {
        *err = w->err;
        rv = err->code;
    }
    if (rv == MORTISE_OK && *reply == NULL)
        rv = pause_and_watch(w->cli, w->run, w, reply, err);
    mortise_progress_end(&w->progress);
    return rv;
}

int mortise_cli_run_and_watch(struct mortise_cli *cli, const char *what,
                              json_t *body, const char *run, uint64_t after)
{
    struct mortise_watch_session w;
    struct mortise_err err;
    json_t *reply = NULL;
    int rv, code;

    mortise_watch_session_init(&w, cli);
    w.seq = after;
    snprintf(w.run, sizeof w.run, "%s", run);
    rv = mortise_watch_run(&w, what, body, &reply, &err);
    code = rv == MORTISE_OK
               ? print_final_state(cli, w.run, reply, w.seq == after)
               : print_command_refusal(cli, w.run, &err);
    json_decref(reply);
    return code;
}

/* ---- commands -------------------------------------------------------------
 */

/* Print the process that continues the run, if it is another one. */
static void print_executing_process(struct mortise_cli *cli)
{
    struct mortise_err err;
    json_t *engine = NULL;

    if (mortise_cli_call(cli, "engine", json_object(), NULL, NULL, &engine,
                         &err) == MORTISE_OK)
        mortise_out_printf(
            &cli->out, "; process %llu continues it",
            (unsigned long long)mortise_cli_get_integer(engine, "pid"));
    json_decref(engine);
}

/* The commands are recorded, and this process does nothing else. */
static int print_recorded(struct mortise_cli *cli, json_t *reply)
{
    if (json_is_true(json_object_get(reply, "blocked")))
        return print_final_state(cli, mortise_cli_get_text(reply, "run"), reply,
                                 false);
    if (cli->args.json) {
        mortise_out_put_json(&cli->out, reply, false);
        return MORTISE_EXIT_OK;
    }
    mortise_out_print_escaped(&cli->out, "recorded: run %s is %s",
                              mortise_cli_get_text(reply, "run"),
                              mortise_cli_get_text(reply, "status"));
    if (!cli->args.no_continue && mortise_session_engine(cli->session) == NULL)
        print_executing_process(cli);
    mortise_out_puts(&cli->out, "\n");
    return MORTISE_EXIT_OK;
}

/* Make the body of a `command` request, with or without a watch; `last` is the
 * newest event of the run.  Takes the commands. */
static json_t *make_command_body(const struct mortise_cli *cli, const char *run,
                                 json_t *commands, uint64_t last, bool watch)
{
    char order[MORTISE_UUID_TEXT];

    mortise_uuid_format(order, mortise_uuid7_make_now());
    return json_pack("{s:s, s:o, s:b, s:b, s:s, s:I, s:s*}", "run", run,
                     "commands", commands, "no_continue", cli->args.no_continue,
                     "accept_plugins", cli->args.accept_plugins, "order", order,
                     "after", (json_int_t)(watch ? last : 0), "until",
                     watch ? "idle" : NULL);
}

json_t *mortise_watch_make_command(const struct mortise_watch_session *w,
                                   json_t *commands)
{
    return make_command_body(w->cli, w->run, commands, w->seq, true);
}

int mortise_cli_send_commands(struct mortise_cli *cli, const char *run,
                              json_t *commands, bool always,
                              struct mortise_err *err)
{
    bool watch = !cli->args.no_continue &&
                 (always || mortise_session_engine(cli->session) != NULL);
    struct mortise_watch_session w = {.cli = cli};
    json_t *body, *reply = NULL;
    int rv =
        mortise_cli_replay_events(cli, run, 0, update_newest_seq, &w.seq, err);

    if (rv == MORTISE_OK && watch)
        rv = mortise_stop_install(err);
    if (rv != MORTISE_OK) {
        json_decref(commands);
        return rv;
    }
    body = make_command_body(cli, run, commands, w.seq, watch);
    if (watch)
        return mortise_cli_run_and_watch(cli, "command", body, run, w.seq);
    snprintf(w.run, sizeof w.run, "%s", run);
    rv = mortise_cli_call(cli, "command", body, on_unwatched_item, &w, &reply,
                          err);
    rv = rv == MORTISE_OK ? print_recorded(cli, reply)
                          : print_command_refusal(cli, run, err);
    json_decref(reply);
    return rv;
}

int mortise_cli_send_to_operand(struct mortise_cli *cli, json_t *commands,
                                bool always, struct mortise_err *err)
{
    char run[MORTISE_RUN_MAX];
    int rv =
        mortise_cli_find_run_to_change(cli, cli->args.operands[0], run, err);

    if (rv == MORTISE_OK)
        return mortise_cli_send_commands(cli, run, commands, always, err);
    json_decref(commands);
    return rv;
}
