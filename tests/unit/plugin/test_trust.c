/* test_trust.c -- whom to trust, how that is changed, and signing. */
#include <check.h>
#include <sys/stat.h>

#include "lib/shelf.h"
#include "lang/manifest/manifest.h"

static char dir[4096];
static struct mortise_trust *t;
static struct mortise_diags diags;
static struct mortise_err err;
static struct mortise_seckey sk;
static struct mortise_pubkey pk;
static char key[MORTISE_PUBKEY_TEXT], id[MORTISE_KEYID_TEXT];

static void setup(void)
{
    test_begin();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    mortise_diags_init(&diags, &test_mem);
    ck_assert_int_eq(mortise_seckey_new(&sk, NULL), MORTISE_OK);
    mortise_seckey_public(&sk, &pk);
    mortise_pubkey_format(key, &pk);
    mortise_keyid_format(id, pk.id);
}

static void teardown(void)
{
    mortise_trust_close(t);
    t = NULL;
    mortise_diags_finish(&diags);
    test_rmdir(dir);
    test_nothing_left();
}

static int try_open(void)
{
    const char *dirs[] = {dir};

    mortise_trust_close(t);
    t = NULL;
    return mortise_trust_open(&t, &test_mem, dirs, 1, &diags, &err);
}

static void open_trust(void)
{
    int rv = try_open();

    ck_assert_msg(rv == MORTISE_OK, "%s: %s", err.msg,
                  diags.n ? diags.list[0].message : "");
}

/* Write NAME.yaml: the header, `seq`, and these lines, in which %s is the key.
 */
static void put(const char *name, int seq, const char *before, const char *k,
                const char *after)
{
    char path[4200], text[4096];
    int n = snprintf(text, sizeof text,
                     "apiVersion: mortise/v1\nkind: Trust\nseq: %d\n%s%s%s",
                     seq, before, k, after);

    snprintf(path, sizeof path, "%s/%s.yaml", dir, name);
    test_write(path, text, (size_t)n);
}

/* Verify "manifest", signed with a comment. */
static int verify(const char *comment, struct mortise_signature_info *out)
{
    struct mortise_buf sig;
    int rv;

    mortise_buf_init(&sig, &test_mem);
    ck_assert_int_eq(
        mortise_minisign_sign(&sig, &sk, "manifest", 8, comment, NULL), 0);
    rv = mortise_trust_verify(t, "manifest", 8, sig.p, sig.n, out, &err);
    mortise_buf_finish(&sig);
    return rv;
}

static const char good[] =
    "name:acme.pay version:1.2 seq:3 timestamp:1700000000";

/* A key that is listed may sign; what the signature says comes out. */
START_TEST(a_listed_key_may_sign)
{
    struct mortise_signature_info s;

    put("a", 4, "keys:\n  - key: \"", key,
        "\"\n    plugins: [other, 'acme.*']\n    in_process: true\n");
    open_trust();
    ck_assert_msg(verify(good, &s) == MORTISE_OK, "%s", err.msg);
    ck_assert_str_eq(s.name, "acme.pay");
    ck_assert_str_eq(s.version, "1.2");
    ck_assert_uint_eq(s.seq, 3);
    ck_assert_uint_eq(s.timestamp, 1700000000);
    ck_assert(s.by->in_process && s.by->kinds == MORTISE_KIND_ALL);
    ck_assert_uint_eq(mortise_trust_seq(t, 0), 4);
    ck_assert_uint_eq(mortise_trust_count(t), 1);
}
END_TEST

/* A key in a file of its own beside the trust file. */
START_TEST(a_key_may_be_a_file)
{
    char path[4200];
    struct mortise_signature_info s;

    snprintf(path, sizeof path, "%s/acme.pub", dir);
    ck_assert_int_eq(mortise_pubkey_write(path, &pk, NULL), MORTISE_OK);
    put("a", 1, "keys: [{file: acme.pub, plugins: ['*']}]\n", "", "");
    open_trust();
    ck_assert_int_eq(verify(good, &s), MORTISE_OK);
    ck_assert(!s.by->in_process);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(try_open(), MORTISE_ECHECK);
    ck_assert_str_eq(diags.list[0].code, "E0711");
}
END_TEST

static const struct {
    const char *pattern, *name;
    bool fits;
} patterns[] = {
    {"acme.pay", "acme.pay", true}, {"acme.pay", "acme.pays", false},
    {"acme.*", "acme.pay", true},   {"acme.*", "acme.", true},
    {"acme.*", "acme", false},      {"*", "x", true},
    {"*pay", "acme.pay", true},     {"*pay", "acme.payer", false},
    {"a*m*y", "acme.pay", true},    {"a*a*a*a*b", "aaaaaaaaaaaaaa", false},
    {"acme*", "evil.acme", false},  {"a.c", "abc", false},
};

/* Names fit patterns as people read them. */
START_TEST(patterns_fit)
{
    char lines[300], comment[300];
    struct mortise_signature_info s;

    snprintf(lines, sizeof lines, "\"\n    plugins: ['%s']\n",
             patterns[_i].pattern);
    snprintf(comment, sizeof comment, "name:%s version:1 seq:1 timestamp:1",
             patterns[_i].name);
    put("a", 1, "keys:\n  - key: \"", key, lines);
    open_trust();
    ck_assert_int_eq(verify(comment, &s) == MORTISE_OK, patterns[_i].fits);
}
END_TEST

/* Times are bounds on when it was signed, inclusive, whenever that is looked
 * at. */
START_TEST(times_are_of_signing)
{
    struct mortise_signature_info s;

    put("a", 1, "keys:\n  - key: \"", key,
        "\"\n    plugins: ['*']\n    not_before: 2023-11-14T22:13:20Z\n"
        "    not_after: 2023-11-14T22:13:21Z\n");
    open_trust();
    ck_assert_int_eq(verify("name:a version:1 seq:1 timestamp:1700000000", &s),
                     MORTISE_OK);
    ck_assert_int_eq(verify("name:a version:1 seq:1 timestamp:1700000001", &s),
                     MORTISE_OK);
    ck_assert_int_eq(verify("name:a version:1 seq:1 timestamp:1699999999", &s),
                     MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "2023-11-14T22:13:19Z"));
    ck_assert_int_eq(verify("name:a version:1 seq:1 timestamp:1700000002", &s),
                     MORTISE_EDENIED);
}
END_TEST

/* The same key may be listed twice: the old one beside the new, or each entry
 * for other plugins; the first that allows it counts. */
START_TEST(a_key_may_stand_twice)
{
    struct mortise_signature_info s;

    put("a", 1, "keys:\n  - key: \"", key,
        "\"\n    plugins: [other]\n    in_process: true\n");
    put("b", 1, "keys:\n  - key: \"", key, "\"\n    plugins: [acme.pay]\n");
    open_trust();
    ck_assert_int_eq(verify(good, &s), MORTISE_OK);
    ck_assert(!s.by->in_process);
    ck_assert_ptr_nonnull(strstr(s.by->path, "b.yaml"));
}
END_TEST

/* Another key of the same id changes nothing: ids are anybody's to choose. */
START_TEST(ids_are_no_proof)
{
    struct mortise_seckey evil;
    struct mortise_pubkey evil_pk;
    struct mortise_signature_info s;
    struct mortise_buf sig;
    char text[MORTISE_PUBKEY_TEXT];

    ck_assert_int_eq(mortise_seckey_new(&evil, NULL), MORTISE_OK);
    memcpy(evil.id, sk.id, sizeof sk.id);
    mortise_seckey_public(&evil, &evil_pk);
    mortise_pubkey_format(text, &evil_pk);
    put("a", 1, "keys:\n  - key: \"", key, "\"\n    plugins: ['*']\n");
    put("b", 1, "keys:\n  - key: \"", text, "\"\n    plugins: [evil]\n");
    open_trust();
    ck_assert_int_eq(verify(good, &s), MORTISE_OK);
    mortise_buf_init(&sig, &test_mem);
    ck_assert_int_eq(
        mortise_minisign_sign(&sig, &evil, "manifest", 8, good, NULL), 0);
    ck_assert_int_eq(
        mortise_trust_verify(t, "manifest", 8, sig.p, sig.n, &s, &err),
        MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "only for other plugins"));
    mortise_buf_finish(&sig);
}
END_TEST

static const char *const comments[] = {
    "",
    "timestamp:1 file:x",
    "name:a version:1 seq:1",
    "name:a version:1 seq:1 timestamp:",
    "name:a version:1 seq:1 timestamp:-1",
    "name:a version:1 seq:x timestamp:1",
    "name:a version:1 seq:1 timestamp:1 ",
    "name:a  version:1 seq:1 timestamp:1",
    "name:a version:1 seq:1 timestamp:1 more:1",
    "version:1 name:a seq:1 timestamp:1",
    "name:../a version:1 seq:1 timestamp:1",
    "name:a version:one seq:1 timestamp:1",
    "name:a version:1 seq:99999999999999999999 timestamp:1",
};

/* Only the comment that sign writes counts, in every character. */
START_TEST(comments_are_exact)
{
    struct mortise_signature_info s;

    put("a", 1, "keys:\n  - key: \"", key, "\"\n    plugins: ['*']\n");
    open_trust();
    ck_assert_int_eq(verify(comments[_i], &s), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "trusted comment"));
}
END_TEST

/* A NUL ends no part of it. */
START_TEST(comments_have_no_nul)
{
    static const char text[] = "name:a version:1\0 seq:1 timestamp:1";
    struct mortise_signature_info s;

    ck_assert_int_eq(
        mortise_signature_parse_comment(&s, text, sizeof text - 1, &err),
        MORTISE_EDENIED);
}
END_TEST

/* Revoked by key, by id, by digest or by version, in any file. */
START_TEST(revocations)
{
    uint8_t digest[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];
    struct mortise_signature_info s;

    mortise_digest(digest, "manifest", 8);
    mortise_hex_encode(hex, digest, sizeof digest);
    put("z", 1, "keys:\n  - key: \"", key, "\"\n    plugins: ['*']\n");
    switch (_i) {
    case 0:
        put("a", 2, "revoked: {keys: [\"", key, "\"]}\n");
        break;
    case 1:
        put("a", 2, "revoked: {keys: [\"", id, "\"]}\n");
        break;
    case 2:
        put("a", 2, "revoked: {digests: [\"", hex, "\"]}\n");
        break;
    default:
        put("a", 2, "revoked: {versions: [{plugin: 'acme.*', range: '<1.3", "",
            "'}]}\n");
        break;
    }
    open_trust();
    ck_assert_int_eq(verify(good, &s), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "a.yaml"));
    ck_assert_int_eq(mortise_trust_at(t, 0)->revoked, _i < 2);
    if (_i == 3)
        ck_assert_int_eq(
            verify("name:acme.pay version:1.3 seq:1 timestamp:1", &s),
            MORTISE_OK);
}
END_TEST

static const struct {
    const char *lines, *code;
} wrong[] = {
    {"kees: []\n", "E0201"},
    {"keys: {}\n", "E0203"},
    {"keys: [7]\n", "E0203"},
    {"keys: [{plugins: ['*']}]\n", "E0212"},
    {"keys: [{key: RWQ, file: x.pub, plugins: ['*']}]\n", "E0711"},
    {"keys: [{key: RWQ, plugins: ['*']}]\n", "E0711"},
    {"keys: [{file: none.pub, plugins: ['*']}]\n", "E0711"},
    {"keys: [{file: a.yaml, plugins: ['*']}]\n", "E0711"},
    {"revoked: {keys: [nonsense]}\n", "E0711"},
    {"revoked: {digests: [abc]}\n", "E0714"},
    {"revoked: {versions: [{plugin: a, range: 'x'}]}\n", "E0702"},
    {"revoked: {versions: [{plugin: 'a/b', range: '<1'}]}\n", "E0712"},
    {"revoked: {versions: [{plugin: a}]}\n", "E0206"},
    {"revoked: {version: []}\n", "E0201"},
    {"seq: 2\n", "E0108"},
};

/* Nothing is skipped: a slip in a trust file closes everything. */
START_TEST(wrong_files_are_refused)
{
    put("a", 1, wrong[_i].lines, "", "");
    ck_assert_int_eq(try_open(), MORTISE_ECHECK);
    ck_assert_ptr_null(t);
    ck_assert_msg(strcmp(diags.list[0].code, wrong[_i].code) == 0, "%s %s",
                  diags.list[0].code, diags.list[0].message);
}
END_TEST

/* An entry for every kind of slip in an entry. */
START_TEST(wrong_entries_are_refused)
{
    static const struct {
        const char *lines, *code;
    } entries[] = {
        {"    in_process: yes\n    plugins: ['*']\n", "E0203"},
        {"    plugins: []\n", "E0208"},
        {"    plugins: ['a b']\n", "E0712"},
        {"    plugins: ['*']\n    kinds: [executer]\n", "E0207"},
        {"    plugins: ['*']\n    not_before: yesterday\n", "E0713"},
        {"    plugins: ['*']\n    not_after: 2026-02-30T00:00:00Z\n", "E0713"},
        {"    plugins: ['*']\n    not_after: 2026-02-03\n", "E0713"},
        {"    plugins: ['*']\n    until: 2026-02-03T00:00:00Z\n", "E0201"},
        {"    kinds: [executor]\n", "E0206"},
    };

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        char after[300];

        snprintf(after, sizeof after, "\"\n%s", entries[i].lines);
        put("a", 1, "keys:\n  - key: \"", key, after);
        ck_assert_int_eq(try_open(), MORTISE_ECHECK);
        ck_assert_msg(strcmp(diags.list[diags.n - 1].code, entries[i].code) ==
                          0,
                      "%zu: %s %s", i, diags.list[diags.n - 1].code,
                      diags.list[diags.n - 1].message);
    }
}
END_TEST

/* No directory means no trust, and says how to get some. */
START_TEST(nothing_is_trusted_by_default)
{
    const char *dirs[] = {"/nowhere/at/all", dir};
    struct mortise_signature_info s;

    ck_assert_int_eq(mortise_trust_open(&t, &test_mem, dirs, 2, &diags, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(mortise_trust_count(t), 0);
    ck_assert_int_eq(verify(good, &s), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "mortise key trust"));
    ck_assert_ptr_nonnull(strstr(err.msg, id));
}
END_TEST

/* ---- changing
 * ------------------------------------------------------------------ */

/* What is added reads back the same, and each change is one file and one seq
 * more. */
START_TEST(changes_read_back)
{
    static const char *const names[] = {"acme.*", "x"};
    struct mortise_trusted_key by = {
        .key = pk,
        .plugins = names,
        .n_plugins = 2,
        .kinds = MORTISE_KIND_BIT(MORTISE_KIND_EXECUTOR),
        .in_process = true,
        .not_before = 1600000000,
        .not_after = 1800000000};
    struct mortise_revocation what = {.plugin = "acme.*", .range = "=1.2"};
    const struct mortise_trusted_key *got;
    struct mortise_signature_info s;
    char path[PATH_MAX];

    snprintf(dir + strlen(dir), 8, "/deep");
    ck_assert_int_eq(mortise_trust_add(dir, "acme", &by, &test_mem, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_trust_add(dir, "acme", &by, &test_mem, &err),
                     MORTISE_OK); /* it is said */
    by.not_after++;
    ck_assert_int_eq(mortise_trust_add(dir, "acme", &by, &test_mem, &err),
                     MORTISE_EEXISTS);
    open_trust();
    got = mortise_trust_at(t, 0);
    ck_assert(mortise_pubkey_is_equal(&got->key, &pk));
    ck_assert_uint_eq(got->n_plugins, 2);
    ck_assert_str_eq(got->plugins[0], "acme.*");
    ck_assert(got->kinds == MORTISE_KIND_BIT(MORTISE_KIND_EXECUTOR) &&
              got->in_process);
    ck_assert_uint_eq(got->not_before, 1600000000);
    ck_assert_uint_eq(got->not_after, 1800000000);
    ck_assert_int_eq(verify(good, &s), MORTISE_OK);
    ck_assert_uint_eq(mortise_trust_seq(t, 0), 1);

    ck_assert_int_eq(mortise_trust_revoke(dir, &what, path, &test_mem, &err),
                     MORTISE_OK);
    ck_assert_ptr_nonnull(strstr(path, "/revoked-2.yaml"));
    open_trust();
    ck_assert_uint_eq(mortise_trust_seq(t, 0), 2);
    ck_assert_int_eq(verify(good, &s), MORTISE_EDENIED);
    what = (struct mortise_revocation){.key = id};
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_OK);
    open_trust();
    ck_assert(mortise_trust_at(t, 0)->revoked);
    dir[strlen(dir) - 5] = '\0';
}
END_TEST

/* What would not read back is not written. */
START_TEST(wrong_changes_are_refused)
{
    static const char *const odd[] = {"a\", \"*"};
    struct mortise_trusted_key by = {
        .key = pk,
        .plugins = odd,
        .n_plugins = 1,
        .kinds = MORTISE_KIND_BIT(MORTISE_KIND_EXECUTOR)};
    struct mortise_revocation what = {.key = "RW\"]"};

    ck_assert_int_eq(mortise_trust_add(dir, "a", &by, &test_mem, &err),
                     MORTISE_EINVAL);
    by.n_plugins = 0;
    ck_assert_int_eq(mortise_trust_add(dir, "a", &by, &test_mem, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_trust_add(dir, "../a", &by, &test_mem, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_EINVAL);
    what = (struct mortise_revocation){.digest = "12"};
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_EINVAL);
    what = (struct mortise_revocation){.plugin = "a"};
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_EINVAL);
    what = (struct mortise_revocation){0};
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_EINVAL);
    /* Nor is a directory with errors added to. */
    put("broken", 1, "kees: []\n", "", "");
    what = (struct mortise_revocation){.key = id};
    ck_assert_int_eq(mortise_trust_revoke(dir, &what, NULL, &test_mem, &err),
                     MORTISE_ECHECK);
}
END_TEST

/* Opening and changing cope with their first, second, ... allocation failing.
 */
START_TEST(trust_survives_oom)
{
    struct mortise_revocation what = {.key = id};
    bool failed;
    int n = 0, rv;

    put("a", 1, "keys:\n  - key: \"", key,
        "\"\n    plugins: ['*']\nrevoked: {keys: [1234567812345678a]}\n");
    put("a", 1, "keys:\n  - key: \"", key, "\"\n    plugins: ['*']\n");
    do {
        char path[PATH_MAX];

        test_mem_fail_at(n++);
        rv = try_open();
        if (rv == MORTISE_OK)
            rv = mortise_trust_revoke(dir, &what, path, &test_mem, &err);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
        mortise_diags_finish(&diags);
        mortise_diags_init(&diags, &test_mem);
    } while (failed);
    ck_assert_int_gt(n, 5);
}
END_TEST

/* ---- signing
 * ---------------------------------------------------------------------- */

static struct mortise_sign_request signing(const char *manifest,
                                           const char *const *objects)
{
    return (struct mortise_sign_request){.manifest = manifest,
                                         .objects = objects,
                                         .n_objects = objects != NULL ? 1 : 0,
                                         .out = dir,
                                         .key = &sk,
                                         .timestamp = 1700000000};
}

static int sign(const struct mortise_sign_request *s)
{
    mortise_diags_finish(&diags);
    mortise_diags_init(&diags, &test_mem);
    return mortise_plugin_sign(s, NULL, &test_mem, &diags, &err);
}

static char *in_dir(const char *name)
{
    static char path[8][4400];
    static int next;
    char *p = path[next++ % 8];

    snprintf(p, 4400, "%s/%s", dir, name);
    return p;
}

/* What is signed keeps the author's text, verifies, and is what it says; stock
 * minisign agrees. */
START_TEST(signing_makes_what_verifies)
{
    char object[PATH_MAX], cmd[3 * PATH_MAX];
    const char *objects[] = {object};
    struct mortise_sign_request s = signing(shelf_source("ok_inline"), objects);
    struct mortise_manifest *m;
    struct mortise_signature_info said;
    char *source, *text, *sig;
    uint8_t digest[MORTISE_DIGEST];
    size_t n;

    snprintf(object, sizeof object, "%s", shelf_object("ok_inline"));
    ck_assert_msg(sign(&s) == MORTISE_OK, "%s", err.msg);
    source = test_read(shelf_source("ok_inline"), NULL);
    text = test_read(in_dir("ok_inline.plugin.yaml"), &n);
    ck_assert_int_eq(strncmp(text, source, strlen(source)), 0);
    ck_assert_int_eq(
        mortise_manifest_parse(&m, &test_mem, "m", text, n, true, &diags),
        MORTISE_OK);
    ck_assert_str_eq(m->artifacts[0].file, "ok_inline.so");
    free(source);
    source = test_read(in_dir("ok_inline.so"), &n);
    mortise_digest(digest, source, n);
    ck_assert_uint_eq(m->artifacts[0].size, n);
    ck_assert_mem_eq(m->artifacts[0].digest, digest, sizeof digest);
    mortise_manifest_free(m);

    put("a", 1, "keys:\n  - key: \"", key, "\"\n    plugins: ['*']\n");
    ck_assert_int_eq(rename(in_dir("ok_inline.plugin.yaml"), in_dir("o.pl")),
                     0);
    open_trust();
    ck_assert_int_eq(rename(in_dir("o.pl"), in_dir("ok_inline.plugin.yaml")),
                     0);
    sig = test_read(in_dir("ok_inline.plugin.yaml.minisig"), &n);
    ck_assert_msg(mortise_trust_verify(t, text, strlen(text), sig, n, &said,
                                       &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_str_eq(said.name, "ok_inline");
    ck_assert_uint_eq(said.timestamp, 1700000000);
    snprintf(cmd, sizeof cmd,
             "minisign -q -V -m %s/ok_inline.plugin.yaml -P %s", dir, key);
    ck_assert_int_eq(system(cmd), 0);
    free(sig);
    free(source);
    free(text);
}
END_TEST

/* Without objects it takes OUT/NAME.so, as a build that writes there wants. */
START_TEST(the_object_may_be_in_place)
{
    struct mortise_sign_request s = signing(shelf_source("ok_inline"), NULL);
    size_t n;
    char *so = test_read(shelf_object("ok_inline"), &n);

    ck_assert_int_eq(sign(&s), MORTISE_ENOTFOUND);
    test_write(in_dir("ok_inline.so"), so, n);
    free(so);
    ck_assert_msg(sign(&s) == MORTISE_OK, "%s", err.msg);
}
END_TEST

/* A manifest with artifacts is signed as it is, if the objects are those. */
START_TEST(signing_again)
{
    struct mortise_sign_request s =
        signing(in_dir("ok_inline.plugin.yaml"), NULL);
    char object[PATH_MAX];
    const char *objects[] = {object};
    struct mortise_sign_request first =
        signing(shelf_source("ok_inline"), objects);
    char *before, *after;
    size_t n;

    snprintf(object, sizeof object, "%s", shelf_object("ok_inline"));
    ck_assert_int_eq(sign(&first), MORTISE_OK);
    before = test_read(in_dir("ok_inline.plugin.yaml"), NULL);
    ck_assert_msg(sign(&s) == MORTISE_OK, "%s", err.msg);
    after = test_read(in_dir("ok_inline.plugin.yaml"), NULL);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    before = test_read(shelf_object("ok_async"), &n);
    test_write(in_dir("ok_inline.so"), before, n);
    free(before);
    ck_assert_int_eq(sign(&s), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "differs from the artifact"));
}
END_TEST

/* An artifact of a development version may lack its size and digest: to sign it is
 * refused with one finding, which says what to do. */
START_TEST(artifacts_without_digests)
{
    static const char *const artifacts[] = {
        "  - {arch: x86_64-linux-gnu, file: ok_inline.so}\n",
        "  - {arch: x86_64-linux-gnu, file: ok_inline.so, size: 5}\n",
    };
    static const char *const words[] = {
        "an artifact of a signed manifest needs 'size' and 'blake2b-256'",
        "an artifact of a signed manifest needs 'blake2b-256'",
    };
    struct mortise_sign_request s = signing(in_dir("source.yaml"), NULL);
    char *source = test_read(shelf_source("ok_inline"), NULL), text[8192];

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        snprintf(text, sizeof text, "%sartifacts:\n%s", source, artifacts[i]);
        test_write(in_dir("source.yaml"), text, strlen(text));
        ck_assert_int_eq(sign(&s), MORTISE_ECHECK);
        ck_assert_uint_eq(diags.n, 1);
        ck_assert_str_eq(diags.list[0].message, words[i]);
        ck_assert_ptr_nonnull(
            strstr(diags.list[0].help, "take 'artifacts' out of the manifest"));
        ck_assert_int_ne(access(in_dir("ok_inline.plugin.yaml"), F_OK), 0);
        mortise_diags_finish(&diags);
        mortise_diags_init(&diags, &test_mem);
    }
    /* The remedy in the message works. */
    test_write(in_dir("source.yaml"), source, strlen(source));
    free(source);
    source = test_read(shelf_object("ok_inline"), &s.n_objects);
    test_write(in_dir("ok_inline.so"), source, s.n_objects);
    free(source);
    s.n_objects = 0;
    ck_assert_msg(sign(&s) == MORTISE_OK, "%s", err.msg);
}
END_TEST

/* What loading would refuse is refused here already. */
START_TEST(bad_objects_are_not_signed)
{
    char object[PATH_MAX];
    const char *objects[] = {object};
    struct mortise_sign_request s = signing(shelf_source("rpath"), objects);

    snprintf(object, sizeof object, "%s", shelf_object("rpath"));
    ck_assert_int_eq(sign(&s), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "RPATH"));
    ck_assert_int_ne(access(in_dir("rpath.plugin.yaml"), F_OK), 0);
    snprintf(object, sizeof object, "%s", shelf_source("rpath"));
    ck_assert_int_eq(sign(&s), MORTISE_EINVAL);
}
END_TEST

/* A manifest to which nothing can be appended is refused, not mangled. */
START_TEST(flow_manifests_are_refused)
{
    static const char flow[] =
        "{apiVersion: mortise/v1, kind: Plugin, metadata: {name: a, version: "
        "1}, seq: 1, abi: {major: 1, minor: 0}, provides: {guardrail: "
        "{threading: inline}}}\n";
    char object[PATH_MAX];
    const char *objects[] = {object};
    struct mortise_sign_request s = signing(in_dir("flow.yaml"), objects);

    snprintf(object, sizeof object, "%s", shelf_object("ok_guardrail"));
    test_write(in_dir("flow.yaml"), flow, strlen(flow));
    ck_assert_int_eq(sign(&s), MORTISE_ECHECK);
    ck_assert_uint_ge(diags.n, 1);
    ck_assert_int_ne(access(in_dir("a.plugin.yaml"), F_OK), 0);
}
END_TEST

/* Signing copes with its first, second, ... allocation failing, and leaves no
 * signature then. */
START_TEST(signing_survives_oom)
{
    char object[PATH_MAX];
    const char *objects[] = {object};
    struct mortise_sign_request s = signing(shelf_source("ok_inline"), objects);
    bool failed;
    int n = 0, rv;

    snprintf(object, sizeof object, "%s", shelf_object("ok_inline"));
    do {
        test_mem_fail_at(n++);
        rv = mortise_plugin_sign(&s, NULL, &test_mem, &diags, &err);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(
            access(in_dir("ok_inline.plugin.yaml.minisig"), F_OK) == 0,
            !failed);
        mortise_diags_finish(&diags);
        mortise_diags_init(&diags, &test_mem);
    } while (failed);
    ck_assert_int_gt(n, 5);
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof *(a))

static Suite *suite(void)
{
    Suite *s = suite_create("trust");
    TCase *tc = tcase_create("trust");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_listed_key_may_sign);
    tcase_add_test(tc, a_key_may_be_a_file);
    tcase_add_loop_test(tc, patterns_fit, 0, N(patterns));
    tcase_add_test(tc, times_are_of_signing);
    tcase_add_test(tc, a_key_may_stand_twice);
    tcase_add_test(tc, ids_are_no_proof);
    tcase_add_loop_test(tc, comments_are_exact, 0, N(comments));
    tcase_add_test(tc, comments_have_no_nul);
    tcase_add_loop_test(tc, revocations, 0, 4);
    tcase_add_loop_test(tc, wrong_files_are_refused, 0, N(wrong));
    tcase_add_test(tc, wrong_entries_are_refused);
    tcase_add_test(tc, nothing_is_trusted_by_default);
    tcase_add_test(tc, changes_read_back);
    tcase_add_test(tc, wrong_changes_are_refused);
    tcase_add_test(tc, trust_survives_oom);
    tcase_add_test(tc, signing_makes_what_verifies);
    tcase_add_test(tc, the_object_may_be_in_place);
    tcase_add_test(tc, signing_again);
    tcase_add_test(tc, artifacts_without_digests);
    tcase_add_test(tc, bad_objects_are_not_signed);
    tcase_add_test(tc, flow_manifests_are_refused);
    tcase_add_test(tc, signing_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
