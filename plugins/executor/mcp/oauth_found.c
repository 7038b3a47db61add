/* oauth_found.c -- where metadata may lie, and what is in it.
 *
 * A protected resource (RFC 9728): the address in the challenge, and if there is
 * none, /.well-known/oauth-protected-resource with the server's path behind it,
 * then without.
 *
 * An authorization server, its issuer being ORIGIN/PATH (RFC 8414, OpenID
 * Connect Discovery):
 *
 *     ORIGIN/.well-known/oauth-authorization-server/PATH
 *     ORIGIN/.well-known/openid-configuration/PATH
 *     ORIGIN/PATH/.well-known/openid-configuration      if there is a PATH
 *
 *   (1) Metadata holds only if its `issuer` is, byte by byte, the one that was
 *       asked: else anybody could speak for anybody.
 *   (2) Endpoints are addresses or they are not there; who may be asked is not
 *       judged here. */
#include "oauth_parts.h"

static mortise_status put(struct bytes *out, const mortise_str *parts, size_t n)
{
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0; i < n && status == MORTISE_S_OK; i++)
        status = bytes_put(out, parts[i]);
    return status;
}

/* Without the slashes at its end. */
static mortise_str trimmed(mortise_str path)
{
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

mortise_status oauth_resource_place(const struct oauth_url *server,
                                    mortise_str named, unsigned i,
                                    struct bytes *out)
{
    mortise_str path = trimmed(server->path);
    const mortise_str parts[] = {
        server->origin, mortise_strz("/.well-known/oauth-protected-resource"),
        path};

    if (named.n > 0)
        return i == 0 ? bytes_put(out, named) : MORTISE_S_NOTFOUND;
    if (i >= (path.n > 0 ? 2u : 1u))
        return MORTISE_S_NOTFOUND;
    return put(out, parts, i == 0 ? 3 : 2);
}

mortise_status oauth_issuer_place(mortise_str issuer, unsigned i,
                                  struct bytes *out)
{
    static const char *const known[] = {
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration"};
    struct oauth_url u;
    mortise_str path;

    if (oauth_url_read(issuer, &u) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    path = trimmed(u.path);
    if (i < 2)
        return put(out, (mortise_str[]){u.origin, mortise_strz(known[i]), path},
                   3);
    if (i == 2 && path.n > 0)
        return put(out, (mortise_str[]){u.origin, path, mortise_strz(known[1])},
                   3);
    return MORTISE_S_NOTFOUND;
}

/* ---- what is in it ------------------------------------------------------- */

static int lists(mortise_jv list, const char *what)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv one;

    while (!it.is_object && mortise_jv_next(&it, NULL, &one))
        if (mortise_jv_is(one, mortise_strz(what)))
            return 1;
    return 0;
}

static int is_true(mortise_jv doc, const char *name)
{
    int32_t yes = 0;

    return mortise_jv_bool(mortise_jv_get(doc, name), &yes) == MORTISE_S_OK &&
           yes;
}

/* (2); MORTISE_S_NOMEM. */
static mortise_status endpoint(mortise_jv doc, const char *name,
                               struct bytes *out)
{
    mortise_jv v = mortise_jv_get(doc, name);
    struct oauth_url u;
    mortise_status status;

    out->n = 0;
    if (mortise_jv_type(v) != MORTISE_JV_STRING || v.n > OAUTH_TEXT_MAX)
        return MORTISE_S_OK;
    status = bytes_decode(out, v);
    if (status == MORTISE_S_NOMEM)
        return status;
    if (status != MORTISE_S_OK ||
        oauth_url_read(bytes_str(out), &u) != MORTISE_S_OK)
        out->n = 0;
    return MORTISE_S_OK;
}

static void read_methods(mortise_jv list, struct oauth_server_metadata *out)
{
    out->listed = mortise_jv_type(list) == MORTISE_JV_ARRAY;
    out->basic = !out->listed || lists(list, "client_secret_basic");
    out->post = lists(list, "client_secret_post");
    out->none = lists(list, "none");
}

const char *oauth_metadata_read(mortise_jv doc, mortise_str issuer,
                                struct oauth_server_metadata *out)
{
    if (!mortise_jv_is(mortise_jv_get(doc, "issuer"), issuer))
        return "its metadata is for another issuer";
    if (endpoint(doc, "authorization_endpoint", &out->authorization) != 0 ||
        endpoint(doc, "token_endpoint", &out->token) != 0 ||
        endpoint(doc, "registration_endpoint", &out->registration) != 0)
        return "out of memory";
    if (out->token.n == 0)
        return "its metadata has no token_endpoint";
    out->has_s256 =
        lists(mortise_jv_get(doc, "code_challenge_methods_supported"), "S256");
    out->takes_client_urls =
        is_true(doc, "client_id_metadata_document_supported");
    out->says_iss =
        is_true(doc, "authorization_response_iss_parameter_supported");
    out->lists_offline =
        lists(mortise_jv_get(doc, "scopes_supported"), "offline_access");
    read_methods(mortise_jv_get(doc, "token_endpoint_auth_methods_supported"),
                 out);
    return NULL;
}

mortise_status oauth_metadata_default(const struct oauth_url *server,
                                      struct oauth_server_metadata *out)
{
    const struct {
        const char *path;
        struct bytes *to;
    } all[] = {{"/authorize", &out->authorization},
               {"/token", &out->token},
               {"/register", &out->registration}};
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0; i < 3 && status == MORTISE_S_OK; i++) {
        all[i].to->n = 0;
        status =
            put(all[i].to,
                (mortise_str[]){server->origin, mortise_strz(all[i].path)}, 2);
    }
    out->has_s256 = 1; /* that revision asks it of every one */
    out->basic = 1;
    return status;
}

void oauth_metadata_free(struct oauth_server_metadata *m)
{
    bytes_free(&m->authorization);
    bytes_free(&m->token);
    bytes_free(&m->registration);
    memset(m, 0, sizeof *m);
}
