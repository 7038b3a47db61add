/* finding.c -- see finding.h. */
#include "lib/finding.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/corpus.h"
#include "lib/oom.h"
#include "lib/test.h"

struct mortise_host finding_host;
char *finding_reason;
bool finding_violation;

static const mortise_plugin *plugin;
static mortise_inst *inst;

void finding_use(const char *config)
{
    if (inst != NULL)
        bare_destroy(plugin, inst);
    inst = bare_create(&finding_host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", finding_host.msg);
}

void finding_begin(const char *name)
{
    plugin = bare_plugin(name);
    test_begin();
    bare_init(&finding_host);
    inst = NULL;
    finding_reason = NULL;
    finding_use("{}");
}

void finding_end(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&finding_host);
    free(finding_reason);
    test_nothing_left();
}

mortise_status finding_check(const char *json)
{
    free(finding_reason);
    return bare_check(&finding_host, plugin, inst,
                      &(struct bare_call){.body = json}, &finding_violation,
                      &finding_reason);
}

void finding_passes(const char *json)
{
    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    ck_assert_msg(!finding_violation, "%s: %s", json, finding_reason);
    ck_assert_int_eq(finding_host.emits, 0);
}

void finding_masks(const char *json, const char *want)
{
    char *masked;

    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    ck_assert_msg(finding_violation, "%s", json);
    ck_assert_msg(finding_host.out != NULL, "%s: %s", json, finding_reason);
    ck_assert_str_eq(finding_host.out, want);
    masked = strdup(finding_host.out);
    finding_passes(masked);
    free(masked);
}

void finding_refuses(const char *config, const char *words)
{
    ck_assert_ptr_null(bare_create(&finding_host, plugin, config));
    ck_assert_msg(strstr(finding_host.msg, words) != NULL, "%s: %s", config,
                  finding_host.msg);
    ck_assert_str_eq(finding_host.code, "invalid");
}

/* ---- how often it is right ---------------------------------------------- */

/* A text of `n` bytes through the guardrail; malloc()ed. */
static char *masked_text(const char *text, size_t n)
{
    char *json = bare_quote(text, n), *out;

    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    free(json);
    if (!finding_violation)
        return strndup(text, n);
    ck_assert_ptr_nonnull(finding_host.out);
    /* in quotes, and nothing in it is escaped but these two */
    out = calloc(1, finding_host.n_out);
    for (size_t i = 1, o = 0; i + 1 < finding_host.n_out; i++)
        out[o++] = finding_host.out[i] == '\\' ? finding_host.out[++i]
                                               : finding_host.out[i];
    return out;
}

static void judge_line(const char *kind, const char *line, size_t n,
                       struct corpus_count *c)
{
    signed char *marks;
    char *text = corpus_line(line, n, kind, &marks);
    char *got = masked_text(text, strlen(text));
    const struct corpus_count was = *c;

    corpus_judge(text, marks, got, c);
    if (getenv("MORTISE_CORPUS") != NULL &&
        (c->missed > was.missed || c->wrong > was.wrong))
        fprintf(stderr, "%s: %s\n    %s\n", kind, text, got);
    free(text);
    free(marks);
    free(got);
}

void finding_is_right(const char *kind, const char *file, double least)
{
    struct corpus_count c = {0};
    size_t n;
    char *text = test_read(file, &n), config[64];

    snprintf(config, sizeof config, "{\"kinds\":[\"%s\"],\"mask\":\"stars\"}",
             kind);
    finding_use(config);
    for (char *p = text, *next; p < text + n; p = next + 1) {
        next = memchr(p, '\n', (size_t)(text + n - p));
        ck_assert_ptr_nonnull(next);
        if (*p != '#')
            judge_line(kind, p, (size_t)(next - p), &c);
    }
    free(text);
    if (getenv("MORTISE_CORPUS") != NULL)
        fprintf(stderr, "%s: %u right, %u missed, %u wrong\n", kind, c.right,
                c.missed, c.wrong);
    ck_assert_uint_ge(c.right, 4);
    ck_assert_msg(corpus_precision(&c) >= least && corpus_recall(&c) >= least,
                  "%s: %u right, %u missed, %u wrong", kind, c.right, c.missed,
                  c.wrong);
}

/* ---- anything ------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void offer_passes(const char *json)
{
    char *again;

    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    if (!finding_violation)
        return;
    ck_assert_ptr_nonnull(finding_host.out);
    again = strdup(finding_host.out);
    ck_assert_int_eq(finding_check(again), MORTISE_S_OK);
    ck_assert_msg(!finding_violation, "%s became %s: %s", json, again,
                  finding_reason);
    free(again);
}

void finding_offers_pass(const char *const *pieces)
{
    static const char *const styles[] = {"{}", "{\"mask\":\"stars\"}",
                                         "{\"mask\":\"partial\"}"};
    uint32_t seed = 7, n_pieces = 0;

    while (pieces[n_pieces] != NULL)
        n_pieces++;
    for (size_t style = 0; style < 3; style++) {
        finding_use(styles[style]);
        for (int round = 0; round < 10000; round++) {
            char text[2048] = "", *json;

            for (uint32_t n = next_random(&seed) % 14; n > 0; n--)
                strcat(text, pieces[next_random(&seed) % n_pieces]);
            json = bare_quote(text, strlen(text));
            offer_passes(json);
            free(json);
        }
    }
}

void finding_does_not_crawl(const char *const *units)
{
    const size_t n = 1000000;
    char *json = malloc(n + 256);

    for (; *units != NULL; units++) {
        struct timespec t0, t1;
        char *p = json;

        *p++ = '"';
        while (p < json + n)
            p = stpcpy(p, *units);
        strcpy(p, "\"");
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
        ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
        ck_assert_msg(t1.tv_sec - t0.tv_sec < 3, "%s", *units);
    }
    free(json);
}

void finding_survives_oom(const char *json, const char *want,
                          const char *config)
{
    if (!oom_works())
        return;
    finding_host.around = oom_around;
    for (long n = 0;; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = finding_check(json);
        ck_assert(status != MORTISE_S_OK || finding_violation);
        if (!oom_failed())
            break;
        ck_assert_int_lt(n, 200);
    }
    ck_assert_str_eq(finding_host.out, want);
    for (long n = 0;; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&finding_host, plugin, config);
        if (i != NULL)
            bare_destroy(plugin, i);
        if (!oom_failed())
            break;
        ck_assert_ptr_null(i);
        ck_assert_int_lt(n, 200);
    }
}
