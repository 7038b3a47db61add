/* fuzz_sdk_json.c -- the SDK's JSON against arbitrary bytes.
 *
 * It must stay inside its bytes, agree with jansson about what is JSON (but
 * for the limits that only one of the two has), and write what it read so that
 * the same value comes back.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isdk \
 *       tests/fuzz/fuzz_sdk_json.c -ljansson -lm
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/json.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static mortise_status grow(mortise_jw *w, void *ud)
{
    uint64_t cap = w->cap > 0 ? 2 * w->cap : 16;

    (void)ud;
    w->p = realloc(w->p, cap);
    must(w->p != NULL);
    w->cap = cap;
    return MORTISE_S_OK;
}

/* The content of a string in room of exactly its size. */
static char *decoded(mortise_jv v, uint64_t *n)
{
    char *wide = malloc(v.n), *tight;
    mortise_str s;
    uint64_t again;

    must(mortise_jv_decode(v, wide, v.n, n) == MORTISE_S_OK);
    tight = malloc(*n + 1);
    must(mortise_jv_decode(v, tight, *n, &again) == MORTISE_S_OK);
    must(again == *n && memcmp(wide, tight, *n) == 0);
    if (*n > 0)
        must(mortise_jv_decode(v, tight, *n - 1, &again) == MORTISE_S_NOMEM);
    must(mortise_jv_text(v, wide, v.n, &s) == MORTISE_S_OK && s.n == *n);
    s.p = tight;
    must(mortise_jv_decode(v, tight, *n, &again) == MORTISE_S_OK);
    must(mortise_jv_is(v, s));
    free(wide);
    return tight;
}

static void write_string(mortise_jw *w, mortise_jv v, int key)
{
    mortise_str s;
    char *p = decoded(v, &s.n);

    s.p = p;
    if (key)
        mortise_jw_keyn(w, s);
    else
        mortise_jw_string(w, s);
    free(p);
}

static void write_number(mortise_jw *w, mortise_jv v)
{
    int64_t i;
    double d;

    if (mortise_jv_int(v, &i) == MORTISE_S_OK)
        mortise_jw_int(w, i);
    else if (mortise_jv_double(v, &d) == MORTISE_S_OK)
        mortise_jw_double(w, d);
    else
        mortise_jw_value(w, v);
}

/* Write v anew, through every reader. */
static void rewrite(mortise_jw *w, mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv key, one;
    int32_t type = mortise_jv_type(v), b;
    uint64_t n = 0;

    if (type == MORTISE_JV_NULL)
        mortise_jw_null(w);
    else if (type == MORTISE_JV_STRING)
        write_string(w, v, 0);
    else if (type == MORTISE_JV_NUMBER)
        write_number(w, v);
    else if (mortise_jv_bool(v, &b) == MORTISE_S_OK)
        mortise_jw_bool(w, b);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY)
        return;
    if (type == MORTISE_JV_OBJECT)
        mortise_jw_object(w);
    else
        mortise_jw_array(w);
    for (; mortise_jv_next(&it, &key, &one); n++) {
        if (type == MORTISE_JV_OBJECT)
            write_string(w, key, 1);
        rewrite(w, one);
    }
    must(n == mortise_jv_count(v));
    mortise_jw_end(w);
}

static mortise_str rewritten(mortise_jv v)
{
    mortise_jw w;
    mortise_str s;

    mortise_jw_growing(&w, NULL, 0, grow, NULL);
    rewrite(&w, v);
    must(mortise_jw_finish(&w, &s) == MORTISE_S_OK);
    return s;
}

static void agree(const char *text, size_t size, int ours)
{
    json_error_t err;
    json_t *theirs =
        json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &err);

    if (theirs == NULL && ours)
        must(json_error_code(&err) == json_error_numeric_overflow ||
             json_error_code(&err) == json_error_null_byte_in_key);
    if (theirs != NULL && !ours && memchr(text, '\0', size) == NULL) {
        /* (a NUL ends the text for jansson); then it is too deep for us */
        size_t brackets = 0;

        for (size_t i = 0; i < size; i++)
            brackets += text[i] == '[' || text[i] == '{';
        must(brackets > MORTISE_JV_DEPTH);
    }
    json_decref(theirs);
}

/* The walking functions may be pointed at anything without leaving it. */
static void walk_unchecked(const char *text, size_t size)
{
    mortise_jv v = {text, size}, key, one;
    mortise_jv_iter it = mortise_jv_each(v);
    char room[8];
    uint64_t n;
    int64_t i;
    double d;

    while (mortise_jv_next(&it, &key, &one)) {
        mortise_jv_decode(key, room, sizeof room, &n);
        mortise_jv_decode(one, room, sizeof room, &n);
        mortise_jv_int(one, &i);
        mortise_jv_double(one, &d);
    }
    mortise_jv_get(v, "a");
    mortise_jv_int(v, &i);
    mortise_jv_double(v, &d);
    mortise_jv_decode(v, room, sizeof room, &n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* + 1: its end is the block's end */
    mortise_str whole = {text + 1, size}, once, twice;
    mortise_jv v;
    int ours;

    must(text != NULL);
    if (size > 0)
        memcpy(text + 1, data, size);
    ours = mortise_jv_parse(whole, &v) == MORTISE_S_OK;
    agree(whole.p, size, ours);
    walk_unchecked(whole.p, size);
    if (ours) {
        once = rewritten(v);
        must(mortise_jv_parse(once, &v) == MORTISE_S_OK);
        twice = rewritten(v);
        must(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
        free((void *)(uintptr_t)once.p);
        free((void *)(uintptr_t)twice.p);
    }
    free(text);
    return 0;
}
