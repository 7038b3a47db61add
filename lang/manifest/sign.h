/* sign.h -- the work of `mortise plugin sign`.
 *
 * From a source manifest without `artifacts` and its shared objects it makes,
 * in one directory: NAME.plugin.yaml (the source text with the artifacts
 * appended), NAME.plugin.yaml.minisig, and copies of the objects. */
#ifndef MORTISE_LANG_MANIFEST_SIGN_H
#define MORTISE_LANG_MANIFEST_SIGN_H

#include <limits.h>

#include "lang/manifest/seckey.h"
#include "lang/yaml/diag.h"

struct mortise_sign_request {
    const char *manifest; /* path of the source */
    /* The .so files, one per architecture.  None: OUT/NAME.so. */
    const char *const *objects;
    size_t n_objects;
    const char *out; /* directory, created if missing */
    const struct mortise_seckey *key;
    uint64_t timestamp; /* seconds since 1970; 0: now */
    /* Skip the checks of loading; for tests of those checks. */
    bool unchecked;
};

/* Findings about the manifest go to diags (MORTISE_ECHECK).  A manifest with
 * `artifacts` is compared with the objects and signed unchanged.  `path` (may
 * be NULL) gets the path of the signed manifest. */
int mortise_plugin_sign(const struct mortise_sign_request *s,
                        char path[PATH_MAX], const struct mortise_mem *mem,
                        struct mortise_diags *diags, struct mortise_err *err);

#endif
