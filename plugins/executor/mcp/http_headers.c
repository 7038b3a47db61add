/* http_headers.c -- the headers of a message.
 *
 *     of every one       Accept, Content-Type, Authorization if there is a token
 *     of the new era     MCP-Protocol-Version, Mcp-Method, Mcp-Name of what is
 *                        about something, Mcp-Param-...
 *     of the old one     MCP-Protocol-Version once it is agreed on, Mcp-Session-Id
 *     of a stream that   Last-Event-ID
 *     goes on
 *
 *   (1) What is sent before it is known which era it is, discovery, has the
 *       headers of the new one; initialize has none of either.
 *   (2) The deployment's own headers come last, and none of them takes the place
 *       of one that is here already. */
#include "http.h"

#include "http_params.h"
#include "oauth_url.h"

static mortise_status put(struct http_headers *h, const char *name,
                          mortise_str value)
{
    return http_headers_put(h, mortise_strz(name), value);
}

/* ---- of a call ------------------------------------------------------------- */

static mortise_status put_param(void *ud, mortise_str name, mortise_str value)
{
    struct bytes full = {0};
    mortise_status status = bytes_put(&full, mortise_strz("Mcp-Param-"));

    if (status == MORTISE_S_OK)
        status = bytes_put(&full, name);
    if (status == MORTISE_S_OK)
        status = http_headers_put((struct http_headers *)ud, bytes_str(&full),
                                  value);
    bytes_free(&full);
    return status;
}

mortise_status http_headers_of_call(const struct mcp_message *m,
                                    struct http_headers *out)
{
    struct bytes value = {0};
    mortise_status status = MORTISE_S_OK;

    if (m->name.n > 0) {
        status = http_header_value(m->name, &value);
        if (status == MORTISE_S_OK)
            status = put(out, "Mcp-Name", bytes_str(&value));
        bytes_free(&value);
    }
    return status == MORTISE_S_OK
               ? http_params_each(m->schema, m->arguments, put_param, out)
               : status;
}

/* ---- of the era ------------------------------------------------------------ */

static mortise_status put_modern(const struct http_turn *t,
                                 struct http_headers *out)
{
    const char *version =
        t->wire->version[0] != '\0' ? t->wire->version : MCP_MODERN;
    mortise_status status =
        put(out, "MCP-Protocol-Version", mortise_strz(version));

    if (status == MORTISE_S_OK && t->n_method > 0)
        status = put(out, "Mcp-Method", mortise_strn(t->name.p, t->n_method));
    for (uint64_t i = 0; i < t->params.n && status == MORTISE_S_OK; i++)
        status = http_headers_put(out, t->params.list[2 * i],
                                  t->params.list[2 * i + 1]);
    return status;
}

static mortise_status put_legacy(const struct http_turn *t,
                                 struct http_headers *out)
{
    const struct mcp_wire *w = t->wire;
    mortise_status status = MORTISE_S_OK;

    if (w->version[0] != '\0')
        status = put(out, "MCP-Protocol-Version", mortise_strz(w->version));
    if (status == MORTISE_S_OK && w->session.n > 0)
        status = put(out, "Mcp-Session-Id", bytes_str(&w->session));
    if (status == MORTISE_S_OK && (t->resumes || t->is_own) && t->sse.has_id)
        status =
            put(out, "Last-Event-ID", mortise_strn(t->sse.id, t->sse.n_id));
    return status;
}

/* (1) */
static mortise_status put_era(const struct http_turn *t,
                              struct http_headers *out)
{
    if (t->is_initialize)
        return MORTISE_S_OK;
    return t->wire->era == MCP_ERA_LEGACY ? put_legacy(t, out)
                                          : put_modern(t, out);
}

/* ---- of the deployment ----------------------------------------------------- */

/* (2) */
static mortise_status put_told(mortise_jv map, const struct http_headers *first,
                               struct http_headers *out)
{
    mortise_jv_iter it = mortise_jv_each(map);
    mortise_status status = MORTISE_S_OK;
    struct bytes name = {0}, value = {0};
    mortise_jv key, v;

    while (status == MORTISE_S_OK && it.is_object &&
           mortise_jv_next(&it, &key, &v)) {
        name.n = value.n = 0;
        status = bytes_decode(&name, key);
        if (status == MORTISE_S_OK)
            status = bytes_decode(&value, v);
        if (status == MORTISE_S_OK &&
            !http_headers_has(first, bytes_str(&name)) &&
            !http_headers_has(out, bytes_str(&name)))
            status = http_headers_put(out, bytes_str(&name), bytes_str(&value));
    }
    bytes_free(&name);
    bytes_free(&value);
    return status;
}

static mortise_status put_token(struct http_turn *t, struct http_headers *out)
{
    struct bytes bearer = {0};
    mortise_status status =
        http_auth_bearer(t->wire->server, &bearer, &t->token);

    if (status == MORTISE_S_OK && bearer.n > 0)
        status = put(out, "Authorization", bytes_str(&bearer));
    bytes_free(&bearer);
    return status;
}

mortise_status http_headers_of(struct http_turn *t, struct http_headers *out,
                               struct http_headers *secret)
{
    mortise_jv config = t->wire->server->config;
    int gets = t->is_own || t->resumes;
    mortise_status status =
        put(out, "Accept",
            mortise_strz(gets ? "text/event-stream"
                              : "application/json, text/event-stream"));

    if (status == MORTISE_S_OK && !gets)
        status = put(out, "Content-Type", mortise_strz("application/json"));
    if (status == MORTISE_S_OK)
        status = put_era(t, out);
    if (status == MORTISE_S_OK)
        status = put_token(t, out);
    if (status == MORTISE_S_OK)
        status =
            put_told(mortise_jv_get(config, "secret_headers"), out, secret);
    if (status == MORTISE_S_OK)
        status = put_told(mortise_jv_get(config, "headers"), secret, out);
    return status;
}
