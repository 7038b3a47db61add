/* sign.h -- what `mortise plugin sign` does.
 *
 * From a source manifest without `artifacts` and the shared objects it makes,
 * in one directory, NAME.plugin.yaml (the source text with the artifacts
 * appended), NAME.plugin.yaml.minisig and copies of the objects. */
#ifndef MORTISE_PLUGIN_SIGN_H
#define MORTISE_PLUGIN_SIGN_H

#include <limits.h>

#include "core/plugin/minisign.h"
#include "lang/yaml/diag.h"

struct mortise_signing {
    const char *manifest; /* path of the source */
    /* The .so files, one an architecture.  None: OUT/NAME.so. */
    const char *const *objects;
    size_t n_objects;
    const char *out; /* directory, made if missing */
    const struct mortise_seckey *key;
    uint64_t timestamp; /* seconds since 1970; 0: now */
    /* Sign what loading would refuse; for tests of that refusal. */
    bool unchecked;
};

/* Findings about the manifest go to diags (MORTISE_ECHECK).  A manifest that
 * has `artifacts` is held against the objects and signed as it is.  `path` (may
 * be NULL): the signed manifest's. */
int mortise_plugin_sign(const struct mortise_signing *s, char path[PATH_MAX],
                        const struct mortise_mem *mem,
                        struct mortise_diags *diags, struct mortise_err *err);

#endif
