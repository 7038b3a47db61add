/* program.c -- process.run/1: a program, run to its end, and what it said.
 *
 * Asked  {program, args?: [text], stdin? | json?, env?: {NAME: text},
 *         secret_env?: {NAME: reference}, reads?, timeout_ms?, max_output?}
 * Answer {exit, stdout | stdout_base64, stderr | stderr_base64, stderr_cut?}
 *
 * `program` is one of the deployment's programs, which says what file that is,
 * and what it may touch; permissions.exec of the manifest says which of them its
 * plugin may have run.  mortise-worker holds it to that (worker/launch.h).  It
 * gets no variable of the engine's.
 *
 * Whatever it exits with is an answer.  The ask fails with MORTISE_S_NOTFOUND
 * where it was not started, with MORTISE_S_TIMEOUT where it was killed because
 * its time was over, MORTISE_S_FAILED because it said more than max_output, and
 * with MORTISE_S_IO where a signal ended it, its own or another's, or nobody knows
 * what did.
 *
 * Did it happen?  What only `reads`, by the deployment's word, may be run again.
 * Of others
 *   no   what was not started
 *   yes  what exited with 0; with another code it may be run again by a new
 *        attempt, which is for whoever writes a retry_policy to know
 *   who knows   what did not exit once it had begun.  That is in doubt
 *        (core/run/outcome/doubt.c), unless the operation that asks only reads, or
 *        declares that it may be done twice.
 *
 * `secret_env` has references to secrets for values, as headers of
 * http.request/1 do; what the program says comes with their values covered. */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/engine/common/secret_store.h"
#include "services/secrets/body.h"
#include "services/process/launching.h"
#include "core/engine/parts/process.h"
#include "core/engine/runs/host_calls.h"

enum { SEEN_MAX = 1024, NS_PER_MS = 1000000 };

static const char key_name[] = "MORTISE_IDEMPOTENCY_KEY";

/* ---- what is asked ------------------------------------------------------- */

static bool are_args(const json_t *value)
{
    MORTISE_JSON_EACH (one, i, value)
        if (!mortise_body_is_text(one))
            return false;
    return json_is_array(value);
}

/* Texts, or references, each by the name of a variable that is not ours. */
static bool have_names(const json_t *value)
{
    const char *name;
    json_t *one;

    json_object_foreach(mortise_json_unconst(value), name, one)
    {
        if (name[0] == '\0' || strchr(name, '=') != NULL ||
            strcmp(name, key_name) == 0)
            return false;
    }
    return true;
}

static bool are_variables(const json_t *value)
{
    return mortise_body_are_texts(value) && have_names(value);
}

static bool are_references(const json_t *value)
{
    return mortise_body_are_references(value) && have_names(value);
}

static const struct mortise_body_member members[] = {
    {"program", "a string", mortise_body_is_text},
    {"args", "a list of strings without NUL", are_args},
    {"stdin", "a string", mortise_body_is_string},
    {"json", "a value", mortise_body_is_any},
    {"env",
     "an object of at most 256 strings without NUL, by name of variable (the "
     "engine sets MORTISE_IDEMPOTENCY_KEY)",
     are_variables},
    {"secret_env", "an object of at most 256 references to secrets",
     are_references},
    {"reads", "true or false", mortise_body_is_flag},
    {"timeout_ms", "a number of milliseconds", mortise_body_is_count},
    {"max_output", "a number of bytes", mortise_body_is_count},
};

static int32_t check_members(const struct mortise_asked *a, char *words)
{
    int32_t status =
        mortise_body_check(a->body, members, sizeof members / sizeof members[0],
                           "a program of process.run/1", words);

    if (status != MORTISE_S_OK)
        return status;
    if (json_object_get(a->body, "program") != NULL &&
        (json_object_get(a->body, "stdin") == NULL ||
         json_object_get(a->body, "json") == NULL))
        return mortise_body_check_secrets(a, "secret_env", words);
    return mortise_ask_refuse(
        words, MORTISE_S_INVALID,
        "a program must be named, and can have at most one of stdin and json");
}

static bool reads(const json_t *body)
{
    return json_is_true(json_object_get(body, "reads"));
}

static int find(const struct mortise_asked *a,
                const struct mortise_program **out, struct mortise_err *err)
{
    struct mortise_launched what;
    int rv = mortise_launching_find(
        a, json_string_value(json_object_get(a->body, "program")), &what, err);

    *out = what.program;
    return rv;
}

static int32_t check_program(const struct mortise_asked *a, char *words)
{
    const struct mortise_program *program;
    struct mortise_err err;
    int rv = find(a, &program, &err);

    if (rv != MORTISE_OK)
        return mortise_ask_refuse(words, mortise_launching_status(rv), "%.500s",
                                  err.msg);
    return !reads(a->body) ||
                   mortise_program_only_reads(program, &err) == MORTISE_OK
               ? MORTISE_S_OK
               : mortise_ask_refuse(words, MORTISE_S_DENIED, "%.500s", err.msg);
}

static int32_t check(struct mortise_asked *a, char *words)
{
    int32_t status = check_members(a, words);

    return status == MORTISE_S_OK ? check_program(a, words) : status;
}

/* ---- the words of its launch --------------------------------------------- */

static int put_secrets(struct mortise_buf *b, const struct mortise_asked *a,
                       struct mortise_err *err)
{
    const char *name;
    json_t *one;
    int rv = MORTISE_OK;

    json_object_foreach(
        mortise_json_unconst(json_object_get(a->body, "secret_env")), name, one)
    {
        rv = mortise_launching_secret(b, a, name, json_string_value(one), err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return rv;
}

static bool has_variable(const void *ud, const char *name)
{
    const struct mortise_asked *a = ud;

    return json_object_get(json_object_get(a->body, "env"), name) != NULL ||
           json_object_get(json_object_get(a->body, "secret_env"), name) !=
               NULL;
}

/* Whatever it says itself; of the engine's own environment, nothing. */
static void put_environment(struct mortise_buf *b,
                            const struct mortise_asked *a)
{
    const char *name;
    json_t *value;

    mortise_launching_defaults(b, has_variable, a);
    if (a->key[0] != '\0')
        mortise_launching_variable(b, key_name, a->key);
    json_object_foreach(mortise_json_unconst(json_object_get(a->body, "env")),
                        name, value)
        mortise_launching_variable(b, name, json_string_value(value));
}

static int put_all(struct mortise_buf *b, const struct mortise_asked *a,
                   const struct mortise_program *p, struct mortise_err *err)
{
    int rv = mortise_launching_program(b, a, p, err);

    MORTISE_JSON_EACH (one, i, json_object_get(a->body, "args"))
        mortise_launching_arg(b, json_string_value(one));
    put_environment(b, a);
    return rv == MORTISE_OK ? put_secrets(b, a, err) : rv;
}

/* ---- the answer ---------------------------------------------------------- */

/* As text, or, where it is none, in base64. */
static int put_bytes(json_t *to, const char *name, const char *p, size_t n,
                     const struct mortise_mem *mem)
{
    char coded[32];

    if (mortise_utf8_valid(p, n))
        return json_object_set_new(to, name,
                                   json_stringn_nocheck(p != NULL ? p : "", n));
    snprintf(coded, sizeof coded, "%s_base64", name);
    return json_object_set_new(to, coded, mortise_body_base64(p, n, mem));
}

static json_t *answer_json(const struct mortise_asked *a,
                           const struct mortise_process_end *end)
{
    const struct mortise_mem *mem = a->m->mem;
    json_t *out = json_object();
    int failed = out == NULL;

    if (!failed && end->outcome == MORTISE_PROCESS_EXITED)
        failed |= json_object_set_new(out, "exit", json_integer(end->code));
    if (!failed)
        failed |= put_bytes(out, "stdout", end->output, end->n_output, mem);
    if (!failed)
        failed |= put_bytes(out, "stderr", end->errors, end->n_errors, mem);
    if (!failed && end->errors_cut)
        failed |= json_object_set_new(out, "stderr_cut", json_true());
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

/* For who has to find out: {cause, answer}, of what it said the beginning. */
static json_t *seen_of(const struct mortise_asked *a,
                       const struct mortise_process_end *end)
{
    struct mortise_process_end first = *end;

    first.n_output = mortise_utf8_cut(first.output, first.n_output, SEEN_MAX);
    first.n_errors = mortise_utf8_cut(first.errors, first.n_errors, SEEN_MAX);
    return json_pack("{s:s, s:o*}", "cause", a->words, "answer",
                     answer_json(a, &first));
}

static const char *words_of(const struct mortise_process_end *end)
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

static int32_t status_of(const struct mortise_process_end *end)
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

static void on_done(void *ud, const struct mortise_process_end *end)
{
    struct mortise_asked *a = ud;
    int32_t status = status_of(end);
    json_t *value = NULL;

    a->data = NULL;
    snprintf(a->words, sizeof a->words, "%s", words_of(end));
    mortise_secret_store_cover(a->m->secret_store, a->words, sizeof a->words);
    if (status == MORTISE_S_OK) {
        value = answer_json(a, end);
        status = value != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    }
    a->doubtful =
        status != MORTISE_S_OK && end->outcome != MORTISE_PROCESS_REFUSED;
    if (a->doubtful)
        a->seen = seen_of(a, end);
    mortise_host_call_answer(a, status, value, a->words);
}

/* ---- start and cancel ---------------------------------------------------- */

/* The shorter of what is asked and what is left of the call; 0: no bound. */
static uint64_t timeout_of(const struct mortise_asked *a)
{
    uint64_t asked =
        (uint64_t)json_integer_value(json_object_get(a->body, "timeout_ms"));
    uint64_t now = mortise_mono_ns(), left;

    if (a->deadline_ns == 0)
        return asked;
    left = a->deadline_ns > now ? (a->deadline_ns - now) / NS_PER_MS + 1 : 1;
    return asked > 0 && asked < left ? asked : left;
}

static int launch(struct mortise_asked *a, const struct mortise_buf *words,
                  struct mortise_err *err)
{
    const json_t *text = json_object_get(a->body, "stdin");
    const json_t *json = json_object_get(a->body, "json");
    char *made = json != NULL ? mortise_json_text(a->m->mem, json) : NULL;
    struct mortise_process_request r = {
        .worker = a->m->settings.worker,
        .words = words->p,
        .n_words = words->n,
        .input = made != NULL ? made : json_string_value(text),
        .n_input = made != NULL ? strlen(made) : json_string_length(text),
        .mask = mortise_secret_store_mask(a->m->secret_store),
        .timeout_ms = timeout_of(a),
        .output_max =
            (size_t)json_integer_value(json_object_get(a->body, "max_output")),
        .done = on_done,
        .ud = a};
    struct mortise_process *p;
    int rv = json == NULL || made != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = mortise_process_start(a->m->processes, &r, &p, err);
    if (rv == MORTISE_OK)
        a->data = p;
    mortise_mask_unref(r.mask);
    mortise_release_str(a->m->mem, made);
    return rv;
}

/* The secrets are there, or what is wrong with them is told now. */
static void send_off(struct mortise_asked *a)
{
    const struct mortise_program *program;
    struct mortise_buf words;
    struct mortise_err err;
    int rv = find(a, &program, &err);

    mortise_buf_init(&words, a->m->mem);
    if (rv == MORTISE_OK)
        rv = put_all(&words, a, program, &err);
    if (rv == MORTISE_OK && words.failed)
        rv = mortise_nomem(&err);
    if (rv == MORTISE_OK)
        rv = launch(a, &words, &err);
    mortise_launching_wipe(&words);
    mortise_buf_finish(&words);
    if (rv == MORTISE_OK)
        return;
    a->doubtful = rv == MORTISE_ESTATE;
    if (a->doubtful)
        a->seen = json_pack("{s:s}", "cause", err.msg);
    mortise_host_call_answer(a, mortise_launching_status(rv), NULL, err.msg);
}

static void start(struct mortise_asked *a)
{
    struct mortise_err err;
    int rv = mortise_body_await_secrets(a, "secret_env", send_off, &err);

    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, mortise_launching_status(rv), NULL,
                                 err.msg);
}

static bool has_left(const struct mortise_asked *a)
{
    return a->data != NULL && mortise_process_has_begun(a->data);
}

static void cancel(struct mortise_asked *a)
{
    if (a->data != NULL)
        mortise_process_cancel(a->data);
}

static bool completed(const json_t *answer)
{
    const json_t *ended = json_object_get(answer, "exit");

    return json_is_integer(ended) && json_integer_value(ended) == 0;
}

static bool is_exit(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= 255;
}

static const struct mortise_body_member answer_members[] = {
    {"exit", "", is_exit},
    {"stdout", "", mortise_body_is_string},
    {"stdout_base64", "", mortise_body_is_text},
    {"stderr", "", mortise_body_is_string},
    {"stderr_base64", "", mortise_body_is_text},
    {"stderr_cut", "", mortise_body_is_flag},
};

static bool has_both(const json_t *answer, const char *one, const char *other)
{
    return json_object_get(answer, one) != NULL &&
           json_object_get(answer, other) != NULL;
}

/* answer_json() above makes them; a person may leave out all but the exit. */
static const char *expects(const json_t *answer)
{
    bool fits =
        json_object_get(answer, "exit") != NULL &&
        !has_both(answer, "stdout", "stdout_base64") &&
        !has_both(answer, "stderr", "stderr_base64") &&
        mortise_body_fits(answer, answer_members,
                          sizeof answer_members / sizeof answer_members[0]);
    return fits ? NULL
                : "an object: `exit` (0 to 255), and optionally `stdout` or "
                  "`stdout_base64`, `stderr` or `stderr_base64` (strings), "
                  "`stderr_cut`";
}

static bool changes(const json_t *body)
{
    return !reads(body);
}

const struct mortise_host_call_method mortise_host_call_process_run = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .changes = changes,
    .completed = completed,
    .expects = expects,
    .check = check,
    .needs_no_run = true,
    .start = start,
    .has_left = has_left,
    .cancel = cancel,
};
