/* test_cli_doctor.c -- `mortise doctor`: each thing is broken, and its line
 * says so and what to do.  What no test can break on the host itself is broken
 * in test_cli_sick.c. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/desk.h"

static void put_graphs(void)
{
    desk_graph("ok", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                     "args: {value: 1}, next: END}\n");
    desk_graph("nap", "start: a\nnodes:\n  a: {type: tool, tool: tried/nap, "
                      "args: {ms: 20000}, next: END}\n");
    desk_graph("strike", "start: a\nnodes:\n  a: {type: tool, tool: "
                         "tried/strike, args: {marker: hit}, next: END}\n");
}

/* The deployment's plugins and trust, to be broken. */
static void own_site(void)
{
    desk_ok("cp -r %s/plugins %s/trust.d . && sed -i 's|%s|.|' mortise.yaml",
            desk_plugins, desk_plugins, desk_plugins);
}

/* A machine that is well: every line is ok, and nothing was made. */
START_TEST(well)
{
    desk_ok("$MORTISE doctor");
    desk_out("ok   store       ./state: the first run will create it\n");
    desk_out("ok   plugin      tried 1.0.0: verified\n");
    desk_out("/mortise-worker starts programs in a sandbox\n");
    desk_out("\nfit: 0 to correct, ");
    desk_not_out("fail");
    desk_ok("test ! -e state");
    put_graphs();
    desk_ok("$MORTISE run ok.yaml");
    desk_ok("ls -lR --full-time state >before; $MORTISE doctor; "
            "ls -lR --full-time state >after");
    desk_out("ok   store       ./state, mode 0700\n");
    desk_out("ok   engine      no engine uses the store\n");
    desk_ok("cmp before after");
    desk_ok("$MORTISE doctor --json");
    desk_out("{\"level\":\"ok\",\"what\":\"kernel\",\"message\":\"");
}
END_TEST

static const struct {
    const char *brk; /* a line that breaks it; the store is there */
    int code;
    const char *line, *remedy;
} bad[] = {
    {"chmod 755 state", 2, "fail store       ./state has mode 0755",
     "chmod 700"},
    {"rm -rf state && touch state", 2, "fail store       ./state: Not a dir",
     "store.path"},
    {"printf 'mortise-store 99\\n' >state/format", 2,
     "fail store       ./state:", "use the version"},
    {"echo 'mortise-store 99 99' >state/format", 2,
     "fail commits     ./state: its file 'format' is not", "salvage NEW-DIR"},
    {": >state/format", 2,
     "fail commits     ./state: its file 'format' is empty",
     "restore a backup"},
    {"rm -rf state && sed -i 's|./state|./none/state|' mortise.yaml", 2,
     "fail store       ./none/state does not exist and cannot be created",
     "create it"},
    {"touch -d tomorrow state/db/CURRENT", 0,
     "warn clock       the store was written at 2", "deadlines"},
    {"$MORTISE run strike.yaml", 0,
     "warn engine      a process that was killed left control.sock",
     "replaces it"},
    {"rm -rf trust.d", 2, "fail trust       ./trust.d: No such file",
     "trust.dir"},
    {"chmod go+w trust.d/*.yaml", 2,
     "fail trust       ./trust.d/k.yaml is writable", "chmod go-w"},
    {"chmod go+w trust.d", 2, "fail trust       ./trust.d is writable",
     "chmod go-w"},
    {"echo 'keys: 12' >>trust.d/k.yaml", 2, "fail trust       ",
     "correct the file"},
    {"sed -i 's/description: Work/description: Pork/' "
     "plugins/tried.plugin.yaml",
     2, "fail plugin      ./plugins/tried.plugin.yaml: ", "remove it"},
    {"printf x >>plugins/tried.so", 2,
     "fail plugin      ./plugins/tried.plugin.yaml: ", "plugin verify"},
    {"sed -i 's|^plugins: {path: [[]|&./gone, |' mortise.yaml", 0,
     "warn plugin      ./gone: No such file", "plugins.path"},
    {"echo 'stroe: {}' >>mortise.yaml", 2, "fail deployment  ",
     "correct the deployment"},
};
enum { N_BAD = sizeof bad / sizeof bad[0] };

/* Each thing, broken, has its line and its remedy. */
START_TEST(broken)
{
    put_graphs();
    own_site();
    desk_ok("$MORTISE run ok.yaml --id r");
    child_run("%s", bad[_i].brk);
    child_run("$MORTISE doctor");
    desk_code(bad[_i].code);
    desk_out(bad[_i].line);
    desk_out(bad[_i].remedy);
    desk_out("ok   kernel"); /* nothing hides the rest */
    desk_out(bad[_i].code == 0 ? "\nfit: 0 to correct, " : "\nnot fit: ");
    if (strstr(bad[_i].line, "'format' is empty") != NULL)
        desk_out(child_fitness(1, 0)); /* one fault is said once */
}
END_TEST

/* Without a mortise-worker that does its work no program starts; where the
 * deployment has some, that is a failure. */
START_TEST(workers)
{
    own_site();
    desk_ok("cp $MORTISE m && ./m doctor");
    desk_out("warn programs    Mortise cannot start programs without ");
    desk_out("/mortise-worker: No such file or directory\n");
    desk_out("install mortise-worker");
    desk_put("mortise-worker",
             "#!/bin/sh\nprintf 'no luck\\nat all' >&4\nexit 126\n");
    desk_ok("chmod +x mortise-worker && ./m doctor");
    desk_out("warn programs    Mortise cannot start programs: no luck\n");
    desk_deploy("programs: {jq: {path: /usr/bin/jq}}\n");
    child_run("./m doctor");
    desk_code(2);
    desk_out("fail programs    Mortise cannot start programs: no luck\n");
}
END_TEST

/* Each file and directory without which a program of the deployment cannot start
 * has its line.  No program is started. */
START_TEST(programs)
{
    desk_deploy("programs:\n"
                "  gone: {path: ./gone, reads: true, read: [none, .]}\n"
                "  plain: {path: /etc/passwd, dir: nowhere}\n"
                "  file: {path: /bin/sh, read: [/etc/passwd], write: [out]}\n"
                "  base: {path: /bin/sh, read: [/etc/passwd]}\n"
                "  mine: {path: run.sh, reads: true, read: [.]}\n");
    desk_put("run.sh", "#!/bin/sh\n: >started\n");
    desk_ok("chmod +x run.sh");
    child_run("$MORTISE doctor --deployment mortise.yaml");
    desk_code(2);
    desk_out(
        "fail programs    program 'gone' cannot start: ./gone: No such file");
    desk_out("correct the path, or programs.gone.path of the deployment");
    desk_out(
        "fail programs    program 'gone' cannot start: none: No such file");
    desk_out("programs.gone.read of");
    desk_out("fail programs    program 'plain' cannot start: /etc/passwd: "
             "Permission");
    desk_out(
        "fail programs    program 'plain' cannot start: nowhere: No such file");
    desk_out("programs.plain.dir of");
    desk_out("fail programs    program 'file' cannot start: out: No such file");
    desk_out("programs.file.write of");
    desk_out(
        "fail programs    program 'base' cannot start: /etc/passwd: Not a dir");
    desk_out("ok   programs    mine: ./run.sh\n");
    desk_out(child_fitness(6, 0));
    desk_ok("test ! -e started");
}
END_TEST

/* doctor reads no variable and no file that a found deployment names, until
 * somebody allows the deployment. */
START_TEST(what_is_not_allowed_is_not_looked_at)
{
    desk_deploy("programs: {gone: {path: ./gone}}\n"
                "secrets: {a: {env: UNSET_TOO}, b: {file: ./short}}\n"
                "models: {default: {provider: openai, model: m, base_url: "
                "\"http://${env:HOST_TOO}/v1\"}}\n");
    child_allows(false);
    child_run("printf x >short; HOST_TOO=h $MORTISE doctor");
    child_allows(true);
    desk_code(2);
    desk_out("mortise config allow");
    desk_out(child_fitness(1, 0));
    desk_ok("printf x >short; HOST_TOO=h $MORTISE doctor --deployment "
            "mortise.yaml || true");
    desk_out("UNSET_TOO");
    desk_out("shorter than 8 bytes");
    desk_out("cannot start");
}
END_TEST

/* A path in the config of a plugin that does not exist. */
START_TEST(paths_of_configs)
{
    desk_deploy("discovery: {plugins: [{plugin: catalog, config: {skills: "
                "[here, none]}}]}\n");
    desk_ok("sed -i 's|^plugins: {|plugins: {config: {file: {roots: [here, "
            "./gone], read_only: [away]}}, |' mortise.yaml && mkdir here");
    desk_ok("$MORTISE doctor --deployment mortise.yaml");
    desk_out("warn plugin      the config of plugin 'file' (line ");
    desk_out(" names the path ./gone: No such file or directory\n");
    desk_out(" names the path away: No such file or directory\n");
    desk_out("warn plugin      the config of plugin 'catalog' (line ");
    desk_out(" names the path none: No such file or directory\n");
    desk_out(child_fitness(0, 3));
}
END_TEST

/* An MCP server whose command is not there. */
START_TEST(commands_of_servers)
{
    desk_deploy("tools: {mcp: {a: {command: [no-such-server]}, b: {command: "
                "[./none.js]}, c: {command: [sh], sandbox: {fs: {read: "
                "[none]}}}}}\n");
    child_run("$MORTISE doctor --deployment mortise.yaml");
    desk_code(2);
    desk_out("fail mcp         a: the engine's PATH has no program "
             "'no-such-server'\n");
    desk_out("fail mcp         b: ");
    desk_out("/none.js: No such file or directory\n");
    desk_out("fail mcp         c: ");
    desk_out("/none: No such file or directory\n");
}
END_TEST

/* Limits and disks of the process's own. */
START_TEST(limits)
{
    desk_ok("ulimit -n 100; $MORTISE doctor");
    desk_out("warn descriptors at most 100 open files: ");
    desk_out("ulimit -n 4096");
    desk_ok(
        "d=$(mktemp -d -p /dev/shm) && $MORTISE doctor --store $d; rmdir $d");
    desk_out("warn disk        tmpfs: all data is lost");
    child_run("{ trap '' XFSZ; ulimit -f 0; $MORTISE doctor; } | cat");
    desk_out("fail sync        a synced write failed: File too large");
}
END_TEST

/* Who has the store: an engine that answers, and one that does not. */
START_TEST(engines)
{
    char line[96];
    pid_t pid;

    put_graphs();
    pid = child_start("live", "$MORTISE run nap.yaml --id r");
    child_await("live.out", "run r");
    desk_ok("$MORTISE doctor");
    snprintf(line, sizeof line,
             "ok   engine      process %d uses the store and answers\n",
             (int)pid);
    desk_out(line);
    desk_ok("rm state/control.sock");
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("fail engine      ");
    desk_out("no process answers");
    child_kill(pid);
}
END_TEST

/* An object that is not what was signed is told by whoever lists plugins. */
START_TEST(a_tampered_object_is_listed)
{
    own_site();
    desk_ok("$MORTISE plugin list");
    desk_not_out("signed");
    desk_ok("printf x >>plugins/tried.so; $MORTISE plugin list");
    desk_out("tried");
    desk_out("\n    ");
    desk_ok("$MORTISE plugin list --json | grep -v '\"problem\":null'");
    desk_out("tried.so");
}
END_TEST

/* Where this user's memory cannot be made, who needs it is told, and doctor
 * says so; and where there is one, no more than that. */
START_TEST(a_memory_that_cannot_be_made)
{
    put_graphs();
    desk_ok("$MORTISE doctor");
    desk_out("ok   memory      ");
    desk_ok("touch file; XDG_STATE_HOME=$PWD/file $MORTISE doctor "
            "--deployment mortise.yaml");
    desk_out("warn memory      Mortise cannot store data for this user: make ");
    desk_out("/file/mortise: Not a directory");
    desk_out(child_fitness(0, 1));
    desk_ok("XDG_STATE_HOME=$PWD/file $MORTISE run ok.yaml --id r "
            "--deployment mortise.yaml");
    desk_err("warning: releases that ran and keys that were revoked cannot be "
             "recorded for new stores: make ");
    desk_ok("$MORTISE run ok.yaml --id s --store other");
    ck_assert_ptr_null(strstr(child.err, "remembered"));
}
END_TEST

/* A deployment that nobody allowed is said once. */
START_TEST(what_is_not_obeyed_is_said_once)
{
    const char *first;

    child_allows(false);
    child_run("$MORTISE doctor");
    child_allows(true);
    desk_code(2);
    first = strstr(child.out, "mortise config allow");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, "mortise config allow"));
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* Issue 15, 4: what `mortise check` finds in the deployment are lines here, each
 * with its place and code: secrets that are not set, configs that a plugin
 * refuses, keys that nobody knows. */
static const struct {
    const char *more;
    int code;
} deployments[] = {
    {"secrets: {pay: {env: NOBODY_SETS_THIS}}\n", 0},
    {"models: {default: {provider: openai, model: m, api_key: "
     "\"secret://nope\"}}\n",
     2},
    {"plugins.nope: 1\n", 2},
    {"secrets: {pay: {file: ./not-there}}\nlimits: {steps: 0}\n", 2},
    {"models: {default: {provider: openai, model: m, base_url: "
     "\"localhost:11434\"}}\n",
     2},
    {"secrets: {pay: {exec: [no-such-program, pay]}}\n", 0},
    {"tools: {allow: [nope/never]}\nsecrets: {a: {env: UNSET_TOO}}\n", 0},
};
enum { N_DEPLOYMENTS = sizeof deployments / sizeof deployments[0] };

START_TEST(doctor_says_what_check_says)
{
    json_t *all;
    size_t i;
    json_t *one;

    desk_deploy(deployments[_i].more);
    child_run("$MORTISE check mortise.yaml --json");
    all = json_loads(child.out, 0, NULL);
    ck_assert_uint_gt(json_array_size(json_object_get(all, "findings")), 0);
    child_run("$MORTISE doctor --deployment mortise.yaml");
    desk_code(deployments[_i].code);
    ck_assert_str_eq(child.err, "");
    json_array_foreach(json_object_get(all, "findings"), i, one)
    {
        char line[2048];

        snprintf(line, sizeof line, "%s deployment  %s:%d:%d: %s (%s)\n",
                 strcmp(json_string_value(json_object_get(one, "severity")),
                        "error") == 0
                     ? "fail"
                     : "warn",
                 json_string_value(json_object_get(one, "path")),
                 (int)json_integer_value(json_object_get(one, "line")),
                 (int)json_integer_value(json_object_get(one, "col")),
                 json_string_value(json_object_get(one, "message")),
                 json_string_value(json_object_get(one, "code")));
        desk_out(line);
    }
    json_decref(all);
    desk_not_out("ok   deployment  mortise.yaml\nfail deployment");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_doctor");
    TCase *tc = tcase_create("doctor");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, well);
    tcase_add_loop_test(tc, broken, 0, N_BAD);
    tcase_add_test(tc, workers);
    tcase_add_test(tc, programs);
    tcase_add_test(tc, what_is_not_allowed_is_not_looked_at);
    tcase_add_test(tc, paths_of_configs);
    tcase_add_test(tc, commands_of_servers);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, engines);
    tcase_add_test(tc, a_tampered_object_is_listed);
    tcase_add_test(tc, a_memory_that_cannot_be_made);
    tcase_add_test(tc, what_is_not_obeyed_is_said_once);
    tcase_add_loop_test(tc, doctor_says_what_check_says, 0, N_DEPLOYMENTS);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
