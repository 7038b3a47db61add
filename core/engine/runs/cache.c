/* cache.c -- cached outputs of pure operations: the engine's half.
 *
 * core/run/outcome/cache.c asks for a cached output before it calls a pure
 * operation, and hands over the output of the call.  This file computes the
 * key: a digest of everything that the output may depend on,
 *
 *   (1) the tenant, so that nobody can learn from the response time of a call
 *       whether another tenant made the same one (the store also keeps the
 *       tenants apart);
 *   (2) the operation, and the digest of its plugin's manifest, which includes
 *       the digest of the loaded object;
 *   (3) the plugin's config, as create() gets it;
 *   (4) the arguments in canonical form, as the call gets them.
 *
 * A call whose arguments or plugin config refer to a secret has no key: the
 * value may change, and its digest would be on disk.  Calls in a test of graphs
 * (script.h) have no key either, because the script or the plugin answers each
 * of them.
 *
 * An entry that cannot be read counts as missing, with a warning: the call is
 * simply made.  The lookup ends when the store has answered; it is not
 * cancelled before.
 */
#include <string.h>

#include "core/engine/runs/call.h"
#include "core/engine/runs/script.h"
#include "core/json/secret.h"

static int stop_at_reference(void *ud, const char *pointer, json_t **string)
{
    (void)ud;
    (void)pointer;
    (void)string;
    return MORTISE_ESTATE; /* stop at the first reference */
}

/* MORTISE_OK: the value refers to no secret. */
static int check_no_references(json_t *value, const struct mortise_mem *mem)
{
    return mortise_secret_for_each(value, mem, stop_at_reference, NULL);
}

static const struct mortise_pin *
find_plugin_pin(const struct mortise_live *live, const char *plugin)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(live->run, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(pins[i].plugin, plugin) == 0)
            return &pins[i];
    return NULL;
}

/* (3), (4) */
static int add_values_to_key(struct mortise_hasher *h, json_t *config,
                             json_t *args, const struct mortise_mem *mem)
{
    json_t *const values[] = {config, args};
    uint8_t digest[MORTISE_DIGEST];
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        rv = check_no_references(values[i], mem);
        if (rv == MORTISE_OK)
            rv = mortise_json_digest(digest, values[i], mem);
        if (rv == MORTISE_OK)
            mortise_hasher_add_field(h, digest, sizeof digest);
    }
    return rv;
}

/* False: the call has no key. */
static bool make_cache_key(uint8_t key[MORTISE_DIGEST],
                           const struct mortise_live *live,
                           const struct mortise_run_call *rc)
{
    struct mortise *m = live->m;
    const struct mortise_pin *pin = find_plugin_pin(live, rc->plugin);
    json_t *config;
    struct mortise_hasher h;
    int rv;

    if (pin == NULL || m->script != NULL)
        return false;
    config =
        mortise_deployment_get_config(m->settings.deployment, rc->plugin, "");
    if (config == NULL)
        return false;
    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, live->tenant);
    mortise_hasher_add_str(&h, rc->plugin);
    mortise_hasher_add_str(&h, rc->operation);
    mortise_hasher_add_field(&h, pin->digest, MORTISE_DIGEST);
    rv = add_values_to_key(&h, config, rc->body, m->mem);
    mortise_hasher_final(&h, key);
    json_decref(config);
    return rv == MORTISE_OK;
}

static void end_lookup(struct mortise_plugin_call *c, int32_t status)
{
    c->status = status;
    mortise_task_make_ready(c->m, &c->ended);
}

/* A read of the cache.  The run keeps the call, and with it the strings, until
 * it has ended. */
struct lookup {
    struct mortise_read read;
    struct mortise_plugin_call *call;
    struct mortise_buf text;
};

static void cached_value_read(struct mortise_read *r, int rv,
                              const struct mortise_err *err)
{
    struct lookup *l = MORTISE_CONTAINER_OF(r, struct lookup, read);
    struct mortise_plugin_call *c = l->call;
    struct mortise *m = c->m;
    struct mortise_err why = *err;

    if (rv == MORTISE_OK)
        rv = mortise_json_parse_written(&c->output, l->text.p, l->text.n, &why);
    if (rv == MORTISE_ECORRUPT || rv == MORTISE_EFORMAT || rv == MORTISE_EIO)
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s: %s: %s; its operation is called instead",
                    c->live->id, c->path, why.msg);
    mortise_buf_finish(&l->text);
    mortise_release(m->mem, l, sizeof *l);
    end_lookup(c, rv == MORTISE_OK ? MORTISE_S_OK : MORTISE_S_NOTFOUND);
}

void mortise_cache_look_up(struct mortise_plugin_call *c,
                           const struct mortise_run_call *rc)
{
    struct mortise *m = c->m;
    struct lookup *l;

    c->has_cache_key = make_cache_key(c->cache_key, c->live, rc);
    l = c->has_cache_key && m->settings.cache_bytes != 0
            ? mortise_zalloc(m->mem, sizeof *l)
            : NULL;
    if (l == NULL) {
        end_lookup(c, MORTISE_S_NOTFOUND);
        return;
    }
    l->call = c;
    mortise_buf_init(&l->text, m->mem);
    l->read = (struct mortise_read){.kind = MORTISE_READ_CACHED,
                                    .tenant = c->live->tenant,
                                    .value = &l->text,
                                    .done = cached_value_read};
    memcpy(l->read.digest, c->cache_key, sizeof l->read.digest);
    mortise_store_read(m->store, &l->read);
}
