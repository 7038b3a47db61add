/* list.c -- `mortise runs` and `mortise inbox`: paged lists of the store's
 * content.
 *
 * Each page is printed before the next is fetched, so a list may be larger than
 * memory.  With --json, each entry is one line, for the same reason.
 *
 * Runs are sorted newest first.  This reads each run of the tenant once per
 * page of a thousand (core/query/newest.c); --by-id reads only the runs that it
 * lists. */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/unit.h"
#include "lang/cel/time.h"
#include "cli/cli.h"
#include "core/json/value.h"

enum { PAGE = 100, PAGE_NEWEST = 1000 };

/* ---- paged lists -------------------------------------------------------- */

static void print_next_command(struct mortise_cli *cli, struct mortise_out *o,
                               const char *after)
{
    assert(cli->args.n_operands == 0); /* paged lists take no operands */
    mortise_cli_start_suggestion(cli, o, cli->cmd->name);
    for (const struct mortise_opt *opt = cli->cmd->opts; opt->name != NULL;
         opt++)
        if (opt->at != offsetof(struct mortise_args, after))
            mortise_cli_print_given_option(o, opt, &cli->args);
    mortise_cli_print_option(o, "after", after);
    mortise_out_puts(o, "\n");
}

void mortise_cli_print_next_page(struct mortise_cli *cli, const char *after)
{
    struct mortise_buf b;
    struct mortise_out o;

    mortise_buf_init(&b, cli->mem);
    mortise_out_init_buf(&o, &b);
    print_next_command(cli, &o, after);
    mortise_out_flush(&o);
    mortise_out_flush(&cli->out);
    if (mortise_buf_cstr(&b) != NULL && cli->args.json) {
        mortise_cli_log_json(
            cli, json_pack("{s:s, s:s, s:s, s:o}", "level", "info", "message",
                           "more entries exist", "after", after, "commands",
                           mortise_cli_split_commands(b.p)));
    } else if (b.n > 0) {
        mortise_out_puts(&cli->err, "more:\n");
        mortise_out_puts(&cli->err, b.p);
    }
    mortise_buf_finish(&b);
}

struct list {
    const char *what, *member; /* request, and its member of entries */
    void (*print)(struct mortise_cli *cli, struct list *l, const json_t *entry);
    /* Owned members of the request: selection and order; NULL: all, by id. */
    json_t *filter;
    bool silent;   /* stdout gets nothing but entries */
    uint64_t left; /* entries still to be printed */
    uint64_t n;    /* entries printed */
    json_t *after; /* owned string; NULL at the beginning and the end */
    json_t *run;   /* owned: the reply of `show` for the last entry's run */
    json_t *timed; /* owned [a request with a deadline], or NULL */
};

static void print_list_entry(struct mortise_cli *cli, struct list *l,
                             const json_t *entry)
{
    if (cli->args.json)
        mortise_out_put_json(&cli->out, entry, false);
    else
        l->print(cli, l, entry);
    l->n++;
    l->left--;
}

/* Fetch and print one page; l->after is then the start of the next. */
static int print_list_page(struct mortise_cli *cli, struct list *l,
                           struct mortise_err *err)
{
    uint64_t most = l->filter != NULL ? PAGE_NEWEST : PAGE;
    uint64_t limit = l->left < most ? l->left : most;
    json_t *reply = NULL, *next;
    json_t *ask =
        json_pack("{s:O*, s:I}", "after", l->after, "limit", (json_int_t)limit);
    int rv;

    if (ask != NULL && l->filter != NULL &&
        json_object_update(ask, l->filter) != 0)
        mortise_json_clear_ref(&ask);
    rv = mortise_cli_call(cli, l->what, ask, NULL, NULL, &reply, err);

    mortise_json_clear_ref(&l->after);
    if (rv != MORTISE_OK)
        return rv;
    MORTISE_JSON_EACH (entry, i, json_object_get(reply, l->member))
        print_list_entry(cli, l, entry);
    mortise_out_flush(&cli->out);
    next = json_object_get(reply, "next");
    if (json_is_string(next))
        l->after = json_incref(next);
    json_decref(reply);
    return MORTISE_OK;
}

/* Print all requested pages. */
static int print_list_pages(struct mortise_cli *cli, struct list *l,
                            struct mortise_err *err)
{
    int rv = MORTISE_OK;

    l->left = UINT64_MAX;
    if (cli->args.limit != NULL)
        rv =
            mortise_cli_parse_number("--limit", cli->args.limit, &l->left, err);
    if (rv == MORTISE_OK && l->left == 0)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "--limit: 0 is not possible; give 1 or more");
    if (rv == MORTISE_OK && cli->args.after != NULL) {
        l->after = json_string(cli->args.after);
        rv = l->after != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv != MORTISE_OK && cli->args.store == NULL && cli->no_store)
        return MORTISE_OK; /* an empty list */
    while (rv == MORTISE_OK && l->left > 0) {
        rv = print_list_page(cli, l, err);
        if (l->after == NULL || cli->out.errnum != 0)
            break;
    }
    return rv;
}

/* An empty list may mean that the command looked at the wrong store, so name
 * the store. */
static void print_empty_list(struct mortise_cli *cli, struct mortise_out *o,
                             const char *none)
{
    struct mortise_settings settings;

    if (mortise_cli_open_settings_quietly(cli, &settings, NULL) != MORTISE_OK)
        mortise_out_printf(o, "%s\n", none);
    else if (cli->no_store)
        mortise_out_print_escaped(o, "%s: there is no store at %s\n", none,
                                  settings.store);
    else
        mortise_out_print_escaped(o, "%s in the store %s\n", none,
                                  settings.store);
    mortise_settings_close(&settings);
}

/* The whole command; `none` is printed if the list is empty. */
static int run_list(struct mortise_cli *cli, struct list *l, const char *none,
                    struct mortise_err *err)
{
    struct mortise_out *o = l->silent ? &cli->err : &cli->out;
    struct mortise_err lack;
    int rv = print_list_pages(cli, l, err);

    if (rv == MORTISE_OK && l->n == 0 && !cli->args.json &&
        !mortise_cli_is_incomplete(cli, &lack))
        print_empty_list(cli, o, none);
    if (rv == MORTISE_OK && l->after != NULL)
        mortise_cli_print_next_page(cli, json_string_value(l->after));
    json_decref(l->after);
    return rv;
}

#define LIST_OPTS                                                              \
    MORTISE_OPT_TEXT("after", "CURSOR", after,                                 \
                     "Begin after this cursor, which the previous page\n"      \
                     "printed at its end"),                                    \
        MORTISE_OPT_TEXT("limit", "N", limit,                                  \
                         "Maximum number of entries (default: all)"),          \
        MORTISE_OPT_JSON("One JSON object a line"), MORTISE_OPTS_OF_RUNS

/* ---- runs ------------------------------------------------------------------
 */

static enum mortise_style status_style(const char *status)
{
    switch (mortise_status_parse(status)) {
    case MORTISE_RUN_COMPLETED:
        return MORTISE_GOOD;
    case MORTISE_RUN_WAITING:
    case MORTISE_RUN_PAUSED:
        return MORTISE_ATTENTION;
    case MORTISE_RUN_IN_DOUBT:
    case MORTISE_RUN_BLOCKED:
    case MORTISE_RUN_FAILED:
        return MORTISE_BAD;
    default:
        return MORTISE_PLAIN;
    }
}

static void print_run_entry(struct mortise_cli *cli, struct list *l,
                            const json_t *entry)
{
    struct mortise_out *o = &cli->out;
    enum mortise_style style =
        status_style(mortise_cli_get_text(entry, "status"));
    const char *reason = mortise_cli_get_text(entry, "reason");

    (void)l;
    mortise_out_put_cell(o, mortise_cli_get_text(entry, "run"), 36);
    mortise_out_puts(o, "  ");
    mortise_out_put_styled(o, style, mortise_cli_get_status(entry), 9);
    mortise_out_puts(o, "  ");
    mortise_out_put_cell(o, mortise_cli_get_text(entry, "updated"), 24);
    mortise_out_print_escaped(
        o, "  %s%s%s%s\n", mortise_cli_get_text(entry, "graph"),
        reason[0] != '\0' ? "  " : "", reason,
        json_is_true(json_object_get(entry, "unsigned")) ? "  (unsigned plugin)"
                                                         : "");
}

/* Is there a store?  False only if looking would create one. */
static bool has_existing_store(struct mortise_cli *cli)
{
    struct mortise_settings settings;
    bool is = mortise_cli_open_settings(cli, &settings, NULL) != MORTISE_OK ||
              access(settings.store, F_OK) == 0;

    mortise_settings_close(&settings);
    return is; /* or an error to be reported later */
}

/* Parse an age ("2h") or a time ("2026-11-26", "2026-11-26T08:30:00+01:00"). */
int mortise_cli_parse_moment(const char *option, const char *given,
                             uint64_t *ms, struct mortise_err *err)
{
    uint64_t now = mortise_now_ms(), long_ago;
    struct cel_time t;
    char text[64];
    int n = snprintf(text, sizeof text, "%s%s", given,
                     strlen(given) == 10 ? "T00:00:00Z" : "");

    if (mortise_duration_parse(given, strlen(given), &long_ago)) {
        *ms = long_ago < now ? now - long_ago : 0;
        return MORTISE_OK;
    }
    if ((size_t)n < sizeof text &&
        mortise_cel_time_parse(&t, text, (size_t)n) && t.s >= 0) {
        *ms = (uint64_t)t.s * 1000 + (uint64_t)t.ns / 1000000;
        return MORTISE_OK;
    }
    return mortise_fail(err, MORTISE_EINVAL,
                        "%s: '%.100s' is neither a time (2026-11-26, "
                        "2026-11-26T08:30:00Z) nor an age (30m, 2h, 7d)",
                        option, given);
}

static int list_runs_by_id(struct mortise_cli *cli, struct list *l,
                           struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    if (a->status != NULL || a->graph != NULL || a->since != NULL)
        return mortise_cli_fail_usage(
            cli, "--status, --graph and --since cannot be used with --by-id");
    return run_list(cli, l, "no runs", err);
}

/* With a selection, the message for an empty list is "no matching runs". */
static int list_newest_runs(struct mortise_cli *cli, struct list *l,
                            struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    bool some = a->status != NULL || a->graph != NULL || a->since != NULL;
    uint64_t since = 0;
    int rv = a->since != NULL
                 ? mortise_cli_parse_moment("--since", a->since, &since, err)
                 : MORTISE_OK;

    if (rv != MORTISE_OK)
        return rv;
    l->filter =
        json_pack("{s:b, s:s*, s:s*, s:I}", "newest", 1, "status", a->status,
                  "graph", a->graph, "since", (json_int_t)since);
    rv = l->filter != NULL
             ? run_list(cli, l, some ? "no matching runs" : "no runs", err)
             : mortise_nomem(err);
    json_decref(l->filter);
    return rv;
}

static int runs(struct mortise_cli *cli, struct mortise_err *err)
{
    struct list l = {
        .what = "runs", .member = "runs", .print = print_run_entry};

    if (cli->args.existing && !has_existing_store(cli))
        return MORTISE_EXIT_OK;
    return cli->args.by_id ? list_runs_by_id(cli, &l, err)
                           : list_newest_runs(cli, &l, err);
}

static const struct mortise_opt runs_opts[] = {
    MORTISE_OPT_TEXT("status", "STATUS", status,
                     "Only runs with one of these statuses, for example\n"
                     "waiting,in_doubt"),
    MORTISE_OPT_TEXT("graph", "NAME", graph,
                     "Only runs of the graph of this name"),
    MORTISE_OPT_TEXT("since", "WHEN", since,
                     "Only runs that began since then: 2h, 7d,\n"
                     "2026-11-26, 2026-11-26T08:30:00Z"),
    MORTISE_OPT_FLAG("by-id", by_id,
                     "Sort by id, and read only the runs that are listed\n"
                     "(not with --status, --graph or --since)"),
    MORTISE_OPT_FLAG("existing", existing,
                     "If the store does not exist, print nothing instead\n"
                     "of a message, and end with exit code 0"),
    LIST_OPTS,
};

const struct mortise_cmd mortise_cmd_runs = {
    .name = "runs",
    .operands = "",
    .looks = true,
    .summary = "List runs, newest first",
    .text = "Each line has the id, the status, the time of the last change,\n"
            "the graph and the reason for the status.  The list is sorted by\n"
            "start time.  STATUS is accepted, running, waiting, paused,\n"
            "in_doubt, blocked, completed, failed, cancelled or interrupted.\n"
            "You can give several statuses, separated by commas.\n"
            "\n"
            "To sort by start time, the command reads every run of the tenant\n"
            "once for each thousand runs that it lists.  With --by-id, it\n"
            "reads only the runs that it lists.  Ids that Mortise generated\n"
            "are in the order of their start times.\n",
    .opts = runs_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise runs --limit 20\n"
               "mortise runs --status waiting,in_doubt --since 7d",
    .run = runs,
};

/* ---- inbox -----------------------------------------------------------------
 */

/* Get the reason if the run is blocked.  Consecutive requests are often of the
 * same run, so its `show` is fetched once. */
static const json_t *get_block_reason(struct mortise_cli *cli, struct list *l,
                                      const char *run)
{
    if (strcmp(mortise_cli_get_text(l->run, "run"), run) != 0) {
        mortise_json_clear_ref(&l->run);
        mortise_cli_get_show(cli, run, &l->run, NULL);
    }
    return json_object_get(l->run, "blocked");
}

static void print_pending_request(struct mortise_cli *cli, struct list *l,
                                  const json_t *entry)
{
    const char *run = mortise_cli_get_text(entry, "run");
    const struct mortise_cli_continuation way = mortise_cli_get_continuation(
        cli, &cli->out, run, get_block_reason(cli, l, run));

    mortise_out_print_escaped(&cli->out, "run %s: ", run);
    mortise_cli_print_request(&way, entry);
    if (l->timed == NULL && mortise_cli_has_deadline(entry))
        l->timed = json_pack("[O]", entry);
}

/* Print the operands of a decision command, to be split by a shell. */
static void print_request_ids(struct mortise_cli *cli, struct list *l,
                              const json_t *entry)
{
    (void)l;
    mortise_out_print_escaped(&cli->out, "%s %s\n",
                              mortise_cli_get_text(entry, "run"),
                              mortise_cli_get_text(entry, "id"));
}

/* List the requests of one run.  With --ids, the output is for a command that
 * changes the run, so the run must be named by its whole id, as there. */
static int list_inbox_of_run(struct mortise_cli *cli, struct list *l,
                             struct mortise_err *err)
{
    const char *given = cli->args.operands[0];
    char run[MORTISE_RUN_MAX];
    json_t *one;
    size_t i;
    int rv;

    if (cli->args.after != NULL || cli->args.limit != NULL)
        return mortise_cli_fail_usage(
            cli, "--after and --limit cannot be used with RUN: "
                 "they are for the inbox of all runs");
    rv = cli->args.ids ? mortise_cli_find_run_to_change(cli, given, run, err)
                       : mortise_cli_find_run_to_read(cli, given, run, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(cli, run, &l->run, err);
    json_array_foreach(json_object_get(l->run, "pending"), i, one)
    {
        if (mortise_cli_needs_no_person(one))
            continue;
        json_object_set_new(one, "run", json_string(run));
        print_list_entry(cli, l, one);
    }
    if (rv == MORTISE_OK && l->n == 0 && !cli->args.json)
        mortise_out_print_escaped(l->silent ? &cli->err : &cli->out,
                                  "no request is pending: run %s is %s\n", run,
                                  mortise_cli_get_status(l->run));
    return rv;
}

static int inbox(struct mortise_cli *cli, struct mortise_err *err)
{
    struct list l = {.what = "inbox",
                     .member = "pending",
                     .print = cli->args.ids ? print_request_ids
                                            : print_pending_request,
                     .silent = cli->args.ids};
    int code;

    if (cli->args.ids && cli->args.json)
        return mortise_cli_fail_usage(
            cli, "--ids and --json cannot be used together");
    code = cli->args.n_operands > 0
               ? list_inbox_of_run(cli, &l, err)
               : run_list(cli, &l, "no requests are pending", err);
    mortise_cli_print_engine_hint(cli, l.timed);
    json_decref(l.timed);
    json_decref(l.run);
    return code;
}

static const struct mortise_opt inbox_opts[] = {
    MORTISE_OPT_FLAG("ids", ids,
                     "Print only a line RUN ID for each request: these are\n"
                     "arguments for approve, reject, answer and resolve"),
    LIST_OPTS};

const struct mortise_cmd mortise_cmd_inbox = {
    .name = "inbox",
    .operands = "[RUN]",
    .looks = true,
    .summary = "List pending requests, of all runs or of one",
    .text = "Each entry has the question and the commands that settle the\n"
            "request.\n"
            "\n"
            "RUN can be the beginning of an id if no other run's id has the\n"
            "same beginning.  With --ids, RUN must be a whole id.\n",
    .opts = inbox_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise inbox\n"
               "mortise approve $(mortise inbox night --ids)\n"
               "mortise inbox --ids | xargs -n 2 mortise approve",
    .run = inbox,
};
