/* exec.c -- programs.
 *
 * Operations
 *   look  {program, args?, stdin? | json?, env?, as?, any_exit?, timeout_ms?,
 *          max_output?}                        -> {exit, stdout, stderr, note?}
 *         One that changes nothing, which is the deployment's word for it
 *         (`reads: true`), not the graph's.  It is run again after a crash.
 *   run   the same                             -> the same
 *         One that may change something.  When a crash, or its being killed,
 *         leaves it open how much of it happened, the run is in doubt, and a
 *         person decides.  It finds its key in MORTISE_IDEMPOTENCY_KEY, the
 *         same in every attempt.
 *
 *   program     one of the deployment's `programs`, by its name there.
 *   args        behind those that the deployment says.  Each is one argument,
 *               whatever stands in it: no shell sees any of it.
 *   stdin       text; or `json`, a value, as JSON.  Without: nothing.
 *   env         {NAME: text}.  A value may refer to a secret: "secret://NAME".
 *               Of the engine's own environment it gets nothing.
 *   as          what stdout is: `text` (the default; bytes that are no UTF-8
 *               come as base64) or `json` (one value: else the error
 *               `bad_json`).  JSON that no value can hold (a number beyond 64
 *               bits, a key twice) stays a text, and `note` gives the reason.
 *   any_exit    true: an exit code other than 0 is a result, too.
 *   timeout_ms  then it is killed, with all that it started.
 *   max_output  bytes of stdout (1 MiB): when it says more it is killed.  Of
 *               stderr the first 64 KiB are kept.
 *
 * Config
 *   secrets  names of the deployment's secrets that `env` may refer to.
 *
 * Error codes
 *   exec.exit         an exit code other than 0, which is the error's exit_code;
 *                     the message has what stderr says
 *   exec.signal       it was ended by a signal, its own or another's, or lost
 *   exec.timeout  exec.too_large  exec.not_started  exec.denied  exec.failed
 *   bad_json  invalid  no_memory*  cancelled               (* transient)
 *
 * A deployment and a node
 *   programs:
 *     jq: {path: /usr/bin/jq, reads: true}
 *
 *   pick:
 *     type: tool
 *     tool: exec/look
 *     args: {program: jq, args: [".items[0]"], json: "${input}", as: json}
 *
 * What it promises: nothing waits here, and nothing is started here.  A call
 * asks the host for the program and ends when the answer comes; what the program
 * may touch is the deployment's word, and mortise-worker holds it to that. */
#include <mortise/ask.h>

#include "../../cause.h"
#include "../../holds.h"
#include "../../nomem.h"

#include <stdlib.h>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
};

struct call {
    mortise_inst *inst;
    mortise_call id;
    int as_json, any_exit, held;
};

enum { WORDS = 640 };

/* ---- the answer ---------------------------------------------------------- */

static void finish(const struct call *c, mortise_status status, const char *msg,
                   const char *detail)
{
    c->inst->api->finish(c->inst->host, c->id, status, mortise_strz(msg),
                         mortise_strz(detail));
}

/* The text of that member, else its base64, else "". */
static mortise_jv said(mortise_jv answer, const char *name, const char *coded)
{
    mortise_jv v = mortise_jv_get(answer, name);

    return mortise_jv_type(v) == MORTISE_JV_STRING
               ? v
               : mortise_jv_get(answer, coded);
}

static void write_text(mortise_emitter *out, const char *name, mortise_jv v)
{
    mortise_jw_key(&out->w, name);
    if (mortise_jv_type(v) == MORTISE_JV_STRING)
        mortise_jw_value(&out->w, v);
    else
        mortise_jw_cstr(&out->w, "");
}

static void no_memory(const struct call *c)
{
    finish(c, MORTISE_S_NOMEM, "out of memory",
           "{\"class\":\"transient\",\"code\":\"no_memory\"}");
}

/* `note`: why stdout stays a text although JSON was asked for, or NULL. */
static void give(const struct call *c, mortise_jv answer, int64_t code,
                 mortise_jv output, const char *note)
{
    mortise_emitter out;
    mortise_status status;
    char room[4096];

    mortise_emitter_init(&out, c->inst->host, c->inst->api, c->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "exit");
    mortise_jw_int(&out.w, code);
    write_text(&out, "stderr", said(answer, "stderr", "stderr_base64"));
    if (note != NULL) {
        mortise_jw_key(&out.w, "note");
        mortise_jw_cstr(&out.w, note);
    }
    if (c->as_json) {
        mortise_jw_key(&out.w, "stdout");
        mortise_jw_value(&out.w, output);
    } else {
        write_text(&out, "stdout", output);
    }
    mortise_jw_end(&out.w);
    status = mortise_emitter_finish(&out);
    finish(c, status,
           status == MORTISE_S_OK ? "" : "the host rejected the output", "");
}

/* The value that the program wrote to stdout.  The program may have changed
 * something: if no value can hold its JSON, the text must not be lost. */
static void give_held(const struct call *c, mortise_jv answer, int64_t code,
                      mortise_jv text, mortise_jv value)
{
    char note[256];
    mortise_status status = holds_note(
        value,
        "stdout is JSON that cannot be stored, so it is given as text: ", note,
        sizeof note);

    if (status == MORTISE_S_NOMEM)
        no_memory(c);
    else if (status == MORTISE_S_OK)
        give(c, answer, code, value, NULL);
    else
        give(c, answer, code, text, note);
}

/* What it wrote to stdout, as the JSON that it is. */
static void give_json(const struct call *c, mortise_jv answer, int64_t code)
{
    mortise_jv text = mortise_jv_get(answer, "stdout"), value;
    mortise_str plain;
    char *room = malloc(text.n + 1);

    if (room == NULL)
        no_memory(c);
    else if (mortise_jv_text(text, room, text.n + 1, &plain) == MORTISE_S_OK &&
             mortise_jv_parse(plain, &value) == MORTISE_S_OK)
        give_held(c, answer, code, text, value);
    else
        finish(c, MORTISE_S_FAILED, "the program's output is not JSON",
               "{\"code\":\"bad_json\"}");
    free(room);
}

static void answered(const struct call *c, mortise_str text)
{
    struct bytes why = {0};
    mortise_jv answer;
    char words[WORDS], detail[64];
    int64_t code = 0;

    if (mortise_jv_parse(text, &answer) != MORTISE_S_OK) {
        finish(c, MORTISE_S_FAILED, "the host's answer is not JSON", "");
        return;
    }
    mortise_jv_int(mortise_jv_get(answer, "exit"), &code);
    if (code != 0 && !c->any_exit) {
        if (!c->held)
            cause_put(&why, mortise_jv_get(answer, "stderr"));
        snprintf(words, sizeof words, "the program exited with %d%.*s",
                 (int)code, (int)why.n, why.n > 0 ? why.p : "");
        snprintf(detail, sizeof detail,
                 "{\"code\":\"exec.exit\",\"exit_code\":%d}", (int)code);
        finish(c, MORTISE_S_FAILED, words, detail);
        bytes_free(&why);
    } else if (c->as_json) {
        give_json(c, answer, code);
    } else {
        give(c, answer, code, said(answer, "stdout", "stdout_base64"), NULL);
    }
}

static const char *detail_of(mortise_status status)
{
    switch (status) {
    case MORTISE_S_TIMEOUT:
        return "{\"class\":\"timeout\",\"code\":\"exec.timeout\"}";
    case MORTISE_S_CANCELLED:
        return "{\"class\":\"cancelled\",\"code\":\"cancelled\"}";
    case MORTISE_S_FAILED:
        return "{\"code\":\"exec.too_large\"}";
    case MORTISE_S_IO:
        return "{\"code\":\"exec.signal\"}";
    case MORTISE_S_NOTFOUND:
    case MORTISE_S_UNSUPPORTED:
        return "{\"code\":\"exec.not_started\"}";
    case MORTISE_S_DENIED:
        return "{\"code\":\"exec.denied\"}";
    case MORTISE_S_INVALID:
        return "{\"code\":\"invalid\"}";
    case MORTISE_S_NOMEM:
        return "{\"class\":\"transient\",\"code\":\"no_memory\"}";
    default:
        return "{\"code\":\"exec.failed\"}";
    }
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;
    char words[WORDS];

    if (status == MORTISE_S_OK) {
        answered(c, answer);
    } else {
        snprintf(words, sizeof words, "%.*s",
                 (int)(answer.n < WORDS - 1 ? answer.n : WORDS - 1), answer.p);
        finish(c, status, words, detail_of(status));
    }
    free(c);
}

/* ---- what is asked ------------------------------------------------------- */

static void copy(mortise_jw *w, mortise_jv args, const char *name)
{
    mortise_jv v = mortise_jv_get(args, name);

    if (mortise_jv_type(v) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

/* The host knows references to secrets by where they stand; in the arguments
 * it saw to it that they are the graph's. */
static int is_secret(mortise_jv value)
{
    static const char scheme[] = "secret://";

    return memmem(value.p, value.n, scheme, sizeof scheme - 1) != NULL;
}

/* Variables with secrets, or those without. */
static void copy_env(mortise_jw *w, mortise_jv args, const char *as, int secret)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(args, "env"));
    mortise_jv name, value;

    mortise_jw_key(w, as);
    mortise_jw_object(w);
    while (mortise_jv_next(&it, &name, &value)) {
        char room[256];
        mortise_str text;

        if (is_secret(value) != secret ||
            mortise_jv_text(name, room, sizeof room, &text) != MORTISE_S_OK)
            continue;
        mortise_jw_keyn(w, text);
        mortise_jw_value(w, value);
    }
    mortise_jw_end(w);
}

static mortise_status write_ask(const mortise_request *r, mortise_jv args,
                                char *room, uint64_t cap, mortise_str *out)
{
    static const char *const same[] = {"program", "args",       "stdin",
                                       "json",    "timeout_ms", "max_output"};
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        copy(&w, args, same[i]);
    copy_env(&w, args, "env", 0);
    copy_env(&w, args, "secret_env", 1);
    if (mortise_str_is(r->operation, "look")) {
        mortise_jw_key(&w, "reads");
        mortise_jw_bool(&w, 1);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, out);
}

static mortise_status ask(struct call *c, const mortise_request *r,
                          mortise_jv args)
{
    uint64_t cap = r->body.n + 128;
    char *room = malloc(cap);
    mortise_str body;
    mortise_status status = MORTISE_S_NOMEM;

    if (room != NULL)
        status = write_ask(r, args, room, cap, &body);
    if (status == MORTISE_S_OK)
        status = c->inst->api->ask(c->inst->host, r->call,
                                   mortise_strz(MORTISE_PROCESS_RUN_1), body,
                                   on_answer, c);
    free(room);
    return status;
}

static struct call *call_new(mortise_inst *inst, const mortise_request *r,
                             mortise_jv args)
{
    struct call *c = calloc(1, sizeof *c);
    int32_t any = 0;

    if (c == NULL)
        return NULL;
    mortise_jv_bool(mortise_jv_get(args, "any_exit"), &any);
    c->inst = inst;
    c->id = r->call;
    c->held = (r->flags & MORTISE_REQUEST_HELD) != 0;
    c->as_json =
        mortise_jv_is(mortise_jv_get(args, "as"), mortise_strz("json"));
    c->any_exit = any;
    return c;
}

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    mortise_jv args;
    struct call *c;
    mortise_status status;

    if (mortise_jv_parse(r->body, &args) != MORTISE_S_OK)
        return mortise_refuse(inst->host, inst->api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the arguments are not JSON");
    c = call_new(inst, r, args);
    status = c != NULL ? ask(c, r, args) : MORTISE_S_NOMEM;
    if (status == MORTISE_S_PENDING)
        return status;
    free(c);
    if (status == MORTISE_S_NOMEM)
        return nomem(inst->host, inst->api, r->call);
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          "invalid", "the host rejected the request");
}

/* ---- plugin and module --------------------------------------------------- */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);

    (void)config; /* the host holds us to it */
    if (inst == NULL)
        return MORTISE_S_NOMEM;
    inst->host = host;
    inst->api = api;
    *out = inst;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static void destroy(mortise_inst *inst)
{
    free(inst);
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "exec",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
