/* simple.h -- what the plugins of tests/ have in common, so that each of them
 * is little more than the one promise that it breaks.
 *
 * Like any plugin they see sdk/ alone. */
#ifndef SIMPLE_H
#define SIMPLE_H

#include <mortise/ask.h>
#include <mortise/guardrail.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    char file[1024];     /* config.file; "" when there is none */
    char base_url[1024]; /* config.base_url, likewise */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int threads; /* of ours that run */
};

/* A call that a thread of ours serves. */
struct simple_job {
    mortise_inst *inst;
    const mortise_request *request;
    void (*run)(mortise_inst *, const mortise_request *);
};

MORTISE_INLINE void simple_sleep_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

MORTISE_INLINE mortise_status simple_emit(mortise_inst *i,
                                          const mortise_request *r,
                                          const char *json)
{
    return mortise_emit_output(i->host, i->api, r->call, mortise_strz(json));
}

MORTISE_INLINE mortise_status simple_finish(mortise_inst *i,
                                            const mortise_request *r,
                                            mortise_status status)
{
    return i->api->finish(i->host, r->call, status, mortise_str_empty(),
                          mortise_str_empty());
}

/* A member of the request's body: a number, or otherwise. */
MORTISE_INLINE int64_t simple_int(const mortise_request *r, const char *name,
                                  int64_t otherwise)
{
    mortise_jv body;
    int64_t v;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK ||
        mortise_jv_int(mortise_jv_get(body, name), &v) != MORTISE_S_OK)
        return otherwise;
    return v;
}

/* A while, of `ms` of the body, in the middle of which a test can kill: from then
 * on there is a file `napping.MS`, and once there is a file `over.MS` it is over. */
MORTISE_INLINE void simple_nap(const mortise_request *r)
{
    int64_t ms = simple_int(r, "ms", 0);
    char napping[64], over[64];
    FILE *f;

    if (ms == 0)
        return;
    snprintf(napping, sizeof napping, "napping.%lld", (long long)ms);
    snprintf(over, sizeof over, "over.%lld", (long long)ms);
    f = fopen(napping, "w");
    if (f != NULL)
        fclose(f);
    for (; ms > 0 && access(over, F_OK) != 0; ms -= 10)
        simple_sleep_ms(10);
}

MORTISE_INLINE mortise_status simple_create(mortise_host *host,
                                            const mortise_host_api *api,
                                            mortise_str config,
                                            mortise_inst **out)
{
    mortise_inst *i = (mortise_inst *)calloc(1, sizeof *i);
    mortise_jv c;

    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    pthread_mutex_init(&i->lock, NULL);
    pthread_cond_init(&i->idle, NULL);
    if (mortise_jv_parse(config, &c) == MORTISE_S_OK) {
        mortise_jv_cstr(mortise_jv_get(c, "file"), i->file, sizeof i->file);
        mortise_jv_cstr(mortise_jv_get(c, "base_url"), i->base_url,
                        sizeof i->base_url);
    }
    *out = i;
    return MORTISE_S_OK;
}

MORTISE_INLINE void simple_cancel(mortise_inst *i, mortise_call call)
{
    (void)i;
    (void)call;
}

/* Waits for our threads, however long they take. */
MORTISE_INLINE mortise_status simple_quiesce(mortise_inst *i, uint64_t deadline)
{
    (void)deadline;
    pthread_mutex_lock(&i->lock);
    while (i->threads > 0)
        pthread_cond_wait(&i->idle, &i->lock);
    pthread_mutex_unlock(&i->lock);
    return MORTISE_S_OK;
}

MORTISE_INLINE void simple_destroy(mortise_inst *i)
{
    pthread_cond_destroy(&i->idle);
    pthread_mutex_destroy(&i->lock);
    free(i);
}

MORTISE_INLINE void *simple_thread(void *ud)
{
    struct simple_job job = *(struct simple_job *)ud;
    mortise_inst *i = job.inst;

    free(ud);
    job.run(i, job.request);
    pthread_mutex_lock(&i->lock);
    if (--i->threads == 0)
        pthread_cond_broadcast(&i->idle);
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

/* Serve a call on a thread of our own. */
MORTISE_INLINE mortise_status simple_pend(mortise_inst *i,
                                          const mortise_request *r,
                                          void (*run)(mortise_inst *,
                                                      const mortise_request *))
{
    struct simple_job *job = (struct simple_job *)malloc(sizeof *job);
    pthread_attr_t attr;
    pthread_t thread;
    int failed;

    if (job == NULL)
        return MORTISE_S_NOMEM;
    *job = (struct simple_job){i, r, run};
    pthread_mutex_lock(&i->lock);
    i->threads++;
    pthread_mutex_unlock(&i->lock);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&thread, &attr, simple_thread, job);
    pthread_attr_destroy(&attr);
    if (!failed)
        return MORTISE_S_PENDING;
    pthread_mutex_lock(&i->lock);
    i->threads--;
    pthread_mutex_unlock(&i->lock);
    free(job);
    return MORTISE_S_NOMEM;
}

/* ---- the operations of those that behave -------------------------------- */

/* echo: the body, as it came. */
MORTISE_INLINE mortise_status simple_echo(mortise_inst *i,
                                          const mortise_request *r)
{
    return mortise_emit_output(i->host, i->api, r->call, r->body);
}

/* fail {class, code, times}: fail in the first `times` attempts (absent: in
 * every one), then echo. */
MORTISE_INLINE mortise_status simple_fail(mortise_inst *i,
                                          const mortise_request *r)
{
    char class_[32] = "", code[64] = "";
    mortise_jv body;

    if ((int64_t)r->attempt > simple_int(r, "times", INT64_MAX))
        return simple_echo(i, r);
    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "class"), class_, sizeof class_);
    mortise_jv_cstr(mortise_jv_get(body, "code"), code, sizeof code);
    return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                          class_[0] != '\0' ? class_ : NULL,
                          code[0] != '\0' ? code : NULL, "failed as asked");
}

/* sleep {ms}, and stop when asked to. */
MORTISE_INLINE mortise_status simple_sleep(mortise_inst *i,
                                           const mortise_request *r)
{
    int64_t left = simple_int(r, "ms", 0);

    for (; left > 0; left--) {
        if (i->api->cancelled(i->host, r->call))
            return MORTISE_S_CANCELLED;
        simple_sleep_ms(1);
    }
    return simple_echo(i, r);
}

MORTISE_INLINE mortise_status simple_operation(mortise_inst *i,
                                               const mortise_request *r)
{
    if (mortise_str_is(r->operation, "echo"))
        return simple_echo(i, r);
    if (mortise_str_is(r->operation, "fail"))
        return simple_fail(i, r);
    if (mortise_str_is(r->operation, "sleep"))
        return simple_sleep(i, r);
    return MORTISE_S_UNSUPPORTED;
}

/* ---- the module --------------------------------------------------------- */

/* A file of one executor defines execute() and ends with one of these. */
#define SIMPLE_INTERFACE(ID, TABLE)                                            \
    static const void *simple_interface(mortise_inst *i, const char *id)       \
    {                                                                          \
        (void)i;                                                               \
        return strcmp(id, ID) == 0 ? (const void *)&TABLE : NULL;              \
    }

#define SIMPLE_MODULE(NAME, CREATE, QUIESCE)                                   \
    static const mortise_plugin plugin = {sizeof(mortise_plugin),              \
                                          0,                                   \
                                          NAME,                                \
                                          "1.0.0",                             \
                                          CREATE,                              \
                                          simple_interface,                    \
                                          simple_cancel,                       \
                                          QUIESCE,                             \
                                          simple_destroy};                     \
    MORTISE_MODULE_OF(plugin);

#define SIMPLE_EXECUTOR_WITH(NAME, CREATE, QUIESCE)                            \
    static const mortise_executor executor = {                                 \
        .size = sizeof(mortise_executor), .execute = execute};                 \
    SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)                             \
    SIMPLE_MODULE(NAME, CREATE, QUIESCE)

#define SIMPLE_EXECUTOR(NAME)                                                  \
    SIMPLE_EXECUTOR_WITH(NAME, simple_create, simple_quiesce)

#define SIMPLE_GUARDRAIL(NAME)                                                 \
    static const mortise_guardrail guardrail = {sizeof(mortise_guardrail), 0,  \
                                                check};                        \
    SIMPLE_INTERFACE(MORTISE_GUARDRAIL_2, guardrail)                           \
    SIMPLE_MODULE(NAME, simple_create, simple_quiesce)

#endif
