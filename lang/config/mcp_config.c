/* mcp_config.c -- what the plugin that speaks to MCP servers is told of them.
 *
 *     {"servers": {NAME: {"command": true,
 *                         "protocol": "auto", "timeout_ms": N, "hold_ms": N,
 *                         "tools": {TOOL: DIGEST} | "unpinned": true,
 *                         "sampling": {"alias": ALIAS, "max_tokens": N},
 *                         "roots": [{"uri": "file:///...", "name": TEXT}]},
 *                  NAME: {"url": URL, "headers": {NAME: TEXT},
 *                         "secret_headers": {NAME: REFERENCE},
 *                         "auth": {...}, ...}},
 *      "places": [URL, ...],
 *      "secrets": [NAME, ...]}
 *
 * `tools` is there where the server is pinned, also when nothing is in it;
 * `unpinned` where it is not, and its tools may be called all the same;
 * `sampling` and `roots` where the deployment says them.  Which
 * program a server is, and what it gets, the plugin is not told: it asks for it
 * by the server's name.  `places` and `secrets` are what its permissions come
 * to: where it may go, and what it may use, is what stands in tools.mcp.
 * References to secrets stay what they are. */
#include "lang/config/mcp_config.h"

#include <string.h>

#include "core/base/buf.h"
#include "lang/config/deploy_digest.h"
#include "core/json/secret.h"

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

static void put_sampling(struct composing *c, json_t *to,
                         const struct mortise_mcp_sampling *s)
{
    json_t *sampling = json_object();

    set_text(c, sampling, "alias", s->alias);
    if (s->max_tokens != 0)
        set(c, sampling, "max_tokens", json_integer((json_int_t)s->max_tokens));
    set(c, to, "sampling", sampling);
}

/* As RFC 8089 has it; NULL: memory ran out. */
static json_t *file_uri(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/!$&'()*+,;=:@";
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, &mortise_heap);
    mortise_buf_puts(&b, "file://");
    for (const char *p = path; *p != '\0'; p++)
        if (strchr(plain, *p) != NULL)
            mortise_buf_put(&b, p, 1);
        else
            mortise_buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*p);
    out = b.failed ? NULL : json_string(mortise_buf_cstr(&b));
    mortise_buf_finish(&b);
    return out;
}

static json_t *root_of(const char *path)
{
    json_t *whole = mortise_whole_path(path), *out;
    const char *text = whole != NULL ? json_string_value(whole) : "";
    const char *slash = strrchr(text, '/');

    out = json_pack("{s:o, s:s}", "uri", file_uri(text), "name",
                    slash != NULL && slash[1] != '\0' ? slash + 1 : text);
    json_decref(whole);
    return out;
}

static void put_roots(struct composing *c, json_t *to,
                      const struct mortise_paths *roots)
{
    json_t *list = json_array();

    for (size_t i = 0; i < roots->n; i++)
        c->failed |= json_array_append_new(list, root_of(roots->list[i]));
    set(c, to, "roots", list);
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
    else if (s->unpinned)
        set(c, out, "unpinned", json_true());
    if (s->sampling.alias != NULL)
        put_sampling(c, out, &s->sampling);
    if (s->roots.list != NULL)
        put_roots(c, out, &s->roots);
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
