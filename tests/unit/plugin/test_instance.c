/* test_instance.c -- calls into a plugin that the test itself plays, so that it
 * may be called, finished and given up at any moment.
 *
 * test_plugins.c has the same promises with real plugins. */
#include <check.h>
#include <sched.h>
#include <stdatomic.h>

#include <mortise/discovery.h>
#include <mortise/guardrail.h>

#include "core/base/clock.h"
#include "lib/shelf.h"
#include "lib/witness.h"
#include "core/plugin/endpoint.h"
#include "core/plugin/instance.h"

/* ---- the plugin ------------------------------------------------------------
 */

struct mortise_inst {
    int unused;
};

static mortise_host *host;
static const mortise_host_api *api;
static struct mortise_inst self;
static mortise_status (*on_execute)(const mortise_request *);
static atomic_int cancels;
static mortise_call last_call;
static const mortise_request *last_request;

static mortise_str str(const char *s)
{
    return (mortise_str){s, strlen(s)};
}

static mortise_status p_create(mortise_host *h, const mortise_host_api *a,
                               mortise_str config, mortise_inst **out)
{
    ck_assert_uint_eq(config.n, 2);
    ck_assert_uint_eq(a->size, sizeof *a);
    host = h;
    api = a;
    *out = &self;
    return MORTISE_S_OK;
}

static mortise_status p_execute(mortise_inst *i, const mortise_request *r)
{
    ck_assert_ptr_eq(i, &self);
    ck_assert_uint_eq(r->size, sizeof *r);
    return on_execute(r);
}

static mortise_status p_check(mortise_inst *i, uint32_t stage,
                              const mortise_request *r)
{
    mortise_status status = on_execute != NULL ? on_execute(r) : MORTISE_S_OK;

    (void)i;
    (void)stage;
    if (status == MORTISE_S_OK)
        mortise_emit_verdict(host, api, r->call, r->body.n > 4, "too long");
    return status;
}

static const mortise_executor executor = {
    .size = sizeof executor, .execute = p_execute, .reconcile = p_execute};
static const mortise_guardrail guardrail = {sizeof guardrail, 0, p_check};

static mortise_status p_discover(mortise_inst *i, const mortise_request *r)
{
    char room[256];
    mortise_str kind = {"output", 6}, out;
    mortise_jw w;

    (void)i;
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "results");
    mortise_jw_array(&w);
    mortise_jw_found(&w, "a/b", "tool", 1.5, &r->body, "name");
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &out) == MORTISE_S_OK
               ? api->emit(host, r->call, kind, out)
               : MORTISE_S_NOMEM;
}

static const mortise_discovery discovery = {sizeof discovery, 0, p_discover,
                                            NULL};

static const void *p_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0    ? (const void *)&executor
           : strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? (const void *)&guardrail
           : strcmp(id, MORTISE_DISCOVERY_1) == 0 ? &discovery
                                                  : NULL;
}

static void p_cancel(mortise_inst *i, mortise_call call)
{
    (void)i;
    (void)call;
    atomic_fetch_add(&cancels, 1);
}

static mortise_status p_quiesce(mortise_inst *i, uint64_t deadline)
{
    (void)i;
    (void)deadline;
    return MORTISE_S_OK;
}

static void p_destroy(mortise_inst *i)
{
    (void)i;
}

static const mortise_plugin plugin = {sizeof plugin, 0,         "test",
                                      "1",           p_create,  p_interface,
                                      p_cancel,      p_quiesce, p_destroy};

/* ---- the instance -----------------------------------------------------------
 */

static struct mortise_manifest manifest;
static struct mortise_manifest_op ops[1];
static const char *const methods[] = {"state.get/1"};
static struct mortise_instance *inst;
static struct witness *seen;
static struct mortise_err err;

static void setup(void)
{
    shelf_begin();
    seen = witness_new();
    ops[0] = (struct mortise_manifest_op){.name = "run", .reconcile = true};
    manifest = (struct mortise_manifest){.name = "test",
                                         .ops = ops,
                                         .n_ops = 1,
                                         .methods = methods,
                                         .n_methods = 1};
    on_execute = NULL;
    atomic_store(&cancels, 0);
}

static int open_with(const struct mortise_instance_ops *o)
{
    struct mortise_endpoint *to;
    struct mortise_create_failure failure;
    int rv =
        mortise_endpoint_in_process(&to, &test_mem, &plugin, &manifest, &err);

    inst = NULL;
    return rv == MORTISE_OK
               ? mortise_instance_open(&inst, &test_mem, to, &manifest, NULL, o,
                                       "{}", 2, &failure, &err)
               : rv;
}

static void open_as(enum mortise_threading threading)
{
    struct mortise_instance_ops o = witness_ops(seen);

    manifest.provides[MORTISE_KIND_EXECUTOR] =
        manifest.provides[MORTISE_KIND_GUARDRAIL] =
            manifest.provides[MORTISE_KIND_DISCOVERY] =
                (struct mortise_interface){.present = true,
                                           .threading = threading};
    ck_assert_int_eq(open_with(&o), MORTISE_OK);
}

static void close_it(void)
{
    if (inst != NULL)
        ck_assert(mortise_instance_close(inst, 5000));
    inst = NULL;
}

static void teardown(void)
{
    close_it();
    witness_free(seen);
    shelf_nothing_left();
}

static int call(uint64_t id, const struct mortise_call_kind *kind,
                const char *body)
{
    struct mortise_call c = {.kind = kind,
                             .id = id,
                             .attempt = 2,
                             .visit = 3,
                             .flags = MORTISE_REQUEST_HELD,
                             .stage = MORTISE_STAGE_NODE,
                             .deadline_ns = 99,
                             .operation = kind == &mortise_call_check ||
                                                  kind == &mortise_call_discover
                                              ? ""
                                              : "run",
                             .body = body,
                             .body_size = strlen(body),
                             .run_id = "r",
                             .node_path = "n",
                             .idempotency_key = "k"};

    return mortise_instance_call(inst, &c, &err);
}

static bool is(mortise_str s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, (size_t)s.n) == 0;
}

/* ---- requests
 * ----------------------------------------------------------------- */

static mortise_status look(const mortise_request *r)
{
    ck_assert(is(r->operation, "run") && is(r->body, "{\"a\":1}"));
    ck_assert(is(r->run_id, "r") && is(r->node_path, "n"));
    ck_assert(is(r->idempotency_key, "k") && is(r->trace_parent, ""));
    ck_assert_uint_eq(r->attempt, 2);
    ck_assert_uint_eq(r->visit, 3);
    ck_assert_uint_eq(r->flags, MORTISE_REQUEST_HELD);
    ck_assert_uint_eq(r->deadline_ns, 99);
    last_call = r->call;
    return MORTISE_S_OK;
}

/* The plugin sees what it is called with, whatever its threading; and a handle
 * that is no pointer, not the owner's id, and never the same twice. */
START_TEST(a_request_arrives)
{
    mortise_call first;

    open_as((enum mortise_threading)_i);
    on_execute = look;
    ck_assert_int_eq(call(1000, &mortise_call_execute, "{\"a\":1}"), 0);
    first = last_call;
    ck_assert_uint_ne(first, 0);
    ck_assert_int_eq(call(1001, &mortise_call_reconcile, "{\"a\":1}"), 0);
    ck_assert_uint_ne(last_call, first);
    ck_assert_uint_eq(seen->n_dones, 2);
}
END_TEST

/* What cannot be called is refused, and `done` is not told. */
START_TEST(what_is_not_there_is_refused)
{
    struct mortise_call c = {.kind = &mortise_call_execute,
                             .id = 1,
                             .operation = "walk",
                             .body = "",
                             .run_id = "",
                             .node_path = "",
                             .idempotency_key = ""};

    open_as(MORTISE_THREAD_INLINE);
    ck_assert_int_eq(mortise_instance_call(inst, &c, &err), MORTISE_ENOTFOUND);
    ops[0].reconcile = false;
    ck_assert_int_eq(call(2, &mortise_call_reconcile, "1"), MORTISE_EINVAL);
    manifest.provides[MORTISE_KIND_GUARDRAIL].present = false;
    ck_assert_int_eq(call(3, &mortise_call_check, "1"), MORTISE_EINVAL);
    ck_assert_uint_eq(seen->n_dones, 0);
    ck_assert(!mortise_instance_cancel(inst, 1));
    ck_assert(!mortise_instance_abandon(inst, 1, NULL));
}
END_TEST

/* ---- pending
 * ------------------------------------------------------------------- */

static mortise_status pend(const mortise_request *r)
{
    last_call = r->call;
    last_request = r;
    return MORTISE_S_PENDING;
}

/* What a pending call was lent is whole until it finishes, though the caller's
 * own is long gone; abandoned or not. */
START_TEST(a_pending_request_stays)
{
    char *body = strdup("{\"large\":\"enough\"}");

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    ck_assert_int_eq(call(1, &mortise_call_execute, body), 0);
    memset(body, 'x', strlen(body));
    free(body);
    if (_i == 1)
        ck_assert(mortise_instance_abandon(inst, 1, NULL));
    ck_assert(is(last_request->body, "{\"large\":\"enough\"}"));
    ck_assert(is(last_request->run_id, "r"));
    ck_assert_int_eq(api->cancelled(host, last_call), _i);
    ck_assert_int_eq(api->finish(host, last_call, 0, str(""), str("")),
                     _i == 1 ? MORTISE_S_STALE : MORTISE_S_OK);
    ck_assert_uint_eq(seen->n_dones, _i == 1 ? 0 : 1);
}
END_TEST

/* A handle that was never given out, or is stale, or is anything at all, does
 * no harm. */
START_TEST(odd_handles_do_nothing)
{
    static const mortise_call odd[] = {
        0, 1, 77, 1u << 24, (1u << 24) + 20, UINT64_MAX, UINT64_MAX >> 1};
    mortise_call old;

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    old = last_call;
    api->finish(host, old, 0, str(""), str(""));
    call(2, &mortise_call_execute, "1"); /* in the same place */
    for (size_t i = 0; i <= sizeof odd / sizeof odd[0]; i++) {
        mortise_call c = i == 0 ? old : odd[i - 1];

        if (c == last_call)
            continue;
        ck_assert_int_eq(api->emit(host, c, str("output"), str("9")),
                         MORTISE_S_STALE);
        ck_assert_int_eq(api->finish(host, c, 0, str(""), str("")),
                         MORTISE_S_STALE);
        ck_assert_int_eq(api->ask(host, c, str("state.get/1"), str("{}"),
                                  (mortise_answer_fn *)abort, NULL),
                         MORTISE_S_STALE);
        ck_assert_int_eq(api->cancelled(host, c), 1);
        (api->fail)(host, c, str("no"), str(""));
    }
    ck_assert_int_eq(api->cancelled(host, last_call), 0);
    ck_assert_uint_eq(seen->n_dones, 1);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_uint_eq(seen->n_dones, 2);
    ck_assert_str_eq(seen->dones[1].output, "");
}
END_TEST

/* A kind that is an event is told by its type; one that begins like it is none. */
START_TEST(kinds_are_types_of_events)
{
    static const char *const types[] = {"voice_session", "voice_transcript",
                                        "voice_turn_complete",
                                        "voice_barge_in"};
    char want[128];

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    ck_assert_int_eq(
        api->emit(host, last_call, str(types[_i]), str("{\"a\":1}")), 0);
    snprintf(want, sizeof want, "%s {\"a\":1}\n", types[_i]);
    ck_assert_str_eq(seen->events, want);
    ck_assert_int_eq(api->emit(host, last_call, str("voice_ses"), str("{}")),
                     MORTISE_S_UNSUPPORTED);
    ck_assert_int_eq(seen->n_events, 1);
    api->finish(host, last_call, 0, str(""), str(""));
}
END_TEST

/* Nor do strings that point nowhere, or kinds and methods of any length. */
START_TEST(odd_strings_do_nothing)
{
    mortise_str nowhere = {NULL, 100}, vast = {"x", UINT64_MAX};

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    ck_assert_int_eq(api->emit(host, last_call, nowhere, nowhere),
                     MORTISE_S_UNSUPPORTED);
    ck_assert_int_eq(api->emit(host, last_call, str("output"), nowhere), 0);
    ck_assert_int_eq(api->emit(host, last_call, str("event"), vast),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(api->emit(host, last_call, str("output"), vast),
                     MORTISE_S_INVALID);
    api->log(host, 1, nowhere);
    (api->fail)(host, last_call, nowhere, nowhere);
    ck_assert_int_eq(api->ask(host, last_call, nowhere, nowhere,
                              (mortise_answer_fn *)abort, NULL),
                     MORTISE_S_DENIED);
    ck_assert_int_eq(api->ask(host, last_call, str("state.get/1"), vast,
                              (mortise_answer_fn *)abort, NULL),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(api->finish(host, last_call, 5, nowhere, nowhere),
                     MORTISE_S_INVALID);
    api->finish(host, last_call, 0, nowhere, nowhere);
    ck_assert_int_eq(seen->dones[0].status,
                     -1); /* it wanted to emit too much */
}
END_TEST

/* A result has three parts, each of which may come in pieces. */
START_TEST(results_have_parts)
{
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    api->emit(host, last_call, str("goto"), str("a"));
    api->emit(host, last_call, str("update"), str("{\"scratch\":"));
    api->emit(host, last_call, str("output"), str("1"));
    api->emit(host, last_call, str("update"), str("{}}"));
    ck_assert_int_eq(api->emit(host, last_call, str("goto"), str("b")), 0);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_str_eq(seen->dones[0].target, "ab");
    ck_assert_str_eq(seen->dones[0].update, "{\"scratch\":{}}");
    ck_assert_str_eq(seen->dones[0].output, "1");
    call(2, &mortise_call_execute, "1"); /* in the same place */
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert(!seen->dones[1].has_target && !seen->dones[1].has_update);
    call(3, &mortise_call_execute, "1");
    api->emit(host, last_call, str("goto"), str(""));
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert(seen->dones[2].has_target); /* one that names nothing */
    ck_assert_str_eq(seen->dones[2].target, "");
    call(4, &mortise_call_execute, "1");
    api->emit(host, last_call, str("goto"), str("a"));
    api->emit(host, last_call, str("update"), str("{}"));
    api->finish(host, last_call, -1, str("no"), str(""));
    ck_assert(!seen->dones[3].has_target && !seen->dones[3].has_update);
}
END_TEST

/* What is longer than an id, or no text, is told as something that is none. */
START_TEST(targets_are_bounded)
{
    mortise_str vast = {"x", UINT64_MAX}, nowhere = {NULL, 9};
    char id[65] = "";

    memset(id, 'x', 64);
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    ck_assert_int_eq(api->emit(host, last_call, str("goto"), str(id)), 0);
    ck_assert_int_eq(api->emit(host, last_call, str("goto"), str(id)),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(api->emit(host, last_call, str("goto"), vast),
                     MORTISE_S_INVALID);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_uint_gt(strlen(seen->dones[0].target), 64);
    call(2, &mortise_call_execute, "1");
    api->emit(host, last_call, str("goto"), nowhere);
    api->emit(host, last_call, str("goto"), str("a\xff\n"));
    ck_assert_int_eq(api->emit(host, last_call, str("update"), vast),
                     MORTISE_S_INVALID);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[1].status, MORTISE_S_FAILED);
    call(3, &mortise_call_execute, "1");
    api->emit(host, last_call, str("goto"), str("a\xff"));
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_str_eq(seen->dones[2].target, "a?");
}
END_TEST

static int told(const char *usage)
{
    return api->emit(host, last_call, str("usage"), str(usage));
}

/* What a call says that it cost adds up, and is told however it ends; what is
 * none is refused, said once, and changes nothing. */
START_TEST(costs_add_up)
{
    mortise_str nowhere = {NULL, 100}, vast = {"{}", UINT64_MAX};

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    ck_assert_int_eq(told("{\"usd\": 0.5, \"model\": \"m\"}"), 0);
    ck_assert_int_eq(told("{\"usd\": -1}"), MORTISE_S_INVALID);
    ck_assert_int_eq(told("{\"us"), MORTISE_S_INVALID);
    ck_assert_int_eq(api->emit(host, last_call, str("usage"), nowhere),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(api->emit(host, last_call, str("usage"), vast),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(told("{\"usd\": 0.25, \"input_tokens\": 4}"), 0);
    api->finish(host, last_call, MORTISE_S_FAILED, str(""), str(""));
    ck_assert_uint_eq(seen->dones[0].nano_usd, 750000000);
    ck_assert_uint_eq(seen->dones[0].input_tokens, 4);
    ck_assert_int_eq(told("{\"usd\": 1}"), MORTISE_S_STALE);
    ck_assert_int_eq(witness_count(seen->log, "invalid usage"), 1);
    call(2, &mortise_call_execute, "1");
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_uint_eq(seen->dones[1].nano_usd, 0);
    call(3, &mortise_call_execute, "1");
    ck_assert_int_eq(told("{\"model\": \"m\"}"), 0);
    ck_assert(mortise_instance_abandon(inst, 3, NULL));
}
END_TEST

static mortise_status goes(const mortise_request *r)
{
    ck_assert_int_eq(api->emit(host, r->call, str("usage"), str("{}")),
                     MORTISE_S_UNSUPPORTED);
    ck_assert_int_eq(api->emit(host, r->call, str("goto"), str("a")),
                     MORTISE_S_UNSUPPORTED);
    return api->emit(host, r->call, str("update"), str("{}")) ==
                   MORTISE_S_UNSUPPORTED
               ? MORTISE_S_OK
               : MORTISE_S_FAILED;
}

/* A check goes nowhere and writes nothing. */
START_TEST(checks_only_judge)
{
    open_as(MORTISE_THREAD_INLINE);
    on_execute = goes;
    call(1, &mortise_call_check, "1");
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_OK);
    ck_assert(!seen->dones[0].has_target && !seen->dones[0].has_update);
}
END_TEST

static mortise_status finish_inside(const mortise_request *r)
{
    api->emit(host, r->call, str("output"), str("1"));
    ck_assert_int_eq(api->finish(host, r->call, 0, str(""), str("")), 0);
    ck_assert_uint_eq(seen->n_dones, 0); /* not while we are inside */
    ck_assert_int_eq(api->emit(host, r->call, str("output"), str("2")),
                     MORTISE_S_STALE);
    return MORTISE_S_PENDING;
}

/* A call that finishes before it returns ends when it has returned, so its
 * owner may call again from `done`. */
START_TEST(done_waits_for_the_return)
{
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = finish_inside;
    call(1, &mortise_call_execute, "1");
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_str_eq(seen->dones[0].output, "1");
}
END_TEST

static int depth;

static void call_again(void *ud, const struct mortise_call_result *d)
{
    witness_done(ud, d);
    if (++depth < 50)
        call(d->id + 1, &mortise_call_execute, "1");
}

static mortise_status at_once(const mortise_request *r)
{
    return api->emit(host, r->call, str("output"), str("1"));
}

/* Calling from `done`, and again from there. */
START_TEST(done_may_call)
{
    struct mortise_instance_ops o = witness_ops(seen);

    depth = 0;
    o.done = call_again;
    manifest.provides[MORTISE_KIND_EXECUTOR].present = true;
    manifest.provides[MORTISE_KIND_EXECUTOR].threading = MORTISE_THREAD_INLINE;
    ck_assert_int_eq(open_with(&o), MORTISE_OK);
    on_execute = at_once;
    call(1, &mortise_call_execute, "1");
    ck_assert_uint_eq(seen->n_dones, 50);
}
END_TEST

static mortise_status finish_inline(const mortise_request *r)
{
    ck_assert_int_eq(api->finish(host, r->call, 0, str(""), str("")),
                     MORTISE_S_INVALID);
    ck_assert_int_eq(api->ask(host, r->call, str("state.get/1"), str("{}"),
                              (mortise_answer_fn *)abort, NULL),
                     MORTISE_S_UNSUPPORTED);
    return at_once(r);
}

/* Inline calls, checks too, end by returning, and ask nothing. */
START_TEST(inline_calls_end_by_returning)
{
    open_as(MORTISE_THREAD_INLINE);
    on_execute = finish_inline;
    call(1, &mortise_call_execute, "1");
    call(2, &mortise_call_check, "1");
    ck_assert_uint_eq(seen->n_dones, 2);
    ck_assert_str_eq(seen->dones[0].output, "1");
    ck_assert(!seen->dones[1].violation);
    call(3, &mortise_call_check, "12345");
    ck_assert(seen->dones[2].violation);
    ck_assert_str_eq(seen->dones[2].message, "too long");
}
END_TEST

static mortise_status verdict(const char *text)
{
    return api->emit(host, last_call, str("verdict"), str(text));
}

/* A check may end later, from wherever, and says then what it judged. */
START_TEST(checks_may_pend)
{
    open_as((enum mortise_threading)_i);
    on_execute = pend;
    call(1, &mortise_call_check, "1");
    ck_assert_uint_eq(seen->n_dones, 0);
    ck_assert_int_eq(verdict("{\"violation\": true, "), MORTISE_S_OK);
    ck_assert_int_eq(verdict("\"reason\": \"so it is\"}"), MORTISE_S_OK);
    ck_assert_int_eq(api->emit(host, last_call, str("output"), str("2")),
                     MORTISE_S_OK);
    ck_assert_int_eq(api->finish(host, last_call, 0, str(""), str("")),
                     MORTISE_S_OK);
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_OK);
    ck_assert(seen->dones[0].violation);
    ck_assert_str_eq(seen->dones[0].message, "so it is");
    ck_assert_str_eq(seen->dones[0].output, "2");
    /* In the same place: nothing of the last one is left. */
    call(2, &mortise_call_check, "1");
    ck_assert_int_eq(verdict("{\"violation\": false}"), MORTISE_S_OK);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert(!seen->dones[1].violation && !seen->dones[1].has_output);
    ck_assert_str_eq(seen->dones[1].message, "");
}
END_TEST

/* A check that ends without a verdict, or with none that is one, failed: so
 * nothing passes for want of words. */
START_TEST(no_verdict_is_no_pass)
{
    static const char *const odd[] = {NULL,
                                      "",
                                      "true",
                                      "{}",
                                      "{\"violation\": 0}",
                                      "{\"violation\": false",
                                      "{\"violation\": false, \"reason\": 1}",
                                      "{\"violation\": false}{}"};

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_check, "1");
    if (odd[_i] != NULL)
        ck_assert_int_eq(verdict(odd[_i]), MORTISE_S_OK);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_FAILED);
    ck_assert_ptr_nonnull(strstr(seen->dones[0].message, "verdict"));
    call(2, &mortise_call_execute, "1"); /* executors have none */
    ck_assert_int_eq(verdict("{\"violation\": true}"), MORTISE_S_UNSUPPORTED);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[1].status, MORTISE_S_OK);
    ck_assert(!seen->dones[1].violation);
}
END_TEST

/* What a discovery plugin found is its output, made by what its header has for
 * that; it says nothing of what only others may. */
START_TEST(what_is_found_is_an_output)
{
    open_as((enum mortise_threading)_i);
    ck_assert_int_eq(call(1, &mortise_call_discover, "{}"), 0);
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_OK);
    ck_assert_str_eq(
        seen->dones[0].output,
        "{\"results\":[{\"id\":\"a/b\",\"kind\":\"tool\",\"score\":1.5,"
        "\"text\":\"{}\",\"tier\":\"name\"}]}");
}
END_TEST

/* A verdict has its bound, behind which the call fails. */
START_TEST(a_verdict_is_bounded)
{
    size_t n = MORTISE_ANSWER_MAX;
    char *blanks = malloc(n + 1);

    memset(blanks, ' ', n);
    blanks[n] = '\0';
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_check, "1");
    ck_assert_int_eq(verdict(blanks), MORTISE_S_OK);
    ck_assert_int_eq(verdict("{\"violation\": false}"), MORTISE_S_INVALID);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_FAILED);
    free(blanks);
}
END_TEST

/* Whatever a reason is made of, it arrives as text, cut. */
START_TEST(any_reason_arrives)
{
    char reason[3000];

    memset(reason, 1, sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    reason[0] = '"';
    reason[1] = (char)0xFF;
    memcpy(reason + 2, "\xC3\xA9", 2);
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_check, "1");
    ck_assert_int_eq(mortise_emit_verdict(host, api, last_call, 1, reason),
                     MORTISE_S_OK);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert(seen->dones[0].violation);
    ck_assert_int_eq(strncmp(seen->dones[0].message, "\"?\xC3\xA9?", 5), 0);
    ck_assert_uint_ge(strlen(seen->dones[0].message), 1000);
}
END_TEST

/* Words of an earlier fail() do not stick to a success, nor to the next call.
 */
static mortise_status fail_first(const mortise_request *r)
{
    if (is(r->body, "1"))
        (api->fail)(host, r->call, str("words"),
                    str("{\"class\":\"timeout\",\"code\":\"a.b\"}"));
    return is(r->body, "3") ? MORTISE_S_FAILED : MORTISE_S_OK;
}

START_TEST(words_do_not_stick)
{
    open_as(MORTISE_THREAD_INLINE);
    on_execute = fail_first;
    call(1, &mortise_call_execute, "1");
    ck_assert_str_eq(seen->dones[0].message, "");
    ck_assert_str_eq(seen->dones[0].error_class, "");
    call(2, &mortise_call_execute, "3");
    ck_assert_str_eq(seen->dones[1].message,
                     "failed with status -1 (MORTISE_S_FAILED) and without a "
                     "message");
    ck_assert_str_eq(seen->dones[1].error_class, "permanent");
    ck_assert_str_eq(seen->dones[1].error_code, "");
}
END_TEST

/* Nor does what an earlier call in the same place came to: when to try again,
 * with which numbers it ended, and that its end says nothing of what it did. */
static struct mortise_call_result last_done;

static void note_done(void *ud, const struct mortise_call_result *done)
{
    (void)ud;
    last_done = *done;
}

static mortise_status odd_first(const mortise_request *r)
{
    if (is(r->body, "1"))
        (api->fail)(host, r->call, str("later"),
                    str("{\"class\":\"transient\",\"retry_after_ms\":5000,"
                        "\"exit_code\":-3,\"status\":503}"));
    if (is(r->body, "3"))
        (api->fail)(host, r->call, str("no numbers"),
                    str("{\"exit_code\":\"75\",\"status\":9000000000}"));
    return is(r->body, "2") ? 77 : MORTISE_S_FAILED;
}

START_TEST(ends_do_not_stick)
{
    static const struct {
        uint64_t retry_after_ms;
        bool mute;
        struct mortise_exit_info ending;
    } want[] = {
        {5000, false, {-3, 503}}, {0, true, {0, 0}}, {0, false, {0, 0}}};
    const struct mortise_instance_ops o = {.done = note_done};

    manifest.provides[MORTISE_KIND_EXECUTOR] = (struct mortise_interface){
        .present = true, .threading = MORTISE_THREAD_INLINE};
    ck_assert_int_eq(open_with(&o), MORTISE_OK);
    on_execute = odd_first;
    for (uint64_t i = 0; i < 3; i++) {
        char body[] = {(char)('1' + i), '\0'};

        call(i + 1, &mortise_call_execute, body);
        ck_assert_int_eq(last_done.status, MORTISE_S_FAILED);
        ck_assert_uint_eq(last_done.retry_after_ms, want[i].retry_after_ms);
        ck_assert_int_eq(last_done.mute, want[i].mute);
        ck_assert_int_eq(last_done.ending.exit_code, want[i].ending.exit_code);
        ck_assert_int_eq(last_done.ending.status, want[i].ending.status);
    }
}
END_TEST

/* ---- many calls
 * ------------------------------------------------------------------ */

/* Thousands of calls open at once, ended in another order. */
START_TEST(many_calls_are_kept_apart)
{
    enum { MANY = 3000 };
    mortise_call *calls = calloc(MANY, sizeof *calls);

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    for (uint64_t id = 1; id <= MANY; id++) {
        char body[32];

        snprintf(body, sizeof body, "%llu", (unsigned long long)id);
        ck_assert_int_eq(call(id, &mortise_call_execute, body), 0);
        calls[id - 1] = last_call;
        api->emit(host, last_call, str("output"), str(body));
    }
    ck_assert_uint_eq(mortise_instance_count_calls(inst), MANY);
    for (size_t k = 0; k < MANY; k++) {
        size_t at = k * 1009 % MANY;

        ck_assert_int_eq(api->finish(host, calls[at], 0, str(""), str("")), 0);
        ck_assert_uint_eq(seen->dones[k].id, at + 1);
        ck_assert_uint_eq(strtoull(seen->dones[k].output, NULL, 10), at + 1);
    }
    ck_assert_uint_eq(mortise_instance_count_calls(inst), 0);
    free(calls);
}
END_TEST

/* ---- threads
 * ---------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 500 };

static _Atomic mortise_call handed[THREADS * EACH];
static _Atomic int n_handed;
static atomic_bool stop;

static mortise_status hand_over(const mortise_request *r)
{
    int at = atomic_fetch_add(&n_handed, 1);

    atomic_store(&handed[at], r->call);
    return MORTISE_S_PENDING;
}

/* Finishes whatever was handed over, several times over. */
static void *finisher(void *ud)
{
    unsigned seed = (unsigned)(uintptr_t)ud;

    while (!atomic_load(&stop)) {
        int n = atomic_load(&n_handed);
        mortise_call c;

        if (n == 0)
            continue;
        seed = seed * 1103515245u + 12345u;
        c = atomic_load(&handed[(seed >> 8) % (unsigned)n]);
        if (c == 0)
            continue;
        api->emit(host, c, str("output"), str("1"));
        (void)api->cancelled(host, c);
        (api->fail)(host, c, str("x"), str("{\"code\":\"y\"}"));
        api->finish(host, c, 0, str(""), str(""));
    }
    return NULL;
}

/* Plugin threads that finish, emit and fail at random, one that calls, cancels
 * and gives up: each call ends once, or was given up. */
START_TEST(threads_do_not_disagree)
{
    pthread_t threads[THREADS];
    size_t abandoned = 0;
    int total = THREADS * EACH;

    open_as(MORTISE_THREAD_ASYNC);
    on_execute = hand_over;
    atomic_store(&n_handed, 0);
    atomic_store(&stop, false);
    for (size_t k = 0; k < THREADS; k++)
        pthread_create(&threads[k], NULL, finisher, (void *)(k + 1));
    for (int k = 1; k <= total; k++) {
        ck_assert_int_eq(call((uint64_t)k, &mortise_call_execute, "1"), 0);
        if (k % 3 == 0)
            mortise_instance_cancel(inst, (uint64_t)k);
        if (k % 7 == 0)
            abandoned += mortise_instance_abandon(inst, (uint64_t)k, NULL);
    }
    witness_await(seen, &seen->n_dones, (size_t)total - abandoned);
    atomic_store(&stop, true);
    for (size_t k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    ck_assert_uint_eq(seen->n_dones, (size_t)total - abandoned);
    ck_assert_uint_eq(mortise_instance_count_calls(inst), 0);
    for (uint64_t id = 1; id <= (uint64_t)total; id += 97)
        ck_assert_int_le(witness_times(seen, id), 1);
}
END_TEST

/* ---- asking
 * ------------------------------------------------------------------------ */

static int answers;
static mortise_status answer_status;
static char answer_text[64];

static void answered(void *ud, mortise_status status, mortise_str text)
{
    ck_assert_ptr_eq(ud, &answers);
    answers++;
    answer_status = status;
    snprintf(answer_text, sizeof answer_text, "%.*s", (int)text.n, text.p);
}

static mortise_status ask_three(const mortise_request *r)
{
    last_call = r->call;
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(api->ask(host, r->call, str("state.get/1"), str("{}"),
                                  answered, &answers),
                         MORTISE_S_PENDING);
    return MORTISE_S_PENDING;
}

/* Several asks of one call are answered in any order, each once; those that are
 * open when the call ends are answered all the same. */
START_TEST(asks_are_answered_once_each)
{
    open_as(MORTISE_THREAD_ASYNC);
    answers = 0;
    on_execute = ask_three;
    call(1, &mortise_call_execute, "1");
    ck_assert_uint_eq(seen->n_asks, 3);
    mortise_instance_answer(inst, 1, seen->asks[1].ask, 0, "\"b\"", 3);
    ck_assert_int_eq(answers, 1);
    ck_assert_str_eq(answer_text, "\"b\"");
    mortise_instance_answer(inst, 1, seen->asks[1].ask, 0, "1", 1);
    mortise_instance_answer(inst, 1, 4711, 0, "1", 1);
    mortise_instance_answer(inst, 4711, seen->asks[0].ask, 0, "1", 1);
    ck_assert_int_eq(answers, 1);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_uint_eq(seen->n_dones, 1);
    mortise_instance_answer(inst, 1, seen->asks[0].ask, 0, "1", 1);
    ck_assert_int_eq(answers, 2);
    ck_assert_int_eq(answer_status, MORTISE_S_CANCELLED);
    close_it(); /* answers the third */
    ck_assert_int_eq(answers, 3);
    ck_assert_int_eq(answer_status, MORTISE_S_CANCELLED);
}
END_TEST

/* Cancelling answers what is open at once; asking then is refused. */
START_TEST(cancelling_answers_everything)
{
    open_as(MORTISE_THREAD_ASYNC);
    answers = 0;
    on_execute = ask_three;
    call(1, &mortise_call_execute, "1");
    ck_assert(mortise_instance_cancel(inst, 1));
    ck_assert_int_eq(answers, 3);
    ck_assert_int_eq(atomic_load(&cancels), 1);
    ck_assert_int_eq(api->cancelled(host, last_call), 1);
    ck_assert_int_eq(api->ask(host, last_call, str("state.get/1"), str("{}"),
                              answered, &answers),
                     MORTISE_S_CANCELLED);
    mortise_instance_answer(inst, 1, seen->asks[0].ask, 0, "1", 1);
    ck_assert_int_eq(answers, 3);
    api->finish(host, last_call, MORTISE_S_CANCELLED, str(""), str(""));
    ck_assert_str_eq(seen->dones[0].error_class, "cancelled");
}
END_TEST

static mortise_status wait_for_it(const mortise_request *r)
{
    mortise_str text;
    mortise_status status =
        api->ask_wait(host, r->call, str("state.get/1"), str("{}"), &text);

    if (status != MORTISE_S_OK)
        return status;
    return api->emit(host, r->call, str("output"), text);
}

static void *caller(void *ud)
{
    call((uint64_t)(uintptr_t)ud, &mortise_call_execute, "1");
    return NULL;
}

static void *checker(void *ud)
{
    (void)ud;
    call(1, &mortise_call_check, "1");
    return NULL;
}

/* A check may ask as an executor may: wait for the answer, or hear of it. */
START_TEST(checks_may_ask)
{
    pthread_t thread;

    answers = 0;
    open_as((enum mortise_threading)_i);
    on_execute = _i == MORTISE_THREAD_BLOCKING ? wait_for_it : ask_three;
    pthread_create(&thread, NULL, checker, NULL);
    witness_await(seen, &seen->n_asks, _i == MORTISE_THREAD_BLOCKING ? 1 : 3);
    if (_i == MORTISE_THREAD_ASYNC)
        pthread_join(thread, NULL);
    for (size_t k = 0; k < seen->n_asks; k++)
        mortise_instance_answer(inst, 1, seen->asks[k].ask, 0, "42", 2);
    if (_i == MORTISE_THREAD_ASYNC) {
        ck_assert_int_eq(answers, 3);
        mortise_emit_verdict(host, api, last_call, 0, NULL);
        api->finish(host, last_call, 0, str(""), str(""));
    } else {
        pthread_join(thread, NULL);
        ck_assert_str_eq(seen->dones[0].output, "42");
    }
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_int_eq(seen->dones[0].status, MORTISE_S_OK);
    ck_assert(!seen->dones[0].violation);
}
END_TEST

static mortise_status not_here(const mortise_request *r)
{
    ck_assert_int_eq(wait_for_it(r), MORTISE_S_UNSUPPORTED);
    return MORTISE_S_OK;
}

/* Waiting is for blocking plugins; asking without is for async ones. */
START_TEST(waiting_is_for_workers)
{
    open_as((enum mortise_threading)_i);
    on_execute = not_here;
    call(1, &mortise_call_execute, "1");
    ck_assert_uint_eq(seen->n_dones, 1);
    ck_assert_uint_eq(seen->n_asks, 0);
}
END_TEST

/* A worker that waits is woken by its answer, by cancelling, by being given
 * up, and by closing. */
START_TEST(a_waiting_worker_wakes)
{
    pthread_t thread;

    open_as(MORTISE_THREAD_BLOCKING);
    on_execute = wait_for_it;
    pthread_create(&thread, NULL, caller, (void *)1);
    witness_await(seen, &seen->n_asks, 1);
    switch (_i) {
    case 0:
        mortise_instance_answer(inst, 1, seen->asks[0].ask, 0, "42", 2);
        break;
    case 1:
        mortise_instance_answer(inst, 1, seen->asks[0].ask, -5, "no", 2);
        break;
    case 2:
        ck_assert(mortise_instance_cancel(inst, 1));
        break;
    default:
        ck_assert(mortise_instance_abandon(inst, 1, NULL));
        break;
    }
    pthread_join(thread, NULL);
    if (_i < 3)
        ck_assert_int_eq(witness_of(seen, 1)->status, _i == 0   ? 0
                                                      : _i == 1 ? -5
                                                                : -3);
    else
        ck_assert_uint_eq(seen->n_dones, 0);
    if (_i == 0)
        ck_assert_str_eq(seen->dones[0].output, "42");
}
END_TEST

/* ---- memory
 * ------------------------------------------------------------------------- */

/* Opening copes with its first, second, ... allocation failing. */
START_TEST(open_survives_oom)
{
    struct mortise_instance_ops o = witness_ops(seen);
    bool failed;
    int n = 0;

    do {
        test_mem_fail_at(n++);
        failed = open_with(&o) != MORTISE_OK;
        ck_assert_int_eq(failed, test_mem_failed());
        ck_assert_int_eq(inst == NULL, failed);
        test_mem_fail_at(-1);
    } while (failed);
    ck_assert_int_gt(n, 1);
}
END_TEST

/* An ask without memory is refused, and its call goes on. */
START_TEST(asking_survives_oom)
{
    bool failed;
    int n = 0;

    open_as(MORTISE_THREAD_ASYNC);
    answers = 0;
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    do {
        mortise_status s;

        test_mem_fail_at(n++);
        s = api->ask(host, last_call, str("state.get/1"), str("{}"), answered,
                     &answers);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        ck_assert_int_eq(s, failed ? MORTISE_S_NOMEM : MORTISE_S_PENDING);
    } while (failed);
    ck_assert_uint_eq(seen->n_asks, 1);
    mortise_instance_answer(inst, 1, seen->asks[0].ask, 0, "1", 1);
    ck_assert_int_eq(answers, 1);
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[0].status, 0);
}
END_TEST

/* Output that found no memory makes the call fail, however it ends. */
START_TEST(lost_output_fails_the_call)
{
    char *big = calloc(1, 100001);

    memset(big, '1', 100000);
    open_as(MORTISE_THREAD_ASYNC);
    on_execute = pend;
    call(1, &mortise_call_execute, "1");
    test_mem_fail_at(0);
    ck_assert_int_eq(api->emit(host, last_call, str("output"), str(big)),
                     MORTISE_S_NOMEM);
    test_mem_fail_at(-1);
    api->emit(host, last_call, str("output"), str("1"));
    api->finish(host, last_call, 0, str(""), str(""));
    ck_assert_int_eq(seen->dones[0].status, -6);
    ck_assert_str_eq(seen->dones[0].error_class, "transient");
    free(big);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("instance");
    TCase *tc = tcase_create("instance");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_request_arrives, MORTISE_THREAD_INLINE,
                        MORTISE_THREAD_BLOCKING + 1);
    tcase_add_test(tc, what_is_not_there_is_refused);
    tcase_add_loop_test(tc, a_pending_request_stays, 0, 2);
    tcase_add_test(tc, odd_handles_do_nothing);
    tcase_add_test(tc, odd_strings_do_nothing);
    tcase_add_loop_test(tc, kinds_are_types_of_events, 0, 4);
    tcase_add_test(tc, results_have_parts);
    tcase_add_test(tc, targets_are_bounded);
    tcase_add_test(tc, costs_add_up);
    tcase_add_test(tc, checks_only_judge);
    tcase_add_test(tc, done_waits_for_the_return);
    tcase_add_test(tc, done_may_call);
    tcase_add_test(tc, inline_calls_end_by_returning);
    tcase_add_loop_test(tc, checks_may_pend, MORTISE_THREAD_ASYNC,
                        MORTISE_THREAD_BLOCKING + 1);
    tcase_add_loop_test(tc, no_verdict_is_no_pass, 0, 8);
    tcase_add_loop_test(tc, what_is_found_is_an_output, MORTISE_THREAD_INLINE,
                        MORTISE_THREAD_BLOCKING + 1);
    tcase_add_test(tc, a_verdict_is_bounded);
    tcase_add_test(tc, any_reason_arrives);
    tcase_add_test(tc, words_do_not_stick);
    tcase_add_test(tc, ends_do_not_stick);
    tcase_add_test(tc, many_calls_are_kept_apart);
    tcase_add_test(tc, threads_do_not_disagree);
    tcase_add_test(tc, asks_are_answered_once_each);
    tcase_add_loop_test(tc, checks_may_ask, MORTISE_THREAD_ASYNC,
                        MORTISE_THREAD_BLOCKING + 1);
    tcase_add_test(tc, cancelling_answers_everything);
    tcase_add_loop_test(tc, waiting_is_for_workers, MORTISE_THREAD_INLINE,
                        MORTISE_THREAD_ASYNC + 1);
    tcase_add_loop_test(tc, a_waiting_worker_wakes, 0, 4);
    tcase_add_test(tc, open_survives_oom);
    tcase_add_test(tc, asking_survives_oom);
    tcase_add_test(tc, lost_output_fails_the_call);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
