/* value.c -- read and write JSON values (jansson's json_t).
 *
 * parse.c parses, within the limits set here.  We do not use jansson's writer,
 * because identities are digests of the output.  Guarantees:
 *
 *   (1) Parsed values are at most MORTISE_JSON_DEPTH deep, so that no later
 *       walk can exhaust the stack.
 *   (2) Output reads back as the same value, with reals and integers kept
 *       apart.  A value that is too deep to be read back is not written.
 *   (3) The canonical form depends only on the value, not on the order of
 *       members, the locale, or the way in which the value was made.
 *
 * A document of ours that contains values from outside is deeper than they are.
 * Hence the larger limit MORTISE_JSON_DEPTH_INTERNAL for mortise_json_parse_written() and
 * for writing.
 */
#include "core/json/value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/real.h"
#include "core/json/parse.h"

/* ---- reading --------------------------------------------------------- */

/* The message of a MORTISE_EINVAL lacks the position, which is in *why. */
static int load_json_value(json_t **out, const char *text, size_t n,
                           size_t depth, json_error_t *why,
                           struct mortise_err *err)
{
    *out = mortise_json_load(
        text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
        depth, why);
    if (*out != NULL)
        return MORTISE_OK;
    return json_error_code(why) == json_error_out_of_memory
               ? mortise_nomem(err)
               : mortise_fail(err, MORTISE_EINVAL, "%s", why->text);
}

static int load_with_position(json_t **out, const char *text, size_t n,
                              size_t depth, struct mortise_err *err)
{
    json_error_t why;
    int rv = load_json_value(out, text, n, depth, &why, err);

    return rv == MORTISE_EINVAL
               ? mortise_err_prefix(err, rv, "line %d column %d", why.line,
                                    why.column)
               : rv;
}

int mortise_json_parse(json_t **out, const char *text, size_t n,
                       struct mortise_err *err)
{
    return load_with_position(out, text, n, MORTISE_JSON_DEPTH, err);
}

int mortise_json_parse_line(json_t **out, const char *text, size_t n,
                            size_t *column, struct mortise_err *err)
{
    json_error_t why;
    int rv = load_json_value(out, text, n, MORTISE_JSON_DEPTH, &why, err);

    *column = rv == MORTISE_EINVAL ? (size_t)why.column : 1;
    return rv;
}

int mortise_json_parse_written(json_t **out, const char *text, size_t n,
                               struct mortise_err *err)
{
    return load_with_position(out, text, n, MORTISE_JSON_DEPTH_INTERNAL, err);
}

bool mortise_json_is_blank(const json_t *v)
{
    return json_is_string(v) &&
           strspn(json_string_value(v), " \t\r\n") == json_string_length(v);
}

/* ---- writing --------------------------------------------------------- */

struct writer {
    struct mortise_buf *b;
    bool sorted; /* members in the order of UTF-16 code units */
};

struct member {
    const char *key;
    size_t len;
    const json_t *value;
};

static int write_value(struct writer *w, const json_t *v, size_t depth);

static void write_escape(struct mortise_buf *b, unsigned char c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    char two[2] = {'\\', 0};

    for (const char *p = short_forms; *p != '\0'; p += 2) {
        if ((unsigned char)*p == c) {
            two[1] = p[1];
            mortise_buf_put(b, two, 2);
            return;
        }
    }
    mortise_buf_printf(b, "\\u%04x", c);
}

static void write_string(struct mortise_buf *b, const char *s, size_t n)
{
    size_t from = 0;

    mortise_buf_put(b, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        mortise_buf_put(b, s + from, i - from);
        write_escape(b, c);
        from = i + 1;
    }
    mortise_buf_put(b, s + from, n - from);
    mortise_buf_put(b, "\"", 1);
}

static void write_integer(struct mortise_buf *b, json_int_t v)
{
    char text[24], *p = text + sizeof text;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        *--p = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (v < 0)
        *--p = '-';
    mortise_buf_put(b, p, (size_t)(text + sizeof text - p));
}

/* jansson cannot hold NaN or an infinity. */
static void write_real(struct mortise_buf *b, double v)
{
    char text[MORTISE_REAL_TEXT];
    size_t n = mortise_real_format(text, v);

    mortise_buf_put(b, text, n);
    if (strpbrk(text, ".e") == NULL)
        mortise_buf_put(b, ".0", 2); /* else it would read back as an integer */
}

/* UTF-8 sorts like UTF-16, with one exception: 4-byte characters (surrogates
 * D800-DFFF in UTF-16) sort before U+E000..U+FFFF (lead bytes EE and EF).  The
 * first differing bytes are at the same position of a character, so it suffices
 * to rank the lead bytes differently. */
static int utf16_rank(unsigned char c)
{
    return c == 0xEE || c == 0xEF ? c + 0x10 : c;
}

static int by_utf16(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;

    for (size_t i = 0; i < n; i++) {
        int d = utf16_rank((unsigned char)x->key[i]) -
                utf16_rank((unsigned char)y->key[i]);

        if (d != 0)
            return d;
    }
    return (x->len > y->len) - (x->len < y->len);
}

static int write_member(struct writer *w, const struct member *m, bool first,
                        size_t depth)
{
    if (!first)
        mortise_buf_put(w->b, ",", 1);
    write_string(w->b, m->key, m->len);
    mortise_buf_put(w->b, ":", 1);
    return write_value(w, m->value, depth);
}

static int write_in_order(struct writer *w, json_t *object, size_t depth)
{
    void *it = json_object_iter(object), *first = it;
    int rv = MORTISE_OK;

    for (; it != NULL && rv == MORTISE_OK;
         it = json_object_iter_next(object, it)) {
        struct member m = {json_object_iter_key(it),
                           json_object_iter_key_len(it),
                           json_object_iter_value(it)};

        rv = write_member(w, &m, it == first, depth);
    }
    return rv;
}

static int write_sorted(struct writer *w, json_t *object, size_t depth)
{
    enum { FEW = 16 };
    struct member few[FEW], *list = few;
    size_t n = json_object_size(object), k = 0;
    int rv = MORTISE_OK;

    if (n > FEW)
        list = mortise_alloc(w->b->mem, n * sizeof *list);
    if (list == NULL)
        return MORTISE_ENOMEM;
    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it))
        list[k++] = (struct member){json_object_iter_key(it),
                                    json_object_iter_key_len(it),
                                    json_object_iter_value(it)};
    assert(k == n); /* borrowed values do not change */
    qsort(list, n, sizeof *list, by_utf16);
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++)
        rv = write_member(w, &list[i], i == 0, depth);
    if (list != few)
        mortise_release(w->b->mem, list, n * sizeof *list);
    return rv;
}

static int write_object(struct writer *w, const json_t *v, size_t depth)
{
    json_t *object = mortise_json_unconst(v);
    int rv;

    mortise_buf_put(w->b, "{", 1);
    rv = w->sorted ? write_sorted(w, object, depth)
                   : write_in_order(w, object, depth);
    mortise_buf_put(w->b, "}", 1);
    return rv;
}

static int write_array(struct writer *w, const json_t *v, size_t depth)
{
    size_t n = json_array_size(v);
    int rv = MORTISE_OK;

    mortise_buf_put(w->b, "[", 1);
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++) {
        if (i > 0)
            mortise_buf_put(w->b, ",", 1);
        rv = write_value(w, json_array_get(v, i), depth);
    }
    mortise_buf_put(w->b, "]", 1);
    return rv;
}

/* At most `depth` levels of containers may follow. */
static int write_value(struct writer *w, const json_t *v, size_t depth)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return depth > 0 ? write_object(w, v, depth - 1) : MORTISE_ELIMIT;
    case JSON_ARRAY:
        return depth > 0 ? write_array(w, v, depth - 1) : MORTISE_ELIMIT;
    case JSON_STRING:
        write_string(w->b, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        write_integer(w->b, json_integer_value(v));
        break;
    case JSON_REAL:
        write_real(w->b, json_real_value(v));
        break;
    case JSON_TRUE:
        mortise_buf_put(w->b, "true", 4);
        break;
    case JSON_FALSE:
        mortise_buf_put(w->b, "false", 5);
        break;
    case JSON_NULL:
        mortise_buf_put(w->b, "null", 4);
        break;
    }
    return MORTISE_OK;
}

static int write_json_value(struct mortise_buf *b, const json_t *v, bool sorted)
{
    struct writer w = {b, sorted};
    int rv = write_value(&w, v, MORTISE_JSON_DEPTH_INTERNAL);

    if (rv == MORTISE_ENOMEM)
        b->failed = true;
    return b->failed ? MORTISE_ENOMEM : rv;
}

int mortise_json_write(struct mortise_buf *b, const json_t *v)
{
    return write_json_value(b, v, false);
}

char *mortise_json_to_text(const struct mortise_mem *mem, const json_t *v)
{
    struct mortise_buf b;
    char *text = NULL;

    mortise_buf_init(&b, mem);
    if (mortise_json_write(&b, v) == MORTISE_OK)
        text = mortise_strndup(mem, b.p, b.n);
    mortise_buf_finish(&b);
    return text;
}

int mortise_json_write_canonical(struct mortise_buf *b, const json_t *v)
{
    return write_json_value(b, v, true);
}

int mortise_json_digest(uint8_t out[MORTISE_DIGEST], const json_t *v,
                        const struct mortise_mem *mem)
{
    struct mortise_buf b;
    int rv;

    mortise_buf_init(&b, mem);
    rv = mortise_json_write_canonical(&b, v);
    if (rv == MORTISE_OK)
        mortise_digest(out, b.p, b.n);
    mortise_buf_finish(&b);
    return rv;
}

void mortise_json_append_pointer(struct mortise_buf *pointer, const char *key)
{
    mortise_buf_puts(pointer, "/");
    for (; *key != '\0'; key++) {
        if (*key == '~' || *key == '/')
            mortise_buf_puts(pointer, *key == '~' ? "~0" : "~1");
        else
            mortise_buf_put(pointer, key, 1);
    }
}

json_t *mortise_json_parse_trusted(const char *text)
{
    json_t *v;
    int rv = mortise_json_parse_written(&v, text, strlen(text), NULL);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
    return v;
}

json_t *mortise_json_make_string(const char *s, size_t n)
{
    return json_stringn(s, n);
}
