/* nomem.h -- ends the process if a C++ library runs out of memory. */
#ifndef MORTISE_CLI_NOMEM_H
#define MORTISE_CLI_NOMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set a terminate handler: if a C++ exception for lack of memory or threads is
 * not caught, write these n bytes (static) to stderr and exit with `status`,
 * without exit handlers.  Other exceptions abort, as before.  Only main() may
 * call this, since the handler is for the whole process. */
void mortise_nomem_install(const char *words, size_t n, int status);

#ifdef __cplusplus
}
#endif

#endif
