/* rehearsing.h -- what the files of a rehearsal share: rehearse.c, which runs
 * it, answers.c and lookups.c (calls) and human_answers.c (people). */
#ifndef MORTISE_TESTKIT_REHEARSING_H
#define MORTISE_TESTKIT_REHEARSING_H

#include "testkit/ledger.h"
#include "testkit/rehearse.h"
#include "core/engine/runs/script.h"

struct mortise_rehearsing {
    const struct mortise_rehearsal *what;
    struct mortise *m;
    struct mortise_ledger ledger;
    json_t *problems;       /* for the outcome */
    json_t *done;           /* paths of what had ended when we went on */
    bool failed_doubt;      /* a person said `in_doubt: fail` */
    bool crashed;           /* a process of this case died before this one */
    size_t inherited;       /* entries of the ledger that are not its own */
    struct mortise_err err; /* why it cannot go on; code MORTISE_OK: it can */
};

/* The one run of a rehearsal. */
#define MORTISE_REHEARSED "test"

enum { MORTISE_CONTEXT = 640 };
/* The path of an execution without its invocation and visits: "each[2]/w".  The
 * same node of the same elements, whichever round it is: its executions come
 * one after the other. */
const char *mortise_context(const char *path, char out[MORTISE_CONTEXT]);
/* The same without the elements of maps: "each/w". */
const char *mortise_context_node(const char *path, char out[MORTISE_CONTEXT]);

/* Something is wrong with the case, or with the run.  Once for each message. */
void mortise_problem(struct mortise_rehearsing *r, const char *code,
                     const char *help, const char *fmt, ...)
    MORTISE_PRINTF(4, 5);
/* What `mortise show` says of the run: a new reference. */
int mortise_rehearsing_show(struct mortise_rehearsing *r, json_t **out,
                            struct mortise_err *err);
/* Remember; on an error r->err is set. */
void mortise_remember(struct mortise_rehearsing *r, json_t *entry);

/* ---- answers.c ----------------------------------------------------------- */

bool mortise_answer_call(void *ud, const struct mortise_run_call *call,
                         struct mortise_scripted *out);
/* The step of a scripted call is made: its entry of the ledger.  True: for the first
 * time. */
bool mortise_answer_act(void *ud, size_t token);
/* lookups.c: the same of one that looks something up; false: it is none. */
bool mortise_answer_lookup(struct mortise_rehearsing *r,
                           const struct mortise_run_call *call,
                           struct mortise_scripted *out);
/* What the script says of a call in doubt: its answer, which is used up unless
 * the call is to be made again, and what to do; NULL: nothing. */
const struct mortise_case_answer *
mortise_answer_doubt(struct mortise_rehearsing *r, const json_t *request,
                     const char **how);

/* The result of one that succeeds: a new reference. */
json_t *mortise_answer_result(const struct mortise_case_answer *a);

/* ---- human_answers.c ----------------------------------------------------- */

/* Do what people do about all that is pending; true when something was done. */
bool mortise_human_answers_give(struct mortise_rehearsing *r);
/* Nothing happens any more: is that what the script says of all that is left?
 */
void mortise_human_answers_rest(struct mortise_rehearsing *r);
/* Is it scripted that nobody answers this request in time? */
bool mortise_human_answers_wait(void *ud, const char *id);

#endif
