/* minisign.h -- keys and signatures in minisign's formats.
 *
 * Stock `minisign -V` verifies our signatures, and we verify its.  Only the
 * prehashed form `ED` is supported.  [any] */
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

/* Wipe it with mortise_seckey_wipe() after use. */
struct mortise_seckey {
    uint8_t id[MORTISE_KEYID];
    uint8_t key[64]; /* Ed25519: seed, public key */
};

int mortise_seckey_new(struct mortise_seckey *sk, struct mortise_err *err);
void mortise_seckey_wipe(struct mortise_seckey *sk);
void mortise_seckey_public(const struct mortise_seckey *sk,
                           struct mortise_pubkey *out);

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
/* MORTISE_EEXISTS if the file exists. */
int mortise_pubkey_write(const char *path, const struct mortise_pubkey *pk,
                         struct mortise_err *err);

/* Write with mode 0600; MORTISE_EEXISTS if the file exists.  The key is
 * encrypted with scrypt's interactive parameters (16 MiB, tens of
 * milliseconds), or not at all if password is NULL. */
int mortise_seckey_write(const char *path, const struct mortise_seckey *sk,
                         const char *password, struct mortise_err *err);
/* MORTISE_EDENIED if the password is wrong, or NULL for an encrypted key.  A
 * key of stock minisign may need 1 GiB of memory. */
int mortise_seckey_read(struct mortise_seckey *sk, const char *path,
                        const char *password, struct mortise_err *err);
/* Does reading this file need a password? */
int mortise_seckey_is_encrypted(bool *out, const char *path,
                                struct mortise_err *err);

/* Sign n bytes and append the whole .minisig file to out.  The signature covers
 * the trusted comment: one line of at most MORTISE_COMMENT_MAX bytes. */
int mortise_minisign_sign(struct mortise_buf *out,
                          const struct mortise_seckey *sk, const void *p,
                          size_t n, const char *trusted_comment,
                          struct mortise_err *err);

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
