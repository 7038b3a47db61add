/* trust.h -- whose plugins may run here: the keys and revocations of trust
 * directories (plugins.md 3).
 *
 *     apiVersion: mortise/v1
 *     kind: Trust
 *     seq: 3                       # grows with every change of the directory
 *     keys:
 *       - key: RWQ...              # or file: acme.pub, beside this file
 *         plugins: [acme.*]        # names; * stands for any characters
 *         kinds: [executor]        # absent: every kind
 *         in_process: true         # absent: false
 *         not_before: 2026-01-01T00:00:00Z   # both judged at signing time
 *         not_after: 2027-01-01T00:00:00Z
 *     revoked:
 *       keys: [RWQ..., 9339C8D385102656]     # keys or key ids
 *       digests: [9f0c...]                   # of a manifest or an artifact
 *       versions: [{plugin: acme.pay, range: ">=1.0 <1.4.2"}]
 *
 * Every *.yaml of a directory counts.  A directory's seq is the highest of its
 * files.  [any] once open. */
#ifndef MORTISE_PLUGIN_TRUST_H
#define MORTISE_PLUGIN_TRUST_H

#include <limits.h>

#include "core/base/hash.h"
#include "core/plugin/kind.h"
#include "core/plugin/minisign.h"
#include "lang/yaml/diag.h"
#include "lang/yaml/keys.h"

struct mortise_trust;

/* One entry of `keys`; lives as long as the trust. */
struct mortise_trusted {
    struct mortise_pubkey key;
    const char *path; /* of the file that lists it */
    const char *const *plugins;
    size_t n_plugins;
    uint32_t kinds; /* that it may sign: bits of kind.h */
    bool in_process;
    uint64_t not_before, not_after; /* seconds since 1970; 0: no bound */
    bool revoked;                   /* by any file */
};

/* Read all directories; one that does not exist is empty.  MORTISE_ECHECK with
 * findings in diags when a file has errors: then nothing is trusted. */
int mortise_trust_open(struct mortise_trust **out,
                       const struct mortise_mem *mem, const char *const *dirs,
                       size_t n, struct mortise_diags *diags,
                       struct mortise_err *err);
void mortise_trust_close(struct mortise_trust *t); /* NULL is fine */

/* Findings of one file alone, for `mortise check`: MORTISE_ECHECK if any of
 * them is an error.  What it would trust counts nowhere. */
int mortise_trust_check(const struct mortise_mem *mem, const char *path,
                        struct mortise_diags *diags, struct mortise_err *err);

size_t mortise_trust_count(const struct mortise_trust *t);
const struct mortise_trusted *mortise_trust_at(const struct mortise_trust *t,
                                               size_t i);
/* The highest seq of the n-th directory's files; 0: it has none. */
uint64_t mortise_trust_seq(const struct mortise_trust *t, size_t dir);

/* What a manifest's signature says, once it was verified. */
struct mortise_signed {
    const struct mortise_trusted *by;
    char name[129], version[64];
    uint64_t seq, timestamp;
};

/* Did somebody whom we trust sign these bytes, for a plugin of a name that is
 * theirs to sign, at a time when they might?  MORTISE_EDENIED and one sentence
 * if not.  This is the one function that decides. */
int mortise_trust_verify(const struct mortise_trust *t, const void *manifest,
                         size_t n, const char *sig, size_t sig_n,
                         struct mortise_signed *out, struct mortise_err *err);
/* The same of one that verified before, by that key, and whose digest is known:
 * for when the trust files changed since.  s->by is looked up again. */
int mortise_trust_again(const struct mortise_trust *t,
                        const struct mortise_pubkey *key,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_signed *s, struct mortise_err *err);
/* A digest of the names and times of all trust files of the directories: while
 * it stays the same, they do.  Files that cannot be looked at count as changed
 * by their absence. */
void mortise_trust_print(uint8_t out[MORTISE_DIGEST], const char *const *dirs,
                         size_t n);
/* What nobody signed, where that is allowed: is its version revoked?
 * MORTISE_EDENIED. */
int mortise_trust_version(const struct mortise_trust *t, const char *name,
                          const char *version, struct mortise_err *err);
/* Is a digest (of a manifest or an artifact) revoked?  MORTISE_EDENIED. */
int mortise_trust_digest(const struct mortise_trust *t,
                         const uint8_t digest[MORTISE_DIGEST],
                         struct mortise_err *err);

/* The comment that sign.c writes and trust.c reads:
 * "name:NAME version:VERSION seq:SEQ timestamp:UNIX". */
int mortise_signed_parse(struct mortise_signed *out, const char *comment,
                         size_t n, struct mortise_err *err);

/* ---- changing a directory: each makes one new file in it ----------------- */

/* DIR (made if missing, 0755) gets NAME.yaml, whose seq is above all others;
 * MORTISE_EEXISTS when there is one.  by->path and by->revoked do not count;
 * MORTISE_EINVAL when it names no plugins. */
int mortise_trust_add(const char *dir, const char *name,
                      const struct mortise_trusted *by,
                      const struct mortise_mem *mem, struct mortise_err *err);

struct mortise_revoke { /* what is not revoked is NULL */
    const char *key;    /* "RW..." or a key id */
    const char *digest; /* 64 hex digits */
    const char *plugin, *range;
};

/* DIR gets revoked-SEQ.yaml; `path` (may be NULL): its name. */
int mortise_trust_revoke(const char *dir, const struct mortise_revoke *what,
                         char path[PATH_MAX], const struct mortise_mem *mem,
                         struct mortise_err *err);

/* What stands in a trust file. */
extern const struct mortise_place mortise_trust_place;

#endif
