/* pointer.h -- RFC 6901 pointers being spelled into a text of fixed size.
 * [any] */
#ifndef MORTISE_JSON_POINTER_H
#define MORTISE_JSON_POINTER_H

#include <stddef.h>

/* What does not fit is cut, between characters. */
struct mortise_pointer {
    char *text; /* lent; size bytes, NUL-terminated (size 0: nothing) */
    size_t size, n;
};

void mortise_pointer_init(struct mortise_pointer *p, char *text, size_t size);
void mortise_pointer_push(struct mortise_pointer *p, const char *token);
void mortise_pointer_push_index(struct mortise_pointer *p, size_t index);
/* Undo the escapes of one token, in place. */
void mortise_pointer_unescape(char *token);

#endif
