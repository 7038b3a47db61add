/* registry.c -- the plugins of a deployment: find, verify, load, create.
 *
 * The order of plugins.md 4, and the place of each step:
 *
 *   at a look  (verification.c) when the table is opened, or at the first
 *              lookup of a plugin: read manifest and signature;
 *              mortise_trust_verify() (key, revocation, name, time); parse;
 *              the trusted comment matches; kinds; abi and requires;
 *              isolation; seq (releases.c); quarantine.  Without a signature,
 *              in a directory marked dev: parse; revocation; digest of the
 *              object; abi and requires; quarantine
 *   at start   (instantiate.c) config; copy the .so into a sealed memfd;
 *              digest; ELF; dlopen of that memfd; module, descriptors;
 *              create; publish
 *
 * Promises:
 *
 *   (1) No code of a plugin runs before every check that needs no code.  This
 *       includes its config, so a wrong config loads no code.
 *   (2) judge_signed() and judge_unsigned() of verification.c are the only way
 *       to a manifest without a problem, and mortise_plugin_prepare() is the
 *       only way to bytes that are loaded.
 *   (3) A manifest is parsed only if its signature verifies, or if the
 *       deployment marks its directory dev.  Other files from strangers reach
 *       the signature check only.
 *   (4) The first directory with a name decides, and in it the highest version.
 *       If that one has a problem, the lookup fails.  Trying the next one would
 *       let an attacker who breaks a signature choose an older version.  A file
 *       is named NAME.plugin.yaml or NAME-VERSION.plugin.yaml, so an unreadable
 *       file is still known to belong to NAME, and a command reads only the
 *       manifests of the plugins that it uses.
 *   (5) Every error is one sentence: the expectation, the finding, the remedy.
 *   (6) An unsigned plugin is bound to its bytes, too: the object is digested
 *       when the manifest is read, the digest is part of the pin, and the
 *       loaded bytes must match it.  A rebuild in between is denied.  The seq
 *       of an unsigned manifest is ignored: it is not compared with releases
 *       and locks none out.
 *   (7) Rollback protection: the seq of a plugin (over all keys that are not
 *       revoked), the manifest of a seq, the seq of a trust directory and the
 *       revocation of a key never go back.  Both the store and the user record
 *       them, so neither a new store nor a renamed directory loses them.
 *       Bundled plugins change with the program, so the user's records do not
 *       apply to them.  allow_downgrade goes back once, and records that.
 *   (8) Trust follows the current files: before each load and each call they
 *       are checked for changes, at most every MORTISE_TRUST_CHECK_MS, and read again
 *       if they changed.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/plugin/entry.h"
#include "core/plugin/quarantine.h"
#include "core/plugin/version.h"

enum {
    QUIESCE_MS = 10000,
    NAMES_MAX = 256 /* considered for "did you mean" */
};

/* ---- open and close ------------------------------------------------------ */

static const char *const *copy_strings(struct mortise_arena *a,
                                       const char *const *from, size_t n)
{
    const char **to = mortise_arena_alloc(a, (n + 1) * sizeof *to);

    for (size_t i = 0; to != NULL && i < n; i++) {
        to[i] = mortise_arena_strdup(a, from[i]);
        if (to[i] == NULL)
            return NULL;
    }
    return to;
}

static int copy_config(struct mortise_plugins *p,
                       const struct mortise_plugins_config *c,
                       struct mortise_err *err)
{
    struct mortise_plugins_config *to = &p->config;

    assert(c->first_dev <= c->n_dirs && c->n_dev <= c->n_dirs - c->first_dev);
    *to = *c;
    to->dirs = copy_strings(&p->arena, c->dirs, c->n_dirs);
    to->trust_dirs = copy_strings(&p->arena, c->trust_dirs, c->n_trust_dirs);
    if (c->quarantine_dir != NULL)
        to->quarantine_dir = mortise_arena_strdup(&p->arena, c->quarantine_dir);
    if (c->quiesce_ms == 0)
        to->quiesce_ms = QUIESCE_MS;
    if (to->dirs == NULL || to->trust_dirs == NULL ||
        (c->quarantine_dir != NULL && to->quarantine_dir == NULL))
        return mortise_nomem(err);
    return MORTISE_OK;
}

int mortise_plugins_open(struct mortise_plugins **out,
                         const struct mortise_plugins_config *config,
                         struct mortise_err *err)
{
    struct mortise_plugins *p = mortise_zalloc(config->mem, sizeof *p);
    int rv;

    *out = NULL;
    if (p == NULL)
        return mortise_nomem(err);
    p->mem = config->mem;
    p->rollback_state.mem = config->mem;
    p->notes = p->any_noted = -1;
    mortise_arena_init(&p->arena, p->mem);
    rv = copy_config(p, config, err);
    if (rv == MORTISE_OK && !p->config.later)
        rv = mortise_plugins_load(p, err);
    if (rv != MORTISE_OK) {
        mortise_plugins_close(p);
        return rv;
    }
    *out = p;
    return MORTISE_OK;
}

static int load_plugin_list(struct mortise_plugins *p, struct mortise_err *err)
{
    int rv;

    mortise_trust_fingerprint(p->print, p->config.trust_dirs,
                              p->config.n_trust_dirs);
    p->looked_ns = mortise_mono_ns();
    p->no_trust.code = MORTISE_OK;
    rv = mortise_plugins_open_trust(p, err);
    return rv == MORTISE_OK ? mortise_plugins_find_manifests(p, err) : rv;
}

/* Discard a partial result after an error.  If memory or descriptors were
 * missing, the next call tries again. */
static void discard_plugin_list(struct mortise_plugins *p)
{
    mortise_trust_close(p->trust);
    p->trust = NULL;
    p->n = 0;
    p->looked =
        p->no_look.code != MORTISE_ENOMEM && p->no_look.code != MORTISE_ELIMIT;
}

int mortise_plugins_load(struct mortise_plugins *p, struct mortise_err *err)
{
    if (!p->looked) {
        p->looked = true;
        if (load_plugin_list(p, &p->no_look) == MORTISE_OK)
            p->no_look.code = MORTISE_OK;
        else
            discard_plugin_list(p);
    }
    if (p->no_look.code != MORTISE_OK && err != NULL)
        *err = p->no_look;
    return p->no_look.code;
}

int mortise_plugins_load_all(struct mortise_plugins *p, struct mortise_err *err)
{
    int rv = mortise_plugins_load(p, err);

    return rv == MORTISE_OK ? mortise_plugins_read_manifests(p, NULL, err) : rv;
}

void mortise_plugins_close(struct mortise_plugins *p)
{
    if (p == NULL)
        return;
    for (size_t i = p->n; i-- > 0;)
        mortise_plugin_close(p, &p->entries[i]);
    if (p->notes >= 0)
        close(p->notes);
    mortise_release(p->mem, p->entries, p->cap * sizeof *p->entries);
    mortise_trust_close(p->trust);
    mortise_arena_finish(&p->arena);
    mortise_release(p->mem, p, sizeof *p);
}

size_t mortise_plugins_count(struct mortise_plugins *p)
{
    mortise_plugins_load(p, NULL);
    mortise_plugins_read_manifests(p, NULL, NULL);
    return p->n;
}

const struct mortise_plugin_info *
mortise_plugins_at(const struct mortise_plugins *p, size_t i)
{
    assert(i < p->n);
    return &p->entries[i].pub;
}

/* ---- lookup by name ------------------------------------------------------ */

/* Is a the better match: the earlier directory, then an unreadable manifest
 * (4), then the higher version? */
static bool is_better_match(const struct entry *a, const struct entry *b)
{
    if (a->dir != b->dir)
        return a->dir < b->dir;
    if (a->manifest == NULL || b->manifest == NULL)
        return a->manifest == NULL && b->manifest != NULL;
    return mortise_version_compare(a->pub.version, b->pub.version) > 0;
}

/* The best match among the entries that were read. */
static struct entry *find_best_entry(struct mortise_plugins *p,
                                     const char *name)
{
    struct entry *found = NULL;

    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        if (e->judged && mortise_plugin_has_name(e, name) &&
            (found == NULL || is_better_match(e, found)))
            found = e;
    }
    return found;
}

/* The same, after reading the manifests of this name. */
static struct entry *find_known_entry(struct mortise_plugins *p,
                                      const char *name)
{
    mortise_plugins_load(p, NULL);
    mortise_plugins_read_manifests(p, name, NULL);
    return find_best_entry(p, name);
}

/* "./plugins, /usr/lib/mortise/plugins", cut if it is too long. */
static void format_plugin_dirs(const struct mortise_plugins *p, char *out,
                               size_t size)
{
    size_t n = 0;

    snprintf(out, size, "any directory, because none is configured");
    for (size_t i = 0; i < p->config.n_dirs && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? ", " : "",
                              p->config.dirs[i]);
}

static int fail_not_found(struct mortise_plugins *p, const char *name,
                          struct mortise_err *why)
{
    const char *names[NAMES_MAX], *near;
    char dirs[512];
    size_t n = mortise_plugins_count(p);

    n = n < NAMES_MAX ? n : NAMES_MAX;
    for (size_t i = 0; i < n; i++)
        names[i] = p->entries[i].pub.name;
    near = mortise_nearest_find(name, names, n);
    format_plugin_dirs(p, dirs, sizeof dirs);
    return mortise_fail(why, MORTISE_ENOTFOUND, "no plugin '%s' in %s%s%s%s",
                        name, dirs, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* The error code of distrust: denied, or trust files that could not be read
 * yet. */
static int get_distrust_code(const struct mortise_plugins *p)
{
    return p->no_trust.code == MORTISE_ELIMIT ? MORTISE_ELIMIT
                                              : MORTISE_EDENIED;
}

/* The entry for a name, if it is usable. */
static int find_usable_entry(struct mortise_plugins *p, const char *name,
                             struct entry **out, struct mortise_err *why)
{
    struct entry *e;
    int rv = mortise_plugins_load(p, why);

    if (rv != MORTISE_OK)
        return rv;
    mortise_plugins_refresh_trust(p);
    rv = mortise_plugins_read_manifests(p, name, why);
    if (rv != MORTISE_OK)
        return rv;
    e = find_best_entry(p, name);
    if (e == NULL)
        return fail_not_found(p, name, why);
    rv = mortise_plugin_refresh_quarantine(p, e, why);
    if (rv != MORTISE_OK)
        return rv;
    if (e->pub.problem != NULL)
        return mortise_fail(why,
                            e->distrusted != NULL    ? get_distrust_code(p)
                            : e->quarantined != NULL ? MORTISE_EBLOCKED
                                                     : e->code,
                            "plugin %s (%s): %s", name, e->pub.path,
                            e->pub.problem);
    assert(e->manifest != NULL); /* no problem: it was parsed (2) */
    *out = e;
    return MORTISE_OK;
}

int mortise_plugins_check_trusted(struct mortise_plugins *p, const char *name,
                                  struct mortise_err *why)
{
    const struct entry *e;
    int rv = mortise_plugins_load(p, why);

    if (rv != MORTISE_OK)
        return rv;
    mortise_plugins_refresh_trust(p);
    if (p->n_distrusted == 0)
        return MORTISE_OK;
    e = find_best_entry(p, name);
    if (e == NULL || e->distrusted == NULL)
        return MORTISE_OK;
    return mortise_fail(why, get_distrust_code(p), "plugin %s (%s): %s", name,
                        e->pub.path, e->distrusted);
}

const struct mortise_manifest *mortise_plugins_find(struct mortise_plugins *p,
                                                    const char *name,
                                                    struct mortise_err *why)
{
    struct entry *e = NULL;

    return find_usable_entry(p, name, &e, why) == MORTISE_OK ? e->manifest
                                                             : NULL;
}

int mortise_plugins_verify(struct mortise_plugins *p, const char *name,
                           struct mortise_err *err)
{
    struct mortise_object o;
    struct entry *e;
    int rv = find_usable_entry(p, name, &e, err);

    if (rv == MORTISE_OK)
        rv = mortise_plugin_prepare(p, e, &o, err);
    if (rv == MORTISE_OK)
        mortise_object_close(&o);
    return rv;
}

int mortise_plugins_start(struct mortise_plugins *p, const char *name,
                          const char *as, json_t *config,
                          struct mortise_instance **out,
                          struct mortise_err *err)
{
    struct entry *e;
    struct created *c;
    json_t *given;
    int rv = find_usable_entry(p, name, &e, err);

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    c = mortise_plugin_get_created(p, e, as);
    if (c == NULL)
        return mortise_nomem(err);
    if (c->instance == NULL) {
        given = config != NULL ? json_incref(config) : json_object();
        if (given == NULL)
            return mortise_nomem(err);
        rv = mortise_plugin_start(p, e, c, given, err);
        json_decref(given);
    }
    assert((rv == MORTISE_OK) == (c->instance != NULL));
    *out = c->instance;
    return rv;
}

const struct mortise_create_failure *
mortise_plugins_create_failure(struct mortise_plugins *p, const char *name,
                               const char *as)
{
    const struct entry *e = find_known_entry(p, name);
    const struct created *c =
        e != NULL && e->pub.problem == NULL ? e->created : NULL;

    while (c != NULL && strcmp(c->as, as) != 0)
        c = c->next;
    return c != NULL ? &c->failure : NULL;
}

/* ---- quarantine ---------------------------------------------------------- */

void mortise_plugins_quarantine(struct mortise_plugins *p, const char *name,
                                const char *why)
{
    struct entry *e = find_known_entry(p, name);
    struct mortise_err err;

    if (e == NULL || e->manifest == NULL)
        return;
    assert(why != NULL && why[0] != '\0'); /* shown to users */
    e->given_up = true;
    e->until_ms = 0;
    mortise_plugin_set_quarantined(p, e, why);
    mortise_plugin_update_info(e);
    if (p->config.quarantine_dir != NULL &&
        mortise_quarantine_add(p->config.quarantine_at,
                               p->config.quarantine_dir, e->manifest, why,
                               &err) != MORTISE_OK &&
        p->config.ops.log != NULL)
        p->config.ops.log(p->config.ops.ud, MORTISE_LOG_ERROR, name, err.msg);
}

/* The deaths of a run by the plugin with this name. */
static bool get_run_deaths(struct mortise_plugins *p, const char *name,
                           const char *tenant, const char *run,
                           struct mortise_deaths *out)
{
    const struct entry *e = find_best_entry(p, name);

    *out = (struct mortise_deaths){.times = 0};
    if (e == NULL || !e->noted || e->manifest == NULL)
        return false;
    mortise_quarantine_find_deaths(out, p->config.quarantine_at,
                                   p->config.quarantine_dir, e->manifest,
                                   tenant, run, NULL);
    return out->times > 0;
}

/* Answer without reading plugins, and cache the result: a list of runs calls
 * this for each run. */
static bool has_no_notes(struct mortise_plugins *p)
{
    if (p->any_noted < 0)
        p->any_noted = p->config.quarantine_dir != NULL &&
                       !mortise_quarantine_is_empty(p->config.quarantine_at,
                                                    p->config.quarantine_dir);
    return p->any_noted == 0;
}

bool mortise_plugins_find_deaths(struct mortise_plugins *p, const char *tenant,
                                 const char *run, const char **name,
                                 struct mortise_deaths *out)
{
    struct mortise_deaths d;

    *out = (struct mortise_deaths){.times = 0};
    if (has_no_notes(p))
        return false;
    for (size_t i = 0; i < mortise_plugins_count(p); i++) {
        const struct entry *e = &p->entries[i];

        if (!e->noted || !get_run_deaths(p, e->pub.name, tenant, run, &d) ||
            d.times <= out->times)
            continue;
        *out = d;
        *name = e->pub.name;
    }
    return out->times > 0;
}

bool mortise_plugins_is_quarantined(struct mortise_plugins *p, const char *name)
{
    const struct entry *e = find_known_entry(p, name);

    return e != NULL && e->quarantined != NULL && e->problem == NULL;
}

uint64_t mortise_plugins_quarantine_end(struct mortise_plugins *p)
{
    uint64_t until = 0;

    if (has_no_notes(p))
        return 0;
    for (size_t i = 0; i < mortise_plugins_count(p); i++) {
        struct entry *e = &p->entries[i];

        mortise_plugin_refresh_quarantine(p, e, NULL);
        if (e->quarantined != NULL && e->until_ms != 0 &&
            (until == 0 || e->until_ms < until))
            until = e->until_ms;
    }
    return until;
}

int mortise_plugins_unquarantine(struct mortise_plugins *p, const char *name,
                                 struct mortise_err *err)
{
    int rv = mortise_plugins_load(p, err);
    struct entry *e;

    if (rv == MORTISE_OK)
        rv = mortise_plugins_read_manifests(p, name, err);
    if (rv != MORTISE_OK)
        return rv;
    e = find_best_entry(p, name);
    if (e == NULL)
        return fail_not_found(p, name, err);
    if (e->quarantined == NULL && !e->noted)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "plugin %s is not quarantined", name);
    if (p->config.quarantine_dir != NULL)
        rv = mortise_quarantine_remove(p->config.quarantine_at,
                                       p->config.quarantine_dir, name, err);
    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        return rv;
    e->quarantined = NULL;
    e->noted = e->given_up = false;
    mortise_plugin_update_info(e);
    return MORTISE_OK;
}
