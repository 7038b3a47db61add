/* test_pages.c -- docs/tutorials/ and docs/how-to/: each page starts in an empty
 * directory of an installation, and each of its blocks does what the page shows
 * (lib/reader.h).  PAGE=agent tries that page alone. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader.h"
#include "lib/test.h"

static glob_t pages;

static const char install[] = "make -s install PREFIX=$HOME/.local\n"
                              "export PATH=$HOME/.local/bin:$PATH "
                              "PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig\n"
                              "cd\n";

static void begin(void)
{
    reader_begin();
    reader_type(install, sizeof install - 1, 0);
    reader_leave();
}

START_TEST(a_page)
{
    const char *page = pages.gl_pathv[_i], *name = strrchr(page, '/') + 1;
    char dir[128];

    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(name, "."), name);
    reader_opens(dir);
    reader_follow(page, NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pages");
    TCase *tc = tcase_create("followed");
    const char *only = getenv("PAGE");
    char path[256];

    snprintf(path, sizeof path, "docs/tutorials/%s.md", only ? only : "*");
    glob(path, 0, NULL, &pages);
    snprintf(path, sizeof path, "docs/how-to/%s.md", only ? only : "*");
    glob(path, GLOB_APPEND, NULL, &pages);
    tcase_set_timeout(tc, 240);
    tcase_add_unchecked_fixture(tc, begin, reader_end);
    tcase_add_loop_test(tc, a_page, 0, (int)pages.gl_pathc);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
