#include "lib/reader.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[PATH_MAX], dir[PATH_MAX];

/* The end of what was printed; a message has not room for more. */
static const char *tail(const char *text)
{
    size_t n = strlen(text);

    return n > 1500 ? text + n - 1500 : text;
}

static void put(const char *name, const char *text, size_t n)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, n);
}

void reader_script(const char *text)
{
    put("script", text, strlen(text));
    child_run("TREE=%s BUILD=%s sh -e script", root, child_build(""));
    ck_assert_msg(child.code == 0, "%s\n%s%s", text, tail(child.out),
                  tail(child.err));
}

/* Both outputs in one: so a terminal shows them. */
static void run_block(const char *block, size_t n)
{
    static const char shell[] =
        ". $1/exported\n"
        "cd \"$(cat $1/where)\"\n"
        "here=$1\n"
        "trap 's=$?; export -p >$here/exported; pwd >$here/where; exit $s' "
        "EXIT\n"
        "exec 2>&1\n"
        "set -e\n"
        ". $here/block\n";

    put("shell", shell, strlen(shell));
    put("block", block, n);
    child_run("env -i sh shell %s", dir);
}

void reader_type(const char *block, size_t n, int code)
{
    run_block(block, n);
    ck_assert_msg(child.code == code, "exit code %d, not %d, of\n%.*s\n%s%s",
                  child.code, code, (int)n, block, tail(child.out),
                  tail(child.err));
}

void reader_saw(const char *text)
{
    ck_assert_msg(strstr(child.out, text) != NULL, "no '%s' in\n%s", text,
                  tail(child.out));
}

/* ---- the machine --------------------------------------------------------- */

/* A copy of what was built, below a tree that leads to this one; and a shell whose
 * compiler and flags are those, so that nothing is made anew but what names places. */
static const char machine[] =
    "mkdir home src built\n"
    "(cd $BUILD && cp -a core lang services server cli testkit tools worker deps.mk places flags lib *.a mortise "
    "mortise-* *.pc keys plugins trust.d man completion $OLDPWD/built)\n"
    "for f in $TREE/*; do ln -s $f src/${f##*/}; done\n"
    "rm -f src/build && ln -s ../built src/build\n"
    "env -i PATH=\"$PATH\" HOME=$PWD/home LANG=C.UTF-8 CC=\"${CC:-cc}\" "
    "CXX=\"${CXX:-c++}\" CFLAGS=\"${CFLAGS:--O2 -g}\" LDFLAGS=\"${LDFLAGS:-}\" "
    "VARIANT=\"${VARIANT:-}\" ASAN_OPTIONS=\"${ASAN_OPTIONS:-}\" "
    "TSAN_OPTIONS=\"${TSAN_OPTIONS:-}\" "
    "RUSTUP_HOME=\"${RUSTUP_HOME:-$HOME/.rustup}\" sh -c 'export -p' "
    ">exported\n"
    "echo $PWD/src >where\n";

static const char no_way_back[] =
    "rm -rf src built\n"
    "sed -i '/^export \\(CC\\|CXX\\|CFLAGS\\|LDFLAGS\\|VARIANT\\)=/d' "
    "exported\n"
    "! grep -q \"$TREE\\|/src\" exported where\n"
    "test \"$(cat where)\" = $PWD/home\n"
    "! find home \\( -name core -o -name lang -o -name tests \\) | grep .\n"
    "cp exported fresh\n";

void reader_begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    strcpy(dir, test_mkdir());
    child_dir(dir);
    child_allows(false);
    reader_script(machine);
}

void reader_leave(void)
{
    reader_script(no_way_back);
}

void reader_end(void)
{
    test_rmdir(dir);
}

void reader_opens(const char *name)
{
    char script[512];

    snprintf(script, sizeof script,
             "rm -rf home/%s && mkdir home/%s\n"
             "cp fresh exported && echo $PWD/home/%s >where\n",
             name, name, name);
    reader_script(script);
}

/* ---- what a block printed -------------------------------------------------- */

/* The end of the line at p, in front of its newline. */
static const char *line_end(const char *p)
{
    return p + strcspn(p, "\n");
}

/* Is `line` what `want` shows, "..." in it being any characters? */
static bool line_fits(const char *want, const char *want_end, const char *line,
                      const char *end)
{
    const char *dots = memmem(want, (size_t)(want_end - want), "...", 3);
    size_t n = (size_t)((dots != NULL ? dots : want_end) - want);

    if ((size_t)(end - line) < n || memcmp(want, line, n) != 0)
        return false;
    if (dots == NULL)
        return end == line + n;
    for (const char *p = line + n; p <= end; p++)
        if (line_fits(dots + 3, want_end, p, end))
            return true;
    return false;
}

static bool is_gap(const char *want, const char *end)
{
    return end - want == 3 && memcmp(want, "...", 3) == 0;
}

/* Do the lines from `want` on begin at `out`? */
static bool fits_here(const char *want, const char *want_end, const char *out)
{
    const char *end;

    if (want >= want_end)
        return true;
    end = line_end(want);
    if (is_gap(want, end)) {
        for (;; out++) {
            if (fits_here(end + 1, want_end, out))
                return true;
            out = line_end(out);
            if (*out == '\0')
                return false;
        }
    }
    return *out != '\0' && line_fits(want, end, out, line_end(out)) &&
           fits_here(end + 1, want_end,
                     line_end(out) + (*line_end(out) == '\n'));
}

/* What it printed contains these lines, beginning with any line of it. */
static void check_output(const char *page, const char *want, size_t n)
{
    const char *out = child.out;

    while (!fits_here(want, want + n, out)) {
        out = line_end(out);
        ck_assert_msg(*out++ != '\0',
                      "%s shows\n%.*s\nbut this was printed:\n%s", page, (int)n,
                      want, tail(child.out));
    }
}

/* Each command of a transcript, and behind it what it printed. */
static void follow_console(const char *page, const char *p, const char *end)
{
    while (p < end) {
        const char *next = p, *command_end;

        ck_assert_msg(strncmp(p, "$ ", 2) == 0, "%s: no command: %.40s", page,
                      p);
        do
            next = line_end(next) + 1;
        while (next < end && next[-2] == '\\');
        command_end = next;
        run_block(p + 2, (size_t)(command_end - p - 2));
        ck_assert_msg(child.code == 0 || child.code == 4,
                      "%s: exit code %d of\n%.*s\n%s", page, child.code,
                      (int)(command_end - p), p, tail(child.out));
        while (next < end && strncmp(next, "$ ", 2) != 0)
            next = line_end(next) + 1;
        check_output(page, command_end, (size_t)(next - command_end));
        p = next;
    }
}

/* ---- blocks ---------------------------------------------------------------- */

/* The value of an attribute in the first line of a block, or "". */
static const char *attribute(const char *info, const char *name)
{
    static char value[256];
    char mark[32];
    const char *end = line_end(info), *at;

    snprintf(mark, sizeof mark, " %s=", name);
    at = memmem(info, (size_t)(end - info), mark, strlen(mark));
    if (at == NULL)
        return "";
    at += strlen(mark);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " \n"), at);
    return value;
}

static bool has_word(const char *info, const char *word)
{
    const char *end = line_end(info),
               *at = memmem(info, (size_t)(end - info), word, strlen(word));

    return at != NULL;
}

/* A file of the directory where the shell is. */
static const char *shell_file(const char *name)
{
    static char path[3 * PATH_MAX];
    char where[2 * PATH_MAX], *text;

    snprintf(where, sizeof where, "%s/where", dir);
    text = test_read(where, NULL);
    snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(text, "\n"), text,
             name);
    free(text);
    return path;
}

static void write_file(const char *name, const char *head, const char *p,
                       size_t n)
{
    size_t before = strlen(head);
    char *whole = malloc(before + n + 1);

    ck_assert_ptr_nonnull(whole);
    memcpy(whole, head, before);
    memcpy(whole + before, p, n);
    test_write(shell_file(name), whole, before + n);
    free(whole);
}

/* A block that is no command; false if nothing says what it is. */
static bool follow_file(const char *page, const char *info, const char *p,
                        size_t n)
{
    char name[256], *text;

    snprintf(name, sizeof name, "%s", attribute(info, "file"));
    if (name[0] != '\0') {
        write_file(name, "", p, n);
        return true;
    }
    snprintf(name, sizeof name, "%s", attribute(info, "append"));
    if (name[0] != '\0') {
        text = test_read(shell_file(name), NULL);
        write_file(name, text, p, n);
        free(text);
        return true;
    }
    snprintf(name, sizeof name, "%s", attribute(info, "try"));
    if (name[0] != '\0') {
        static const char check[] = "mortise check tried.yaml\nrm tried.yaml\n";

        text = test_read(shell_file(name), NULL);
        write_file("tried.yaml", text, p, n);
        free(text);
        reader_type(check, strlen(check), 0);
        return true;
    }
    snprintf(name, sizeof name, "%s", attribute(info, "part"));
    if (name[0] != '\0') {
        text = test_read(shell_file(name), NULL);
        ck_assert_msg(memmem(text, strlen(text), p, n) != NULL,
                      "%s: %s does not contain\n%.*s", page, name, (int)n, p);
        free(text);
        return true;
    }
    return attribute(info, "from")[0] != '\0';
}

static bool is_command(const char *info)
{
    return strncmp(info, "sh", 2) == 0 && strchr(" \n", info[2]) != NULL &&
           attribute(info, "file")[0] == '\0';
}

static void follow_block(const char *page, const char *info, const char *p,
                         size_t n)
{
    if (has_word(info, " tested") || has_word(info, " by-hand"))
        return;
    if (is_command(info))
        reader_type(p, n, atoi(attribute(info, "exit")));
    else if (strncmp(info, "console\n", 8) == 0)
        follow_console(page, p, p + n);
    else if (strncmp(info, "text\n", 5) == 0)
        check_output(page, p, n);
    else
        ck_assert_msg(follow_file(page, info, p, n),
                      "%s: what is to be done with ```%.*s?", page,
                      (int)strcspn(info, "\n"), info);
}

void reader_follow(const char *page, const char *section)
{
    char path[2 * PATH_MAX], *text, *p, *end;
    unsigned n = 0;

    snprintf(path, sizeof path, "%s/%s", root, page);
    text = test_read(path, NULL);
    p = section != NULL ? strstr(text, section) : text;
    ck_assert_msg(p != NULL, "%s has no section%s", page, section);
    end = section != NULL ? strstr(p + 1, "\n## ") : NULL;
    if (end != NULL)
        *end = '\0';
    for (; (p = strstr(p, "\n```")) != NULL; n++) {
        const char *info = p + 4;

        p = strchr(info, '\n') + 1;
        end = strstr(p - 1, "\n```");
        ck_assert_msg(end != NULL, "%s: a block without end", page);
        follow_block(page, info, p, (size_t)(end + 1 - p));
        p = end + 4;
    }
    ck_assert_msg(n > 0, "%s shows nothing", page);
    free(text);
}
