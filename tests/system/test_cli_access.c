/* test_cli_access.c -- store.access: a store that several people use, each as
 * themselves: its owner's engine, members of a group who have its socket alone,
 * and a stranger.
 *
 * They are real users of the machine (games, daemon and bin, which every Debian
 * has, and the group `users`), so all but the last test want root. */
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/desk.h"

/* A command line as a user of that name, whose groups are those. */
#define AS(user, groups)                                                       \
    "env XDG_STATE_HOME=$PWD/" user ".d HOME=$PWD/" user                       \
    ".d setpriv --reuid=" user " " groups " ./mortise "
#define IN(user) AS(user, "--regid=" user " --groups=users")
#define OWNER    IN("games")
#define ANN      IN("daemon")
#define BOB      IN("bin")
#define STRANGER AS("nobody", "--regid=nogroup --clear-groups")

static void deploy(const char *access)
{
    char text[512];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: shared}\n"
             "store:\n"
             "  path: games.d/store\n"
             "%s",
             access);
    desk_put("shared.yaml", text);
}

static const char shared[] = "  access: {group: users}\n";

static const char two_people[] = "start: first\n"
                                 "nodes:\n"
                                 "  first:\n"
                                 "    type: human\n"
                                 "    prompt: Do you agree?\n"
                                 "    assignees: [daemon]\n"
                                 "    next: second\n"
                                 "  second:\n"
                                 "    type: human\n"
                                 "    prompt: And you?\n"
                                 "    assignees: [bin]\n";

/* The program lies where all of them reach it. */
static void begin(void)
{
    desk_begin();
    child_allows(false);
    desk_ok("rm mortise.yaml; chmod 711 . && cp $MORTISE mortise");
    if (geteuid() == 0)
        desk_ok("for u in games daemon bin nobody; do mkdir $u.d && "
                "chown $u $u.d || exit 1; done");
    setenv("MORTISE_DEPLOYMENT", "shared.yaml", 1);
    deploy(shared);
    desk_graph("two", two_people);
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    child_allows(true);
    desk_end();
}

static pid_t start_engine(void)
{
    pid_t engine = child_start("engine", OWNER "engine");

    child_await("engine.err", "holding the store");
    return engine;
}

static void stop_engine(pid_t engine)
{
    desk_ok("kill %d", (int)engine);
    ck_assert_int_eq(child_wait(engine), 0);
}

static void modes(const char *want)
{
    desk_ok("stat -c '%%a %%G' games.d/store games.d/store/db "
            "$(test ! -e games.d/store/control.sock || "
            "echo games.d/store/control.sock) | tr '\n' ' '");
    ck_assert_str_eq(child.out, want);
}

/* issue 15, 5: two people, one store.  Each acts as the user that the kernel says,
 * so that the assignees of two nodes are two.
 * key: store.access, access.group */
START_TEST(two_people_two_approvals)
{
    pid_t engine = start_engine();

    modes("710 users 700 games 660 users ");
    child_run(ANN "run two.yaml --id r");
    desk_code(4);
    child_run(BOB "approve $(" BOB "inbox r --ids)");
    ck_assert_int_ne(child.code, 0);
    desk_err("'bin' cannot answer the question of node 'first', which is "
             "assigned to other people");
    desk_ok(ANN "approve $(" ANN "inbox r --ids) --reason fine");
    desk_ok("for i in $(seq 1200); do " BOB "inbox r --ids 2>no | grep . && "
            "break; sleep 0.05; done"); /* the engine goes on meanwhile */
    child_run(ANN "approve $(" ANN "inbox r --ids)");
    ck_assert_int_ne(child.code, 0);
    desk_err("'daemon' cannot answer the question of node 'second', which is "
             "assigned to other people");
    desk_ok(BOB "approve $(" BOB "inbox r --ids)");
    desk_ok(ANN "history r");
    desk_out("by daemon");
    desk_out("by bin");
    desk_ok(OWNER "runs --json");
    desk_out("\"status\":\"completed\"");
    stop_engine(engine);
    modes("710 users 700 games ");
}
END_TEST

/* They have the socket, never the files: none can be listed or read, whatever it
 * is, and the engine opens none for them. */
START_TEST(never_the_files)
{
    pid_t engine = start_engine();

    desk_graph("games.d/secret.graph",
               "start: a\nnodes:\n  a: {type: human, prompt: TOP-SECRET, "
               "nxt: b}\n");
    desk_graph("outer", "start: s\nnodes:\n  s: {type: subgraph, graph: "
                        "games.d/secret.graph.yaml}\n");
    desk_ok("chmod 600 games.d/secret.graph.yaml && "
            "chown games games.d/secret.graph.yaml");
    child_run(OWNER "run two.yaml --id r");
    desk_code(4);
    desk_ok("! setpriv --reuid=daemon --regid=daemon --groups=users "
            "ls games.d/store");
    desk_ok("for f in $(cd games.d/store && find . -type f); do "
            "! setpriv --reuid=daemon --regid=daemon --groups=users "
            "cat games.d/store/$f 2>why || exit 1; grep -q denied why || "
            "exit 1; done");
    child_run(ANN "run outer.yaml --id o");
    ck_assert_int_ne(child.code, 0);
    desk_not_out("SECRET");
    ck_assert_ptr_null(strstr(child.err, "SECRET"));
    desk_err("only the user as which the engine runs (");
    child_run(OWNER "run outer.yaml --id o");
    desk_err("unknown key 'nxt'"); /* who may read it hears what is in it */
    stop_engine(engine);
}
END_TEST

/* Nobody else: not a stranger, nor a member by a deployment that others wrote, or
 * by the name of the store alone. */
START_TEST(nobody_else)
{
    pid_t engine = start_engine();

    child_run(STRANGER "runs");
    ck_assert_int_ne(child.code, 0);
    desk_err("shared.yaml:6:19: error[E0515]: this process (user nobody) is "
             "not in the group 'users'");
    desk_ok("sed '/access/d' shared.yaml >nobody.d/plain.yaml");
    child_run(STRANGER "runs --deployment "
                       "nobody.d/plain.yaml --store "
                       "games.d/store");
    ck_assert_int_ne(child.code, 0);
    desk_err("belongs to");
    child_run(ANN "runs --store games.d/store");
    desk_code(77);
    desk_err("belongs to");
    desk_ok("sed 's#games.d#../games.d#' shared.yaml >bin.d/shared.yaml && "
            "chown bin bin.d/shared.yaml");
    child_run(ANN "runs --deployment bin.d/shared.yaml");
    desk_code(77);
    desk_err("bin.d belongs to uid 2");
    desk_ok(BOB "runs --deployment bin.d/shared.yaml");
    stop_engine(engine);
}
END_TEST

/* In a child: what the engine says to nobody, of no group, who gets through. */
static void knock_as_nobody(int to)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "control.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char text[512] = "no way";
    ssize_t n = 6;

    if (chdir(desk_dir) == 0 && chdir("games.d/store") == 0 &&
        setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
        setresuid(65534, 65534, 65534) == 0 &&
        connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        n = recv(fd, text, sizeof text, 0);
    if (n > 0 && write(to, text, (size_t)n) != n)
        _exit(1);
    _exit(0);
}

static void ask_as_nobody(char told[512])
{
    int ends[2];
    ssize_t n;
    pid_t child_pid;

    ck_assert_int_eq(pipe(ends), 0);
    child_pid = fork();
    if (child_pid == 0)
        knock_as_nobody(ends[1]);
    close(ends[1]);
    n = read(ends[0], told, 511);
    told[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child_pid, NULL, 0), child_pid);
}

/* The modes keep a stranger out, and where somebody opened those, the engine
 * does: whose groups a process has is the kernel's word. */
START_TEST(a_stranger_who_gets_through)
{
    pid_t engine = start_engine();
    char told[512];

    ask_as_nobody(told);
    ck_assert_str_eq(told, "no way");
    desk_ok("chmod 711 games.d/store && chmod 666 games.d/store/control.sock");
    ask_as_nobody(told);
    ck_assert_msg(strstr(told, "E_NOT_ALLOWED") != NULL &&
                      strstr(told, "members of its store.access group") != NULL,
                  "%s", told);
    stop_engine(engine);
}
END_TEST

/* In a child: all that a member may take of the engine, each at work. */
static void follow_without_end(int to)
{
    static const char follow[] =
        "{\"do\":\"follow\",\"run\":\"r\",\"until\":\"end\"}\n";
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "control.sock"};
    struct group *users = getgrnam("users");
    struct passwd *daemon_ = getpwnam("daemon");

    if (chdir(desk_dir) != 0 || setgroups(1, &users->gr_gid) != 0 ||
        setresgid(daemon_->pw_gid, daemon_->pw_gid, daemon_->pw_gid) != 0 ||
        setresuid(daemon_->pw_uid, daemon_->pw_uid, daemon_->pw_uid) != 0 ||
        chdir("games.d/store") != 0)
        _exit(1);
    for (int i = 0; i < 300; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
            send(fd, follow, sizeof follow - 1, MSG_NOSIGNAL) < 0)
            close(fd);
    }
    close(to);
    pause();
    _exit(0);
}

/* One who takes all the places that there are for them leaves some to the owner,
 * to root and to other members. */
START_TEST(a_member_leaves_places)
{
    pid_t engine = start_engine(), hog;
    int ends[2];
    char none;

    child_run(ANN "run two.yaml --id r");
    desk_code(4);
    ck_assert_int_eq(pipe(ends), 0);
    hog = fork();
    if (hog == 0)
        follow_without_end(ends[1]);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &none, 1), 0); /* it has asked them all */
    close(ends[0]);
    desk_ok(OWNER "runs");
    desk_ok("./mortise runs");
    desk_ok(BOB "runs");
    child_run(ANN "runs");
    ck_assert_int_ne(child.code, 0);
    desk_err("all 64 connections of yours to this engine are in use");
    kill(hog, SIGKILL);
    waitpid(hog, NULL, 0);
    desk_ok(ANN "runs");
    stop_engine(engine);
}
END_TEST

/* Where no engine works nobody else's files are opened; it is said who can start
 * one. */
START_TEST(no_engine_no_use)
{
    desk_ok(OWNER "runs --existing");
    child_run(OWNER "run two.yaml --id r");
    desk_code(4);
    modes("710 users 700 games ");
    child_run(ANN "runs");
    ck_assert_int_ne(child.code, 0);
    desk_err("no engine uses the store");
    desk_err("which belongs to games: only games can start one");
    child_run("./mortise runs");
    ck_assert_int_ne(child.code, 0);
    desk_err("only games can start one");
    child_run(ANN "engine");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

/* A store of before is opened to the group by the next command that has it, and
 * closed when the key goes; what others could read in it is closed first. */
START_TEST(access_comes_and_goes)
{
    deploy("");
    child_run(OWNER "run two.yaml --id r");
    desk_code(4);
    modes("700 games 700 games ");
    desk_ok("chmod 755 games.d/store/db && chmod 644 games.d/store/format");
    deploy(shared);
    desk_ok(OWNER "runs -v");
    desk_err("members of the group users can now use the socket of the store");
    modes("710 users 700 games ");
    desk_ok("test $(stat -c %%a games.d/store/format) = 600");
    desk_ok(OWNER "runs -v");
    ck_assert_ptr_null(strstr(child.err, "members of the group"));
    deploy("  access: {group: games}\n");
    desk_ok(OWNER "runs");
    modes("710 games 700 games ");
    deploy("");
    desk_ok(OWNER "runs -v");
    desk_err("no group (it was 60) can use the store");
    modes("700 games 700 games ");
}
END_TEST

/* doctor says who has it, and what is not as it should be. */
START_TEST(doctor_knows_it)
{
    pid_t engine;

    deploy("");
    child_run(OWNER "run two.yaml --id r");
    deploy(shared);
    child_run(OWNER "doctor");
    desk_out("store.access grants it to the group users");
    engine = start_engine();
    child_run(OWNER "doctor");
    desk_out("mode 0710: members of the group users can use its socket");
    child_run(ANN "doctor");
    desk_out("belongs to games: members of the group users can use its socket");
    desk_out("uses the store and answers");
    stop_engine(engine);
    child_run(ANN "doctor");
    desk_out("only its owner can start one");
}
END_TEST

/* A group that is not there is an error of the file. */
START_TEST(the_group_must_be_there)
{
    deploy("  access: {group: no-such-group}\n");
    child_run("./mortise check shared.yaml");
    desk_code(2);
    desk_out(
        "shared.yaml:6:19: error[E0515]: there is no group 'no-such-group'");
    child_run("./mortise runs");
    ck_assert_int_ne(child.code, 0);
    desk_err("shared.yaml:6:19: error[E0515]");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_access");
    TCase *tc = tcase_create("access");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    if (geteuid() == 0) {
        tcase_add_test(tc, two_people_two_approvals);
        tcase_add_test(tc, never_the_files);
        tcase_add_test(tc, nobody_else);
        tcase_add_test(tc, a_stranger_who_gets_through);
        tcase_add_test(tc, a_member_leaves_places);
        tcase_add_test(tc, no_engine_no_use);
        tcase_add_test(tc, access_comes_and_goes);
        tcase_add_test(tc, doctor_knows_it);
    }
    tcase_add_test(tc, the_group_must_be_there);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
