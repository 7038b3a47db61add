/* registry.c -- finds tools and skills by what a registry over HTTP says of them.
 *
 * A registry only ranks what the node may use anyway: it is somebody else's, and
 * adds nothing to that.
 *
 *   mcp     an MCP registry.  `servers` of the config says which of the
 *           deployment's servers (tools.mcp) it calls how; a tool of one of them
 *           is found by its own words and by what the registry says of its
 *           server.
 *   index   one JSON document, {"entries": [{id, kind, name?, description,
 *           text?}]}.  A tool, an extension or a node is found by that
 *           description, if it is among the candidates; a skill by its, and its
 *           text is what joins the prompt.
 *
 * Words, order and how much is shown are as in the catalogue (things.h).
 *
 * What a registry says today it need not say tomorrow, and models read it.  So an
 * entry counts only as it was pinned: the deployment's lock has its digest
 * (fetch.c, 3), below discovery.registry, and what is not that is not used, and
 * said so in the log.  The key there is the server's name in the registry, or
 * KIND:ID of an index.  list() has them all, for `mortise discovery pin`.
 *
 * Config (of the deployment)
 *   base_url   where it is; nothing else is reached
 *   format     mcp (default) or index
 *   api        v0 (default) or v0.1: of an MCP registry
 *   servers    {NAME in tools.mcp: NAME in the registry}
 *   token      goes as a bearer token
 *   ttl        seconds for which what it said is good                   (300)
 *   pins       {KEY: digest}: what the lock has, put in by the host
 *
 * Error codes
 *   config              the config is none
 *   registry.protocol   what answers is no registry
 *   http.404 ...        as http.request/1 failed
 *   search, no_memory*
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../create.h"
#include "../../nomem.h"
#include "registry.h"

enum { TTL_S = 300 };

/* ---- config -------------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    registry_drop(&i->entries);
    pthread_mutex_destroy(&i->lock);
    free(i->config_text);
    free(i->url);
    free(i->token);
    free(i);
}

static mortise_status no_config(struct mortise_inst *i, const char *why)
{
    return mortise_refuse(i->host, i->api, 0, MORTISE_S_INVALID, "permanent",
                          "config", why);
}

/* Where the list begins. */
static bool set_url(struct mortise_inst *i)
{
    char *base = things_text(mortise_jv_get(i->config, "base_url"));
    bool newer =
        mortise_jv_is(mortise_jv_get(i->config, "api"), mortise_strz("v0.1"));
    size_t size;

    if (base == NULL)
        return false;
    if (i->is_index) {
        i->url = base;
        return true;
    }
    while (base[0] != '\0' && base[strlen(base) - 1] == '/')
        base[strlen(base) - 1] = '\0';
    size = strlen(base) + 64;
    i->url = malloc(size);
    if (i->url != NULL)
        snprintf(i->url, size, "%s/%s/servers?limit=100&version=latest", base,
                 newer ? "v0.1" : "v0");
    free(base);
    return i->url != NULL;
}

static mortise_status configure(struct mortise_inst *i, mortise_str config)
{
    int64_t ttl = TTL_S;

    i->config_text = malloc(config.n + 1);
    if (i->config_text == NULL)
        return MORTISE_S_NOMEM;
    memcpy(i->config_text, config.p, config.n);
    i->config_text[config.n] = '\0';
    if (mortise_jv_parse(mortise_strn(i->config_text, config.n), &i->config) !=
        MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    i->servers = mortise_jv_get(i->config, "servers");
    i->pins = mortise_jv_get(i->config, "pins");
    i->is_index = mortise_jv_is(mortise_jv_get(i->config, "format"),
                                mortise_strz("index"));
    mortise_jv_int(mortise_jv_get(i->config, "ttl"), &ttl);
    i->ttl_ns = (uint64_t)ttl * 1000000000u;
    if (mortise_jv_get(i->config, "base_url").n <= 2)
        return no_config(i, "base_url is missing");
    if (!i->is_index && mortise_jv_count(i->servers) == 0)
        return no_config(i,
                         "an MCP registry needs `servers`: a map of the "
                         "deployment's servers to their names in the registry");
    if (mortise_jv_get(i->config, "token").n > 0) {
        i->token = things_text(mortise_jv_get(i->config, "token"));
        if (i->token == NULL)
            return MORTISE_S_NOMEM;
    }
    return set_url(i) ? MORTISE_S_OK : MORTISE_S_NOMEM;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        *i = (struct mortise_inst){.host = host, .api = api};
        pthread_mutex_init(&i->lock, NULL);
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

/* ---- a call -------------------------------------------------------------- */

/* Is the id that of a tool of this server's, mcp/SERVER/TOOL? */
static bool is_of_server(const char *id, const char *server)
{
    size_t n = strlen(server);

    return strncmp(id, "mcp/", 4) == 0 && strncmp(id + 4, server, n) == 0 &&
           id[4 + n] == '/';
}

/* What the registry says of a candidate; NULL: nothing that counts. */
static const struct entry *entry_of(const struct mortise_inst *i,
                                    const struct thing *t)
{
    for (size_t k = 0; k < i->entries.n; k++) {
        const struct entry *e = &i->entries.list[k];

        if (!e->refused && (i->is_index ? strcmp(e->id, t->id) == 0 &&
                                              strcmp(e->kind, t->kind) == 0
                                        : is_of_server(t->id, e->id)))
            return e;
    }
    return NULL;
}

/* It is found by what both say, of a server, or by what the index does. */
static bool join(const struct mortise_inst *i, struct thing *t,
                 const struct entry *e)
{
    size_t size = strlen(e->name) + strlen(t->about) + strlen(e->about) + 3;
    char *about = malloc(size);

    if (about == NULL)
        return false;
    if (i->is_index)
        snprintf(about, size, "%s", e->about);
    else
        snprintf(about, size, "%s %s %s", t->about, e->name, e->about);
    free(t->about);
    t->about = about;
    return true;
}

static bool add_candidates(struct things *l, struct mortise_inst *i,
                           mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "candidates"));
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        const struct entry *e;
        struct thing *t;

        if (!things_candidate(l, one))
            return false;
        t = &l->list[l->n - 1];
        e = things_wants(body, t->kind) ? entry_of(i, t) : NULL;
        if (e != NULL && !join(i, t, e))
            return false;
        if (e == NULL)
            things_pop(l);
    }
    return true;
}

static bool add_skills(struct things *l, const struct mortise_inst *i)
{
    for (size_t k = 0; k < i->entries.n; k++) {
        const struct entry *e = &i->entries.list[k];
        struct thing *t;

        if (e->refused || strcmp(e->kind, "skill") != 0)
            continue;
        t = things_add(l);
        if (t == NULL)
            return false;
        t->id = strdup(e->id);
        t->kind = strdup("skill");
        t->name = strdup(e->name[0] != '\0' ? e->name : e->id);
        t->about = strdup(e->about);
        t->body = e->body;
        if (t->id == NULL || t->kind == NULL || t->name == NULL ||
            t->about == NULL)
            return false;
    }
    return true;
}

/* With the lock: bodies are the entries'. */
static mortise_status find(struct mortise_inst *i, const mortise_request *r,
                           struct things *l)
{
    mortise_jv body = mortise_jv_of(r->body);
    mortise_status status = registry_fetch(i, r->call);

    if (status != MORTISE_S_OK)
        return status;
    if (!add_candidates(l, i, body) ||
        (i->is_index && things_wants(body, "skill") && !add_skills(l, i)))
        return MORTISE_S_NOMEM;
    return things_find(i->host, i->api, r->call, body, l, NULL, 0);
}

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    struct things l = {0};
    mortise_status status;

    pthread_mutex_lock(&i->lock);
    status = find(i, r, &l);
    pthread_mutex_unlock(&i->lock);
    things_free(&l);
    return status == MORTISE_S_NOMEM ? nomem(i->host, i->api, r->call) : status;
}

/* ---- what is pinned ------------------------------------------------------ */

/* Of several with one key the one that is pinned, or else the first. */
static bool is_shown(const struct mortise_inst *i, size_t k)
{
    const struct entry *e = &i->entries.list[k];

    for (size_t n = 0; n < i->entries.n; n++) {
        const struct entry *other = &i->entries.list[n];

        if (n != k && strcmp(other->key, e->key) == 0 &&
            (n < k ? !other->refused || e->refused
                   : e->refused && !other->refused))
            return false;
    }
    return true;
}

static mortise_status emit_entries(struct mortise_inst *i, mortise_call call)
{
    char room[16384];
    mortise_emitter e;

    mortise_emitter_init(&e, i->host, i->api, call, room, sizeof room);
    mortise_jw_object(&e.w);
    mortise_jw_key(&e.w, "entries");
    mortise_jw_array(&e.w);
    for (size_t k = 0; k < i->entries.n; k++) {
        const struct entry *one = &i->entries.list[k];

        if (!is_shown(i, k))
            continue;
        mortise_jw_object(&e.w);
        mortise_jw_key(&e.w, "key");
        mortise_jw_cstr(&e.w, one->key);
        mortise_jw_key(&e.w, "digest");
        mortise_jw_cstr(&e.w, one->digest);
        mortise_jw_key(&e.w, "entry");
        mortise_jw_value(&e.w, mortise_jv_of(bytes_str(&one->json)));
        mortise_jw_end(&e.w);
    }
    mortise_jw_end(&e.w);
    mortise_jw_end(&e.w);
    return mortise_emitter_finish(&e);
}

/* As they are now: what was fetched before may be old. */
static mortise_status list(mortise_inst *i, const mortise_request *r)
{
    mortise_status status;

    pthread_mutex_lock(&i->lock);
    i->until_ns = 0;
    i->looks = true;
    status = registry_fetch(i, r->call);
    i->looks = false;
    if (status == MORTISE_S_OK)
        status = emit_entries(i, r->call);
    pthread_mutex_unlock(&i->lock);
    return status == MORTISE_S_NOMEM ? nomem(i->host, i->api, r->call) : status;
}

static const void *interface_of(mortise_inst *i, const char *id)
{
    static const mortise_discovery discovery = {sizeof discovery, 0, discover,
                                                list};

    (void)i;
    return strcmp(id, MORTISE_DISCOVERY_1) == 0 ? &discovery : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "registry",
    .version = "0.1.0",
    .create = create,
    .get_interface = interface_of,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
