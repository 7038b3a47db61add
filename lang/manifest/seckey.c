/* seckey.c -- secret keys in minisign's format, and signing with them.
 *
 *   secret key   "untrusted comment: ...\n" base64(158 bytes) "\n"
 *                "Ed" | "Sc" or 00 00 | "B2" | salt 32 | ops u64 | mem u64 |
 *                104 bytes: key id 8 | seed and public key 64 | checksum 32
 *                With "Sc" the 104 bytes are XORed with scrypt(password), and
 *                the checksum is BLAKE2b-256("Ed" | key id | key).  Otherwise
 *                the checksum is zero, as stock minisign writes it.
 *
 *   (1) Secrets are only in memory that is wiped, and in new files of mode
 *       0600. */
#include "lang/manifest/seckey.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"

enum {
    FILE_MAX = 16 * 1024,
    SECRET_RAW = 158,
    SECRET_HEAD = 54, /* before the encrypted part */
    SECRET_BODY = 104,
    SIG_RAW = 2 + MORTISE_KEYID + 64,
    CHECKSUM = 32
};

/* Offsets of the fields of a secret key. */
enum { AT_KDF = 2, AT_CHK = 4, AT_SALT = 6, AT_LIMITS = 38 /* ops, mem */ };

/* ---- keys in memory ------------------------------------------------------ */

int mortise_seckey_new(struct mortise_seckey *sk, struct mortise_err *err)
{
    uint8_t pk[32];

    if (sodium_init() < 0)
        return mortise_fail(err, MORTISE_EIO,
                            "libsodium cannot be initialised");
    randombytes_buf(sk->id, sizeof sk->id);
    crypto_sign_ed25519_keypair(pk, sk->key);
    return MORTISE_OK;
}

void mortise_seckey_wipe(struct mortise_seckey *sk)
{
    sodium_memzero(sk, sizeof *sk);
}

void mortise_seckey_public(const struct mortise_seckey *sk,
                           struct mortise_pubkey *out)
{
    memcpy(out->id, sk->id, sizeof out->id);
    memcpy(out->key, sk->key + 32, sizeof out->key);
}

int mortise_pubkey_write(const char *path, const struct mortise_pubkey *pk,
                         struct mortise_err *err)
{
    char id[MORTISE_KEYID_TEXT], key[MORTISE_PUBKEY_TEXT], text[160];
    int n;

    mortise_keyid_format(id, pk->id);
    mortise_pubkey_format(key, pk);
    n = snprintf(text, sizeof text, "%sminisign public key %s\n%s\n",
                 MORTISE_UNTRUSTED, id, key);
    return mortise_file_write(path, text, (size_t)n, 0644, MORTISE_FILE_NEW,
                              err);
}

/* ---- secret keys --------------------------------------------------------- */

/* Encrypt or decrypt the body: XOR it with scrypt(password).  The head has the
 * parameters. */
static int xor_secret_body(uint8_t raw[SECRET_RAW], const char *password,
                           struct mortise_err *err)
{
    uint64_t limits[2];
    uint8_t stream[SECRET_BODY];

    assert(memcmp(raw + AT_KDF, "Sc", 2) == 0); /* else it is plain */
    memcpy(limits, raw + AT_LIMITS, sizeof limits);
    if (limits[0] > crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE ||
        limits[1] > crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "its scrypt parameters require more than 1 GiB of memory");
    if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof stream, password,
                                           strlen(password), raw + AT_SALT,
                                           limits[0], (size_t)limits[1]) != 0)
        return mortise_fail(err, MORTISE_ENOMEM,
                            "deriving the key from the password needs %llu MiB "
                            "of memory, which are not available",
                            (unsigned long long)(limits[1] >> 20));
    for (size_t i = 0; i < sizeof stream; i++)
        raw[SECRET_HEAD + i] ^= stream[i];
    sodium_memzero(stream, sizeof stream);
    return MORTISE_OK;
}

static void compute_checksum(uint8_t out[CHECKSUM],
                             const struct mortise_seckey *sk)
{
    crypto_generichash_state st;

    crypto_generichash_init(&st, NULL, 0, CHECKSUM);
    crypto_generichash_update(&st, (const uint8_t *)"Ed", 2);
    crypto_generichash_update(&st, sk->id, sizeof sk->id);
    crypto_generichash_update(&st, sk->key, sizeof sk->key);
    crypto_generichash_final(&st, out, CHECKSUM);
    sodium_memzero(&st, sizeof st);
}

static int pack_secret_key(uint8_t raw[SECRET_RAW],
                           const struct mortise_seckey *sk,
                           const char *password, struct mortise_err *err)
{
    static const uint64_t limits[2] = {
        crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_INTERACTIVE,
        crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_INTERACTIVE};
    uint8_t *body = raw + SECRET_HEAD;

    memset(raw, 0, SECRET_RAW);
    memcpy(raw, "Ed", 2);
    memcpy(raw + AT_CHK, "B2", 2);
    memcpy(body, sk->id, MORTISE_KEYID);
    memcpy(body + MORTISE_KEYID, sk->key, sizeof sk->key);
    if (password == NULL)
        return MORTISE_OK;
    memcpy(raw + AT_KDF, "Sc", 2);
    randombytes_buf(raw + AT_SALT, 32);
    memcpy(raw + AT_LIMITS, limits, sizeof limits);
    compute_checksum(body + MORTISE_KEYID + 64, sk);
    return xor_secret_body(raw, password, err);
}

int mortise_seckey_write(const char *path, const struct mortise_seckey *sk,
                         const char *password, struct mortise_err *err)
{
    uint8_t raw[SECRET_RAW];
    char text[320];
    size_t n;
    int rv = pack_secret_key(raw, sk, password, err);

    if (rv == MORTISE_OK) {
        n = (size_t)snprintf(text, sizeof text,
                             "%sminisign encrypted secret key\n",
                             MORTISE_UNTRUSTED);
        sodium_bin2base64(text + n, sizeof text - n - 1, raw, sizeof raw,
                          sodium_base64_VARIANT_ORIGINAL);
        strcat(text + n, "\n");
        rv = mortise_file_write(path, text, strlen(text), 0600,
                                MORTISE_FILE_NEW, err);
        sodium_memzero(text, sizeof text);
    }
    sodium_memzero(raw, sizeof raw);
    return rv;
}

static int parse_secret_file(uint8_t raw[SECRET_RAW], const char *text,
                             size_t n, struct mortise_err *err)
{
    static const uint8_t none[2] = {0, 0};

    if (!mortise_minisign_decode_key(raw, SECRET_RAW, text, n, true))
        return mortise_fail(err, MORTISE_EINVAL, "not a minisign secret key");
    if (memcmp(raw, "Ed", 2) != 0 || memcmp(raw + AT_CHK, "B2", 2) != 0 ||
        (memcmp(raw + AT_KDF, "Sc", 2) != 0 &&
         memcmp(raw + AT_KDF, none, 2) != 0))
        return mortise_fail(err, MORTISE_EINVAL,
                            "the secret key has other algorithms than Ed25519, "
                            "scrypt and BLAKE2b");
    return MORTISE_OK;
}

/* Read the file into a fixed buffer; a growing buffer or stdio would leave
 * copies of the secret behind. */
static int read_secret_key_file(char text[FILE_MAX], size_t *n,
                                const char *path, struct mortise_err *err)
{
    uint64_t size;
    ssize_t got;
    int fd, rv = mortise_file_open(&fd, &size, path, FILE_MAX, err);

    if (rv != MORTISE_OK)
        return rv;
    for (*n = 0; *n < FILE_MAX; *n += (size_t)got) {
        got = read(fd, text + *n, FILE_MAX - *n);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got < 0)
            rv = mortise_syserr(err, errno, "read %s", path);
        if (got <= 0)
            break;
    }
    close(fd);
    return rv;
}

static int load_secret_file(uint8_t raw[SECRET_RAW], const char *path,
                            struct mortise_err *err)
{
    char text[FILE_MAX];
    size_t n = 0;
    int rv = read_secret_key_file(text, &n, path, err);

    if (rv == MORTISE_OK) {
        rv = parse_secret_file(raw, text, n, err);
        if (rv != MORTISE_OK)
            rv = mortise_err_prefix(err, rv, "secret key %s", path);
    }
    sodium_memzero(text, sizeof text);
    return rv;
}

static bool has_encrypted_body(const uint8_t raw[SECRET_RAW])
{
    return memcmp(raw + AT_KDF, "Sc", 2) == 0;
}

int mortise_seckey_is_encrypted(bool *out, const char *path,
                                struct mortise_err *err)
{
    uint8_t raw[SECRET_RAW];
    int rv = load_secret_file(raw, path, err);

    if (rv == MORTISE_OK)
        *out = has_encrypted_body(raw);
    sodium_memzero(raw, sizeof raw);
    return rv;
}

/* The stored public half must match the seed, or signatures would reveal the
 * secret. */
static bool is_key_consistent(const struct mortise_seckey *sk)
{
    uint8_t pk[32], again[64];
    bool ok;

    crypto_sign_ed25519_seed_keypair(pk, again, sk->key);
    ok = sodium_memcmp(again, sk->key, sizeof again) == 0;
    sodium_memzero(again, sizeof again);
    return ok;
}

static int unpack_secret_key(struct mortise_seckey *sk, uint8_t raw[SECRET_RAW],
                             const char *password, struct mortise_err *err)
{
    const uint8_t *body = raw + SECRET_HEAD;
    uint8_t sum[CHECKSUM];
    int rv;

    if (has_encrypted_body(raw)) {
        if (password == NULL)
            return mortise_fail(err, MORTISE_EDENIED,
                                "is encrypted; a password is required");
        rv = xor_secret_body(raw, password, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    memcpy(sk->id, body, sizeof sk->id);
    memcpy(sk->key, body + MORTISE_KEYID, sizeof sk->key);
    compute_checksum(sum, sk);
    if (has_encrypted_body(raw) &&
        sodium_memcmp(sum, body + MORTISE_KEYID + 64, CHECKSUM) != 0)
        return mortise_fail(err, MORTISE_EDENIED, "wrong password");
    if (!is_key_consistent(sk))
        return mortise_fail(err, MORTISE_EINVAL,
                            "the secret key is damaged: its public part does "
                            "not belong to its secret part");
    return MORTISE_OK;
}

int mortise_seckey_read(struct mortise_seckey *sk, const char *path,
                        const char *password, struct mortise_err *err)
{
    uint8_t raw[SECRET_RAW];
    int rv = load_secret_file(raw, path, err);

    if (rv == MORTISE_OK) {
        rv = unpack_secret_key(sk, raw, password, err);
        if (rv != MORTISE_OK) {
            mortise_seckey_wipe(sk);
            rv = mortise_err_prefix(err, rv, "secret key %s", path);
        }
    }
    sodium_memzero(raw, sizeof raw);
    return rv;
}

/* ---- signing ------------------------------------------------------------- */

static bool has_one_line(const char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F)
            return false;
    return true;
}

static void append_base64_line(struct mortise_buf *b, const uint8_t *p,
                               size_t n)
{
    char text[sodium_base64_ENCODED_LEN(SIG_RAW,
                                        sodium_base64_VARIANT_ORIGINAL)];

    assert(n <= SIG_RAW); /* the longest item of a signature file */
    sodium_bin2base64(text, sizeof text, p, n, sodium_base64_VARIANT_ORIGINAL);
    mortise_buf_puts(b, text);
    mortise_buf_puts(b, "\n");
}

int mortise_minisign_sign(struct mortise_buf *out,
                          const struct mortise_seckey *sk, const void *p,
                          size_t n, const char *trusted_comment,
                          struct mortise_err *err)
{
    uint8_t raw[SIG_RAW] = {'E', 'D'}, hash[64], global[64];
    uint8_t both[64 + MORTISE_COMMENT_MAX];
    size_t len = strlen(trusted_comment);

    if (len > MORTISE_COMMENT_MAX || !has_one_line(trusted_comment))
        return mortise_fail(
            err, MORTISE_EINVAL,
            "a trusted comment must be one line of at most %d bytes",
            (int)MORTISE_COMMENT_MAX);
    memcpy(raw + 2, sk->id, sizeof sk->id);
    crypto_generichash(hash, sizeof hash, p, n, NULL, 0);
    crypto_sign_ed25519_detached(raw + 2 + MORTISE_KEYID, NULL, hash,
                                 sizeof hash, sk->key);
    memcpy(both, raw + 2 + MORTISE_KEYID, 64);
    memcpy(both + 64, trusted_comment, len);
    crypto_sign_ed25519_detached(global, NULL, both, 64 + len, sk->key);

    mortise_buf_printf(out, "%ssignature from a Mortise plugin key\n",
                       MORTISE_UNTRUSTED);
    append_base64_line(out, raw, sizeof raw);
    mortise_buf_printf(out, "%s%s\n", MORTISE_TRUSTED, trusted_comment);
    append_base64_line(out, global, sizeof global);
    return out->failed ? mortise_nomem(err) : MORTISE_OK;
}
