/* cli.h -- what the subcommands share: one invocation, its way to an engine,
 * and the words that are printed the same everywhere.
 *
 * One thread; the engine's log function alone may come from others. */
#ifndef MORTISE_CLI_CLI_H
#define MORTISE_CLI_CLI_H

#include <limits.h>

#include "cli/exit_code.h"
#include "cli/opt.h"
#include "server/session.h"
#include "lang/config/settings.h"

struct mortise_cli {
    const char *program; /* as it was called, for the commands we suggest */
    const struct mortise_cmd *const *commands; /* of this program */
    size_t n_commands;
    const struct mortise_cmd *cmd;
    const struct mortise_mem *mem;
    struct mortise_args args;
    struct mortise_out out, err;
    struct mortise_session *session; /* after mortise_cli_open() */
    bool no_store;                   /* it was looked for, and is not there */
    int wanted;  /* the status that counts as success, 0: completed */
    bool copied; /* the session is with a copy of the store, looked at */
    bool hasty;  /* whoever stops us does not want to wait for others' runs */

    /* The Deployment file in use, NULL: none; and whether another command
     * would find it by itself. */
    const char *deployment;
    bool found_by_itself;
    /* Did nobody name it?  What `cases` names, the deployment of a Test file,
     * no person named, either. */
    bool found;
    const char *cases;
    bool dated;        /* its log has times: it stays for long */
    bool said_salvage; /* of a damaged store, what to do */
    bool told;         /* an error was, as JSON */
    json_t *findings;  /* ours: as JSON, told with the next error; NULL: none */
    bool looks;        /* it runs nothing of a deployment, and writes nothing */
    char path[PATH_MAX]; /* where `deployment` points when we made it up */
};

/* ---- start.c: from main() to a command --------------------------------- */

/* The function of a command whose row has a `program`, in that program. */
struct mortise_cli_function {
    const struct mortise_cmd *cmd; /* NULL ends the list */
    int (*run)(struct mortise_cli *cli, struct mortise_err *err);
};

/* Parse the command line, run the command of commands[0..n) that it names, and flush
 * stdout.  Returns the exit code.  `functions`: NULL in `mortise`. */
int mortise_cli_main(int argc, char **argv,
                     const struct mortise_cmd *const *commands, size_t n,
                     const struct mortise_cli_function *functions);
/* Replace this process by the program of cli->cmd, with `argv`.  Returns only if
 * that fails: then *err says why. */
int mortise_cli_exec(struct mortise_cli *cli, char **argv,
                     struct mortise_err *err);

/* ---- cli.c: where things are, and saying so ---------------------------- */

/* How its settings are to be opened: MORTISE_SETTINGS_FOUND,
 * MORTISE_SETTINGS_LOOK. */
unsigned mortise_cli_how(const struct mortise_cli *cli);
/* What a path says is above it, or "."; gives `out`. */
const char *mortise_cli_parent(const char *path, char out[PATH_MAX]);
/* Settle which Deployment file counts.  `graph` NULL, or the graph file that
 * is about to run: then a mortise.yaml beside it counts, too. */
int mortise_cli_find(struct mortise_cli *cli, const char *graph,
                     struct mortise_err *err);
/* That, and a session with the engine of its store. */
int mortise_cli_open(struct mortise_cli *cli, const char *graph,
                     struct mortise_err *err);
/* Another session with the same place. */
int mortise_cli_reopen(struct mortise_cli *cli, struct mortise_err *err);

/* ---- host.c: when others count on the store that we hold ---------------- */

/* Does somebody? */
bool mortise_cli_hosts(const struct mortise_cli *cli);
/* Close the session; before, stay while runs of others are at work here. */
void mortise_cli_leave(struct mortise_cli *cli);

/* What was looked at is a copy, and less than the store was: *why has the
 * words. */
bool mortise_cli_lacks(struct mortise_cli *cli, struct mortise_err *why);
/* That is said, at the end of a command; the code that it ends with then. */
int mortise_cli_own_up(struct mortise_cli *cli, int code);
/* Put into an object that is printed why it may be incomplete. */
int mortise_cli_mark_lack(struct mortise_cli *cli, json_t *reply,
                          struct mortise_err *err);

/* ` --NAME VALUE`, for a shell. */
void mortise_cli_option(struct mortise_out *o, const char *name,
                        const char *value);
/* The same of an option as it was given, but for where the store is; nothing of one
 * that was not. */
void mortise_cli_repeat(struct mortise_out *o, const struct mortise_opt *opt,
                        const struct mortise_args *args);

/* ---- complain.c: what goes wrong, in words or as JSON ------------------- */

/* Print an error; returns the exit code that stands for it.  `more` (taken,
 * NULL: nothing): members that it has as JSON. */
int mortise_cli_fail(struct mortise_cli *cli, const struct mortise_err *err);
int mortise_cli_fail_with(struct mortise_cli *cli,
                          const struct mortise_err *err, json_t *more);
/* Print a usage error; returns MORTISE_EXIT_USAGE. */
int mortise_cli_usage(struct mortise_cli *cli, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
/* An error as JSON, under any code that `mortise explain` knows; `more` as
 * above. */
void mortise_cli_error(struct mortise_cli *cli, const char *code,
                       const char *message, json_t *more);
/* Words by the way: MORTISE_LOG_INFO, MORTISE_LOG_WARN. */
void mortise_cli_note(struct mortise_cli *cli, int level, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);
/* The log of an engine, and of who waits for one, on stderr; ud: the cli.  [any] */
void mortise_cli_log(void *ud, int level, const char *msg);
/* The same as JSON, with members of its own.  Takes it; NULL is out of memory. */
void mortise_cli_log_json(struct mortise_cli *cli, json_t *log);
/* What stdout was to have did not get there. */
void mortise_cli_lost_output(struct mortise_cli *cli, const char *why);
/* A copy of the store is looked at, because of that. */
void mortise_cli_say_look(struct mortise_cli *cli,
                          const struct mortise_err *why);
/* Print findings to stderr, and let go of them; as JSON they are kept for the
 * error that comes of them, as are those of a list. */
void mortise_cli_findings(struct mortise_cli *cli, struct mortise_diags *d);
void mortise_cli_keep_findings(struct mortise_cli *cli, const json_t *list);
/* The command ends with that code: findings that no error had are told. */
void mortise_cli_tell_rest(struct mortise_cli *cli, int code);

/* Start a line with a command that works from here, as we were called:
 * `  PROGRAM WHAT [what it needs to find the store] RUN`.  More operands and
 * the line end are the caller's. */
void mortise_cli_suggest(struct mortise_cli *cli, struct mortise_out *o,
                         const char *what, const char *run);
/* The same without RUN. */
void mortise_cli_suggest_begin(struct mortise_cli *cli, struct mortise_out *o,
                               const char *what);

/* Ask the engine (session.h has the requests).  Takes the body, an object; NULL
 * is out of memory.  The tenant is added. */
int mortise_cli_call(struct mortise_cli *cli, const char *what, json_t *body,
                     mortise_item_fn *fn, void *ud, json_t **reply,
                     struct mortise_err *err);

/* memory.c: the deployment's memory, by the request of that name: `what` is read,
 * write or forget.  Takes the body (NULL: memory ran out). */
int mortise_cli_memory(struct mortise_cli *cli, const char *what, json_t *body,
                       json_t **reply, struct mortise_err *err);

/* `show` of a run: a new reference. */
int mortise_cli_show(struct mortise_cli *cli, const char *run, json_t **show,
                     struct mortise_err *err);
/* Print JSON, on one line or indented.  Takes the value; NULL is out of
 * memory. */
int mortise_cli_print(struct mortise_cli *cli, json_t *v, bool pretty,
                      struct mortise_err *err);

/* ---- check.c: all findings of all files --------------------------------- */

/* Check the operands.  The exit code; errors that are no findings are printed.
 */
int mortise_cli_check(struct mortise_cli *cli, struct mortise_diags *diags);
/* A graph that is not in its file yet. */
int mortise_cli_check_graph(struct mortise_cli *cli, const char *path,
                            const char *text, size_t n,
                            struct mortise_diags *diags,
                            struct mortise_err *err);
/* A graph that a command makes, in the deployment that counts for the command; it
 * is wanted: *out is the caller's.  Its plugins are gone, and what they lend it. */
int mortise_cli_text_graph(struct mortise_cli *cli, const char *path,
                           const char *text, size_t n,
                           struct mortise_diags *diags,
                           struct mortise_graph **out, struct mortise_err *err);
/* One file; MORTISE_OK, MORTISE_ECHECK, or what kept it from being checked.  It
 * changes which deployment counts. */
int mortise_cli_check_file(struct mortise_cli *cli, const char *path,
                           struct mortise_diags *diags,
                           struct mortise_err *err);
/* Take --format; MORTISE_EXIT_OK, or a usage error that was printed. */
int mortise_cli_format(struct mortise_cli *cli);

/* ---- text.c: texts that a request carries --------------------------------- */

/* A file (or "-", stdin), as a JSON string.  What no request can carry is told as
 * findings. */
int mortise_cli_source(struct mortise_cli *cli, const char *path, json_t **out,
                       struct mortise_err *err);

/* ---- pinned_file.c -------------------------------------------------------- */

/* The path of a graph file that differs from what the run pinned.  NULL: no file is
 * known to differ.  To be freed with mortise_release_str(). */
char *mortise_cli_changed_file(struct mortise_cli *cli, const char *run);
/* The message about that file; its argument is the path. */
#define MORTISE_CLI_CHANGED_FILE                                               \
    "the run continues with its own copy of the graph, which differs from "    \
    "the file %s as it is now; to use the file, start a new run"

/* ---- graph.c: a graph as a file ------------------------------------------ */

struct mortise_graph;
/* Load it as `run` does, so that it has the digest that a run would pin; of its
 * plugins none is called.  *out: to be let go of with mortise_graph_unref(). */
int mortise_cli_graph(struct mortise_cli *cli,
                      const struct mortise_settings *settings, const char *path,
                      struct mortise_diags *diags, struct mortise_graph **out,
                      struct mortise_err *err);
/* The same with the deployment that counts for it (mortise_cli_find()); findings
 * are printed. */
int mortise_cli_load_graph(struct mortise_cli *cli, const char *path,
                           struct mortise_graph **out, struct mortise_err *err);

/* Draw the graph of these sources, [{path, text}], and what of it ran, by the answer
 * to a request `show`. */
int mortise_cli_draw(struct mortise_cli *cli, const json_t *sources,
                     const json_t *show, struct mortise_err *err);

/* ---- value.c: what is given as an argument ----------------------------- */

/* A whole file (limit: 64 MiB), NUL-terminated, to be freed with
 * mortise_release(cli->mem, *text, *n + 1).  "-" is stdin. */
int mortise_cli_read(struct mortise_cli *cli, const char *path, char **text,
                     size_t *n, struct mortise_err *err);

/* The JSON in a file, or of stdin; JSON, @FILE or -: a new reference.  `what`
 * names it in errors. */
int mortise_cli_json(struct mortise_cli *cli, const char *what,
                     const char *path, json_t **out, struct mortise_err *err);
int mortise_cli_value(struct mortise_cli *cli, const char *what,
                      const char *given, json_t **out, struct mortise_err *err);
/* A decimal number without sign. */
int mortise_cli_number(const char *what, const char *given, uint64_t *out,
                       struct mortise_err *err);

/* The words of a list ("a, b" or "a b"), in an arena. */
int mortise_cli_words(struct mortise_arena *a, const char *list,
                      const char ***out, size_t *n, struct mortise_err *err);

/* Members of replies; borrowed.  "" when it is not there or no string. */
const char *mortise_cli_text(const json_t *object, const char *key);
/* list.c: a list ended before all of it was listed: the command that lists what
 * follows `after`, on stderr. */
void mortise_cli_more(struct mortise_cli *cli, const char *after);
/* A time, or how long ago, that an option was given; list.c. */
int mortise_cli_moment(const char *option, const char *given, uint64_t *ms,
                       struct mortise_err *err);
uint64_t mortise_cli_integer(const json_t *object, const char *key);
/* Milliseconds since 1970 of a time as events have it; 0: none. */
uint64_t mortise_cli_time(const char *text);
/* Of a run as show and runs have it: its status, or "interrupted" where it is
 * to be at work and nobody works on it. */
const char *mortise_cli_status(const json_t *run);
/* What people call an execution, from its path (else its node's name):
 * "review", "review#2" for the second visit, "read[3]" in a map, "outer/inner".
 * Cut to the room there is; gives `out`. */
enum { MORTISE_CLI_EXECUTION = 256 };
/* Is this node of `show` running, or its output made short? */
bool mortise_cli_is_at_work(const json_t *node);
bool mortise_cli_waits_for_descriptor(const json_t *node);
/* May an effect of this node of `show` have happened, and no request asks about
 * it?  Not of one that is at work. */
bool mortise_cli_is_unsettled(const json_t *node);
/* The first such node of `show`; NULL: none. */
const json_t *mortise_cli_unsettled(const json_t *show);
const char *mortise_cli_execution(const json_t *object,
                                  char out[MORTISE_CLI_EXECUTION]);
const char *mortise_cli_short_path(const char *path,
                                   char out[MORTISE_CLI_EXECUTION]);

/* Where plugins and trust come from, for what needs no engine.  Findings in the
 * Deployment file are printed.  Close it in any case. */
int mortise_cli_settings(struct mortise_cli *cli,
                         struct mortise_settings *settings,
                         struct mortise_err *err);
/* The same for who makes a graph of what the deployment has, and tells nothing of it
 * but why it cannot be read: whoever opens it tells the rest. */
int mortise_cli_peek(struct mortise_cli *cli, struct mortise_settings *settings,
                     struct mortise_err *err);
/* Of such a graph's `limits`: what the command wants, or what the deployment bounds
 * it to. */
uint64_t mortise_cli_most(const struct mortise_settings *settings,
                          enum mortise_limit which, uint64_t wanted);

/* ---- name.c: runs, as people name them ----------------------------------- */

/* Both open the session, unless there is one.  For what changes it: `given` is
 * its whole id. */
int mortise_cli_run_to_change(struct mortise_cli *cli, const char *given,
                              char run[MORTISE_RUN_MAX],
                              struct mortise_err *err);
/* For what only reads: its id, or the beginning of exactly one, which is then
 * named on stderr. */
#define MORTISE_CLI_RUN_BEGINS                                                 \
    "RUN can be the beginning of an id if no other run's id has the same\n"    \
    "beginning.\n"
int mortise_cli_run_to_read(struct mortise_cli *cli, const char *given,
                            char run[MORTISE_RUN_MAX], struct mortise_err *err);

/* The commands on a run that let it go on: where they are printed, and what
 * they need where it is blocked. */
struct mortise_cli_way {
    struct mortise_cli *cli;
    struct mortise_out *o;
    const char *run;
    const char *more;    /* at the end of each: "" or " --accept-plugins" */
    bool stuck;          /* no command of ours helps */
    const json_t *lifts; /* plugins to unquarantine first; NULL: none */
};

/* ---- choice.c: requests, as people name them ----------------------------- */

struct mortise_cli_choice {
    char run[MORTISE_RUN_MAX];
    json_t *request; /* ours: a reference; NULL: several, or none */
    bool named;      /* by its id: what it asks was seen */
    json_t *pending; /* ours: all that may be meant */
    json_t *blocked; /* ours: of the run; NULL: nothing blocks it */
};

/* The pending request of the first operand, RUN, that `given` means; NULL: it is
 * not said which.  An error: nothing pending answers to that. */
int mortise_cli_choose(struct mortise_cli *cli, const char *given,
                       struct mortise_cli_choice *out, struct mortise_err *err);
void mortise_cli_choice_finish(struct mortise_cli_choice *c);
/* The command settles requests of another kind than c->request, which `is` says ("is
 * not in doubt"): report that with the commands that settle it.  Returns an exit
 * code. */
int mortise_cli_refuse_kind(struct mortise_cli *cli,
                            const struct mortise_cli_choice *c, const char *is);
/* The newest entry of the run's history that settled the request which `given`
 * names, a new reference; NULL: none did. */
int mortise_cli_settled(struct mortise_cli *cli, const char *run,
                        const char *given, json_t **out,
                        struct mortise_err *err);
/* Is it meant, as it is now?  A named one is; else it is shown, and a person at
 * a terminal is asked.  Otherwise it is said how to name it.  MORTISE_OK: it is
 * meant; else what the command ends with, as its run() returns it. */
int mortise_cli_confirm(struct mortise_cli *cli,
                        const struct mortise_cli_choice *c,
                        struct mortise_err *err);
/* ---- request.c: what a run waits for, and what unblocks it --------------- */

enum { MORTISE_CLI_SHORT_ID = 8 }; /* so much of a request's id names it */

bool mortise_cli_is_kind(const json_t *request, const char *kind);
bool mortise_cli_has_kind(const json_t *pending, const char *kind);
/* Time settles it, or the end of a child, and nobody else. */
bool mortise_cli_asks_nobody(const json_t *request);
/* What a question wants of a member of its answer; NULL: nothing. */
const json_t *mortise_cli_answer_member(const json_t *request,
                                        const char *name);
/* A question of a plugin's whose answer says `approved`: yes or no settles it,
 * as of one that a `human` node asks. */
bool mortise_cli_is_decision(const json_t *request);
/* Nobody may answer it any more. */
bool mortise_cli_has_expired(const json_t *request);
/* "asks a person" and so on: what its node does.  Static. */
const char *mortise_cli_asks(const json_t *request);

/* Print what a request asks. */
void mortise_cli_describe(struct mortise_out *o, const json_t *request);
/* The idempotency key that the world saw of what is in doubt: borrowed; NULL:
 * none. */
const json_t *mortise_cli_key(const json_t *request);
/* Does a command help it that was printed for one before it in the list? */
bool mortise_cli_is_offered(const json_t *pending, size_t i);
enum { MORTISE_CLI_BLOCKED = 1100 };
/* Why, by `blocked` of show, on one line: of findings what they say and where,
 * without the lines of the file; "" where it is NULL. */
void mortise_cli_blocked(const json_t *blocked, char out[MORTISE_CLI_BLOCKED]);
/* The way on of a run, from `blocked` of show (NULL: it is not); borrows from
 * all of them. */
struct mortise_cli_way mortise_cli_way_on(struct mortise_cli *cli,
                                          struct mortise_out *o,
                                          const char *run,
                                          const json_t *blocked);
/* Print the commands that settle a request, if the run can continue then. */
void mortise_cli_print_commands(const struct mortise_cli_way *way,
                                const json_t *request);
/* Print what a request asks, and the commands that settle it. */
void mortise_cli_print_request(const struct mortise_cli_way *way,
                               const json_t *request);
/* The command that lets a plugin be called again, before the one that lets a
 * run go on. */
void mortise_cli_unquarantine(const struct mortise_cli_way *way,
                              const char *plugin);
/* Commands as they are printed, a line each: an array of them, a new reference.
 */
json_t *mortise_cli_command_list(const char *lines);
/* What stands before the commands of a run: a line for each lift. */
void mortise_cli_lift(const struct mortise_cli_way *way);
/* A call of a plugin that changed: once that is accepted it is asked about
 * again, so approving what it was lets nothing go on. */
bool mortise_cli_is_asked_again(const struct mortise_cli_way *way,
                                const json_t *request);
/* The commands alone that settle a request, a line each, as
 * mortise_cli_suggest() begins it. */
void mortise_cli_settle(const struct mortise_cli_way *way,
                        const json_t *request);
/* The commands that correct what people said that steps came to, behind which
 * their calls failed. */
void mortise_cli_corrections(const struct mortise_cli_way *way,
                             const json_t *show);
/* A deadline of the request lies ahead. */
bool mortise_cli_has_deadline(const json_t *request);
/* If a deadline of these requests lies ahead and no engine runs for the store,
 * print the command that starts one. */
void mortise_cli_need_engine(struct mortise_cli *cli, const json_t *pending);
/* The same for all that is pending of a run, from `show`. */
void mortise_cli_run_needs_engine(struct mortise_cli *cli, const json_t *show);
/* The command that doubles the limit which holds a run (`limit` of show). */
void mortise_cli_raise(const struct mortise_cli_way *way, const json_t *limit);
/* The beginning of one: `  PROGRAM WHAT ... RUN ID`, without a line end. */
void mortise_cli_begin(const struct mortise_cli_way *way, const char *what,
                       const json_t *request);
/* One that needs nothing else: `resume RUN`. */
void mortise_cli_offer(const struct mortise_cli_way *way, const char *what);
/* The command that lets a run (`show` of it) go on where no request's does. */
void mortise_cli_unblock(const struct mortise_cli_way *way, const json_t *show);
/* What it asks, and what lets it go on, for who was refused because of that;
 * `doubt`: because of what is in doubt. */
void mortise_cli_unblock_refused(const struct mortise_cli_way *way,
                                 const json_t *show, bool doubt);

/* ---- budget.c: what is a greater budget ---------------------------------- */

/* Is the budget of this name one of dollars; of time, which is said with a unit
 * and kept in milliseconds?  Everything else is counted. */
bool mortise_cli_is_money(const char *name);
bool mortise_cli_is_time(const char *name);
/* Do these requests wait for the same? */
bool mortise_cli_same_budget(const json_t *a, const json_t *b);

/* ---- watch.c: a run going on --------------------------------------------- */

/* What has happened to a run behind event `after`. */
int mortise_cli_recall(struct mortise_cli *cli, const char *run, uint64_t after,
                       mortise_item_fn *fn, void *ud, struct mortise_err *err);
/* Ask for something that a run comes of ("start", `run` ""; or "command", then
 * the body has `after`, too) and show what happens, `until` what the body says;
 * then how it stands and what would unblock it.  Takes the body; NULL is out of
 * memory.  The exit code. */
int mortise_cli_go(struct mortise_cli *cli, const char *what, json_t *body,
                   const char *run, uint64_t after);
/* Give commands (an array; taken; NULL is out of memory) to a run and watch
 * what comes of it, when it is this process that goes on with it or `always`
 * is said.  What the subcommand ends with, as its run() returns it. */
int mortise_cli_command(struct mortise_cli *cli, const char *run,
                        json_t *commands, bool always, struct mortise_err *err);
/* The same for the run that the first operand names. */
int mortise_cli_order(struct mortise_cli *cli, json_t *commands, bool always,
                      struct mortise_err *err);

/* ---- the subcommands --------------------------------------------------- */

enum { MORTISE_COMMANDS_MAX = 64 };

/* commands.c: all of them, in the order of the overview. */
extern const struct mortise_cmd *const mortise_commands[];
extern const size_t mortise_n_commands;

#define COMMAND(name) extern const struct mortise_cmd mortise_cmd_##name;
#include "cli/commands.def"
#undef COMMAND

#endif
