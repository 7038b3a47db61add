/* injection.h -- what the parts of the injection guardrail share: a text's score
 * by signals.  injection.c opens with the plugin's page. */
#ifndef PLUGINS_INJECTION_H
#define PLUGINS_INJECTION_H

#include <stdbool.h>

#include "../../payload.h"

/* What a text may be suspected of. */
enum signal {
    OVERRIDE,   /* what was said before is to count no more */
    ROLE,       /* it plays somebody else's part of the conversation */
    PERSONA,    /* the model is to be somebody without rules */
    LEAK,       /* the model is to tell what it was told */
    EXFILTRATE, /* something is to be sent somewhere */
    CONCEAL,    /* somebody is not to hear of it */
    ADDRESS,    /* it speaks to a model */
    HIDDEN,     /* characters that nobody sees */
    ENCODED,    /* one of these, in base64 or percent signs */
    SIGNALS
};

struct score {
    unsigned of[SIGNALS]; /* the heaviest finding of each */
};

static inline void score_add(struct score *s, enum signal signal,
                             unsigned weight)
{
    if (weight > s->of[signal])
        s->of[signal] = weight;
}

static inline unsigned score_sum(const struct score *s)
{
    unsigned n = 0;

    for (size_t i = 0; i < SIGNALS; i++)
        n += s->of[i];
    return n;
}

/* words.c: what a text says, word by word. */
void injection_words(mortise_str s, struct score *out);
/* marks.c: what it is made of: markup, links, characters that nobody sees. */
void injection_marks(mortise_str s, struct score *out);
/* coded.c: what it says in base64 or percent signs. */
bool injection_coded(mortise_str s, struct score *out, struct bytes *room);

/* The character at `at` and its length, 1 of what is no UTF-8. */
static inline uint32_t injection_char(mortise_str s, uint64_t at, uint64_t *n)
{
    const unsigned char c = (unsigned char)s.p[at];
    size_t len = mortise_jp_utf8(s.p + at, s.p + s.n);
    uint32_t out;

    *n = 1;
    if (c < 0x80 || len <= 1)
        return c;
    *n = len;
    out = c & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        out = out << 6 | ((unsigned char)s.p[at + i] & 0x3F);
    return out;
}

/* Drawn without a width, or not at all; the joiners of scripts among them. */
static inline bool injection_is_unseen(uint32_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) ||
           c == 0xFEFF || (c >= 0xE0000 && c <= 0xE01EF);
}

#endif
