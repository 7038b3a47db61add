/* trust_file.h -- the files of a trust directory (trust.h): reading, checking
 * and adding them. [any] */
#ifndef MORTISE_LANG_MANIFEST_TRUST_FILE_H
#define MORTISE_LANG_MANIFEST_TRUST_FILE_H

#include <limits.h>

#include "core/plugin/trust.h"
#include "lang/yaml/keys.h"

/* The keys of a trust file. */
extern const struct mortise_place mortise_trust_place;

/* For mortise_plugin_reader (reader.h). */
int mortise_trust_read_file(struct mortise_trust *t, const char *dir,
                            const char *path, uint64_t *seq,
                            struct mortise_diags *diags,
                            struct mortise_err *err);
/* Check one file alone, for `mortise check`: MORTISE_ECHECK if a finding is an
 * error.  Its keys are not trusted by this. */
int mortise_trust_check(const struct mortise_mem *mem, const char *path,
                        struct mortise_diags *diags, struct mortise_err *err);

/* ---- changes of a directory: each adds one file -------------------------- */

/* Add NAME.yaml to DIR (created with 0755 if missing), with the next seq.
 * MORTISE_EEXISTS if the file exists; MORTISE_EINVAL if `by` names no plugins.
 * by->path and by->revoked are ignored. */
int mortise_trust_add(const char *dir, const char *name,
                      const struct mortise_trusted_key *by,
                      const struct mortise_mem *mem, struct mortise_err *err);

struct mortise_revocation { /* absent fields are NULL */
    const char *key;        /* "RW..." or a key id */
    const char *digest;     /* 64 hex digits */
    const char *plugin, *range;
};

/* Add revoked-SEQ.yaml to DIR; `path` (may be NULL) gets its path. */
int mortise_trust_revoke(const char *dir, const struct mortise_revocation *what,
                         char path[PATH_MAX], const struct mortise_mem *mem,
                         struct mortise_err *err);

#endif
