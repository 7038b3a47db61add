/* func_string.c -- the string extension: parts of strings, and new strings.
 *
 * Positions count code points, as size() does.  A search compares bytes; the
 * result is the same, because no UTF-8 character begins inside another.  A
 * result that is a part of the argument is lent, and not copied.
 */
#include "lang/cel/func.h"

#include <string.h>

#include "core/base/utf8.h"

static struct cel_value make_string(const char *p, size_t n)
{
    return cel_text(CEL_STRING, p, n);
}

/* Charge for each byte of the string arguments. */
static bool charge_strings(struct cel_ctx *c, const struct cel_node *n,
                           const struct cel_value *args)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (args[i].kind == CEL_STRING && !cel_charge(c, args[i].u.s.n))
            return false;
    return true;
}

/* The position after the character at p. */
static const char *skip_character(const char *p, const char *end)
{
    uint32_t cp;

    return p + mortise_utf8_decode(p, end, &cp);
}

/* The position of the i-th character of s, or its end; a fault after that. */
static bool find_position(struct cel_ctx *c, const struct cel_value *s,
                          const struct cel_value *i, const char **out)
{
    const char *p = s->u.s.p, *end = p + s->u.s.n;
    int64_t left = i->u.i;

    for (; left > 0 && p < end; left--)
        p = skip_character(p, end);
    *out = p;
    return left == 0 || mortise_cel_fault(c, CEL_NO_INDEX);
}

/* ---- parts ------------------------------------------------------------- */

static bool call_char_at(CEL_PARAMS)
{
    const char *p, *end = args->u.s.p + args->u.s.n;

    if (!charge_strings(c, n, args) ||
        !find_position(c, &args[0], &args[1], &p))
        return false;
    *out = make_string(p, p < end ? (size_t)(skip_character(p, end) - p) : 0);
    return true;
}

/* substring(from), substring(from, to) */
static bool call_substring(CEL_PARAMS)
{
    const char *from, *to = args->u.s.p + args->u.s.n;

    if (!charge_strings(c, n, args) ||
        !find_position(c, &args[0], &args[1], &from) ||
        (n->n == 3 && !find_position(c, &args[0], &args[2], &to)))
        return false;
    if (to < from)
        return mortise_cel_fault(c, CEL_NO_INDEX);
    *out = make_string(from, (size_t)(to - from));
    return true;
}

static bool is_space(uint32_t cp)
{
    return (cp >= 9 && cp <= 13) || cp == ' ' || cp == 0x85 || cp == 0xA0 ||
           cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
           cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

static bool call_trim(CEL_PARAMS)
{
    const char *from = args->u.s.p, *end, *to, *p;
    bool begun = false;

    if (!charge_strings(c, n, args))
        return false;
    end = from + args->u.s.n;
    to = from;
    for (p = from; p < end;) {
        uint32_t cp;
        const char *behind = p + mortise_utf8_decode(p, end, &cp);

        if (!is_space(cp)) {
            from = begun ? from : p;
            to = behind;
            begun = true;
        }
        p = behind;
    }
    *out = make_string(from, begun ? (size_t)(to - from) : 0);
    return true;
}

/* ---- searching --------------------------------------------------------- */

static struct cel_value count_to(const struct cel_value *s, const char *at)
{
    if (at == NULL)
        return cel_int(-1);
    return cel_int(
        (int64_t)mortise_utf8_count(s->u.s.p, (size_t)(at - s->u.s.p)));
}

/* indexOf(part), indexOf(part, from) */
static bool call_index_of(CEL_PARAMS)
{
    const char *from = args->u.s.p, *end = from + args->u.s.n;

    if (!charge_strings(c, n, args) ||
        (n->n == 3 && !find_position(c, &args[0], &args[2], &from)))
        return false;
    *out = count_to(&args[0], memmem(from, (size_t)(end - from), args[1].u.s.p,
                                     args[1].u.s.n));
    return true;
}

/* The last occurrence of `part` that does not begin after `from`. */
static bool find_last(struct cel_ctx *c, const struct cel_value *s,
                      const struct cel_value *part, const char *from,
                      const char **out)
{
    size_t n = part->u.s.n;
    const char *p = s->u.s.n >= n ? s->u.s.p + s->u.s.n - n + 1 : s->u.s.p;

    if (p > from)
        p = from + 1;
    *out = NULL;
    while (*out == NULL && p-- > s->u.s.p) {
        if (n > 0 && *p != *part->u.s.p)
            continue;
        if (!cel_charge(c, n))
            return false;
        if (memcmp(p, part->u.s.p, n) == 0)
            *out = p;
    }
    return true;
}

/* lastIndexOf(part), lastIndexOf(part, from) */
static bool call_last_index_of(CEL_PARAMS)
{
    const char *from = args->u.s.p + args->u.s.n, *at;

    if (!charge_strings(c, n, args) ||
        (n->n == 3 && !find_position(c, &args[0], &args[2], &from)) ||
        !find_last(c, &args[0], &args[1], from, &at))
        return false;
    *out = count_to(&args[0], at);
    return true;
}

/* ---- new strings ------------------------------------------------------- */

enum { LOWER, UPPER };

static bool call_case(CEL_PARAMS)
{
    char first = n->u.call.function->which == LOWER ? 'A' : 'a', *text;

    if (!charge_strings(c, n, args))
        return false;
    text = mortise_cel_alloc(c, args->u.s.n, 1);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < args->u.s.n; i++) {
        char b = args->u.s.p[i];

        text[i] = b >= first && b < first + 26 ? b ^ 0x20 : b;
    }
    *out = make_string(text, args->u.s.n);
    return true;
}

static bool call_reverse(CEL_PARAMS)
{
    const char *p = args->u.s.p, *end;
    char *text;

    if (args->kind == CEL_LIST)
        return mortise_cel_reverse(c, args, out);
    if (!charge_strings(c, n, args))
        return false;
    end = p + args->u.s.n;
    text = mortise_cel_alloc(c, args->u.s.n, 1);
    if (text == NULL)
        return false;
    while (p < end) {
        const char *behind = skip_character(p, end);

        memcpy(text + (end - behind), p, (size_t)(behind - p));
        p = behind;
    }
    *out = make_string(text, args->u.s.n);
    return true;
}

/* The escape of a byte between the quotes of quote(), or NULL: none. */
static const char *get_escape(char b)
{
    static const char *const controls[] = {"\\a", "\\b", "\\t", "\\n",
                                           "\\v", "\\f", "\\r"};

    if (b >= '\a' && b <= '\r')
        return controls[b - '\a'];
    return b == '"' ? "\\\"" : b == '\\' ? "\\\\" : NULL;
}

static bool call_quote(CEL_PARAMS)
{
    char *text, *to;

    if (!charge_strings(c, n, args))
        return false;
    text = to = mortise_cel_alloc(c, 2 * args->u.s.n + 2, 1);
    if (text == NULL)
        return false;
    *to++ = '"';
    for (size_t i = 0; i < args->u.s.n; i++) {
        const char *escape = get_escape(args->u.s.p[i]);

        if (escape != NULL)
            *to++ = *escape;
        *to++ = escape != NULL ? escape[1] : args->u.s.p[i];
    }
    *to++ = '"';
    *out = make_string(text, (size_t)(to - text));
    return true;
}

/* ---- split, join and replace --------------------------------------------- */

/* An iteration over the occurrences of `part` in s.  An empty part occurs
 * before and after each character. */
struct walk {
    const char *p, *end; /* the part that was not searched */
    const struct cel_value *part;
    bool begun;
};

static struct walk walk_over(const struct cel_value *s,
                             const struct cel_value *part)
{
    return (struct walk){s->u.s.p, s->u.s.p + s->u.s.n, part, false};
}

/* The next occurrence, or NULL; the iteration continues after it. */
static const char *find_occurrence(struct walk *w)
{
    const char *at;

    if (w->part->u.s.n == 0) {
        if (w->begun && w->p == w->end)
            return NULL;
        if (w->begun)
            w->p = skip_character(w->p, w->end);
        w->begun = true;
        return w->p;
    }
    at = memmem(w->p, (size_t)(w->end - w->p), w->part->u.s.p, w->part->u.s.n);
    if (at != NULL)
        w->p = at + w->part->u.s.n;
    return at;
}

/* The number of occurrences, at most `most`. */
static size_t count_occurrences(struct walk w, uint64_t most)
{
    size_t n = 0;

    while (n < most && find_occurrence(&w) != NULL)
        n++;
    return n;
}

/* The i-th argument as a limit; negative or missing: none. */
static uint64_t get_limit(const struct cel_node *n,
                          const struct cel_value *args, uint32_t i)
{
    return n->n > i && args[i].u.i >= 0 ? (uint64_t)args[i].u.i : UINT64_MAX;
}

static char *append_bytes(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* replace(part, by), replace(part, by, limit) */
static bool call_replace(CEL_PARAMS)
{
    const struct cel_value *by = &args[2];
    const char *from = args->u.s.p, *at;
    size_t count, grown;
    struct walk w;
    char *text, *to;

    if (!charge_strings(c, n, args))
        return false;
    w = walk_over(&args[0], &args[1]);
    count = count_occurrences(w, get_limit(n, args, 3));
    if (__builtin_mul_overflow(count, by->u.s.n, &grown))
        return mortise_cel_fault(c, CEL_COST);
    text = to = mortise_cel_alloc(c, args->u.s.n + grown, 1);
    if (text == NULL)
        return false;
    for (; count > 0; count--) {
        at = find_occurrence(&w);
        to = append_bytes(to, from, (size_t)(at - from));
        to = append_bytes(to, by->u.s.p, by->u.s.n);
        from = at + args[1].u.s.n;
    }
    to = append_bytes(to, from, (size_t)(w.end - from));
    *out = make_string(text, (size_t)(to - text));
    return true;
}

/* Split into characters, at most `most` parts. */
static bool split_characters(struct cel_ctx *c, const struct cel_value *s,
                             uint64_t most, struct cel_value *out)
{
    const char *p = s->u.s.p, *end = p + s->u.s.n;
    size_t count = mortise_utf8_count(p, s->u.s.n);
    struct cel_list *list =
        mortise_cel_list_new(c, count < most ? count : (size_t)most);

    if (list == NULL)
        return false;
    while (p < end && list->n < most) {
        const char *behind = list->n + 1 == most ? end : skip_character(p, end);

        list->items[list->n++] = make_string(p, (size_t)(behind - p));
        p = behind;
    }
    *out = cel_list_value(list);
    return true;
}

/* split(separator), split(separator, limit) */
static bool call_split(CEL_PARAMS)
{
    uint64_t most = get_limit(n, args, 2);
    struct cel_list *list;
    const char *from, *at;
    struct walk w;

    if (!charge_strings(c, n, args))
        return false;
    if (args[1].u.s.n == 0)
        return split_characters(c, &args[0], most, out);
    w = walk_over(&args[0], &args[1]);
    list = mortise_cel_list_new(c, most > 0 ? count_occurrences(w, most - 1) + 1
                                            : 0);
    if (list == NULL)
        return false;
    for (from = w.p; list->n + 1 < most && (at = find_occurrence(&w)) != NULL;
         from = w.p)
        list->items[list->n++] = make_string(from, (size_t)(at - from));
    if (most > 0)
        list->items[list->n++] = make_string(from, (size_t)(w.end - from));
    *out = cel_list_value(list);
    return true;
}

/* The total length in bytes of the strings in a list. */
static bool measure(struct cel_ctx *c, const struct cel_value *list,
                    size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < mortise_cel_get_count(list); i++) {
        struct cel_value item = mortise_cel_get_item(list, i);

        if (item.kind != CEL_STRING)
            return mortise_cel_fault_of(c, CEL_ELEMENT, item.kind, 0);
        if (!cel_charge(c, item.u.s.n + 1))
            return false;
        *total += item.u.s.n;
    }
    return true;
}

/* join(), join(separator) */
static bool call_join(CEL_PARAMS)
{
    struct cel_value between = n->n > 1 ? args[1] : make_string("", 0);
    size_t total, count, gaps;
    char *text, *to;

    if (!charge_strings(c, n, args) || !measure(c, args, &total))
        return false;
    count = mortise_cel_get_count(args);
    if (__builtin_mul_overflow(count > 0 ? count - 1 : 0, between.u.s.n, &gaps))
        return mortise_cel_fault(c, CEL_COST);
    text = to = mortise_cel_alloc(c, total + gaps, 1);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct cel_value item = mortise_cel_get_item(args, i);

        if (i > 0)
            to = append_bytes(to, between.u.s.p, between.u.s.n);
        to = append_bytes(to, item.u.s.p, item.u.s.n);
    }
    *out = make_string(text, (size_t)(to - text));
    return true;
}

static const struct cel_function rows[] = {
    CEL_METHOD("charAt", 2, 0, STRING, call_char_at, STRING, INT),
    CEL_METHOD("substring", 2, 0, STRING, call_substring, STRING, INT),
    CEL_METHOD("substring", 3, 0, STRING, call_substring, STRING, INT, INT),
    CEL_METHOD("trim", 1, 0, STRING, call_trim, STRING),
    CEL_METHOD("indexOf", 2, 0, INT, call_index_of, STRING, STRING),
    CEL_METHOD("indexOf", 3, 0, INT, call_index_of, STRING, STRING, INT),
    CEL_METHOD("lastIndexOf", 2, 0, INT, call_last_index_of, STRING, STRING),
    CEL_METHOD("lastIndexOf", 3, 0, INT, call_last_index_of, STRING, STRING,
               INT),
    CEL_METHOD("lowerAscii", 1, LOWER, STRING, call_case, STRING),
    CEL_METHOD("upperAscii", 1, UPPER, STRING, call_case, STRING),
    CEL_METHOD("reverse", 1, 0, 0, call_reverse, STRING | LIST),
    CEL_METHOD("replace", 3, 0, STRING, call_replace, STRING, STRING, STRING),
    CEL_METHOD("replace", 4, 0, STRING, call_replace, STRING, STRING, STRING,
               INT),
    CEL_LISTS("split", 2, CEL_RECEIVER, STRING, call_split, STRING, STRING),
    CEL_LISTS("split", 3, CEL_RECEIVER, STRING, call_split, STRING, STRING,
              INT),
    CEL_METHOD("join", 1, 0, STRING, call_join, LIST),
    CEL_METHOD("join", 2, 0, STRING, call_join, LIST, STRING),
    CEL_FUNCTION("strings.quote", 1, CEL_GLOBAL, 0, STRING, call_quote, NULL,
                 STRING),
};

const struct cel_functions mortise_cel_string_functions = {
    rows, sizeof rows / sizeof rows[0]};
