/* call.c -- a thread for each call, and what it asks the host.
 *
 * A conversation takes as long as people talk.  The host's workers are few, and
 * for what is over soon; so each call has a thread of its own here, which may
 * wait wherever it likes, and the call is pending until that ends.
 *
 *   (1) A call is finished once, as the last thing that its thread does with it:
 *       what the request lends is given back then.
 *   (2) An ask is answered on the host's thread, which copies the answer and
 *       leaves; one call asks one thing at a time.  What is cancelled is
 *       answered, too, so nobody waits for ever.
 *   (3) An instance ends when the last thread has: calls_wait().
 */
#include "voice.h"

#include <time.h>

struct calls {
    pthread_mutex_t lock; /* of all asks as well; guards: */
    pthread_cond_t ended;
    unsigned n;
};

/* One ask, on the stack of who waits. */
struct asking {
    struct session *session;
    pthread_cond_t answered;
    int is_answered; /* under the lock, with what follows */
    mortise_status status;
};

/* Deadlines are of CLOCK_MONOTONIC. */
static int init_cond(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    int failed = pthread_condattr_init(&attr);

    if (failed)
        return failed;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    failed = pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
    return failed;
}

mortise_status calls_new(struct calls **out)
{
    struct calls *c = calloc(1, sizeof *c);

    if (c == NULL || init_cond(&c->ended) != 0) {
        free(c);
        return MORTISE_S_NOMEM;
    }
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return MORTISE_S_OK;
}

void calls_free(struct calls *c)
{
    if (c == NULL)
        return;
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* (3) */
mortise_status calls_wait(struct calls *c, uint64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                   .tv_nsec = (long)(deadline_ns % 1000000000)};
    int failed = 0;
    unsigned left;

    pthread_mutex_lock(&c->lock);
    while (c->n > 0 && failed == 0)
        failed = pthread_cond_timedwait(&c->ended, &c->lock, &until);
    left = c->n;
    pthread_mutex_unlock(&c->lock);
    return left == 0 ? MORTISE_S_OK : MORTISE_S_TIMEOUT;
}

/* ---- asking ---------------------------------------------------------------- */

/* (2) */
static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct asking *a = (struct asking *)ud;
    struct calls *c = a->session->inst->calls;

    pthread_mutex_lock(&c->lock);
    if (bytes_put(&a->session->answer, answer) != MORTISE_S_OK)
        status = MORTISE_S_NOMEM;
    a->status = status;
    a->is_answered = 1;
    pthread_cond_signal(&a->answered);
    pthread_mutex_unlock(&c->lock);
}

mortise_status call_ask(struct session *s, const char *method, mortise_str body,
                        mortise_str *answer)
{
    struct calls *c = s->inst->calls;
    struct asking a = {.session = s};
    mortise_status status;

    *answer = mortise_str_empty();
    bytes_free(&s->answer);
    if (init_cond(&a.answered) != 0)
        return MORTISE_S_NOMEM;
    status = s->inst->api->ask(s->inst->host, s->id, mortise_strz(method), body,
                               on_answer, &a);
    if (status == MORTISE_S_PENDING) {
        pthread_mutex_lock(&c->lock);
        while (!a.is_answered)
            pthread_cond_wait(&a.answered, &c->lock);
        status = a.status;
        pthread_mutex_unlock(&c->lock);
        *answer = bytes_str(&s->answer);
    }
    pthread_cond_destroy(&a.answered);
    return status;
}

/* ---- calls ----------------------------------------------------------------- */

/* {class, code} of a failure. */
static mortise_str detail_of(const struct session *s, char room[128])
{
    mortise_str detail;
    mortise_jw w;

    if (s->failed == NULL)
        return mortise_str_empty();
    mortise_jw_fixed(&w, room, 128);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "class");
    mortise_jw_cstr(&w, s->failed->klass);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, s->failed->code);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &detail) == MORTISE_S_OK ? detail
                                                          : mortise_str_empty();
}

/* (1) */
static void finish(struct session *s, mortise_status status)
{
    const int failed = status < 0;
    char room[128];

    s->inst->api->finish(s->inst->host, s->id, status,
                         mortise_strz(failed ? s->words : NULL),
                         failed ? detail_of(s, room) : mortise_str_empty());
}

static void *run(void *ud)
{
    struct session *s = (struct session *)ud;
    struct calls *c = s->inst->calls;

    finish(s, session_run(s));
    session_free(s);
    pthread_mutex_lock(&c->lock);
    c->n--;
    pthread_cond_broadcast(&c->ended);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static int start_thread(struct session *s)
{
    pthread_attr_t attr;
    pthread_t thread;
    int failed = pthread_attr_init(&attr);

    if (failed)
        return failed;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&thread, &attr, run, s);
    pthread_attr_destroy(&attr);
    return failed;
}

static void count(struct calls *c, int one)
{
    pthread_mutex_lock(&c->lock);
    c->n += (unsigned)one;
    pthread_mutex_unlock(&c->lock);
}

mortise_status call_start(mortise_inst *inst, const mortise_request *r)
{
    struct session *s = calloc(1, sizeof *s);
    mortise_jv body = mortise_jv_of(r->body);

    if (s == NULL)
        return MORTISE_S_NOMEM;
    s->inst = inst;
    s->id = r->call;
    s->request = r;
    s->mouth.fd = -1;
    s->node = mortise_jv_get(body, "node");
    s->args = mortise_jv_get(body, "args");
    count(inst->calls, 1);
    if (start_thread(s) == 0)
        return MORTISE_S_PENDING;
    count(inst->calls, -1);
    session_free(s);
    return MORTISE_S_NOMEM;
}
