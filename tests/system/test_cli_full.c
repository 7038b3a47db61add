/* test_cli_full.c -- a disk that is full, in truth: a small one of its own, in
 * a mount namespace of its own (which takes root), with the store on it.
 *
 * What an effect was asked for and answered is not asked for again, whenever
 * the room ended. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/errand.h"

/* Three effects, one after the other. */
static void put_graph(void)
{
    char text[2048], url[256];

    snprintf(url, sizeof url, "%s", httpd_url(errand_httpd, "/x"));
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: b}\n"
             "  b: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: c}\n"
             "  c: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: END}\n",
             url, url, url);
    errand_put("g.yaml", text);
    httpd_on(errand_httpd, "/x");
    httpd_wait(errand_httpd, 700);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* An effect whose answer is no small commit, beside a call that lasts. */
static void put_two(void)
{
    char text[2048], source[PATH_MAX];

    ck_assert_ptr_nonnull(realpath("tests/plugins/tried.plugin.yaml", source));
    errand_deploy("dev.yaml", "");
    ck_assert_int_eq(
        child_run("mkdir dev && cp %s dev && cp %s dev && "
                  "sed -i 's|^plugins: {|&dev: [./dev], |' dev.yaml",
                  source, child_build("tests/plugins/tried.so")),
        0);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: [a, b]\nnodes:\n"
             "  a: {type: tool, tool: http/request, args: {url: \"%s\", "
             "method: POST}, next: END}\n"
             "  b: {type: tool, tool: tried/nap, args: {ms: 600000}, next: "
             "END}\n",
             httpd_url(errand_httpd, "/big"));
    errand_put("two.yaml", text);
    httpd_on(errand_httpd, "/big");
    httpd_hold(errand_httpd);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n");
    httpd_repeat(errand_httpd, 'x', 65536);
}

/* A shell with the disk at ./disk, and the store on it.  It fills the disk when
 * the file `fill` is there, makes room for `room`, and runs what stands in the
 * files `line.N`; their output goes to out.N and err.N, their code to code.N. */
static const char script[] =
    "mkdir disk && mount -t tmpfs -o size=48m,mode=700 tmpfs disk || exit 9\n"
    "mkdir -m 700 disk/store\n"
    "n=1\n"
    "while :; do\n"
    "  if [ -e fill ]; then\n"
    "    dd if=/dev/zero of=disk/junk bs=4096 2>/dev/null\n"
    "    rm fill; touch full\n"
    "  fi\n"
    "  if [ -e room ]; then rm room disk/junk; touch roomy; fi\n"
    "  if [ -e line.$n ]; then\n"
    "    i=$n; n=$((n + 1))\n"
    "    (sh ./line.$i >out.$i 2>err.$i; echo $? >tmp.$i; mv tmp.$i code.$i)&\n"
    "  fi\n"
    "  sleep 0.02\n"
    "done\n";

static int lines;

static void await_file(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", errand_dir, name);
    for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++)
        usleep(20000);
    ck_assert_msg(access(path, F_OK) == 0, "no %s", name);
}

/* Begin a line in that shell. */
static void begin(const char *line)
{
    char name[32], text[512];

    snprintf(text, sizeof text, "%s %s --store disk/store\n",
             child_build("mortise"), line);
    errand_put("tmp", text);
    snprintf(name, sizeof name, "mv tmp line.%d", ++lines);
    ck_assert_int_eq(child_run("%s", name), 0);
}

/* Wait for the end of the last one: its code. */
static int finish(void)
{
    char name[32];
    int code = -1;

    snprintf(name, sizeof name, "code.%d", lines);
    await_file(name);
    sscanf(errand_file(name), "%d", &code);
    return code;
}

static void says(const char *which, const char *words)
{
    char name[32];

    snprintf(name, sizeof name, "%s.%d", which, lines);
    errand_says(name, words);
}

static void says_not(const char *which, const char *words)
{
    char name[32];
    const char *text;

    snprintf(name, sizeof name, "%s.%d", which, lines);
    text = errand_file(name);
    ck_assert_msg(strstr(text, words) == NULL, "%s", text);
}

static int line(const char *what)
{
    begin(what);
    return finish();
}

/* A disk on which a run's first effect is under way is full from now on. */
static pid_t fill_under_a_run(const char *run)
{
    pid_t shell;

    lines = 0;
    put_graph();
    put_two();
    errand_put("disk.sh", script);
    shell = child_start("shell", "unshare -m sh ./disk.sh");
    begin(run);
    httpd_await(errand_httpd, 1);
    errand_put("fill", "");
    await_file("full");
    return shell;
}

/* Go on; what is in doubt was answered, as the server knows. */
static void go_on_to_the_end(void)
{
    int code = line("resume r");

    ck_assert_msg(code == 0 || code == 5, "%d", code);
    if (code == 5)
        code = line("resolve r --done '{\"status\": 200, \"body\": \"ok\"}' "
                    "$($MORTISE inbox r --ids --store disk/store | cut -d' ' "
                    "-f2)");
    ck_assert_int_eq(code, 0);
    says("out", "run r completed");
}

/* The room ends under a run: it is left in words, with what to do; all that
 * reads works, and a new run is refused; when there is room, the run goes on
 * and completes, with three effects, and a new one begins. */
START_TEST(the_room_ends)
{
    pid_t shell = fill_under_a_run("run g.yaml --id r");

    ck_assert_int_eq(finish(), 1);
    says("err", "disk/store is full: free some space, then resume the runs");
    says("err", "no acknowledged data is lost (E_NO_SPACE)");
    ck_assert_int_eq(line("runs"), 0);
    says("out", "r  ");
    ck_assert_int_eq(line("show r"), 0);
    says("out", "status   interrupted");
    ck_assert_int_eq(line("why r"), 0);
    says("out", " resume --store disk/store r\n");
    ck_assert_int_eq(line("run g.yaml --id s"), 1);
    says("err", "no new run starts until 8 MiB are free");
    says("err", "(E_NO_SPACE)");
    ck_assert_int_eq(line("show s"), 3);
    errand_put("room", "");
    await_file("roomy");
    go_on_to_the_end();
    ck_assert_uint_eq(httpd_requests(errand_httpd), 3);
    ck_assert_int_eq(line("run g.yaml --id s"), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 6);
    child_kill(shell);
}
END_TEST

/* A run that left memory while a call of it was in flight is no other run, for
 * which the command would stay. */
START_TEST(a_lost_run_is_no_other)
{
    pid_t shell = fill_under_a_run("run two.yaml --id r --deployment dev.yaml");

    child_await("out.1", "node_start b");
    httpd_release(errand_httpd);
    ck_assert_int_eq(finish(), 1);
    says("err", "no acknowledged data is lost (E_NO_SPACE)");
    says_not("err", "at work here");
    child_kill(shell);
}
END_TEST

/* What the store keeps back is enough to go on, without any room made. */
START_TEST(what_is_kept_back)
{
    pid_t shell = fill_under_a_run("run g.yaml --id r");

    ck_assert_int_eq(finish(), 1);
    go_on_to_the_end();
    ck_assert_uint_eq(httpd_requests(errand_httpd), 3);
    child_kill(shell);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_full");
    TCase *tc = tcase_create("full");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 120);
    /* Where that is not allowed test_api.c alone says it. */
    if (system("unshare -m true 2>/dev/null") == 0) {
        tcase_add_test(tc, the_room_ends);
        tcase_add_test(tc, a_lost_run_is_no_other);
        tcase_add_test(tc, what_is_kept_back);
    }
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
