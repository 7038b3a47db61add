/* minisign.h -- public keys and signatures in minisign's formats.
 *
 * Stock `minisign -V` verifies our signatures, and we verify its.  Only the
 * prehashed form `ED` is supported.  [any] */
#ifndef MORTISE_PLUGIN_MINISIGN_H
#define MORTISE_PLUGIN_MINISIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum {
    MORTISE_KEYID = 8,
    MORTISE_KEYID_TEXT = 17,  /* "9339C8D385102656" with its NUL */
    MORTISE_PUBKEY_TEXT = 57, /* "RW..." with its NUL */
    MORTISE_COMMENT_MAX = 8191
};

struct mortise_pubkey {
    uint8_t id[MORTISE_KEYID];
    uint8_t key[32];
};

void mortise_pubkey_format(char out[MORTISE_PUBKEY_TEXT],
                           const struct mortise_pubkey *pk);
void mortise_keyid_format(char out[MORTISE_KEYID_TEXT],
                          const uint8_t id[MORTISE_KEYID]);
bool mortise_pubkey_is_equal(const struct mortise_pubkey *a,
                             const struct mortise_pubkey *b);

/* Parse "RW...", or the two lines of a .pub file. */
int mortise_pubkey_parse(struct mortise_pubkey *pk, const char *text, size_t n,
                         struct mortise_err *err);
int mortise_pubkey_read(struct mortise_pubkey *pk, const char *path,
                        struct mortise_err *err);

/* How the comment lines of keys and signatures begin. */
#define MORTISE_UNTRUSTED "untrusted comment: "
#define MORTISE_TRUSTED   "trusted comment: "

/* Decode a key's line of exactly `want` bytes in base64, after its comment. */
bool mortise_minisign_decode_key(uint8_t *raw, size_t want, const char *text,
                                 size_t n, bool needs_comment);

/* A .minisig file, parsed but not verified. */
struct mortise_minisig {
    uint8_t id[MORTISE_KEYID]; /* id of the key that it claims */
    uint8_t sig[64], global[64];
    const char *comment; /* the trusted comment; lent by the text, no NUL */
    size_t comment_size;
};

int mortise_minisign_parse(struct mortise_minisig *out, const char *text,
                           size_t n, struct mortise_err *err);
/* MORTISE_EDENIED unless this key made both signatures over these bytes. */
int mortise_minisign_verify(const struct mortise_minisig *sig,
                            const struct mortise_pubkey *pk, const void *p,
                            size_t n, struct mortise_err *err);

#endif
