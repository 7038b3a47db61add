/* errand.c -- a place to use the command line in, with a server to send
 * requests to. */
#include "lib/errand.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct httpd *errand_httpd;
char errand_dir[PATH_MAX - 64];

void errand_put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", errand_dir, name);
    test_write(path, text, strlen(text));
}

void errand_deploy(const char *name, const char *more)
{
    char text[2 * PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {config: {http: {allow: [\"%s\"]}}}\n"
             "store: {path: ./store}\n%s",
             httpd_url(errand_httpd, ""), more);
    errand_put(name, text);
}

void errand_begin(void)
{
    snprintf(errand_dir, sizeof errand_dir, "%s", test_mkdir());
    child_dir(errand_dir);
    errand_httpd = httpd_start();
    errand_deploy("mortise.yaml", "");
}

void errand_end(void)
{
    httpd_stop(errand_httpd);
    test_rmdir(errand_dir);
}

const char *errand_file(const char *name)
{
    static char text[1 << 16];
    char path[PATH_MAX], *p;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", errand_dir, name);
    p = test_read(path, &n);
    snprintf(text, sizeof text, "%s", p);
    free(p);
    return text;
}

void errand_says(const char *name, const char *words)
{
    const char *text = errand_file(name);

    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in %s:\n%s", words,
                  name, text);
}

int errand_mortise(const char *what)
{
    return child_run("%s %s", child_build("mortise"), what);
}

pid_t errand_engine(const char *name)
{
    char err[64];
    pid_t pid = child_start(name, "%s engine", child_build("mortise"));

    snprintf(err, sizeof err, "%s.err", name);
    child_await(err, "holding the store");
    return pid;
}

void errand_stop(pid_t engine)
{
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
