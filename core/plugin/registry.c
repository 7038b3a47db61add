/* registry.c -- the plugins of a deployment: found, verified, loaded, created.
 *
 * The order of plugins.md 4, and where it happens:
 *
 *   at open      read manifest and signature; mortise_trust_verify() (key,
 *                revocation, name, time); parse; the trusted comment matches;
 *                kinds; abi and requires; isolation; seq; quarantine.  Without
 *                a signature, in a directory marked dev: parse; revocation;
 *                digest of the object; abi and requires; quarantine
 *   at start     config; copy the .so into a sealed memfd; digest; ELF; dlopen
 *                of that memfd; module, descriptors; create; publish
 *
 * The promises:
 *
 *   (1) Nothing of a plugin runs before all that can be judged without running
 *       it was judged; its config too, so that a wrong one loads no code.
 *   (2) judge() is the one way to a manifest without a problem, and prepare()
 *       the one way to bytes that are loaded; there is no second way in.
 *   (3) A manifest is parsed only if its bytes verify, or if the deployment
 *       marks its directory dev: what strangers left elsewhere meets the
 *       signature check and nothing behind it.
 *   (4) The first directory that has a name decides, and there the highest
 *       version.  If that one has a problem, it is the answer: going on to
 *       another would let whoever breaks a signature choose an older version.
 *   (5) Every refusal is one sentence: what was expected, what was found, what
 *       to do.
 *   (6) What nobody signed is bound to its bytes all the same: the object is
 *       digested when the manifest is read, that digest is part of the pin, and
 *       what is loaded later must have it.  A build that comes between is
 *       refused.  Such a manifest's seq says nothing: it neither is held
 *       against releases nor locks any out.
 *   (7) Nothing goes back: not the seq of a plugin, of all that keys signed
 *       which count, nor what a seq stood for, nor the seq of a trust directory,
 *       nor a key's revocation.  The store remembers, and the user does, so
 *       that neither a fresh store nor a directory of another name forgets.
 *       What is bundled is the program's own, and the user's memory is not
 *       asked about it.  allow_downgrade goes back, once, and remembers that.
 *   (8) Trust is what the files say now: they are looked at before each load and
 *       each call, every MORTISE_TRUST_MS at most, and read when they changed.
 */
#include "plugin/registry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "plugin/death.h"
#include "base/dirs.h"
#include "plugin/elf.h"
#include "plugin/endpoint.h"
#include "base/files.h"
#include "plugin/load.h"
#include "plugin/quarantine.h"
#include "plugin/seen.h"
#include "plugin/trust.h"
#include "plugin/version.h"

enum {
    SIG_MAX = 64 * 1024,
    QUIESCE_MS = 10000,
    NAME_ROOM = 512, /* for what something is remembered by */
    NAMES_MAX = 256  /* that "did you mean" looks at */
};

static const char suffix[] = ".plugin.yaml";

struct created { /* an instance; in the arena */
    struct created *next;
    const char *as;                    /* a guardrail's id; "": the plugin's */
    struct mortise_instance *instance; /* NULL: it is not there (any more) */
};

struct entry {
    struct mortise_found pub;          /* its strings are in the arena */
    struct mortise_manifest *manifest; /* owned; pub's when it is usable */
    struct mortise_signed signature;
    struct mortise_pubkey key; /* that made it */
    const char *distrusted;    /* why, since the trust files changed; or NULL */
    size_t dir;
    int code;                /* with `problem` */
    const char *problem;     /* of its own */
    const char *quarantined; /* why, or NULL */
    uint64_t until_ms;       /* until when it is quarantined; 0: for good */
    bool given_up; /* quarantined in this process, whatever the file says */
    bool noted;    /* it took processes down */
    struct mortise_culprit *culprit; /* from its first start on */
    struct mortise_loaded *loaded;   /* while there is an instance */
    const mortise_plugin *plugin;    /* what was found in `loaded` */
    struct created *created;
};

struct mortise_plugins {
    struct mortise_plugins_config config; /* its strings are in the arena */
    const struct mortise_mem *mem;
    struct mortise_arena arena;
    struct mortise_trust *trust;
    struct mortise_seen seen;      /* by this user */
    bool said_lost;                /* that something could not be remembered */
    uint8_t print[MORTISE_DIGEST]; /* of the trust files, as they were read */
    uint64_t looked_ns; /* when the trust files were looked at last */
    struct entry *entries;
    size_t n, cap;
    int notes; /* quarantine_dir, from the first start on; or -1 */
};

/* ---- problems --------------------------------------------------------------
 */

static bool is_started(const struct entry *e)
{
    for (const struct created *c = e->created; c != NULL; c = c->next)
        if (c->instance != NULL)
            return true;
    return false;
}

static void publish(struct entry *e)
{
    e->pub.manifest = e->manifest;
    e->pub.problem = e->distrusted != NULL    ? e->distrusted
                     : e->quarantined != NULL ? e->quarantined
                                              : e->problem;
    e->pub.quarantined = e->quarantined != NULL;
    e->pub.started = is_started(e);
}

/* Note a refusal; MORTISE_ENOMEM when there is no room for its words. */
static int note(struct mortise_plugins *p, struct entry *e,
                const struct mortise_err *why)
{
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

/* ---- the object of a manifest ----------------------------------------------
 */

/* The one for this machine. */
static struct mortise_artifact *artifact(const struct entry *e,
                                         struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;

    for (size_t i = 0; i < m->n_artifacts; i++)
        if (strcmp(m->artifacts[i].arch, mortise_elf_host()) == 0)
            return &m->artifacts[i];
    mortise_fail(err, MORTISE_EINVAL,
                 "has no artifact for %s (it has one for %s); install a build "
                 "for this machine",
                 mortise_elf_host(), m->artifacts[0].arch);
    return NULL;
}

static int object_path(const struct entry *e, const struct mortise_artifact *a,
                       char path[PATH_MAX], struct mortise_err *err)
{
    const char *manifest = e->pub.path, *slash = strrchr(manifest, '/');

    return mortise_file_path(path, PATH_MAX, err, "%.*s%s",
                             (int)(slash - manifest + 1), manifest, a->file);
}

/* A sealed copy of its bytes. */
static int open_object(const struct entry *e, const struct mortise_artifact *a,
                       struct mortise_object *o, struct mortise_err *err)
{
    char path[PATH_MAX], label[200];
    int rv = object_path(e, a, path, err);

    snprintf(label, sizeof label, "%s@%s", e->manifest->name,
             e->manifest->version);
    return rv == MORTISE_OK ? mortise_object_open(o, path, label, err) : rv;
}

/* ---- judging a manifest ----------------------------------------------------
 */

static int parse(struct mortise_plugins *p, struct entry *e,
                 const struct mortise_buf *text, bool is_signed,
                 struct mortise_err *why)
{
    struct mortise_diags diags;
    int rv;

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
                        "its signature is for %s %s seq %llu and its manifest "
                        "says %s %s seq %llu; sign it again",
                        s->name, s->version, (unsigned long long)s->seq,
                        m->name, m->version, (unsigned long long)m->seq);
}

static int check_kinds(const struct entry *e, struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    const struct mortise_trusted *by = e->signature.by;
    uint32_t others = mortise_manifest_kinds(m) & ~by->kinds;
    const char *kind;
    size_t i = 0;

    if (others == 0)
        return MORTISE_OK;
    while ((others & MORTISE_KIND_BIT(i)) == 0)
        i++;
    kind = mortise_kinds[i]->name;
    return mortise_fail(why, MORTISE_EDENIED,
                        "provides %s, and %s trusts its signer for other kinds "
                        "only; add %s to `kinds` there if it may",
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
    if (!e->manifest->dev && !e->signature.by->in_process)
        return mortise_fail(why, MORTISE_EDENIED,
                            "may not run in this process: %s does not say "
                            "in_process: true for its signer, and process "
                            "isolation is not available in this build",
                            e->signature.by->path);
    return MORTISE_OK;
}

/* ---- what was seen (7) ------------------------------------------------------
 */

/* Does this user's own memory count for it? */
static bool is_remembered(const struct mortise_plugins *p,
                          const struct entry *e)
{
    return p->config.user_remembers && !(p->config.last_is_own && e != NULL &&
                                         e->dir + 1 == p->config.n_dirs);
}

/* The higher of what the store and the user have under a name; `e` NULL: it is
 * of no plugin. */
static int seen_get(struct mortise_plugins *p, const struct entry *e,
                    const char *name, uint64_t *value, struct mortise_err *err)
{
    uint64_t other = 0;
    int rv = MORTISE_OK;

    *value = 0;
    if (p->config.seq_get != NULL)
        rv = p->config.seq_get(p->config.seq_ud, name, value, err);
    if (rv == MORTISE_OK && is_remembered(p, e))
        rv = mortise_seen_get(&p->seen, name, &other, err);
    if (other > *value)
        *value = other;
    return rv;
}

static int seen_put(struct mortise_plugins *p, const struct entry *e,
                    const char *name, uint64_t value, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (p->config.seq_put != NULL)
        rv = p->config.seq_put(p->config.seq_ud, name, value, err);
    if (rv == MORTISE_OK && is_remembered(p, e))
        rv = mortise_seen_put(&p->seen, name, value, err);
    if (p->seen.lost[0] != '\0' && !p->said_lost && p->config.forgets != NULL)
        p->config.forgets(p->config.seq_ud, p->seen.lost);
    p->said_lost = p->seen.lost[0] != '\0';
    return rv;
}

/* What a key signed of a plugin. */
static void name_of_seq(char out[NAME_ROOM], const char *plugin,
                        const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    mortise_pubkey_text(text, key);
    snprintf(out, NAME_ROOM, "%s %s", plugin, text);
}

/* The highest seq of a plugin that was seen, of all that keys signed which count
 * now: who has a key that was revoked could lock the name with it for good.  A
 * mark without a key is an older version's. */
static int highest_seq(struct mortise_plugins *p, const struct entry *e,
                       uint64_t *seen, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    int rv = seen_get(p, e, plugin, seen, err);

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        const struct mortise_trusted *by = mortise_trust_at(p->trust, i);
        uint64_t one = 0;

        if (by->revoked)
            continue;
        name_of_seq(name, plugin, &by->key);
        rv = seen_get(p, e, name, &one, err);
        if (one > *seen)
            *seen = one;
    }
    return rv;
}

/* Going back was meant: everything that is higher is forgotten. */
static int lower_seq(struct mortise_plugins *p, const struct entry *e,
                     uint64_t seq, struct mortise_err *err)
{
    const char *plugin = e->manifest->name;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv = seen_get(p, e, plugin, &seen, err);

    if (rv == MORTISE_OK && seen > seq)
        rv = seen_put(p, e, plugin, seq, err);
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++) {
        name_of_seq(name, plugin, &mortise_trust_at(p->trust, i)->key);
        rv = seen_get(p, e, name, &seen, err);
        if (rv == MORTISE_OK && seen > seq)
            rv = seen_put(p, e, name, seq, err);
    }
    return rv;
}

/* What is told of a release's manifest, so that another one is not taken for
 * it; never 0. */
static uint64_t mark_of(const struct mortise_manifest *m)
{
    uint64_t mark;

    memcpy(&mark, m->digest, sizeof mark);
    return mark | 1;
}

static void name_of_release(char out[NAME_ROOM],
                            const struct mortise_manifest *m)
{
    snprintf(out, NAME_ROOM, "release:%s %s %llu", m->name, m->version,
             (unsigned long long)m->seq);
}

/* What is the program's own changes with it. */
static bool is_own(const struct mortise_plugins *p, const struct entry *e)
{
    return p->config.last_is_own && e->dir + 1 == p->config.n_dirs;
}

static int check_release(struct mortise_plugins *p, const struct entry *e,
                         struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t seen;
    int rv;

    if (is_own(p, e) || p->config.allow_downgrade)
        return MORTISE_OK;
    name_of_release(name, m);
    rv = seen_get(p, e, name, &seen, why);
    if (rv != MORTISE_OK || seen == 0 || seen == mark_of(m))
        return rv;
    return mortise_fail(why, MORTISE_EDENIED,
                        "is %s seq %llu, and another manifest of that version "
                        "and seq ran here before: a release has a seq of its "
                        "own; install one of seq %llu or later (if this one is "
                        "meant: --allow-downgrade)",
                        m->version, (unsigned long long)m->seq,
                        (unsigned long long)m->seq + 1);
}

static int check_seq(struct mortise_plugins *p, const struct entry *e,
                     struct mortise_err *why)
{
    const struct mortise_manifest *m = e->manifest;
    uint64_t seen = 0;
    int rv = highest_seq(p, e, &seen, why);

    if (rv != MORTISE_OK || p->config.allow_downgrade)
        return rv;
    if (m->seq >= seen)
        return check_release(p, e, why);
    return mortise_fail(why, MORTISE_EDENIED,
                        "is seq %llu, and seq %llu ran here before: an older "
                        "release may bring back what was mended; install one "
                        "of seq %llu or later (if going back is meant: "
                        "--allow-downgrade)",
                        (unsigned long long)m->seq, (unsigned long long)seen,
                        (unsigned long long)seen);
}

/* ---- revocations that were seen (7) ------------------------------------------
 */

static void name_of_revocation(char out[NAME_ROOM],
                               const struct mortise_pubkey *key)
{
    char text[MORTISE_PUBKEY_TEXT];

    mortise_pubkey_text(text, key);
    snprintf(out, NAME_ROOM, "revoked:%s", text);
}

static int remember_revoked(struct mortise_plugins *p,
                            const struct mortise_trusted *by,
                            struct mortise_err *err)
{
    char name[NAME_ROOM];
    uint64_t seen;
    int rv;

    name_of_revocation(name, &by->key);
    rv = seen_get(p, NULL, name, &seen, err);
    if (rv == MORTISE_OK && by->revoked && seen == 0)
        rv = seen_put(p, NULL, name, 1, err);
    if (rv == MORTISE_OK && !by->revoked && seen != 0 &&
        p->config.allow_downgrade)
        rv = seen_put(p, NULL, name, 0, err);
    return rv;
}

static int check_remembered(struct mortise_plugins *p, const struct entry *e,
                            struct mortise_err *why)
{
    char name[NAME_ROOM], id[MORTISE_KEYID_TEXT];
    uint64_t seen;
    int rv;

    name_of_revocation(name, &e->key);
    rv = seen_get(p, NULL, name, &seen, why);
    if (rv != MORTISE_OK || seen == 0)
        return rv;
    mortise_keyid_text(id, e->key.id);
    return mortise_fail(why, MORTISE_EDENIED,
                        "is signed with key %s, which was revoked here before, "
                        "and no trust file says so any more; restore the one "
                        "that did (if taking it back is meant: "
                        "--allow-downgrade)",
                        id);
}

/* ---- without a signature (6) ----------------------------------------------
 */

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
                            "says another size or blake2b-256 than %s has; "
                            "leave both out of a manifest that nobody signs",
                            a->file);
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
    struct mortise_artifact *a = artifact(e, why);
    struct mortise_object o;
    int rv = a != NULL ? open_object(e, a, &o, why) : why->code;

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
    if (rv == MORTISE_OK && m->n_artifacts == 0)
        rv = supply_artifact(m, why);
    if (rv == MORTISE_OK)
        rv = bind_object(p, e, why);
    if (rv == MORTISE_OK)
        rv = check_host(e, why);
    return rv == MORTISE_OK ? check_isolation(e, why) : rv;
}

/* ---- with one -------------------------------------------------------------
 */

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
        (rv = check_remembered(p, e, why)) != MORTISE_OK ||
        (rv = check_comment(e, why)) != MORTISE_OK ||
        (rv = check_kinds(e, why)) != MORTISE_OK ||
        (rv = check_seq(p, e, why)) != MORTISE_OK ||
        (rv = check_host(e, why)) != MORTISE_OK)
        return rv;
    return check_isolation(e, why);
}

/* ---- finding ---------------------------------------------------------------
 */

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
                     "is not signed: there is no %s; its author signs it with "
                     "mortise plugin sign, or names its directory in the "
                     "deployment's plugins.dev meanwhile",
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

/* Does a refusal concern this plugin alone, or everything? */
static bool is_fatal(int rv)
{
    return rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT ||
           rv == MORTISE_ESTATE;
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

    if (grown != NULL)
        p->entries = grown;
    if (grown == NULL || path == NULL || name == NULL)
        return mortise_nomem(err);
    snprintf(path, size, "%s/%s", p->config.dirs[dir], file);
    e = &p->entries[p->n++];
    *e = (struct entry){.dir = dir};
    e->pub.name = name;
    e->pub.version = "";
    e->pub.path = path;
    return read_entry(p, e, err);
}

static int scan_dir(struct mortise_plugins *p, size_t dir,
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
 * order of directories. */
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
                 "%s and %s are both %s %s and not the same; remove one",
                 a->pub.path, b->pub.path, a->pub.name, a->pub.version);
    if (note(p, a, &why) != MORTISE_OK || note(p, b, &why) != MORTISE_OK)
        return mortise_nomem(err);
    return MORTISE_OK;
}

/* Why it may not start, in words that last. */
static int set_quarantined(struct mortise_plugins *p, struct entry *e,
                           const char *why)
{
    char words[MORTISE_WHY_MAX + 256];

    snprintf(words, sizeof words,
             "is quarantined: %s; mortise plugin unquarantine %s, or install "
             "another version",
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
    return set_quarantined(p, e, why) == MORTISE_OK ? MORTISE_OK
                                                    : mortise_nomem(err);
}

/* A quarantine may be over by now, or lifted. */
static void look_again(struct mortise_plugins *p, struct entry *e)
{
    if (e->quarantined == NULL || e->given_up)
        return;
    check_quarantine(p, e, NULL);
    publish(e);
}

static int scan(struct mortise_plugins *p, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_dirs; i++)
        rv = scan_dir(p, i, err);
    for (size_t i = 0; rv == MORTISE_OK && i < p->n; i++) {
        rv = check_quarantine(p, &p->entries[i], err);
        for (size_t j = 0; rv == MORTISE_OK && j < i; j++)
            rv = check_twins(p, &p->entries[j], &p->entries[i], err);
    }
    for (size_t i = 0; i < p->n; i++)
        publish(&p->entries[i]);
    return rv;
}

/* ---- trust -----------------------------------------------------------------
 */

/* A trust directory never goes back: a copy from before a revocation would
 * trust again what was revoked. */
static int check_trust_seq(struct mortise_plugins *p, size_t dir,
                           struct mortise_err *err)
{
    uint64_t seen = 0, seq = mortise_trust_seq(p->trust, dir);
    const char *path = p->config.trust_dirs[dir];
    char real[PATH_MAX], key[PATH_MAX + 8];
    int rv;

    if (realpath(path, real) == NULL)
        return MORTISE_OK;
    snprintf(key, sizeof key, "trust:%s", real);
    rv = seen_get(p, NULL, key, &seen, err);
    if (rv != MORTISE_OK)
        return rv;
    if (seq < seen && p->config.allow_downgrade)
        return seen_put(p, NULL, key, seq, err);
    if (seq < seen)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "trust directory %s is at seq %llu and was at %llu before: a "
            "revocation may be missing; restore its newest files (if going "
            "back is meant: --allow-downgrade)",
            path, (unsigned long long)seq, (unsigned long long)seen);
    return seq > seen ? seen_put(p, NULL, key, seq, err) : MORTISE_OK;
}

static int open_trust(struct mortise_plugins *p, struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, p->mem);
    rv = mortise_trust_open(&p->trust, p->mem, p->config.trust_dirs,
                            p->config.n_trust_dirs, &diags, err);
    if (rv == MORTISE_ECHECK) {
        first_finding(&diags, rv, err);
        mortise_doing(err, rv,
                      "nothing is trusted while a trust file has "
                      "errors");
    }
    mortise_diags_finish(&diags);
    for (size_t i = 0; rv == MORTISE_OK && i < p->config.n_trust_dirs; i++)
        rv = check_trust_seq(p, i, err);
    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(p->trust);
         i++)
        rv = remember_revoked(p, mortise_trust_at(p->trust, i), err);
    return rv;
}

/* ---- trust that changes (8) -------------------------------------------------
 */

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
        e->distrusted = "is not trusted any more";
    publish(e);
}

/* `why` NULL: each by itself; else none is trusted, for that reason. */
static void judge_all(struct mortise_plugins *p, const struct mortise_err *why)
{
    struct mortise_err own;

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
static void look_at_trust(struct mortise_plugins *p)
{
    uint64_t now = mortise_mono_ns();
    uint8_t print[MORTISE_DIGEST];
    struct mortise_err why;
    struct mortise_trust *was = p->trust;

    if (now < p->looked_ns + (uint64_t)MORTISE_TRUST_MS * 1000000)
        return;
    p->looked_ns = now;
    mortise_trust_print(print, p->config.trust_dirs, p->config.n_trust_dirs);
    if (memcmp(print, p->print, sizeof print) == 0)
        return;
    memcpy(p->print, print, sizeof print);
    if (open_trust(p, &why) == MORTISE_OK) {
        judge_all(p, NULL);
        mortise_trust_close(was);
    } else {
        if (p->trust != was)
            mortise_trust_close(p->trust);
        p->trust = was;
        judge_all(p, &why);
    }
}

/* ---- open and close --------------------------------------------------------
 */

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
    p->seen.mem = config->mem;
    p->notes = -1;
    mortise_arena_init(&p->arena, p->mem);
    rv = copy_config(p, config, err);
    if (rv == MORTISE_OK) {
        mortise_trust_print(p->print, p->config.trust_dirs,
                            p->config.n_trust_dirs);
        p->looked_ns = mortise_mono_ns();
        rv = open_trust(p, err);
    }
    if (rv == MORTISE_OK)
        rv = scan(p, err);
    if (rv != MORTISE_OK) {
        mortise_plugins_close(p);
        return rv;
    }
    *out = p;
    return MORTISE_OK;
}

/* An instance ended, or never came to be.  A leaked one goes on using its
 * manifest, so that is not ours any more; the module is let go with the last.
 */
static void let_go(struct entry *e, bool leaked)
{
    if (leaked) {
        e->manifest = NULL;
        e->code = MORTISE_ESTATE;
        e->problem = "did not stop when it was told to; restart to use it "
                     "again";
    }
    if (is_started(e))
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
    /* No patience: quiesce() has a clock of its own, and a thread. */
    mortise_inside_enter(&v, e->culprit, MORTISE_INSIDE_END, NULL, 0,
                         MORTISE_MASK_NOW);
    let_go(e, !mortise_instance_close(i, p->config.quiesce_ms));
    mortise_inside_leave(&v);
}

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

static void close_entry(struct mortise_plugins *p, struct entry *e)
{
    for (struct created *c = e->created; c != NULL; c = c->next)
        stop(p, e, c);
    close_culprit(e);
    mortise_manifest_free(e->manifest);
}

void mortise_plugins_close(struct mortise_plugins *p)
{
    if (p == NULL)
        return;
    for (size_t i = p->n; i-- > 0;)
        close_entry(p, &p->entries[i]);
    if (p->notes >= 0)
        close(p->notes);
    mortise_release(p->mem, p->entries, p->cap * sizeof *p->entries);
    mortise_trust_close(p->trust);
    mortise_arena_finish(&p->arena);
    mortise_release(p->mem, p, sizeof *p);
}

size_t mortise_plugins_count(const struct mortise_plugins *p)
{
    return p->n;
}

const struct mortise_found *mortise_plugins_at(const struct mortise_plugins *p,
                                               size_t i)
{
    return &p->entries[i].pub;
}

/* ---- by name ---------------------------------------------------------------
 */

/* Is a the better answer?  The earlier directory, then what cannot be compared
 * (4), then the higher version. */
static bool is_better(const struct entry *a, const struct entry *b)
{
    if (a->dir != b->dir)
        return a->dir < b->dir;
    if (a->manifest == NULL || b->manifest == NULL)
        return a->manifest == NULL && b->manifest != NULL;
    return mortise_version_compare(a->pub.version, b->pub.version) > 0;
}

static struct entry *best(struct mortise_plugins *p, const char *name)
{
    struct entry *found = NULL;

    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        if (strcmp(e->pub.name, name) == 0 &&
            (found == NULL || is_better(e, found)))
            found = e;
    }
    return found;
}

/* "./plugins, /usr/lib/mortise/plugins", cut when there are many. */
static void list_dirs(const struct mortise_plugins *p, char *out, size_t size)
{
    size_t n = 0;

    snprintf(out, size, "any directory, as none is configured");
    for (size_t i = 0; i < p->config.n_dirs && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? ", " : "",
                              p->config.dirs[i]);
}

static int not_found(const struct mortise_plugins *p, const char *name,
                     struct mortise_err *why)
{
    const char *names[NAMES_MAX], *near;
    char dirs[512];
    size_t n = p->n < NAMES_MAX ? p->n : NAMES_MAX;

    for (size_t i = 0; i < n; i++)
        names[i] = p->entries[i].pub.name;
    near = mortise_nearest(name, names, n);
    list_dirs(p, dirs, sizeof dirs);
    return mortise_fail(why, MORTISE_ENOTFOUND, "no plugin '%s' in %s%s%s%s",
                        name, dirs, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* The entry that a name stands for, if it may be used. */
static int usable(struct mortise_plugins *p, const char *name,
                  struct entry **out, struct mortise_err *why)
{
    struct entry *e;

    look_at_trust(p);
    e = best(p, name);
    if (e == NULL)
        return not_found(p, name, why);
    look_again(p, e);
    if (e->pub.problem != NULL)
        return mortise_fail(why,
                            e->distrusted != NULL    ? MORTISE_EDENIED
                            : e->quarantined != NULL ? MORTISE_EBLOCKED
                                                     : e->code,
                            "plugin %s (%s): %s", name, e->pub.path,
                            e->pub.problem);
    *out = e;
    return MORTISE_OK;
}

int mortise_plugins_trusted(struct mortise_plugins *p, const char *name,
                            struct mortise_err *why)
{
    const struct entry *e;

    look_at_trust(p);
    e = best(p, name);
    if (e == NULL || e->distrusted == NULL)
        return MORTISE_OK;
    return mortise_fail(why, MORTISE_EDENIED, "plugin %s (%s): %s", name,
                        e->pub.path, e->distrusted);
}

const struct mortise_manifest *mortise_plugins_find(struct mortise_plugins *p,
                                                    const char *name,
                                                    struct mortise_err *why)
{
    struct entry *e = NULL;

    return usable(p, name, &e, why) == MORTISE_OK ? e->manifest : NULL;
}

/* ---- the bytes -------------------------------------------------------------
 */

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
            return mortise_fail(err, MORTISE_EDENIED,
                                "was built again since it was read (%.16s... "
                                "then, %.16s... now); start mortise again",
                                want, got);
        return mortise_fail(err, MORTISE_EDENIED,
                            "is not what was signed: the manifest says %llu "
                            "bytes, blake2b-256 %.16s..., and it has %zu, "
                            "%.16s...; install it again",
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
static int prepare(const struct mortise_plugins *p, const struct entry *e,
                   struct mortise_object *o, struct mortise_err *err)
{
    const struct mortise_artifact *a = artifact(e, err);
    char path[PATH_MAX];
    int rv = a != NULL ? open_object(e, a, o, err) : err->code;

    if (rv != MORTISE_OK)
        return mortise_doing(err, rv, "plugin %s", e->pub.name);
    rv = check_bytes(p, e, a, o, err);
    if (rv == MORTISE_OK)
        return MORTISE_OK;
    mortise_object_close(o);
    if (object_path(e, a, path, NULL) != MORTISE_OK)
        path[0] = '\0';
    return mortise_doing(err, rv, "plugin %s: %s", e->pub.name, path);
}

int mortise_plugins_verify(struct mortise_plugins *p, const char *name,
                           struct mortise_err *err)
{
    struct mortise_object o;
    struct entry *e;
    int rv = usable(p, name, &e, err);

    if (rv == MORTISE_OK)
        rv = prepare(p, e, &o, err);
    if (rv == MORTISE_OK)
        mortise_object_close(&o);
    return rv;
}

/* ---- start -----------------------------------------------------------------
 */

static void config_of(const struct entry *e, const struct created *c, char *out,
                      size_t size)
{
    if (c->as[0] != '\0')
        snprintf(out, size, "the config of guardrail %s (plugin %s)", c->as,
                 e->pub.name);
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
    int rv = MORTISE_OK;

    if (schema == NULL && json_object_size(config) > 0)
        return mortise_fail(err, MORTISE_ECONFIG,
                            "plugin %s takes no config; take its part out of "
                            "%s",
                            e->pub.name,
                            c->as[0] != '\0' ? "guardrails" : "plugins.config");
    config_of(e, c, what, sizeof what);
    if (schema != NULL)
        rv = mortise_schema_check(schema, config, err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK)
        return mortise_doing(err, MORTISE_ECONFIG, "%s", what);
    rv = mortise_json_write(text, config);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK
               ? rv
               : mortise_fail(err, MORTISE_ECONFIG, "%s is too deep", what);
}

/* Load the bytes and find the plugin in them, unless that was done. */
static int load(const struct mortise_plugins *p, struct entry *e,
                struct mortise_err *err)
{
    struct mortise_object o;
    int rv;

    if (e->loaded != NULL)
        return MORTISE_OK;
    rv = prepare(p, e, &o, err);
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
    bool leaked = false;
    int rv = load(p, e, err);

    if (rv != MORTISE_OK)
        return rv;
    if (e->culprit->code == 0)
        mortise_death_know(e->culprit, (const void *)e->plugin);
    rv = mortise_endpoint_in_process(&to, p->mem, e->plugin, e->manifest, err);
    if (rv == MORTISE_OK)
        rv = mortise_instance_open(&c->instance, p->mem, to, e->manifest,
                                   e->culprit, &p->config.ops, config->p,
                                   config->n, &leaked, err);
    if (rv != MORTISE_OK)
        let_go(e, leaked);
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

/* From now on an older release is refused, and another of the same number. */
static int remember_seq(struct mortise_plugins *p, const struct entry *e,
                        struct mortise_err *err)
{
    const struct mortise_manifest *m = e->manifest;
    char name[NAME_ROOM];
    uint64_t seen = 0;
    int rv = MORTISE_OK;

    if (m->dev)
        return rv;
    if (p->config.allow_downgrade)
        rv = lower_seq(p, e, m->seq, err);
    name_of_seq(name, m->name, &e->key);
    if (rv == MORTISE_OK)
        rv = seen_get(p, e, name, &seen, err);
    if (rv == MORTISE_OK && m->seq > seen)
        rv = seen_put(p, e, name, m->seq, err);
    if (rv != MORTISE_OK || is_own(p, e))
        return rv;
    name_of_release(name, m);
    rv = seen_get(p, e, name, &seen, err);
    return rv == MORTISE_OK && seen != mark_of(m)
               ? seen_put(p, e, name, mark_of(m), err)
               : rv;
}

static int start(struct mortise_plugins *p, struct entry *e, struct created *c,
                 const json_t *config, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, p->mem);
    rv = check_config(e, c, config, &text, err);
    if (rv == MORTISE_OK)
        rv = create_visiting(p, e, c, &text, err);
    if (rv == MORTISE_OK) {
        /* Only what came up counts as seen: a release that cannot start must
         * not lock out the one that could. */
        rv = remember_seq(p, e, err);
        if (rv != MORTISE_OK)
            stop(p, e, c);
    }
    mortise_buf_finish(&text);
    publish(e);
    return rv;
}

/* The place of an instance, made when it is new. */
static struct created *created_as(struct mortise_plugins *p, struct entry *e,
                                  const char *as)
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

int mortise_plugins_start(struct mortise_plugins *p, const char *name,
                          const char *as, json_t *config,
                          struct mortise_instance **out,
                          struct mortise_err *err)
{
    struct entry *e;
    struct created *c;
    json_t *given;
    int rv = usable(p, name, &e, err);

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    c = created_as(p, e, as);
    if (c == NULL)
        return mortise_nomem(err);
    if (c->instance == NULL) {
        given = config != NULL ? json_incref(config) : json_object();
        if (given == NULL)
            return mortise_nomem(err);
        rv = start(p, e, c, given, err);
        json_decref(given);
    }
    *out = c->instance;
    return rv;
}

/* ---- quarantine ------------------------------------------------------------
 */

void mortise_plugins_quarantine(struct mortise_plugins *p, const char *name,
                                const char *why)
{
    struct entry *e = best(p, name);
    struct mortise_err err;

    if (e == NULL || e->manifest == NULL)
        return;
    e->given_up = true;
    e->until_ms = 0;
    set_quarantined(p, e, why);
    publish(e);
    if (p->config.quarantine_dir != NULL &&
        mortise_quarantine_put(p->config.quarantine_at,
                               p->config.quarantine_dir, e->manifest, why,
                               &err) != MORTISE_OK &&
        p->config.ops.log != NULL)
        p->config.ops.log(p->config.ops.ud, MORTISE_LOG_ERROR, name, err.msg);
}

bool mortise_plugins_deaths(struct mortise_plugins *p, const char *name,
                            const char *tenant, const char *run,
                            struct mortise_deaths *out)
{
    const struct entry *e = best(p, name);

    *out = (struct mortise_deaths){.times = 0};
    if (e == NULL || !e->noted || e->manifest == NULL)
        return false;
    mortise_quarantine_deaths(out, p->config.quarantine_at,
                              p->config.quarantine_dir, e->manifest, tenant,
                              run, NULL);
    return out->times > 0;
}

bool mortise_plugins_any_deaths(struct mortise_plugins *p, const char *tenant,
                                const char *run, const char **name,
                                struct mortise_deaths *out)
{
    struct mortise_deaths d;

    *out = (struct mortise_deaths){.times = 0};
    for (size_t i = 0; i < p->n; i++) {
        const struct entry *e = &p->entries[i];

        if (!e->noted ||
            !mortise_plugins_deaths(p, e->pub.name, tenant, run, &d) ||
            d.times <= out->times)
            continue;
        *out = d;
        *name = e->pub.name;
    }
    return out->times > 0;
}

bool mortise_plugins_is_quarantined(struct mortise_plugins *p, const char *name)
{
    const struct entry *e = best(p, name);

    return e != NULL && e->quarantined != NULL && e->problem == NULL;
}

uint64_t mortise_plugins_until(struct mortise_plugins *p)
{
    uint64_t until = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct entry *e = &p->entries[i];

        look_again(p, e);
        if (e->quarantined != NULL && e->until_ms != 0 &&
            (until == 0 || e->until_ms < until))
            until = e->until_ms;
    }
    return until;
}

int mortise_plugins_unquarantine(struct mortise_plugins *p, const char *name,
                                 struct mortise_err *err)
{
    struct entry *e = best(p, name);
    int rv = MORTISE_OK;

    if (e == NULL)
        return not_found(p, name, err);
    if (e->quarantined == NULL && !e->noted)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "plugin %s is not quarantined", name);
    if (p->config.quarantine_dir != NULL)
        rv = mortise_quarantine_lift(p->config.quarantine_at,
                                     p->config.quarantine_dir, name, err);
    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        return rv;
    e->quarantined = NULL;
    e->noted = e->given_up = false;
    publish(e);
    return MORTISE_OK;
}
