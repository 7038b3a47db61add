/* lists.c -- a list of a server's, page by page.
 *
 *   (1) A cursor is the server's word: any text, the empty one too, handed back as
 *       it came.  No cursor, or one that is no text, is the end.  So is the empty
 *       one of a server that gives the same page for it: it means none.
 *   (2) It ends: after 1,000 pages, 4,096 items or 16 MiB, or with a cursor that
 *       came before, and that is an error, since half a list would look like a
 *       whole one.
 *   (3) A server that does not know the method has no such things.
 */
#include "rpc.h"
#include "server.h"

enum { BYTES_MAX = 16 << 20 };

struct mcp_walk {
    struct mcp_server *server;
    struct mcp_request request;
    const char *method, *member;
    struct mcp_list list;
    struct bytes cursor;          /* the next page's, JSON */
    uint64_t seen[MCP_PAGES_MAX]; /* hashes of those before */
    uint64_t page_at, page_n;     /* the newest page, in list.items */
    uint64_t pages;
    mcp_list_fn *done;
};

static void on_page(struct mcp_request *r, const struct mcp_reply *reply);

static void walk_free(struct mcp_walk *w)
{
    bytes_free(&w->list.items);
    bytes_free(&w->cursor);
    free(w);
}

/* Takes the walk. */
static void end(struct mcp_walk *w, const struct mcp_trouble *why)
{
    w->done(w->list.ud, &w->list, why);
    walk_free(w);
}

static void end_as(struct mcp_walk *w, const char *code, const char *klass,
                   mortise_str words)
{
    const struct mcp_trouble why = mcp_trouble_of(code, klass, words, 0);

    end(w, &why);
}

static mortise_status ask(struct mcp_walk *w)
{
    struct mcp_message m = {0};
    mortise_jv cursor = {w->cursor.p, w->cursor.n};
    mortise_jw j;

    w->request.done = on_page;
    w->request.timeout_ms = w->server->timeout_ms;
    mcp_request_begin(w->server, &w->request, &j, w->method);
    if (w->cursor.n > 0) {
        mortise_jw_key(&j, "cursor");
        mortise_jw_value(&j, cursor);
    }
    return mcp_request_send(w->server, &w->request, &j, w->method, &m);
}

/* FNV-1a. */
static uint64_t hash(mortise_str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* NULL: go on; or what is wrong with that cursor (2). */
static const char *note_cursor(struct mcp_walk *w, mortise_jv cursor)
{
    uint64_t h = hash(mortise_strn(cursor.p, cursor.n));

    for (uint64_t i = 0; i < w->pages - 1; i++)
        if (w->seen[i] == h)
            return "its list repeats a cursor";
    if (w->pages >= MCP_PAGES_MAX)
        return "its list has more than 1,000 pages";
    w->seen[w->pages - 1] = h;
    w->cursor.n = 0;
    return bytes_put(&w->cursor, mortise_strn(cursor.p, cursor.n)) ==
                   MORTISE_S_OK
               ? NULL
               : "out of memory";
}

static const char *add_items(struct mcp_walk *w, mortise_jv page)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(page, w->member));
    struct bytes *to = &w->list.items;
    mortise_status status = MORTISE_S_OK;
    mortise_jv one;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one)) {
        if (w->list.n >= MCP_ITEMS_MAX || to->n + one.n >= BYTES_MAX)
            return "its list exceeds 4,096 items or 16 MiB";
        if (to->n > 0)
            status = bytes_put(to, mortise_strz(","));
        if (status == MORTISE_S_OK)
            status = bytes_put(to, mortise_strn(one.p, one.n));
        w->list.n++;
    }
    return status == MORTISE_S_OK ? NULL : "out of memory";
}

static void note_ttl(struct mcp_walk *w, mortise_jv page)
{
    int64_t ttl = 0;

    mortise_jv_int(mortise_jv_get(page, "ttlMs"), &ttl);
    if (ttl < 0)
        ttl = 0;
    if (w->list.ttl_ms < 0 || ttl < w->list.ttl_ms)
        w->list.ttl_ms = ttl;
}

/* (1): the page that the empty cursor led to is the one before, whose items are
 * `before`; it is taken back. */
static int is_same_page(struct mcp_walk *w, uint64_t before, uint64_t n_before)
{
    const struct bytes *items = &w->list.items;
    uint64_t n = w->list.n - n_before, at = w->page_at, to = before;
    uint64_t skip = to > 0; /* the comma between */

    if (!mortise_str_is(bytes_str(&w->cursor), "\"\"") || n == 0 ||
        n != w->page_n || items->n - to - skip != to - at ||
        memcmp(items->p + at, items->p + to + skip, to - at) != 0)
        return 0;
    w->list.items.n = before;
    w->list.n = n_before;
    return 1;
}

static void take_page(struct mcp_walk *w, mortise_jv page)
{
    mortise_jv cursor = mortise_jv_get(page, "nextCursor");
    int more = mortise_jv_type(cursor) == MORTISE_JV_STRING;
    uint64_t before = w->list.items.n, n_before = w->list.n;
    const char *wrong;

    w->pages++;
    note_ttl(w, page);
    wrong = add_items(w, page);
    if (wrong == NULL && w->pages > 1 && is_same_page(w, before, n_before)) {
        end(w, NULL);
        return;
    }
    w->page_at = before + (before > 0);
    w->page_n = w->list.n - n_before;
    if (wrong == NULL && more)
        wrong = note_cursor(w, cursor);
    if (wrong != NULL)
        end_as(w, "mcp.protocol", "permanent", mortise_strz(wrong));
    else if (!more)
        end(w, NULL);
    else if (ask(w) != MORTISE_S_OK)
        end_as(w, "mcp.lost", "transient",
               mortise_strz("the next page could not be requested"));
}

static void take_error(struct mcp_walk *w, const struct mcp_reply *reply)
{
    struct bytes words = {0};

    if (reply->code == MCP_RPC_NO_METHOD && w->pages == 0) {
        end(w, NULL); /* (3) */
        return;
    }
    bytes_put(&words,
              mortise_strz("the server rejected the request of a list: "));
    mcp_rpc_words(&words, mortise_jv_get(reply->error, "message"), 500);
    end_as(w, "mcp.refused", "permanent", bytes_str(&words));
    bytes_free(&words);
}

static void on_page(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_walk *w = MCP_OF(r, struct mcp_walk, request);

    switch (reply->kind) {
    case MCP_REPLY_RESULT:
        take_page(w, reply->result);
        break;
    case MCP_REPLY_ERROR:
        take_error(w, reply);
        break;
    case MCP_REPLY_TROUBLE:
        end(w, reply->trouble);
        break;
    }
}

mortise_status mcp_list_start(struct mcp_server *s, const char *method,
                              const char *member, mcp_list_fn *done, void *ud,
                              struct mcp_walk **out)
{
    struct mcp_walk *w = (struct mcp_walk *)calloc(1, sizeof *w);
    mortise_status status;

    if (w == NULL)
        return MORTISE_S_NOMEM;
    w->server = s;
    w->method = method;
    w->member = member;
    w->done = done;
    w->list.ud = ud;
    w->list.ttl_ms = -1;
    status = ask(w);
    if (status != MORTISE_S_OK) {
        walk_free(w);
        return status;
    }
    *out = w;
    return MORTISE_S_OK;
}

void mcp_list_stop(struct mcp_walk *w)
{
    if (w == NULL)
        return;
    mcp_request_cancel(&w->request);
    walk_free(w);
}
