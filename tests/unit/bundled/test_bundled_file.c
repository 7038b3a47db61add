/* test_bundled_file.c -- the file executor, from any host's point of view. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/barehost.h"
#include "lib/oom.h"
#include "lib/powercut.h"
#include "lib/test.h"

static char dir[4096]; /* of the test: root/ is the root, ro/ read only */
static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

static char *in(const char *name)
{
    static char path[4][8192];
    static unsigned n;

    n = (n + 1) % 4;
    snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
    return path[n];
}

static void put(const char *name, const char *text)
{
    test_write(in(name), text, strlen(text));
}

static bool holds(const char *name, const char *text)
{
    size_t n;
    char *p = access(in(name), F_OK) == 0 ? test_read(in(name), &n) : NULL;
    bool same = p != NULL && n == strlen(text) && memcmp(p, text, n) == 0;

    free(p);
    return same;
}

static int entries(const char *name)
{
    char command[9000];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof command, "ls -A '%s' | wc -l", in(name));
    f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

static void create(const char *more)
{
    char config[16384];

    snprintf(config, sizeof config,
             "{\"roots\":[\"%s/root\"],\"read_only\":[\"%s/ro\"]%s}", dir, dir,
             more);
    inst = bare_create(&host, plugin, config);
    ck_assert_msg(inst != NULL, "%s", host.msg);
}

static void setup(void)
{
    plugin = bare_plugin("file"); /* may keep a descriptor: before we count */
    test_begin();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    ck_assert_int_eq(mkdir(in("root"), 0755), 0);
    ck_assert_int_eq(mkdir(in("ro"), 0755), 0);
    put("secret", "outside");
    bare_init(&host);
    create("");
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    test_rmdir(dir);
    test_nothing_left();
}

/* A body from a format in which ' stands for ". */
__attribute__((format(printf, 2, 3))) static mortise_status
run(const char *operation, const char *fmt, ...)
{
    static char body[65536];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    for (char *p = body; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    return bare_execute(
        &host, plugin, inst,
        &(struct bare_call){.operation = operation, .body = body, .key = "k"});
}

static void refused(mortise_status status, const char *code)
{
    ck_assert_int_lt(status, 0);
    ck_assert_str_eq(host.code, code);
    ck_assert_int_eq(host.fails, 1);
}

static void answered(mortise_status status, const char *json)
{
    ck_assert_msg(status == MORTISE_S_OK, "%d %s", status, host.msg);
    ck_assert_str_eq(host.out, json);
}

/* ---- read -------------------------------------------------------------- */

/* A file comes back as it is, whatever its name says about where it is. */
START_TEST(reads_below_its_roots)
{
    char want[9000];

    put("root/a.txt", "line 1\n\"\xC3\xA9\"\n");
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    put("root/d/b", "");
    put("ro/c", "x");
    answered(run("read", "{'path':'a.txt'}"),
             "{\"path\":\"a.txt\",\"size\":12,"
             "\"content\":\"line 1\\n\\\"\xC3\xA9\\\"\\n\"}");
    answered(run("read", "{'path':'.//d/./b'}"),
             "{\"path\":\".//d/./b\",\"size\":0,\"content\":\"\"}");
    snprintf(want, sizeof want,
             "{\"path\":\"%s//ro/./c\",\"size\":1,\"content\":\"x\"}", dir);
    answered(run("read", "{'path':'%s//ro/./c'}", dir), want);
    ck_assert_int_eq(run("read", "{'path':'%s/root/d/b'}", dir), MORTISE_S_OK);
}
END_TEST

/* No path, link or trick of either leads out. */
START_TEST(nothing_leads_out)
{
    static const char *const paths[] = {
        "../secret",        "d/../../secret", "./../secret",       "link",
        "dirlink/secret",   "abslink",        "d/up/../../secret", "..",
        "loop/../../secret"};

    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    ck_assert_int_eq(symlink("../secret", in("root/link")), 0);
    ck_assert_int_eq(symlink("..", in("root/dirlink")), 0);
    ck_assert_int_eq(symlink(in("secret"), in("root/abslink")), 0);
    ck_assert_int_eq(symlink("..", in("root/d/up")), 0);
    ck_assert_int_eq(symlink(".", in("root/loop")), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        refused(run("read", "{'path':'%s'}", paths[i]), "outside_roots");
        refused(run("list", "{'path':'%s'}", paths[i]), "outside_roots");
        ck_assert_ptr_null(host.out);
    }
    refused(run("write", "{'path':'../new','content':'x'}"), "outside_roots");
    refused(run("write", "{'path':'dirlink/new','content':'x'}"),
            "outside_roots");
    refused(
        run("write", "{'path':'dirlink/e/new','content':'x','parents':true}"),
        "outside_roots");
    refused(run("read", "{'path':'%s/secret'}", dir), "outside_roots");
    refused(run("read", "{'path':'%s/rootless'}", dir), "outside_roots");
    refused(run("read", "{'path':'%s/root/../secret'}", dir), "outside_roots");
    refused(run("read", "{'path':'/etc/passwd'}"), "outside_roots");
    refused(run("read", "{'path':'/proc/self/root/etc/passwd'}"),
            "outside_roots");
    ck_assert(access(in("new"), F_OK) != 0);
}
END_TEST

/* A link of /proc leads anywhere, so it is not followed even inside a root. */
START_TEST(links_of_proc_are_not_followed)
{
    bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, "{\"roots\":[\"/proc/self\"]}");
    ck_assert_ptr_nonnull(inst);
    refused(run("read", "{'path':'root/etc/passwd'}"), "denied");
    refused(run("read", "{'path':'fd/0'}"), "denied");
}
END_TEST

/* From here on openat2 is a call that this system does not have. */
static void forget_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof code / sizeof *code, code};

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/* Without openat2 everything works but links and "..", which lead nowhere. */
static void work_without_openat2(void)
{
    forget_openat2();
    ck_assert_int_eq(
        run("write", "{'path':'d/./e//a','content':'x','parents':true}"),
        MORTISE_S_OK);
    ck_assert(holds("root/d/e/a", "x"));
    ck_assert_int_eq(run("read", "{'path':'%s/root/d/e/a'}", dir),
                     MORTISE_S_OK);
    ck_assert_int_eq(run("list", "{'path':'.'}"), MORTISE_S_OK);
    ck_assert_int_eq(run("list", "{'path':'d/e'}"), MORTISE_S_OK);
    refused(run("read", "{'path':'none/a'}"), "not_found");
    refused(run("read", "{'path':'../secret'}"), "outside_roots");
    refused(run("read", "{'path':'d/../../secret'}"), "outside_roots");
    ck_assert_int_eq(symlink("../secret", in("root/link")), 0);
    ck_assert_int_eq(symlink("..", in("root/up")), 0);
    refused(run("read", "{'path':'link'}"), "denied");
    refused(run("read", "{'path':'up/secret'}"), "not_found");
    refused(run("write", "{'path':'up/new','content':''}"), "not_found");
    ck_assert(access(in("new"), F_OK) != 0);
}

START_TEST(works_without_openat2)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        work_without_openat2();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

/* Does this system have it?  (Not under valgrind.) */
static bool has_openat2(void)
{
    return syscall(SYS_openat2, -1, NULL, NULL, (size_t)0) < 0 &&
           errno != ENOSYS;
}

/* A link that stays inside is a way like any other. */
START_TEST(links_inside_are_fine)
{
    put("root/a", "x");
    ck_assert_int_eq(symlink("a", in("root/b")), 0);
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    ck_assert_int_eq(symlink("../d", in("root/d/d")), 0);
    ck_assert_int_eq(run("read", "{'path':'b'}"), MORTISE_S_OK);
    ck_assert_int_eq(run("read", "{'path':'d/../d/d/../b'}"), MORTISE_S_OK);
    ck_assert_int_eq(run("write", "{'path':'d/x/../../c/a','content':'2',"
                                  "'parents':true}"),
                     MORTISE_S_OK);
    ck_assert(holds("root/c/a", "2"));
}
END_TEST

/* A body that breaks the rules is refused, whoever should have checked it. */
START_TEST(a_bad_body_is_refused)
{
    static const char *const bodies[] = {"",
                                         "x",
                                         "[]",
                                         "{}",
                                         "{'path':1}",
                                         "{'path':''}",
                                         "{'path':null}",
                                         "{'path':'a\\u0000b'}",
                                         "{'path':'a','max':-1}",
                                         "{'path':'a','max':'1'}",
                                         "{'path':'a','max':1.5}"};
    char *long_path = malloc(PATH_MAX + 100);

    put("root/a", "x");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        refused(run("read", "%s", bodies[i]), "invalid");
    memset(long_path, 'a', PATH_MAX + 99);
    long_path[PATH_MAX + 99] = '\0';
    refused(run("read", "{'path':'%s'}", long_path), "invalid");
    long_path[300] = '\0'; /* a name that no file system takes */
    refused(run("read", "{'path':'%s'}", long_path), "invalid");
    free(long_path);
    refused(run("write", "{'path':'a'}"), "invalid");
    refused(run("write", "{'path':'a','content':1}"), "invalid");
    refused(run("write", "{'path':'a','content':'','mode':'append'}"),
            "invalid");
    refused(run("write", "{'path':'a','content':'','mode':1}"), "invalid");
    refused(run("write", "{'path':'a','content':'','parents':1}"), "invalid");
    refused(run("write", "{'path':'d/','content':''}"), "invalid");
    refused(run("write", "{'path':'.','content':''}"), "invalid");
    refused(run("write", "{'path':'d/..','content':''}"), "invalid");
    refused(run("wirte", "{}"), "unsupported");
    refused(run("", "{}"), "unsupported");
    ck_assert(holds("root/a", "x"));
}
END_TEST

/* Only regular files are read, and a FIFO does not hold us. */
START_TEST(only_regular_files_are_read)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    ck_assert_int_eq(mkfifo(in("root/fifo"), 0644), 0);
    ck_assert_uint_lt(strlen(in("root/s")), sizeof addr.sun_path);
    strcpy(addr.sun_path, in("root/s"));
    ck_assert_int_eq(bind(s, (struct sockaddr *)&addr, sizeof addr), 0);
    refused(run("read", "{'path':'.'}"), "not_file");
    refused(run("read", "{'path':'fifo'}"), "not_file");
    refused(run("read", "{'path':'s'}"), "not_file");
    refused(run("read", "{'path':'none'}"), "not_found");
    put("root/a", "x");
    refused(run("read", "{'path':'a/b'}"), "not_found");
    close(s);
}
END_TEST

/* Bytes that are no text are refused, and the message says where. */
START_TEST(only_text_is_read)
{
    test_write(in("root/latin1"), "caf\xE9", 4);
    test_write(in("root/nul"), "a\0b", 3);
    test_write(in("root/cut"), "\xE2\x82", 2);
    refused(run("read", "{'path':'latin1'}"), "not_text");
    ck_assert_ptr_nonnull(strstr(host.msg, "byte 4"));
    refused(run("read", "{'path':'nul'}"), "not_text");
    ck_assert_ptr_nonnull(strstr(host.msg, "byte 2"));
    refused(run("read", "{'path':'cut'}"), "not_text");
    ck_assert_ptr_null(host.out);
}
END_TEST

/* The smaller of the two bounds holds, to the byte. */
START_TEST(a_large_file_is_refused)
{
    put("root/a", "123456");
    bare_destroy(plugin, inst);
    create(",\"max_read\":6");
    ck_assert_int_eq(run("read", "{'path':'a'}"), MORTISE_S_OK);
    ck_assert_int_eq(run("read", "{'path':'a','max':1000}"), MORTISE_S_OK);
    refused(run("read", "{'path':'a','max':5}"), "too_large");
    put("root/a", "1234567");
    refused(run("read", "{'path':'a'}"), "too_large");
    /* /proc says 0 bytes for what has more */
    bare_destroy(plugin, inst);
    inst = bare_create(&host, plugin, "{\"roots\":[\"/proc/self\"]}");
    ck_assert_int_eq(run("read", "{'path':'status'}"), MORTISE_S_OK);
    ck_assert_uint_gt(host.n_out, 100);
    refused(run("read", "{'path':'status','max':10}"), "too_large");
}
END_TEST

/* A megabyte passes through a small room, whole. */
START_TEST(a_large_text_streams)
{
    size_t n = 1 << 20;
    char *text = malloc(n), *quoted;

    memset(text, '\n', n);
    test_write(in("root/a"), text, n);
    ck_assert_int_eq(run("read", "{'path':'a'}"), MORTISE_S_OK);
    ck_assert_int_gt(host.emits, 100);
    quoted = bare_quote(text, n);
    ck_assert_ptr_nonnull(strstr(host.out, quoted));
    free(quoted);
    free(text);
}
END_TEST

/* ---- list -------------------------------------------------------------- */

/* Entries are sorted by their bytes, links are not followed. */
START_TEST(lists_a_directory)
{
    answered(run("list", "{'path':'.'}"),
             "{\"path\":\".\",\"entries\":[],\"skipped\":0}");
    put("root/b", "12");
    put("root/a", "1");
    ck_assert_int_eq(symlink("/etc/passwd", in("root/Z")), 0);
    ck_assert_int_eq(mkfifo(in("root/q"), 0644), 0);
    test_write(in("root/\xFF"), "", 0);
    answered(run("list", "{'path':'.'}"),
             "{\"path\":\".\",\"entries\":["
             "{\"name\":\"Z\",\"type\":\"link\",\"size\":11},"
             "{\"name\":\"a\",\"type\":\"file\",\"size\":1},"
             "{\"name\":\"b\",\"type\":\"file\",\"size\":2},"
             "{\"name\":\"q\",\"type\":\"other\",\"size\":0}],\"skipped\":1}");
    refused(run("list", "{'path':'a'}"), "not_dir");
    refused(run("list", "{'path':'none'}"), "not_found");
    ck_assert_int_eq(run("list", "{'path':'%s/ro'}", dir), MORTISE_S_OK);
}
END_TEST

/* A directory with too many entries is refused, not cut. */
START_TEST(a_long_listing_is_refused)
{
    for (int i = 0; i <= 10000; i++) {
        char name[64];

        snprintf(name, sizeof name, "root/f%d", i);
        close(open(in(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
    refused(run("list", "{'path':'.'}"), "too_large");
    unlink(in("root/f0"));
    ck_assert_int_eq(run("list", "{'path':'.'}"), MORTISE_S_OK);
}
END_TEST

/* ---- write ------------------------------------------------------------- */

/* A write replaces, keeps permissions, and leaves nothing beside the file. */
START_TEST(writes_and_replaces)
{
    struct stat st;

    answered(run("write", "{'path':'a','content':'1\\n\\u00e9'}"),
             "{\"path\":\"a\",\"bytes\":4}");
    ck_assert(holds("root/a", "1\n\xC3\xA9"));
    ck_assert_int_eq(chmod(in("root/a"), 0640), 0);
    ck_assert_int_eq(run("write", "{'path':'%s/root//a','content':''}", dir),
                     MORTISE_S_OK);
    ck_assert(holds("root/a", ""));
    ck_assert_int_eq(stat(in("root/a"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    ck_assert_int_eq(entries("root"), 1);
    refused(run("write", "{'path':'d/a','content':''}"), "not_found");
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    refused(run("write", "{'path':'d','content':''}"), "not_file");
    ck_assert_int_eq(entries("root"), 2);
}
END_TEST

/* What is read only stays so; the message does not claim it is outside. */
START_TEST(read_only_is_not_written)
{
    refused(run("write", "{'path':'%s/ro/a','content':''}", dir), "denied");
    refused(run("write", "{'path':'%s/x','content':''}", dir), "outside_roots");
    ck_assert_int_eq(entries("ro"), 0);
}
END_TEST

/* A link in the target's place is replaced; what it names is not touched. */
START_TEST(a_link_is_replaced_not_followed)
{
    struct stat st;

    ck_assert_int_eq(symlink(in("secret"), in("root/a")), 0);
    refused(run("write", "{'path':'a','content':'x','mode':'create'}"),
            "exists");
    ck_assert_int_eq(run("write", "{'path':'a','content':'x'}"), MORTISE_S_OK);
    ck_assert_int_eq(lstat(in("root/a"), &st), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert(holds("secret", "outside"));
}
END_TEST

/* create makes a file, agrees with an equal one, and touches no other. */
START_TEST(create_replaces_nothing)
{
    ck_assert_int_eq(run("write", "{'path':'a','content':'x','mode':'create'}"),
                     MORTISE_S_OK);
    ck_assert_int_eq(run("write", "{'path':'a','content':'x','mode':'create'}"),
                     MORTISE_S_OK);
    refused(run("write", "{'path':'a','content':'y','mode':'create'}"),
            "exists");
    refused(run("write", "{'path':'a','content':'xx','mode':'create'}"),
            "exists");
    ck_assert(holds("root/a", "x"));
    ck_assert_int_eq(entries("root"), 1);
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    refused(run("write", "{'path':'d','content':'','mode':'create'}"),
            "exists");
}
END_TEST

/* parents makes the way, below the root, and minds what is there. */
START_TEST(parents_are_made)
{
    ck_assert_int_eq(
        run("write", "{'path':'x/y//./z/a','content':'1','parents':true}"),
        MORTISE_S_OK);
    ck_assert(holds("root/x/y/z/a", "1"));
    refused(run("write", "{'path':'x/y/z/a/b/c','content':'','parents':true}"),
            "not_found");
    refused(run("write", "{'path':'../e/a','content':'','parents':true}"),
            "outside_roots");
    ck_assert(access(in("e"), F_OK) != 0);
}
END_TEST

/* What a crashed attempt left is gone after the next one of the same key. */
START_TEST(a_leftover_is_removed)
{
    static const struct bare_call c = {
        .operation = "write",
        .body = "{\"path\":\"a\",\"content\":\"new\"}",
        .key = "9f0c"};
    char command[9000];

    /* fail at the rename, and keep the unlink from cleaning up */
    powercut_begin(in("books"), in("root"), NULL, NULL);
    powercut_fail("sync:1:EIO:always");
    refused(bare_execute(&host, plugin, inst, &c), "io");
    powercut_fail(NULL);
    powercut_end();
    ck_assert_int_eq(entries("root"), 0); /* it cleans up by itself ... */

    powercut_begin(in("books"), in("root"), NULL, NULL);
    for (unsigned long n = 1; entries("root") == 0; n++) {
        if (fork() == 0) {
            powercut_kill_at(n); /* ... unless it is dead */
            bare_execute(&host, plugin, inst, &c);
            _exit(0);
        }
        wait(NULL);
    }
    powercut_end();
    ck_assert_int_eq(entries("root"), 1);
    snprintf(command, sizeof command, "ls -A '%s' | grep -q '^\\.mortise-'",
             in("root"));
    ck_assert_int_eq(system(command), 0);

    ck_assert_int_eq(bare_execute(&host, plugin, inst, &c), MORTISE_S_OK);
    ck_assert(holds("root/a", "new"));
    ck_assert_int_eq(entries("root"), 1);
}
END_TEST

static bool happened(const struct bare_call *c)
{
    ck_assert_int_eq(bare_reconcile(&host, plugin, inst, c), MORTISE_S_OK);
    if (strcmp(host.out, "{\"happened\":false}") == 0)
        return false;
    ck_assert_ptr_nonnull(strstr(host.out, "{\"happened\":true,\"result\":{"
                                           "\"path\":\"d/a\",\"bytes\":3}}"));
    return true;
}

/* A write happened exactly when its content is there. */
START_TEST(reconcile_looks_at_the_content)
{
    static const struct bare_call c = {
        .operation = "write",
        .body = "{\"path\":\"d/a\",\"content\":\"new\",\"parents\":true}",
        .key = "k"};

    ck_assert(!happened(&c)); /* not even the directory */
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    ck_assert(!happened(&c));
    put("root/d/a", "old");
    ck_assert(!happened(&c));
    put("root/d/a", "newer");
    ck_assert(!happened(&c));
    ck_assert_int_eq(bare_execute(&host, plugin, inst, &c), MORTISE_S_OK);
    ck_assert(happened(&c));
    ck_assert_int_eq(unlink(in("root/d/a")), 0);
    ck_assert_int_eq(symlink("b", in("root/d/a")), 0);
    put("root/d/b", "new");
    ck_assert(!happened(&c));
    /* what cannot be judged is no answer */
    ck_assert_int_lt(
        bare_reconcile(&host, plugin, inst,
                       &(struct bare_call){.operation = "read", .body = "{}"}),
        0);
    ck_assert_int_lt(
        bare_reconcile(&host, plugin, inst,
                       &(struct bare_call){
                           .operation = "write",
                           .body = "{\"path\":\"../a\",\"content\":\"\"}"}),
        0);
}
END_TEST

static const struct bare_call deep = {
    .operation = "write",
    .body = "{\"path\":\"d/e/a\",\"content\":\"new\",\"parents\":true}",
    .key = "k"};

/* Kill the writing process at its n-th call; true if it came that far. */
static bool die_at(unsigned long n)
{
    int status;

    if (fork() == 0) {
        powercut_kill_at(n);
        bare_execute(&host, plugin, inst, &deep);
        _exit(0);
    }
    wait(&status);
    return WIFSIGNALED(status);
}

/* Make the root anew, with an old file where the write goes, or nothing. */
static void start_over(bool old)
{
    bare_destroy(plugin, inst);
    test_rmdir(in("root"));
    ck_assert_int_eq(mkdir(in("root"), 0755), 0);
    if (old) {
        ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
        ck_assert_int_eq(mkdir(in("root/d/e"), 0755), 0);
        put("root/d/e/a", "old");
    }
    create("");
    powercut_begin(in("books"), in("root"), NULL, NULL);
}

static void cut(void)
{
    powercut_end();
    ck_assert_int_eq(powercut_apply(in("books"), 0), 0);
}

/* Power cut at every single call of a write: the old file or the new one, and
 * the new one when the write had been reported. */
START_TEST(a_cut_leaves_old_or_new)
{
    bool old = _i != 0, died = true;
    unsigned long n;

    for (n = 1; died; n++) {
        start_over(old);
        died = die_at(n);
        cut();
        if (holds("root/d/e/a", "new"))
            continue;
        ck_assert(died);
        ck_assert(old ? holds("root/d/e/a", "old")
                      : access(in("root/d/e/a"), F_OK) != 0);
    }
    ck_assert_uint_gt(n, 8);
}
END_TEST

/* A process that was only killed leaves what the page cache holds.  What
 * reconcile then says happened survives a power cut after that. */
START_TEST(what_reconcile_says_stays_so)
{
    bool died = true;

    for (unsigned long n = 1; died; n++) {
        bool said;

        start_over(_i != 0);
        died = die_at(n);
        ck_assert_int_eq(bare_reconcile(&host, plugin, inst, &deep),
                         MORTISE_S_OK);
        said = strstr(host.out, "true") != NULL;
        ck_assert(said || died);
        cut();
        ck_assert(!said || holds("root/d/e/a", "new"));
    }
}
END_TEST

/* So does what somebody else put there, and never synced. */
START_TEST(what_others_wrote_is_synced_too)
{
    int fd;

    start_over(false);
    ck_assert_int_eq(mkdir(in("root/d"), 0755), 0);
    ck_assert_int_eq(mkdir(in("root/d/e"), 0755), 0);
    fd = open(in("root/d/e/a"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_eq(write(fd, "new", 3), 3);
    close(fd);
    ck_assert_int_eq(bare_reconcile(&host, plugin, inst, &deep), MORTISE_S_OK);
    ck_assert_ptr_nonnull(strstr(host.out, "true"));
    cut();
    ck_assert(holds("root/d/e/a", "new"));
}
END_TEST

/* Every call of a write that fails is reported, with old content or new in
 * place; a retry then succeeds. */
START_TEST(every_failure_is_reported)
{
    static const char *const kinds[] = {"open", "write", "sync", "rename",
                                        "mkdir"};
    static const char *const errors[] = {"EIO", "ENOSPC", "EROFS"};
    static const char *const codes[] = {"io", "no_space", "denied"};
    char spec[64];

    powercut_begin(in("books"), in("root"), NULL, NULL);
    for (size_t k = 0; k < 5; k++)
        for (int i = 0; i < 12; i++) {
            mortise_status status;

            snprintf(spec, sizeof spec, "%s:%d:%s:once", kinds[k], 1 + i / 3,
                     errors[i % 3]);
            powercut_fail(spec);
            status = bare_execute(&host, plugin, inst, &deep);
            powercut_fail(NULL);
            if (status == MORTISE_S_OK)
                continue; /* there were not so many of this kind */
            refused(status, codes[i % 3]);
            ck_assert_str_eq(host.klass,
                             i % 3 == 1 ? "transient" : "permanent");
            ck_assert_int_eq(bare_execute(&host, plugin, inst, &deep),
                             MORTISE_S_OK);
            ck_assert(holds("root/d/e/a", "new"));
            ck_assert_int_eq(entries("root/d/e"), 1);
        }
    powercut_fail("write:1:EIO:once"); /* once more, that it can fail at all */
    refused(bare_execute(&host, plugin, inst, &deep), "io");
    powercut_fail("write:1:short:once"); /* the rest finds no space */
    refused(bare_execute(&host, plugin, inst, &deep), "no_space");
    powercut_fail(NULL);
    powercut_end();
}
END_TEST

/* The same on a disk that is truly full. */
static void fill_a_disk(void)
{
    char *text = malloc(200000), *body = malloc(200100);
    mortise_status status;

    memset(text, 'x', 200000);
    text[199999] = '\0';
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", in("root"), "tmpfs", 0, "size=64k") != 0)
        _exit(77);
    bare_destroy(plugin, inst);
    create("");
    snprintf(body, 200100, "{\"path\":\"a\",\"content\":\"%s\"}", text);
    if (run("write", "{'path':'a','content':'old'}") != MORTISE_S_OK)
        _exit(1);
    status =
        bare_execute(&host, plugin, inst,
                     &(struct bare_call){.operation = "write", .body = body});
    free(body);
    free(text);
    if (status != MORTISE_S_IO)
        _exit(2);
    if (strcmp(host.code, "no_space") != 0 || !holds("root/a", "old") ||
        entries("root") != 1)
        _exit(3);
    _exit(0);
}

START_TEST(a_full_disk_keeps_the_old_file)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        fill_a_disk();
    waitpid(pid, &status, 0);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        return; /* this machine lets us mount nothing */
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* ---- everywhere -------------------------------------------------------- */

/* Cancelled at any look, a call ends with that, or with all of its work done;
 * never with a half of it. */
START_TEST(cancelling_leaves_nothing_half_done)
{
    static const char *const calls[][2] = {
        {"read", "{'path':'a'}"},
        {"list", "{'path':'.'}"},
        {"write", "{'path':'b','content':'xy'}"}};

    put("root/a", "x");
    for (size_t k = 0; k < 3; k++) {
        mortise_status status = MORTISE_S_CANCELLED;

        for (int n = 1; status != MORTISE_S_OK; n++) {
            ck_assert_int_lt(n, 10);
            host.cancel_after = n;
            status = run(calls[k][0], "%s", calls[k][1]);
            if (status == MORTISE_S_OK)
                break;
            refused(status, "cancelled");
            ck_assert_str_eq(host.klass, "cancelled");
            ck_assert_int_eq(status, MORTISE_S_CANCELLED);
            ck_assert_int_eq(entries("root"), 1);
        }
        ck_assert_int_gt(host.cancel_after, 0);
    }
}
END_TEST

/* A host that takes no output is told nothing wrong. */
START_TEST(a_deaf_host_gets_its_own_status)
{
    put("root/a", "x");
    host.emit_status = MORTISE_S_STALE;
    ck_assert_int_eq(run("read", "{'path':'a'}"), MORTISE_S_STALE);
    ck_assert_int_eq(run("list", "{'path':'.'}"), MORTISE_S_STALE);
    ck_assert_int_eq(run("write", "{'path':'b','content':''}"),
                     MORTISE_S_STALE);
}
END_TEST

/* A config that cannot work is refused with a sentence. */
START_TEST(a_bad_config_is_refused)
{
    static const char *const configs[] = {
        "",
        "[]",
        "{}",
        "{\"roots\":[]}",
        "{\"roots\":\"/tmp\"}",
        "{\"roots\":[1]}",
        "{\"roots\":[\"\"]}",
        "{\"roots\":[\"a\\u0000\"]}",
        "{\"roots\":[\"/nowhere/at/all\"]}",
        "{\"roots\":[\"/etc/passwd\"]}",
        "{\"roots\":[\"/tmp\",\"/nowhere\"]}",
        "{\"roots\":[\"/tmp\"],\"read_only\":[\"/nowhere\"]}",
        "{\"roots\":[\"/tmp\"],\"read_only\":\"/\"}",
        "{\"read_only\":[\"/tmp\"]}",
        "{\"roots\":[\"/tmp\"],\"max_read\":0}",
        "{\"roots\":[\"/tmp\"],\"max_read\":\"1\"}",
        "{\"roots\":[\"/tmp\"],\"max_read\":99999999999}"};
    char many[2000] = "{\"roots\":[\"/\"";

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        ck_assert_msg(bare_create(&host, plugin, configs[i]) == NULL, "%s",
                      configs[i]);
        ck_assert_uint_gt(strlen(host.msg), 10);
    }
    for (int i = 0; i < 64; i++)
        strcat(many, ",\"/\"");
    strcat(many, "]}");
    ck_assert_ptr_null(bare_create(&host, plugin, many));
}
END_TEST

/* It knows the interfaces that it has and no other. */
START_TEST(it_is_an_executor)
{
    ck_assert_ptr_nonnull(plugin->get_interface(inst, MORTISE_EXECUTOR_1));
    ck_assert_ptr_null(plugin->get_interface(inst, MORTISE_GUARDRAIL_2));
    ck_assert_ptr_null(plugin->get_interface(inst, ""));
}
END_TEST

/* Each allocation refused, one after the other: an error, and no leak. */
START_TEST(survives_oom)
{
    static const struct bare_call calls[] = {
        {.operation = "read", .body = "{\"path\":\"a\"}"},
        {.operation = "list", .body = "{\"path\":\".\"}"},
        {.operation = "write", .body = "{\"path\":\"b\",\"content\":\"\\n\"}"}};
    char config[16384];

    if (!oom_works())
        return;
    host.around = oom_around;
    put("root/a", "x");
    snprintf(config, sizeof config, "{\"roots\":[\"%s/root\"]}", dir);
    for (size_t k = 0; k < 3; k++) {
        bool failed = true;

        for (long n = 0; failed; n++) {
            mortise_status status;

            oom_fail_at(n);
            status = bare_execute(&host, plugin, inst, &calls[k]);
            failed = oom_failed();
            ck_assert_int_eq(status == MORTISE_S_OK, !failed);
            ck_assert_int_lt(n, 100);
        }
    }
    for (long n = 0;; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&host, plugin, config);
        if (i != NULL)
            bare_destroy(plugin, i);
        if (!oom_failed())
            break;
        ck_assert_ptr_null(i);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_file");
    TCase *tc = tcase_create("file"), *links;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, reads_below_its_roots);
    tcase_add_test(tc, works_without_openat2);
    tcase_add_test(tc, a_bad_body_is_refused);
    tcase_add_test(tc, only_regular_files_are_read);
    tcase_add_test(tc, only_text_is_read);
    tcase_add_test(tc, a_large_file_is_refused);
    tcase_add_test(tc, a_large_text_streams);
    tcase_add_test(tc, lists_a_directory);
    tcase_add_test(tc, a_long_listing_is_refused);
    tcase_add_test(tc, writes_and_replaces);
    tcase_add_test(tc, read_only_is_not_written);
    tcase_add_test(tc, a_link_is_replaced_not_followed);
    tcase_add_test(tc, create_replaces_nothing);
    tcase_add_test(tc, parents_are_made);
    tcase_add_test(tc, a_leftover_is_removed);
    tcase_add_test(tc, reconcile_looks_at_the_content);
    tcase_add_loop_test(tc, a_cut_leaves_old_or_new, 0, 2);
    tcase_add_loop_test(tc, what_reconcile_says_stays_so, 0, 2);
    tcase_add_test(tc, what_others_wrote_is_synced_too);
    tcase_add_test(tc, every_failure_is_reported);
    tcase_add_test(tc, a_full_disk_keeps_the_old_file);
    tcase_add_test(tc, cancelling_leaves_nothing_half_done);
    tcase_add_test(tc, a_deaf_host_gets_its_own_status);
    tcase_add_test(tc, a_bad_config_is_refused);
    tcase_add_test(tc, it_is_an_executor);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    if (!has_openat2())
        return s;

    links = tcase_create("openat2");
    tcase_add_checked_fixture(links, setup, teardown);
    tcase_add_test(links, nothing_leads_out);
    tcase_add_test(links, links_of_proc_are_not_followed);
    tcase_add_test(links, links_inside_are_fine);
    suite_add_tcase(s, links);
    return s;
}

int main(void)
{
    return test_run(suite());
}
