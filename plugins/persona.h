/* persona.h -- who a model is to be, as it is told ahead of everything; and items
 * of a list, for texts that nobody wrote for that place.
 *
 *     Your persona:
 *     - honesty_humility: 0.5
 *     - ... (all six, from 0 to 1)
 *     - mood: MOOD
 *     Adapt your style to whom you talk with: to their tone, how much they write
 *     and how formal they are.
 *
 * A mood that is null is none.  A text stays within its item: each of its lines but
 * the first begins with two blanks.
 *
 * Threads    No state but its own.
 */
#ifndef PLUGINS_PERSONA_H
#define PLUGINS_PERSONA_H

#include "bytes.h"

/* Bytes of a line's end; 0: it is none. */
MORTISE_INLINE uint64_t item_line_end(mortise_str s)
{
    static const char *const ends[] = {
        "\r\n", "\n",       "\r",           "\v",
        "\f",   "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t n = strlen(ends[i]);

        if (s.n >= n && memcmp(s.p, ends[i], n) == 0)
            return n;
    }
    return 0;
}

/* A text that is an item of a list. */
MORTISE_INLINE mortise_status item_put(struct bytes *to, mortise_jv v)
{
    struct bytes text = {0};
    mortise_status status = bytes_decode(&text, v);
    uint64_t from = 0;

    for (uint64_t at = 0, n; status == MORTISE_S_OK && at < text.n; at += n) {
        n = item_line_end(mortise_strn(text.p + at, text.n - at));
        if (n == 0) {
            n = 1;
            continue;
        }
        status = bytes_put(to, mortise_strn(text.p + from, at - from));
        if (status == MORTISE_S_OK)
            status = bytes_put(to, mortise_strz("\n  "));
        from = at + n;
    }
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strn(text.p + from, text.n - from));
    bytes_free(&text);
    return status;
}

/* `- NAME: VALUE`, of a text or a number. */
MORTISE_INLINE mortise_status persona_put_line(struct bytes *to,
                                               mortise_str name, mortise_jv v)
{
    mortise_status status = bytes_put(to, mortise_strz("\n- "));

    if (status == MORTISE_S_OK)
        status = bytes_put(to, name);
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strz(": "));
    if (status != MORTISE_S_OK)
        return status;
    return mortise_jv_type(v) == MORTISE_JV_STRING
               ? item_put(to, v)
               : bytes_put(to, mortise_strn(v.p, v.n));
}

/* Of {traits, mood?, adapt_style?}. */
MORTISE_INLINE mortise_status persona_put(struct bytes *to, mortise_jv persona)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(persona, "traits"));
    mortise_jv mood = mortise_jv_get(persona, "mood"), name, v;
    mortise_status status = bytes_put(to, mortise_strz("Your persona:"));
    struct bytes key = {0};
    int32_t adapts = 0;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &v)) {
        bytes_free(&key);
        status = bytes_decode(&key, name);
        if (status == MORTISE_S_OK)
            status = persona_put_line(to, bytes_str(&key), v);
    }
    bytes_free(&key);
    if (status == MORTISE_S_OK && mortise_jv_type(mood) > MORTISE_JV_NULL)
        status = persona_put_line(to, mortise_strz("mood"), mood);
    mortise_jv_bool(mortise_jv_get(persona, "adapt_style"), &adapts);
    return status == MORTISE_S_OK && adapts
               ? bytes_put(
                     to,
                     mortise_strz(
                         "\nAdapt your style to whom you talk with: to their "
                         "tone, how much they write and how formal they are."))
               : status;
}

#endif
