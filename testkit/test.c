/* test.c -- `mortise test`: run the cases of test files.
 *
 * Files that `mortise check` rejects are not run.  Each case is rehearsed in
 * its own process (sandbox.h), and the outcome is compared with its
 * expectations (expect.h).  Each difference is a finding at its place in the
 * test file, like those of `check`.
 *
 * With --crash-everywhere, a case that passes is run again twice for each of
 * its commits: killed right before the commit is written, and right after it
 * is on disk, before any effect of it.  A new process resumes the run, and the
 * result must be the same.  Only the first crash with a different result is
 * reported.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/nearest.h"
#include "testkit/cases/casefile.h"
#include "cli/cli.h"
#include "testkit/coverage.h"
#include "testkit/expect.h"
#include "testkit/junit.h"
#include "testkit/sandbox.h"
#include "cli/stop.h"

struct test_session {
    struct mortise_cli *cli;
    const char *path;
    struct mortise_casefile *file;
    json_t *report; /* for --json, --junit: {cases, passed, failed} */
    size_t passed, failed;
    json_t *others; /* names of the cases that --filter excluded */
    struct mortise_coverage coverage;
    struct mortise_graph_coverage
        *covered; /* of the file; NULL: no --coverage */
};

/* ---- reporting --------------------------------------------------------- */

static void print_case_result(struct test_session *t,
                              const struct mortise_case *c,
                              struct mortise_diags *d, uint64_t crashes)
{
    struct mortise_out *o = &t->cli->out;
    struct mortise_buf b;

    mortise_out_set_style(o, d->n_errors == 0 ? MORTISE_GOOD : MORTISE_BAD);
    mortise_out_puts(o, d->n_errors == 0 ? "ok    " : "FAIL  ");
    mortise_out_set_style(o, MORTISE_PLAIN);
    mortise_out_print_escaped(o, "%s: %s", t->path, c->name->str);
    if (crashes > 0)
        mortise_out_printf(o, " (%llu crashes)", (unsigned long long)crashes);
    mortise_out_puts(o, "\n");
    if (d->n_errors > 0) {
        mortise_buf_init(&b, t->cli->mem);
        mortise_diags_format(d, &b);
        if (mortise_buf_cstr(&b) != NULL)
            mortise_out_put_text(o, b.p, 6);
        mortise_buf_finish(&b);
    }
    mortise_out_flush(o);
}

static json_t *make_case_findings_json(struct test_session *t,
                                       struct mortise_diags *d)
{
    struct mortise_buf b;
    json_t *v, *list;

    mortise_buf_init(&b, t->cli->mem);
    mortise_diags_json(d, &b);
    mortise_json_parse_written(&v, b.p, b.n, NULL);
    list = json_incref(json_object_get(v, "findings"));
    json_decref(v);
    mortise_buf_finish(&b);
    return list;
}

/* The run itself is large, so only --json includes it.  The duration varies,
 * so only --junit includes it. */
static void report(struct test_session *t, const struct mortise_case *c,
                   struct mortise_diags *d, uint64_t crashes, uint64_t ms,
                   const json_t *outcome)
{
    const json_t *run = t->cli->args.json ? outcome : NULL;
    json_t *took =
        t->cli->args.junit != NULL ? json_integer((json_int_t)ms) : NULL;
    json_t *one = json_pack(
        "{s:s, s:s, s:b, s:I, s:o*, s:o*, s:O*, s:O*}", "file", t->path, "case",
        c->name->str, "ok", d->n_errors == 0, "crashes", (json_int_t)crashes,
        "ms", took, "findings", make_case_findings_json(t, d), "show",
        json_object_get(run, "show"), "events", json_object_get(run, "events"));

    if (one == NULL ||
        json_array_append_new(json_object_get(t->report, "cases"), one) != 0)
        t->cli->out.errnum = ENOMEM;
}

/* ---- crashes ------------------------------------------------------------- */

/* Crash at that commit, resume, and compare. */
static int run_case_with_crash(const struct mortise_case *c,
                               struct mortise_rehearsal *r, const json_t *plain,
                               struct mortise_diags *d, uint64_t *n,
                               struct mortise_err *err)
{
    char where[96];
    json_t *out;
    bool died;
    int rv = mortise_sandbox_rehearse(r, &out, &died, err);

    if (rv != MORTISE_OK)
        return rv;
    snprintf(where, sizeof where, "%s commit %llu %s",
             r->die_after ? "when" : "before", (unsigned long long)r->die_at,
             r->die_after ? "was on disk" : "was written");
    *n += died;
    mortise_expect_report_problems(c, out, where, d);
    if (d->n_errors == 0 && !json_is_true(json_object_get(out, "failed_doubt")))
        mortise_expect_check_same(c, plain, out, where, d);
    json_decref(out);
    return MORTISE_OK;
}

static int crash_everywhere(const struct mortise_case *c,
                            struct mortise_rehearsal *r, const json_t *plain,
                            struct mortise_diags *d, uint64_t *n,
                            struct mortise_err *err)
{
    uint64_t last = mortise_cli_get_integer(plain, "commits");
    int rv = MORTISE_OK;

    for (uint64_t i = 0; i < 2 * last && rv == MORTISE_OK; i++) {
        if (d->n_errors > 0 || mortise_stop_has_signal())
            break;
        r->die_at = i / 2 + 1;
        r->die_after = i % 2 != 0;
        rv = run_case_with_crash(c, r, plain, d, n, err);
    }
    return rv;
}

/* ---- a case -------------------------------------------------------------- */

static int run_case(struct test_session *t, const struct mortise_case *c,
                    struct mortise_diags *d, struct mortise_err *err)
{
    struct mortise_rehearsal r = {.mem = t->cli->mem,
                                  .file = t->file,
                                  .one = c,
                                  .deployment = t->cli->deployment,
                                  .found = t->cli->found};
    json_t *plain;
    uint64_t crashes = 0, began = mortise_mono_ms();
    bool died;
    int rv = mortise_sandbox_rehearse(&r, &plain, &died, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_expect_check(c, plain, d);
    if (d->n_errors == 0 && t->cli->args.crash_everywhere)
        rv = crash_everywhere(c, &r, plain, d, &crashes, err);
    if (rv == MORTISE_OK && d->failed)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && t->covered != NULL)
        rv = mortise_coverage_add(t->covered, json_object_get(plain, "show"),
                                  err);
    if (rv == MORTISE_OK && t->report != NULL)
        report(t, c, d, crashes, mortise_mono_ms() - began, plain);
    if (rv == MORTISE_OK && !t->cli->args.json)
        print_case_result(t, c, d, crashes);
    json_decref(plain);
    return rv;
}

static int run_cases(struct test_session *t, struct mortise_err *err)
{
    const char *filter = t->cli->args.filter;
    int rv = MORTISE_OK;

    for (size_t i = 0; i < t->file->n_cases && rv == MORTISE_OK; i++) {
        const struct mortise_case *c = &t->file->cases[i];
        struct mortise_diags d;

        if (filter != NULL && strstr(c->name->str, filter) == NULL) {
            if (json_array_append_new(t->others, json_string(c->name->str)))
                return mortise_nomem(err);
            continue;
        }
        if (mortise_stop_has_signal())
            return mortise_fail(err, MORTISE_ESTATE, "interrupted");
        mortise_diags_init(&d, t->cli->mem);
        rv = run_case(t, c, &d, err);
        t->passed += rv == MORTISE_OK && d.n_errors == 0;
        t->failed += rv == MORTISE_OK && d.n_errors > 0;
        mortise_diags_finish(&d);
        if (rv != MORTISE_OK)
            mortise_err_prefix(err, rv, "%s: %s", t->path, c->name->str);
    }
    return rv;
}

/* ---- files --------------------------------------------------------------- */

/* Find the deployment as `mortise check` does, and the coverage of the
 * graph. */
static int find_deployment_for_file(struct test_session *t,
                                    struct mortise_err *err)
{
    int rv;

    t->cli->cases = t->file->deployment;
    t->covered = NULL;
    rv = mortise_cli_find_deployment(t->cli, t->file->graph, err);
    if (rv == MORTISE_OK && t->cli->args.coverage)
        rv = mortise_coverage_get(&t->coverage, t->file->graph, &t->covered,
                                  err);
    t->cli->cases = NULL;
    return rv;
}

static int run_test_file(struct test_session *t, struct mortise_err *err)
{
    struct mortise_diags d;
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(t->cli, t->path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&d, t->cli->mem);
    rv = mortise_casefile_read(&t->file, t->cli->mem, t->path, text, n, &d);
    mortise_release(t->cli->mem, text, n + 1);
    mortise_cli_print_findings(t->cli, &d);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOMEM
                   ? mortise_nomem(err)
                   : mortise_fail(err, rv, "%s is not a valid test file",
                                  t->path);
    rv = find_deployment_for_file(t, err);
    if (rv == MORTISE_OK)
        rv = run_cases(t, err);
    mortise_casefile_free(t->file);
    return rv;
}

/* Do not run invalid files.  Warnings are left to `mortise check`. */
static int check_test_files(struct mortise_cli *cli)
{
    struct mortise_diags d;
    int code;

    mortise_diags_init(&d, cli->mem);
    code = mortise_cli_check_operands(cli, &d);
    if (code != MORTISE_EXIT_OK)
        mortise_cli_print_findings(cli, &d);
    mortise_diags_finish(&d);
    return code;
}

static void put_report_member(struct test_session *t, const char *name,
                              json_t *value)
{
    if (json_object_set_new(t->report, name, value) != 0)
        t->cli->out.errnum = ENOMEM;
}

static void print_json_report(struct test_session *t)
{
    put_report_member(t, "passed", json_integer((json_int_t)t->passed));
    put_report_member(t, "failed", json_integer((json_int_t)t->failed));
    if (t->cli->args.coverage)
        put_report_member(t, "coverage", mortise_coverage_json(&t->coverage));
    mortise_out_put_json(&t->cli->out, t->report, true);
}

static int print_test_summary(struct test_session *t)
{
    if (t->cli->args.json) {
        print_json_report(t);
    } else {
        mortise_out_printf(&t->cli->out, "%zu passed, %zu failed\n", t->passed,
                           t->failed);
        mortise_coverage_print(&t->coverage);
    }
    return t->failed > 0 ? MORTISE_EXIT_FAILED : MORTISE_EXIT_OK;
}

enum { NAMES_MAX = 1000 };

/* A filter that matches no case is an error, not a success. */
static int check_filter_matched(const struct test_session *t,
                                struct mortise_err *err)
{
    const char *names[NAMES_MAX], *filter = t->cli->args.filter, *near;
    size_t n = json_array_size(t->others), k = 0;

    if (filter == NULL || t->passed + t->failed > 0)
        return MORTISE_OK;
    for (; k < n && k < NAMES_MAX; k++)
        names[k] = json_string_value(json_array_get(t->others, k));
    near = mortise_nearest_find(filter, names, k);
    if (near == NULL && k > 0)
        near = names[0];
    return near == NULL ? mortise_fail(err, MORTISE_ENOTFOUND,
                                       "the files have no test cases")
                        : mortise_fail(err, MORTISE_ENOTFOUND,
                                       "no case has '%.100s' in its name; the "
                                       "cases are '%.200s' and %zu more",
                                       filter, near, n - 1);
}

/* ---- --junit ------------------------------------------------------------- */

static int write_junit(struct test_session *t, struct mortise_err *err)
{
    const char *path = t->cli->args.junit;
    struct mortise_buf b;
    int rv;

    if (path == NULL)
        return MORTISE_OK;
    mortise_buf_init(&b, t->cli->mem);
    mortise_junit_write(&b, t->report);
    rv = b.failed ? mortise_nomem(err)
                  : mortise_file_write_output(path, b.p, b.n, 0666, 0, err);
    mortise_buf_finish(&b);
    return rv;
}

/* ---- the command ------------------------------------------------------- */

static int start_test_session(struct test_session *t, struct mortise_err *err)
{
    const struct mortise_args *args = &t->cli->args;
    int rv = mortise_stop_install(err);

    mortise_coverage_init(&t->coverage, t->cli);
    t->others = json_array();
    if (args->json || args->junit != NULL)
        t->report = json_pack("{s:[]}", "cases");
    if (rv == MORTISE_OK &&
        (t->others == NULL ||
         (t->report == NULL && (args->json || args->junit != NULL))))
        rv = mortise_nomem(err);
    /* fail before the tests run if the report cannot be written */
    return rv == MORTISE_OK && args->junit != NULL
               ? mortise_file_check_output(args->junit, err)
               : rv;
}

static void finish_test_session(struct test_session *t)
{
    mortise_coverage_finish(&t->coverage);
    json_decref(t->others);
    json_decref(t->report);
}

static int run_test_files(struct mortise_cli *cli)
{
    struct test_session t = {.cli = cli};
    struct mortise_err err;
    int rv = start_test_session(&t, &err), code;

    for (size_t i = 0; i < cli->args.n_operands && rv == MORTISE_OK; i++) {
        t.path = cli->args.operands[i];
        rv = run_test_file(&t, &err);
    }
    if (rv == MORTISE_OK)
        rv = check_filter_matched(&t, &err);
    if (rv == MORTISE_OK)
        rv = write_junit(&t, &err);
    code =
        rv == MORTISE_OK ? print_test_summary(&t) : mortise_cli_fail(cli, &err);
    finish_test_session(&t);
    return code;
}

static int test(struct mortise_cli *cli, struct mortise_err *err)
{
    int code = mortise_cli_parse_format(cli);

    (void)err; /* run_files() prints it */
    if (code == MORTISE_EXIT_OK)
        code = check_test_files(cli);
    return code == MORTISE_EXIT_OK ? run_test_files(cli) : code;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("filter", "TEXT", filter,
                     "Only run cases whose names contain this text"),
    MORTISE_OPT_FLAG("crash-everywhere", crash_everywhere,
                     "Repeat each case with a crash at each commit, and\n"
                     "compare the results"),
    MORTISE_OPT_FLAG("coverage", coverage,
                     "Report how much of the graphs ran, and which nodes\n"
                     "and edges no case used"),
    MORTISE_OPT_TEXT("junit", "FILE", junit,
                     "Also write a report to this file, as JUnit XML"),
    MORTISE_OPT_TEXT("format", "FORMAT", format,
                     "text or json (default: text)"),
    MORTISE_OPT_JSON("The same as --format json"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_test = {
    .name = "test",
    .operands = "FILE...",
    .summary = "Run the cases of test files with scripted results",
    .text =
        "Each case runs the real graph in a store of its own.  The case\n"
        "defines the results of operations and the decisions of people,\n"
        "and time is set forward, so no case waits.  Operations of class\n"
        "`pure` really run.  A call of another operation fails the case if\n"
        "the case defines no result for it.  mortise-test(5) describes the\n"
        "format.\n"
        "\n"
        "--crash-everywhere repeats each case that passes.  It kills the\n"
        "process immediately before and after each commit, continues in a\n"
        "new process, and compares status, error, state, executions and\n"
        "events.  If a crash makes a run call an effect twice, the effect\n"
        "must be idempotent, or the case must settle the doubt (in_doubt).\n"
        "Otherwise the case fails.  A call that a crash interrupts is\n"
        "charged to the budget.  If a run therefore exceeds its budget,\n"
        "its results are not compared.\n"
        "\n"
        "--coverage lists the nodes that no case ran and the edges that no\n"
        "case took, with their places in the files.\n"
        "\n"
        "The exit code is 0 if all cases pass, and 1 if one fails.  It is\n"
        "2 if `mortise check` rejects a file; in this case no test runs.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise test configs/triage/triage.test.yaml",
    .run = test,
};
