/* methods.h -- the methods of the service `step`. */
#ifndef MORTISE_SERVICES_STEP_METHODS_H
#define MORTISE_SERVICES_STEP_METHODS_H

#include "core/engine/runs/host_calls.h"

/* await.c */
extern const struct mortise_host_call_method mortise_host_call_interrupt;
extern const struct mortise_host_call_method mortise_host_call_timer;

/* journal.c */
extern const struct mortise_host_call_method mortise_host_call_journal_begin;
extern const struct mortise_host_call_method mortise_host_call_journal_end;

/* state.c */
extern const struct mortise_host_call_method mortise_host_call_state_get;

#endif
