/* confides.c -- a plugin with secrets, too frank about them.  ask {name, then}:
 * gets a secret and emits {value, key}: how long it is, and how long config.key
 * is; with `then: fail`, `then: log` or `then: emit` it says the value.  With
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
