/* trust_file.c -- the files of a trust directory: reading, checking and adding
 * them.
 *
 *   (1) A change adds a file and modifies none.
 *   (2) A new file has the directory's next seq. */
#include "lang/manifest/trust_file.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/dirs.h"
#include "core/base/files.h"
#include "core/base/name.h"
#include "lang/manifest/reading.h"
#include "core/plugin/version.h"
#include "lang/yaml/header.h"

struct trust_reader {
    struct mortise_trust *t;
    const char *dir, *path;
    struct mortise_diags *diags;
    uint64_t seq; /* the highest so far */
    bool nomem;
};

static void *alloc_from_trust(struct trust_reader *r, size_t size)
{
    void *p = mortise_arena_alloc(mortise_trust_arena(r->t), size);

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
    struct mortise_trusted_key *by = mortise_trust_add_key(r->t, r->path);
    bool key = mortise_yaml_get(v, "key") != NULL;
    bool file = mortise_yaml_get(v, "file") != NULL;

    r->nomem |= by == NULL;
    if (by == NULL)
        return;
    mortise_keys_read(&trusted_place, v, v->span, r, by, r->diags);
    if (v->kind == MORTISE_YAML_MAP && key == file)
        mortise_diag_add(
            r->diags, "E0212", v->span,
            "an entry of 'keys' must have exactly one of 'key' and 'file'");
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

static void read_revoked_key(struct trust_reader *r, struct mortise_revoked *v,
                             const struct mortise_yaml *at)
{
    struct mortise_err err;

    v->what = MORTISE_REVOKED_KEY_ID;
    if (parse_key_id(v->key.id, at->str, at->len))
        return;
    v->what = MORTISE_REVOKED_KEY;
    if (mortise_pubkey_parse(&v->key, at->str, at->len, &err) != MORTISE_OK)
        add_bad_key_finding(r, at, &err);
}

static void read_revoked_digest(struct trust_reader *r,
                                struct mortise_revoked *v,
                                const struct mortise_yaml *at)
{
    v->what = MORTISE_REVOKED_DIGEST;
    if (mortise_hex_decode(v->digest, sizeof v->digest, at->str, at->len) != 0)
        mortise_diag_add(r->diags, "E0714", at->span,
                         "'digests' must be a list of 64 hex digits each");
}

static void read_revoked_plugin(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_revoked *v = into;

    v->plugin = slot->value->str;
    check_name_pattern(r, slot->value);
}

static void read_revoked_range(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct trust_reader *r = ctx;
    struct mortise_revoked *v = into;

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

static void read_revoked_version(struct trust_reader *r,
                                 struct mortise_revoked *v,
                                 const struct mortise_yaml *at)
{
    v->what = MORTISE_REVOKED_VERSION;
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
                                             struct mortise_revoked *,
                                             const struct mortise_yaml *) = {
        [REVOKED_KEYS] = read_revoked_key,
        [REVOKED_DIGESTS] = read_revoked_digest,
        [REVOKED_VERSIONS] = read_revoked_version};
    struct trust_reader *r = ctx;

    (void)into;
    for (size_t i = 0; i < slot->value->n; i++) {
        struct mortise_revoked *v = mortise_trust_add_revoked(r->t, r->path);

        r->nomem |= v == NULL;
        if (v == NULL)
            return;
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

/* Errors become findings, or set r->nomem. */
static void read_trust_file(struct trust_reader *r)
{
    struct mortise_yaml *root;
    int rv =
        mortise_yaml_read(&root, mortise_trust_arena(r->t), r->path, r->diags);

    if (rv == MORTISE_OK && mortise_header_check(root, "Trust", r->diags))
        mortise_keys_read(&mortise_trust_place, root, root->span, r, NULL,
                          r->diags);
    r->nomem |= r->diags->failed || rv == MORTISE_ENOMEM;
}

static int read_with_findings(struct mortise_trust *t, const char *dir,
                              const char *path, uint64_t *seq,
                              struct mortise_diags *diags,
                              struct mortise_err *err)
{
    struct trust_reader r = {
        .t = t, .dir = dir, .path = path, .diags = diags, .seq = *seq};
    size_t errors = diags->n_errors;

    read_trust_file(&r);
    *seq = r.seq;
    if (r.nomem)
        return mortise_nomem(err);
    if (diags->short_of != NULL)
        return mortise_fail(err, MORTISE_ELIMIT, "%s", diags->short_of);
    return diags->n_errors > errors
               ? mortise_diags_fail_first(diags, MORTISE_ECHECK, err)
               : MORTISE_OK;
}

int mortise_trust_read_file(struct mortise_trust *t, const char *dir,
                            const char *path, uint64_t *seq,
                            struct mortise_diags *diags,
                            struct mortise_err *err)
{
    struct mortise_diags own;
    int rv;

    if (diags != NULL)
        return read_with_findings(t, dir, path, seq, diags, err);
    mortise_diags_init(&own, mortise_trust_arena(t)->mem);
    rv = read_with_findings(t, dir, path, seq, &own, err);
    mortise_diags_finish(&own);
    return rv;
}

int mortise_trust_check(const struct mortise_mem *mem, const char *path,
                        struct mortise_diags *diags, struct mortise_err *err)
{
    const char *slash = strrchr(path, '/');
    struct mortise_trust *t = mortise_trust_new(mem);
    struct trust_reader r = {.t = t, .path = path, .diags = diags};
    size_t errors = diags->n_errors;
    int rv;

    if (t == NULL)
        return mortise_nomem(err);
    r.dir = slash == NULL ? "."
            : slash == path
                ? "/"
                : mortise_arena_strndup(mortise_trust_arena(t), path,
                                        (size_t)(slash - path));
    if (r.dir != NULL)
        read_trust_file(&r);
    rv = r.dir == NULL || r.nomem ? mortise_nomem(err)
         : diags->n_errors > errors
             ? mortise_fail(err, MORTISE_ECHECK, "%s has errors", path)
             : MORTISE_OK;
    mortise_trust_close(t);
    return rv;
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
    mortise_trust_format_time(text, s);
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
