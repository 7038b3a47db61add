/* trust.h -- the keys and revocations of trust directories: whose plugins may
 * run here (docs/plugins.md, section 3).
 *
 *   apiVersion: mortise/v1
 *   kind: Trust
 *   seq: 3                         # grows with every change of the directory
 *   keys:
 *     - key: RWQ...                # or file: acme.pub, in this directory
 *       plugins: [acme.*]          # names; * matches any characters
 *       kinds: [executor]          # absent: every kind
 *       in_process: true           # absent: false
 *       not_before: 2026-01-01T00:00:00Z     # both judged at signing time
 *       not_after: 2027-01-01T00:00:00Z
 *   revoked:
 *     keys: [RWQ..., 9339C8D385102656]       # keys or key ids
 *     digests: [9f0c...]                     # of a manifest or an artifact
 *     versions: [{plugin: acme.pay, range: ">=1.0 <1.4.2"}]
 *
 * All *.yaml files of a directory apply.  A directory's seq is the highest of
 * its files.  [any] once open. */
#ifndef MORTISE_PLUGIN_TRUST_H
#define MORTISE_PLUGIN_TRUST_H

#include <limits.h>

#include "core/base/hash.h"
#include "core/plugin/kind.h"
#include "core/plugin/minisign.h"
#include "lang/yaml/keys.h"

struct mortise_trust;

/* An entry of `keys`; lives as long as the trust. */
struct mortise_trusted_key {
    struct mortise_pubkey key;
    const char *path; /* path of the file that lists it */
    const char *const *plugins;
    size_t n_plugins;
    uint32_t kinds; /* that it may sign: bits of kind.h */
    bool in_process;
    uint64_t not_before, not_after; /* seconds since 1970; 0: no bound */
    bool revoked;                   /* by any file */
};

/* Read all directories; a missing one counts as empty.  If a file has errors:
 * MORTISE_ECHECK with findings in diags, and no key is trusted. */
int mortise_trust_open(struct mortise_trust **out,
                       const struct mortise_mem *mem, const char *const *dirs,
                       size_t n, struct mortise_diags *diags,
                       struct mortise_err *err);
void mortise_trust_close(struct mortise_trust *t); /* NULL is fine */

/* Check one file alone, for `mortise check`: MORTISE_ECHECK if a finding is an
 * error.  Its keys are not trusted by this. */
int mortise_trust_check(const struct mortise_mem *mem, const char *path,
                        struct mortise_diags *diags, struct mortise_err *err);

size_t mortise_trust_count(const struct mortise_trust *t);
const struct mortise_trusted_key *
mortise_trust_at(const struct mortise_trust *t, size_t i);
/* The highest seq of the n-th directory's files; 0: none. */
uint64_t mortise_trust_seq(const struct mortise_trust *t, size_t dir);

/* The contents of a verified manifest signature. */
struct mortise_signature_info {
    const struct mortise_trusted_key *by;
    char name[129], version[64];
    uint64_t seq, timestamp;
};

/* Did a trusted key sign these bytes, for a plugin name that the key may sign,
 * at a time within its bounds?  MORTISE_EDENIED and one sentence if not.  No
 * other function decides this. */
int mortise_trust_verify(const struct mortise_trust *t, const void *manifest,
                         size_t n, const char *sig, size_t sig_n,
                         struct mortise_signature_info *out,
                         struct mortise_err *err);
/* Verify again after the trust files changed, for a signature by `key` that was
 * valid before and a manifest with this digest.  Looks s->by up again. */
int mortise_trust_reverify(const struct mortise_trust *t,
                           const struct mortise_pubkey *key,
                           const uint8_t digest[MORTISE_DIGEST],
                           struct mortise_signature_info *s,
                           struct mortise_err *err);
/* A digest of the names and times of all trust files.  It changes when they do;
 * a file that cannot be read counts as missing. */
void mortise_trust_fingerprint(uint8_t out[MORTISE_DIGEST],
                               const char *const *dirs, size_t n);
/* For an unsigned plugin that is allowed: MORTISE_EDENIED if its version is
 * revoked. */
int mortise_trust_check_version(const struct mortise_trust *t, const char *name,
                                const char *version, struct mortise_err *err);
/* MORTISE_EDENIED if this digest (of a manifest or an artifact) is revoked. */
int mortise_trust_check_digest(const struct mortise_trust *t,
                               const uint8_t digest[MORTISE_DIGEST],
                               struct mortise_err *err);

/* Parse the trusted comment that sign.c writes: "name:NAME version:VERSION
 * seq:SEQ timestamp:UNIX". */
int mortise_signature_parse_comment(struct mortise_signature_info *out,
                                    const char *comment, size_t n,
                                    struct mortise_err *err);

/* ---- changes of a directory: each adds one file -------------------------- */

/* Add NAME.yaml to DIR (created with 0755 if missing), with the next seq.
 * MORTISE_EEXISTS if the file exists; MORTISE_EINVAL if `by` names no plugins.
 * by->path and by->revoked are ignored. */
int mortise_trust_add(const char *dir, const char *name,
                      const struct mortise_trusted_key *by,
                      const struct mortise_mem *mem, struct mortise_err *err);

struct mortise_revocation { /* absent fields are NULL */
    const char *key;    /* "RW..." or a key id */
    const char *digest; /* 64 hex digits */
    const char *plugin, *range;
};

/* Add revoked-SEQ.yaml to DIR; `path` (may be NULL) gets its path. */
int mortise_trust_revoke(const char *dir, const struct mortise_revocation *what,
                         char path[PATH_MAX], const struct mortise_mem *mem,
                         struct mortise_err *err);

/* The keys of a trust file. */
extern const struct mortise_place mortise_trust_place;

#endif
