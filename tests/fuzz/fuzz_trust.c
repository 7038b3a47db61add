/* fuzz_trust.c -- trust files from arbitrary bytes.
 *
 * One with an error trusts nobody, and no bytes make a signature verify that
 * nobody made. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plugin/trust.h"
#include "lang/yaml/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static char dir[] = "/tmp/mortise-fuzz-XXXXXX", path[64];

static void forget(void)
{
    unlink(path);
    rmdir(dir);
}

static void make_directory(void)
{
    if (path[0] != '\0')
        return;
    must(mkdtemp(dir) != NULL && atexit(forget) == 0);
    snprintf(path, sizeof path, "%s/a.yaml", dir);
}

static void put(const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    must(f != NULL);
    must(fwrite(data, 1, size, f) == size);
    must(fclose(f) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char sig[] =
        "untrusted comment: x\n"
        "RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/"
        "z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n"
        "trusted comment: name:a version:1.0.0 seq:1 timestamp:5\n"
        "y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1F"
        "kZZSNCisQbuQY+bHwhEBg==\n";
    const char *dirs[] = {dir};
    struct mortise_trust *t = NULL;
    struct mortise_signature_info said;
    struct mortise_diags diags;
    int rv;

    make_directory();
    put(data, size);
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_trust_open(&t, &mortise_heap, dirs, 1, &diags, NULL);
    must((rv == MORTISE_OK) == (t != NULL));
    if (t != NULL) {
        for (size_t i = 0; i < mortise_trust_count(t); i++)
            must(mortise_trust_at(t, i)->n_plugins > 0 ||
                 mortise_trust_at(t, i)->plugins != NULL);
        must(mortise_trust_verify(t, "other", 5, sig, sizeof sig - 1, &said,
                                  NULL) != MORTISE_OK);
    }
    mortise_trust_close(t);
    mortise_diags_finish(&diags);
    return 0;
}
