/* test_cli_start.c -- what a command reads before it does anything: of plugins,
 * the manifests of those that it uses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/desk.h"

/* A completed run, in a deployment with a trust directory of its own. */
static void begin(void)
{
    char text[16384];

    desk_begin();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: {path: [./plugins]}\n"
             "trust: {dir: ./trust.d}\n"
             "store: {path: ./state}\n");
    desk_put("mortise.yaml", text);
    desk_ok("cp -r %s/trust.d trust.d && chmod -R go-w trust.d", desk_plugins);
    desk_ok("mkdir plugins && cp %s/plugins/tried.* plugins/", desk_plugins);
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, "
                    "args: {value: 1}, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
}

/* A trust file with an error stops whoever uses a plugin; one who reads what was
 * recorded needs none. */
START_TEST(reading_needs_no_trust)
{
    static const char *const reading[] = {
        "version", "--help",    "runs",  "inbox",
        "show r",  "history r", "why r", "events r",
    };

    desk_put("trust.d/wrong.yaml", "kind: Nothing\n");
    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++)
        desk_ok("$MORTISE %s", reading[i]);
    child_run("$MORTISE run g.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_err("trust.d/wrong.yaml");
}
END_TEST

/* A broken manifest of a plugin that a graph does not use concerns neither its
 * run nor who reads about it. */
START_TEST(a_manifest_that_is_not_used_is_not_read)
{
    desk_put("plugins/other.plugin.yaml", "kind: [\n");
    desk_ok("$MORTISE run g.yaml");
    child_run("$MORTISE plugin verify other");
    ck_assert_int_ne(child.code, 0);
    desk_err("other.plugin.yaml");
    desk_ok("$MORTISE plugin list");
    desk_out("other.plugin.yaml");
}
END_TEST

static void watch(int fd, const char *name)
{
    char path[sizeof desk_dir + 16];

    snprintf(path, sizeof path, "%s/%s", desk_dir, name);
    ck_assert_int_ge(inotify_add_watch(fd, path, IN_OPEN | IN_ACCESS), 0);
}

/* How often a file of the plugins or of trust is opened or read while the command
 * runs.  The directories are listed anyway, to see who may write in them. */
static unsigned reads_of(const char *command)
{
    char events[16384];
    unsigned reads = 0;
    ssize_t n;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    watch(fd, "plugins");
    watch(fd, "trust.d");
    desk_ok("$MORTISE %s", command);
    while ((n = read(fd, events, sizeof events)) > 0)
        for (char *at = events; at < events + n;) {
            struct inotify_event e;

            memcpy(&e, at, sizeof e);
            at += sizeof e + e.len;
            reads += (e.mask & IN_ISDIR) == 0;
        }
    close(fd);
    return reads;
}

/* A run that is over is shown without a look at any plugin. */
START_TEST(a_run_that_is_over_needs_no_plugin)
{
    static const char *const reading[] = {
        "version", "--help", "show --help",   "runs",
        "inbox",   "show r", "show r --json", "history r"};

    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++)
        ck_assert_msg(reads_of(reading[i]) == 0, "%s", reading[i]);
    ck_assert_uint_gt(reads_of("run g.yaml"), 0);
}
END_TEST

/* What a run spent depends on what its operations declare: their manifests are
 * read, and what was shown of it while it ran is shown again. */
START_TEST(a_budget_is_shown_with_plugins)
{
    desk_graph("b", "budget: {tool_calls: 3}\nstart: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, "
                    "args: {value: 1}, next: END}\n");
    desk_ok("$MORTISE run b.yaml --id b");
    ck_assert_uint_gt(reads_of("show b --json"), 0);
    desk_out("\"tool_calls\"");
    ck_assert_uint_gt(reads_of("history b"), 0);
    desk_out("done a");
    desk_ok("rm plugins/tried.*");
    desk_ok("$MORTISE show b --json");
    desk_out("\"tool_calls\"");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_start");
    TCase *tc = tcase_create("start");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_add_test(tc, reading_needs_no_trust);
    tcase_add_test(tc, a_manifest_that_is_not_used_is_not_read);
    tcase_add_test(tc, a_run_that_is_over_needs_no_plugin);
    tcase_add_test(tc, a_budget_is_shown_with_plugins);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
