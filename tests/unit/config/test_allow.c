/* test_allow.c -- what a deployment that was found needs somebody's word for. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/config/allow.h"
#include "lang/config/guarded.h"
#include "lib/allow.h"
#include "lib/test.h"

#define HEAD "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"

static char dir[64], path[128];

static void begin(void)
{
    test_begin();
    strcpy(dir, "/tmp/allow-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
}

static void end(void)
{
    test_rmdir(dir);
    test_nothing_left();
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fprintf(f, HEAD "%s\n", text), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* The keys that need a word, as "models store". */
static const char *needs(bool resolve)
{
    static char keys[512];
    struct mortise_need list[MORTISE_NEEDS_MAX];
    struct mortise_deployment *d;
    struct mortise_diags diags;
    size_t n;

    mortise_diags_init(&diags, &test_mem);
    if (resolve)
        mortise_deployment_read_partly(&d, &test_mem, path, &diags);
    else
        mortise_deployment_read_unresolved(&d, &test_mem, path, &diags);
    ck_assert_ptr_nonnull(d);
    keys[0] = '\0';
    n = mortise_allow_find_needs(d, list);
    for (size_t i = 0; i < n; i++)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%s",
                 i > 0 ? " " : "", list[i].key);
    mortise_deployment_free(d);
    mortise_diags_finish(&diags);
    return keys;
}

/* Code, secrets, the environment, files, addresses and places outside need a
 * word; what stays in the directory needs none. */
START_TEST(whatever_leads_out_needs_a_word)
{
    static const struct {
        const char *text, *keys;
    } some[] = {
        {"", ""},
        {"limits: {nodes: 5}", ""},
        {"store: {path: .mortise}", ""},
        {"store: {path: sub/../state}", ""},
        {"store: {path: ../state}", "store"},
        {"store: {path: /var/tmp/x}", "store"},
        {"store: {path: out/state}", "store"}, /* by a link */
        {"store: {access: {group: root}}", "store.access"},
        {"plugins: {config: {file: {roots: [.]}}}", ""},
        {"plugins: {config: {file: {roots: [./notes, a/b]}}}", ""},
        {"plugins: {config: {file: {roots: [out]}}}", "plugins.config"},
        {"plugins: {config: {file: {roots: [..]}}}", "plugins.config"},
        {"plugins: {config: {file: {roots: [a/../../b]}}}", "plugins.config"},
        {"plugins: {config: {file: {roots: [., /]}}}", "plugins.config"},
        {"plugins: {config: {file: {roots: [\"${env:HOME}\"]}}}",
         "plugins.config"},
        {"plugins: {config: {file: {roots: [\"${env:HOME:-.}\"]}}}",
         "plugins.config"},
        {"plugins: {config: {file: {roots: [\"$${env:HOME}\"]}}}", ""},
        {"plugins: {config: {x-a: {b: \"${env:HOME}\"}}}", ""},
        {"plugins: {config: {http: {allow: [\"evil.example:443\"]}}}",
         "plugins.config"},
        {"plugins: {config: {http: {allow: [\"[::1]:80 private\"]}}}",
         "plugins.config"},
        {"plugins: {config: {http: {allow: [\"https://evil.example\"]}}}",
         "plugins.config"},
        {"plugins: {config: {voice: {sockets: [\"unix:run\"]}}}",
         "plugins.config"},
        {"plugins: {config: {pattern: {rules: [{name: a, pattern: "
         "'(?:x|y): \\d'}]}}}",
         ""},
        {"plugins: {config: {a: {b: \"x\\0https://evil.example\"}}}",
         "plugins.config"},
        {"plugins: {path: [p]}", "plugins.path"},
        {"plugins: {dev: [p]}", "plugins.dev"},
        {"trust: {dir: t}", "trust"},
        {"programs: {x: {path: /bin/true}}", "programs"},
        {"secrets: {s: {env: HOME}}", "secrets"},
        {"secrets: {s: {file: ./key}}", "secrets"},
        {"secrets: {s: {env: HOME}}\nguardrails: {p: {plugin: pii}}",
         "secrets guardrails"},
        {"guardrails: {p: {plugin: pii, config: {kinds: [iban]}}}", ""},
        {"guardrails: {j: {plugin: judge, config: {criteria: "
         "\"${file:/etc/passwd}\"}}}",
         "guardrails"},
        {"models: {m: {provider: scripted, model: x, replies: [{text: \"At "
         "12:30, see http://a.b\"}]}}",
         ""},
        {"models: {m: {provider: anthropic, model: x}}", "models"},
        {"models: {m: {provider: scripted, model: \"${env:HOME}\"}}", "models"},
        {"memory: {plugin: local}", ""},
        {"memory: {plugin: local, config: {directory: /srv/m}}", "memory"},
        {"discovery: {plugins: [{plugin: catalog, config: {skills: [s]}}]}",
         ""},
        {"discovery: {plugins: [{plugin: registry, config: {base_url: "
         "\"https://r.example\"}}]}",
         "discovery"},
        {"tools: {deny: [file/write]}", ""},
        {"tools: {deny: [\"${env:HOME}\"]}", "tools"},
        {"tools: {mcp: {a: {command: [node]}}}", "tools.mcp"},
        {"tools: {mcp: {a: {url: \"https://a.example\"}}}", "tools.mcp"},
        {"limits: {nodes: \"${env:HOME}\"}", "limits"},
        {"executors: {gmi: \"${env:HOME}\"}", "executors"},
    };
    char link[128];

    snprintf(link, sizeof link, "%s/out", dir);
    ck_assert_int_eq(symlink("/var", link), 0);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        put(some[i].text);
        for (int resolve = 0; resolve < 2; resolve++)
            ck_assert_msg(strcmp(needs(resolve), some[i].keys) == 0,
                          "%s: '%s', not '%s'", some[i].text, needs(resolve),
                          some[i].keys);
    }
}
END_TEST

static struct mortise_settings settings;
static struct mortise_err err;

static int open_it(unsigned how)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, &test_mem);
    rv = mortise_settings_open(&settings, &test_mem, path, NULL, how, &diags,
                               &err);
    mortise_diags_finish(&diags);
    return rv;
}

/* The one root of the plugin `file`. */
static const char *root_of_file(void)
{
    const struct mortise_yaml *config =
        mortise_yaml_get(settings.deployment->config, "file");

    return mortise_yaml_get(config, "roots")->items[0]->str;
}

/* Before that word nothing of it is resolved, by who looks or by who runs; from
 * then on it is, until a key or a file behind one is another. */
START_TEST(nothing_is_resolved_before)
{
    char file[128];
    FILE *f;

    setenv("ALLOW_TEST", "value", 1);
    put("plugins: {config: {file: {roots: [\"${env:ALLOW_TEST}\", "
        "\"${env:NOT_SET_ANYWHERE:-d}\", \"${file:./text}\"]}}}");
    ck_assert_int_eq(open_it(MORTISE_SETTINGS_FOUND), MORTISE_EDENIED);
    ck_assert_ptr_nonnull(strstr(err.msg, "with plugins.config (line 4)"));
    ck_assert_int_eq(
        open_it(MORTISE_SETTINGS_FOUND | MORTISE_SETTINGS_READ_ONLY),
        MORTISE_OK); /* though there is no such file */
    ck_assert(settings.deployment->unresolved);
    ck_assert_str_eq(root_of_file(), "${env:ALLOW_TEST}");
    mortise_settings_close(&settings);
    ck_assert_int_eq(open_it(0), MORTISE_ECHECK); /* named: it is resolved */

    snprintf(file, sizeof file, "%s/text", dir);
    for (int i = 0; i < 2; i++) {
        f = fopen(file, "w");
        ck_assert_int_ge(fprintf(f, "%d", i), 0);
        ck_assert_int_eq(fclose(f), 0);
        ck_assert_int_eq(open_it(MORTISE_SETTINGS_FOUND), MORTISE_EDENIED);
        test_allow(path);
        ck_assert_int_eq(open_it(MORTISE_SETTINGS_FOUND), MORTISE_OK);
        ck_assert(!settings.deployment->unresolved);
        ck_assert_str_eq(root_of_file(), "value");
        mortise_settings_close(&settings);
    }
    ck_assert_int_eq(open_it(0), MORTISE_OK);
    mortise_settings_close(&settings);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("allow");
    TCase *tc = tcase_create("allow");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, whatever_leads_out_needs_a_word);
    tcase_add_test(tc, nothing_is_resolved_before);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
