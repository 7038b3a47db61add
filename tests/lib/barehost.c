#include "barehost.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL = 7 }; /* the one that is open; tests make others of their own */

/* Guards the books: all that a host gives is [any]. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void around(const struct mortise_host *h, bool inside)
{
    if (h->around != NULL)
        h->around(inside);
}

static void on_log(mortise_host *h, int32_t level, mortise_str msg)
{
    (void)h;
    (void)level;
    (void)msg;
}

/* Of this thread's check. */
static _Thread_local char verdict[4096];
static _Thread_local size_t n_verdict;

/* Room for n bytes and a NUL.  It doubles, since AddressSanitizer's realloc() copies
 * each time. */
static size_t room_for(size_t n)
{
    size_t room = 64;

    while (room <= n)
        room *= 2;
    return room;
}

static void add(struct bare_text *t, mortise_str chunk)
{
    size_t room = room_for(t->n + chunk.n);

    if (t->p == NULL || room > room_for(t->n))
        t->p = realloc(t->p, room);
    ck_assert_ptr_nonnull(t->p);
    if (chunk.n > 0)
        memcpy(t->p + t->n, chunk.p, chunk.n);
    t->n += chunk.n;
    t->p[t->n] = '\0';
}

static void drop(struct bare_text *t)
{
    free(t->p);
    t->p = NULL;
    t->n = 0;
}

enum { PIECE_MAX = 64 << 10 }; /* bytes of an emitted delta, as in the host */

/* What a model tells; false: `kind` is none of that. */
static bool take_model(mortise_host *h, mortise_str kind, mortise_str chunk)
{
    bool usage = mortise_str_is(kind, "usage");
    struct bare_text *t = usage                               ? &h->usage
                          : mortise_str_is(kind, "delta")     ? &h->delta
                          : mortise_str_is(kind, "reasoning") ? &h->reasoning
                                                              : NULL;
    mortise_jv v;

    if (t == NULL)
        return false;
    ck_assert_uint_eq(mortise_str_utf8(chunk), chunk.n);
    if (usage) {
        ck_assert_int_eq(mortise_jv_parse(chunk, &v), MORTISE_S_OK);
        h->usages++;
    } else {
        ck_assert_uint_le(chunk.n, PIECE_MAX);
    }
    add(t, chunk);
    return true;
}

static mortise_status take(mortise_host *h, mortise_str kind, mortise_str chunk)
{
    struct bare_text out = {h->out, h->n_out};

    if (mortise_str_is(kind, "verdict")) {
        ck_assert_uint_lt(n_verdict + chunk.n, sizeof verdict);
        memcpy(verdict + n_verdict, chunk.p, chunk.n);
        n_verdict += chunk.n;
        return MORTISE_S_OK;
    }
    if (take_model(h, kind, chunk))
        return MORTISE_S_OK;
    if (mortise_str_is(kind, "goto")) {
        snprintf(h->leads, sizeof h->leads, "%.*s", (int)chunk.n, chunk.p);
        return MORTISE_S_OK;
    }
    ck_assert(mortise_str_is(kind, "output"));
    h->emits++;
    if (h->emit_status != MORTISE_S_OK)
        return h->emit_status;
    add(&out, chunk);
    h->out = out.p;
    h->n_out = out.n;
    return MORTISE_S_OK;
}

static mortise_status on_emit(mortise_host *h, mortise_call call,
                              mortise_str kind, mortise_str chunk)
{
    mortise_status status;

    around(h, false);
    ck_assert_uint_ne(call, 0);
    pthread_mutex_lock(&lock);
    status = take(h, kind, chunk);
    pthread_mutex_unlock(&lock);
    around(h, true);
    return status;
}

static void on_fail(mortise_host *h, mortise_call call, mortise_str msg,
                    mortise_str detail)
{
    mortise_jv v;

    (void)call;
    around(h, false);
    ck_assert_uint_lt(msg.n, sizeof h->msg);
    ck_assert_uint_eq(mortise_str_utf8(msg), msg.n);
    if (msg.n > 0)
        memcpy(h->msg, msg.p, msg.n);
    h->msg[msg.n] = '\0';
    ck_assert_int_eq(mortise_jv_parse(detail, &v), MORTISE_S_OK);
    mortise_jv_cstr(mortise_jv_get(v, "code"), h->code, sizeof h->code);
    mortise_jv_cstr(mortise_jv_get(v, "class"), h->klass, sizeof h->klass);
    h->retry_after_ms = -1;
    mortise_jv_int(mortise_jv_get(v, "retry_after_ms"), &h->retry_after_ms);
    h->fails++;
    around(h, true);
}

static mortise_status on_finish(mortise_host *h, mortise_call call,
                                mortise_status status, mortise_str msg,
                                mortise_str detail)
{
    around(h, false);
    ck_assert_uint_eq(call, CALL);
    around(h, true);
    h->finishes++;
    h->finished = status;
    if (status >= 0)
        return MORTISE_S_OK;
    on_fail(h, call, msg, detail);
    return MORTISE_S_OK;
}

static int32_t on_cancelled(mortise_host *h, mortise_call call)
{
    int32_t yes;

    (void)call;
    pthread_mutex_lock(&lock);
    if (h->cancel_after > 0)
        h->cancel_after--;
    yes = h->cancel_after == 0;
    pthread_mutex_unlock(&lock);
    return yes;
}

static uint64_t on_now(mortise_host *h)
{
    uint64_t now;

    pthread_mutex_lock(&lock);
    now = h->now_ns += h->tick_ns;
    pthread_mutex_unlock(&lock);
    return now;
}

static mortise_status on_ask(mortise_host *h, mortise_call call,
                             mortise_str method, mortise_str body,
                             mortise_answer_fn *fn, void *ud)
{
    struct bare_text asked = {NULL, 0};

    if (h->answer == NULL)
        return MORTISE_S_UNSUPPORTED;
    around(h, false);
    ck_assert_uint_eq(call, CALL);
    ck_assert(h->on_answer == NULL); /* one at a time */
    add(&asked, method);
    add(&asked, mortise_strz(" "));
    add(&asked, body);
    around(h, true);
    free(h->asked);
    h->asked = asked.p;
    h->asks++;
    h->on_answer = fn;
    h->on_answer_ud = ud;
    return MORTISE_S_PENDING;
}

static mortise_status on_ask_wait(mortise_host *h, mortise_call call,
                                  mortise_str method, mortise_str body,
                                  mortise_str *answer)
{
    (void)h;
    (void)call;
    (void)method;
    (void)body;
    (void)answer;
    return MORTISE_S_UNSUPPORTED;
}

const mortise_host_api bare_api = {
    .size = sizeof bare_api,
    .abi_major = MORTISE_ABI_MAJOR,
    .abi_minor = MORTISE_ABI_MINOR,
    .log = on_log,
    .emit = on_emit,
    .finish = on_finish,
    .fail = on_fail,
    .cancelled = on_cancelled,
    .now_ns = on_now,
    .ask = on_ask,
    .ask_wait = on_ask_wait,
};

void bare_init(struct mortise_host *h)
{
    memset(h, 0, sizeof *h);
    h->cancel_after = -1;
    h->now_ns = 1;
}

void bare_clear(struct mortise_host *h)
{
    free(h->out);
    h->out = NULL;
    h->n_out = 0;
    drop(&h->delta);
    drop(&h->reasoning);
    drop(&h->usage);
    free(h->asked);
    h->asked = NULL;
    h->emits = h->usages = h->asks = h->fails = h->finishes = 0;
    h->retry_after_ms = -1;
    h->on_answer = NULL;
    h->msg[0] = h->code[0] = h->klass[0] = '\0';
}

void bare_finish(struct mortise_host *h)
{
    bare_clear(h);
}

const mortise_plugin *bare_plugin(const char *name)
{
    const char *build = getenv("MORTISE_BUILD");
    const mortise_module *m;
    char path[4096];
    void *so;

    snprintf(path, sizeof path, "%s/plugins/%s.so",
             build != NULL ? build : "build", name);
    so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ck_assert_msg(so != NULL, "%s", dlerror());
    m = dlsym(so, "mortise_module_v1");
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(m->size, sizeof *m);
    ck_assert_uint_eq(m->abi_major, MORTISE_ABI_MAJOR);
    ck_assert_uint_eq(m->plugin_count, 1);
    ck_assert_str_eq(m->plugins[0]->id, name);
    ck_assert_uint_eq(m->plugins[0]->size, sizeof **m->plugins);
    return m->plugins[0];
}

mortise_inst *bare_create(struct mortise_host *h, const mortise_plugin *p,
                          const char *config)
{
    mortise_inst *i = NULL;
    mortise_status status;

    bare_clear(h);
    around(h, true);
    status = p->create(h, &bare_api, mortise_strz(config), &i);
    around(h, false);
    ck_assert_int_eq(status == MORTISE_S_OK, i != NULL);
    if (i == NULL)
        ck_assert_int_eq(h->fails, 1); /* it says why */
    return i;
}

void bare_destroy(const mortise_plugin *p, mortise_inst *i)
{
    if (p->quiesce != NULL)
        ck_assert_int_eq(p->quiesce(i, 0), MORTISE_S_OK);
    p->destroy(i);
}

static mortise_request request_of(const struct bare_call *c)
{
    mortise_request r = {
        .size = sizeof r,
        .call = CALL,
        .deadline_ns = c->deadline_ns,
        .attempt = 1,
        .visit = 1,
        .operation = mortise_strz(c->operation),
        .body = mortise_strz(c->body),
        .run_id = mortise_strz("r"),
        .node_path = mortise_strz("1.0/n#1"),
        .idempotency_key = mortise_strz(c->key),
    };

    if (c->n_body > 0)
        r.body.n = c->n_body;
    return r;
}

/* An error has its words, once; an output is one JSON value. */
static mortise_status judged(struct mortise_host *h, mortise_status status)
{
    mortise_jv v;

    ck_assert_int_ne(status, MORTISE_S_PENDING);
    if (status == MORTISE_S_OK && h->n_out > 0)
        ck_assert_int_eq(mortise_jv_parse(mortise_strn(h->out, h->n_out), &v),
                         MORTISE_S_OK);
    if (status < 0 && h->emit_status == MORTISE_S_OK)
        ck_assert_int_le(h->fails, 1);
    return status;
}

/* The asks of a pending call are answered, one after the other; so the call
 * ends. */
static mortise_status answered(struct mortise_host *h)
{
    while (h->finishes == 0) {
        mortise_answer_fn *fn = h->on_answer;

        ck_assert(fn != NULL);
        h->on_answer = NULL;
        around(h, true);
        fn(h->on_answer_ud, h->answer_status, mortise_strz(h->answer));
        around(h, false);
    }
    ck_assert_int_eq(h->finishes, 1);
    return h->finished;
}

mortise_status bare_execute(struct mortise_host *h, const mortise_plugin *p,
                            mortise_inst *i, const struct bare_call *c)
{
    const mortise_executor *x = p->get_interface(i, MORTISE_EXECUTOR_1);
    mortise_request r = request_of(c);
    mortise_status status;

    ck_assert_ptr_nonnull(x);
    bare_clear(h);
    around(h, true);
    status = x->execute(i, &r);
    around(h, false);
    if (status == MORTISE_S_PENDING)
        status = answered(h);
    return judged(h, status);
}

mortise_status bare_reconcile(struct mortise_host *h, const mortise_plugin *p,
                              mortise_inst *i, const struct bare_call *c)
{
    const mortise_executor *x = p->get_interface(i, MORTISE_EXECUTOR_1);
    mortise_request r = request_of(c);
    mortise_status status;

    bare_clear(h);
    around(h, true);
    status = x->reconcile(i, &r);
    around(h, false);
    return judged(h, status);
}

void bare_verdict(bool *violation, char *reason, size_t size)
{
    mortise_jv v, why;
    int32_t yes;

    ck_assert_int_eq(mortise_jv_parse(mortise_strn(verdict, n_verdict), &v),
                     MORTISE_S_OK);
    ck_assert_int_eq(mortise_jv_bool(mortise_jv_get(v, "violation"), &yes),
                     MORTISE_S_OK);
    why = mortise_jv_get(v, "reason");
    *violation = yes != 0;
    reason[0] = '\0';
    if (why.n > 0)
        ck_assert_int_eq(mortise_jv_cstr(why, reason, size), MORTISE_S_OK);
    n_verdict = 0;
}

mortise_status bare_check(struct mortise_host *h, const mortise_plugin *p,
                          mortise_inst *i, const struct bare_call *c,
                          bool *violation, char **reason)
{
    const mortise_guardrail *g = p->get_interface(i, MORTISE_GUARDRAIL_2);
    mortise_request r = request_of(c);
    char words[1024] = "";
    mortise_status status;

    ck_assert_ptr_nonnull(g);
    bare_clear(h);
    *violation = false;
    n_verdict = 0;
    around(h, true);
    status = g->check(i, MORTISE_STAGE_NODE, &r);
    around(h, false);
    if (status == MORTISE_S_PENDING)
        status = answered(h);
    if (status == MORTISE_S_OK)
        bare_verdict(violation, words, sizeof words);
    if (reason != NULL)
        *reason = strdup(words);
    return judged(h, status);
}

/* A mortise_jw_more_fn. */
static mortise_status more(mortise_jw *w, void *ud)
{
    uint64_t cap = w->cap > 0 ? 2 * w->cap : 64;

    (void)ud;
    w->p = realloc(w->p, cap);
    ck_assert_ptr_nonnull(w->p);
    w->cap = cap;
    return MORTISE_S_OK;
}

/* ---- models -------------------------------------------------------------- */

static size_t body_size(const struct bare_reply *r)
{
    return r->n_body > 0 || r->body == NULL ? r->n_body : strlen(r->body);
}

static void put_body(mortise_jw *w, const struct bare_reply *r)
{
    mortise_str body = mortise_strn(r->body, body_size(r));
    char *coded;

    if (mortise_str_utf8(body) == body.n) {
        mortise_jw_key(w, "body");
        mortise_jw_string(w, body);
        return;
    }
    coded = malloc(
        sodium_base64_encoded_len(body.n, sodium_base64_VARIANT_ORIGINAL));
    ck_assert_ptr_nonnull(coded);
    sodium_bin2base64(
        coded,
        sodium_base64_encoded_len(body.n, sodium_base64_VARIANT_ORIGINAL),
        (const unsigned char *)body.p, body.n, sodium_base64_VARIANT_ORIGINAL);
    mortise_jw_key(w, "body_base64");
    mortise_jw_cstr(w, coded);
    free(coded);
}

/* The answer, or (!whole) its head; malloc()ed. */
static char *answer_of(const struct bare_reply *r, bool whole)
{
    bool transient = r->status == 408 || r->status == 425 || r->status == 429 ||
                     r->status >= 500;
    const char *headers = r->headers != NULL ? r->headers : "{}";
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "status");
    mortise_jw_int(&w, r->status);
    mortise_jw_key(&w, "url");
    mortise_jw_cstr(&w, "http://server/");
    mortise_jw_key(&w, "headers");
    mortise_jw_value(&w, (mortise_jv){headers, strlen(headers)});
    if (whole)
        put_body(&w, r);
    if (r->status >= 400) {
        mortise_jw_key(&w, "class");
        mortise_jw_cstr(&w, transient ? "transient" : "permanent");
    }
    if (r->retry_after_ms > 0) {
        mortise_jw_key(&w, "retry_after_ms");
        mortise_jw_int(&w, (int64_t)r->retry_after_ms);
    }
    mortise_jw_end(&w);
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    w.p = realloc(w.p, text.n + 1);
    ck_assert_ptr_nonnull(w.p);
    w.p[text.n] = '\0';
    return w.p;
}

/* A piece, from a copy of exactly its size. */
static void give_piece(struct mortise_host *h, const char *p, size_t n)
{
    char *copy = malloc(n + 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, p, n);
    around(h, true);
    h->on_answer(h->on_answer_ud, MORTISE_S_PENDING, mortise_strn(copy + 1, n));
    around(h, false);
    free(copy);
}

static void give_pieces(struct mortise_host *h, const struct bare_reply *r)
{
    size_t n = body_size(r), step;
    char *head = answer_of(r, false);

    give_piece(h, head, strlen(head));
    free(head);
    for (size_t at = 0; at < n && h->finishes == 0; at += step) {
        step = r->piece > 0 ? r->piece : at == 0 && r->cut > 0 ? r->cut : n;
        step = step < n - at ? step : n - at;
        give_piece(h, r->body + at, step);
    }
}

/* The request that is pending is answered; so the call ends. */
static mortise_status replied(struct mortise_host *h,
                              const struct bare_reply *r)
{
    static const struct bare_reply ended = {.broken = MORTISE_S_CANCELLED,
                                            .words = "the call has ended"};
    const char *body = strchr(h->asked, ' ');
    int32_t stream = 0;
    mortise_jv v;
    char *answer;

    ck_assert_int_eq(mortise_jv_parse(mortise_strz(body), &v), MORTISE_S_OK);
    mortise_jv_bool(mortise_jv_get(v, "stream"), &stream);
    if (stream && r->status != 0 && !r->recorded)
        give_pieces(h, r);
    h->early = h->finishes > 0;
    if (h->early)
        r = &ended;
    answer = r->broken == MORTISE_S_OK
                 ? answer_of(r, true)
                 : strdup(r->words != NULL ? r->words : "it broke");
    ck_assert_ptr_nonnull(answer);
    around(h, true);
    h->on_answer(h->on_answer_ud, r->broken, mortise_strz(answer));
    around(h, false);
    free(answer);
    ck_assert_int_eq(h->finishes, 1);
    return h->finished;
}

typedef mortise_status model_fn(mortise_inst *, const mortise_request *);

static mortise_status call_model(struct mortise_host *h, model_fn *fn,
                                 mortise_inst *i, const struct bare_call *c,
                                 const struct bare_reply *reply)
{
    mortise_request r = request_of(c);
    mortise_status status;

    ck_assert(fn != NULL);
    bare_clear(h);
    h->answer = reply != NULL ? "" : NULL;
    around(h, true);
    status = fn(i, &r);
    around(h, false);
    if (status == MORTISE_S_PENDING)
        status = replied(h, reply);
    return judged(h, status);
}

static const mortise_model *model_of(const mortise_plugin *p, mortise_inst *i)
{
    const mortise_model *x = p->get_interface(i, MORTISE_MODEL_1);

    ck_assert_ptr_nonnull(x);
    ck_assert_uint_eq(x->size, sizeof *x);
    return x;
}

mortise_status bare_chat(struct mortise_host *h, const mortise_plugin *p,
                         mortise_inst *i, const struct bare_call *c,
                         const struct bare_reply *reply)
{
    return call_model(h, model_of(p, i)->chat, i, c, reply);
}

mortise_status bare_embed(struct mortise_host *h, const mortise_plugin *p,
                          mortise_inst *i, const struct bare_call *c,
                          const struct bare_reply *reply)
{
    return call_model(h, model_of(p, i)->embed, i, c, reply);
}

char *bare_quote(const char *s, size_t n)
{
    mortise_jw w;
    mortise_str text;

    mortise_jw_growing(&w, NULL, 0, more, NULL);
    mortise_jw_string(&w, mortise_strn(s, n));
    ck_assert_int_eq(mortise_jw_finish(&w, &text), MORTISE_S_OK);
    w.p = realloc(w.p, text.n + 1);
    ck_assert_ptr_nonnull(w.p);
    w.p[text.n] = '\0';
    return w.p;
}
