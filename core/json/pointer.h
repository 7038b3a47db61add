/* pointer.h -- build RFC 6901 pointers in a fixed buffer. [any] */
#ifndef MORTISE_JSON_POINTER_H
#define MORTISE_JSON_POINTER_H

#include <stddef.h>

/* Text that does not fit is cut, at a character boundary. */
struct mortise_pointer {
    /* borrowed; size bytes, NUL-terminated unless size is 0 */
    char *text;
    size_t size, n;
};

void mortise_pointer_init(struct mortise_pointer *p, char *text, size_t size);
void mortise_pointer_push(struct mortise_pointer *p, const char *token);
void mortise_pointer_push_index(struct mortise_pointer *p, size_t index);
/* Decode the escapes of one token, in place. */
void mortise_pointer_unescape(char *token);

#endif
