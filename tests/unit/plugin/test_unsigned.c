/* test_unsigned.c -- plugins that nobody signed, in directories marked dev: what
 * is spared them, and what is not (registry.c (6)). */
#include <check.h>
#include <sys/stat.h>

#include "lib/shelf.h"
#include "lib/witness.h"
#include "core/plugin/registry.h"

static struct shelf shelf;
static struct witness *seen;
static struct mortise_err err;
static struct mortise_plugins *plugins;
static char dev[PATH_MAX];
static uint64_t seq_seen, seq_asked, seq_put_to;

static int seq_get(void *ud, const char *plugin, uint64_t *seq,
                   struct mortise_err *e)
{
    (void)ud;
    (void)e;
    *seq = strchr(plugin, ':') != NULL ? 0 : seq_seen; /* trust: 0 */
    seq_asked += *seq;
    return MORTISE_OK;
}

static int seq_put(void *ud, const char *plugin, uint64_t seq,
                   struct mortise_err *e)
{
    (void)ud;
    (void)e;
    seq_put_to = strchr(plugin, ':') != NULL ? seq_put_to : seq;
    return MORTISE_OK;
}

static void setup(void)
{
    shelf_begin();
    shelf_init(&shelf);
    seen = witness_new();
    seq_seen = seq_asked = seq_put_to = 0;
    snprintf(dev, sizeof dev, "%s/dev", shelf.root);
    ck_assert_int_eq(mkdir(dev, 0755), 0);
    ck_assert_int_eq(mkdir(shelf.plugins, 0755), 0);
}

static void teardown(void)
{
    mortise_plugins_close(plugins);
    plugins = NULL;
    witness_free(seen);
    shelf_finish(&shelf);
    shelf_nothing_left();
}

/* The shelf's plugins, then those of the dev directory. */
static int try_open(void)
{
    const char *dirs[] = {shelf.plugins, dev}, *trust_dirs[] = {shelf.trust};
    struct mortise_plugins_config config = {.mem = &test_mem,
                                            .dirs = dirs,
                                            .n_dirs = 2,
                                            .first_dev = 1,
                                            .n_dev = 1,
                                            .trust_dirs = trust_dirs,
                                            .n_trust_dirs = 1,
                                            .quarantine_dir = shelf.quarantine,
                                            .seq_get = seq_get,
                                            .seq_put = seq_put,
                                            .ops = witness_ops(seen),
                                            .quiesce_ms = 3000};

    mortise_plugins_close(plugins);
    plugins = NULL;
    return mortise_plugins_open(&plugins, &config, &err);
}

static void open_all(void)
{
    ck_assert_msg(try_open() == MORTISE_OK, "%s", err.msg);
}

static int start(const char *name)
{
    struct mortise_instance *i;
    int rv = mortise_plugins_start(plugins, name, "", NULL, &i, &err);

    ck_assert_int_eq(i != NULL, rv == MORTISE_OK);
    return rv;
}

static void starts(const char *name)
{
    ck_assert_msg(start(name) == MORTISE_OK, "%s", err.msg);
}

static void refused(const char *name, const char *words)
{
    ck_assert_int_ne(start(name), MORTISE_OK);
    ck_assert_msg(strstr(err.msg, words) != NULL, "'%s' is not in '%s'", words,
                  err.msg);
}

/* ---- what is put there ------------------------------------------------------
 */

/* Static until the call after the next. */
static const char *file(const char *dir, const char *name, const char *ext)
{
    static char paths[2][PATH_MAX + 300];
    static int i;

    i = !i;
    snprintf(paths[i], sizeof paths[i], "%s/%s%s", dir, name, ext);
    return paths[i];
}

static void copy(const char *from, const char *to)
{
    size_t n;
    char *p = test_read(from, &n);

    test_write(to, p, n);
    free(p);
}

/* The object `from` as DIR/NAME.so. */
static void build(const char *dir, const char *name, const char *from)
{
    copy(shelf_object(from), file(dir, name, ".so"));
}

/* What an author has: the source manifest, and `more` behind it. */
static void write_down(const char *dir, const char *name, const char *more)
{
    char text[8192], *source = test_read(shelf_source(name), NULL);

    snprintf(text, sizeof text, "%s%s", source, more);
    test_write(file(dir, name, ".plugin.yaml"), text, strlen(text));
    free(source);
}

static void put(const char *name)
{
    write_down(dev, name, "");
    build(dev, name, name);
}

static const struct mortise_manifest *found(const char *name)
{
    const struct mortise_manifest *m =
        mortise_plugins_find(plugins, name, &err);

    ck_assert_msg(m != NULL, "%s", err.msg);
    return m;
}

/* ---- what is spared them ----------------------------------------------------
 */

/* A source manifest and its object run as they are, and are known for it; the
 * same two files elsewhere are refused, and told of plugins.dev. */
START_TEST(built_is_enough)
{
    put("ok_inline");
    write_down(shelf.plugins, "ok_async", "");
    build(shelf.plugins, "ok_async", "ok_async");
    open_all();
    starts("ok_inline");
    ck_assert(found("ok_inline")->dev);
    refused("ok_async", "is not signed");
    ck_assert_ptr_nonnull(strstr(err.msg, "plugins.dev"));
}
END_TEST

/* Its object may have another name, and its size and digest may be said. */
START_TEST(artifacts_may_be_said)
{
    char more[256];
    size_t n;

    free(test_read(shelf_object("ok_inline"), &n));
    snprintf(more, sizeof more,
             "artifacts:\n  - {arch: x86_64-linux-gnu, file: x.so, size: %zu}\n"
             "  - {arch: aarch64-linux-gnu, file: x.so, size: %zu}\n",
             n, n);
    write_down(dev, "ok_inline", more);
    build(dev, "x", "ok_inline");
    open_all();
    starts("ok_inline");
}
END_TEST

/* A signed one there is like anywhere else, its seq included. */
START_TEST(signed_ones_stay_signed)
{
    seq_seen = 1000;
    shelf_put(&shelf, "ok_inline");
    copy(file(shelf.plugins, "ok_inline", ".plugin.yaml"),
         file(dev, "ok_inline", ".plugin.yaml"));
    copy(file(shelf.plugins, "ok_inline", ".plugin.yaml.minisig"),
         file(dev, "ok_inline", ".plugin.yaml.minisig"));
    build(dev, "ok_inline", "ok_inline");
    unlink(file(shelf.plugins, "ok_inline", ".plugin.yaml"));
    open_all();
    refused("ok_inline", "seq 1000 ran here before");
}
END_TEST

/* The seq of what nobody signed says nothing: it is neither held against
 * releases nor remembered. */
START_TEST(seq_says_nothing)
{
    seq_seen = 1000;
    put("ok_inline");
    open_all();
    starts("ok_inline");
    ck_assert_uint_eq(seq_asked, 0);
    ck_assert_uint_eq(seq_put_to, 0);
}
END_TEST

/* ---- what is not ------------------------------------------------------------
 */

/* A signature that is there and wrong is a refusal: taking it away is the way
 * to say that there is none. */
START_TEST(a_wrong_signature_is_refused)
{
    put("ok_inline");
    shelf_put(&shelf, "ok_async");
    copy(file(shelf.plugins, "ok_async", ".plugin.yaml.minisig"),
         file(dev, "ok_inline", ".plugin.yaml.minisig"));
    open_all();
    refused("ok_inline", "changed after it was signed");
    test_write(file(dev, "ok_inline", ".plugin.yaml.minisig"), "", 0);
    open_all();
    refused("ok_inline", "its signature");
    unlink(file(dev, "ok_inline", ".plugin.yaml.minisig"));
    open_all();
    starts("ok_inline");
}
END_TEST

static const struct {
    const char *more, *words;
} wrong[] = {
    {"artifacts:\n  - {arch: x86_64-linux-gnu, file: ok_inline.so, size: 7}\n"
     "  - {arch: aarch64-linux-gnu, file: ok_inline.so, size: 7}\n",
     "remove both"},
    {"artifacts:\n  - {arch: x86_64-linux-gnu, file: ok_inline.so, "
     "blake2b-256: "
     "\"11111111111111111111111111111111"
     "11111111111111111111111111111111\"}\n"
     "  - {arch: aarch64-linux-gnu, file: ok_inline.so, size: 7}\n",
     "remove both"},
    {"artifacts:\n  - {arch: x86_64-linux-gnu, file: gone.so}\n"
     "  - {arch: aarch64-linux-gnu, file: gone.so}\n",
     "gone.so"},
    {"artifacts: []\n", "must not be empty"},
    {"unknown: key\n", "unknown"},
};

/* What the manifest says must be true. */
START_TEST(wrong_manifests_are_refused)
{
    build(dev, "ok_inline", "ok_inline");
    write_down(dev, "ok_inline", wrong[_i].more);
    open_all();
    refused("ok_inline", wrong[_i].words);
}
END_TEST

static const struct {
    const char *plugin, *words;
} bad[] = {
    {"extra_symbol", "exports acme_helper"},
    {"imports_host", "imports mortise_plugins_close"},
    {"rpath", "RPATH"},
    {"exec_stack", "executable stack"},
    {"id_mismatch", "somebody_else"},
};

/* Objects that would be refused signed are refused unsigned. */
START_TEST(bad_objects_are_refused)
{
    put(bad[_i].plugin);
    open_all();
    refused(bad[_i].plugin, bad[_i].words);
}
END_TEST

static void distrust(struct mortise_revocation what)
{
    ck_assert_int_eq(
        mortise_trust_revoke(shelf.trust, &what, NULL, &mortise_heap, &err),
        MORTISE_OK);
}

/* Revoked by its version, or by the digest of its object. */
START_TEST(revoked_is_revoked)
{
    char hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];
    size_t n;
    char *p = test_read(shelf_object("ok_async"), &n);

    mortise_digest(digest, p, n);
    mortise_hex_encode(hex, digest, sizeof digest);
    free(p);
    put("ok_inline");
    put("ok_async");
    distrust((struct mortise_revocation){.plugin = "ok_inline", .range = "<2"});
    distrust((struct mortise_revocation){.digest = hex});
    open_all();
    refused("ok_inline", "revokes <2");
    refused("ok_async", "is revoked by its digest");
}
END_TEST

/* A build after the manifest was read is not what runs, and none at all is not
 * either; read again, it runs. */
START_TEST(what_was_read_is_what_runs)
{
    put("ok_inline");
    open_all();
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    build(dev, "ok_inline", "create_crashes");
    refused("ok_inline", "was rebuilt after its manifest was read");
    unlink(file(dev, "ok_inline", ".so"));
    refused("ok_inline", "ok_inline.so");
    open_all();
    refused("ok_inline", "ok_inline.so");
    build(dev, "ok_inline", "ok_inline");
    open_all();
    starts("ok_inline");
}
END_TEST

/* The pin is of the object, too: the same manifest with another build is
 * another plugin, and the same build is the same. */
START_TEST(the_pin_has_the_object)
{
    uint8_t first[MORTISE_DIGEST];

    put("ok_inline");
    open_all();
    memcpy(first, found("ok_inline")->digest, sizeof first);
    build(dev, "ok_inline", "ok_async");
    open_all();
    ck_assert_mem_ne(first, found("ok_inline")->digest, sizeof first);
    build(dev, "ok_inline", "ok_inline");
    open_all();
    ck_assert_mem_eq(first, found("ok_inline")->digest, sizeof first);
}
END_TEST

/* The same name and version, signed in one directory and not in another: which
 * would run must not depend on their order. */
START_TEST(twins_are_refused)
{
    shelf_put(&shelf, "ok_inline");
    put("ok_inline");
    open_all();
    refused("ok_inline", "are both ok_inline 1.0.0 but differ");
}
END_TEST

/* Opening copes with its first, second, ... allocation failing. */
START_TEST(opening_survives_oom)
{
    bool failed;
    int n = 0;

    put("ok_inline");
    do {
        int rv;

        test_mem_fail_at(n++);
        rv = try_open();
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(plugins == NULL, failed);
    } while (failed);
    ck_assert_int_gt(n, 10);
    starts("ok_inline");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("unsigned");
    TCase *tc = tcase_create("unsigned");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, built_is_enough);
    tcase_add_test(tc, artifacts_may_be_said);
    tcase_add_test(tc, signed_ones_stay_signed);
    tcase_add_test(tc, seq_says_nothing);
    tcase_add_test(tc, a_wrong_signature_is_refused);
    tcase_add_loop_test(tc, wrong_manifests_are_refused, 0,
                        sizeof wrong / sizeof wrong[0]);
    tcase_add_loop_test(tc, bad_objects_are_refused, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(tc, revoked_is_revoked);
    tcase_add_test(tc, what_was_read_is_what_runs);
    tcase_add_test(tc, the_pin_has_the_object);
    tcase_add_test(tc, twins_are_refused);
    tcase_add_test(tc, opening_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
