/* mcp_config.c -- what the plugin that speaks to MCP servers is told of them.
 *
 *     {"servers": {NAME: {"command": true,
 *                         "protocol": "auto", "timeout_ms": N, "hold_ms": N,
 *                         "tools": {TOOL: DIGEST}},
 *                  NAME: {"url": URL, "headers": {NAME: TEXT},
 *                         "secret_headers": {NAME: REFERENCE},
 *                         "auth": {...}, ...}},
 *      "places": [URL, ...],
 *      "secrets": [NAME, ...]}
 *
 * `tools` is there where the server is pinned, also when nothing is in it.  Which
 * program a server is, and what it gets, the plugin is not told: it asks for it
 * by the server's name.  `places` and `secrets` are what its permissions come
 * to: where it may go, and what it may use, is what stands in tools.mcp.
 * References to secrets stay what they are. */
#include "config/mcp_config.h"

#include <string.h>

#include "json/secret.h"

struct composing {
    json_t *places, *secrets;
    int failed; /* memory ran out */
};

/* Each once. */
static void note(struct composing *c, json_t *list, const char *text)
{
    MORTISE_JSON_EACH (one, i, list)
        if (strcmp(json_string_value(one), text) == 0)
            return;
    c->failed |= json_array_append_new(list, json_string(text));
}

static void note_secret(struct composing *c, const char *text)
{
    const char *name = mortise_secret_name(text);

    if (name != NULL)
        note(c, c->secrets, name);
}

static void set(struct composing *c, json_t *to, const char *name,
                json_t *value)
{
    c->failed |= json_object_set_new(to, name, value);
}

static void set_text(struct composing *c, json_t *to, const char *name,
                     const char *text)
{
    if (text != NULL)
        set(c, to, name, json_string(text));
}

static void put_headers(struct composing *c, json_t *to,
                        const struct mortise_mcp_texts *headers)
{
    json_t *plain = json_object(), *secret = json_object();

    for (size_t i = 0; i < headers->n; i++) {
        const struct mortise_mcp_text *h = &headers->list[i];

        set_text(c, mortise_secret_name(h->value) != NULL ? secret : plain,
                 h->name, h->value);
        note_secret(c, h->value);
    }
    set(c, to, "headers", plain);
    set(c, to, "secret_headers", secret);
}

static void put_auth(struct composing *c, json_t *to,
                     const struct mortise_mcp_auth *a)
{
    json_t *auth = json_object();

    set_text(c, auth, "grant", a->grant);
    set_text(c, auth, "client_id", a->client_id);
    set_text(c, auth, "client_metadata_url", a->client_metadata_url);
    set_text(c, auth, "redirect_uri", a->redirect_uri);
    if (a->client_secret != NULL) {
        set_text(c, auth, "client_secret", a->client_secret->str);
        note_secret(c, a->client_secret->str);
    }
    if (a->scopes != NULL)
        set(c, auth, "scopes", mortise_yaml_json(a->scopes, false));
    if (a->issuers != NULL)
        set(c, auth, "issuers", mortise_yaml_json(a->issuers, false));
    for (size_t i = 0; a->issuers != NULL && i < a->issuers->n; i++)
        note(c, c->places, a->issuers->items[i]->str);
    set(c, to, "auth", auth);
}

static void put_pins(struct composing *c, json_t *to,
                     const struct mortise_lock_server *pinned)
{
    json_t *tools = json_object();

    for (size_t i = 0; i < pinned->n; i++)
        set_text(c, tools, pinned->tools[i].name, pinned->tools[i].digest);
    set(c, to, "tools", tools);
}

static json_t *server_of(struct composing *c,
                         const struct mortise_mcp_server *s,
                         const struct mortise_lock *lock)
{
    const struct mortise_lock_server *pinned = mortise_lock_find(lock, s->name);
    json_t *out = json_object();

    if (s->url != NULL) {
        set_text(c, out, "url", s->url);
        note(c, c->places, s->url);
        put_headers(c, out, &s->headers);
    } else {
        set(c, out, "command", json_true());
    }
    if (s->auth.at != NULL)
        put_auth(c, out, &s->auth);
    for (size_t i = 0; i < s->env.n; i++)
        note_secret(c, s->env.list[i].value);
    set_text(c, out, "protocol", s->protocol);
    set(c, out, "timeout_ms", json_integer((json_int_t)s->timeout_ms));
    set(c, out, "hold_ms", json_integer((json_int_t)s->hold_ms));
    if (pinned != NULL)
        put_pins(c, out, pinned);
    return out;
}

json_t *mortise_mcp_config(const struct mortise_mcp_servers *servers,
                           const struct mortise_lock *lock)
{
    struct composing c = {json_array(), json_array(), 0};
    json_t *all = json_object(), *out;

    for (size_t i = 0; i < servers->n; i++)
        set(&c, all, servers->list[i].name,
            server_of(&c, &servers->list[i], lock));
    out = json_pack("{s:o, s:o, s:o}", "servers", all, "places", c.places,
                    "secrets", c.secrets);
    if (c.failed == 0)
        return out;
    json_decref(out);
    return NULL;
}
