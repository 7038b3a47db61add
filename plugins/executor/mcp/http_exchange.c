/* http_exchange.c -- what OAuth wants of the host, and of the deployment.
 *
 * A request of it has 30 s, and its answer is at most 1 MiB large.  The host
 * follows no redirect: to where the deployment permits requests is judged before
 * they are sent, and a redirect would take them elsewhere behind that.  Of a
 * document it is judged and followed in oauth.c. */
#include "http_exchange.h"

enum { EXCHANGE_MS = 30000, ANSWER_MAX = 1 << 20 };

static mortise_status put(struct http_headers *h, const char *name,
                          mortise_str value)
{
    return value.n > 0 ? http_headers_put(h, mortise_strz(name), value)
                       : MORTISE_S_OK;
}

mortise_status http_exchange(mortise_inst *i, struct http_ask *ask,
                             const struct oauth_request *r)
{
    struct http_headers headers = {0};
    struct http_wish w = {.method = r->method,
                          .url = bytes_str(&r->url),
                          .headers = &headers,
                          .timeout_ms = EXCHANGE_MS,
                          .max_body = ANSWER_MAX,
                          .no_redirects = 1};
    mortise_status status =
        put(&headers, "Accept", mortise_strz("application/json"));

    if (status == MORTISE_S_OK && r->content != NULL)
        status = put(&headers, "Content-Type", mortise_strz(r->content));
    if (status == MORTISE_S_OK)
        status = put(&headers, "Authorization", bytes_str(&r->authorization));
    if (r->content != NULL)
        w.body = bytes_str(&r->body);
    if (status == MORTISE_S_OK)
        status = http_ask_send(i, ask, &w);
    http_headers_free(&headers);
    return status;
}

mortise_status http_client_secret(mortise_jv auth, struct bytes *out)
{
    static const char before[] = "secret://";
    mortise_jv v = mortise_jv_get(auth, "client_secret");
    mortise_status status;
    uint64_t n = sizeof before - 1;

    if (mortise_jv_type(v) != MORTISE_JV_STRING)
        return MORTISE_S_OK;
    status = bytes_decode(out, v);
    if (status != MORTISE_S_OK || out->n <= n || memcmp(out->p, before, n) != 0)
        return status != MORTISE_S_OK ? status : MORTISE_S_INVALID;
    memmove(out->p, out->p + n, out->n - n);
    out->n -= n;
    return MORTISE_S_OK;
}

int http_says_authorization(mortise_jv config)
{
    static const char *const maps[] = {"headers", "secret_headers"};
    char room[32];

    for (size_t i = 0; i < 2; i++) {
        mortise_jv_iter it = mortise_jv_each(mortise_jv_get(config, maps[i]));
        mortise_jv key, value;
        mortise_str name;

        while (it.is_object && mortise_jv_next(&it, &key, &value))
            if (mortise_jv_text(key, room, sizeof room, &name) ==
                    MORTISE_S_OK &&
                oauth_str_alike(name, mortise_strz("authorization")))
                return 1;
    }
    return 0;
}
