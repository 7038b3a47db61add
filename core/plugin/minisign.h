/* minisign.h -- keys and signatures in minisign's own formats.
 *
 * What we sign, stock `minisign -V` verifies; what it signs, we verify.  Only
 * the prehashed form `ED` is written and read.  [any] */
#ifndef MORTISE_PLUGIN_MINISIGN_H
#define MORTISE_PLUGIN_MINISIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
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

/* Wipe it with mortise_seckey_wipe() when it is no longer needed. */
struct mortise_seckey {
    uint8_t id[MORTISE_KEYID];
    uint8_t key[64]; /* Ed25519: seed, public key */
};

int mortise_seckey_new(struct mortise_seckey *sk, struct mortise_err *err);
void mortise_seckey_wipe(struct mortise_seckey *sk);
void mortise_seckey_public(const struct mortise_seckey *sk,
                           struct mortise_pubkey *out);

void mortise_pubkey_text(char out[MORTISE_PUBKEY_TEXT],
                         const struct mortise_pubkey *pk);
void mortise_keyid_text(char out[MORTISE_KEYID_TEXT],
                        const uint8_t id[MORTISE_KEYID]);
bool mortise_pubkey_equal(const struct mortise_pubkey *a,
                          const struct mortise_pubkey *b);

/* From "RW..." alone, or from the two lines of a .pub file. */
int mortise_pubkey_parse(struct mortise_pubkey *pk, const char *text, size_t n,
                         struct mortise_err *err);
int mortise_pubkey_read(struct mortise_pubkey *pk, const char *path,
                        struct mortise_err *err);
/* MORTISE_EEXISTS rather than replacing anything. */
int mortise_pubkey_write(const char *path, const struct mortise_pubkey *pk,
                         struct mortise_err *err);

/* Mode 0600, MORTISE_EEXISTS rather than replacing anything.  Encrypted with
 * scrypt's interactive parameters (16 MiB, tens of milliseconds), or not at
 * all when password is NULL. */
int mortise_seckey_write(const char *path, const struct mortise_seckey *sk,
                         const char *password, struct mortise_err *err);
/* password NULL: MORTISE_EDENIED if the key is encrypted; a wrong one too.
 * A key of stock minisign may want 1 GiB of memory. */
int mortise_seckey_read(struct mortise_seckey *sk, const char *path,
                        const char *password, struct mortise_err *err);
/* Does reading this file take a password? */
int mortise_seckey_is_encrypted(bool *out, const char *path,
                                struct mortise_err *err);

/* Sign n bytes: the whole .minisig file, appended to out.  The trusted comment
 * is signed too; one line of at most MORTISE_COMMENT_MAX bytes. */
int mortise_minisign_sign(struct mortise_buf *out,
                          const struct mortise_seckey *sk, const void *p,
                          size_t n, const char *trusted_comment,
                          struct mortise_err *err);

/* A .minisig file, read but not yet verified. */
struct mortise_minisig {
    uint8_t id[MORTISE_KEYID]; /* of the key that it says made it */
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
