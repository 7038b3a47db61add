/* log.c -- logging, queueing a task, and the check whether the engine takes
 * requests.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/engine/common/engine.h"
#include "core/engine/common/secret_store.h"

void mortise_log(struct mortise *m, int level, const char *fmt, ...)
{
    bool on_loop = pthread_equal(m->thread, pthread_self());
    char text[1024];
    va_list ap;

    if (m->log == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mortise_secret_store_mask_text(m->secret_store, text, sizeof text);
    if (on_loop)
        mortise_thread_state_pause(&m->thread_state);
    m->log(m->log_ud, level, text);
    if (on_loop)
        mortise_thread_state_resume(&m->thread_state, m->c_locale);
}

void mortise_task_make_ready(struct mortise *m, struct mortise_task *t)
{
    mortise_tasks_put(&m->ready, t);
}

int mortise_engine_check_ready(struct mortise *m, struct mortise_err *err)
{
    switch (m->state) {
    case MORTISE_ENGINE_RUNNING:
        if (m->leaving)
            break;
        return MORTISE_OK;
    case MORTISE_ENGINE_CLOSING:
        break;
    case MORTISE_ENGINE_FAILING:
    case MORTISE_ENGINE_BROKEN:
        if (err != NULL)
            *err = m->trouble;
        return m->trouble.code;
    }
    return mortise_fail(err, MORTISE_EBUSY, "the engine is closing");
}
