/* problem.h -- why a call failed: what servers and the host say, in the codes
 * of mortise/model.h.
 *
 * Bodies   {error: {message, type, code}}, {error: text}, {detail: ...}
 *          (FastAPI), {object: "error", message, type, code} (old vLLM), {type:
 *          "error", message, code} (in a stream); anything else says nothing.
 * Code     By what the body's `code` and `type` name, if it is known here (a
 *          quota that is used up and a prompt that is too long come under
 *          several statuses); else by the status, which in a stream is the
 *          body's `code`; else it is the server's fault.
 * Again    As the code's class has it.  408, 409 and 425 may be tried again;
 *          `x-should-retry` has the last word where a server says it.
 * When     `retry-after-ms`; or what the host read from Retry-After; or, of a
 *          429, `x-ratelimit-reset-*` of what is used up. */
#ifndef OPENAI_PROBLEM_H
#define OPENAI_PROBLEM_H

#include <stdbool.h>

#include <mortise/model.h>

#include "../../bytes.h"

struct problem {
    mortise_status status; /* MORTISE_S_OK: there is none */
    const char *code, *klass;
    int64_t retry_after_ms; /* -1: nobody said */
    struct bytes words;     /* empty where there was no memory for them */
};

void problem_finish(struct problem *p);

/* The class that goes with a code. */
const char *problem_class(const char *code);

void problem_no_memory(struct problem *p);
/* One of our own. */
__attribute__((format(printf, 3, 4))) void
problem_set(struct problem *p, const char *code, const char *fmt, ...);

/* A server's.  `answer`: of http.request/1, with or without its body, or none,
 * in the middle of a stream; `body`: the JSON of it, or none. */
void problem_of_server(struct problem *p, mortise_jv answer, mortise_jv body);

/* Does the server say that the roles of the messages must alternate? */
bool problem_is_of_turns(const struct problem *p);
/* Add a sentence that tells what to do. */
void problem_advise(struct problem *p, const char *sentence);

/* The request had no answer, and the host says why.  `begun`: the head of one
 * was there. */
void problem_of_host(struct problem *p, mortise_status status,
                     mortise_str words, bool begun);

/* Of something that is not for the server to see, at the start of a call. */
mortise_status problem_tell(const struct problem *p, mortise_host *host,
                            const mortise_host_api *api, mortise_call call);
/* End a pending call with it. */
void problem_finish_call(const struct problem *p, mortise_host *host,
                         const mortise_host_api *api, mortise_call call);

#endif
