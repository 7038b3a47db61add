/* question.c -- asks the person at the terminal the question of an operation.
 *
 * An answer is one line: JSON that matches the question's schema, or yes, or no
 * with an optional reason.  If the answer has the form {approved, answer}, as
 * for a human node, the plain answer alone approves.  Other input is never
 * interpreted: the question is asked again.
 *
 * The engine continues to run meanwhile, since the plugin may hold a connection
 * open, and may stop waiting. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/err.h"
#include "cli/oneshot.h"
#include "cli/sample.h"
#include "cli/stop.h"
#include "core/json/value.h"

/* ---- input -------------------------------------------------------------- */

static int watch_stdin_and_signals(int *out, struct mortise_err *err)
{
    struct epoll_event e = {.events = EPOLLIN};

    *out = epoll_create1(EPOLL_CLOEXEC);
    if (*out >= 0 && epoll_ctl(*out, EPOLL_CTL_ADD, STDIN_FILENO, &e) == 0 &&
        epoll_ctl(*out, EPOLL_CTL_ADD, mortise_stop_fd(), &e) == 0)
        return MORTISE_OK;
    return mortise_syserr(err, errno, "wait for an answer");
}

/* Run the engine until there is input or a signal, or the run has ended
 * (*over). */
static int run_engine_until_input(struct mortise_oneshot *o, int fd, bool *over,
                                  struct mortise_err *err)
{
    json_t *reply = NULL;
    int rv = mortise_session_set_until(o->cli->session, fd, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_call(o->cli, "follow",
                              json_pack("{s:s, s:I, s:s}", "run", o->run,
                                        "after", (json_int_t)o->seq, "until",
                                        "end"),
                              NULL, NULL, &reply, err);
    *over = reply != NULL;
    json_decref(reply);
    return rv;
}

/* Take the next line of stdin into `line`, NUL-terminated; false: there is
 * none, or memory ran out. */
static bool take_buffered_line(struct mortise_oneshot *o,
                               struct mortise_buf *line)
{
    const char *end =
        o->heard.n > 0 ? memchr(o->heard.p, '\n', o->heard.n) : NULL;
    size_t n = end != NULL ? (size_t)(end - o->heard.p) : 0;

    if (end == NULL)
        return false;
    mortise_buf_clear(line);
    mortise_buf_put(line, o->heard.p, n);
    memmove(o->heard.p, end + 1, o->heard.n - n - 1);
    o->heard.n -= n + 1;
    return mortise_buf_cstr(line) != NULL;
}

/* *got: there is a line; otherwise o->words has the reason. */
static int wait_for_line(struct mortise_oneshot *o, struct mortise_buf *line,
                         bool *got, struct mortise_err *err)
{
    char room[4096];
    bool over = false;
    ssize_t n = 1;
    int fd, rv = watch_stdin_and_signals(&fd, err);

    *got = false;
    while (rv == MORTISE_OK && !over && n > 0 && !mortise_stop_has_signal() &&
           !(*got = take_buffered_line(o, line))) {
        rv = run_engine_until_input(o, fd, &over, err);
        if (rv != MORTISE_OK || over || mortise_stop_has_signal())
            continue;
        n = read(STDIN_FILENO, room, sizeof room);
        if (n > 0)
            mortise_buf_put(&o->heard, room, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    if (*got || rv != MORTISE_OK)
        return rv;
    if (line->failed || o->heard.failed)
        return mortise_nomem(err);
    snprintf(o->code, sizeof o->code, "%s",
             over ? "withdrawn" : "not_answered");
    snprintf(o->words, sizeof o->words, "%s",
             over ? "the plugin stopped waiting before the answer"
                  : "the plugin asked a question and got no answer");
    return MORTISE_OK;
}

/* ---- answers ------------------------------------------------------------ */

static bool is_abbreviation(const char *line, size_t n, const char *word)
{
    return (n == 1 || n == strlen(word)) && strncmp(line, word, n) == 0;
}

/* A new reference; NULL: the line is not an answer. */
static json_t *parse_answer_value(const json_t *request, const char *line)
{
    size_t first = strcspn(line, " ,");
    bool yes = line[first] == '\0' && is_abbreviation(line, first, "yes");
    bool no = is_abbreviation(line, first, "no");
    json_t *v = yes || no
                    ? NULL
                    : mortise_json_load(line, strlen(line), JSON_DECODE_ANY,
                                        MORTISE_JSON_DEPTH_INTERNAL, NULL);

    if (!mortise_cli_is_decision(request))
        return yes || no ? json_boolean(yes) : v;
    if (yes || no)
        return json_pack("{s:b}", "approved", yes);
    return v != NULL && json_object_get(v, "approved") == NULL
               ? json_pack("{s:b, s:o}", "approved", 1, "answer", v)
               : v;
}

/* Make the command for a line; NULL: the line is not an answer. */
static json_t *parse_answer_command(const json_t *request, const char *line)
{
    const char *digest = mortise_cli_get_text(request, "digest"),
               *id = mortise_cli_get_text(request, "id"), *why;
    size_t first = strcspn(line, " ,");
    bool yes = line[first] == '\0' && is_abbreviation(line, first, "yes");
    bool no = is_abbreviation(line, first, "no");
    json_t *v;

    if (mortise_cli_is_kind(request, "approval_pending")) {
        why = line + first + strspn(line + first, " ,");
        return yes || no
                   ? json_pack("{s:s, s:s, s:s, s:s*, s:s*}", "kind",
                               "approve_tool", "id", id, "decision",
                               no ? "reject" : "approve", "reason",
                               no && why[0] != '\0' ? why : NULL, "digest",
                               digest[0] != '\0' ? digest : NULL)
                   : NULL;
    }
    v = line[0] != '\0' ? parse_answer_value(request, line) : NULL;
    return v != NULL ? json_pack("{s:s, s:s, s:o}", "kind", "answer", "id", id,
                                 "value", v)
                     : NULL;
}

/* ---- asking ------------------------------------------------------------- */

/* An example of an answer; NULL: "yes" is enough. */
static json_t *make_answer_sample(const json_t *request)
{
    const json_t *schema = mortise_cli_is_decision(request)
                               ? mortise_cli_get_answer_field(request, "answer")
                               : json_object_get(request, "schema");

    return schema != NULL ? mortise_json_make_sample(schema) : NULL;
}

static void print_answer_prompt(struct mortise_oneshot *o)
{
    struct mortise_out *out = &o->cli->err;
    json_t *sample;

    if (mortise_cli_is_kind(o->question, "approval_pending")) {
        mortise_out_puts(out, "run it? yes or no [WHY]: ");
        mortise_out_flush(out);
        return;
    }
    sample = make_answer_sample(o->question);
    mortise_out_puts(out, "answer with ");
    if (sample != NULL) {
        mortise_out_put_json(out, sample, false);
        out->n -= out->n > 0; /* without its line end */
    } else {
        mortise_out_puts(out, "yes");
    }
    mortise_out_puts(out, ", or no: ");
    json_decref(sample);
    mortise_out_flush(out);
}

static void print_question(struct mortise_oneshot *o)
{
    mortise_out_flush(&o->cli->out);
    mortise_cli_print_question(&o->cli->err, o->question);
    mortise_out_flush(&o->cli->err);
}

int mortise_oneshot_ask(struct mortise_oneshot *o, json_t **answer,
                        struct mortise_err *err)
{
    struct mortise_buf line;
    bool got = true;
    int rv = MORTISE_OK;

    *answer = NULL;
    if (o->asks || !o->cli->args.json)
        print_question(o); /* otherwise the error contains it */
    if (!o->asks) {
        snprintf(o->code, sizeof o->code, "not_answered");
        snprintf(o->words, sizeof o->words,
                 "the plugin asks this, but stdin is not a terminal: run the "
                 "command at a terminal, or call the operation from a graph, "
                 "where the question waits for an answer");
        return MORTISE_OK;
    }
    mortise_buf_init(&line, o->cli->mem);
    while (rv == MORTISE_OK && got && *answer == NULL) {
        print_answer_prompt(o);
        rv = wait_for_line(o, &line, &got, err);
        if (rv == MORTISE_OK && got)
            *answer = parse_answer_command(o->question, line.p);
    }
    mortise_buf_finish(&line);
    return rv;
}
