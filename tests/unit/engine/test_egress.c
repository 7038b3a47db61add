/* test_egress.c -- where a plugin may go: what is granted, what an address may
 * be, and when a proxy is in between. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/egress.h"
#include "services/http/addresses.h"
#include "core/json/value.h"
#include "lib/test.h"

static struct mortise_arena arena;
static struct mortise_err err;

static void setup(void)
{
    test_begin();
    mortise_arena_init(&arena, &test_mem);
}

static void teardown(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static int parse(const char *text, struct mortise_destination *d)
{
    memset(d, 0, sizeof *d);
    return mortise_destination_parse(d, text, &err);
}

/* ---- destinations ------------------------------------------------------- */

static const struct {
    const char *text, *host;
    unsigned port;
} good[] = {
    {"api.acme.com:443", "api.acme.com", 443},
    {"API.Acme.COM.:8443", "api.acme.com", 8443},
    {"https://api.acme.com", "api.acme.com", 443},
    {"http://api.acme.com/v1/x?y#z", "api.acme.com", 80},
    {"HTTPS://api.acme.com:1/v1", "api.acme.com", 1},
    {"127.0.0.1:8080", "127.0.0.1", 8080},
    {"[::1]:80", "::1", 80},
    {"[0:0:0:0:0:0:0:1]:80", "::1", 80},
    {"http://[2001:DB8::1]/", "2001:db8::1", 80},
    {"a_b-c:65535", "a_b-c", 65535},
};

/* One place has one spelling, whatever a person wrote. */
START_TEST(places_are_spelled_one_way)
{
    struct mortise_destination d;

    ck_assert_msg(parse(good[_i].text, &d) == MORTISE_OK, "%s", err.msg);
    ck_assert_str_eq(d.host, good[_i].host);
    ck_assert_uint_eq(d.port, good[_i].port);
}
END_TEST

static const char *const bad[] = {
    "",
    ":80",
    "host",
    "host:",
    "host:0",
    "host:65536",
    "host:99999999999999999999",
    "host:80x",
    "host:-1",
    "host:443/path",
    "ftp://host",
    "file:///etc/passwd",
    "http://",
    "http://user@host/",
    "http://user:pw@host:80",
    "https://host:0",
    "::1:80",
    "[::1",
    "[::1]",
    "[]:80",
    "[nonsense]:80",
    "[::1%eth0]:80",
    "ho st:80",
    "h\xc3\xb6st:80",
    "*.acme.com:443",
    "a/b:80",
    ".:80",
};

/* Anything else is none: no wildcards, no credentials, no other schemes. */
START_TEST(nonsense_is_no_place)
{
    struct mortise_destination d;
    char text[400];

    ck_assert_msg(parse(bad[_i], &d) == MORTISE_EINVAL, "'%s'", bad[_i]);
    memset(text, 'a', sizeof text);
    strcpy(text + 300, ":80");
    ck_assert_int_eq(parse(text, &d), MORTISE_EINVAL);
}
END_TEST

/* ---- grants ------------------------------------------------------------- */

static int make(struct mortise_egress *e, const char *const *net, size_t n,
                const char *config)
{
    const struct mortise_names names = {net, n};
    json_t *value = NULL;
    int rv;

    ck_assert_int_eq(mortise_json_parse(&value, config, strlen(config), &err),
                     MORTISE_OK);
    rv = mortise_egress_make(e, &arena, &names, value, &err);
    json_decref(value);
    return rv;
}

static bool allows(const struct mortise_egress *e, const char *text)
{
    struct mortise_destination d;

    ck_assert_int_eq(parse(text, &d), MORTISE_OK);
    return mortise_egress_find_grant(e, &d);
}

/* Exactly what the manifest lists, and what the deployment put where it points
 * to. */
START_TEST(grants_are_exact)
{
    static const char *const net[] = {"api.acme.com:443", "config:base_url",
                                      "config:more.hosts", "config:absent"};
    struct mortise_destination d;
    struct mortise_egress e;

    ck_assert_int_eq(make(&e, net, 4,
                          "{\"base_url\": \"https://eu.acme.com/v1\","
                          " \"more\": {\"hosts\": [\"a:1\", \"b:2\", \"c:3\","
                          " \"d:4\", \"http://e\"]}}"),
                     MORTISE_OK);
    ck_assert(allows(&e, "api.acme.com:443"));
    ck_assert(allows(&e, "eu.acme.com:443"));
    ck_assert(allows(&e, "a:1"));
    ck_assert(allows(&e, "e:80"));
    ck_assert(!allows(&e, "api.acme.com:80"));
    ck_assert(!allows(&e, "x.api.acme.com:443"));
    ck_assert(!allows(&e, "acme.com:443"));
    ck_assert(!allows(&e, "api.acme.com.evil.org:443"));
    ck_assert(!allows(&e, "a:2"));
    ck_assert_int_eq(make(&e, net, 2,
                          "{\"base_url\": [\"https://api.acme.com private\","
                          " \"in.acme.com:1 private\"]}"),
                     MORTISE_OK);
    ck_assert(e.n == 3 && allows(&e, "in.acme.com:1"));
    ck_assert(e.list[1].is_private && e.list[2].is_private);
    parse("api.acme.com:443", &d);
    ck_assert(
        mortise_egress_find_grant(&e, &d)->is_private); /* once is enough */
    ck_assert_int_eq(make(&e, net, 2, "{\"base_url\": \"private\"}"),
                     MORTISE_ECONFIG);
    ck_assert_int_eq(make(&e, net, 2, "{\"base_url\": \"a:1  private\"}"),
                     MORTISE_ECONFIG);
    ck_assert_int_eq(make(&e, net, 0, "{}"), MORTISE_OK);
    ck_assert(!allows(&e, "api.acme.com:443"));
}
END_TEST

/* A deployment's value that is no place says so, and grants nothing. */
START_TEST(a_wrong_config_is_said)
{
    static const char *const net[] = {"config:x"};
    static const char *const configs[] = {"{\"x\": 1}", "{\"x\": [1]}",
                                          "{\"x\": \"host\"}",
                                          "{\"x\": [\"a:1\", \"\"]}"};
    struct mortise_egress e;

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        ck_assert_int_eq(make(&e, net, 1, configs[i]), MORTISE_ECONFIG);
        ck_assert_ptr_nonnull(strstr(err.msg, "config:x"));
        ck_assert_uint_eq(e.n, 0);
    }
}
END_TEST

/* ---- addresses ---------------------------------------------------------- */

static bool says_private;

static bool may_connect(const char *host, const char *address)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct mortise_destination grant = {.port = 443,
                                        .is_private = says_private};

    snprintf(grant.host, sizeof grant.host, "%s", host);
    if (inet_pton(AF_INET, address, &in4.sin_addr) == 1)
        return mortise_egress_covers_address(&grant, (struct sockaddr *)&in4);
    ck_assert_int_eq(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
    return mortise_egress_covers_address(&grant, (struct sockaddr *)&in6);
}

/* A name that suddenly leads here, to the link, to a cloud's metadata or to a
 * private network gets no connection, unless its grant says that it may. */
START_TEST(names_do_not_lead_home)
{
    static const char *const home[] = {
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "169.254.169.254",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.1.1", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "10.0.0.1", "192.168.1.1",
        "172.16.0.1", "172.31.255.255", "100.64.0.1", "100.127.255.255",
        "fd00::1", "fc00::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::c0a8:1",
        /* what another address leads to */
        "::ffff:0:127.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b:1::5db8:d822",
        "64:ff9b:1:a00:0:100::", "2002:7f00:1::", "2002:a00:1::1",
        "2002:a9fe:a9fe::", "2001:0:7f00:1::", "2001::a:0:f5ff:fffe",
        "2001:0:5db8:d822::80ff:fffe", "2001:db8::5efe:10.0.0.1",
        "2001:db8::200:5efe:169.254.169.254",
        /* where clouds keep secrets */
        "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "::ffff:168.63.129.16", "2002:a83f:8110::", "fd00:ec2::254",
        "fd20:ce::254"};
    static const char *const away[] = {"93.184.216.34",
                                       "172.32.0.1",
                                       "172.15.0.1",
                                       "100.63.0.1",
                                       "100.128.0.1",
                                       "192.169.1.1",
                                       "2001:db8::1",
                                       "64:ff9b::5db8:d822",
                                       "11.0.0.1",
                                       "168.63.129.17",
                                       "192.0.1.1",
                                       "2002:5db8:d822::1",
                                       "2001:0:5db8:d822::a247:27dd",
                                       "2001:db8::5efe:93.184.216.34",
                                       "64:ff9b:2::7f00:1",
                                       "2001:1::7f00:1"};

    says_private = true;
    for (size_t i = 0; i < sizeof home / sizeof home[0]; i++)
        ck_assert_msg(may_connect("api.acme.com", home[i]), "%s", home[i]);
    says_private = false;
    for (size_t i = 0; i < sizeof home / sizeof home[0]; i++)
        ck_assert_msg(!may_connect("api.acme.com", home[i]), "%s", home[i]);
    for (size_t i = 0; i < sizeof away / sizeof away[0]; i++)
        ck_assert_msg(may_connect("api.acme.com", away[i]), "%s", away[i]);
}
END_TEST

/* Who wants this machine says so. */
START_TEST(home_is_granted_by_its_name)
{
    ck_assert(may_connect("localhost", "127.0.0.1"));
    ck_assert(may_connect("localhost", "::1"));
    ck_assert(may_connect("x.localhost", "127.0.0.1"));
    ck_assert(may_connect("127.0.0.1", "127.0.0.1"));
    ck_assert(may_connect("169.254.169.254", "169.254.169.254"));
    ck_assert(may_connect("::1", "::1"));
    ck_assert(!may_connect("localhost.evil.org", "127.0.0.1"));
    ck_assert(!may_connect("xlocalhost", "127.0.0.1"));
}
END_TEST

/* ---- proxies ------------------------------------------------------------ */

static const char *proxy_for(const struct mortise_proxies *p, bool https,
                             const char *place)
{
    struct mortise_destination d;

    ck_assert_int_eq(parse(place, &d), MORTISE_OK);
    return mortise_proxies_find(p, https, &d);
}

/* The environment's proxies count, by scheme, but for what it excepts. */
START_TEST(proxies_are_the_environments)
{
    struct mortise_proxies p;

    setenv("http_proxy", "http://p:1", 1);
    setenv("HTTP_PROXY", "http://evil:1", 1);
    setenv("all_proxy", "socks5h://all:3", 1);
    setenv("NO_PROXY", "example.com, .corp ,10.1.2.3", 1);
    ck_assert_int_eq(mortise_proxies_read(&p, &arena, &err), MORTISE_OK);
    ck_assert_str_eq(proxy_for(&p, false, "a.com:80"), "http://p:1");
    ck_assert_str_eq(proxy_for(&p, true, "a.com:443"), "socks5h://all:3");
    ck_assert_str_eq(proxy_for(&p, false, "example.com:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "x.EXAMPLE.com:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "notexample.com:80"), "http://p:1");
    ck_assert_str_eq(proxy_for(&p, true, "git.corp:443"), "");
    ck_assert_str_eq(proxy_for(&p, true, "10.1.2.3:443"), "");
    setenv("no_proxy", "*", 1);
    ck_assert_int_eq(mortise_proxies_read(&p, &arena, &err), MORTISE_OK);
    ck_assert_str_eq(proxy_for(&p, true, "a.com:443"), "");
    unsetenv("http_proxy");
    unsetenv("HTTP_PROXY");
    unsetenv("all_proxy");
    unsetenv("NO_PROXY");
    unsetenv("no_proxy");
    ck_assert_int_eq(mortise_proxies_read(&p, &arena, &err), MORTISE_OK);
    ck_assert_str_eq(proxy_for(&p, true, "a.com:443"), "");
}
END_TEST

/* This machine is never reached through one. */
START_TEST(loopback_has_no_proxy)
{
    const struct mortise_proxies p = {"http://p:1", "http://p:1", NULL};

    ck_assert_str_eq(proxy_for(&p, false, "localhost:80"), "");
    ck_assert_str_eq(proxy_for(&p, true, "x.localhost:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "127.1.2.3:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "[::1]:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "[::ffff:127.0.0.1]:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "[::]:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "0.0.0.0:80"), "");
    ck_assert_str_eq(proxy_for(&p, false, "[::2]:80"), "http://p:1");
    ck_assert_str_eq(proxy_for(&p, false, "[::ffff:8.8.8.8]:80"), "http://p:1");
}
END_TEST

/* ---- memory ------------------------------------------------------------- */

/* Memory runs out anywhere, and it is said. */
START_TEST(memory_runs_out)
{
    static const char *const net[] = {"a:1", "config:x", "b:2"};
    const struct mortise_names names = {net, 3};
    json_t *config =
        json_pack("{s:[s,s,s,s,s]}", "x", "c:1", "c:2", "c:3", "c:4", "c:5");
    struct mortise_egress e;
    struct mortise_arena a;
    int n = 0, rv;

    do {
        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_egress_make(&e, &a, &names, config, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    ck_assert_int_gt(n, 1);
    json_decref(config);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("egress");
    TCase *tc = tcase_create("egress");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, places_are_spelled_one_way, 0,
                        sizeof good / sizeof good[0]);
    tcase_add_loop_test(tc, nonsense_is_no_place, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(tc, grants_are_exact);
    tcase_add_test(tc, a_wrong_config_is_said);
    tcase_add_test(tc, names_do_not_lead_home);
    tcase_add_test(tc, home_is_granted_by_its_name);
    tcase_add_test(tc, proxies_are_the_environments);
    tcase_add_test(tc, loopback_has_no_proxy);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
