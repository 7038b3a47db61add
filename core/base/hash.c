/* hash.c -- BLAKE2b (RFC 7693, through libsodium) and hex.
 *
 * One hash serves everything that is addressed by content: graphs, plugins,
 * arguments, identities. libsodium's generichash is thread-safe and needs no
 * sodium_init().
 */
#include "core/base/hash.h"

#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(crypto_generichash_state) <=
                   sizeof(((struct mortise_hasher *)0)->state),
               "the state fits");

static crypto_generichash_state *get_hash_state(struct mortise_hasher *h)
{
    return (crypto_generichash_state *)(void *)h->state;
}

void mortise_digest(uint8_t out[MORTISE_DIGEST], const void *p, size_t n)
{
    crypto_generichash(out, MORTISE_DIGEST, p, n, NULL, 0);
}

void mortise_hasher_init(struct mortise_hasher *h)
{
    crypto_generichash_init(get_hash_state(h), NULL, 0, MORTISE_DIGEST);
}

void mortise_hasher_add_field(struct mortise_hasher *h, const void *p, size_t n)
{
    uint64_t len = n;

    crypto_generichash_update(get_hash_state(h), (const unsigned char *)&len,
                              sizeof len);
    crypto_generichash_update(get_hash_state(h), p, n);
}

void mortise_hasher_add_str(struct mortise_hasher *h, const char *s)
{
    mortise_hasher_add_field(h, s, strlen(s));
}

void mortise_hasher_add_u64(struct mortise_hasher *h, uint64_t v)
{
    mortise_hasher_add_field(h, &v, sizeof v);
}

void mortise_hasher_final(struct mortise_hasher *h, uint8_t out[MORTISE_DIGEST])
{
    crypto_generichash_final(get_hash_state(h), out, MORTISE_DIGEST);
}

void mortise_hex_encode(char *out, const void *p, size_t n)
{
    sodium_bin2hex(out, 2 * n + 1, p, n);
}

int mortise_hex_decode(void *out, size_t n, const char *hex, size_t len)
{
    size_t got = 0;

    if (len != 2 * n ||
        sodium_hex2bin(out, n, hex, len, NULL, &got, NULL) != 0 || got != n)
        return -1;
    return 0;
}
