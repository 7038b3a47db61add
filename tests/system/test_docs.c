/* test_docs.c -- the documentation does not lie: the shell blocks that say so
 * are run, the pages that the command writes are what it says, links lead
 * somewhere, and what code cites is there.
 *
 * A block begins with ```sh tested, or ```sh tested exit=4 when its last
 * command ends with another code than 0.  It runs in a directory of its own
 * that looks like the tree: build/, configs/ and sdk/ are there. */
#include <ctype.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[4096], dir[4096];
static int port; /* in place of the port 8787 that the pages show */
static glob_t pages;

static void begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    strcpy(dir, test_mkdir());
    child_dir(dir);
    port = test_port();
    child_run("cp -r %s/configs . && ln -s %s build && ln -s %s/sdk sdk && "
              "sed -i 's/8787/%d/' configs/refund/mortise.yaml",
              root, child_build(""), root, port);
    ck_assert_msg(child.code == 0, "%s", child.err);
    ck_assert_int_eq(glob("docs/*.md", 0, NULL, &pages), 0);
    ck_assert_int_eq(glob("docs/tutorials/*.md", GLOB_APPEND, NULL, &pages), 0);
    ck_assert_int_eq(glob("docs/how-to/*.md", GLOB_APPEND, NULL, &pages), 0);
    ck_assert_int_eq(glob("README.md", GLOB_APPEND, NULL, &pages), 0);
    ck_assert_int_eq(glob("CONTRIBUTING.md", GLOB_APPEND, NULL, &pages), 0);
    ck_assert_int_eq(glob("configs/*/README.md", GLOB_APPEND, NULL, &pages) &
                         ~GLOB_NOMATCH,
                     0);
}

static void end(void)
{
    globfree(&pages);
    test_rmdir(dir);
}

/* Run the block that starts at `p` (behind its first line) as one script. */
static void run_block(const char *page, const char *info, const char *p)
{
    const char *stop = strstr(p, "\n```");
    const char *exits = strstr(info, "exit=");
    int want = exits != NULL && exits < p ? atoi(exits + 5) : 0;
    char script[sizeof dir + 8];

    ck_assert_msg(stop != NULL, "%s: a block without end", page);
    snprintf(script, sizeof script, "%s/script", dir);
    test_write(script, p, (size_t)(stop - p) + 1);
    /* What it makes is made as by who reads it, whatever we are made of. */
    child_run("unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS LDFLAGS B V "
              "ONLY; sed -i 's/ 8787 / %d /' script; sh -e script",
              port);
    ck_assert_msg(child.code == want,
                  "%s: exit code %d, not %d, of\n%.*s\n%s%s", page, child.code,
                  want, (int)(stop - p), p, child.out, child.err);
}

/* Every block that says it is tested does what it shows. */
START_TEST(blocks_run)
{
    unsigned n = 0;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = test_read(pages.gl_pathv[i], NULL);

        for (char *p = text; (p = strstr(p, "```sh tested")) != NULL; n++) {
            const char *info = p;

            p += strcspn(p, "\n") + 1;
            run_block(pages.gl_pathv[i], info, p);
        }
        free(text);
    }
    ck_assert_uint_gt(n, 0);
}
END_TEST

/* What a page says about going on with a run works in the shell that its block left:
 * a run goes on in the deployment that it began in, which a graph beside it finds
 * and `resume` does not. */
START_TEST(resumes_have_their_deployment)
{
    static const char resume[] = "`mortise resume ";
    unsigned n = 0;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = test_read(pages.gl_pathv[i], NULL);

        for (char *p = text; strncmp(pages.gl_pathv[i], "configs/", 8) == 0 &&
                             (p = strstr(p, resume)) != NULL;
             n++) {
            size_t span = strcspn(p + 1, "`") + 1;
            const char *exported = strstr(text, "export MORTISE_DEPLOYMENT=");

            ck_assert_msg((exported != NULL && exported < p) ||
                              memmem(p, span, "--deployment", 12) != NULL,
                          "%s: in which deployment? %.*s", pages.gl_pathv[i],
                          (int)span, p);
            p += span;
        }
        free(text);
    }
    ck_assert_uint_gt(n, 0);
}
END_TEST

static const char *const made[][2] = {{"docs/cli.md", "cli-doc.sh"},
                                      {"docs/errors.md", "errors-doc.sh"}};
enum { N_MADE = sizeof made / sizeof made[0] };

/* The pages that the program writes are up to date (`make docs`). */
START_TEST(made_pages)
{
    char *page = test_read(made[_i][0], NULL);

    child_run("sh %s/scripts/%s build/mortise", root, made[_i][1]);
    ck_assert_int_eq(child.code, 0);
    ck_assert_msg(strcmp(page, child.out) == 0,
                  "%s is not what the command says: make docs", made[_i][0]);
    free(page);
}
END_TEST

/* Code that a page quotes stands in the file that it names, word for word. */
START_TEST(quotes_are_true)
{
    static const char begins[] = "```c from=";
    unsigned n = 0;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = test_read(pages.gl_pathv[i], NULL);

        for (char *p = text; (p = strstr(p, begins)) != NULL; n++) {
            char *name = p + strlen(begins), *end, *file;

            p = strchr(name, '\n');
            *p++ = '\0';
            end = strstr(p, "```\n");
            ck_assert_msg(end != NULL, "%s: a quote without end",
                          pages.gl_pathv[i]);
            *end = '\0';
            file = test_read(name, NULL);
            ck_assert_msg(strstr(file, p) != NULL, "%s: %s has no\n%s",
                          pages.gl_pathv[i], name, p);
            free(file);
            p = end + 1;
        }
        free(text);
    }
    ck_assert_uint_gt(n, 0);
}
END_TEST

/* Does the heading at `p` have this anchor?  In an anchor, letters are small, blanks
 * are hyphens, and all other characters but "-" and "_" are missing. */
static bool is_anchor_of(const char *p, const char *anchor, size_t n)
{
    size_t i = 0;

    for (p += strspn(p, "# "); *p != '\n' && *p != '\0'; p++) {
        int c = *p == ' ' ? '-' : tolower((unsigned char)*p);

        if (!isalnum(c) && c != '-' && c != '_')
            continue;
        if (i == n || anchor[i++] != c)
            return false;
    }
    return i == n;
}

static void check_anchor(const char *page, const char *path, const char *anchor,
                         size_t n)
{
    char *text = test_read(path, NULL), *p = text;

    while ((p = strstr(p, "\n#")) != NULL && !is_anchor_of(++p, anchor, n))
        continue;
    ck_assert_msg(p != NULL, "%s: %s has no heading #%.*s", page, path, (int)n,
                  anchor);
    free(text);
}

/* Does the target of a link lead to a file, and its anchor to a heading?  Addresses
 * are not looked at. */
static void check_link(const char *page, const char *target, size_t all)
{
    const char *slash = strrchr(page, '/');
    size_t n = strcspn(target, "#)") < all ? strcspn(target, "#)") : all;
    char path[8192];

    if (memchr(target, ':', all) != NULL)
        return;
    snprintf(path, sizeof path, "%.*s%.*s",
             slash != NULL ? (int)(slash - page) + 1 : 0, page, (int)n, target);
    if (n == 0)
        snprintf(path, sizeof path, "%s", page);
    ck_assert_msg(access(path, F_OK) == 0, "%s: a link leads nowhere: %s", page,
                  path);
    if (n < all && target[n] == '#')
        check_anchor(page, path, target + n + 1, all - n - 1);
}

/* The cells of a row: bars that are neither in code nor escaped. */
static unsigned cells_of(const char *row)
{
    unsigned n = 0;
    bool code = false;

    for (; *row != '\n' && *row != '\0'; row++) {
        if (*row == '`')
            code = !code;
        else if (*row == '\\' && row[1] == '|')
            row++;
        else if (*row == '|' && !code)
            n++;
    }
    return n;
}

/* The rows of a table have as many cells as its head, and end with a bar. */
START_TEST(tables_have_rows)
{
    unsigned n = 0;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = test_read(pages.gl_pathv[i], NULL);
        unsigned head = 0;
        bool code = false;

        for (const char *p = text; *p != '\0'; p += p[0] == '\n') {
            if (strncmp(p, "```", 3) == 0)
                code = !code;
            if (code || *p != '|')
                head = 0;
            else if (head == 0)
                head = cells_of(p);
            else
                ck_assert_msg(cells_of(p) == head,
                              "%s: not the %u cells of the head: %.80s",
                              pages.gl_pathv[i], head - 1, p);
            n += head > 0;
            ck_assert_msg(head == 0 || p[strcspn(p, "\n") - 1] == '|',
                          "%s: no bar ends the row: %.80s", pages.gl_pathv[i],
                          p);
            p += strcspn(p, "\n");
        }
        free(text);
    }
    ck_assert_uint_gt(n, 500);
}
END_TEST

/* Links between pages, and to files, lead somewhere. */
START_TEST(links_lead_somewhere)
{
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = test_read(pages.gl_pathv[i], NULL);

        for (const char *p = text; (p = strstr(p, "](")) != NULL;) {
            p += 2;
            check_link(pages.gl_pathv[i], p, strcspn(p, ")\n "));
        }
        free(text);
    }
}
END_TEST

/* docs/index.md leads to each page of docs/: from README.md that is two steps. */
START_TEST(index_has_each_page)
{
    char *index = test_read("docs/index.md", NULL), link[256];
    unsigned n = 0;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        const char *page = pages.gl_pathv[i];

        if (strncmp(page, "docs/", 5) != 0 ||
            strcmp(page, "docs/index.md") == 0)
            continue;
        snprintf(link, sizeof link, "](%s)", page + 5);
        ck_assert_msg(strstr(index, link) != NULL,
                      "docs/index.md does not lead to %s", page);
        n++;
    }
    ck_assert_uint_gt(n, 20);
    free(index);
}
END_TEST

/* ---- what code cites ------------------------------------------------------ */

static const char *const cited_pages[] = {"graph", "plugins", "runtime"};
enum { N_CITED = sizeof cited_pages / sizeof cited_pages[0] };
static char *cited_texts[N_CITED];
static unsigned n_cited;

/* "(R6b)": a promise of docs/runtime.md, which has it in bold. */
static void check_promise(const char *path, const char *at)
{
    size_t n = 1 + strspn(at + 1, "0123456789");
    char bold[32];

    n += n > 1 && islower((unsigned char)at[n]);
    if (n == 1 || n > 4 || isalnum((unsigned char)at[n]) || at[n] == '_')
        return;
    snprintf(bold, sizeof bold, "**%.*s**", (int)n, at);
    ck_assert_msg(strstr(cited_texts[2], bold) != NULL,
                  "%s cites %.*s, which docs/runtime.md does not have", path,
                  (int)n, at);
    n_cited++;
}

/* "graph.md 7": a section of that page, by its number. */
static void check_section(const char *path, const char *at, size_t page)
{
    const char *number = at + strlen(cited_pages[page]) + strlen(".md ");
    char head[32];

    if (!isdigit((unsigned char)*number))
        return;
    snprintf(head, sizeof head, "\n## %.*s. ",
             (int)strspn(number, "0123456789"), number);
    ck_assert_msg(strstr(cited_texts[page], head) != NULL,
                  "%s cites %.20s, which docs/ does not have", path, at);
    n_cited++;
}

static int check_citations(const char *path, const struct stat *st, int kind,
                           struct FTW *at)
{
    const char *ends = strrchr(path, '.');
    char *text;

    (void)st;
    (void)at;
    if (kind != FTW_F || ends == NULL ||
        (strcmp(ends, ".c") != 0 && strcmp(ends, ".h") != 0 &&
         strcmp(ends, ".def") != 0))
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; (p = strchr(p, 'R')) != NULL; p++)
        if (p > text && strchr(" (\n", p[-1]) != NULL)
            check_promise(path, p);
    for (size_t i = 0; i < N_CITED; i++) {
        char name[32];

        snprintf(name, sizeof name, "%s.md ", cited_pages[i]);
        for (const char *p = text; (p = strstr(p, name)) != NULL; p++)
            check_section(path, p, i);
    }
    free(text);
    return 0;
}

/* Whoever meets "(R6b)" or "graph.md 7" in the code finds it in docs/. */
START_TEST(citations_resolve)
{
    static const char *const trees[] = {"core", "lang", "services", "server",
                                        "cli", "testkit", "tools", "worker",
                                        "sdk", "plugins", "tests"};

    n_cited = 0;
    for (size_t i = 0; i < N_CITED; i++) {
        char page[64];

        snprintf(page, sizeof page, "docs/%s.md", cited_pages[i]);
        cited_texts[i] = test_read(page, NULL);
    }
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
        ck_assert_int_eq(nftw(trees[i], check_citations, 16, FTW_PHYS), 0);
    ck_assert_uint_gt(n_cited, 40);
    for (size_t i = 0; i < N_CITED; i++)
        free(cited_texts[i]);
}
END_TEST

/* The first of such a directory's files that a line names, or NULL; those of a
 * comment, and of a block that is taken from one, are not read by anybody. */
static const char *tree_path(const char *line, size_t n)
{
    static const char *const dirs[] = {"core/", "lang/", "services/",
                                       "server/", "cli/", "testkit/",
                                       "worker/", "scripts/", "tests/",
                                       "tools/"};

    if (strncmp(line, "```", 3) == 0 || strncmp(line, "<!--", 4) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        const char *at = memmem(line, n, dirs[i], strlen(dirs[i]));

        if (at != NULL && at > line && at[-1] == '`')
            return at;
    }
    return NULL;
}

/* Pages are installed without the tree: one that names files of it says, no
 * later than in the paragraph that does so first, that they are the source's. */
START_TEST(paths_of_the_tree_are_said)
{
    glob_t docs;

    ck_assert_int_eq(glob("docs/*.md", 0, NULL, &docs), 0);
    ck_assert_int_eq(glob("docs/*/*.md", GLOB_APPEND, NULL, &docs), 0);
    for (size_t i = 0; i < docs.gl_pathc; i++) {
        char *text = test_read(docs.gl_pathv[i], NULL);
        const char *at = NULL, *source = strstr(text, " source"), *end;

        for (const char *p = text; *p != '\0' && at == NULL;
             p += strcspn(p, "\n") + (strchr(p, '\n') != NULL))
            at = tree_path(p, strcspn(p, "\n"));
        end = at != NULL ? strstr(at, "\n\n") : NULL;
        ck_assert_msg(at == NULL ||
                          (source != NULL && (end == NULL || source < end)),
                      "%s names %.40s, which is not installed",
                      docs.gl_pathv[i], at != NULL ? at : "");
        free(text);
    }
    globfree(&docs);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("docs");
    TCase *tc = tcase_create("pages");

    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, blocks_run);
    tcase_add_test(tc, resumes_have_their_deployment);
    tcase_add_loop_test(tc, made_pages, 0, N_MADE);
    tcase_add_test(tc, quotes_are_true);
    tcase_add_test(tc, tables_have_rows);
    tcase_add_test(tc, links_lead_somewhere);
    tcase_add_test(tc, index_has_each_page);
    tcase_add_test(tc, paths_of_the_tree_are_said);
    tcase_add_test(tc, citations_resolve);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
