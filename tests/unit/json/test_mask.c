/* test_mask.c -- values that must not be seen: found in each form, however the
 * text is cut, and nothing else touched. */
#include <check.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mask.h"
#include "core/json/masked.h"
#include "lib/test.h"

static struct mortise_mask *mask;
static struct mortise_buf out;

static void look_for(const char *name, const char *value)
{
    if (mask == NULL)
        mask = mortise_mask_new(&test_mem);
    ck_assert(mortise_mask_add(mask, name, value, strlen(value)));
}

static void begin(void)
{
    test_begin();
    mask = NULL;
    mortise_buf_init(&out, &test_mem);
}

static void end(void)
{
    mortise_mask_unref(mask);
    mortise_buf_finish(&out);
    test_nothing_left();
}

/* The text behind the mask, in pieces of `cut` bytes. */
static const char *through(const char *p, size_t n, size_t cut)
{
    struct mortise_mask_stream s;

    mortise_buf_clear(&out);
    mortise_mask_stream_init(&s, mask, &test_mem);
    for (size_t i = 0; i < n; i += cut)
        mortise_mask_stream_write(&s, p + i, n - i < cut ? n - i : cut, &out);
    mortise_mask_stream_flush(&s, &out);
    mortise_mask_stream_finish(&s);
    return mortise_buf_cstr(&out);
}

/* Whatever the pieces, the same comes out. */
static void becomes(const char *text, const char *want)
{
    size_t n = strlen(text);

    for (size_t cut = 1; cut <= n; cut++)
        ck_assert_str_eq(through(text, n, cut), want);
    ck_assert(mortise_mask_is_match(mask, text, n) ==
              (strcmp(text, want) != 0));
}

START_TEST(what_overlaps_is_one)
{
    look_for("a", "abcdefgh");
    look_for("b", "cdefghij");
    look_for("c", "abcdefghijklmnop");
    look_for("short", "zzzzzzz");
    ck_assert(mortise_mask_build(mask));
    becomes("", "");
    becomes("nothing here", "nothing here");
    becomes("abcdefg", "abcdefg");
    becomes("zzzzzzz", "zzzzzzz"); /* too short to be looked for */
    becomes("abcdefgh", "[secret a]");
    becomes("xabcdefghx", "x[secret a]x");
    becomes("ababcdefghab", "ab[secret a]ab");
    becomes("abcdefghabcdefgh", "[secret a][secret a]");
    becomes("abcdefghij", "[secret a]");
    becomes("abcdefghijklmno", "[secret a]klmno");
    becomes("-cdefghij-", "-[secret b]-");
    ck_assert_ptr_nonnull(strstr(through("abcdefghijklmnop!", 17, 3), "]!"));
    ck_assert_ptr_null(strstr(out.p, "klmnop"));
}
END_TEST

/* Of a text that was cut, with `n` bytes of the value left. */
START_TEST(half_a_value)
{
    look_for("a", "abcdefghijklmnop");
    look_for("b", "mnopmnopmnop");
    ck_assert(mortise_mask_build(mask));
    for (size_t n = 0; n <= 16; n++) {
        char text[64], want[64];

        snprintf(text, sizeof text, "say %.*s", (int)n, "abcdefghijklmnop");
        snprintf(want, sizeof want, "say %s", n < 8 ? text + 4 : "[secret a]");
        mortise_buf_clear(&out);
        mortise_mask_truncated_text(mask, text, strlen(text), &out);
        ck_assert_str_eq(mortise_buf_cstr(&out), want);
    }
    mortise_buf_clear(&out);
    mortise_mask_truncated_text(mask, "abcdefghijklmnopmnopm", 21, &out);
    ck_assert_str_eq(mortise_buf_cstr(&out), "[secret a]");
    mortise_buf_clear(&out);
    mortise_mask_truncated_text(mask, "abcdefghij.", 11, &out);
    ck_assert_str_eq(mortise_buf_cstr(&out), "abcdefghij.");
    mortise_buf_clear(&out);
    mortise_mask_truncated_text(NULL, "abcdefghij", 10, &out);
    ck_assert_str_eq(mortise_buf_cstr(&out), "abcdefghij");
}
END_TEST

/* As others write it. */
START_TEST(forms)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a/b \"c\\d\xc3\xa9", "[secret s]"},
        {"a%2Fb%20%22c%5Cd%C3%A9", "[secret s]"},
        {"a%2fb%20%22c%5cd%c3%a9", "[secret s]"},
        {"x=a%2Fb+%22c%5Cd%C3%A9&y", "x=[secret s]&y"},
        {"{\"k\":\"a/b \\\"c\\\\d\xc3\xa9\"}", "{\"k\":\"[secret s]\"}"},
        {"a\\/b \\\"c\\\\d\xc3\xa9", "[secret s]"},
        {"a/b \\\"c\\\\d\\u00e9", "[secret s]"},
        {"a/b \\\"c\\\\d\\u00E9", "[secret s]"},
    };

    look_for("s", "a/b \"c\\d\xc3\xa9");
    ck_assert(mortise_mask_build(mask));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        becomes(cases[i].text, cases[i].want);
}
END_TEST

/* The character of base64 that stays in front tells four bits at most; behind
 * the value there is none, and no padding. */
START_TEST(base64_at_any_offset)
{
    static const char value[] = "hunter2\xc3\xbf\xc3\xbf-correct-horse";
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL,
                                   sodium_base64_VARIANT_URLSAFE,
                                   sodium_base64_VARIANT_ORIGINAL_NO_PADDING};

    look_for("s", value);
    ck_assert(mortise_mask_build(mask));
    for (size_t v = 0; v < 3; v++)
        for (size_t before = 0; before < 7; before++)
            for (size_t after = 0; after < 4; after++) {
                char plain[64] = "user:pw", coded[128];
                size_t n = before;

                n += (size_t)sprintf(plain + n, "%s%.*s", value, (int)after,
                                     "tail");
                sodium_bin2base64(coded, sizeof coded,
                                  (const unsigned char *)plain, n, variants[v]);
                ck_assert_ptr_nonnull(
                    strstr(through(coded, strlen(coded), 5), "[secret s]"));
                if (after == 0)
                    ck_assert_str_eq(strchr(out.p, ']'), "]");
                /* what is left of the value's some 30 characters */
                ck_assert_uint_le(strlen(out.p), strlen("[secret s]") +
                                                     (before + after) * 4 / 3 +
                                                     8);
            }
}
END_TEST

/* Against the obvious way: each byte that is in any occurrence goes. */
START_TEST(as_the_obvious_way)
{
    static const char *const values[] = {"aaaaaaaa", "aabaabaab", "babababab",
                                         "bbbbbbbbbbbb"};
    unsigned seed = 1;

    for (size_t i = 0; i < 4; i++)
        look_for("s", values[i]);
    ck_assert(mortise_mask_build(mask));
    for (int round = 0; round < 2000; round++) {
        char text[200], want[2000];
        bool in[200] = {false};
        size_t n = (size_t)(rand_r(&seed) % 199), to = 0;

        for (size_t i = 0; i < n; i++)
            text[i] = rand_r(&seed) % 8 == 0   ? 'c'
                      : rand_r(&seed) % 3 == 0 ? 'b'
                                               : 'a';
        text[n] = '\0';
        for (size_t v = 0; v < 4; v++)
            for (const char *p = text; (p = strstr(p, values[v])); p++)
                memset(in + (p - text), 1, strlen(values[v]));
        for (size_t i = 0; i < n; i++)
            if (!in[i])
                want[to++] = text[i];
        want[to] = '\0';
        through(text, n, 1 + (size_t)(rand_r(&seed) % 40));
        for (char *p; (p = strstr(out.p, "[secret s]")) != NULL;)
            memmove(p, p + 10, strlen(p + 10) + 1);
        ck_assert_str_eq(out.p, want);
    }
}
END_TEST

/* ---- spellings ---- */

static unsigned seed;

static unsigned any(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* The code point at *p, of good UTF-8. */
static unsigned take_code(const char **p)
{
    unsigned char c = (unsigned char)*(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    unsigned code = more == 0 ? c : c & (0x3fu >> more);

    while (more-- > 0)
        code = code << 6 | ((unsigned char)*(*p)++ & 0x3f);
    return code;
}

static size_t put_u(char *to, unsigned code)
{
    if (code >= 0x10000) {
        code -= 0x10000;
        return put_u(to, 0xd800 + (code >> 10)) +
               put_u(to + 6, 0xdc00 + (code & 0x3ff));
    }
    return any(2) ? (size_t)sprintf(to, "\\u%04x", code)
                  : (size_t)sprintf(to, "\\u%04X", code);
}

/* Each character as it is, as %XX, as \uXXXX or behind a backslash, by chance;
 * what would begin a spelling is spelled. */
static void spell(const char *from, char *to)
{
    while (*from != '\0') {
        const char *p = from;
        unsigned code = take_code(&p), how = any(4);

        if (how == 0 && *from != '%' && *from != '\\') {
            memcpy(to, from, (size_t)(p - from));
            to += p - from;
        } else if (how == 1) {
            to += put_u(to, code);
        } else if (how == 2 && strchr("\"\\/&=<'.", *from) != NULL) {
            to += sprintf(to, "\\%c", *from);
        } else {
            for (const char *b = from; b < p; b++)
                to += any(2) ? sprintf(to, "%%%02X", (unsigned char)*b)
                             : sprintf(to, "%%%02x", (unsigned char)*b);
        }
        from = p;
    }
    *to = '\0';
}

/* Any value, each of its characters spelled in any way, once or twice over, in
 * any pieces. */
START_TEST(however_it_is_spelled)
{
    static const char *const parts[] = {"a",
                                        "b",
                                        "Z",
                                        "0",
                                        "9",
                                        "/",
                                        "+",
                                        "=",
                                        "&",
                                        "<",
                                        "\"",
                                        "\\",
                                        "%",
                                        " ",
                                        "~",
                                        "'",
                                        "\n",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80"};
    static const char *const beside[] = {"x", "\"k\": ", "%", "\\u00", ""};

    for (seed = 1; seed != 0 && seed < 100000; seed += 53) {
        char value[200] = "", once[4000], text[40000], want[100], *p = text;
        unsigned at = seed;
        const char *behind;

        for (unsigned n = 8 + any(12); n > 0; n--)
            strcat(value, parts[any(20)]);
        mask = NULL;
        look_for("s", value);
        ck_assert(mortise_mask_build(mask));
        spell(value, once);
        /* where a backslash ends it, one behind it may go, too */
        behind = beside[value[strlen(value) - 1] == '\\' ? 4 : any(5)];
        p += sprintf(p, "<>");
        if (any(2))
            spell(once, p);
        else
            strcpy(p, once);
        strcat(p, behind);
        snprintf(want, sizeof want, "<>[secret s]%s", behind);
        ck_assert_msg(strcmp(through(text, strlen(text), 1 + any(20)), want) ==
                          0,
                      "'%s' in '%s': '%s'", value, text, out.p);
        ck_assert(mortise_mask_is_match(mask, text, strlen(text)));
        mortise_mask_unref(mask);
        seed = at;
    }
    mask = NULL;
}
END_TEST

/* What others write: encodeURI, a path, JSON of Go, JSON in JSON, a URL in a
 * URL, hexadecimal, base64 in lines of MIME or of a PEM in JSON. */
START_TEST(spellings_of_others)
{
    static const char *const texts[] = {
        "a/b?c=%22d%22&e%5Cf+%C3%A9",
        "a/b%3Fc=%22d%22&e%5Cf+%C3%A9",
        "a/b?c\\u003d\\u0022d\\u0022\\u0026e\\\\f+\xc3\xa9",
        "a\\/b?c=\\\"d\\\"&e\\\\f+\\u00e9",
        "a/b?c=\\\\\\\"d\\\\\\\"&e\\\\\\\\f+\xc3\xa9",
        "a%252Fb%253Fc%253D%2522d%2522%2526e%255Cf%252B%25C3%25A9",
        "%61%2f%62%3f%63%3d%22%64%22%26%65%5c%66%2b%c3%a9",
        "612f623f633d22642226655c662bc3a9",
        "612F623F633D22642226655C662BC3A9",
        "YS9iP2M9\r\nImQiJmVcZivDqQ==",
        "YS9iP2M9\nImQi\nJmVcZivDqQ==",
        "YS9iP2M9\\nImQiJmVcZivDqQ==",
        "YS9iP2M9%0D%0AImQiJmVcZivDqQ==",
    };

    look_for("s", "a/b?c=\"d\"&e\\f+\xc3\xa9");
    ck_assert(mortise_mask_build(mask));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[200], want[200];

        snprintf(text, sizeof text, "x=%s&", texts[i]);
        becomes(text, "x=[secret s]&");
        snprintf(want, sizeof want, "\\%%%.*s!", 8, texts[i]);
        becomes(want, want);
    }
}
END_TEST

/* Hexadecimal digits of both cases in one text, in lines too. */
START_TEST(hexadecimal_of_any_case)
{
    static const char *const texts[] = {"6a6f6b6c2f3a2a3b", "6A6F6B6C2F3A2A3B",
                                        "6A6f6b6C2F3a2a3B", "6a6f6b6c2f3a2a3B",
                                        "6A6f6B6c\n2F3a2A3b"};

    look_for("s", "jokl/:*;");
    look_for("t", "another value \xee\xff");
    ck_assert(mortise_mask_build(mask));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[200];

        snprintf(text, sizeof text, "xA%sZ", texts[i]);
        becomes(text, "xA[secret s]Z");
    }
    becomes("616E6f746865722076616C756520eEfF", "[secret t]");
    becomes("6a6f6b6c2f3a2a3c 6A6f6B6c2F3a2A3d ABCDEF",
            "6a6f6b6c2f3a2a3c 6A6f6B6c2F3a2A3d ABCDEF");
}
END_TEST

/* A backslash or a percent sign that is left as it is, beside others that spell
 * something. */
START_TEST(raw_beside_spelled)
{
    static const char *const texts[] = {
        "a\\b\\u00e9\"c/50%2Fd\xc3\xa9", "a\\b\\u00e9\\u0022c/50%2Fd\\u00e9",
        "a\\b\\u00e9\\\"c\\/50%2Fd\\u00E9", "a\\b\\u00e9%22c%2F50%2Fd%c3%A9",
        "a\\b\\u00e9\\x22c/50%2Fd\\u00e9"};

    look_for("s", "a\\b\\u00e9\"c/50%2Fd\xc3\xa9");
    ck_assert(mortise_mask_build(mask));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[200];

        snprintf(text, sizeof text, "<%s>", texts[i]);
        becomes(text, "<[secret s]>");
    }
    /* such a text in JSON */
    becomes("a\\\\b\\\\u00e9\\\\u0022c/50%2Fd\\\\u00e9", "[secret s]");
}
END_TEST

/* A raw backslash behind an escape, where no escape begins with it. */
START_TEST(raw_behind_spelled)
{
    static const struct {
        const char *secret, *texts[6];
    } row[] = {
        {"x\"y\\zabcdef",
         {"x\\u0022y\\zabcdef", "x\\\"y\\zabcdef", "x\\x22y\\zabcdef",
          "x%22y\\zabcdef", "x\\u0022y\\u005Czabcdef", "x\\u0022y%5czabcdef"}},
        {"pass\twor\\d+/end",
         {"pass\\twor\\d+/end", "pass\\u0009wor\\d+\\/end",
          "pass%09wor\\d%2B/end", "pass\\twor\\u005cd+%2fend",
          "pass\\x09wor\\d+/end"}},
        {"\xc3\xa9t\xc3\xa9\\qwerty\\",
         {"\\u00e9t\\u00E9\\qwerty\\", "\\u00E9t\xc3\xa9\\qwerty\\",
          "\xc3\xa9t\\u00e9\\\\qwerty\\"}},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        look_for("s", row[i].secret);
    ck_assert(mortise_mask_build(mask));
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (size_t k = 0; k < 6 && row[i].texts[k] != NULL; k++) {
            char text[200];

            snprintf(text, sizeof text, "<%s>", row[i].texts[k]);
            becomes(text, "<[secret s]>");
        }
}
END_TEST

START_TEST(json_values)
{
    json_t *v = json_pack("{s:[s,i,b,n], s:{s:s}, s:f}", "list",
                          "say 8723487234 twice", 3, 1, "8723487234",
                          "8723487234!", "x", "real", 1.5),
           *masked;
    json_t *plain = json_pack("{s:s}", "a", "b");
    char *text;

    look_for("pin", "8723487234");
    ck_assert(mortise_mask_build(mask));
    json_array_append_new(json_object_get(v, "list"), json_integer(8723487234));
    masked = mortise_json_mask(mask, v, &test_mem);
    text = json_dumps(masked, JSON_COMPACT);
    ck_assert_str_eq(text,
                     "{\"list\":[\"say [secret pin] twice\",3,true,null,"
                     "\"[secret pin]\"],\"[secret pin]\":{\"[secret pin]!\":"
                     "\"x\"},\"real\":1.5}");
    free(text);
    json_decref(masked);
    masked = mortise_json_mask(mask, plain, &test_mem);
    ck_assert_ptr_eq(masked, plain); /* what has none is the same */
    json_decref(masked);
    json_decref(plain);
    json_decref(v);
}
END_TEST

/* 64 KiB, and memory that runs out. */
START_TEST(large_and_starved)
{
    static char value[65537], text[200000];

    for (size_t i = 0; i < 65536; i++)
        value[i] = (char)('a' + (i * 7919 + i / 26) % 26);
    look_for("big", value);
    ck_assert(mortise_mask_build(mask));
    snprintf(text, sizeof text, "<%s>", value);
    ck_assert_str_eq(through(text, strlen(text), 1000), "<[secret big]>");
    mortise_mask_unref(mask);
    mask = NULL;
    for (int i = 0; i < 60; i++) {
        struct mortise_mask *m;

        test_mem_fail_at(i);
        m = mortise_mask_new(&test_mem);
        if (m != NULL && mortise_mask_add(m, "s", "abcdefghijkl", 12) &&
            mortise_mask_build(m))
            mortise_mask_text(m, "xx abcdefghijkl", 15, &out);
        mortise_mask_unref(m);
        mortise_buf_finish(&out);
        mortise_buf_init(&out, &test_mem);
    }
    test_mem_fail_at(-1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mask");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, what_overlaps_is_one);
    tcase_add_test(tc, half_a_value);
    tcase_add_test(tc, forms);
    tcase_add_test(tc, base64_at_any_offset);
    tcase_add_test(tc, as_the_obvious_way);
    tcase_add_test(tc, however_it_is_spelled);
    tcase_add_test(tc, spellings_of_others);
    tcase_add_test(tc, hexadecimal_of_any_case);
    tcase_add_test(tc, raw_beside_spelled);
    tcase_add_test(tc, raw_behind_spelled);
    tcase_add_test(tc, json_values);
    tcase_add_test(tc, large_and_starved);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
