/* manifest.c -- what a plugin declares about itself. */
#include "core/plugin/manifest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/plugin/version.h"
#include "mortise/plugin.h"

struct mortise_manifest *mortise_manifest_new(const struct mortise_mem *mem,
                                              const char *path)
{
    struct mortise_manifest *m = mortise_zalloc(mem, sizeof *m);

    if (m == NULL)
        return NULL;
    mortise_arena_init(&m->arena, mem);
    m->path = mortise_arena_strdup(&m->arena, path);
    if (m->path != NULL)
        return m;
    mortise_manifest_free(m);
    return NULL;
}

void mortise_manifest_free(struct mortise_manifest *m)
{
    const struct mortise_mem *mem;

    if (m == NULL)
        return;
    mem = m->arena.mem;
    for (size_t i = 0; i < m->n_ops; i++) {
        mortise_schema_finish(m->ops[i].input);
        mortise_schema_finish(m->ops[i].output);
    }
    mortise_schema_finish(m->config_schema);
    mortise_schema_finish(m->provides[MORTISE_KIND_EXECUTOR].step_result);
    mortise_arena_finish(&m->arena);
    mortise_release(mem, m, sizeof *m);
}

const struct mortise_manifest_op *
mortise_manifest_op(const struct mortise_manifest *m, const char *name)
{
    for (size_t i = 0; i < m->n_ops; i++)
        if (strcmp(m->ops[i].name, name) == 0)
            return &m->ops[i];
    return NULL;
}

uint32_t mortise_manifest_kinds(const struct mortise_manifest *m)
{
    uint32_t set = 0;

    for (size_t i = 0; i < MORTISE_KINDS; i++)
        if (m->provides[i].present)
            set |= MORTISE_KIND_BIT(i);
    return set;
}

uint64_t mortise_manifest_time_limit(const struct mortise_manifest *m)
{
    size_t i = 0;

    while (i < MORTISE_KINDS && !m->provides[i].present)
        i++;
    return i < MORTISE_KINDS ? m->provides[i].idle_ms : 0;
}

const char *mortise_manifest_find_unsupported(const struct mortise_manifest *m,
                                              char *why, size_t size)
{
    char host[32];

    snprintf(host, sizeof host, "%d.%d", MORTISE_ABI_MAJOR, MORTISE_ABI_MINOR);
    if (m->abi_major != MORTISE_ABI_MAJOR) {
        snprintf(why, size,
                 "was built for abi %u.%u, but this host has %s; install a "
                 "build for this host",
                 m->abi_major, m->abi_minor, host);
        return "abi";
    }
    if (m->requires_host != NULL &&
        !mortise_range_has(m->requires_host, host)) {
        snprintf(why, size,
                 "requires host %.100s, but this host has abi %s; install "
                 "another version of it, or a newer mortise",
                 m->requires_host, host);
        /* Checked when it was read. */
        assert(mortise_range_is_valid(m->requires_host));
        return "requires";
    }
    if (m->in_process)
        return NULL;
    snprintf(
        why, size,
        "can run only in its own process, which this build does not support");
    return "isolation";
}
