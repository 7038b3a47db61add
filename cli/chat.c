/* chat.c -- `mortise chat`: talk with a model of the deployment.
 *
 * A chat is an ordinary run of a graph with two nodes: one asks a person for a
 * message, the other asks the model.  So it is durable: after a crash, all
 * messages and replies are kept, and `--continue` resumes the chat.  show,
 * events, budgets and approvals work as for other runs.
 *
 * While the person writes a message, the store is closed, so that other
 * commands can use it.
 */
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
    struct mortise_watch_session watch;
    struct mortise_buf unread_input; /* read from stdin and not yet used */
    json_t *first;     /* owned: the MESSAGE of the command line; NULL */
    json_t *last;      /* owned: the last event model_reply; NULL */
    bool asks;         /* stdin and stdout are a terminal */
    bool is_kept;      /* the chat can be continued */
    bool has_progress; /* a message was sent or a reply resumed */
};

/* ---- the graph ------------------------------------------------------------- */

/* Append {tool, ask} for each name or pattern of a list. */
static int add_tools(json_t *to, const char *list, bool ask_for_approval,
                     struct mortise_err *err)
{
    struct mortise_arena a;
    const char **words;
    size_t n = 0;
    int rv = MORTISE_OK;

    mortise_arena_init(&a, &mortise_heap);
    if (list != NULL)
        rv = mortise_cli_split_list(&a, list, &words, &n, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (json_array_append_new(to, json_pack("{s:s, s:b}", "tool", words[i],
                                                "ask", ask_for_approval)) != 0)
            rv = mortise_nomem(err);
    mortise_arena_finish(&a);
    return rv;
}

#define JSON(...) #__VA_ARGS__

/* JSON is YAML.  An empty answer ends the chat. */
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

/* Fill in the model's node from the options. */
static int fill_reply_node(json_t *reply, const struct mortise_args *a,
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

/* Lower the graph's limits to the bounds of the deployment. */
static int fill_chat_limits(json_t *limits, struct mortise_cli *cli,
                            struct mortise_err *err)
{
    static const enum mortise_limit bounded[] = {MORTISE_LIMIT_STEPS,
                                                 MORTISE_LIMIT_VISITS};
    struct mortise_settings settings;
    int rv = mortise_cli_open_settings_quietly(cli, &settings, err);

    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        const char *name = mortise_limit_name(bounded[i]);
        uint64_t n = mortise_cli_get_limit(
            &settings, bounded[i], mortise_cli_get_integer(limits, name));

        if (json_object_set_new(limits, name, json_integer((json_int_t)n)) != 0)
            rv = mortise_nomem(err);
    }
    mortise_settings_close(&settings);
    return rv;
}

/* The graph's source text, as a JSON string. */
static int make_graph_source(struct mortise_cli *cli, json_t **out,
                             struct mortise_err *err)
{
    json_t *graph = mortise_json_parse_trusted(graph_json);
    char *text = NULL;
    int rv =
        graph != NULL
            ? fill_reply_node(
                  json_object_get(json_object_get(graph, "nodes"), "reply"),
                  &cli->args, err)
            : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = fill_chat_limits(json_object_get(graph, "limits"), cli, err);

    if (rv == MORTISE_OK)
        text = json_dumps(graph, JSON_INDENT(2));
    *out = text != NULL ? json_string(text) : NULL;
    free(text);
    json_decref(graph);
    return rv == MORTISE_OK && *out == NULL ? mortise_nomem(err) : rv;
}

/* ---- requests to the run ----------------------------------------------- */

static const char *get_chat_run(const struct chat *c)
{
    return c->watch.run;
}

/* Send a request and print events until the run is idle.  Takes `body`. */
static int send_and_watch(struct chat *c, const char *what, json_t *body,
                          struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv = mortise_watch_run(&c->watch, what, body, &reply, err);

    mortise_out_flush(&c->cli->out);
    json_decref(reply);
    return rv;
}

static int start_chat_run(struct chat *c, struct mortise_err *err)
{
    const struct mortise_args *a = &c->cli->args;
    char made[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];
    json_t *source = NULL;
    int rv = make_graph_source(c->cli, &source, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_uuid_format(made, mortise_uuid7_make_now());
    mortise_uuid_format(order, mortise_uuid7_make_now());
    return send_and_watch(c, "start",
                          json_pack("{s:{s:s, s:o}, s:s, s:{s:s*}, s:s, s:s}",
                                    "graph", "path", "chat", "source", source,
                                    "run", a->id != NULL ? a->id : made,
                                    "input", "instructions", a->instructions,
                                    "order", order, "until", "idle"),
                          err);
}

/* Takes the command; NULL means that memory ran out. */
static int send_chat_command(struct chat *c, json_t *one,
                             struct mortise_err *err)
{
    c->has_progress = true;
    return send_and_watch(
        c, "command",
        mortise_watch_make_command(&c->watch, json_pack("[o]", one)), err);
}

/* ---- continuing a chat ------------------------------------------------- */

static bool has_run_ended(const json_t *run)
{
    int status = mortise_status_parse(mortise_cli_get_text(run, "status"));

    return status == MORTISE_RUN_COMPLETED || status == MORTISE_RUN_CANCELLED;
}

static bool is_chat_graph(const char *graph)
{
    return strcmp(graph, graph_name) == 0;
}

/* Find the most recently used chat of a page, if it is newer than `used`. */
static void find_newer_chat(struct chat *c, const json_t *page, char used[64])
{
    MORTISE_JSON_EACH (one, i, json_object_get(page, "runs")) {
        const char *when = mortise_cli_get_text(one, "updated");

        if (has_run_ended(one) ||
            !is_chat_graph(mortise_cli_get_text(one, "graph")) ||
            strcmp(when, used) <= 0)
            continue;
        snprintf(used, 64, "%s", when);
        snprintf(c->watch.run, sizeof c->watch.run, "%s",
                 mortise_cli_get_text(one, "run"));
    }
}

/* Find the newest chat that has not ended; MORTISE_ENOTFOUND. */
static int find_newest_chat(struct chat *c, struct mortise_err *err)
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
        find_newer_chat(c, page, used);
        after = json_incref(json_object_get(page, "next"));
        json_decref(page);
    } while (json_is_string(after));
    json_decref(after);
    return get_chat_run(c)[0] != '\0'
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_ENOTFOUND,
                              "there is no chat to continue; "
                              "start one with 'mortise chat'");
}

/* Record the last reply and the last sequence number. */
static int record_last_reply(void *ud, json_t *event)
{
    struct chat *c = ud;
    uint64_t seq = mortise_cli_get_integer(event, "seq");

    c->watch.seq = seq > c->watch.seq ? seq : c->watch.seq;
    if (strcmp(mortise_cli_get_text(event, "type"), "model_reply") == 0 &&
        json_object_get(event, "error") == NULL) {
        json_decref(c->last);
        c->last = json_incref(event);
    }
    return 0;
}

/* Continue an earlier chat.  An interrupted or failed reply is tried again. */
static int continue_chat(struct chat *c, struct mortise_err *err)
{
    const char *named = c->cli->args.id;
    json_t *show = NULL;
    int rv = named != NULL ? mortise_cli_find_run_to_change(c->cli, named,
                                                            c->watch.run, err)
                           : find_newest_chat(c, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(c->cli, get_chat_run(c), &show, err);
    if (rv == MORTISE_OK && !is_chat_graph(mortise_cli_get_text(
                                json_object_get(show, "graph"), "name")))
        rv = mortise_fail(err, MORTISE_EINVAL, "run %s is not a chat",
                          get_chat_run(c));
    if (rv == MORTISE_OK)
        rv = mortise_cli_replay_events(c->cli, get_chat_run(c), 0,
                                       record_last_reply, c, err);
    if (rv == MORTISE_OK && c->last != NULL)
        mortise_progress_print_event(&c->watch.progress, c->last);
    if (rv == MORTISE_OK && !has_run_ended(show) &&
        json_array_size(json_object_get(show, "pending")) == 0)
        rv = send_chat_command(c, json_pack("{s:s}", "kind", "resume"), err);
    json_decref(show);
    return rv;
}

/* ---- reading messages -------------------------------------------------- */

/* Remove the first n bytes and the line end after them from the input. */
static json_t *take_input_line(struct chat *c, size_t n,
                               struct mortise_err *err)
{
    bool has_end = n < c->unread_input.n;
    size_t all = n + has_end;
    json_t *line;

    while (n > 0 && (c->unread_input.p[n - 1] == '\r' ||
                     c->unread_input.p[n - 1] == ' '))
        n--;
    line = memchr(c->unread_input.p, '\0', n) == NULL
               ? mortise_json_make_string(c->unread_input.p, n)
               : NULL;
    memmove(c->unread_input.p, c->unread_input.p + all,
            c->unread_input.n - all);
    c->unread_input.n -= all;
    if (line == NULL)
        mortise_fail(err, MORTISE_EINVAL,
                     "a line of stdin is not valid text: it is not UTF-8, or "
                     "it contains a NUL");
    return line;
}

/* Read more of stdin; false at its end, or after a signal. */
static bool read_more_input(struct chat *c)
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
        mortise_buf_put(&c->unread_input, room, (size_t)n);
    return n > 0 && !c->unread_input.failed;
}

/* The next line of stdin; JSON null at its end.  NULL with *err. */
static json_t *get_input_line(struct chat *c, struct mortise_err *err)
{
    const char *end;

    do {
        end = c->unread_input.n > 0
                  ? memchr(c->unread_input.p, '\n', c->unread_input.n)
                  : NULL;
        if (end != NULL)
            return take_input_line(c, (size_t)(end - c->unread_input.p), err);
    } while (read_more_input(c));
    if (c->unread_input.failed) {
        mortise_nomem(err);
        return NULL;
    }
    return c->unread_input.n > 0 && !mortise_stop_has_signal()
               ? take_input_line(c, c->unread_input.n, err)
               : json_null();
}

/* The next non-empty line.  The store is closed meanwhile. */
static json_t *read_message_line(struct chat *c, const char *prompt,
                                 struct mortise_err *err)
{
    struct mortise_out *o = &c->cli->out;
    json_t *line = NULL;

    mortise_cli_release_store(c->cli);
    do {
        json_decref(line);
        mortise_out_puts(o, c->asks ? prompt : "");
        mortise_out_flush(o);
        line = get_input_line(c, err);
    } while (json_is_string(line) && json_string_length(line) == 0);
    if (c->asks && json_is_null(line))
        mortise_out_puts(o, "\n");
    if (line != NULL && mortise_cli_reopen(c->cli, err) != MORTISE_OK)
        mortise_json_clear_ref(&line);
    return line;
}

/* ---- answering the run's requests -------------------------------------- */

enum chat_step { CHAT_GOES_ON, CHAT_LEAVES };

/* Takes `text`; NULL: *err is set. */
static int send_message(struct chat *c, const json_t *request, json_t *text,
                        enum chat_step *chat_step, struct mortise_err *err)
{
    if (text == NULL)
        return err->code;
    if (json_is_null(text)) {
        *chat_step = CHAT_LEAVES;
        return MORTISE_OK;
    }
    return send_chat_command(c,
                             json_pack("{s:s, s:s, s:{s:b, s:o}}", "kind",
                                       "answer", "id",
                                       mortise_cli_get_text(request, "id"),
                                       "value", "approved", 1, "answer", text),
                             err);
}

/* Is the beginning of the line this word, or its first letter? */
static bool is_word_or_letter(const char *line, size_t n, const char *word)
{
    return (n == 1 || n == strlen(word)) && strncmp(line, word, n) == 0;
}

/* Parse yes, no, no WHY, or {...} into a command.  NULL if it is none of
 * these, or memory ran out.  Other input is never guessed to be an approval. */
static json_t *parse_tool_decision(const json_t *request, const char *line)
{
    const char *digest = mortise_cli_get_text(request, "digest");
    size_t first = strcspn(line, " ,");
    const char *why = line + first + strspn(line + first, " ,");
    bool yes = line[first] == '\0' && is_word_or_letter(line, first, "yes");
    bool no = is_word_or_letter(line, first, "no");
    json_t *args = line[0] == '{'
                       ? mortise_json_load(line, strlen(line), 0,
                                           MORTISE_JSON_DEPTH_INTERNAL, NULL)
                       : NULL;
    json_t *out = NULL;

    if (no || yes || args != NULL)
        out =
            json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:O*}", "kind",
                      "approve_tool", "id", mortise_cli_get_text(request, "id"),
                      "decision", no ? "reject" : "approve", "reason",
                      no && why[0] != '\0' ? why : NULL, "digest",
                      digest[0] != '\0' ? digest : NULL, "value", args);
    json_decref(args);
    return out;
}

/* Ask whether the model may call the tool. */
static int ask_for_approval(struct chat *c, const json_t *request,
                            enum chat_step *chat_step, struct mortise_err *err)
{
    json_t *made = NULL, *line;

    mortise_cli_print_question(&c->cli->out, request);
    while (made == NULL) {
        line = read_message_line(
            c, "run it? yes, no [WHY], or {ARGUMENTS}: ", err);
        if (line == NULL)
            return err->code;
        if (json_is_null(line)) {
            *chat_step = CHAT_LEAVES;
            return MORTISE_OK;
        }
        made = parse_tool_decision(request, json_string_value(line));
        json_decref(line);
    }
    return send_chat_command(c, made, err);
}

/* Print the requests that need another command. */
static void print_other_requests(struct chat *c, const json_t *show)
{
    const struct mortise_cli_continuation way =
        mortise_cli_get_continuation(c->cli, &c->cli->err, get_chat_run(c),
                                     json_object_get(show, "blocked"));

    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        if (!mortise_cli_is_kind(one, "human"))
            mortise_cli_print_request(&way, one);
}

/* Print as JSON the error, or the requests that the chat waits for. */
static int print_stop_json(struct chat *c, const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    json_t *more = json_pack("{s:s, s:O*}", "run", get_chat_run(c), "pending",
                             json_object_get(show, "pending"));

    if (json_is_object(error))
        mortise_cli_print_json_error(
            c->cli, mortise_cli_get_text(error, "code"),
            mortise_cli_get_text(error, "message"), more);
    else if (!has_run_ended(show))
        mortise_cli_print_json_error(
            c->cli, mortise_result_name(MORTISE_ESTATE),
            "the chat waits for a decision and accepts no message until then",
            more);
    else
        json_decref(more);
    return (int)mortise_exit_code_of_status(
        mortise_status_parse(mortise_cli_get_text(show, "status")));
}

/* Print why the chat ended or is blocked; returns the exit code. */
static int print_chat_stop(struct chat *c, const json_t *show)
{
    const json_t *error = json_object_get(show, "error");
    int status = mortise_status_parse(mortise_cli_get_text(show, "status"));

    c->is_kept = !has_run_ended(show);
    if (has_run_ended(show))
        mortise_cli_print_remark(c->cli, MORTISE_LOG_INFO, "run %s is %s",
                                 get_chat_run(c),
                                 mortise_cli_get_text(show, "status"));
    if (c->cli->args.json)
        return print_stop_json(c, show);
    if (json_is_object(error))
        mortise_out_print_escaped(&c->cli->err,
                                  "mortise: the chat failed: %s: %s\n",
                                  mortise_cli_get_text(error, "code"),
                                  mortise_cli_get_text(error, "message"));
    print_other_requests(c, show);
    if (mortise_cli_has_kind(json_object_get(show, "pending"),
                             "approval_pending"))
        mortise_out_puts(&c->cli->err,
                         "mortise: the chat waits for this decision and "
                         "accepts no message until then\n");
    return (int)mortise_exit_code_of_status(status);
}

/* Handle the first pending request; *code is set if the chat is left. */
static int go_on(struct chat *c, const json_t *show, enum chat_step *chat_step,
                 int *code, struct mortise_err *err)
{
    const json_t *pending = json_object_get(show, "pending");
    const json_t *one = json_array_get(pending, 0);
    json_t *text;

    if (one != NULL && mortise_cli_is_kind(one, "human")) {
        text = c->first != NULL ? c->first : read_message_line(c, "> ", err);
        c->first = NULL;
        return send_message(c, one, text, chat_step, err);
    }
    if (one != NULL && mortise_cli_is_kind(one, "approval_pending") && c->asks)
        return ask_for_approval(c, one, chat_step, err);
    *chat_step = CHAT_LEAVES;
    *code = print_chat_stop(c, show);
    return MORTISE_OK;
}

/* The message was invalid: print why, and let the person try again. */
static int report_invalid_message(struct chat *c, const struct mortise_err *why)
{
    mortise_out_flush(&c->cli->out);
    mortise_cli_fail(c->cli, why);
    mortise_out_flush(&c->cli->err);
    return MORTISE_OK;
}

static int run_conversation(struct chat *c, int *code, struct mortise_err *err)
{
    enum chat_step chat_step = CHAT_GOES_ON;
    int rv = MORTISE_OK;

    c->is_kept = true;
    while (rv == MORTISE_OK && chat_step == CHAT_GOES_ON) {
        json_t *show = NULL;

        if (c->cli->session == NULL)
            rv = mortise_cli_reopen(c->cli, err);
        if (rv == MORTISE_OK)
            rv = mortise_cli_get_show(c->cli, get_chat_run(c), &show, err);
        if (rv == MORTISE_OK)
            rv = go_on(c, show, &chat_step, code, err);
        if (rv == MORTISE_EINVAL && c->asks)
            rv = report_invalid_message(c, err);
        json_decref(show);
    }
    return rv;
}

/* ---- the command ----------------------------------------------------------------- */

/* Print the command that continues the chat. */
static void print_continue_command(struct chat *c)
{
    mortise_out_flush(&c->cli->out);
    if (c->cli->args.json) {
        mortise_cli_print_remark(
            c->cli, MORTISE_LOG_INFO,
            "the chat is stored; to continue it: chat --continue --id %s",
            get_chat_run(c));
        return;
    }
    mortise_out_puts(&c->cli->err, "the chat is stored; to continue it:\n");
    mortise_cli_start_suggestion(c->cli, &c->cli->err, "chat");
    mortise_out_puts(&c->cli->err, " --continue --id ");
    mortise_out_put_shell_word(&c->cli->err, get_chat_run(c));
    mortise_out_puts(&c->cli->err, "\n");
}

/* A script without any message gets an error, because there is no reply. */
static int fail_if_no_message(struct chat *c)
{
    static const char words[] = "no message was given: MESSAGE is missing and "
                                "stdin is empty, so no model was asked";

    if (isatty(STDIN_FILENO) || c->has_progress || c->last != NULL ||
        !c->is_kept)
        return MORTISE_EXIT_OK;
    if (c->cli->args.json)
        mortise_cli_print_json_error(
            c->cli, mortise_result_name(MORTISE_EINVAL), words,
            json_pack("{s:s}", "run", get_chat_run(c)));
    else
        mortise_out_print_escaped(&c->cli->err, "mortise: %s\n", words);
    return MORTISE_EXIT_FAILED;
}

static int run_chat(struct chat *c, int *code, struct mortise_err *err)
{
    struct mortise_cli *cli = c->cli;
    int rv = mortise_stop_install(err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_open(cli, NULL, err);
    if (rv == MORTISE_OK && cli->args.n_operands > 0) {
        c->first = json_string(cli->args.operands[0]);
        rv = c->first != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = cli->args.go_on ? continue_chat(c, err) : start_chat_run(c, err);
    return rv == MORTISE_OK ? run_conversation(c, code, err) : rv;
}

static int chat(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct chat c = {.cli = cli};
    int code = MORTISE_EXIT_OK, rv;

    if (a->go_on && (a->model != NULL || a->tools != NULL || a->allow != NULL ||
                     a->instructions != NULL))
        return mortise_cli_fail_usage(
            cli, "--continue uses the model, tools and instructions of the "
                 "stored chat; do not give them again");
    mortise_watch_session_init(&c.watch, cli);
    c.watch.made_graph = true;
    c.watch.progress.chat = c.watch.progress.talk.bare = true;
    mortise_buf_init(&c.unread_input, cli->mem);
    c.asks = !a->json && isatty(STDIN_FILENO) && cli->out.tty;
    rv = run_chat(&c, &code, err);
    mortise_progress_end(&c.watch.progress);
    if (rv == MORTISE_OK && code == MORTISE_EXIT_OK)
        code = fail_if_no_message(&c);
    if (c.is_kept)
        print_continue_command(&c);
    mortise_buf_finish(&c.unread_input);
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
    MORTISE_OPTS_OF_CONTINUING,
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
    .session = MORTISE_SESSION_SAME_DEPLOYMENT,
    .example = "mortise chat --tools text/grep \"Which lines of notes.txt have "
               "a date?\"",
    .run = chat,
};
