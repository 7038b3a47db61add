/* mcp_config.c -- the configuration of the plugin that connects to MCP servers.
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
 * `tools` is present if the server is pinned, even if it has no tools.
 * `unpinned` is present if it is not pinned and its tools may be called anyway.
 * `sampling` and `roots` are present if the deployment sets them.  The plugin
 * does not see the command of a local server: it asks for the program by the
 * server's name.  `places` and `secrets` are the plugin's permissions: the
 * addresses and secrets in tools.mcp.  References to secrets are not replaced.
 */
#include "lang/config/mcp_config.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/json/absolute.h"
#include "core/json/secret.h"

struct composing {
    json_t *places, *secrets;
    int failed; /* memory ran out */
};

/* Add the text unless it is in the list. */
static void add_unique_text(struct composing *c, json_t *list, const char *text)
{
    MORTISE_JSON_EACH (one, i, list)
        if (strcmp(json_string_value(one), text) == 0)
            return;
    c->failed |= json_array_append_new(list, json_string(text));
}

static void add_used_secret(struct composing *c, const char *text)
{
    const char *name = mortise_secret_get_name(text);

    if (name != NULL)
        add_unique_text(c, c->secrets, name);
}

static void set_composed_member(struct composing *c, json_t *to,
                                const char *name, json_t *value)
{
    c->failed |= json_object_set_new(to, name, value);
}

static void set_composed_text(struct composing *c, json_t *to, const char *name,
                              const char *text)
{
    if (text != NULL)
        set_composed_member(c, to, name, json_string(text));
}

static void add_server_headers(struct composing *c, json_t *to,
                               const struct mortise_mcp_texts *headers)
{
    json_t *plain = json_object(), *secret = json_object();

    for (size_t i = 0; i < headers->n; i++) {
        const struct mortise_mcp_text *h = &headers->list[i];

        set_composed_text(
            c, mortise_secret_get_name(h->value) != NULL ? secret : plain,
            h->name, h->value);
        add_used_secret(c, h->value);
    }
    set_composed_member(c, to, "headers", plain);
    set_composed_member(c, to, "secret_headers", secret);
}

static void add_server_auth(struct composing *c, json_t *to,
                            const struct mortise_mcp_auth *a)
{
    json_t *auth = json_object();

    set_composed_text(c, auth, "grant", a->grant);
    set_composed_text(c, auth, "client_id", a->client_id);
    set_composed_text(c, auth, "client_metadata_url", a->client_metadata_url);
    set_composed_text(c, auth, "redirect_uri", a->redirect_uri);
    if (a->client_secret != NULL) {
        set_composed_text(c, auth, "client_secret", a->client_secret->str);
        add_used_secret(c, a->client_secret->str);
    }
    if (a->scopes != NULL)
        set_composed_member(c, auth, "scopes",
                            mortise_yaml_to_json(a->scopes, false));
    if (a->issuers != NULL)
        set_composed_member(c, auth, "issuers",
                            mortise_yaml_to_json(a->issuers, false));
    for (size_t i = 0; a->issuers != NULL && i < a->issuers->n; i++)
        add_unique_text(c, c->places, a->issuers->items[i]->str);
    set_composed_member(c, to, "auth", auth);
}

static void add_server_pins(struct composing *c, json_t *to,
                            const struct mortise_lock_server *pinned)
{
    json_t *tools = json_object();

    for (size_t i = 0; i < pinned->n; i++)
        set_composed_text(c, tools, pinned->tools[i].name,
                          pinned->tools[i].digest);
    set_composed_member(c, to, "tools", tools);
}

static void add_server_sampling(struct composing *c, json_t *to,
                                const struct mortise_mcp_sampling *s)
{
    json_t *sampling = json_object();

    set_composed_text(c, sampling, "alias", s->alias);
    if (s->max_tokens != 0)
        set_composed_member(c, sampling, "max_tokens",
                            json_integer((json_int_t)s->max_tokens));
    set_composed_member(c, to, "sampling", sampling);
}

/* In the form of RFC 8089; NULL: memory ran out. */
static json_t *make_file_uri(const char *path)
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

static json_t *make_root(const char *path)
{
    json_t *whole = mortise_json_absolute_path(path), *out;
    const char *text = whole != NULL ? json_string_value(whole) : "";
    const char *slash = strrchr(text, '/');

    out = json_pack("{s:o, s:s}", "uri", make_file_uri(text), "name",
                    slash != NULL && slash[1] != '\0' ? slash + 1 : text);
    json_decref(whole);
    return out;
}

static void add_server_roots(struct composing *c, json_t *to,
                             const struct mortise_paths *roots)
{
    json_t *list = json_array();

    for (size_t i = 0; i < roots->n; i++)
        c->failed |= json_array_append_new(list, make_root(roots->list[i]));
    set_composed_member(c, to, "roots", list);
}

static json_t *make_server_config(struct composing *c,
                                  const struct mortise_mcp_server *s,
                                  const struct mortise_lock *lock)
{
    const struct mortise_lock_server *pinned = mortise_lock_find(lock, s->name);
    json_t *out = json_object();

    if (s->url != NULL) {
        set_composed_text(c, out, "url", s->url);
        add_unique_text(c, c->places, s->url);
        add_server_headers(c, out, &s->headers);
    } else {
        set_composed_member(c, out, "command", json_true());
    }
    if (s->auth.at != NULL)
        add_server_auth(c, out, &s->auth);
    for (size_t i = 0; i < s->env.n; i++)
        add_used_secret(c, s->env.list[i].value);
    set_composed_text(c, out, "protocol", s->protocol);
    set_composed_member(c, out, "timeout_ms",
                        json_integer((json_int_t)s->timeout_ms));
    set_composed_member(c, out, "hold_ms",
                        json_integer((json_int_t)s->hold_ms));
    if (pinned != NULL)
        add_server_pins(c, out, pinned);
    else if (s->unpinned)
        set_composed_member(c, out, "unpinned", json_true());
    if (s->sampling.alias != NULL)
        add_server_sampling(c, out, &s->sampling);
    if (s->roots.list != NULL)
        add_server_roots(c, out, &s->roots);
    return out;
}

json_t *mortise_mcp_make_config(const struct mortise_mcp_servers *servers,
                                const struct mortise_lock *lock)
{
    struct composing c = {json_array(), json_array(), 0};
    json_t *all = json_object(), *out;

    for (size_t i = 0; i < servers->n; i++)
        set_composed_member(&c, all, servers->list[i].name,
                            make_server_config(&c, &servers->list[i], lock));
    out = json_pack("{s:o, s:o, s:o}", "servers", all, "places", c.places,
                    "secrets", c.secrets);
    if (c.failed == 0)
        return out;
    json_decref(out);
    return NULL;
}
