/* oneshot.c -- operations of plugins, for commands: run by an engine of this
 * process, of which nothing stays.
 *
 * A command that looks at what a plugin has to say does nothing that a graph
 * could not: it runs one, of a single node, with the deployment's config, secrets
 * and trust.  So there is no second way to a plugin.  Its store is a directory
 * that goes when the command does, and nothing of the deployment's own store is
 * touched: an engine may be at work on it.
 *
 * What asks a person is answered at the terminal, if there is one, while the
 * engine goes on turning: who asks may keep a connection open meanwhile. */
#include "cli/oneshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "cli/stop.h"
#include "core/json/value.h"

/* ---- the engine ------------------------------------------------------------ */

int mortise_oneshot_open(struct mortise_oneshot *o, struct mortise_cli *cli,
                         struct mortise_err *err)
{
    int rv;

    *o = (struct mortise_oneshot){.cli = cli, .store = cli->args.store};
    mortise_buf_init(&o->heard, cli->mem);
    o->asks = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    rv = mortise_tempdir_make(&o->dir, "once", err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_stop_begin(err);
    snprintf(o->own_store, sizeof o->own_store, "%s/store", o->dir.path);
    cli->args.store = o->own_store;
    return rv == MORTISE_OK ? mortise_cli_open(cli, NULL, err) : rv;
}

void mortise_oneshot_close(struct mortise_oneshot *o)
{
    if (o->cli == NULL)
        return;
    mortise_session_close(o->cli->session);
    o->cli->session = NULL;
    o->cli->args.store = o->store;
    mortise_tempdir_remove(&o->dir);
    json_decref(o->question);
    mortise_buf_finish(&o->heard);
    o->cli = NULL;
}

/* ---- the graph ---------------------------------------------------------------- */

/* As a text, which is a JSON string; JSON is YAML. */
static json_t *graph_of(const char *operation, uint64_t timeout_ms)
{
    json_t *node = json_pack("{s:s, s:s, s:s, s:s}", "type", "tool", "tool",
                             operation, "args", "${input}", "next", "END");
    json_t *graph, *out = NULL;
    char *text;

    if (timeout_ms > 0 && node != NULL &&
        json_object_set_new(
            node, "timeout",
            json_sprintf("%llums", (unsigned long long)timeout_ms)) != 0)
        mortise_json_drop(&node);
    graph = json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:{s:o}}", "apiVersion",
                      "mortise/v1", "kind", "Graph", "metadata", "name",
                      "mortise-once", "version", "1.0.0", "start", "call",
                      "nodes", "call", node);
    text = graph != NULL ? json_dumps(graph, JSON_INDENT(1)) : NULL;
    if (text != NULL)
        out = json_string(text);
    free(text);
    json_decref(graph);
    return out;
}

static json_t *start_of(const char *operation, json_t *args,
                        uint64_t timeout_ms)
{
    char run[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];

    mortise_uuid_text(run, mortise_uuid7_now());
    mortise_uuid_text(order, mortise_uuid7_now());
    return json_pack("{s:{s:s, s:o}, s:s, s:o, s:s, s:s}", "graph", "path",
                     operation, "source", graph_of(operation, timeout_ms),
                     "run", run, "input", args, "order", order, "until",
                     "idle");
}

/* ---- what happens ------------------------------------------------------------- */

static void fail(struct mortise_oneshot *o, const char *code, const char *words)
{
    snprintf(o->code, sizeof o->code, "%s", code);
    snprintf(o->words, sizeof o->words, "%s", words);
}

/* The first finding of a report: "PLACE: error[CODE]: WORDS". */
static void take_report(struct mortise_oneshot *o, const char *text)
{
    const char *code = strstr(text, "error[");
    size_t n = code != NULL ? strcspn(code, "]") : 0;
    char its[64];

    if (code == NULL || o->code[0] != '\0')
        return;
    snprintf(its, sizeof its, "%.*s", (int)(n - 6), code + 6);
    text = code + n + strspn(code + n, "]: ");
    fail(o, its, text);
    o->words[strcspn(o->words, "\n")] = '\0';
}

static bool is_for_somebody(const json_t *request)
{
    return !mortise_cli_asks_nobody(request);
}

static int item(void *ud, json_t *one)
{
    struct mortise_oneshot *o = ud;
    const char *type = mortise_cli_text(one, "type");
    const json_t *request = json_object_get(one, "request");
    uint64_t seq = mortise_cli_integer(one, "seq");

    o->seq = seq > o->seq ? seq : o->seq;
    if (strcmp(type, "started") == 0)
        snprintf(o->run, sizeof o->run, "%s", mortise_cli_text(one, "run"));
    else if (strcmp(type, "report") == 0)
        take_report(o, mortise_cli_text(one, "text"));
    else if (strcmp(type, "interrupt") == 0 && is_for_somebody(request) &&
             o->question == NULL)
        o->question = json_incref(mortise_json_unconst(request));
    return o->question != NULL;
}

/* Ask the engine, and see what happens until it rests, asks somebody
 * (o->question) or a signal came.  Takes the body. */
static int see(struct mortise_oneshot *o, const char *what, json_t *body,
               json_t **reply, struct mortise_err *err)
{
    int rv = mortise_session_until(o->cli->session, mortise_stop_fd(), err);

    *reply = NULL;
    mortise_json_drop(&o->question);
    if (rv == MORTISE_OK)
        return mortise_cli_call(o->cli, what, body, item, o, reply, err);
    json_decref(body);
    return rv;
}

/* How it ended: *out, or why there is none. */
static int take_end(struct mortise_oneshot *o, const json_t *show, json_t **out)
{
    const json_t *error = json_object_get(show, "error"),
                 *node = json_array_get(json_object_get(show, "nodes"), 0);
    const char *status = mortise_cli_text(show, "status");

    if (strcmp(status, "completed") == 0)
        *out =
            json_incref(mortise_json_unconst(json_object_get(node, "output")));
    else if (json_is_object(error))
        fail(o, mortise_cli_text(error, "code"),
             mortise_cli_text(error, "message"));
    else
        fail(o, status, mortise_cli_text(show, "reason"));
    return MORTISE_OK;
}

/* It rests: it has ended, or something of it is for somebody. */
static int take_rest(struct mortise_oneshot *o, json_t **out,
                     struct mortise_err *err)
{
    json_t *show = NULL;
    int rv = mortise_session_until(o->cli->session, -1, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_show(o->cli, o->run, &show, err);
    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        if (is_for_somebody(one) && o->question == NULL)
            o->question = json_incref(mortise_json_unconst(one));
    if (rv == MORTISE_OK && o->question == NULL)
        rv = take_end(o, show, out);
    json_decref(show);
    return rv;
}

/* ---- one operation ---------------------------------------------------------------- */

/* The body that answers what was asked; NULL with MORTISE_OK: nobody does. */
static int answer(struct mortise_oneshot *o, json_t **body,
                  struct mortise_err *err)
{
    char order[MORTISE_UUID_TEXT];
    json_t *command = NULL;
    int rv;

    *body = NULL;
    if (mortise_cli_is_kind(o->question, "in_doubt")) {
        fail(o, "in_doubt",
             "it is unknown whether the effect happened; check its target");
        return MORTISE_OK;
    }
    rv = mortise_oneshot_ask(o, &command, err);
    if (rv != MORTISE_OK || command == NULL)
        return rv;
    mortise_uuid_text(order, mortise_uuid7_now());
    *body = json_pack("{s:s, s:[o], s:s, s:s, s:I}", "run", o->run, "commands",
                      command, "order", order, "until", "idle", "after",
                      (json_int_t)o->seq);
    return *body != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* What was said is none of what can be: the person may say it otherwise. */
static bool may_say_again(struct mortise_oneshot *o, int rv, json_t *question,
                          const struct mortise_err *err)
{
    if (question == NULL || !o->asks ||
        (rv != MORTISE_EINVAL && rv != MORTISE_EDECISION))
        return false;
    mortise_cli_fail(o->cli, err);
    json_decref(o->question);
    o->question = json_incref(question);
    return true;
}

/* It is over for us: what of it is at work is stopped. */
static void stop_run(struct mortise_oneshot *o)
{
    char order[MORTISE_UUID_TEXT];
    struct mortise_err err;

    mortise_uuid_text(order, mortise_uuid7_now());
    if (o->run[0] != '\0' &&
        mortise_session_until(o->cli->session, -1, &err) == MORTISE_OK)
        mortise_cli_call(o->cli, "command",
                         json_pack("{s:s, s:[{s:s}], s:s, s:s}", "run", o->run,
                                   "commands", "kind", "cancel", "order", order,
                                   "until", "idle"),
                         NULL, NULL, NULL, &err);
}

/* Takes the body. */
static int go(struct mortise_oneshot *o, const char *what, json_t *body,
              json_t **out, struct mortise_err *err)
{
    json_t *reply = NULL, *question = NULL;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && body != NULL) {
        rv = see(o, what, body, &reply, err);
        body = NULL;
        what = "command";
        if (rv == MORTISE_OK && reply == NULL && o->question == NULL)
            fail(o, "interrupted", "a signal stopped it");
        else if (rv == MORTISE_OK && o->question == NULL)
            rv = take_rest(o, out, err);
        else if (may_say_again(o, rv, question, err))
            rv = MORTISE_OK;
        json_decref(reply);
        json_decref(question);
        question = json_incref(o->question);
        if (rv == MORTISE_OK && question != NULL)
            rv = answer(o, &body, err);
    }
    json_decref(question);
    return rv;
}

int mortise_oneshot_call(struct mortise_oneshot *o, const char *operation,
                         json_t *args, uint64_t timeout_ms, json_t **out,
                         struct mortise_err *err)
{
    json_t *body = start_of(operation, args, timeout_ms);
    int rv;

    *out = NULL;
    o->seq = 0;
    o->run[0] = '\0';
    o->code[0] = o->words[0] = '\0';
    if (body == NULL)
        return mortise_nomem(err);
    rv = go(o, "start", body, out, err);
    if (*out == NULL)
        stop_run(o);
    return rv == MORTISE_ECHECK && o->code[0] != '\0' ? MORTISE_OK : rv;
}

int mortise_oneshot_failed(struct mortise_oneshot *o, const char *called)
{
    json_t *more;

    mortise_out_flush(&o->cli->out);
    if (o->cli->args.json) {
        more = json_pack("{s:s}", "called", called);
        if (o->question != NULL && more != NULL)
            json_object_set_new(more, "pending", json_pack("[O]", o->question));
        mortise_cli_error(o->cli, o->code, o->words, more);
    } else {
        mortise_out_say(&o->cli->err, "mortise: %s: %s: %s\n", called, o->code,
                        o->words);
    }
    return MORTISE_EXIT_FAILED;
}

int mortise_oneshot_args(struct mortise_cli *cli, json_t **out,
                         struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (cli->args.n_operands < 2) {
        *out = json_object();
        return *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    rv = mortise_cli_value(cli, "ARGS", cli->args.operands[1], out, err);
    if (rv == MORTISE_OK && !json_is_object(*out)) {
        mortise_json_drop(out);
        rv = mortise_fail(err, MORTISE_EINVAL, "ARGS must be a JSON object");
    }
    return rv;
}
