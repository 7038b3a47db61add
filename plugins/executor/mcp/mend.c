/* mend.c -- texts of servers that are nearly JSON, or JSON that the host does not
 * keep.
 *
 * A server that answers has done what it was asked to do.  If its answer has a
 * flaw, the answer is kept without the flaw, and the output says so:
 *
 *   (1) Bytes that are no UTF-8, lone surrogates (\ud800) and controls inside of
 *       strings.  JavaScript and Python write them.
 *   (2) NaN, Infinity and -Infinity, which Python's json writes.  JSON has no
 *       such numbers: they become null.
 *   (3) Numbers that fit neither 64 bits (signed) nor a double: the nearest double.
 *   (4) Names that are twice in an object: the last one counts, as for
 *       mortise_jv_get().
 *
 * All else is as it was, digit by digit.  mcp_mend() copies the tokens of a text,
 * has mortise_jv_parse() judge the copy, and only then looks for names. */
#include "mend.h"

struct mending {
    struct bytes *to;
    unsigned which, changed;
};

static mortise_status put(struct bytes *to, const char *p, size_t n)
{
    return bytes_put(to, mortise_strn(p, n));
}

/* ---- tokens ---------------------------------------------------------------- */

static const char *const replacement = "\xef\xbf\xbd";

/* One piece of a string at p: its length, what stands there instead (NULL:
 * nothing does), and as which flaw. */
static size_t piece(const char *p, const char *end, const char **instead,
                    char room[8], unsigned *flaw)
{
    uint32_t cp;
    size_t n;

    *instead = NULL;
    *flaw = MCP_MENDED_TEXT;
    if (*p == '\\') {
        n = mortise_jp_escape(p, end, &cp);
        if (n > 0)
            return n;
        if (end - p < 6 || p[1] != 'u' ||
            mortise_jp_hex4(p + 2, end) == UINT32_MAX)
            return 1; /* no escape at all: the copy is no JSON */
        *instead = "\\ufffd";
        return 6;
    }
    if ((unsigned char)*p < ' ') {
        snprintf(room, 8, "\\u%04x", (unsigned)(unsigned char)*p);
        *instead = room;
        *flaw = MCP_MENDED_CONTROL;
        return 1;
    }
    n = mortise_jp_utf8(p, end);
    if (n == 0)
        *instead = replacement;
    return n > 0 ? n : 1;
}

/* The string at p: behind it; NULL: memory ran out. */
static const char *put_string(struct mending *m, const char *p, const char *end)
{
    struct bytes *to = m->to;
    const char *from = p++;

    while (p < end && *p != '"') {
        const char *instead;
        char room[8];
        unsigned flaw;
        size_t n = piece(p, end, &instead, room, &flaw);

        if (instead != NULL && (m->which & flaw)) {
            m->changed |= flaw;
            if (put(to, from, (size_t)(p - from)) != MORTISE_S_OK ||
                put(to, instead, strlen(instead)) != MORTISE_S_OK)
                return NULL;
            from = p + n;
        }
        p += n;
    }
    p += p < end;
    return put(to, from, (size_t)(p - from)) == MORTISE_S_OK ? p : NULL;
}

static mortise_status put_double(struct bytes *to, double d)
{
    char room[64];
    mortise_str text;
    mortise_status status;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_double(&w, d);
    status = mortise_jw_finish(&w, &text);
    return status == MORTISE_S_OK ? bytes_put(to, text) : status;
}

static mortise_status put_number(struct mending *m, mortise_jv v)
{
    double d = *v.p == '-' ? -DBL_MAX : DBL_MAX;
    int64_t i;

    if (!(m->which & MCP_MENDED_NUMBER) ||
        mortise_jv_int(v, &i) == MORTISE_S_OK ||
        (mortise_jv_double(v, &d) == MORTISE_S_OK &&
         (memchr(v.p, '.', v.n) != NULL || memchr(v.p, 'e', v.n) != NULL ||
          memchr(v.p, 'E', v.n) != NULL)))
        return put(m->to, v.p, v.n);
    m->changed |= MCP_MENDED_NUMBER;
    return put_double(m->to, d);
}

/* A number, a literal, or what is neither. */
static mortise_status put_word(struct mending *m, const char *p, size_t n)
{
    static const char *const none[] = {"NaN", "Infinity", "-Infinity", "-NaN"};
    mortise_jv v = {p, n}, number;

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (strlen(none[i]) == n && memcmp(none[i], p, n) == 0 &&
            (m->which & MCP_MENDED_NAN)) {
            m->changed |= MCP_MENDED_NAN;
            return put(m->to, "null", 4);
        }
    return (*p == '-' || (*p >= '0' && *p <= '9')) &&
                   mortise_jv_parse(mortise_strn(p, n), &number) == MORTISE_S_OK
               ? put_number(m, v)
               : put(m->to, p, n);
}

static size_t word(const char *p, const char *end)
{
    const char *from = p;

    while (p < end && memchr("\"{}[]:, \t\r\n", *p, 11) == NULL)
        p++;
    return (size_t)(p - from);
}

static mortise_status put_tokens(struct mending *m, mortise_str text)
{
    const char *p = text.p, *end = text.p + text.n;
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && p < end) {
        size_t n = word(p, end);

        if (*p == '"') {
            p = put_string(m, p, end);
            status = p != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
            continue;
        }
        status = n > 0 ? put_word(m, p, n) : put(m->to, p, (size_t)(n = 1));
        p += n;
    }
    return status;
}

/* ---- names (4) --------------------------------------------------------------- */

struct member {
    mortise_jv name, value;
    uint64_t at, n; /* of the decoded name, in `names` */
    uint64_t i;     /* which of the object's it is */
    const struct bytes *names;
    int dropped;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = (const struct member *)a,
                        *y = (const struct member *)b;
    uint64_t n = x->n < y->n ? x->n : y->n;
    int order = n > 0 ? memcmp(x->names->p + x->at, y->names->p + y->at, n) : 0;

    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order != 0 ? order : x->i < y->i ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct member *x = (const struct member *)a,
                        *y = (const struct member *)b;

    return x->i < y->i ? -1 : 1;
}

static int has_name_of(const struct member *a, const struct member *b)
{
    return a->n == b->n &&
           (a->n == 0 ||
            memcmp(a->names->p + a->at, a->names->p + b->at, a->n) == 0);
}

static mortise_status read_members(mortise_jv object, struct member *list,
                                   struct bytes *names)
{
    mortise_jv_iter it = mortise_jv_each(object);
    mortise_status status = MORTISE_S_OK;
    struct member m = {.names = names};

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &m.name, &m.value)) {
        m.at = names->n;
        status = bytes_decode(names, m.name);
        m.n = names->n - m.at;
        list[m.i] = m;
        m.i++;
    }
    return status;
}

static mortise_status put_value(struct mending *m, mortise_jv v);

static mortise_status put_members(struct mending *m, const struct member *list,
                                  uint64_t n)
{
    struct bytes *to = m->to;
    mortise_status status = put(to, "{", 1);
    int some = 0;

    for (uint64_t i = 0; status == MORTISE_S_OK && i < n; i++) {
        if (list[i].dropped)
            continue;
        if (some)
            status = put(to, ",", 1);
        some = 1;
        if (status == MORTISE_S_OK)
            status = put(to, list[i].name.p, list[i].name.n);
        if (status == MORTISE_S_OK)
            status = put(to, ":", 1);
        if (status == MORTISE_S_OK)
            status = put_value(m, list[i].value);
    }
    return status == MORTISE_S_OK ? put(to, "}", 1) : status;
}

static mortise_status put_object(struct mending *m, mortise_jv object)
{
    uint64_t n = mortise_jv_count(object);
    struct member *list = (struct member *)calloc(n + 1, sizeof *list);
    struct bytes names = {0};
    mortise_status status =
        list != NULL ? read_members(object, list, &names) : MORTISE_S_NOMEM;

    if (status == MORTISE_S_OK) {
        qsort(list, n, sizeof *list, by_name);
        for (uint64_t i = 0; i + 1 < n && (m->which & MCP_MENDED_NAME); i++)
            list[i].dropped = has_name_of(&list[i], &list[i + 1]);
        for (uint64_t i = 0; i < n; i++)
            if (list[i].dropped)
                m->changed |= MCP_MENDED_NAME;
        qsort(list, n, sizeof *list, by_place);
        status = put_members(m, list, n);
    }
    bytes_free(&names);
    free(list);
    return status;
}

/* As deep as mortise_jv_parse() lets a text be. */
static mortise_status put_value(struct mending *m, mortise_jv v)
{
    struct bytes *to = m->to;
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_status status;
    mortise_jv one;
    int some = 0;

    if (mortise_jv_type(v) == MORTISE_JV_OBJECT)
        return put_object(m, v);
    if (mortise_jv_type(v) != MORTISE_JV_ARRAY)
        return put(to, v.p, v.n);
    status = put(to, "[", 1);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one)) {
        if (some)
            status = put(to, ",", 1);
        some = 1;
        if (status == MORTISE_S_OK)
            status = put_value(m, one);
    }
    return status == MORTISE_S_OK ? put(to, "]", 1) : status;
}

/* ---- all of it ---------------------------------------------------------------- */

mortise_status mcp_mend(mortise_str text, unsigned which, struct bytes *out,
                        unsigned *changed)
{
    struct bytes copy = {0};
    struct mending m = {&copy, which, 0};
    mortise_status status = put_tokens(&m, text);
    mortise_jv v;

    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(bytes_str(&copy), &v);
    m.to = out;
    if (status == MORTISE_S_OK)
        status = put_value(&m, v);
    bytes_free(&copy);
    *changed = m.changed;
    return status;
}

mortise_status mcp_mend_text(mortise_str text, uint64_t max, struct bytes *out)
{
    mortise_status status = MORTISE_S_OK;
    uint64_t end = out->n + max;

    while (status == MORTISE_S_OK && text.n > 0 && out->n < end) {
        uint64_t n = mortise_str_utf8(text), room = end - out->n;

        if (n > room)
            n = mortise_str_utf8(mortise_strn(text.p, room));
        status = put(out, text.p, n);
        if (status != MORTISE_S_OK || n == text.n || n >= room - 3)
            break;
        status = bytes_put(out, mortise_strz(replacement));
        text = mortise_strn(text.p + n + 1, text.n - n - 1);
    }
    return status;
}

void mcp_mend_write(mortise_jw *w, unsigned changed)
{
    static const struct {
        unsigned bit;
        const char *words;
    } all[] = {
        {MCP_MENDED_TEXT, "text that is not UTF-8 was replaced by U+FFFD"},
        {MCP_MENDED_CONTROL, "a control character was escaped"},
        {MCP_MENDED_NAN, "NaN or infinity was replaced by null"},
        {MCP_MENDED_NUMBER,
         "a number beyond 64 bits was replaced by the nearest one"},
        {MCP_MENDED_NAME,
         "a name occurs twice in an object; its last value is used"},
    };

    mortise_jw_array(w);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (changed & all[i].bit)
            mortise_jw_cstr(w, all[i].words);
    mortise_jw_end(w);
}
