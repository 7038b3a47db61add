/* choice.c -- determine the request that a decision is for.
 *
 * Before a decision arrives, the request that the person saw may have been
 * replaced: it expired, another person answered it, or its loop ran again.  So
 * a decision applies only to the request that the person saw:
 *
 * (1) A request is named by its id, or by at least its first eight digits if
 *     they are unique among the pending requests of the run.  The id is a
 *     digest of the question and of the number of times that it was asked, so
 *     an earlier or later request has another id.
 * (2) Otherwise (no argument, the name of a node, fewer digits), the command
 *     shows the request and the command that names it, and asks a person at
 *     the terminal to confirm.  The command that is sent then names the
 *     request that was shown.
 * (3) If stdin is not a terminal, nothing is decided, and the exit code is
 *     that of a usage error.
 *
 * The store is closed while the person thinks, so that other commands can use
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* ---- choosing ------------------------------------------------------------ */

static bool begins_with_digits(const char *id, const char *prefix)
{
    return strncmp(id, prefix, strlen(prefix)) == 0;
}

static bool is_asked_by_node(const json_t *request, const char *node)
{
    return strcmp(mortise_cli_get_text(request, "node"), node) == 0 ||
           strcmp(mortise_cli_get_text(request, "path"), node) == 0;
}

/* Does the id begin with `given`?  NULL matches every request. */
static bool may_mean_request(const json_t *request, const char *given)
{
    return given == NULL ||
           begins_with_digits(mortise_cli_get_text(request, "id"), given);
}

/* Does `given` name the request (1), rather than describe it? */
static bool is_named_by(const json_t *request, const char *given)
{
    return given != NULL && strlen(given) >= MORTISE_CLI_SHORT_ID &&
           begins_with_digits(mortise_cli_get_text(request, "id"), given);
}

typedef bool match_fn(const json_t *request, const char *given);

/* The requests that match, as a new reference.  Requests that need no person
 * are excluded. */
static json_t *select_matching(match_fn *match, const json_t *pending,
                               const char *given)
{
    json_t *out = json_array(), *one;
    size_t i;

    json_array_foreach(mortise_json_unconst(pending), i, one)
    {
        if (!mortise_cli_needs_no_person(one) && match(one, given) &&
            json_array_append(out, one) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* The requests that `given` may mean: by id, else by node, else by the first
 * digits. */
static json_t *select_meant(const json_t *pending, const char *given)
{
    match_fn *const ways[] = {is_named_by, is_asked_by_node, may_mean_request};
    json_t *out = NULL;

    for (size_t i = given != NULL ? 0 : 2; i < 3; i++) {
        json_decref(out);
        out = select_matching(ways[i], pending, given);
        if (out == NULL || json_array_size(out) > 0)
            break;
    }
    return out;
}

/* ---- settled requests -------------------------------------------------- */

/* The newest entry that settled the request that `given` names: borrowed from
 * a reply to "history". */
static const json_t *find_settling_entry(const json_t *history,
                                         const char *given)
{
    const json_t *found = NULL;

    MORTISE_JSON_EACH (cp, i, json_object_get(history, "checkpoints"))
        MORTISE_JSON_EACH (entry, k, json_object_get(cp, "entries"))
            if (is_named_by(entry, given) &&
                (strcmp(mortise_cli_get_text(entry, "entry"), "settle") == 0 ||
                 strcmp(mortise_cli_get_text(entry, "entry"), "planned") == 0 ||
                 strcmp(mortise_cli_get_text(entry, "entry"), "correct") == 0))
                found = entry;
    return found;
}

int mortise_cli_find_settled(struct mortise_cli *cli, const char *run,
                             const char *given, json_t **out,
                             struct mortise_err *err)
{
    json_t *history = NULL;
    int rv = mortise_cli_call(cli, "history", json_pack("{s:s}", "run", run),
                              NULL, NULL, &history, err);

    *out =
        json_incref(mortise_json_unconst(find_settling_entry(history, given)));
    json_decref(history);
    return rv;
}

/* Describe how the request was settled. */
static const char *describe_settlement(const json_t *entry)
{
    static const char *const words[][2] = {
        {"expired", "it expired before a person answered"},
        {"withdrawn", "it was withdrawn, because no answer is needed any more"},
        {"happened", "resolved as done"},
        {"retry", "resolved as not happened, to be retried"},
        {"fail", "resolved as failed"}};
    const json_t *approved = json_object_get(entry, "approved");
    const char *how = mortise_cli_get_text(entry, "how");

    if (json_is_boolean(approved))
        return json_is_true(approved) ? "approved" : "rejected";
    if (strcmp(mortise_cli_get_text(entry, "entry"), "correct") == 0)
        how = "happened";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(how, words[i][0]) == 0)
            return words[i][1];
    return how;
}

/* No pending request matches: report how a matching one was settled. */
static int fail_not_pending(struct mortise_cli *cli, const char *run,
                            const char *status, const char *given,
                            struct mortise_err *err)
{
    json_t *history = NULL;
    int rv = mortise_cli_call(cli, "history", json_pack("{s:s}", "run", run),
                              NULL, NULL, &history, err);
    const json_t *entry = find_settling_entry(history, given);
    const char *actor = mortise_cli_get_text(entry, "actor");
    bool cancelled = strcmp(status, "cancelled") == 0;

    if (rv == MORTISE_OK && entry != NULL)
        rv = mortise_fail(err, MORTISE_EMISMATCH,
                          "run %s: request %s is already settled: %s%s%s%s",
                          run, mortise_cli_get_text(entry, "id"),
                          describe_settlement(entry),
                          actor[0] != '\0' ? " by " : "", actor,
                          cancelled ? "; the run was cancelled" : "");
    else if (rv == MORTISE_OK)
        rv = mortise_fail(
            err, MORTISE_EMISMATCH,
            "run %s: request '%s' is neither pending nor settled%s", run, given,
            cancelled ? "; the run was cancelled, which withdrew its requests"
                      : "");
    json_decref(history);
    return rv;
}

int mortise_cli_choose_request(struct mortise_cli *cli, const char *given,
                               struct mortise_cli_choice *out,
                               struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    json_t *show = NULL;
    char status[32];
    int rv;

    memset(out, 0, sizeof *out);
    rv = mortise_cli_find_run_to_change(cli, a->operands[0], out->run, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, out->run, &show, err);
    if (rv != MORTISE_OK)
        return rv;
    out->pending = select_meant(json_object_get(show, "pending"), given);
    out->blocked = json_incref(json_object_get(show, "blocked"));
    snprintf(status, sizeof status, "%s", mortise_cli_get_status(show));
    json_decref(show);
    if (out->pending == NULL)
        return mortise_nomem(err);
    switch (json_array_size(out->pending)) {
    case 0:
        return given == NULL
                   ? mortise_fail(err, MORTISE_EMISMATCH,
                                  "run %s is %s: no request is pending",
                                  out->run, status)
                   : fail_not_pending(cli, out->run, status, given, err);
    case 1:
        out->request = json_incref(json_array_get(out->pending, 0));
        out->named = is_named_by(out->request, given);
        break;
    default:
        break;
    }
    return MORTISE_OK;
}

void mortise_cli_choice_finish(struct mortise_cli_choice *c)
{
    json_decref(c->request);
    json_decref(c->pending);
    json_decref(c->blocked);
    memset(c, 0, sizeof *c);
}

/* ---- printing how to name a request ------------------------------------ */

/* Print the command line as given, with the id of this request, and with the
 * options that a blocked run needs. */
static void print_named_command(const struct mortise_cli_continuation *way,
                                const json_t *request)
{
    struct mortise_cli *cli = way->cli;
    const struct mortise_opt *opt;

    mortise_cli_print_unquarantines(way);
    mortise_cli_start_command_line(way, cli->cmd->name, request);
    for (size_t i = 0; (opt = mortise_opt_get(cli->cmd, i)) != NULL; i++)
        mortise_cli_print_given_option(way->o, opt, &cli->args);
    mortise_out_printf(way->o, "%s\n",
                       cli->args.accept_plugins ? "" : way->more);
}

/* Print a request, and the given command with its id. */
static void print_with_command(const struct mortise_cli_continuation *way,
                               const json_t *request)
{
    if (way->stuck || mortise_cli_is_asked_again(way, request)) {
        mortise_cli_print_request(way, request);
        return;
    }
    mortise_cli_print_question(way->o, request);
    print_named_command(way, request);
}

/* Print the command for each request that may be meant. */
static void print_all_commands(const struct mortise_cli_continuation *way,
                               const struct mortise_cli_choice *c)
{
    if (way->stuck)
        return;
    MORTISE_JSON_EACH (one, i, c->pending) {
        if (mortise_cli_is_asked_again(way, one))
            mortise_cli_print_command(way, "resume");
        else if (c->request != NULL)
            print_named_command(way, one);
        else
            mortise_cli_print_settling(way, one);
    }
}

/* The same as JSON: {error: {code, message, pending, commands}}. */
static int print_choices_json(struct mortise_cli *cli,
                              const struct mortise_cli_choice *c)
{
    struct mortise_buf b;
    struct mortise_out o;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, &o, c->run, c->blocked);
    const char *lines;

    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    print_all_commands(&way, c);
    mortise_out_flush(&o);
    lines = mortise_buf_cstr(&b);
    mortise_cli_print_json_error(
        cli, mortise_result_name(MORTISE_EINVAL),
        c->request != NULL
            ? "name the request that the decision is for"
            : "several requests are pending; name the one that you decide",
        json_pack("{s:O, s:o}", "pending", c->pending, "commands",
                  mortise_cli_split_commands(lines != NULL ? lines : "")));
    mortise_buf_finish(&b);
    return MORTISE_EXIT_USAGE;
}

/* Decide nothing; print each request and the command for it. */
static int print_choices(struct mortise_cli *cli,
                         const struct mortise_cli_choice *c)
{
    struct mortise_out *o = &cli->err;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, o, c->run, c->blocked);

    mortise_out_flush(&cli->out);
    mortise_out_puts(o, c->request != NULL
                            ? "mortise: name the request that the decision is "
                              "for; this one is pending:\n"
                            : "mortise: several requests are pending; name the "
                              "one that you decide\n");
    if (c->request != NULL)
        print_with_command(&way, c->request);
    else
        MORTISE_JSON_EACH (one, i, c->pending)
            mortise_cli_print_request(&way, one);
    mortise_out_flush(o);
    return MORTISE_EXIT_USAGE;
}

/* ---- a command for another kind of request -------------------------------- */

int mortise_cli_refuse_kind(struct mortise_cli *cli,
                            const struct mortise_cli_choice *c, const char *is)
{
    struct mortise_buf b;
    struct mortise_out o;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, &o, c->run, c->blocked);
    const char *code = mortise_result_name(MORTISE_EMISMATCH), *lines;
    char words[256];

    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    mortise_cli_print_commands(&way, c->request);
    mortise_out_flush(&o);
    lines = mortise_buf_cstr(&b);
    if (lines == NULL)
        lines = "";
    snprintf(words, sizeof words, "request %.64s %.32s: its node %.100s",
             mortise_cli_get_text(c->request, "id"), is,
             mortise_cli_describe_kind(c->request));
    if (cli->args.json) {
        mortise_cli_print_json_error(
            cli, code, words,
            json_pack("{s:[O], s:o}", "pending", c->request, "commands",
                      mortise_cli_split_commands(lines)));
    } else {
        mortise_out_flush(&cli->out);
        mortise_out_print_escaped(&cli->err, "mortise: %s (%s)%s\n", words,
                                  code,
                                  lines[0] != '\0' ? "; settle it with:" : "");
        mortise_out_puts(&cli->err, lines);
        mortise_out_flush(&cli->err);
    }
    mortise_buf_finish(&b);
    return (int)mortise_exit_code_of_result(MORTISE_EMISMATCH);
}

/* ---- asking -------------------------------------------------------------- */

/* Open the user's terminal; -1 if stdin is not a terminal. */
static int open_terminal(void)
{
    int fd;

    if (isatty(STDIN_FILENO) != 1)
        return -1;
    fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return fd >= 0 ? fd : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

/* Only "y" or "yes" confirms. */
static bool read_confirmation(int fd)
{
    char line[8];
    size_t n = 0;
    char c = 0;

    while (c != '\n') {
        ssize_t got = read(fd, &c, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (c != '\n' && n < sizeof line - 1)
            line[n++] = c;
    }
    line[n] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

static bool ask_to_confirm(struct mortise_cli *cli, int fd,
                           const struct mortise_cli_choice *c)
{
    struct mortise_out o;
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(cli, &o, c->run, c->blocked);

    mortise_out_init(&o, fd, cli->mem);
    print_with_command(&way, c->request);
    mortise_out_puts(&o, "Do this? [y/N] ");
    return mortise_out_flush(&o) == 0 && read_confirmation(fd);
}

/* Close the store while a person thinks. */
static int confirm_without_store(struct mortise_cli *cli, int fd,
                                 const struct mortise_cli_choice *c,
                                 struct mortise_err *err)
{
    mortise_out_flush(&cli->out);
    cli->hasty = true; /* runs of other processes continue in the next engine */
    mortise_cli_release_store(cli);
    cli->hasty = false;
    if (!ask_to_confirm(cli, fd, c)) {
        mortise_cli_print_remark(cli, MORTISE_LOG_INFO,
                                 "no decision was recorded");
        return MORTISE_EXIT_USAGE;
    }
    return mortise_cli_reopen(cli, err);
}

int mortise_cli_confirm(struct mortise_cli *cli,
                        const struct mortise_cli_choice *c,
                        struct mortise_err *err)
{
    int fd, rv;

    if (c->named)
        return MORTISE_OK;
    fd = c->request != NULL ? open_terminal() : -1;
    if (fd < 0)
        return cli->args.json ? print_choices_json(cli, c)
                              : print_choices(cli, c);
    rv = confirm_without_store(cli, fd, c, err);
    close(fd);
    return rv;
}
