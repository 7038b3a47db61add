/* program.c -- process.run/1: run a program to its end and return its output.
 *
 * Request {program, args?: [text], stdin? | json?, env?: {NAME: text},
 *          secret_env?: {NAME: reference}, reads?, timeout_ms?, max_output?}
 * Answer  {exit, stdout | stdout_base64, stderr | stderr_base64, stderr_cut?}
 *
 * `program` names one of the deployment's programs, which sets its file and
 * limits.  The manifest's permissions.exec lists the programs that the plugin
 * may run.  mortise-worker enforces both (worker/launch.h).  The program
 * inherits no variables of the engine.
 *
 * Any exit code is an answer.  The call fails with:
 *
 * MORTISE_S_NOTFOUND  the program was not started
 * MORTISE_S_TIMEOUT   it was killed by its timeout
 * MORTISE_S_FAILED    it wrote more than max_output
 * MORTISE_S_IO        a signal ended it, or the end is unknown
 *
 * Did the effect happen?  A program that only `reads`, according to the
 * deployment, may run again.  For all others:
 *
 * no        The program was not started.
 * yes       The program exited with 0.  After another code, a new attempt may
 *           run it again; the author of the retry_policy has to allow for that.
 * in doubt  The program began and did not exit.  Settled in
 *           core/run/outcome/doubt.c, unless the operation only reads, or
 *           declares that it is idempotent.
 *
 * Values of `secret_env` are references to secrets, as in the headers of
 * http.request/1.  Secrets in the program's output are masked. */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/engine/common/secret_store.h"
#include "services/process/methods.h"
#include "services/secrets/body.h"
#include "services/process/launching.h"
#include "services/process/process.h"
#include "core/engine/runs/host_calls.h"

enum { EVIDENCE_BYTES = 1024, NS_PER_MS = 1000000 };

static const char idempotency_variable[] = "MORTISE_IDEMPOTENCY_KEY";

/* ---- request ------------------------------------------------------------ */

static bool is_argument_list(const json_t *value)
{
    MORTISE_JSON_EACH (one, i, value)
        if (!mortise_body_is_text(one))
            return false;
    return json_is_array(value);
}

/* Are all names valid, and none the engine's own variable? */
static bool has_valid_variable_names(const json_t *value)
{
    const char *name;
    json_t *one;

    json_object_foreach(mortise_json_unconst(value), name, one)
    {
        if (name[0] == '\0' || strchr(name, '=') != NULL ||
            strcmp(name, idempotency_variable) == 0)
            return false;
    }
    return true;
}

static bool is_variable_object(const json_t *value)
{
    return mortise_body_is_text_object(value) &&
           has_valid_variable_names(value);
}

static bool is_secret_variable_object(const json_t *value)
{
    return mortise_body_is_secret_object(value) &&
           has_valid_variable_names(value);
}

static const struct mortise_body_member run_members[] = {
    {"program", "a string", mortise_body_is_text},
    {"args", "a list of strings without NUL", is_argument_list},
    {"stdin", "a string", mortise_body_is_string},
    {"json", "a value", mortise_body_is_any},
    {"env",
     "an object of at most 256 strings without NUL, by name of variable (the "
     "engine sets MORTISE_IDEMPOTENCY_KEY)",
     is_variable_object},
    {"secret_env", "an object of at most 256 references to secrets",
     is_secret_variable_object},
    {"reads", "true or false", mortise_body_is_flag},
    {"timeout_ms", "a number of milliseconds", mortise_body_is_count},
    {"max_output", "a number of bytes", mortise_body_is_count},
};

static int32_t check_run_members(const struct mortise_asked *a, char *words)
{
    int32_t status = mortise_body_check(
        a->body, run_members, sizeof run_members / sizeof run_members[0],
        "a program of process.run/1", words);

    if (status != MORTISE_S_OK)
        return status;
    if (json_object_get(a->body, "program") != NULL &&
        (json_object_get(a->body, "stdin") == NULL ||
         json_object_get(a->body, "json") == NULL))
        return mortise_body_check_secrets(a, "secret_env", words);
    return mortise_ask_format_error(
        words, MORTISE_S_INVALID,
        "a program must be named, and can have at most one of stdin and json");
}

static bool is_reading_program(const json_t *body)
{
    return json_is_true(json_object_get(body, "reads"));
}

static int find_run_program(const struct mortise_asked *a,
                            const struct mortise_program **out,
                            struct mortise_err *err)
{
    struct mortise_launch_target what;
    int rv = mortise_launching_find(
        a, json_string_value(json_object_get(a->body, "program")), &what, err);

    *out = what.program;
    return rv;
}

static int32_t check_run_program(const struct mortise_asked *a, char *words)
{
    const struct mortise_program *program;
    struct mortise_err err;
    int rv = find_run_program(a, &program, &err);

    if (rv != MORTISE_OK)
        return mortise_ask_format_error(words, mortise_launching_map_error(rv),
                                        "%.500s", err.msg);
    return !is_reading_program(a->body) ||
                   mortise_program_check_read_only(program, &err) == MORTISE_OK
               ? MORTISE_S_OK
               : mortise_ask_format_error(words, MORTISE_S_DENIED, "%.500s",
                                          err.msg);
}

static int32_t check_process_run(struct mortise_asked *a, char *words)
{
    int32_t status = check_run_members(a, words);

    return status == MORTISE_S_OK ? check_run_program(a, words) : status;
}

/* ---- launch words ------------------------------------------------------- */

static int put_secret_variables(struct mortise_buf *b,
                                const struct mortise_asked *a,
                                struct mortise_err *err)
{
    const char *name;
    json_t *one;
    int rv = MORTISE_OK;

    json_object_foreach(
        mortise_json_unconst(json_object_get(a->body, "secret_env")), name, one)
    {
        rv = mortise_launching_add_secret(b, a, name, json_string_value(one),
                                          err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return rv;
}

static bool is_requested_variable(const void *ud, const char *name)
{
    const struct mortise_asked *a = ud;

    return json_object_get(json_object_get(a->body, "env"), name) != NULL ||
           json_object_get(json_object_get(a->body, "secret_env"), name) !=
               NULL;
}

/* Put the requested variables; the engine's environment is not inherited. */
static void put_run_environment(struct mortise_buf *b,
                                const struct mortise_asked *a)
{
    const char *name;
    json_t *value;

    mortise_launching_add_defaults(b, is_requested_variable, a);
    if (a->key[0] != '\0')
        mortise_launching_add_variable(b, idempotency_variable, a->key);
    json_object_foreach(mortise_json_unconst(json_object_get(a->body, "env")),
                        name, value)
        mortise_launching_add_variable(b, name, json_string_value(value));
}

static int put_run_words(struct mortise_buf *b, const struct mortise_asked *a,
                         const struct mortise_program *p,
                         struct mortise_err *err)
{
    int rv = mortise_launching_add_program(b, a, p, err);

    MORTISE_JSON_EACH (one, i, json_object_get(a->body, "args"))
        mortise_launching_add_arg(b, json_string_value(one));
    put_run_environment(b, a);
    return rv == MORTISE_OK ? put_secret_variables(b, a, err) : rv;
}

/* ---- answer ------------------------------------------------------------- */

/* Put bytes as text if they are valid UTF-8, otherwise in base64. */
static int put_output_bytes(json_t *to, const char *name, const char *p,
                            size_t n, const struct mortise_mem *mem)
{
    char coded[32];

    if (mortise_utf8_is_valid(p, n))
        return json_object_set_new(to, name,
                                   json_stringn_nocheck(p != NULL ? p : "", n));
    snprintf(coded, sizeof coded, "%s_base64", name);
    return json_object_set_new(to, coded,
                               mortise_body_encode_base64(p, n, mem));
}

static json_t *encode_program_result(const struct mortise_asked *a,
                                     const struct mortise_process_end *end)
{
    const struct mortise_mem *mem = a->m->mem;
    json_t *out = json_object();
    int failed = out == NULL;

    if (!failed && end->outcome == MORTISE_PROCESS_EXITED)
        failed |= json_object_set_new(out, "exit", json_integer(end->code));
    if (!failed)
        failed |=
            put_output_bytes(out, "stdout", end->output, end->n_output, mem);
    if (!failed)
        failed |=
            put_output_bytes(out, "stderr", end->errors, end->n_errors, mem);
    if (!failed && end->errors_cut)
        failed |= json_object_set_new(out, "stderr_cut", json_true());
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

/* Encode {cause, answer}, with truncated output, for the person who has to
 * settle the doubt. */
static json_t *encode_exit_evidence(const struct mortise_asked *a,
                                    const struct mortise_process_end *end)
{
    struct mortise_process_end first = *end;

    first.n_output = mortise_utf8_get_prefix_size(first.output, first.n_output,
                                                  EVIDENCE_BYTES);
    first.n_errors = mortise_utf8_get_prefix_size(first.errors, first.n_errors,
                                                  EVIDENCE_BYTES);
    return json_pack("{s:s, s:o*}", "cause", a->words, "answer",
                     encode_program_result(a, &first));
}

static const char *
message_from_process_end(const struct mortise_process_end *end)
{
    switch (end->outcome) {
    case MORTISE_PROCESS_TIMEOUT:
        return "the program took too long and was killed";
    case MORTISE_PROCESS_TOO_LARGE:
        return "the program wrote more than max_output and was killed";
    default:
        return end->words;
    }
}

static int32_t status_from_process_end(const struct mortise_process_end *end)
{
    static const int32_t statuses[] = {
        [MORTISE_PROCESS_EXITED] = MORTISE_S_OK,
        [MORTISE_PROCESS_SIGNALLED] = MORTISE_S_IO,
        [MORTISE_PROCESS_TIMEOUT] = MORTISE_S_TIMEOUT,
        [MORTISE_PROCESS_TOO_LARGE] = MORTISE_S_FAILED,
        [MORTISE_PROCESS_REFUSED] = MORTISE_S_NOTFOUND,
        [MORTISE_PROCESS_LOST] = MORTISE_S_IO,
    };

    return statuses[end->outcome];
}

static void on_program_exit(void *ud, const struct mortise_process_end *end)
{
    struct mortise_asked *a = ud;
    int32_t status = status_from_process_end(end);
    json_t *value = NULL;

    a->data = NULL;
    snprintf(a->words, sizeof a->words, "%s", message_from_process_end(end));
    mortise_secret_store_mask_text(a->m->secret_store, a->words,
                                   sizeof a->words);
    if (status == MORTISE_S_OK) {
        value = encode_program_result(a, end);
        status = value != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    }
    a->doubtful =
        status != MORTISE_S_OK && end->outcome != MORTISE_PROCESS_REFUSED;
    if (a->doubtful)
        a->seen = encode_exit_evidence(a, end);
    mortise_host_call_answer(a, status, value, a->words);
}

/* ---- start and cancel ---------------------------------------------------- */

/* The shorter of the requested timeout and the rest of the call's; 0:
 * unlimited. */
static uint64_t get_run_timeout_ms(const struct mortise_asked *a)
{
    uint64_t asked =
        (uint64_t)json_integer_value(json_object_get(a->body, "timeout_ms"));
    uint64_t now = mortise_mono_ns(), left;

    if (a->deadline_ns == 0)
        return asked;
    left = a->deadline_ns > now ? (a->deadline_ns - now) / NS_PER_MS + 1 : 1;
    return asked > 0 && asked < left ? asked : left;
}

static int start_run_process(struct mortise_asked *a,
                             const struct mortise_buf *words,
                             struct mortise_err *err)
{
    const json_t *text = json_object_get(a->body, "stdin");
    const json_t *json = json_object_get(a->body, "json");
    char *made = json != NULL ? mortise_json_to_text(a->m->mem, json) : NULL;
    struct mortise_process_request r = {
        .worker = a->m->settings.worker,
        .words = words->p,
        .n_words = words->n,
        .input = made != NULL ? made : json_string_value(text),
        .n_input = made != NULL ? strlen(made) : json_string_length(text),
        .mask = mortise_secret_store_get_mask(a->m->secret_store),
        .timeout_ms = get_run_timeout_ms(a),
        .output_max =
            (size_t)json_integer_value(json_object_get(a->body, "max_output")),
        .done = on_program_exit,
        .ud = a};
    struct mortise_process *p;
    int rv = json == NULL || made != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = mortise_process_start(*a->kept, &r, &p, err);
    if (rv == MORTISE_OK)
        a->data = p;
    mortise_mask_unref(r.mask);
    mortise_release_str(a->m->mem, made);
    return rv;
}

/* All secrets are available, or their errors are reported now. */
static void launch_program(struct mortise_asked *a)
{
    const struct mortise_program *program;
    struct mortise_buf words;
    struct mortise_err err;
    int rv = find_run_program(a, &program, &err);

    mortise_buf_init(&words, a->m->mem);
    if (rv == MORTISE_OK)
        rv = put_run_words(&words, a, program, &err);
    if (rv == MORTISE_OK && words.failed)
        rv = mortise_nomem(&err);
    if (rv == MORTISE_OK)
        rv = start_run_process(a, &words, &err);
    mortise_launching_wipe(&words);
    mortise_buf_finish(&words);
    if (rv == MORTISE_OK)
        return;
    a->doubtful = rv == MORTISE_ESTATE;
    if (a->doubtful)
        a->seen = json_pack("{s:s}", "cause", err.msg);
    mortise_host_call_answer(a, mortise_launching_map_error(rv), NULL, err.msg);
}

static void start_process_run(struct mortise_asked *a)
{
    struct mortise_err err;
    int rv = mortise_body_await_secrets(a, "secret_env", launch_program, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, mortise_launching_map_error(rv), NULL,
                                 err.msg);
}

static bool has_program_begun(const struct mortise_asked *a)
{
    return a->data != NULL && mortise_process_has_begun(a->data);
}

static void cancel_program(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_process_cancel(a->data);
}

static bool is_successful_exit(const json_t *answer)
{
    const json_t *ended = json_object_get(answer, "exit");

    return json_is_integer(ended) && json_integer_value(ended) == 0;
}

static bool is_exit_code(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= 255;
}

static const struct mortise_body_member answer_members[] = {
    {"exit", "", is_exit_code},
    {"stdout", "", mortise_body_is_string},
    {"stdout_base64", "", mortise_body_is_text},
    {"stderr", "", mortise_body_is_string},
    {"stderr_base64", "", mortise_body_is_text},
    {"stderr_cut", "", mortise_body_is_flag},
};

static bool has_both_members(const json_t *answer, const char *one,
                             const char *other)
{
    return json_object_get(answer, one) != NULL &&
           json_object_get(answer, other) != NULL;
}

/* Check an answer that a person supplies.  Unlike those of
 * encode_program_result(), it needs nothing but `exit`. */
static const char *describe_invalid_exit(const json_t *answer)
{
    bool fits =
        json_object_get(answer, "exit") != NULL &&
        !has_both_members(answer, "stdout", "stdout_base64") &&
        !has_both_members(answer, "stderr", "stderr_base64") &&
        mortise_body_is_valid(answer, answer_members,
                              sizeof answer_members / sizeof answer_members[0]);
    return fits ? NULL
                : "an object: `exit` (0 to 255), and optionally `stdout` or "
                  "`stdout_base64`, `stderr` or `stderr_base64` (strings), "
                  "`stderr_cut`";
}

static bool is_changing_program(const json_t *body)
{
    return !is_reading_program(body);
}

const struct mortise_host_call_method mortise_host_call_process_run = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .changes = is_changing_program,
    .completed = is_successful_exit,
    .expects = describe_invalid_exit,
    .check = check_process_run,
    .needs_no_run = true,
    .start = start_process_run,
    .has_left = has_program_begun,
    .cancel = cancel_program,
};
