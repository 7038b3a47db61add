/* oauth_write.c -- what is sent to an authorization server, written.
 *
 *   (1) Every code is bound to a verifier (RFC 7636, S256) that nobody else has
 *       seen: 32 bytes of the system's randomness.
 *   (2) A token is asked for the resource that it is for (RFC 8707), in both
 *       requests.
 *   (3) A secret leaves in one of two ways: `Authorization: Basic`, id and secret
 *       each encoded as in a form before they are joined (RFC 6749, 2.3.1), or in
 *       the form itself. */
#include "oauth_parts.h"

#include <sodium.h>

/* ---- who we are ---------------------------------------------------------- */

static const char *const methods[] = {
    [OAUTH_NONE] = "none",
    [OAUTH_BASIC] = "client_secret_basic",
    [OAUTH_POST] = "client_secret_post",
};

const char *oauth_method_name(enum oauth_method m)
{
    return methods[m];
}

int oauth_method_of(mortise_jv name)
{
    for (int i = OAUTH_NONE; i <= OAUTH_POST; i++)
        if (mortise_jv_is(name, mortise_strz(methods[i])))
            return i;
    return -1;
}

int oauth_method_choose(const struct oauth_server_metadata *m, int has_secret)
{
    if (!has_secret)
        return OAUTH_NONE;
    return m->basic  ? (int)OAUTH_BASIC
           : m->post ? (int)OAUTH_POST
           : m->none ? (int)OAUTH_NONE
                     : -1;
}

static mortise_status put_base64(struct bytes *out, const struct bytes *from)
{
    size_t n =
        sodium_base64_encoded_len(from->n, sodium_base64_VARIANT_ORIGINAL);
    mortise_status status = bytes_room(out, n);

    if (status != MORTISE_S_OK)
        return status;
    sodium_bin2base64(out->p + out->n, n, (const unsigned char *)from->p,
                      from->n, sodium_base64_VARIANT_ORIGINAL);
    out->n += n - 1; /* less the NUL */
    return MORTISE_S_OK;
}

static mortise_status prove_basic(mortise_str id, mortise_str secret,
                                  struct bytes *authorization)
{
    struct bytes both = {0};
    mortise_status status = oauth_encode(&both, id);

    if (status == MORTISE_S_OK)
        status = bytes_put(&both, mortise_strz(":"));
    if (status == MORTISE_S_OK)
        status = oauth_encode(&both, secret);
    if (status == MORTISE_S_OK)
        status = bytes_put(authorization, mortise_strz("Basic "));
    if (status == MORTISE_S_OK)
        status = put_base64(authorization, &both);
    if (both.p != NULL)
        sodium_memzero(both.p, both.cap);
    bytes_free(&both);
    return status;
}

mortise_status oauth_prove(enum oauth_method method, mortise_str client_id,
                           mortise_str secret, struct bytes *form,
                           struct bytes *authorization)
{
    mortise_status status;

    if (method == OAUTH_BASIC)
        return prove_basic(client_id, secret, authorization);
    status = oauth_form_put(form, "client_id", client_id);
    if (status == MORTISE_S_OK && method == OAUTH_POST)
        status = oauth_form_put(form, "client_secret", secret);
    return status;
}

/* ---- PKCE ---------------------------------------------------------------- */

static void write_base64url(char out[OAUTH_RANDOM], const unsigned char *p)
{
    char text[OAUTH_RANDOM + 1];

    sodium_bin2base64(text, sizeof text, p, 32,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    memcpy(out, text, OAUTH_RANDOM);
    sodium_memzero(text, sizeof text);
}

void oauth_random(char out[OAUTH_RANDOM])
{
    unsigned char bytes[32];

    randombytes_buf(bytes, sizeof bytes);
    write_base64url(out, bytes);
    sodium_memzero(bytes, sizeof bytes);
}

void oauth_s256(mortise_str verifier, char out[OAUTH_RANDOM])
{
    unsigned char digest[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(digest, (const unsigned char *)verifier.p, verifier.n);
    write_base64url(out, digest);
}

/* ---- authorization and registration --------------------------------------- */

mortise_status oauth_authorization_url(const struct oauth_wish *w,
                                       struct bytes *out)
{
    char challenge[OAUTH_RANDOM];
    const struct {
        const char *name;
        mortise_str value;
    } members[] = {
        {"response_type", mortise_strz("code")},
        {"client_id", w->client_id},
        {"redirect_uri", w->redirect_uri},
        {"code_challenge", mortise_strn(challenge, sizeof challenge)},
        {"code_challenge_method", mortise_strz("S256")},
        {"state", w->state},
        {"resource", w->resource},
        {"scope", w->scope},
    };
    int has_query = memchr(w->endpoint.p, '?', w->endpoint.n) != NULL;
    mortise_status status = bytes_put(out, w->endpoint);

    oauth_s256(w->verifier, challenge);
    if (status == MORTISE_S_OK && !has_query)
        status = bytes_put(out, mortise_strz("?"));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (status == MORTISE_S_OK && members[i].value.n > 0)
            status = oauth_form_put(out, members[i].name, members[i].value);
    return status;
}

static void one_of(mortise_jw *w, const char *name, const char *value)
{
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, value);
}

/* A browser that comes back to this machine belongs to a native application, to
 * which some servers are strict about what else it may say of itself. */
static const char *type_of(mortise_str redirect_uri)
{
    struct oauth_url u;

    return oauth_url_read(redirect_uri, &u) == MORTISE_S_OK &&
                   !oauth_url_is_loopback(&u)
               ? "web"
               : "native";
}

mortise_status oauth_registration(mortise_str redirect_uri,
                                  enum oauth_method method, struct bytes *out)
{
    mortise_jw w;
    mortise_str text;
    mortise_status status;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    one_of(&w, "client_name", "Mortise");
    mortise_jw_key(&w, "redirect_uris");
    mortise_jw_array(&w);
    mortise_jw_string(&w, redirect_uri);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "grant_types");
    mortise_jw_array(&w);
    mortise_jw_cstr(&w, "authorization_code");
    mortise_jw_cstr(&w, "refresh_token");
    mortise_jw_end(&w);
    mortise_jw_key(&w, "response_types");
    mortise_jw_array(&w);
    mortise_jw_cstr(&w, "code");
    mortise_jw_end(&w);
    one_of(&w, "token_endpoint_auth_method", oauth_method_name(method));
    one_of(&w, "application_type", type_of(redirect_uri));
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    bytes_free(out);
    out->p = w.p;
    out->n = text.n;
    out->cap = w.cap;
    return status;
}
