/* clock.h -- the wall clock and the monotonic clock. [any]
 *
 * Code in core/run/ never calls these functions: each event of a run carries
 * its time. */
#ifndef MORTISE_BASE_CLOCK_H
#define MORTISE_BASE_CLOCK_H

#include <stdint.h>

uint64_t mortise_now_ms(void);  /* CLOCK_REALTIME, since 1970 */
uint64_t mortise_mono_ns(void); /* CLOCK_MONOTONIC */
uint64_t mortise_mono_ms(void);
/* CLOCK_MONOTONIC, `ms` milliseconds from now.  Values of more than two
 * centuries are clamped, so that the sum cannot overflow. */
uint64_t mortise_mono_ns_after(uint64_t ms);

/* Move both clocks of this process forward by `ms`, so that a test need not
 * wait.  Only tests of graphs call it, in a process of their own. */
void mortise_clock_skip(uint64_t ms);
/* Stop both clocks, with the wall clock at `now_ms`; mortise_clock_skip() still
 * moves them. mortise_clock_start() starts them again. */
void mortise_clock_stop(uint64_t now_ms);
void mortise_clock_start(void);
/* CLOCK_MONOTONIC in milliseconds, unaffected by skip and stop. */
uint64_t mortise_clock_get_actual_ms(void);

enum { MORTISE_TIME_TEXT = 25 }; /* "2026-01-02T03:04:05.678Z" and the NUL */
/* Times after the year 9999 are printed as its last millisecond. */
void mortise_time_format(char out[MORTISE_TIME_TEXT], uint64_t ms);

#endif
