/* pages.c -- a list that comes in pages (http.c has the arguments).
 *
 * One call walks from page to page: each is an http.request/1, so a step of the
 * run's journal, and so it goes on after a crash or a wait where it was.
 *
 *   (1) What is asked for next is a function of the arguments and the answers.
 *   (2) A walk ends: where the pages do, at a bound, or where it comes to a URL
 *       again.  Of those that it asked for it keeps a hash of 64 bits each.
 *   (3) It never leaves the origin that it began at: what it sends along may be a
 *       credential.
 *   (4) What it holds is the items and one page.
 */
#include "http.h"

#include "../../holds.h"
#include "url.h"

enum {
    PAGES = 100,          /* where nobody says */
    ITEMS_MAX = 15 << 20, /* bytes; an output has 16 MiB */
    PATIENCE_MS = 60000   /* as the host's: what is longer is for the disk */
};

enum way { LINK, URL, CURSOR, LAST, PAGE, OFFSET };

struct walk {
    mortise_inst *inst;
    mortise_call id;
    mortise_jv args; /* of the request, which is lent until the end */
    enum way way;
    mortise_jv how;             /* `next`, or none */
    struct bytes origin;        /* the URL that it began with */
    struct bytes url;           /* of the page under way */
    struct bytes items;         /* "[a,b" */
    int64_t n_items, max_items; /* max_items -1: no bound */
    int64_t n_pages, max_pages;
    int bounded;     /* max_pages was said */
    int64_t counter; /* PAGE, OFFSET: what the parameter is */
    int64_t waits;   /* for the page under way, on disk */
    uint64_t *seen;  /* n_pages + 1 of them */
    int more;
};

/* A page, read. */
struct page {
    mortise_jv answer, root, last;
    int64_t n;
    struct bytes text; /* root's */
};

static void ask_page(struct walk *w);

/* ---- the end -------------------------------------------------------------- */

static void walk_free(struct walk *w)
{
    bytes_free(&w->origin);
    bytes_free(&w->url);
    bytes_free(&w->items);
    free(w->seen);
    free(w);
}

static void walk_fail(struct walk *w, const char *code, const char *words)
{
    char room[128];

    snprintf(room, sizeof room, "{\"class\":\"permanent\",\"code\":\"%s\"}",
             code);
    w->inst->api->finish(w->inst->host, w->id, MORTISE_S_FAILED,
                         mortise_strz(words), mortise_strz(room));
    walk_free(w);
}

static void no_memory(struct walk *w)
{
    http_no_memory(w->inst, w->id);
    walk_free(w);
}

/* The list so far, `more` if it is not all. */
static void finish(struct walk *w)
{
    char room[4096];
    mortise_emitter out;
    mortise_status status;

    if (bytes_put(&w->items, mortise_strz("]")) != MORTISE_S_OK) {
        no_memory(w);
        return;
    }
    mortise_emitter_init(&out, w->inst->host, w->inst->api, w->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "items");
    mortise_jw_value(&out.w, mortise_jv_of(bytes_str(&w->items)));
    mortise_jw_key(&out.w, "pages");
    mortise_jw_int(&out.w, w->n_pages);
    mortise_jw_key(&out.w, "more");
    mortise_jw_bool(&out.w, w->more);
    mortise_jw_end(&out.w);
    status = mortise_emitter_finish(&out);
    w->inst->api->finish(w->inst->host, w->id, status,
                         mortise_strz(status == MORTISE_S_OK
                                          ? ""
                                          : "the host rejected the output"),
                         mortise_str_empty());
    walk_free(w);
}

/* ---- JSON pointers -------------------------------------------------------- */

/* A token of one, with ~1 and ~0 undone in place. */
static mortise_str unescaped(char *p, uint64_t n)
{
    uint64_t to = 0;

    for (uint64_t i = 0; i < n; i++) {
        int escaped = p[i] == '~' && i + 1 < n;

        if (escaped)
            i++;
        p[to++] = escaped ? (p[i] == '1' ? '/' : '~') : p[i];
    }
    return mortise_strn(p, to);
}

static mortise_jv element(mortise_jv array, mortise_str index)
{
    mortise_jv_iter it = mortise_jv_each(array);
    mortise_jv name, value;
    char text[24];

    for (int64_t i = 0; mortise_jv_next(&it, &name, &value); i++) {
        snprintf(text, sizeof text, "%lld", (long long)i);
        if (mortise_str_is(index, text))
            return value;
    }
    return mortise_jv_none();
}

/* What a pointer, which the schema let in, leads to; or none. */
static mortise_status follow(mortise_jv at, mortise_jv pointer, mortise_jv *out)
{
    struct bytes text = {NULL, 0, 0};
    mortise_status status = bytes_decode(&text, pointer);
    uint64_t i = 0;

    while (status == MORTISE_S_OK && i < text.n) {
        uint64_t from = ++i;
        mortise_str token;

        while (i < text.n && text.p[i] != '/')
            i++;
        token = unescaped(text.p + from, i - from);
        at = mortise_jv_type(at) == MORTISE_JV_ARRAY
                 ? element(at, token)
                 : mortise_jv_getn(at, token);
    }
    bytes_free(&text);
    *out = at;
    return status;
}

/* ---- what a page holds ---------------------------------------------------- */

/* The JSON of a body; 204 has none, and no items. */
static mortise_status read_page(struct walk *w, struct page *p)
{
    mortise_jv body = mortise_jv_get(p->answer, "body");
    mortise_status status = bytes_decode(&p->text, body);

    if (status == MORTISE_S_OK && http_status(p->answer) == 204)
        status = bytes_put(&p->text, mortise_strz("null"));
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(bytes_str(&p->text), &p->root);
    if (status == MORTISE_S_NOMEM)
        no_memory(w);
    else if (status != MORTISE_S_OK)
        walk_fail(w, "bad_json", "the answer is not JSON");
    return status;
}

/* Items that no value can hold end the walk, with a sentence. */
static mortise_status check_items(struct walk *w, mortise_jv list)
{
    char why[160], words[256];
    mortise_status status = holds_json(list, why, sizeof why);

    if (status == MORTISE_S_NOMEM)
        no_memory(w);
    if (status != MORTISE_S_INVALID)
        return status;
    snprintf(words, sizeof words, "these items cannot be stored: %s", why);
    walk_fail(w, "bad_json", words);
    return MORTISE_S_FAILED;
}

/* The list of a page; null is an empty one. */
static mortise_status find_items(struct walk *w, struct page *p,
                                 mortise_jv *list)
{
    mortise_jv pointer = mortise_jv_get(w->args, "items");
    mortise_status status = MORTISE_S_OK;
    int32_t type;

    *list = p->root;
    if (mortise_jv_type(pointer) != MORTISE_JV_NONE &&
        http_status(p->answer) != 204)
        status = follow(p->root, pointer, list);
    type = mortise_jv_type(*list);
    if (status != MORTISE_S_OK) {
        no_memory(w);
    } else if (type != MORTISE_JV_ARRAY && type != MORTISE_JV_NULL) {
        status = MORTISE_S_FAILED;
        walk_fail(w, "http.no_items",
                  "`items` does not lead to a list in the answer");
    } else {
        status = check_items(w, *list);
    }
    return status;
}

/* Up to max_items in all. */
static mortise_status take_items(struct walk *w, struct page *p)
{
    mortise_status status;
    mortise_jv list, name, value;
    mortise_jv_iter it;

    status = find_items(w, p, &list);
    if (status != MORTISE_S_OK)
        return status;
    it = mortise_jv_each(list);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &value)) {
        p->n++;
        p->last = value;
        if (w->n_items == w->max_items) {
            w->more = 1;
            break;
        }
        if (w->n_items++ > 0)
            status = bytes_put(&w->items, mortise_strz(","));
        if (status == MORTISE_S_OK)
            status = bytes_put(&w->items, mortise_strn(value.p, value.n));
    }
    if (status != MORTISE_S_OK)
        no_memory(w);
    return status;
}

/* ---- where the next one is ------------------------------------------------ */

static mortise_jv said(const struct walk *w, const char *name)
{
    return mortise_jv_get(w->how, name);
}

/* `url` with the parameter of the query. */
static mortise_status set_query(struct walk *w, struct bytes *url,
                                mortise_jv name, mortise_str value)
{
    struct bytes text = {NULL, 0, 0};
    mortise_status status = bytes_decode(&text, name);

    if (status == MORTISE_S_OK)
        status = url_with(url, bytes_str(&w->origin), bytes_str(&text), value);
    bytes_free(&text);
    return status;
}

static mortise_status set_counter(struct walk *w, struct bytes *url)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)w->counter);
    return set_query(w, url, said(w, w->way == PAGE ? "page" : "offset"),
                     mortise_strz(text));
}

/* A reference, from where its page came. */
static mortise_status set_reference(const struct page *p, struct bytes *url,
                                    mortise_str reference)
{
    struct bytes at = {NULL, 0, 0};
    mortise_status status = bytes_decode(&at, mortise_jv_get(p->answer, "url"));

    if (status == MORTISE_S_OK)
        status = url_resolve(url, bytes_str(&at), reference);
    bytes_free(&at);
    return status;
}

static mortise_status by_link(const struct page *p, struct bytes *url)
{
    mortise_jv header =
        mortise_jv_get(mortise_jv_get(p->answer, "headers"), "link");
    struct bytes text = {NULL, 0, 0};
    mortise_str target;
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(header) == MORTISE_JV_STRING)
        status = bytes_decode(&text, header);
    target = url_link_next(bytes_str(&text));
    if (status == MORTISE_S_OK && target.p != NULL)
        status = set_reference(p, url, target);
    bytes_free(&text);
    return status;
}

/* What a pointer leads to: text, or the digits of a number; nothing where it is
 * null, false, empty, or not there.  MORTISE_S_INVALID: it is something else. */
static mortise_status token_at(mortise_jv at, mortise_jv pointer,
                               struct bytes *out)
{
    mortise_jv v;
    mortise_status status = follow(at, pointer, &v);
    int32_t yes = 0;

    if (status != MORTISE_S_OK)
        return status;
    switch (mortise_jv_type(v)) {
    case MORTISE_JV_STRING:
        return bytes_decode(out, v);
    case MORTISE_JV_NUMBER:
        return bytes_put(out, mortise_strn(v.p, v.n));
    case MORTISE_JV_BOOL:
        mortise_jv_bool(v, &yes);
        return yes ? MORTISE_S_INVALID : MORTISE_S_OK;
    case MORTISE_JV_ARRAY:
    case MORTISE_JV_OBJECT:
        return MORTISE_S_INVALID;
    default:
        return MORTISE_S_OK;
    }
}

static mortise_status by_token(struct walk *w, const struct page *p,
                               struct bytes *url)
{
    static const char *const names[] = {
        [URL] = "url", [CURSOR] = "cursor", [LAST] = "last"};
    struct bytes token = {NULL, 0, 0};
    mortise_status status = MORTISE_S_OK;

    if (w->way != LAST || p->n > 0)
        status = token_at(w->way == LAST ? p->last : p->root,
                          said(w, names[w->way]), &token);
    if (status == MORTISE_S_OK && token.n > 0)
        status = w->way == URL
                     ? set_reference(p, url, bytes_str(&token))
                     : set_query(w, url, said(w, "query"), bytes_str(&token));
    bytes_free(&token);
    return status;
}

/* The URL of the page behind this one; empty: there is none. */
static mortise_status find_next(struct walk *w, const struct page *p,
                                struct bytes *url)
{
    switch (w->way) {
    case LINK:
        return by_link(p, url);
    case PAGE:
    case OFFSET:
        w->counter += w->way == PAGE ? 1 : p->n;
        return p->n > 0 ? set_counter(w, url) : MORTISE_S_OK;
    default:
        return by_token(w, p, url);
    }
}

static uint64_t hash_of(mortise_str s) /* FNV-1a */
{
    uint64_t h = 0xcbf29ce484222325u;

    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return h;
}

/* (2) */
static mortise_status note_seen(struct walk *w, int *again)
{
    uint64_t hash = hash_of(bytes_str(&w->url)), *grown;

    *again = 0;
    for (int64_t i = 0; i < w->n_pages; i++)
        *again |= w->seen[i] == hash;
    grown = realloc(w->seen, (size_t)(w->n_pages + 1) * sizeof *grown);
    if (grown == NULL)
        return MORTISE_S_NOMEM;
    w->seen = grown;
    w->seen[w->n_pages] = hash;
    return MORTISE_S_OK;
}

/* Takes the URL of the next page. */
static void go_on(struct walk *w, struct bytes url)
{
    int again;

    bytes_free(&w->url);
    w->url = url;
    if (note_seen(w, &again) != MORTISE_S_OK)
        no_memory(w);
    else if (again)
        walk_fail(w, "http.loop", "the next page was already requested");
    else if (!url_same_origin(bytes_str(&w->origin), bytes_str(&url)))
        walk_fail(w, "http.other_origin",
                  "the next page has another scheme, host or port than `url`");
    else
        ask_page(w);
}

/* One page more is there. */
static void step(struct walk *w, struct page *p)
{
    struct bytes url = {NULL, 0, 0};
    mortise_status status;

    w->n_pages++;
    w->waits = 0;
    if (take_items(w, p) != MORTISE_S_OK)
        return;
    if (w->items.n > ITEMS_MAX) {
        walk_fail(w, "http.too_many", "the items exceed 15 MiB");
        return;
    }
    status = find_next(w, p, &url);
    w->more |=
        url.n > 0 && (w->n_pages == w->max_pages || w->n_items == w->max_items);
    if (status == MORTISE_S_NOMEM) {
        no_memory(w);
    } else if (status != MORTISE_S_OK) {
        walk_fail(w, "http.no_items",
                  "`next` leads to neither text nor a number");
    } else if (url.n > 0 && w->n_pages == w->max_pages && !w->bounded) {
        walk_fail(w, "http.too_many",
                  "the list has more than 100 pages; set max_pages");
    } else if (url.n > 0 && !w->more) {
        go_on(w, url);
        return;
    } else {
        finish(w);
    }
    bytes_free(&url);
}

/* ---- asking ---------------------------------------------------------------- */

static void on_waited(void *ud, mortise_status status, mortise_str answer)
{
    struct walk *w = ud;

    if (status == MORTISE_S_OK) {
        ask_page(w);
        return;
    }
    http_fail(w->inst, w->id, status, answer);
    walk_free(w);
}

/* A server that is busy for longer than the host waits is waited for on disk. */
static int wait_for_it(struct walk *w, mortise_jv answer)
{
    int64_t ms = 0;

    mortise_jv_int(mortise_jv_get(answer, "retry_after_ms"), &ms);
    if (!mortise_jv_is(mortise_jv_get(answer, "class"),
                       mortise_strz("transient")) ||
        ms <= PATIENCE_MS || w->waits >= http_retries(w->args, HTTP_RETRIES))
        return 0;
    w->waits++;
    return mortise_timer_wait(w->inst->host, w->inst->api, w->id, 0,
                              (uint64_t)ms, on_waited, w) == MORTISE_S_PENDING;
}

static void on_page(void *ud, mortise_status status, mortise_str answer)
{
    struct walk *w = ud;
    struct page p = {.n = 0};

    if (status == MORTISE_S_OK &&
        mortise_jv_parse(answer, &p.answer) == MORTISE_S_OK) {
        if (http_status(p.answer) < 400) {
            if (read_page(w, &p) == MORTISE_S_OK)
                step(w, &p);
            bytes_free(&p.text);
            return;
        }
        if (wait_for_it(w, p.answer))
            return;
    }
    http_fail(w->inst, w->id, status, answer);
    walk_free(w);
}

static mortise_status try_to_ask(struct walk *w)
{
    mortise_jw jw;
    mortise_str body;
    mortise_status status;

    mortise_jw_growing(&jw, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&jw);
    mortise_jw_key(&jw, "url");
    mortise_jw_string(&jw, bytes_str(&w->url));
    http_write_common(&jw, w->args, mortise_str_empty(), mortise_str_empty());
    mortise_jw_key(&jw, "retries");
    mortise_jw_int(&jw, http_retries(w->args, HTTP_RETRIES));
    mortise_jw_end(&jw);
    status = mortise_jw_finish(&jw, &body);
    if (status == MORTISE_S_OK)
        status = w->inst->api->ask(w->inst->host, w->id,
                                   mortise_strz(MORTISE_HTTP_REQUEST_1), body,
                                   on_page, w);
    free(jw.p);
    return status;
}

static void ask_page(struct walk *w)
{
    mortise_status status = try_to_ask(w);

    if (status == MORTISE_S_NOMEM)
        no_memory(w);
    else if (status != MORTISE_S_PENDING)
        walk_fail(w, "http.invalid", "the host rejected the request of a page");
}

/* ---- the beginning --------------------------------------------------------- */

static void read_way(struct walk *w)
{
    static const struct {
        const char *name;
        enum way way;
    } ways[] = {{"url", URL},
                {"cursor", CURSOR},
                {"last", LAST},
                {"page", PAGE},
                {"offset", OFFSET}};

    w->way = LINK;
    w->how = mortise_jv_get(w->args, "next");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (mortise_jv_type(said(w, ways[i].name)) != MORTISE_JV_NONE)
            w->way = ways[i].way;
    w->counter = w->way == PAGE;
    mortise_jv_int(said(w, "from"), &w->counter);
}

static void read_bounds(struct walk *w)
{
    mortise_jv pages = mortise_jv_get(w->args, "max_pages");

    w->max_items = -1;
    mortise_jv_int(mortise_jv_get(w->args, "max_items"), &w->max_items);
    w->max_pages = PAGES;
    w->bounded = mortise_jv_int(pages, &w->max_pages) == MORTISE_S_OK;
}

/* The first page's URL. */
static mortise_status set_out(struct walk *w)
{
    int again;
    mortise_status status =
        bytes_decode(&w->origin, mortise_jv_get(w->args, "url"));

    if (status == MORTISE_S_OK)
        status = w->way == PAGE || w->way == OFFSET
                     ? set_counter(w, &w->url)
                     : bytes_put(&w->url, bytes_str(&w->origin));
    if (status == MORTISE_S_OK)
        status = bytes_put(&w->items, mortise_strz("["));
    return status == MORTISE_S_OK ? note_seen(w, &again) : status;
}

mortise_status http_pages(mortise_inst *inst, const mortise_request *r,
                          mortise_jv args)
{
    struct walk *w = calloc(1, sizeof *w);
    mortise_status status;

    if (w == NULL)
        return MORTISE_S_NOMEM;
    w->inst = inst;
    w->id = r->call;
    w->args = args;
    read_way(w);
    read_bounds(w);
    status = set_out(w);
    if (status == MORTISE_S_OK)
        status = try_to_ask(w);
    if (status != MORTISE_S_PENDING)
        walk_free(w);
    return status;
}
