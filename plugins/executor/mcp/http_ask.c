/* http_ask.c -- one request, made by the host.
 *
 * http.request/1 with `stream` answers with the head first, then with pieces of
 * the body, and last with all of it once more; without, with that alone.  Here the
 * three have functions of their own.  What the last one brings as text is not
 * looked at where pieces were heard. */
#include "http_ask.h"

#include "oauth_url.h"

#include <sodium.h>

/* ---- headers ------------------------------------------------------------- */

static mortise_status copied(mortise_str *out, mortise_str s)
{
    char *p = (char *)malloc(s.n + 1);

    if (p == NULL)
        return MORTISE_S_NOMEM;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    *out = mortise_strn(p, s.n);
    return MORTISE_S_OK;
}

/* They may be credentials. */
static void drop(mortise_str *s)
{
    char *p;

    memcpy(&p, &s->p, sizeof p); /* ours: copied() made it */
    if (p != NULL)
        sodium_memzero(p, s->n);
    free(p);
    *s = mortise_str_empty();
}

mortise_status http_headers_put(struct http_headers *h, mortise_str name,
                                mortise_str value)
{
    mortise_str *pair;

    if (h->n == h->cap) {
        uint64_t cap = h->cap > 0 ? 2 * h->cap : 16;
        mortise_str *list =
            (mortise_str *)realloc(h->list, 2 * cap * sizeof *list);

        if (list == NULL)
            return MORTISE_S_NOMEM;
        h->list = list;
        h->cap = cap;
    }
    pair = h->list + 2 * h->n;
    if (copied(&pair[0], name) != MORTISE_S_OK)
        return MORTISE_S_NOMEM;
    if (copied(&pair[1], value) != MORTISE_S_OK) {
        drop(&pair[0]);
        return MORTISE_S_NOMEM;
    }
    h->n++;
    return MORTISE_S_OK;
}

int http_headers_has(const struct http_headers *h, mortise_str name)
{
    for (uint64_t i = 0; i < h->n; i++)
        if (oauth_str_alike(h->list[2 * i], name))
            return 1;
    return 0;
}

void http_headers_free(struct http_headers *h)
{
    for (uint64_t i = 0; i < 2 * h->n; i++)
        drop(&h->list[i]);
    free(h->list);
    memset(h, 0, sizeof *h);
}

/* ---- the answer ---------------------------------------------------------- */

mortise_str http_header_of(mortise_jv headers, const char *name,
                           struct bytes *room)
{
    room->n = 0;
    if (bytes_decode(room, mortise_jv_get(headers, name)) != MORTISE_S_OK)
        room->n = 0;
    return bytes_str(room);
}

static int status_of(mortise_jv answer)
{
    int64_t status = 0;

    mortise_jv_int(mortise_jv_get(answer, "status"), &status);
    return status > 0 && status < 1000 ? (int)status : 0;
}

static void on_piece(struct http_ask *a, mortise_str piece)
{
    mortise_jv head;

    if (a->http != 0) {
        if (a->piece != NULL)
            a->piece(a, piece);
        return;
    }
    head = mortise_jv_of(piece);
    a->http = status_of(head);
    if (a->head != NULL)
        a->head(a, a->http, mortise_jv_get(head, "headers"));
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct http_ask *a = (struct http_ask *)ud;
    struct http_end end = {.status = status, .http = a->http};

    if (status == MORTISE_S_PENDING) {
        on_piece(a, answer);
        return;
    }
    a->is_pending = 0;
    if (status == MORTISE_S_OK) {
        end.answer = mortise_jv_of(answer);
        end.http = status_of(end.answer);
    } else {
        end.words = answer;
    }
    a->done(a, &end);
}

/* ---- sending ------------------------------------------------------------- */

static uint64_t room_of(const struct http_headers *h)
{
    uint64_t n = 0;

    for (uint64_t i = 0; h != NULL && i < 2 * h->n; i++)
        n += 6 * h->list[i].n + 8;
    return n;
}

mortise_status http_ask_send(mortise_inst *i, struct http_ask *a,
                             const struct http_wish *w)
{
    mortise_http_ask h = {.method = mortise_strz(w->method),
                          .url = w->url,
                          .body = w->body,
                          .json = w->json,
                          .timeout_ms = w->timeout_ms,
                          .idle_timeout_ms = w->idle_ms,
                          .max_body = w->max_body,
                          .no_redirects = w->no_redirects,
                          .stream = a->head != NULL};
    uint64_t n = 512 + 6 * (w->url.n + w->body.n) + w->json.n +
                 room_of(w->headers) + room_of(w->secret_headers);
    char *room = (char *)malloc(n);
    mortise_status status;

    if (room == NULL)
        return MORTISE_S_NOMEM;
    if (w->headers != NULL) {
        h.headers = w->headers->list;
        h.n_headers = w->headers->n;
    }
    if (w->secret_headers != NULL) {
        h.secret_headers = w->secret_headers->list;
        h.n_secret_headers = w->secret_headers->n;
    }
    a->http = 0;
    status = mortise_http_request(i->host, i->api,
                                  w->call != 0 ? w->call : i->background, &h,
                                  room, n, on_answer, a);
    sodium_memzero(room, n);
    free(room);
    a->is_pending = status == MORTISE_S_PENDING;
    return a->is_pending            ? MORTISE_S_OK
           : status == MORTISE_S_OK ? MORTISE_S_FAILED
                                    : status;
}
