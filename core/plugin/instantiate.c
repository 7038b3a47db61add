/* instantiate.c -- from a manifest that may be used to an instance, and back.
 *
 * The config is judged first, then the object's bytes, in a sealed copy that
 * nobody can change any more; these are loaded, and no others.  Constructors,
 * init() and create() are a visit (inside.h): who dies in one is to blame.
 * Only what came up counts as seen, and what does not let go is leaked with all
 * that it was lent.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lang/config/deploy_discovery.h"
#include "lang/config/deploy_memory.h"
#include "core/plugin/death.h"
#include "core/plugin/elf.h"
#include "core/plugin/endpoint.h"
#include "core/plugin/entry.h"
#include "core/plugin/quarantine.h"

/* ---- the bytes ------------------------------------------------------------- */

static int check_bytes(const struct mortise_plugins *p, const struct entry *e,
                       const struct mortise_artifact *a,
                       const struct mortise_object *o, struct mortise_err *err)
{
    char want[MORTISE_DIGEST_HEX], got[MORTISE_DIGEST_HEX];
    int rv;

    if (o->n != a->size ||
        memcmp(o->digest, a->digest, sizeof a->digest) != 0) {
        mortise_hex(want, a->digest, sizeof a->digest);
        mortise_hex(got, o->digest, sizeof o->digest);
        if (e->manifest->dev)
            return mortise_fail(
                err, MORTISE_EDENIED,
                "was rebuilt after its manifest was read (%.16s... then, "
                "%.16s... now); restart mortise",
                want, got);
        return mortise_fail(err, MORTISE_EDENIED,
                            "differs from the signed object: the manifest "
                            "declares %llu bytes and blake2b-256 %.16s..., but "
                            "the object has %zu and %.16s...; install the "
                            "plugin again",
                            (unsigned long long)a->size, want, o->n, got);
    }
    rv = mortise_trust_digest(p->trust, o->digest, err);
    if (rv == MORTISE_OK)
        rv = mortise_elf_check(o->p, o->n, mortise_elf_host(), err);
    if (rv == MORTISE_OK)
        rv = mortise_elf_check_plugin(o->p, o->n, e->manifest->name,
                                      e->manifest->version, err);
    return rv;
}

/* The artifact's bytes, sealed and judged: the only ones that are loaded. */
int mortise_plugin_prepare(const struct mortise_plugins *p,
                           const struct entry *e, struct mortise_object *o,
                           struct mortise_err *err)
{
    const struct mortise_artifact *a = mortise_plugin_artifact(e, err);
    char path[PATH_MAX];
    int rv = a != NULL ? mortise_plugin_open_object(e, a, o, err) : err->code;

    if (rv != MORTISE_OK)
        return mortise_doing(err, rv, "plugin %s", e->pub.name);
    assert(o->p != NULL && e->manifest != NULL); /* sealed, and usable() */
    rv = check_bytes(p, e, a, o, err);
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    mortise_object_close(o);
    if (mortise_plugin_object_path(e, a, path, NULL) != MORTISE_OK)
        path[0] = '\0';
    return mortise_doing(err, rv, "plugin %s: %s", e->pub.name, path);
}

/* ---- letting go ----------------------------------------------------------- */

/* An instance ended, or never came to be.  A leaked one goes on using its
 * manifest, so that is not ours any more; the module is let go with the last.
 */
static void let_go(struct entry *e, bool leaked)
{
    assert(e->loaded != NULL); /* while there was an instance */
    if (leaked) {
        e->manifest = NULL;
        e->code = MORTISE_ESTATE;
        e->problem =
            "did not stop when it was closed; restart mortise to use it again";
    }
    if (mortise_plugin_is_started(e))
        return;
    mortise_module_release(e->loaded, e->manifest == NULL);
    e->loaded = NULL;
}

static void stop(struct mortise_plugins *p, struct entry *e, struct created *c)
{
    struct mortise_instance *i = c->instance;
    struct mortise_visit v;

    c->instance = NULL;
    if (i == NULL)
        return;
    assert(e->culprit != NULL && e->loaded != NULL); /* it was started */
    /* No patience: quiesce() has a clock of its own, and a thread. */
    mortise_inside_enter(&v, e->culprit, MORTISE_INSIDE_END, NULL, 0,
                         MORTISE_MASK_NOW);
    let_go(e, !mortise_instance_close(i, p->config.quiesce_ms));
    mortise_inside_leave(&v);
}

/* ---- starting -------------------------------------------------------------- */

/* Which of the plugin's instances it is: of a model, of a guardrail, of discovery,
 * or the memory. */
static const char *behind(const struct created *c, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(c->as, prefix, n) == 0 ? c->as + n : NULL;
}

static const char *model_of(const struct created *c)
{
    return behind(c, "model:");
}

static const char *discoverer_of(const struct created *c)
{
    return behind(c, MORTISE_DISCOVERY_PREFIX);
}

/* Where the deployment says it. */
static const char *place_of(const struct created *c)
{
    return c->as[0] == '\0'                              ? "plugins.config"
           : model_of(c) != NULL                         ? "models"
           : discoverer_of(c) != NULL                    ? "discovery"
           : strcmp(c->as, MORTISE_MEMORY_INSTANCE) == 0 ? "memory"
                                                         : "guardrails";
}

static void config_of(const struct entry *e, const struct created *c, char *out,
                      size_t size)
{
    const char *model = model_of(c), *place = discoverer_of(c);

    if (strcmp(c->as, MORTISE_MEMORY_INSTANCE) == 0)
        snprintf(out, size, "the config of the memory (plugin %s)",
                 e->pub.name);
    else if (place != NULL)
        snprintf(out, size,
                 "the config at place %s of discovery.plugins (plugin %s)",
                 place, e->pub.name);
    else if (c->as[0] != '\0')
        snprintf(out, size, "the config of %s %s (plugin %s)",
                 model != NULL ? "model" : "guardrail",
                 model != NULL ? model : c->as, e->pub.name);
    else
        snprintf(out, size, "the config of plugin %s", e->pub.name);
}

/* The config as text, once it is known to fit. */
static int check_config(const struct entry *e, const struct created *c,
                        const json_t *config, struct mortise_buf *text,
                        struct mortise_err *err)
{
    const struct mortise_schema *schema = e->manifest->config_schema;
    char what[320];
    int rv;

    if (schema == NULL && json_object_size(config) > 0)
        return mortise_fail(
            err, MORTISE_ECONFIG,
            "plugin %s accepts no config; remove its part of %s", e->pub.name,
            place_of(c));
    config_of(e, c, what, sizeof what);
    rv = mortise_schema_check(schema, config, err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK)
        return mortise_doing(err, MORTISE_ECONFIG, "%s", what);
    rv = mortise_json_write(text, config);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv
                            : mortise_fail(err, MORTISE_ECONFIG,
                                           "%s is nested too deeply", what);
}

/* Load the bytes and find the plugin in them, unless that was done. */
static int load(const struct mortise_plugins *p, struct entry *e,
                struct mortise_err *err)
{
    struct mortise_object o;
    int rv;

    if (e->loaded != NULL)
        return MORTISE_OK;
    rv = mortise_plugin_prepare(p, e, &o, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_module_load(&e->loaded, &o, e->pub.name, err);
    mortise_object_close(&o);
    if (rv == MORTISE_OK) {
        rv = mortise_module_plugin(&e->plugin, e->loaded, e->pub.name,
                                   e->pub.version, err);
        if (rv == MORTISE_OK)
            return rv;
        mortise_module_release(e->loaded, false);
        e->loaded = NULL;
    }
    return mortise_doing(err, rv, "plugin %s", e->pub.name);
}

static int create(struct mortise_plugins *p, struct entry *e, struct created *c,
                  const struct mortise_buf *config, struct mortise_err *err)
{
    struct mortise_endpoint *to;
    int rv = load(p, e, err);

    if (rv != MORTISE_OK)
        return rv;
    assert(e->plugin != NULL && c->instance == NULL);
    if (e->culprit->code == 0)
        mortise_death_know(e->culprit, (const void *)e->plugin);
    rv = mortise_endpoint_in_process(&to, p->mem, e->plugin, e->manifest, err);
    if (rv == MORTISE_OK)
        rv = mortise_instance_open(&c->instance, p->mem, to, e->manifest,
                                   e->culprit, &p->config.ops, config->p,
                                   config->n, &c->failure, err);
    if (rv != MORTISE_OK)
        let_go(e, c->failure.leaked);
    return rv;
}

static int make_culprit(struct mortise_plugins *p, struct entry *e,
                        struct mortise_err *err)
{
    struct mortise_culprit *c = e->culprit;
    int rv = MORTISE_OK;

    if (c == NULL)
        c = e->culprit = mortise_zalloc(&mortise_heap, sizeof *c);
    if (c == NULL)
        return mortise_nomem(err);
    if (p->notes < 0 && p->config.quarantine_dir != NULL)
        rv = mortise_quarantine_open(&p->notes, p->config.quarantine_at,
                                     p->config.quarantine_dir, err);
    assert(strlen(e->manifest->name) < sizeof c->name); /* a manifest's */
    snprintf(c->name, sizeof c->name, "%s", e->manifest->name);
    mortise_hex(c->hex, e->manifest->digest, sizeof e->manifest->digest);
    c->dir = p->notes;
    return rv;
}

/* As a visit (inside.h), from its constructors on. */
static int create_visiting(struct mortise_plugins *p, struct entry *e,
                           struct created *c, const struct mortise_buf *config,
                           struct mortise_err *err)
{
    struct mortise_visit v;
    int rv = make_culprit(p, e, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_inside_enter(&v, e->culprit, MORTISE_INSIDE_CREATE, NULL,
                         mortise_manifest_patience(e->manifest),
                         MORTISE_MASK_NOW);
    rv = create(p, e, c, config, err);
    mortise_inside_leave(&v);
    return rv;
}

int mortise_plugin_start(struct mortise_plugins *p, struct entry *e,
                         struct created *c, const json_t *config,
                         struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    assert(e->pub.problem == NULL && c->instance == NULL); /* usable() */
    c->failure = (struct mortise_create_failure){.leaked = false};
    mortise_buf_init(&text, p->mem);
    rv = check_config(e, c, config, &text, err);
    if (rv == MORTISE_OK)
        rv = create_visiting(p, e, c, &text, err);
    if (rv == MORTISE_OK) {
        /* Only what came up counts as seen: a release that cannot start must
         * not lock out the one that could. */
        rv = mortise_releases_remember(p, e, err);
        if (rv != MORTISE_OK)
            stop(p, e, c);
    }
    mortise_buf_finish(&text);
    mortise_plugin_publish(e);
    return rv;
}

/* The place of an instance, made when it is new. */
struct created *mortise_plugin_created_as(struct mortise_plugins *p,
                                          struct entry *e, const char *as)
{
    struct created *c = e->created;

    while (c != NULL && strcmp(c->as, as) != 0)
        c = c->next;
    if (c != NULL)
        return c;
    c = mortise_arena_alloc(&p->arena, sizeof *c);
    if (c == NULL || (c->as = mortise_arena_strdup(&p->arena, as)) == NULL)
        return NULL;
    c->next = e->created;
    e->created = c;
    return c;
}

/* ---- the end -------------------------------------------------------------- */

/* What was leaked may still die, and then has a name, but no more a file. */
static void close_culprit(struct entry *e)
{
    struct mortise_culprit *c = e->culprit;

    if (c == NULL)
        return;
    c->dir = -1;
    if (e->manifest == NULL)
        return;
    mortise_death_forget(c);
    mortise_release(&mortise_heap, c, sizeof *c);
}

void mortise_plugin_close(struct mortise_plugins *p, struct entry *e)
{
    for (struct created *c = e->created; c != NULL; c = c->next)
        stop(p, e, c);
    assert(!mortise_plugin_is_started(e));
    close_culprit(e);
    mortise_manifest_free(e->manifest);
}
