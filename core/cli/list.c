/* list.c -- `mortise runs` and `mortise inbox`: pages of what the store has.
 *
 * The store is asked page by page and each page is printed before the next is
 * fetched, so a list may be longer than memory.  With --json each entry is one
 * line, for the same reason.
 */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/cli.h"
#include "json/value.h"

enum { PAGE = 100 };

struct list {
    const char *what, *member; /* the request, and where its entries are */
    void (*print)(struct mortise_cli *cli, struct list *l, const json_t *entry);
    bool silent;   /* nothing but entries goes to stdout */
    uint64_t left; /* entries still wanted */
    uint64_t n;    /* printed */
    json_t *after; /* ours: a string; NULL at the beginning and at the end */
    json_t *run;   /* ours: show of the run whose entry was printed last */
};

static void print_entry(struct mortise_cli *cli, struct list *l,
                        const json_t *entry)
{
    if (cli->args.json)
        mortise_out_json(&cli->out, entry, false);
    else
        l->print(cli, l, entry);
    l->n++;
    l->left--;
}

/* Fetch and print one page; l->after is where the next begins. */
static int page(struct mortise_cli *cli, struct list *l,
                struct mortise_err *err)
{
    uint64_t limit = l->left < PAGE ? l->left : PAGE;
    json_t *reply = NULL, *next;
    int rv = mortise_cli_call(
        cli, l->what,
        json_pack("{s:O*, s:I}", "after", l->after, "limit", (json_int_t)limit),
        NULL, NULL, &reply, err);

    json_decref(l->after);
    l->after = NULL;
    if (rv != MORTISE_OK)
        return rv;
    MORTISE_JSON_EACH (entry, i, json_object_get(reply, l->member))
        print_entry(cli, l, entry);
    mortise_out_flush(&cli->out);
    next = json_object_get(reply, "next");
    if (json_is_string(next))
        l->after = json_incref(next);
    json_decref(reply);
    return MORTISE_OK;
}

/* All pages that are wanted. */
static int print_all(struct mortise_cli *cli, struct list *l,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    l->left = UINT64_MAX;
    if (cli->args.limit != NULL)
        rv = mortise_cli_number("--limit", cli->args.limit, &l->left, err);
    if (rv == MORTISE_OK && l->left == 0)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "--limit: 0 would list nothing; give 1 or more");
    if (rv == MORTISE_OK && cli->args.after != NULL) {
        l->after = json_string(cli->args.after);
        rv = l->after != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv != MORTISE_OK && cli->args.store == NULL && cli->no_store)
        return MORTISE_OK; /* an empty list */
    while (rv == MORTISE_OK && l->left > 0) {
        rv = page(cli, l, err);
        if (l->after == NULL || cli->out.errnum != 0)
            break;
    }
    return rv;
}

/* The whole command; `none` is said when there was nothing. */
static int list(struct mortise_cli *cli, struct list *l, const char *none,
                struct mortise_err *err)
{
    struct mortise_out *o = l->silent ? &cli->err : &cli->out;
    struct mortise_err lack;
    int rv = print_all(cli, l, err);

    if (rv == MORTISE_OK && l->n == 0 && !cli->args.json &&
        !mortise_cli_lacks(cli, &lack))
        mortise_out_printf(o, "%s\n", none);
    if (rv == MORTISE_OK && l->after != NULL && !cli->args.json) {
        mortise_out_puts(o, "more: --after ");
        mortise_out_shell(o, json_string_value(l->after));
        mortise_out_puts(o, "\n");
    }
    json_decref(l->after);
    return rv;
}

#define LIST_OPTS                                                              \
    MORTISE_OPT_TEXT("after", "CURSOR", after,                                 \
                     "Begin behind this entry, as the last page said"),        \
        MORTISE_OPT_TEXT("limit", "N", limit,                                  \
                         "At most so many (default: all)"),                    \
        MORTISE_OPT_JSON("One JSON object a line"), MORTISE_OPTS_OF_RUNS

/* ---- runs ------------------------------------------------------------------
 */

static enum mortise_style style_of(const char *status)
{
    switch (mortise_status_of_name(status)) {
    case MORTISE_RUN_COMPLETED:
        return MORTISE_GOOD;
    case MORTISE_RUN_WAITING:
    case MORTISE_RUN_PAUSED:
        return MORTISE_ASKS;
    case MORTISE_RUN_IN_DOUBT:
    case MORTISE_RUN_BLOCKED:
    case MORTISE_RUN_FAILED:
        return MORTISE_BAD;
    default:
        return MORTISE_PLAIN;
    }
}

static void print_run(struct mortise_cli *cli, struct list *l,
                      const json_t *entry)
{
    struct mortise_out *o = &cli->out;
    enum mortise_style style = style_of(mortise_cli_text(entry, "status"));
    const char *reason = mortise_cli_text(entry, "reason");

    (void)l;
    mortise_out_cell(o, mortise_cli_text(entry, "run"), 36);
    mortise_out_puts(o, "  ");
    mortise_out_styled(o, style, mortise_cli_status(entry), 9);
    mortise_out_puts(o, "  ");
    mortise_out_cell(o, mortise_cli_text(entry, "updated"), 24);
    mortise_out_say(o, "  %s%s%s%s\n", mortise_cli_text(entry, "graph"),
                    reason[0] != '\0' ? "  " : "", reason,
                    json_is_true(json_object_get(entry, "unsigned"))
                        ? "  (unsigned plugin)"
                        : "");
}

/* Is there a store, or would looking make one? */
static bool has_store(struct mortise_cli *cli)
{
    struct mortise_settings settings;
    bool is = mortise_cli_settings(cli, &settings, NULL) != MORTISE_OK ||
              access(settings.store, F_OK) == 0;

    mortise_settings_close(&settings);
    return is; /* or there are words to be said about it */
}

static int runs(struct mortise_cli *cli, struct mortise_err *err)
{
    struct list l = {.what = "runs", .member = "runs", .print = print_run};

    if (cli->args.existing && !has_store(cli))
        return MORTISE_EXIT_OK;
    return list(cli, &l, "no runs", err);
}

static const struct mortise_opt runs_opts[] = {
    MORTISE_OPT_FLAG("existing", existing,
                     "Say nothing where there is no store"),
    LIST_OPTS,
};

const struct mortise_cmd mortise_cmd_runs = {
    .name = "runs",
    .operands = "",
    .looks = true,
    .summary = "List runs, in the order of their ids",
    .text = "A line each: id, status, when it last changed, graph, reason.\n"
            "Ids that we made sort by the time they were made.\n",
    .opts = runs_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise runs --limit 20",
    .run = runs,
};

/* ---- inbox -----------------------------------------------------------------
 */

/* Is the run blocked?  Its requests follow each other: it is asked once. */
static const json_t *blocked(struct mortise_cli *cli, struct list *l,
                             const char *run)
{
    if (strcmp(mortise_cli_text(l->run, "run"), run) != 0) {
        json_decref(l->run);
        l->run = NULL;
        mortise_cli_show(cli, run, &l->run, NULL);
    }
    return json_object_get(l->run, "blocked");
}

static void print_pending(struct mortise_cli *cli, struct list *l,
                          const json_t *entry)
{
    const char *run = mortise_cli_text(entry, "run");
    const struct mortise_cli_way way =
        mortise_cli_way_on(cli, &cli->out, run, blocked(cli, l, run));

    mortise_out_say(&cli->out, "run %s: ", run);
    mortise_cli_print_request(&way, entry);
}

/* What a shell splits into the operands of a decision. */
static void print_ids(struct mortise_cli *cli, struct list *l,
                      const json_t *entry)
{
    (void)l;
    mortise_out_say(&cli->out, "%s %s\n", mortise_cli_text(entry, "run"),
                    mortise_cli_text(entry, "id"));
}

/* What waits in one run.  Where ids alone are printed, for the next command to
 * act upon, the run is named as that command would have to. */
static int inbox_of_run(struct mortise_cli *cli, struct list *l,
                        struct mortise_err *err)
{
    const char *given = cli->args.operands[0];
    char run[MORTISE_RUN_MAX];
    json_t *one;
    size_t i;
    int rv;

    if (cli->args.after != NULL || cli->args.limit != NULL)
        return mortise_cli_usage(cli, "--after and --limit are for the inbox "
                                      "of all runs");
    rv = cli->args.ids ? mortise_cli_run_to_change(cli, given, run, err)
                       : mortise_cli_run_to_read(cli, given, run, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_show(cli, run, &l->run, err);
    json_array_foreach(json_object_get(l->run, "pending"), i, one)
    {
        if (mortise_cli_is_timer(one))
            continue; /* it asks nobody */
        json_object_set_new(one, "run", json_string(run));
        print_entry(cli, l, one);
    }
    if (rv == MORTISE_OK && l->n == 0 && !cli->args.json)
        mortise_out_say(l->silent ? &cli->err : &cli->out,
                        "nothing waits for anybody: run %s is %s\n", run,
                        mortise_cli_status(l->run));
    return rv;
}

static int inbox(struct mortise_cli *cli, struct mortise_err *err)
{
    struct list l = {.what = "inbox",
                     .member = "pending",
                     .print = cli->args.ids ? print_ids : print_pending,
                     .silent = cli->args.ids};
    int code;

    if (cli->args.ids && cli->args.json)
        return mortise_cli_usage(cli,
                                 "--ids and --json print different things");
    code = cli->args.n_operands > 0
               ? inbox_of_run(cli, &l, err)
               : list(cli, &l, "nothing waits for anybody", err);
    json_decref(l.run);
    return code;
}

static const struct mortise_opt inbox_opts[] = {
    MORTISE_OPT_FLAG("ids", ids,
                     "A line each, RUN ID: what approve, reject, answer\n"
                     "and resolve take"),
    LIST_OPTS};

const struct mortise_cmd mortise_cmd_inbox = {
    .name = "inbox",
    .operands = "[RUN]",
    .looks = true,
    .summary = "List what waits for somebody, over all runs or in one",
    .text = "Each with what is asked, and the commands that settle it.\n"
            "\n"
            "RUN may be the beginning of an id, if no other run begins like "
            "it;\n"
            "with --ids it is a whole id.\n",
    .opts = inbox_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise inbox\n"
               "mortise approve $(mortise inbox night --ids)\n"
               "mortise inbox --ids | xargs -n 2 mortise approve",
    .run = inbox,
};
