/* fetch.c -- what the registry says, page by page, and is it what was pinned?
 *
 *   (1) Of an MCP registry the list of servers is read, GET /v0/servers, the
 *       latest version of each, 100 a page, as far as `metadata.nextCursor`
 *       leads or until each server of the config was seen.  What was deleted
 *       there is not there.
 *   (2) Of an index there is one document, {"entries": [{id, kind, name?,
 *       description, text?}]}.
 *   (3) An entry is its whole JSON: a server's definition without what the
 *       registry says about it besides (`_meta`), an index's entry as it is.  One
 *       whose digest is not the pinned one, or for which none is pinned, is not
 *       used, and the log has the digest: who has looked at it may pin it.  Of
 *       several with one key that is the one that counts.
 *   (4) A redirect is an error that names where it leads: whoever answers there
 *       is not whom the config trusts, and would get the request.
 */
#include <stdio.h>
#include <string.h>

#include "registry.h"

enum { MAX_BODY = 8 << 20, TIMEOUT_MS = 15000 };

static const char official[] = "io.modelcontextprotocol.registry/official";

/* ---- entries ------------------------------------------------------------- */

void registry_drop(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free(e->list[i].key);
        free(e->list[i].id);
        free(e->list[i].kind);
        free(e->list[i].name);
        free(e->list[i].about);
        free(e->list[i].body);
        bytes_free(&e->list[i].json);
    }
    free(e->list);
    *e = (struct entries){0};
}

static struct entry *add(struct entries *e)
{
    struct entry *more;

    if (e->n == e->cap) {
        e->cap = e->cap > 0 ? 2 * e->cap : 64;
        more = realloc(e->list, e->cap * sizeof *more);
        if (more == NULL)
            return NULL;
        e->list = more;
    }
    more = &e->list[e->n++];
    memset(more, 0, sizeof *more);
    return more;
}

static mortise_status broken(struct mortise_inst *i, mortise_call call,
                             const char *why)
{
    return mortise_refuse(i->host, i->api, call, MORTISE_S_FAILED, "permanent",
                          "registry.protocol", why);
}

/* (3) */
static void compare(struct mortise_inst *i, struct entry *e)
{
    mortise_jv pin = mortise_jv_get(i->pins, e->key);
    char words[REGISTRY_SAYS];

    e->refused = !mortise_jv_is(pin, mortise_strz(e->digest));
    if (!e->refused || i->looks)
        return;
    if (pin.n == 0)
        snprintf(words, sizeof words,
                 "'%.200s' is not used, because mortise.lock has no pin for "
                 "it; the registry's definition has the digest %s (review it "
                 "with `mortise discovery pin registry --check`)",
                 e->key, e->digest);
    else
        snprintf(
            words, sizeof words,
            "'%.200s' is not used, because it differs from its pin in "
            "mortise.lock (%.*s); the registry's definition now has the digest "
            "%s (review it with `mortise discovery pin registry --check`)",
            e->key, (int)(pin.n - 2), pin.p + 1, e->digest);
    i->api->log(i->host, MORTISE_LEVEL_WARN, mortise_strz(words));
}

static bool is_whole(const struct entry *e)
{
    return e->key != NULL && e->id != NULL && e->kind != NULL &&
           e->name != NULL && e->about != NULL;
}

static bool take_digest(struct entry *e, mortise_jv of)
{
    bool right = canonical_put(&e->json, of, 0) == MORTISE_S_OK;

    if (right)
        canonical_digest(&e->json, e->digest);
    return right;
}

/* ---- a server (1) -------------------------------------------------------- */

/* What tools.mcp calls the server of that name; none: it is not wanted. */
static mortise_jv local_of(const struct mortise_inst *i, const char *name)
{
    mortise_jv_iter it = mortise_jv_each(i->servers);
    mortise_jv local, its;

    while (mortise_jv_next(&it, &local, &its))
        if (mortise_jv_is(its, mortise_strz(name)))
            return local;
    return mortise_jv_none();
}

static bool is_gone(mortise_jv one)
{
    mortise_jv meta = mortise_jv_get(mortise_jv_get(one, "_meta"), official);

    return mortise_jv_is(mortise_jv_get(meta, "status"),
                         mortise_strz("deleted"));
}

static mortise_status take_server(struct mortise_inst *i, mortise_jv one)
{
    mortise_jv server = mortise_jv_get(one, "server"), local;
    char *name;
    struct entry *e;

    if (mortise_jv_type(server) != MORTISE_JV_OBJECT)
        server = one; /* as it was listed before 2025-10 */
    name = things_text(mortise_jv_get(server, "name"));
    if (name == NULL)
        return MORTISE_S_NOMEM;
    local = local_of(i, name);
    if (local.n == 0 || is_gone(one)) {
        free(name);
        return MORTISE_S_OK;
    }
    e = add(&i->entries);
    if (e == NULL) {
        free(name);
        return MORTISE_S_NOMEM;
    }
    e->key = name;
    e->id = things_text(local);
    e->kind = strdup("");
    e->name = things_text(mortise_jv_get(server, "title"));
    e->about = things_text(mortise_jv_get(server, "description"));
    if (!is_whole(e) || !take_digest(e, server))
        return MORTISE_S_NOMEM;
    compare(i, e);
    return MORTISE_S_OK;
}

/* ---- an entry of an index (2) -------------------------------------------- */

static mortise_status take_entry(struct mortise_inst *i, mortise_call call,
                                 mortise_jv one)
{
    struct entry *e;
    size_t size;

    if (i->entries.n == REGISTRY_ENTRIES)
        return broken(i, call, "the index has more than 4096 entries");
    e = add(&i->entries);
    if (e == NULL)
        return MORTISE_S_NOMEM;
    e->id = things_text(mortise_jv_get(one, "id"));
    e->kind = things_text(mortise_jv_get(one, "kind"));
    e->name = things_text(mortise_jv_get(one, "name"));
    e->about = things_text(mortise_jv_get(one, "description"));
    if (mortise_jv_get(one, "text").n > 0)
        e->body = things_text(mortise_jv_get(one, "text"));
    size = e->id != NULL && e->kind != NULL
               ? strlen(e->id) + strlen(e->kind) + 2
               : 0;
    e->key = size > 0 ? malloc(size) : NULL;
    if (!is_whole(e) || !take_digest(e, one))
        return MORTISE_S_NOMEM;
    snprintf(e->key, size, "%s:%s", e->kind, e->id);
    if (e->id[0] == '\0' || strlen(e->id) > 256 || e->kind[0] == '\0')
        return broken(i, call, "an entry of the index has no id or no kind");
    compare(i, e);
    return MORTISE_S_OK;
}

/* ---- over HTTP ----------------------------------------------------------- */

/* Where an answer leads; false: it does not say. */
static bool redirect_of(mortise_jv answer, char *to, size_t size)
{
    mortise_jv headers = mortise_jv_get(answer, "headers");

    return mortise_jv_cstr(mortise_jv_get(headers, "location"), to, size) ==
           MORTISE_S_OK;
}

static mortise_status failed(struct mortise_inst *i, mortise_call call,
                             const char *url, mortise_status status,
                             mortise_str answer)
{
    char room[256], words[REGISTRY_SAYS], to[400];
    int64_t code = 0;
    mortise_jv v;

    if (status == MORTISE_S_CANCELLED || status == MORTISE_S_NOMEM)
        return status;
    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "status"), &code);
    if (code >= 300 && code < 400 && redirect_of(v, to, sizeof to))
        snprintf(words, sizeof words,
                 "%.400s answered %lld with a redirect to %s, which is not "
                 "followed; if this is the registry, set it as base_url",
                 url, (long long)code, to);
    else if (code != 0)
        snprintf(words, sizeof words, "%.400s answered %lld", url,
                 (long long)code);
    else
        snprintf(words, sizeof words, "%.400s: %.*s", url, (int)answer.n,
                 answer.p);
    i->api->fail(i->host, call, mortise_strz(words),
                 mortise_http_detail(status, answer, room, sizeof room));
    return MORTISE_S_FAILED;
}

/* The body of a page, decoded: malloc()ed. */
static mortise_status get(struct mortise_inst *i, mortise_call call,
                          const char *url, char **body)
{
    char room[16384];
    mortise_str bearer[2] = {mortise_strz("authorization"), {0}};
    mortise_str plain[2] = {mortise_strz("accept"),
                            mortise_strz("application/json")};
    mortise_http_ask ask = {.url = mortise_strz(url),
                            .headers = plain,
                            .n_headers = 1,
                            .timeout_ms = TIMEOUT_MS,
                            .max_body = MAX_BODY,
                            .no_redirects = 1, /* (4) */
                            .retries = 2};
    char token[4200];
    mortise_str answer;
    mortise_status status;
    mortise_jv v, text;
    int64_t code = 0;

    *body = NULL;
    if (i->token != NULL) {
        snprintf(token, sizeof token, "Bearer %.4096s", i->token);
        bearer[1] = mortise_strz(token);
        ask.headers = bearer;
    }
    status = mortise_http_request_wait(i->host, i->api, call, &ask, room,
                                       sizeof room, &answer);
    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_int(mortise_jv_get(v, "status"), &code);
    if (status != MORTISE_S_OK || code != 200)
        return failed(i, call, url, status, answer);
    text = mortise_jv_get(v, "body");
    *body = things_text(text);
    return *body != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
}

/* As it stands in a URL. */
static void escape(char *to, size_t size, mortise_jv v)
{
    char *text = things_text(v);
    size_t n = strlen(to);

    for (const char *p = text; p != NULL && *p != '\0' && n + 4 < size; p++)
        n += (size_t)snprintf(
            to + n, size - n,
            strchr("-._~", *p) != NULL || (*p >= '0' && *p <= '9') ||
                    (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
                ? "%c"
                : "%%%02X",
            (unsigned char)*p);
    free(text);
}

/* One page; *more: the next one has this cursor, in *url. */
static mortise_status read_page(struct mortise_inst *i, mortise_call call,
                                char *url, size_t size, bool *more)
{
    char *body;
    mortise_status status = get(i, call, url, &body);
    mortise_jv page, list, one, meta, cursor;
    mortise_jv_iter it;

    *more = false;
    if (status != MORTISE_S_OK)
        return status;
    if (mortise_jv_parse(mortise_strz(body), &page) != MORTISE_S_OK) {
        free(body);
        return broken(i, call, "the registry's answer is not JSON");
    }
    list = mortise_jv_get(page, i->is_index ? "entries" : "servers");
    if (mortise_jv_type(list) != MORTISE_JV_ARRAY)
        status =
            broken(i, call,
                   i->is_index ? "the index has no list `entries`"
                               : "the registry's answer has no list `servers`");
    it = mortise_jv_each(list);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one))
        status = i->is_index ? take_entry(i, call, one) : take_server(i, one);
    meta = mortise_jv_get(page, "metadata");
    cursor = mortise_jv_get(meta, "nextCursor");
    if (cursor.n == 0)
        cursor = mortise_jv_get(meta, "next_cursor");
    if (!i->is_index && mortise_jv_type(cursor) == MORTISE_JV_STRING &&
        cursor.n > 2 && i->entries.n < mortise_jv_count(i->servers)) {
        snprintf(url, size, "%s&cursor=", i->url);
        escape(url, size, cursor);
        *more = true;
    }
    free(body);
    return status;
}

mortise_status registry_fetch(struct mortise_inst *i, mortise_call call)
{
    uint64_t now = i->api->now_ns(i->host);
    char url[8192];
    mortise_status status = MORTISE_S_OK;
    bool more = true;

    if (i->until_ns > now)
        return MORTISE_S_OK;
    registry_drop(&i->entries);
    i->until_ns = 0;
    snprintf(url, sizeof url, "%s", i->url);
    for (int k = 0; status == MORTISE_S_OK && more && k < REGISTRY_PAGES; k++)
        status = read_page(i, call, url, sizeof url, &more);
    if (status == MORTISE_S_OK)
        i->until_ns = now + i->ttl_ns;
    return status;
}
