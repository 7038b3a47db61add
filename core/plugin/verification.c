/* verification.c -- the manifests on the path: listed at once, read and judged
 * at the first lookup of their name, and judged again when the trust files
 * change.
 *
 * registry.c has the order of the checks and the promises.  This file performs
 * the checks that need no code of the plugin, and parses nothing unverified.  A
 * problem of one plugin is recorded in its entry, as a sentence, and does not
 * affect others.  Only an error that makes all answers unreliable (memory, the
 * store) ends the search. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dirs.h"
#include "core/base/files.h"
#include "core/plugin/elf.h"
#include "core/plugin/entry.h"
#include "core/plugin/quarantine.h"
#include "core/plugin/reader.h"
#include "core/plugin/version.h"

enum { SIG_MAX = 64 * 1024 };

static const char suffix[] = ".plugin.yaml";

/* ---- problems ------------------------------------------------------------ */

bool mortise_plugin_is_started(const struct entry *e)
{
    for (const struct created *c = e->created; c != NULL; c = c->next)
        if (c->instance != NULL)
            return true;
    return false;
}

void mortise_plugin_update_info(struct entry *e)
{
    e->pub.manifest = e->manifest;
    e->pub.problem = e->distrusted != NULL    ? e->distrusted
                     : e->quarantined != NULL ? e->quarantined
                                              : e->problem;
    e->pub.quarantined = e->quarantined != NULL;
    e->pub.started = mortise_plugin_is_started(e);
}

/* Record a problem; MORTISE_ENOMEM if there is no memory for its text. */
static int record_problem(struct mortise_plugins *p, struct entry *e,
                          const struct mortise_err *why)
{
    assert(why->code != MORTISE_OK);
    if (e->problem != NULL)
        return MORTISE_OK;
    e->code = why->code;
    e->problem = mortise_arena_strdup(&p->arena, why->msg);
    return e->problem != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

/* ---- names --------------------------------------------------------------- */

/* Is the file named NAME or NAME-VERSION?  A plugin is found by it without
 * reading other manifests. */
static bool is_stem_of(const char *stem, const char *name)
{
    size_t n = strlen(name);

    return strncmp(stem, name, n) == 0 &&
           (stem[n] == '\0' ||
            (stem[n] == '-' && mortise_version_is_valid(stem + n + 1)));
}

/* An unreadable manifest counts as any version of its name, so that the lookup
 * fails whichever version has the problem (registry.c (4)). */
bool mortise_plugin_has_name(const struct entry *e, const char *name)
{
    return is_stem_of(e->stem, name) && (e->manifest == NULL || e->misnamed ||
                                         strcmp(e->manifest->name, name) == 0);
}

static int check_file_name(struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    size_t n = strlen(m->name);

    e->misnamed = !is_stem_of(e->stem, m->name) ||
                  (e->stem[n] == '-' &&
                   mortise_version_compare(e->stem + n + 1, m->version) != 0);
    if (!e->misnamed)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_ECONFIG,
                        "is the manifest of %s %s, so its file name must be "
                        "%s%s or %s-%s%s; rename it and its .minisig",
                        m->name, m->version, m->name, suffix, m->name,
                        m->version, suffix);
}

/* ---- the object of a manifest -------------------------------------------- */

struct mortise_artifact *mortise_plugin_find_artifact(const struct entry *e,
                                                      struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;

    assert(m->n_artifacts > 0); /* signed with some, or add_own_artifact() */
    for (size_t i = 0; i < m->n_artifacts; i++)
        if (strcmp(m->artifacts[i].arch, mortise_elf_get_host_arch()) == 0)
            return &m->artifacts[i];
    mortise_fail(err, MORTISE_EINVAL,
                 "has no artifact for %s (only for %s); install a build for "
                 "this machine",
                 mortise_elf_get_host_arch(), m->artifacts[0].arch);
    return NULL;
}

int mortise_plugin_object_path(const struct entry *e,
                               const struct mortise_artifact *a,
                               char path[PATH_MAX], struct mortise_err *err)
{
    const char *manifest = e->pub.path, *slash = strrchr(manifest, '/');

    assert(slash != NULL); /* add_plugin_entry() joined them */
    return mortise_file_format_path(path, PATH_MAX, err, "%.*s%s",
                                    (int)(slash - manifest + 1), manifest,
                                    a->file);
}

int mortise_plugin_open_object(const struct entry *e,
                               const struct mortise_artifact *a,
                               struct mortise_object *o,
                               struct mortise_err *err)
{
    char path[PATH_MAX], label[200];
    int rv = mortise_plugin_object_path(e, a, path, err);

    snprintf(label, sizeof label, "%s@%s", e->manifest->name,
             e->manifest->version);
    return rv == MORTISE_OK ? mortise_object_open(o, path, label, err) : rv;
}

/* ---- judging a manifest -------------------------------------------------- */

static int parse_entry_manifest(struct mortise_plugins *p, struct entry *e,
                                const struct mortise_buf *text, bool is_signed,
                                struct mortise_err *why)
{
    assert(e->manifest == NULL); /* once */
    return mortise_plugin_reader.read_manifest(
        &e->manifest, p->mem, e->pub.path, text->p, text->n, is_signed, why);
}

static int check_signed_comment(const struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    const struct mortise_signature_info *s = &e->signature;

    if (strcmp(m->name, s->name) == 0 && strcmp(m->version, s->version) == 0 &&
        m->seq == s->seq)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_EDENIED,
                        "its signature is for %s %s seq %llu, but its manifest "
                        "has %s %s seq %llu; sign it again",
                        s->name, s->version, (unsigned long long)s->seq,
                        m->name, m->version, (unsigned long long)m->seq);
}

static int check_signer_kinds(const struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    const struct mortise_trusted_key *by = e->signature.by;
    uint32_t others;
    const char *kind;
    size_t i = 0;

    assert(by != NULL && !m->dev); /* it has a signature */
    others = mortise_manifest_kinds(m) & ~by->kinds;
    if (others == 0)
        return MORTISE_OK;
    while ((others & MORTISE_KIND_BIT(i)) == 0)
        i++;
    kind = mortise_kinds[i]->name;
    return mortise_fail(why, MORTISE_EDENIED,
                        "provides %s, but %s trusts its signer only for other "
                        "kinds; to allow it, add %s to `kinds` there",
                        kind, by->path, kind);
}

static int check_host_support(const struct entry *e, struct mortise_err *why)
{
    char words[256];

    if (mortise_manifest_find_unsupported(e->manifest, words, sizeof words) ==
        NULL)
        return MORTISE_OK;
    return mortise_fail(
        why, e->manifest->in_process ? MORTISE_EINVAL : MORTISE_EUNAVAILABLE,
        "%s", words);
}

/* Without process isolation in this build, `in_process` alone decides. */
static int check_isolation(const struct entry *e, struct mortise_err *why)
{
    assert(e->manifest->dev || e->signature.by != NULL);
    if (!e->manifest->dev && !e->signature.by->in_process)
        return mortise_fail(
            why, MORTISE_EDENIED,
            "cannot run in this process: %s does not set in_process: true for "
            "its signer, and this build does not support process isolation",
            e->signature.by->path);
    return MORTISE_OK;
}

/* ---- without a signature (registry.c (6)) -------------------------------- */

/* A source manifest has no artifacts; its object is NAME.so, for this
 * machine. */
static int add_own_artifact(struct mortise_manifest *m, struct mortise_err *why)
{
    struct mortise_artifact *a = mortise_arena_alloc(&m->arena, sizeof *a);
    size_t size = strlen(m->name) + sizeof ".so";
    char *file = mortise_arena_alloc(&m->arena, size);

    if (a == NULL || file == NULL)
        return mortise_nomem(why);
    snprintf(file, size, "%s.so", m->name);
    *a = (struct mortise_artifact){.arch = mortise_elf_get_host_arch(),
                                   .file = file};
    m->artifacts = a;
    m->n_artifacts = 1;
    return MORTISE_OK;
}

/* A size or digest in the manifest must match the object; a missing one is set
 * from the object. */
static int bind_bytes(struct mortise_artifact *a,
                      const struct mortise_object *o, struct mortise_err *why)
{
    if ((a->size != 0 && a->size != o->n) ||
        (a->is_digested && memcmp(a->digest, o->digest, MORTISE_DIGEST) != 0))
        return mortise_fail(why, MORTISE_EDENIED,
                            "the size or blake2b-256 in the manifest does not "
                            "match %s; remove both from an unsigned manifest",
                            a->file);
    assert(o->p != NULL); /* sealed, so it cannot change */
    a->size = o->n;
    memcpy(a->digest, o->digest, MORTISE_DIGEST);
    return MORTISE_OK;
}

static void bind_pin(struct mortise_manifest *m,
                     const struct mortise_artifact *a)
{
    uint8_t both[2 * MORTISE_DIGEST];

    memcpy(both, m->digest, MORTISE_DIGEST);
    memcpy(both + MORTISE_DIGEST, a->digest, MORTISE_DIGEST);
    mortise_digest(m->digest, both, sizeof both);
}

static int bind_object(const struct mortise_plugins *p, const struct entry *e,
                       struct mortise_err *why)
{
    struct mortise_artifact *a = mortise_plugin_find_artifact(e, why);
    struct mortise_object o;
    int rv = a != NULL ? mortise_plugin_open_object(e, a, &o, why) : why->code;

    if (rv != MORTISE_OK)
        return rv;
    rv = bind_bytes(a, &o, why);
    if (rv == MORTISE_OK)
        rv = mortise_trust_check_digest(p->trust, o.digest, why);
    mortise_object_close(&o);
    if (rv == MORTISE_OK)
        bind_pin(e->manifest, a);
    return rv;
}

static int judge_unsigned(struct mortise_plugins *p, struct entry *e,
                          const struct mortise_buf *text,
                          struct mortise_err *why)
{
    int rv = parse_entry_manifest(p, e, text, false, why);
    struct mortise_manifest *m = e->manifest;

    if (rv != MORTISE_OK)
        return rv;
    m->dev = true;
    rv = mortise_trust_check_digest(p->trust, m->digest, why);
    if (rv == MORTISE_OK)
        rv = mortise_trust_check_version(p->trust, m->name, m->version, why);
    if (rv == MORTISE_OK)
        rv = check_file_name(e, why);
    if (rv == MORTISE_OK && m->n_artifacts == 0)
        rv = add_own_artifact(m, why);
    if (rv == MORTISE_OK)
        rv = bind_object(p, e, why);
    if (rv == MORTISE_OK)
        rv = check_host_support(e, why);
    return rv == MORTISE_OK ? check_isolation(e, why) : rv;
}

/* ---- with a signature ---------------------------------------------------- */

/* The order matters: nothing is parsed before its signature verifies (3). */
static int judge_signed(struct mortise_plugins *p, struct entry *e,
                        const struct mortise_buf *text,
                        const struct mortise_buf *sig, struct mortise_err *why)
{
    int rv = mortise_trust_verify(p->trust, text->p != NULL ? text->p : "",
                                  text->n, sig->p != NULL ? sig->p : "", sig->n,
                                  &e->signature, why);

    if (rv == MORTISE_OK)
        e->key = e->signature.by->key;
    if (rv != MORTISE_OK ||
        (rv = parse_entry_manifest(p, e, text, true, why)) != MORTISE_OK ||
        (rv = mortise_releases_check_key(p, e, why)) != MORTISE_OK ||
        (rv = check_signed_comment(e, why)) != MORTISE_OK ||
        (rv = check_file_name(e, why)) != MORTISE_OK ||
        (rv = check_signer_kinds(e, why)) != MORTISE_OK ||
        (rv = mortise_releases_check(p, e, why)) != MORTISE_OK ||
        (rv = check_host_support(e, why)) != MORTISE_OK)
        return rv;
    return check_isolation(e, why);
}

/* ---- finding manifests --------------------------------------------------- */

static bool is_dev_entry(const struct mortise_plugins *p, const struct entry *e)
{
    return e->dir >= p->config.first_dev &&
           e->dir - p->config.first_dev < p->config.n_dev;
}

/* MORTISE_ENOTFOUND: there is no signature. */
static int read_signature(struct mortise_buf *sig, const char *path,
                          struct mortise_err *why)
{
    char sig_path[PATH_MAX];
    int rv = mortise_file_format_path(sig_path, sizeof sig_path, why,
                                      "%s.minisig", path);

    if (rv == MORTISE_OK)
        rv = mortise_file_read(sig, sig_path, SIG_MAX, why);
    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(why, rv,
                     "is not signed: %s does not exist; its author signs it "
                     "with mortise plugin sign; during development, name its "
                     "directory in plugins.dev of the deployment",
                     sig_path);
    return rv;
}

/* Judge by the signature; without one only if the directory is marked dev. */
static int judge_manifest(struct mortise_plugins *p, struct entry *e,
                          const struct mortise_buf *text,
                          struct mortise_err *why)
{
    struct mortise_buf sig;
    int rv;

    mortise_buf_init(&sig, p->mem);
    rv = read_signature(&sig, e->pub.path, why);
    if (rv == MORTISE_OK)
        rv = judge_signed(p, e, text, &sig, why);
    else if (rv == MORTISE_ENOTFOUND)
        rv = is_dev_entry(p, e) ? judge_unsigned(p, e, text, why)
                                : (why->code = MORTISE_EDENIED);
    mortise_buf_finish(&sig);
    return rv;
}

/* Does the error affect all plugins, not only this one?  A lack of descriptors
 * is not a problem of the plugin. */
static bool is_fatal_error(int rv)
{
    return rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT ||
           rv == MORTISE_ESTATE || rv == MORTISE_ELIMIT;
}

static int read_entry(struct mortise_plugins *p, struct entry *e,
                      struct mortise_err *err)
{
    struct mortise_buf text;
    struct mortise_err why;
    int rv;

    mortise_buf_init(&text, p->mem);
    rv = mortise_file_read(&text, e->pub.path, MORTISE_MANIFEST_MAX, &why);
    if (rv == MORTISE_OK)
        rv = judge_manifest(p, e, &text, &why);
    mortise_buf_finish(&text);
    if (e->manifest != NULL) {
        e->pub.name = e->manifest->name;
        e->pub.version = e->manifest->version;
    }
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    if (is_fatal_error(rv))
        return mortise_fail(err, rv, "%s", why.msg);
    return record_problem(p, e, &why) == MORTISE_OK ? MORTISE_OK
                                                    : mortise_nomem(err);
}

static int add_plugin_entry(struct mortise_plugins *p, size_t dir,
                            const char *file, struct mortise_err *err)
{
    struct entry *grown = mortise_array_grow(p->mem, p->entries, p->n, &p->cap,
                                             sizeof *grown),
                 *e;
    size_t size = strlen(p->config.dirs[dir]) + strlen(file) + 2;
    char *path = mortise_arena_alloc(&p->arena, size);
    char *name =
        mortise_arena_strndup(&p->arena, file, strlen(file) - strlen(suffix));

    assert(size > sizeof suffix); /* listed names end with the suffix */
    if (grown != NULL)
        p->entries = grown;
    if (grown == NULL || path == NULL || name == NULL)
        return mortise_nomem(err);
    snprintf(path, size, "%s/%s", p->config.dirs[dir], file);
    e = &p->entries[p->n++];
    *e = (struct entry){.stem = name, .dir = dir};
    e->pub.name = name;
    e->pub.version = "";
    e->pub.path = path;
    return MORTISE_OK;
}

static int list_plugin_dir(struct mortise_plugins *p, size_t dir,
                           struct mortise_err *err)
{
    struct mortise_listing l;
    int rv = mortise_listing_read(&l, p->mem, p->config.dirs[dir], suffix, err);

    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++)
        rv = add_plugin_entry(p, dir, l.names[i], err);
    mortise_listing_finish(&l);
    return rv;
}

/* The same version must not have different contents: the order of directories
 * must not decide which one runs. b is being judged. */
static int check_twin(struct mortise_plugins *p, struct entry *a,
                      struct entry *b, struct mortise_err *err)
{
    struct mortise_err why;

    if (a->manifest == NULL || b->manifest == NULL ||
        strcmp(a->pub.name, b->pub.name) != 0 ||
        mortise_version_compare(a->pub.version, b->pub.version) != 0 ||
        memcmp(a->manifest->digest, b->manifest->digest, MORTISE_DIGEST) == 0)
        return MORTISE_OK;
    mortise_fail(&why, MORTISE_ECONFIG,
                 "%s and %s are both %s %s but differ; remove one", a->pub.path,
                 b->pub.path, a->pub.name, a->pub.version);
    if (record_problem(p, a, &why) != MORTISE_OK ||
        record_problem(p, b, &why) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_plugin_update_info(a);
    return MORTISE_OK;
}

int mortise_plugin_set_quarantined(struct mortise_plugins *p, struct entry *e,
                                   const char *why)
{
    char words[MORTISE_WHY_MAX + 256];

    snprintf(words, sizeof words,
             "is quarantined: %s; run mortise plugin unquarantine %s, or "
             "install another version",
             why, e->pub.name);
    if (e->quarantined != NULL && strcmp(e->quarantined, words) == 0)
        return MORTISE_OK;
    e->quarantined = mortise_arena_strdup(&p->arena, words);
    if (e->quarantined != NULL)
        return MORTISE_OK;
    e->quarantined = "is quarantined";
    return MORTISE_ENOMEM;
}

/* Set the quarantine state from the records. */
static int check_quarantine(struct mortise_plugins *p, struct entry *e,
                            struct mortise_err *err)
{
    char why[MORTISE_WHY_MAX];
    int rv;

    if (p->config.quarantine_dir == NULL || e->manifest == NULL)
        return MORTISE_OK;
    rv = mortise_quarantine_read_reason(
        why, &e->until_ms, &e->noted, p->config.quarantine_at,
        p->config.quarantine_dir, e->manifest, mortise_now_ms(), err);
    if (rv != MORTISE_OK)
        return rv;
    if (why[0] == '\0') {
        e->quarantined = NULL;
        return MORTISE_OK;
    }
    return mortise_plugin_set_quarantined(p, e, why) == MORTISE_OK
               ? MORTISE_OK
               : mortise_nomem(err);
}

int mortise_plugin_refresh_quarantine(struct mortise_plugins *p,
                                      struct entry *e, struct mortise_err *err)
{
    int rv;

    if (e->quarantined == NULL || e->given_up)
        return MORTISE_OK;
    rv = check_quarantine(p, e, err);
    mortise_plugin_update_info(e);
    return rv == MORTISE_ELIMIT ? rv : MORTISE_OK;
}

/* ---- trust, which changes (registry.c (8)) ------------------------------- */

int mortise_plugins_open_trust(struct mortise_plugins *p,
                               struct mortise_err *err)
{
    int rv = mortise_trust_open(&p->trust, p->mem, p->config.trust_dirs,
                                p->config.n_trust_dirs, NULL, err);

    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_trust_dirs; i++)
        rv = mortise_releases_check_trust(p, i, err);
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++)
        rv = mortise_releases_record_key(p, mortise_trust_at(p->trust, i), err);
    return rv;
}

/* Judge an entry again, under the current trust files. */
static int rejudge_entry(struct mortise_plugins *p, struct entry *e,
                         struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    int rv =
        m->dev ? mortise_trust_check_version(p->trust, m->name, m->version, why)
               : mortise_trust_reverify(p->trust, &e->key, m->digest,
                                        &e->signature, why);

    for (size_t i = 0; rv == MORTISE_OK && i < m->n_artifacts; i++)
        rv = mortise_trust_check_digest(p->trust, m->artifacts[i].digest, why);
    if (rv == MORTISE_OK && !m->dev)
        rv = check_signer_kinds(e, why);
    return rv == MORTISE_OK ? check_isolation(e, why) : rv;
}

static void set_distrusted(struct mortise_plugins *p, struct entry *e,
                           const struct mortise_err *why)
{
    e->distrusted =
        why != NULL ? mortise_arena_strdup(&p->arena, why->msg) : NULL;
    if (why != NULL && e->distrusted == NULL)
        e->distrusted = "is no longer trusted";
    p->n_distrusted += why != NULL;
    mortise_plugin_update_info(e);
}

/* `why` NULL: judge each entry; else distrust all for that reason. */
static void rejudge_all(struct mortise_plugins *p,
                        const struct mortise_err *why)
{
    struct mortise_err own;

    p->n_distrusted = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        if (e->manifest == NULL)
            continue;
        if (why != NULL)
            set_distrusted(p, e, why);
        else
            set_distrusted(
                p, e, rejudge_entry(p, e, &own) != MORTISE_OK ? &own : NULL);
    }
}

void mortise_plugins_refresh_trust(struct mortise_plugins *p)
{
    uint64_t now = mortise_mono_ns();
    uint8_t print[MORTISE_DIGEST];
    struct mortise_err why;
    struct mortise_trust *was = p->trust;

    assert(was != NULL); /* without trust there are no plugins */
    if (now < p->looked_ns + (uint64_t)MORTISE_TRUST_CHECK_MS * 1000000)
        return;
    p->looked_ns = now;
    mortise_trust_fingerprint(print, p->config.trust_dirs,
                              p->config.n_trust_dirs);
    if (memcmp(print, p->print, sizeof print) == 0)
        return;
    memcpy(p->print, print, sizeof print);
    if (mortise_plugins_open_trust(p, &why) == MORTISE_OK) {
        p->no_trust.code = MORTISE_OK;
        rejudge_all(p, NULL);
        mortise_trust_close(was);
    } else {
        p->no_trust = why;
        if (why.code == MORTISE_ELIMIT) /* read them again later */
            memset(p->print, 0, sizeof p->print);
        if (p->trust != was)
            mortise_trust_close(p->trust);
        p->trust = was;
        rejudge_all(p, &why);
    }
}

/* ---- judging at the first lookup ----------------------------------------- */

int mortise_plugins_find_manifests(struct mortise_plugins *p,
                                   struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_dirs; i++)
        rv = list_plugin_dir(p, i, err);
    return rv;
}

/* Reset an entry to the state before it was read. */
static void reset_entry(struct entry *e)
{
    mortise_manifest_free(e->manifest);
    e->manifest = NULL;
    e->problem = e->quarantined = NULL;
    e->misnamed = false;
    e->pub.name = e->stem;
    e->pub.version = "";
    mortise_plugin_update_info(e);
}

static int check_all_twins(struct mortise_plugins *p, struct entry *e,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->n; i++)
        if (p->entries[i].judged)
            rv = check_twin(p, &p->entries[i], e, err);
    return rv;
}

static int judge_new_entry(struct mortise_plugins *p, struct entry *e,
                           struct mortise_err *err)
{
    int rv = read_entry(p, e, err);

    if (rv == MORTISE_OK)
        rv = check_quarantine(p, e, err);
    if (rv == MORTISE_OK)
        rv = check_all_twins(p, e, err);
    if (rv != MORTISE_OK) {
        reset_entry(e);
        return rv;
    }
    e->judged = true;
    p->n_judged++;
    if (e->manifest != NULL && p->no_trust.code != MORTISE_OK)
        set_distrusted(p, e, &p->no_trust);
    mortise_plugin_update_info(e);
    return MORTISE_OK;
}

int mortise_plugins_read_manifests(struct mortise_plugins *p, const char *name,
                                   struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->n && p->n_judged < p->n;
         i++) {
        struct entry *e = &p->entries[i];

        if (!e->judged && (name == NULL || mortise_plugin_has_name(e, name)))
            rv = judge_new_entry(p, e, err);
    }
    return rv;
}
