/* clock.h -- the two clocks.  Never called from run/: time comes in with the
 * event there.  [any] */
#ifndef MORTISE_BASE_CLOCK_H
#define MORTISE_BASE_CLOCK_H

#include <stdint.h>

uint64_t mortise_now_ms(void);  /* CLOCK_REALTIME, since 1970 */
uint64_t mortise_mono_ns(void); /* CLOCK_MONOTONIC */
/* ... so many milliseconds from now; what is longer than two centuries is
 * longer than any process. */
uint64_t mortise_mono_in(uint64_t ms);

/* Both clocks of this process go on so much later, from now on: what lies in
 * between is not waited for.  For tests of graphs, in a process of their own;
 * nothing else calls it. */
void mortise_clock_skip(uint64_t ms);

enum { MORTISE_TIME_TEXT = 25 }; /* "2026-01-02T03:04:05.678Z" with its NUL */
/* What is later than the year 9999 is its end. */
void mortise_time_text(char out[MORTISE_TIME_TEXT], uint64_t ms);

#endif
