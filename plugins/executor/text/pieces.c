/* pieces.c -- a text taken apart, put together, and its digest.
 *
 * split and join are each other's inverse for a separator: joining the parts
 * with it gives the text back, byte for byte.  That is why parts, unlike the
 * lines of lines.c, are never cut short.
 */
#include <sodium.h>
#include <stdlib.h>

#include "text.h"

enum {
    MAX_PARTS = 100000,
    MAX_JOINED = 16 << 20 /* bytes: more than the host would take */
};

/* ---- split --------------------------------------------------------------- */

struct splitter {
    mortise_str separator; /* n == 0: by pattern */
    pcre2_code *code;
    mortise_str rest;
};

/* Where the next separator is in the rest: false when there is none, or with
 * *status when that cannot be told. */
static bool find_separator(struct job *j, const struct splitter *s,
                           uint64_t *from, uint64_t *to, mortise_status *status)
{
    const PCRE2_SIZE *at;
    enum regex_result r;
    const char *p;

    if (s->separator.n > 0) {
        p = s->rest.n > 0
                ? memmem(s->rest.p, s->rest.n, s->separator.p, s->separator.n)
                : NULL;
        *from = p != NULL ? (uint64_t)(p - s->rest.p) : 0;
        *to = *from + s->separator.n;
        return p != NULL;
    }
    r = regex_match(&j->run, s->code, s->rest, 0, PCRE2_NOTEMPTY);
    if (r != REGEX_NONE && r != REGEX_FOUND)
        *status = text_no_result(j, r);
    if (r != REGEX_FOUND)
        return false;
    at = pcre2_get_ovector_pointer(j->run.data);
    *from = at[0];
    *to = at[1];
    return true;
}

static mortise_status emit_parts(struct job *j, struct splitter *s, int64_t max)
{
    mortise_jw *w = text_begin(j);
    mortise_status status = MORTISE_S_OK;
    uint64_t from, to, n = 1;

    mortise_jw_key(w, "parts");
    mortise_jw_array(w);
    for (; n < (uint64_t)max && find_separator(j, s, &from, &to, &status);
         n++) {
        if (regex_asked(&j->run) != REGEX_NONE)
            return text_no_result(j, j->run.stop);
        mortise_jw_string(w, mortise_strn(s->rest.p, from));
        s->rest.p += to;
        s->rest.n -= to;
    }
    mortise_jw_string(w, s->rest);
    mortise_jw_end(w);
    text_put_number(w, "count", n);
    return status == MORTISE_S_OK ? text_finish(j) : status;
}

/* Exactly one of separator and pattern.  *room and s->code are the caller's to
 * free, also after an error. */
static mortise_status open_splitter(struct job *j, struct splitter *s,
                                    char **room)
{
    mortise_jv separator = mortise_jv_get(j->body, "separator");
    mortise_jv pattern = mortise_jv_get(j->body, "pattern");
    mortise_status status;

    if ((separator.n > 0) == (pattern.n > 0))
        return text_no(j, &text_invalid, "give a separator or a pattern");
    if (pattern.n > 0)
        return text_pattern(j, "pattern", pattern, &s->code);
    status = text_string(j, "separator", separator, room, &s->separator);
    if (status == MORTISE_S_OK && s->separator.n == 0)
        return text_no(j, &text_invalid, "separator must not be empty");
    return status;
}

mortise_status text_split(struct job *j)
{
    struct splitter s = {.code = NULL};
    char *separator = NULL, *room = NULL;
    int64_t max = MAX_PARTS;
    mortise_status status = text_number(j, "max", 1, MAX_PARTS, &max);

    if (status == MORTISE_S_OK)
        status = open_splitter(j, &s, &separator);
    if (status == MORTISE_S_OK)
        status = text_string(j, "text", mortise_jv_get(j->body, "text"), &room,
                             &s.rest);
    if (status == MORTISE_S_OK)
        status = emit_parts(j, &s, max);
    pcre2_code_free(s.code);
    free(separator);
    free(room);
    return status;
}

/* ---- join ------------------------------------------------------------------
 */

/* The content of a string, anything else as the body spells it. */
static mortise_status put_part(struct job *j, mortise_jw *w, mortise_jv v,
                               uint64_t *made)
{
    char *room = NULL;
    mortise_str s = mortise_strn(v.p, v.n);
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(v) == MORTISE_JV_STRING)
        status = text_string(j, "a part", v, &room, &s);
    else if (mortise_jv_type(v) != MORTISE_JV_NUMBER &&
             mortise_jv_type(v) != MORTISE_JV_BOOL)
        status = text_no(j, &text_invalid,
                         "parts are strings, numbers, true or false");
    *made += s.n;
    if (status == MORTISE_S_OK && *made > MAX_JOINED)
        status = text_no(j, &text_too_large, "more than 16 MiB of text");
    if (status == MORTISE_S_OK)
        mortise_jw_string_put(w, s);
    free(room);
    return status;
}

static mortise_status emit_joined(struct job *j, mortise_jv parts,
                                  mortise_str separator)
{
    mortise_jw *w = text_begin(j);
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_status status = MORTISE_S_OK;
    uint64_t made = 0;
    bool first = true;
    mortise_jv v;

    mortise_jw_key(w, "text");
    mortise_jw_string_begin(w);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &v)) {
        if (regex_asked(&j->run) != REGEX_NONE)
            return text_no_result(j, j->run.stop);
        if (!first) {
            mortise_jw_string_put(w, separator);
            made += separator.n;
        }
        first = false;
        status = put_part(j, w, v, &made);
    }
    mortise_jw_string_end(w);
    return status == MORTISE_S_OK ? text_finish(j) : status;
}

mortise_status text_join(struct job *j)
{
    mortise_jv parts = mortise_jv_get(j->body, "parts");
    mortise_jv between = mortise_jv_get(j->body, "separator");
    mortise_str separator = mortise_str_empty();
    char *room = NULL;
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(parts) != MORTISE_JV_ARRAY)
        return text_no(j, &text_invalid, "parts must be a list");
    if (between.n > 0)
        status = text_string(j, "separator", between, &room, &separator);
    if (status == MORTISE_S_OK)
        status = emit_joined(j, parts, separator);
    free(room);
    return status;
}

/* ---- hash ------------------------------------------------------------------
 */

enum { MAX_DIGEST = 64, HEX_ROOM = 2 * MAX_DIGEST + 1 };

static void sha256(unsigned char *out, mortise_str s)
{
    crypto_hash_sha256(out, (const unsigned char *)s.p, s.n);
}

static void sha512(unsigned char *out, mortise_str s)
{
    crypto_hash_sha512(out, (const unsigned char *)s.p, s.n);
}

static void blake2b256(unsigned char *out, mortise_str s)
{
    crypto_generichash(out, 32, (const unsigned char *)s.p, s.n, NULL, 0);
}

static const struct algorithm {
    const char *name;
    size_t size;
    void (*hash)(unsigned char *out, mortise_str s);
} algorithms[] = {{"sha256", 32, sha256}, /* the default */
                  {"sha512", 64, sha512},
                  {"blake2b-256", 32, blake2b256}};

static mortise_status choose(const struct job *j, const struct algorithm **out)
{
    mortise_jv name = mortise_jv_get(j->body, "algorithm");

    *out = &algorithms[0];
    if (name.n == 0)
        return MORTISE_S_OK;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        *out = &algorithms[i];
        if (mortise_jv_is(name, mortise_strz(algorithms[i].name)))
            return MORTISE_S_OK;
    }
    return text_no(j, &text_invalid,
                   "algorithm must be sha256, sha512 or blake2b-256");
}

mortise_status text_hash(struct job *j)
{
    unsigned char digest[MAX_DIGEST];
    char hex[HEX_ROOM], *room = NULL;
    const struct algorithm *a;
    mortise_str text;
    mortise_jw *w;
    mortise_status status = choose(j, &a);

    if (status == MORTISE_S_OK)
        status = text_string(j, "text", mortise_jv_get(j->body, "text"), &room,
                             &text);
    if (status == MORTISE_S_OK) {
        a->hash(digest, text);
        sodium_bin2hex(hex, sizeof hex, digest, a->size);
        w = text_begin(j);
        mortise_jw_key(w, "hex");
        mortise_jw_cstr(w, hex);
        text_put_number(w, "bytes", text.n);
        status = text_finish(j);
    }
    free(room);
    return status;
}
