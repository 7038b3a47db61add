/* script.h -- the simulated operations that ask: what a call of theirs says.
 *
 * The body is {"asks": [ASK ...], "at_once": true?, "apart": true?}, an ASK {"method", "kind",
 * "body", "key"?, "then"?, "lost"?}; `then` is its body once the process has
 * died: an executor that does not keep to its rule; of the first `lost` times
 * that it is performed nobody hears whether it happened, and it did every
 * second time, beginning with the first.  They are asked one after the other,
 * or all at once, or whenever the test says so (`apart`): until the call is told to
 * wait, from when on the engine refuses what it asks; the call gives the list of answers ({"status": N} for a
 * refusal), fails with the `fail` of an ASK once that was answered ({"fail":
 * CODE}), and lets go when an answer is to come later. */
#ifndef TEST_SCRIPT_H
#define TEST_SCRIPT_H

#include "core/run/run.h"

struct sim;

struct script {
    json_t *answers; /* NULL: the call asks nothing */
    size_t n, issued, replied;
    bool at_once, apart, suspended;
    const char *failed; /* a code */
};

struct sim_ask {
    uint64_t call, id;
    size_t index; /* in its script */
    bool performing;
    uint32_t step;
    char key[MORTISE_DIGEST_HEX];
};

void script_init(struct script *sc, const json_t *body);
void script_finish(struct script *sc);
bool script_is_over(const struct script *sc);
/* What the call gives, when it is over. */
void script_result(const struct script *sc, struct mortise_result_in *r);
/* A call that asks `apart` asks what is next; false: none has anything to ask. */
bool script_ask_next(struct sim *s);
/* Let the calls ask what is next, until none has anything to ask. */
void script_go_on(struct sim *s);
void script_perform(struct sim *s, uint64_t ask, uint32_t step,
                    const char *key);
void script_reply(struct sim *s, uint64_t ask, int32_t status, json_t *value);
/* The i-th of what is being performed happens, and is answered. */
bool sim_end_ask(struct sim *s, size_t i);
/* The same, but nobody is left to hear of it. */
void script_happen(struct sim *s, const struct sim_ask *a);
/* Asks of a call that is over. */
void script_drop(struct sim *s, uint64_t call);

#endif
