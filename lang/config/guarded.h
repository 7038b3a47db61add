/* guarded.h -- may a deployment be obeyed, and what it names be used?  [any] */
#ifndef MORTISE_LANG_CONFIG_GUARDED_H
#define MORTISE_LANG_CONFIG_GUARDED_H

#include "lang/config/allow.h"
#include "lang/config/settings.h"

/* MORTISE_EDENIED, with the command that mends it.  With MORTISE_SETTINGS_LOOK
 * that is a finding and no error. */
int mortise_guarded_check(const struct mortise_settings *s, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err);

/* May the ${...} of a file that was found be resolved?  They may where it needs
 * nobody's word, or has it. */
int mortise_guarded_may_resolve(const struct mortise_mem *mem, const char *path,
                                bool *may, struct mortise_err *err);

/* All that others own or may write of what the deployment names, itself
 * included. */
int mortise_guarded_faults(const struct mortise_settings *s,
                           mortise_fault_fn *fault, void *ud,
                           struct mortise_err *err);

#endif
