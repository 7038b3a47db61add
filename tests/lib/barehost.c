#include "barehost.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static mortise_status take(mortise_host *h, mortise_str kind, mortise_str chunk)
{
    char *more;

    if (mortise_str_is(kind, "verdict")) {
        ck_assert_uint_lt(n_verdict + chunk.n, sizeof verdict);
        memcpy(verdict + n_verdict, chunk.p, chunk.n);
        n_verdict += chunk.n;
        return MORTISE_S_OK;
    }
    ck_assert(mortise_str_is(kind, "output"));
    h->emits++;
    if (h->emit_status != MORTISE_S_OK)
        return h->emit_status;
    more = realloc(h->out, h->n_out + chunk.n + 1);
    ck_assert_ptr_nonnull(more);
    h->out = more;
    if (chunk.n > 0)
        memcpy(h->out + h->n_out, chunk.p, chunk.n);
    h->n_out += chunk.n;
    h->out[h->n_out] = '\0';
    return MORTISE_S_OK;
}

static mortise_status on_emit(mortise_host *h, mortise_call call,
                              mortise_str kind, mortise_str chunk)
{
    mortise_status status;

    (void)call;
    around(h, false);
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
    h->fails++;
    around(h, true);
}

static mortise_status on_finish(mortise_host *h, mortise_call call,
                                mortise_status status, mortise_str msg,
                                mortise_str detail)
{
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
    (void)call;
    if (h->answer == NULL)
        return MORTISE_S_UNSUPPORTED;
    ck_assert(h->on_answer == NULL); /* one at a time */
    snprintf(h->asked, sizeof h->asked, "%.*s %.*s", (int)method.n, method.p,
             (int)body.n, body.p);
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
    h->emits = h->fails = h->finishes = 0;
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
        .call = 7,
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

/* The ask of a pending call is answered; so the call ends. */
static mortise_status answered(struct mortise_host *h)
{
    ck_assert(h->on_answer != NULL);
    h->on_answer(h->on_answer_ud, h->answer_status, mortise_strz(h->answer));
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
    if (status == MORTISE_S_PENDING)
        status = answered(h);
    around(h, false);
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
