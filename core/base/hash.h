/* hash.h -- BLAKE2b (RFC 7693, through libsodium) and hex.  [any] */
#ifndef MORTISE_BASE_HASH_H
#define MORTISE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum {
    MORTISE_DIGEST = 32,                        /* BLAKE2b-256, bytes */
    MORTISE_DIGEST_HEX = 2 * MORTISE_DIGEST + 1 /* and the NUL */
};

void mortise_digest(uint8_t out[MORTISE_DIGEST], const void *p, size_t n);

/* The digest of several fields.  Each is hashed after its length (u64), so that
 * two lists of fields cannot collide by shifting a boundary. */
struct mortise_hasher {
    _Alignas(64) unsigned char state[512]; /* crypto_generichash_state */
};
void mortise_hasher_init(struct mortise_hasher *h);
void mortise_hasher_add_field(struct mortise_hasher *h, const void *p,
                              size_t n);
void mortise_hasher_add_str(struct mortise_hasher *h, const char *s);
void mortise_hasher_add_u64(struct mortise_hasher *h, uint64_t v);
void mortise_hasher_final(struct mortise_hasher *h,
                          uint8_t out[MORTISE_DIGEST]);

/* Lower case, NUL-terminated; out needs 2n + 1 bytes. */
void mortise_hex_encode(char *out, const void *p, size_t n);
/* Decode exactly 2n hex digits to n bytes; -1 if they are not hex. */
int mortise_hex_decode(void *out, size_t n, const char *hex, size_t len);

#endif
