/* pointer.c -- RFC 6901 pointers.
 *
 * They are for people: into messages and beside them.  A text that is too
 * small loses the end of the pointer, never a terminator.
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

static void put(struct mortise_pointer *p, const char *s, size_t n)
{
    size_t room = p->size > p->n ? p->size - p->n - 1 : 0;

    if (n > room) {
        n = mortise_utf8_cut(s, n, room);
        p->size = p->n + n + 1; /* nothing more follows */
    }
    if (n == 0)
        return;
    memcpy(p->text + p->n, s, n);
    p->n += n;
    p->text[p->n] = '\0';
}

void mortise_pointer_push(struct mortise_pointer *p, const char *token)
{
    put(p, "/", 1);
    while (*token != '\0') {
        size_t n = strcspn(token, "~/");

        put(p, token, n);
        token += n;
        if (*token != '\0')
            put(p, *token++ == '~' ? "~0" : "~1", 2);
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
