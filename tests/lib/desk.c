/* desk.c -- a place to use the command line in. */
#include "lib/desk.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char desk_plugins[4096], desk_dir[4096];
static char *state_home; /* of the other tests, while one has its own */

void desk_sign_one(const char *manifest, const char *module)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath(manifest, source));
    desk_ok("$MORTISE plugin sign %s %s --key k.key --out plugins", source,
            child_build(module));
}

void desk_sign_ours(const char *name)
{
    char manifest[256], module[256];

    snprintf(manifest, sizeof manifest, "tests/plugins/%s.plugin.yaml", name);
    snprintf(module, sizeof module, "tests/plugins/%s.so", name);
    desk_sign_one(manifest, module);
}

void desk_sign(void)
{
    strcpy(desk_plugins, test_mkdir());
    child_dir(desk_plugins);
    desk_ok("$MORTISE key new k -W");
    desk_sign_ours("tried");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --plugins tried "
            "--in-process");
}

void desk_unsign(void)
{
    test_rmdir(desk_plugins);
}

void desk_put(const char *name, const char *text)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", desk_dir, name);
    test_write(path, text, strlen(text));
}

void desk_graph(const char *name, const char *body)
{
    char file[64], text[16384];

    snprintf(file, sizeof file, "%s.yaml", name);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: %s, version: 1.0.0}\n%s",
             name, body);
    desk_put(file, text);
}

void desk_approve_plan(const char *run)
{
    child_run("$MORTISE inbox %s --json", run);
    desk_out("\"plan\"");
    child_run("$MORTISE approve %s $($MORTISE inbox %s --ids | cut -d' ' -f2)",
              run, run);
    desk_code(4);
}

void desk_deploy(const char *more)
{
    char text[16384];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: {path: [%s/plugins]}\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state}\n"
             "%s\n",
             desk_plugins, desk_plugins, more);
    desk_put("mortise.yaml", text);
}

void desk_begin(void)
{
    strcpy(desk_dir, test_mkdir());
    child_dir(desk_dir);
    desk_deploy("");
}

void desk_own_home(void)
{
    char home[sizeof desk_dir + 8];

    desk_ok("mkdir home && cp -r \"$XDG_STATE_HOME\"/. home");
    snprintf(home, sizeof home, "%s/home", desk_dir);
    state_home = strdup(getenv("XDG_STATE_HOME"));
    setenv("XDG_STATE_HOME", home, 1);
}

void desk_end(void)
{
    if (state_home != NULL)
        setenv("XDG_STATE_HOME", state_home, 1);
    free(state_home);
    state_home = NULL;
    test_rmdir(desk_dir);
}

void desk_admit(const char *graph, const char *node, const char *id,
                const char *input)
{
    desk_ok("sed -i '1s/^/interrupt_before: [%s]\\n/' %s", node, graph);
    child_run("$MORTISE run %s --id %s --input '%s'", graph, id, input);
    desk_code(4);
}

unsigned desk_entrances(void)
{
    char path[8192], *text;
    unsigned n = 0;

    snprintf(path, sizeof path, "%s/entered", desk_dir);
    text = test_read(path, NULL);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    free(text);
    return n;
}

void desk_until(const char *text, const char *fmt, ...)
{
    char line[8192];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (int i = 0; i < 600; i++) {
        child_run("%s", line);
        if (strstr(child.out, text) != NULL)
            return;
        usleep(100000);
    }
    desk_out(text);
}

const char *desk_line(const char *in, const char *begins)
{
    static char out[1024];
    const char *at = strstr(in, begins);

    ck_assert_msg(at != NULL, "no '%s' in:\n%s", begins, in);
    snprintf(out, sizeof out, "%.*s", (int)strcspn(at, "\n"), at);
    return out;
}

struct reader_store *desk_store(void)
{
    static struct reader_store r;
    char path[8192];

    snprintf(path, sizeof path, "%s/state", desk_dir);
    ck_assert_msg(store_reader_read(&r, path) == 0, "%s", r.why);
    return &r;
}

/* Programs have the file mapped and read it at any moment: it is written over, and
 * never shorter than it is (to read behind the end of a mapped file is SIGBUS). */
void desk_set_clock(long long ms)
{
    int64_t shift = ms;
    char path[8192];
    int fd;

    snprintf(path, sizeof path, "%s/clock", desk_dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, &shift, sizeof shift, 0), sizeof shift);
    ck_assert_int_eq(close(fd), 0);
}
