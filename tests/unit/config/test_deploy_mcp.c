/* test_deploy_mcp.c -- tools.mcp: what is said of a server arrives, and nothing
 * else.  What is refused stands in tests/graphs/bad (test_graph.c). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/config/allow.h"
#include "lang/config/deploy_digest.h"
#include "lang/config/mcp_config.h"
#include "lib/json.h"
#include "lib/test.h"

#define HEAD    "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
#define SECRETS "secrets: {s: {env: S}, t: {env: T}}\n"

static struct mortise_diags diags;
static struct mortise_deployment *d;
static const char *dir;
static char path[4200];

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
    dir = test_mkdir();
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
}

static void end(void)
{
    mortise_deployment_free(d);
    d = NULL;
    mortise_diags_finish(&diags);
    test_rmdir(dir);
    test_nothing_left();
}

static int read_text(const char *text)
{
    test_write(path, text, strlen(text));
    mortise_deployment_free(d);
    mortise_diags_finish(&diags);
    return mortise_deployment_read(&d, &test_mem, path, &diags);
}

static void good(const char *text)
{
    ck_assert_int_eq(read_text(text), MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
}

static void in_dir(const char *got, const char *want)
{
    char full[4300];

    snprintf(full, sizeof full, "%s/%s", dir, want);
    ck_assert_str_eq(got, full);
}

static const struct mortise_mcp_server *server(const char *name)
{
    const struct mortise_mcp_server *s = mortise_mcp_find(&d->tools.mcp, name);

    ck_assert_ptr_nonnull(s);
    return s;
}

static const char *value_of(const struct mortise_mcp_texts *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->list[i].name, name) == 0)
            return t->list[i].value;
    return "";
}

/* A program has what stands there, paths from where the file is, and else
 * nothing.
 * key: tools.mcp, MCP server.command, MCP server.env, MCP server.dir
 * key: MCP server.sandbox, sandbox.fs, fs.read, fs.write, sandbox.net
 * key: sandbox.memory, sandbox.user */
START_TEST(programs_arrive)
{
    const struct mortise_mcp_server *s;
    const struct mortise_program *p;
    struct mortise_err err;

    good(HEAD SECRETS
         "tools:\n"
         "  mcp:\n"
         "    x-mine: 1\n"
         "    bare: {command: [node]}\n"
         "    all:\n"
         "      command: [./bin/x, ./data, -v]\n"
         "      env: {A: b, EMPTY: \"\", C: secret://s, x-no: 1}\n"
         "      dir: work\n"
         "      sandbox: {fs: {read: [a, /b], write: [c]}, net: [\"*\"], "
         "memory: 1MiB, user: \"${env:MORTISE_USER:-nobody}\"}\n"
         "    none: {command: [/bin/x], sandbox: {fs: {read: [], write: []}, "
         "net: []}}\n");
    ck_assert_uint_eq(d->tools.mcp.n, 3);
    p = &server("bare")->program;
    ck_assert_str_eq(p->name, "bare");
    ck_assert_str_eq(p->path, "node");
    in_dir(p->dir, ".");
    ck_assert(p->n_args == 0 && p->read.n == 0 && p->write.n == 0);
    ck_assert(!p->online && p->memory == 0);
    s = server("all");
    ck_assert_int_eq(mortise_mcp_find_program(&d->tools.mcp, "all", &p, &err),
                     MORTISE_OK);
    ck_assert_ptr_eq(p, &s->program);
    in_dir(p->path, "./bin/x");
    in_dir(p->dir, "work");
    ck_assert_uint_eq(p->n_args, 2);
    ck_assert_str_eq(p->args[0], "./data");
    ck_assert_str_eq(p->args[1], "-v");
    ck_assert_uint_eq(p->read.n, 2);
    in_dir(p->read.list[0], "a");
    ck_assert_str_eq(p->read.list[1], "/b");
    ck_assert_uint_eq(p->write.n, 1);
    in_dir(p->write.list[0], "c");
    ck_assert(p->online);
    ck_assert_uint_eq(p->memory, 1 << 20);
    ck_assert_ptr_nonnull(p->user);
    ck_assert(p->uid != 0 && p->gid != 0);
    ck_assert_uint_eq(s->env.n, 3);
    ck_assert_str_eq(value_of(&s->env, "A"), "b");
    ck_assert_str_eq(value_of(&s->env, "C"), "secret://s");
    ck_assert(!server("none")->program.online);
}
END_TEST

/* A server elsewhere.
 * key: MCP server.url, MCP server.headers, MCP server.auth, auth.grant
 * key: auth.client_id, auth.client_secret, auth.client_metadata_url
 * key: auth.redirect_uri, auth.scopes, auth.issuers */
START_TEST(urls_arrive)
{
    const struct mortise_mcp_server *s;
    const struct mortise_program *p;
    struct mortise_err err;

    good(HEAD SECRETS
         "tools:\n"
         "  mcp:\n"
         "    here: {url: \"http://localhost:81/mcp\"}\n"
         "    six: {url: \"http://[::1]:81/mcp\"}\n"
         "    all:\n"
         "      url: https://a.example/mcp?x=1\n"
         "      headers: {A: b, C: \"Bearer secret://t\"}\n"
         "      auth: {grant: client_credentials, client_id: me,\n"
         "        client_secret: secret://s, scopes: [x, y],\n"
         "        issuers: [\"https://i.example\"],\n"
         "        client_metadata_url: \"https://m.example/c.json\",\n"
         "        redirect_uri: \"http://127.0.0.1:8484/callback\"}\n");
    s = server("all");
    ck_assert_str_eq(s->url, "https://a.example/mcp?x=1");
    ck_assert_str_eq(value_of(&s->headers, "A"), "b");
    ck_assert_str_eq(value_of(&s->headers, "C"), "Bearer secret://t");
    ck_assert_str_eq(s->auth.grant, "client_credentials");
    ck_assert_str_eq(s->auth.client_id, "me");
    ck_assert_str_eq(s->auth.client_secret->str, "secret://s");
    ck_assert_str_eq(s->auth.client_metadata_url, "https://m.example/c.json");
    ck_assert_str_eq(s->auth.redirect_uri, "http://127.0.0.1:8484/callback");
    ck_assert_uint_eq(s->auth.scopes->n, 2);
    ck_assert_str_eq(s->auth.issuers->items[0]->str, "https://i.example");
    ck_assert_ptr_null(server("here")->auth.at);
    ck_assert_int_eq(mortise_mcp_find_program(&d->tools.mcp, "all", &p, &err),
                     MORTISE_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, "https://a.example/mcp"));
    ck_assert_int_eq(mortise_mcp_find_program(&d->tools.mcp, "hree", &p, &err),
                     MORTISE_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, "did you mean 'here'?"));
}
END_TEST

/* What holds for both, and where nothing is said.
 * key: MCP server.protocol, MCP server.timeout, MCP server.hold
 * key: MCP server.effects, effects.read, effects.write, effects.idempotent */
START_TEST(both_have_these)
{
    const struct mortise_mcp_server *s;

    good(HEAD "tools:\n"
              "  mcp:\n"
              "    bare: {command: [x]}\n"
              "    said: {command: [x], protocol: 2025-11-25, timeout: 7s, "
              "hold: 0s, effects: {read: [a*], write: [b], idempotent: [c, "
              "d]}}\n");
    s = server("bare");
    ck_assert_str_eq(s->protocol, "auto");
    ck_assert_uint_eq(s->timeout_ms, 60000);
    ck_assert_uint_eq(s->hold_ms, 300000);
    ck_assert_ptr_null(s->effects.read);
    s = server("said");
    ck_assert_str_eq(s->protocol, "2025-11-25");
    ck_assert_uint_eq(s->timeout_ms, 7000);
    ck_assert_uint_eq(s->hold_ms, 0);
    ck_assert_str_eq(s->effects.read->items[0]->str, "a*");
    ck_assert_str_eq(s->effects.write->items[0]->str, "b");
    ck_assert_uint_eq(s->effects.idempotent->n, 2);
}
END_TEST

/* Has that server's config this member?  NULL: it has none. */
static void told(const json_t *config, const char *name, const char *member,
                 const char *want)
{
    const json_t *server =
        json_object_get(json_object_get(config, "servers"), name);
    const json_t *value = json_object_get(server, member);
    char *text = value != NULL ? mortise_json_to_text(&test_mem, value) : NULL;

    ck_assert_ptr_nonnull(server);
    if (want == NULL)
        ck_assert_ptr_null(value);
    else
        ck_assert_str_eq(text, want);
    mortise_release_str(&test_mem, text);
}

/* What it may have of this side, as the plugin is told.
 * key: MCP server.sampling, sampling.model, sampling.max_tokens
 * key: MCP server.roots */
START_TEST(what_is_granted_arrives)
{
    char want[2 * 4200];
    json_t *config;

    good(HEAD "models: {m: {provider: scripted, model: x}}\n"
              "tools:\n"
              "  mcp:\n"
              "    bare: {command: [x]}\n"
              "    some: {command: [x], sampling: {model: m}, roots: []}\n"
              "    all: {command: [x], sampling: {model: m, max_tokens: 7},\n"
              "      roots: [\"a b/%\", /]}\n");
    config = mortise_mcp_make_config(&d->tools.mcp, &d->lock);
    told(config, "bare", "sampling", NULL);
    told(config, "bare", "roots", NULL);
    told(config, "some", "sampling", "{\"alias\":\"m\"}");
    told(config, "some", "roots", "[]");
    told(config, "all", "sampling", "{\"alias\":\"m\",\"max_tokens\":7}");
    snprintf(want, sizeof want,
             "[{\"uri\":\"file://%s/a%%20b/%%25\",\"name\":\"%%\"},"
             "{\"uri\":\"file:///\",\"name\":\"/\"}]",
             dir);
    told(config, "all", "roots", want);
    json_decref(config);
}
END_TEST

static bool needs(const char *key)
{
    struct mortise_need list[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_find_needs(d, list);

    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].key, key) == 0)
            return true;
    return false;
}

/* Somebody has to allow each server: a program that runs, or a host that is
 * talked to. */
START_TEST(a_word_is_needed)
{
    good(HEAD "tools: {mcp: {a: {command: [x]}}}\n");
    ck_assert(needs("tools.mcp"));
    good(HEAD "tools: {mcp: {a: {url: \"https://a.example\"}}}\n");
    ck_assert(needs("tools.mcp") && !needs("secrets"));
    good(HEAD SECRETS "tools: {mcp: {a: {url: \"https://a.example\"}}}\n");
    ck_assert(needs("tools.mcp") && needs("secrets"));
    good(HEAD SECRETS "tools: {mcp: {}}\n");
    ck_assert(!needs("tools.mcp") && needs("secrets"));
}
END_TEST

static void digest_of(const char *mcp, char hex[MORTISE_DIGEST_HEX])
{
    uint8_t digest[MORTISE_DIGEST];
    char text[512];

    snprintf(text, sizeof text, HEAD "%s", mcp);
    good(text);
    ck_assert_int_eq(mortise_deployment_digest(digest, d, &test_mem),
                     MORTISE_OK);
    mortise_hex_encode(hex, digest, sizeof digest);
}

/* Two files say the same where their servers are the same, however it is
 * written. */
START_TEST(servers_count)
{
    static const char *const same[] = {
        "tools: {mcp: {a: {command: [./x, b]}}}\n",
        "tools: {mcp: {a: {command: [./x, b], protocol: auto, timeout: 1m, "
        "hold: 300s, sandbox: {net: []}}, x-b: 1}}\n"};
    static const char *const other[] = {
        "tools: {mcp: {a: {command: [x, b]}}}\n",
        "tools: {mcp: {a: {command: [./x, c]}}}\n",
        "tools: {mcp: {a: {command: [./x, b], sandbox: {net: [\"*\"]}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], sandbox: {fs: {read: [r]}}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], sandbox: {fs: {write: [r]}}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], sandbox: {memory: 1MiB}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], sandbox: {user: "
        "\"${env:MORTISE_USER:-nobody}\"}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], env: {A: b}}}}\n",
        "tools: {mcp: {a: {command: [./x, b], dir: /}}}\n",
        "tools: {mcp: {a: {command: [./x, b], timeout: 61s}}}\n",
        "tools: {mcp: {a: {command: [./x, b], hold: 61s}}}\n",
        "tools: {mcp: {a: {command: [./x, b], roots: [r]}}}\n",
        ("models: {m: {provider: p, model: x}}\n"
         "tools: {mcp: {a: {command: [./x, b], sampling: {model: m}}}}\n"),
        "tools: {mcp: {a: {command: [./x, b], protocol: 2025-11-25}}}\n",
        "tools: {mcp: {a: {command: [./x, b], effects: {read: [x]}}}}\n",
        "tools: {mcp: {b: {command: [./x, b]}}}\n",
        "tools: {mcp: {a: {url: \"https://a.example\"}}}\n",
        "tools: {mcp: {a: {url: \"https://b.example\"}}}\n",
        ""};
    char first[MORTISE_DIGEST_HEX], hex[MORTISE_DIGEST_HEX];
    char seen[sizeof other / sizeof other[0]][MORTISE_DIGEST_HEX];

    digest_of(same[0], first);
    digest_of(same[1], hex);
    ck_assert_str_eq(hex, first);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        digest_of(other[i], seen[i]);
        ck_assert_str_ne(seen[i], first);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(seen[i], seen[k]);
    }
    digest_of("tools: {mcp: {}}\n", hex);
    ck_assert_str_eq(hex, seen[sizeof other / sizeof other[0] - 1]);
}
END_TEST

/* Reading copes with its first, second, ... allocation failing. */
START_TEST(reading_survives_oom)
{
    static const char text[] = HEAD SECRETS
        "tools: {mcp: {a: {command: [./x, y], env: {A: secret://s}, sandbox: "
        "{fs: {read: [r]}}}, b: {url: \"https://b.example\", headers: {A: b}, "
        "auth: {client_id: x}}}}\n";
    int n = 0, rv;

    test_write(path, text, sizeof text - 1);
    do {
        struct mortise_diags some;

        mortise_diags_init(&some, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_deployment_read(&d, &test_mem, path, &some);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(d == NULL, test_mem_failed());
        mortise_diags_finish(&some);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("deploy_mcp");
    TCase *tc = tcase_create("deploy_mcp");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, programs_arrive);
    tcase_add_test(tc, urls_arrive);
    tcase_add_test(tc, both_have_these);
    tcase_add_test(tc, what_is_granted_arrives);
    tcase_add_test(tc, a_word_is_needed);
    tcase_add_test(tc, servers_count);
    tcase_add_test(tc, reading_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
