/* fuzz_minisign.c -- signatures and public keys from arbitrary bytes.
 *
 * They must be read inside their bytes and never verify; and a public key that
 * is read comes back the same from its text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/minisign.h"
#include "core/plugin/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void a_signature(const char *text, size_t n)
{
    static const struct mortise_pubkey nobody = {{0}, {9}};
    struct mortise_minisig sig;
    struct mortise_signature_info said;

    if (mortise_minisign_parse(&sig, text, n, NULL) != MORTISE_OK)
        return;
    must(sig.comment >= text && sig.comment + sig.comment_size <= text + n);
    memcpy(sig.id, nobody.id, sizeof sig.id);
    must(mortise_minisign_verify(&sig, &nobody, "x", 1, NULL) != MORTISE_OK);
    mortise_signature_parse_comment(&said, sig.comment, sig.comment_size, NULL);
}

static void a_key(const char *text, size_t n)
{
    struct mortise_pubkey pk, again;
    char out[MORTISE_PUBKEY_TEXT];

    if (mortise_pubkey_parse(&pk, text, n, NULL) != MORTISE_OK)
        return;
    mortise_pubkey_format(out, &pk);
    must(mortise_pubkey_parse(&again, out, strlen(out), NULL) == MORTISE_OK);
    must(mortise_pubkey_is_equal(&pk, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_signature_info said;

    a_signature((const char *)data, size);
    a_key((const char *)data, size);
    mortise_signature_parse_comment(&said, (const char *)data, size, NULL);
    return 0;
}
