/* oauth_tokens.c -- what is kept of an authorization, in memory that is wiped.
 *
 * oauth_tokens_take() and oauth_tokens_drop() put a set of tokens in and out.
 * Where they outlive the process (http_keep.c), each secret is kept by itself, so
 * that it is covered as it is wherever something is shown, and beside them, as
 * JSON, what they belong to. */
#include "oauth.h"

#include <sodium.h>

static void wipe(struct bytes *b)
{
    if (b->p != NULL)
        sodium_memzero(b->p, b->cap);
    bytes_free(b);
}

/* Into memory of its own, so that no part of the former stays where realloc()
 * left it. */
static mortise_status take(mortise_jv v, struct bytes *to)
{
    struct bytes one = {0};
    mortise_status status = bytes_decode(&one, v);

    if (status != MORTISE_S_OK) {
        wipe(&one);
        return status;
    }
    wipe(to);
    *to = one;
    return MORTISE_S_OK;
}

/* As a header carries it (RFC 6750: b64token); anything else would not arrive as
 * it is. */
static int is_token(const struct bytes *b)
{
    for (uint64_t i = 0; i < b->n; i++)
        if (b->p[i] <= ' ' || b->p[i] > '~')
            return 0;
    return b->n > 0;
}

const char *oauth_tokens_take(struct oauth_keep *keep, mortise_jv answer)
{
    mortise_jv access = mortise_jv_get(answer, "access_token"),
               type = mortise_jv_get(answer, "token_type"),
               refresh = mortise_jv_get(answer, "refresh_token");
    char room[16];
    mortise_str text;

    if (mortise_jv_type(access) != MORTISE_JV_STRING)
        return "its answer has no access_token";
    if (mortise_jv_type(type) != MORTISE_JV_NONE &&
        (mortise_jv_text(type, room, sizeof room, &text) != MORTISE_S_OK ||
         !oauth_str_alike(text, mortise_strz("bearer"))))
        return "it is not a bearer token";
    if (access.n > 4 * OAUTH_TEXT_MAX || refresh.n > 4 * OAUTH_TEXT_MAX)
        return "it is too long";
    if (take(access, &keep->access) != MORTISE_S_OK)
        return "out of memory";
    if (!is_token(&keep->access)) {
        wipe(&keep->access);
        return "it has characters that are invalid in a token";
    }
    /* a renewal that says nothing of it leaves the refresh token as it was */
    if (mortise_jv_type(refresh) == MORTISE_JV_STRING &&
        take(refresh, &keep->refresh) != MORTISE_S_OK)
        return "out of memory";
    return NULL;
}

void oauth_tokens_drop(struct oauth_keep *keep)
{
    wipe(&keep->access);
    wipe(&keep->refresh);
}

void oauth_keep_free(struct oauth_keep *keep)
{
    oauth_tokens_drop(keep);
    wipe(&keep->client_secret);
    bytes_free(&keep->scope);
    bytes_free(&keep->issuer);
    bytes_free(&keep->endpoint);
    bytes_free(&keep->resource);
    bytes_free(&keep->token_client);
    bytes_free(&keep->client_issuer);
    bytes_free(&keep->client_id);
    bytes_free(&keep->refused);
    memset(keep, 0, sizeof *keep);
}

/* ---- for another process --------------------------------------------------- */

struct member {
    const char *name;
    size_t at; /* of a struct bytes in the keep */
};

static const struct member members[] = {
    {"scope", offsetof(struct oauth_keep, scope)},
    {"issuer", offsetof(struct oauth_keep, issuer)},
    {"endpoint", offsetof(struct oauth_keep, endpoint)},
    {"resource", offsetof(struct oauth_keep, resource)},
    {"client", offsetof(struct oauth_keep, token_client)},
    {"registered_at", offsetof(struct oauth_keep, client_issuer)},
    {"registered_as", offsetof(struct oauth_keep, client_id)},
};

static struct bytes *member_of(struct oauth_keep *keep, const struct member *m)
{
    return (struct bytes *)(void *)((char *)keep + m->at);
}

mortise_status oauth_keep_write(const struct oauth_keep *keep,
                                struct bytes *out)
{
    struct oauth_keep copy = *keep; /* borrowed: it is read alone */
    mortise_status status;
    mortise_str text;
    mortise_jw w;

    if (keep->access.n == 0 && keep->client_id.n == 0)
        return MORTISE_S_OK;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        mortise_jw_key(&w, members[i].name);
        mortise_jw_string(&w, bytes_str(member_of(&copy, &members[i])));
    }
    mortise_jw_key(&w, "method");
    mortise_jw_int(&w, keep->token_method);
    mortise_jw_key(&w, "registered_method");
    mortise_jw_int(&w, keep->client_method);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    bytes_free(out);
    out->p = w.p;
    out->n = text.n;
    out->cap = w.cap;
    return status;
}

static int method_in(mortise_jv state, const char *name)
{
    int64_t m = OAUTH_NONE;

    mortise_jv_int(mortise_jv_get(state, name), &m);
    return m == OAUTH_BASIC || m == OAUTH_POST ? (int)m : OAUTH_NONE;
}

mortise_status oauth_keep_read(struct oauth_keep *keep, mortise_jv state)
{
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (status == MORTISE_S_OK)
            status = bytes_decode(member_of(keep, &members[i]),
                                  mortise_jv_get(state, members[i].name));
    keep->token_method = method_in(state, "method");
    keep->client_method = method_in(state, "registered_method");
    return status;
}

void oauth_keep_adopt(struct oauth_keep *keep, struct oauth_keep *from)
{
    struct bytes refused = keep->refused;
    unsigned attempts = keep->attempts;

    memset(&keep->refused, 0, sizeof keep->refused);
    oauth_keep_free(keep);
    bytes_free(&from->refused);
    *keep = *from;
    keep->refused = refused;
    keep->attempts = attempts;
    memset(from, 0, sizeof *from);
}

/* ---- how often ----------------------------------------------------------- */

int oauth_try(struct oauth_keep *keep, mortise_str request)
{
    if (!oauth_str_same(bytes_str(&keep->refused), request)) {
        keep->refused.n = 0;
        keep->attempts = 0;
        if (bytes_put(&keep->refused, request) != MORTISE_S_OK)
            return 0;
    }
    if (keep->attempts + 1 >= OAUTH_ATTEMPTS)
        return 0;
    keep->attempts += keep->access.n > 0;
    return 1;
}

void oauth_in_vain(struct oauth_keep *keep)
{
    keep->attempts += keep->attempts < OAUTH_ATTEMPTS;
}

void oauth_accepted(struct oauth_keep *keep, mortise_str request)
{
    if (oauth_str_same(bytes_str(&keep->refused), request))
        keep->refused.n = 0, keep->attempts = 0;
}
