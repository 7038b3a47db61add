/* test_embed.c -- Mortise in other people's programs, as they would build them:
 * against the installed package, through pkg-config, with nothing of the tree.
 *
 * The package is installed once, into a directory that stands for /; what is
 * built lies beside it.  The programs are in tests/embed, and each says on its
 * output what it saw. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/child.h"
#include "lib/package.h"
#include "lib/test.h"

static void must(const char *script)
{
    package_must(script);
}

static void install(void)
{
    package_install();
    must("cp $TREE/tests/embed/* .\n");
}

/* A program of ours runs to its end, and this is all that it says. */
static void says(const char *line, const char *out)
{
    must(line);
    ck_assert_str_eq(child.out, out);
    ck_assert_str_eq(child.err, "");
}

/* ---- the package -------------------------------------------------------- */

/* The shared library exports the functions of mortise.h, and nothing else. */
START_TEST(exports_the_header)
{
    must("$cc -E -P stage$prefix/include/mortise/mortise.h -o - | tr '\\n' ' ' "
         "| grep -oE 'visibility\\(\"default\"\\)\\)\\) [^(;]*' "
         "| sed 's/.*[ *]//' | sort >header\n"
         "nm -D --defined-only $lib/libmortise.so | sed -n "
         "'s/.* T \\(.*\\)@@MORTISE_0$/\\1/p' | sort >library\n"
         "test -s header && diff header library >&2\n"
         "nm -D --defined-only $lib/libmortise.so | grep -v ' T mortise_' "
         "| grep -v ' A MORTISE_0$' >&2 || true\n");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* The static one has no other global names either: its inner ones meet nobody
 * else's. */
START_TEST(archive_exports_the_header)
{
    must("$cc -E -P stage$prefix/include/mortise/mortise.h -o - | tr '\\n' ' ' "
         "| grep -oE 'visibility\\(\"default\"\\)\\)\\) [^(;]*' "
         "| sed 's/.*[ *]//' | sort >header\n"
         "nm -g --defined-only $lib/libmortise.a | sed -n "
         "'s/.* [A-Z] //p' | sort >archive\n"
         "diff header archive >&2\n");
}
END_TEST

/* A guest does not print, exit, catch signals or change what belongs to the
 * whole process: the library does not even import what would.  (`environ` it
 * reads, in mortise_open(), for the programs that a deployment names.  umask()
 * and fchdir() are for workers, which have both of their own: pool.c.) */
START_TEST(imports_nothing_rude)
{
    must("nm -D --undefined-only $lib/libmortise.so | sed 's/.* //; s/@.*//' "
         "| grep -xE 'v?printf|v?fprintf|puts|putchar|perror|psignal|stdout|"
         "stderr|_?exit|quick_exit|atexit|signal|sigaction|sigset|chdir|"
         "setlocale|setenv|putenv|unsetenv|fork|vfork|system|"
         "setrlimit|alarm|setitimer|srand|srandom' || true\n");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* The name that programs remember is the major version's, and links lead to the
 * file from it and from the name that linkers look for. */
START_TEST(soname)
{
    says("objdump -p $lib/libmortise.so | sed -n 's/ *SONAME *//p'\n"
         "cmp $lib/libmortise.so $lib/libmortise.so.0\n"
         "readlink $lib/libmortise.so.0 | sed 's/[0-9.]*$//'\n",
         "libmortise.so.0\nlibmortise.so\n");
}
END_TEST

/* The installed command finds the installed plugins and their key, wherever the
 * package was put. */
START_TEST(command_finds_its_plugins)
{
    must("$bin/mortise plugin list --store store | grep -c stage\n");
    ck_assert_int_gt(atoi(child.out), 0);
}
END_TEST

/* Plugin authors learn where plugins and the keys that sign them go, and the ABI's
 * version. */
START_TEST(plugin_package)
{
    says("pkg-config --variable=plugindir mortise-plugin "
         "| sed \"s|^$PWD/$lib|LIBDIR|\"\n"
         "pkg-config --variable=trustdir mortise-plugin "
         "| sed \"s|^$PWD/$lib|LIBDIR|\"\n"
         "pkg-config --variable=abi_major mortise-plugin\n"
         "pkg-config --variable=abi_minor mortise-plugin\n"
         "pkg-config --libs mortise-plugin | tr -d ' \\n'\n",
         "LIBDIR/mortise/plugins\nLIBDIR/mortise/trust.d\n1\n0\n");
}
END_TEST

/* Everything is there, and only its owner may write to it. */
START_TEST(installs_everything)
{
    says("for f in bin/mortise include/mortise/mortise.h "
         "include/mortise/plugin.h include/mortise/ask.h "
         "include/mortise/guardrail.h include/mortise/model.h "
         "include/mortise/discovery.h "
         "include/mortise/json.h share/man/man1/mortise.1 "
         "share/man/man1/mortise-run.1 share/man/man3/mortise.h.3 "
         "share/man/man5/mortise-graph.5 "
         "share/man/man5/mortise-deployment.5 "
         "share/man/man5/mortise-plugin.5 "
         "share/bash-completion/completions/mortise "
         "share/zsh/site-functions/_mortise "
         "share/fish/vendor_completions.d/mortise.fish "
         "share/mortise/templates/init/mortise.yaml; do\n"
         "    test -s stage$prefix/$f || echo no $f\n"
         "done\n"
         "test -s $lib/mortise/trust.d/bundled.yaml\n"
         "find stage -perm /022 ! -type l\n",
         "");
}
END_TEST

/* So is whatever a header or a page names of the tree. */
START_TEST(installs_what_it_names)
{
    says("find stage$prefix/include stage$prefix/share/man -type f "
         "| xargs cat | tr -d '\\\\' "
         "| grep -oE '\\b(docs|configs|examples)/[a-zA-Z0-9_./-]+' "
         "| sed 's/[.]*$//' | sort -u >named\n"
         "test $(wc -l <named) -ge 6 || cat named\n"
         "while read f; do\n"
         "    test -e stage$prefix/share/doc/mortise/$f || echo no $f\n"
         "done <named\n",
         "");
}
END_TEST

/* What was installed goes away again, whole. */
START_TEST(uninstalls)
{
    says("places=\"B=$BUILD DESTDIR=$PWD/second $(cat $BUILD/places)\"\n"
         "make -s -C $TREE install $places\n"
         "touch second$libdir/mortise/plugins/others.so\n"
         "make -s -C $TREE uninstall $places\n"
         "find second -type f -o -type l | sed 's|.*/||'\n"
         "find second -path '*doc/*'\n",
         "others.so\n");
}
END_TEST

/* ---- programs ----------------------------------------------------------- */

/* The example of the guide, in C. */
START_TEST(example_in_c)
{
    says("$cc example.c $(pkg-config --cflags --libs mortise jansson) -o c\n"
         "./c review.graph.yaml store-c\n",
         "asked: 1 lines say mortise; shall we go on?\n"
         "status: waiting\n"
         "status: completed\n"
         "found: 1\n");
}
END_TEST

/* ... and in C++. */
START_TEST(example_in_cxx)
{
    says("$cxx example.cpp $(pkg-config --cflags --libs mortise) -o cxx\n"
         "./cxx review.graph.yaml store-cxx\n",
         "status: waiting\nevents: some\n");
}
END_TEST

/* Linked statically it needs no library of ours, and finds the plugins around
 * the program. */
START_TEST(linked_statically)
{
    says(
        "flags=$(pkg-config --static --cflags --libs mortise jansson)\n"
        "$cc example.c $(echo \"$flags\" | sed 's/-lmortise/-l:libmortise.a/') "
        "-o $bin/static\n"
        "unset LD_LIBRARY_PATH\n"
        "! ldd $bin/static | grep libmortise\n"
        "mkdir $bin/plugins # the program's own: no bundle without trust\n"
        "$bin/static review.graph.yaml store-static | tail -n 1\n",
        "found: 1\n");
}
END_TEST

/* An epoll loop of the program's own turns two engines, with nothing but their
 * descriptors and timeouts: a timer of one fires, another process answers the
 * other one, and the loop sleeps in between. */
START_TEST(foreign_loop)
{
    must("$cc -D_GNU_SOURCE foreign.c $(pkg-config --cflags --libs mortise) -o "
         "foreign\n"
         "./foreign pause.graph.yaml store-a review.graph.yaml store-b "
         ">foreign.out &\n"
         "while ! grep -q 'second waits' foreign.out; do sleep 0.05; done\n"
         "sleep 0.3\n"
         "$bin/mortise approve $($bin/mortise inbox second --ids --store "
         "store-b) --store store-b >/dev/null\n"
         "wait $!\n"
         "sort foreign.out\n");
    ck_assert_str_eq(child.out, "first ended\n"
                                "first waits\n"
                                "second ended\n"
                                "second waits\n"
                                "ticks: some, turns: few\n");
}
END_TEST

/* Engines on threads of their own know nothing of each other; one store has
 * one engine. */
START_TEST(several_engines)
{
    says("$cc -D_GNU_SOURCE -pthread threads.c $(pkg-config --cflags --libs "
         "mortise) "
         "-o threads\n"
         "./threads pause.graph.yaml store-t\n",
         "engine 0: 5 completed\n"
         "engine 1: 5 completed\n"
         "engine 2: 5 completed\n"
         "engine 3: 5 completed\n"
         "the same store twice: E_STORE_BUSY\n");
}
END_TEST

/* Signals are the program's, and so are its children. */
START_TEST(own_signals)
{
    says("$cc -D_GNU_SOURCE -pthread signals.c "
         "$(pkg-config --cflags --libs mortise) -o signals\n"
         "./signals pause.graph.yaml store-s\n",
         "threads of the engine: some, taking signals: 0\n"
         "signal 0: 1\nsignal 1: 1\nsignal 2: 1\nsignal 3: 1\n"
         "on another thread: 0\n"
         "child: 7\n"
         "differences: 0\n");
}
END_TEST

/* Locale, umask, directory, environment, descriptors across exec. */
START_TEST(own_process)
{
    says("mkdir locales\n"
         "localedef --no-archive -i de_DE -f UTF-8 locales/de_DE.UTF-8\n"
         "$cc -D_GNU_SOURCE process.c $(pkg-config --cflags --libs mortise) "
         "-o process\n"
         "LOCPATH=$PWD/locales LC_ALL=de_DE.UTF-8 "
         "./process pause.graph.yaml store-p\n",
         "\"scratch\":{\"half\":1.5}\n"
         "more inheritable: 0\n"
         "comma: , also in callbacks\n"
         "locale: de_DE.UTF-8\n"
         "umask: 027\n"
         "directory: same\n"
         "environment: same\n");
}
END_TEST

/* ---- plugins of others -------------------------------------------------- */

static const struct {
    const char *name, *says;
} samples[] = {{"plugin-c", "\"iban\": \"DE89370400440532013000\""},
               {"plugin-cpp", "\"to\": \"A. *****\""}};

/* A third party builds a plugin, makes a key, signs, has it trusted and runs a
 * graph that uses it: what its README says, word for word.  (That of
 * examples/plugin-model needs a server: test_model_author.c.) */
START_TEST(sample_plugin)
{
    char script[1024];

    snprintf(script, sizeof script,
             "unset CFLAGS CXXFLAGS LDFLAGS\n"
             "PATH=$PWD/$bin:$PATH\n"
             "cp -r $TREE/examples/%s . && cd %s\n"
             "sed -n '/^```sh tested/,/^```$/{/^```/!p}' README.md >readme\n"
             "test -s readme && sh -e readme\n",
             samples[_i].name, samples[_i].name);
    must(script);
    ck_assert_msg(strstr(child.out, samples[_i].says) != NULL, "%s", child.out);
}
END_TEST

/* ---- what is installed to be read --------------------------------------- */

/* issue 15, 3: the shipped example in C++ builds without a warning, as a stranger
 * would build it: from the installed tree, by its Makefile and by hand, with each
 * compiler and standard that there is; so do those in C. */
START_TEST(shipped_examples_have_no_warnings)
{
    must("unset CFLAGS CXXFLAGS LDFLAGS\n"
         "PATH=$PWD/$bin:$PATH\n"
         "cp -r stage$prefix/share/doc/mortise warned && cd warned\n"
         "strict='-Wall -Wextra -Wpedantic -Werror'\n"
         "flags=$(pkg-config --cflags mortise-plugin)\n"
         "n=0\n"
         "for cxx in g++ clang++; do\n"
         "    command -v $cxx || continue\n"
         "    n=$((n + 1))\n"
         "    for std in c++11 c++14 c++17 c++20; do\n"
         "        $cxx -std=$std $strict -fPIC $flags -c -o /dev/null "
         "examples/plugin-cpp/words.cpp\n"
         "    done\n"
         "    make -B -C examples/plugin-cpp acme.words.so CXX=$cxx "
         "CXXFLAGS=\"-O2 $strict\"\n"
         "done\n"
         "test $n -ge 1\n"
         "for cc in gcc clang; do\n"
         "    command -v $cc || continue\n"
         "    make -B -C examples/plugin-c acme.iban.so CC=$cc "
         "CFLAGS=\"-O2 $strict\"\n"
         "    make -B -C examples/plugin-model acme.ollama.so CC=$cc "
         "CFLAGS=\"-O2 $strict\"\n"
         "    make -B -C configs/refund/pay CC=$cc CFLAGS=\"-O2 $strict\"\n"
         "    make -B -C configs/files/server CC=$cc CFLAGS=\"-O2 $strict\"\n"
         "done\n");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* Their pages: what each shows is typed in a copy of what was installed. */
static const char *const pages[] = {"README.md", "configs/search/README.md",
                                    "configs/refund/README.md",
                                    "configs/files/README.md", "docs/mcp.md"};
enum { N_PAGES = sizeof pages / sizeof pages[0] };

/* issue 15, 3: examples/, configs/ and docs/ are installed, and what pages show
 * with build/mortise works there with mortise, with a free port in place of the
 * one that the page shows. */
START_TEST(installed_pages_work)
{
    char script[2048];

    snprintf(
        script, sizeof script,
        "unset CFLAGS CXXFLAGS LDFLAGS MORTISE_DEPLOYMENT\n"
        "PATH=$PWD/$bin:$PATH\n"
        "cp -r stage$prefix/share/doc/mortise page-%d && cd page-%d\n"
        "sed -i 's/8787/%d/g' configs/refund/*.yaml configs/refund/*.md\n"
        "sed 's#build/mortise#mortise#g' %s >page\n"
        "awk '/^```sh tested/ {n++; code = 0; "
        "if (sub(/.*exit=/, \"\")) code = $0; print \"(set -e\"; on = 1; "
        "next} /^```$/ && on {print \")\\ncode=$?; test $code = \" code "
        "\" || exit 1\"; on = 0} on' page >typed\n"
        "test $(grep -c '^(set -e' typed) -ge 1\n"
        "sh typed\n",
        _i, _i, test_port(), pages[_i]);
    must(script);
}
END_TEST

/* Links between installed pages lead to installed files. */
START_TEST(installed_links_lead_somewhere)
{
    says("cd stage$prefix/share/doc/mortise\n"
         "find . -name '*.md' | while read page; do\n"
         "    sed -n 's/](\\([^):#]*\\)[)#]/\\n@\\1\\n/gp' $page "
         "| sed -n 's/^@//p' | while read to; do\n"
         "        test -e \"$(dirname $page)/$to\" || echo \"$page: $to\"\n"
         "    done\n"
         "done\n"
         "test $(find docs -name '*.md' | wc -l) -gt 30 || echo too few\n",
         "");
}
END_TEST

/* ---- the same build, installed elsewhere -------------------------------- */

/* A finished build, as `make` leaves it, and then `make install PREFIX=`: twice,
 * the second time with a library directory of its own and without a stage. */
static void install_elsewhere(void)
{
    package_begin();
    must("cp $TREE/tests/embed/* .\n"
         "mkdir built && cd $BUILD\n"
         "cp -a core lang services server cli testkit tools worker deps.mk places $(ls -d flags 2>/dev/null) lib *.a mortise "
         "mortise-* *.pc keys plugins trust.d man completion $OLDPWD/built\n"
         "cd $OLDPWD\n"
         "make -s -C $TREE install B=$PWD/built PREFIX=/first "
         "DESTDIR=$PWD/stage-1\n"
         "make -s -C $TREE install B=$PWD/built PREFIX=$PWD/second "
         "LIBDIR=$PWD/second/lib64 DATADIR=$PWD/second/data\n");
}

/* From here on: what was installed last, found as a user would. */
#define SECOND                                                                 \
    "unset PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH\n"                           \
    "lib=$PWD/second/lib64 bin=$PWD/second/bin\n"                              \
    "export PKG_CONFIG_PATH=$lib/pkgconfig\n"

/* The .pc files name where they lie, and nothing names where the build or the
 * first installation was.  The command, whose library directory is not the one
 * that it would guess, finds its plugins. */
START_TEST(elsewhere_is_named)
{
    says("sed -n 's/^prefix=//p' stage-1/first/lib/pkgconfig/*.pc\n" SECOND
         "for p in mortise mortise-plugin; do\n"
         "    pkg-config --variable=plugindir $p\n"
         "    pkg-config --cflags --libs $p\n"
         "done | sed \"s|$PWD/||g; s/ *$//\"\n"
         "$bin/mortise plugin list --store store "
         "| grep -c $lib/mortise/plugins/text.plugin.yaml\n"
         "grep -rl /first second || true\n",
         "/first\n/first\n"
         "second/lib64/mortise/plugins\n"
         "-Isecond/include -Lsecond/lib64 -lmortise\n"
         "second/lib64/mortise/plugins\n"
         "-Isecond/include\n"
         "1\n");
}
END_TEST

/* So does it what it makes directories of, which it would not guess either. */
START_TEST(elsewhere_has_templates)
{
    says(SECOND "$bin/mortise init made >/dev/null\n"
                "$bin/mortise plugin new acme.x --lang rust >/dev/null\n"
                "ls made acme.x | grep -c yaml\n",
         "8\n");
}
END_TEST

/* An embedder, with the shared library and with the static one, which is far
 * from both and finds the plugins by the library directory that it was told. */
START_TEST(elsewhere_embeds)
{
    says(
        SECOND
        "flags=$(pkg-config --cflags --libs mortise jansson)\n"
        "$cc example.c $flags -Wl,-rpath,$lib -o shared\n"
        "./shared review.graph.yaml store-shared | tail -n 1\n"
        "flags=$(pkg-config --static --cflags --libs mortise jansson)\n"
        "$cc example.c $(echo \"$flags\" | sed 's/-lmortise/-l:libmortise.a/') "
        "-o static\n"
        "! ldd static | grep libmortise\n"
        "./static review.graph.yaml store-static | tail -n 1\n",
        "found: 1\nfound: 1\n");
}
END_TEST

/* A plugin is built against it and runs there. */
START_TEST(elsewhere_runs_plugins)
{
    /* Somebody else's machine: a plugin of that name and release ran here. */
    must(SECOND "unset CFLAGS CXXFLAGS LDFLAGS\n"
                "export XDG_STATE_HOME=$PWD/home\n"
                "PATH=$bin:$PATH\n"
                "cp -r $TREE/examples/plugin-c . && cd plugin-c\n"
                "sed -n '/^```sh tested/,/^```$/{/^```/!p}' README.md >readme\n"
                "sh -e readme\n");
    ck_assert_msg(strstr(child.out, samples[0].says) != NULL, "%s", child.out);
}
END_TEST

/* What was compiled with other flags is made anew, and what was not is left. */
START_TEST(flags_count)
{
    says("touch built/now && sleep 0.01\n"
         "make -s -C $TREE B=$PWD/built PREFIX=$PWD/second "
         "LIBDIR=$PWD/second/lib64 DATADIR=$PWD/second/data all\n"
         "find built/core built/lang built/cli -name '*.o' -newer built/now\n"
         "make -s -C $TREE B=$PWD/built CFLAGS=\"${CFLAGS:--O2 -g} -DOTHER\" "
         "$PWD/built/core/base/err.o >/dev/null\n"
         "find built/core built/lang built/cli -name '*.o' -newer built/now | sed 's|.*/||'\n",
         "err.o\n");
}
END_TEST

static TCase *elsewhere(void)
{
    TCase *tc = tcase_create("elsewhere");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, install_elsewhere, package_remove);
    tcase_add_test(tc, elsewhere_is_named);
    tcase_add_test(tc, elsewhere_has_templates);
    tcase_add_test(tc, elsewhere_embeds);
    tcase_add_test(tc, elsewhere_runs_plugins);
    tcase_add_test(tc, flags_count);
    return tc;
}

static Suite *suite(void)
{
    Suite *s = suite_create("embed");
    TCase *tc = tcase_create("package");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, install, package_remove);
    tcase_add_test(tc, exports_the_header);
    tcase_add_test(tc, archive_exports_the_header);
    tcase_add_test(tc, imports_nothing_rude);
    tcase_add_test(tc, soname);
    tcase_add_test(tc, command_finds_its_plugins);
    tcase_add_test(tc, plugin_package);
    tcase_add_test(tc, installs_everything);
    tcase_add_test(tc, installs_what_it_names);
    tcase_add_test(tc, uninstalls);
    tcase_add_test(tc, example_in_c);
    tcase_add_test(tc, example_in_cxx);
    tcase_add_test(tc, linked_statically);
    tcase_add_test(tc, foreign_loop);
    tcase_add_test(tc, several_engines);
    tcase_add_test(tc, own_signals);
    tcase_add_test(tc, own_process);
    tcase_add_test(tc, shipped_examples_have_no_warnings);
    tcase_add_loop_test(tc, installed_pages_work, 0, N_PAGES);
    tcase_add_test(tc, installed_links_lead_somewhere);
    tcase_add_loop_test(tc, sample_plugin, 0,
                        (int)(sizeof samples / sizeof *samples));
    suite_add_tcase(s, tc);
    suite_add_tcase(s, elsewhere());
    return s;
}

int main(void)
{
    return test_run(suite());
}
