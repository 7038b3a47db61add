/* test_bundled_pii.c -- the pii guardrail, from any host's point of view, and how
 * often it is right about texts of which somebody said what is in them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/barehost.h"
#include "lib/corpus.h"
#include "lib/oom.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;
static char *reason;
static bool violation;

static const char *const kinds[] = {"iban", "card", "mac",
                                    "ip",   "mail", "phone"};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void use(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static void setup(void)
{
    plugin = bare_plugin("pii");
    test_begin();
    bare_init(&host);
    inst = NULL;
    reason = NULL;
    use("{}");
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    free(reason);
    test_nothing_left();
}

static mortise_status check(const char *json)
{
    free(reason);
    return bare_check(&host, plugin, inst, &(struct bare_call){.body = json},
                      &violation, &reason);
}

static void passes(const char *json)
{
    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert_msg(!violation, "%s: %s", json, reason);
    ck_assert_int_eq(host.emits, 0);
}

/* A violation, with this replacement, which then passes itself. */
static void masks(const char *json, const char *want)
{
    char *masked;

    ck_assert_int_eq(check(json), MORTISE_S_OK);
    ck_assert_msg(violation, "%s", json);
    ck_assert_msg(host.out != NULL, "%s: %s", json, reason);
    ck_assert_str_eq(host.out, want);
    masked = strdup(host.out);
    passes(masked);
    free(masked);
}

/* ---- what stands there instead ------------------------------------------- */

START_TEST(masks_have_styles)
{
    static const char text[] =
        "\"a@example.com 4111 1111 1111 1111 203.0.113.9 "
        "DE89370400440532013000 00:1a:2b:3c:4d:5e +49 30 1234567\"";

    masks(text, "\"[mail] [card] [ip] [iban] [mac] [phone]\"");
    use("{\"mask\":\"stars\"}");
    masks(text, "\"*@*******.*** **** **** **** **** ***.*.***.* "
                "********************** **:**:**:**:**:** +** ** *******\"");
    use("{\"mask\":\"partial\"}");
    masks(text, "\"*@example.com **** **** **** 1111 203.0.***.* "
                "******************3000 00:1a:2b:**:**:** +** ** *****67\"");
    use("{\"mask\":\"stars\"}");
    masks("\"j\\u00f6@b\\u00fc.example!\"", "\"**@**.*******!\"");
}
END_TEST

START_TEST(only_what_is_asked_for)
{
    use("{\"kinds\":[\"card\",\"mail\"]}");
    masks("[\"a@example.com\",\"203.0.113.9\",4111111111111111,"
          "\"4111111111111111\"]",
          "[\"[mail]\",\"203.0.113.9\",4111111111111111,\"[card]\"]");
}
END_TEST

START_TEST(reasons_give_nothing_away)
{
    check("{\"a\":[0,{\"b/~c\":\"4111111111111111\"}]}");
    ck_assert_str_eq(reason, "a card number stands at /a/1/b~1~0c");
    check("[\"a@example.com\",\"x\",\"203.0.113.9\"]");
    ck_assert_str_eq(reason, "a mail address stands at /0, and 1 more");
    check("{\"203.0.113.9\":1}");
    ck_assert_str_eq(reason,
                     "an IP address stands in the name of a member: /*");
    ck_assert_int_eq(host.emits, 0);
}
END_TEST

START_TEST(what_is_allowed_passes)
{
    use("{\"allow\":[\"*@example.com\",\"203.0.113.9\"]}");
    passes("\"anna@example.com from 203.0.113.9\"");
    masks("\"anna@example.com, 203.0.113.9, b@example.com, b@example.org, "
          "203.0.113.90\"",
          "\"anna@example.com, 203.0.113.9, b@example.com, [mail], [ip]\"");
}
END_TEST

/* What overlaps is one thing, of the surer kind. */
START_TEST(overlaps_are_one)
{
    masks("\"+49301234567@example.com\"", "\"[mail]\"");
    masks("\"tel 4111 1111 1111 1111\"", "\"tel [card]\"");
}
END_TEST

START_TEST(a_bad_config_is_refused)
{
    static const char *const configs[][2] = {
        {"", "JSON"},
        {"{\"kinds\":[]}", "empty"},
        {"{\"kinds\":[\"name\"]}", "unknown"},
        {"{\"kinds\":[1]}", "unknown"},
        {"{\"mask\":\"blur\"}", "label, stars or partial"},
        {"{\"mask\":3}", "label, stars or partial"},
        {"{\"allow\":[\"\"]}", "empty"},
        {"{\"allow\":[\"*\"]}", "empty"},
        {"{\"allow\":[3]}", "texts"},
    };

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        ck_assert_ptr_null(bare_create(&host, plugin, configs[i][0]));
        ck_assert_msg(strstr(host.msg, configs[i][1]) != NULL, "%s: %s",
                      configs[i][0], host.msg);
        ck_assert_str_eq(host.code, "invalid");
    }
}
END_TEST

/* ---- how often it is right ---------------------------------------------- */

/* A text of `n` bytes through the guardrail; malloc()ed. */
static char *masked(const char *text, size_t n)
{
    char *json = bare_quote(text, n), *out;
    size_t k;

    ck_assert_int_eq(check(json), MORTISE_S_OK);
    free(json);
    if (!violation)
        return strndup(text, n);
    ck_assert_ptr_nonnull(host.out);
    k = host.n_out; /* in quotes, and nothing in it is escaped but these two */
    out = calloc(1, k);
    for (size_t i = 1, o = 0; i + 1 < k; i++)
        out[o++] = host.out[i] == '\\' ? host.out[++i] : host.out[i];
    return out;
}

static void count(const char *kind, struct corpus_count *c)
{
    size_t n;
    char *file = test_read("tests/corpora/pii.txt", &n), config[64];
    const char *p = file, *end = file + n;

    snprintf(config, sizeof config, "{\"kinds\":[\"%s\"],\"mask\":\"stars\"}",
             kind);
    use(config);
    while (p < end) {
        const char *next = memchr(p, '\n', (size_t)(end - p));
        char *marks, *text, *got;

        ck_assert_ptr_nonnull(next);
        if (*p != '#') {
            text = corpus_line(p, (size_t)(next - p), kind, &marks);
            got = masked(text, strlen(text));
            const struct corpus_count was = *c;

            corpus_judge(text, marks, got, c);
            if (getenv("MORTISE_CORPUS") != NULL &&
                (c->missed > was.missed || c->wrong > was.wrong))
                fprintf(stderr, "%s: %s\n    %s\n", kind, text, got);
            free(text);
            free(marks);
            free(got);
        }
        p = next + 1;
    }
    free(file);
}

/* Of each kind, on its own: what is found is right, and little is missed.
 * MORTISE_CORPUS=1 prints what it is wrong about. */
START_TEST(it_is_mostly_right)
{
    struct corpus_count c = {0};

    count(kinds[_i], &c);
    ck_assert_uint_ge(c.right, 4);
    ck_assert_msg(corpus_precision(&c) >= 0.95 && corpus_recall(&c) >= 0.95,
                  "%s: %u right, %u missed, %u wrong", kinds[_i], c.right,
                  c.missed, c.wrong);
}
END_TEST

/* ---- anything ------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Made of the pieces that finders look for, in any order: what it offers
 * passes. */
START_TEST(what_is_offered_would_pass)
{
    static const char *const styles[] = {"{}", "{\"mask\":\"stars\"}",
                                         "{\"mask\":\"partial\"}"};
    static const char *const pieces[] = {
        "4111",        "1111", " ",       "-",        ".",        ":",
        "@",           "a",    "DE89",    "3704",     "+",        "49",
        "0",           "203",  "0.113.9", "00:1a:2b", "fe80",     "::",
        "x@y.example", "tel ", "(",       ") ",       "\xC3\xA9", "/"};
    uint32_t seed = 7;

    use(styles[_i]);
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        char *json, *again;

        for (uint32_t n = next_random(&seed) % 14; n > 0; n--)
            strcat(
                text,
                pieces[next_random(&seed) % (sizeof pieces / sizeof *pieces)]);
        json = bare_quote(text, strlen(text));
        ck_assert_int_eq(check(json), MORTISE_S_OK);
        if (violation) {
            ck_assert_ptr_nonnull(host.out);
            again = strdup(host.out);
            ck_assert_int_eq(check(again), MORTISE_S_OK);
            ck_assert_msg(!violation, "%s became %s: %s", json, again, reason);
            free(again);
        }
        free(json);
    }
}
END_TEST

/* A million bytes of what each finder looks for, without an end, are done in a
 * time that has nothing to do with how they are put together. */
START_TEST(nothing_makes_it_crawl)
{
    static const char *const units[] = {
        "a",        "1",     ".",    "@",     "a@",    "a@a.", "1.",
        "1-",       "1 ",    "+1",   "(1",    "0 ",    "::",   "1:",
        "ab:",      "fe80:", "DE89", "DE8",   "4111 ", "4",    "tel ",
        "\xC3\xA9", "00:",   "00-",  "0000.", "-",     "_"};
    const size_t n = 1000000;
    char *json = malloc(n + 64);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct timespec t0, t1;
        char *p = json;

        *p++ = '"';
        while (p < json + n)
            p = stpcpy(p, units[i]);
        strcpy(p, "\"");
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
        ck_assert_int_eq(check(json), MORTISE_S_OK);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
        ck_assert_msg(t1.tv_sec - t0.tv_sec < 3, "%s", units[i]);
    }
    free(json);
}
END_TEST

/* Each allocation refused: an error or the right verdict, never a pass. */
START_TEST(survives_oom)
{
    static const char json[] = "{\"a\":\"\\n203.0.113.9\",\"b\":\"\\nx@y.de\"}";

    if (!oom_works())
        return;
    host.around = oom_around;
    for (long n = 0;; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = check(json);
        ck_assert(status != MORTISE_S_OK || violation);
        if (!oom_failed())
            break;
        ck_assert_int_lt(n, 200);
    }
    ck_assert_str_eq(host.out, "{\"a\":\"\\n[ip]\",\"b\":\"\\n[mail]\"}");
    for (long n = 0;; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&host, plugin, "{\"allow\":[\"a\",\"b\"]}");
        if (i != NULL)
            bare_destroy(plugin, i);
        if (!oom_failed())
            break;
        ck_assert_ptr_null(i);
        ck_assert_int_lt(n, 200);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_pii");
    TCase *tc = tcase_create("pii");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, masks_have_styles);
    tcase_add_test(tc, only_what_is_asked_for);
    tcase_add_test(tc, reasons_give_nothing_away);
    tcase_add_test(tc, what_is_allowed_passes);
    tcase_add_test(tc, overlaps_are_one);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_loop_test(tc, it_is_mostly_right, 0, N_KINDS);
    tcase_add_loop_test(tc, what_is_offered_would_pass, 0, 3);
    tcase_add_test(tc, nothing_makes_it_crawl);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
