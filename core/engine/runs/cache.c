/* cache.c -- what calls of pure operations gave before: the engine's half.
 *
 * core/run/outcome/cache.c asks before such a call is made, and hands over what one
 * gave.  Here is under which key: a digest of everything that the output may
 * depend on as long as the operation is what it says it is,
 *
 *   (1) the tenant, so that nobody learns from how fast an answer comes what
 *       another tenant asked (and the store keeps their results apart besides);
 *   (2) the operation, and the digest of its plugin's manifest, which has that
 *       of the object that is loaded;
 *   (3) the plugin's configuration, as create() gets it;
 *   (4) the arguments, in canonical form, as the call gets them.
 *
 * A call whose arguments or whose plugin's configuration refer to a secret has
 * no key: its value may be another tomorrow, and a digest of it would be on
 * disk.  Nor have calls in a test of graphs (script.h), where each is the
 * script's or the plugin's.
 *
 * What is found and does not read is as if it were not there, with a warning:
 * all that it saves is a call, and that can be made.  The lookup ends when the
 * store has answered; nothing cancels it before.
 */
#include <string.h>

#include "core/engine/runs/call.h"
#include "core/engine/runs/script.h"
#include "core/json/secret.h"

static int found_one(void *ud, const char *pointer, json_t **string)
{
    (void)ud;
    (void)pointer;
    (void)string;
    return MORTISE_ESTATE; /* no need to look any further */
}

/* MORTISE_OK: it refers to none. */
static int refers_to_none(json_t *value, const struct mortise_mem *mem)
{
    return mortise_secret_each(value, mem, found_one, NULL);
}

static const struct mortise_pin *pin_of(const struct mortise_live *live,
                                        const char *plugin)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(live->run, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(pins[i].plugin, plugin) == 0)
            return &pins[i];
    return NULL;
}

/* (3), (4) */
static int add_values(struct mortise_hasher *h, json_t *config, json_t *args,
                      const struct mortise_mem *mem)
{
    json_t *const values[] = {config, args};
    uint8_t digest[MORTISE_DIGEST];
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        rv = refers_to_none(values[i], mem);
        if (rv == MORTISE_OK)
            rv = mortise_json_digest(digest, values[i], mem);
        if (rv == MORTISE_OK)
            mortise_hasher_field(h, digest, sizeof digest);
    }
    return rv;
}

/* False: it has none. */
static bool find_key(uint8_t key[MORTISE_DIGEST],
                     const struct mortise_live *live,
                     const struct mortise_run_call *rc)
{
    struct mortise *m = live->m;
    const struct mortise_pin *pin = pin_of(live, rc->plugin);
    json_t *config;
    struct mortise_hasher h;
    int rv;

    if (pin == NULL || m->script != NULL)
        return false;
    config = mortise_deployment_config(m->settings.deployment, rc->plugin, "");
    if (config == NULL)
        return false;
    mortise_hasher_init(&h);
    mortise_hasher_str(&h, live->tenant);
    mortise_hasher_str(&h, rc->plugin);
    mortise_hasher_str(&h, rc->operation);
    mortise_hasher_field(&h, pin->digest, MORTISE_DIGEST);
    rv = add_values(&h, config, rc->body, m->mem);
    mortise_hasher_final(&h, key);
    json_decref(config);
    return rv == MORTISE_OK;
}

static void end(struct mortise_ongoing *c, int32_t status)
{
    c->status = status;
    mortise_ready(c->m, &c->ended);
}

/* What the store is asked for; the run keeps its call, and so its names, until
 * that has ended. */
struct lookup {
    struct mortise_read read;
    struct mortise_ongoing *call;
    struct mortise_buf text;
};

static void found(struct mortise_read *r, int rv, const struct mortise_err *err)
{
    struct lookup *l = MORTISE_OF(r, struct lookup, read);
    struct mortise_ongoing *c = l->call;
    struct mortise *m = c->m;
    struct mortise_err why = *err;

    if (rv == MORTISE_OK)
        rv = mortise_json_read(&c->output, l->text.p, l->text.n, &why);
    if (rv == MORTISE_ECORRUPT || rv == MORTISE_EFORMAT || rv == MORTISE_EIO)
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s: %s: %s; its operation is called instead",
                    c->live->id, c->path, why.msg);
    mortise_buf_finish(&l->text);
    mortise_release(m->mem, l, sizeof *l);
    end(c, rv == MORTISE_OK ? MORTISE_S_OK : MORTISE_S_NOTFOUND);
}

void mortise_cache_look_up(struct mortise_ongoing *c,
                           const struct mortise_run_call *rc)
{
    struct mortise *m = c->m;
    struct lookup *l;

    c->has_cache_key = find_key(c->cache_key, c->live, rc);
    l = c->has_cache_key && m->settings.deployment->cache_bytes != 0
            ? mortise_zalloc(m->mem, sizeof *l)
            : NULL;
    if (l == NULL) {
        end(c, MORTISE_S_NOTFOUND);
        return;
    }
    l->call = c;
    mortise_buf_init(&l->text, m->mem);
    l->read = (struct mortise_read){.kind = MORTISE_READ_CACHED,
                                    .tenant = c->live->tenant,
                                    .value = &l->text,
                                    .done = found};
    memcpy(l->read.digest, c->cache_key, sizeof l->read.digest);
    mortise_store_read(m->store, &l->read);
}
