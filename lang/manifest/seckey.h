/* seckey.h -- secret keys in minisign's format, and signing with them.
 *
 * Stock minisign reads our keys, and we read its. [any] */
#ifndef MORTISE_LANG_MANIFEST_SECKEY_H
#define MORTISE_LANG_MANIFEST_SECKEY_H

#include "core/base/buf.h"
#include "core/plugin/minisign.h"

/* Wipe it with mortise_seckey_wipe() after use. */
struct mortise_seckey {
    uint8_t id[MORTISE_KEYID];
    uint8_t key[64]; /* Ed25519: seed, public key */
};

int mortise_seckey_new(struct mortise_seckey *sk, struct mortise_err *err);
void mortise_seckey_wipe(struct mortise_seckey *sk);
void mortise_seckey_public(const struct mortise_seckey *sk,
                           struct mortise_pubkey *out);

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

#endif
