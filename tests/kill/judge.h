/* judge.h -- what must be true of a trial at its end. */
#ifndef KILL_JUDGE_H
#define KILL_JUDGE_H

#include "kill/trial.h"

/* Drive one trial that nobody disturbs: what the others are compared with.
 * Also how long its processes take. */
void judge_begin(const struct job *job);
void judge_end(void);
unsigned long judge_us(unsigned process);

/* After a death: the store is whole, and what was printed is in it. */
void judge_death(const struct trial *t);
/* Everything that was promised holds, or wrong(). */
void judge(struct trial *t);

#endif
