/* table.c -- clocks, failing, and the lines of the table. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double bench_cpu(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* ---- failing ----------------------------------------------------------- */

void bench_die(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("bench: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void bench_must(int rv, const struct mortise_err *err, const char *doing)
{
    if (rv < 0)
        bench_die("%s: %s: %s", doing, mortise_result_name(rv),
                  err != NULL ? err->msg : "");
}

/* ---- lines ------------------------------------------------------------- */

enum { AMOUNT = 24 };

/* Three digits that matter, and a unit that suits them. */
static const char *amount(char out[AMOUNT], enum bench_unit unit, double v)
{
    static const char *const names[][4] = {{"ns", "us", "ms", "s"},
                                           {"B", "KiB", "MiB", "GiB"},
                                           {"", "k", "M", "G"}};
    double step = unit == BENCH_BYTES ? 1024 : 1000;
    int i = 0;

    if (unit == BENCH_SECONDS)
        v *= 1e9;
    for (; i < 3 && v >= step * 0.9995; i++)
        v /= step;
    snprintf(out, AMOUNT, "%.*f %s",
             v < 10    ? 2
             : v < 100 ? 1
                       : 0,
             v, names[unit][i]);
    return out;
}

static void aim(char out[2 * AMOUNT], const struct bench_row *r)
{
    char text[AMOUNT];

    out[0] = '\0';
    if (r->times > 0)
        snprintf(out, 2 * AMOUNT, "<= %.4g x", r->times);
    else if (r->at_most > 0)
        snprintf(out, 2 * AMOUNT, "<= %s", amount(text, r->unit, r->at_most));
}

static const char *verdict(const struct bench_row *r)
{
    if (r->times > 0)
        return r->measured <= r->times * r->reference ? "ok" : "OVER";
    if (r->at_most > 0)
        return r->measured <= r->at_most ? "ok" : "OVER";
    return "";
}

static void print(const char *what, const char *measured, const char *reference,
                  const char *ratio, const char *aimed, const char *said)
{
    printf("%-54s %9s  %-34s %9s  %-10s %s\n", what, measured, reference, ratio,
           aimed, said);
}

void bench_head(void)
{
    putchar('\n');
    print("what", "measured", "reference", "ratio", "aim", "");
}

void bench_section(const char *title)
{
    printf("\n-- %s\n", title);
}

void bench_row(const struct bench_row *r)
{
    char measured[AMOUNT], reference[AMOUNT] = "", ratio[AMOUNT] = "",
                           aimed[2 * AMOUNT], against[80] = "";

    amount(measured, r->unit, r->measured);
    if (r->reference > 0) {
        double q = r->measured / r->reference;

        amount(reference, r->unit, r->reference);
        snprintf(against, sizeof against, "%9s %s", reference, r->against);
        snprintf(ratio, sizeof ratio, "%.*f x",
                 q < 10    ? 2
                 : q < 100 ? 1
                           : 0,
                 q);
    }
    aim(aimed, r);
    print(r->what, measured, against, ratio, aimed, verdict(r));
}

void bench_note(const char *fmt, ...)
{
    va_list ap;

    fputs("   ", stdout);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}
