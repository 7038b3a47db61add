/* streams.h -- texts that wait for guardrails before anybody is told of them, as
 * streams.c keeps them for calls.c.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_STREAMS_H
#define MORTISE_ENGINE_RUNS_STREAMS_H

#include "core/engine/runs/call.h"

/* What a stream has done for it: calls.c's. */
struct mortise_stream_ops {
    /* What is behind a guardrail's id: NULL, nothing that can be asked. */
    const struct mortise_manifest *(*guard)(struct mortise *m, const char *id);
    /* The guardrail looks at a value, for nobody but the stream, and within so
     * many milliseconds; who hears how that ended. */
    int (*look)(struct mortise_hearer *h, struct mortise_live *live,
                const struct mortise_run_call *rc, uint64_t may_take_ms,
                struct mortise_err *err);
    /* An event, for whoever watches; NULL: one that memory ran out for. */
    void (*tell)(struct mortise_live *live, json_t *event);
};

/* Is what this call tells looked at first? */
bool mortise_stream_holds(const struct mortise_ongoing *c);
/* A piece of text of such a call, masked: an event of that type (static), once
 * it was looked at.  `text` is a JSON string; NULL: one was lost. */
void mortise_stream_put(struct mortise_ongoing *c, const char *type,
                        const json_t *text,
                        const struct mortise_stream_ops *ops);
/* The call ended: there will be no more of it. */
void mortise_stream_end(struct mortise_ongoing *c);
/* A call of the run's own with which its guardrails have judged an output, and
 * let it pass as it was shown or not. */
void mortise_stream_judged(struct mortise_ongoing *check, bool passed);
/* The run leaves memory. */
void mortise_streams_drop(struct mortise_live *live);

#endif
