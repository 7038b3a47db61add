/* kv.c -- values that a plugin stores across runs and restarts.
 *
 *   kv.get/1 {key}          {"found": true, "value": ...} or {"found": false}
 *   kv.put/1 {key, value?}  null; without a value, the key is removed
 *
 * Each pair of a plugin (by its manifest's name) and a tenant has a namespace
 * of its own, which all versions of the plugin share.  A put belongs to the
 * run, and is committed together with its answer (core/run/asks/step.c).  A get
 * is read from the store here, so it sees committed values.
 *
 * A namespace has at most KEYS_MAX keys.  The keys are counted in the store at
 * the first put, and the number is then updated in memory.  It can become
 * slightly wrong: if a run is lost, or if two runs put the same new key at
 * once.  Therefore the number alone never rejects a put: the keys are counted
 * again first, unless nothing was put since the last count.
 *
 * A put that contains a secret is rejected: only references to secrets are
 * stored. */
#include <stdio.h>
#include <string.h>

#include "core/engine/runs/host_calls.h"
#include "core/engine/common/secret_store.h"
#include "core/plugin/services.h"

enum { KEY_MAX = 512, VALUE_MAX = 1024 * 1024, KEYS_MAX = 65536 };

static int32_t check_kv_key(const struct mortise_asked *a, char *words)
{
    const json_t *key = json_object_get(a->body, "key");

    if (json_is_string(key) && json_string_length(key) >= 1 &&
        json_string_length(key) <= KEY_MAX)
        return MORTISE_S_OK;
    return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                    "key must be 1 to 512 bytes of text");
}

static int32_t check_kv_get(struct mortise_asked *a, char *words)
{
    if (json_object_size(a->body) != 1)
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "a request of kv.get/1 must be {key}");
    return check_kv_key(a, words);
}

static int32_t check_kv_value(const struct mortise_asked *a,
                              const json_t *value, char *words)
{
    struct mortise_buf text;
    int32_t status = MORTISE_S_OK;

    mortise_buf_init(&text, a->m->mem);
    if (mortise_json_write(&text, value) != MORTISE_OK)
        status =
            mortise_ask_format_error(words, MORTISE_S_NOMEM, "out of memory");
    else if (text.n > VALUE_MAX)
        status = mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a value must be at most 1048576 bytes of JSON; this one has %zu",
            text.n);
    mortise_buf_finish(&text);
    return status;
}

static int32_t check_kv_put(struct mortise_asked *a, char *words)
{
    const json_t *value = json_object_get(a->body, "value");
    int32_t status = check_kv_key(a, words);

    if (json_object_size(a->body) != (value != NULL ? 2 : 1))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request of kv.put/1 must be {key, value?}");
    return status == MORTISE_S_OK && value != NULL
               ? check_kv_value(a, value, words)
               : status;
}

/* ---- reads -------------------------------------------------------------- */

/* A read for a call, which may be cancelled meanwhile. */
struct kv_look {
    struct mortise_read read;
    struct mortise *m;
    struct mortise_table *rooms; /* which the engine keeps */
    struct mortise_asked *asked; /* NULL: cancelled */
    json_t *body;                /* a reference: the key is in it */
    char tenant[MORTISE_NAME_MAX + 1];
    const char *plugin;
    struct mortise_buf text;
    bool moved; /* puts were in flight during the count */
};

/* NULL: memory ran out. */
static struct kv_look *new_kv_look(struct mortise_asked *a)
{
    struct kv_look *l = mortise_zalloc(a->m->mem, sizeof *l);

    if (l == NULL)
        return NULL;
    l->m = a->m;
    l->rooms = *a->kept;
    l->asked = a;
    l->body = json_incref(mortise_json_unconst(a->body));
    strcpy(l->tenant, a->live->tenant); /* live.c admits no longer name */
    l->plugin = a->manifest->name;
    mortise_buf_init(&l->text, a->m->mem);
    a->data = l;
    return l;
}

/* Free the read.  Returns its call; NULL: the call was cancelled. */
static struct mortise_asked *free_kv_look(struct kv_look *l)
{
    struct mortise_asked *a = l->asked;

    if (a != NULL)
        a->data = NULL;
    json_decref(l->body);
    mortise_buf_finish(&l->text);
    mortise_release(l->m->mem, l, sizeof *l);
    return a;
}

static void cancel_kv_look(struct mortise_asked *a)
{
    struct kv_look *l = a->data;

    if (l != NULL)
        l->asked = NULL;
    a->data = NULL;
}

typedef void kv_read_fn(struct mortise_read *r, int rv,
                        const struct mortise_err *err);

/* Read the value of the key; MORTISE_ENOTFOUND: there is none. */
static void read_kv_value(struct kv_look *l, kv_read_fn *done)
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

/* ---- number of keys ----------------------------------------------------- */

struct mortise_kv_room {
    struct mortise_table_entry entry;
    const struct mortise_mem *mem;
    char *tenant, *plugin;
    size_t n;   /* number of keys, approximately */
    bool moved; /* changed since the last count */
};

static struct mortise_kv_room *find_kv_room(const struct kv_look *l)
{
    struct mortise_table_entry *e =
        mortise_table_find(l->rooms, mortise_hash_strs(l->tenant, l->plugin));

    for (; e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_kv_room *k =
            MORTISE_CONTAINER_OF(e, struct mortise_kv_room, entry);

        if (strcmp(k->tenant, l->tenant) == 0 &&
            strcmp(k->plugin, l->plugin) == 0)
            return k;
    }
    return NULL;
}

static void free_kv_room(struct mortise_kv_room *k)
{
    mortise_release_str(k->mem, k->tenant);
    mortise_release_str(k->mem, k->plugin);
    mortise_release(k->mem, k, sizeof *k);
}

/* Create with n keys; NULL: memory ran out. */
static struct mortise_kv_room *new_kv_room(const struct kv_look *l, size_t n)
{
    const struct mortise_mem *mem = l->m->mem;
    struct mortise_kv_room *k = mortise_zalloc(mem, sizeof *k);

    if (k == NULL)
        return NULL;
    k->mem = mem;
    k->n = n;
    k->tenant = mortise_strdup(mem, l->tenant);
    k->plugin = mortise_strdup(mem, l->plugin);
    if (k->tenant == NULL || k->plugin == NULL) {
        free_kv_room(k);
        return NULL;
    }
    mortise_table_add(l->rooms, &k->entry,
                      mortise_hash_strs(l->tenant, l->plugin));
    return k;
}

static void count_kv_keys(struct kv_look *l, kv_read_fn *done)
{
    l->moved = l->m->n_batch + l->m->n_commits_in_flight > 0; /* not counted */
    l->read = (struct mortise_read){.kind = MORTISE_READ_KV_COUNT,
                                    .tenant = l->tenant,
                                    .plugin = l->plugin,
                                    .number = KEYS_MAX,
                                    .done = done};
    mortise_store_read(l->m->store, &l->read);
}

static void finish_kv_decision(struct kv_look *l, bool full)
{
    struct mortise_asked *a = free_kv_look(l);

    if (a == NULL)
        return;
    if (full)
        snprintf(a->words, sizeof a->words,
                 "the plugin already has %d keys, which is the limit; remove "
                 "one with a put without a value",
                 KEYS_MAX);
    mortise_host_call_answer_weigh(a, full);
}

static bool is_kv_removal(const struct kv_look *l)
{
    return json_object_get(l->body, "value") == NULL;
}

/* Update the number of keys for a put that adds or removes one; reject it if
 * there are too many. */
static void reserve_kv_room(struct kv_look *l, struct mortise_kv_room *k)
{
    bool full = !is_kv_removal(l) && k->n >= KEYS_MAX;

    if (!full) {
        k->n = is_kv_removal(l) ? k->n - (k->n > 0) : k->n + 1;
        k->moved = true;
    }
    finish_kv_decision(l, full);
}

static void on_kv_keys_recounted(struct mortise_read *r, int rv,
                                 const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_CONTAINER_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = find_kv_room(l);

    (void)err;
    if (rv == MORTISE_OK) {
        k->n = r->found.n;
        k->moved = l->moved;
    }
    reserve_kv_room(l, k);
}

/* A put that does not change the number of keys is always accepted. */
static void on_kv_key_read(struct mortise_read *r, int rv,
                           const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_CONTAINER_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = find_kv_room(l);
    bool is_there = rv != MORTISE_ENOTFOUND;

    (void)err;
    if (is_kv_removal(l) != is_there)
        finish_kv_decision(l, false);
    else if (!is_kv_removal(l) && k->n >= KEYS_MAX && k->moved)
        count_kv_keys(l, on_kv_keys_recounted);
    else
        reserve_kv_room(l, k);
}

/* If memory is too short to count, the put is accepted here, and fails by
 * itself. */
static void on_kv_keys_counted(struct mortise_read *r, int rv,
                               const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_CONTAINER_OF(r, struct kv_look, read);
    struct mortise_kv_room *k = find_kv_room(l);

    (void)err;
    if (k == NULL && rv == MORTISE_OK) { /* no other call counted meanwhile */
        k = new_kv_room(l, r->found.n);
        if (k != NULL)
            k->moved = l->moved;
    }
    if (k == NULL)
        finish_kv_decision(l, false);
    else
        read_kv_value(l, on_kv_key_read);
}

static void decide_kv_put(struct mortise_asked *a)
{
    struct kv_look *l;

    /* Secrets are stored only where the deployer keeps them. */
    if (mortise_secret_store_has_secret_in(a->m->secret_store, a->body)) {
        snprintf(a->words, sizeof a->words,
                 "the value contains a secret and would be stored; request the "
                 "secret again when you need it");
        mortise_host_call_answer_weigh(a, true);
        return;
    }
    l = new_kv_look(a);
    if (l == NULL)
        mortise_host_call_answer_weigh(a, false);
    else if (find_kv_room(l) == NULL)
        count_kv_keys(l, on_kv_keys_counted);
    else
        read_kv_value(l, on_kv_key_read);
}

static int open_kv_rooms(struct mortise *m, void **kept,
                         struct mortise_err *err)
{
    struct mortise_table *rooms = mortise_alloc(m->mem, sizeof *rooms);

    *kept = rooms;
    if (rooms == NULL)
        return mortise_nomem(err);
    mortise_table_init(rooms, m->mem);
    return MORTISE_OK;
}

static void close_kv_rooms(struct mortise *m, void *kept)
{
    struct mortise_table *rooms = kept;
    struct mortise_table_entry *e;

    while ((e = mortise_table_first(rooms)) != NULL) {
        mortise_table_remove(rooms, e);
        free_kv_room(MORTISE_CONTAINER_OF(e, struct mortise_kv_room, entry));
    }
    mortise_table_finish(rooms);
    mortise_release(m->mem, rooms, sizeof *rooms);
}

/* ---- methods ------------------------------------------------------------ */

static void on_kv_value_read(struct mortise_read *r, int rv,
                             const struct mortise_err *err)
{
    struct kv_look *l = MORTISE_CONTAINER_OF(r, struct kv_look, read);
    json_t *value = NULL, *answer = NULL;
    struct mortise_err why = *err;
    struct mortise_asked *a;

    if (rv == MORTISE_OK)
        rv = mortise_json_parse_written(&value, l->text.p, l->text.n, &why);
    else if (rv == MORTISE_ENOTFOUND)
        rv = MORTISE_OK;
    if (rv == MORTISE_OK) {
        answer =
            json_pack("{s:b, s:o*}", "found", value != NULL, "value", value);
        rv = answer != NULL ? MORTISE_OK : mortise_nomem(&why);
    }
    a = free_kv_look(l);
    if (a == NULL)
        json_decref(answer);
    else if (rv == MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_OK, answer, "");
    else
        mortise_host_call_answer(
            a, rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_IO, NULL,
            why.msg);
}

static void start_kv_get(struct mortise_asked *a)
{
    struct kv_look *l = new_kv_look(a);

    if (l != NULL)
        read_kv_value(l, on_kv_value_read);
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

static const struct mortise_host_call_method kv_get_method = {
    .effect = MORTISE_HOST_CALL_GET,
    .check = check_kv_get,
    .start = start_kv_get,
    .cancel = cancel_kv_look,
};

static const struct mortise_host_call_method kv_put_method = {
    .effect = MORTISE_HOST_CALL_PUT,
    .check = check_kv_put,
    .weigh = decide_kv_put,
    .cancel = cancel_kv_look,
};

static const struct mortise_method methods[] = {
    {.name = "kv.get/1", .performs = &kv_get_method},
    {.name = "kv.put/1", .performs = &kv_put_method},
    {.name = NULL},
};

const struct mortise_service mortise_service_kv = {.name = "kv",
                                                   .methods = methods,
                                                   .open = open_kv_rooms,
                                                   .close = close_kv_rooms};
