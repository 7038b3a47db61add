/* http_keep.c -- tokens that outlive the process, kept by the host
 * (secret.keep/1).
 *
 * Four pieces, each under a name of its own: the two tokens, the secret of a
 * client that was registered, and what they belong to (oauth_tokens.c).
 *
 *   (1) The last piece is written last and looked for first: without it there are
 *       no others.
 *   (2) What could not be kept is not looked for again: an older set would be
 *       found, whose refresh token is spent.
 *   (3) Where the host keeps nothing, the tokens live as long as the process. */
#include "http_keep.h"

#include <sodium.h>

enum piece { BELONGS, ACCESS, REFRESH, CLIENT, PIECES };

static const char *const pieces[PIECES] = {
    [BELONGS] = "belongs",
    [ACCESS] = "access",
    [REFRESH] = "refresh",
    [CLIENT] = "client",
};

void http_keep_init(struct http_keep *k, mortise_inst *i, const char *server,
                    mortise_str url)
{
    unsigned char digest[crypto_generichash_BYTES_MIN];
    char hex[2 * sizeof digest + 1];

    crypto_generichash(digest, sizeof digest, (const unsigned char *)url.p,
                       url.n, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    k->inst = i;
    snprintf(k->name, sizeof k->name, "%s %.100s ", hex, server);
}

void http_keep_finish(struct http_keep *k)
{
    oauth_keep_free(&k->found);
}

/* ---- finding --------------------------------------------------------------- */

static struct bytes *place(struct oauth_keep *keep, enum piece piece)
{
    return piece == ACCESS    ? &keep->access
           : piece == REFRESH ? &keep->refresh
                              : &keep->client_secret;
}

static void next(struct http_keep *k);

static void ended(struct http_keep *k, mortise_status status)
{
    if (status != MORTISE_S_OK)
        oauth_keep_free(&k->found);
    k->loaded(k);
}

static void on_found(void *ud, mortise_status status, mortise_str answer)
{
    struct http_keep *k = (struct http_keep *)ud;
    enum piece piece = (enum piece)k->at;
    mortise_jv v = mortise_jv_none();
    struct bytes text = {0};

    k->pending--;
    if (status == MORTISE_S_OK)
        v = mortise_jv_get(mortise_jv_of(answer), "value");
    if (status == MORTISE_S_NOTFOUND && piece != BELONGS) {
        status = MORTISE_S_OK; /* it has none */
    } else if (status == MORTISE_S_OK && piece != BELONGS) {
        status = bytes_decode(place(&k->found, piece), v);
    } else if (status == MORTISE_S_OK) {
        status = bytes_decode(&text, v);
        if (status == MORTISE_S_OK)
            status = mortise_jv_parse(bytes_str(&text), &v);
        if (status == MORTISE_S_OK)
            status = oauth_keep_read(&k->found, v);
        bytes_free(&text);
    }
    k->at++;
    if (status == MORTISE_S_OK && k->at < PIECES)
        next(k);
    else
        ended(k, status);
}

static void next(struct http_keep *k)
{
    char name[sizeof k->name + 16];
    mortise_status status;

    snprintf(name, sizeof name, "%s%s", k->name, pieces[k->at]);
    k->pending++;
    status =
        mortise_secret_kept(k->inst->host, k->inst->api, k->inst->background,
                            mortise_strz(name), on_found, k);
    if (status == MORTISE_S_PENDING)
        return;
    k->pending--;
    ended(k, MORTISE_S_IO);
}

void http_keep_load(struct http_keep *k)
{
    oauth_keep_free(&k->found);
    k->at = BELONGS;
    if (k->is_stale)
        ended(k, MORTISE_S_OK); /* (2) */
    else
        next(k);
}

/* ---- keeping --------------------------------------------------------------- */

static void complain(struct http_keep *k, mortise_str why)
{
    char words[512];

    snprintf(words, sizeof words,
             "tokens are not stored for the next process: %.*s",
             (int)(why.n < 400 ? why.n : 400), why.n > 0 ? why.p : "");
    if (!k->is_stale)
        k->inst->api->log(k->inst->host, MORTISE_LEVEL_INFO,
                          mortise_strz(words));
    k->is_stale = 1;
}

static void on_kept(void *ud, mortise_status status, mortise_str answer)
{
    struct http_keep *k = (struct http_keep *)ud;

    k->pending--;
    if (status != MORTISE_S_OK && status != MORTISE_S_CANCELLED)
        complain(k, answer);
    if (k->pending == 0)
        k->idle(k); /* it may be gone then */
}

static void keep_piece(struct http_keep *k, enum piece piece,
                       const struct bytes *value)
{
    char name[sizeof k->name + 16];
    uint64_t n = 6 * (value->n + sizeof name) + 64;
    char *room = (char *)malloc(n);
    mortise_status status = MORTISE_S_NOMEM;

    snprintf(name, sizeof name, "%s%s", k->name, pieces[piece]);
    k->pending++;
    if (room != NULL) {
        status = mortise_secret_keep(k->inst->host, k->inst->api,
                                     k->inst->background, mortise_strz(name),
                                     value->n > 0 ? bytes_str(value)
                                                  : mortise_str_empty(),
                                     room, n, on_kept, k);
        sodium_memzero(room, n);
    }
    free(room);
    if (status == MORTISE_S_PENDING)
        return;
    k->pending--;
    k->is_stale = 1;
}

/* (1) */
void http_keep_save(struct http_keep *k, const struct oauth_keep *keep)
{
    struct bytes state = {0};

    if (oauth_keep_write(keep, &state) != MORTISE_S_OK)
        state.n = 0;
    keep_piece(k, ACCESS, &keep->access);
    keep_piece(k, REFRESH, &keep->refresh);
    keep_piece(k, CLIENT, &keep->client_secret);
    keep_piece(k, BELONGS, &state);
    bytes_free(&state);
}
