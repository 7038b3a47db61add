/* kv.c -- what a plugin keeps of its own, over runs and restarts.
 *
 *   kv.get/1 {key}          {"found": true, "value": ...} or {"found": false}
 *   kv.put/1 {key, value?}  null; without a value, nothing is kept any more
 *
 * A namespace belongs to a plugin, by the name in its manifest, and to a
 * tenant: nobody else's asks reach it, and versions of a plugin share it.  A
 * put is the run's business: it is committed with its answer (run/asks/step.c).  A
 * get is performed here, from the store, so it sees what is on disk.
 *
 * A namespace has KEYS_MAX keys at most.  How many there are is counted in the
 * store when it is first put to, and from then on kept here, by what is asked:
 * a run that is lost, or two that put the same key at once, make it wrong by a
 * few.  So nothing is refused on that count alone: where it says that there is
 * no room, the store is counted again, unless nothing was put since.
 *
 * A put with a secret in it is refused: what is stored has references. */
#include <stdio.h>
#include <string.h>

#include "engine/runs/host_calls.h"
#include "engine/common/secret_store.h"
#include "json/masked.h"

enum { KEY_MAX = 512, VALUE_MAX = 1024 * 1024, KEYS_MAX = 65536 };

static int32_t bad(char *words, const char *why)
{
    snprintf(words, MORTISE_HOST_CALL_WORDS, "%s", why);
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
        snprintf(words, MORTISE_HOST_CALL_WORDS,
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

/* What stands under the key; MORTISE_ENOTFOUND: nothing does. */
static int fetch(const struct mortise_asked *a, struct mortise_buf *text,
                 struct mortise_err *err)
{
    const json_t *key = json_object_get(a->body, "key");

    return mortise_store_kv(a->m->store, a->live->tenant, a->manifest->name,
                            json_string_value(key), json_string_length(key),
                            text, err);
}

/* MORTISE_OK, with the value or NULL. */
static int look_up(const struct mortise_asked *a, json_t **value,
                   struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    *value = NULL;
    mortise_buf_init(&text, a->m->mem);
    rv = fetch(a, &text, err);
    if (rv == MORTISE_OK)
        rv = mortise_json_read(value, text.p, text.n, err);
    else if (rv == MORTISE_ENOTFOUND)
        rv = MORTISE_OK;
    mortise_buf_finish(&text);
    return rv;
}

/* ---- room ---------------------------------------------------------------- */

struct mortise_kv_room {
    struct mortise_hashed entry;
    const struct mortise_mem *mem;
    char *tenant, *plugin;
    size_t n;   /* keys, as far as is known */
    bool moved; /* since they were counted */
};

static struct mortise_kv_room *room_find(const struct mortise *m,
                                         const char *tenant, const char *plugin)
{
    struct mortise_hashed *e =
        mortise_table_find(&m->kv_rooms, mortise_hash_strs(tenant, plugin));

    for (; e != NULL; e = mortise_table_more(e)) {
        struct mortise_kv_room *k =
            MORTISE_OF(e, struct mortise_kv_room, entry);

        if (strcmp(k->tenant, tenant) == 0 && strcmp(k->plugin, plugin) == 0)
            return k;
    }
    return NULL;
}

static void room_free(struct mortise_kv_room *k)
{
    mortise_release_str(k->mem, k->tenant);
    mortise_release_str(k->mem, k->plugin);
    mortise_release(k->mem, k, sizeof *k);
}

static bool count(struct mortise *m, struct mortise_kv_room *k)
{
    k->moved = m->n_batch + m->n_flying > 0; /* they are still to come */
    return mortise_store_kv_count(m->store, k->tenant, k->plugin, KEYS_MAX,
                                  &k->n, NULL) == MORTISE_OK;
}

static struct mortise_kv_room *room_new(struct mortise *m, const char *tenant,
                                        const char *plugin)
{
    struct mortise_kv_room *k = mortise_zalloc(m->mem, sizeof *k);

    if (k == NULL)
        return NULL;
    k->mem = m->mem;
    k->tenant = mortise_strdup(m->mem, tenant);
    k->plugin = mortise_strdup(m->mem, plugin);
    if (k->tenant == NULL || k->plugin == NULL || !count(m, k)) {
        room_free(k);
        return NULL;
    }
    mortise_table_add(&m->kv_rooms, &k->entry,
                      mortise_hash_strs(tenant, plugin));
    return k;
}

static bool has_room(struct mortise *m, struct mortise_kv_room *k)
{
    return k->n < KEYS_MAX || (k->moved && count(m, k) && k->n < KEYS_MAX);
}

/* Is there something under the key? */
static bool is_there(const struct mortise_asked *a)
{
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, a->m->mem);
    rv = fetch(a, &text, NULL);
    mortise_buf_finish(&text);
    return rv != MORTISE_ENOTFOUND;
}

/* A secret is kept where the deployer keeps it, and nowhere else. */
static bool tells_secret(const struct mortise_asked *a, char *words)
{
    struct mortise_mask *mask = mortise_secret_store_mask(a->m->secret_store);
    bool tells = mortise_json_tells(mask, a->body);

    mortise_mask_unref(mask);
    if (tells)
        snprintf(words, MORTISE_HOST_CALL_WORDS,
                 "there is a secret in what is to be kept; ask for it again "
                 "when it is needed");
    return tells;
}

/* Without memory to count nothing is refused: the put itself will fail. */
static bool is_full(const struct mortise_asked *a, char *words)
{
    struct mortise *m = a->m;
    const char *tenant = a->live->tenant, *plugin = a->manifest->name;
    bool goes = json_object_get(a->body, "value") == NULL;
    struct mortise_kv_room *k = room_find(m, tenant, plugin);

    if (tells_secret(a, words))
        return true;
    if (k == NULL)
        k = room_new(m, tenant, plugin);
    if (k == NULL || goes != is_there(a))
        return false;
    if (!goes && !has_room(m, k)) {
        snprintf(words, MORTISE_HOST_CALL_WORDS,
                 "the plugin has %d keys already, which is the most; a put "
                 "without a value makes room",
                 KEYS_MAX);
        return true;
    }
    k->n = goes ? k->n - (k->n > 0) : k->n + 1;
    k->moved = true;
    return false;
}

void mortise_kv_open(struct mortise *m)
{
    mortise_table_init(&m->kv_rooms, m->mem);
}

void mortise_kv_close(struct mortise *m)
{
    struct mortise_hashed *e;

    while ((e = mortise_table_first(&m->kv_rooms)) != NULL) {
        mortise_table_remove(&m->kv_rooms, e);
        room_free(MORTISE_OF(e, struct mortise_kv_room, entry));
    }
    mortise_table_finish(&m->kv_rooms);
}

/* ---- the methods --------------------------------------------------------- */

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
        mortise_host_call_answer(a, MORTISE_S_OK, answer, "");
    else
        mortise_host_call_answer(
            a, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_IO, NULL,
            err.msg);
}

const struct mortise_host_call_method mortise_host_call_kv_get = {
    .effect = MORTISE_HOST_CALL_GET,
    .check = check_get,
    .start = start_get,
};

const struct mortise_host_call_method mortise_host_call_kv_put = {
    .effect = MORTISE_HOST_CALL_PUT,
    .check = check_put,
    .is_full = is_full,
};
