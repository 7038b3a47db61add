/* write.c -- JSON values as YAML for people, which our loader can read.
 *
 *   (1) The text is read back as the same value, by our loader and by readers
 *       of YAML 1.1.  So a string is plain only if no reader can interpret it
 *       as anything else (`no`, `1e3`, `12:30`, `<<` are quoted).
 *   (2) The text contains no hidden characters: they are escaped in strings and
 *       in notes.
 *   (3) A scalar, its key and its note are on one line, so that a note can
 *       refer to the text before it.
 */
#include "lang/yaml/write.h"

#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"

enum { INDENT = 2 };

struct writer {
    struct mortise_buf *b;
    struct mortise_buf pointer;
    mortise_yaml_note_fn *note;
    void *ud;
    bool begun; /* a dash has begun the line of the next value */
};

/* ---- strings ------------------------------------------------------------ */

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Does any version of YAML read this word as null or a boolean? */
static bool is_word_of_yaml(const char *s)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

/* It begins with a letter (or is a path), so it is not a number.  The rest
 * contains only characters without a meaning inside plain scalars (1). */
static bool is_plain_scalar(const char *s, size_t n)
{
    size_t from = strncmp(s, "./", 2) == 0 ? 2 : s[0] == '/' ? 1 : 0;

    if (n == 0 || strlen(s) != n || (from == 0 && !is_ascii_letter(s[0])))
        return false;
    for (size_t i = from; i < n; i++) {
        bool ok = is_ascii_letter(s[i]) || (s[i] >= '0' && s[i] <= '9') ||
                  strchr("_-./+@", s[i]) != NULL || (s[i] == ':' && i + 1 < n);

        if (!ok)
            return false;
    }
    return !is_word_of_yaml(s);
}

static void put_character(struct mortise_buf *b, const char *p, size_t n,
                          uint32_t cp)
{
    if (cp == '\n')
        mortise_buf_puts(b, "\\n");
    else if (cp == '\t')
        mortise_buf_puts(b, "\\t");
    else if (n == 0 || mortise_utf8_is_hidden(cp))
        mortise_buf_printf(b,
                           cp < 0x100     ? "\\x%02x"
                           : cp < 0x10000 ? "\\u%04x"
                                          : "\\U%08x",
                           (unsigned)cp);
    else
        mortise_buf_put(b, p, n);
}

/* Strings are UTF-8 (jansson guarantees it); notes may contain any bytes. */
static void put_escaped(struct mortise_buf *b, const char *p, size_t n,
                        const char *escaped)
{
    const char *end = p + n;

    while (p < end) {
        uint32_t cp = (unsigned char)*p;
        size_t step = mortise_utf8_decode(p, end, &cp);

        if (*p != '\0' && strchr(escaped, *p) != NULL)
            mortise_buf_puts(b, "\\");
        put_character(b, p, step, cp);
        p += step != 0 ? step : 1;
    }
}

static void put_yaml_string(struct mortise_buf *b, const char *s, size_t n)
{
    if (is_plain_scalar(s, n)) {
        mortise_buf_put(b, s, n);
        return;
    }
    mortise_buf_puts(b, "\"");
    put_escaped(b, s, n, "\"\\");
    mortise_buf_puts(b, "\"");
}

/* ---- values ------------------------------------------------------------- */

static size_t get_member_count(const json_t *v)
{
    return json_is_object(v) ? json_object_size(v) : json_array_size(v);
}

static int put_yaml_scalar(struct writer *w, const json_t *v)
{
    if (json_is_string(v))
        put_yaml_string(w->b, json_string_value(v), json_string_length(v));
    else if (mortise_json_write_canonical(w->b, v) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return MORTISE_OK;
}

static void put_line_note(struct writer *w)
{
    const char *pointer = mortise_buf_cstr(&w->pointer), *note = NULL;

    if (pointer == NULL)
        w->b->failed = true;
    else if (w->note != NULL)
        note = w->note(w->ud, pointer);
    if (note != NULL) {
        mortise_buf_puts(w->b, "  # ");
        put_escaped(w->b, note, strlen(note), "");
    }
    mortise_buf_puts(w->b, "\n");
}

static int put_items(struct writer *w, const json_t *v, size_t indent);

static void put_indent(struct writer *w, size_t indent)
{
    if (!w->begun)
        mortise_buf_printf(w->b, "%*s", (int)indent, "");
    w->begun = false;
}

/* After a key or a dash; {} and [] are the same in both languages. */
static int put_leaf(struct writer *w, const json_t *v)
{
    int rv;

    mortise_buf_puts(w->b, " ");
    rv = put_yaml_scalar(w, v);
    put_line_note(w);
    return rv;
}

static int put_yaml_member(struct writer *w, const char *key, json_t *v,
                           size_t indent)
{
    size_t before = w->pointer.n;
    int rv;

    put_indent(w, indent);
    put_yaml_string(w->b, key, strlen(key));
    mortise_buf_puts(w->b, ":");
    mortise_json_append_pointer(&w->pointer, key);
    if (get_member_count(v) > 0) {
        mortise_buf_puts(w->b, "\n");
        rv = put_items(w, v, indent + INDENT);
    } else {
        rv = put_leaf(w, v);
    }
    w->pointer.n = before;
    return rv;
}

static int put_item(struct writer *w, size_t i, json_t *v, size_t indent)
{
    size_t before = w->pointer.n;
    int rv;

    put_indent(w, indent);
    mortise_buf_puts(w->b, "-");
    mortise_buf_printf(&w->pointer, "/%zu", i);
    if (get_member_count(v) > 0) {
        mortise_buf_puts(w->b, " ");
        w->begun = true;
        rv = put_items(w, v, indent + INDENT);
    } else {
        rv = put_leaf(w, v);
    }
    w->pointer.n = before;
    return rv;
}

static int put_items(struct writer *w, const json_t *v, size_t indent)
{
    json_t *item, *value = mortise_json_unconst(v);
    const char *key;
    size_t i;

    json_object_foreach(value, key,
                        item) if (put_yaml_member(w, key, item, indent) !=
                                  MORTISE_OK) return MORTISE_ENOMEM;
    json_array_foreach(value, i, item) if (put_item(w, i, item, indent) !=
                                           MORTISE_OK) return MORTISE_ENOMEM;
    return MORTISE_OK;
}

int mortise_yaml_write(struct mortise_buf *b, const json_t *v,
                       mortise_yaml_note_fn *note, void *ud)
{
    struct writer w = {.b = b, .note = note, .ud = ud};
    int rv;

    mortise_buf_init(&w.pointer, b->mem);
    if (get_member_count(v) > 0) {
        rv = put_items(&w, v, 0);
    } else {
        rv = put_yaml_scalar(&w, v);
        put_line_note(&w);
    }
    mortise_buf_finish(&w.pointer);
    return rv != MORTISE_OK || b->failed ? MORTISE_ENOMEM : MORTISE_OK;
}
