/* test_manifest.c -- manifests: what is read, and what is refused and why. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lang/manifest/manifest.h"
#include "core/plugin/version.h"

static struct mortise_diags diags;
static struct mortise_manifest *m;

static void setup(void)
{
    test_begin();
    mortise_diags_init(&diags, &test_mem);
}

static void teardown(void)
{
    mortise_manifest_free(m);
    m = NULL;
    mortise_diags_finish(&diags);
    test_nothing_left();
}

static const char whole[] =
    "apiVersion: mortise/v1\n"
    "kind: Plugin\n"
    "metadata: {name: acme.pay, version: 1.4.2, description: Refunds, "
    "license: MIT}\n"
    "seq: 12\n"
    "abi: {major: 1, minor: 3}\n"
    "runtime: rust\n"
    "provides:\n"
    "  executor:\n"
    "    threading: async\n"
    "    concurrency: 8\n"
    "    background: true\n"
    "    operations:\n"
    "      refund:\n"
    "        description: Refund one charge\n"
    "        input_schema: {type: object, required: [id]}\n"
    "        output_schema: {type: object}\n"
    "        effect: external\n"
    "        idempotent: true\n"
    "        reconcile: true\n"
    "        timeout: 30s\n"
    "        usage: {model_calls: 2, input_tokens: 0, usd: 0.25}\n"
    "      look: {effect: read, usage: {output_tokens: 7}}\n"
    "  guardrail: {threading: inline}\n"
    "requires:\n"
    "  host: '>=1.0 <2'\n"
    "  methods: [state.get/1]\n"
    "permissions:\n"
    "  net: ['api.acme.com:443', config:base]\n"
    "  fs: {read: [], write: [/tmp]}\n"
    "  exec: []\n"
    "  env: [LANG]\n"
    "  state: [artifacts.order]\n"
    "isolation: [process, in-process]\n"
    "config_schema: {type: object, properties: {base: {type: string}}}\n"
    "x-mine: whatever\n"
    "artifacts:\n"
    "  - {arch: x86_64-linux-gnu, file: pay.so, size: 41872, blake2b-256: "
    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}\n";

static int parse(const char *text, bool need_artifacts)
{
    return mortise_manifest_parse(&m, &test_mem, "a.plugin.yaml", text,
                                  strlen(text), need_artifacts, &diags);
}

/* Everything that may be said arrives where it belongs.
 * key: plugin/operation.usage, plugin/usage.model_calls
 * key: plugin/usage.input_tokens, plugin/usage.output_tokens, plugin/usage.usd
 * key: plugin/plugin manifest.metadata, plugin/metadata.name
 * key: plugin/metadata.version, plugin/metadata.description
 * key: plugin/metadata.license, plugin/plugin manifest.seq
 * key: plugin/plugin manifest.abi, plugin/abi.major, plugin/abi.minor
 * key: plugin/plugin manifest.runtime, plugin/plugin manifest.artifacts
 * key: plugin/artifact.file, plugin/artifact.size, plugin/artifact.blake2b-256
 * key: plugin/plugin manifest.provides, plugin/provides.executor
 * key: plugin/provides.executor.threading=async
 * key: plugin/provides.executor.concurrency
 * key: plugin/provides.executor.background
 * key: plugin/provides.executor.operations, plugin/operation.input_schema
 * key: plugin/operation.output_schema, plugin/operation.effect
 * key: plugin/operation.idempotent, plugin/operation.reconcile
 * key: plugin/operation.timeout, plugin/provides.guardrail
 * key: plugin/plugin manifest.requires, plugin/requires.host
 * key: plugin/requires.methods, plugin/plugin manifest.permissions
 * key: plugin/permissions.net, plugin/permissions.fs
 * key: plugin/permissions.fs.write, plugin/permissions.env
 * key: plugin/permissions.state, plugin/plugin manifest.isolation=process
 * key: plugin/plugin manifest.isolation=in-process
 * key: plugin/plugin manifest.config_schema */
START_TEST(a_whole_manifest)
{
    const struct mortise_manifest_op *op;

    ck_assert_int_eq(parse(whole, true), MORTISE_OK);
    ck_assert_str_eq(m->name, "acme.pay");
    ck_assert_str_eq(m->version, "1.4.2");
    ck_assert_str_eq(m->description, "Refunds");
    ck_assert_str_eq(m->license, "MIT");
    ck_assert_uint_eq(m->seq, 12);
    ck_assert_uint_eq(m->abi_major, 1);
    ck_assert_uint_eq(m->abi_minor, 3);
    ck_assert_str_eq(m->runtime, "rust");
    ck_assert(m->provides[MORTISE_KIND_EXECUTOR].present &&
              m->provides[MORTISE_KIND_GUARDRAIL].present);
    ck_assert_int_eq(m->provides[MORTISE_KIND_EXECUTOR].threading,
                     MORTISE_THREAD_ASYNC);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_EXECUTOR].concurrency, 8);
    ck_assert(m->provides[MORTISE_KIND_EXECUTOR].background);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_GUARDRAIL].concurrency, 1);
    ck_assert_uint_eq(m->n_ops, 2);
    op = mortise_manifest_op(m, "refund");
    ck_assert_str_eq(op->effect, "external");
    ck_assert(op->idempotent && op->reconcile);
    ck_assert_uint_eq(op->timeout_ms, 30000);
    ck_assert(op->usage.present && op->usage.said[MORTISE_USED_INPUT]);
    ck_assert(!op->usage.said[MORTISE_USED_OUTPUT]);
    ck_assert_uint_eq(op->usage.most[MORTISE_USED_CALLS], 2);
    ck_assert_uint_eq(op->usage.most[MORTISE_USED_INPUT], 0);
    ck_assert_uint_eq(op->usage.most[MORTISE_USED_USD], 250000000);
    ck_assert_ptr_nonnull(op->input);
    ck_assert_ptr_nonnull(op->output);
    op = mortise_manifest_op(m, "look");
    ck_assert(!op->idempotent && !op->reconcile && op->input == NULL);
    ck_assert_uint_eq(op->usage.most[MORTISE_USED_OUTPUT], 7);
    ck_assert(!op->usage.said[MORTISE_USED_CALLS]);
    ck_assert_str_eq(op->description, "");
    ck_assert_ptr_null(mortise_manifest_op(m, "walk"));
    ck_assert_str_eq(m->requires_host, ">=1.0 <2");
    ck_assert_uint_eq(m->n_methods, 1);
    ck_assert_uint_eq(m->net.n, 2);
    ck_assert_uint_eq(m->fs_read.n, 0);
    ck_assert_str_eq(m->fs_write.items[0], "/tmp");
    ck_assert_str_eq(m->env.items[0], "LANG");
    ck_assert_str_eq(m->state_paths[0], "artifacts.order");
    ck_assert(m->in_process && m->process);
    ck_assert_ptr_nonnull(m->config_schema);
    ck_assert_uint_eq(m->n_artifacts, 1);
    ck_assert_str_eq(m->artifacts[0].file, "pay.so");
    ck_assert_uint_eq(m->artifacts[0].size, 41872);
    ck_assert_uint_eq(m->artifacts[0].digest[1], 0x11);
}
END_TEST

/* What it leaves out arrives as well.
 * key: plugin/provides.executor.idle, plugin/operation.description
 * key: plugin/provides.executor.threading=blocking
 * key: plugin/provides.guardrail.threading=inline
 * key: plugin/provides.guardrail.concurrency, plugin/artifact.arch
 * key: plugin/provides.guardrail.idle, plugin/permissions.fs.read
 * key: plugin/provides.model.concurrency, plugin/provides.model.idle
 * key: plugin/provides.model.embed
 * key: plugin/permissions.exec, plugin/permissions.secrets
 * key: plugin/plugin manifest.isolation */
START_TEST(the_rest_of_a_manifest)
{
    static const char rest[] =
        "apiVersion: mortise/v1\n"
        "kind: Plugin\n"
        "metadata: {name: p, version: 1.0.0}\n"
        "seq: 1\n"
        "abi: {major: 1, minor: 0}\n"
        "provides:\n"
        "  executor: {threading: blocking, idle: 5s,\n"
        "             operations: {o: {effect: pure, description: Does it}}}\n"
        "  guardrail: {threading: inline, concurrency: 3, idle: 6s}\n"
        "  model: {threading: async, concurrency: 4, idle: 7s, embed: true}\n"
        "permissions: {fs: {read: [/in]}, exec: [git], secrets: [token]}\n"
        "isolation: [process]\n"
        "artifacts: [{arch: aarch64-linux-gnu, file: p.so}]\n";

    ck_assert_int_eq(parse(rest, false), MORTISE_OK);
    ck_assert_int_eq(m->provides[MORTISE_KIND_EXECUTOR].threading,
                     MORTISE_THREAD_BLOCKING);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_EXECUTOR].idle_ms, 5000);
    ck_assert_str_eq(mortise_manifest_op(m, "o")->description, "Does it");
    ck_assert_int_eq(m->provides[MORTISE_KIND_GUARDRAIL].threading,
                     MORTISE_THREAD_INLINE);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_GUARDRAIL].concurrency, 3);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_GUARDRAIL].idle_ms, 6000);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_MODEL].concurrency, 4);
    ck_assert_uint_eq(m->provides[MORTISE_KIND_MODEL].idle_ms, 7000);
    ck_assert(m->provides[MORTISE_KIND_MODEL].embeds);
    ck_assert_str_eq(m->fs_read.items[0], "/in");
    ck_assert_str_eq(m->exec.items[0], "git");
    ck_assert_str_eq(m->secrets.items[0], "token");
    ck_assert(m->process && !m->in_process);
    ck_assert_str_eq(m->artifacts[0].arch, "aarch64-linux-gnu");
}
END_TEST

/* The ways to be called that were not said above.
 * key: plugin/provides.executor.threading=inline
 * key: plugin/provides.guardrail.threading=async
 * key: plugin/provides.guardrail.threading=blocking, plugin/provides.model
 * key: plugin/provides.model.threading=inline
 * key: plugin/provides.model.threading=async
 * key: plugin/provides.model.threading=blocking */
START_TEST(other_threadings)
{
    static const struct {
        const char *executor, *guardrail, *model;
        enum mortise_threading is[3];
    } all[] = {
        {"inline",
         "async",
         "blocking",
         {MORTISE_THREAD_INLINE, MORTISE_THREAD_ASYNC,
          MORTISE_THREAD_BLOCKING}},
        {"inline",
         "blocking",
         "async",
         {MORTISE_THREAD_INLINE, MORTISE_THREAD_BLOCKING,
          MORTISE_THREAD_ASYNC}},
        {"blocking",
         "async",
         "inline",
         {MORTISE_THREAD_BLOCKING, MORTISE_THREAD_ASYNC,
          MORTISE_THREAD_INLINE}},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[512];

        snprintf(
            text, sizeof text,
            "apiVersion: mortise/v1\nkind: Plugin\n"
            "metadata: {name: p, version: 1.0.0}\n"
            "seq: 1\nabi: {major: 1, minor: 0}\n"
            "provides:\n"
            "  executor: {threading: %s, operations: {o: {effect: pure}}}\n"
            "  guardrail: {threading: %s}\n"
            "  model: {threading: %s}\n",
            all[i].executor, all[i].guardrail, all[i].model);
        mortise_manifest_free(m);
        ck_assert_int_eq(parse(text, false), MORTISE_OK);
        ck_assert_int_eq(m->provides[MORTISE_KIND_EXECUTOR].threading,
                         all[i].is[0]);
        ck_assert_int_eq(m->provides[MORTISE_KIND_GUARDRAIL].threading,
                         all[i].is[1]);
        ck_assert_int_eq(m->provides[MORTISE_KIND_MODEL].threading,
                         all[i].is[2]);
    }
}
END_TEST

/* A discovery plugin says how it is called, and nothing else.
 * key: plugin/provides.discovery, plugin/provides.discovery.concurrency
 * key: plugin/provides.discovery.idle
 * key: plugin/provides.discovery.threading=inline
 * key: plugin/provides.discovery.threading=async
 * key: plugin/provides.discovery.threading=blocking */
START_TEST(a_discovery_plugin)
{
    static const struct {
        const char *said;
        enum mortise_threading is;
    } all[] = {{"inline", MORTISE_THREAD_INLINE},
               {"async", MORTISE_THREAD_ASYNC},
               {"blocking", MORTISE_THREAD_BLOCKING}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Plugin\n"
                 "metadata: {name: p, version: 1.0.0}\n"
                 "seq: 1\nabi: {major: 1, minor: 0}\n"
                 "provides:\n"
                 "  discovery: {threading: %s, concurrency: 5, idle: 8s}\n",
                 all[i].said);
        mortise_manifest_free(m);
        ck_assert_int_eq(parse(text, false), MORTISE_OK);
        ck_assert_uint_eq(mortise_manifest_kinds(m),
                          MORTISE_KIND_BIT(MORTISE_KIND_DISCOVERY));
        ck_assert_int_eq(m->provides[MORTISE_KIND_DISCOVERY].threading,
                         all[i].is);
        ck_assert_uint_eq(m->provides[MORTISE_KIND_DISCOVERY].concurrency, 5);
        ck_assert_uint_eq(m->provides[MORTISE_KIND_DISCOVERY].idle_ms, 8000);
    }
}
END_TEST

/* A plugin that keeps traces says how it is called, and whether it reads as of a
 * number.
 * key: plugin/provides.memory, plugin/provides.memory.as_of
 * key: plugin/provides.memory.directory
 * key: plugin/provides.memory.concurrency, plugin/provides.memory.idle
 * key: plugin/provides.memory.threading=inline
 * key: plugin/provides.memory.threading=async
 * key: plugin/provides.memory.threading=blocking */
START_TEST(a_memory)
{
    static const struct {
        const char *says;
        enum mortise_threading is;
        bool as_of;
    } all[] = {
        {"inline, as_of: true", MORTISE_THREAD_INLINE, true},
        {"async, as_of: false", MORTISE_THREAD_ASYNC, false},
        {"blocking", MORTISE_THREAD_BLOCKING, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct mortise_interface *its;
        char text[512];

        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Plugin\n"
                 "metadata: {name: p, version: 1.0.0}\n"
                 "seq: 1\nabi: {major: 1, minor: 0}\n"
                 "provides: {memory: {concurrency: 5, idle: 8s, directory: at, "
                 "threading: %s}}\n"
                 "config_schema: {properties: {at: {type: string}}}\n",
                 all[i].says);
        mortise_manifest_free(m);
        ck_assert_int_eq(parse(text, false), MORTISE_OK);
        its = &m->provides[MORTISE_KIND_MEMORY];
        ck_assert(its->present);
        ck_assert_int_eq(its->threading, all[i].is);
        ck_assert_uint_eq(its->concurrency, 5);
        ck_assert_uint_eq(its->idle_ms, 8000);
        ck_assert(its->as_of == all[i].as_of);
        ck_assert_str_eq(its->directory, "at");
    }
}
END_TEST

/* With `more` names with a slash are let through, whose catalogue judged them;
 * none of them can reconcile.  Without, there are those of the manifest. */
START_TEST(more_operations)
{
    static const char *const more[] = {"", "    more: true\n"};
    static const struct {
        const char *operation;
        int execute[2], reconcile[2]; /* without `more`, and with it */
    } all[] = {
        {"a", {MORTISE_OK, MORTISE_OK}, {MORTISE_OK, MORTISE_OK}},
        {"b", {MORTISE_OK, MORTISE_OK}, {MORTISE_EINVAL, MORTISE_EINVAL}},
        {"c",
         {MORTISE_ENOTFOUND, MORTISE_ENOTFOUND},
         {MORTISE_ENOTFOUND, MORTISE_ENOTFOUND}},
        {"a/c",
         {MORTISE_ENOTFOUND, MORTISE_OK},
         {MORTISE_ENOTFOUND, MORTISE_EINVAL}},
    };

    for (int k = 0; k < 2; k++) {
        char text[1024];

        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Plugin\n"
                 "metadata: {name: p, version: 1.0.0}\n"
                 "seq: 1\nabi: {major: 1, minor: 0}\nprovides:\n"
                 "  executor:\n    threading: async\n%s    operations:\n"
                 "      a: {effect: external, reconcile: true}\n"
                 "      b: {effect: read}\n",
                 more[k]);
        mortise_manifest_free(m);
        ck_assert_int_eq(parse(text, false), MORTISE_OK);
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            struct mortise_err err;

            ck_assert_int_eq(
                mortise_call_execute.admit(m, all[i].operation, &err),
                all[i].execute[k]);
            ck_assert_int_eq(
                mortise_call_reconcile.admit(m, all[i].operation, &err),
                all[i].reconcile[k]);
        }
    }
}
END_TEST

/* How effects happen is the operation's word, whatever its plugin may ask.
 * key: plugin/operation.intent=call, plugin/operation.intent=steps */
START_TEST(intents)
{
    static const char text[] = "apiVersion: mortise/v1\nkind: Plugin\n"
                               "metadata: {name: p, version: 1.0.0}\n"
                               "seq: 1\nabi: {major: 1, minor: 0}\n"
                               "provides:\n"
                               "  executor:\n"
                               "    threading: async\n"
                               "    operations:\n"
                               "      a: {effect: external}\n"
                               "      b: {effect: external, intent: call}\n"
                               "      c: {effect: external, intent: steps}\n"
                               "requires: {methods: [http.request/1]}\n";

    ck_assert_int_eq(parse(text, false), MORTISE_OK);
    ck_assert(!mortise_manifest_op(m, "a")->steps);
    ck_assert(!mortise_manifest_op(m, "b")->steps);
    ck_assert(mortise_manifest_op(m, "c")->steps);
}
END_TEST

static const struct {
    const char *what, *with, *code, *words;
} wrong[] = {
    /* another file */
    {"kind: Plugin", "kind: Graph", "E0210", "kind"},
    {"mortise/v1", "mortise/v2", "E0210", "mortise/v1"},
    /* slips */
    {"seq: 12", "sequ: 12", "E0201", "sequ"},
    {"threading: async", "threding: async", "E0201", "threding"},
    {"effect: external", "effects: external", "E0201", "effects"},
    {"threading: async", "threading: asynch", "E0207", "asynch"},
    {"effect: external", "effect: writes", "E0207", "writes"},
    {"idempotent: true", "intent: whole", "E0207", "whole"},
    {"idempotent: true", "intent: steps", "E0706", "intent: steps"},
    {"look: {effect: read", "look: {intent: call, effect: read", "E0706",
     "cannot have 'intent'"},
    {"threading: async", "threading: blocking", "E0709", "without a thread"},
    {"exec: []", "exec: [\"mcp:-x\"]", "E0705", "mcp:NAME"},
    {"runtime: rust", "runtime: java", "E0207", "java"},
    {"[state.get/1]", "[state.got/1]", "E0207", "state.got/1"},
    {"[process, in-process]", "[processes]", "E0207", "processes"},
    {"x86_64-linux-gnu", "x86_64-linux", "E0207", "x86_64-linux"},
    /* missing */
    {"seq: 12\n", "", "E0206", "seq"},
    {"version: 1.4.2, ", "", "E0206", "version"},
    {"        effect: external\n", "", "E0206", "effect"},
    {"abi: {major: 1, minor: 3}\n", "", "E0206", "abi"},
    {"size: 41872, ", "", "E0206", "size"},
    /* not in this build */
    {"runtime: rust", "runtime: go", "E0205", "go"},
    {"  guardrail:", "  state:", "E0202", "state"},
    {"  exec: []", "  limits: {memory: 1MiB}", "E0202", "limits"},
    {"x-mine: whatever", "on_failure: {}", "E0202", "on_failure"},
    {"  methods: [state.get/1]", "  plugins: []", "E0202", "plugins"},
    {"{base: {type: string}}", "{base: {enum: [{x-secret: true}]}}", "E0704",
     "works only below"},
    /* wrong values */
    {"name: acme.pay", "name: .pay", "E0211", ".pay"},
    {"name: acme.pay", "name: a/b", "E0211", "a/b"},
    {"version: 1.4.2", "version: 1.4.2-rc1", "E0702", "1.4.2-rc1"},
    {"'>=1.0 <2'", "'about 1'", "E0702", "about 1"},
    {"seq: 12", "seq: 0", "E0208", "seq"},
    {"seq: 12", "seq: twelve", "E0203", "seq"},
    {"concurrency: 8", "concurrency: -1", "E0208", "concurrency"},
    {"idempotent: true", "idempotent: maybe", "E0203", "idempotent"},
    {"timeout: 30s", "timeout: 30", "E0203", "timeout"},
    {"usd: 0.25", "usd: free", "E0203", "usd"},
    {"usd: 0.25", "usd: -0.25", "E0208", "usd"},
    {"model_calls: 2", "model_calls: 2.5", "E0203", "model_calls"},
    {"model_calls: 2", "tokens: 2", "E0201", "tokens"},
    {"      refund:", "      're fund':", "E0701", "re fund"},
    {"idempotent: true", "judged_as: '{id}/refund'", "E0701", "'id' in"},
    {"idempotent: true", "judged_as: '{di'", "E0701", "'di' in"},
    {"idempotent: true", "judged_as: refund", "E0701", "no {ARGUMENT}"},
    {"{type: object, required: [id]}", "{type: objekt}", "E0209", "objekt"},
    {"{base: {type: string}}", "{base: {type: string, pattern: 'a('}}", "E0209",
     "not a regular expression"},
    {"{type: object, required: [id]}", "{$schema: 'http://x.org/y'}", "E0205",
     "http://x.org/y"},
    {"file: pay.so", "file: ../pay.so", "E0703", "../pay.so"},
    {"file: pay.so", "file: /pay.so", "E0703", "/pay.so"},
    {"\"0011", "\"001", "E0703", "64 hex digits"},
    {"\"0011", "\"00g1", "E0703", "64 hex digits"},
    {"net: ['api.acme.com:443', config:base]", "net: [api.acme.com]", "E0705",
     "HOST:PORT"},
    {"net: ['api.acme.com:443', config:base]", "net: all", "E0203", "net"},
    {"write: [/tmp]", "write: [tmp]", "E0705", "absolute"},
    {"state: [artifacts.order]", "state: ['a..b']", "E0705", "a..b"},
    {"env: [LANG]", "env: [7]", "E0705", "env"},
};

/* Issue 15, point 9: a pattern that is no ECMA-262 is said, and taken as it was
 * when the plugin was signed. */
START_TEST(point_9_foreign_patterns_are_warned_of)
{
    const char *what = "{base: {type: string}}", *at = strstr(whole, what);
    char text[4096];

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole,
             "{base: {type: string, pattern: '(?i)^h++'}}", at + strlen(what));
    ck_assert_int_eq(parse(text, true), MORTISE_OK);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "W0216");
    ck_assert_ptr_nonnull(strstr(diags.list[0].message, "write both cases"));
}
END_TEST

/* Steps come of either kind of method, and the help names both. */
START_TEST(steps_without_a_method_are_told_of_both_kinds)
{
    const char *what = "idempotent: true", *at = strstr(whole, what);
    char text[4096];

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole,
             "intent: steps", at + strlen(what));
    ck_assert_int_eq(parse(text, true), MORTISE_ECHECK);
    ck_assert_str_eq(diags.list[0].code, "E0706");
    ck_assert_ptr_nonnull(strstr(diags.list[0].help, "http.request/1"));
    ck_assert_ptr_nonnull(strstr(diags.list[0].help, "journal.begin/1"));
}
END_TEST

/* What is wrong is said, once, with its code and where it stands. */
START_TEST(wrong_manifests_are_refused)
{
    const char *at = strstr(whole, wrong[_i].what);
    char text[4096];

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole,
             wrong[_i].with, at + strlen(wrong[_i].what));
    ck_assert_int_eq(parse(text, true), MORTISE_ECHECK);
    ck_assert_ptr_null(m);
    ck_assert_uint_ge(diags.n, 1);
    ck_assert_msg(strcmp(diags.list[0].code, wrong[_i].code) == 0,
                  "%s: %s instead of %s", diags.list[0].message,
                  diags.list[0].code, wrong[_i].code);
    ck_assert_msg(strstr(diags.list[0].message, wrong[_i].words) != NULL, "%s",
                  diags.list[0].message);
    ck_assert_uint_gt(diags.list[0].span.line, 0);
}
END_TEST

static const struct {
    const char *provides, *methods, *words; /* NULL: it is right */
} askers[] = {
    {"model: {threading: async}", "state.get/1, secret.get/1, http.request/1",
     NULL},
    {"model: {threading: async}", "state.get/1, kv.get/1",
     "provides model cannot require the method kv.get/1"},
    {"model: {threading: async}", "model.call/1",
     "cannot require the method model.call/1"},
    {"guardrail: {threading: async}",
     "state.get/1, kv.get/1, secret.get/1, http.request/1", NULL},
    {"guardrail: {threading: async}", "timer.wait/1",
     "provides guardrail cannot require the method timer.wait/1"},
    {"model: {threading: async}, guardrail: {threading: async}", "kv.get/1",
     NULL},
    {"memory: {threading: blocking}",
     "secret.get/1, http.request/1, model.embed/1", NULL},
    {"memory: {threading: blocking}", "kv.get/1",
     "provides memory cannot require the method kv.get/1"},
    {"model: {threading: async}, executor: {threading: async, operations: {a: "
     "{effect: pure}}}",
     "kv.put/1, model.call/1", NULL},
};

/* What every kind that a plugin provides may not ask is no method for it to
 * require; what one of them may is. */
START_TEST(methods_are_those_of_kinds)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Plugin\n"
             "metadata: {name: p, version: 1.0.0}\n"
             "seq: 1\nabi: {major: 1, minor: 0}\n"
             "provides: {%s}\nrequires: {methods: [%s]}\n",
             askers[_i].provides, askers[_i].methods);
    if (askers[_i].words == NULL) {
        ck_assert_int_eq(parse(text, false), MORTISE_OK);
        return;
    }
    ck_assert_int_eq(parse(text, false), MORTISE_ECHECK);
    ck_assert_uint_eq(diags.n, 1);
    ck_assert_str_eq(diags.list[0].code, "E0708");
    ck_assert_ptr_nonnull(strstr(diags.list[0].message, askers[_i].words));
    ck_assert_ptr_nonnull(strstr(diags.list[0].help, "can ask for s"));
    ck_assert_uint_eq(diags.list[0].span.line, 7);
}
END_TEST

/* A source manifest has no artifacts yet; a signed one must have. */
START_TEST(artifacts_when_needed)
{
    char text[4096];

    snprintf(text, sizeof text, "%.*s",
             (int)(strstr(whole, "artifacts:\n") - whole), whole);
    ck_assert_int_eq(parse(text, false), MORTISE_OK);
    ck_assert_uint_eq(m->n_artifacts, 0);
    mortise_manifest_free(m);
    ck_assert_int_eq(parse(text, true), MORTISE_ECHECK);
    ck_assert_str_eq(diags.list[0].code, "E0703");
    ck_assert_ptr_nonnull(strstr(diags.list[0].help, "plugin sign"));
}
END_TEST

/* Two artifacts of one architecture are one too many. */
START_TEST(one_artifact_an_architecture)
{
    char text[4096];

    snprintf(text, sizeof text, "%s%s", whole,
             strstr(whole, "artifacts:\n") + strlen("artifacts:\n"));
    ck_assert_int_eq(parse(text, true), MORTISE_ECHECK);
    ck_assert_ptr_nonnull(strstr(diags.list[0].message, "two artifacts"));
}
END_TEST

/* The digest is that of the bytes. */
START_TEST(the_digest_is_of_the_bytes)
{
    uint8_t first[MORTISE_DIGEST];
    char text[4096];

    ck_assert_int_eq(parse(whole, true), MORTISE_OK);
    mortise_digest(first, whole, strlen(whole));
    ck_assert_mem_eq(m->digest, first, sizeof first);
    mortise_manifest_free(m);
    snprintf(text, sizeof text, "%s\n", whole);
    ck_assert_int_eq(parse(text, true), MORTISE_OK);
    ck_assert_mem_ne(m->digest, first, sizeof first);
}
END_TEST

/* Parsing copes with its first, second, ... allocation failing. */
START_TEST(parse_survives_oom)
{
    bool failed;
    int n = 0, rv;

    do {
        test_mem_fail_at(n++);
        rv = parse(whole, true);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(m == NULL, failed);
        mortise_diags_finish(&diags);
        mortise_diags_init(&diags, &test_mem);
    } while (failed);
    ck_assert_int_gt(n, 3);
}
END_TEST

/* Versions compare as numbers; what is none is none. */
START_TEST(versions)
{
    static const char *const bad[] = {
        "",     "1.", ".1", "1..2", "1.2.3.4.5", "v1",
        "1.2a", " 1", "1 ", "-1",   "1,2",       "1.1234567890"};

    ck_assert(mortise_version_is_valid("1"));
    ck_assert(mortise_version_is_valid("1.2.3.999999999"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!mortise_version_is_valid(bad[i]), "%s", bad[i]);
    ck_assert_int_lt(mortise_version_compare("1.9", "1.10"), 0);
    ck_assert_int_eq(mortise_version_compare("1", "1.0.0"), 0);
    ck_assert_int_eq(mortise_version_compare("01", "1"), 0);
    ck_assert_int_gt(mortise_version_compare("2", "1.99.99"), 0);
}
END_TEST

/* Ranges are comparisons that must all hold. */
START_TEST(ranges)
{
    static const char *const bad[] = {
        "", " ", "1.0", "^1", ">=", "=>1", ">=1,<2", ">=1<2", "~1", "> 1"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!mortise_range_is_valid(bad[i]), "%s", bad[i]);
    ck_assert(mortise_range_is_valid(">=1.0 <2"));
    ck_assert(mortise_range_has(">=1.0 <2", "1.0"));
    ck_assert(mortise_range_has(">=1.0 <2", "1.99"));
    ck_assert(!mortise_range_has(">=1.0 <2", "2.0"));
    ck_assert(!mortise_range_has(">=1.0 <2", "0.9"));
    ck_assert(mortise_range_has("=1.2", "1.2.0"));
    ck_assert(!mortise_range_has(">1.2", "1.2"));
    ck_assert(mortise_range_has("<=1.2", "1.2"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("manifest");
    TCase *tc = tcase_create("manifest");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_whole_manifest);
    tcase_add_test(tc, the_rest_of_a_manifest);
    tcase_add_test(tc, other_threadings);
    tcase_add_test(tc, a_discovery_plugin);
    tcase_add_test(tc, a_memory);
    tcase_add_test(tc, intents);
    tcase_add_test(tc, more_operations);
    tcase_add_loop_test(tc, methods_are_those_of_kinds, 0,
                        sizeof askers / sizeof askers[0]);
    tcase_add_test(tc, point_9_foreign_patterns_are_warned_of);
    tcase_add_test(tc, steps_without_a_method_are_told_of_both_kinds);
    tcase_add_loop_test(tc, wrong_manifests_are_refused, 0,
                        (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(tc, artifacts_when_needed);
    tcase_add_test(tc, one_artifact_an_architecture);
    tcase_add_test(tc, the_digest_is_of_the_bytes);
    tcase_add_test(tc, parse_survives_oom);
    tcase_add_test(tc, versions);
    tcase_add_test(tc, ranges);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
