/* oauth_client.c -- who we are to an authorization server.
 *
 *   (1) In this order: the id that the deployment says; the address of our
 *       metadata, where the deployment has one and the server takes such
 *       (`client_id_metadata_document_supported`); an id that the server gives on
 *       registration.
 *   (2) An id that a server gave is used at that issuer and nowhere else: another
 *       issuer means another registration.
 *   (3) We register without a secret where the server takes clients that have
 *       none: a secret would have to be kept, and the code is bound to its
 *       verifier anyway. */
#include "oauth.h"

static mortise_status set(struct bytes *to, mortise_str text)
{
    to->n = 0;
    return bytes_put(to, text);
}

static enum oauth_act with_client(struct oauth *o, int method)
{
    char shown[256];

    if (method < 0)
        return oauth_fail(
            o,
            "the authorization server %s supports no known method for the "
            "client secret (client_secret_basic, client_secret_post)",
            oauth_shown(&o->issuer, shown));
    o->method = method;
    if (!oauth_permits(o, bytes_str(&o->metadata.token)))
        return oauth_not_permitted(o, "the token endpoint",
                                   bytes_str(&o->metadata.token));
    return oauth_is_client_credentials(o) ? oauth_ask_token(o)
                                          : oauth_ask_person(o);
}

/* ---- registration -------------------------------------------------------- */

static enum oauth_method wanted_method(const struct oauth_server_metadata *m)
{
    if (m->none || !m->listed) /* (3) */
        return OAUTH_NONE;
    return m->basic ? OAUTH_BASIC : OAUTH_POST;
}

static enum oauth_act register_us(struct oauth *o)
{
    struct bytes redirect = {0};
    mortise_status status = oauth_redirect_uri(o, &redirect);

    o->stage = OAUTH_REGISTER;
    o->request.method = "POST";
    o->request.content = "application/json";
    if (status == MORTISE_S_OK)
        status = set(&o->request.url, bytes_str(&o->metadata.registration));
    if (status == MORTISE_S_OK)
        status =
            oauth_registration(bytes_str(&redirect),
                               wanted_method(&o->metadata), &o->request.body);
    bytes_free(&redirect);
    if (status == MORTISE_S_INVALID)
        return oauth_fail(o, "tools.mcp.%s.auth.redirect_uri is not text",
                          o->setup->name);
    if (status != MORTISE_S_OK)
        return oauth_no_memory(o);
    return oauth_permits(o, bytes_str(&o->request.url))
               ? OAUTH_SEND
               : oauth_not_permitted(o, "the registration endpoint",
                                     bytes_str(&o->request.url));
}

static mortise_status keep_client(struct oauth *o, int method)
{
    struct oauth_keep *k = o->keep;
    mortise_status status = set(&k->client_id, bytes_str(&o->client_id));

    if (status == MORTISE_S_OK)
        status = set(&k->client_secret, bytes_str(&o->secret));
    k->client_issuer.n = 0;
    if (status == MORTISE_S_OK)
        status = set(&k->client_issuer, bytes_str(&o->issuer));
    k->client_method = method;
    return status;
}

enum oauth_act oauth_registered(struct oauth *o, int status, mortise_jv answer)
{
    mortise_jv id = mortise_jv_get(answer, "client_id"),
               secret = mortise_jv_get(answer, "client_secret");
    int method =
        oauth_method_of(mortise_jv_get(answer, "token_endpoint_auth_method"));
    char error[72], shown[256];
    mortise_status made = MORTISE_S_OK;

    o->client_id.n = o->secret.n = 0;
    if (status >= 200 && status < 300 && id.n > 2 && id.n <= OAUTH_TEXT_MAX)
        made = bytes_decode(&o->client_id, id);
    if (made == MORTISE_S_OK && secret.n > 2 && secret.n <= OAUTH_TEXT_MAX &&
        mortise_jv_type(secret) == MORTISE_JV_STRING)
        made = bytes_decode(&o->secret, secret);
    if (made == MORTISE_S_NOMEM)
        return oauth_no_memory(o);
    if (o->client_id.n == 0) {
        oauth_error_of(answer, error);
        o->transient = status == 429 || status >= 500;
        return oauth_fail(
            o,
            "the authorization server %s did not register the client: status "
            "%d%s; set tools.mcp.%s.auth.client_id to a registered id",
            oauth_shown(&o->issuer, shown), status, error, o->setup->name);
    }
    if (o->secret.n == 0)
        method = OAUTH_NONE;
    else if (method < 0 || (method == OAUTH_NONE && !o->metadata.none))
        /* who gives a secret, and takes nobody without, wants to see it */
        method = oauth_method_choose(&o->metadata, 1);
    o->registered = 1;
    if (keep_client(o, method) != MORTISE_S_OK)
        return oauth_no_memory(o);
    return with_client(o, method);
}

/* ---- which one ----------------------------------------------------------- */

static enum oauth_act no_client(struct oauth *o)
{
    char shown[256];

    return oauth_fail(o,
                      "the authorization server %s does not register clients; "
                      "set tools.mcp.%s.auth.client_id to a registered id",
                      oauth_shown(&o->issuer, shown), o->setup->name);
}

/* (1), (2) */
enum oauth_act oauth_choose_client(struct oauth *o)
{
    const struct oauth_keep *k = o->keep;
    mortise_status status = oauth_setting(o, "client_id", &o->client_id);

    if (status == MORTISE_S_OK && o->client_id.n > 0) {
        status = set(&o->secret, o->setup->secret);
        return status == MORTISE_S_OK
                   ? with_client(
                         o, oauth_method_choose(&o->metadata, o->secret.n > 0))
                   : oauth_no_memory(o);
    }
    if (oauth_is_client_credentials(o))
        return oauth_fail(o,
                          "tools.mcp.%s.auth has the grant client_credentials, "
                          "but client_id and client_secret are missing",
                          o->setup->name);
    if (status == MORTISE_S_OK && o->metadata.takes_client_urls)
        status = oauth_setting(o, "client_metadata_url", &o->client_id);
    if (status == MORTISE_S_OK && o->client_id.n > 0)
        return with_client(o, OAUTH_NONE);
    if (status == MORTISE_S_OK && k->client_id.n > 0 &&
        oauth_str_same(bytes_str(&k->client_issuer), bytes_str(&o->issuer))) {
        o->registered = 1;
        status = set(&o->client_id, bytes_str(&k->client_id));
        if (status == MORTISE_S_OK)
            status = set(&o->secret, bytes_str(&k->client_secret));
        if (status == MORTISE_S_OK)
            return with_client(o, k->client_method);
    }
    if (status != MORTISE_S_OK)
        return oauth_no_memory(o);
    return o->metadata.registration.n > 0 ? register_us(o) : no_client(o);
}
