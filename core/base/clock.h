/* clock.h -- the two clocks.  Never called from run/: time comes in with the
 * event there.  [any] */
#ifndef MORTISE_BASE_CLOCK_H
#define MORTISE_BASE_CLOCK_H

#include <stdint.h>

uint64_t mortise_now_ms(void);  /* CLOCK_REALTIME, since 1970 */
uint64_t mortise_mono_ns(void); /* CLOCK_MONOTONIC */
uint64_t mortise_mono_ms(void);
/* CLOCK_MONOTONIC, ms milliseconds from now; longer than two centuries is
 * as if it were for ever. */
uint64_t mortise_mono_in(uint64_t ms);

/* Both clocks of this process go on so much later, from now on: what lies in
 * between is not waited for.  For tests of graphs, in a process of their own;
 * nothing else calls it. */
void mortise_clock_skip(uint64_t ms);
/* Both stand still but for that, the wall clock at `now_ms`; and go again. */
void mortise_clock_stop(uint64_t now_ms);
void mortise_clock_go(void);
/* CLOCK_MONOTONIC in milliseconds, whatever was done to ours. */
uint64_t mortise_real_ms(void);

enum { MORTISE_TIME_TEXT = 25 }; /* "2026-01-02T03:04:05.678Z" with its NUL */
/* What is later than the year 9999 is its end. */
void mortise_time_text(char out[MORTISE_TIME_TEXT], uint64_t ms);

#endif
