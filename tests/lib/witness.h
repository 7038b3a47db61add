/* witness.h -- what an instance tells its owner, written down for a test. */
#ifndef WITNESS_H
#define WITNESS_H

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/plugin/instance.h"

#define WITNESS_FN static inline __attribute__((unused))

struct witnessed { /* one `done` */
    uint64_t id;
    int status;
    bool violation, has_output;
    char *output; /* malloc()ed */
    size_t output_size;
    bool has_update, has_target;
    uint64_t input_tokens, nano_usd; /* of its usage */
    char update[256], target[128];
    char message[2048], error_class[32], error_code[80];
};

struct witness_ask {
    uint64_t call, ask;
    char method[64], body[512];
};

enum { WITNESS_DONES = 4096, WITNESS_ASKS = 64 };

struct witness {
    pthread_mutex_t lock; /* guards everything */
    pthread_cond_t news;
    struct witnessed dones[WITNESS_DONES];
    size_t n_dones;
    struct witness_ask asks[WITNESS_ASKS];
    size_t n_asks;
    char log[8192];
    char events[8192];
    int n_events;
};

WITNESS_FN void witness_done(void *ud, const struct mortise_call_result *d)
{
    struct witness *w = ud;
    struct witnessed *one;

    pthread_mutex_lock(&w->lock);
    ck_assert_uint_lt(w->n_dones, WITNESS_DONES);
    one = &w->dones[w->n_dones++];
    one->id = d->id;
    one->status = d->status;
    one->violation = d->violation;
    one->has_output = d->has_output;
    one->output = malloc(d->output_size + 1);
    memcpy(one->output, d->output, d->output_size + 1);
    one->output_size = d->output_size;
    one->has_update = d->has_update;
    one->input_tokens = d->usage->amount[MORTISE_USED_INPUT];
    one->nano_usd = d->usage->amount[MORTISE_USED_USD];
    one->has_target = d->target != NULL;
    snprintf(one->update, sizeof one->update, "%s", d->update);
    snprintf(one->target, sizeof one->target, "%s",
             d->target != NULL ? d->target : "");
    snprintf(one->message, sizeof one->message, "%s", d->message);
    snprintf(one->error_class, sizeof one->error_class, "%s", d->error_class);
    snprintf(one->error_code, sizeof one->error_code, "%s", d->error_code);
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
}

/* Of progress its object alone; of other types behind their name. */
WITNESS_FN void witness_event(void *ud, uint64_t call, const char *type,
                              const char *json, size_t n)
{
    const bool named = strcmp(type, "progress") != 0;
    struct witness *w = ud;
    size_t at;

    (void)call;
    pthread_mutex_lock(&w->lock);
    at = strlen(w->events);
    snprintf(w->events + at, sizeof w->events - at, "%s%s%.*s\n",
             named ? type : "", named ? " " : "", (int)n, json);
    w->n_events++;
    pthread_mutex_unlock(&w->lock);
}

/* Among the events, as `delta TEXT` or `reasoning TEXT`. */
WITNESS_FN void witness_delta(void *ud, uint64_t call, bool reasoning,
                              const char *text, size_t n)
{
    struct witness *w = ud;
    size_t at;

    (void)call;
    pthread_mutex_lock(&w->lock);
    at = strlen(w->events);
    snprintf(w->events + at, sizeof w->events - at, "%s %.*s\n",
             reasoning ? "reasoning" : "delta", (int)n, text);
    pthread_mutex_unlock(&w->lock);
}

WITNESS_FN void witness_ask(void *ud, uint64_t call, uint64_t ask,
                            const char *method, const char *body, size_t n)
{
    struct witness *w = ud;
    struct witness_ask *a;

    pthread_mutex_lock(&w->lock);
    ck_assert_uint_lt(w->n_asks, WITNESS_ASKS);
    a = &w->asks[w->n_asks++];
    a->call = call;
    a->ask = ask;
    snprintf(a->method, sizeof a->method, "%s", method);
    snprintf(a->body, sizeof a->body, "%.*s", (int)n, body);
    pthread_cond_broadcast(&w->news);
    pthread_mutex_unlock(&w->lock);
}

WITNESS_FN void witness_log(void *ud, int level, const char *plugin,
                            const char *msg)
{
    struct witness *w = ud;
    size_t at;

    pthread_mutex_lock(&w->lock);
    at = strlen(w->log);
    snprintf(w->log + at, sizeof w->log - at, "%d %s: %s\n", level, plugin,
             msg);
    pthread_mutex_unlock(&w->lock);
}

/* A new one; NULL-initialised memory of this size is too much for a stack. */
WITNESS_FN struct witness *witness_new(void)
{
    struct witness *w = calloc(1, sizeof *w);

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->news, NULL);
    return w;
}

WITNESS_FN void witness_free(struct witness *w)
{
    for (size_t i = 0; i < w->n_dones; i++)
        free(w->dones[i].output);
    pthread_cond_destroy(&w->news);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

WITNESS_FN struct mortise_instance_ops witness_ops(struct witness *w)
{
    return (struct mortise_instance_ops){.ud = w,
                                         .done = witness_done,
                                         .event = witness_event,
                                         .delta = witness_delta,
                                         .ask = witness_ask,
                                         .log = witness_log};
}

/* Wait up to 20 s for n calls, or n asks, to have been told of. */
WITNESS_FN void witness_await(struct witness *w, const size_t *counter,
                              size_t n)
{
    struct timespec until;
    int rv = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&w->lock);
    while (*counter < n && rv == 0)
        rv = pthread_cond_timedwait(&w->news, &w->lock, &until);
    pthread_mutex_unlock(&w->lock);
    ck_assert_msg(rv == 0, "it did not come");
}

/* The end of a call, waited for. */
WITNESS_FN const struct witnessed *witness_of(struct witness *w, uint64_t id)
{
    for (size_t n = 1;; n++) {
        witness_await(w, &w->n_dones, n);
        if (w->dones[n - 1].id == id)
            return &w->dones[n - 1];
    }
}

/* How often was a call told to have ended? */
WITNESS_FN int witness_times(struct witness *w, uint64_t id)
{
    int times = 0;

    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->n_dones; i++)
        times += w->dones[i].id == id;
    pthread_mutex_unlock(&w->lock);
    return times;
}

/* How often does a text stand in another? */
WITNESS_FN int witness_count(const char *text, const char *word)
{
    int n = 0;

    for (const char *p = strstr(text, word); p != NULL; n++)
        p = strstr(p + 1, word);
    return n;
}

#endif
