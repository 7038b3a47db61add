/* chat.c -- `mortise chat`: talk with a model of the deployment.
 *
 * There is no second way of doing things behind it: a chat is a run of a graph,
 * of two nodes, one of which asks a person what is to be said and the other a
 * model.  So it is durable like any other.  Whatever dies, what was said and
 * answered is kept, `--continue` goes on, and show, events, budgets and approvals
 * are those of runs.
 *
 * While somebody thinks about what to say, nothing is at work here, and the store
 * is let go of: other commands use it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "cli/watch.h"
#include "core/json/value.h"

static const char graph_name[] = "mortise-chat";

struct chat {
    struct mortise_cli *cli;
    struct mortise_watching watch;
    struct mortise_buf heard; /* what was read of stdin, and not taken */
    json_t *first;            /* ours: the message of the command line; NULL */
    json_t *last;             /* ours: what the model said last; NULL */
    bool asks;                /* a person is at the terminal */
    bool is_kept;             /* there is something to go on with */
    bool went_on;             /* something was said, or a reply went on */
};

/* ---- the graph ------------------------------------------------------------- */

/* [{tool, ask}] for each of a list of names or patterns. */
static int add_tools(json_t *to, const char *list, bool ask,
                     struct mortise_err *err)
{
    struct mortise_arena a;
    const char **words;
    size_t n = 0;
    int rv = MORTISE_OK;

    mortise_arena_init(&a, &mortise_heap);
    if (list != NULL)
        rv = mortise_cli_words(&a, list, &words, &n, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (json_array_append_new(
                to, json_pack("{s:s, s:b}", "tool", words[i], "ask", ask)) != 0)
            rv = mortise_nomem(err);
    mortise_arena_finish(&a);
    return rv;
}

#define JSON(...) #__VA_ARGS__

/* JSON is YAML.  An empty answer ends it. */
static const char graph_json[] = JSON({
    "apiVersion" : "mortise/v1",
    "kind" : "Graph",
    "metadata" : {"name" : "mortise-chat", "version" : "1.0.0"},
    "state" : {
        "input" : {
            "type" : "object",
            "properties" : {"instructions" : {"type" : "string"}}
        }
    },
    "limits" : {"steps" : 100000, "visits" : 50000},
    "start" : "you",
    "nodes" : {
        "you" : {
            "type" : "human",
            "prompt" : "What is to be said?",
            "schema" : {"type" : "string"},
            "routes" : [ {"when" : "output.answer == ''", "to" : "END"} ],
            "default" : "reply"
        },
        "reply" : {
            "type" : "gmi",
            "llm" : {"provider_id" : "default"},
            "prompt" : "${artifacts.you.answer}",
            "conversation" : "chat",
            "execution_mode" : "react_bounded",
            "stream" : true,
            "retry_policy" : {"max_attempts" : 3, "delay" : "2s"},
            "on_error" : {"goto" : "you"},
            "next" : "you"
        }
    }
});

/* The node that asks the model, with what the command line says of it. */
static int fill_reply(json_t *reply, const struct mortise_args *a,
                      struct mortise_err *err)
{
    json_t *llm = json_object_get(reply, "llm"), *tools = json_array();
    int rv = add_tools(tools, a->allow, false, err);

    if (rv == MORTISE_OK)
        rv = add_tools(tools, a->tools, true, err);
    if (rv == MORTISE_OK && a->model != NULL &&
        json_object_set_new(llm, "provider_id", json_string(a->model)) != 0)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && a->instructions != NULL &&
        json_object_set_new(reply, "instructions",
                            json_string("${input.instructions}")) != 0)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && json_array_size(tools) > 0 &&
        json_object_set(reply, "tool_allowlist", tools) != 0)
        rv = mortise_nomem(err);
    json_decref(tools);
    return rv;
}

/* A chat is as long as it may be. */
static int fill_limits(json_t *limits, struct mortise_cli *cli,
                       struct mortise_err *err)
{
    static const enum mortise_limit bounded[] = {MORTISE_LIMIT_STEPS,
                                                 MORTISE_LIMIT_VISITS};
    struct mortise_settings settings;
    int rv = mortise_cli_peek(cli, &settings, err);

    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        const char *name = mortise_limit_name(bounded[i]);
        uint64_t n = mortise_cli_most(&settings, bounded[i],
                                      mortise_cli_integer(limits, name));

        if (json_object_set_new(limits, name, json_integer((json_int_t)n)) != 0)
            rv = mortise_nomem(err);
    }
    mortise_settings_close(&settings);
    return rv;
}

/* The graph as a text, which is a JSON string. */
static int graph_text(struct mortise_cli *cli, json_t **out,
                      struct mortise_err *err)
{
    json_t *graph = mortise_json_ours(graph_json);
    char *text = NULL;
    int rv = graph != NULL
                 ? fill_reply(json_object_get(json_object_get(graph, "nodes"),
                                              "reply"),
                              &cli->args, err)
                 : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = fill_limits(json_object_get(graph, "limits"), cli, err);

    if (rv == MORTISE_OK)
        text = json_dumps(graph, JSON_INDENT(2));
    *out = text != NULL ? json_string(text) : NULL;
    free(text);
    json_decref(graph);
    return rv == MORTISE_OK && *out == NULL ? mortise_nomem(err) : rv;
}

/* ---- what happens ----------------------------------------------------------- */

static const char *run_of(const struct chat *c)
{
    return c->watch.run;
}

/* Ask, and show what is said until the run rests.  Takes the body. */
static int see(struct chat *c, const char *what, json_t *body,
               struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv = mortise_watch(&c->watch, what, body, &reply, err);

    mortise_out_flush(&c->cli->out);
    json_decref(reply);
    return rv;
}

static int begin(struct chat *c, struct mortise_err *err)
{
    const struct mortise_args *a = &c->cli->args;
    char made[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];
    json_t *source = NULL;
    int rv = graph_text(c->cli, &source, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_uuid_text(made, mortise_uuid7_now());
    mortise_uuid_text(order, mortise_uuid7_now());
    return see(c, "start",
               json_pack("{s:{s:s, s:o}, s:s, s:{s:s*}, s:s, s:s}", "graph",
                         "path", "chat", "source", source, "run",
                         a->id != NULL ? a->id : made, "input", "instructions",
                         a->instructions, "order", order, "until", "idle"),
               err);
}

/* Takes the command; NULL is out of memory. */
static int command(struct chat *c, json_t *one, struct mortise_err *err)
{
    c->went_on = true;
    return see(c, "command",
               mortise_watch_command(&c->watch, json_pack("[o]", one)), err);
}

/* ---- what goes on ------------------------------------------------------------ */

static bool is_over(const json_t *run)
{
    int status = mortise_status_of_name(mortise_cli_text(run, "status"));

    return status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_CANCELLED;
}

static bool is_chat(const char *graph)
{
    return strcmp(graph, graph_name) == 0;
}

/* Of a page of the list, the one that was used last, if that was behind `used`. */
static void find_newer(struct chat *c, const json_t *page, char used[64])
{
    MORTISE_JSON_EACH (one, i, json_object_get(page, "runs")) {
        const char *when = mortise_cli_text(one, "updated");

        if (is_over(one) || !is_chat(mortise_cli_text(one, "graph")) ||
            strcmp(when, used) <= 0)
            continue;
        snprintf(used, 64, "%s", when);
        snprintf(c->watch.run, sizeof c->watch.run, "%s",
                 mortise_cli_text(one, "run"));
    }
}

/* The newest that is not over; MORTISE_ENOTFOUND. */
static int find_newest(struct chat *c, struct mortise_err *err)
{
    json_t *after = NULL, *page;
    char used[64] = "";
    int rv = MORTISE_OK;

    do {
        rv = mortise_cli_call(
            c->cli, "runs",
            json_pack("{s:O*, s:i}", "after", after, "limit", 100), NULL, NULL,
            &page, err);
        json_decref(after);
        if (rv != MORTISE_OK)
            return rv;
        find_newer(c, page, used);
        after = json_incref(json_object_get(page, "next"));
        json_decref(page);
    } while (json_is_string(after));
    json_decref(after);
    return run_of(c)[0] != '\0' ? MORTISE_OK
                                : mortise_fail(err, MORTISE_ENOTFOUND,
                                               "there is no chat to continue; "
                                               "start one with 'mortise chat'");
}

/* What was said last, and how far it is. */
static int note(void *ud, json_t *event)
{
    struct chat *c = ud;
    uint64_t seq = mortise_cli_integer(event, "seq");

    c->watch.seq = seq > c->watch.seq ? seq : c->watch.seq;
    if (strcmp(mortise_cli_text(event, "type"), "model_reply") == 0 &&
        json_object_get(event, "error") == NULL) {
        json_decref(c->last);
        c->last = json_incref(event);
    }
    return 0;
}

/* One that was left, or that died, goes on.  What was under way, or failed, is
 * tried again. */
static int take_up(struct chat *c, struct mortise_err *err)
{
    const char *named = c->cli->args.id;
    json_t *show = NULL;
    int rv = named != NULL
                 ? mortise_cli_run_to_change(c->cli, named, c->watch.run, err)
                 : find_newest(c, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_show(c->cli, run_of(c), &show, err);
    if (rv == MORTISE_OK &&
        !is_chat(mortise_cli_text(json_object_get(show, "graph"), "name")))
        rv = mortise_fail(err, MORTISE_EINVAL, "run %s is not a chat",
                          run_of(c));
    if (rv == MORTISE_OK)
        rv = mortise_cli_recall(c->cli, run_of(c), 0, note, c, err);
    if (rv == MORTISE_OK && c->last != NULL)
        mortise_progress_event(&c->watch.progress, c->last);
    if (rv == MORTISE_OK && !is_over(show) &&
        json_array_size(json_object_get(show, "pending")) == 0)
        rv = command(c, json_pack("{s:s}", "kind", "resume"), err);
    json_decref(show);
    return rv;
}

/* ---- what a person says ------------------------------------------------------- */

/* The first n bytes that were read, and what ends them. */
static json_t *take(struct chat *c, size_t n, struct mortise_err *err)
{
    bool has_end = n < c->heard.n;
    size_t all = n + has_end;
    json_t *line;

    while (n > 0 && (c->heard.p[n - 1] == '\r' || c->heard.p[n - 1] == ' '))
        n--;
    line = memchr(c->heard.p, '\0', n) == NULL
               ? mortise_json_strn(c->heard.p, n)
               : NULL;
    memmove(c->heard.p, c->heard.p + all, c->heard.n - all);
    c->heard.n -= all;
    if (line == NULL)
        mortise_fail(err, MORTISE_EINVAL,
                     "a line of stdin is not valid text: it is not UTF-8, or "
                     "it contains a NUL");
    return line;
}

/* More of stdin; false: there is none, or a signal came first. */
static bool hear(struct chat *c)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = mortise_stop_fd(), .events = POLLIN}};
    char room[4096];
    ssize_t n;

    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    if (fds[1].revents != 0)
        return false;
    n = read(STDIN_FILENO, room, sizeof room);
    if (n > 0)
        mortise_buf_put(&c->heard, room, (size_t)n);
    return n > 0 && !c->heard.failed;
}

/* The next line of stdin; JSON null: there are no more.  NULL with *err. */
static json_t *next_line(struct chat *c, struct mortise_err *err)
{
    const char *end;

    do {
        end = c->heard.n > 0 ? memchr(c->heard.p, '\n', c->heard.n) : NULL;
        if (end != NULL)
            return take(c, (size_t)(end - c->heard.p), err);
    } while (hear(c));
    if (c->heard.failed) {
        mortise_nomem(err);
        return NULL;
    }
    return c->heard.n > 0 && !mortise_stop_came() ? take(c, c->heard.n, err)
                                                  : json_null();
}

/* The next that is not empty.  Meanwhile the store is let go of. */
static json_t *read_line(struct chat *c, const char *prompt,
                         struct mortise_err *err)
{
    struct mortise_out *o = &c->cli->out;
    json_t *line = NULL;

    mortise_cli_leave(c->cli);
    do {
        json_decref(line);
        mortise_out_puts(o, c->asks ? prompt : "");
        mortise_out_flush(o);
        line = next_line(c, err);
    } while (json_is_string(line) && json_string_length(line) == 0);
    if (c->asks && json_is_null(line))
        mortise_out_puts(o, "\n");
    if (line != NULL && mortise_cli_reopen(c->cli, err) != MORTISE_OK)
        mortise_json_drop(&line);
    return line;
}

/* ---- what it waits for ---------------------------------------------------------- */

enum next { GOES_ON, LEAVES };

/* Takes what is said; NULL: with *err. */
static int say(struct chat *c, const json_t *request, json_t *text,
               enum next *next, struct mortise_err *err)
{
    if (text == NULL)
        return err->code;
    if (json_is_null(text)) {
        *next = LEAVES;
        return MORTISE_OK;
    }
    return command(c,
                   json_pack("{s:s, s:s, s:{s:b, s:o}}", "kind", "answer", "id",
                             mortise_cli_text(request, "id"), "value",
                             "approved", 1, "answer", text),
                   err);
}

/* The first n bytes of the line: that word, or its first letter. */
static bool is_word(const char *line, size_t n, const char *word)
{
    return (n == 1 || n == strlen(word)) && strncmp(line, word, n) == 0;
}

/* yes, no, no WHY, or {...}: a command; NULL: none of these, or no memory.
 * Nothing runs by a guess at what else may have been meant. */
static json_t *decision(const json_t *request, const char *line)
{
    const char *digest = mortise_cli_text(request, "digest");
    size_t first = strcspn(line, " ,");
    const char *why = line + first + strspn(line + first, " ,");
    bool yes = line[first] == '\0' && is_word(line, first, "yes");
    bool no = is_word(line, first, "no");
    json_t *args = line[0] == '{'
                       ? mortise_json_load(line, strlen(line), 0,
                                           MORTISE_JSON_DEPTH_OURS, NULL)
                       : NULL;
    json_t *out = NULL;

    if (no || yes || args != NULL)
        out = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:O*}", "kind",
                        "approve_tool", "id", mortise_cli_text(request, "id"),
                        "decision", no ? "reject" : "approve", "reason",
                        no && why[0] != '\0' ? why : NULL, "digest",
                        digest[0] != '\0' ? digest : NULL, "value", args);
    json_decref(args);
    return out;
}

/* May it call that tool? */
static int ask(struct chat *c, const json_t *request, enum next *next,
               struct mortise_err *err)
{
    json_t *made = NULL, *line;

    mortise_cli_describe(&c->cli->out, request);
    while (made == NULL) {
        line = read_line(c, "run it? yes, no [WHY], or {ARGUMENTS}: ", err);
        if (line == NULL)
            return err->code;
        if (json_is_null(line)) {
            *next = LEAVES;
            return MORTISE_OK;
        }
        made = decision(request, json_string_value(line));
        json_decref(line);
    }
    return command(c, made, err);
}

/* What somebody must do elsewhere. */
static void print_pending(struct chat *c, const json_t *show)
{
    const struct mortise_cli_way way = mortise_cli_way_on(
        c->cli, &c->cli->err, run_of(c), json_object_get(show, "blocked"));

    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        if (!mortise_cli_is_kind(one, "human"))
            mortise_cli_print_request(&way, one);
}

/* As JSON: what it failed of, or what it waits for. */
static int stop_json(struct chat *c, const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    json_t *more = json_pack("{s:s, s:O*}", "run", run_of(c), "pending",
                             json_object_get(show, "pending"));

    if (json_is_object(error))
        mortise_cli_error(c->cli, mortise_cli_text(error, "code"),
                          mortise_cli_text(error, "message"), more);
    else if (!is_over(show))
        mortise_cli_error(
            c->cli, mortise_result_name(MORTISE_ESTATE),
            "the chat waits for a decision and accepts no message until then",
            more);
    else
        json_decref(more);
    return (int)mortise_exit_code_of_status(
        mortise_status_of_name(mortise_cli_text(show, "status")));
}

/* The code that it ends with; it has ended, or stands still. */
static int stop(struct chat *c, const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    int status = mortise_status_of_name(mortise_cli_text(show, "status"));

    c->is_kept = !is_over(show);
    if (is_over(show))
        mortise_cli_note(c->cli, MORTISE_LOG_INFO, "run %s is %s", run_of(c),
                         mortise_cli_text(show, "status"));
    if (c->cli->args.json)
        return stop_json(c, show);
    if (json_is_object(error))
        mortise_out_say(&c->cli->err, "mortise: the chat failed: %s: %s\n",
                        mortise_cli_text(error, "code"),
                        mortise_cli_text(error, "message"));
    print_pending(c, show);
    if (mortise_cli_has_kind(json_object_get(show, "pending"),
                             "approval_pending"))
        mortise_out_puts(&c->cli->err,
                         "mortise: the chat waits for this decision and "
                         "accepts no message until then\n");
    return (int)mortise_exit_code_of_status(status);
}

/* One thing that it waits for; *code where it leaves. */
static int go_on(struct chat *c, const json_t *show, enum next *next, int *code,
                 struct mortise_err *err)
{
    const json_t *pending = json_object_get(show, "pending");
    const json_t *one = json_array_get(pending, 0);
    json_t *text;

    if (one != NULL && mortise_cli_is_kind(one, "human")) {
        text = c->first != NULL ? c->first : read_line(c, "> ", err);
        c->first = NULL;
        return say(c, one, text, next, err);
    }
    if (one != NULL && mortise_cli_is_kind(one, "approval_pending") && c->asks)
        return ask(c, one, next, err);
    *next = LEAVES;
    *code = stop(c, show);
    return MORTISE_OK;
}

/* What a person said is none of what can be said: they may say it otherwise. */
static int say_again(struct chat *c, const struct mortise_err *why)
{
    mortise_out_flush(&c->cli->out);
    mortise_cli_fail(c->cli, why);
    mortise_out_flush(&c->cli->err);
    return MORTISE_OK;
}

static int converse(struct chat *c, int *code, struct mortise_err *err)
{
    enum next next = GOES_ON;
    int rv = MORTISE_OK;

    c->is_kept = true;
    while (rv == MORTISE_OK && next == GOES_ON) {
        json_t *show = NULL;

        if (c->cli->session == NULL)
            rv = mortise_cli_reopen(c->cli, err);
        if (rv == MORTISE_OK)
            rv = mortise_cli_show(c->cli, run_of(c), &show, err);
        if (rv == MORTISE_OK)
            rv = go_on(c, show, &next, code, err);
        if (rv == MORTISE_EINVAL && c->asks)
            rv = say_again(c, err);
        json_decref(show);
    }
    return rv;
}

/* ---- the command ----------------------------------------------------------------- */

/* What brings it back. */
static void say_how(struct chat *c)
{
    mortise_out_flush(&c->cli->out);
    if (c->cli->args.json) {
        mortise_cli_note(
            c->cli, MORTISE_LOG_INFO,
            "the chat is stored; to continue it: chat --continue --id %s",
            run_of(c));
        return;
    }
    mortise_out_puts(&c->cli->err, "the chat is stored; to continue it:\n");
    mortise_cli_suggest_begin(c->cli, &c->cli->err, "chat");
    mortise_out_puts(&c->cli->err, " --continue --id ");
    mortise_out_shell(&c->cli->err, run_of(c));
    mortise_out_puts(&c->cli->err, "\n");
}

/* A script that said nothing has no reply: it is to notice. */
static int note_silence(struct chat *c)
{
    static const char words[] = "no message was given: MESSAGE is missing and "
                                "stdin is empty, so no model was asked";

    if (isatty(STDIN_FILENO) || c->went_on || c->last != NULL || !c->is_kept)
        return MORTISE_EXIT_OK;
    if (c->cli->args.json)
        mortise_cli_error(c->cli, mortise_result_name(MORTISE_EINVAL), words,
                          json_pack("{s:s}", "run", run_of(c)));
    else
        mortise_out_say(&c->cli->err, "mortise: %s\n", words);
    return MORTISE_EXIT_FAILED;
}

static int run_chat(struct chat *c, int *code, struct mortise_err *err)
{
    struct mortise_cli *cli = c->cli;
    int rv = mortise_stop_begin(err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv == MORTISE_OK && cli->args.n_operands > 0) {
        c->first = json_string(cli->args.operands[0]);
        rv = c->first != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = cli->args.go_on ? take_up(c, err) : begin(c, err);
    return rv == MORTISE_OK ? converse(c, code, err) : rv;
}

static int chat(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct chat c = {.cli = cli};
    int code = MORTISE_EXIT_OK, rv;

    if (a->go_on && (a->model != NULL || a->tools != NULL || a->allow != NULL ||
                     a->instructions != NULL))
        return mortise_cli_usage(
            cli, "--continue uses the model, tools and instructions of the "
                 "stored chat; do not give them again");
    mortise_watching_init(&c.watch, cli);
    c.watch.made_graph = true;
    c.watch.progress.chat = c.watch.progress.talk.bare = true;
    mortise_buf_init(&c.heard, cli->mem);
    c.asks = !a->json && isatty(STDIN_FILENO) && cli->out.tty;
    rv = run_chat(&c, &code, err);
    mortise_progress_end(&c.watch.progress);
    if (rv == MORTISE_OK && code == MORTISE_EXIT_OK)
        code = note_silence(&c);
    if (c.is_kept)
        say_how(&c);
    mortise_buf_finish(&c.heard);
    json_decref(c.first);
    json_decref(c.last);
    return rv == MORTISE_OK ? code : rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("model", "ALIAS", model,
                     "Alias of a model of the deployment (default: default)"),
    MORTISE_OPT_TEXT("instructions", "TEXT", instructions,
                     "Instructions for the model, before all messages"),
    MORTISE_OPT_TEXT("tools", "LIST", tools,
                     "Tools that need your approval for each call:\n"
                     "PLUGIN/OPERATION, graph/NAME or patterns (mail/*)"),
    MORTISE_OPT_TEXT("allow", "LIST", allow,
                     "Tools that need no approval, written as in --tools"),
    MORTISE_OPT_FLAG("continue", go_on,
                     "Continue the newest chat that you left or whose\n"
                     "process died"),
    MORTISE_OPT_TEXT("id", "X", id,
                     "Id of the new run; with --continue, of the chat to\n"
                     "continue"),
    MORTISE_OPTS_OF_GOING,
};

const struct mortise_cmd mortise_cmd_chat = {
    .name = "chat",
    .operands = "[MESSAGE]",
    .summary = "Chat with a model; the conversation is stored as a run",
    .text =
        "Each line of stdin is a message.  MESSAGE, if given, is the first\n"
        "message.  A chat is a run like any other: every message is on\n"
        "disk, and 'mortise show RUN --transcript' prints all messages.\n"
        "If a process dies in the middle of a reply, --continue continues\n"
        "this reply.  Ctrl-D leaves the chat, Ctrl-C pauses the chat, and\n"
        "'mortise cancel RUN' ends the chat.\n"
        "\n"
        "Each call of a tool in --tools is shown and waits for your\n"
        "decision.  Type y or yes to approve the call.  To reject it, type\n"
        "n or no, optionally with a reason for the model.  To run the tool\n"
        "with other arguments, type these arguments as a JSON object.\n"
        "After any other input, the chat asks again.  Without a terminal,\n"
        "the command ends, and the call waits for 'mortise approve'.\n"
        "\n"
        "The exit code is 1 if there is neither a MESSAGE nor a line of\n"
        "stdin.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_RUN,
    .session = MORTISE_SESSION_SAME,
    .example = "mortise chat --tools text/grep \"Which lines of notes.txt have "
               "a date?\"",
    .run = chat,
};
