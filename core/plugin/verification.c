/* verification.c -- the manifests on the path: found at once, read and judged
 * when one of their name is asked for, and judged again whenever the trust files
 * are others.
 *
 * registry.c has the order in which a manifest is judged, and the promises.
 * Here they are kept up to the point where code would be loaded: nothing of a
 * plugin runs here, and nothing is parsed that nobody vouches for.  What is
 * wrong with a plugin is noted with it, as a sentence, and concerns no other
 * one; only what makes all answers worthless (memory, the store) ends the
 * search.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dirs.h"
#include "core/base/files.h"
#include "core/plugin/elf.h"
#include "core/plugin/entry.h"
#include "core/plugin/quarantine.h"
#include "core/plugin/version.h"

enum { SIG_MAX = 64 * 1024 };

static const char suffix[] = ".plugin.yaml";

/* ---- problems -------------------------------------------------------------- */

bool mortise_plugin_is_started(const struct entry *e)
{
    for (const struct created *c = e->created; c != NULL; c = c->next)
        if (c->instance != NULL)
            return true;
    return false;
}

void mortise_plugin_publish(struct entry *e)
{
    e->pub.manifest = e->manifest;
    e->pub.problem = e->distrusted != NULL    ? e->distrusted
                     : e->quarantined != NULL ? e->quarantined
                                              : e->problem;
    e->pub.quarantined = e->quarantined != NULL;
    e->pub.started = mortise_plugin_is_started(e);
}

/* Note a refusal; MORTISE_ENOMEM when there is no room for its words. */
static int note(struct mortise_plugins *p, struct entry *e,
                const struct mortise_err *why)
{
    assert(why->code != MORTISE_OK);
    if (e->problem != NULL)
        return MORTISE_OK;
    e->code = why->code;
    e->problem = mortise_arena_strdup(&p->arena, why->msg);
    return e->problem != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

/* "PATH:LINE:COL: MESSAGE" of the first finding. */
static int first_finding(const struct mortise_diags *d, int code,
                         struct mortise_err *err)
{
    const struct mortise_diag *f = &d->list[0];

    if (d->n == 0)
        return mortise_fail(err, code, "has errors");
    return mortise_fail(err, code, "%s:%u:%u: %s%s%s", f->path, f->span.line,
                        f->span.col, f->message, f->help != NULL ? "; " : "",
                        f->help != NULL ? f->help : "");
}

/* ---- names ----------------------------------------------------------------- */

/* NAME, or NAME-VERSION: so one can be found without reading the others. */
static bool has_stem(const char *stem, const char *name)
{
    size_t n = strlen(name);

    return strncmp(stem, name, n) == 0 &&
           (stem[n] == '\0' ||
            (stem[n] == '-' && mortise_version_valid(stem + n + 1)));
}

/* What could not be read may be any version of it: which one has the problem
 * must not decide (registry.c (4)). */
bool mortise_plugin_is_called(const struct entry *e, const char *name)
{
    return has_stem(e->stem, name) && (e->manifest == NULL || e->misnamed ||
                                       strcmp(e->manifest->name, name) == 0);
}

static int check_stem(struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    size_t n = strlen(m->name);

    e->misnamed = !has_stem(e->stem, m->name) ||
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

/* ---- the object of a manifest ---------------------------------------------- */

/* The one for this machine. */
struct mortise_artifact *mortise_plugin_artifact(const struct entry *e,
                                                 struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;

    assert(m->n_artifacts > 0); /* signed with some, or one was supplied */
    for (size_t i = 0; i < m->n_artifacts; i++)
        if (strcmp(m->artifacts[i].arch, mortise_elf_host()) == 0)
            return &m->artifacts[i];
    mortise_fail(err, MORTISE_EINVAL,
                 "has no artifact for %s (only for %s); install a build for "
                 "this machine",
                 mortise_elf_host(), m->artifacts[0].arch);
    return NULL;
}

int mortise_plugin_object_path(const struct entry *e,
                               const struct mortise_artifact *a,
                               char path[PATH_MAX], struct mortise_err *err)
{
    const char *manifest = e->pub.path, *slash = strrchr(manifest, '/');

    assert(slash != NULL); /* add_entry() joined them */
    return mortise_file_path(path, PATH_MAX, err, "%.*s%s",
                             (int)(slash - manifest + 1), manifest, a->file);
}

/* A sealed copy of its bytes. */
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

/* ---- judging a manifest ---------------------------------------------------- */

static int parse(struct mortise_plugins *p, struct entry *e,
                 const struct mortise_buf *text, bool is_signed,
                 struct mortise_err *why)
{
    struct mortise_diags diags;
    int rv;

    assert(e->manifest == NULL); /* once */
    mortise_diags_init(&diags, p->mem);
    rv = mortise_manifest_parse(&e->manifest, p->mem, e->pub.path, text->p,
                                text->n, is_signed, &diags);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(why);
    else if (rv != MORTISE_OK)
        first_finding(&diags, rv, why);
    mortise_diags_finish(&diags);
    return rv;
}

static int check_comment(const struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    const struct mortise_signed *s = &e->signature;

    if (strcmp(m->name, s->name) == 0 && strcmp(m->version, s->version) == 0 &&
        m->seq == s->seq)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_EDENIED,
                        "its signature is for %s %s seq %llu, but its manifest "
                        "has %s %s seq %llu; sign it again",
                        s->name, s->version, (unsigned long long)s->seq,
                        m->name, m->version, (unsigned long long)m->seq);
}

static int check_kinds(const struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    const struct mortise_trusted *by = e->signature.by;
    uint32_t others;
    const char *kind;
    size_t i = 0;

    assert(by != NULL && !m->dev); /* somebody signed it */
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

static int check_host(const struct entry *e, struct mortise_err *why)
{
    char words[256];

    if (!mortise_manifest_is_foreign(e->manifest, words, sizeof words))
        return MORTISE_OK;
    return mortise_fail(
        why, e->manifest->in_process ? MORTISE_EINVAL : MORTISE_EUNAVAILABLE,
        "%s", words);
}

/* Process isolation is not in this build, so this decides alone. */
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

/* ---- without a signature (registry.c (6)) ---------------------------------- */

/* A source manifest has no artifacts: then it is NAME.so, for this machine. */
static int supply_artifact(struct mortise_manifest *m, struct mortise_err *why)
{
    struct mortise_artifact *a = mortise_arena_alloc(&m->arena, sizeof *a);
    size_t size = strlen(m->name) + sizeof ".so";
    char *file = mortise_arena_alloc(&m->arena, size);

    if (a == NULL || file == NULL)
        return mortise_nomem(why);
    snprintf(file, size, "%s.so", m->name);
    *a = (struct mortise_artifact){.arch = mortise_elf_host(), .file = file};
    m->artifacts = a;
    m->n_artifacts = 1;
    return MORTISE_OK;
}

/* What it says of the object must be true, and what it does not say is as it is
 * now. */
static int bind_bytes(struct mortise_artifact *a,
                      const struct mortise_object *o, struct mortise_err *why)
{
    if ((a->size != 0 && a->size != o->n) ||
        (a->is_digested && memcmp(a->digest, o->digest, MORTISE_DIGEST) != 0))
        return mortise_fail(why, MORTISE_EDENIED,
                            "the size or blake2b-256 in the manifest does not "
                            "match %s; remove both from an unsigned manifest",
                            a->file);
    assert(o->p != NULL); /* sealed: it stays as it is */
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
    struct mortise_artifact *a = mortise_plugin_artifact(e, why);
    struct mortise_object o;
    int rv = a != NULL ? mortise_plugin_open_object(e, a, &o, why) : why->code;

    if (rv != MORTISE_OK)
        return rv;
    rv = bind_bytes(a, &o, why);
    if (rv == MORTISE_OK)
        rv = mortise_trust_digest(p->trust, o.digest, why);
    mortise_object_close(&o);
    if (rv == MORTISE_OK)
        bind_pin(e->manifest, a);
    return rv;
}

static int judge_unsigned(struct mortise_plugins *p, struct entry *e,
                          const struct mortise_buf *text,
                          struct mortise_err *why)
{
    int rv = parse(p, e, text, false, why);
    struct mortise_manifest *m = e->manifest;

    if (rv != MORTISE_OK)
        return rv;
    m->dev = true;
    rv = mortise_trust_digest(p->trust, m->digest, why);
    if (rv == MORTISE_OK)
        rv = mortise_trust_version(p->trust, m->name, m->version, why);
    if (rv == MORTISE_OK)
        rv = check_stem(e, why);
    if (rv == MORTISE_OK && m->n_artifacts == 0)
        rv = supply_artifact(m, why);
    if (rv == MORTISE_OK)
        rv = bind_object(p, e, why);
    if (rv == MORTISE_OK)
        rv = check_host(e, why);
    return rv == MORTISE_OK ? check_isolation(e, why) : rv;
}

/* ---- with one -------------------------------------------------------------- */

/* The order matters: nothing is parsed before the bytes verify (3). */
static int judge(struct mortise_plugins *p, struct entry *e,
                 const struct mortise_buf *text, const struct mortise_buf *sig,
                 struct mortise_err *why)
{
    int rv = mortise_trust_verify(p->trust, text->p != NULL ? text->p : "",
                                  text->n, sig->p != NULL ? sig->p : "", sig->n,
                                  &e->signature, why);

    if (rv == MORTISE_OK)
        e->key = e->signature.by->key;
    if (rv != MORTISE_OK || (rv = parse(p, e, text, true, why)) != MORTISE_OK ||
        (rv = mortise_releases_check_key(p, e, why)) != MORTISE_OK ||
        (rv = check_comment(e, why)) != MORTISE_OK ||
        (rv = check_stem(e, why)) != MORTISE_OK ||
        (rv = check_kinds(e, why)) != MORTISE_OK ||
        (rv = mortise_releases_check(p, e, why)) != MORTISE_OK ||
        (rv = check_host(e, why)) != MORTISE_OK)
        return rv;
    return check_isolation(e, why);
}

/* ---- finding --------------------------------------------------------------- */

static bool is_dev(const struct mortise_plugins *p, const struct entry *e)
{
    return e->dir >= p->config.first_dev &&
           e->dir - p->config.first_dev < p->config.n_dev;
}

/* MORTISE_ENOTFOUND: there is none. */
static int read_sig(struct mortise_buf *sig, const char *path,
                    struct mortise_err *why)
{
    char sig_path[PATH_MAX];
    int rv =
        mortise_file_path(sig_path, sizeof sig_path, why, "%s.minisig", path);

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

/* By its signature; without one only where that is allowed. */
static int judge_either(struct mortise_plugins *p, struct entry *e,
                        const struct mortise_buf *text, struct mortise_err *why)
{
    struct mortise_buf sig;
    int rv;

    mortise_buf_init(&sig, p->mem);
    rv = read_sig(&sig, e->pub.path, why);
    if (rv == MORTISE_OK)
        rv = judge(p, e, text, &sig, why);
    else if (rv == MORTISE_ENOTFOUND)
        rv = is_dev(p, e) ? judge_unsigned(p, e, text, why)
                          : (why->code = MORTISE_EDENIED);
    mortise_buf_finish(&sig);
    return rv;
}

/* Does a refusal concern this plugin alone, or everything?  A shortage of
 * descriptors is nothing that the plugin is refused for. */
static bool is_fatal(int rv)
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
        rv = judge_either(p, e, &text, &why);
    mortise_buf_finish(&text);
    if (e->manifest != NULL) {
        e->pub.name = e->manifest->name;
        e->pub.version = e->manifest->version;
    }
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    if (is_fatal(rv))
        return mortise_fail(err, rv, "%s", why.msg);
    return note(p, e, &why) == MORTISE_OK ? MORTISE_OK : mortise_nomem(err);
}

static int add_entry(struct mortise_plugins *p, size_t dir, const char *file,
                     struct mortise_err *err)
{
    struct entry *grown = mortise_grow(p->mem, p->entries, p->n, &p->cap,
                                       sizeof *grown),
                 *e;
    size_t size = strlen(p->config.dirs[dir]) + strlen(file) + 2;
    char *path = mortise_arena_alloc(&p->arena, size);
    char *name =
        mortise_arena_strndup(&p->arena, file, strlen(file) - strlen(suffix));

    assert(size > sizeof suffix); /* the listing is of such names */
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

static int list_dir(struct mortise_plugins *p, size_t dir,
                    struct mortise_err *err)
{
    struct mortise_listing l;
    int rv = mortise_listing_read(&l, p->mem, p->config.dirs[dir], suffix, err);

    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++)
        rv = add_entry(p, dir, l.names[i], err);
    mortise_listing_finish(&l);
    return rv;
}

/* One version cannot be two things: which would run must not depend on the
 * order of directories.  b is being judged. */
static int check_twins(struct mortise_plugins *p, struct entry *a,
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
    if (note(p, a, &why) != MORTISE_OK || note(p, b, &why) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_plugin_publish(a);
    return MORTISE_OK;
}

/* Why it may not start, in words that last. */
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

/* What is noted of a plugin. */
static int check_quarantine(struct mortise_plugins *p, struct entry *e,
                            struct mortise_err *err)
{
    char why[MORTISE_WHY_MAX];
    int rv;

    if (p->config.quarantine_dir == NULL || e->manifest == NULL)
        return MORTISE_OK;
    rv = mortise_quarantine_why(
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

/* A quarantine may be over by now, or lifted. */
int mortise_plugin_look_again(struct mortise_plugins *p, struct entry *e,
                              struct mortise_err *err)
{
    int rv;

    if (e->quarantined == NULL || e->given_up)
        return MORTISE_OK;
    rv = check_quarantine(p, e, err);
    mortise_plugin_publish(e);
    return rv == MORTISE_ELIMIT ? rv : MORTISE_OK;
}

/* ---- trust, which changes (registry.c (8)) --------------------------------- */

int mortise_plugins_open_trust(struct mortise_plugins *p,
                               struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, p->mem);
    rv = mortise_trust_open(&p->trust, p->mem, p->config.trust_dirs,
                            p->config.n_trust_dirs, &diags, err);
    if (rv == MORTISE_ECHECK) {
        first_finding(&diags, rv, err);
        mortise_doing(err, rv,
                      "no key is trusted while a trust file has errors");
    }
    mortise_diags_finish(&diags);
    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_trust_dirs; i++)
        rv = mortise_releases_check_trust(p, i, err);
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++)
        rv = mortise_releases_note_key(p, mortise_trust_at(p->trust, i), err);
    return rv;
}

/* Of one that was judged before, as the trust files are now. */
static int judge_again(struct mortise_plugins *p, struct entry *e,
                       struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    int rv = m->dev ? mortise_trust_version(p->trust, m->name, m->version, why)
                    : mortise_trust_again(p->trust, &e->key, m->digest,
                                          &e->signature, why);

    for (size_t i = 0; rv == MORTISE_OK && i < m->n_artifacts; i++)
        rv = mortise_trust_digest(p->trust, m->artifacts[i].digest, why);
    if (rv == MORTISE_OK && !m->dev)
        rv = check_kinds(e, why);
    return rv == MORTISE_OK ? check_isolation(e, why) : rv;
}

static void distrust(struct mortise_plugins *p, struct entry *e,
                     const struct mortise_err *why)
{
    e->distrusted =
        why != NULL ? mortise_arena_strdup(&p->arena, why->msg) : NULL;
    if (why != NULL && e->distrusted == NULL)
        e->distrusted = "is no longer trusted";
    p->n_distrusted += why != NULL;
    mortise_plugin_publish(e);
}

/* `why` NULL: each by itself; else none is trusted, for that reason. */
static void judge_all(struct mortise_plugins *p, const struct mortise_err *why)
{
    struct mortise_err own;

    p->n_distrusted = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        if (e->manifest == NULL)
            continue;
        if (why != NULL)
            distrust(p, e, why);
        else
            distrust(p, e, judge_again(p, e, &own) != MORTISE_OK ? &own : NULL);
    }
}

/* The files are read when they are not as they were; while one has errors,
 * nothing is trusted. */
void mortise_plugins_look_at_trust(struct mortise_plugins *p)
{
    uint64_t now = mortise_mono_ns();
    uint8_t print[MORTISE_DIGEST];
    struct mortise_err why;
    struct mortise_trust *was = p->trust;

    assert(was != NULL); /* without trust there are no plugins */
    if (now < p->looked_ns + (uint64_t)MORTISE_TRUST_MS * 1000000)
        return;
    p->looked_ns = now;
    mortise_trust_print(print, p->config.trust_dirs, p->config.n_trust_dirs);
    if (memcmp(print, p->print, sizeof print) == 0)
        return;
    memcpy(p->print, print, sizeof print);
    if (mortise_plugins_open_trust(p, &why) == MORTISE_OK) {
        p->no_trust.code = MORTISE_OK;
        judge_all(p, NULL);
        mortise_trust_close(was);
    } else {
        p->no_trust = why;
        if (why.code == MORTISE_ELIMIT) /* they are yet to be read */
            memset(p->print, 0, sizeof p->print);
        if (p->trust != was)
            mortise_trust_close(p->trust);
        p->trust = was;
        judge_all(p, &why);
    }
}

/* ---- judged when they are asked for ---------------------------------------- */

int mortise_plugins_list(struct mortise_plugins *p, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_dirs; i++)
        rv = list_dir(p, i, err);
    return rv;
}

/* Let go of the manifest: it was not read. */
static void forget(struct entry *e)
{
    mortise_manifest_free(e->manifest);
    e->manifest = NULL;
    e->problem = e->quarantined = NULL;
    e->misnamed = false;
    e->pub.name = e->stem;
    e->pub.version = "";
    mortise_plugin_publish(e);
}

static int check_all_twins(struct mortise_plugins *p, struct entry *e,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->n; i++)
        if (p->entries[i].judged)
            rv = check_twins(p, &p->entries[i], e, err);
    return rv;
}

static int judge_entry(struct mortise_plugins *p, struct entry *e,
                       struct mortise_err *err)
{
    int rv = read_entry(p, e, err);

    if (rv == MORTISE_OK)
        rv = check_quarantine(p, e, err);
    if (rv == MORTISE_OK)
        rv = check_all_twins(p, e, err);
    if (rv != MORTISE_OK) {
        forget(e);
        return rv;
    }
    e->judged = true;
    p->n_judged++;
    if (e->manifest != NULL && p->no_trust.code != MORTISE_OK)
        distrust(p, e, &p->no_trust);
    mortise_plugin_publish(e);
    return MORTISE_OK;
}

int mortise_plugins_judge(struct mortise_plugins *p, const char *name,
                          struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->n && p->n_judged < p->n;
         i++) {
        struct entry *e = &p->entries[i];

        if (!e->judged && (name == NULL || mortise_plugin_is_called(e, name)))
            rv = judge_entry(p, e, err);
    }
    return rv;
}
