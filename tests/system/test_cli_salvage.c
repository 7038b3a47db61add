/* test_cli_salvage.c -- stores that do not open: looking at a copy, doctor, and
 * `mortise store salvage`. */
#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/matrix.h"
#include "lib/powercut.h"
#include "lib/test.h"

static char dir[PATH_MAX - 64], scratch[PATH_MAX];

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

/* Five runs that wait for a person. */
static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    child_dir(dir);
    snprintf(scratch, sizeof scratch, "%s/scratch", dir);
    put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                        "metadata: {name: t}\nstore: {path: ./store}\n");
    put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: g, version: 1.0.0}\n"
                  "start: a\nnodes:\n"
                  "  a: {type: human, prompt: \"well?\"}\n");
    child_run("mkdir scratch; for i in 1 2 3 4 5; do"
              " $MORTISE run g.yaml --id r$i; done");
    ck_assert_int_eq(child.code, 4);
}

static void teardown(void)
{
    test_rmdir(dir);
}

/* The fifth run's admission does not read: a flipped bit in the length of its
 * log's first record. */
static void spoil(void)
{
    child_run("set -- store/db/0*.log; [ $# = 1 ] && "
              "printf '\\377\\377' | dd of=$1 bs=1 seek=4 conv=notrunc");
    ck_assert_msg(child.code == 0, "%s", child.err);
}

/* Nothing is left of copies. */
static void no_copy_stays(void)
{
    ck_assert_int_eq(rmdir(scratch), 0);
}

static void says(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "%s: %s", words, text);
}

/* The commands that only read: what they say of the runs that can be read, and
 * on stderr that it is a copy, and that it is less than the store was (`code`
 * 1). */
static void looks_at_a_copy(const char *before, const char *why, int code)
{
    static const struct {
        const char *line, *words;
    } commands[] = {
        {"runs", "r4  "},
        {"show r2", "status   waiting"},
        {"history r2", "ask a (human)"},
        {"inbox", "run r4: a asks a person"},
        {"inbox r3", "run r3: a asks a person"},
        {"events r2", "interrupt a"},
        {"why r2", "Run r2 waits for a person"},
    };

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        child_run("TMPDIR=%s %s $MORTISE %s", scratch, before,
                  commands[i].line);
        ck_assert_msg(child.code == code, "%s: %s", commands[i].line,
                      child.err);
        ck_assert((strstr(child.err, "incomplete: ") != NULL) == (code == 1));
        says(child.out, commands[i].words);
        says(child.err, why);
        says(child.err, "the output is read from a copy of the store");
    }
}

/* A store that lost a commit is not opened, by no command; those that read
 * show what there is; doctor says how much is missing and what to do; and the
 * same again the second time. */
START_TEST(a_damaged_store_is_looked_at)
{
    static const char *const refused[] = {"run g.yaml --id new", "resume r1",
                                          "cancel r1", "pause r1",
                                          "events r1 --follow"};

    spoil();
    for (int k = 0; k < 2; k++) {
        looks_at_a_copy("", "is missing: number", 1);
        says(child.err, "store salvage NEW-DIR\n");
        child_run("TMPDIR=%s $MORTISE doctor", scratch);
        ck_assert_int_eq(child.code, 2);
        says(child.out, "fail commits     ./store: 1 commit is missing: ");
        says(child.out, "'mortise store salvage NEW-DIR'");
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
            child_run("$MORTISE %s", refused[i]);
            ck_assert_int_ne(child.code, 0);
            says(child.err, "(E_STORE_CORRUPT)");
        }
    }
    no_copy_stays();
}
END_TEST

/* What can be read is written into a new store, which goes on; the old one is
 * not changed. */
START_TEST(what_can_be_read_is_saved)
{
    spoil();
    child_run("cp -a store was; TMPDIR=%s $MORTISE store salvage saved",
              scratch);
    ck_assert_int_eq(child.code, 2);
    says(child.out, "is damaged: only its readable part is used\n");
    says(child.out, "saved: 4 runs; 0 left out; 1 commit missing\n");
    child_run("rm -f was/db/LO* store/db/LO*; diff -r was store");
    ck_assert_msg(child.code == 0, "%s", child.out);
    child_run("$MORTISE runs --store saved");
    ck_assert_int_eq(child.code, 0);
    ck_assert_str_eq(child.err, "");
    says(child.out, "r4  ");
    ck_assert_ptr_null(strstr(child.out, "r5  "));
    child_run("$MORTISE approve --store saved "
              "$($MORTISE inbox r1 --ids --store saved)");
    ck_assert_msg(child.code == 0, "%s", child.err);
    child_run("$MORTISE doctor --store saved");
    says(child.out, "all that was written is complete");
    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    ck_assert_int_eq(child.code, 3);
    says(child.err, "open store saved: it is not empty: use a new directory");
    no_copy_stays();
}
END_TEST

/* ---- the mark ----------------------------------------------------------- */

static const struct {
    const char *meddle, *words; /* of opening it */
} marks[] = {
    {"rm store/mark", "last commit, is missing"},
    {"truncate -s 0 store/mark; truncate -s 512 store/mark",
     "contains no valid record"},
    {"rm store/mark; mkdir store/mark", "its 'mark', which records"},
    {"rm store/mark; mkfifo store/mark", "is not a regular file"},
    {"mv store/mark elsewhere; ln -s ../elsewhere store/mark",
     "is not a regular file"},
};

/* Without a mark nobody knows whether all is there: of what is, and of what
 * lost a commit. */
START_TEST(a_mark_that_is_lost_is_said)
{
    child_run("%s", marks[_i].meddle);
    ck_assert_msg(child.code == 0, "%s", child.err);
    for (int k = 0; k < 2; k++) {
        child_run("timeout 60 $MORTISE run g.yaml --id new");
        ck_assert_int_eq(child.code, 1);
        says(child.err, marks[_i].words);
        says(child.err, "(E_STORE_CORRUPT)");
        child_run("timeout 60 $MORTISE runs");
        ck_assert_int_eq(child.code, 1);
        says(child.err, "mortise: incomplete: ");
        says(child.out, "r4  ");
        child_run("timeout 60 $MORTISE store salvage saved%d", k);
        ck_assert_msg(child.code == 2, "%d: %s", child.code, child.err);
        says(child.out, "the file 'mark', which records the last commit, is "
                        "missing: the newest commits may be missing, too");
        says(child.out, "the commit mark is lost, so the newest commits may "
                        "also be missing");
        child_run("truncate -s 0 store/db/0*.log");
    }
    child_run("$MORTISE runs --store saved0");
    ck_assert_int_eq(child.code, 0); /* it has a mark of its own */
}
END_TEST

/* That of another store says nothing about this one. */
START_TEST(a_mark_of_another_store_is_none)
{
    child_run("$MORTISE runs; $MORTISE run g.yaml --id o --store other; "
              "cp other/mark store/mark; $MORTISE store salvage saved");
    ck_assert_msg(child.code == 2, "%s", child.err);
    says(child.out, "saved: 5 runs; 0 left out; 0 commits missing at least; "
                    "the commit mark is lost");
    child_run("$MORTISE runs --store saved");
    ck_assert_int_eq(child.code, 0);
}
END_TEST

/* LOCK holds nothing: the words say how the store opens again, and a copy has
 * all of it. */
START_TEST(a_lock_that_is_no_file_is_said)
{
    static const struct {
        const char *line;
        int code;
    } commands[] = {
        {"run g.yaml --id new", 1}, {"runs", 0}, {"store salvage saved", 1}};

    child_run("rm store/db/LOCK; mkfifo store/db/LOCK");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        child_run("timeout 60 $MORTISE %s", commands[i].line);
        ck_assert_int_eq(child.code, commands[i].code);
        says(child.err, "db/LOCK is not a regular file");
        says(child.err, "remove it, and it is created again");
        says(child.err, "(E_STORE_CORRUPT)");
    }
    child_run("rm store/db/LOCK; $MORTISE runs");
    ck_assert_msg(child.code == 0, "%s", child.err);
}
END_TEST

/* ---- tables ------------------------------------------------------------- */

enum { MANY = 30 };

/* Thirty runs that wait, all of them in tables; one has three commits. */
static void many_in_tables(void)
{
    put("s.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: s, version: 1.0.0}\n"
                  "start: a\nnodes:\n"
                  "  a: {type: human, prompt: \"well?\"}\n"
                  "  b: {type: human, prompt: \"and?\"}\n"
                  "edges: [{from: a, to: b}]\n");
    child_run("rm -rf store; for i in $(seq 10 39); do $MORTISE run s.yaml"
              " --id m$i; done; $MORTISE approve "
              "$($MORTISE inbox m10 --ids); $MORTISE runs; $MORTISE runs;"
              " cp -a store whole; ls -S whole/db/[0-9]*.ldb | head -1 |"
              " tr -d '\\n' > largest");
    ck_assert_msg(child.code == 0, "%s", child.err);
}

/* The store again, with a bit flipped in its largest table; false behind its
 * end. */
static bool flip_in_table(size_t at)
{
    char name[PATH_MAX], path[2 * PATH_MAX];
    size_t n, size;
    char *text, *bytes;

    child_run("rm -rf store saved; cp -a whole store");
    snprintf(path, sizeof path, "%s/largest", dir);
    text = test_read(path, &n);
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    free(text);
    snprintf(path, sizeof path, "%s/store/%s", dir, name + strlen("whole/"));
    bytes = test_read(path, &size);
    if (at < size) {
        bytes[at] ^= 4;
        test_write(path, bytes, size);
    }
    free(bytes);
    return at < size;
}

static size_t lines_with(const char *text, const char *words)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, words)) != NULL; p++)
        n++;
    return n;
}

/* Each run is there, or named as left out, or the sum says that some may be
 * missing; who is left out is gone for good; and 0 means that all is there. */
static void is_accounted_for(size_t at)
{
    static char said[sizeof child.out];
    size_t there, left_out;
    int code;

    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    code = child.code;
    ck_assert_msg(code == 0 || code == 2, "%zu: %s", at, child.err);
    snprintf(said, sizeof said, "%s", child.out);
    left_out = lines_with(said, ": left out; ");
    child_run("$MORTISE runs --store saved");
    ck_assert_msg(child.code == 0, "%zu: %s", at, child.err);
    there = lines_with(child.out, "\nm") + (child.out[0] == 'm');
    if (code == 0) {
        ck_assert_uint_eq(there, MANY);
        ck_assert_uint_eq(left_out, 0);
        return;
    }
    ck_assert_msg(there + left_out == MANY ||
                      strstr(said, "runs that cannot be read at all") != NULL,
                  "%zu: %zu there, %zu left out: %s", at, there, left_out,
                  said);
    ck_assert_msg(strstr(said, "left out; of its") == NULL ||
                      strstr(said, " 0 commits missing") == NULL,
                  "%zu: %s", at, said);
    for (int i = 10; i < 10 + MANY; i++) {
        char name[32];

        snprintf(name, sizeof name, "run m%d: left out", i);
        if (strstr(said, name) == NULL)
            continue;
        child_run("$MORTISE run s.yaml --store saved --id m%d", i);
        ck_assert_int_eq(child.code, 3);
        says(child.err, "ids are never used twice");
        child_run("$MORTISE show m%d --store saved", i);
        says(child.err, "when the store was salvaged");
        break;
    }
}

/* A bit anywhere in a table costs what stands in that block alone, and nothing
 * without a word. */
START_TEST(a_bit_in_a_table_costs_little)
{
    many_in_tables();
    for (size_t at = 50; flip_in_table(at); at += 1999)
        is_accounted_for(at);
}
END_TEST

/* The first block has the heads and the graph: with the graph handed in again,
 * every run is there, and goes on. */
START_TEST(a_graph_is_handed_in)
{
    many_in_tables();
    flip_in_table(100);
    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    ck_assert_int_eq(child.code, 2);
    says(child.out, ": left out; the text of its graph ");
    says(child.out, "with --graph and an unchanged copy of the file");
    child_run("sed s/well/else/ s.yaml > other.yaml; TMPDIR=%s $MORTISE store"
              " salvage other --graph other.yaml",
              scratch);
    ck_assert_int_eq(child.code, 2);
    says(child.out,
         "other.yaml: not used; no run pins a graph with its digest");
    says(child.out, "other: 0 runs");
    child_run("TMPDIR=%s $MORTISE store salvage again --graph s.yaml", scratch);
    ck_assert_int_eq(child.code, 2);
    says(child.out, "again: 30 runs");
    says(child.out, "; 0 left out");
    child_run("$MORTISE runs --store again");
    ck_assert_uint_eq(lines_with(child.out, "  s  human"), MANY);
    child_run("$MORTISE approve --store again "
              "$($MORTISE inbox m12 --ids --store again)");
    ck_assert_msg(child.code == 4, "%s", child.err);
    child_run("$MORTISE approve --store again "
              "$($MORTISE inbox m10 --ids --store again); "
              "$MORTISE show m10 --store again");
    says(child.out, "status   completed");
    child_run("$MORTISE doctor --store again");
    says(child.out, "all that was written is complete");
}
END_TEST

/* What is read of a store with damaged tables never looks whole: a run is
 * shown, or it is said that it may be in what is missing. */
static void never_looks_whole(const char *how)
{
    static char listed[sizeof child.out];
    size_t there;

    child_run("$MORTISE runs");
    ck_assert_msg(child.code == 1, "%s: %s", how, child.err);
    snprintf(listed, sizeof listed, "%s", child.out);
    there = lines_with(listed, "  s  ");
    ck_assert_msg(strstr(child.err, "mortise: incomplete: ") != NULL &&
                      strstr(child.err, " store salvage NEW-DIR\n") != NULL,
                  "%s: %s", how, child.err);
    ck_assert_ptr_null(strstr(listed, "no runs"));
    for (int i = 10; i < 10 + MANY; i += 7) {
        char line[32];
        bool is;

        snprintf(line, sizeof line, "m%d  ", i);
        is = strstr(listed, line) != NULL;
        child_run("$MORTISE show m%d --json", i);
        ck_assert_msg(child.code != 0 || is, "%s: m%d: %s", how, i, child.out);
        says(child.code == 0 ? "E_STORE_CORRUPT" : child.err,
             "E_STORE_CORRUPT");
        ck_assert_ptr_null(strstr(child.err, "E_NOT_FOUND"));
        if (!is && there > 0 && strstr(child.err, "block") == NULL)
            says(child.err, "the unreadable part may contain it");
        if (child.out[0] == '{')
            says(child.out, "\"incomplete\": \"");
    }
}

START_TEST(a_table_that_is_missing_is_said)
{
    char how[64];
    int n;

    many_in_tables();
    child_run("ls whole/db/[0-9]*.ldb | wc -l");
    n = atoi(child.out);
    ck_assert_int_gt(n, 0);
    for (int i = 1; i <= n; i++) {
        snprintf(how, sizeof how, "table %d of %d", i, n);
        child_run("rm -rf store; cp -a whole store; "
                  "t=$(cd whole/db; ls [0-9]*.ldb | sed -n %dp); "
                  "rm store/db/$t; rm -f store/db/aside.$t",
                  i);
        never_looks_whole(how);
    }
}
END_TEST

/* One block: the runs in the others are listed. */
START_TEST(a_block_that_does_not_read_is_said)
{
    many_in_tables();
    flip_in_table(100);
    never_looks_whole("first block");
    child_run("$MORTISE inbox");
    ck_assert_int_eq(child.code, 1);
    says(child.err, "incomplete: ");
    says(child.out, "run m39: ");
    child_run("$MORTISE show never");
    ck_assert_int_eq(child.code, 1);
    says(child.err, "E_STORE_CORRUPT");
}
END_TEST

/* The log file is gone, and an answer that was acknowledged with it: each run that it
 * may have been for is named, and none that has ended. */
START_TEST(a_lost_log_names_who_may_lack_an_answer)
{
    child_run("$MORTISE approve $($MORTISE inbox r1 --ids) && "
              "$MORTISE approve $($MORTISE inbox r2 --ids) && "
              "rm store/db/*.log && TMPDIR=%s $MORTISE store salvage saved",
              scratch);
    ck_assert_msg(child.code == 2, "%s%s", child.out, child.err);
    says(child.out, "run r2: kept up to commit ");
    says(child.out, "it may have had more");
    ck_assert_ptr_null(strstr(child.out, "run r1: kept"));
}
END_TEST

/* LevelDB cannot open a table that is empty, lost its end, or has a broken magic
 * number or index.  It counts as missing, and the rest is shown. */
START_TEST(a_table_that_does_not_open_is_a_missing_one)
{
    static const char *const ways[] = {
        ": >$t", "truncate -s -1 $t", "truncate -s 60 $t",
        "printf x | dd of=$t bs=1 seek=$(($(stat -c %s $t) - 4)) conv=notrunc",
        ("printf xxxx | dd of=$t bs=1 seek=$(($(stat -c %s $t) - 60)) "
         "conv=notrunc")};

    child_run("cp -a store whole; cp -a store other && rm other/db/*.ldb; "
              "$MORTISE runs --store other >a; echo $? >>a; wc -l <a");
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
    ck_assert_int_gt(atoi(child.out), 1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        child_run("rm -rf store saved; cp -a whole store && "
                  "for t in store/db/*.ldb; do %s; done && "
                  "$MORTISE runs >b; echo $? >>b; cmp a b",
                  ways[i]);
        ck_assert_msg(child.code == 0, "%s: %s%s", ways[i], child.out,
                      child.err);
        child_run("TMPDIR=%s $MORTISE doctor; echo $?; "
                  "TMPDIR=%s $MORTISE store salvage saved",
                  scratch, scratch);
        ck_assert_msg(child.code == 2, "%s: %s", ways[i], child.err);
        says(child.out, "\n2\n");
    }
    no_copy_stays();
}
END_TEST

/* The salvage does not copy the memory.  It prints a command that does, and the
 * exit code is 2. */
START_TEST(a_memory_is_copied_by_hand)
{
    put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                        "metadata: {name: t}\nstore: {path: ./store}\n"
                        "memory: {plugin: local}\n");
    put("t.jsonl", "{\"id\":\"n1\",\"type\":\"semantic\","
                   "\"scope\":\"global\",\"content\":\"Anna\","
                   "\"strength\":1,\"created_at\":1790000000000}\n");
    child_run("$MORTISE memory import t.jsonl && : >store/db/CURRENT; "
              "$MORTISE memory export");
    ck_assert_int_eq(child.code, 1);
    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    ck_assert_msg(child.code == 2, "%s%s", child.out, child.err);
    says(child.out, "saved: 5 runs; 0 left out; 0 commits missing\n");
    says(child.out, "The memory is not copied. To copy it:\n  cp -a ");
    child_run("$(TMPDIR=%s $MORTISE store salvage again | tail -1) && "
              "$MORTISE memory search Anna --store again",
              scratch);
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
    says(child.out, "n1");
}
END_TEST

/* Where a full disk ended the first run before there was a database, nothing is
 * damaged, also while the disk is full. */
START_TEST(a_store_that_was_never_made_is_not_damaged)
{
    for (int n = 1; n < 12; n++) {
        child_run("rm -rf new books books.d; export POWERCUT_STATE=%s/books "
                  "POWERCUT_ROOTS=%s/new LD_PRELOAD=%s; "
                  "POWERCUT_FAIL=write:%d:ENOSPC:always $MORTISE run g.yaml "
                  "--store new; rm -rf books books.d; "
                  "POWERCUT_FAIL=write:1:ENOSPC:always $MORTISE runs "
                  "--store new",
                  dir, dir, child_build("tests/powercut.so"), n);
        ck_assert_msg(strstr(child.err, "incomplete") == NULL &&
                          strstr(child.err, "E_STORE_CORRUPT") == NULL,
                      "write %d: %s", n, child.err);
    }
}
END_TEST

/* A store that is whole is saved whole. */
START_TEST(a_whole_store_is_copied)
{
    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    ck_assert_msg(child.code == 0, "%s", child.err);
    ck_assert_str_eq(child.out,
                     "saved: 5 runs; 0 left out; 0 commits missing\n");
    child_run("$MORTISE runs > a && $MORTISE runs --store saved > b && "
              "cmp a b");
    ck_assert_int_eq(child.code, 0);
    no_copy_stays();
}
END_TEST

/* Where nothing can be written, runs are shown all the same; none is
 * started. */
START_TEST(a_disk_that_refuses_is_looked_at)
{
    static const struct {
        const char *error, *words;
    } disks[] = {{"EROFS", "Read-only file system"},
                 {"ENOSPC", "No space left on device"},
                 {"EACCES", "Permission denied"}};
    char before[3 * PATH_MAX];

    snprintf(before, sizeof before,
             "POWERCUT_STATE=%s/books POWERCUT_ROOTS=%s/store "
             "POWERCUT_FAIL=link:1:%s:always LD_PRELOAD=%s",
             dir, dir, disks[_i].error, child_build("tests/powercut.so"));
    looks_at_a_copy(before, disks[_i].words, 0);
    says(child.out, "Run r2 waits");
    child_run("%s $MORTISE run g.yaml --id new", before);
    ck_assert_int_ne(child.code, 0);
    says(child.err, disks[_i].words);
    child_run("$MORTISE runs");
    ck_assert_ptr_null(strstr(child.out, "new "));
    no_copy_stays();
}
END_TEST

/* Somebody who has the store open. */
static pid_t start_engine(void)
{
    pid_t engine = child_start("engine", "%s engine", child_build("mortise"));

    child_await("engine.err", "holding the store");
    return engine;
}

/* One that somebody has open is asked, not looked at. */
START_TEST(a_store_in_use_is_asked)
{
    pid_t engine = start_engine();

    child_run("$MORTISE runs");
    ck_assert_int_eq(child.code, 0);
    ck_assert_str_eq(child.err, "");
    child_run("$MORTISE store salvage saved");
    ck_assert_int_ne(child.code, 0);
    says(child.err, "held by process");
    child_kill(engine);
}
END_TEST

/* Salvage into in/saved, and die at the n-th call that it makes there; false:
 * it came to its end.  `keep` is what a power cut leaves of what was not synced;
 * -1: there was none. */
static bool cut_off(int n, int keep)
{
    char books[PATH_MAX];
    int code;

    snprintf(books, sizeof books, "%s/books", dir);
    child_run("rm -rf in; mkdir in; POWERCUT_STATE=%s POWERCUT_ROOTS=%s/in "
              "POWERCUT_JOURNALED=%s/in/saved/db POWERCUT_KILL=%d "
              "LD_PRELOAD=%s $MORTISE store salvage in/saved",
              books, dir, dir, n, child_build("tests/powercut.so"));
    code = child.code;
    ck_assert_msg(code == 0 || code == 128 + 9, "%d: %d: %s", n, code,
                  child.err);
    ck_assert_int_eq(
        keep < 0 ? powercut_settle(books) : powercut_apply(books, keep), 0);
    return code != 0;
}

/* Nobody takes for a store what is not all of it; nor can it be salvaged. */
static void is_no_store(int n)
{
    static const char *const refused[] = {
        "runs --store in/saved", "run g.yaml --id new --store in/saved",
        "store salvage more --store in/saved"};

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        child_run("$MORTISE %s", refused[i]);
        ck_assert_msg(child.code != 0, "%d: %s: %s", n, refused[i], child.out);
        says(child.err,
             "an interrupted 'mortise store salvage' created it; run it again");
    }
    child_run("$MORTISE doctor --store in/saved");
    ck_assert_int_eq(child.code, 2);
    says(child.out, "an interrupted 'mortise store salvage' created it");
    child_run("[ ! -e more ]");
    ck_assert_int_eq(child.code, 0);
}

/* A salvage that is killed, or that a power cut ends, leaves nothing, or what
 * is no store and what another one into the same directory clears away; or all
 * of it. */
START_TEST(a_salvage_is_whole_or_nothing)
{
    static const int keeps[] = {-1, 0, 50};
    int n = 1 + _i, unfinished = 0;

    child_run("$MORTISE runs > all");
    for (; cut_off(n, keeps[_i]); n += 3 * (int)matrix_step(5)) {
        bool whole, begun;

        child_run("[ -e in/saved/format ]");
        begun = child.code == 0;
        child_run("[ -e in/saved/format ] && "
                  "$MORTISE runs --store in/saved | cmp - all");
        whole = child.code == 0;
        if (begun && !whole && unfinished++ % 4 == 0)
            is_no_store(n);
        child_run("$MORTISE store salvage in/saved");
        if (whole) {
            ck_assert_int_eq(child.code, 3);
            continue;
        }
        ck_assert_msg(child.code == 0, "%d: %s", n, child.err);
        child_run("$MORTISE runs --store in/saved | cmp - all && "
                  "$MORTISE doctor --store in/saved");
        ck_assert_msg(child.code == 0, "%d: %s%s", n, child.out, child.err);
    }
    ck_assert_int_gt(unfinished, matrix_is_whole() ? 10 : 2);
}
END_TEST

/* A FIFO in place of a table or a log is not waited for; what is elsewhere is
 * saved. */
START_TEST(what_is_no_file_is_left_out)
{
    child_run("$MORTISE runs; set -- store/db/*%s; rm $1; mkfifo $1",
              _i == 0 ? ".ldb" : ".log");
    ck_assert_int_eq(child.code, 0);
    child_run("$MORTISE doctor");
    ck_assert_int_eq(child.code, 2);
    says(child.out, " is not a regular file");
    child_run("timeout 60 $MORTISE store salvage saved");
    ck_assert_msg(child.code == (_i == 0 ? 2 : 0), "%d: %s%s", child.code,
                  child.out, child.err); /* a log without a commit is no loss */
    says(child.out, "saved: ");
    child_run("$MORTISE runs --store saved");
    ck_assert_int_eq(child.code, 0);
}
END_TEST

/* A table that is missing altogether, where LevelDB cannot tell: the numbers of
 * the batches do. */
START_TEST(a_gap_between_tables_is_said)
{
    child_run("rm -rf store; for i in 1 2 3 4; do $MORTISE run g.yaml"
              " --id r$i --input '{\"text\": \"x\"}'; done; cp -a store whole");
    child_run("cd store/db; set -- [0-9]*.ldb; test $# -gt 2 || exit 9; %s",
              _i == 0 ? "cp $3 $2" : "rm $2 CURRENT");
    ck_assert_int_eq(child.code, 0);
    child_run("$MORTISE store salvage saved");
    ck_assert_msg(child.code == 2, "%d: %s%s", child.code, child.out,
                  child.err);
    says(child.out, "the data of batches ");
    says(child.out, " is missing");
    says(child.out, "; more commits may be missing, and runs that cannot");
}
END_TEST

/* A link that leads nowhere is no file. */
START_TEST(a_link_that_leads_nowhere_is_left_out)
{
    child_run("$MORTISE runs; set -- store/db/*%s; ln -sfn %s $1",
              _i % 2 == 0 ? ".ldb" : ".log",
              _i < 2 ? "/nonexistent" : "${1##*/}");
    ck_assert_int_eq(child.code, 0);
    child_run("$MORTISE store salvage saved");
    ck_assert_msg(child.code == (_i % 2 == 0 ? 2 : 0), "%d: %s%s", child.code,
                  child.out, child.err);
    says(child.out, "saved: ");
}
END_TEST

/* What is somebody else's stays. */
START_TEST(a_salvage_clears_its_own_alone)
{
    int n = 40;

    ck_assert(cut_off(n, -1));
    is_no_store(n);
    child_run("echo mine > in/saved/db/notes");
    child_run("$MORTISE store salvage in/saved");
    ck_assert_int_eq(child.code, 3);
    says(child.err, "is not empty: use a new directory");
    child_run("cat in/saved/db/notes && rm in/saved/db/notes && "
              "mkdir in/saved/mine && ! $MORTISE store salvage in/saved && "
              "rmdir in/saved/mine && $MORTISE store salvage in/saved");
    ck_assert_msg(child.code == 0, "%s", child.err);
    ck_assert_int_eq(strncmp(child.out, "mine\n", 5), 0);
}
END_TEST

/* ---- each file, damaged in each way --------------------------------------- */

/* The store's files, and how each is damaged: `$f` of size `$s`. */
static const struct {
    const char *how, *line;
} damages[] = {
    {"removed", "rm -rf $f"},
    {"emptied", ": >$f"},
    {"cut", "truncate -s $((s * 2 / 3)) $f"},
    {"footer cut", "truncate -s $((s - s / 8 - 1)) $f"},
    {"flipped in front", "flip $((s / 5))"},
    {"flipped in the middle", "flip $((s / 2))"},
    {"flipped behind", "flip $((s * 9 / 10))"},
    {"zeroed", "dd if=/dev/zero of=$f bs=1 seek=$((s / 3)) conv=notrunc"
               " count=$((s / 3 > 300 ? 300 : s / 3))"},
};
enum { N_DAMAGES = sizeof damages / sizeof damages[0] };

/* Four runs of several blocks in a table, and one in the log. */
static void some_everywhere(void)
{
    child_run("rm -rf store; printf '{\"x\":\"%%016000d\"}' 0 >in.json;"
              " for i in 1 2 3 4; do $MORTISE run g.yaml --id r$i --input"
              " @in.json; done; $MORTISE runs; $MORTISE run g.yaml --id r5"
              " --input @in.json; set -- store/db/0*.ldb; [ -s $1 ] &&"
              " [ -s store/db/0*.log ] && rm store/db/LO* && mv store whole");
    ck_assert_msg(child.code == 0, "%s", child.err);
}

/* A reading of everything: what does it find missing or unreadable?  What the
 * damage is, in files that count for nothing, does not matter. */
static bool is_damaged(void)
{
    child_run("TMPDIR=%s $MORTISE store salvage saved", scratch);
    if (child.code != 0)
        return true;
    child_run("TMPDIR=%s $MORTISE runs", scratch);
    return child.code != 0 || strstr(child.err, "E_STORE_CORRUPT") != NULL;
}

/* Whatever a reading of everything finds, doctor finds; and it changes nothing.
 */
START_TEST(doctor_finds_what_is_missing)
{
    static char files[sizeof child.out];
    unsigned n = 0, found = 0;
    bool fit;

    some_everywhere();
    child_run("cd whole && echo db format mark reserve db/*");
    snprintf(files, sizeof files, "%s", child.out);
    for (char *f = strtok(files, " \n"); f != NULL; f = strtok(NULL, " \n")) {
        if (strcmp(f, "db") == 0 && _i != 0)
            continue;
        child_run("rm -rf store saved was; cp -a whole store; f=store/%s;"
                  " s=$(stat -c %%s $f); flip() { [ $s = 0 ] || printf"
                  " '\\377' | dd of=$f bs=1 seek=$1 conv=notrunc; };"
                  " %s; cp -a store was",
                  f, damages[_i].line);
        ck_assert_msg(child.code == 0, "%s", child.err);
        child_run("TMPDIR=%s $MORTISE doctor", scratch);
        fit = child.code == 0;
        ck_assert_msg(fit == (strstr(child.out, "\nfit: ") != NULL), "%s",
                      child.out);
        ck_assert_msg(fit || strstr(child.out, "fail commits") != NULL,
                      "%s %s: %s", f, damages[_i].how, child.out);
        ck_assert_ptr_null(strstr(child.out, scratch)); /* the copy's name */
        child_run("diff -r was store");
        ck_assert_msg(child.code == 0, "%s", child.out);
        n++;
        if (!is_damaged())
            continue;
        found++;
        ck_assert_msg(!fit, "%s %s: fit, and %s%s", f, damages[_i].how,
                      child.out, child.err);
    }
    ck_assert_uint_ge(n, 7);
    ck_assert_uint_ge(found, 4);
    child_run("rm -rf store; cp -a whole store; $MORTISE doctor");
    says(child.out,
         "ok   commits     all that was written is complete and readable");
    no_copy_stays();
}
END_TEST

/* Several files at once, down to where nothing tells that it was a store. */
START_TEST(doctor_finds_more_than_one)
{
    static const char *const gone[] = {"format db", "format mark db/CURRENT",
                                       "format mark", "format mark db/MAN*",
                                       "mark db"};

    some_everywhere();
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        child_run("rm -rf store; cp -a whole store; cd store; rm -r %s",
                  gone[i]);
        child_run("$MORTISE doctor");
        ck_assert_msg(child.code == 2, "%s: %s", gone[i], child.out);
        says(child.out, "fail commits");
        child_run("$MORTISE runs");
        says(child.err, "(E_STORE_CORRUPT)\n");
        says(child.err, "To save the readable data:\n");
        child_run("cd whole; for f in db/[0-9]*.ldb; do [ ! -e ../store/db ] ||"
                  " cmp $f ../store/$f; done");
        ck_assert_msg(child.code == 0, "%s: %s%s", gone[i], child.out,
                      child.err); /* who refuses it leaves it */
    }
}
END_TEST

/* What is damaged where only a later reading comes: every command that meets
 * it says how to save the rest, once. */
START_TEST(who_meets_damage_says_what_to_do)
{
    static const char *const lines[] = {
        "show r2", "show r2 --json", "history r2", "export r2",
        "why r2",  "resume r2",      "cancel r2",  "events r2"};
    unsigned met = 0;

    some_everywhere();
    /* LevelDB may have written one table or several. */
    child_run("set -e; for f in whole/db/[0-9]*.ldb; do s=$(stat -c %%s $f); %s;"
              " done",
              _i == 0 ? "for k in 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=$f"
                        " bs=1 seek=$((s * k / 11)) count=300 conv=notrunc;"
                        " done"
                      : "truncate -s -30 $f");
    ck_assert_msg(child.code == 0, "%s", child.err);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        child_run("rm -rf store; cp -a whole store; $MORTISE %s", lines[i]);
        if (strstr(child.err, "E_STORE_CORRUPT") == NULL)
            continue;
        met++;
        if (child.err[0] == '{') {
            ck_assert_msg(lines_with(child.err, "{\"error\":{\"code\":"
                                                "\"E_STORE_CORRUPT\"") >= 1,
                          "%s: %s", lines[i], child.err);
            says(child.err, " store salvage NEW-DIR\"}}\n");
            continue;
        }
        ck_assert_msg(lines_with(child.err, "To save the readable data:\n") ==
                          1,
                      "%s: %s", lines[i], child.err);
        says(child.err, " store salvage NEW-DIR\n");
        ck_assert_ptr_null(strstr(child.err, "Invalid argument"));
    }
    ck_assert_uint_ge(met, 5);
}
END_TEST

/* Of a newer program nothing is taken: not even a directory is made. */
START_TEST(a_newer_store_is_not_salvaged)
{
    child_run("printf 'mortise-store 9\n' >store/format;"
              " cp -a store was; $MORTISE store salvage saved");
    ck_assert_int_eq(child.code, 78);
    says(child.err, "(E_FORMAT)");
    ck_assert_ptr_null(strstr(child.err, "To save the readable data"));
    child_run("[ ! -e saved ] && diff -r was store && ! $MORTISE doctor");
    ck_assert_msg(child.code == 0, "%s", child.out);
    says(child.out, "use the version of Mortise that wrote it");
}
END_TEST

/* A store that somebody has open is not looked at, and that is said. */
START_TEST(doctor_does_not_look_behind_an_engine)
{
    pid_t engine = start_engine();

    child_run("$MORTISE doctor");
    ck_assert_int_eq(child.code, 0);
    says(child.out, "warn commits     the commits were not checked: ");
    says(child.out, child_fitness(0, 1));
    child_kill(engine);
}
END_TEST

/* Cut off while it was made: the next opening goes on, so nothing is wrong. */
START_TEST(a_store_half_made_is_well)
{
    static const char *const left[] = {":", "mkdir -m 700 store/db",
                                       ("mkdir -m 700 store/db;"
                                        " : >store/db/000003.log")};

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        child_run("rm -rf store; mkdir -m 700 store; %s; $MORTISE doctor",
                  left[i]);
        ck_assert_msg(child.code == 0, "%zu: %s", i, child.out);
        child_run("$MORTISE run g.yaml --id x");
        ck_assert_msg(child.code == 4, "%zu: %s", i, child.err);
    }
}
END_TEST

/* The function of this command is in another program.  Without it, the message has
 * its path; a usage error does not need it; it gets the words of the command as they
 * are, and its output and exit code are those of the command. */
START_TEST(the_program_is_another)
{
    child_run("cp $MORTISE m && ./m store salvage saved");
    ck_assert_int_eq(child.code, 1);
    ck_assert_msg(strstr(child.err, "/mortise-salvage: No such file or "
                                    "directory; install Mortise again"),
                  "%s", child.err);
    ck_assert_str_eq(child.out, "");
    child_run("./m store salvage");
    ck_assert_int_eq(child.code, 3);
    child_run("printf '#!/bin/sh\necho $*\nexit 9\n' >mortise-salvage && "
              "chmod +x mortise-salvage && mkdir plugins trust.d && "
              "./m store salvage --store s -- -x");
    ck_assert_int_eq(child.code, 9);
    ck_assert_str_eq(child.out, "store salvage --store s -- -x\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli salvage");
    TCase *tc = tcase_create("cli salvage");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, the_program_is_another);
    tcase_add_test(tc, a_damaged_store_is_looked_at);
    tcase_add_test(tc, what_can_be_read_is_saved);
    tcase_add_loop_test(tc, a_mark_that_is_lost_is_said, 0,
                        sizeof marks / sizeof marks[0]);
    tcase_add_test(tc, a_mark_of_another_store_is_none);
    tcase_add_test(tc, a_lock_that_is_no_file_is_said);
    tcase_add_test(tc, a_table_that_is_missing_is_said);
    tcase_add_test(tc, a_block_that_does_not_read_is_said);
    tcase_add_test(tc, a_lost_log_names_who_may_lack_an_answer);
    tcase_add_test(tc, a_table_that_does_not_open_is_a_missing_one);
    tcase_add_test(tc, a_memory_is_copied_by_hand);
    tcase_add_test(tc, a_store_that_was_never_made_is_not_damaged);
    tcase_add_test(tc, a_whole_store_is_copied);
    tcase_add_test(tc, a_bit_in_a_table_costs_little);
    tcase_add_test(tc, a_graph_is_handed_in);
    tcase_add_loop_test(tc, a_disk_that_refuses_is_looked_at, 0, 3);
    tcase_add_test(tc, a_store_in_use_is_asked);
    tcase_add_loop_test(tc, a_salvage_is_whole_or_nothing, 0, 3);
    tcase_add_test(tc, a_salvage_clears_its_own_alone);
    tcase_add_loop_test(tc, what_is_no_file_is_left_out, 0, 2);
    tcase_add_loop_test(tc, a_gap_between_tables_is_said, 0, 2);
    tcase_add_loop_test(tc, a_link_that_leads_nowhere_is_left_out, 0, 4);
    suite_add_tcase(s, tc);
    tc = tcase_create("damage");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, doctor_finds_what_is_missing, 0, N_DAMAGES);
    tcase_add_test(tc, doctor_finds_more_than_one);
    tcase_add_loop_test(tc, who_meets_damage_says_what_to_do, 0, 2);
    tcase_add_test(tc, a_newer_store_is_not_salvaged);
    tcase_add_test(tc, doctor_does_not_look_behind_an_engine);
    tcase_add_test(tc, a_store_half_made_is_well);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
