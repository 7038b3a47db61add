/* finding.c -- see finding.h. */
#include "lib/finding.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void *nothing(void *ud)
{
    return ud;
}

void finding_begin_with(const char *name, const char *config)
{
    pthread_t t;

    plugin = bare_plugin(name);
    /* the thread sanitizer has a thread of its own, from the first one on */
    ck_assert_int_eq(pthread_create(&t, NULL, nothing, NULL), 0);
    pthread_join(t, NULL);
    test_begin();
    bare_init(&finding_host);
    inst = NULL;
    finding_reason = NULL;
    finding_use(config);
}

void finding_begin(const char *name)
{
    finding_begin_with(name, "{}");
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
        fprintf(stderr, "%s: %s\n    %s\n", kind != NULL ? kind : "any", text,
                got);
    free(text);
    free(marks);
    free(got);
}

struct corpus_count finding_counts(const char *kind, const char *file)
{
    struct corpus_count c = {0};
    size_t n;
    char *text = test_read(file, &n), config[64] = "{\"mask\":\"stars\"}";

    if (kind != NULL)
        snprintf(config, sizeof config,
                 "{\"kinds\":[\"%s\"],\"mask\":\"stars\"}", kind);
    finding_use(config);
    for (char *p = text, *next; p < text + n; p = next + 1) {
        next = memchr(p, '\n', (size_t)(text + n - p));
        ck_assert_ptr_nonnull(next);
        if (*p != '#')
            judge_line(kind, p, (size_t)(next - p), &c);
    }
    free(text);
    if (getenv("MORTISE_CORPUS") != NULL)
        fprintf(stderr, "%s, %s: %u right, %u missed, %u wrong\n", file,
                kind != NULL ? kind : "all kinds", c.right, c.missed, c.wrong);
    return c;
}

void finding_is_right(const char *kind, const char *file, double least)
{
    const struct corpus_count c = finding_counts(kind, file);

    ck_assert_uint_ge(c.right, 4);
    ck_assert_msg(corpus_precision(&c) >= least && corpus_recall(&c) >= least,
                  "%s: %u right, %u missed, %u wrong", kind, c.right, c.missed,
                  c.wrong);
}

struct corpus_count finding_judges(const char *file)
{
    struct corpus_count c = {0};
    size_t n;
    char *text = test_read(file, &n), *json = malloc(n + 3);

    for (char *p = text, *next; p < text + n; p = next + 1) {
        next = memchr(p, '\n', (size_t)(text + n - p));
        ck_assert_ptr_nonnull(next);
        if (*p == '#')
            continue;
        ck_assert(*p == '+' || *p == '-');
        sprintf(json, "\"%.*s\"", (int)(next - p - 2), p + 2);
        ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
        c.right += *p == '+' && finding_violation;
        c.missed += *p == '+' && !finding_violation;
        c.wrong += *p == '-' && finding_violation;
        if (getenv("MORTISE_CORPUS") != NULL &&
            (*p == '+') != finding_violation)
            fprintf(stderr, "%.*s\n    %s\n", (int)(next - p), p,
                    finding_reason);
    }
    free(json);
    free(text);
    return c;
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

/* Each of many random texts of these pieces, to whoever wants it. */
static void random_texts(const char *const *pieces, const char *config,
                         void (*each)(const char *json))
{
    uint32_t seed = 7, n_pieces = 0;

    while (pieces[n_pieces] != NULL)
        n_pieces++;
    finding_use(config);
    for (int round = 0; round < 10000; round++) {
        char text[2048] = "", *json;

        for (uint32_t n = next_random(&seed) % 14; n > 0; n--)
            strcat(text, pieces[next_random(&seed) % n_pieces]);
        json = bare_quote(text, strlen(text));
        each(json);
        free(json);
    }
}

void finding_offers_of(const char *const *pieces, const char *config)
{
    random_texts(pieces, config, offer_passes);
}

static void is_judged(const char *json)
{
    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    ck_assert_int_eq(finding_violation, finding_reason[0] != '\0');
}

void finding_verdicts_of(const char *const *pieces, const char *config)
{
    random_texts(pieces, config, is_judged);
}

void finding_offers_pass(const char *const *pieces)
{
    static const char *const styles[] = {"{}", "{\"mask\":\"stars\"}",
                                         "{\"mask\":\"partial\"}"};

    for (size_t style = 0; style < 3; style++)
        finding_offers_of(pieces, styles[style]);
}

/* Processor seconds for a text of so many bytes that says the unit again and
 * again. */
static double seconds_of(const char *unit, size_t n)
{
    char *json = malloc(n + strlen(unit) + 3), *p = json;
    struct timespec t0, t1;

    ck_assert_ptr_nonnull(json);
    *p++ = '"';
    while (p < json + n)
        p = stpcpy(p, unit);
    strcpy(p, "\"");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    free(json);
    return (double)(t1.tv_sec - t0.tv_sec) +
           (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
}

/* Sixteen times the text takes some sixteen times as long, whatever watches the
 * program, unless something else came over it, each time; what looks from each
 * place to the end takes 256 times. */
void finding_does_not_crawl(const char *const *units)
{
    const size_t n = 16000;

    for (; *units != NULL; units++) {
        double few = seconds_of(*units, n), many = seconds_of(*units, 16 * n);

        for (int i = 0; i < 3 && many >= 64 * few + 0.05; i++)
            many = seconds_of(*units, 16 * n);
        ck_assert_msg(many < 64 * few + 0.05, "%s: %g s and %g s", *units, few,
                      many);
    }
}

static void creates_in_oom(const char *config)
{
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

/* `errs`: there is nothing that it can say of a payload then. */
static void survives_oom(const char *json, const char *config, bool errs)
{
    if (!oom_works())
        return;
    finding_host.around = oom_around;
    for (long n = 0;; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = finding_check(json);
        ck_assert(status == MORTISE_S_NOMEM ||
                  (errs ? !oom_failed() : finding_violation));
        if (!oom_failed())
            break;
        ck_assert_int_lt(n, 200);
    }
    creates_in_oom(config);
}

void finding_survives_oom_of(const char *json, const char *config)
{
    survives_oom(json, config, false);
}

void finding_errs_in_oom(const char *json, const char *config)
{
    survives_oom(json, config, true);
}

void finding_survives_oom(const char *json, const char *want,
                          const char *config)
{
    ck_assert_int_eq(finding_check(json), MORTISE_S_OK);
    ck_assert_str_eq(finding_host.out, want);
    survives_oom(json, config, false);
}
