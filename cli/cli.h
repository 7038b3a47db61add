/* cli.h -- shared by the subcommands: one invocation, its session with an
 * engine, and the messages that are the same everywhere.
 *
 * Single-threaded; only the engine's log function is called from other
 * threads.
 */
#ifndef MORTISE_CLI_CLI_H
#define MORTISE_CLI_CLI_H

#include <limits.h>

#include "cli/exit_code.h"
#include "cli/opt.h"
#include "server/session.h"
#include "lang/config/settings.h"

struct mortise_cli {
    const char *program; /* our name on the command line, for suggestions */
    const struct mortise_cmd *const *commands; /* of this program */
    size_t n_commands;
    const struct mortise_cmd *cmd;
    const struct mortise_mem *mem;
    struct mortise_args args;
    struct mortise_out out, err;
    struct mortise_session *session; /* after mortise_cli_open() */
    bool no_store;                   /* there is no store */
    int wanted;  /* the status that counts as success; 0: completed */
    bool copied; /* the session reads a copy of the store */
    bool hasty;  /* leave without waiting for the runs of others */

    /* The Deployment file in use, NULL: none; and whether another command
     * would find it by itself. */
    const char *deployment;
    bool found_by_itself;
    /* Did the user name no deployment?  `cases`, the deployment that a Test
     * file names, does not count as named by the user. */
    bool found;
    const char *cases;
    bool dated;          /* log lines have times */
    bool said_salvage;   /* the advice for a damaged store was printed */
    bool told;           /* an error was printed as JSON */
    json_t *findings;    /* owned: to print with the next JSON error */
    bool looks;          /* run no code of the deployment; write nothing */
    char path[PATH_MAX]; /* storage of `deployment` when we composed the path */
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

/* ---- cli.c: deployment, session, suggested commands -------------------- */

/* Flags for opening the settings: MORTISE_SETTINGS_FOUND,
 * MORTISE_SETTINGS_READ_ONLY. */
unsigned mortise_cli_settings_flags(const struct mortise_cli *cli);
/* The part of a path before its last slash, or "."; returns `out`. */
const char *mortise_cli_get_parent_dir(const char *path, char out[PATH_MAX]);
/* Determine the Deployment file.  `graph`: NULL, or the graph file to run; a
 * mortise.yaml beside it counts, too. */
int mortise_cli_find_deployment(struct mortise_cli *cli, const char *graph,
                                struct mortise_err *err);
/* Find the deployment and open a session with its store's engine. */
int mortise_cli_open(struct mortise_cli *cli, const char *graph,
                     struct mortise_err *err);
/* Open the session again, with the same deployment and store. */
int mortise_cli_reopen(struct mortise_cli *cli, struct mortise_err *err);

/* ---- host.c: other processes that use the store that we hold ----------- */

/* Are other processes connected? */
bool mortise_cli_has_clients(const struct mortise_cli *cli);
/* Close the session, after the runs of other processes have become idle. */
void mortise_cli_release_store(struct mortise_cli *cli);

/* Does the copy of the store lack data?  If so, *why has the message. */
bool mortise_cli_is_incomplete(struct mortise_cli *cli,
                               struct mortise_err *why);
/* At the end of a command, report missing data; returns the exit code. */
int mortise_cli_report_incomplete(struct mortise_cli *cli, int code);
/* Add to a printed object why it may be incomplete. */
int mortise_cli_mark_incomplete(struct mortise_cli *cli, json_t *reply,
                                struct mortise_err *err);

/* Print ` --NAME VALUE`, quoted for a shell. */
void mortise_cli_print_option(struct mortise_out *o, const char *name,
                              const char *value);
/* Print an option as it was given, except those that select the store; nothing
 * if it was not given. */
void mortise_cli_print_given_option(struct mortise_out *o,
                                    const struct mortise_opt *opt,
                                    const struct mortise_args *args);

/* ---- complain.c: errors, as text or JSON ------------------------------- */

/* Print an error; returns its exit code.  `more` (taken; NULL: none):
 * additional members of the JSON. */
int mortise_cli_fail(struct mortise_cli *cli, const struct mortise_err *err);
int mortise_cli_fail_with(struct mortise_cli *cli,
                          const struct mortise_err *err, json_t *more);
/* Print a usage error; returns MORTISE_EXIT_USAGE. */
int mortise_cli_fail_usage(struct mortise_cli *cli, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
/* Print an error as JSON, with a code of `mortise explain`; `more` as above. */
void mortise_cli_print_json_error(struct mortise_cli *cli, const char *code,
                                  const char *message, json_t *more);
/* Print a remark: MORTISE_LOG_INFO, MORTISE_LOG_WARN. */
void mortise_cli_print_remark(struct mortise_cli *cli, int level,
                              const char *fmt, ...) MORTISE_PRINTF(3, 4);
/* The engine's log function; also for waiting commands.  Prints to stderr; ud:
 * the cli.  [any] */
void mortise_cli_log(void *ud, int level, const char *msg);
/* Print a log entry as JSON with its own members.  Takes it; NULL means that
 * memory ran out. */
void mortise_cli_log_json(struct mortise_cli *cli, json_t *log);
/* Report that stdout could not be written. */
void mortise_cli_fail_output(struct mortise_cli *cli, const char *why);
/* Report that a copy of the store is read, because of this error. */
void mortise_cli_report_copy(struct mortise_cli *cli,
                             const struct mortise_err *why);
/* Print findings to stderr and free them.  With --json, findings, also those
 * of a list, are kept for the error that they cause. */
void mortise_cli_print_findings(struct mortise_cli *cli,
                                struct mortise_diags *d);
void mortise_cli_keep_findings(struct mortise_cli *cli, const json_t *list);
/* At the end of a command: print the findings that no error included. */
void mortise_cli_print_kept_findings(struct mortise_cli *cli, int code);

/* Begin a line with a command that works from here, as we were called:
 * `  PROGRAM WHAT [options that find the store] RUN`.  The caller adds more
 * operands and the line end. */
void mortise_cli_print_suggestion(struct mortise_cli *cli,
                                  struct mortise_out *o, const char *what,
                                  const char *run);
/* The same without RUN. */
void mortise_cli_start_suggestion(struct mortise_cli *cli,
                                  struct mortise_out *o, const char *what);

/* Send a request to the engine (docs/control.md).  Takes `body`, an object;
 * NULL means that memory ran out.  The tenant is added. */
int mortise_cli_call(struct mortise_cli *cli, const char *what, json_t *body,
                     mortise_item_fn *fn, void *ud, json_t **reply,
                     struct mortise_err *err);

/* memory.c: send a memory request; `what` is read, write or forget.  Takes the
 * body (NULL: memory ran out). */
int mortise_cli_call_memory(struct mortise_cli *cli, const char *what,
                            json_t *body, json_t **reply,
                            struct mortise_err *err);

/* The `show` of a run, as a new reference. */
int mortise_cli_get_show(struct mortise_cli *cli, const char *run,
                         json_t **show, struct mortise_err *err);
/* Print JSON, on one line or indented.  Takes the value; NULL means that
 * memory ran out. */
int mortise_cli_print_json(struct mortise_cli *cli, json_t *v, bool pretty,
                           struct mortise_err *err);

/* ---- check.c: findings of files ---------------------------------------- */

/* Check the operands.  Returns the exit code; other errors are printed. */
int mortise_cli_check_operands(struct mortise_cli *cli,
                               struct mortise_diags *diags);
/* Check a graph that is not in its file yet. */
int mortise_cli_check_graph(struct mortise_cli *cli, const char *path,
                            const char *text, size_t n,
                            struct mortise_diags *diags,
                            struct mortise_err *err);
/* Load a graph that a command composed, with the command's deployment.  The
 * caller owns *out.  Its plugins are closed, so data borrowed from them is
 * invalid. */
int mortise_cli_make_graph(struct mortise_cli *cli, const char *path,
                           const char *text, size_t n,
                           struct mortise_diags *diags,
                           struct mortise_graph **out, struct mortise_err *err);
/* Check one file: MORTISE_OK, MORTISE_ECHECK, or the error that prevented the
 * check.  Changes the current deployment. */
int mortise_cli_check_file(struct mortise_cli *cli, const char *path,
                           struct mortise_diags *diags,
                           struct mortise_err *err);
/* Parse --format; MORTISE_EXIT_OK, or a usage error, which was printed. */
int mortise_cli_parse_format(struct mortise_cli *cli);

/* ---- text.c: texts in requests ----------------------------------------- */

/* Read a file (or "-", stdin) as a JSON string.  Text that no request can
 * carry is reported as findings. */
int mortise_cli_read_source(struct mortise_cli *cli, const char *path,
                            json_t **out, struct mortise_err *err);

/* ---- pinned_file.c -------------------------------------------------------- */

/* The path of a graph file that differs from the run's pinned copy; NULL: none
 * is known.  Free with mortise_release_str(). */
char *mortise_cli_find_changed_file(struct mortise_cli *cli, const char *run);
/* The message about that file; its argument is the path. */
#define MORTISE_CLI_CHANGED_FILE                                               \
    "the run continues with its own copy of the graph, which differs from "    \
    "the file %s as it is now; to use the file, start a new run"

/* ---- graph.c: graph files ---------------------------------------------- */

struct mortise_graph;
/* Load a graph as `run` does, so that it has the digest that a run would pin.
 * Its plugins are not called.  Free *out with mortise_graph_unref(). */
int mortise_cli_load_graph_with(struct mortise_cli *cli,
                                const struct mortise_settings *settings,
                                const char *path, struct mortise_diags *diags,
                                struct mortise_graph **out,
                                struct mortise_err *err);
/* The same with the deployment of the graph (mortise_cli_find_deployment()); findings are
 * printed. */
int mortise_cli_load_graph(struct mortise_cli *cli, const char *path,
                           struct mortise_graph **out, struct mortise_err *err);

/* Draw the graph of these sources, [{path, text}], and the progress of a run,
 * from its `show`. */
int mortise_cli_print_drawing(struct mortise_cli *cli, const json_t *sources,
                              const json_t *show, struct mortise_err *err);

/* ---- value.c: values of arguments -------------------------------------- */

/* Read a whole file (limit: 64 MiB), NUL-terminated; free it with
 * mortise_release(cli->mem, *text, *n + 1).  "-" is stdin. */
int mortise_cli_read_file(struct mortise_cli *cli, const char *path,
                          char **text, size_t *n, struct mortise_err *err);

/* Parse the JSON of a file or of stdin; or JSON, @FILE or -.  Returns a new
 * reference.  `what` names it in errors. */
int mortise_cli_parse_json(struct mortise_cli *cli, const char *what,
                           const char *path, json_t **out,
                           struct mortise_err *err);
int mortise_cli_parse_value(struct mortise_cli *cli, const char *what,
                            const char *given, json_t **out,
                            struct mortise_err *err);
/* Parse a decimal number without sign. */
int mortise_cli_parse_number(const char *what, const char *given, uint64_t *out,
                             struct mortise_err *err);

/* The words of a list ("a, b" or "a b"), in an arena. */
int mortise_cli_split_list(struct mortise_arena *a, const char *list,
                           const char ***out, size_t *n,
                           struct mortise_err *err);

/* Members of replies; borrowed.  "" if absent or not a string. */
const char *mortise_cli_get_text(const json_t *object, const char *key);
/* list.c: after a partial list, print to stderr the command that lists the
 * entries after `after`. */
void mortise_cli_print_next_page(struct mortise_cli *cli, const char *after);
/* list.c: parse a time, or a duration before now, of an option. */
int mortise_cli_parse_moment(const char *option, const char *given,
                             uint64_t *ms, struct mortise_err *err);
uint64_t mortise_cli_get_integer(const json_t *object, const char *key);
/* Parse a time of an event into milliseconds since 1970; 0: none. */
uint64_t mortise_cli_parse_time(const char *text);
/* The status of a run from show or runs; "interrupted" if it should be running
 * but no engine works on it. */
const char *mortise_cli_get_status(const json_t *run);
/* The display name of an execution, from its path (else its node's name):
 * "review", "review#2" for the second visit, "read[3]" in a map,
 * "outer/inner".  Truncated to fit; returns `out`. */
enum { MORTISE_CLI_EXECUTION = 256 };
/* Is this node of `show` running, or its output being compacted? */
bool mortise_cli_is_active(const json_t *node);
bool mortise_cli_waits_for_descriptor(const json_t *node);
/* May an effect of this node of `show` have happened that no request asks
 * about? False while the node runs. */
bool mortise_cli_is_unsettled(const json_t *node);
/* The first such node of `show`; NULL: none. */
const json_t *mortise_cli_find_unsettled(const json_t *show);
const char *mortise_cli_format_execution(const json_t *object,
                                         char out[MORTISE_CLI_EXECUTION]);
const char *mortise_cli_format_short_path(const char *path,
                                          char out[MORTISE_CLI_EXECUTION]);

/* Open the settings for a command that needs no engine.  Findings of the
 * Deployment file are printed.  Close the settings in any case. */
int mortise_cli_open_settings(struct mortise_cli *cli,
                              struct mortise_settings *settings,
                              struct mortise_err *err);
/* The same for a command that composes a graph: prints findings only if the
 * deployment cannot be read.  The later open prints the others. */
int mortise_cli_open_settings_quietly(struct mortise_cli *cli,
                                      struct mortise_settings *settings,
                                      struct mortise_err *err);
/* The limit for such a graph: `wanted`, or the deployment's bound if that is
 * lower. */
uint64_t mortise_cli_get_limit(const struct mortise_settings *settings,
                               enum mortise_limit which, uint64_t wanted);

/* ---- name.c: ids of runs ----------------------------------------------- */

/* Both functions open the session if there is none.  For commands that change
 * the run: `given` is the whole id. */
int mortise_cli_find_run_to_change(struct mortise_cli *cli, const char *given,
                                   char run[MORTISE_RUN_MAX],
                                   struct mortise_err *err);
/* For commands that read: `given` is the id or a unique beginning of one.  The
 * whole id is then printed to stderr. */
#define MORTISE_CLI_RUN_BEGINS                                                 \
    "RUN can be the beginning of an id if no other run's id has the same\n"    \
    "beginning.\n"
int mortise_cli_find_run_to_read(struct mortise_cli *cli, const char *given,
                                 char run[MORTISE_RUN_MAX],
                                 struct mortise_err *err);

/* Where to print the commands that continue a run, and the options and
 * commands that a blocked run needs. */
struct mortise_cli_continuation {
    struct mortise_cli *cli;
    struct mortise_out *o;
    const char *run;
    const char *more;    /* appended to each: "" or " --accept-plugins" */
    bool stuck;          /* no command of ours unblocks the run */
    const json_t *lifts; /* plugins to unquarantine first; NULL: none */
};

/* ---- choice.c: choosing a request -------------------------------------- */

struct mortise_cli_choice {
    char run[MORTISE_RUN_MAX];
    json_t *request; /* owned reference; NULL: several, or none */
    bool named;      /* named by its id, so the user has seen it */
    json_t *pending; /* owned: all requests that may be meant */
    json_t *blocked; /* owned: `blocked` of the run; NULL: it is not blocked */
};

/* Choose the pending request of the first operand, RUN, that `given` means.
 * The request is NULL if several match.  An error: none matches. */
int mortise_cli_choose_request(struct mortise_cli *cli, const char *given,
                               struct mortise_cli_choice *out,
                               struct mortise_err *err);
void mortise_cli_choice_finish(struct mortise_cli_choice *c);
/* The command does not settle this kind of request, as `is` says ("is not in
 * doubt"): report that with the commands that do.  Returns an exit code. */
int mortise_cli_refuse_kind(struct mortise_cli *cli,
                            const struct mortise_cli_choice *c, const char *is);
/* The newest history entry that settled the request that `given` names, as a
 * new reference; NULL: none. */
int mortise_cli_find_settled(struct mortise_cli *cli, const char *run,
                             const char *given, json_t **out,
                             struct mortise_err *err);
/* Confirm the choice.  A request that was named by id is confirmed; another
 * one is shown, and a person at a terminal is asked.  Without a terminal,
 * print how to name it.  MORTISE_OK: confirmed; otherwise the result for the
 * command's run(). */
int mortise_cli_confirm(struct mortise_cli *cli,
                        const struct mortise_cli_choice *c,
                        struct mortise_err *err);
/* ---- request.c: pending requests and blocked runs ---------------------- */

enum { MORTISE_CLI_SHORT_ID = 8 }; /* digits of an id that name a request */

bool mortise_cli_is_kind(const json_t *request, const char *kind);
bool mortise_cli_has_kind(const json_t *pending, const char *kind);
/* Is it settled by time or by a child run, without a person? */
bool mortise_cli_needs_no_person(const json_t *request);
/* The schema of a member of the answer; NULL: none. */
const json_t *mortise_cli_get_answer_field(const json_t *request,
                                           const char *name);
/* Is it a plugin's question whose answer has `approved`?  Then approve and
 * reject settle it, like the question of a `human` node. */
bool mortise_cli_is_decision(const json_t *request);
/* Is it too late to answer? */
bool mortise_cli_has_expired(const json_t *request);
/* The action of its node, such as "asks a person".  Static. */
const char *mortise_cli_describe_kind(const json_t *request);

/* Print the question of a request. */
void mortise_cli_print_question(struct mortise_out *o, const json_t *request);
/* The idempotency key of an effect in doubt, as it was sent; borrowed; NULL:
 * none. */
const json_t *mortise_cli_get_idempotency_key(const json_t *request);
/* Does a command printed for an earlier request in the list cover it? */
bool mortise_cli_is_offered(const json_t *pending, size_t i);
enum { MORTISE_CLI_BLOCKED = 1100 };
/* Describe `blocked` of show on one line: for findings their messages and
 * places, without source lines; "" if it is NULL. */
void mortise_cli_format_block(const json_t *blocked,
                              char out[MORTISE_CLI_BLOCKED]);
/* How to continue a run, given `blocked` of show (NULL: not blocked).  Borrows
 * all arguments. */
struct mortise_cli_continuation
mortise_cli_get_continuation(struct mortise_cli *cli, struct mortise_out *o,
                             const char *run, const json_t *blocked);
/* Print the commands that settle a request, if the run can then continue. */
void mortise_cli_print_commands(const struct mortise_cli_continuation *way,
                                const json_t *request);
/* Print a request and the commands that settle it. */
void mortise_cli_print_request(const struct mortise_cli_continuation *way,
                               const json_t *request);
/* Print the command that ends a plugin's quarantine, which must precede the
 * command that continues the run. */
void mortise_cli_print_unquarantine(const struct mortise_cli_continuation *way,
                                    const char *plugin);
/* Split printed commands into an array of lines, a new reference. */
json_t *mortise_cli_split_commands(const char *lines);
/* Print the unquarantine commands that precede the commands of a run. */
void mortise_cli_print_unquarantines(
    const struct mortise_cli_continuation *way);
/* Is it a call of a plugin that has changed?  After that is accepted, the run
 * asks again, so approving the old call does not help. */
bool mortise_cli_is_asked_again(const struct mortise_cli_continuation *way,
                                const json_t *request);
/* Print only the commands that settle a request, one per line. */
void mortise_cli_print_settling(const struct mortise_cli_continuation *way,
                                const json_t *request);
/* Print the commands that correct results of steps that a person entered, if
 * their calls failed afterwards. */
void mortise_cli_print_corrections(const struct mortise_cli_continuation *way,
                                   const json_t *show);
/* Does the request have a deadline in the future? */
bool mortise_cli_has_deadline(const json_t *request);
/* If one of these requests has a deadline in the future and no engine runs for
 * the store, print the command that starts one. */
void mortise_cli_print_engine_hint(struct mortise_cli *cli,
                                   const json_t *pending);
/* The same for the pending requests of `show`. */
void mortise_cli_print_run_engine_hint(struct mortise_cli *cli,
                                       const json_t *show);
/* Print the command that doubles the limit that blocks a run (`limit` of
 * show). */
void mortise_cli_print_limit_raise(const struct mortise_cli_continuation *way,
                                   const json_t *limit);
/* Print the beginning of a command: `  PROGRAM WHAT ... RUN ID`. */
void mortise_cli_start_command_line(const struct mortise_cli_continuation *way,
                                    const char *what, const json_t *request);
/* Print a command without further arguments: `resume RUN`. */
void mortise_cli_print_command(const struct mortise_cli_continuation *way,
                               const char *what);
/* Print the command that continues a run (given its `show`) if no request
 * does. */
void mortise_cli_print_unblock(const struct mortise_cli_continuation *way,
                               const json_t *show);
/* After a command was refused: print the request and the command that continue
 * the run; `doubt`: the reason was an effect in doubt. */
void mortise_cli_print_unblock_refused(
    const struct mortise_cli_continuation *way, const json_t *show, bool doubt);

/* ---- budget.c: budgets ------------------------------------------------- */

/* Is the budget of this name in dollars, or a time?  A time has a unit in text
 * and is stored in milliseconds.  All other budgets are counts. */
bool mortise_cli_is_money(const char *name);
bool mortise_cli_is_time_field(const char *name);
/* Do these requests wait for the same budget? */
bool mortise_cli_is_same_budget(const json_t *a, const json_t *b);

/* ---- watch.c: following a run ------------------------------------------ */

/* Read the events of a run after event `after`. */
int mortise_cli_replay_events(struct mortise_cli *cli, const char *run,
                              uint64_t after, mortise_item_fn *fn, void *ud,
                              struct mortise_err *err);
/* Send "start" (`run` is "") or "command" (the body has `after`), and print
 * events until the body's `until`; then print the status and how to unblock
 * the run.  Takes the body; NULL means that memory ran out.  Returns the exit
 * code. */
int mortise_cli_run_and_watch(struct mortise_cli *cli, const char *what,
                              json_t *body, const char *run, uint64_t after);
/* Send commands (an array; taken; NULL means that memory ran out) to a run.
 * Watches the run if this process executes it, or if `always`.  Returns the
 * result for the subcommand's run(). */
int mortise_cli_send_commands(struct mortise_cli *cli, const char *run,
                              json_t *commands, bool always,
                              struct mortise_err *err);
/* The same for the run that the first operand names. */
int mortise_cli_send_to_operand(struct mortise_cli *cli, json_t *commands,
                                bool always, struct mortise_err *err);

/* ---- the subcommands --------------------------------------------------- */

enum { MORTISE_COMMANDS_MAX = 64 };

/* commands.c: all subcommands, in the order of the overview. */
extern const struct mortise_cmd *const mortise_commands[];
extern const size_t mortise_n_commands;

#define COMMAND(name) extern const struct mortise_cmd mortise_cmd_##name;
#include "cli/commands.def"
#undef COMMAND

#endif
