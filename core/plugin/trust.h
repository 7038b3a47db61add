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

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/plugin/kind.h"
#include "core/plugin/minisign.h"

struct mortise_diags; /* findings, for the reader of the files (reader.h) */
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
 * MORTISE_ECHECK, and no key is trusted.  diags gets all findings; if it is
 * NULL, err has the first. */
int mortise_trust_open(struct mortise_trust **out,
                       const struct mortise_mem *mem, const char *const *dirs,
                       size_t n, struct mortise_diags *diags,
                       struct mortise_err *err);
void mortise_trust_close(struct mortise_trust *t); /* NULL is fine */

size_t mortise_trust_count(const struct mortise_trust *t);
const struct mortise_trusted_key *
mortise_trust_at(const struct mortise_trust *t, size_t i);
/* The highest seq of the n-th directory's files; 0: none. */
uint64_t mortise_trust_seq(const struct mortise_trust *t, size_t dir);

/* ---- for the reader of the files (reader.h) ------------------------------ */

/* An entry of `revoked`; lives as long as the trust. */
struct mortise_revoked {
    struct mortise_revoked *next;
    const char *path; /* path of the file that lists it */
    enum {
        MORTISE_REVOKED_KEY,
        MORTISE_REVOKED_KEY_ID,
        MORTISE_REVOKED_DIGEST,
        MORTISE_REVOKED_VERSION
    } what;
    struct mortise_pubkey key; /* KEY; KEY_ID uses its id */
    uint8_t digest[MORTISE_DIGEST];
    const char *plugin, *range; /* VERSION */
};

/* A trust without entries; NULL: out of memory. */
struct mortise_trust *mortise_trust_new(const struct mortise_mem *mem);
/* For what its entries point to. */
struct mortise_arena *mortise_trust_arena(struct mortise_trust *t);
/* Add an entry for the reader to fill in; `path` is lent.  NULL: out of
 * memory. */
struct mortise_trusted_key *mortise_trust_add_key(struct mortise_trust *t,
                                                  const char *path);
struct mortise_revoked *mortise_trust_add_revoked(struct mortise_trust *t,
                                                  const char *path);

/* ---- verifying ----------------------------------------------------------- */

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

/* "2026-01-31T12:00:00Z" from seconds since 1970. */
void mortise_trust_format_time(char out[32], uint64_t s);
/* Parse the trusted comment of a manifest's signature: "name:NAME
 * version:VERSION seq:SEQ timestamp:UNIX". */
int mortise_signature_parse_comment(struct mortise_signature_info *out,
                                    const char *comment, size_t n,
                                    struct mortise_err *err);

#endif
