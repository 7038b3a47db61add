/* memory.c -- memory.read/1 and memory.write/1: the deployment's memory.
 *
 * Read    {query?, types?, scope?, keys?, ids?, max_traces?, min_strength?,
 *         order?, after?}, as in <mortise/memory.h>.  max_traces is 8 by
 *         default.  Without keys, only traces of the scope "global" are read.
 *         A blank query counts as absent.
 * Write   {traces?: [{type, scope, key?, content, strength?, metadata?}],
 *         uses?}
 * Answer  That of the memory plugin.  A write adds `ids`, the ids of its traces
 *         in order.  Both add `usage` if there is any.
 *
 * The tenant is that of the run; the host sets the time.  A read is recorded
 * with its answer, so a replay gets the same.  A write is an effect of the
 * calling operation, so it is denied to operations without effects.  It may be
 * repeated: the ids of its traces are derived from the idempotency key, which
 * does not change.
 *
 * An error of the plugin is MORTISE_S_IO if a retry may help, MORTISE_S_TIMEOUT
 * after a timeout, and otherwise MORTISE_S_FAILED.  Its message begins with the
 * error code. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "lang/config/deploy.h"
#include "core/engine/common/secret_store.h"
#include "core/engine/common/traces.h"
#include "core/engine/runs/call.h"
#include "mortise/memory.h"
#include "core/plugin/kind.h"
#include "core/plugin/services.h"

enum { DEFAULT_TRACES = 8 }; /* default for `max_traces` */

/* ---- request ------------------------------------------------------------ */

/* Get the memory plugin, or NULL with an error. */
static const struct mortise_manifest *
get_memory_plugin(const struct mortise_asked *a, struct mortise_err *why)
{
    const char *plugin = a->m->settings.deployment->memory.plugin;

    if (plugin == NULL) {
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "the deployment has no memory: set memory.plugin");
        return NULL;
    }
    return mortise_plugins_find(a->m->plugins, plugin, why);
}

/* Refuse members of the plugin's request that a caller must not set. */
static int32_t check_known_members(const struct mortise_asked *a,
                                   const char *const *known, char *words)
{
    const char *name;
    json_t *one;

    json_object_foreach(mortise_json_unconst(a->body), name, one)
    {
        const char *const *k = known;

        while (*k != NULL && strcmp(*k, name) != 0)
            k++;
        if (*k == NULL)
            return mortise_ask_format_error(
                words, MORTISE_S_INVALID, "a request of %s cannot have '%.64s'",
                a->method_name, name);
    }
    return MORTISE_S_OK;
}

static int put_if_absent(json_t *to, const char *name, json_t *value)
{
    if (json_object_get(to, name) == NULL)
        return json_object_set_new(to, name, value);
    json_decref(value);
    return 0;
}

static json_t *make_read_body(const struct mortise_asked *a)
{
    json_t *body = json_copy(mortise_json_unconst(a->body));

    if (mortise_json_is_blank(json_object_get(body, "query")))
        json_object_del(body, "query");
    if (body != NULL &&
        (put_if_absent(body, "max_traces", json_integer(DEFAULT_TRACES)) != 0 ||
         put_if_absent(body, "keys", json_object()) != 0))
        mortise_json_clear_ref(&body);
    return body;
}

/* Make the id of the k-th trace of a write with this key. */
static json_t *make_trace_id(const char *key, size_t k)
{
    unsigned char hash[16];
    char text[MORTISE_DIGEST_HEX + 32], hex[2 * sizeof hash + 1];
    int n = snprintf(text, sizeof text, "%s/%zu", key, k);

    crypto_generichash(hash, sizeof hash, (const unsigned char *)text,
                       (unsigned long long)n, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return json_sprintf("step-%s", hex);
}

/* Make the trace to be stored. */
static json_t *make_stored_trace(const json_t *said, const char *key, size_t k,
                                 uint64_t now_ms)
{
    json_t *t = json_is_object(said) ? json_copy(mortise_json_unconst(said))
                                     : json_object();

    if (t != NULL &&
        (json_object_set_new(t, "id", make_trace_id(key, k)) != 0 ||
         json_object_set_new(t, "created_at",
                             json_integer((json_int_t)now_ms)) != 0 ||
         put_if_absent(t, "strength", json_real(0.5)) != 0))
        mortise_json_clear_ref(&t);
    return t;
}

static json_t *make_write_body(const struct mortise_asked *a, const char *key)
{
    const json_t *traces = json_object_get(a->body, "traces");
    json_t *body = json_copy(mortise_json_unconst(a->body)),
           *list = json_array();
    uint64_t now = mortise_now_ms();
    int failed = body == NULL || list == NULL;

    MORTISE_JSON_EACH (one, i, traces)
        failed = failed || json_array_append_new(
                               list, make_stored_trace(one, key, i, now)) != 0;
    if (!failed && json_is_array(traces))
        failed = json_object_set(body, "traces", list) != 0;
    json_decref(list);
    if (!failed)
        return body;
    json_decref(body);
    return NULL;
}

/* Takes the body (NULL: memory ran out). */
static int32_t check_memory_body(struct mortise_asked *a,
                                 const struct mortise_call_kind *kind,
                                 json_t *body, char *words)
{
    struct mortise_err why;
    const struct mortise_manifest *m = get_memory_plugin(a, &why);
    int rv = body == NULL ? mortise_nomem(&why)
             : m == NULL  ? why.code
                          : mortise_traces_check_request(m, kind, body, &why);

    json_decref(body);
    if (m != NULL && rv == MORTISE_OK) {
        a->by = (struct mortise_pin){.plugin = m->name, .dev = m->dev};
        memcpy(a->by.digest, m->digest, MORTISE_DIGEST);
        return MORTISE_S_OK;
    }
    if (rv == MORTISE_EINVAL && m != NULL)
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "not a valid request of %s: %.400s",
                                        a->method_name, why.msg);
    return mortise_ask_format_error(
        words, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_NOTFOUND,
        "%.400s", why.msg);
}

static int32_t check_memory_read(struct mortise_asked *a, char *words)
{
    static const char *const known[] = {
        "query",      "types",        "scope", "keys",  "ids",
        "max_traces", "min_strength", "order", "after", NULL};
    int32_t status = check_known_members(a, known, words);

    return status == MORTISE_S_OK ? check_memory_body(a, &mortise_call_recall,
                                                      make_read_body(a), words)
                                  : status;
}

/* Do the traces contain members that only the host sets? */
static bool has_host_members(const json_t *traces)
{
    MORTISE_JSON_EACH (one, i, traces)
        if (json_object_get(one, "id") != NULL ||
            json_object_get(one, "created_at") != NULL)
            return true;
    return false;
}

static int32_t check_memory_write(struct mortise_asked *a, char *words)
{
    static const char *const known[] = {"traces", "uses", NULL};
    int32_t status = check_known_members(a, known, words);

    if (status == MORTISE_S_OK &&
        has_host_members(json_object_get(a->body, "traces")))
        status = mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "the host sets `id` and `created_at` of a trace; remove them");
    return status == MORTISE_S_OK
               ? check_memory_body(a, &mortise_call_remember,
                                   make_write_body(a, "check"), words)
               : status;
}

/* ---- call --------------------------------------------------------------- */

static void fail_memory_shortage(struct mortise_asked *a)
{
    mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* Takes the body (NULL: memory ran out), and keeps it to check the answer. */
static void start_memory_call(struct mortise_asked *a,
                              const struct mortise_call_kind *kind,
                              json_t *body)
{
    json_t *whole =
        body != NULL
            ? mortise_traces_make_body(body, a->live->tenant, mortise_now_ms())
            : NULL;
    struct mortise_buf text;
    struct mortise_err err;
    int rv;

    json_decref(a->told);
    a->told = body;
    mortise_buf_init(&text, a->m->mem);
    rv = whole != NULL ? mortise_json_write(&text, whole) : MORTISE_ENOMEM;
    json_decref(whole);
    if (rv == MORTISE_OK)
        rv = mortise_calls_serve(a, kind, MORTISE_MEMORY_INSTANCE, &text, 0,
                                 &err);
    mortise_buf_finish(&text);
    if (rv != MORTISE_OK)
        fail_memory_shortage(a);
}

static void start_memory_read(struct mortise_asked *a)
{
    start_memory_call(a, &mortise_call_recall, make_read_body(a));
}

static void start_memory_write(struct mortise_asked *a)
{
    if (a->key[0] == '\0')
        mortise_host_call_answer(
            a, MORTISE_S_DENIED, NULL,
            "an operation without an effect cannot write to the memory");
    else
        start_memory_call(a, &mortise_call_remember,
                          make_write_body(a, a->key));
}

/* ---- answer ------------------------------------------------------------- */

static void fail_memory_call(struct mortise_asked *a, const char *code,
                             const char *error_class, const char *message)
{
    bool again = strcmp(error_class, "transient") == 0;
    char words[MORTISE_HOST_CALL_WORDS];

    snprintf(words, sizeof words, "%.100s: %.380s",
             code[0] != '\0' ? code : "memory.failed", message);
    mortise_secret_store_mask_text(a->m->secret_store, words, sizeof words);
    mortise_host_call_answer(a,
                             again ? MORTISE_S_IO
                             : strcmp(error_class, "timeout") == 0
                                 ? MORTISE_S_TIMEOUT
                                 : MORTISE_S_FAILED,
                             NULL, words);
}

static json_t *list_trace_ids(const json_t *traces)
{
    json_t *ids = json_array();

    MORTISE_JSON_EACH (one, i, traces)
        if (ids != NULL &&
            json_array_append(ids, json_object_get(one, "id")) != 0)
            mortise_json_clear_ref(&ids);
    return ids;
}

/* Copy the plugin's answer, and add `ids` and `usage`. */
static json_t *encode_memory_answer(struct mortise_asked *a,
                                    const struct mortise_host_call_result *how,
                                    bool is_write)
{
    json_t *out = json_copy(mortise_json_unconst(how->output));
    int failed = out == NULL;

    if (!failed && is_write)
        failed = json_object_set_new(
            out, "ids", list_trace_ids(json_object_get(a->told, "traces")));
    if (!failed && !mortise_usage_is_empty(how->usage))
        failed = json_object_set_new(out, "usage",
                                     mortise_usage_to_json(how->usage));
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

static void finish_memory_call(struct mortise_asked *a,
                               const struct mortise_host_call_result *how,
                               const struct mortise_call_kind *kind)
{
    struct mortise_err why;
    json_t *out;

    if (how->status != MORTISE_S_OK) {
        fail_memory_call(a, how->code, how->error_class, how->message);
        return;
    }
    if (mortise_traces_check_answer(kind, a->told, how->output, &why) !=
        MORTISE_OK) {
        fail_memory_call(a, "memory.bad_answer", "permanent", why.msg);
        return;
    }
    out = encode_memory_answer(a, how, kind == &mortise_call_remember);
    if (out != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, out, "");
    else
        fail_memory_shortage(a);
}

static void finish_memory_read(struct mortise_asked *a,
                               const struct mortise_host_call_result *how)
{
    finish_memory_call(a, how, &mortise_call_recall);
}

static void finish_memory_write(struct mortise_asked *a,
                                const struct mortise_host_call_result *how)
{
    finish_memory_call(a, how, &mortise_call_remember);
}

static bool is_repeatable_write(const json_t *body)
{
    (void)body;
    return true;
}

static const struct mortise_host_call_method memory_read_method = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_memory_read,
    .start = start_memory_read,
    .cancel = mortise_calls_stop_serving,
    .served = finish_memory_read};

static const struct mortise_host_call_method memory_write_method = {
    .effect = MORTISE_HOST_CALL_CALLER,
    .repeats = is_repeatable_write,
    .check = check_memory_write,
    .start = start_memory_write,
    .cancel = mortise_calls_stop_serving,
    .served = finish_memory_write};

static const struct mortise_method methods[] = {
    {.name = "memory.read/1", .performs = &memory_read_method},
    {.name = "memory.write/1",
     .changes = true,
     .performs = &memory_write_method},
    {.name = NULL},
};

const struct mortise_service mortise_service_memory = {.name = "memory",
                                                       .methods = methods};
