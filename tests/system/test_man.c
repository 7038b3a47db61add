/* test_man.c -- the man pages say what there is: every command, function and
 * key of this build, and examples that work. */
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[4096], dir[4096];

static void begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    strcpy(dir, test_mkdir());
    child_dir(dir);
}

static void end(void)
{
    test_rmdir(dir);
}

/* The words of a page as a reader sees them: without backslashes, and without
 * the letters that select a font (\fB, \fR). */
static char *read_page(const char *path)
{
    char *text = test_read(path, NULL), *to = text;

    for (const char *p = text; *p != '\0'; p++)
        if (p[0] == '\\' && p[1] == 'f' && p[2] != '\0')
            p += 2;
        else if (*p != '\\')
            *to++ = *p;
    *to = '\0';
    return text;
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
        bool begins = p == text || (!isalnum((unsigned char)p[-1]) &&
                                    strchr("_-", p[-1]) == NULL);

        if (begins && !isalnum((unsigned char)p[n]) &&
            strchr("_-", p[n]) == NULL)
            return true;
    }
    return false;
}

/* ---- keys ---------------------------------------------------------------- */

/* Each key in the tables of a source, but those that are not in this build. */
static unsigned check_keys(const char *source, const char *page_path,
                           const char *page)
{
    static const char begin_key[] = ".name = \"";
    char *text = test_read(source, NULL), name[64];
    unsigned n = 0;

    for (char *p = text; (p = strstr(p, begin_key)) != NULL;) {
        const char *line_end = strchr(p, '\n');
        const char *later = strstr(p, ".later");

        p += strlen(begin_key);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "\""), p);
        if (later != NULL && later < line_end)
            continue;
        ck_assert_msg(has_word(page, name), "%s says nothing of '%s' (%s)",
                      page_path, name, source);
        n++;
    }
    free(text);
    return n;
}

static const struct {
    const char *page, *sources; /* a glob */
    unsigned at_least;
} tables[] = {{"docs/man/mortise-graph.5", "lang/graph/[kl]*/*.c", 100},
              {"docs/man/mortise-graph.5", "lang/config/limits.c", 8},
              {"docs/man/mortise-deployment.5", "lang/config/deploy.c", 8},
              {"docs/man/mortise-deployment.5", "lang/config/p[or]*.c", 2},
              {"docs/man/mortise-deployment.5", "lang/manifest/trust_file.c", 12},
              {"docs/man/mortise-plugin.5", "lang/manifest/manifest.c", 30},
              {"docs/man/mortise-test.5", "testkit/cases/case*.c", 30}};

/* Every key that a file may have stands in the page about it. */
START_TEST(every_key)
{
    char *page = read_page(tables[_i].page);
    unsigned n = 0;
    glob_t found;

    ck_assert_int_eq(glob(tables[_i].sources, 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++)
        n += check_keys(found.gl_pathv[k], tables[_i].page, page);
    ck_assert_uint_ge(n, tables[_i].at_least); /* the tables were found */
    globfree(&found);
    free(page);
}
END_TEST

/* ---- examples -------------------------------------------------------------
 */

static const struct {
    const char *page, *files; /* one for each block, in order */
    const char *also;         /* done with what was written */
} examples[] = {{"mortise-graph.5", "example.graph.yaml", "true"},
                {"mortise-deployment.5", "example.yaml", "true"},
                {"mortise-plugin.5", "acme.shout.plugin.yaml", "true"},
                {"mortise-test.5", "example.graph.yaml example.test.yaml",
                 "$MORTISE test --crash-everywhere example.test.yaml"}};

/* The examples of each page about files pass `mortise check`.  What a test scripts
 * fits its operations, and the test holds. */
START_TEST(examples_pass)
{
    child_run("n=0; for f in %s; do n=$((n + 1)); awk -v n=$n "
              "'/^\\.SH EXAMPLES/ {e = 1} e && /^\\.EE/ {i = 0} i {print} "
              "e && /^\\.EX/ {i = ++k == n}' %s/docs/man/%s "
              "| sed 's/\\\\-/-/g' >$f && test -s $f || exit 1; done; "
              "$MORTISE check %s && %s",
              examples[_i].files, root, examples[_i].page, examples[_i].files,
              examples[_i].also);
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
    ck_assert_msg(strstr(child.out, "warning[W09") == NULL, "%s", child.out);
}
END_TEST

/* ---- the others ------------------------------------------------------------
 */

/* Every command has a page, made from its help text, which has its options. */
START_TEST(every_command)
{
    child_run(
        "$MORTISE --help | sed -n '/^Commands:/,/^$/"
        "s/^  \\([a-z].*[a-z]\\)   .*/\\1/p' >commands\n"
        "test -s commands || exit 1\n"
        "while read -r c; do\n"
        "    page=%s/mortise-$(echo $c | tr ' ' -).1\n"
        "    $MORTISE $c --help | grep -oE '^  --[a-z-]+' | while read -r o"
        "\n    do sed 's/\\\\//g' $page | grep -q -e \"^.B $o\" ||"
        " { echo \"$page: $o\"; exit 1; }\n"
        "    done || exit 1\n"
        "done <commands",
        child_build("man"));
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
}
END_TEST

/* issue 15, 12: the page about plugins opens with what an author must know about
 * effects, and names all that a manifest and a call can say of one. */
START_TEST(effects_come_first)
{
    static const char *const names[] = {".B pure",
                                        ".B read",
                                        ".BR write \" (here) and \" external",
                                        "idempotent: true",
                                        "reconcile: true",
                                        "intent: steps",
                                        "MORTISE_S_DOUBT",
                                        "MORTISE_S_CANCELLED",
                                        "mortise\\-resolve (1)"};
    char *page = test_read("docs/man/mortise-plugin.5", NULL);
    char *first = strstr(page, ".SH NAME\n"), *end;

    ck_assert_ptr_nonnull(first);
    first = strstr(first + 1, ".SH ");
    ck_assert_int_eq(
        strncmp(first, ".SH WHAT AN AUTHOR MUST KNOW ABOUT EFFECTS\n", 43), 0);
    end = strstr(first + 1, ".SH ");
    *end = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_msg(strstr(first, names[i]) != NULL, "no %s", names[i]);
    free(page);
}
END_TEST

/* What another page names is there: as a page, and as a command. */
START_TEST(every_page_named)
{
    child_run("cat %s/docs/man/*.[35] %s/*.1 | sed 's/\\\\//g' >all\n"
              "{ sed -n 's/.*\\(mortise[a-z.-]*\\) *(\\([135]\\)).*/\\1.\\2/p' "
              "all\n"
              "  $MORTISE --help | sed -n '/^Commands:/,/^$/"
              "s/^  \\([a-z].*[a-z]\\)   .*/mortise-\\1.1/p' | tr ' ' -\n"
              "} | sort -u >named\n"
              "test $(wc -l <named) -gt 40 || exit 1\n"
              "while read -r page; do\n"
              "    test -f %s/docs/man/$page || test -f %s/$page ||"
              " { echo $page; exit 1; }\n"
              "done <named",
              root, child_build("man"), root, child_build("man"));
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
}
END_TEST

/* The page about the header names every function of it. */
START_TEST(every_function)
{
    char *page = read_page("docs/man/mortise.h.3");
    char *map = test_read("core/mortise.map", NULL);
    unsigned n = 0;

    for (char *p = strtok(strchr(map, '{'), " \n;"); p != NULL;
         p = strtok(NULL, " \n;"))
        if (strncmp(p, "mortise_", 8) == 0) {
            ck_assert_msg(has_word(page, p), "mortise.h(3) has no %s", p);
            n++;
        }
    ck_assert_uint_gt(n, 10);
    free(page);
    free(map);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("man");
    TCase *tc = tcase_create("pages");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, every_key, 0,
                        (int)(sizeof tables / sizeof *tables));
    tcase_add_loop_test(tc, examples_pass, 0,
                        (int)(sizeof examples / sizeof *examples));
    tcase_add_test(tc, every_command);
    tcase_add_test(tc, effects_come_first);
    tcase_add_test(tc, every_page_named);
    tcase_add_test(tc, every_function);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
