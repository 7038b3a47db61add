/* trust.c -- the keys and revocations that decide whose plugins may run.
 *
 * Only trust directories decide.  No key is built in; the signer of the bundled
 * plugins is listed like any other.  Promises:
 *
 *   (1) Fail closed: if a file has an error (an unknown YAML key is one), no
 *       key is trusted, because the unreadable part could be a revocation.
 *   (2) mortise_trust_verify() decides from the bytes alone, before they are
 *       parsed.  Name, version, seq and time come from the signed comment.  The
 *       code that parses the manifest later compares them.
 *   (3) Time bounds apply to the time of signing: a plugin that was signed
 *       while its key was valid stays valid.  A leaked key must be revoked,
 *       because its thief can write any time into a comment.
 *   (4) A revocation overrides every entry, in any order of the files.
 *   (5) Each change raises a directory's seq, so that a copy from before a
 *       revocation is recognized (releases.c records the highest seq). */
#include "core/plugin/trust.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/dirs.h"
#include "core/base/name.h"
#include "core/base/files.h"
#include "core/base/wild.h"
#include "core/plugin/reader.h"
#include "core/plugin/version.h"

/* Lists in the arena, newest first. */
struct trusted {
    struct mortise_trusted_key pub;
    struct trusted *next;
};

struct mortise_trust {
    const struct mortise_mem *mem;
    struct mortise_arena arena; /* also what its files were read into */
    struct trusted *trusted;
    struct mortise_revoked *revoked;
    size_t n_trusted;
    uint64_t *seqs; /* one per directory */
};

/* ---- entries ------------------------------------------------------------- */

struct mortise_trust *mortise_trust_new(const struct mortise_mem *mem)
{
    struct mortise_trust *t = mortise_zalloc(mem, sizeof *t);

    if (t != NULL) {
        t->mem = mem;
        mortise_arena_init(&t->arena, mem);
    }
    return t;
}

void mortise_trust_close(struct mortise_trust *t)
{
    if (t == NULL)
        return;
    mortise_arena_finish(&t->arena);
    mortise_release(t->mem, t, sizeof *t);
}

size_t mortise_trust_count(const struct mortise_trust *t)
{
    return t->n_trusted;
}

const struct mortise_trusted_key *
mortise_trust_at(const struct mortise_trust *t, size_t i)
{
    const struct trusted *k = t->trusted;

    assert(i < t->n_trusted);
    /* The list is newest first; return entries in the order of the files. */
    for (size_t skip = t->n_trusted - 1 - i; skip > 0; skip--)
        k = k->next;
    return &k->pub;
}

uint64_t mortise_trust_seq(const struct mortise_trust *t, size_t dir)
{
    return t->seqs[dir];
}

struct mortise_arena *mortise_trust_arena(struct mortise_trust *t)
{
    return &t->arena;
}

struct mortise_trusted_key *mortise_trust_add_key(struct mortise_trust *t,
                                                  const char *path)
{
    struct trusted *k = mortise_arena_alloc(&t->arena, sizeof *k);

    if (k == NULL)
        return NULL;
    k->pub.path = path;
    k->pub.kinds = MORTISE_KIND_ALL;
    k->next = t->trusted;
    t->trusted = k;
    t->n_trusted++;
    return &k->pub;
}

struct mortise_revoked *mortise_trust_add_revoked(struct mortise_trust *t,
                                                  const char *path)
{
    struct mortise_revoked *v = mortise_arena_alloc(&t->arena, sizeof *v);

    if (v == NULL)
        return NULL;
    v->path = path;
    v->next = t->revoked;
    t->revoked = v;
    return v;
}

/* The revocation of a key, or NULL. */
static const struct mortise_revoked *
find_key_revocation(const struct mortise_trust *t,
                    const struct mortise_pubkey *key)
{
    for (const struct mortise_revoked *v = t->revoked; v != NULL; v = v->next)
        if ((v->what == MORTISE_REVOKED_KEY &&
             mortise_pubkey_is_equal(&v->key, key)) ||
            (v->what == MORTISE_REVOKED_KEY_ID &&
             memcmp(v->key.id, key->id, sizeof key->id) == 0))
            return v;
    return NULL;
}

/* ---- directories --------------------------------------------------------- */

/* Read a file of a directory.  An error in the file does not end the reading:
 * *bad gets the first.  A lack of descriptors replaces another error there,
 * because then the file may be correct. */
static int read_trust_file(struct mortise_trust *t, const char *dir,
                           const char *name, uint64_t *seq,
                           struct mortise_diags *diags, struct mortise_err *bad,
                           struct mortise_err *err)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = mortise_arena_alloc(&t->arena, n);
    struct mortise_err why;
    int rv;

    if (path == NULL)
        return mortise_nomem(err);
    snprintf(path, n, "%s/%s", dir, name);
    rv = mortise_plugin_reader.read_trust(t, dir, path, seq, diags, &why);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK && (bad->code == MORTISE_OK || rv == MORTISE_ELIMIT))
        *bad = why;
    return MORTISE_OK;
}

static int read_trust_dir(struct mortise_trust *t, const char *dir,
                          uint64_t *seq, struct mortise_diags *diags,
                          struct mortise_err *bad, struct mortise_err *err)
{
    struct mortise_listing l;
    int rv = mortise_listing_read(&l, t->mem, dir, ".yaml", err);

    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++)
        rv = read_trust_file(t, dir, l.names[i], seq, diags, bad, err);
    mortise_listing_finish(&l);
    return rv;
}

static int fail_bad_file(const struct mortise_err *bad, bool has_findings,
                         struct mortise_err *err)
{
    if (bad->code == MORTISE_ELIMIT)
        return mortise_fail(err, bad->code,
                            "a trust file could not be read: %s", bad->msg);
    if (has_findings)
        return mortise_fail(err, bad->code,
                            "a trust file has errors, so no key is trusted");
    return mortise_fail(err, bad->code,
                        "no key is trusted while a trust file has errors: %s",
                        bad->msg);
}

static int read_trust_dirs(struct mortise_trust *t, const char *const *dirs,
                           size_t n, struct mortise_diags *diags,
                           struct mortise_err *err)
{
    struct mortise_err bad = {.code = MORTISE_OK};
    int rv = MORTISE_OK;

    t->seqs = mortise_arena_alloc(&t->arena, (n + 1) * sizeof *t->seqs);
    if (t->seqs == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = read_trust_dir(t, dirs[i], &t->seqs[i], diags, &bad, err);
    if (rv == MORTISE_OK && bad.code != MORTISE_OK)
        rv = fail_bad_file(&bad, diags != NULL, err);
    for (struct trusted *k = t->trusted; k != NULL; k = k->next)
        k->pub.revoked = find_key_revocation(t, &k->pub.key) != NULL;
    return rv;
}

int mortise_trust_open(struct mortise_trust **out,
                       const struct mortise_mem *mem, const char *const *dirs,
                       size_t n, struct mortise_diags *diags,
                       struct mortise_err *err)
{
    struct mortise_trust *t = mortise_trust_new(mem);
    int rv;

    *out = NULL;
    if (t == NULL)
        return mortise_nomem(err);
    rv = read_trust_dirs(t, dirs, n, diags, err);
    if (rv == MORTISE_OK)
        *out = t;
    else
        mortise_trust_close(t);
    return rv;
}

/* ---- verifying ----------------------------------------------------------- */

void mortise_trust_format_time(char out[32], uint64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL ||
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(out, 32, "%llu", (unsigned long long)s);
}

int mortise_signature_parse_comment(struct mortise_signature_info *out,
                                    const char *comment, size_t n,
                                    struct mortise_err *err)
{
    /* Exactly one space between two fields: a space in the format would match
     * any number.  A NUL in the comment ends the text early, so that `end`
     * differs from n. */
    static const char form[] = "name:%128[^ ]%*1[ ]version:%63[^ ]%*1[ ]"
                               "seq:%19[0-9]%*1[ ]timestamp:%19[0-9]%n";
    char text[MORTISE_COMMENT_MAX + 1], seq[20], timestamp[20];
    int end = 0;

    *out = (struct mortise_signature_info){0};
    if (n <= MORTISE_COMMENT_MAX) {
        memcpy(text, comment, n);
        text[n] = '\0';
        if (sscanf(text, form, out->name, out->version, seq, timestamp, &end) ==
                4 &&
            (size_t)end == n && mortise_name_is_valid(out->name) &&
            mortise_version_is_valid(out->version)) {
            out->seq = strtoull(seq, NULL, 10);
            out->timestamp = strtoull(timestamp, NULL, 10);
            return MORTISE_OK;
        }
    }
    return mortise_fail(
        err, MORTISE_EDENIED,
        "its trusted comment is not \"name:NAME version:VERSION "
        "seq:SEQ timestamp:UNIX\"; sign it with mortise plugin "
        "sign");
}

static int deny_unknown_key(const struct mortise_trust *t, const uint8_t *id,
                            struct mortise_err *err)
{
    char text[MORTISE_KEYID_TEXT];

    mortise_keyid_format(text, id);
    return mortise_fail(
        err, MORTISE_EDENIED,
        "is signed with key %s, which %s; if you trust its owner, add the key "
        "with mortise key trust",
        text,
        t->trusted == NULL ? "is in no trust file: the trust directory is empty"
                           : "is in no trust file");
}

/* The entry with the key that made the signature; NULL and the reason if there
 * is none.  Key ids are not unique, because the maker of a key chooses its
 * id. */
static const struct mortise_trusted_key *
find_signer(const struct mortise_trust *t, const struct mortise_minisig *sig,
            const void *p, size_t n, struct mortise_err *err)
{
    bool known = false;

    for (const struct trusted *k = t->trusted; k != NULL; k = k->next) {
        if (memcmp(k->pub.key.id, sig->id, sizeof sig->id) != 0)
            continue;
        known = true;
        if (mortise_minisign_verify(sig, &k->pub.key, p, n, err) == MORTISE_OK)
            return &k->pub;
    }
    if (!known)
        deny_unknown_key(t, sig->id, err);
    else
        mortise_err_prefix(
            err, MORTISE_EDENIED,
            "was changed after it was signed, or its signature was changed");
    return NULL;
}

static int check_key_revoked(const struct mortise_trust *t,
                             const struct mortise_pubkey *key,
                             struct mortise_err *err)
{
    const struct mortise_revoked *v = find_key_revocation(t, key);
    char text[MORTISE_KEYID_TEXT];

    if (v == NULL)
        return MORTISE_OK;
    mortise_keyid_format(text, key->id);
    return mortise_fail(err, MORTISE_EDENIED,
                        "is signed with key %s, which %s revokes; ask its "
                        "owner for a release that is signed with another key",
                        text, v->path);
}

static bool can_sign_name(const struct mortise_trusted_key *by,
                          const char *name)
{
    for (size_t i = 0; i < by->n_plugins; i++)
        if (mortise_wild_match(by->plugins[i], name))
            return true;
    return false;
}

/* Does this entry permit the signature?  MORTISE_EDENIED and the reason if
 * not. */
static int check_entry_permits(const struct mortise_trusted_key *by,
                               const struct mortise_signature_info *s,
                               struct mortise_err *err)
{
    char text[MORTISE_KEYID_TEXT], when[32], bound[32];

    mortise_keyid_format(text, by->key.id);
    if (!can_sign_name(by, s->name))
        return mortise_fail(
            err, MORTISE_EDENIED,
            "is signed with key %s, which %s trusts only for other plugins; to "
            "allow this plugin, add the name %s there",
            text, by->path, s->name);
    mortise_trust_format_time(when, s->timestamp);
    if (by->not_before != 0 && s->timestamp < by->not_before) {
        mortise_trust_format_time(bound, by->not_before);
        return mortise_fail(err, MORTISE_EDENIED,
                            "was signed at %s, before %s, which is not_before "
                            "of %s for key %s; it must be signed again",
                            when, bound, by->path, text);
    }
    if (by->not_after != 0 && s->timestamp > by->not_after) {
        mortise_trust_format_time(bound, by->not_after);
        return mortise_fail(
            err, MORTISE_EDENIED,
            "was signed at %s, after %s, which is not_after of %s for key %s; "
            "it must be signed with a current key",
            when, bound, by->path, text);
    }
    return MORTISE_OK;
}

/* A key may have several entries for different plugins.  Return the first that
 * permits the signature; NULL and the last reason if none does. */
static const struct mortise_trusted_key *find_permitting_entry(
    const struct mortise_trust *t, const struct mortise_pubkey *key,
    const struct mortise_signature_info *s, struct mortise_err *err)
{
    for (const struct trusted *k = t->trusted; k != NULL; k = k->next)
        if (mortise_pubkey_is_equal(&k->pub.key, key) &&
            check_entry_permits(&k->pub, s, err) == MORTISE_OK)
            return &k->pub;
    return NULL;
}

int mortise_trust_check_version(const struct mortise_trust *t, const char *name,
                                const char *version, struct mortise_err *err)
{
    for (const struct mortise_revoked *v = t->revoked; v != NULL; v = v->next)
        if (v->what == MORTISE_REVOKED_VERSION &&
            mortise_wild_match(v->plugin, name) &&
            mortise_range_has(v->range, version))
            return mortise_fail(
                err, MORTISE_EDENIED,
                "is version %s, but %s revokes %s; install another version",
                version, v->path, v->range);
    return MORTISE_OK;
}

int mortise_trust_check_digest(const struct mortise_trust *t,
                               const uint8_t digest[MORTISE_DIGEST],
                               struct mortise_err *err)
{
    for (const struct mortise_revoked *v = t->revoked; v != NULL; v = v->next)
        if (v->what == MORTISE_REVOKED_DIGEST &&
            memcmp(v->digest, digest, sizeof v->digest) == 0)
            return mortise_fail(err, MORTISE_EDENIED,
                                "is revoked by its digest in %s; install "
                                "another version",
                                v->path);
    return MORTISE_OK;
}

static bool is_trusted_key(const struct mortise_trust *t,
                           const struct mortise_pubkey *key)
{
    for (const struct trusted *k = t->trusted; k != NULL; k = k->next)
        if (mortise_pubkey_is_equal(&k->pub.key, key))
            return true;
    return false;
}

int mortise_trust_reverify(const struct mortise_trust *t,
                           const struct mortise_pubkey *key,
                           const uint8_t digest[MORTISE_DIGEST],
                           struct mortise_signature_info *s,
                           struct mortise_err *err)
{
    int rv;

    assert(s->name[0] != '\0' && s->version[0] != '\0'); /* verified before */
    s->by = NULL;
    if ((rv = check_key_revoked(t, key, err)) != MORTISE_OK ||
        (rv = mortise_trust_check_version(t, s->name, s->version, err)) !=
            MORTISE_OK ||
        (rv = mortise_trust_check_digest(t, digest, err)) != MORTISE_OK)
        return rv;
    if (!is_trusted_key(t, key))
        return deny_unknown_key(t, key->id, err);
    s->by = find_permitting_entry(t, key, s, err);
    return s->by != NULL ? MORTISE_OK : MORTISE_EDENIED;
}

int mortise_trust_verify(const struct mortise_trust *t, const void *manifest,
                         size_t n, const char *sig, size_t sig_n,
                         struct mortise_signature_info *out,
                         struct mortise_err *err)
{
    struct mortise_minisig s;
    const struct mortise_trusted_key *by;
    uint8_t digest[MORTISE_DIGEST];
    int rv = mortise_minisign_parse(&s, sig, sig_n, err);

    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, MORTISE_EDENIED, "its signature");
    assert(s.comment_size <= MORTISE_COMMENT_MAX);
    by = find_signer(t, &s, manifest, n, err);
    if (by == NULL)
        return MORTISE_EDENIED;
    mortise_digest(digest, manifest, n);
    rv = mortise_signature_parse_comment(out, s.comment, s.comment_size, err);
    return rv == MORTISE_OK
               ? mortise_trust_reverify(t, &by->key, digest, out, err)
               : rv;
}

/* ---- changes of the files ------------------------------------------------ */

static void hash_file_state(struct mortise_hasher *h, const char *path)
{
    struct stat st = {.st_ino = 0};

    if (stat(path, &st) != 0)
        st.st_size = -1;
    mortise_hasher_add_str(h, path);
    mortise_hasher_add_u64(h, st.st_ino);
    mortise_hasher_add_u64(h, (uint64_t)st.st_size);
    mortise_hasher_add_u64(h, (uint64_t)st.st_mtim.tv_sec);
    mortise_hasher_add_u64(h, (uint64_t)st.st_mtim.tv_nsec);
    mortise_hasher_add_u64(h, (uint64_t)st.st_ctim.tv_sec);
    mortise_hasher_add_u64(h, (uint64_t)st.st_ctim.tv_nsec);
}

void mortise_trust_fingerprint(uint8_t out[MORTISE_DIGEST],
                               const char *const *dirs, size_t n)
{
    struct mortise_hasher h;
    struct mortise_listing l;
    char path[PATH_MAX];

    mortise_hasher_init(&h);
    for (size_t i = 0; i < n; i++) {
        hash_file_state(&h, dirs[i]);
        if (mortise_listing_read(&l, &mortise_heap, dirs[i], ".yaml", NULL) !=
            MORTISE_OK)
            continue;
        for (size_t j = 0; j < l.n; j++)
            if (mortise_file_format_path(path, sizeof path, NULL, "%s/%s",
                                         dirs[i], l.names[j]) == MORTISE_OK)
                hash_file_state(&h, path);
        mortise_listing_finish(&l);
    }
    mortise_hasher_final(&h, out);
}
