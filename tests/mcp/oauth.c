/* oauth.c -- an authorization server beside the MCP server, of one port with it.
 *
 * With `--auth WORDS` /mcp wants a bearer token that was given out here.
 * Registered from the beginning: client `known` with the secret
 * `hunter2hunter2`, for any redirect URI.  A person who is asked agrees at once:
 * /authorize answers with a redirect.  What a client gets wrong is in the log.
 * `POST /revoke?what=access` takes back all access tokens that were given, and
 * with `what=all` the refresh tokens, too.
 *
 * The words, with commas between; `plain` has no meaning:
 *
 *     bare             401 says nothing of where to ask
 *     oidc             the metadata is where OpenID has it
 *     no-metadata      there is none, nor of the resource (2025-03-26)
 *     resource         the resource that is described is another
 *     issuer           the metadata's issuer is another
 *     no-pkce          the metadata does not speak of PKCE
 *     no-register      clients cannot register
 *     cimd             a client's id may be the URL of what describes it
 *     basic, post, none   how clients authenticate (any, when none is named)
 *     iss-wrong        the redirect's `iss` is another
 *     iss-missing      it is promised, and missing
 *     iss              it is promised, and there
 *     state            the redirect's state is another
 *     denied           the person does not agree
 *     scope            erase wants the scope `write`: 403 without
 *     scope-endless    ... and with
 *     challenge        401 says: scope="read"
 *     no-refresh       there are no refresh tokens
 *     bad-refresh      they are refused
 *     bad-code         codes are refused
 *     moved            both documents of metadata are said to be elsewhere here
 *     moved-away       that of the server is, at another origin (localhost)
 *     token-moved      /token is
 *     same-tokens      each token is the same as the one before
 *     slow-token       /token answers with 503 the first time, and that it may be
 *                      asked after a second
 *     busy-token       ... the first six times
 *     later-token      ... each time, and after a minute */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "httpd.h"
#include "mcpd.h"

static struct grant {
    struct grant *next;
    char code[32], access[32], refresh[32];
    char *challenge, *redirect, *client, *scope;
    long long until; /* of the access token; 0: none was given */
    bool used;       /* the code */
} * grants;
static int made;
static json_t *registered; /* client id -> what it said of itself */

/* Is that among the words? */
static bool has(const char *word)
{
    size_t n = strlen(word);

    for (const char *p = mcpd.auth; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

static const char *at(const char *path)
{
    static char out[8][256];
    static unsigned turn;
    char *text = out[turn++ % 8];

    snprintf(text, sizeof out[0], "http://127.0.0.1:%d%s", http_port(), path);
    return text;
}

/* ---- forms --------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 0;
}

/* A value of x=...&y=..., decoded; NULL: there is none.  Lent for a few calls. */
static const char *field(const char *form, const char *name)
{
    static char out[16][4096];
    static unsigned turn;
    char *text = out[turn++ % 16];
    size_t n = strlen(name), k = 0;

    for (const char *p = form; p != NULL && *p != '\0';) {
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            for (p += n + 1; *p != '\0' && *p != '&' && k < 4095; p++)
                if (*p == '%' && p[1] != '\0' && p[2] != '\0') {
                    text[k++] = (char)(hex(p[1]) << 4 | hex(p[2]));
                    p += 2;
                } else {
                    text[k++] = *p == '+' ? ' ' : *p;
                }
            text[k] = '\0';
            return text;
        }
        p = strchr(p, '&');
        p = p != NULL ? p + 1 : NULL;
    }
    return NULL;
}

static void encode(char *out, size_t cap, const char *text)
{
    size_t k = 0;

    for (; *text != '\0' && k + 4 < cap; text++)
        k += (size_t)snprintf(out + k, cap - k, "%%%02X",
                              (unsigned)(unsigned char)*text);
    out[k] = '\0';
}

static void answer(const struct http *q, int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);

    http_answer(q->conn, status, "Cache-Control: no-store\r\n",
                "application/json", text);
    free(text);
    json_decref(body);
}

static void bad(const struct http *q, const char *error, const char *why)
{
    mcpd_object("%s: %s", q->path, why);
    answer(q, 400,
           json_pack("{s:s, s:s}", "error", error, "error_description", why));
}

/* ---- metadata ------------------------------------------------------------ */

static void resource(const struct http *q)
{
    answer(q, 200,
           json_pack("{s:s, s:[s], s:[s,s]}", "resource",
                     has("resource") ? "https://other.example/mcp" : at("/mcp"),
                     "authorization_servers", at(""), "scopes_supported",
                     "read", "list"));
}

static void server(const struct http *q)
{
    json_t *m =
        json_pack("{s:s, s:s, s:s, s:[s], s:[s,s,s]}", "issuer",
                  has("issuer") ? "https://other.example" : at(""),
                  "authorization_endpoint", at("/authorize"), "token_endpoint",
                  at("/token"), "response_types_supported", "code",
                  "grant_types_supported", "authorization_code",
                  "refresh_token", "client_credentials");
    json_t *how = json_array();

    if (!has("no-pkce"))
        json_object_set_new(m, "code_challenge_methods_supported",
                            json_pack("[s]", "S256"));
    if (!has("no-register"))
        json_object_set_new(m, "registration_endpoint",
                            json_string(at("/register")));
    if (has("cimd"))
        json_object_set_new(m, "client_id_metadata_document_supported",
                            json_true());
    if (has("iss") || has("iss-missing"))
        json_object_set_new(m, "authorization_response_iss_parameter_supported",
                            json_true());
    if (has("basic"))
        json_array_append_new(how, json_string("client_secret_basic"));
    if (has("post"))
        json_array_append_new(how, json_string("client_secret_post"));
    if (has("none"))
        json_array_append_new(how, json_string("none"));
    if (json_array_size(how) > 0)
        json_object_set(m, "token_endpoint_auth_methods_supported", how);
    json_decref(how);
    answer(q, 200, m);
}

/* ---- clients ------------------------------------------------------------- */

/* Who registered as a public client is one. */
static bool is_public(const json_t *said)
{
    const char *how =
        json_string_value(json_object_get(said, "token_endpoint_auth_method"));

    return has("none") || (how != NULL && strcmp(how, "none") == 0);
}

static void enroll(const struct http *q)
{
    json_t *said = json_loadb(q->body, q->n, 0, NULL), *out;
    char id[32];

    if (!json_is_array(json_object_get(said, "redirect_uris"))) {
        json_decref(said);
        bad(q, "invalid_redirect_uri", "no redirect_uris");
        return;
    }
    snprintf(id, sizeof id, "client-%d", ++made);
    if (registered == NULL)
        registered = json_object();
    json_object_set(registered, id, said);
    out = said;
    json_object_set_new(out, "client_id", json_string(id));
    if (!is_public(said)) {
        json_object_set_new(out, "client_secret", json_string("s3cr3t s3cr3t"));
        json_object_set_new(out, "client_secret_expires_at", json_integer(0));
    }
    answer(q, 201, out);
}

static const char *secret_of(const char *client)
{
    if (strcmp(client, "known") == 0)
        return "hunter2hunter2";
    return strncmp(client, "https://", 8) == 0 ||
                   is_public(json_object_get(registered, client))
               ? ""
               : "s3cr3t s3cr3t";
}

static bool is_client(const char *id)
{
    return strcmp(id, "known") == 0 ||
           (has("cimd") && strncmp(id, "https://", 8) == 0) ||
           json_object_get(registered, id) != NULL;
}

static bool may_redirect(const char *client, const char *uri)
{
    const json_t *said = json_object_get(registered, client), *one;
    size_t i;

    if (said == NULL)
        return true;
    json_array_foreach(json_object_get(said, "redirect_uris"), i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), uri) == 0)
            return true;
    }
    return false;
}

/* ---- /authorize ---------------------------------------------------------- */

static void name(char out[32], const char *kind)
{
    snprintf(out, 32, "%s-%d", kind, ++made);
}

static struct grant *grant_new(const char *client, const char *scope)
{
    struct grant *g = calloc(1, sizeof *g);

    g->client = strdup(client);
    g->scope = strdup(scope != NULL ? scope : "");
    g->next = grants;
    return grants = g;
}

static const char *or_empty(const char *s)
{
    return s != NULL ? s : "";
}

static void judge_authorize(const char *form)
{
    const char *want[][2] = {{"response_type", "code"},
                             {"code_challenge_method", "S256"},
                             {"resource", at("/mcp")}};

    for (size_t i = 0; i < 3; i++)
        if (strcmp(or_empty(field(form, want[i][0])), want[i][1]) != 0)
            mcpd_object("/authorize: %s is '%s', not '%s'", want[i][0],
                        or_empty(field(form, want[i][0])), want[i][1]);
    if (strlen(or_empty(field(form, "code_challenge"))) != 43)
        mcpd_object("/authorize: code_challenge is no SHA-256");
    if (strlen(or_empty(field(form, "state"))) < 16)
        mcpd_object("/authorize: no state to speak of");
}

static void authorize(const struct http *q)
{
    const char *form =
        strchr(q->path, '?') != NULL ? strchr(q->path, '?') + 1 : "";
    const char *client = or_empty(field(form, "client_id")),
               *uri = or_empty(field(form, "redirect_uri")),
               *state = or_empty(field(form, "state"));
    char location[4096], coded[2048];
    struct grant *g;
    size_t n;

    judge_authorize(form);
    if (!is_client(client) || !may_redirect(client, uri)) {
        bad(q, "invalid_request", "an unknown client or redirect_uri");
        return;
    }
    g = grant_new(client, field(form, "scope"));
    name(g->code, "code");
    g->challenge = strdup(or_empty(field(form, "code_challenge")));
    g->redirect = strdup(uri);
    encode(coded, sizeof coded, has("state") ? "another" : state);
    n = (size_t)snprintf(
        location, sizeof location, "Location: %s%c%s=%s&state=%s", uri,
        strchr(uri, '?') != NULL ? '&' : '?', has("denied") ? "error" : "code",
        has("denied") ? "access_denied" : g->code, coded);
    encode(coded, sizeof coded,
           has("iss-wrong") ? "https://other.example" : at(""));
    if (!has("iss-missing") && n < sizeof location)
        n += (size_t)snprintf(location + n, sizeof location - n, "&iss=%s",
                              coded);
    if (n + 3 < sizeof location)
        strcpy(location + n, "\r\n");
    http_answer(q->conn, 302, location, NULL, "");
}

/* ---- /token -------------------------------------------------------------- */

static void base64(char *out, size_t cap, const void *p, size_t n, int variant)
{
    sodium_bin2base64(out, cap, p, n, variant);
}

/* Who asks, and knows its secret; NULL: refused. */
static const char *client_at_token(const struct http *q)
{
    static char id[512], want[2048], coded[2][1100];
    const char *basic = http_header(q, "Authorization"),
               *posted = field(q->body, "client_id"),
               *secret = field(q->body, "client_secret");
    bool any = !has("basic") && !has("post") && !has("none");

    if (basic != NULL && strncmp(basic, "Basic ", 6) == 0) {
        unsigned char text[1024];
        size_t n = 0;
        char *colon;

        sodium_base642bin(text, sizeof text - 1, basic + 6, strlen(basic + 6),
                          NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL);
        text[n] = '\0';
        colon = strchr((char *)text, ':');
        if (colon == NULL || (!any && !has("basic")))
            return NULL;
        *colon = '\0';
        snprintf(coded[0], sizeof coded[0], "a=%s", (char *)text);
        snprintf(coded[1], sizeof coded[1], "a=%s", colon + 1);
        snprintf(id, sizeof id, "%s", field(coded[0], "a"));
        snprintf(want, sizeof want, "%s", field(coded[1], "a"));
        if (posted != NULL && strcmp(posted, id) != 0)
            mcpd_object("/token: two clients");
        if (secret != NULL)
            mcpd_object("/token: a secret in the header and in the body");
        return strcmp(want, secret_of(id)) == 0 ? id : NULL;
    }
    snprintf(id, sizeof id, "%s", or_empty(posted));
    if (secret != NULL && !any && !has("post"))
        return NULL;
    if (secret == NULL && *secret_of(id) != '\0')
        return NULL;
    return is_client(id) && strcmp(or_empty(secret), secret_of(id)) == 0 ? id
                                                                         : NULL;
}

static bool is_verified(const struct grant *g, const char *verifier)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char text[64];

    crypto_hash_sha256(digest, (const unsigned char *)verifier,
                       strlen(verifier));
    base64(text, sizeof text, digest, sizeof digest,
           sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return strcmp(text, g->challenge) == 0 && strlen(verifier) >= 43;
}

static void give_name(char out[32], const char *kind)
{
    if (has("same-tokens"))
        snprintf(out, 32, "%s-same", kind);
    else
        name(out, kind);
}

static void give(const struct http *q, struct grant *g, bool refresh)
{
    json_t *out;
    int ms = mcpd.token_ms > 0 ? mcpd.token_ms : 3600000;

    give_name(g->access, "access-token");
    g->until = mcpd_now() + ms;
    out = json_pack("{s:s, s:s, s:i, s:s}", "access_token", g->access,
                    "token_type", "Bearer", "expires_in",
                    ms >= 1000 ? ms / 1000 : 1, "scope", g->scope);
    if (refresh && !has("no-refresh")) {
        give_name(g->refresh, "refresh-token");
        json_object_set_new(out, "refresh_token", json_string(g->refresh));
    }
    answer(q, 200, out);
}

static void by_code(const struct http *q, const char *client)
{
    const char *code = or_empty(field(q->body, "code"));
    struct grant *g = grants;

    while (g != NULL && strcmp(g->code, code) != 0)
        g = g->next;
    if (g == NULL || g->used || has("bad-code"))
        bad(q, "invalid_grant", "no such code");
    else if (strcmp(g->client, client) != 0)
        bad(q, "invalid_grant", "another client's code");
    else if (strcmp(g->redirect, or_empty(field(q->body, "redirect_uri"))) != 0)
        bad(q, "invalid_grant", "another redirect_uri");
    else if (!is_verified(g, or_empty(field(q->body, "code_verifier"))))
        bad(q, "invalid_grant", "code_verifier");
    else {
        g->used = true;
        give(q, g, true);
    }
}

static void by_refresh(const struct http *q, const char *client)
{
    const char *token = or_empty(field(q->body, "refresh_token"));
    struct grant *g = grants;

    while (g != NULL && (*g->refresh == '\0' || strcmp(g->refresh, token) != 0))
        g = g->next;
    if (g == NULL || has("bad-refresh") || strcmp(g->client, client) != 0)
        answer(q, 400, json_pack("{s:s}", "error", "invalid_grant"));
    else
        give(q, g, true);
}

static void token(const struct http *q)
{
    const char *grant = or_empty(field(q->body, "grant_type")),
               *type = or_empty(http_header(q, "Content-Type")),
               *client = client_at_token(q);
    static int times;

    times++;
    if (has("later-token") || times <= (has("slow-token")   ? 1
                                        : has("busy-token") ? 6
                                                            : 0)) {
        http_answer(q->conn, 503,
                    has("later-token") ? "Retry-After: 60\r\n"
                                       : "Retry-After: 1\r\n",
                    "text/plain", "busy");
        return;
    }
    if (strncmp(type, "application/x-www-form-urlencoded", 33) != 0)
        mcpd_object("/token: Content-Type is '%s'", type);
    if (strcmp(or_empty(field(q->body, "resource")), at("/mcp")) != 0)
        mcpd_object("/token: resource is '%s'",
                    or_empty(field(q->body, "resource")));
    if (client == NULL) {
        mcpd_object("/token: who is this?");
        answer(q, 401, json_pack("{s:s}", "error", "invalid_client"));
    } else if (strcmp(grant, "authorization_code") == 0) {
        by_code(q, client);
    } else if (strcmp(grant, "refresh_token") == 0) {
        by_refresh(q, client);
    } else if (strcmp(grant, "client_credentials") == 0) {
        give(q, grant_new(client, field(q->body, "scope")), false);
    } else {
        bad(q, "unsupported_grant_type", grant);
    }
}

static void take_back(const struct http *q)
{
    const char *query = strchr(q->path, '?'),
               *what = query != NULL ? field(query + 1, "what") : NULL;

    for (struct grant *g = grants; g != NULL; g = g->next) {
        g->until = 0;
        if (strcmp(or_empty(what), "all") == 0)
            g->refresh[0] = '\0';
    }
    http_answer(q->conn, 200, "", NULL, "");
}

/* ---- the doors ----------------------------------------------------------- */

static bool is_path(const struct http *q, const char *method, const char *path)
{
    size_t n = strcspn(q->path, "?");

    return strcmp(q->method, method) == 0 && strlen(path) == n &&
           strncmp(q->path, path, n) == 0;
}

/* The request is sent elsewhere. */
static bool has_moved(const struct http *q)
{
    static const struct {
        const char *word, *method, *path, *host;
    } all[] = {
        {"moved", "GET", "/prm", ""},
        {"moved", "GET", "/.well-known/oauth-authorization-server", ""},
        {"moved-away", "GET", "/.well-known/oauth-authorization-server",
         "localhost"},
        {"token-moved", "POST", "/token", ""},
    };
    char location[256];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!has(all[i].word) || !is_path(q, all[i].method, all[i].path))
            continue;
        if (*all[i].host != '\0')
            snprintf(location, sizeof location,
                     "Location: http://%s:%d/new%s\r\n", all[i].host,
                     http_port(), all[i].path);
        else
            snprintf(location, sizeof location, "Location: /new%s\r\n",
                     all[i].path);
        http_answer(q->conn, 307, location, NULL, "");
        return true;
    }
    return false;
}

/* As if it had come without the beginning that has_moved() gave it. */
static struct http settled(const struct http *q)
{
    struct http out = *q;

    if (strncmp(q->path, "/new/", 5) == 0)
        snprintf(out.path, sizeof out.path, "%s", q->path + 4);
    return out;
}

static bool takes(const struct http *q)
{
    static const char prm[] = "/.well-known/oauth-protected-resource";

    if (!has("no-metadata") &&
        (is_path(q, "GET", has("bare") ? prm : "/prm") ||
         (!has("bare") &&
          is_path(q, "GET", "/.well-known/oauth-protected-resource/mcp"))))
        resource(q);
    else if (!has("no-metadata") &&
             is_path(q, "GET",
                     has("oidc") ? "/.well-known/openid-configuration"
                                 : "/.well-known/oauth-authorization-server"))
        server(q);
    else if (!has("no-register") && is_path(q, "POST", "/register"))
        enroll(q);
    else if (is_path(q, "GET", "/authorize"))
        authorize(q);
    else if (is_path(q, "POST", "/token"))
        token(q);
    else if (is_path(q, "POST", "/revoke"))
        take_back(q);
    else
        return false;
    return true;
}

bool oauth_takes(const struct http *q)
{
    struct http at_last = settled(q);

    return mcpd.auth != NULL && (has_moved(q) || takes(&at_last));
}

static const struct grant *shown(const struct http *q)
{
    const char *bearer = http_header(q, "Authorization");
    struct grant *g = grants;

    if (bearer == NULL || strncmp(bearer, "Bearer ", 7) != 0)
        return NULL;
    while (g != NULL &&
           (*g->access == '\0' || strcmp(g->access, bearer + 7) != 0))
        g = g->next;
    return g != NULL && g->until > mcpd_now() ? g : NULL;
}

static bool has_scope(const struct grant *g, const char *scope)
{
    const char *found = strstr(g->scope, scope);

    return found != NULL && !has("scope-endless");
}

static void challenge(const struct http *q, int status, const char *more)
{
    char headers[1024], where[512] = "";

    if (!has("bare") && !has("no-metadata"))
        snprintf(where, sizeof where, ", resource_metadata=\"%s\"", at("/prm"));
    snprintf(headers, sizeof headers,
             "WWW-Authenticate: Bearer realm=\"mcpd\"%s%s%s\r\n", where,
             has("challenge") && status == 401 ? ", scope=\"read\"" : "", more);
    http_answer(q->conn, status, headers, "application/json",
                "{\"error\":\"invalid_token\"}");
}

bool oauth_admits(const struct http *q, const char *method, const char *tool)
{
    const struct grant *g;

    if (mcpd.auth == NULL)
        return true;
    g = shown(q);
    if (g == NULL) {
        challenge(q, 401,
                  http_header(q, "Authorization") != NULL
                      ? ", error=\"invalid_token\""
                      : "");
        return false;
    }
    if ((has("scope") || has("scope-endless")) && method != NULL &&
        strcmp(method, "tools/call") == 0 && tool != NULL &&
        strcmp(tool, "erase") == 0 && !has_scope(g, "write")) {
        challenge(q, 403, ", error=\"insufficient_scope\", scope=\"write\"");
        return false;
    }
    return true;
}

void oauth_finish(void)
{
    for (struct grant *g = grants, *next; g != NULL; g = next) {
        next = g->next;
        free(g->challenge);
        free(g->redirect);
        free(g->client);
        free(g->scope);
        free(g);
    }
    grants = NULL;
    json_decref(registered);
    registered = NULL;
}
