/* guarded.h -- can a deployment and the files that it names be trusted?
 * [any] */
#ifndef MORTISE_LANG_CONFIG_GUARDED_H
#define MORTISE_LANG_CONFIG_GUARDED_H

#include "lang/config/allow.h"
#include "lang/config/settings.h"

/* MORTISE_EDENIED, with the command that solves the problem.  With
 * MORTISE_SETTINGS_READ_ONLY it is a finding instead of an error. */
int mortise_guarded_check(const struct mortise_settings *s, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err);

/* May the ${...} of a found file be resolved?  Yes, if it needs no permission
 * or has one. */
int mortise_guarded_may_resolve(const struct mortise_mem *mem, const char *path,
                                bool *may, struct mortise_err *err);

/* Report every file of the deployment, itself included, that others own or may
 * write. */
int mortise_guarded_report_faults(const struct mortise_settings *s,
                                  mortise_owner_fault_fn *fault, void *ud,
                                  struct mortise_err *err);

#endif
