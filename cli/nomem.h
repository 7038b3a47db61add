/* nomem.h -- how a program ends when memory runs out where nobody can report it. */
#ifndef MORTISE_CLI_NOMEM_H
#define MORTISE_CLI_NOMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, when a C++ library gets no memory or no thread and nobody catches that,
 * the process writes these n bytes (static) to stderr and ends with `status`, without
 * exit handlers.  Any other exception aborts, as before.  For main() alone: it is
 * the process's, not a library's, to say. */
void mortise_end_without_memory(const char *words, size_t n, int status);

#ifdef __cplusplus
}
#endif

#endif
