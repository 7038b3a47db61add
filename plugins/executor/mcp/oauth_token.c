/* oauth_token.c -- the token itself: asked for, and renewed.
 *
 *   (1) The form says the grant (a code with its verifier is there already when
 *       this is entered), `resource`, and who we are (oauth_write.c, 3).
 *   (2) A token that is no bearer's is refused: nobody here could prove more.
 *   (3) A refusal of the grant itself (`invalid_grant`: the code is over or was
 *       used, the refresh token does not hold) means that all has to begin anew,
 *       and of who we are (`invalid_client`), if it was by registration, that we
 *       are not that any more.
 *   (4) Nothing is sent to a token endpoint that the deployment, as it is now,
 *       does not permit (oauth.c, 1), whoever named it and whenever that was. */
#include "oauth.h"

static mortise_status put_grant(struct oauth *o)
{
    struct bytes *form = &o->request.body;
    mortise_status status;

    if (form->n > 0)
        return MORTISE_S_OK; /* a code's */
    if (!o->renews) {
        status = oauth_form_put(form, "grant_type",
                                mortise_strz("client_credentials"));
        if (status == MORTISE_S_OK && o->scope.n > 0)
            status = oauth_form_put(form, "scope", bytes_str(&o->scope));
        return status;
    }
    status = oauth_form_put(form, "grant_type", mortise_strz("refresh_token"));
    if (status == MORTISE_S_OK)
        status =
            oauth_form_put(form, "refresh_token", bytes_str(&o->keep->refresh));
    return status;
}

/* Of a renewal: the secret that belongs to the client. */
static mortise_status find_secret(struct oauth *o)
{
    const struct oauth_keep *k = o->keep;

    if (!o->renews || o->method == OAUTH_NONE)
        return MORTISE_S_OK;
    o->secret.n = 0;
    return bytes_put(
        &o->secret,
        oauth_str_same(bytes_str(&k->client_id), bytes_str(&o->client_id)) &&
                oauth_str_same(bytes_str(&k->client_issuer),
                               bytes_str(&o->issuer))
            ? bytes_str(&k->client_secret)
            : o->setup->secret);
}

enum oauth_act oauth_ask_token(struct oauth *o)
{
    mortise_status status;

    if (!oauth_permits(o, bytes_str(&o->metadata.token))) { /* (4) */
        o->again = o->renews;
        return oauth_not_permitted(o, "the token endpoint",
                                   bytes_str(&o->metadata.token));
    }
    status = find_secret(o);
    o->stage = OAUTH_TOKEN;
    o->request.method = "POST";
    o->request.content = "application/x-www-form-urlencoded";
    o->request.url.n = o->request.authorization.n = 0;
    if (o->renews || oauth_is_client_credentials(o))
        o->request.body.n = 0;
    if (status == MORTISE_S_OK)
        status = bytes_put(&o->request.url, bytes_str(&o->metadata.token));
    if (status == MORTISE_S_OK)
        status = put_grant(o); /* (1) */
    if (status == MORTISE_S_OK)
        status = oauth_form_put(&o->request.body, "resource",
                                bytes_str(&o->resource));
    if (status == MORTISE_S_OK)
        status = oauth_prove((enum oauth_method)o->method,
                             bytes_str(&o->client_id), bytes_str(&o->secret),
                             &o->request.body, &o->request.authorization);
    return status == MORTISE_S_OK ? OAUTH_SEND : oauth_no_memory(o);
}

/* (3) */
static enum oauth_act refused(struct oauth *o, int status, mortise_jv answer)
{
    mortise_jv error = mortise_jv_get(answer, "error");
    int is_client = mortise_jv_is(error, mortise_strz("invalid_client")) ||
                    mortise_jv_is(error, mortise_strz("unauthorized_client"));
    char code[72], shown[256];

    oauth_error_of(answer, code);
    o->transient = status == 408 || status == 429 || status >= 500;
    if (is_client && (o->registered || o->renews))
        o->keep->client_issuer.n = o->keep->client_id.n = 0;
    o->again = (is_client && o->registered) || (o->renews && !o->transient) ||
               mortise_jv_is(error, mortise_strz("invalid_grant"));
    return oauth_fail(o,
                      "the authorization server %s gave no token: status %d%s",
                      oauth_shown(&o->issuer, shown), status, code);
}

static mortise_status set(struct bytes *to, const struct bytes *from)
{
    to->n = 0;
    return bytes_put(to, bytes_str(from));
}

enum oauth_act oauth_token_answered(struct oauth *o, int status,
                                    mortise_jv answer)
{
    struct oauth_keep *k = o->keep;
    char shown[256];
    const char *wrong;
    mortise_status kept;

    if (status < 200 || status >= 300)
        return refused(o, status, answer);
    if (!o->renews)
        oauth_tokens_drop(k); /* nothing of an earlier grant stays */
    wrong = oauth_tokens_take(k, answer);
    if (wrong != NULL)
        return oauth_fail(o, "the authorization server %s gave no token: %s",
                          oauth_shown(&o->issuer, shown), wrong);
    kept = set(&k->issuer, &o->issuer);
    if (kept == MORTISE_S_OK)
        kept = set(&k->endpoint, &o->metadata.token);
    if (kept == MORTISE_S_OK)
        kept = set(&k->resource, &o->resource);
    if (kept == MORTISE_S_OK)
        kept = set(&k->scope, &o->scope);
    if (kept == MORTISE_S_OK)
        kept = set(&k->token_client, &o->client_id);
    k->token_method = o->method;
    if (kept == MORTISE_S_OK)
        return OAUTH_DONE;
    oauth_tokens_drop(k);
    return oauth_no_memory(o);
}
