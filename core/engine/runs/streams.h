/* streams.h -- hold back streamed text until guardrails have checked it.
 * [loop] */
#ifndef MORTISE_ENGINE_RUNS_STREAMS_H
#define MORTISE_ENGINE_RUNS_STREAMS_H

#include "core/engine/runs/call.h"

/* Functions that calls.c provides to a stream. */
struct mortise_stream_ops {
    /* The manifest of a guardrail; NULL: it cannot be called. */
    const struct mortise_manifest *(*guard)(struct mortise *m, const char *id);
    /* Show a value to the guardrail, with a timeout; `h` gets the result. */
    int (*look)(struct mortise_result_receiver *h, struct mortise_live *live,
                const struct mortise_run_call *rc, uint64_t may_take_ms,
                struct mortise_err *err);
    /* Publish an event; NULL: memory ran out for it. */
    void (*tell)(struct mortise_live *live, json_t *event);
};

/* Must the text of this call be checked before it is published? */
bool mortise_stream_must_hold(const struct mortise_plugin_call *c);
/* Add a piece of masked text, to be published as events of that type (static)
 * after the check.  `text` is a JSON string; NULL: a piece was lost. */
void mortise_stream_add_text(struct mortise_plugin_call *c, const char *type,
                             const json_t *text,
                             const struct mortise_stream_ops *ops);
/* The call ended: its text is complete. */
void mortise_stream_end(struct mortise_plugin_call *c);
/* A check call of the run has judged an output with the node's guardrails;
 * `passed`: it may be shown unchanged. */
void mortise_stream_handle_verdict(struct mortise_plugin_call *check,
                                   bool passed);
/* The run leaves memory. */
void mortise_streams_free(struct mortise_live *live);

#endif
