/* kind.c -- the kinds of plugins, by number and by name. */
#include "core/plugin/kind.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct mortise_plugin_kind *const mortise_kinds[MORTISE_KINDS] = {
#define KIND(ID, name, about) [MORTISE_KIND_##ID] = &mortise_kind_##name,
#include "core/plugin/kinds.def"
#undef KIND
};

_Static_assert(MORTISE_KINDS < 32, "a set of kinds has a bit for each");

enum mortise_kind mortise_kind_find(const char *name)
{
    size_t i = 0;

    while (i < MORTISE_KINDS && strcmp(mortise_kinds[i]->name, name) != 0)
        i++;
    return (enum mortise_kind)i;
}

const char *mortise_kind_format_list(char *out, size_t size, uint32_t set,
                                     const char *between)
{
    size_t n = 0;

    assert((set & ~MORTISE_KIND_ALL) == 0);
    out[0] = '\0';
    for (size_t i = 0; i < MORTISE_KINDS && n < size; i++) {
        if ((set & MORTISE_KIND_BIT(i)) == 0)
            continue;
        n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? between : "",
                              mortise_kinds[i]->name);
    }
    return out;
}
