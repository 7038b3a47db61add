/* rehearsing.h -- shared by the files of a rehearsal: rehearse.c runs it,
 * answers.c and lookups.c answer calls, human_answers.c answers for people.
 */
#ifndef MORTISE_TESTKIT_REHEARSING_H
#define MORTISE_TESTKIT_REHEARSING_H

#include "testkit/ledger.h"
#include "testkit/rehearse.h"
#include "core/engine/runs/script.h"

struct mortise_rehearsal_state {
    const struct mortise_rehearsal *what;
    struct mortise *m;
    struct mortise_ledger ledger;
    json_t *problems;       /* for the outcome */
    json_t *done;           /* paths that had ended before a crash */
    bool failed_doubt;      /* the script has `in_doubt: fail` */
    bool crashed;           /* an earlier process of this case has crashed */
    size_t inherited;       /* ledger entries of earlier processes */
    struct mortise_err err; /* a fatal error; MORTISE_OK: none */
};

/* The id of the single run of a rehearsal. */
#define MORTISE_REHEARSAL_RUN_ID "test"

enum { MORTISE_CONTEXT_SIZE = 640 };
/* The path of an execution without invocation and visits: "each[2]/w".  It
 * names a node within the same map elements.  Its executions never overlap. */
const char *mortise_make_context_path(const char *path,
                                      char out[MORTISE_CONTEXT_SIZE]);
/* The same without map elements: "each/w". */
const char *mortise_make_context_node(const char *path,
                                      char out[MORTISE_CONTEXT_SIZE]);

/* Report a problem of the case or the run.  Equal messages are reported
 * once. */
void mortise_rehearsal_add_problem(struct mortise_rehearsal_state *r,
                                   const char *code, const char *help,
                                   const char *fmt, ...) MORTISE_PRINTF(4, 5);
/* The output of `mortise show` for the run, as a new reference. */
int mortise_rehearsal_get_show(struct mortise_rehearsal_state *r, json_t **out,
                               struct mortise_err *err);
/* Append to the ledger; sets r->err on failure. */
void mortise_rehearsal_record(struct mortise_rehearsal_state *r, json_t *entry);

/* ---- answers.c ----------------------------------------------------------- */

bool mortise_answer_call(void *ud, const struct mortise_run_call *call,
                         struct mortise_script_reply *out);
/* Record the step of a scripted call, given its ledger entry.  Returns true if
 * it is the first time. */
bool mortise_answer_record_step(void *ud, size_t token);
/* lookups.c: answer a memory or discovery call; false if it is neither. */
bool mortise_answer_lookup(struct mortise_rehearsal_state *r,
                           const struct mortise_run_call *call,
                           struct mortise_script_reply *out);
/* The scripted resolution of a call in doubt: its answer, and *how to resolve
 * it. The answer is used up unless the call is retried.  NULL: not scripted. */
const struct mortise_case_answer *
mortise_answer_find_resolution(struct mortise_rehearsal_state *r,
                               const json_t *request, const char **how);

/* The result of a successful answer, as a new reference. */
json_t *mortise_answer_make_result(const struct mortise_case_answer *a);

/* ---- human_answers.c ----------------------------------------------------- */

/* Answer pending requests as scripted; true if a request was answered. */
bool mortise_human_answers_send(struct mortise_rehearsal_state *r);
/* When nothing more happens: check that no timeout contradicts an unscripted
 * request. */
void mortise_human_answers_check_idle(struct mortise_rehearsal_state *r);
/* Does the script say that nobody answers this request in time? */
bool mortise_human_answers_is_timeout(void *ud, const char *id);

#endif
