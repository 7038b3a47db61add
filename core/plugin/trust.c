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
 *   (5) A change adds a file and modifies none.  Each change raises the
 *       directory's seq, so that a copy from before a revocation is recognized
 *       (releases.c records the highest seq). */
#include "core/plugin/trust.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/dirs.h"
#include "core/base/name.h"
#include "core/base/wild.h"
#include "core/base/files.h"
#include "core/plugin/manifest.h"
#include "core/plugin/version.h"
#include "lang/yaml/header.h"

/* Lists in the arena, newest first. */
struct trusted {
    struct mortise_trusted_key pub;
    struct trusted *next;
};

struct revoked {
    struct revoked *next;
    const char *path; /* path of the file with the revocation */
    enum { A_KEY, A_KEY_ID, A_DIGEST, A_VERSION } what;
    struct mortise_pubkey key; /* A_KEY; A_KEY_ID uses its id */
    uint8_t digest[MORTISE_DIGEST];
    const char *plugin, *range; /* A_VERSION */
};

struct mortise_trust {
    const struct mortise_mem *mem;
    struct mortise_arena arena; /* also holds the trees of the files */
    struct trusted *trusted;
    struct revoked *revoked;
    size_t n_trusted;
    uint64_t *seqs; /* one per directory */
};

struct trust_reader {
    struct mortise_trust *t;
    const char *dir, *path;
    struct mortise_diags *diags;
    uint64_t seq; /* the highest so far */
    bool nomem;
};

static void *alloc_from_trust(struct trust_reader *r, size_t size)
{
    void *p = mortise_arena_alloc(&r->t->arena, size);

    if (p == NULL)
        r->nomem = true;
    return p;
}

/* ---- names and times ----------------------------------------------------- */

static bool is_name_pattern(const char *s)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*";

    return s[0] != '\0' && strspn(s, good) == strlen(s) && strlen(s) <= 128;
}

/* Parse "2026-01-31T12:00:00Z" into seconds since 1970, at least 1. timegm()
 * accepts June 31 as July 1, so format the result and compare. */
static bool parse_utc_time(uint64_t *out, const char *s)
{
    struct tm tm = {0};
    char again[32];
    int end = 0;
    time_t t;

    if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &tm.tm_year, &tm.tm_mon,
               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &end) != 6 ||
        end != 20 || s[20] != '\0')
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    t = timegm(&tm);
    gmtime_r(&t, &tm);
    strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%SZ", &tm);
    *out = (uint64_t)t;
    return t > 0 && strcmp(s, again) == 0;
}

static void format_utc_time(char out[32], uint64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL ||
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(out, 32, "%llu", (unsigned long long)s);
}

/* ---- an entry of `keys` -------------------------------------------------- */

static void add_bad_key_finding(struct trust_reader *r,
                                const struct mortise_yaml *at,
                                const struct mortise_err *err)
{
    mortise_diag_add(r->diags, "E0711", at->span, "%s", err->msg);
}

static void read_trusted_key(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_trusted_key *by = into;
    struct mortise_err err;

    if (mortise_pubkey_parse(&by->key, slot->value->str, slot->value->len,
                             &err) != MORTISE_OK)
        add_bad_key_finding(r, slot->value, &err);
}

static void read_key_file(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_trusted_key *by = into;
    struct mortise_err err;
    char path[PATH_MAX];
    int rv = mortise_file_format_path(path, sizeof path, &err, "%s/%s", r->dir,
                                      slot->value->str);

    if (rv == MORTISE_OK)
        rv = mortise_pubkey_read(&by->key, path, &err);
    if (rv == MORTISE_ENOMEM)
        r->nomem = true;
    else if (rv != MORTISE_OK)
        add_bad_key_finding(r, slot->value, &err);
    if (rv != MORTISE_OK)
        mortise_diags_set_reason(r->diags, &err);
}

static void check_name_pattern(struct trust_reader *r,
                               const struct mortise_yaml *v)
{
    if (!is_name_pattern(v->str))
        mortise_diag_add(r->diags, "E0712", v->span,
                         "'%s' is not a valid name or pattern of a plugin",
                         v->str);
}

static void read_plugin_patterns(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_trusted_key *by = into;
    const struct mortise_yaml *list = slot->value;
    const char **items = alloc_from_trust(r, list->n * sizeof *items);

    for (size_t i = 0; items != NULL && i < list->n; i++) {
        items[by->n_plugins++] = list->items[i]->str;
        check_name_pattern(r, list->items[i]);
    }
    by->plugins = items;
}

static const struct mortise_word kinds[] = {
#define KIND(ID, name, about) {.word = #name, .value = MORTISE_KIND_##ID},
#include "core/plugin/kinds.def"
#undef KIND
    {.word = NULL},
};

static void read_signed_kinds(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_trusted_key *by = into;

    by->kinds = 0;
    for (size_t i = 0; i < slot->value->n; i++) {
        const struct mortise_word *w =
            mortise_word_find(kinds, "kinds", slot->value->items[i], r->diags);

        if (w != NULL)
            by->kinds |= MORTISE_KIND_BIT(w->value);
    }
}

/* Parse `not_before` or `not_after`. */
static void read_time_bound(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_trusted_key *by = into;
    bool before = strcmp(slot->key->name, "not_before") == 0;

    if (!parse_utc_time(before ? &by->not_before : &by->not_after,
                        slot->value->str))
        mortise_diag_add(r->diags, "E0713", slot->value->span,
                         "'%s' must be a time such as 2026-01-31T12:00:00Z",
                         slot->key->name);
}

static const struct mortise_key trusted_keys[] = {
    {.name = "key",
     .about = "A public key in minisign's format.",
     .value = MORTISE_V_STRING,
     .read = read_trusted_key},
    {.name = "file",
     .about = "A file with the public key.",
     .value = MORTISE_V_STRING,
     .read = read_key_file},
    {.name = "plugins",
     .about = "Patterns of names of plugins that the key can sign.",
     .value = MORTISE_V_STRINGS,
     .required = true,
     .read = read_plugin_patterns},
    {.name = "kinds",
     .about = "Kinds of plugins that the key can sign (default: any).",
     .value = MORTISE_V_STRINGS,
     .read = read_signed_kinds},
    {.name = "in_process",
     .about = "true: plugins of this key can run in the engine's process.",
     MORTISE_INTO_BOOL(struct mortise_trusted_key, in_process)},
    {.name = "not_before",
     .about = "The time from which the key is valid.",
     .value = MORTISE_V_STRING,
     .read = read_time_bound},
    {.name = "not_after",
     .about = "The time until which the key is valid.",
     .value = MORTISE_V_STRING,
     .read = read_time_bound},
};
MORTISE_PLACE(trusted, "an entry of 'keys'");

static void read_trusted_entry(struct trust_reader *r,
                               const struct mortise_yaml *v)
{
    struct trusted *k = alloc_from_trust(r, sizeof *k);
    bool key = mortise_yaml_get(v, "key") != NULL;
    bool file = mortise_yaml_get(v, "file") != NULL;

    if (k == NULL)
        return;
    k->pub.path = r->path;
    k->pub.kinds = MORTISE_KIND_ALL;
    mortise_keys_read(&trusted_place, v, v->span, r, &k->pub, r->diags);
    if (v->kind == MORTISE_YAML_MAP && key == file)
        mortise_diag_add(
            r->diags, "E0212", v->span,
            "an entry of 'keys' must have exactly one of 'key' and 'file'");
    k->next = r->t->trusted;
    r->t->trusted = k;
    r->t->n_trusted++;
}

static void read_trusted_entries(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;

    (void)into;
    for (size_t i = 0; i < slot->value->n; i++)
        read_trusted_entry(r, slot->value->items[i]);
}

/* ---- revocations --------------------------------------------------------- */

/* Parse "9339C8D385102656": the id as a number, its lowest byte first in
 * `id`. */
static bool parse_key_id(uint8_t id[MORTISE_KEYID], const char *s, size_t n)
{
    uint8_t raw[MORTISE_KEYID];

    if (mortise_hex_decode(raw, sizeof raw, s, n) != 0)
        return false;
    for (int i = 0; i < MORTISE_KEYID; i++)
        id[i] = raw[MORTISE_KEYID - 1 - i];
    return true;
}

static void read_revoked_key(struct trust_reader *r, struct revoked *v,
                             const struct mortise_yaml *at)
{
    struct mortise_err err;

    v->what = A_KEY_ID;
    if (parse_key_id(v->key.id, at->str, at->len))
        return;
    v->what = A_KEY;
    if (mortise_pubkey_parse(&v->key, at->str, at->len, &err) != MORTISE_OK)
        add_bad_key_finding(r, at, &err);
}

static void read_revoked_digest(struct trust_reader *r, struct revoked *v,
                                const struct mortise_yaml *at)
{
    v->what = A_DIGEST;
    if (mortise_hex_decode(v->digest, sizeof v->digest, at->str, at->len) != 0)
        mortise_diag_add(r->diags, "E0714", at->span,
                         "'digests' must be a list of 64 hex digits each");
}

static void read_revoked_plugin(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct revoked *v = into;

    v->plugin = slot->value->str;
    check_name_pattern(r, slot->value);
}

static void read_revoked_range(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct revoked *v = into;

    v->range = slot->value->str;
    if (!mortise_range_is_valid(v->range))
        mortise_diag_add(r->diags, "E0702", slot->value->span,
                         "'%s' is not a valid range of versions", v->range);
}

static const struct mortise_key version_keys[] = {
    {.name = "plugin",
     .about = "The name of a plugin.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_revoked_plugin},
    {.name = "range",
     .about = "Versions of the plugin that must not run.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_revoked_range},
};
MORTISE_PLACE(version, "an entry of 'versions'");

static void read_revoked_version(struct trust_reader *r, struct revoked *v,
                                 const struct mortise_yaml *at)
{
    v->what = A_VERSION;
    mortise_keys_read(&version_place, at, at->span, r, v, r->diags);
}

/* The lists below `revoked`. */
enum { REVOKED_KEYS, REVOKED_DIGESTS, REVOKED_VERSIONS, N_REVOKED };

static const struct mortise_key revoked_keys[N_REVOKED];

/* Read one of these lists. */
static void read_revoked_list(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    static void (*const read_one[N_REVOKED])(struct trust_reader *,
                                             struct revoked *,
                                             const struct mortise_yaml *) = {
        [REVOKED_KEYS] = read_revoked_key,
        [REVOKED_DIGESTS] = read_revoked_digest,
        [REVOKED_VERSIONS] = read_revoked_version};
    struct trust_reader *r = ctx;

    (void)into;
    for (size_t i = 0; i < slot->value->n; i++) {
        struct revoked *v = alloc_from_trust(r, sizeof *v);

        if (v == NULL)
            return;
        v->path = r->path;
        v->next = r->t->revoked;
        r->t->revoked = v;
        read_one[slot->key - revoked_keys](r, v, slot->value->items[i]);
    }
}

static const struct mortise_key revoked_keys[N_REVOKED] = {
    [REVOKED_KEYS] = {.name = "keys",
                      .about = "Ids of keys that are no longer valid.",
                      .value = MORTISE_V_STRINGS,
                      .read = read_revoked_list},
    [REVOKED_DIGESTS] = {.name = "digests",
                         .about = "Digests of files that must not run.",
                         .value = MORTISE_V_STRINGS,
                         .read = read_revoked_list},
    [REVOKED_VERSIONS] = {.name = "versions",
                          .about = "Versions of plugins that must not run.",
                          .value = MORTISE_V_LIST,
                          MORTISE_EACH(.value = MORTISE_V_MAP,
                                       .place = &version_place),
                          .read = read_revoked_list},
};
MORTISE_PLACE(revoked, "'revoked'");

/* ---- files and directories ----------------------------------------------- */

static void read_trust_seq(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    uint64_t seq = (uint64_t)slot->value->u.i;

    (void)into;
    if (seq > r->seq)
        r->seq = seq;
}

static const struct mortise_word file_kinds[] = {{.word = "Trust"},
                                                 {.word = NULL}};

static const struct mortise_key trust_keys[] = {
    MORTISE_HEADER_KEYS(file_kinds),
    {.name = "seq",
     .about = "A number that increases with each release. An older file is "
              "rejected.",
     .value = MORTISE_V_INT,
     .required = true,
     .min = 1,
     .max = 9007199254740992.0,
     .read = read_trust_seq},
    {.name = "keys",
     .about = "Keys whose signatures are valid.",
     .value = MORTISE_V_LIST,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &trusted_place),
     .read = read_trusted_entries},
    {.name = "revoked",
     .about = "Keys, files and versions that are revoked.",
     MORTISE_INTO_SAME(revoked_place)},
};

const struct mortise_place mortise_trust_place = {
    MORTISE_PLACE_OF("a trust file", trust_keys)};

/* Read a file of r->dir.  `path` must outlive the reader; NULL: out of memory.
 * Errors become findings, or set r->nomem. */
static void read_trust_file(struct trust_reader *r, const char *path)
{
    struct mortise_yaml *root;
    int rv;

    r->path = path;
    rv = path != NULL ? mortise_yaml_read(&root, &r->t->arena, path, r->diags)
                      : MORTISE_ENOMEM;
    if (rv == MORTISE_OK && mortise_header_check(root, "Trust", r->diags))
        mortise_keys_read(&mortise_trust_place, root, root->span, r, NULL,
                          r->diags);
    r->nomem |= r->diags->failed || rv == MORTISE_ENOMEM;
}

static int read_trust_dir(struct trust_reader *r, struct mortise_err *err)
{
    struct mortise_listing l;
    int rv = mortise_listing_read(&l, r->t->mem, r->dir, ".yaml", err);

    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    for (size_t i = 0; !r->nomem && i < l.n; i++) {
        size_t n = strlen(r->dir) + strlen(l.names[i]) + 2;
        char *path = alloc_from_trust(r, n);

        if (path != NULL)
            snprintf(path, n, "%s/%s", r->dir, l.names[i]);
        read_trust_file(r, path);
    }
    mortise_listing_finish(&l);
    return r->nomem ? mortise_nomem(err) : MORTISE_OK;
}

/* The revocation of a key, or NULL. */
static const struct revoked *
find_key_revocation(const struct mortise_trust *t,
                    const struct mortise_pubkey *key)
{
    for (const struct revoked *v = t->revoked; v != NULL; v = v->next)
        if ((v->what == A_KEY && mortise_pubkey_is_equal(&v->key, key)) ||
            (v->what == A_KEY_ID &&
             memcmp(v->key.id, key->id, sizeof key->id) == 0))
            return v;
    return NULL;
}

static int read_trust_dirs(struct mortise_trust *t, const char *const *dirs,
                           size_t n, struct mortise_diags *diags,
                           struct mortise_err *err)
{
    size_t errors = diags->n_errors;
    int rv = MORTISE_OK;

    t->seqs = mortise_arena_alloc(&t->arena, (n + 1) * sizeof *t->seqs);
    if (t->seqs == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        struct trust_reader r = {.t = t, .diags = diags};

        r.dir = mortise_arena_strdup(&t->arena, dirs[i]);
        if (r.dir == NULL)
            return mortise_nomem(err);
        rv = read_trust_dir(&r, err);
        t->seqs[i] = r.seq;
    }
    if (rv == MORTISE_OK && diags->short_of != NULL)
        rv =
            mortise_fail(err, MORTISE_ELIMIT,
                         "a trust file could not be read: %s", diags->short_of);
    else if (rv == MORTISE_OK && diags->n_errors > errors)
        rv = mortise_fail(err, MORTISE_ECHECK,
                          "a trust file has errors, so no key is trusted");
    for (struct trusted *k = t->trusted; k != NULL; k = k->next)
        k->pub.revoked = find_key_revocation(t, &k->pub.key) != NULL;
    return rv;
}

static struct mortise_trust *new_trust(const struct mortise_mem *mem)
{
    struct mortise_trust *t = mortise_zalloc(mem, sizeof *t);

    if (t != NULL) {
        t->mem = mem;
        mortise_arena_init(&t->arena, mem);
    }
    return t;
}

int mortise_trust_open(struct mortise_trust **out,
                       const struct mortise_mem *mem, const char *const *dirs,
                       size_t n, struct mortise_diags *diags,
                       struct mortise_err *err)
{
    struct mortise_trust *t = new_trust(mem);
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

int mortise_trust_check(const struct mortise_mem *mem, const char *path,
                        struct mortise_diags *diags, struct mortise_err *err)
{
    const char *slash = strrchr(path, '/');
    struct mortise_trust *t = new_trust(mem);
    struct trust_reader r = {.t = t, .diags = diags};
    size_t errors = diags->n_errors;
    int rv;

    if (t == NULL)
        return mortise_nomem(err);
    r.dir = slash == NULL   ? "."
            : slash == path ? "/"
                            : mortise_arena_strndup(&t->arena, path,
                                                    (size_t)(slash - path));
    read_trust_file(&r, r.dir != NULL ? path : NULL);
    rv = r.nomem ? mortise_nomem(err)
         : diags->n_errors > errors
             ? mortise_fail(err, MORTISE_ECHECK, "%s has errors", path)
             : MORTISE_OK;
    mortise_trust_close(t);
    return rv;
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

/* ---- verifying ----------------------------------------------------------- */

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
    const struct revoked *v = find_key_revocation(t, key);
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
    format_utc_time(when, s->timestamp);
    if (by->not_before != 0 && s->timestamp < by->not_before) {
        format_utc_time(bound, by->not_before);
        return mortise_fail(err, MORTISE_EDENIED,
                            "was signed at %s, before %s, which is not_before "
                            "of %s for key %s; it must be signed again",
                            when, bound, by->path, text);
    }
    if (by->not_after != 0 && s->timestamp > by->not_after) {
        format_utc_time(bound, by->not_after);
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
    for (const struct revoked *v = t->revoked; v != NULL; v = v->next)
        if (v->what == A_VERSION && mortise_wild_match(v->plugin, name) &&
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
    for (const struct revoked *v = t->revoked; v != NULL; v = v->next)
        if (v->what == A_DIGEST &&
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

/* ---- writing a directory ------------------------------------------------- */

/* The directory's highest seq + 1.  The directory must have no errors: nothing
 * in it is trusted then, and a new file would not take effect. */
static int compute_next_seq(uint64_t *seq, const char *dir,
                            const struct mortise_mem *mem,
                            struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_trust *t;
    int rv;

    mortise_diags_init(&diags, mem);
    rv = mortise_trust_open(&t, mem, &dir, 1, &diags, err);
    if (rv == MORTISE_OK)
        *seq = mortise_trust_seq(t, 0) + 1;
    else if (rv == MORTISE_ECHECK)
        rv = mortise_fail(err, rv, "%s has errors (%s); correct it first", dir,
                          diags.n > 0 ? diags.list[0].message : "");
    mortise_trust_close(t);
    mortise_diags_finish(&diags);
    return rv;
}

static void append_utc_time(struct mortise_buf *b, const char *key, uint64_t s)
{
    char text[32];

    if (s == 0)
        return;
    format_utc_time(text, s);
    mortise_buf_printf(b, "    %s: \"%s\"\n", key, text);
}

static void append_trusted_entry(struct mortise_buf *b, const void *what)
{
    const struct mortise_trusted_key *by = what;
    char key[MORTISE_PUBKEY_TEXT], list[MORTISE_KINDS_TEXT];

    /* Checked by check_new_entry(). */
    assert(by->n_plugins > 0 && by->kinds != 0);
    mortise_pubkey_format(key, &by->key);
    mortise_buf_printf(b, "keys:\n  - key: \"%s\"\n    plugins: [", key);
    for (size_t i = 0; i < by->n_plugins; i++)
        mortise_buf_printf(b, "%s\"%s\"", i > 0 ? ", " : "", by->plugins[i]);
    mortise_buf_printf(
        b, "]\n    kinds: [%s]\n    in_process: %s\n",
        mortise_kind_format_list(list, sizeof list, by->kinds, ", "),
        by->in_process ? "true" : "false");
    append_utc_time(b, "not_before", by->not_before);
    append_utc_time(b, "not_after", by->not_after);
}

static int check_new_entry(const char *name,
                           const struct mortise_trusted_key *by,
                           struct mortise_err *err)
{
    if (!mortise_name_is_valid(name))
        return mortise_fail(err, MORTISE_EINVAL,
                            "'%s' is not a valid name of a trust file", name);
    if (by->n_plugins == 0 || by->kinds == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "name the plugins that the key can sign");
    for (size_t i = 0; i < by->n_plugins; i++)
        if (!is_name_pattern(by->plugins[i]))
            return mortise_fail(
                err, MORTISE_EINVAL,
                "'%s' is not a valid name or pattern of a plugin",
                by->plugins[i]);
    return MORTISE_OK;
}

static int check_revoke(const struct mortise_revocation *what,
                        struct mortise_err *err)
{
    struct mortise_pubkey pk;
    uint8_t raw[MORTISE_DIGEST];

    if (what->key == NULL && what->digest == NULL && what->plugin == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "name a key, a digest or versions to revoke");
    if (what->key != NULL &&
        !parse_key_id(pk.id, what->key, strlen(what->key)) &&
        mortise_pubkey_parse(&pk, what->key, strlen(what->key), err) !=
            MORTISE_OK)
        return MORTISE_EINVAL;
    if (what->digest != NULL &&
        mortise_hex_decode(raw, sizeof raw, what->digest,
                           strlen(what->digest)) != 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "a digest must be 64 hex digits, not '%s'",
                            what->digest);
    if ((what->plugin != NULL || what->range != NULL) &&
        (what->plugin == NULL || what->range == NULL ||
         !is_name_pattern(what->plugin) ||
         !mortise_range_is_valid(what->range)))
        return mortise_fail(err, MORTISE_EINVAL,
                            "to revoke versions, give a plugin's name and a "
                            "range such as \">=1.0 <1.4.2\"");
    return MORTISE_OK;
}

static void append_revoked_list(struct mortise_buf *b, const void *revoke)
{
    const struct mortise_revocation *what = revoke;

    assert((what->plugin != NULL) ==
           (what->range != NULL)); /* checked by check_revoke() */
    mortise_buf_puts(b, "revoked:\n");
    if (what->key != NULL)
        mortise_buf_printf(b, "  keys: [\"%s\"]\n", what->key);
    if (what->digest != NULL)
        mortise_buf_printf(b, "  digests: [\"%s\"]\n", what->digest);
    if (what->plugin != NULL)
        mortise_buf_printf(b, "  versions: [{plugin: \"%s\", range: \"%s\"}]\n",
                           what->plugin, what->range);
}

static const char file_head[] = "apiVersion: mortise/v1\nkind: Trust\nseq: ";

/* The text after the seq of a file that Mortise wrote; "" for any other
 * file. */
static const char *skip_file_seq(const char *text)
{
    size_t n = sizeof file_head - 1;

    return strncmp(text, file_head, n) == 0
               ? text + n + strspn(text + n, "0123456789")
               : "";
}

/* Does the file have the same content apart from seq?  Then a command that was
 * killed wrote it, and is now repeated. */
static bool has_same_content(const char *path, const char *text,
                             const struct mortise_mem *mem)
{
    struct mortise_buf there;
    bool same;

    mortise_buf_init(&there, mem);
    same = mortise_file_read(&there, path, 1 << 20, NULL) == MORTISE_OK &&
           mortise_buf_cstr(&there) != NULL &&
           strcmp(skip_file_seq(there.p), skip_file_seq(text)) == 0;
    mortise_buf_finish(&there);
    return same;
}

/* Create DIR/NAME.yaml (NAME NULL: revoked-SEQ.yaml) with the next seq and the
 * content that `put` writes. */
static int add_trust_file(const char *dir, const char *name,
                          void (*put)(struct mortise_buf *b, const void *what),
                          const void *what, char path[PATH_MAX],
                          const struct mortise_mem *mem,
                          struct mortise_err *err)
{
    struct mortise_buf b;
    char made[64];
    uint64_t seq = 0;
    int rv = mortise_dir_make(AT_FDCWD, dir, 0755, err);

    if (rv == MORTISE_OK)
        rv = compute_next_seq(&seq, dir, mem, err);
    if (rv != MORTISE_OK)
        return rv;
    snprintf(made, sizeof made, "revoked-%llu", (unsigned long long)seq);
    mortise_buf_init(&b, mem);
    mortise_buf_printf(&b, "%s%llu\n", file_head, (unsigned long long)seq);
    put(&b, what);
    rv = mortise_buf_cstr(&b) == NULL
             ? mortise_nomem(err)
             : mortise_file_format_path(path, PATH_MAX, err, "%s/%s.yaml", dir,
                                        name != NULL ? name : made);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, b.p, b.n, 0644, MORTISE_FILE_NEW, err);
    if (rv == MORTISE_EEXISTS && has_same_content(path, b.p, mem))
        rv = MORTISE_OK;
    mortise_buf_finish(&b);
    return rv;
}

int mortise_trust_add(const char *dir, const char *name,
                      const struct mortise_trusted_key *by,
                      const struct mortise_mem *mem, struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = check_new_entry(name, by, err);

    return rv == MORTISE_OK ? add_trust_file(dir, name, append_trusted_entry,
                                             by, path, mem, err)
                            : rv;
}

int mortise_trust_revoke(const char *dir, const struct mortise_revocation *what,
                         char path[PATH_MAX], const struct mortise_mem *mem,
                         struct mortise_err *err)
{
    char none[PATH_MAX];
    int rv = check_revoke(what, err);

    return rv == MORTISE_OK
               ? add_trust_file(dir, NULL, append_revoked_list, what,
                                path != NULL ? path : none, mem, err)
               : rv;
}
