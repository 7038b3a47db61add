/* test_hostile_trust.c -- what somebody else put there: a directory that was
 * downloaded, another user's files, trust that goes back. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/owner.h"
#include "lib/desk.h"

static const char header[] = "apiVersion: mortise/v1\n"
                             "kind: Deployment\n"
                             "metadata: {name: strange}\n";

/* A file that nobody gave a word for. */
static void put(const char *name, const char *text)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", desk_dir, name);
    test_write(path, text, strlen(text));
}

static void put_deployment(const char *more)
{
    char text[4096];

    snprintf(text, sizeof text, "%s%s", header, more);
    put("mortise.yaml", text);
}

/* A directory as it is downloaded: a graph, a deployment, and a plugin that
 * nobody signed. */
static void begin(void)
{
    char source[4096];

    test_begin();
    child_allows(false);
    desk_begin();
    ck_assert_ptr_nonnull(realpath("tests/plugins/tried.plugin.yaml", source));
    desk_ok("cp %s . && cp %s .", source,
            child_build("tests/plugins/tried.so"));
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    desk_put("g.test.yaml", "apiVersion: mortise/v1\n"
                            "kind: Test\n"
                            "metadata: {name: t}\n"
                            "graph: g.yaml\n"
                            "deployment: ./mortise.yaml\n"
                            "cases:\n"
                            "  it runs:\n"
                            "    real: [tried]\n"
                            "    expect: {status: completed}\n");
    put_deployment("plugins: {dev: [.]}\n");
}

/* Each way in, with what it would run. */
static const char *const ways[] = {
    "run g.yaml",
    "check --plugins g.yaml",
    "test g.test.yaml",
    "resume r",
    "runs",
    "plugin list",
    "plugin inspect tried",
    "plugin verify tried",
    "approve r",
};

/* Nothing that was found says what runs, until somebody said so. */
START_TEST(found_is_not_said)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        child_run("$MORTISE %s 2>&1; code=$?; test ! -e entered || exit 99; "
                  "exit $code",
                  ways[i]);
        ck_assert_msg(child.code != 0 && child.code != 99,
                      "mortise %s: exit code %d\n%s", ways[i], child.code,
                      child.out);
        desk_out("plugins.dev (line 4)");
        desk_out("mortise config allow ");
        desk_ok("test ! -e .mortise"); /* nor was anything written */
    }
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("plugins.dev (line 4)");
}
END_TEST

/* The line that is printed works when it is pasted. */
START_TEST(the_printed_command_works)
{
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_ok(
        "eval \"$($MORTISE run g.yaml 2>&1 | "
        "sed -n 's/.*: mortise \\(config allow .*\\) (.*/$MORTISE \\1/p')\"");
    desk_out("allowed: ");
    desk_out("plugins.dev (line 4)");
    desk_ok("$MORTISE run g.yaml");
    desk_ok("$MORTISE check --plugins g.yaml");
    desk_ok("$MORTISE config allow | grep mortise.yaml");
    desk_ok("$MORTISE config allow mortise.yaml --remove");
    desk_out("no longer allowed: ");
    desk_out("/mortise.yaml\n");
    desk_ok("XDG_STATE_HOME=$PWD/nowhere $MORTISE config allow");
    ck_assert_str_eq(child.out, "");
    desk_err("no deployment is allowed; to allow one, name its file: mortise "
             "config allow mortise.yaml");
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    child_run("$MORTISE config allow mortise.yaml --remove");
    desk_code(3);
}
END_TEST

/* What is said holds for those keys as they were, at that path. */
START_TEST(a_change_asks_again)
{
    static const char *const harmless[] = {
        "plugins: {dev: [.]}\nlimits: {steps: 10}\n",
        "plugins: {dev: [.]}\nstore: {durability: exit}\n",
        "# a comment\nplugins: {dev: ['.']}\n",
        "plugins: {dev: ['${file:where}']}\n",
    };
    static const char *const others[] = {
        "plugins: {dev: [., ./more]}\n",
        "plugins: {dev: [.], path: [./more]}\n",
        "plugins: {dev: [.]}\ntrust: {dir: ./trust.d}\n",
        "plugins: {dev: [.]}\nsecrets: {a: {exec: [id]}}\n",
        "plugins: {dev: [.], config: {http: {allow: ['a.b:1']}}}\n"
        "secrets: {a: {env: A}}\n",
        "plugins: {dev: [.]}\nsecrets: {a: {env: A}}\n"
        "guardrails: {g: {plugin: pattern, config: {builtin: [email]}}}\n",
    };

    put("where", ".");
    desk_ok("$MORTISE config allow mortise.yaml");
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        put_deployment(harmless[i]);
        desk_ok("$MORTISE run g.yaml");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        put_deployment(others[i]);
        child_run("$MORTISE run g.yaml");
        ck_assert_msg(child.code == 77, "%s: exit code %d\n%s", others[i],
                      child.code, child.err);
    }
    desk_err("the file changed since you allowed it");
    put_deployment("plugins: {dev: ['${file:where}']}\n");
    desk_ok("$MORTISE run g.yaml");
    put("where", "./"); /* what a file says is part of it */
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_ok("mkdir copy && cp *.yaml *.so where copy"); /* another path */
    put("where", ".");
    child_run("cd copy && $MORTISE run g.yaml");
    desk_code(77);
}
END_TEST

/* Who names a file has said it; what a Test file names, nobody has. */
START_TEST(named_is_said)
{
    desk_ok("$MORTISE run g.yaml --deployment mortise.yaml");
    desk_ok("MORTISE_DEPLOYMENT=mortise.yaml $MORTISE run g.yaml");
    desk_ok("$MORTISE test g.test.yaml --deployment mortise.yaml");
    child_run("mv mortise.yaml other.yaml; sed -i s/mortise.yaml/other.yaml/ "
              "g.test.yaml; $MORTISE test g.test.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_err("config allow");
    put_deployment("limits: {steps: 10}\n");
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: text/lines, args: {text: a}, "
                    "next: END}\n");
    desk_ok("$MORTISE run h.yaml"); /* needs nobody's word */
    put_deployment("limits: {steps: 10}\nsecrets: {a: {env: A}}\n");
    child_run("$MORTISE run h.yaml");
    desk_code(77);
    desk_err("with secrets (line 5)");
}
END_TEST

/* Looking at it runs nothing, so it says what is not allowed yet. */
START_TEST(looking_is_free)
{
    desk_ok("$MORTISE check g.yaml");
    desk_out("mortise.yaml:4:16: warning[W0820]");
    desk_ok("$MORTISE config print");
    desk_ok("$MORTISE graph show g.yaml");
    desk_ok("$MORTISE key list");
    desk_ok("$MORTISE check mortise.yaml"); /* an operand was named */
    desk_not_out("W0820");
    desk_ok("$MORTISE config allow mortise.yaml && $MORTISE check g.yaml");
    desk_not_out("W0820");
}
END_TEST

/* What could not be kept is not said to be allowed. */
START_TEST(allowed_once_it_holds)
{
    put_deployment("plugins: {path: [.]}\n");
    child_run("XDG_STATE_HOME=/dev/null/x $MORTISE config allow mortise.yaml");
    ck_assert_int_ne(child.code, 0);
    ck_assert_str_eq(child.out, "");
    desk_ok("$MORTISE config allow mortise.yaml");
    desk_out("allowed: ");
    desk_out("\n  plugins.path (line ");
}
END_TEST

/* Who puts the first key into a trust directory says that it counts; keys that
 * were there already are not his word, nor is a directory of unsigned code. */
START_TEST(trusting_says_so)
{
    put_deployment("trust: {dir: trust.d}\nplugins: {path: [.]}\n");
    desk_ok("$MORTISE key new k -W && $MORTISE key new z -W");
    child_run("$MORTISE runs");
    desk_code(77);
    desk_ok("$MORTISE key trust k.pub --plugins '*' --trust trust.d");
    desk_err("sets more than trust");
    desk_err("mortise config allow ");
    desk_err("plugins that this key signs cannot run without --in-process");
    desk_not_out("allowed: ");
    child_run("$MORTISE runs");
    desk_code(77);
    desk_ok("$MORTISE key trust k.pub --plugins '*' --trust trust.d");
    child_run("$MORTISE key trust z.pub --plugins '*' --name k --trust "
              "trust.d");
    ck_assert_int_ne(child.code, 0);
    desk_err("/k.yaml already exists; change or remove that file, or give "
             "another name with --name");
    desk_ok("rm -r trust.d");
    put_deployment("trust: {dir: trust.d}\n");
    desk_ok("$MORTISE key trust k.pub --plugins '*' --in-process --trust "
            "trust.d");
    desk_out("\nallowed: ");
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE runs");
    desk_ok("$MORTISE config allow mortise.yaml --remove");
    desk_ok("$MORTISE key trust z.pub --plugins '*'");
    desk_not_out("allowed: ");
    child_run("$MORTISE runs");
    desk_code(77);
    desk_ok("$MORTISE key trust k.pub --plugins '*' --in-process --trust "
            "trust.e");
    desk_err("mortise.yaml does not use the trust directory trust.e; set "
             "there:\n  trust: {dir: trust.e}\n");
    desk_ok("mkdir in && cd in && $MORTISE key trust ../k.pub --plugins '*' "
            "--in-process --trust ../trust.f");
    desk_err("  trust: {dir: ");
    desk_err("/trust.f}\n");
    put_deployment("trust: {dir: new.d}\nplugins: {dev: [.]}\n");
    child_run("$MORTISE key trust k.pub --plugins '*'");
    desk_code(77);
    desk_ok("test ! -e new.d");
}
END_TEST

/* ---- owners ----------------------------------------------------------------
 */

enum { STRANGER = 12345 };

/* Who may change what, and what is said of it. */
START_TEST(what_others_may_change_is_refused)
{
    static const struct {
        const char *spoil, *mend;
    } cases[] = {
        {"chmod o+w mortise.yaml", "chmod go-w "},
        {"chmod 0666 mortise.yaml", "chmod go-w "},
        {"chmod o+w .", "chmod go-w "},
        {"mkdir trust.d && chmod 1777 trust.d", "chmod go-w "},
        {"mkdir trust.d && touch trust.d/a && chmod o+w trust.d/a",
         "chmod go-w "},
        {"chmod o+w tried.so", "chmod go-w "},
        {"mkdir -m 0777 .mortise", "chmod go-w "},
        {"mv mortise.yaml x; mkdir -m 0777 y; mv x y; "
         "ln -s y/x mortise.yaml",
         "chmod go-w "},
        {"chown 12345 mortise.yaml", "chown "},
        {"chown 12345 tried.so", "chown "},
        {"mkdir trust.d && chown 12345 trust.d", "chown "},
        {"mkdir .mortise && chown 12345 .mortise", "chown "},
        {"mv mortise.yaml x; ln -s x mortise.yaml; "
         "chown -h 12345 mortise.yaml",
         "chown "},
    };
    size_t n = sizeof cases / sizeof cases[0] - (geteuid() == 0 ? 0 : 5);

    put_deployment("plugins: {dev: [.]}\ntrust: {dir: trust.d}\n");
    desk_ok("cp -a . ../$(basename $PWD).pure && chmod 0755 .");
    for (size_t i = 0; i < n; i++) {
        desk_ok("%s", cases[i].spoil);
        child_run("$MORTISE run g.yaml --deployment mortise.yaml");
        ck_assert_msg(child.code == 77 && strstr(child.err, cases[i].mend),
                      "%s: exit code %d\n%s", cases[i].spoil, child.code,
                      child.err);
        /* The command that is printed mends it. */
        desk_ok("$MORTISE run g.yaml --deployment mortise.yaml 2>&1 | "
                "sed -n 's/.*: \\(ch[a-z]* [^/]* [^ ;]*\\).*/\\1/p' | sh -x && "
                "$MORTISE run g.yaml --deployment mortise.yaml");
        desk_ok("rm -rf * .mortise && cp -a ../$(basename $PWD).pure/. . && "
                "chmod 0755 .");
    }
    desk_ok("rm -r ../$(basename $PWD).pure");
}
END_TEST

/* A person may accept it as it is, and no more than that. */
START_TEST(what_is_accepted_is_accepted_as_it_is)
{
    desk_ok("chmod o+w mortise.yaml && $MORTISE config allow mortise.yaml");
    desk_out("is writable by others (mode 0646)");
    desk_ok("$MORTISE run g.yaml");
    desk_ok("chmod 0666 mortise.yaml");
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_ok("chmod go-w mortise.yaml && $MORTISE run g.yaml");
}
END_TEST

/* Another uid's whole directory, as in a container. */
START_TEST(a_foreign_directory_is_refused)
{
    if (geteuid() != 0)
        desk_ok("test $(id -u) != 0"); /* only root can give files away */
    else
        desk_ok("chown -R %d .", STRANGER);
    child_run("$MORTISE run g.yaml --deployment mortise.yaml");
    desk_code(geteuid() == 0 ? 77 : 0);
    desk_ok("$MORTISE config allow mortise.yaml");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* Nobody's word helps with a store of somebody else: none is asked for. */
START_TEST(a_foreign_store_is_refused)
{
    desk_ok("mkdir st");
    if (geteuid() != 0)
        desk_ok("chmod o+w st"); /* only root can give files away */
    else
        desk_ok("chown %d st", STRANGER);
    child_run("$MORTISE run g.yaml --deployment mortise.yaml --store st");
    desk_code(77);
    desk_err("/st");
    ck_assert_msg(strstr(child.err, "config allow") == NULL, "%s", child.err);
}
END_TEST

/* Where what was said is kept is open to others, it does not count: that is
 * said, not to say it again. */
START_TEST(a_word_that_does_not_count)
{
    desk_ok("$MORTISE config allow mortise.yaml && $MORTISE run g.yaml && "
            "chmod 0777 $XDG_STATE_HOME/mortise");
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_err("you cannot allow this file: ");
    ck_assert_msg(strstr(child.err, "config allow") == NULL, "%s", child.err);
    child_run("$MORTISE config allow");
    desk_code(77);
    child_run("$MORTISE config allow mortise.yaml --remove");
    desk_code(77);
    desk_ok("eval \"$($MORTISE run g.yaml 2>&1 | "
            "sed -n 's/.*\\(chmod go-w [^ ;]*\\).*/\\1/p')\"");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* What is in a store, with what spoils it. */
static const struct {
    const char *spoil, *mend;
    bool by_root, tables; /* only root can do it; who reads tables sees it */
} inside[] = {
    {"chmod 0777 st/db", "chmod -R go-w st", false, false},
    {"chmod 1777 st/db", "chmod -R go-w st", false, false},
    {"chmod o+w st/quarantine", "chmod -R go-w st", false, false},
    {"chmod 0666 st/mark", "chmod -R go-w st", false, false},
    {"chmod 0666 st/format", "chmod -R go-w st", false, false},
    {"chmod o+w st/reserve", "chmod -R go-w st", false, false},
    {"touch st/format.new && chmod 0666 st/format.new", "chmod -R go-w st",
     false, false},
    {"chmod o+w st/db/CURRENT", "chmod -R go-w st", false, false},
    {"chmod o+w st/db/MANIFEST-*", "chmod -R go-w st", false, false},
    {"chmod o+w st/db/*.log", "chmod -R go-w st", false, false},
    {"chmod o+w st/db/*.ldb", "chmod -R go-w st", false, true},
    {"mkdir -m 0777 .up && mv st/db .up/db && ln -s ../.up/db st/db",
     "chmod go-w /", false, false},
    {"chown 12345 st/db", "chown -hR ", true, false},
    {"chown 12345 st/mark", "chown -hR ", true, false},
    {"chown 12345 st/quarantine", "chown -hR ", true, false},
    {"chown 12345 st/db/CURRENT", "chown -hR ", true, false},
    {"chown 12345 st/db/*.log", "chown -hR ", true, false},
    {"chown 12345 st/db/*.ldb", "chown -hR ", true, true},
    {"mv st/db .db && ln -s ../.db st/db && chown -h 12345 st/db", "chown -hR ",
     true, false},
};

/* Whoever opens a store, to work in it or to look, refuses what others may
 * have put into it; and the command that is printed mends it. */
START_TEST(what_is_in_a_store_is_judged)
{
    static const char *const each[] = {
        "run g.yaml", "runs",   "show r",
        "resume r",   "engine", "store salvage new",
    };

    if (inside[_i].by_root && geteuid() != 0)
        return; /* only root can give files away */
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    put_deployment("plugins: {dev: [.]}\nstore: {path: st}\n");
    desk_ok("chmod 0755 . && $MORTISE run g.yaml --id r && $MORTISE runs && "
            "ls st/db/*.ldb");
    desk_ok("%s", inside[_i].spoil);
    for (size_t i = inside[_i].tables ? 5 : 0; i < sizeof each / sizeof each[0];
         i++) {
        child_run("timeout 60 $MORTISE %s", each[i]);
        ck_assert_msg(child.code == 77 && strstr(child.err, inside[_i].mend),
                      "%s: mortise %s: exit code %d\n%s", inside[_i].spoil,
                      each[i], child.code, child.err);
        desk_ok("test ! -e new");
    }
    child_run("$MORTISE doctor");
    ck_assert_msg(child.code == 2 && strstr(child.out, inside[_i].mend) &&
                      strstr(child.out, "fail store "),
                  "%s: doctor: exit code %d\n%s", inside[_i].spoil, child.code,
                  child.out);
    desk_ok(
        "$MORTISE store salvage new 2>&1 | "
        "sed -n 's/.*: \\(ch.*\\) (E_NOT_ALLOWED)/\\1/p' >mend && test -s mend "
        "&& sh -x mend && rm -rf new");
    child_run("test -L st/db");
    if (child.code == 0) { /* a link is refused whoever made it */
        child_run("$MORTISE run g.yaml");
        desk_code(77);
        desk_err("st/db is a link, so the engine would write to another place");
        desk_ok("target=$(readlink -f st/db) && rm st/db && mv $target st/db");
    }
    desk_ok("$MORTISE run g.yaml && $MORTISE show r");
    child_run("$MORTISE doctor");
    ck_assert_ptr_null(strstr(child.out, "fail store "));
    desk_ok("$MORTISE store salvage new");
}
END_TEST

/* A directory that has other files is refused as a store and stays unchanged.  An
 * empty directory is accepted, and the top of a new file system, too.  A store that
 * lost files is still a store. */
START_TEST(files_of_others_are_no_store)
{
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    put_deployment("plugins: {dev: [.]}\nstore: {path: notes}\n");
    desk_ok("mkdir -m 0755 notes && echo mine >notes/README");
    for (int i = 0; i < 2; i++) {
        child_run("$MORTISE run g.yaml --id r %s",
                  i == 0 ? "" : "--store ./notes");
        desk_code(3);
        desk_err("notes: it is not a store, and it contains other files "
                 "('README'): name "
                 "a new or an empty directory");
        desk_ok("test $(stat -c %%a notes) = 755 && test \"$(ls -A notes)\" = "
                "README");
    }
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("fail store       notes: it is not a store");
    desk_ok("mkdir -p -m 0755 new/lost+found && $MORTISE run g.yaml --id r "
            "--store new && test $(stat -c %%a new) = 700");
    desk_ok("echo mine >new/README && $MORTISE show r --store new");
    desk_ok("rm new/db/CURRENT");
    child_run("$MORTISE resume r --store new");
    desk_err("E_STORE_CORRUPT");
    child_run("rm new/format new/mark; $MORTISE store salvage saved --store "
              "new");
    desk_code(2);
    desk_out("saved: 1 run; 0 left out");
    desk_ok("$MORTISE show r --store saved");
}
END_TEST

/* What others could only read they cannot any more, which is said once; who
 * looks at what cannot be opened leaves it as it is. */
START_TEST(a_store_is_closed_to_others)
{
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    put_deployment("plugins: {dev: [.]}\nstore: {path: st}\n");
    desk_ok("mkdir -m 0755 st && $MORTISE run g.yaml --id r");
    desk_err("the store st had mode 0755, so others could read the data of "
             "runs; the mode is now 0700");
    desk_ok("test $(stat -c %%a st) = 700 && $MORTISE runs");
    ck_assert_str_eq(child.err, "");
    desk_ok("cp -r st copy && chmod 0755 copy copy/db copy/quarantine && "
            "$MORTISE show r --store copy && test $(stat -c %%a copy) = 700");
    desk_err("copy had mode 0755");
    desk_ok("chmod 2750 copy && $MORTISE runs --store copy && "
            "test $(stat -c %%a copy) = 2700");
    desk_err("the store copy had mode 2750");
    desk_ok("chmod 0755 st && : >st/mark");
    child_run("$MORTISE runs");
    desk_code(1);
    desk_err("read from a copy");
    desk_ok("test $(stat -c %%a st) = 755");
}
END_TEST

/* Root's files are fine for everybody, /tmp is on the way to many, and where
 * our word is kept is held to the same rule. */
START_TEST(the_way_is_judged)
{
    struct mortise_err err;
    char path[8300];

    ck_assert_int_eq(mortise_owner_check("/proc/self/fd/0", NULL, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_owner_check("/etc/passwd", NULL, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_owner_check("/nowhere/at/all", NULL, NULL, &err),
                     MORTISE_OK);
    ck_assert_int_eq(
        mortise_owner_check("/etc/../etc/./passwd/x", NULL, NULL, &err),
        MORTISE_OK);
    desk_ok("ln -s loop loop");
    snprintf(path, sizeof path, "%s/loop", desk_dir);
    ck_assert_int_eq(mortise_owner_check(path, NULL, NULL, &err), MORTISE_OK);
    desk_ok("$MORTISE config allow mortise.yaml && $MORTISE run g.yaml && "
            "chmod o+w $XDG_STATE_HOME/mortise/allowed");
    child_run("$MORTISE run g.yaml");
    desk_code(77);
}
END_TEST

/* ---- trust that goes back ---------------------------------------------------
 */

/* A desk of its own: the release `tried` 1.0.0 in plugins/, signed by k, with
 * its Deployment d.yaml, which is named. */
static void sign_release(void)
{
    desk_ok("$MORTISE key new k -W && $MORTISE key new z -W && mkdir plugins");
    desk_ok("mv tried.plugin.yaml source.yaml && "
            "$MORTISE plugin sign source.yaml tried.so --key k.key "
            "--out plugins");
    desk_ok("$MORTISE key trust k.pub --plugins tried --in-process "
            "--trust trust.d");
    desk_ok("$MORTISE key trust z.pub --plugins tried --in-process "
            "--trust trust.d");
    put("d.yaml", "apiVersion: mortise/v1\n"
                  "kind: Deployment\n"
                  "metadata: {name: d}\n"
                  "plugins: {path: [./plugins]}\n"
                  "trust: {dir: ./trust.d}\n"
                  "store: {path: ./state}\n");
    ck_assert_int_eq(setenv("MORTISE_DEPLOYMENT", "d.yaml", 1), 0);
}

/* Another release in its place. */
static void release(const char *seq, const char *key, const char *more)
{
    desk_ok("rm -r plugins && sed 's/^seq: .*/seq: %s/; s/Work/%s/' "
            "source.yaml >tried.plugin.yaml && $MORTISE plugin sign "
            "tried.plugin.yaml tried.so --key %s.key --out plugins && rm "
            "tried.plugin.yaml",
            seq, more, key);
}

static void refused(const char *line, const char *words)
{
    child_run("%s", line);
    ck_assert_msg(child.code != 0 && (strstr(child.err, words) != NULL ||
                                      strstr(child.out, words) != NULL),
                  "%s: exit code %d, no '%s':\n%s%s", line, child.code, words,
                  child.out, child.err);
}

/* h.yaml: the plugin is called before a person is asked and behind it. */
static void put_halting(void)
{
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: q}\n"
                    "  q: {type: human, prompt: on?, next: b}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 2}, "
                    "next: END}\n");
}

/* A key that is revoked while an engine runs: its plugin is called no more, the
 * run is blocked and says why, others go on, and so does it when the key is
 * good again. */
START_TEST(revocation_under_a_live_engine)
{
    pid_t engine;

    sign_release();
    put_halting();
    desk_graph("other", "start: a\nnodes:\n"
                        "  a: {type: tool, tool: text/lines, args: {text: a}, "
                        "next: END}\n");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    child_run("$MORTISE run h.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE key revoke $($MORTISE key list --json | "
            "sed -n 's/.*\"id\":\"\\([^\"]*\\)\".*k.yaml.*/\\1/p')");
    child_run("sleep 0.1; $MORTISE approve r $($MORTISE inbox --json | "
              "sed -n 's/.*\"request\":\"\\([^\"]*\\)\".*/\\1/p')");
    desk_ok("for i in $(seq 600); do $MORTISE show r | grep blocked && break; "
            "sleep 0.1; done; $MORTISE show r");
    desk_out("revokes");
    child_run("$MORTISE run h.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_ok("$MORTISE run other.yaml");
    child_kill(engine);
}
END_TEST

/* From now on a process may open no more files, or (`most` > 0) so many. */
static void leave_descriptors(pid_t pid, rlim_t most)
{
    struct rlimit now;

    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, NULL, &now), 0);
    now.rlim_cur = most;
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, &now, NULL), 0);
}

/* Trust that cannot be read for want of descriptors is not refused: the call waits,
 * of a plugin that runs as of one that is yet to be loaded, and the run goes on
 * when there are some again. */
START_TEST(no_descriptor_is_no_refusal)
{
    static const char *const then[] = {
        "  b: {type: tool, tool: tried/echo, args: {value: 2}, next: END}\n",
        "  b: {type: tool, tool: text/lines, args: {text: a}, next: END}\n"};
    char body[1024];
    pid_t run;

    sign_release();
    snprintf(body, sizeof body,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: tried/nap, args: {ms: 2000}, next: b}\n"
             "%s",
             then[_i]);
    desk_graph("h", body);
    run = child_start("run", "$MORTISE run h.yaml --id r");
    child_await("run.err", "at work");
    leave_descriptors(run, 3);
    desk_ok("touch -d 2030-01-01 trust.d/*");
    child_await("run.err", "run r waits at 1.0/b");
    child_await("run.err", "limit of 3 open files is reached");
    leave_descriptors(run, 1024);
    ck_assert_int_eq(child_wait(run), 0);
    desk_ok("! grep -e 'not trusted' -e blocked -e paused run.out run.err");
    desk_ok("$MORTISE show r");
    desk_out("completed");
}
END_TEST

/* It may open so many descriptors more. */
static void leave_free(pid_t pid, rlim_t n)
{
    char path[64];
    rlim_t most = 0;

    for (;; most++) {
        struct stat st;

        snprintf(path, sizeof path, "/proc/%ld/fd/%llu", (long)pid,
                 (unsigned long long)most);
        if (lstat(path, &st) != 0 && n-- == 0)
            break;
    }
    leave_descriptors(pid, most);
}

/* An engine with a descriptor for a client, and too few for a call: `why`, `show`
 * and `show --json` name what the call waits for, and what to do.  With none at
 * all, the engine's answer does. */
START_TEST(a_wait_for_descriptors_is_shown)
{
    pid_t run;

    sign_release();
    desk_graph("h",
               "start: a\nnodes:\n"
               "  a: {type: tool, tool: tried/nap, args: {ms: 2000}, "
               "next: b}\n"
               "  b: {type: tool, tool: text/lines, args: {text: a}, next: "
               "END}\n");
    run = child_start("run", "$MORTISE run h.yaml --id r");
    child_await("run.err", "at work");
    leave_free(run, 1);
    desk_ok("touch -d 2030-01-01 trust.d/*");
    child_await("run.err", "run r waits at 1.0/b");
    desk_ok("$MORTISE why r | tr '\\n' ' '");
    desk_out("Node 'b' waits since ");
    desk_out(" for a file descriptor: the process has none left");
    desk_out("LimitNOFILE=");
    desk_ok("$MORTISE show r");
    desk_out("waits for a file descriptor");
    desk_ok("$MORTISE show r --json | grep '\"waits_for\": \"descriptor\"'");
    leave_free(run, 0);
    child_run("$MORTISE why r");
    desk_code(1);
    desk_err("the engine has no file descriptors left: process ");
    desk_err("LimitNOFILE=");
    leave_descriptors(run, 1024);
    ck_assert_int_eq(child_wait(run), 0);
    desk_ok("! $MORTISE show r | grep 'waits for'");
}
END_TEST

/* A stolen key cannot lock a name for good: once it is revoked, what it signed
 * does not count. */
START_TEST(a_stolen_key_locks_nothing)
{
    sign_release();
    desk_ok("$MORTISE run g.yaml");
    release("9007199254740991", "z", "stolen");
    desk_ok("$MORTISE run g.yaml");
    release("2", "k", "Play");
    refused("$MORTISE run g.yaml", "seq 9007199254740991 ran here before");
    refused("$MORTISE plugin verify tried", "--allow-downgrade");
    desk_ok("$MORTISE key revoke \"$(sed -n 2p z.pub)\"");
    desk_ok("$MORTISE run g.yaml && $MORTISE plugin verify tried");
    release("1", "k", "Old");
    refused("$MORTISE run g.yaml", "seq 2 ran here before");
}
END_TEST

/* What was revoked stays so when the file that said it is gone, for a fresh
 * store and for who has none, and under another name of the directory. */
START_TEST(revocations_are_not_forgotten)
{
    sign_release();
    desk_ok("$MORTISE key revoke \"$(sed -n 2p k.pub)\"");
    desk_ok("rm trust.d/revoked-*.yaml");
    refused("$MORTISE plugin verify tried", "has seq 2, but had 3 before");
    refused("$MORTISE run g.yaml --store fresh", "had 3 before");
    desk_ok("mv trust.d elsewhere && sed -i s/trust.d/elsewhere/ d.yaml");
    refused("$MORTISE plugin verify tried",
            "which a trust file revoked before");
    refused("$MORTISE run g.yaml --store fresher",
            "which a trust file revoked before");
    /* Where it is meant, it is said once. */
    desk_ok("$MORTISE plugin verify tried --allow-downgrade");
    desk_ok("$MORTISE plugin verify tried");
    desk_ok("$MORTISE run g.yaml --store freshest");
}
END_TEST

/* The store knows what its user knew, for whoever uses it next: also what the
 * user was told by `key revoke` itself, or saw with another store. */
START_TEST(a_store_knows_what_its_user_knew)
{
    sign_release();
    desk_ok("$MORTISE run g.yaml && $MORTISE run g.yaml --store other");
    if (_i == 0) {
        desk_ok("$MORTISE key revoke \"$(sed -n 2p k.pub)\"");
        child_run("$MORTISE run g.yaml --store other");
        ck_assert_int_eq(child.code, 77);
        desk_ok("rm trust.d/revoked-*.yaml");
    } else {
        release("7", "k", "newer");
        desk_ok("$MORTISE run g.yaml && $MORTISE run g.yaml --store other");
        release("3", "k", "older");
    }
    refused("XDG_STATE_HOME=$PWD/nobody $MORTISE run g.yaml --store other",
            _i == 0 ? "has seq 2, but had 3 before" : "seq 7 ran here before");
    refused("XDG_STATE_HOME=$PWD/nobody2 $MORTISE run g.yaml --store other",
            "before");
}
END_TEST

/* Two directories with long names that end alone differently are two. */
START_TEST(long_names_are_told_apart)
{
    char way[300];

    memset(way, 'd', 270);
    way[135] = '/';
    way[270] = '\0';
    sign_release();
    desk_ok("mkdir -p %s && mv trust.d %s/one && "
            "sed -i 's#trust.d#%s/one#' d.yaml && $MORTISE run g.yaml",
            way, way, way);
    desk_ok("$MORTISE key trust k.pub --plugins tried --in-process "
            "--trust %s/two && sed -i 's#/one#/two#' d.yaml",
            way);
    desk_ok("$MORTISE run g.yaml");
    desk_ok("rm -r %s/two && mkdir %s/two", way, way);
    refused("$MORTISE run g.yaml", "has seq 0, but had 1 before");
}
END_TEST

/* Why a plugin is refused is said once, and elsewhere where that stands. */
START_TEST(a_refusal_is_said_once)
{
    const char *at;

    sign_release();
    desk_ok("$MORTISE run g.yaml");
    release("1", "k", "another");
    desk_graph("two", "start: a\nnodes:\n"
                      "  a: {type: tool, tool: tried/echo, next: b}\n"
                      "  b: {type: tool, tool: tried/echo, next: c}\n"
                      "  c: {type: tool, tool: tried/nap, next: END}\n");
    child_run("$MORTISE run two.yaml");
    at = strstr(child.err, "another manifest with that version and seq");
    ck_assert_msg(at != NULL, "%s%s", child.out, child.err);
    ck_assert_ptr_null(strstr(at + 1, "another manifest"));
    at = strstr(at, "'tried' is refused for the same reason as at two.yaml:");
    ck_assert_msg(at != NULL, "%s%s", child.out, child.err);
    ck_assert_ptr_nonnull(strstr(at + 1, "'tried' is refused for the same"));
}
END_TEST

/* A version and seq stand for one manifest, except where nobody signs. */
START_TEST(a_seq_stands_for_one_manifest)
{
    sign_release();
    desk_ok("$MORTISE run g.yaml");
    release("1", "k", "another");
    refused("$MORTISE run g.yaml",
            "another manifest with that version and seq");
    refused("$MORTISE run g.yaml --store fresh", "another manifest");
    release("1", "z", "yet another");
    refused("$MORTISE plugin verify tried", "another manifest");
    desk_ok("$MORTISE run g.yaml --allow-downgrade");
    desk_ok("$MORTISE run g.yaml && $MORTISE plugin verify tried "
            "--allow-downgrade && $MORTISE plugin verify tried");
    release("1", "k", "one more");
    refused("$MORTISE run g.yaml", "another manifest");
    release("2", "k", "one more");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* What trust refuses ends every command that needs it alike. */
static const struct refusal {
    const char *by; /* of a plugin that was signed and had run */
} refusals[] = {
    {"rm plugins/tried.plugin.yaml.minisig"},
    {"$MORTISE key revoke \"$(sed -n 2p k.pub)\""},
    {"rm trust.d/k.yaml"},
    {"printf '# x\\n' >>plugins/tried.plugin.yaml"},
    {"printf x >>plugins/tried.so"},
    {NULL}, /* an older release */
    {NULL}, /* another one of the same number */
};

START_TEST(refused_by_trust)
{
    static const char *const each[] = {
        "run h.yaml",
        "run h.yaml --store fresh",
        "check h.yaml --deployment d.yaml",
        "check --plugins h.yaml --deployment d.yaml",
        "graph show h.yaml --deployment d.yaml",
        "test h.test.yaml",
        "resume r",
        "approve $($MORTISE inbox --ids)",
        "plugin verify tried",
        "plugin verify plugins/tried.plugin.yaml",
        "plugin inspect tried",
    };
    bool bytes = _i == 4; /* seen by who loads them */
    bool older = _i > 4;  /* nothing remembers what was looked at */

    sign_release();
    put_halting();
    desk_ok("sed 's/g.yaml/h.yaml/; s/mortise.yaml/d.yaml/' g.test.yaml "
            ">h.test.yaml");
    if (_i == 5)
        release("5", "k", "five");
    child_run("$MORTISE run h.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox --ids >ids");
    if (refusals[_i].by != NULL)
        desk_ok("%s", refusals[_i].by);
    else
        release(_i == 5 ? "4" : "1", "k", "another");
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        if (bytes && strstr(each[i], "verify") == NULL &&
            strstr(each[i], "--plugins") == NULL)
            continue;
        if (older && (strncmp(each[i], "check h", 7) == 0 ||
                      strncmp(each[i], "graph", 5) == 0))
            continue;
        child_run("$MORTISE %s", each[i]);
        ck_assert_msg(child.code == 77, "%s: mortise %s: exit code %d\n%s%s",
                      refusals[_i].by != NULL ? refusals[_i].by : "release",
                      each[i], child.code, child.out, child.err);
    }
    desk_ok("$MORTISE show r");
    if (!bytes)
        desk_out("status   blocked");
}
END_TEST

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
    test_nothing_left();
}

static Suite *suite(void)
{
    Suite *s = suite_create("hostile_trust");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, found_is_not_said);
    tcase_add_test(tc, the_printed_command_works);
    tcase_add_test(tc, a_change_asks_again);
    tcase_add_test(tc, named_is_said);
    tcase_add_test(tc, looking_is_free);
    tcase_add_test(tc, allowed_once_it_holds);
    tcase_add_test(tc, trusting_says_so);
    tcase_add_test(tc, what_others_may_change_is_refused);
    tcase_add_test(tc, what_is_accepted_is_accepted_as_it_is);
    tcase_add_test(tc, a_foreign_directory_is_refused);
    tcase_add_test(tc, a_foreign_store_is_refused);
    tcase_add_test(tc, a_word_that_does_not_count);
    tcase_add_loop_test(tc, what_is_in_a_store_is_judged, 0,
                        (int)(sizeof inside / sizeof *inside));
    tcase_add_test(tc, a_store_is_closed_to_others);
    tcase_add_test(tc, files_of_others_are_no_store);
    tcase_add_test(tc, the_way_is_judged);
    tcase_add_test(tc, revocation_under_a_live_engine);
    tcase_add_loop_test(tc, no_descriptor_is_no_refusal, 0, 2);
    tcase_add_test(tc, a_wait_for_descriptors_is_shown);
    tcase_add_test(tc, a_stolen_key_locks_nothing);
    tcase_add_test(tc, revocations_are_not_forgotten);
    tcase_add_loop_test(tc, a_store_knows_what_its_user_knew, 0, 2);
    tcase_add_test(tc, long_names_are_told_apart);
    tcase_add_test(tc, a_seq_stands_for_one_manifest);
    tcase_add_test(tc, a_refusal_is_said_once);
    tcase_add_loop_test(tc, refused_by_trust, 0,
                        (int)(sizeof refusals / sizeof *refusals));
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
