/* kv.c -- what a plugin keeps of its own, over runs and restarts.
 *
 *   kv.get/1 {key}          {"found": true, "value": ...} or {"found": false}
 *   kv.put/1 {key, value?}  null; without a value, nothing is kept any more
 *
 * A namespace belongs to a plugin, by the name in its manifest, and to a
 * tenant: nobody else's asks reach it, and versions of a plugin share it.  A
 * put is the run's business: it is committed with its answer (run/step.c).  A
 * get is performed here, from the store, so it sees what is on disk. */
#include <stdio.h>
#include <string.h>

#include "engine/door.h"

enum { KEY_MAX = 512, VALUE_MAX = 1024 * 1024 };

static int32_t bad(char *words, const char *why)
{
    snprintf(words, MORTISE_DOOR_WORDS, "%s", why);
    return MORTISE_S_INVALID;
}

static int32_t check_key(const struct mortise_asked *a, char *words)
{
    const json_t *key = json_object_get(a->body, "key");

    if (json_is_string(key) && json_string_length(key) >= 1 &&
        json_string_length(key) <= KEY_MAX)
        return MORTISE_S_OK;
    return bad(words, "key takes 1 to 512 bytes of text");
}

static int32_t check_get(const struct mortise_asked *a, char *words)
{
    if (json_object_size(a->body) != 1)
        return bad(words, "a request of kv.get/1 is {key}");
    return check_key(a, words);
}

static int32_t check_value(const struct mortise_asked *a, const json_t *value,
                           char *words)
{
    struct mortise_buf text;
    int32_t status = MORTISE_S_OK;

    mortise_buf_init(&text, a->m->mem);
    if (mortise_json_write(&text, value) != MORTISE_OK) {
        bad(words, "out of memory");
        status = MORTISE_S_NOMEM;
    } else if (text.n > VALUE_MAX) {
        snprintf(words, MORTISE_DOOR_WORDS,
                 "a value takes 1048576 bytes of JSON at most, this has %zu",
                 text.n);
        status = MORTISE_S_INVALID;
    }
    mortise_buf_finish(&text);
    return status;
}

static int32_t check_put(const struct mortise_asked *a, char *words)
{
    const json_t *value = json_object_get(a->body, "value");
    int32_t status = check_key(a, words);

    if (json_object_size(a->body) != (value != NULL ? 2 : 1))
        return bad(words, "a request of kv.put/1 is {key, value?}");
    return status == MORTISE_S_OK && value != NULL
               ? check_value(a, value, words)
               : status;
}

/* MORTISE_OK, with the value or NULL. */
static int look_up(const struct mortise_asked *a, json_t **value,
                   struct mortise_err *err)
{
    const json_t *key = json_object_get(a->body, "key");
    struct mortise_buf text;
    int rv;

    *value = NULL;
    mortise_buf_init(&text, a->m->mem);
    rv = mortise_store_kv(a->m->store, a->live->tenant, a->manifest->name,
                          json_string_value(key), json_string_length(key),
                          &text, err);
    if (rv == MORTISE_OK)
        rv = mortise_json_read(value, text.p, text.n, err);
    else if (rv == MORTISE_ENOTFOUND)
        rv = MORTISE_OK;
    mortise_buf_finish(&text);
    return rv;
}

static void start_get(struct mortise_asked *a)
{
    struct mortise_err err = {.code = MORTISE_OK};
    json_t *value, *answer = NULL;
    int rv = look_up(a, &value, &err);

    if (rv == MORTISE_OK) {
        answer =
            json_pack("{s:b, s:o*}", "found", value != NULL, "value", value);
        rv = answer != NULL ? MORTISE_OK : mortise_nomem(&err);
    }
    if (rv == MORTISE_OK)
        mortise_door_answer(a, MORTISE_S_OK, answer, "");
    else
        mortise_door_answer(
            a, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_IO, NULL,
            err.msg);
}

const struct mortise_door_method mortise_door_kv_get = {
    .name = "kv.get/1",
    .effect = MORTISE_DOOR_GET,
    .check = check_get,
    .start = start_get,
};

const struct mortise_door_method mortise_door_kv_put = {
    .name = "kv.put/1",
    .effect = MORTISE_DOOR_PUT,
    .check = check_put,
};
