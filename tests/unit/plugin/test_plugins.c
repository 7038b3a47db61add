/* test_plugins.c -- plugins found, verified, loaded and created; and each way
 * in which one may break its word.
 *
 * Run from the top of the tree; the plugins are those of tests/plugins. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/json/value.h"
#include "lib/shelf.h"
#include "lib/witness.h"
#include "core/plugin/death.h"
#include "core/plugin/registry.h"

static struct shelf shelf;
static struct witness *seen;
static struct mortise_err err;
static struct mortise_plugins *plugins;
static int modules_before;

/* Modules that the test loaded. */
static int loaded(void)
{
    return shelf_modules() - modules_before;
}

/* ---- a store of seqs --------------------------------------------------------
 */

static struct {
    char name[256];
    uint64_t seq;
} seqs[16];

/* An older release comes after a newer one. */
static bool goes_back, opens_later;

static int seq_get(void *ud, const char *plugin, uint64_t *seq,
                   struct mortise_err *e)
{
    (void)ud;
    (void)e;
    *seq = 0;
    for (int i = 0; i < 16; i++)
        if (strcmp(seqs[i].name, plugin) == 0)
            *seq = seqs[i].seq;
    return MORTISE_OK;
}

static int seq_put(void *ud, const char *plugin, uint64_t seq,
                   struct mortise_err *e)
{
    int i = 0;

    (void)ud;
    (void)e;
    while (seqs[i].name[0] != '\0' && strcmp(seqs[i].name, plugin) != 0)
        i++;
    snprintf(seqs[i].name, sizeof seqs[i].name, "%s", plugin);
    seqs[i].seq = seq;
    return MORTISE_OK;
}

/* ---- around each test
 * -------------------------------------------------------- */

static void setup(void)
{
    shelf_begin();
    modules_before = shelf_modules();
    memset(seqs, 0, sizeof seqs);
    goes_back = opens_later = false;
    shelf_init(&shelf);
    seen = witness_new();
}

static void teardown(void)
{
    mortise_plugins_close(plugins);
    plugins = NULL;
    witness_free(seen);
    shelf_finish(&shelf);
    shelf_nothing_left();
}

/* ---- opening and starting ---------------------------------------------------
 */

static int try_open_with(const struct mortise_mem *mem, const char *const *dirs,
                         size_t n)
{
    static const char *trust_dirs[1];
    struct mortise_plugins_config config = {.mem = mem,
                                            .dirs = dirs,
                                            .n_dirs = n,
                                            .trust_dirs = trust_dirs,
                                            .n_trust_dirs = 1,
                                            .quarantine_dir = shelf.quarantine,
                                            .seq_get = seq_get,
                                            .seq_put = seq_put,
                                            .allow_downgrade = goes_back,
                                            .later = opens_later,
                                            .ops = witness_ops(seen),
                                            .quiesce_ms = 3000};

    trust_dirs[0] = shelf.trust;
    mortise_plugins_close(plugins);
    plugins = NULL;
    return mortise_plugins_open(&plugins, &config, &err);
}

static int try_open(void)
{
    const char *dir = shelf.plugins;

    return try_open_with(&test_mem, &dir, 1);
}

static void open_shelf(void)
{
    ck_assert_msg(try_open() == MORTISE_OK, "%s", err.msg);
}

/* The only plugin of the shelf, signed and found. */
static void put_and_open(const char *name)
{
    shelf_put(&shelf, name);
    open_shelf();
}

static int try_start(const char *name, const char *config,
                     struct mortise_instance **out)
{
    json_t *json = NULL;
    int rv;

    if (config != NULL)
        ck_assert_int_eq(
            mortise_json_parse(&json, config, strlen(config), NULL), 0);
    rv = mortise_plugins_start(plugins, name, "", json, out, &err);
    json_decref(json);
    return rv;
}

static struct mortise_instance *start(const char *name)
{
    struct mortise_instance *i;

    put_and_open(name);
    ck_assert_msg(try_start(name, NULL, &i) == MORTISE_OK, "%s", err.msg);
    ck_assert_ptr_nonnull(i);
    return i;
}

/* It cannot be started, and the sentence has these words. */
static void refused(const char *name, const char *words)
{
    struct mortise_instance *i;

    ck_assert_int_ne(try_start(name, NULL, &i), MORTISE_OK);
    ck_assert_ptr_null(i);
    ck_assert_msg(strstr(err.msg, words) != NULL, "'%s' is not in '%s'", words,
                  err.msg);
    ck_assert_ptr_nonnull(strstr(err.msg, name));
}

/* ---- calls ------------------------------------------------------------------
 */

static int call_as(struct mortise_instance *i, uint64_t id, const char *op,
                   const char *body, const struct mortise_call_kind *kind)
{
    struct mortise_call c = {.kind = kind,
                             .id = id,
                             .attempt = 1,
                             .visit = 1,
                             .operation = op,
                             .body = body,
                             .body_size = strlen(body),
                             .run_id = "run",
                             .node_path = "node",
                             .idempotency_key = "key-1"};

    return mortise_instance_call(i, &c, &err);
}

static const struct witnessed *called(struct mortise_instance *i, uint64_t id,
                                      const char *op, const char *body)
{
    ck_assert_msg(call_as(i, id, op, body, &mortise_call_execute) == 0, "%s",
                  err.msg);
    return witness_of(seen, id);
}

static const struct witnessed *checked(struct mortise_instance *i, uint64_t id,
                                       const char *body)
{
    ck_assert_int_eq(call_as(i, id, "", body, &mortise_call_check), 0);
    return witness_of(seen, id);
}

/* ---- those that behave
 * ------------------------------------------------------- */

static const char *const good[] = {"ok_inline", "ok_async", "ok_blocking"};

/* Every kind of threading gives what it was given, and the words of a failure
 * with its class and code. */
START_TEST(the_good_ones_work)
{
    struct mortise_instance *i = start(good[_i]);
    const struct witnessed *d = called(i, 1, "echo", "{\"a\":[1,2]}");

    ck_assert_int_eq(d->status, 0);
    ck_assert(d->has_output);
    ck_assert_str_eq(d->output, "{\"a\":[1,2]}");
    d = called(i, 2, "fail", "{\"class\":\"transient\",\"code\":\"busy.now\"}");
    ck_assert_int_eq(d->status, -1);
    ck_assert_str_eq(d->message, "failed as asked");
    ck_assert_str_eq(d->error_class, "transient");
    ck_assert_str_eq(d->error_code, "busy.now");
    d = called(i, 3, "fail", "{}");
    ck_assert_str_eq(d->error_class, "permanent");
    ck_assert_str_eq(d->error_code, "");
    d = called(i, 4, "fail", "{\"code\":\"in_doubt\"}");
    ck_assert_str_eq(d->message, "in_doubt: failed as asked");
    ck_assert_str_eq(d->error_code, "");
    ck_assert_uint_eq(mortise_instance_count_calls(i), 0);
    ck_assert_str_eq(seen->log, "");
}
END_TEST

/* Started twice, a plugin is one instance; and the list says that it runs. */
START_TEST(a_plugin_starts_once)
{
    struct mortise_instance *i = start("ok_inline"), *again;

    ck_assert_int_eq(try_start("ok_inline", NULL, &again), MORTISE_OK);
    ck_assert_ptr_eq(i, again);
    ck_assert_uint_eq(mortise_plugins_count(plugins), 1);
    ck_assert(mortise_plugins_at(plugins, 0)->started);
    ck_assert_str_eq(mortise_plugins_at(plugins, 0)->name, "ok_inline");
    ck_assert_str_eq(mortise_plugins_at(plugins, 0)->version, "1.0.0");
}
END_TEST

/* Closed and opened again, the module that is in the process serves again. */
START_TEST(a_module_is_loaded_once)
{
    start("ok_inline");
    for (int k = 0; k < 20; k++) {
        struct mortise_instance *i;

        open_shelf();
        ck_assert_int_eq(try_start("ok_inline", NULL, &i), MORTISE_OK);
        called(i, 1, "echo", "1");
    }
    ck_assert_int_le(loaded(), 1);
}
END_TEST

/* A guardrail's id is an instance of its own beside the plugin's; one that does
 * not come up takes no other down. */
START_TEST(an_id_is_an_instance)
{
    struct mortise_instance *plain = start("ok_guardrail"), *as, *again;
    json_t *config = json_pack("{s:i}", "n", 1);

    ck_assert_int_eq(
        mortise_plugins_start(plugins, "ok_guardrail", "pii", NULL, &as, &err),
        MORTISE_OK);
    ck_assert_ptr_ne(as, plain);
    ck_assert_int_eq(mortise_plugins_start(plugins, "ok_guardrail", "pii", NULL,
                                           &again, &err),
                     MORTISE_OK);
    ck_assert_ptr_eq(as, again);
    ck_assert_int_eq(mortise_plugins_start(plugins, "ok_guardrail", "odd",
                                           config, &again, &err),
                     MORTISE_ECONFIG);
    ck_assert_ptr_null(again);
    ck_assert(checked(plain, 1, "\"bad\"")->violation);
    ck_assert(checked(as, 2, "\"bad\"")->violation);
    json_decref(config);
}
END_TEST

/* A guardrail passes, objects with a reason, and offers a replacement. */
START_TEST(a_guardrail_judges)
{
    struct mortise_instance *i = start("ok_guardrail");
    const struct witnessed *d = checked(i, 1, "\"fine\"");

    ck_assert_int_eq(d->status, 0);
    ck_assert(!d->violation && !d->has_output);
    d = checked(i, 2, "\"so bad\"");
    ck_assert(d->violation && d->has_output);
    ck_assert_str_eq(d->message, "it is bad");
    ck_assert_str_eq(d->output, "\"harmless\"");
    d = checked(i, 3, "\"spam\"");
    ck_assert(d->violation && !d->has_output);
    ck_assert_int_eq(call_as(i, 4, "run", "{}", &mortise_call_execute),
                     MORTISE_EINVAL);
}
END_TEST

/* Reconciling tells what happened, by the key. */
START_TEST(reconcile_tells_what_happened)
{
    struct mortise_instance *i;
    char config[PATH_MAX];

    put_and_open("counts_reconcile");
    snprintf(config, sizeof config, "{\"file\":\"%s/count\"}", shelf.root);
    ck_assert_msg(try_start("counts_reconcile", config, &i) == 0, "%s",
                  err.msg);
    ck_assert_int_eq(call_as(i, 1, "count", "{}", &mortise_call_reconcile), 0);
    ck_assert_str_eq(witness_of(seen, 1)->output, "{\"happened\": false}");
    called(i, 2, "count", "{}");
    ck_assert_int_eq(call_as(i, 3, "count", "{}", &mortise_call_reconcile), 0);
    ck_assert_ptr_nonnull(
        strstr(witness_of(seen, 3)->output, "\"happened\": true"));
}
END_TEST

/* A larger struct of a later minor version is fine. */
START_TEST(a_newer_minor_loads)
{
    struct mortise_instance *i = start("newer_abi");

    ck_assert_str_eq(called(i, 1, "run", "7")->output, "7");
}
END_TEST

/* ---- configs
 * ------------------------------------------------------------------ */

/* A config that breaks the schema, or one for a plugin that has none, is
 * refused before anything is loaded. */
START_TEST(a_wrong_config_loads_nothing)
{
    struct mortise_instance *i;

    shelf_put(&shelf, "ok_inline");
    put_and_open("counts");
    ck_assert_int_eq(try_start("counts", "{}", &i), MORTISE_ECONFIG);
    ck_assert_ptr_nonnull(strstr(err.msg, "file"));
    ck_assert_int_eq(try_start("counts", "{\"file\":1}", &i), MORTISE_ECONFIG);
    ck_assert_int_eq(try_start("ok_inline", "{\"a\":1}", &i), MORTISE_ECONFIG);
    ck_assert_ptr_nonnull(strstr(err.msg, "accepts no config"));
    ck_assert_int_eq(loaded(), 0);
}
END_TEST

/* ---- refused before the dlopen
 * -------------------------------------------------- */

static const struct {
    const char *plugin, *words;
} unloadable[] = {
    {"no_entry", "does not export mortise_module_v1"},
    {"extra_symbol", "exports acme_helper"},
    {"imports_host", "imports mortise_plugins_close"},
    {"rpath", "RPATH"},
    {"exec_stack", "executable stack"},
    {"needs_library", "needs libuv.so.1"},
};

/* What an ELF file must not have is refused without loading it. */
START_TEST(bad_objects_are_not_loaded)
{
    put_and_open(unloadable[_i].plugin);
    refused(unloadable[_i].plugin, unloadable[_i].words);
    ck_assert_int_eq(loaded(), 0);
    ck_assert_int_eq(
        mortise_plugins_verify(plugins, unloadable[_i].plugin, &err),
        MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, unloadable[_i].words));
}
END_TEST

static const struct {
    const char *plugin, *words;
} broken[] = {
    {"wrong_major", "abi 2.0"},
    {"id_mismatch", "somebody_else"},
    {"small_module", "8 bytes"},
    {"no_interface", "mortise.executor/1"},
    {"no_reconcile", "reconcile"},
    {"guardrail_former", "mortise.guardrail/1, which this mortise no longer"},
    {"create_fails", "the moon is not full"},
    {"create_nothing", "set no instance"},
    {"init_fails", "init() failed with status -7 (MORTISE_S_IO)"},
};

/* A module that contradicts its manifest, or cannot be created, says why, the
 * second time too, and is not taken for one that crashed. */
START_TEST(bad_modules_are_refused)
{
    put_and_open(broken[_i].plugin);
    refused(broken[_i].plugin, broken[_i].words);
    refused(broken[_i].plugin, broken[_i].words);
    open_shelf();
    ck_assert_ptr_null(mortise_plugins_at(plugins, 0)->problem);
}
END_TEST

/* One that says that another try may help says so to who asks for it, with its
 * word, until it comes up; any other is for good. */
START_TEST(create_may_be_tried_again)
{
    const struct mortise_create_failure *f;
    struct mortise_instance *i;

    put_and_open("create_waits");
    ck_assert_ptr_null(
        mortise_plugins_create_failure(plugins, "create_waits", ""));
    for (int k = 2; k >= 0; k--) {
        ck_assert_int_eq(
            try_start("create_waits", k > 0 ? "{\"fails\": true}" : "{}", &i),
            k > 0 ? MORTISE_ECONFIG : MORTISE_OK);
        f = mortise_plugins_create_failure(plugins, "create_waits", "");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(f->transient, k > 0);
        ck_assert_str_eq(f->code, k > 0 ? "moon.new" : "");
        ck_assert_uint_eq(f->retry_after_ms, k > 0 ? 20 : 0);
    }
    put_and_open("create_fails");
    refused("create_fails", "the moon is not full");
    f = mortise_plugins_create_failure(plugins, "create_fails", "");
    ck_assert(f != NULL && !f->transient);
}
END_TEST

/* ---- trust
 * ------------------------------------------------------------------------ */

static char *path_of(const char *name, const char *suffix)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s%s", shelf.plugins, name, suffix);
    return path;
}

/* Change one byte of a file. */
static void flip(const char *path, size_t at)
{
    size_t n;
    char *p = test_read(path, &n);

    ck_assert_uint_lt(at, n);
    p[at] = (char)(p[at] ^ 1);
    test_write(path, p, n);
    free(p);
}

static void replace_in(const char *path, const char *what, const char *with)
{
    size_t n;
    char *p = test_read(path, &n), *at = strstr(p, what);

    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(what), strlen(with));
    memcpy(at, with, strlen(with));
    test_write(path, p, n);
    free(p);
}

/* A manifest that was changed behind its signature is not even parsed. */
START_TEST(a_tampered_manifest_is_refused)
{
    shelf_put(&shelf, "ok_inline");
    replace_in(path_of("ok_inline", ".plugin.yaml"), "1.0.0", "1.0.1");
    open_shelf();
    refused("ok_inline", "was changed after it was signed");
    ck_assert_ptr_null(mortise_plugins_at(plugins, 0)->manifest);
    ck_assert_str_eq(mortise_plugins_at(plugins, 0)->version, "");
}
END_TEST

/* Any changed byte of the object is noticed before it is loaded. */
START_TEST(a_tampered_object_is_refused)
{
    put_and_open("ok_inline");
    flip(path_of("ok_inline", ".so"), 5000);
    refused("ok_inline", "differs from the signed object");
    ck_assert_int_eq(loaded(), 0);
    ck_assert_int_eq(truncate(path_of("ok_inline", ".so"), 100), 0);
    refused("ok_inline", "differs from the signed object");
    ck_assert_int_eq(unlink(path_of("ok_inline", ".so")), 0);
    refused("ok_inline", "ok_inline.so");
}
END_TEST

/* Without a signature nothing loads. */
START_TEST(unsigned_is_refused)
{
    shelf_put(&shelf, "ok_inline");
    ck_assert_int_eq(unlink(path_of("ok_inline", ".plugin.yaml.minisig")), 0);
    open_shelf();
    refused("ok_inline", "is not signed");
}
END_TEST

/* A signature of a key that nobody listed counts for nothing. */
START_TEST(a_strangers_key_is_refused)
{
    ck_assert_int_eq(mortise_seckey_new(&shelf.key, NULL), MORTISE_OK);
    put_and_open("ok_inline");
    refused("ok_inline", "is in no trust file");
}
END_TEST

/* Nor does the right signature of another plugin. */
START_TEST(a_signature_of_another_is_refused)
{
    size_t n;
    char *sig;

    shelf_put(&shelf, "ok_async");
    shelf_put(&shelf, "ok_inline");
    sig = test_read(path_of("ok_async", ".plugin.yaml.minisig"), &n);
    test_write(path_of("ok_inline", ".plugin.yaml.minisig"), sig, n);
    free(sig);
    open_shelf();
    refused("ok_inline", "was changed after it was signed");
}
END_TEST

/* Replace the shelf's trust by one entry with these lines behind its key. */
static void trust_with(const char *lines)
{
    char path[PATH_MAX], text[2048], key[MORTISE_PUBKEY_TEXT];
    struct mortise_pubkey pk;
    int n;

    mortise_seckey_public(&shelf.key, &pk);
    mortise_pubkey_format(key, &pk);
    n = snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Trust\nseq: 1\nkeys:\n"
                 "  - key: \"%s\"\n%s",
                 key, lines);
    snprintf(path, sizeof path, "%s/test.yaml", shelf.trust);
    test_write(path, text, (size_t)n);
}

static const struct {
    const char *lines, *words;
} limits[] = {
    {"    plugins: [acme.*]\n    in_process: true\n", "only for other plugins"},
    {"    plugins: ['*']\n    in_process: true\n    kinds: [guardrail]\n",
     "only for other kinds"},
    {"    plugins: ['*']\n", "cannot run in this process"},
    {"    plugins: ['*']\n    in_process: true\n"
     "    not_before: '2100-01-01T00:00:00Z'\n",
     "before 2100"},
    {"    plugins: ['*']\n    in_process: true\n"
     "    not_after: '2020-01-01T00:00:00Z'\n",
     "after 2020"},
    {"    plugins: ['*']\n    in_process: true\n"
     "revoked:\n  versions: [{plugin: ok_inline, range: '<1.0.1'}]\n",
     "revokes <1.0.1"},
};

/* Name, kind, process, time and version are the deployment's to limit. */
START_TEST(trust_has_limits)
{
    trust_with(limits[_i].lines);
    put_and_open("ok_inline");
    refused("ok_inline", limits[_i].words);
}
END_TEST

/* Revoking a key ends what it signed, whatever else is said of it. */
START_TEST(a_revoked_key_is_refused)
{
    struct mortise_pubkey pk;
    char id[MORTISE_KEYID_TEXT];
    struct mortise_revocation what = {.key = id};

    put_and_open("ok_inline");
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    mortise_seckey_public(&shelf.key, &pk);
    mortise_keyid_format(id, pk.id);
    ck_assert_int_eq(
        mortise_trust_revoke(shelf.trust, &what, NULL, &test_mem, &err),
        MORTISE_OK);
    open_shelf();
    refused("ok_inline", "revokes");
}
END_TEST

/* A trust directory from before a revocation is noticed. */
START_TEST(trust_never_goes_back)
{
    struct mortise_revocation what = {.plugin = "x", .range = "<1"};
    char path[PATH_MAX];

    put_and_open("ok_inline");
    ck_assert_int_eq(
        mortise_trust_revoke(shelf.trust, &what, path, &test_mem, &err),
        MORTISE_OK);
    open_shelf();
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(try_open(), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "a revocation may be missing"));
}
END_TEST

/* A trust file with an error means that nothing is trusted. */
START_TEST(a_broken_trust_file_closes_everything)
{
    trust_with("    plugins: ['*']\n    in_proces: true\n");
    shelf_put(&shelf, "ok_inline");
    ck_assert_int_eq(try_open(), MORTISE_ECHECK);
    ck_assert_ptr_nonnull(strstr(err.msg, "in_process"));
    ck_assert_ptr_nonnull(strstr(err.msg, "test.yaml:7"));
}
END_TEST

enum { ENOUGH = 3 }; /* descriptors at once, for what follows */

/* Each of the next so many opens succeeds, and then none does: EMFILE. */
static struct rlimit leave_descriptors(unsigned n)
{
    int fds[64], next;
    struct rlimit was, now;
    unsigned i = 0;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    for (; i < n; i++)
        ck_assert_int_ge(fds[i] = dup(STDIN_FILENO), 0);
    next = dup(STDIN_FILENO); /* the lowest that is free behind them */
    close(next);
    while (i > 0)
        close(fds[--i]);
    now = (struct rlimit){(rlim_t)next, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
    return was;
}

/* With none, one, two, ... descriptors left a plugin is found and started, or the
 * answer is that there are too few: never that somebody refuses it, or that
 * something is not there.  Nothing of that answer stays. */
START_TEST(no_descriptor_refuses_nothing)
{
    struct mortise_instance *i;
    struct rlimit was;
    int rv;

    shelf_put(&shelf, "ok_inline");
    opens_later = _i % 2 != 0;
    was = leave_descriptors((unsigned)_i / 2);
    rv = try_open();
    if (rv == MORTISE_OK)
        rv = try_start("ok_inline", NULL, &i);
    setrlimit(RLIMIT_NOFILE, &was);
    ck_assert_int_eq(rv, _i / 2 < ENOUGH ? MORTISE_ELIMIT : MORTISE_OK);
    ck_assert(rv == MORTISE_OK || strstr(err.msg, "ulimit -n") != NULL);
    if (plugins == NULL)
        open_shelf();
    ck_assert_msg(try_start("ok_inline", NULL, &i) == MORTISE_OK, "%s",
                  err.msg);
}
END_TEST

/* Write a source manifest that differs from the tree's in one line, sign it. */
static int sign_changed(const char *name, const char *what, const char *with,
                        bool unchecked, struct mortise_diags *diags)
{
    char path[PATH_MAX], *text = test_read(shelf_source(name), NULL);
    char *at = strstr(text, what), changed[8192];
    const char *object = shelf_object(name);
    struct mortise_sign_request signing = {.manifest = path,
                                           .objects = &object,
                                           .n_objects = 1,
                                           .out = shelf.plugins,
                                           .key = &shelf.key,
                                           .unchecked = unchecked};

    ck_assert_ptr_nonnull(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, with,
             at + strlen(what));
    snprintf(path, sizeof path, "%s/changed.yaml", shelf.root);
    test_write(path, changed, strlen(changed));
    free(text);
    return mortise_plugin_sign(&signing, NULL, &test_mem, diags, &err);
}

/* Whatever loading will say. */
static void put_changed(const char *name, const char *what, const char *with)
{
    struct mortise_diags diags;

    mortise_diags_init(&diags, &test_mem);
    ck_assert_msg(sign_changed(name, what, with, true, &diags) == MORTISE_OK,
                  "%s: %s", err.msg, diags.n ? diags.list[0].message : "");
    mortise_diags_finish(&diags);
}

/* An older release than one that ran here is refused; a later one is not. */
START_TEST(seq_never_goes_back)
{
    struct mortise_instance *i;

    put_changed("ok_inline", "seq: 1", "seq: 7");
    open_shelf();
    ck_assert_int_eq(try_start("ok_inline", NULL, &i), MORTISE_OK);
    put_changed("ok_inline", "seq: 1", "seq: 6");
    open_shelf();
    refused("ok_inline", "is seq 6, but seq 7 ran here before");
    put_changed("ok_inline", "seq: 1", "seq: 8");
    open_shelf();
    ck_assert_int_eq(try_start("ok_inline", NULL, &i), MORTISE_OK);
}
END_TEST

/* The manifest's abi, its host range and its isolation are looked at before
 * anything is loaded. */
START_TEST(manifests_are_held_against_the_host)
{
    put_changed("ok_inline", "major: 1", "major: 2");
    open_shelf();
    refused("ok_inline", "abi 2.0");
    put_changed("ok_inline", "seq: 1", "seq: 1\nrequires: {host: \">=2\"}");
    open_shelf();
    refused("ok_inline", "requires host >=2");
    put_changed("ok_inline", "seq: 1", "seq: 1\nisolation: [process]");
    open_shelf();
    refused("ok_inline", "which this build does not support");
    ck_assert_int_eq(loaded(), 0);
}
END_TEST

/* What loading would refuse is not signed, and what is signed all the same is
 * not verified: a manifest for another host, or of another plugin or version
 * than its object. */
START_TEST(what_loading_refuses_is_not_signed)
{
    static const struct {
        const char *what, *with, *finding, *words;
    } bad[] = {
        {"major: 1", "major: 2", "E0707", "abi 2.0"},
        {"seq: 1", "seq: 1\nrequires: {host: \">=9\"}", "E0707",
         "requires host >=9"},
        {"seq: 1", "seq: 1\nisolation: [process]", "E0707",
         "which this build does not support"},
        {"version: 1.0.0", "version: 1.0.1", NULL,
         "its manifest has the plugin ok_inline 1.0.1, but its module has "
         "ok_inline 1.0.0"},
        {"name: ok_inline", "name: acme.other", NULL,
         "its manifest has the plugin acme.other 1.0.0, but its module has "
         "ok_inline 1.0.0"},
    };
    const char *name = _i == 4 ? "acme.other" : "ok_inline";
    struct mortise_diags diags;

    mortise_diags_init(&diags, &test_mem);
    ck_assert_int_ne(
        sign_changed("ok_inline", bad[_i].what, bad[_i].with, false, &diags),
        MORTISE_OK);
    if (bad[_i].finding != NULL) {
        ck_assert_uint_eq(diags.n, 1);
        ck_assert_str_eq(diags.list[0].code, bad[_i].finding);
        ck_assert_ptr_nonnull(strstr(diags.list[0].message, bad[_i].words));
    } else {
        ck_assert_msg(strstr(err.msg, bad[_i].words) != NULL, "%s", err.msg);
    }
    mortise_diags_finish(&diags);
    put_changed("ok_inline", bad[_i].what, bad[_i].with);
    open_shelf();
    ck_assert_int_ne(mortise_plugins_verify(plugins, name, &err), MORTISE_OK);
    ck_assert_msg(strstr(err.msg, bad[_i].words) != NULL, "%s", err.msg);
    ck_assert_int_eq(loaded(), 0);
}
END_TEST

/* A comment that was signed, but for another version than the manifest says. */
START_TEST(the_comment_must_match_the_manifest)
{
    char *manifest;
    size_t n;
    struct mortise_buf sig;

    shelf_put(&shelf, "ok_inline");
    manifest = test_read(path_of("ok_inline", ".plugin.yaml"), &n);
    mortise_buf_init(&sig, &test_mem);
    ck_assert_int_eq(
        mortise_minisign_sign(&sig, &shelf.key, manifest, n,
                              "name:ok_inline version:1.0.1 seq:1 timestamp:5",
                              &err),
        MORTISE_OK);
    test_write(path_of("ok_inline", ".plugin.yaml.minisig"), sig.p, sig.n);
    open_shelf();
    refused("ok_inline", "its signature is for ok_inline 1.0.1");
    mortise_buf_clear(&sig);
    ck_assert_int_eq(mortise_minisign_sign(&sig, &shelf.key, manifest, n,
                                           "timestamp:5\tfile:x", &err),
                     MORTISE_EINVAL);
    mortise_buf_clear(&sig);
    ck_assert_int_eq(mortise_minisign_sign(&sig, &shelf.key, manifest, n,
                                           "timestamp:5 file:x", &err),
                     MORTISE_OK);
    test_write(path_of("ok_inline", ".plugin.yaml.minisig"), sig.p, sig.n);
    open_shelf();
    refused("ok_inline", "trusted comment is not");
    mortise_buf_finish(&sig);
    free(manifest);
}
END_TEST

/* ---- finding
 * -------------------------------------------------------------------- */

/* A name that is almost one is asked about; the directories are named. */
START_TEST(did_you_mean)
{
    put_and_open("ok_inline");
    ck_assert_ptr_null(mortise_plugins_find(plugins, "ok_inlin", &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "did you mean 'ok_inline'?"));
    ck_assert_ptr_nonnull(strstr(err.msg, shelf.plugins));
    ck_assert_int_eq(err.code, MORTISE_ENOTFOUND);
}
END_TEST

/* The first directory decides; one version of two contents is nobody's choice.
 */
START_TEST(path_order_and_twins)
{
    char other[PATH_MAX];
    const char *dirs[2] = {shelf.plugins, other};
    struct shelf second = shelf;

    snprintf(other, sizeof other, "%s/other", shelf.root);
    snprintf(second.plugins, sizeof second.plugins, "%.*s",
             (int)sizeof second.plugins - 1, other);
    put_changed("ok_inline", "version: 1.0.0", "version: 1.9.0");
    shelf_put(&second, "ok_inline");
    ck_assert_int_eq(try_open_with(&test_mem, dirs, 2), MORTISE_OK);
    ck_assert_str_eq(mortise_plugins_find(plugins, "ok_inline", &err)->version,
                     "1.9.0");
    /* The same twice is no question. */
    shelf_put(&shelf, "ok_inline");
    ck_assert_int_eq(try_open_with(&test_mem, dirs, 2), MORTISE_OK);
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    put_changed("ok_inline", "seq: 1", "seq: 2");
    ck_assert_int_eq(try_open_with(&test_mem, dirs, 2), MORTISE_OK);
    refused("ok_inline", "but differ; remove one");
}
END_TEST

/* Move a signed manifest out of the way of the next one. */
static void rename_manifest(const char *name, const char *to)
{
    char from[PATH_MAX];

    snprintf(from, sizeof from, "%s", path_of(name, ".plugin.yaml"));
    ck_assert_int_eq(rename(from, path_of(to, ".plugin.yaml")), 0);
    snprintf(from, sizeof from, "%s", path_of(name, ".plugin.yaml.minisig"));
    ck_assert_int_eq(rename(from, path_of(to, ".plugin.yaml.minisig")), 0);
}

/* A manifest is read when a plugin of its name is asked for, and once; that of
 * another name is not. */
START_TEST(a_manifest_is_read_when_it_is_asked_for)
{
    shelf_put(&shelf, "ok_async");
    put_and_open("ok_inline");
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    replace_in(path_of("ok_inline", ".plugin.yaml"), "1.0.0", "1.0.1");
    replace_in(path_of("ok_async", ".plugin.yaml"), "1.0.0", "1.0.1");
    ck_assert_str_eq(mortise_plugins_find(plugins, "ok_inline", &err)->version,
                     "1.0.0");
    refused("ok_async", "was changed after it was signed");
}
END_TEST

/* Read at once, all are what they were then. */
START_TEST(manifests_are_read_at_once)
{
    shelf_put(&shelf, "ok_async");
    put_and_open("ok_inline");
    ck_assert_int_eq(mortise_plugins_load_all(plugins, &err), MORTISE_OK);
    ck_assert_int_eq(unlink(path_of("ok_async", ".plugin.yaml")), 0);
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_async", &err));
}
END_TEST

/* Trust that is lost before a manifest is read counts for it as for the others. */
START_TEST(trust_that_breaks_before_a_manifest_is_read)
{
    shelf_put(&shelf, "ok_async");
    put_and_open("ok_inline");
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    trust_with("    plugins: ['*']\n    in_proces: true\n");
    usleep((MORTISE_TRUST_CHECK_MS + 1) * 1000);
    refused("ok_inline", "in_proces");
    refused("ok_async", "in_proces");
}
END_TEST

/* Opened with `later`, it reads nothing; then each question has the answer that
 * opening would have had. */
START_TEST(a_look_can_be_later)
{
    struct mortise_deaths deaths;
    const char *name;

    shelf_put(&shelf, "ok_inline");
    trust_with("    plugins: ['*']\n    in_proces: true\n");
    opens_later = true;
    open_shelf();
    ck_assert(
        !mortise_plugins_find_deaths(plugins, "t", "run", &name, &deaths));
    ck_assert_ptr_null(mortise_plugins_find(plugins, "ok_inline", &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "in_proces"));
    ck_assert_int_eq(mortise_plugins_load(plugins, &err), MORTISE_ECHECK);
    ck_assert_uint_eq(mortise_plugins_count(plugins), 0);
    trust_with("    plugins: ['*']\n    in_process: true\n");
    open_shelf();
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
    ck_assert_int_eq(mortise_plugins_load(plugins, &err), MORTISE_OK);
}
END_TEST

/* A later version whose signature is broken is the answer, and not the one
 * before it. */
START_TEST(no_older_version_for_a_broken_signature)
{
    put_changed("ok_inline", "version: 1.0.0", "version: 1.10.0");
    rename_manifest("ok_inline", "ok_inline-1.10.0");
    shelf_put(&shelf, "ok_inline");
    replace_in(path_of("ok_inline-1.10.0", ".plugin.yaml"), "1.10.0", "1.10.1");
    open_shelf();
    refused("ok_inline", "was changed after it was signed");
    ck_assert_ptr_nonnull(strstr(err.msg, "ok_inline-1.10.0.plugin.yaml"));
}
END_TEST

/* A file that is not called as its manifest wants: which plugin it is would be
 * known only after all files were read. */
static const struct {
    const char *file;
    bool is_fine;
} file_names[] = {{"ok_inline", true},        {"ok_inline-1.0.0", true},
                  {"ok_inline-1.0", true}, /* the same version */
                  {"ok_inline-1.0.1", false}, {"ok_inline-old", false},
                  {"ok_inlin", false},        {"other", false}};

START_TEST(a_file_is_called_as_its_plugin)
{
    const char *file = file_names[_i].file;

    shelf_put(&shelf, "ok_inline");
    if (strcmp(file, "ok_inline") != 0)
        rename_manifest("ok_inline", file);
    open_shelf();
    if (file_names[_i].is_fine) {
        ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
        return;
    }
    ck_assert_ptr_null(mortise_plugins_find(plugins, "ok_inline", &err));
    ck_assert_uint_eq(mortise_plugins_count(plugins), 1);
    ck_assert_ptr_nonnull(
        strstr(mortise_plugins_at(plugins, 0)->problem,
               "is the manifest of ok_inline 1.0.0, so its file name must be "
               "ok_inline.plugin.yaml or ok_inline-1.0.0.plugin.yaml; rename "
               "it and its .minisig"));
}
END_TEST

/* In one directory the highest version counts, by numbers; and if that one has
 * a problem, no older one takes its place. */
START_TEST(the_highest_version_counts)
{
    put_changed("ok_inline", "version: 1.0.0", "version: 1.10.0");
    rename_manifest("ok_inline", "ok_inline-1.10.0");
    put_changed("ok_inline", "version: 1.0.0", "version: 1.9.0");
    open_shelf();
    ck_assert_str_eq(mortise_plugins_find(plugins, "ok_inline", &err)->version,
                     "1.10.0");
    put_changed("ok_inline", "version: 1.0.0}",
                "version: 1.11.0}\nrequires: {host: \">=9\"}");
    rename_manifest("ok_inline", "ok_inline-1.11.0");
    put_changed("ok_inline", "version: 1.0.0", "version: 1.9.0");
    open_shelf();
    ck_assert_ptr_null(mortise_plugins_find(plugins, "ok_inline", &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "requires host >=9"));
}
END_TEST

/* ---- quarantine
 * ------------------------------------------------------------------- */

/* Run in a child; its wait status. */
static int in_child(void (*fn)(void))
{
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void on_abort(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    mortise_death_record_signal("SIGABRT", context);
}

/* In a process that says what became of it, as the command line does. */
static void start_crasher(void)
{
    struct sigaction a = {.sa_sigaction = on_abort, .sa_flags = SA_SIGINFO};
    struct mortise_instance *i;

    mortise_death_start_recording();
    sigaction(SIGABRT, &a, NULL);
    if (try_open() == MORTISE_OK)
        try_start("create_crashes", NULL, &i);
}

/* The same where nobody looks what becomes of the process. */
static void start_unowned(void)
{
    struct mortise_instance *i;

    if (try_open() == MORTISE_OK)
        try_start("create_crashes", NULL, &i);
}

/* `n` processes that each try to start it, and die of it. */
static void crash(int n)
{
    for (; n > 0; n--) {
        int status = in_child(start_crasher);

        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    open_shelf();
}

static const char *mark_of(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", shelf.quarantine, name);
    return path;
}

/* Neither here nor in the eyes of a new process. */
static void is_not_quarantined(const char *name)
{
    open_shelf();
    ck_assert_msg(mortise_plugins_find(plugins, name, &err) != NULL, "%s",
                  err.msg);
}

/* What takes three processes in a row down in create() is not started again,
 * until it changes or somebody says so. */
START_TEST(crashes_in_create_are_remembered)
{
    struct mortise_instance *i;

    shelf_put(&shelf, "create_crashes");
    crash(3);
    refused("create_crashes",
            "it crashed the process 3 times (the last time it was killed by "
            "SIGABRT) and is not started until 2");
    ck_assert_int_eq(try_start("create_crashes", NULL, &i), MORTISE_EBLOCKED);

    ck_assert_int_eq(
        mortise_plugins_unquarantine(plugins, "create_crashes", &err),
        MORTISE_OK);
    ck_assert_ptr_null(mortise_plugins_at(plugins, 0)->problem);
    ck_assert_int_eq(
        mortise_plugins_unquarantine(plugins, "create_crashes", &err),
        MORTISE_ENOTFOUND);

    crash(3);
    put_changed("create_crashes", "seq: 1", "seq: 2");
    is_not_quarantined("create_crashes");
    crash(2); /* those of the other bytes are not of this row */
    is_not_quarantined("create_crashes");
}
END_TEST

/* Deaths that nobody noted as the plugin's are none of its: in a process of
 * somebody else's, and a digest alone. */
START_TEST(a_death_that_nobody_noted_is_none)
{
    char line[3 * MORTISE_DIGEST_HEX + 1], hex[MORTISE_DIGEST_HEX];
    const struct mortise_manifest *m;

    shelf_put(&shelf, "create_crashes");
    for (int i = 0; i < 4; i++)
        ck_assert(WIFSIGNALED(in_child(start_unowned)));
    is_not_quarantined("create_crashes");
    m = mortise_plugins_find(plugins, "create_crashes", &err);
    mortise_hex_encode(hex, m->digest, sizeof m->digest);
    snprintf(line, sizeof line, "%s\n%s\n%s\n", hex, hex, hex);
    test_write(mark_of("create_crashes"), line, strlen(line));
    is_not_quarantined("create_crashes");
}
END_TEST

/* Another version beside it, that nobody starts, lifts nothing. */
START_TEST(a_version_beside_it_changes_nothing)
{
    put_changed("create_crashes", "version: 1.0.0", "version: 0.9.0");
    rename_manifest("create_crashes", "create_crashes-0.9.0");
    shelf_put(&shelf, "create_crashes");
    crash(3);
    for (int i = 0; i < 2; i++) {
        open_shelf();
        refused("create_crashes", "it crashed the process 3 times");
    }
}
END_TEST

/* Whatever a power cut makes of a mark, it quarantines nobody; and what can be
 * read of it still counts. */
START_TEST(torn_marks_are_harmless)
{
    char *mark;
    size_t n;

    shelf_put(&shelf, "create_crashes");
    crash(3);
    mark = test_read(mark_of("create_crashes"), &n);
    for (size_t left = 0; left < n; left++) {
        test_write(mark_of("create_crashes"), mark, left);
        is_not_quarantined("create_crashes");
    }
    memset(mark + n / 3, '\0', n - n / 3);
    test_write(mark_of("create_crashes"), mark, n);
    is_not_quarantined("create_crashes");
    free(mark);
    crash(2); /* the first line is whole */
    refused("create_crashes", "it crashed the process 3 times");
}
END_TEST

/* One that the engine gave up stays out, here and in the next process. */
START_TEST(quarantine_lasts)
{
    start("ok_inline");
    mortise_plugins_quarantine(
        plugins, "ok_inline", "the plugin did not return after a cancellation");
    refused("ok_inline", "the plugin did not return after a cancellation");
    open_shelf();
    refused("ok_inline", "the plugin did not return after a cancellation");
    ck_assert_int_eq(mortise_plugins_unquarantine(plugins, "ok_inline", &err),
                     MORTISE_OK);
    open_shelf();
    ck_assert_ptr_nonnull(mortise_plugins_find(plugins, "ok_inline", &err));
}
END_TEST

/* ---- the bytes that run are the bytes that were verified
 * ---------------------------- */

/* Everything that was loaded is sealed: nobody changes it afterwards. */
START_TEST(what_is_loaded_is_sealed)
{
    int found = 0;

    start("ok_inline");
    for (int fd = 0; fd < 1024; fd++) {
        if (!shelf_is_module(fd))
            continue;
        found++;
        ck_assert_int_eq(
            fcntl(fd, F_GET_SEALS) &
                (F_SEAL_WRITE | F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK),
            F_SEAL_WRITE | F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK);
        ck_assert_int_eq((int)write(fd, "x", 1), -1);
        ck_assert_ptr_eq(
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
            MAP_FAILED);
    }
    ck_assert_int_ge(found, 1);
}
END_TEST

static atomic_bool swapping;
static char swapped[2][PATH_MAX]; /* the object that was signed, another one */

/* Replace the object, over and over, by another and back.  Nothing of Check's in
 * here: a child that is forked meanwhile would inherit its lock, taken. */
static void *swap(void *ud)
{
    char next[PATH_MAX], to[PATH_MAX];

    (void)ud;
    snprintf(to, sizeof to, "%s/ok_inline.so", shelf.plugins);
    snprintf(next, sizeof next, "%s/next", shelf.root);
    for (int i = 1; atomic_load(&swapping); i = !i) {
        unlink(next);
        if (link(swapped[i], next) == 0)
            rename(next, to);
    }
    return NULL;
}

static void start_the_swapped(void)
{
    struct mortise_instance *i;
    int rv = try_open();

    if (rv == MORTISE_OK)
        rv = try_start("ok_inline", NULL, &i);
    if (rv == MORTISE_OK) {
        call_as(i, 1, "echo", "42", &mortise_call_execute);
        _exit(strcmp(witness_of(seen, 1)->output, "42") == 0 ? 10 : 20);
    }
    _exit(strstr(err.msg, "differs from the signed object") != NULL ? 11 : 21);
}

/* A copy that links can be made of, wherever the build is. */
static void copy_beside(const char *object, char path[PATH_MAX])
{
    size_t n;
    char *p = test_read(shelf_object(object), &n);

    snprintf(path, PATH_MAX, "%s/%s.copy", shelf.root, object);
    test_write(path, p, n);
    free(p);
}

/* While somebody swaps the file between two objects, what starts is always the
 * signed one, or it is refused; the other, which would abort, never runs. */
START_TEST(a_swapped_object_never_runs)
{
    int ran = 0, refusals = 0;
    pthread_t thread;

    shelf_put(&shelf, "ok_inline");
    copy_beside("ok_inline", swapped[0]);
    copy_beside("create_crashes", swapped[1]);
    atomic_store(&swapping, true);
    pthread_create(&thread, NULL, swap, NULL);
    for (int k = 0; k < 100 || ((ran == 0 || refusals == 0) && k < 2000); k++) {
        int status = in_child(start_the_swapped);

        ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == 10 ||
                                            WEXITSTATUS(status) == 11),
                      "status %x", (unsigned)status);
        ran += WEXITSTATUS(status) == 10;
        refusals += WEXITSTATUS(status) == 11;
    }
    atomic_store(&swapping, false);
    pthread_join(thread, NULL);
    ck_assert_int_gt(ran, 0);
    ck_assert_int_gt(refusals, 0);
}
END_TEST

/* Verified now and replaced before it is started: refused, as what counts is
 * what is loaded. */
START_TEST(verifying_early_proves_nothing)
{
    size_t n;
    char *p;

    put_and_open("ok_inline");
    ck_assert_int_eq(mortise_plugins_verify(plugins, "ok_inline", &err),
                     MORTISE_OK);
    p = test_read(shelf_object("create_crashes"), &n);
    test_write(path_of("ok_inline", ".so"), p, n);
    free(p);
    refused("ok_inline", "differs from the signed object");
}
END_TEST

/* ---- those that misbehave while they run
 * --------------------------------------------- */

/* Finishing twice, or finishing and failing: the first word counts, `done`
 * comes once, and the log says it once. */
START_TEST(the_first_finish_counts)
{
    static const char *const names[] = {"finishes_twice", "finishes_and_fails"};
    struct mortise_instance *i = start(names[_i]);
    const struct witnessed *d = called(i, 1, "run", "{}");

    ck_assert_int_eq(d->status, 0);
    ck_assert_str_eq(d->output, "1");
    called(i, 2, "run", "{}");
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_int_eq(witness_times(seen, 1), 1);
    ck_assert_int_eq(witness_times(seen, 2), 1);
    ck_assert_int_ge(witness_count(seen->log, "ignored"), 1);
    if (_i == 0)
        ck_assert_int_eq(witness_count(seen->log, "already ended"), 1);
}
END_TEST

/* What is emitted behind the end goes nowhere. */
START_TEST(emitting_after_the_end_is_ignored)
{
    struct mortise_instance *i = start("emits_after_finish");

    ck_assert_str_eq(called(i, 1, "run", "{}")->output, "1");
    ck_assert_str_eq(called(i, 2, "run", "{}")->output, "1");
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_int_eq(witness_count(seen->log, "emitted data for a call"), 1);
}
END_TEST

/* A call that never ends is given up, and nobody hears of it again. */
START_TEST(a_call_can_be_abandoned)
{
    struct mortise_instance *i = start("never_finishes");

    ck_assert_int_eq(call_as(i, 1, "run", "{}", &mortise_call_execute), 0);
    ck_assert_uint_eq(mortise_instance_count_calls(i), 1);
    ck_assert(mortise_instance_cancel(i, 1));
    ck_assert_uint_eq(mortise_instance_count_calls(i), 1);
    ck_assert(mortise_instance_abandon(i, 1, NULL));
    ck_assert(!mortise_instance_abandon(i, 1, NULL));
    ck_assert(!mortise_instance_cancel(i, 1));
    ck_assert_uint_eq(mortise_instance_count_calls(i), 0);
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_uint_eq(seen->n_dones, 0);
}
END_TEST

/* One that finishes after it was given up is scolded, and what it was lent was
 * there until then. */
START_TEST(a_late_finish_is_ignored)
{
    struct mortise_instance *i = start("finishes_late");

    ck_assert_int_eq(
        call_as(i, 1, "run", "{\"ms\": 50}", &mortise_call_execute), 0);
    ck_assert(mortise_instance_abandon(i, 1, NULL));
    ck_assert_str_eq(called(i, 2, "run", "{\"ms\": 80}")->output, "\"late\"");
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_int_eq(witness_count(seen->log, "already ended"), 1);
}
END_TEST

/* Cancelling ends a call soon, as cancelled. */
START_TEST(cancelling_ends_a_call)
{
    struct mortise_instance *i = start("ok_async");
    const struct witnessed *d;

    ck_assert_int_eq(
        call_as(i, 1, "sleep", "{\"ms\": 60000}", &mortise_call_execute), 0);
    ck_assert(mortise_instance_cancel(i, 1));
    ck_assert(mortise_instance_cancel(i, 1));
    d = witness_of(seen, 1);
    ck_assert_int_eq(d->status, -3);
    ck_assert_str_eq(d->error_class, "cancelled");
}
END_TEST

/* Closing cancels what is open and waits for it. */
START_TEST(closing_ends_what_is_open)
{
    struct mortise_instance *i = start("ok_async");

    for (uint64_t id = 1; id <= 10; id++)
        ck_assert_int_eq(
            call_as(i, id, "sleep", "{\"ms\": 60000}", &mortise_call_execute),
            0);
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_uint_eq(seen->n_dones, 10);
    for (size_t k = 0; k < 10; k++)
        ck_assert_int_eq(seen->dones[k].status, -3);
}
END_TEST

static const struct {
    const char *plugin, *words;
    int status;
} failing[] = {
    {"returns_pending_inline", "threading: inline", -1},
    {"returns_nonsense", "unknown status", -1},
    {"huge_output", "more than 16 MiB", -1},
    {"guardrail_errors", "the rules cannot be read", -7},
    {"guardrail_pending", "threading: inline", -1},
    {"guardrail_mute", "without a verdict", -1},
};

/* What breaks its word while it runs fails its call, with the reason. */
START_TEST(broken_promises_fail_the_call)
{
    struct mortise_instance *i = start(failing[_i].plugin);
    const struct witnessed *d =
        mortise_instance_manifest(i)->provides[MORTISE_KIND_GUARDRAIL].present
            ? checked(i, 1, "{}")
            : called(i, 1, "run", "{}");

    ck_assert_int_eq(d->status, failing[_i].status);
    ck_assert_msg(strstr(d->message, failing[_i].words) != NULL, "%s",
                  d->message);
    ck_assert(!d->violation);
    ck_assert_uint_eq(mortise_instance_count_calls(i), 0);
}
END_TEST

/* Large bodies survive whole, up to the bound. */
START_TEST(large_outputs_arrive_whole)
{
    struct mortise_instance *i = start("large_output");
    const struct witnessed *d = called(i, 1, "run", "{\"bytes\": 3000000}");

    ck_assert_int_eq(d->status, 0);
    ck_assert_uint_eq(d->output_size, 3000002);
    ck_assert_uint_eq(strspn(d->output + 1, "x"), 3000000);
    d = called(i, 2, "run", "{\"bytes\": 16777214}");
    ck_assert_uint_eq(d->output_size, 16777216);
    d = called(i, 3, "run", "{\"bytes\": 16777215}");
    ck_assert_int_eq(d->status, -1);
    /* And a large request reaches the plugin. */
    i = start("ok_async");
    for (size_t n = 65530; n < 65545; n += 7) {
        char *body = malloc(n + 1);

        memset(body, '1', n);
        body[n] = '\0';
        d = called(i, n, "echo", body);
        ck_assert_str_eq(d->output, body);
        free(body);
    }
}
END_TEST

/* Output that is no JSON is the engine's to judge: it comes as it was. */
START_TEST(garbage_comes_as_it_was)
{
    struct mortise_instance *i = start("emits_garbage");
    const struct witnessed *d = called(i, 1, "run", "{}");

    ck_assert_str_eq(d->output, "{\"half\": \xff\xfe");
    i = start("emits_nothing");
    d = called(i, 2, "run", "{}");
    ck_assert_int_eq(d->status, 0);
    ck_assert(!d->has_output);
    ck_assert_str_eq(d->output, "");
}
END_TEST

/* Words are cleaned before anybody sees them, details that are wrong count as
 * none, unknown statuses as failures. */
START_TEST(gibberish_is_cleaned)
{
    struct mortise_instance *i = start("speaks_gibberish");
    const struct witnessed *d = called(i, 1, "run", "{}");

    ck_assert_int_eq(d->status, -1);
    ck_assert_str_eq(d->message, "???[31m red");
    ck_assert_str_eq(d->error_class, "permanent");
    ck_assert_str_eq(d->error_code, "");
    ck_assert_ptr_nonnull(strstr(seen->log, "4 speaks_gibberish: ? ding"));
}
END_TEST

static void *refuse(size_t n)
{
    (void)n;
    return NULL;
}

/* Details that there is no memory for are not wrong: the plugin is not blamed,
 * and the call may be tried again. */
START_TEST(details_without_memory_are_transient)
{
    struct mortise_instance *i = start("speaks_gibberish");
    const struct witnessed *d;

    json_set_alloc_funcs(refuse, free);
    d = called(i, 1, "run", "{}");
    json_set_alloc_funcs(malloc, free);
    ck_assert_str_eq(d->error_class, "transient");
    ck_assert_ptr_null(strstr(seen->log, "the detail of an error"));
    called(i, 2, "run", "{}");
    ck_assert_ptr_nonnull(strstr(seen->log, "the detail of an error"));
}
END_TEST

/* Events pass on; one that is too large does not. */
START_TEST(events_pass)
{
    struct mortise_instance *i = start("emits_events");

    called(i, 1, "run", "{}");
    ck_assert_int_eq(seen->n_events, 2);
    ck_assert_str_eq(seen->events, "{\"step\": 1}\n{\"step\": 2}\n");
}
END_TEST

/* ---- asking
 * ----------------------------------------------------------------------------
 */

struct worker {
    struct mortise_instance *i;
    const char *body;
    pthread_t thread;
};

static void *work(void *ud)
{
    struct worker *w = ud;

    called(w->i, 1, "get", w->body);
    return NULL;
}

static void answer(struct mortise_instance *i, size_t n, int status,
                   const char *text)
{
    witness_await(seen, &seen->n_asks, n);
    mortise_instance_answer(i, seen->asks[n - 1].call, seen->asks[n - 1].ask,
                            status, text, strlen(text));
}

/* A worker waits for its answer, which comes from another thread. */
START_TEST(a_worker_waits_for_its_answer)
{
    struct worker w = {start("asks_state"), "{\"path\":\"scratch.a\"}", 0};

    pthread_create(&w.thread, NULL, work, &w);
    answer(w.i, 1, 0, "{\"x\":1}");
    pthread_join(w.thread, NULL);
    ck_assert_str_eq(seen->asks[0].method, "state.get/1");
    ck_assert_str_eq(seen->asks[0].body, "{\"path\":\"scratch.a\"}");
    ck_assert_str_eq(witness_of(seen, 1)->output, "{\"x\":1}");
}
END_TEST

/* Cancelling, or giving up, wakes a worker that waits. */
START_TEST(cancelling_wakes_a_worker)
{
    struct worker w = {start("asks_state"), "{\"path\":\"scratch.a\"}", 0};

    pthread_create(&w.thread, NULL, work, &w);
    witness_await(seen, &seen->n_asks, 1);
    ck_assert(mortise_instance_cancel(w.i, 1));
    pthread_join(w.thread, NULL);
    ck_assert_int_eq(witness_of(seen, 1)->status, -3);
    answer(w.i, 1, 0, "{}"); /* too late, and harmless */
}
END_TEST

/* An async plugin is called with its answer, once, also when it was cancelled
 * or the answer comes twice. */
START_TEST(answers_come_once)
{
    struct mortise_instance *i = start("asks_async");

    ck_assert_int_eq(
        call_as(i, 1, "get", "{\"path\":\"a\"}", &mortise_call_execute), 0);
    answer(i, 1, 0, "[1]");
    ck_assert_str_eq(witness_of(seen, 1)->output, "[1]");
    answer(i, 1, 0, "[2]");

    ck_assert_int_eq(
        call_as(i, 2, "get", "{\"path\":\"a\"}", &mortise_call_execute), 0);
    ck_assert(mortise_instance_cancel(i, 2));
    ck_assert_int_eq(witness_of(seen, 2)->status, -3);
    answer(i, 2, 0, "[1]");
    ck_assert_int_eq(witness_times(seen, 2), 1);

    ck_assert_int_eq(
        call_as(i, 3, "get", "{\"path\":\"a\"}", &mortise_call_execute), 0);
    ck_assert(mortise_instance_abandon(i, 3, NULL));
    answer(i, 3, 0, "[1]");
    ck_assert_int_eq(witness_times(seen, 3), 0);
    ck_assert_int_eq(
        call_as(i, 4, "get", "{\"path\":\"a\"}", &mortise_call_execute), 0);
    /* The fourth ends by the closing of everything. */
    mortise_plugins_close(plugins);
    plugins = NULL;
    ck_assert_int_eq(witness_of(seen, 4)->status, -3);
}
END_TEST

/* What the manifest does not list is denied, and nobody else hears of it. */
START_TEST(undeclared_methods_are_denied)
{
    struct mortise_instance *i = start("asks_undeclared");

    ck_assert_int_eq(called(i, 1, "run", "{}")->status, -4);
    ck_assert_uint_eq(seen->n_asks, 0);
    ck_assert_ptr_nonnull(strstr(seen->log, "kv.get/1"));
}
END_TEST

/* ---- leaving
 * ----------------------------------------------------------------------------
 */

static const char *leaver;

/* The end of a child in which something leaked on purpose: no leak checker gets
 * to see it. */
static void leave(bool well)
{
    if (well)
        kill(getpid(), SIGKILL);
    _exit(1);
}

static void left_well(int status)
{
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "status %x", (unsigned)status);
}

static void close_leaver(void)
{
    struct mortise_instance *i;
    const char *dir = shelf.plugins;
    bool well;

    if (try_open_with(&mortise_heap, &dir, 1) != 0 ||
        try_start(leaver, NULL, &i) != 0)
        leave(false);
    mortise_plugins_close(plugins);
    plugins = NULL;
    well = strstr(seen->log, strcmp(leaver, "hangs_in_destroy") == 0
                                 ? "was not destroyed"
                                 : "did not quiesce") != NULL;
    /* Its module cannot be used again here. */
    leave(well && try_open_with(&mortise_heap, &dir, 1) == 0 &&
          try_start(leaver, NULL, &i) == MORTISE_ESTATE);
}

/* A plugin that does not let go is left as it is, and does not hold us up. */
START_TEST(the_restless_are_leaked)
{
    static const char *const names[] = {"does_not_quiesce", "hangs_in_quiesce",
                                        "hangs_in_destroy"};
    int status;

    leaver = names[_i];
    shelf_put(&shelf, leaver);
    status = in_child(close_leaver);
    left_well(status);
}
END_TEST

static void *be_inside(void *ud)
{
    call_as(ud, 1, "run", "{\"ms\": 1500}", &mortise_call_execute);
    return NULL;
}

static void close_around_a_call(void)
{
    struct mortise_instance *i = NULL;
    const char *dir = shelf.plugins;
    pthread_t thread;
    size_t n;

    if (try_open_with(&mortise_heap, &dir, 1) != 0 ||
        try_start("ignores_cancel", NULL, &i) != 0)
        leave(false);
    pthread_create(&thread, NULL, be_inside, i);
    while (mortise_instance_count_calls(i) == 0)
        sched_yield();
    mortise_plugins_close(plugins);
    plugins = NULL;
    n = seen->n_dones;
    pthread_join(thread, NULL);
    /* It came back, and found its memory, and told nobody. */
    leave(strstr(seen->log, "quiesce() during a call") != NULL && n == 0 &&
          seen->n_dones == 0);
}

/* A plugin that says it is quiet while a call is inside it is not destroyed. */
START_TEST(a_call_inside_keeps_its_memory)
{
    int status;

    shelf_put(&shelf, "ignores_cancel");
    status = in_child(close_around_a_call);
    left_well(status);
}
END_TEST

/* Every other build of a plugin is a generation that stays in the process, and
 * there is room for eight; those that are there already start as before.  (A
 * plugin that no other test loads in this process.) */
START_TEST(generations_are_bounded)
{
    struct mortise_instance *i;

    goes_back = true;
    for (unsigned k = 1; k <= 10; k++) {
        shelf_put_release(&shelf, "ignores_cancel", k <= 9 ? k : 1);
        open_shelf();
        if (k != 9)
            ck_assert_msg(try_start("ignores_cancel", NULL, &i) == 0, "%s",
                          err.msg);
        else
            refused("ignores_cancel", "8 versions");
    }
}
END_TEST

/* ---- memory
 * ------------------------------------------------------------------------------
 */

/* Opening and starting cope with their first, second, ... allocation failing,
 * till none does. */
START_TEST(open_and_start_survive_oom)
{
    const char *dir = shelf.plugins;
    bool failed;
    int n = 0;

    shelf_put(&shelf, "ok_inline");
    shelf_put(&shelf, "counts");
    do {
        struct mortise_instance *i = NULL;
        json_t *config = json_pack("{s:s}", "file", "/nowhere");
        int rv;

        test_mem_fail_at(n++);
        rv = try_open_with(&test_mem, &dir, 1);
        if (rv == MORTISE_OK)
            rv =
                mortise_plugins_start(plugins, "ok_inline", "", NULL, &i, &err);
        if (rv == MORTISE_OK)
            rv = mortise_plugins_start(plugins, "counts", "", config, &i, &err);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_msg(failed ? rv == MORTISE_ENOMEM : rv == MORTISE_OK,
                      "%d: %d %s", n - 1, rv, err.msg);
        json_decref(config);
        mortise_plugins_close(plugins);
        plugins = NULL;
    } while (failed);
    ck_assert_int_gt(n, 20);
}
END_TEST

/* So do calls: refused, or failed with the reason, and never lost. */
START_TEST(calls_survive_oom)
{
    struct mortise_instance *i = start(good[_i]);
    char *body = malloc(200001);
    uint64_t id = 0;
    bool failed;
    int n = 0;

    memset(body, '1', 200000);
    body[200000] = '\0';
    do {
        int rv;

        test_mem_fail_at(n++);
        rv = call_as(i, ++id, "echo", body, &mortise_call_execute);
        if (rv == MORTISE_OK)
            witness_of(seen, id);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        if (rv != MORTISE_OK)
            ck_assert_int_eq(rv, MORTISE_ENOMEM);
        else if (witness_of(seen, id)->status == 0)
            ck_assert_str_eq(witness_of(seen, id)->output, body);
        else
            ck_assert(failed && witness_of(seen, id)->status == -6);
    } while (failed);
    free(body);
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof *(a))

static Suite *suite(void)
{
    Suite *s = suite_create("plugins");
    TCase *tc = tcase_create("plugins");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_good_ones_work, 0, N(good));
    tcase_add_test(tc, a_plugin_starts_once);
    tcase_add_test(tc, a_module_is_loaded_once);
    tcase_add_test(tc, an_id_is_an_instance);
    tcase_add_test(tc, a_guardrail_judges);
    tcase_add_test(tc, reconcile_tells_what_happened);
    tcase_add_test(tc, a_newer_minor_loads);
    tcase_add_test(tc, a_wrong_config_loads_nothing);
    tcase_add_loop_test(tc, bad_objects_are_not_loaded, 0, N(unloadable));
    tcase_add_loop_test(tc, bad_modules_are_refused, 0, N(broken));
    tcase_add_test(tc, create_may_be_tried_again);
    tcase_add_test(tc, a_tampered_manifest_is_refused);
    tcase_add_test(tc, a_tampered_object_is_refused);
    tcase_add_test(tc, unsigned_is_refused);
    tcase_add_loop_test(tc, what_loading_refuses_is_not_signed, 0, 5);
    tcase_add_test(tc, a_strangers_key_is_refused);
    tcase_add_test(tc, a_signature_of_another_is_refused);
    tcase_add_loop_test(tc, trust_has_limits, 0, N(limits));
    tcase_add_test(tc, a_revoked_key_is_refused);
    tcase_add_test(tc, trust_never_goes_back);
    tcase_add_test(tc, a_broken_trust_file_closes_everything);
    tcase_add_loop_test(tc, no_descriptor_refuses_nothing, 0, 2 * ENOUGH + 2);
    tcase_add_test(tc, seq_never_goes_back);
    tcase_add_test(tc, manifests_are_held_against_the_host);
    tcase_add_test(tc, the_comment_must_match_the_manifest);
    tcase_add_test(tc, did_you_mean);
    tcase_add_test(tc, path_order_and_twins);
    tcase_add_test(tc, the_highest_version_counts);
    tcase_add_test(tc, a_manifest_is_read_when_it_is_asked_for);
    tcase_add_test(tc, manifests_are_read_at_once);
    tcase_add_test(tc, trust_that_breaks_before_a_manifest_is_read);
    tcase_add_test(tc, a_look_can_be_later);
    tcase_add_test(tc, no_older_version_for_a_broken_signature);
    tcase_add_loop_test(tc, a_file_is_called_as_its_plugin, 0, N(file_names));
    tcase_add_test(tc, crashes_in_create_are_remembered);
    tcase_add_test(tc, a_death_that_nobody_noted_is_none);
    tcase_add_test(tc, a_version_beside_it_changes_nothing);
    tcase_add_test(tc, torn_marks_are_harmless);
    tcase_add_test(tc, quarantine_lasts);
    tcase_add_test(tc, what_is_loaded_is_sealed);
    tcase_add_test(tc, a_swapped_object_never_runs);
    tcase_add_test(tc, verifying_early_proves_nothing);
    tcase_add_loop_test(tc, the_first_finish_counts, 0, 2);
    tcase_add_test(tc, emitting_after_the_end_is_ignored);
    tcase_add_test(tc, a_call_can_be_abandoned);
    tcase_add_test(tc, a_late_finish_is_ignored);
    tcase_add_test(tc, cancelling_ends_a_call);
    tcase_add_test(tc, closing_ends_what_is_open);
    tcase_add_loop_test(tc, broken_promises_fail_the_call, 0, N(failing));
    tcase_add_test(tc, large_outputs_arrive_whole);
    tcase_add_test(tc, garbage_comes_as_it_was);
    tcase_add_test(tc, gibberish_is_cleaned);
    tcase_add_test(tc, details_without_memory_are_transient);
    tcase_add_test(tc, events_pass);
    tcase_add_test(tc, a_worker_waits_for_its_answer);
    tcase_add_test(tc, cancelling_wakes_a_worker);
    tcase_add_test(tc, answers_come_once);
    tcase_add_test(tc, undeclared_methods_are_denied);
    tcase_add_loop_test(tc, the_restless_are_leaked, 0, 3);
    tcase_add_test(tc, a_call_inside_keeps_its_memory);
    tcase_add_test(tc, open_and_start_survive_oom);
    tcase_add_loop_test(tc, calls_survive_oom, 0, N(good));
    tcase_add_test(tc, generations_are_bounded); /* leaves no room behind */
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
