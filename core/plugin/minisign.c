/* minisign.c -- public keys and signatures in minisign's formats, over
 * libsodium.
 *
 * The formats, byte for byte (base64 has the standard alphabet and padding):
 *
 *   public key   "untrusted comment: ...\n" base64(42 bytes) "\n"
 *                "Ed" | key id 8 | public key 32
 *   signature    "untrusted comment: ...\n"
 *                base64("ED" | key id 8 | signature 64) "\n"
 *                "trusted comment: ...\n"
 *                base64(global signature 64) "\n"
 *                The signature covers BLAKE2b-512 of the file; the global
 *                signature covers the signature and the trusted comment.
 *
 * Promises:
 *
 *   (1) Only "ED" is accepted.  A legacy "Ed" signs the file itself, so an "ED"
 *       signature relabelled as "Ed" would verify over the 64-byte hash.
 *   (2) Nothing is trusted before both signatures verify, the trusted comment
 *       included.
 *   (3) A file consists of exactly its lines: other lengths, a missing line or
 *       extra data are errors. */
#include "core/plugin/minisign.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/files.h"

enum {
    FILE_MAX = 16 * 1024,
    PUBLIC_RAW = 2 + MORTISE_KEYID + 32,
    SIG_RAW = 2 + MORTISE_KEYID + 64,
    COMMENT_LINE_MAX = 1024 /* for an untrusted comment, which is ignored */
};

/* ---- lines and base64 ---------------------------------------------------- */

/* Get the next line without its end, which is \n, \r\n or the end of the
 * text. */
static bool read_next_line(struct mortise_reader *r, const char **line,
                           size_t *n)
{
    const char *p = (const char *)r->p;
    size_t left = (size_t)(r->end - r->p), len;
    const char *nl = left != 0 ? memchr(p, '\n', left) : NULL;

    assert(r->p <= r->end);
    if (left == 0)
        return false;
    len = nl != NULL ? (size_t)(nl - p) : left;
    r->p += nl != NULL ? len + 1 : len;
    if (len > 0 && p[len - 1] == '\r')
        len--;
    *line = p;
    *n = len;
    return true;
}

static bool starts_with(const char *line, size_t n, const char *prefix)
{
    size_t len = strlen(prefix);

    return n >= len && memcmp(line, prefix, len) == 0;
}

/* Decode a line of exactly `want` bytes in base64. */
static bool decode_base64_bytes(uint8_t *out, size_t want, const char *line,
                                size_t n)
{
    size_t got = 0;

    return sodium_base642bin(out, want, line, n, NULL, &got, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           got == want;
}

static bool decode_base64_line(struct mortise_reader *r, uint8_t *out,
                               size_t want)
{
    const char *line;
    size_t n;

    return read_next_line(r, &line, &n) &&
           decode_base64_bytes(out, want, line, n);
}

static bool skip_comment_line(struct mortise_reader *r)
{
    const char *line;
    size_t n;

    return read_next_line(r, &line, &n) && n <= COMMENT_LINE_MAX &&
           starts_with(line, n, MORTISE_UNTRUSTED);
}

/* ---- public keys --------------------------------------------------------- */

void mortise_pubkey_format(char out[MORTISE_PUBKEY_TEXT],
                           const struct mortise_pubkey *pk)
{
    uint8_t raw[PUBLIC_RAW] = {'E', 'd'};

    memcpy(raw + 2, pk->id, sizeof pk->id);
    memcpy(raw + 2 + MORTISE_KEYID, pk->key, sizeof pk->key);
    sodium_bin2base64(out, MORTISE_PUBKEY_TEXT, raw, sizeof raw,
                      sodium_base64_VARIANT_ORIGINAL);
}

/* minisign prints the id as a little-endian number. */
void mortise_keyid_format(char out[MORTISE_KEYID_TEXT],
                          const uint8_t id[MORTISE_KEYID])
{
    for (int i = 0; i < MORTISE_KEYID; i++)
        snprintf(out + 2 * i, 3, "%02X", id[MORTISE_KEYID - 1 - i]);
}

bool mortise_pubkey_is_equal(const struct mortise_pubkey *a,
                             const struct mortise_pubkey *b)
{
    return memcmp(a->id, b->id, sizeof a->id) == 0 &&
           memcmp(a->key, b->key, sizeof a->key) == 0;
}

bool mortise_minisign_decode_key(uint8_t *raw, size_t want, const char *text,
                                 size_t n, bool needs_comment)
{
    struct mortise_reader r;

    mortise_reader_init(&r, text, n);
    if ((needs_comment || starts_with(text, n, MORTISE_UNTRUSTED)) &&
        !skip_comment_line(&r))
        return false;
    return decode_base64_line(&r, raw, want) && r.p == r.end;
}

int mortise_pubkey_parse(struct mortise_pubkey *pk, const char *text, size_t n,
                         struct mortise_err *err)
{
    uint8_t raw[PUBLIC_RAW];

    if (!mortise_minisign_decode_key(raw, sizeof raw, text, n, false))
        return mortise_fail(err, MORTISE_EINVAL,
                            "not a minisign public key: expected \"RW\" and 54 "
                            "more characters of base64");
    if (memcmp(raw, "Ed", 2) != 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the public key has another algorithm than Ed25519");
    memcpy(pk->id, raw + 2, sizeof pk->id);
    memcpy(pk->key, raw + 2 + MORTISE_KEYID, sizeof pk->key);
    return MORTISE_OK;
}

int mortise_pubkey_read(struct mortise_pubkey *pk, const char *path,
                        struct mortise_err *err)
{
    struct mortise_buf b;
    int rv;

    mortise_buf_init(&b, &mortise_heap);
    rv = mortise_file_read(&b, path, FILE_MAX, err);
    if (rv == MORTISE_OK) {
        rv = mortise_pubkey_parse(pk, b.p != NULL ? b.p : "", b.n, err);
        if (rv != MORTISE_OK)
            rv = mortise_err_prefix(err, rv, "public key %s", path);
    }
    mortise_buf_finish(&b);
    return rv;
}

/* ---- signatures ---------------------------------------------------------- */

static int fail_not_signature(struct mortise_err *err, const char *why)
{
    return mortise_fail(err, MORTISE_EINVAL, "not a minisign signature: %s",
                        why);
}

static int parse_trusted_line(struct mortise_minisig *out,
                              struct mortise_reader *r, struct mortise_err *err)
{
    const char *line;
    size_t n, skip = strlen(MORTISE_TRUSTED);

    if (!read_next_line(r, &line, &n) || !starts_with(line, n, MORTISE_TRUSTED))
        return fail_not_signature(err, "it has no trusted comment");
    if (n - skip > MORTISE_COMMENT_MAX)
        return fail_not_signature(err, "its trusted comment is too long");
    assert(n >= skip); /* it starts with the prefix */
    out->comment = line + skip;
    out->comment_size = n - skip;
    return MORTISE_OK;
}

int mortise_minisign_parse(struct mortise_minisig *out, const char *text,
                           size_t n, struct mortise_err *err)
{
    uint8_t raw[SIG_RAW];
    struct mortise_reader r;
    int rv;

    mortise_reader_init(&r, text, n);
    if (!skip_comment_line(&r))
        return fail_not_signature(err, "it has no untrusted comment");
    if (!decode_base64_line(&r, raw, sizeof raw))
        return fail_not_signature(err,
                                  "its second line is not 74 bytes in base64");
    if (memcmp(raw, "Ed", 2) == 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the signature has the legacy algorithm Ed, whose signatures can "
            "be forged from newer ones; sign again without -l");
    if (memcmp(raw, "ED", 2) != 0)
        return fail_not_signature(err, "its algorithm is not ED");
    rv = parse_trusted_line(out, &r, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!decode_base64_line(&r, out->global, sizeof out->global))
        return fail_not_signature(err,
                                  "its last line is not 64 bytes in base64");
    if (r.p != r.end)
        return fail_not_signature(err,
                                  "there is more data after its last line");
    memcpy(out->id, raw + 2, sizeof out->id);
    memcpy(out->sig, raw + 2 + MORTISE_KEYID, sizeof out->sig);
    return MORTISE_OK;
}

int mortise_minisign_verify(const struct mortise_minisig *sig,
                            const struct mortise_pubkey *pk, const void *p,
                            size_t n, struct mortise_err *err)
{
    uint8_t hash[64], both[64 + MORTISE_COMMENT_MAX];

    /* Checked by the parser. */
    assert(sig->comment_size <= MORTISE_COMMENT_MAX);
    if (memcmp(sig->id, pk->id, sizeof pk->id) != 0)
        return mortise_fail(err, MORTISE_EDENIED, "signed with another key");
    crypto_generichash(hash, sizeof hash, p, n, NULL, 0);
    if (crypto_sign_ed25519_verify_detached(sig->sig, hash, sizeof hash,
                                            pk->key) != 0)
        return mortise_fail(err, MORTISE_EDENIED,
                            "the signature does not match these bytes");
    memcpy(both, sig->sig, 64);
    memcpy(both + 64, sig->comment, sig->comment_size);
    if (crypto_sign_ed25519_verify_detached(
            sig->global, both, 64 + sig->comment_size, pk->key) != 0)
        return mortise_fail(err, MORTISE_EDENIED,
                            "the trusted comment was changed");
    return MORTISE_OK;
}
