/* memory.c -- `mortise memory ...`: lists, searches, deletes and exports the
 * traces of the deployment's memory.  memory_import.c imports them.
 *
 * All requests go through the interface of the memory plugin, by way of the
 * engine that holds the store (a `memory` request).  So this file does not
 * depend on the plugin's files.
 *
 *   (1) The export contains the traces as they were written: one per line, with
 *       the strength at creation.  Later uses are not exported.
 *   (2) The export is sorted oldest first, so that an import keeps the order.
 *       A memory lists the newest first, so the pages are found first, and then
 *       read again from the oldest on.  Only the start of each page is kept in
 *       memory, and the newest page, because new traces may be added before it.
 *       If traces are forgotten meanwhile, a page can repeat traces of the next
 *       older one; an import ignores the duplicates. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "cli/cli.h"
#include "core/engine/common/traces.h"
#include "core/json/value.h"
#include "mortise/memory.h"

enum {
    PAGE = 200,
    DEFAULT_FOUND = 10, /* default limit of a search */
    BRIEF_MAX = 72      /* bytes of a text in a list */
};

/* ---- requests ----------------------------------------------------------- */

int mortise_cli_call_memory(struct mortise_cli *cli, const char *what,
                            json_t *body, json_t **reply,
                            struct mortise_err *err)
{
    json_t *request = body != NULL
                          ? json_pack("{s:s, s:o}", "what", what, "body", body)
                          : NULL;

    *reply = NULL;
    return mortise_cli_call(cli, "memory", request, NULL, NULL, reply, err);
}

/* Check that the word is in a list terminated by NULL.  MORTISE_EINVAL: the
 * error names the option. */
static int check_word_in_list(const char *option, const char *given, size_t n,
                              const char *const *words, const char *what,
                              struct mortise_err *err)
{
    const char *near;
    char word[32];
    size_t k = 0;

    for (; words[k] != NULL; k++)
        if (strlen(words[k]) == n && memcmp(words[k], given, n) == 0)
            return MORTISE_OK;
    snprintf(word, sizeof word, "%.*s",
             (int)mortise_utf8_get_prefix_size(given, n, sizeof word - 1),
             given);
    near = mortise_nearest_find(word, words, k);
    return mortise_fail(err, MORTISE_EINVAL, "%s: '%s' is not one of %s%s%s%s",
                        option, word, what,
                        near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

static int check_scope_key(const char *scope, size_t n, const char *key,
                           struct mortise_err *err)
{
    if (n == strlen("global") && memcmp(scope, "global", n) == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "--scope: global accepts no =KEY, because global "
                            "traces belong to no key");
    return strlen(key) - 1 < MORTISE_MEMORY_KEY
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "--scope: a KEY has 1 to %d bytes",
                              MORTISE_MEMORY_KEY);
}

/* Put "SCOPE" or "SCOPE=KEY" into a body. */
static int put_scope(json_t *body, const char *given, struct mortise_err *err)
{
    size_t n = strcspn(given, "=");
    const char *key = given[n] == '=' ? given + n + 1 : NULL;
    int rv =
        check_word_in_list("--scope", given, n, mortise_trace_scopes,
                           "global, persona, session and conversation", err);

    if (rv == MORTISE_OK && key != NULL)
        rv = check_scope_key(given, n, key, err);
    if (rv == MORTISE_OK &&
        json_object_set_new(body, "scope", json_stringn(given, n)) != 0)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && key != NULL &&
        json_object_set_new(body, "keys", json_pack("{s%:s}", given, n, key)) !=
            0)
        rv = mortise_nomem(err);
    return rv;
}

/* Put the selection of --type and --scope. */
static int put_selection(const struct mortise_cli *cli, json_t *body,
                         struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    int rv = a->type != NULL
                 ? check_word_in_list(
                       "--type", a->type, strlen(a->type), mortise_trace_types,
                       "episodic, semantic, procedural, prospective "
                       "and relational",
                       err)
                 : MORTISE_OK;

    if (rv == MORTISE_OK && a->type != NULL &&
        json_object_set_new(body, "types", json_pack("[s]", a->type)) != 0)
        rv = mortise_nomem(err);
    return rv == MORTISE_OK && a->scope != NULL ? put_scope(body, a->scope, err)
                                                : rv;
}

/* Check operands that are ids. */
static int check_operand_ids(const struct mortise_cli *cli,
                             struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;

    if (a->n_operands > MORTISE_MEMORY_TRACES)
        return mortise_fail(err, MORTISE_EINVAL,
                            "%zu ids are too many: give at most %d at once",
                            a->n_operands, MORTISE_MEMORY_TRACES);
    for (size_t i = 0; i < a->n_operands; i++)
        if (strlen(a->operands[i]) - 1 >= MORTISE_MEMORY_ID)
            return mortise_fail(
                err, MORTISE_EINVAL,
                "'%.64s' is not a trace id: an id has 1 to %d bytes",
                a->operands[i], MORTISE_MEMORY_ID);
    return MORTISE_OK;
}

static int parse_trace_limit(const struct mortise_cli *cli, uint64_t *left,
                             struct mortise_err *err)
{
    int rv =
        cli->args.limit != NULL
            ? mortise_cli_parse_number("--limit", cli->args.limit, left, err)
            : MORTISE_OK;

    return rv == MORTISE_OK && *left == 0
               ? mortise_fail(err, MORTISE_EINVAL,
                              "--limit: 0 is not possible; give 1 or more")
               : rv;
}

/* ---- traces ------------------------------------------------------------- */

/* Print the first line, truncated if it is long. */
static void print_brief_content(struct mortise_out *o, const char *content)
{
    char text[BRIEF_MAX + 4];
    size_t n = mortise_utf8_get_prefix_size(content, strcspn(content, "\n"),
                                            BRIEF_MAX);

    snprintf(text, sizeof text, "%.*s%s", (int)n, content,
             content[n] != '\0' ? "..." : "");
    mortise_out_print_escaped(o, "%s", text);
}

static void format_trace_scope(const json_t *t, char out[300])
{
    const json_t *key = json_object_get(t, "key");

    snprintf(out, 300, "%s%s%s", mortise_cli_get_text(t, "scope"),
             key != NULL ? "=" : "", key != NULL ? json_string_value(key) : "");
}

static const char *format_creation_time(const json_t *t,
                                        char out[MORTISE_TIME_TEXT])
{
    json_int_t ms = json_integer_value(json_object_get(t, "created_at"));

    mortise_time_format(out, ms > 0 ? (uint64_t)ms : 0);
    return out;
}

static void print_trace_line(struct mortise_cli *cli, const json_t *t)
{
    struct mortise_out *o = &cli->out;
    char place[300], created[MORTISE_TIME_TEXT];

    if (cli->args.json) {
        mortise_out_put_json(o, t, false);
        return;
    }
    format_trace_scope(t, place);
    mortise_out_print_escaped(o, "%s  ", mortise_cli_get_text(t, "id"));
    mortise_out_put_cell(o, mortise_cli_get_text(t, "type"), 11);
    mortise_out_print_escaped(o, "  %s", place);
    mortise_out_printf(o, "  %.2f  %s  ",
                       json_number_value(json_object_get(t, "strength")),
                       format_creation_time(t, created));
    print_brief_content(o, mortise_cli_get_text(t, "content"));
    mortise_out_puts(o, "\n");
}

static void print_trace_details(struct mortise_cli *cli, const json_t *t)
{
    const json_t *metadata = json_object_get(t, "metadata");
    struct mortise_out *o = &cli->out;
    char place[300], created[MORTISE_TIME_TEXT];

    format_trace_scope(t, place);
    mortise_out_print_escaped(o, "id        %s\ntype      %s\nscope     %s\n",
                              mortise_cli_get_text(t, "id"),
                              mortise_cli_get_text(t, "type"), place);
    mortise_out_printf(o, "strength  %.3f\ncreated   %s\n",
                       json_number_value(json_object_get(t, "strength")),
                       format_creation_time(t, created));
    if (metadata != NULL) {
        mortise_out_puts(o, "metadata  ");
        mortise_out_put_json(o, metadata, false);
    }
    mortise_out_print_escaped(o, "\n%s\n", mortise_cli_get_text(t, "content"));
}

/* Print the memory's note about an incomplete answer. */
static void print_reply_note(struct mortise_cli *cli, const json_t *reply)
{
    const char *note = mortise_cli_get_text(reply, "note");

    if (note[0] != '\0')
        mortise_cli_print_remark(cli, MORTISE_LOG_WARN, "%s", note);
}

/* ---- list and export ----------------------------------------------------- */

struct listing {
    uint64_t left, n;
    json_t *after; /* owned; NULL at the beginning and the end */
};

/* Read a page, newest first. */
static int read_trace_page(struct mortise_cli *cli, uint64_t most,
                           json_t *after, json_t **reply,
                           struct mortise_err *err)
{
    json_t *body = json_pack("{s:I, s:s, s:O*}", "max_traces", (json_int_t)most,
                             "order", "time", "after", after);
    int rv = body != NULL ? put_selection(cli, body, err) : mortise_nomem(err);

    *reply = NULL;
    if (rv == MORTISE_OK)
        return mortise_cli_call_memory(cli, "read", body, reply, err);
    json_decref(body);
    return rv;
}

static int fail_invalid_position(const struct mortise_cli *cli,
                                 struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL,
                        "--after: '%.64s' is not a position in this memory; "
                        "give the POSITION that `memory list` prints at the "
                        "end of a page (more: ... --after POSITION)",
                        cli->args.after);
}

/* The rest of the request was checked before, so an error of the memory in the
 * first page is about the position. */
static bool is_position_error(const struct listing *l, int rv,
                              const struct mortise_err *err)
{
    return rv == MORTISE_EINVAL && l->n == 0 && l->after != NULL &&
           strstr(err->msg, MORTISE_MEMORY_REQUEST) != NULL;
}

static int print_trace_page(struct mortise_cli *cli, struct listing *l,
                            struct mortise_err *err)
{
    uint64_t most = l->left < PAGE ? l->left : PAGE;
    json_t *reply;
    int rv = read_trace_page(cli, most, l->after, &reply, err);

    if (is_position_error(l, rv, err))
        rv = fail_invalid_position(cli, err);
    mortise_json_clear_ref(&l->after);
    if (rv != MORTISE_OK)
        return rv;
    MORTISE_JSON_EACH (one, i, json_object_get(reply, "traces")) {
        print_trace_line(cli, one);
        l->n++;
        l->left--;
    }
    mortise_out_flush(&cli->out);
    l->after = json_incref(json_object_get(reply, "next"));
    json_decref(reply);
    return MORTISE_OK;
}

static int print_trace_pages(struct mortise_cli *cli, struct listing *l,
                             struct mortise_err *err)
{
    int rv = mortise_cli_open(cli, NULL, err);

    while (rv == MORTISE_OK && l->left > 0) {
        rv = print_trace_page(cli, l, err);
        if (l->after == NULL || cli->out.errnum != 0)
            break;
    }
    return rv;
}

static int memory_list(struct mortise_cli *cli, struct mortise_err *err)
{
    struct listing l = {.left = UINT64_MAX};
    int rv = parse_trace_limit(cli, &l.left, err);

    if (rv == MORTISE_OK && cli->args.after != NULL) {
        l.after = json_string(cli->args.after);
        rv = l.after == NULL ? mortise_nomem(err)
             : strlen(cli->args.after) - 1 < MORTISE_MEMORY_NEXT
                 ? MORTISE_OK
                 : fail_invalid_position(cli, err);
    }
    if (rv == MORTISE_OK)
        rv = print_trace_pages(cli, &l, err);
    if (rv == MORTISE_OK && l.n == 0 && !cli->args.json)
        mortise_out_puts(&cli->out, "no traces\n");
    if (rv == MORTISE_OK && l.after != NULL)
        mortise_cli_print_next_page(cli, json_string_value(l.after));
    json_decref(l.after);
    return rv;
}

/* (1) */
static void print_exported_trace(struct mortise_cli *cli, const json_t *trace)
{
    json_t *t = json_copy(mortise_json_unconst(trace));
    json_t *initial = json_object_get(t, "initial");

    if (initial != NULL)
        json_object_set(t, "strength", initial);
    json_object_del(t, "initial");
    json_object_del(t, "score");
    if (t != NULL)
        mortise_out_put_json(&cli->out, t, false);
    json_decref(t);
}

static void print_page_oldest_first(struct mortise_cli *cli, const json_t *page)
{
    const json_t *traces = json_object_get(page, "traces");

    for (size_t i = json_array_size(traces); i-- > 0;)
        print_exported_trace(cli, json_array_get(traces, i));
    mortise_out_flush(&cli->out);
}

/* Read the newest page, and find the start of each other page.  After an error,
 * `starts` has those found so far. */
static int find_page_starts(struct mortise_cli *cli, json_t **newest,
                            json_t *starts, struct mortise_err *err)
{
    int rv = read_trace_page(cli, PAGE, NULL, newest, err);
    json_t *reply = json_incref(*newest), *next;

    while (rv == MORTISE_OK &&
           (next = json_object_get(reply, "next")) != NULL) {
        rv = json_array_append(starts, next) == 0 ? MORTISE_OK
                                                  : mortise_nomem(err);
        json_incref(next);
        json_decref(reply);
        reply = NULL;
        if (rv == MORTISE_OK)
            rv = read_trace_page(cli, PAGE, next, &reply, err);
        json_decref(next);
    }
    json_decref(reply);
    return rv;
}

/* (2) */
static int memory_export(struct mortise_cli *cli, struct mortise_err *err)
{
    json_t *newest = NULL, *starts = json_array(), *reply;
    struct mortise_err later;
    int rv = mortise_cli_open(cli, NULL, err);

    if (rv == MORTISE_OK)
        rv = starts != NULL ? find_page_starts(cli, &newest, starts, err)
                            : mortise_nomem(err);
    for (size_t i = json_array_size(starts); cli->out.errnum == 0 && i-- > 0;) {
        int read = read_trace_page(cli, PAGE, json_array_get(starts, i), &reply,
                                   rv == MORTISE_OK ? err : &later);

        print_page_oldest_first(cli, reply);
        json_decref(reply);
        rv = rv == MORTISE_OK ? read : rv;
    }
    print_page_oldest_first(cli, newest);
    json_decref(newest);
    json_decref(starts);
    return rv;
}

/* ---- search and show ----------------------------------------------------- */

static int memory_search(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *query = cli->args.operands[0];
    uint64_t most = DEFAULT_FOUND;
    json_t *reply = NULL, *body;
    int rv = parse_trace_limit(cli, &most, err);

    if (query[strspn(query, " \t\r\n")] == '\0')
        return mortise_cli_fail_usage(
            cli, "QUERY has no word to search for; `memory "
                 "list` prints all traces, newest first");
    body = json_pack("{s:s, s:I}", "query", query, "max_traces",
                     (json_int_t)(most > 1000 ? 1000 : most));
    if (rv == MORTISE_OK)
        rv = body != NULL ? put_selection(cli, body, err) : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv != MORTISE_OK) {
        json_decref(body);
        return rv;
    }
    rv = mortise_cli_call_memory(cli, "read", body, &reply, err);
    MORTISE_JSON_EACH (one, i, json_object_get(reply, "traces"))
        print_trace_line(cli, one);
    if (rv == MORTISE_OK && !cli->args.json &&
        json_array_size(json_object_get(reply, "traces")) == 0)
        mortise_out_puts(&cli->out, "no matching traces\n");
    mortise_out_flush(&cli->out);
    print_reply_note(cli, reply);
    json_decref(reply);
    return rv;
}

static int memory_show(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *id = cli->args.operands[0];
    json_t *reply = NULL, *trace;
    int rv = check_operand_ids(cli, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_call_memory(
            cli, "read", json_pack("{s:[s], s:i}", "ids", id, "max_traces", 1),
            &reply, err);
    trace = json_array_get(json_object_get(reply, "traces"), 0);
    if (rv == MORTISE_OK && trace == NULL)
        rv = mortise_fail(err, MORTISE_ENOTFOUND, "no trace '%.128s'", id);
    else if (rv == MORTISE_OK && cli->args.json)
        mortise_out_put_json(&cli->out, trace, false);
    else if (rv == MORTISE_OK)
        print_trace_details(cli, trace);
    json_decref(reply);
    return rv;
}

/* ---- forget -------------------------------------------------------------- */

static json_t *list_operand_ids(char *const *operands, size_t n)
{
    json_t *ids = json_array();

    for (size_t i = 0; ids != NULL && i < n; i++)
        if (json_array_append_new(ids, json_string(operands[i])) != 0)
            mortise_json_clear_ref(&ids);
    return ids;
}

/* Add the ids that none of the traces has. */
static int add_missing_ids(json_t *missing, const json_t *ids,
                           const json_t *traces, struct mortise_err *err)
{
    MORTISE_JSON_EACH (id, i, ids) {
        bool is_there = false;

        MORTISE_JSON_EACH (one, k, traces)
            is_there = is_there || json_equal(json_object_get(one, "id"), id);
        if (!is_there &&
            json_array_append(missing, mortise_json_unconst(id)) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

/* Find the operands that are not ids of traces.  Each request has only as many
 * ids as fit into one answer with all of their traces. */
static int find_missing_ids(struct mortise_cli *cli, json_t *missing,
                            struct mortise_err *err)
{
    static const size_t most =
        MORTISE_MEMORY_ANSWER /
        (MORTISE_MEMORY_CONTENT + MORTISE_MEMORY_METADATA);
    const struct mortise_args *a = &cli->args;
    int rv = missing != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t at = 0; rv == MORTISE_OK && at < a->n_operands; at += most) {
        size_t n = a->n_operands - at < most ? a->n_operands - at : most;
        json_t *ids = list_operand_ids(a->operands + at, n), *reply = NULL;

        rv = mortise_cli_call_memory(
            cli, "read",
            json_pack("{s:O, s:I}", "ids", ids, "max_traces", (json_int_t)n),
            &reply, err);
        if (rv == MORTISE_OK)
            rv = add_missing_ids(missing, ids, json_object_get(reply, "traces"),
                                 err);
        json_decref(reply);
        json_decref(ids);
    }
    return rv;
}

static int make_forget_body(const struct mortise_cli *cli, json_t *body,
                            struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    uint64_t before;
    int rv = put_selection(cli, body, err);

    if (rv == MORTISE_OK && a->n_operands > 0 &&
        json_object_set_new(body, "ids",
                            list_operand_ids(a->operands, a->n_operands)) != 0)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && a->before != NULL) {
        rv = mortise_cli_parse_moment("--before", a->before, &before, err);
        if (rv == MORTISE_OK &&
            json_object_set_new(body, "before",
                                json_integer((json_int_t)before)) != 0)
            rv = mortise_nomem(err);
    }
    if (rv == MORTISE_OK && a->all &&
        json_object_set_new(body, "all", json_true()) != 0)
        rv = mortise_nomem(err);
    return rv;
}

/* Takes the body. */
static int forget_selected_traces(struct mortise_cli *cli, json_t *body,
                                  struct mortise_err *err)
{
    json_t *missing = json_array(), *reply = NULL;
    int rv = find_missing_ids(cli, missing, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call_memory(cli, "forget", body, &reply, err);
    else
        json_decref(body);
    if (rv == MORTISE_OK && cli->args.json)
        mortise_out_put_json(&cli->out, reply, false);
    else if (rv == MORTISE_OK)
        mortise_out_print_escaped(
            &cli->out, "forgot %llu\n",
            (unsigned long long)mortise_cli_get_integer(reply, "forgotten"));
    MORTISE_JSON_EACH (id, i, missing)
        if (rv == MORTISE_OK)
            mortise_cli_print_remark(cli, MORTISE_LOG_INFO, "no trace '%s'",
                                     json_string_value(id));
    json_decref(missing);
    json_decref(reply);
    return rv;
}

static int memory_forget(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    bool some = a->n_operands > 0 || a->type != NULL || a->scope != NULL ||
                a->before != NULL;
    json_t *body;
    int rv;

    if (some == a->all)
        return mortise_cli_fail_usage(
            cli, some ? "--all forgets all traces of the tenant; it cannot be "
                        "used with other selections"
                      : "select traces: give ids, --type, --scope, --before, "
                        "or --all");
    body = json_object();
    rv = body != NULL ? check_operand_ids(cli, err) : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = make_forget_body(cli, body, err);
    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv == MORTISE_OK)
        return forget_selected_traces(cli, body, err);
    json_decref(body);
    return rv;
}

/* ---- subcommands -------------------------------------------------------- */

#define MEANT_OPTS                                                             \
    MORTISE_OPT_TEXT("type", "TYPE", type,                                     \
                     "Only traces of this type: episodic, semantic,\n"         \
                     "procedural, prospective or relational"),                 \
        MORTISE_OPT_TEXT("scope", "SCOPE[=KEY]", scope,                        \
                         "Only traces of this scope: global, persona,\n"       \
                         "session or conversation; with =KEY only traces\n"    \
                         "with this key")

static const struct mortise_opt list_opts[] = {
    MEANT_OPTS,
    MORTISE_OPT_TEXT("after", "POSITION", after,
                     "Begin after this position, which the previous page\n"
                     "printed at its end"),
    MORTISE_OPT_TEXT("limit", "N", limit,
                     "Maximum number of entries (default: all)"),
    MORTISE_OPT_JSON("One trace a line"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_list = {
    .name = "memory list",
    .operands = "",
    .summary = "List the traces in the deployment's memory, newest first",
    .text =
        "A trace is one text that the memory stores.  Each line has the\n"
        "id, type, scope, current strength, time of creation and the\n"
        "beginning of the text of a trace.  The list is sorted by the time\n"
        "at which this memory wrote the trace: an imported trace counts as\n"
        "new, even if it was created long ago.\n",
    .opts = list_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory list --type semantic --limit 20",
    .run = memory_list,
};

static const struct mortise_opt search_opts[] = {
    MEANT_OPTS,
    MORTISE_OPT_TEXT("limit", "N", limit,
                     "Maximum number of entries (default: 10)"),
    MORTISE_OPT_JSON("One trace a line"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_search = {
    .name = "memory search",
    .operands = "QUERY",
    .summary = "Search the deployment's memory",
    .text =
        "The memory plugin ranks the traces; the best is first.  The lines\n"
        "have the format of `memory list`.  If the search is incomplete\n"
        "because a model could not be asked, the command prints this on\n"
        "stderr.\n",
    .opts = search_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory search 'refund for Anna'",
    .run = memory_search,
};

static const struct mortise_opt show_opts[] = {
    MORTISE_OPT_JSON("As JSON, on one line"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_show = {
    .name = "memory show",
    .operands = "ID",
    .summary = "Show one trace of the deployment's memory",
    .text = "The command prints the text, the type, the scope and the current\n"
            "strength.\n",
    .opts = show_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory show note-1",
    .run = memory_show,
};

static const struct mortise_opt forget_opts[] = {
    MEANT_OPTS,
    MORTISE_OPT_TEXT("before", "WHEN", before,
                     "Only traces created before then: 30d, 2026-11-26"),
    MORTISE_OPT_FLAG("all", all, "All traces of the tenant"),
    MORTISE_OPT_JSON("The number of traces, as JSON"),
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_forget = {
    .name = "memory forget",
    .operands = "[ID...]",
    .summary = "Delete traces from the deployment's memory",
    .text = "The command deletes the traces that match all given conditions.\n"
            "The ids are one condition, and each option is another: with ids\n"
            "and --type, only those traces among the ids that have this type\n"
            "are deleted.  Give at least one condition, or --all.\n"
            "\n"
            "Nothing can read a deleted trace again.  If a run writes this\n"
            "trace again, it stays deleted.  Only `memory import --restore`\n"
            "restores it.  An unknown id is printed on stderr and is not an\n"
            "error, so you can repeat the command.  Runs keep the copies of\n"
            "traces that they have recorded.\n",
    .opts = forget_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory forget --scope session=4711\n"
               "mortise memory forget --before 365d --type episodic",
    .run = memory_forget,
};

static const struct mortise_opt export_opts[] = {
    MEANT_OPTS,
    MORTISE_OPTS_OF_RUNS,
};

const struct mortise_cmd mortise_cmd_memory_export = {
    .name = "memory export",
    .operands = "",
    .summary = "Print all traces in the deployment's memory, for an import",
    .text = "Each line is a JSON object.  The lines are in the order of\n"
            "writing, so that an import keeps this order.  Each trace is\n"
            "exported with the strength that it had when it was created,\n"
            "without its later uses.  The command reads the memory twice and\n"
            "omits traces that are written meanwhile.\n",
    .opts = export_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise memory export > traces.jsonl",
    .run = memory_export,
};
