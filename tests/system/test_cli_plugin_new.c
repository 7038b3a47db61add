/* test_cli_plugin_new.c -- `mortise plugin new`: what it makes is sound, has its name
 * everywhere, and touches nothing that is there.  That it builds, runs and survives
 * is test_newcomer.c's, which has only what is installed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static const struct {
    const char *lang, *files;
} languages[] = {
    {"c", ".gitignore\nMakefile\nREADME.md\nacme.x.c\n"},
    {"c++", ".gitignore\nMakefile\nREADME.md\nacme.x.cpp\n"},
    {"rust", ".gitignore\nMakefile\nREADME.md\nacme.x.graph.yaml\n"
             "acme.x.plugin.yaml\nacme.x.rs\n"},
};
enum { N_LANGUAGES = sizeof languages / sizeof languages[0] };

/* issue 15, 12: source, manifest, Makefile, test and the line for CI, in each
 * language; the name stands where it should, and nothing of the template is left. */
START_TEST(each_language)
{
    const char *lang = languages[_i].lang;

    desk_ok("$MORTISE plugin new acme.x --lang %s", lang);
    desk_out("made acme.x/acme.x.plugin.yaml\n");
    desk_out("next:\n  cd acme.x\n  make MORTISE=");
    desk_ok("PATH=${MORTISE%%/*}:$PATH mortise plugin new acme.y --lang %s",
            lang);
    desk_out("next:\n  cd acme.y\n  make check\n  mortise plugin call ");
    desk_ok("ls -A acme.x | LC_ALL=C sort");
    ck_assert_msg(strncmp(child.out, languages[_i].files,
                          strlen(languages[_i].files)) == 0,
                  "%s", child.out);
    desk_out("\nacme.x.test.yaml\ndev.yaml\nmortise.");
    desk_ok("! grep -rE '@(NAME|LANG|M)@?' acme.x");
    desk_ok("grep -x 'runtime: %s' acme.x/acme.x.plugin.yaml", lang);
    desk_ok("grep -q '^check: acme.x.so$' acme.x/Makefile");
    desk_ok("grep -qx 'make check' acme.x/README.md");
    desk_ok("$MORTISE check acme.x/acme.x.plugin.yaml");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* The other kinds, in C alone, which goes without saying; another kind, or another
 * language of it, is said to be none. */
static const struct {
    const char *kind, *says;
} kinds[] = {
    {"guardrail", "run acme.f.graph.yaml"},
    {"discovery", "run acme.f.graph.yaml"},
    {"memory", "memory import traces.jsonl"},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

START_TEST(each_kind)
{
    const char *kind = kinds[_i].kind;

    desk_ok("$MORTISE plugin new acme.f --kind %s", kind);
    desk_out("made acme.f/acme.f.c\n");
    desk_out(kinds[_i].says);
    desk_ok("! grep -rE '@(NAME|LANG|M)@?' acme.f");
    desk_ok("grep -x 'runtime: c' acme.f/acme.f.plugin.yaml && "
            "grep -x '  %s:' acme.f/acme.f.plugin.yaml",
            kind);
    desk_ok("cd acme.f && $MORTISE check --deployment dev.yaml "
            "acme.f.plugin.yaml 2>&1");
    ck_assert_str_eq(child.out, "");
    desk_ok("$MORTISE plugin new acme.g --lang c --kind %s", kind);
    desk_ok("ls acme.f | sed s/acme.f/acme.g/ >f; ls acme.g | diff f -");
    child_run("$MORTISE plugin new acme.h --lang rust --kind %s", kind);
    desk_code(3);
    desk_err("is available only in c");
    child_run("$MORTISE plugin new acme.h --lang cobol --kind %s", kind);
    desk_code(3);
    desk_err("is available only in c");
}
END_TEST

/* Stands in for what signs: what it makes differs as the object does. */
static const char signer[] = "#!/bin/sh\n"
                             "case \"$1 $2\" in\n"
                             "'key new') touch acme.x.key ;;\n"
                             "'plugin sign') mkdir -p dist\n"
                             "    { cat acme.x.plugin.yaml; cksum <acme.x.so; "
                             "} >dist/acme.x.plugin.yaml\n"
                             "esac\n";

static const char *const signed_ones[] = {
    "--lang c",         "--lang c++",       "--lang rust",
    "--kind guardrail", "--kind discovery", "--kind memory"};

/* An edit, and `make sign`.  What was there before is made older: make knows files
 * by their times, which on some machines stand still for ten milliseconds. */
static void edit_and_sign(const char *edit)
{
    desk_ok("cd acme.x && touch -d '1 hour ago' * dist/* && %s && "
            "make sign MORTISE=./signer",
            edit);
}

/* `make sign` says where a signed plugin is replaced by another of the same version
 * and seq, which is refused wherever the first has run. */
START_TEST(sign_says_that_seq_is_still_the_same)
{
    desk_ok("$MORTISE plugin new acme.x %s", signed_ones[_i]);
    desk_put("acme.x/signer", signer);
    desk_ok("cd acme.x && chmod +x signer && echo 1 >acme.x.so && "
            "make sign MORTISE=./signer");
    desk_not_out("seq is");
    edit_and_sign("touch acme.x.so");
    desk_not_out("seq is");
    edit_and_sign("echo 2 >acme.x.so");
    desk_out(
        "seq is still 1: where the plugin ran before, this one is refused; "
        "raise it in acme.x.plugin.yaml\n");
    edit_and_sign("echo 3 >acme.x.so && "
                  "sed -i 's/^seq: 1/seq: 2/' acme.x.plugin.yaml");
    desk_not_out("seq is");
    edit_and_sign(
        "echo 4 >acme.x.so && "
        "sed -i 's/version: 0.1.0/version: 0.1.1/' acme.x.plugin.yaml");
    desk_not_out("seq is");
    desk_ok("LC_ALL=C ls acme.x/dist");
    desk_not_out("was\n");
}
END_TEST

/* A changed header, or module, makes what is built from it out of date. */
START_TEST(a_header_is_a_prerequisite)
{
    bool rust = strstr(signed_ones[_i], "rust") != NULL;

    desk_ok("$MORTISE plugin new acme.x %s", signed_ones[_i]);
    desk_ok("cd acme.x && touch part.%s && touch -d '1 hour ago' * && "
            "touch -d '1 minute ago' acme.x.so && make -q",
            rust ? "rs" : "h");
    child_run("cd acme.x && touch part.%s && make -q", rust ? "rs" : "h");
    desk_code(1);
}
END_TEST

/* The same holds for the examples, which people copy. */
static char tree[PATH_MAX];

static const struct {
    const char *dir, *target;
} copied[] = {
    {"examples/plugin-c", "acme.iban.so"},
    {"examples/plugin-cpp", "acme.words.so"},
    {"examples/plugin-model", "acme.ollama.so"},
    {"configs/refund/pay", "acme.pay.so"},
    {"configs/refund/pay", "payd"},
    {"configs/files/server", "filesd"},
};

START_TEST(a_header_of_an_example_is_one)
{
    const char *target = copied[_i].target;

    desk_ok("cp -r %s/%s x && cd x && touch part.h && "
            "touch -d '1 hour ago' * && touch -d '1 minute ago' %s && "
            "make -q %s",
            tree, copied[_i].dir, target, target);
    child_run("cd x && touch part.h && make -q %s", target);
    desk_code(1);
}
END_TEST

/* Whatever a plugin may be called, its files are sound. */
static const char *const names[] = {"1.0",     "null", "true", "0x1f",
                                    "a-b_c.d", "Y",    "json", "plugin"};

START_TEST(any_name)
{
    char in[64];

    for (size_t i = 0; i < N_LANGUAGES; i++) {
        snprintf(in, sizeof in, "in%zu", i);
        desk_ok("$MORTISE plugin new %s --lang %s --out %s", names[_i],
                languages[i].lang, in);
        desk_ok("cd %s && $MORTISE check --deployment dev.yaml "
                "%s.plugin.yaml 2>&1",
                in, names[_i]);
        ck_assert_str_eq(child.out, "");
    }
}
END_TEST

/* What cannot be is said, and nothing is made. */
static const struct {
    const char *call, *says;
    int code;
} refused[] = {
    {"x", "--lang is missing: give c, c++ or rust", 3},
    {"x --kind executor", "--lang is missing: give c, c++ or rust", 3},
    {"x --lang cpp", "c, c++ or rust, not 'cpp'", 3},
    {"x --lang rustt", "did you mean 'rust'?", 3},
    {"x --kind guardail", "discovery or memory, not 'guardail'", 3},
    {"x --kind guardail", "did you mean 'guardrail'?", 3},
    {"'a b' --lang c", "'a b' is not a valid name", 3},
    {"../x --lang c", "'../x' is not a valid name", 3},
    {"-- -x --lang c", "", 3},
    {"$(printf %0200d 1) --lang c", "is not a valid name", 3},
    {"mortise --lang rust", "the name of a file of Mortise", 3},
    {"mortise_json --lang rust", "the name of a file of Mortise", 3},
    {"x --lang c --out no/such/place", "no/such/place", 3},
};

START_TEST(refused_in_words)
{
    desk_ok("mkdir empty");
    child_run("cd empty && $MORTISE plugin new %s", refused[_i].call);
    desk_code(refused[_i].code);
    desk_err(refused[_i].says);
    ck_assert_str_eq(child.out, "");
    desk_ok("ls -A empty . | grep -x x || ls -A empty");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* A file that is there keeps all others from being made. */
static const char *const taken[] = {"Makefile", "x.c", "x.plugin.yaml",
                                    "README.md", ".gitignore"};

START_TEST(nothing_is_written_over)
{
    desk_ok("mkdir x && echo mine >x/%s", taken[_i]);
    child_run("$MORTISE plugin new x --lang c");
    desk_code(3);
    desk_err("exists; nothing was written");
    desk_err(taken[_i]);
    desk_ok("ls -A x && cat x/%s", taken[_i]);
    ck_assert_uint_eq(strlen(child.out),
                      strlen(taken[_i]) + strlen("\nmine\n"));
    desk_out("mine\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_plugin_new");
    TCase *tc = tcase_create("new");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, each_kind, 0, N_KINDS);
    tcase_add_loop_test(tc, each_language, 0, N_LANGUAGES);
    tcase_add_loop_test(tc, sign_says_that_seq_is_still_the_same, 0,
                        sizeof signed_ones / sizeof signed_ones[0]);
    tcase_add_loop_test(tc, a_header_is_a_prerequisite, 0,
                        sizeof signed_ones / sizeof signed_ones[0]);
    tcase_add_loop_test(tc, a_header_of_an_example_is_one, 0,
                        sizeof copied / sizeof copied[0]);
    tcase_add_loop_test(tc, any_name, 0, sizeof names / sizeof names[0]);
    tcase_add_loop_test(tc, refused_in_words, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_loop_test(tc, nothing_is_written_over, 0,
                        sizeof taken / sizeof taken[0]);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    if (getcwd(tree, sizeof tree) == NULL)
        return 1;
    return test_run(suite());
}
