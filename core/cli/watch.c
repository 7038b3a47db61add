/* watch.c -- a run going on: its events, how it stands, what would unblock it.
 *
 * `run`, `resume` and every decision end here.  The promise to a person: when
 * the prompt comes back, the last lines say what the run is waiting for and
 * which command, word for word, lets it go on.  The promise to a script: the
 * exit code says the same (exit.c), and with --json the last line does.
 *
 * SIGINT and SIGTERM pause the run, wherever it runs, and are waited for like
 * anything else that happens to it; a run that only waits is left as it is.
 *
 * The engine that the run is at work in may go away: link.c finds or becomes
 * another, and the run goes on there, watched from where it was.  A command
 * whose engine went away before it answered is looked for in the record, and
 * given again only when it is not there.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "engine/control.h"
#include "json/value.h"

static int note_seq(void *ud, json_t *event)
{
    uint64_t *seq = ud, its = mortise_cli_integer(event, "seq");

    *seq = its > *seq ? its : *seq;
    return 0;
}

int mortise_cli_last_event(struct mortise_cli *cli, const char *run,
                           uint64_t *seq, struct mortise_err *err)
{
    *seq = 0;
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:s}", "run", run, "until", "now"),
                            note_seq, seq, NULL, err);
}

/* ---- how it stands --------------------------------------------------------
 */

static void headline(struct mortise_out *o, const char *run, const char *name,
                     const char *reason)
{
    enum mortise_exit code =
        mortise_exit_of_status(mortise_status_of_name(name));

    mortise_out_puts(o, "run ");
    mortise_out_word(o, run);
    mortise_out_puts(o, " ");
    mortise_out_style(o, code == MORTISE_EXIT_OK        ? MORTISE_GOOD
                         : code == MORTISE_EXIT_WAITING ? MORTISE_ASKS
                                                        : MORTISE_BAD);
    mortise_out_word(o, name);
    mortise_out_style(o, MORTISE_PLAIN);
    if (reason[0] != '\0') {
        mortise_out_puts(o, ": ");
        mortise_out_word(o, reason);
    }
    mortise_out_puts(o, "\n");
}

static bool nobody_is_asked(const json_t *pending)
{
    const json_t *one;
    size_t i;

    json_array_foreach(mortise_json_unconst(pending), i, one)
    {
        if (!mortise_cli_is_timer(one))
            return false;
    }
    return true;
}

static bool has_doubt(const json_t *pending)
{
    const json_t *one;
    size_t i;

    json_array_foreach(mortise_json_unconst(pending), i, one)
    {
        if (strcmp(mortise_cli_text(one, "kind"), "in_doubt") == 0)
            return true;
    }
    return false;
}

/* The command that lets it go on where no request's does. */
static void stand_on(struct mortise_cli *cli, const char *run,
                     const json_t *show, const struct mortise_cli_way *way)
{
    const json_t *limit = json_object_get(show, "limit");

    if (json_is_object(limit)) {
        mortise_cli_lift(cli, &cli->out, way);
        mortise_cli_raise(cli, &cli->out, run, limit, way->more);
    } else if (nobody_is_asked(json_object_get(show, "pending")) ||
               strcmp(mortise_cli_text(show, "reason"), "operator") == 0) {
        mortise_cli_lift(cli, &cli->out, way);
        mortise_cli_suggest(cli, &cli->out, "resume", run);
        mortise_out_printf(&cli->out, "%s\n", way->more);
    }
}

/* What a run that stopped says of itself, from `show`. */
static void stand(struct mortise_cli *cli, const char *run, int status,
                  const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    const json_t *pending = json_object_get(show, "pending");
    const json_t *blocked = json_object_get(show, "blocked");
    const struct mortise_cli_way way = mortise_cli_way_on(blocked);
    size_t i;
    json_t *one;

    if (json_is_object(error)) {
        mortise_out_puts(&cli->out, "  ");
        mortise_out_word(&cli->out, mortise_cli_text(error, "code"));
        mortise_out_puts(&cli->out, ": ");
        mortise_out_word(&cli->out, mortise_cli_text(error, "message"));
        mortise_out_puts(&cli->out, "\n");
    }
    json_array_foreach(mortise_json_unconst(pending), i, one)
        mortise_cli_print_request(cli, &cli->out, run, one, blocked);
    if (status == MORTISE_RUN_COMPLETED) {
        mortise_cli_suggest(cli, &cli->out, "show", run);
        mortise_out_puts(&cli->out, "\n");
    } else if (!way.stuck) {
        stand_on(cli, run, show, &way);
    }
}

/* The end of it all: words and the code. */
static int conclude(struct mortise_cli *cli, const char *run,
                    const json_t *reply)
{
    const char *name = mortise_cli_text(reply, "status");
    int status = mortise_status_of_name(name);
    enum mortise_exit code;
    struct mortise_err err;
    json_t *show = NULL;
    int rv = mortise_cli_call(cli, "show", json_pack("{s:s}", "run", run), NULL,
                              NULL, &show, &err);

    if (rv != MORTISE_OK)
        return mortise_cli_fail(cli, &err);
    if (cli->args.json) {
        json_object_set(mortise_json_unconst(reply), "pending",
                        json_object_get(show, "pending"));
        json_object_set(mortise_json_unconst(reply), "error",
                        json_object_get(show, "error"));
        mortise_out_json(&cli->out, reply, false);
    } else {
        headline(&cli->out, run, name, mortise_cli_text(reply, "reason"));
        stand(cli, run, status, show);
    }
    code = mortise_exit_of_status(status);
    if (code == MORTISE_EXIT_WAITING &&
        has_doubt(json_object_get(show, "pending")))
        code = MORTISE_EXIT_IN_DOUBT;
    json_decref(show);
    return cli->wanted != 0 && status == cli->wanted &&
                   code != MORTISE_EXIT_IN_DOUBT
               ? MORTISE_EXIT_OK
               : (int)code;
}

struct watching {
    struct mortise_cli *cli;
    struct mortise_progress progress;
    uint64_t seq; /* the newest that was shown */
    char run[MORTISE_RUN_MAX];
    struct mortise_err err; /* MORTISE_OK, or why signals are not heard */
};

static int event(void *ud, json_t *item)
{
    struct watching *w = ud;

    note_seq(&w->seq, item);
    mortise_progress_event(&w->progress, item); /* read or not, it goes on */
    return 0;
}

/* The run has an id: it is printed, before anything of the run is. */
static void announce(struct mortise_cli *cli, const char *run)
{
    if (!cli->args.json) {
        mortise_out_puts(&cli->out, "run ");
        mortise_out_word(&cli->out, run);
        mortise_out_puts(&cli->out, "\n");
    }
    mortise_out_flush(&cli->out);
}

/* What was asked for is on disk: from now on a signal pauses the run. */
static int begun(struct watching *w)
{
    mortise_link_until(w->cli->link, mortise_stop_fd(), &w->err);
    return w->err.code != MORTISE_OK;
}

/* Items of a request that carries a watch: those of its own, then events. */
static int item(void *ud, json_t *item)
{
    struct watching *w = ud;
    const char *type = mortise_cli_text(item, "type");

    if (strcmp(type, "report") == 0) {
        mortise_out_text(&w->cli->err, mortise_cli_text(item, "text"), 0);
        return 0;
    }
    if (strcmp(type, "started") == 0) {
        snprintf(w->run, sizeof w->run, "%s", mortise_cli_text(item, "run"));
        announce(w->cli, w->run);
        return begun(w);
    }
    return strcmp(type, "recorded") == 0 ? begun(w) : event(w, item);
}

/* *reply NULL with MORTISE_OK: a signal came.  `go_on`: a run that its engine
 * left while it was at work goes on, with whoever holds the store now. */
static int follow(struct mortise_cli *cli, const char *run, const char *until,
                  bool go_on, struct watching *w, json_t **reply,
                  struct mortise_err *err)
{
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:I, s:s, s:b}", "run", run,
                                      "after", (json_int_t)w->seq, "until",
                                      until, "go_on", go_on),
                            event, w, reply, err);
}

/* Would it go on by itself?  So does what waits for time while it is in memory,
 * whatever else it waits for. */
static bool is_at_work(const json_t *show)
{
    const json_t *pending = json_object_get(show, "pending"), *one;
    bool timer = false;
    size_t i;

    json_array_foreach(mortise_json_unconst(pending), i, one)
    {
        timer |= mortise_cli_is_timer(one);
    }
    return strcmp(mortise_cli_text(show, "status"), "running") == 0 ||
           (timer && json_is_true(json_object_get(show, "live")));
}

/* Pause it, if it is at work. */
static int pause_run(struct mortise_cli *cli, const char *run,
                     struct mortise_err *err)
{
    json_t *show = NULL;
    bool works;
    int rv = mortise_link_engine(cli->link) != NULL
                 ? mortise_link_until(cli->link, -1, err)
                 : mortise_cli_reopen(cli, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(cli, "show", json_pack("{s:s}", "run", run), NULL,
                              NULL, &show, err);
    works = rv == MORTISE_OK && is_at_work(show);
    json_decref(show);
    if (rv != MORTISE_OK || !works)
        return rv;
    rv = mortise_cli_call(cli, "command",
                          json_pack("{s:s, s:b, s:[{s:s}]}", "run", run,
                                    "no_continue", 1, "commands", "kind",
                                    "pause"),
                          NULL, NULL, NULL, err);
    return rv == MORTISE_ESTATE ? MORTISE_OK : rv; /* it ended meanwhile */
}

/* A signal came: pause our run, and see how it comes to rest.  While the runs
 * of others are at work here, a second signal means them (host.c); else it
 * kills. */
static int pause_and_see(struct mortise_cli *cli, const char *run,
                         struct watching *w, json_t **reply,
                         struct mortise_err *err)
{
    bool hosts = mortise_cli_hosts(cli);
    int sig = mortise_stop_signal(), rv;

    if (hosts)
        mortise_stop_again();
    rv = pause_run(cli, run, err);
    cli->hasty = sig == SIGTERM;
    if (rv == MORTISE_OK && hosts)
        rv = mortise_link_until(cli->link, mortise_stop_fd(), err);
    if (rv == MORTISE_OK)
        rv = follow(cli, run, "idle", false, w, reply, err);
    if (rv != MORTISE_OK || *reply != NULL)
        return rv;
    cli->hasty = true;
    rv = mortise_link_until(cli->link, -1, err);
    return rv == MORTISE_OK ? follow(cli, run, "idle", false, w, reply, err)
                            : rv;
}

struct ours {
    char actor[64];
    const json_t *command; /* the first of those that are recorded as one */
    bool found;
};

/* Does the event's decision say what this command does?  Its answer may have
 * been given its types. */
static bool decides_so(const json_t *event, const json_t *command)
{
    static const char *const as[][2] = {
        {"approve", "approved"}, {"reject", "rejected"}, {"done", "happened"},
        {"retry", "retry"},      {"fail", "fail"},
    };
    const char *ours = mortise_cli_text(command, "decision");
    const char *theirs = mortise_cli_text(event, "decision");

    for (size_t i = 0; i < sizeof as / sizeof as[0]; i++)
        if (strcmp(as[i][0], ours) == 0)
            return strcmp(as[i][1], theirs) == 0;
    return json_object_get(json_object_get(command, "value"), "approved") ==
           json_object_get(json_object_get(event, "value"), "approved");
}

static bool is_recorded_as(const json_t *command, const json_t *event)
{
    const char *type = mortise_cli_text(event, "type");
    const char *kind = mortise_cli_text(command, "kind");
    const char *id = mortise_cli_text(command, "id");

    if (id[0] != '\0')
        return strcmp(type, "decision") == 0 &&
               strcmp(mortise_cli_text(event, "id"), id) == 0 &&
               decides_so(event, command);
    if (strcmp(kind, "budget") == 0)
        kind = "raise_budget";
    return strcmp(type, "command") == 0 &&
           strcmp(mortise_cli_text(event, "command"), kind) == 0 &&
           (strcmp(kind, "goto") != 0 ||
            strcmp(mortise_cli_text(event, "node"),
                   mortise_cli_text(command, "node")) == 0);
}

static int note_ours(void *ud, json_t *event)
{
    struct ours *o = ud;

    o->found |= strcmp(mortise_cli_text(event, "actor"), o->actor) == 0 &&
                is_recorded_as(o->command, event);
    return 0;
}

/* The engine went away before it answered: is what we said on disk?  *reply is
 * how the run stands then; NULL: it is not, and may be said again. */
static int was_recorded(struct mortise_cli *cli, const char *run, uint64_t last,
                        const json_t *body, json_t **reply,
                        struct mortise_err *err)
{
    struct ours o = {.command =
                         json_array_get(json_object_get(body, "commands"), 0)};
    int rv;

    mortise_control_name(geteuid(), o.actor);
    rv = mortise_cli_call(cli, "follow",
                          json_pack("{s:s, s:I, s:s}", "run", run, "after",
                                    (json_int_t)last, "until", "now"),
                          note_ours, &o, reply, err);
    if (rv == MORTISE_OK && !o.found) {
        json_decref(*reply);
        *reply = NULL;
    }
    return rv;
}

/* Ask for what begins something, and watch it.  Takes the body. */
static int ask_and_watch(struct watching *w, const char *what, json_t *body,
                         const char *until, json_t **reply,
                         struct mortise_err *err)
{
    struct mortise_cli *cli = w->cli;
    int rv;

    do {
        rv =
            mortise_cli_call(cli, what, json_incref(body), item, w, reply, err);
        if (rv != MORTISE_EBUSY || !mortise_link_is_lost(cli->link))
            break;
        rv = was_recorded(cli, w->run, w->seq, body, reply, err);
        if (rv != MORTISE_OK || *reply == NULL)
            continue;
        json_decref(*reply);
        *reply = NULL;
        begun(w);
        rv = follow(cli, w->run, until, true, w, reply, err);
        break;
    } while (rv == MORTISE_OK);
    json_decref(body);
    return rv;
}

int mortise_cli_go(struct mortise_cli *cli, const char *what, json_t *body,
                   const char *run, uint64_t after, const char *until)
{
    struct watching w = {.cli = cli, .seq = after};
    struct mortise_err err;
    json_t *reply = NULL;
    int rv, code;

    snprintf(w.run, sizeof w.run, "%s", run);
    mortise_progress_init(&w.progress, &cli->out, cli->args.json);
    if (body != NULL &&
        json_object_set_new(body, "until", json_string(until)) != 0) {
        json_decref(body);
        body = NULL;
    }
    rv = ask_and_watch(&w, what, body, until, &reply, &err);
    if (rv == MORTISE_OK && w.err.code != MORTISE_OK) {
        err = w.err;
        rv = err.code;
    }
    if (rv == MORTISE_OK && reply == NULL)
        rv = pause_and_see(cli, w.run, &w, &reply, &err);
    mortise_progress_erase(&w.progress);
    code = rv == MORTISE_OK ? conclude(cli, w.run, reply)
                            : mortise_cli_fail(cli, &err);
    json_decref(reply);
    return code;
}

/* ---- commands -------------------------------------------------------------
 */

/* Which process goes on with it, when it is not this one. */
static void say_who(struct mortise_cli *cli)
{
    struct mortise_err err;
    json_t *engine = NULL;

    if (mortise_cli_call(cli, "engine", json_object(), NULL, NULL, &engine,
                         &err) == MORTISE_OK)
        mortise_out_printf(
            &cli->out, "; process %llu goes on with it",
            (unsigned long long)mortise_cli_integer(engine, "pid"));
    json_decref(engine);
}

/* The commands are on disk, and nothing more is ours to do. */
static int recorded(struct mortise_cli *cli, const json_t *reply, bool ours)
{
    if (cli->args.json) {
        mortise_out_json(&cli->out, reply, false);
        return MORTISE_EXIT_OK;
    }
    mortise_out_puts(&cli->out, "recorded: run ");
    mortise_out_word(&cli->out, mortise_cli_text(reply, "run"));
    mortise_out_puts(&cli->out, " is ");
    mortise_out_word(&cli->out, mortise_cli_text(reply, "status"));
    if (!ours && !cli->args.no_continue)
        say_who(cli);
    mortise_out_puts(&cli->out, "\n");
    return MORTISE_EXIT_OK;
}

/* The body of a `command` request.  Takes the commands. */
static json_t *command_body(const struct mortise_cli *cli, const char *run,
                            json_t *commands)
{
    return json_pack("{s:s, s:o, s:b, s:b}", "run", run, "commands", commands,
                     "no_continue", cli->args.no_continue, "accept_plugins",
                     cli->args.accept_plugins);
}

/* Give commands and see what comes of them. */
static int command_and_watch(struct mortise_cli *cli, const char *run,
                             json_t *commands)
{
    struct mortise_err err;
    uint64_t last = 0;
    json_t *body;
    int rv = mortise_cli_last_event(cli, run, &last, &err);

    if (rv == MORTISE_OK)
        rv = mortise_stop_begin(&err);
    if (rv != MORTISE_OK) {
        json_decref(commands);
        return mortise_cli_fail(cli, &err);
    }
    body = command_body(cli, run, commands);
    if (body != NULL &&
        json_object_set_new(body, "after", json_integer((json_int_t)last)) !=
            0) {
        json_decref(body);
        body = NULL;
    }
    return mortise_cli_go(cli, "command", body, run, last, "idle");
}

/* Give commands to a run whose newest event is `last`, once, and watch nothing.
 * Takes the body. */
static int give(struct mortise_cli *cli, const char *run, json_t *body,
                uint64_t last, json_t **reply, struct mortise_err *err)
{
    int rv;

    do {
        rv = mortise_cli_call(cli, "command", json_incref(body), NULL, NULL,
                              reply, err);
        if (rv != MORTISE_EBUSY || !mortise_link_is_lost(cli->link))
            break;
        rv = was_recorded(cli, run, last, body, reply, err);
    } while (rv == MORTISE_OK && *reply == NULL);
    json_decref(body);
    return rv;
}

int mortise_cli_command(struct mortise_cli *cli, const char *run,
                        json_t *commands, bool always)
{
    struct mortise_err err;
    json_t *reply = NULL;
    bool ours = mortise_link_engine(cli->link) != NULL;
    uint64_t last = 0;
    int rv, code;

    if (!cli->args.no_continue && (ours || always))
        return command_and_watch(cli, run, commands);
    rv = mortise_cli_last_event(cli, run, &last, &err);
    if (rv == MORTISE_OK)
        rv = give(cli, run, command_body(cli, run, commands), last, &reply,
                  &err);
    else
        json_decref(commands);
    ours = mortise_link_engine(cli->link) != NULL;
    code = rv == MORTISE_OK ? recorded(cli, reply, ours)
                            : mortise_cli_fail(cli, &err);
    json_decref(reply);
    return code;
}
