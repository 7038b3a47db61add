/* fuzz_manifest.c -- plugin manifests from arbitrary bytes, as they are signed
 * and as their source is.
 *
 * One that is read has a name that is one, objects whose names stay in its
 * directory, and ranges that can be asked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/name.h"
#include "lang/manifest/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void read_as(const char *text, size_t n, bool is_signed)
{
    struct mortise_manifest *m = NULL;
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_manifest_parse(&m, &mortise_heap, "fuzz.plugin.yaml", text, n,
                                is_signed, &diags);
    must((rv == MORTISE_OK) == (m != NULL));
    must(rv == MORTISE_OK || diags.n_errors > 0);
    if (m != NULL) {
        must(mortise_name_is_valid(m->name));
        for (size_t i = 0; i < m->n_artifacts; i++)
            must(strchr(m->artifacts[i].file, '/') == NULL);
    }
    mortise_manifest_free(m);
    mortise_diags_finish(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as((const char *)data, size, true);
    read_as((const char *)data, size, false);
    return 0;
}
