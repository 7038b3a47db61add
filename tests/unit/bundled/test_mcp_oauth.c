/* test_mcp_oauth.c -- OAuth of the mcp plugin: texts that others write, and the
 * steps to a token. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plugins/executor/mcp/oauth.h"
#include "lib/test.h"

static mortise_str z(const char *s)
{
    return mortise_strz(s);
}

/* As a string of C's; static until the next but three. */
static const char *c_of(const struct bytes *b)
{
    static char room[4][4096];
    static unsigned at;
    char *p = room[at++ % 4];

    ck_assert_uint_lt(b->n, 4096);
    if (b->n > 0)
        memcpy(p, b->p, b->n);
    p[b->n] = '\0';
    return p;
}

/* ---- addresses ----------------------------------------------------------- */

static const struct {
    const char *text, *origin, *host, *port, *path, *query; /* NULL: none */
} urls[] = {
    {"https://a.example", "https://a.example", "a.example", "", "", ""},
    {"HTTP://A:80/x/y?q=1?2", "HTTP://A:80", "A", "80", "/x/y", "q=1?2"},
    {"https://a?q", "https://a", "a", "", "", "q"},
    {"http://[::1]:8080/", "http://[::1]:8080", "[::1]", "8080", "/", ""},
    {"http://[::1]", "http://[::1]", "[::1]", "", "", ""},
    {"", NULL, "", "", "", ""},
    {"https://", NULL, "", "", "", ""},
    {"https:///x", NULL, "", "", "", ""},
    {"https://:80/", NULL, "", "", "", ""},
    {"ftp://a", NULL, "", "", "", ""},
    {"javascript:alert(1)", NULL, "", "", "", ""},
    {"//a/b", NULL, "", "", "", ""},
    {"https://user@a/", NULL, "", "", "", ""},
    {"https://a.example@evil/", NULL, "", "", "", ""},
    {"https://a%40b/", NULL, "", "", "", ""},
    {"https://a/#f", NULL, "", "", "", ""},
    {"https://a/ b", NULL, "", "", "", ""},
    {"https://a\\b/", NULL, "", "", "", ""},
    {"https://a/\n", NULL, "", "", "", ""},
    {"https://a/\x7f", NULL, "", "", "", ""},
    {"https://\xc3\xa4/", NULL, "", "", "", ""},
    {"https://a:8x/", NULL, "", "", "", ""},
    {"https://a:123456/", NULL, "", "", "", ""},
    {"https://[::1/", NULL, "", "", "", ""},
    {"https://[::1]x/", NULL, "", "", "", ""},
};

/* An address is plainly one, or it is none. */
START_TEST(addresses)
{
    mortise_status want =
        urls[_i].origin != NULL ? MORTISE_S_OK : MORTISE_S_INVALID;
    struct oauth_url u;

    ck_assert_int_eq(oauth_url_read(z(urls[_i].text), &u), want);
    if (want != MORTISE_S_OK)
        return;
    ck_assert(mortise_str_is(u.origin, urls[_i].origin));
    ck_assert(mortise_str_is(u.host, urls[_i].host));
    ck_assert(mortise_str_is(u.port, urls[_i].port));
    ck_assert(mortise_str_is(u.path, urls[_i].path));
    ck_assert(mortise_str_is(u.query, urls[_i].query));
}
END_TEST

static const struct {
    const char *resource, *server;
    int covers;
} covers[] = {
    {"https://a/mcp", "https://a/mcp", 1},
    {"https://a", "https://a/mcp", 1},
    {"https://a/", "https://a/mcp", 1},
    {"https://A:443/mcp/", "https://a/mcp", 1},
    {"https://a/m", "https://a/mcp", 0},
    {"https://a/mcp", "https://a/mcpx", 0},
    {"https://a/mcp", "https://a", 0},
    {"https://a/mcp", "https://a/mcp/deep", 1},
    {"http://a/mcp", "https://a/mcp", 0},
    {"https://a:444/mcp", "https://a/mcp", 0},
    {"https://a.evil/mcp", "https://a/mcp", 0},
    {"https://evil/mcp", "https://a/mcp", 0},
    {"https://a/x/../mcp", "https://a/x/../mcp", 0},
    {"https://a/x", "https://a/x/%2E%2e/y", 0},
    {"https://a/x", "https://a/x/.", 0},
    {"https://a/x", "https://a/x/...", 1},
    {"https://a/x?t=1", "https://a/x?t=1", 1},
    {"https://a/x?t=1", "https://a/x?t=2", 0},
    {"https://a/x", "https://a/x?t=2", 1},
};

/* A resource takes in a server by origin and whole segments. */
START_TEST(covering)
{
    struct oauth_url r, s;

    ck_assert_int_eq(oauth_url_read(z(covers[_i].resource), &r), 0);
    ck_assert_int_eq(oauth_url_read(z(covers[_i].server), &s), 0);
    ck_assert_int_eq(oauth_url_covers(&r, &s), covers[_i].covers);
}
END_TEST

/* What is written into a form is read from it again, every byte. */
START_TEST(forms)
{
    struct bytes form = {0}, out = {0};
    char all[255];

    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    ck_assert_int_eq(oauth_form_put(&form, "a", mortise_strn(all, 255)), 0);
    ck_assert_int_eq(oauth_form_put(&form, "ab", z("")), 0);
    ck_assert_int_eq(oauth_form_put(&form, "b", z("x y&=+%")), 0);
    ck_assert_int_eq(oauth_form_get(bytes_str(&form), "a", &out), 0);
    ck_assert_uint_eq(out.n, 255);
    ck_assert_mem_eq(out.p, all, 255);
    out.n = 0;
    ck_assert_int_eq(oauth_form_get(bytes_str(&form), "ab", &out), 0);
    ck_assert_uint_eq(out.n, 0);
    ck_assert_int_eq(oauth_form_get(bytes_str(&form), "b", &out), 0);
    ck_assert_str_eq(c_of(&out), "x y&=+%");
    ck_assert_int_eq(oauth_form_get(bytes_str(&form), "c", &out),
                     MORTISE_S_NOTFOUND);
    ck_assert_int_eq(oauth_form_get(z("a=1&a=1"), "a", &out),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(oauth_form_get(z("a=%"), "a", &out), MORTISE_S_INVALID);
    ck_assert_int_eq(oauth_form_get(z("a=%4"), "a", &out), MORTISE_S_INVALID);
    ck_assert_int_eq(oauth_form_get(z("a=%zz"), "a", &out), MORTISE_S_INVALID);
    ck_assert_int_eq(oauth_form_get(z(""), "a", &out), MORTISE_S_NOTFOUND);
    ck_assert_int_eq(oauth_form_get(z("&&a&=&"), "a", &out),
                     MORTISE_S_NOTFOUND);
    ck_assert_str_eq(c_of(&out), "x y&=+%"); /* what failed left it as it was */
    bytes_free(&form);
    bytes_free(&out);
}
END_TEST

/* ---- the challenge ------------------------------------------------------- */

static const struct {
    const char *header, *metadata, *scope, *error;
    int is_bearer;
} challenges[] = {
    {"Bearer resource_metadata=\"https://a/x\", scope=\"a b\"", "https://a/x",
     "a b", "", 1},
    {"bearer error=insufficient_scope,scope=\"c\"", "", "c",
     "insufficient_scope", 1},
    {"Bearer", "", "", "", 1},
    {"Basic realm=\"a, Bearer scope=\\\"x\\\"\", Bearer scope=\"y\"", "", "y",
     "", 1},
    {"Basic scope=\"x\"", "", "", "", 0},
    {"Negotiate abc/==, Bearer scope=\"y\"", "", "y", "", 1},
    {"Bearer scope=\"y\", Basic scope=\"z\"", "", "y", "", 1},
    {"Bearer SCOPE = \"y\"", "", "y", "", 1},
    {"Bearer scope=\"a\\\"b\\\\\"", "", "a\"b\\", "", 1},
    {"Bearer scope=\"a\", scope=\"b\"", "", "a", "", 1},
    {"Bearer scope=\"a\", Bearer scope=\"b\", error=\"e\"", "", "a", "e", 1},
    {"Bearer realm=\"x\" scope=\"a\"", "", "a", "", 1}, /* no comma */
    {"Bearer scope=\"a", "", "", "", 1},
    {"Bearer scope=\"a\\", "", "", "", 1},
    {"Bearer scope=", "", "", "", 1},
    {"Bearer scope=\"a\x01\"", "", "", "", 1},
    {"Bearer scope=\"a\", \"", "", "a", "", 1},
    {"Bearer error=\"e\", =\"x\", scope=\"a\"", "", "", "e", 1},
    {"", "", "", "", 0},
    {",,, ,", "", "", "", 0},
    {"\"Bearer\" scope=\"a\"", "", "", "", 0},
};

/* Whatever stands in it, cut at any byte, nothing is read beyond it. */
START_TEST(challenged)
{
    size_t n = strlen(challenges[_i].header);

    for (size_t cut = 0; cut <= n; cut++) {
        struct oauth_challenge c = {.is_bearer = 0};
        char *copy = malloc(cut + 1);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, challenges[_i].header, cut);
        ck_assert_int_eq(oauth_challenge_read(mortise_strn(copy, cut), &c), 0);
        if (cut == n) {
            ck_assert_str_eq(c_of(&c.resource_metadata),
                             challenges[_i].metadata);
            ck_assert_str_eq(c_of(&c.scope), challenges[_i].scope);
            ck_assert_str_eq(c_of(&c.error), challenges[_i].error);
            ck_assert_int_eq(c.is_bearer, challenges[_i].is_bearer);
        }
        oauth_challenge_free(&c);
        free(copy);
    }
}
END_TEST

/* ---- places and scopes --------------------------------------------------- */

/* Where metadata is looked for, in this order. */
START_TEST(places)
{
    static const char *const resource[] = {
        "https://a/.well-known/oauth-protected-resource/public/mcp",
        "https://a/.well-known/oauth-protected-resource"};
    static const char *const issuer[] = {
        "https://i/.well-known/oauth-authorization-server/t",
        "https://i/.well-known/openid-configuration/t",
        "https://i/t/.well-known/openid-configuration"};
    struct bytes out = {0};
    struct oauth_url u;

    ck_assert_int_eq(oauth_url_read(z("https://a/public/mcp/"), &u), 0);
    for (unsigned i = 0; i < 2; i++, out.n = 0) {
        ck_assert_int_eq(oauth_resource_place(&u, z(""), i, &out), 0);
        ck_assert_str_eq(c_of(&out), resource[i]);
    }
    ck_assert_int_eq(oauth_resource_place(&u, z(""), 2, &out),
                     MORTISE_S_NOTFOUND);
    ck_assert_int_eq(oauth_resource_place(&u, z("https://b"), 0, &out), 0);
    ck_assert_str_eq(c_of(&out), "https://b");
    ck_assert_int_eq(oauth_resource_place(&u, z("https://b"), 1, &out),
                     MORTISE_S_NOTFOUND);
    ck_assert_int_eq(oauth_url_read(z("https://a/"), &u), 0);
    ck_assert_int_eq(oauth_resource_place(&u, z(""), 1, &out),
                     MORTISE_S_NOTFOUND);
    out.n = 0;
    for (unsigned i = 0; i < 3; i++, out.n = 0) {
        ck_assert_int_eq(oauth_issuer_place(z("https://i/t"), i, &out), 0);
        ck_assert_str_eq(c_of(&out), issuer[i]);
    }
    ck_assert_int_eq(oauth_issuer_place(z("https://i"), 2, &out),
                     MORTISE_S_NOTFOUND);
    ck_assert_int_eq(oauth_issuer_place(z("nobody"), 0, &out),
                     MORTISE_S_INVALID);
    bytes_free(&out);
}
END_TEST

/* A set has each name once, and no name that is none. */
START_TEST(scopes)
{
    struct bytes set = {0};
    char *many = malloc(3 * OAUTH_TEXT_MAX + 1);

    ck_assert_int_eq(oauth_scope_join(&set, z("  a b  a \"q\" c\xc3\xa4 d")),
                     0);
    ck_assert_str_eq(c_of(&set), "a b d");
    ck_assert_int_eq(
        oauth_scope_join_list(
            &set, mortise_jv_of(z("[\"e\",7,\"a\",\"x y\",\"\",null]"))),
        0);
    ck_assert_str_eq(c_of(&set), "a b d e");
    ck_assert_int_eq(oauth_scope_join_list(&set, mortise_jv_of(z("\"f\""))), 0);
    ck_assert_int_eq(oauth_scope_join_list(&set, mortise_jv_none()), 0);
    ck_assert(oauth_scope_has(bytes_str(&set), z("d")));
    ck_assert(!oauth_scope_has(bytes_str(&set), z("de")));
    ck_assert(!oauth_scope_exceeds(z("a e"), bytes_str(&set)));
    ck_assert(oauth_scope_exceeds(z("a f"), bytes_str(&set)));
    ck_assert_ptr_nonnull(many);
    for (size_t i = 0; i < OAUTH_TEXT_MAX; i++)
        snprintf(many + 3 * i, 4, "%02x ", (unsigned)(i % 256));
    ck_assert_int_eq(
        oauth_scope_join(&set, mortise_strn(many, 3 * OAUTH_TEXT_MAX - 1)), 0);
    ck_assert_uint_lt(set.n, OAUTH_TEXT_MAX);
    free(many);
    bytes_free(&set);
}
END_TEST

/* ---- requests ------------------------------------------------------------ */

/* The example of RFC 7636, appendix B. */
START_TEST(pkce)
{
    char challenge[OAUTH_RANDOM + 1] = "", one[OAUTH_RANDOM],
                                  other[OAUTH_RANDOM];

    oauth_s256(z("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), challenge);
    ck_assert_str_eq(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    oauth_random(one);
    oauth_random(other);
    ck_assert_mem_ne(one, other, OAUTH_RANDOM);
    for (int i = 0; i < OAUTH_RANDOM; i++)
        ck_assert_ptr_nonnull(
            strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                   "qrstuvwxyz0123456789-_",
                   one[i]));
}
END_TEST

/* The two ways of a secret, and none. */
START_TEST(proofs)
{
    struct bytes form = {0}, header = {0};

    ck_assert_int_eq(
        oauth_prove(OAUTH_BASIC, z("a:b"), z("c d%"), &form, &header), 0);
    ck_assert_uint_eq(form.n, 0);
    ck_assert_str_eq(c_of(&header), "Basic YSUzQWI6YyUyMGQlMjU=");
    header.n = 0;
    ck_assert_int_eq(
        oauth_prove(OAUTH_POST, z("a:b"), z("c d"), &form, &header), 0);
    ck_assert_str_eq(c_of(&form), "client_id=a%3Ab&client_secret=c%20d");
    form.n = 0;
    ck_assert_int_eq(oauth_prove(OAUTH_NONE, z("a"), z("c"), &form, &header),
                     0);
    ck_assert_str_eq(c_of(&form), "client_id=a");
    ck_assert_uint_eq(header.n, 0);
    bytes_free(&form);
    bytes_free(&header);
}
END_TEST

/* ---- the redirect -------------------------------------------------------- */

#define AT "http://127.0.0.1:8484/callback?"

static const struct {
    const char *address;
    int iss_required;
    const char *code; /* NULL: refused */
    const char *said;
} redirects[] = {
    {AT "code=c%2F1&state=S", 0, "c/1", ""},
    {"  " AT "code=c&state=S#x\n", 0, "c", ""},
    {"code=c&state=S", 0, "c", ""}, /* the half of it, copied */
    {AT "code=c&state=S&iss=https%3A%2F%2Fi", 1, "c", ""},
    {AT "code=c&state=S&iss=https%3A%2F%2Fi", 0, "c", ""},
    {AT "code=c&state=S", 1, NULL, ""},
    {AT "code=c&state=S&iss=https%3A%2F%2Fi%2F", 0, NULL, ""},
    {AT "code=c&state=S&iss=HTTPS%3A%2F%2Fi", 0, NULL, ""},
    {AT "code=c&state=S&iss=", 0, NULL, ""},
    {AT "code=c&state=S&iss=https%3A%2F%2Fi&iss=https%3A%2F%2Fi", 0, NULL, ""},
    {AT "code=c&state=T", 0, NULL, ""},
    {AT "code=c&state=", 0, NULL, ""},
    {AT "code=c", 0, NULL, ""},
    {AT "code=c&state=S&state=S", 0, NULL, ""},
    {AT "code=c&code=d&state=S", 0, NULL, ""},
    {AT "code=&state=S", 0, NULL, ""},
    {AT "state=S", 0, NULL, ""},
    {AT "error=access_denied&state=S", 0, NULL, "access_denied"},
    {AT "error=access_denied&state=T", 0, NULL, ""},
    {AT "error=access_denied&state=S&iss=https%3A%2F%2Fj", 0, NULL, ""},
    {AT "error=access_denied&state=S", 1, NULL, ""},
    {AT "error=%1b%5b31m&state=S", 0, NULL, ""},
    {AT "error=access_denied&code=c&state=S", 0, NULL, ""},
    {"", 0, NULL, ""},
    {"?", 0, NULL, ""},
    {"#", 0, NULL, ""},
};

/* Whose answer it is comes ahead of what it is. */
START_TEST(redirect)
{
    struct oauth_expected e = {z("S"), z("https://i"),
                               redirects[_i].iss_required};
    struct bytes code = {0}, said = {0};
    const char *wrong =
        oauth_redirect_read(z(redirects[_i].address), &e, &code, &said);

    ck_assert_int_eq(wrong == NULL, redirects[_i].code != NULL);
    if (wrong == NULL)
        ck_assert_str_eq(c_of(&code), redirects[_i].code);
    else
        ck_assert_uint_eq(code.n, 0);
    ck_assert_str_eq(c_of(&said), redirects[_i].said);
    bytes_free(&code);
    bytes_free(&said);
}
END_TEST

/* ---- the steps ----------------------------------------------------------- */

/* What the world answers: of the first whose method and URL are asked. */
struct answer {
    const char *method, *url;
    int status;
    const char *body;
    const char *form; /* a part that what is sent has; NULL: whatever */
};

static struct oauth flow;
static struct oauth_keep keep;
static char seen[4096]; /* "METHOD URL\n" of each */
static char sent[4096]; /* the last body */
static char proof[256]; /* the last Authorization */

static enum oauth_act drive(enum oauth_act act, const struct answer *world)
{
    for (int i = 0; act == OAUTH_SEND; i++) {
        const char *url = c_of(&flow.request.url);
        const struct answer *a = world;

        ck_assert_int_lt(i, 20);
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s %s\n",
                 flow.request.method, url);
        snprintf(sent, sizeof sent, "%s", c_of(&flow.request.body));
        snprintf(proof, sizeof proof, "%s", c_of(&flow.request.authorization));
        while (a->method != NULL &&
               (strcmp(a->method, flow.request.method) || strcmp(a->url, url)))
            a++;
        if (a->method != NULL && a->form != NULL)
            ck_assert_ptr_nonnull(strstr(sent, a->form));
        act = a->method != NULL ? oauth_answered(&flow, a->status, z(a->body))
                                : oauth_answered(&flow, 404, z("<html>"));
    }
    return act;
}

static void clear(void)
{
    oauth_finish(&flow);
    seen[0] = sent[0] = proof[0] = '\0';
}

static struct oauth_setup setup_of(const char *auth)
{
    struct oauth_setup s = {.name = "remote", .server = z("https://m/mcp")};

    if (auth != NULL)
        s.auth = mortise_jv_of(z(auth));
    return s;
}

#define PRM  "https://m/.well-known/oauth-protected-resource/mcp"
#define ASM  "https://i/.well-known/oauth-authorization-server"
#define AUTH "{\"issuers\":[\"https://i\"]}"
#define RESOURCE                                                               \
    "{\"resource\":\"https://m/mcp\",\"authorization_servers\":[\"https://"    \
    "i\"]"
#define SERVER(more)                                                           \
    "{\"issuer\":\"https://i\",\"authorization_endpoint\":\"https://i/"        \
    "authorize\",\"token_endpoint\":\"https://i/token\"," more                 \
    "\"code_challenge_methods_supported\":[\"S256\"]}"
#define REGISTERS "\"registration_endpoint\":\"https://i/register\","
#define TOKEN                                                                  \
    "{\"access_token\":\"T1\",\"token_type\":\"bearer\",\"refresh_token\":"    \
    "\"R1\"}"

static const struct answer usual[] = {
    {"GET", PRM, 200, RESOURCE "}", NULL},
    {"GET", ASM, 200, SERVER(REGISTERS), NULL},
    {"POST", "https://i/register", 201, "{\"client_id\":\"dyn\"}",
     "\"application_type\":\"native\""},
    {"POST", "https://i/token", 200, TOKEN, "resource=https%3A%2F%2Fm%2Fmcp"},
    {NULL, NULL, 0, NULL, NULL}};

/* A member of the consent, or of the address in it. */
static const char *consented(const char *name)
{
    static struct bytes out;
    mortise_jv c = mortise_jv_of(bytes_str(&flow.consent));

    out.n = 0;
    ck_assert_int_eq(bytes_decode(&out, mortise_jv_get(c, name)), 0);
    return c_of(&out);
}

static const char *asked(const char *name)
{
    struct bytes url = {0}, out = {0};
    mortise_jv c = mortise_jv_of(bytes_str(&flow.consent));
    struct oauth_url u;
    const char *text = "";

    ck_assert_int_eq(bytes_decode(&url, mortise_jv_get(c, "url")), 0);
    ck_assert_int_eq(oauth_url_read(bytes_str(&url), &u), 0);
    if (oauth_form_get(u.query, name, &out) == MORTISE_S_OK)
        text = c_of(&out);
    bytes_free(&url);
    bytes_free(&out);
    return text;
}

/* The consent, and the answer with that state and more. */
static char kept[4096], person[512];

static void answer_with(const char *state, const char *more)
{
    snprintf(kept, sizeof kept, "%s", c_of(&flow.consent));
    snprintf(person, sizeof person,
             "{\"redirect\":\"" AT "code=c1&state=%s%s\"}",
             state != NULL ? state : consented("state"), more);
}

/* From a refusal to a token, over a person who answers another process. */
START_TEST(whole)
{
    struct oauth_setup s = setup_of(AUTH);
    char verifier[64], challenge[OAUTH_RANDOM + 1] = "";

    ck_assert_int_eq(
        drive(oauth_begin(&flow, &s, &keep, z("Bearer scope=\"a b\"")), usual),
        OAUTH_ASK);
    ck_assert_str_eq(seen,
                     "GET " PRM "\nGET " ASM "\nPOST https://i/register\n");
    ck_assert_str_eq(asked("response_type"), "code");
    ck_assert_str_eq(asked("client_id"), "dyn");
    ck_assert_str_eq(asked("redirect_uri"), "http://127.0.0.1:8484/callback");
    ck_assert_str_eq(asked("scope"), "a b");
    ck_assert_str_eq(asked("resource"), "https://m/mcp");
    ck_assert_str_eq(asked("code_challenge_method"), "S256");
    ck_assert_str_eq(asked("state"), consented("state"));
    snprintf(verifier, sizeof verifier, "%s", consented("verifier"));
    oauth_s256(z(verifier), challenge);
    ck_assert_str_eq(asked("code_challenge"), challenge);
    answer_with(NULL, "");
    clear();
    oauth_keep_free(&keep); /* as in another process */
    ck_assert_int_eq(
        drive(oauth_redeem(&flow, &s, &keep, z(kept), z(person)), usual),
        OAUTH_DONE);
    ck_assert_str_eq(seen, "POST https://i/token\n");
    ck_assert_ptr_nonnull(
        strstr(sent, "grant_type=authorization_code&code=c1"));
    ck_assert_ptr_nonnull(strstr(sent, verifier));
    ck_assert_ptr_nonnull(strstr(sent, "client_id=dyn"));
    ck_assert_str_eq(c_of(&keep.access), "T1");
    ck_assert_str_eq(c_of(&keep.refresh), "R1");
    clear();
    ck_assert_int_eq(drive(oauth_renew(&flow, &s, &keep), usual), OAUTH_DONE);
    ck_assert_ptr_nonnull(
        strstr(sent, "grant_type=refresh_token&refresh_token=R1"));
}
END_TEST

/* Nothing of a consent is a token, or a secret. */
START_TEST(consents)
{
    static const struct answer world[] = {
        {"GET", PRM, 200, RESOURCE "}", NULL},
        {"GET", ASM, 200,
         SERVER(REGISTERS "\"token_endpoint_auth_methods_supported\":"
                          "[\"client_secret_basic\"],"),
         NULL},
        {"POST", "https://i/register", 201,
         "{\"client_id\":\"dyn\",\"client_secret\":\"SECRET\"}",
         "client_secret_basic"},
        {"POST", "https://i/token", 200, TOKEN, NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s = setup_of(AUTH);

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), world),
                     OAUTH_ASK);
    ck_assert_ptr_null(strstr(c_of(&flow.consent), "SECRET"));
    answer_with(NULL, "");
    clear();
    ck_assert_int_eq(
        drive(oauth_redeem(&flow, &s, &keep, z(kept), z(person)), world),
        OAUTH_DONE);
    ck_assert_str_eq(proof, "Basic ZHluOlNFQ1JFVA==");
    clear();
    oauth_keep_free(&keep); /* the secret is gone: all begins anew */
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z(kept), z(person)),
                     OAUTH_FAILED);
    ck_assert_int_eq(flow.again, 1);
}
END_TEST

/* Another's answer is none, and nothing is sent because of it. */
START_TEST(strangers)
{
    struct oauth_setup s = setup_of(AUTH), other = setup_of("{}");

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                     OAUTH_ASK);
    answer_with("another", "");
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z(kept), z(person)),
                     OAUTH_FAILED);
    ck_assert_int_eq(flow.again, 0);
    clear();
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                     OAUTH_ASK);
    answer_with(NULL, "&iss=https%3A%2F%2Fj");
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z(kept), z(person)),
                     OAUTH_FAILED);
    ck_assert_ptr_nonnull(strstr(flow.words, "another authorization server"));
    clear();
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                     OAUTH_ASK);
    answer_with(NULL, "");
    clear();
    /* the deployment does not have that issuer any more */
    ck_assert_int_eq(oauth_redeem(&flow, &other, &keep, z(kept), z(person)),
                     OAUTH_FAILED);
    ck_assert_ptr_nonnull(strstr(flow.words, "tools.mcp.remote.auth.issuers"));
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z("{}"), z(person)),
                     OAUTH_FAILED);
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z("x"), z("")),
                     OAUTH_FAILED);
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z(kept), z("{}")),
                     OAUTH_FAILED);
    ck_assert_int_eq(flow.again, 1);
}
END_TEST

static const struct {
    const char *auth; /* NULL: none */
    const char *resource, *server;
    const char *words; /* a part of the failure's; NULL: a person is asked */
} discoveries[] = {
    {AUTH, RESOURCE "}", SERVER(REGISTERS), NULL},
    {NULL, RESOURCE "}", SERVER(REGISTERS), "auth: {issuers: [https://i]}"},
    {"{}", RESOURCE "}", SERVER(REGISTERS),
     "add \"https://i\" to tools.mcp.remote.auth.issuers"},
    {"{\"issuers\":[\"https://i private\"]}", RESOURCE "}", SERVER(REGISTERS),
     NULL},
    {"{\"issuers\":[\"https://i.evil\",\"http://i\",7]}", RESOURCE "}",
     SERVER(REGISTERS), "add \"https://i\""},
    /* of the resource */
    {AUTH,
     "{\"resource\":\"https://m/other\",\"authorization_servers\":["
     "\"https://i\"]}",
     SERVER(REGISTERS), "another resource"},
    {AUTH, "{\"authorization_servers\":[\"https://i\"]}", SERVER(REGISTERS),
     "another resource"},
    {AUTH,
     "{\"resource\":\"https://m\",\"authorization_servers\":["
     "\"https://k\",\"https://i\"]}",
     SERVER(REGISTERS), NULL},
    /* of the issuer */
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i/\",\"token_endpoint\":\"https://i/token\"}",
     "another issuer"},
    {AUTH, RESOURCE "}", "{\"issuer\":\"https://i\"}", "no token_endpoint"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "no authorization_endpoint"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"authorization_endpoint\":\"https://i/a\","
     "\"code_challenge_methods_supported\":[\"plain\"]}",
     "S256"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://j/token\","
     "\"authorization_endpoint\":\"https://i/a\"," REGISTERS
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "the token endpoint of remote is at https://j"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"authorization_endpoint\":\"http://j/a\"," REGISTERS
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "the authorization endpoint of remote is at http://j"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"authorization_endpoint\":\"https://j/a\"," REGISTERS
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "the authorization endpoint of remote is at https://j"},
    /* the server's own is none of those that are listed */
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://m/token\","
     "\"authorization_endpoint\":\"https://i/a\"," REGISTERS
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "the token endpoint of remote is at https://m"},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"authorization_endpoint\":\"https://i/a\","
     "\"registration_endpoint\":\"https://m/register\","
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "the registration endpoint of remote is at https://m"},
    {AUTH,
     "{\"resource\":\"https://m/mcp\",\"authorization_servers\":["
     "\"https://m\"]}",
     SERVER(REGISTERS), "the authorization server of remote is at https://m"},
    {AUTH, "[]", SERVER(REGISTERS),
     "the authorization server of remote is at https://m"},
    {"{\"issuers\":[]}", RESOURCE "}", SERVER(REGISTERS), "add \"https://i\""},
    {AUTH, RESOURCE "}",
     "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
     "\"authorization_endpoint\":\"javascript:alert(1)\","
     "\"code_challenge_methods_supported\":[\"S256\"]}",
     "no authorization_endpoint"},
    {AUTH, RESOURCE "}", SERVER(""), "does not register clients"},
    {AUTH, RESOURCE "}", "[]", "no metadata of an authorization server"},
    {"{\"issuers\":[\"https://i\"],\"client_id\":\"me\"}", RESOURCE "}",
     SERVER(""), NULL},
    {"{\"issuers\":[\"https://i\"],\"grant\":\"client_credentials\"}",
     RESOURCE "}", SERVER(""), "client_id and client_secret"},
};

/* What holds is used, what does not ends it, and says what to do. */
START_TEST(discovery)
{
    const struct answer world[] = {
        {"GET", PRM, 200, discoveries[_i].resource, NULL},
        {"GET", ASM, 200, discoveries[_i].server, NULL},
        {"POST", "https://i/register", 201, "{\"client_id\":\"dyn\"}", NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s = setup_of(discoveries[_i].auth);
    enum oauth_act act = drive(oauth_begin(&flow, &s, &keep, z("")), world);

    if (discoveries[_i].words == NULL) {
        ck_assert_msg(act == OAUTH_ASK, "%s", flow.words);
        return;
    }
    ck_assert_int_eq(act, OAUTH_FAILED);
    ck_assert_msg(strstr(flow.words, discoveries[_i].words) != NULL, "%s",
                  flow.words);
}
END_TEST

static const struct {
    const char *auth, *location, *to; /* NULL: it is not followed */
    int status, at_issuer;
} moves[] = {
    {AUTH, "/x?y", "https://m/x?y", 302, 0},
    {AUTH, "https://m/x", "https://m/x", 307, 0},
    {AUTH, "https://i/x", "https://i/x", 301, 0},
    {AUTH, "https://j/x", NULL, 302, 0},
    {AUTH, "http://m/x", NULL, 302, 0},
    {AUTH, "//j/x", NULL, 302, 0},
    {AUTH, "x", NULL, 302, 0},
    {AUTH, "", NULL, 302, 0},
    {AUTH, "https://m@j/x", NULL, 302, 0},
    {AUTH, "/x", NULL, 304, 0},
    {AUTH, "/x", NULL, 200, 0},
    {"{}", "https://i/x", NULL, 302, 0},
    {AUTH, "/x", "https://i/x", 308, 1},
    {AUTH, "https://i:443/x", "https://i:443/x", 303, 1},
    {AUTH, "https://m/x", NULL, 302, 1},
    {AUTH, "https://i.evil/x", NULL, 302, 1},
};

/* A document that is elsewhere is asked for there if that may be asked, and so
 * often; what is not followed is not there. */
START_TEST(documents_that_moved)
{
    struct oauth_setup s = setup_of(moves[_i].auth);
    enum oauth_act act = oauth_begin(&flow, &s, &keep, z(""));
    int follows = moves[_i].to != NULL, n = 0;

    if (moves[_i].at_issuer)
        act = oauth_answered(&flow, 200, z(RESOURCE "}"));
    ck_assert_int_eq(act, OAUTH_SEND);
    ck_assert_int_eq(
        oauth_follow(&flow, moves[_i].status, z(moves[_i].location)), follows);
    if (!follows)
        return;
    ck_assert_str_eq(c_of(&flow.request.url), moves[_i].to);
    ck_assert_str_eq(flow.request.method, "GET");
    while (oauth_follow(&flow, moves[_i].status, z(moves[_i].location)))
        ck_assert_int_lt(++n, OAUTH_MOVES);
    ck_assert_int_eq(n, OAUTH_MOVES - 1);
    ck_assert_int_eq(oauth_answered(&flow, 302, z("")), OAUTH_SEND);
    ck_assert_str_ne(c_of(&flow.request.url), moves[_i].to);
}
END_TEST

/* Neither a registration nor a token is asked for anywhere else. */
START_TEST(tokens_do_not_move)
{
    struct oauth_setup s = setup_of(AUTH);

    ck_assert_int_eq(oauth_begin(&flow, &s, &keep, z("")), OAUTH_SEND);
    oauth_answered(&flow, 200, z(RESOURCE "}"));
    oauth_answered(&flow, 200, z(SERVER(REGISTERS)));
    ck_assert_int_eq(flow.stage, OAUTH_REGISTER);
    ck_assert_int_eq(oauth_follow(&flow, 307, z("/x")), 0);
    ck_assert_int_eq(oauth_answered(&flow, 201, z("{\"client_id\":\"dyn\"}")),
                     OAUTH_ASK);
    answer_with(NULL, "");
    clear();
    ck_assert_int_eq(oauth_redeem(&flow, &s, &keep, z(kept), z(person)),
                     OAUTH_SEND);
    ck_assert_int_eq(oauth_follow(&flow, 307, z("/x")), 0);
    ck_assert_int_eq(oauth_follow(&flow, 302, z("https://i/x")), 0);
    ck_assert_int_eq(oauth_answered(&flow, 307, z("")), OAUTH_FAILED);
}
END_TEST

/* Without any metadata it is as in 2025-03-26; a server that names its
 * authorization server has no such way. */
START_TEST(fallback)
{
    static const struct answer world[] = {
        {"POST", "https://m/register", 200, "{\"client_id\":\"d\"}", NULL},
        {"POST", "https://m/token", 200, TOKEN, NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s = setup_of("{}");

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), world),
                     OAUTH_ASK);
    ck_assert_str_eq(seen,
                     "GET " PRM "\nGET https://m/.well-known/"
                     "oauth-protected-resource\nGET https://m/.well-known/"
                     "oauth-authorization-server\nGET https://m/.well-known/"
                     "openid-configuration\nPOST https://m/register\n");
    ck_assert_str_eq(asked("resource"), "https://m/mcp");
    ck_assert_ptr_nonnull(
        strstr(consented("url"), "https://m/authorize?response_type=code"));
    clear();
    oauth_keep_free(&keep);
    /* ... also where it is listed, among others */
    s = setup_of("{\"issuers\":[\"https://i\",\"https://m\"]}");
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), world),
                     OAUTH_ASK);
    ck_assert_ptr_nonnull(
        strstr(consented("url"), "https://m/authorize?response_type=code"));
}
END_TEST

/* What was kept of an endpoint that is listed no more is not renewed there. */
START_TEST(renewed_elsewhere)
{
    struct oauth_setup s = setup_of("{\"issuers\":[\"https://k\"]}");

    s.secret = z("hush");
    ck_assert_int_eq(bytes_put(&keep.issuer, z("https://i")), 0);
    ck_assert_int_eq(bytes_put(&keep.endpoint, z("https://m/token")), 0);
    ck_assert_int_eq(bytes_put(&keep.refresh, z("R1")), 0);
    ck_assert_int_eq(oauth_renew(&flow, &s, &keep), OAUTH_FAILED);
    ck_assert_int_eq(flow.again, 1);
}
END_TEST

/* Scopes: what was asked for, and said, and challenged; else what is listed. */
START_TEST(which_scopes)
{
    static const struct answer world[] = {
        {"GET", PRM, 200, RESOURCE ",\"scopes_supported\":[\"l\",\"m\"]}",
         NULL},
        {"GET", ASM, 200,
         SERVER(REGISTERS "\"scopes_supported\":[\"l\",\"offline_access\"],"),
         NULL},
        {"POST", "https://i/register", 201, "{\"client_id\":\"dyn\"}", NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s = setup_of(AUTH);

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("Bearer")), world),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("scope"), "l m offline_access");
    clear();
    ck_assert_int_eq(bytes_put(&keep.scope, z("a b")), 0);
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep,
                                       z("Bearer error=\"insufficient_scope\", "
                                         "scope=\"b c\"")),
                           world),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("scope"), "a b c offline_access");
    clear();
    keep.scope.n = 0;
    s = setup_of("{\"issuers\":[\"https://i\"],\"scopes\":[\"x\"]}");
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("Bearer")), world),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("scope"), "x offline_access");
    clear();
    s = setup_of(AUTH);
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("Bearer")), usual),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("scope"), "");
}
END_TEST

/* Who we are: what the deployment says, then the address of our metadata, then
 * what a server registers; that one at its issuer alone. */
START_TEST(clients)
{
    static const struct answer world[] = {
        {"GET", PRM, 200, RESOURCE "}", NULL},
        {"GET", ASM, 200,
         SERVER(REGISTERS "\"client_id_metadata_document_supported\":true,"),
         NULL},
        {"POST", "https://i/register", 201, "{\"client_id\":\"dyn\"}", NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s =
        setup_of("{\"issuers\":[\"https://"
                 "i\"],\"client_metadata_url\":\"https://c/m\"}");

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), world),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("client_id"), "https://c/m");
    ck_assert_ptr_null(strstr(seen, "register"));
    clear();
    s = setup_of("{\"issuers\":[\"https://i\"],\"client_id\":\"me\","
                 "\"client_metadata_url\":\"https://c/m\"}");
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), world),
                     OAUTH_ASK);
    ck_assert_str_eq(asked("client_id"), "me");
    clear();
    s = setup_of(AUTH);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                         OAUTH_ASK);
        ck_assert_int_eq(strstr(seen, "register") != NULL, i == 0);
        clear();
    }
    keep.client_issuer.n = 0;
    ck_assert_int_eq(bytes_put(&keep.client_issuer, z("https://j")), 0);
    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                     OAUTH_ASK);
    ck_assert_ptr_nonnull(strstr(seen, "register"));
}
END_TEST

/* A grant without a person: with its secret, as the server takes it. */
START_TEST(client_credentials)
{
    static const struct answer world[] = {
        {"GET", PRM, 200, RESOURCE "}", NULL},
        {"GET", ASM, 200,
         "{\"issuer\":\"https://i\",\"token_endpoint\":\"https://i/token\","
         "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]}",
         NULL},
        {"POST", "https://i/token", 200,
         "{\"access_token\":\"T\",\"token_type\":\"Bearer\"}",
         "grant_type=client_credentials&scope=s&resource="},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s =
        setup_of("{\"issuers\":[\"https://i\"],\"client_id\":\"me\",\"grant\":"
                 "\"client_credentials\"}");

    s.secret = z("hush");
    ck_assert_int_eq(
        drive(oauth_begin(&flow, &s, &keep, z("Bearer scope=\"s\"")), world),
        OAUTH_DONE);
    ck_assert_ptr_nonnull(strstr(sent, "client_id=me&client_secret=hush"));
    ck_assert_str_eq(c_of(&keep.access), "T");
}
END_TEST

static const struct {
    int status;
    const char *body;
    int again, transient;
} tokens[] = {
    {400, "{\"error\":\"invalid_grant\"}", 1, 0},
    {400, "{\"error\":\"invalid_request\"}", 0, 0},
    {401, "{\"error\":\"invalid_client\"}", 1, 0},
    {503, "", 0, 1},
    {200, "", 0, 0},
    {200, "{}", 0, 0},
    {200, "{\"access_token\":7}", 0, 0},
    {200, "{\"access_token\":\"\"}", 0, 0},
    {200, "{\"access_token\":\"T\",\"token_type\":\"DPoP\"}", 0, 0},
    {200, "{\"access_token\":\"a b\",\"token_type\":\"bearer\"}", 0, 0},
    {200, "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"bearer\"}", 0, 0},
    {302, "{\"access_token\":\"T\",\"token_type\":\"bearer\"}", 0, 0},
};

/* What is no token is none, and which failure begins it all anew. */
START_TEST(no_tokens)
{
    const struct answer world[] = {
        {"POST", "https://i/token", tokens[_i].status, tokens[_i].body, NULL},
        {NULL, NULL, 0, NULL, NULL}};
    struct oauth_setup s = setup_of(AUTH);

    ck_assert_int_eq(drive(oauth_begin(&flow, &s, &keep, z("")), usual),
                     OAUTH_ASK);
    answer_with(NULL, "");
    clear();
    ck_assert_int_eq(
        drive(oauth_redeem(&flow, &s, &keep, z(kept), z(person)), world),
        OAUTH_FAILED);
    ck_assert_int_eq(flow.again, tokens[_i].again);
    ck_assert_int_eq(flow.transient, tokens[_i].transient);
    ck_assert_uint_eq(keep.access.n, 0);
}
END_TEST

/* Three times for one request, of which the first has no token yet. */
START_TEST(attempts)
{
    for (int i = 0; i < 5; i++)
        ck_assert(oauth_try(&keep, z("tools/call a")));
    ck_assert_int_eq(bytes_put(&keep.access, z("T")), 0);
    ck_assert(oauth_try(&keep, z("tools/call a")));
    ck_assert(oauth_try(&keep, z("tools/call a")));
    ck_assert(!oauth_try(&keep, z("tools/call a")));
    oauth_accepted(&keep, z("tools/list "));
    ck_assert(!oauth_try(&keep, z("tools/call a")));
    oauth_accepted(&keep, z("tools/call a"));
    ck_assert(oauth_try(&keep, z("tools/call a")));
    ck_assert(oauth_try(&keep, z("tools/call b")));
    oauth_in_vain(&keep);
    ck_assert(!oauth_try(&keep, z("tools/call b")));
}
END_TEST

/* What is kept for another process is all of it, but for the secrets. */
START_TEST(kept_for_others)
{
    struct oauth_setup s = setup_of(AUTH);
    struct oauth_keep other = {.attempts = 0};
    struct bytes state = {0};
    mortise_jv v;

    ck_assert_int_eq(oauth_keep_write(&keep, &state), 0);
    ck_assert_uint_eq(state.n, 0);
    ck_assert_int_eq(
        drive(oauth_begin(&flow, &s, &keep, z("Bearer scope=s")), usual),
        OAUTH_ASK);
    answer_with(NULL, "");
    clear();
    ck_assert_int_eq(
        drive(oauth_redeem(&flow, &s, &keep, z(kept), z(person)), usual),
        OAUTH_DONE);
    clear();
    ck_assert_int_eq(oauth_keep_write(&keep, &state), 0);
    ck_assert_ptr_null(strstr(c_of(&state), "T1"));
    ck_assert_ptr_null(strstr(c_of(&state), "R1"));
    ck_assert_int_eq(mortise_jv_parse(bytes_str(&state), &v), 0);
    ck_assert_int_eq(oauth_keep_read(&other, v), 0);
    ck_assert_int_eq(bytes_put(&other.refresh, z("R1")), 0);
    ck_assert_int_eq(bytes_put(&keep.refused, z("x")), 0);
    oauth_keep_adopt(&keep, &other);
    ck_assert_str_eq(c_of(&keep.refused), "x");
    ck_assert_str_eq(c_of(&keep.scope), "s");
    ck_assert_int_eq(drive(oauth_renew(&flow, &s, &keep), usual), OAUTH_DONE);
    ck_assert_ptr_nonnull(strstr(sent, "refresh_token=R1"));
    ck_assert_ptr_nonnull(strstr(sent, "client_id=dyn"));
    ck_assert_int_eq(oauth_keep_read(&other, mortise_jv_of(z("[]"))),
                     MORTISE_S_INVALID);
    oauth_keep_free(&other);
    bytes_free(&state);
}
END_TEST

static void begin(void)
{
    test_begin();
    memset(&flow, 0, sizeof flow);
    memset(&keep, 0, sizeof keep);
    seen[0] = '\0';
}

static void end(void)
{
    oauth_finish(&flow);
    oauth_keep_free(&keep);
    test_nothing_left();
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

static Suite *suite(void)
{
    Suite *suite = suite_create("mcp_oauth");
    TCase *tc = tcase_create("texts");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, addresses, 0, COUNT(urls));
    tcase_add_loop_test(tc, covering, 0, COUNT(covers));
    tcase_add_test(tc, forms);
    tcase_add_loop_test(tc, challenged, 0, COUNT(challenges));
    tcase_add_test(tc, places);
    tcase_add_test(tc, scopes);
    tcase_add_test(tc, pkce);
    tcase_add_test(tc, proofs);
    tcase_add_loop_test(tc, redirect, 0, COUNT(redirects));
    suite_add_tcase(suite, tc);
    tc = tcase_create("steps");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, whole);
    tcase_add_test(tc, consents);
    tcase_add_test(tc, strangers);
    tcase_add_loop_test(tc, discovery, 0, COUNT(discoveries));
    tcase_add_loop_test(tc, documents_that_moved, 0, COUNT(moves));
    tcase_add_test(tc, tokens_do_not_move);
    tcase_add_test(tc, fallback);
    tcase_add_test(tc, renewed_elsewhere);
    tcase_add_test(tc, which_scopes);
    tcase_add_test(tc, clients);
    tcase_add_test(tc, client_credentials);
    tcase_add_loop_test(tc, no_tokens, 0, COUNT(tokens));
    tcase_add_test(tc, attempts);
    tcase_add_test(tc, kept_for_others);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
