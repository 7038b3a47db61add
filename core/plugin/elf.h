/* elf.h -- what a shared object would do to us, read before any of it runs.
 * [any] */
#ifndef MORTISE_PLUGIN_ELF_H
#define MORTISE_PLUGIN_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/* "x86_64-linux-gnu", "aarch64-linux-gnu": what we were built for. */
const char *mortise_elf_host(void);

/* The architecture that an ELF file is for, or MORTISE_EINVAL. */
int mortise_elf_arch(const char **arch, const void *p, size_t n,
                     struct mortise_err *err);

/* May these bytes be loaded on a machine of that architecture?  MORTISE_EINVAL
 * when they are no shared object at all, MORTISE_EDENIED when they break a rule
 * for plugins; one sentence says which and what to do, and its code
 * (refusals.h). */
int mortise_elf_check(const void *p, size_t n, const char *arch,
                      struct mortise_err *err);

/* Does the module of bytes that passed list the plugin of that name and version?
 * MORTISE_EINVAL when it lists others; MORTISE_OK, too, where that cannot be
 * read without running it. */
int mortise_elf_check_plugin(const void *p, size_t n, const char *name,
                             const char *version, struct mortise_err *err);

/* Who wants to see everything.  The strings are lent for the call; any function
 * may be NULL. */
struct mortise_elf_visitor {
    void *ud;
    /* A broken rule: its code, and the sentence. */
    void (*refused)(void *ud, const char *code, const char *words);
    void (*needs)(void *ud, const char *library);
    void (*needs_version)(void *ud, const char *version); /* "GLIBC_2.34" */
    void (*imports)(void *ud, const char *symbol, bool weak);
    void (*exports)(void *ud, const char *symbol);
};

/* The same inspection, which goes on behind a refusal.  MORTISE_EINVAL when it
 * could not (and that was a refusal, too), else MORTISE_OK. */
int mortise_elf_visit(const void *p, size_t n, const char *arch,
                      const struct mortise_elf_visitor *visitor);

#endif
