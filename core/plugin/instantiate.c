/* instantiate.c -- from a usable manifest to an instance, and back.
 *
 * First the config is checked, then the object's bytes, in a sealed copy that
 * cannot change; only these bytes are loaded.  Constructors, init() and
 * create() run as a visit (inside.h), so that a death in them is attributed.
 * Only a release that started is remembered.  A plugin that does not stop is
 * leaked with everything lent to it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/plugin/death.h"
#include "core/plugin/elf.h"
#include "core/plugin/endpoint.h"
#include "core/plugin/entry.h"
#include "core/plugin/quarantine.h"

/* ---- the object's bytes -------------------------------------------------- */

static int check_object_bytes(const struct mortise_plugins *p,
                              const struct entry *e,
                              const struct mortise_artifact *a,
                              const struct mortise_object *o,
                              struct mortise_err *err)
{
    char want[MORTISE_DIGEST_HEX], got[MORTISE_DIGEST_HEX];
    int rv;

    if (o->n != a->size ||
        memcmp(o->digest, a->digest, sizeof a->digest) != 0) {
        mortise_hex_encode(want, a->digest, sizeof a->digest);
        mortise_hex_encode(got, o->digest, sizeof o->digest);
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
    rv = mortise_trust_check_digest(p->trust, o->digest, err);
    if (rv == MORTISE_OK)
        rv = mortise_elf_check(o->p, o->n, mortise_elf_get_host_arch(), err);
    if (rv == MORTISE_OK)
        rv = mortise_elf_check_plugin(o->p, o->n, e->manifest->name,
                                      e->manifest->version, err);
    return rv;
}

int mortise_plugin_prepare(const struct mortise_plugins *p,
                           const struct entry *e, struct mortise_object *o,
                           struct mortise_err *err)
{
    const struct mortise_artifact *a = mortise_plugin_find_artifact(e, err);
    char path[PATH_MAX];
    int rv = a != NULL ? mortise_plugin_open_object(e, a, o, err) : err->code;

    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "plugin %s", e->pub.name);
    /* Sealed, and checked by find_usable_entry(). */
    assert(o->p != NULL && e->manifest != NULL);
    rv = check_object_bytes(p, e, a, o, err);
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    mortise_object_close(o);
    if (mortise_plugin_object_path(e, a, path, NULL) != MORTISE_OK)
        path[0] = '\0';
    return mortise_err_prefix(err, rv, "plugin %s: %s", e->pub.name, path);
}

/* ---- stopping ------------------------------------------------------------ */

/* An instance ended or could not be created.  A leaked one still uses its
 * manifest, so the entry gives it up.  Release the module with the last
 * instance. */
static void end_instance_use(struct entry *e, bool leaked)
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

static void stop_instance(struct mortise_plugins *p, struct entry *e,
                          struct created *c)
{
    struct mortise_instance *i = c->instance;
    struct mortise_visit v;

    c->instance = NULL;
    if (i == NULL)
        return;
    assert(e->culprit != NULL && e->loaded != NULL); /* it was started */
    /* No time limit here: quiesce() runs on its own thread with its own
     * limit. */
    mortise_visit_enter(&v, e->culprit, MORTISE_VISIT_END, NULL, 0,
                        MORTISE_VISIT_MASK_NOW);
    end_instance_use(e, !mortise_instance_close(i, p->config.quiesce_ms));
    mortise_visit_leave(&v);
}

/* ---- starting ------------------------------------------------------------ */

/* The rest of `as` after a prefix, which tells the instance's use: a model, a
 * guardrail, discovery, or the memory.  NULL: another use. */
static const char *skip_as_prefix(const struct created *c, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(c->as, prefix, n) == 0 ? c->as + n : NULL;
}

static const char *get_model_alias(const struct created *c)
{
    return skip_as_prefix(c, "model:");
}

static const char *get_discovery_place(const struct created *c)
{
    return skip_as_prefix(c, MORTISE_DISCOVERY_PREFIX);
}

/* The section of the deployment with the config, for messages. */
static const char *get_config_section(const struct created *c)
{
    return c->as[0] == '\0'                              ? "plugins.config"
           : get_model_alias(c) != NULL                  ? "models"
           : get_discovery_place(c) != NULL              ? "discovery"
           : strcmp(c->as, MORTISE_MEMORY_INSTANCE) == 0 ? "memory"
                                                         : "guardrails";
}

static void describe_config(const struct entry *e, const struct created *c,
                            char *out, size_t size)
{
    const char *model = get_model_alias(c), *place = get_discovery_place(c);

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

/* Validate the config and write it as text. */
static int check_instance_config(const struct entry *e, const struct created *c,
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
            get_config_section(c));
    describe_config(e, c, what, sizeof what);
    rv = mortise_schema_check(schema, config, err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, MORTISE_ECONFIG, "%s", what);
    rv = mortise_json_write(text, config);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv
                            : mortise_fail(err, MORTISE_ECONFIG,
                                           "%s is nested too deeply", what);
}

/* Load the module and find the plugin in it, unless that was done. */
static int load_plugin_module(const struct mortise_plugins *p, struct entry *e,
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
        rv = mortise_module_find_plugin(&e->plugin, e->loaded, e->pub.name,
                                        e->pub.version, err);
        if (rv == MORTISE_OK)
            return rv;
        mortise_module_release(e->loaded, false);
        e->loaded = NULL;
    }
    return mortise_err_prefix(err, rv, "plugin %s", e->pub.name);
}

static int create_instance(struct mortise_plugins *p, struct entry *e,
                           struct created *c, const struct mortise_buf *config,
                           struct mortise_err *err)
{
    struct mortise_endpoint *to;
    int rv = load_plugin_module(p, e, err);

    if (rv != MORTISE_OK)
        return rv;
    assert(e->plugin != NULL && c->instance == NULL);
    if (e->culprit->code == 0)
        mortise_death_add_culprit(e->culprit, (const void *)e->plugin);
    rv = mortise_endpoint_in_process(&to, p->mem, e->plugin, e->manifest, err);
    if (rv == MORTISE_OK)
        rv = mortise_instance_open(&c->instance, p->mem, to, e->manifest,
                                   e->culprit, &p->config.ops, config->p,
                                   config->n, &c->failure, err);
    if (rv != MORTISE_OK)
        end_instance_use(e, c->failure.leaked);
    return rv;
}

static int init_culprit(struct mortise_plugins *p, struct entry *e,
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
    /* Checked when it was parsed. */
    assert(strlen(e->manifest->name) < sizeof c->name);
    snprintf(c->name, sizeof c->name, "%s", e->manifest->name);
    mortise_hex_encode(c->hex, e->manifest->digest, sizeof e->manifest->digest);
    c->dir = p->notes;
    return rv;
}

/* Run everything from constructors to create() in one visit (inside.h). */
static int create_in_visit(struct mortise_plugins *p, struct entry *e,
                           struct created *c, const struct mortise_buf *config,
                           struct mortise_err *err)
{
    struct mortise_visit v;
    int rv = init_culprit(p, e, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_visit_enter(&v, e->culprit, MORTISE_VISIT_CREATE, NULL,
                        mortise_manifest_time_limit(e->manifest),
                        MORTISE_VISIT_MASK_NOW);
    rv = create_instance(p, e, c, config, err);
    mortise_visit_leave(&v);
    return rv;
}

int mortise_plugin_start(struct mortise_plugins *p, struct entry *e,
                         struct created *c, const json_t *config,
                         struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    /* Checked by find_usable_entry(). */
    assert(e->pub.problem == NULL && c->instance == NULL);
    c->failure = (struct mortise_create_failure){.leaked = false};
    mortise_buf_init(&text, p->mem);
    rv = check_instance_config(e, c, config, &text, err);
    if (rv == MORTISE_OK)
        rv = create_in_visit(p, e, c, &text, err);
    if (rv == MORTISE_OK) {
        /* Remember a release only after it started: a release that cannot start
         * must not lock out the previous one. */
        rv = mortise_releases_record(p, e, err);
        if (rv != MORTISE_OK)
            stop_instance(p, e, c);
    }
    mortise_buf_finish(&text);
    mortise_plugin_update_info(e);
    return rv;
}

struct created *mortise_plugin_get_created(struct mortise_plugins *p,
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

/* ---- closing ------------------------------------------------------------- */

/* A leaked plugin can still crash: keep its name for the message, but write no
 * note. */
static void close_culprit(struct entry *e)
{
    struct mortise_culprit *c = e->culprit;

    if (c == NULL)
        return;
    c->dir = -1;
    if (e->manifest == NULL)
        return;
    mortise_death_remove_culprit(c);
    mortise_release(&mortise_heap, c, sizeof *c);
}

void mortise_plugin_close(struct mortise_plugins *p, struct entry *e)
{
    for (struct created *c = e->created; c != NULL; c = c->next)
        stop_instance(p, e, c);
    assert(!mortise_plugin_is_started(e));
    close_culprit(e);
    mortise_manifest_free(e->manifest);
}
