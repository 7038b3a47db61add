/* fuzz_elf.c -- the ELF inspection against arbitrary bytes.
 *
 * It must stay inside them, come to an end, and say why it refuses.  Mutations
 * get further from a real object: put one into the corpus. */
#include <stdint.h>
#include <stdlib.h>

#include "core/plugin/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *ud, const char *version)
{
    (void)ud;
    (void)version;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mortise_elf_visitor nobody = {.needs_version = ignore};
    struct mortise_err err = {0};
    const char *arch;
    int rv = mortise_elf_check(data, size, mortise_elf_get_host_arch(), &err);

    mortise_elf_visit(data, size, mortise_elf_get_host_arch(), &nobody);
    if (rv != MORTISE_OK && (err.code != rv || err.msg[0] == '\0'))
        abort();
    if (mortise_elf_get_arch(&arch, data, size, &err) != MORTISE_OK &&
        rv == MORTISE_OK)
        abort(); /* what may be loaded has an architecture */
    return 0;
}
