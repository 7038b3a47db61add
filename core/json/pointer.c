/* pointer.c -- build RFC 6901 pointers in a fixed buffer.
 *
 * They are for messages to people.  In a buffer that is too small, the end of
 * the pointer is lost; the text is always NUL-terminated.
 */
#include "core/json/pointer.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

void mortise_pointer_init(struct mortise_pointer *p, char *text, size_t size)
{
    *p = (struct mortise_pointer){text, size, 0};
    if (size > 0)
        text[0] = '\0';
}

static void append_pointer_text(struct mortise_pointer *p, const char *s,
                                size_t n)
{
    size_t room = p->size > p->n ? p->size - p->n - 1 : 0;

    if (n > room) {
        n = mortise_utf8_get_prefix_size(s, n, room);
        p->size = p->n + n + 1; /* full: ignore later appends */
    }
    if (n == 0)
        return;
    memcpy(p->text + p->n, s, n);
    p->n += n;
    p->text[p->n] = '\0';
}

void mortise_pointer_push(struct mortise_pointer *p, const char *token)
{
    append_pointer_text(p, "/", 1);
    while (*token != '\0') {
        size_t n = strcspn(token, "~/");

        append_pointer_text(p, token, n);
        token += n;
        if (*token != '\0')
            append_pointer_text(p, *token++ == '~' ? "~0" : "~1", 2);
    }
}

void mortise_pointer_push_index(struct mortise_pointer *p, size_t index)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%zu", index);
    mortise_pointer_push(p, digits);
}

void mortise_pointer_unescape(char *token)
{
    char *out = token;

    for (const char *in = token; *in != '\0'; in++) {
        *out = *in;
        if (in[0] == '~' && (in[1] == '0' || in[1] == '1'))
            *out = *++in == '0' ? '~' : '/';
        out++;
    }
    *out = '\0';
}
