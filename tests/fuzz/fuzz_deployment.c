/* fuzz_deployment.c -- Deployment files from arbitrary bytes.
 *
 * One that is read says the same of what needs somebody's word each time, and
 * nothing that runs code escapes that. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/config/allow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static const char *file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0) {
        must((fd = memfd_create("fuzz", MFD_CLOEXEC)) >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        setenv("XDG_STATE_HOME", "/nonexistent", 1);
    }
    must(ftruncate(fd, 0) == 0);
    must(pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

static void look(const struct mortise_deployment *d)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    struct mortise_allowance a, b;
    size_t n = mortise_allow_find_needs(d, needs);

    must(n <= MORTISE_NEEDS_MAX);
    must(n > 0 ||
         (d->n_dev_dirs == 0 && d->n_plugin_dirs == 0 && d->trust_dir == NULL));
    must(mortise_allow_read(&a, d, NULL) == MORTISE_OK);
    must(mortise_allow_read(&b, d, NULL) == MORTISE_OK);
    must(strcmp(a.digest, b.digest) == 0 && !mortise_allow_is_valid(&a));
    mortise_allow_finish(&a);
    mortise_allow_finish(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_deployment *d = NULL;
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_deployment_read(&d, &mortise_heap, file(data, size), &diags);
    must((rv == MORTISE_OK) == (d != NULL));
    if (d != NULL)
        look(d);
    mortise_deployment_free(d);
    mortise_diags_finish(&diags);
    return 0;
}
