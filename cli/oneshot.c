/* oneshot.c -- runs an operation of a plugin in a temporary engine, for
 * commands.
 *
 * The operation is called as in a graph: the command runs a graph of one node,
 * with the deployment's config, secrets and trust.  The store is a temporary
 * directory.  The deployment's own store is not touched, since another engine
 * may be using it.
 *
 * Questions are asked at the terminal, if there is one.  The engine continues
 * to run meanwhile, because the plugin may hold a connection open. */
#include "cli/oneshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "cli/stop.h"
#include "core/json/value.h"

/* ---- engine ------------------------------------------------------------- */

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
    rv = mortise_stop_install(err);
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

/* ---- graph -------------------------------------------------------------- */

/* Encode the graph as JSON (which is valid YAML) in a JSON string. */
static json_t *encode_oneshot_graph(const char *operation, uint64_t timeout_ms)
{
    json_t *node = json_pack("{s:s, s:s, s:s, s:s}", "type", "tool", "tool",
                             operation, "args", "${input}", "next", "END");
    json_t *graph, *out = NULL;
    char *text;

    if (timeout_ms > 0 && node != NULL &&
        json_object_set_new(
            node, "timeout",
            json_sprintf("%llums", (unsigned long long)timeout_ms)) != 0)
        mortise_json_clear_ref(&node);
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

static json_t *encode_start_request(const char *operation, json_t *args,
                                    uint64_t timeout_ms)
{
    char run[MORTISE_UUID_TEXT], order[MORTISE_UUID_TEXT];

    mortise_uuid_format(run, mortise_uuid7_make_now());
    mortise_uuid_format(order, mortise_uuid7_make_now());
    return json_pack("{s:{s:s, s:o}, s:s, s:o, s:s, s:s}", "graph", "path",
                     operation, "source",
                     encode_oneshot_graph(operation, timeout_ms), "run", run,
                     "input", args, "order", order, "until", "idle");
}

/* ---- events ------------------------------------------------------------- */

static void set_oneshot_error(struct mortise_oneshot *o, const char *code,
                              const char *words)
{
    snprintf(o->code, sizeof o->code, "%s", code);
    snprintf(o->words, sizeof o->words, "%s", words);
}

/* Record the first finding of a report: "PLACE: error[CODE]: MESSAGE". */
static void record_first_finding(struct mortise_oneshot *o, const char *text)
{
    const char *code = strstr(text, "error[");
    size_t n = code != NULL ? strcspn(code, "]") : 0;
    char its[64];

    if (code == NULL || o->code[0] != '\0')
        return;
    snprintf(its, sizeof its, "%.*s", (int)(n - 6), code + 6);
    text = code + n + strspn(code + n, "]: ");
    set_oneshot_error(o, its, text);
    o->words[strcspn(o->words, "\n")] = '\0';
}

static bool is_for_person(const json_t *request)
{
    return !mortise_cli_needs_no_person(request);
}

static int on_oneshot_item(void *ud, json_t *one)
{
    struct mortise_oneshot *o = ud;
    const char *type = mortise_cli_get_text(one, "type");
    const json_t *request = json_object_get(one, "request");
    uint64_t seq = mortise_cli_get_integer(one, "seq");

    o->seq = seq > o->seq ? seq : o->seq;
    if (strcmp(type, "started") == 0)
        snprintf(o->run, sizeof o->run, "%s", mortise_cli_get_text(one, "run"));
    else if (strcmp(type, "report") == 0)
        record_first_finding(o, mortise_cli_get_text(one, "text"));
    else if (strcmp(type, "interrupt") == 0 && is_for_person(request) &&
             o->question == NULL)
        o->question = json_incref(mortise_json_unconst(request));
    return o->question != NULL;
}

/* Send a request, and run the engine until it rests, a person is asked
 * (o->question) or a signal arrives.  Takes the body. */
static int run_until_rest(struct mortise_oneshot *o, const char *what,
                          json_t *body, json_t **reply, struct mortise_err *err)
{
    int rv = mortise_session_set_until(o->cli->session, mortise_stop_fd(), err);

    *reply = NULL;
    mortise_json_clear_ref(&o->question);
    if (rv == MORTISE_OK)
        return mortise_cli_call(o->cli, what, body, on_oneshot_item, o, reply,
                                err);
    json_decref(body);
    return rv;
}

/* Read the result of an ended run: *out, or the error. */
static int read_oneshot_result(struct mortise_oneshot *o, const json_t *show,
                               json_t **out)
{
    const json_t *error = json_object_get(show, "error"),
                 *node = json_array_get(json_object_get(show, "nodes"), 0);
    const char *status = mortise_cli_get_text(show, "status");

    if (strcmp(status, "completed") == 0)
        *out =
            json_incref(mortise_json_unconst(json_object_get(node, "output")));
    else if (json_is_object(error))
        set_oneshot_error(o, mortise_cli_get_text(error, "code"),
                          mortise_cli_get_text(error, "message"));
    else
        set_oneshot_error(o, status, mortise_cli_get_text(show, "reason"));
    return MORTISE_OK;
}

/* The run rests: it has ended, or waits for a person. */
static int finish_oneshot_run(struct mortise_oneshot *o, json_t **out,
                              struct mortise_err *err)
{
    json_t *show = NULL;
    int rv = mortise_session_set_until(o->cli->session, -1, err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_get_show(o->cli, o->run, &show, err);
    MORTISE_JSON_EACH (one, i, json_object_get(show, "pending"))
        if (is_for_person(one) && o->question == NULL)
            o->question = json_incref(mortise_json_unconst(one));
    if (rv == MORTISE_OK && o->question == NULL)
        rv = read_oneshot_result(o, show, out);
    json_decref(show);
    return rv;
}

/* ---- operations --------------------------------------------------------- */

/* Build the request that answers the question; NULL with MORTISE_OK: there is
 * no answer. */
static int build_answer_request(struct mortise_oneshot *o, json_t **body,
                                struct mortise_err *err)
{
    char order[MORTISE_UUID_TEXT];
    json_t *command = NULL;
    int rv;

    *body = NULL;
    if (mortise_cli_is_kind(o->question, "in_doubt")) {
        set_oneshot_error(
            o, "in_doubt",
            "it is unknown whether the effect happened; check its target");
        return MORTISE_OK;
    }
    rv = mortise_oneshot_ask(o, &command, err);
    if (rv != MORTISE_OK || command == NULL)
        return rv;
    mortise_uuid_format(order, mortise_uuid7_make_now());
    *body = json_pack("{s:s, s:[o], s:s, s:s, s:I}", "run", o->run, "commands",
                      command, "order", order, "until", "idle", "after",
                      (json_int_t)o->seq);
    return *body != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* If the answer was rejected, print the error and ask the question again. */
static bool retry_question(struct mortise_oneshot *o, int rv, json_t *question,
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

/* The call has ended for this command: cancel everything that is still active.
 */
static void cancel_oneshot_run(struct mortise_oneshot *o)
{
    char order[MORTISE_UUID_TEXT];
    struct mortise_err err;

    mortise_uuid_format(order, mortise_uuid7_make_now());
    if (o->run[0] != '\0' &&
        mortise_session_set_until(o->cli->session, -1, &err) == MORTISE_OK)
        mortise_cli_call(o->cli, "command",
                         json_pack("{s:s, s:[{s:s}], s:s, s:s}", "run", o->run,
                                   "commands", "kind", "cancel", "order", order,
                                   "until", "idle"),
                         NULL, NULL, NULL, &err);
}

/* Takes the body. */
static int run_oneshot(struct mortise_oneshot *o, const char *what,
                       json_t *body, json_t **out, struct mortise_err *err)
{
    json_t *reply = NULL, *question = NULL;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && body != NULL) {
        rv = run_until_rest(o, what, body, &reply, err);
        body = NULL;
        what = "command";
        if (rv == MORTISE_OK && reply == NULL && o->question == NULL)
            set_oneshot_error(o, "interrupted", "a signal stopped it");
        else if (rv == MORTISE_OK && o->question == NULL)
            rv = finish_oneshot_run(o, out, err);
        else if (retry_question(o, rv, question, err))
            rv = MORTISE_OK;
        json_decref(reply);
        json_decref(question);
        question = json_incref(o->question);
        if (rv == MORTISE_OK && question != NULL)
            rv = build_answer_request(o, &body, err);
    }
    json_decref(question);
    return rv;
}

int mortise_oneshot_call(struct mortise_oneshot *o, const char *operation,
                         json_t *args, uint64_t timeout_ms, json_t **out,
                         struct mortise_err *err)
{
    json_t *body = encode_start_request(operation, args, timeout_ms);
    int rv;

    *out = NULL;
    o->seq = 0;
    o->run[0] = '\0';
    o->code[0] = o->words[0] = '\0';
    if (body == NULL)
        return mortise_nomem(err);
    rv = run_oneshot(o, "start", body, out, err);
    if (*out == NULL)
        cancel_oneshot_run(o);
    return rv == MORTISE_ECHECK && o->code[0] != '\0' ? MORTISE_OK : rv;
}

int mortise_oneshot_print_error(struct mortise_oneshot *o, const char *called)
{
    json_t *more;

    mortise_out_flush(&o->cli->out);
    if (o->cli->args.json) {
        more = json_pack("{s:s}", "called", called);
        if (o->question != NULL && more != NULL)
            json_object_set_new(more, "pending", json_pack("[O]", o->question));
        mortise_cli_print_json_error(o->cli, o->code, o->words, more);
    } else {
        mortise_out_print_escaped(&o->cli->err, "mortise: %s: %s: %s\n", called,
                                  o->code, o->words);
    }
    return MORTISE_EXIT_FAILED;
}

int mortise_oneshot_parse_args(struct mortise_cli *cli, json_t **out,
                               struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (cli->args.n_operands < 2) {
        *out = json_object();
        return *out != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    rv = mortise_cli_parse_value(cli, "ARGS", cli->args.operands[1], out, err);
    if (rv == MORTISE_OK && !json_is_object(*out)) {
        mortise_json_clear_ref(out);
        rv = mortise_fail(err, MORTISE_EINVAL, "ARGS must be a JSON object");
    }
    return rv;
}
