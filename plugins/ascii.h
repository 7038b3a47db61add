/* ascii.h -- letters and digits of ASCII, whatever the locale.  A byte of any other
 * character is neither, and is its own lower case. */
#ifndef PLUGINS_ASCII_H
#define PLUGINS_ASCII_H

#include <stdbool.h>

#include <mortise/json.h>

static inline bool ascii_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_alnum(int c)
{
    return ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Is that what stands there, in whatever case?  `word` is in lower case. */
static inline bool ascii_begins(mortise_str s, uint64_t at, const char *word)
{
    for (uint64_t i = 0; word[i] != '\0'; i++)
        if (at + i >= s.n || ascii_lower(s.p[at + i]) != word[i])
            return false;
    return true;
}

#endif
