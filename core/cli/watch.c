/* watch.c -- a run going on: its events, how it stands, what would unblock it.
 *
 * `run`, `resume` and every decision end here.  The promise to a person: when
 * the prompt comes back, the last lines say what the run is waiting for and
 * which command, word for word, lets it go on.  The promise to a script: the
 * exit code says the same (exit.c), and with --json the last line does.
 *
 * SIGINT and SIGTERM pause the run, wherever it runs, and are waited for like
 * anything else that happens to it; a run that only waits is left as it is.
 */
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
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

/* What a run that stopped says of itself, from `show`. */
static void stand(struct mortise_cli *cli, const char *run, int status,
                  const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    const json_t *pending = json_object_get(show, "pending");
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
        mortise_cli_print_request(cli, &cli->out, run, one);
    if (json_is_object(json_object_get(show, "limit"))) {
        mortise_cli_raise(cli, &cli->out, run, json_object_get(show, "limit"),
                          "");
        return;
    }
    if (status == MORTISE_RUN_COMPLETED)
        mortise_cli_suggest(cli, &cli->out, "show", run);
    else if (json_array_size(pending) == 0 ||
             strcmp(mortise_cli_text(show, "reason"), "operator") == 0)
        mortise_cli_suggest(cli, &cli->out, "resume", run);
    else
        return;
    mortise_out_puts(&cli->out, "\n");
}

/* The end of it all: words and the code. */
static int conclude(struct mortise_cli *cli, const char *run,
                    const json_t *reply)
{
    const char *name = mortise_cli_text(reply, "status");
    int status = mortise_status_of_name(name);
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
    json_decref(show);
    return cli->wanted != 0 && status == cli->wanted
               ? MORTISE_EXIT_OK
               : (int)mortise_exit_of_status(status);
}

struct watching {
    struct mortise_progress progress;
    uint64_t seq; /* the newest that was shown */
};

static int event(void *ud, json_t *item)
{
    struct watching *w = ud;

    note_seq(&w->seq, item);
    mortise_progress_event(&w->progress, item); /* read or not, it goes on */
    return 0;
}

/* *reply NULL with MORTISE_OK: a signal came. */
static int follow(struct mortise_cli *cli, const char *run, const char *until,
                  struct watching *w, json_t **reply, struct mortise_err *err)
{
    return mortise_cli_call(cli, "follow",
                            json_pack("{s:s, s:I, s:s}", "run", run, "after",
                                      (json_int_t)w->seq, "until", until),
                            event, w, reply, err);
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
    works = strcmp(mortise_cli_text(show, "status"), "running") == 0;
    json_decref(show);
    if (rv != MORTISE_OK || !works)
        return rv;
    return mortise_cli_call(cli, "command",
                            json_pack("{s:s, s:b, s:[{s:s}]}", "run", run,
                                      "no_continue", 1, "commands", "kind",
                                      "pause"),
                            NULL, NULL, NULL, err);
}

int mortise_cli_watch(struct mortise_cli *cli, const char *run, uint64_t after,
                      const char *until)
{
    struct watching w = {.seq = after};
    struct mortise_err err;
    json_t *reply = NULL;
    int rv, code;

    mortise_progress_init(&w.progress, &cli->out, cli->args.json);
    rv = mortise_link_until(cli->link, mortise_stop_fd(), &err);
    if (rv == MORTISE_OK)
        rv = follow(cli, run, until, &w, &reply, &err);
    if (rv == MORTISE_OK && reply == NULL) {
        rv = pause_run(cli, run, &err);
        if (rv == MORTISE_OK)
            rv = follow(cli, run, "idle", &w, &reply, &err);
    }
    mortise_progress_erase(&w.progress);
    code = rv == MORTISE_OK ? conclude(cli, run, reply)
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

int mortise_cli_command(struct mortise_cli *cli, const char *run,
                        json_t *commands, bool always)
{
    bool ours = mortise_link_engine(cli->link) != NULL;
    struct mortise_err err;
    json_t *reply = NULL;
    uint64_t last = 0;
    int rv = mortise_cli_last_event(cli, run, &last, &err), code;

    if (rv == MORTISE_OK && !cli->args.no_continue)
        rv = mortise_stop_begin(&err);
    if (rv != MORTISE_OK) {
        json_decref(commands);
        return mortise_cli_fail(cli, &err);
    }
    rv = mortise_cli_call(cli, "command",
                          json_pack("{s:s, s:o, s:b, s:b}", "run", run,
                                    "commands", commands, "no_continue",
                                    cli->args.no_continue, "accept_plugins",
                                    cli->args.accept_plugins),
                          NULL, NULL, &reply, &err);
    if (rv != MORTISE_OK)
        code = mortise_cli_fail(cli, &err);
    else if (!cli->args.no_continue && (ours || always))
        code = mortise_cli_watch(cli, run, last, "idle");
    else
        code = recorded(cli, reply, ours);
    json_decref(reply);
    return code;
}
