/* kv.c -- what a plugin keeps of its own, over runs and restarts.
 *
 *   kv.get/1 {key}          {"found": true, "value": ...} or {"found": false}
 *   kv.put/1 {key, value?}  null; without a value, nothing is kept any more
 *
 * A namespace belongs to a plugin, by the name in its manifest, and to a
 * tenant: nobody else's asks reach it, and versions of a plugin share it.  A
 * put is the run's business: it is committed with its answer (core/run/asks/step.c).
 * A get is performed here, from the store, so it sees what is on disk.
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

#include "core/engine/runs/host_calls.h"
#include "core/engine/common/secret_store.h"

enum { KEY_MAX = 512, VALUE_MAX = 1024 * 1024, KEYS_MAX = 65536 };

static int32_t check_key(const struct mortise_asked *a, char *words)
{
    const json_t *key = json_object_get(a->body, "key");

    if (json_is_string(key) && json_string_length(key) >= 1 &&
        json_string_length(key) <= KEY_MAX)
        return MORTISE_S_OK;
    return mortise_ask_refuse(words, MORTISE_S_INVALID,
                              "key must be 1 to 512 bytes of text");
}

static int32_t check_get(struct mortise_asked *a, char *words)
{
    if (json_object_size(a->body) != 1)
        return mortise_ask_refuse(words, MORTISE_S_INVALID,
                                  "a request of kv.get/1 must be {key}");
    return check_key(a, words);
}

static int32_t check_value(const struct mortise_asked *a, const json_t *value,
                           char *words)
{
    struct mortise_buf text;
    int32_t status = MORTISE_S_OK;

    mortise_buf_init(&text, a->m->mem);
    if (mortise_json_write(&text, value) != MORTISE_OK)
        status = mortise_ask_refuse(words, MORTISE_S_NOMEM, "out of memory");
    else if (text.n > VALUE_MAX)
        status = mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "a value must be at most 1048576 bytes of JSON; this one has %zu",
            text.n);
    mortise_buf_finish(&text);
    return status;
}

static int32_t check_put(struct mortise_asked *a, char *words)
{
    const json_t *value = json_object_get(a->body, "value");
    int32_t status = check_key(a, words);

    if (json_object_size(a->body) != (value != NULL ? 2 : 1))
        return mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "a request of kv.put/1 must be {key, value?}");
    return status == MORTISE_S_OK && value != NULL
               ? check_value(a, value, words)
               : status;
}

/* ---- looking into the store ---------------------------------------------- */

/* A read for an ask, which may be let go of while it is out. */
struct kv_look {
    struct mortise_read read;
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was */
    json_t *body;                /* a reference: the key stands in it */
    char tenant[MORTISE_NAME_MAX + 1];
    const char *plugin;
    struct mortise_buf text;
    bool moved; /* puts were on their way when keys were counted */
};

/* NULL: no memory. */
static struct kv_look *look_new(struct mortise_asked *a)
{
    struct kv_look *l = mortise_zalloc(a->m->mem, sizeof *l);

    if (l == NULL)
        return NULL;
    l->m = a->m;
    l->asked = a;
    l->body = json_incref(mortise_json_unconst(a->body));
    strcpy(l->tenant, a->live->tenant); /* live.c lets no longer name in */
    l->plugin = a->manifest->name;
    mortise_buf_init(&l->text, a->m->mem);
    a->data = l;
    return l;
}

/* The ask it was for; NULL: nobody waits for it any more. */
static struct mortise_asked *look_free(struct kv_look *l)
{
    struct mortise_asked *a = l->asked;

    if (a != NULL)
        a->data = NULL;
    json_decref(l->body);
    mortise_buf_finish(&l->text);
    mortise_release(l->m->mem, l, sizeof *l);
    return a;
}

static void let_go(struct mortise_asked *a)
{
    struct kv_look *l = a->data;

    if (l != NULL)
        l->asked = NULL;
    a->data = NULL;
}

typedef void done_fn(struct mortise_read *r, int rv,
                     const struct mortise_err *err);

/* What stands under the key; MORTISE_ENOTFOUND: nothing does. */
static void fetch(struct kv_look *l, done_fn *done)
{
    const json_t *key = json_object_get(l->body, "key");

    l->read = (struct mortise_read){.kind = MORTISE_READ_KV,
                                    .tenant = l->tenant,
                                    .plugin = l->plugin,
                                    .key = json_string_value(key),
                                    .key_size = json_string_length(key),
                                    .value = &l->text,
                                    .done = done};
    mortise_store_read(l->m->store, &l->read);
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

/* With so many keys; NULL: no memory. */
static struct mortise_kv_room *room_new(struct mortise *m, const char *tenant,
                                        const char *plugin, size_t n)
{
    struct mortise_kv_room *k = mortise_zalloc(m->mem, sizeof *k);

    if (k == NULL)
        return NULL;
    k->mem = m->mem;
    k->n = n;
    k->tenant = mortise_strdup(m->mem, tenant);
    k->plugin = mortise_strdup(m->mem, plugin);
    if (k->tenant == NULL || k->plugin == NULL) {
        room_free(k);
        return NULL;
    }
    mortise_table_add(&m->kv_rooms, &k->entry,
                      mortise_hash_strs(tenant, plugin));
    return k;
}

static void count(struct kv_look *l, done_fn *done)
{
    l->moved = l->m->n_batch + l->m->n_flying > 0; /* they are still to come */
    l->read = (struct mortise_read){.kind = MORTISE_READ_KV_COUNT,
                                    .tenant = l->tenant,
                                    .plugin = l->plugin,
                                    .number = KEYS_MAX,
                                    .done = done};
    mortise_store_read(l->m->store, &l->read);
}

static void weighed(struct kv_look *l, bool full)
{
    struct mortise_asked *a = look_free(l);

    if (a == NULL)
        return;
    if (full)
        snprintf(a->words, sizeof a->words,
                 "the plugin already has %d keys, which is the limit; remove "
                 "one with a put without a value",
                 KEYS_MAX);
    mortise_host_call_weighed(a, full);
}

static bool goes(const struct kv_look *l)
{
    return json_object_get(l->body, "value") == NULL;
}

/* The put changes how many keys there are. */
static void take_room(struct kv_look *l, struct mortise_kv_room *k)
{
    bool full = !goes(l) && k->n >= KEYS_MAX;

    if (!full) {
        k->n = goes(l) ? k->n - (k->n > 0) : k->n + 1;
        k->moved = true;
    }
    weighed(l, full);
}

static void recounted(struct mortise_read *r, int rv,
                      const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = room_find(l->m, l->tenant, l->plugin);

    (void)err;
    if (rv == MORTISE_OK) {
        k->n = r->found.n;
        k->moved = l->moved;
    }
    take_room(l, k);
}

/* Is there something under the key? */
static void looked(struct mortise_read *r, int rv,
                   const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = room_find(l->m, l->tenant, l->plugin);
    bool is_there = rv != MORTISE_ENOTFOUND;

    (void)err;
    if (goes(l) != is_there)
        weighed(l, false);
    else if (!goes(l) && k->n >= KEYS_MAX && k->moved)
        count(l, recounted);
    else
        take_room(l, k);
}

/* Without memory to count nothing is refused: the put itself will fail. */
static void counted(struct mortise_read *r, int rv,
                    const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = room_find(l->m, l->tenant, l->plugin);

    (void)err;
    if (k == NULL && rv == MORTISE_OK) { /* nobody else counted meanwhile */
        k = room_new(l->m, l->tenant, l->plugin, r->found.n);
        if (k != NULL)
            k->moved = l->moved;
    }
    if (k == NULL)
        weighed(l, false);
    else
        fetch(l, looked);
}

static void weigh(struct mortise_asked *a)
{
    struct kv_look *l;

    /* A secret is kept where the deployer keeps it, and nowhere else. */
    if (mortise_secret_store_tells(a->m->secret_store, a->body)) {
        snprintf(a->words, sizeof a->words,
                 "the value contains a secret and would be stored; request the "
                 "secret again when you need it");
        mortise_host_call_weighed(a, true);
        return;
    }
    l = look_new(a);
    if (l == NULL)
        mortise_host_call_weighed(a, false);
    else if (room_find(l->m, l->tenant, l->plugin) == NULL)
        count(l, counted);
    else
        fetch(l, looked);
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

static void got(struct mortise_read *r, int rv, const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_OF(r, struct kv_look, read);
    json_t *value = NULL, *answer = NULL;
    struct mortise_err why = *err;
    struct mortise_asked *a;

    if (rv == MORTISE_OK)
        rv = mortise_json_read(&value, l->text.p, l->text.n, &why);
    else if (rv == MORTISE_ENOTFOUND)
        rv = MORTISE_OK;
    if (rv == MORTISE_OK) {
        answer =
            json_pack("{s:b, s:o*}", "found", value != NULL, "value", value);
        rv = answer != NULL ? MORTISE_OK : mortise_nomem(&why);
    }
    a = look_free(l);
    if (a == NULL)
        json_decref(answer);
    else if (rv == MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_OK, answer, "");
    else
        mortise_host_call_answer(
            a, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_IO, NULL,
            why.msg);
}

static void start_get(struct mortise_asked *a)
{
    struct kv_look *l = look_new(a);

    if (l != NULL)
        fetch(l, got);
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

const struct mortise_host_call_method mortise_host_call_kv_get = {
    .effect = MORTISE_HOST_CALL_GET,
    .check = check_get,
    .start = start_get,
    .cancel = let_go,
};

const struct mortise_host_call_method mortise_host_call_kv_put = {
    .effect = MORTISE_HOST_CALL_PUT,
    .check = check_put,
    .weigh = weigh,
    .cancel = let_go,
};
