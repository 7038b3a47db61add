/* elf.h -- what a shared object would do to us, read before any of it runs.
 * [any] */
#ifndef MORTISE_PLUGIN_ELF_H
#define MORTISE_PLUGIN_ELF_H

#include <stddef.h>

#include "base/err.h"

/* "x86_64-linux-gnu", "aarch64-linux-gnu": what we were built for. */
const char *mortise_elf_host(void);

/* The architecture that an ELF file is for, or MORTISE_EINVAL. */
int mortise_elf_arch(const char **arch, const void *p, size_t n,
                     struct mortise_err *err);

/* May these bytes be loaded on a machine of that architecture?  MORTISE_EINVAL
 * when they are no shared object at all, MORTISE_EDENIED when they break a rule
 * for plugins; one sentence says which and what to do. */
int mortise_elf_check(const void *p, size_t n, const char *arch,
                      struct mortise_err *err);

#endif
