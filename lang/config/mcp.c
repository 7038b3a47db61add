/* mcp.c -- `tools.mcp` of a deployment: servers with tools that graphs may
 * call.
 *
 *     tools:
 *       mcp:
 *         files:
 *           command: [node, ./files.js, ./data]
 *           env: {TOKEN: "secret://files"}
 *           sandbox: {fs: {read: [.]}, net: []}
 *           effects: {read: ["read_*"]}
 *         remote:
 *           url: https://mcp.example.com/mcp
 *           headers: {Authorization: "Bearer secret://remote"}
 *
 *   (1) A server is a local program or a remote URL. The keys of one are errors
 *       for the other.
 *   (2) A program gets only the access that is granted here: no files except
 *       the system's, no network, no variables of the engine.  The network is
 *       granted as a whole or not at all, because its packets are not
 *       inspected.
 *   (3) The effects of its tools are declared by the deployer (effects), not by
 *       the server.  The default is external.
 *   (4) Secrets are referred to by name, never written: the plugin, records and
 *       digests see the reference.
 *   (5) A server can ask a model and see directories only if these are set
 *       here.  The node that calls the server pays for the model.
 */
#include "lang/config/mcp.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/json/secret.h"

const char mortise_mcp_plugin[] = "mcp";

enum { TIMEOUT_MS = 60000, HOLD_MS = 5 * 60000 };

#define MOST_MS (24.0 * 86400000) /* the longest timeout of a request */

/* ASCII only: letters of other scripts are not accepted. */
#define SMALL  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static struct mortise_diag *add_mcp_error(struct mortise_config_reader *r,
                                          const struct mortise_yaml *at,
                                          const char *what, const char *why)
{
    return mortise_diag_add(r->diags, "E0610", at->span, "'%.100s' %s", what,
                            why);
}

/* ---- lists --------------------------------------------------------------- */

/* A list of non-empty strings; the list may be empty. */
static bool check_string_list(struct mortise_config_reader *r,
                              const struct mortise_slot *slot)
{
    const struct mortise_yaml *list = slot->value;

    for (size_t i = 0; i < list->n; i++) {
        const struct mortise_yaml *one = list->items[i];

        if (one->kind == MORTISE_YAML_STRING && one->len > 0 &&
            strlen(one->str) == one->len)
            continue;
        mortise_diag_add(r->diags, "E0203", one->span,
                         "'%s' must be a list of strings, but one item is %s",
                         slot->name->str,
                         one->kind == MORTISE_YAML_STRING
                             ? "empty or has a NUL"
                             : mortise_yaml_kind_name(one->kind));
        return false;
    }
    return true;
}

/* ---- sandbox (2) --------------------------------------------------------- */

static void read_mcp_paths(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    (void)into;
    if (check_string_list(ctx, slot))
        *(struct mortise_paths *)slot->field =
            mortise_config_paths(ctx, slot->value);
}

#define PATHS(word, words)                                                     \
    {                                                                          \
        .name = #word, .about = (words), .value = MORTISE_V_LIST,              \
        MORTISE_EACH(.value = MORTISE_V_STRING), .read = read_mcp_paths,       \
        MORTISE_AT(struct mortise_paths, struct mortise_program, word)         \
    }

static const struct mortise_key fs_keys[] = {
    PATHS(read, "Files and directories that the server can read, in addition "
                "to the system's programs and libraries."),
    PATHS(write, "Files and directories that the server can read and write, "
                 "but not execute."),
};
MORTISE_PLACE(fs, "fs");

static void read_sandbox_net(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_program *p = into;
    const struct mortise_yaml *list = slot->value;
    struct mortise_diag *d;

    if (!check_string_list(r, slot))
        return;
    p->online = list->n == 1 && strcmp(list->items[0]->str, "*") == 0;
    if (p->online || list->n == 0)
        return;
    d = add_mcp_error(
        r, list->items[0], list->items[0]->str,
        "cannot be granted alone: a program gets the whole network or none");
    mortise_diag_help(r->diags, d, "write net: [\"*\"], or net: [] for none");
}

static const struct mortise_key sandbox_keys[] = {
    {.name = "fs",
     .about = "The files that the server can use.",
     MORTISE_INTO_SAME(fs_place)},
    {.name = "net",
     .about = "The server's network access: [] (none, the default) or [\"*\"].",
     .value = MORTISE_V_LIST,
     MORTISE_EACH(.value = MORTISE_V_STRING),
     .read = read_sandbox_net},
    {.name = "user",
     .about = "The user of the process if the engine is root (default: a user "
              "of its own).",
     .value = MORTISE_V_STRING,
     .read = mortise_program_read_user},
    {.name = "memory",
     .about = "The largest size of the server's private data.",
     .min = 1,
     MORTISE_INTO_SIZE(struct mortise_program, memory)},
};
MORTISE_PLACE(sandbox, "sandbox");

/* ---- texts, which may end with a secret (4) ------------------------------ */

static void check_secret_reference(struct mortise_config_reader *r,
                                   const struct mortise_yaml *at)
{
    if (mortise_secret_has_ref(at->str) &&
        mortise_secret_get_name(at->str) == NULL)
        mortise_diag_add(r->diags, "E0604", at->span,
                         "write a reference to a secret as secret://NAME, "
                         "as the whole text or after its last space");
}

static bool check_text_value(struct mortise_config_reader *r,
                             const struct mortise_yaml *name,
                             const struct mortise_yaml *v)
{
    if (v->kind == MORTISE_YAML_STRING && strlen(v->str) == v->len)
        return true;
    mortise_diag_add(
        r->diags, "E0203", v->span, "'%s' must be a string, not %s", name->str,
        v->kind == MORTISE_YAML_STRING ? "one with a NUL"
                                       : mortise_yaml_kind_name(v->kind));
    return false;
}

static struct mortise_mcp_texts read_text_map(struct mortise_config_reader *r,
                                              const struct mortise_yaml *map)
{
    struct mortise_mcp_text *list =
        mortise_config_alloc(r, map->n * sizeof *list);
    size_t n = 0;

    for (size_t i = 0; list != NULL && i < map->n; i++) {
        const struct mortise_yaml *name = map->keys[i], *v = map->items[i];

        if (mortise_yaml_is_x_key(name->str) || !check_text_value(r, name, v))
            continue;
        check_secret_reference(r, v);
        list[n++] = (struct mortise_mcp_text){name->str, v->str, v};
    }
    return (struct mortise_mcp_texts){list, n};
}

/* ---- local programs ------------------------------------------------------ */

/* The program is a path relative to the file, unless it has no slash: then PATH
 * is searched. */
static void read_mcp_command(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;
    const struct mortise_yaml *list = slot->value;
    const char **args = mortise_config_alloc(r, list->n * sizeof *args);

    if (args == NULL)
        return;
    for (size_t i = 1; i < list->n; i++)
        args[i - 1] = list->items[i]->str;
    s->program.path = strchr(list->items[0]->str, '/') != NULL
                          ? mortise_config_path(r, list->items[0])
                          : list->items[0]->str;
    s->program.args = args;
    s->program.n_args = list->n - 1;
}

static void read_mcp_env(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;
    const struct mortise_yaml *map = slot->value;

    s->env = read_text_map(r, map);
    for (size_t i = 0; i < map->n; i++)
        if (map->keys[i]->len == 0 || strchr(map->keys[i]->str, '=') != NULL)
            add_mcp_error(r, map->keys[i], map->keys[i]->str,
                          "is not a valid name of a variable");
}

static void read_mcp_dir(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_mcp_server *s = into;

    s->program.dir = mortise_config_path(ctx, slot->value);
}

static void read_mcp_sandbox(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;

    mortise_keys_read_slot(slot, r, &s->program, r->diags);
}

/* ---- remote servers ------------------------------------------------------ */

/* Does "HOST...", as in a URL, refer to this machine? */
static bool is_loopback_host(const char *host)
{
    size_t n = strcspn(host, ":/?");

    if (strncmp(host, "[::1]", 5) == 0)
        return true;
    if (n == 9 && strncasecmp(host, "localhost", n) == 0)
        return true;
    return strncmp(host, "127.", 4) == 0 &&
           strspn(host, DIGITS ".") == n; /* an address, not 127.evil.com */
}

/* "https://HOST...", or "http://" with this machine; without a user name or a
 * password. */
bool mortise_mcp_is_url(const char *url)
{
    const char *host = strstr(url, "://");
    bool tls = strncmp(url, "https://", 8) == 0;

    if (!tls && strncmp(url, "http://", 7) != 0)
        return false;
    host += 3;
    for (const char *p = url; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '#' || *p == '\\')
            return false;
    return strcspn(host, ":/?") > 0 &&
           memchr(host, '@', strcspn(host, "/?")) == NULL &&
           (tls || is_loopback_host(host));
}

/* The message does not quote the value, which may contain a secret. */
static void check_mcp_url(struct mortise_config_reader *r, const char *key,
                          const struct mortise_yaml *at)
{
    if (!mortise_mcp_is_url(at->str))
        add_mcp_error(
            r, at, key,
            "must be an https URL without a name or password, or an http "
            "URL of this machine");
}

/* Reads into the field of the row. */
static void read_mcp_url(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    check_mcp_url(ctx, slot->name->str, slot->value);
    *(const char **)slot->field = slot->value->str;
}

static bool is_header_name(const char *name)
{
    return name[0] != '\0' &&
           strspn(name, SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
                              "!#$%&'*+-.^_`|~") == strlen(name);
}

/* Headers that the protocol sets. */
static bool is_protocol_header(const char *name)
{
    static const char *const own[] = {"accept",
                                      "connection",
                                      "content-length",
                                      "content-type",
                                      "host",
                                      "last-event-id",
                                      "mcp-method",
                                      "mcp-name",
                                      "mcp-session-id",
                                      "mcp-protocol-version",
                                      "transfer-encoding"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcasecmp(name, own[i]) == 0)
            return true;
    return strncasecmp(name, "mcp-param-", 10) == 0;
}

static void check_mcp_header(struct mortise_config_reader *r,
                             const struct mortise_yaml *map, size_t i)
{
    const struct mortise_yaml *name = map->keys[i];

    if (!is_header_name(name->str))
        add_mcp_error(r, name, name->str, "is not a valid name of a header");
    else if (is_protocol_header(name->str))
        add_mcp_error(r, name, name->str, "is a header that the protocol sets");
    for (size_t k = 0; k < i; k++)
        if (strcasecmp(map->keys[k]->str, name->str) == 0)
            add_mcp_error(r, name, name->str, "appears twice");
    if (map->items[i]->kind == MORTISE_YAML_STRING &&
        strpbrk(map->items[i]->str, "\r\n") != NULL)
        add_mcp_error(r, map->items[i], name->str, "must be one line");
}

static void read_mcp_headers(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;
    const struct mortise_yaml *map = slot->value;

    s->headers = read_text_map(r, map);
    for (size_t i = 0; i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            check_mcp_header(r, map, i);
}

/* ---- auth ---------------------------------------------------------------- */

static const struct mortise_word grants[] = {
    {.word = "authorization_code"},
    {.word = "client_credentials"},
    {.word = NULL},
};

static void read_auth_client_secret(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_auth *a = into;
    const char *name = mortise_secret_get_name(slot->value->str);

    a->client_secret = slot->value;
    if (name == NULL || name != slot->value->str + strlen("secret://"))
        mortise_diag_add(r->diags, "E0604", slot->value->span,
                         "a client secret must be a reference: secret://NAME");
}

static void read_auth_issuers(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_mcp_auth *a = into;

    a->issuers = slot->value;
    for (size_t i = 0; i < slot->value->n; i++)
        check_mcp_url(ctx, slot->name->str, slot->value->items[i]);
}

static const struct mortise_key auth_keys[] = {
    {.name = "grant",
     .about = "How the client gets a token: authorization_code (a person "
              "approves, the default) or client_credentials.",
     .value = MORTISE_V_WORD,
     .words = grants,
     MORTISE_INTO_TEXT(struct mortise_mcp_auth, grant)},
    {.name = "client_id",
     .about = "The client id of the registration.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_mcp_auth, client_id)},
    {.name = "client_secret",
     .about = "The client's secret, as secret://NAME.",
     .value = MORTISE_V_STRING,
     .read = read_auth_client_secret},
    {.name = "client_metadata_url",
     .about = "The URL of the client's metadata document.",
     .value = MORTISE_V_STRING,
     .read = read_mcp_url,
     MORTISE_AT(const char *, struct mortise_mcp_auth, client_metadata_url)},
    {.name = "redirect_uri",
     .about = "The URL to which the server redirects the person's browser with "
              "the code.",
     .value = MORTISE_V_STRING,
     .read = read_mcp_url,
     MORTISE_AT(const char *, struct mortise_mcp_auth, redirect_uri)},
    {.name = "scopes",
     .about = "The scopes to request (default: those that the server names).",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_mcp_auth, scopes)},
    {.name = "issuers",
     .about = "The authorization servers that are accepted.",
     .value = MORTISE_V_STRINGS,
     .read = read_auth_issuers},
};
MORTISE_PLACE(auth, "auth");

static void check_mcp_auth(struct mortise_config_reader *r,
                           const struct mortise_mcp_server *s)
{
    const struct mortise_mcp_auth *a = &s->auth;

    if (a->client_secret != NULL && a->client_id == NULL)
        mortise_diag_add(r->diags, "E0212", a->client_secret->span,
                         "'client_secret' has no effect without 'client_id': "
                         "add the key 'client_id'");
    if (a->grant != NULL && strcmp(a->grant, "client_credentials") == 0 &&
        a->client_id == NULL)
        mortise_diag_add(r->diags, "E0212", a->at->span,
                         "grant: client_credentials needs the key 'client_id'");
    for (size_t i = 0; i < s->headers.n; i++)
        if (strcasecmp(s->headers.list[i].name, "authorization") == 0)
            mortise_diag_add(r->diags, "E0212", s->headers.list[i].at->span,
                             "'auth' already sets the header Authorization: "
                             "remove this header, or remove 'auth'");
}

static void read_mcp_auth(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;

    s->auth.at = slot->name;
    mortise_keys_read_slot(slot, r, &s->auth, r->diags);
    if (slot->value->kind == MORTISE_YAML_MAP)
        check_mcp_auth(r, s);
}

/* ---- effects (3) --------------------------------------------------------- */

static const struct mortise_key effects_keys[] = {
    {.name = "read",
     .about = "Tools that change nothing.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_mcp_effects, read)},
    {.name = "write",
     .about = "Tools that only change data of this deployment.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_mcp_effects, write)},
    {.name = "idempotent",
     .about = "Tools that can be called twice with the same arguments without "
              "a second effect.",
     .value = MORTISE_V_STRINGS,
     MORTISE_INTO_YAML(struct mortise_mcp_effects, idempotent)},
};
MORTISE_PLACE(effects, "effects");

/* ---- offers to the server (5) -------------------------------------------- */

static const struct mortise_key sampling_keys[] = {
    {.name = "model",
     .about = "The alias under `models` that answers.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_TEXT(struct mortise_mcp_sampling, alias)},
    {.name = "max_tokens",
     .about = "The longest reply, whatever the server requests.",
     .min = 1,
     .max = 1e9,
     MORTISE_INTO_U64(struct mortise_mcp_sampling, max_tokens)},
};
MORTISE_PLACE(sampling, "sampling");

static void read_mcp_sampling(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_mcp_server *s = into;

    s->sampling.at = mortise_yaml_get(slot->value, "model");
    mortise_keys_read_slot(slot, r, &s->sampling, r->diags);
}

static void check_sampling_model(const struct mortise_mcp_sampling *s,
                                 const struct mortise_models *models,
                                 struct mortise_diags *diags)
{
    struct mortise_err why;

    if (s->alias != NULL &&
        mortise_model_check(models, s->alias, &why) != MORTISE_OK)
        mortise_diag_add(diags, "E0610", s->at->span, "%s", why.msg);
}

/* ---- one server ---------------------------------------------------------- */

static const struct mortise_word protocols[] = {
    {.word = "auto"},
    {.word = "2026-07-28"},
    {.word = "2025-11-25"},
    {.word = NULL},
};

static const struct mortise_key keys[] = {
    {.name = "command",
     .about = "The server's program and its arguments. A name without / is "
              "looked up on the engine's PATH.",
     .value = MORTISE_V_STRINGS,
     .read = read_mcp_command},
    {.name = "env",
     .about = "The server's environment variables: text, or secret://NAME.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_TEXT),
     .read = read_mcp_env},
    {.name = "dir",
     .about = "The server's working directory (default: the directory of this "
              "file).",
     .value = MORTISE_V_STRING,
     .read = read_mcp_dir},
    {.name = "sandbox",
     .about = "What the server can access (default: the system's programs and "
              "libraries, no network).",
     .value = MORTISE_V_MAP,
     .place = &sandbox_place,
     .read = read_mcp_sandbox},
    {.name = "url",
     .about = "The server's URL, instead of a command.",
     .value = MORTISE_V_STRING,
     .read = read_mcp_url,
     MORTISE_AT(const char *, struct mortise_mcp_server, url)},
    {.name = "headers",
     .about = "Headers of requests to the server: text, optionally with "
              "secret://NAME at its end.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_TEXT),
     .read = read_mcp_headers},
    {.name = "auth",
     .about = "How the client authorizes itself (OAuth).",
     .value = MORTISE_V_MAP,
     .place = &auth_place,
     .read = read_mcp_auth},
    {.name = "protocol",
     .about = "The version of the protocol: auto (negotiated), 2026-07-28 or "
              "2025-11-25.",
     .value = MORTISE_V_WORD,
     .words = protocols,
     MORTISE_INTO_TEXT(struct mortise_mcp_server, protocol)},
    {.name = "timeout",
     .about = "The longest time of a request without progress (default: 60s).",
     .min = 1,
     .max = MOST_MS,
     MORTISE_INTO_MS(struct mortise_mcp_server, timeout_ms)},
    {.name = "hold",
     .about = "The longest time that a call waits for a person (default: 5m).",
     .max = MOST_MS,
     MORTISE_INTO_MS(struct mortise_mcp_server, hold_ms)},
    {.name = "unpinned",
     .about = "true: mcp/call can call the server's tools while none of them "
              "is pinned (default: false).",
     MORTISE_INTO_BOOL(struct mortise_mcp_server, unpinned)},
    {.name = "effects",
     .about = "Patterns of tools by their effect class; a tool that matches "
              "none is external.",
     MORTISE_INTO_PLACE(effects_place, struct mortise_mcp_server, effects)},
    {.name = "sampling",
     .about = "The model that the server can use (default: none).",
     .value = MORTISE_V_MAP,
     .place = &sampling_place,
     .read = read_mcp_sampling},
    {.name = "roots",
     .about = "Directories that the server gets from roots/list; only its "
              "sandbox grants access.",
     .value = MORTISE_V_LIST,
     MORTISE_EACH(.value = MORTISE_V_STRING),
     .read = read_mcp_paths,
     MORTISE_AT(struct mortise_paths, struct mortise_mcp_server, roots)},
};

const struct mortise_place mortise_mcp_server_place = {
    MORTISE_PLACE_OF("an MCP server", keys)};

static bool is_server_name(const char *name)
{
    return strspn(name, SMALL) > 0 &&
           strspn(name, SMALL DIGITS "_-") == strlen(name) &&
           strlen(name) <= MORTISE_MCP_NAME;
}

/* (1) */
static void check_transport_keys(struct mortise_config_reader *r,
                                 const struct mortise_mcp_server *s,
                                 const struct mortise_yaml *map)
{
    static const char *const of_command[] = {"env", "dir", "sandbox", NULL};
    static const char *const of_url[] = {"headers", "auth", NULL};
    bool command = s->program.path != NULL;
    const char *const *other = command ? of_url : of_command;

    for (; *other != NULL; other++) {
        const struct mortise_yaml *key = mortise_yaml_key(map, *other);

        if (key != NULL)
            mortise_diag_add(r->diags, "E0212", key->span,
                             "the key '%s' is only for servers with '%s', but "
                             "server '%s' has '%s': remove the key",
                             *other, command ? "url" : "command", s->name,
                             command ? "command" : "url");
    }
}

static void check_mcp_server(struct mortise_config_reader *r,
                             const struct mortise_mcp_server *s,
                             const struct mortise_yaml *map)
{
    bool command = s->program.path != NULL, url = s->url != NULL;

    if (command != url)
        check_transport_keys(r, s, map);
    else
        add_mcp_error(r, s->at, s->name,
                      command ? "has 'command' and 'url': remove one of them"
                              : "has neither 'command' nor 'url'");
}

static void read_mcp_server(struct mortise_config_reader *r,
                            struct mortise_mcp_server *s,
                            const struct mortise_yaml *key,
                            const struct mortise_yaml *value)
{
    static const char here[] = ".";
    struct mortise_yaml dir = {.span = key->span, .str = here};
    size_t errors = r->diags->n_errors;

    *s = (struct mortise_mcp_server){.name = key->str,
                                     .at = key,
                                     .program = {.name = key->str},
                                     .protocol = "auto",
                                     .timeout_ms = TIMEOUT_MS,
                                     .hold_ms = HOLD_MS};
    s->program.dir = mortise_config_path(r, &dir);
    if (!is_server_name(key->str))
        mortise_diag_add(
            r->diags, "E0211", key->span,
            "'%s' is not a valid name of an MCP server: use a lowercase "
            "letter, then at most %d lowercase letters, digits, _ and -",
            key->str, (int)MORTISE_MCP_NAME - 1);
    mortise_keys_read(&mortise_mcp_server_place, value, key->span, r, s,
                      r->diags);
    if (r->diags->n_errors == errors)
        check_mcp_server(r, s, value);
}

void mortise_mcp_read(struct mortise_mcp_servers *out,
                      const struct mortise_yaml *map,
                      struct mortise_config_reader *r)
{
    struct mortise_mcp_server *list =
        mortise_config_alloc(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_mcp_server(r, &list[out->n++], map->keys[i], map->items[i]);
    out->list = list;
}

/* ---- references (4) ------------------------------------------------------ */

static void check_known_secret(const struct mortise_yaml *at,
                               const struct mortise_providers *secrets,
                               struct mortise_diags *diags)
{
    const char *name = mortise_secret_get_name(at->str);

    if (name != NULL && mortise_provider_find(secrets, name) == NULL)
        mortise_diag_add(diags, "E0605", at->span,
                         "the deployment has no secret '%s'", name);
}

void mortise_mcp_check(const struct mortise_mcp_servers *servers,
                       const struct mortise_providers *secrets,
                       const struct mortise_models *models,
                       struct mortise_diags *diags)
{
    for (size_t i = 0; i < servers->n; i++) {
        const struct mortise_mcp_server *s = &servers->list[i];

        check_sampling_model(&s->sampling, models, diags);
        for (size_t k = 0; k < s->env.n; k++)
            check_known_secret(s->env.list[k].at, secrets, diags);
        for (size_t k = 0; k < s->headers.n; k++)
            check_known_secret(s->headers.list[k].at, secrets, diags);
        if (s->auth.client_secret != NULL)
            check_known_secret(s->auth.client_secret, secrets, diags);
    }
}

/* ---- look-up ------------------------------------------------------------- */

const struct mortise_mcp_server *
mortise_mcp_find(const struct mortise_mcp_servers *servers, const char *name)
{
    for (size_t i = 0; i < servers->n; i++)
        if (strcmp(servers->list[i].name, name) == 0)
            return &servers->list[i];
    return NULL;
}

static int fail_with_unknown_server(const struct mortise_mcp_servers *servers,
                                    const char *name, struct mortise_err *err)
{
    const char *names[64], *near;
    size_t n = 0;

    for (; n < servers->n && n < sizeof names / sizeof names[0]; n++)
        names[n] = servers->list[n].name;
    near = mortise_nearest_find(name, names, n);
    return mortise_fail(
        err, MORTISE_ENOTFOUND,
        "tools.mcp of the deployment has no server '%.64s'%s%s%s", name,
        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
        near != NULL ? "'?" : "");
}

int mortise_mcp_find_program(const struct mortise_mcp_servers *servers,
                             const char *server,
                             const struct mortise_program **out,
                             struct mortise_err *err)
{
    const struct mortise_mcp_server *s = mortise_mcp_find(servers, server);

    *out = NULL;
    if (s == NULL)
        return fail_with_unknown_server(servers, server, err);
    if (s->program.path == NULL)
        return mortise_fail(
            err, MORTISE_ENOTFOUND,
            "MCP server '%.64s' has the URL %.200s, but no program to start",
            s->name, s->url);
    *out = &s->program;
    return MORTISE_OK;
}

bool mortise_mcp_has_programs(const struct mortise_mcp_servers *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        if (servers->list[i].program.path != NULL)
            return true;
    return false;
}
