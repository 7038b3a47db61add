/* test_newcomer.c -- the first day of somebody new: what README.md says under
 * Install, Your first graph and Your first plugin, word for word; and a plugin in each
 * language, from `mortise plugin new` to runs that are killed in the middle of its
 * effect and go on.
 *
 * Mortise is installed by the block that says how, into a home of its own, from a
 * copy of what was built; then that copy and every way to the tree are gone.  What
 * follows knows the installation and nothing else.
 *
 * A block begins with ```sh newcomer, or ```sh newcomer exit=4.  Blocks are typed
 * into one shell: where one ended, with what it exported, the next begins.
 *
 * `make check` tries C and C++; `make check-peers PEER=rust`, where rustc is, has
 * this program try Rust (NEWCOMER=rust). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char root[PATH_MAX], dir[PATH_MAX];

static void put(const char *name, const char *text, size_t n)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, n);
}

/* The end of what was printed; a message has not room for more. */
static const char *tail(const char *text)
{
    size_t n = strlen(text);

    return n > 1500 ? text + n - 1500 : text;
}

/* Types n bytes; they end with that code. */
static void type(const char *block, size_t n, int code)
{
    static const char shell[] =
        ". $1/exported\n"
        "cd \"$(cat $1/where)\"\n"
        "here=$1\n"
        "trap 's=$?; export -p >$here/exported; pwd >$here/where; exit $s' "
        "EXIT\n"
        "set -e\n"
        ". $here/block\n";

    put("shell", shell, strlen(shell));
    put("block", block, n);
    child_run("env -i sh shell %s", dir);
    ck_assert_msg(child.code == code, "exit code %d, not %d, of\n%.*s\n%s%s",
                  child.code, code, (int)n, block, tail(child.out),
                  tail(child.err));
}

static void says(const char *text)
{
    ck_assert_msg(strstr(child.out, text) != NULL, "no '%s' in\n%s%s", text,
                  tail(child.out), tail(child.err));
}

/* Types the blocks of a section, in order. */
static void type_section(const char *title)
{
    char *readme = test_read("README.md", NULL), *p = strstr(readme, title);
    char *end = p != NULL ? strstr(p + 1, "\n## ") : NULL;
    unsigned n = 0;

    ck_assert_msg(end != NULL, "README.md has no section%s", title);
    *end = '\0';
    for (; (p = strstr(p, "\n```sh newcomer")) != NULL; n++) {
        int code = 0;

        sscanf(p, "\n```sh newcomer exit=%d", &code);
        p = strchr(p + 1, '\n') + 1;
        end = strstr(p, "\n```");
        ck_assert_msg(end != NULL, "a block without end in%s", title);
        type(p, (size_t)(end + 1 - p), code);
    }
    ck_assert_uint_gt(n, 0);
    free(readme);
}

/* ---- the machine of somebody new -------------------------------------------- */

/* A copy of what was built, below a tree that leads to this one; and a shell whose
 * compiler and flags are those, so that nothing is made anew but what names places. */
static const char machine[] =
    "mkdir home src built\n"
    "(cd $BUILD && cp -a core deps.mk places flags lib *.a mortise "
    "mortise-worker *.pc keys plugins trust.d man completion $OLDPWD/built)\n"
    "for f in $TREE/*; do ln -s $f src/${f##*/}; done\n"
    "rm -f src/build && ln -s ../built src/build\n"
    "env -i PATH=\"$PATH\" HOME=$PWD/home LANG=C.UTF-8 CC=\"${CC:-cc}\" "
    "CXX=\"${CXX:-c++}\" CFLAGS=\"${CFLAGS:--O2 -g}\" LDFLAGS=\"${LDFLAGS:-}\" "
    "VARIANT=\"${VARIANT:-}\" ASAN_OPTIONS=\"${ASAN_OPTIONS:-}\" "
    "TSAN_OPTIONS=\"${TSAN_OPTIONS:-}\" "
    "RUSTUP_HOME=\"${RUSTUP_HOME:-$HOME/.rustup}\" sh -c 'export -p' "
    ">exported\n"
    "echo $PWD/src >where\n";

static const char look[] = "mortise version\n"
                           "mortise plugin list\n";

static const char no_way_back[] =
    "rm -rf src built\n"
    "sed -i '/^export \\(CC\\|CXX\\|CFLAGS\\|LDFLAGS\\|VARIANT\\)=/d' "
    "exported\n"
    "! grep -q \"$TREE\\|/src\" exported where\n"
    "test \"$(cat where)\" = $PWD/home\n"
    "! find home \\( -name core -o -name tests \\) | grep .\n";

static void script(const char *text)
{
    put("script", text, strlen(text));
    child_run("TREE=%s BUILD=%s sh -e script", root, child_build(""));
    ck_assert_msg(child.code == 0, "%s\n%s%s", text, tail(child.out),
                  tail(child.err));
}

static void begin(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    strcpy(dir, test_mkdir());
    child_dir(dir);
    child_allows(false);
    script(machine);
    type_section("\n## Install\n");
    says("6 passed, 0 failed"); /* of what is installed to be read */
    type(look, strlen(look), 0);
    says("mortise ");
    says("/lib/mortise/plugins/text.plugin.yaml");
    script(no_way_back);
}

static void end(void)
{
    test_rmdir(dir);
}

/* ---- its first day ------------------------------------------------------------ */

/* issue 15, 12: the graph of `mortise init`, as README.md goes through it. */
START_TEST(first_graph)
{
    type_section("\n## Your first graph\n");
    says("status   completed");
    says("and I will continue where I stopped.\n");
}
END_TEST

/* ... and the plugin of `mortise plugin new`. */
START_TEST(first_plugin)
{
    type_section("\n## Your first plugin\n");
    says("acme.notes: signed by a trusted key, and would load");
    says("status   completed");
    says(" HELLO\n");
}
END_TEST

/* Pastes what `mortise plugin new` prints, of a program that is not on the PATH and
 * has a blank in its own; and does what the README says that it made. */
static const char make_plugin[] =
    "cd\n"
    "mkdir -p 'b in' && cp .local/bin/mortise 'b in/mo'\n"
    "'b in/mo' plugin new acme.$name --lang $lang >said\n"
    "sed -n '/^next:$/,$s/^  //p' said >pasted\n"
    "test $(wc -l <pasted) = 6\n"
    ". ./pasted\n"
    "make -B CFLAGS='-O2 -Werror' CXXFLAGS='-O2 -Werror' "
    "RUSTFLAGS='-O -D warnings'\n"
    "mortise plugin check acme.$name.so\n"
    "sed -n '/^```sh/,/^```$/{/^```/!p}' README.md >readme\n"
    "test $(wc -l <readme) = 10\n"
    ". ./readme\n"
    "mortise plugin verify acme.$name\n";

/* Any text goes in and comes out; one that is no note is refused, in words. */
static const char call_it[] =
    "mortise plugin call acme.$name/shout --json "
    "'{\"text\": \"a\\\"\\\\\\u00fc\\ud83d\\ude00/\\n\\u0001\"}' >got\n"
    "printf '%s\\n' '{\"text\":\"A\\\"\\\\\xc3\xbc\xf0\x9f\x98\x80/\\n"
    "\\u0001\"}' >want\n"
    "diff want got\n"
    "rm notes.txt\n"
    "! mortise plugin call acme.$name/note '{\"text\": \"a\\nb\"}' --effects "
    "2>why\n"
    "grep \"acme.$name/note: text: \" why\n"
    "! mortise plugin call acme.$name/note '{\"text\": \"a\"}' 2>why\n"
    "grep -e --effects why\n"
    "! mortise plugin call acme.$name/shout '{\"text\": 1}'\n"
    "test ! -e notes.txt\n";

/* A pipe that nobody reads holds a call up before its effect: killed there, the
 * plugin is asked, says no, and does it. */
static const char kill_before[] =
    "mkfifo notes.txt\n"
    "mortise run acme.$name.graph.yaml --id before >before.out 2>&1 & pid=$!\n"
    "for i in $(seq 1200); do\n"
    "    ! grep -q 'node_start note' before.out || break; sleep 0.05\n"
    "done\n"
    "grep 'node_start note' before.out\n"
    "kill -9 $pid; code=0; wait $pid || code=$?; test $code = 137\n"
    "rm notes.txt\n"
    "mortise resume before\n"
    "grep -c ' HELLO$' notes.txt\n"
    "test $(wc -l <notes.txt) = 1\n";

/* One that is read takes the line, and holds up what comes behind: killed there,
 * the plugin is asked, finds its line, and adds no second one. */
static const char kill_behind[] =
    "rm notes.txt; mkfifo notes.txt\n"
    "mortise run acme.$name.graph.yaml --id behind >behind.out 2>&1 & pid=$!\n"
    "timeout 100 cat notes.txt >line\n"
    "kill -9 $pid; code=0; wait $pid || code=$?; test $code = 137\n"
    "rm notes.txt; cp line notes.txt\n"
    "mortise resume behind\n"
    "test $(wc -l <line) = 1\n"
    "diff line notes.txt\n"
    "mortise show behind --json | tr -d '\\n ' | grep "
    "'\"line\":\"[0-9a-f]*HELLO\"'\n"
    "mortise show behind | grep 'status   completed'\n";

/* What is thrown stays inside: behind an effect it is doubt, which the plugin
 * settles itself; of a pure operation it is an error, and the process lives. */
static const char throw_behind[] =
    "rm notes.txt\n"
    "make >/dev/null\n"
    "mortise run acme.$name.graph.yaml --deployment dev.yaml --id thrown\n"
    "test $(wc -l <notes.txt) = 1\n"
    "code=0\n"
    "mortise plugin call acme.$name/shout '{\"text\": \"throw\"}' --deployment "
    "dev.yaml 2>why || code=$?\n"
    "test $code = 1\n"
    "grep 'mortise: acme.*/shout: ' why\n";

static const struct {
    const char *lang, *name;
    const char
        *throws; /* an edit of its source; "": the language has no such */
} languages[] = {
    {"c", "c", ""},
    {"c++", "cpp",
     "sed -i 's/if (added && give/if (added) throw std::exception(); &/; "
     "s/^    std::string text = member(r->body, \"text\");$/&if (text == "
     "\"throw\") throw std::exception();/' acme.cpp.cpp\n"
     "test $(grep -c 'throw std::exception' acme.cpp.cpp) = 3\n"},
    {"rust", "rust",
     "sed -i 's/^        file.sync_all.*/& if !line.is_empty() { "
     "panic!(\"behind\") }/; s/^        let text = .*/& if text == \"throw\" { "
     "panic!(\"at once\") }/' acme.rust.rs\n"
     "test $(grep -c 'panic!' acme.rust.rs) = 2\n"},
};
enum { C, CPP, RUST, N_LANGUAGES };

START_TEST(a_language)
{
    const char *const parts[] = {make_plugin, call_it, kill_before,
                                 kill_behind};
    char lang[64];
    int n = snprintf(lang, sizeof lang, "export lang=%s name=%s\n",
                     languages[_i].lang, languages[_i].name);

    type(lang, (size_t)n, 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        type(parts[i], strlen(parts[i]), 0);
    if (languages[_i].throws[0] == '\0')
        return;
    type(languages[_i].throws, strlen(languages[_i].throws), 0);
    type(throw_behind, strlen(throw_behind), 0);
}
END_TEST

/* A discovery plugin of a third party: begun, built and signed outside of the tree,
 * it leads a graph; what it cannot find goes to the fallback. */
static const char make_discovery[] =
    "cd\n"
    "mortise plugin new acme.find --lang c --kind discovery >said\n"
    "cd acme.find\n"
    "make check CFLAGS='-O2 -Werror'\n"
    "make sign\n"
    "mortise key trust acme.find.pub --plugins acme.find --kinds discovery "
    "--in-process --trust trust.d\n"
    "mortise config allow mortise.yaml\n"
    "mortise plugin verify acme.find --deployment mortise.yaml\n"
    "mortise check acme.find.graph.yaml mortise.yaml\n"
    "mortise run acme.find.graph.yaml --deployment mortise.yaml --id first "
    "--input '{\"text\": \"Money back, please\"}'\n"
    "mortise events first --deployment mortise.yaml --json | grep "
    "'\"chosen\":\"refunds\"'\n"
    "mortise run acme.find.graph.yaml --deployment mortise.yaml --id second "
    "--input '{\"text\": \"hm\"}'\n"
    "mortise events second --deployment mortise.yaml --json | grep "
    "'\"chosen\":\"people\"'\n";

START_TEST(a_discovery_plugin)
{
    type(make_discovery, sizeof make_discovery - 1, 0);
}
END_TEST

/* A guardrail of a third party, the same way: what it covers nobody sees, what it
 * finds goes another way, and where it crashes nothing passes. */
static const char make_guardrail[] =
    "cd\n"
    "mortise plugin new acme.polite --kind guardrail >said\n"
    "cd acme.polite\n"
    "make check CFLAGS='-O2 -Werror'\n"
    "make sign\n"
    "mortise key trust acme.polite.pub --plugins acme.polite --kinds guardrail "
    "--in-process --trust trust.d\n"
    "mortise config allow mortise.yaml\n"
    "mortise plugin verify acme.polite --deployment mortise.yaml\n"
    "mortise check acme.polite.graph.yaml mortise.yaml\n"
    "mortise run acme.polite.graph.yaml --deployment mortise.yaml --id first "
    "--input '{\"text\": \"a dowel\", \"subject\": \"TENONS\"}' >first.out\n"
    "! grep dowel first.out\n"
    "mortise show first --deployment mortise.yaml --json >first\n"
    "grep -F 'a *****' first\n"
    "grep 'somebody will read it' first\n"
    "mortise events first --deployment mortise.yaml --json >seen\n"
    "grep 'in what came out of the node' seen\n"
    "sed -i 's/^    status = mortise_jv_parse(r->body, &body);/abort();/' "
    "acme.polite.c\n"
    "make >/dev/null\n"
    "! mortise run acme.polite.graph.yaml --deployment dev.yaml --id bad\n"
    "! mortise resume bad --deployment dev.yaml\n"
    "! mortise show bad --deployment dev.yaml | grep completed\n";

START_TEST(a_guardrail)
{
    type(make_guardrail, sizeof make_guardrail - 1, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("newcomer");
    TCase *tc = tcase_create("first day");
    const char *only = getenv("NEWCOMER");

    tcase_set_timeout(tc, 240);
    tcase_add_unchecked_fixture(tc, begin, end);
    if (only != NULL && strcmp(only, "rust") == 0) {
        tcase_add_loop_test(tc, a_language, RUST, N_LANGUAGES);
    } else {
        tcase_add_test(tc, first_graph);
        tcase_add_test(tc, first_plugin);
        tcase_add_test(tc, a_discovery_plugin);
        tcase_add_test(tc, a_guardrail);
        tcase_add_loop_test(tc, a_language, C, RUST);
    }
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
