/* elf.h -- check a shared object before any of its code runs.  [any] */
#ifndef MORTISE_PLUGIN_ELF_H
#define MORTISE_PLUGIN_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/* The architecture of this build: "x86_64-linux-gnu", "aarch64-linux-gnu". */
const char *mortise_elf_get_host_arch(void);

/* The architecture of an ELF file, or MORTISE_EINVAL. */
int mortise_elf_get_arch(const char **arch, const void *p, size_t n,
                         struct mortise_err *err);

/* May these bytes be loaded on a machine of this architecture?  MORTISE_EINVAL:
 * they are not a shared object.  MORTISE_EDENIED: they break a rule for
 * plugins.  The message names the rule, the remedy and the code,
 * which `mortise explain` explains. */
int mortise_elf_check(const void *p, size_t n, const char *arch,
                      struct mortise_err *err);

/* Does the module in these bytes, which passed mortise_elf_check(), list a
 * plugin with this name and version?  MORTISE_EINVAL if it lists only others.
 * MORTISE_OK also if the list cannot be read without running code. */
int mortise_elf_check_plugin(const void *p, size_t n, const char *name,
                             const char *version, struct mortise_err *err);

/* Callbacks that receive all findings.  Strings are lent for the call; each
 * function may be NULL. */
struct mortise_elf_visitor {
    void *ud;
    /* A broken rule: its code and a sentence. */
    void (*refused)(void *ud, const char *code, const char *words);
    void (*needs)(void *ud, const char *library);
    void (*needs_version)(void *ud, const char *version); /* "GLIBC_2.34" */
    void (*imports)(void *ud, const char *symbol, bool weak);
    void (*exports)(void *ud, const char *symbol);
};

/* The same checks as mortise_elf_check(), continued after a broken rule.
 * MORTISE_EINVAL if the file is unreadable beyond some point (also reported as
 * a finding), else MORTISE_OK. */
int mortise_elf_visit(const void *p, size_t n, const char *arch,
                      const struct mortise_elf_visitor *visitor);

#endif
