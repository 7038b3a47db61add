/* oauth.c -- from a refusal to who can be asked for a token.
 *
 *     RESOURCE   the metadata of the server: whose tokens does it take?
 *     ISSUER     the metadata of that authorization server
 *     REGISTER   who are we to it?                       (oauth_client.c)
 *     a person   who allows it, in a browser            (oauth_consent.c)
 *     TOKEN      the token                                (oauth_token.c)
 *
 * It promises:
 *
 *   (1) Who gives tokens, the issuer and each of its endpoints, has an origin
 *       that the deployment has named: one of `auth.issuers`, or, where there
 *       are none, the server's own.  A server whose tokens come from elsewhere
 *       does not get to see the code, the secret or the verifier that are meant
 *       for them.  What it says of others is a suggestion, and an error says
 *       what to write for it to be followed.  Its own metadata are looked for
 *       at its own origin, too.
 *   (2) Metadata of a resource that does not take in the server's URL ends it,
 *       and so does that of another issuer than was asked.  A document that is
 *       not there (4xx), or is no JSON, is looked for in the next place.  One that
 *       is said to be elsewhere (3xx) is looked for there, a few times over, if
 *       (1) has it that it may be asked for there; else it is not there.  Nothing
 *       but a document is ever followed.
 *   (3) Without any metadata of the resource, the authorization server is at the
 *       server's origin, and without metadata there, at the paths that 2025-03-26
 *       says.  A server that names an authorization server has no such way back.
 *   (4) Scopes: what the challenge says and the deployment says, and what was
 *       asked for before, so that nothing is lost; if that is nothing, what the
 *       resource's metadata lists; else none.  `offline_access` comes along where
 *       the authorization server lists it and there are others. */
#include "oauth.h"

#include <sodium.h>
#include <stdarg.h>

/* ---- words --------------------------------------------------------------- */

enum oauth_act oauth_fail(struct oauth *o, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(o->words, sizeof o->words, fmt, ap);
    va_end(ap);
    return OAUTH_FAILED;
}

enum oauth_act oauth_no_memory(struct oauth *o)
{
    o->transient = 1;
    return oauth_fail(o, "out of memory");
}

const char *oauth_shown(const struct bytes *text, char out[256])
{
    size_t n = text->n < 255 ? text->n : 255;

    if (n > 0)
        memcpy(out, text->p, n);
    out[n] = '\0';
    return out;
}

void oauth_error_of(mortise_jv answer, char out[72])
{
    mortise_jv v = mortise_jv_get(answer, "error");
    char code[65];
    size_t n = 0;

    out[0] = '\0';
    if (mortise_jv_cstr(v, code, sizeof code) != MORTISE_S_OK)
        return;
    while (code[n] >= ' ' && code[n] <= '~')
        n++;
    if (n > 0 && code[n] == '\0')
        snprintf(out, 72, " (%s)", code);
}

/* ---- the deployment's word ------------------------------------------------- */

mortise_status oauth_setting(const struct oauth *o, const char *name,
                             struct bytes *out)
{
    mortise_jv v = mortise_jv_get(o->setup->auth, name);

    return mortise_jv_type(v) == MORTISE_JV_STRING ? bytes_decode(out, v)
                                                   : MORTISE_S_OK;
}

int oauth_is_client_credentials(const struct oauth *o)
{
    return mortise_jv_is(mortise_jv_get(o->setup->auth, "grant"),
                         mortise_strz("client_credentials"));
}

static int is_own(const struct oauth *o, mortise_str url)
{
    struct oauth_url u;

    return oauth_url_read(url, &u) == MORTISE_S_OK &&
           oauth_url_same_origin(&u, &o->server);
}

/* (1) */
int oauth_permits(const struct oauth *o, mortise_str url)
{
    mortise_jv issuers = mortise_jv_get(o->setup->auth, "issuers");
    mortise_jv_iter it = mortise_jv_each(issuers);
    struct oauth_url u, listed;
    struct bytes text = {0};
    mortise_jv one;
    int permits = 0;

    if (mortise_jv_type(issuers) != MORTISE_JV_ARRAY)
        return is_own(o, url);
    if (oauth_url_read(url, &u) != MORTISE_S_OK)
        return 0;
    while (!permits && mortise_jv_next(&it, NULL, &one)) {
        const char *blank;

        text.n = 0;
        if (bytes_decode(&text, one) != MORTISE_S_OK)
            continue;
        /* what a grant may have behind its URL (" private") is none of it */
        blank = text.n > 0 ? (const char *)memchr(text.p, ' ', text.n) : NULL;
        text.n = blank != NULL ? (uint64_t)(blank - text.p) : text.n;
        permits = oauth_url_read(bytes_str(&text), &listed) == MORTISE_S_OK &&
                  oauth_url_same_origin(&u, &listed);
    }
    bytes_free(&text);
    return permits;
}

enum oauth_act oauth_not_permitted(struct oauth *o, const char *what,
                                   mortise_str url)
{
    struct oauth_url u;
    int n;

    if (oauth_url_read(url, &u) != MORTISE_S_OK)
        return oauth_fail(o, "%s of %s is not an http or https URL", what,
                          o->setup->name);
    n = u.origin.n < 200 ? (int)u.origin.n : 200;
    return oauth_fail(
        o,
        "%s of %s is at %.*s, to which the deployment allows no requests; if "
        "you trust it, add \"%.*s\" to tools.mcp.%s.auth.issuers",
        what, o->setup->name, n, u.origin.p, n, u.origin.p, o->setup->name);
}

/* ---- metadata ------------------------------------------------------------ */

static int may_get(const struct oauth *o, mortise_str url)
{
    return oauth_permits(o, url) ||
           (o->stage == OAUTH_RESOURCE && is_own(o, url));
}

static enum oauth_act get(struct oauth *o, const char *what)
{
    o->request.method = "GET";
    o->request.content = NULL;
    o->moves = 0;
    if (may_get(o, bytes_str(&o->request.url)))
        return OAUTH_SEND;
    return oauth_not_permitted(o, what, bytes_str(&o->request.url));
}

static enum oauth_act next_issuer_place(struct oauth *o)
{
    char shown[256];
    mortise_status status;

    o->stage = OAUTH_ISSUER;
    o->request.url.n = 0;
    status =
        oauth_issuer_place(bytes_str(&o->issuer), o->place++, &o->request.url);
    if (status == MORTISE_S_OK)
        return get(o, "the authorization server");
    if (status == MORTISE_S_NOMEM)
        return oauth_no_memory(o);
    if (!o->guessed) /* (3) */
        return oauth_fail(o, "%s has no metadata of an authorization server",
                          oauth_shown(&o->issuer, shown));
    if (oauth_metadata_default(&o->server, &o->metadata) != MORTISE_S_OK)
        return oauth_no_memory(o);
    return oauth_choose_client(o);
}

static enum oauth_act ask_issuer(struct oauth *o)
{
    char shown[256];

    o->place = 0;
    if (mortise_jv_type(o->setup->auth) == MORTISE_JV_OBJECT)
        return next_issuer_place(o);
    oauth_shown(&o->issuer, shown);
    return oauth_fail(
        o,
        "%s requires an authorization by %s; if you trust that server, write "
        "\"auth: {issuers: [%s]}\" under tools.mcp.%s",
        o->setup->name, shown, shown, o->setup->name);
}

static enum oauth_act guess_issuer(struct oauth *o)
{
    o->guessed = 1;
    o->issuer.n = 0;
    if (bytes_put(&o->issuer, o->server.origin) != MORTISE_S_OK)
        return oauth_no_memory(o);
    return ask_issuer(o);
}

/* The first that may be asked, else the first.  0: there is none. */
static int choose_issuer(struct oauth *o, mortise_jv list,
                         mortise_status *status)
{
    mortise_jv_iter it = mortise_jv_each(list);
    struct bytes one = {0};
    struct oauth_url u;
    mortise_jv v;

    o->issuer.n = 0;
    while (*status == MORTISE_S_OK && !it.is_object &&
           mortise_jv_next(&it, NULL, &v)) {
        int permitted;

        one.n = 0;
        if (v.n > OAUTH_TEXT_MAX || bytes_decode(&one, v) != MORTISE_S_OK ||
            oauth_url_read(bytes_str(&one), &u) != MORTISE_S_OK)
            continue;
        permitted = oauth_permits(o, bytes_str(&one));
        if (o->issuer.n > 0 && !permitted)
            continue;
        o->issuer.n = 0;
        *status = bytes_put(&o->issuer, bytes_str(&one));
        if (permitted)
            break;
    }
    bytes_free(&one);
    return o->issuer.n > 0;
}

/* (4), but for offline_access. */
static mortise_status gather_scopes(struct oauth *o, mortise_jv doc)
{
    mortise_jv said = mortise_jv_get(o->setup->auth, "scopes");
    mortise_status status =
        oauth_scope_join(&o->scope, bytes_str(&o->keep->scope));

    if (status == MORTISE_S_OK)
        status = oauth_scope_join_list(&o->scope, said);
    if (status == MORTISE_S_OK)
        status = oauth_scope_join(&o->scope, bytes_str(&o->challenge.scope));
    if (status == MORTISE_S_OK && o->scope.n == 0)
        status = oauth_scope_join_list(&o->scope,
                                       mortise_jv_get(doc, "scopes_supported"));
    return status;
}

static enum oauth_act next_resource_place(struct oauth *o)
{
    mortise_status status;

    o->stage = OAUTH_RESOURCE;
    o->request.url.n = 0;
    status = oauth_resource_place(&o->server,
                                  bytes_str(&o->challenge.resource_metadata),
                                  o->place++, &o->request.url);
    if (status == MORTISE_S_OK)
        return get(o, "the metadata");
    if (status == MORTISE_S_NOMEM ||
        gather_scopes(o, mortise_jv_none()) != MORTISE_S_OK ||
        bytes_put(&o->resource, o->setup->server) != MORTISE_S_OK)
        return oauth_no_memory(o);
    return guess_issuer(o); /* (3) */
}

/* (2) */
static enum oauth_act take_resource(struct oauth *o, mortise_jv doc)
{
    mortise_jv name = mortise_jv_get(doc, "resource");
    mortise_status status = MORTISE_S_INVALID;
    struct oauth_url u;

    o->resource.n = 0;
    if (mortise_jv_type(name) == MORTISE_JV_STRING && name.n <= OAUTH_TEXT_MAX)
        status = bytes_decode(&o->resource, name);
    if (status == MORTISE_S_NOMEM || gather_scopes(o, doc) != MORTISE_S_OK)
        return oauth_no_memory(o);
    if (status != MORTISE_S_OK ||
        oauth_url_read(bytes_str(&o->resource), &u) != MORTISE_S_OK ||
        !oauth_url_covers(&u, &o->server))
        return oauth_fail(o,
                          "the authorization metadata of %s is for another "
                          "resource than its URL, so no token is requested",
                          o->setup->name);
    status = MORTISE_S_OK;
    if (choose_issuer(o, mortise_jv_get(doc, "authorization_servers"), &status))
        return status == MORTISE_S_OK ? ask_issuer(o) : oauth_no_memory(o);
    return status == MORTISE_S_OK ? guess_issuer(o) : oauth_no_memory(o);
}

static enum oauth_act take_issuer(struct oauth *o, mortise_jv doc)
{
    char shown[256];
    const char *wrong =
        oauth_metadata_read(doc, bytes_str(&o->issuer), &o->metadata);

    oauth_shown(&o->issuer, shown);
    if (wrong != NULL)
        return oauth_fail(o, "the authorization server %s cannot be used: %s",
                          shown, wrong);
    if (oauth_is_client_credentials(o))
        return oauth_choose_client(o);
    if (o->metadata.authorization.n == 0)
        return oauth_fail(o,
                          "the authorization server %s has no "
                          "authorization_endpoint",
                          shown);
    if (!o->metadata.has_s256)
        return oauth_fail(
            o,
            "the authorization server %s does not declare that it checks code "
            "challenges (S256), so no code is requested from it",
            shown);
    return oauth_choose_client(o);
}

/* ---- the steps ----------------------------------------------------------- */

static int start(struct oauth *o, const struct oauth_setup *setup,
                 struct oauth_keep *keep)
{
    memset(o, 0, sizeof *o);
    o->setup = setup;
    o->keep = keep;
    return oauth_url_read(setup->server, &o->server) == MORTISE_S_OK;
}

enum oauth_act oauth_begin(struct oauth *o, const struct oauth_setup *setup,
                           struct oauth_keep *keep, mortise_str challenge)
{
    if (!start(o, setup, keep))
        return oauth_fail(o, "the URL of %s is invalid", setup->name);
    if (oauth_challenge_read(challenge, &o->challenge) != MORTISE_S_OK)
        return oauth_no_memory(o);
    if (challenge.n > 0 && !o->challenge.is_bearer)
        return oauth_fail(o,
                          "%s requires another authorization than OAuth; set "
                          "it in tools.mcp.%s.headers",
                          setup->name, setup->name);
    return next_resource_place(o);
}

enum oauth_act oauth_renew(struct oauth *o, const struct oauth_setup *setup,
                           struct oauth_keep *keep)
{
    mortise_status status;

    if (!start(o, setup, keep))
        return oauth_fail(o, "the URL of %s is invalid", setup->name);
    o->renews = 1;
    o->method = keep->token_method;
    status = bytes_put(&o->issuer, bytes_str(&keep->issuer));
    if (status == MORTISE_S_OK)
        status = bytes_put(&o->metadata.token, bytes_str(&keep->endpoint));
    if (status == MORTISE_S_OK)
        status = bytes_put(&o->resource, bytes_str(&keep->resource));
    if (status == MORTISE_S_OK)
        status = bytes_put(&o->scope, bytes_str(&keep->scope));
    if (status == MORTISE_S_OK)
        status = bytes_put(&o->client_id, bytes_str(&keep->token_client));
    return status == MORTISE_S_OK ? oauth_ask_token(o) : oauth_no_memory(o);
}

static enum oauth_act not_found(struct oauth *o)
{
    return o->stage == OAUTH_RESOURCE ? next_resource_place(o)
                                      : next_issuer_place(o);
}

static enum oauth_act document(struct oauth *o, int status, mortise_jv doc)
{
    char shown[256];

    if (status >= 300 && status < 500 && status != 408 && status != 429)
        return not_found(o);
    if (status < 200 || status >= 300) {
        o->transient = 1;
        return oauth_fail(o, "%s answered with status %d",
                          oauth_shown(&o->request.url, shown), status);
    }
    if (mortise_jv_type(doc) != MORTISE_JV_OBJECT)
        return not_found(o);
    return o->stage == OAUTH_RESOURCE ? take_resource(o, doc)
                                      : take_issuer(o, doc);
}

/* (2) */
int oauth_follow(struct oauth *o, int status, mortise_str location)
{
    int is_document = o->stage == OAUTH_RESOURCE || o->stage == OAUTH_ISSUER;
    struct bytes to = {0};
    int follows;

    if (!is_document || (status != 301 && status != 302 && status != 303 &&
                         status != 307 && status != 308))
        return 0;
    follows = o->moves < OAUTH_MOVES &&
              oauth_url_move(bytes_str(&o->request.url), location, &to) ==
                  MORTISE_S_OK &&
              may_get(o, bytes_str(&to));
    if (follows) {
        o->moves++;
        bytes_free(&o->request.url);
        o->request.url = to;
    } else {
        bytes_free(&to);
    }
    return follows;
}

enum oauth_act oauth_answered(struct oauth *o, int status, mortise_str body)
{
    mortise_jv v;

    mortise_jv_parse(body, &v);
    switch (o->stage) {
    case OAUTH_REGISTER:
        return oauth_registered(o, status, v);
    case OAUTH_TOKEN:
        return oauth_token_answered(o, status, v);
    default:
        return document(o, status, v);
    }
}

static void wipe(struct bytes *b)
{
    if (b->p != NULL)
        sodium_memzero(b->p, b->cap);
    bytes_free(b);
}

void oauth_finish(struct oauth *o)
{
    oauth_challenge_free(&o->challenge);
    oauth_metadata_free(&o->metadata);
    bytes_free(&o->resource);
    bytes_free(&o->issuer);
    bytes_free(&o->scope);
    bytes_free(&o->client_id);
    bytes_free(&o->request.url);
    bytes_free(&o->consent);
    wipe(&o->secret);
    wipe(&o->request.body);
    wipe(&o->request.authorization);
}
