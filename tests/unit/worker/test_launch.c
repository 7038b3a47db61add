/* test_launch.c -- what a program may that mortise-worker started.
 *
 * A raw client: it shares no code with the engine.  Each rule of
 * worker/launch.h is tried from inside, by a program that would get out if
 * it could, as the user who runs the tests and, where that is root, as an
 * ordinary one, too. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

static char dir[64]; /* of the test, open to everybody */
static char spec[16384];
static size_t n_spec;
static uid_t user;         /* who it is tried as */
static bool traces_nobody; /* as a container's root */

enum { ANYBODY = 61184 };

static struct {
    int code; /* or 128 + signal */
    char out[8192], words[1024];
} got;

static void begin(void)
{
    strcpy(dir, "/tmp/launch-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chmod(dir, 0777), 0);
    n_spec = 0;
}

static void end(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s", dir);
    ck_assert_int_eq(system(line), 0);
}

__attribute__((format(printf, 1, 2))) static void word(const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(spec + n_spec, sizeof spec - n_spec, fmt, ap);
    va_end(ap);
    ck_assert_uint_lt((size_t)n, sizeof spec - n_spec);
    n_spec += (size_t)n + 1;
}

/* The words of a program that only reads what the system has. */
static void program(const char *path)
{
    n_spec = 0;
    word("program=%s", path);
    word("env=PATH=/usr/bin:/bin");
    word("exec=/usr");
    word("exec=/bin");
    word("exec=/lib");
    word("exec=/lib64");
    word("read=/etc/ld.so.cache");
    word("cwd=%s", dir);
    if (user == 0) { /* root runs no program as itself */
        word("user=%d:%d", ANYBODY, ANYBODY);
        word("opens=");
    }
}

static void shell(const char *line)
{
    program("/bin/sh");
    word("arg=-c");
    word("arg=%s", line);
}

__attribute__((format(printf, 1, 2))) static void perl(const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    program("/usr/bin/perl");
    word("arg=-e");
    word("arg=%s", text);
}

static void become(int worker, int fd, int out, int words, int life)
{
    char name[] = "mortise-worker", launch[] = "--launch";
    char *argv[] = {name, launch, NULL}, *env[] = {NULL};
    int in = memfd_create("in", 0);

    if (chdir(dir) != 0)
        _exit(99);
    /* above those that it is to have */
    worker = fcntl(worker, F_DUPFD_CLOEXEC, 20);
    fd = fcntl(fd, F_DUPFD, 20);
    in = fcntl(in, F_DUPFD, 20);
    out = fcntl(out, F_DUPFD, 20);
    words = fcntl(words, F_DUPFD, 20);
    life = fcntl(life, F_DUPFD, 20);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    dup2(fd, 3);
    dup2(words, 4);
    dup2(life, 5);
    dup2(fd, 7); /* left open by mistake */
    if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0))
        _exit(98);
    if (traces_nobody && prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) != 0)
        _exit(96);
    /* by its descriptor: where it lies, others may not get to */
    fexecve(worker, argv, env);
    _exit(97);
}

static void read_all(int fd, char *to, size_t cap)
{
    size_t n = 0;
    ssize_t more;

    while (n < cap - 1 && (more = read(fd, to + n, cap - 1 - n)) > 0)
        n += (size_t)more;
    to[n] = '\0';
}

static int life; /* of the last start(): it ends when this is closed */
static int out_fd, words_fd;

/* The words of the launch are what `fd` has. */
static pid_t start_with(int fd)
{
    int worker = open(child_build("mortise-worker"), O_RDONLY | O_CLOEXEC);
    int out[2], words[2], lives[2];
    pid_t pid;

    ck_assert_int_ge(worker, 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(words, O_CLOEXEC), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lives),
                     0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(worker, fd, out[1], words[1], lives[0]);
    close(worker);
    close(out[1]);
    close(words[1]);
    close(lives[0]);
    out_fd = out[0];
    words_fd = words[0];
    life = lives[1];
    return pid;
}

static pid_t start(void)
{
    int fd = memfd_create("spec", MFD_CLOEXEC);
    pid_t pid;

    ck_assert_int_eq((int)write(fd, spec, n_spec), (int)n_spec);
    ck_assert_int_eq((int)lseek(fd, 0, SEEK_SET), 0);
    pid = start_with(fd);
    close(fd);
    return pid;
}

static void launch(void)
{
    pid_t pid = start();
    char report[64] = "";
    int status;

    read_all(words_fd, got.words, sizeof got.words);
    read_all(out_fd, got.out, sizeof got.out);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    read_all(life, report, sizeof report);
    if (sscanf(report, "exit %d", &got.code) != 1) {
        if (sscanf(report, "signal %d", &got.code) == 1)
            got.code += 128;
        else
            got.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    } else {
        /* it took all of its group with it */
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    close(out_fd);
    close(words_fd);
    close(life);
}

#define code(want)                                                             \
    ck_assert_msg(got.code == (want), "%d, not %d, as %d: %s%s", got.code,     \
                  (want), (int)user, got.words, got.out)
#define says(text)                                                             \
    ck_assert_msg(strstr(got.out, (text)) != NULL, "no '%s', as %d: %s%s",     \
                  (text), (int)user, got.words, got.out)
#define refuses(text)                                                          \
    ck_assert_msg(got.code == 126 && strstr(got.words, (text)) != NULL,        \
                  "%d, no '%s': %s%s", got.code, (text), got.words, got.out)

/* Each user that the tests can be. */
static size_t users(uid_t list[2])
{
    list[0] = geteuid();
    list[1] = 65534;
    return list[0] == 0 ? 2 : 1;
}

#define AS_EACH                                                                \
    for (uid_t list_[2], *u_ = list_, *end_ = list_ + users(list_);            \
         u_ < end_ && ((user = *u_), true); u_++)

/* ---- what it is given ------------------------------------------------------ */

/* Arguments, environment and directory are those of the words, and no others;
 * descriptors are 0, 1 and 2. */
START_TEST(it_has_what_it_was_given)
{
    AS_EACH
    {
        shell("echo \"$1|$#|$PWD\"; env | sort; ls /proc/self/fd 2>/dev/null; "
              "for i in 3 4 5 6 7 8 9; do (true >&$i) 2>/dev/null && echo "
              "open $i; done; true");
        word("arg=name");
        word("arg=a b  \"c\" $d");
        word("env=SAID=x=y");
        launch();
        code(0);
        says("a b  \"c\" $d|1|/tmp/launch-");
        says("SAID=x=y\n");
        ck_assert_ptr_null(strstr(got.out, "HOME="));
        ck_assert_ptr_null(strstr(got.out, "open "));
        ck_assert_str_eq(got.words, "");
    }
}
END_TEST

/* A spec that is none starts nothing. */
START_TEST(words_are_checked)
{
    static const char *const users[] = {
        "0:1", "1:0", "7", "7:", ":7", "7:8:9", "-7:8", " 7:8", "root:root"};

    user = geteuid();
    n_spec = 0;
    launch();
    refuses("the arguments are truncated");
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        program("/bin/true");
        word("user=%s", users[i]);
        launch();
        refuses("not UID:GID of an ordinary user: ");
    }
    n_spec = 0;
    word("arg=x");
    launch();
    refuses("no program");
    program("/bin/true");
    word("nothing=x");
    launch();
    refuses("unknown argument of a launch: nothing");
    program("/bin/true");
    word("plain");
    launch();
    refuses("not NAME=VALUE: plain");
    program("bin/true");
    launch();
    refuses("not an absolute path: bin/true");
    program("/bin/true");
    word("read=here");
    launch();
    refuses("not an absolute path: here");
    for (size_t i = 0; i < 4; i++) {
        static const char *const bad[] = {"memory=x", "memory=", "memory=-1",
                                          "memory=1k"};

        program("/bin/true");
        word("%s", bad[i]);
        launch();
        refuses("not a number of bytes: ");
    }
    program("/bin/true");
    n_spec--;
    launch();
    refuses("the arguments are truncated");
    program("/nowhere/at/all");
    launch();
    refuses("/nowhere/at/all: No such file");
    program("/bin/true");
    word("read=/nowhere");
    launch();
    refuses("/nowhere: No such file");
    program("/bin/true");
    word("write=/usr/share");
    launch();
    refuses("programs in a writable directory can be run: /usr/share");
    program("/bin/true");
    word("write=/bin/");
    launch();
    refuses("the program can write its own file: /bin/true");
    program("/bin/true");
    word("cwd=/nowhere");
    launch();
    refuses("/nowhere: No such file");
}
END_TEST

/* ---- files ------------------------------------------------------------------ */

static void unlink_in(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
}

static void clean(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s/*", dir);
    ck_assert_int_eq(system(line), 0);
}

/* A directory that everybody may write in; its path, until the next call. */
static const char *directory(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(chmod(path, 0777), 0);
    return path;
}

/* It reads what it may read, and nothing else. */
START_TEST(files_are_read_where_it_may)
{
    char secret[256];

    AS_EACH
    {
        snprintf(secret, sizeof secret, "echo secret >%s/c",
                 directory("other"));
        ck_assert_int_eq(system(secret), 0);
        shell("echo x >mine/a && cat mine/a; echo y >other/b; echo code $?; "
              "cat other/c; ls other; cat /etc/passwd; cat mine/../other/c; "
              "ln -s ../other/c mine/link; cat mine/link; ls /; ls /proc; "
              "mv mine/a other/a; ln mine/a other/a; echo end");
        word("write=%s", directory("mine"));
        launch();
        code(0);
        says("x\n");
        says("code 2\n");
        says("end\n");
        ck_assert_ptr_null(strstr(got.out, "secret"));
        ck_assert_ptr_null(strstr(got.out, "root:"));
        ck_assert_ptr_null(strstr(got.out, "usr\n"));
        shell("cat other/c; echo z >other/c || echo no");
        word("read=%s/other", dir);
        launch();
        says("secret");
        says("no\n");
        clean();
    }
}
END_TEST

/* What it wrote itself it does not run. */
START_TEST(what_it_writes_is_not_run)
{
    AS_EACH
    {
        shell("cp /bin/true mine; ./mine; echo code $?; "
              "cp /bin/true /dev/null; /bin/true; echo and $?");
        word("write=%s", dir);
        launch();
        says("code 126\n");
        says("and 0\n");
        clean();
    }
}
END_TEST

/* ---- the rest of the machine ---------------------------------------------------- */

/* Offline there are no sockets, whichever; online there are. */
START_TEST(sockets_are_for_who_is_online)
{
    AS_EACH
    {
        for (int family = 1; family <= 2; family++) {
            perl("print socket(S, %d, 1, 0) ? 'open' : \"no: $!\"", family);
            word("offline=");
            launch();
            says("no: Operation not permitted");
            perl("print socket(S, %d, 1, 0) ? 'open' : \"no: $!\"", family);
            launch();
            /* whatever listens on this machine is nobody's to talk to */
            says(family == AF_UNIX ? "no: Operation not permitted" : "open");
        }
        /* the other way to them */
        perl("print syscall(%d, 1, 0) < 0 ? \"no: $!\" : 'open'",
             (int)SYS_io_uring_setup);
        word("offline=");
        launch();
        says("no: Operation not permitted");
    }
}
END_TEST

/* Online there are TCP, UDP and the list of this machine's addresses; no other
 * family, type or protocol. */
START_TEST(sockets_are_of_the_internet)
{
    static const struct {
        int family, type, protocol;
        bool open;
    } tried[] = {{AF_INET, SOCK_STREAM, 0, true},
                 {AF_INET, SOCK_STREAM, IPPROTO_TCP, true},
                 {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP, true},
                 {AF_NETLINK, SOCK_RAW, 0, true},
                 {AF_INET, SOCK_DGRAM, IPPROTO_ICMP, false},
                 {AF_INET, SOCK_SEQPACKET, 0, false},
                 {AF_INET, SOCK_RAW, IPPROTO_UDP, false},
                 {AF_NETLINK, SOCK_RAW, 4 /* sock_diag */, false},
                 {AF_NETLINK, SOCK_DGRAM, 15 /* uevents */, false},
                 {AF_UNIX, SOCK_DGRAM, 0, false},
                 {AF_PACKET, SOCK_DGRAM, 0, false},
                 {AF_VSOCK, SOCK_STREAM, 0, false},
                 {AF_ALG, SOCK_SEQPACKET, 0, false}};

    AS_EACH
    {
        for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
            perl("print syscall(%d, %d, %d, %d) < 0 ? \"no: $!\" : 'open'",
                 (int)SYS_socket, tried[i].family, tried[i].type,
                 tried[i].protocol);
            launch();
            says(tried[i].open ? "open" : "no: Operation not permitted");
        }
    }
}
END_TEST

/* A pair is of streams, which reach each other and nothing else. */
START_TEST(pairs_of_sockets_lead_nowhere)
{
    int heard = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char byte;

    ck_assert_int_lt(snprintf(at.sun_path, sizeof at.sun_path, "%s/heard", dir),
                     (int)sizeof at.sun_path);
    ck_assert_int_eq(bind(heard, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(chmod(at.sun_path, 0777), 0);
    AS_EACH
    {
        for (int online = 0; online < 2; online++) {
            perl("use Socket; for my $type (2, 5, 1) { print socketpair(A, B, "
                 "1, $type, 0) ? 'pair ' : 'none ' } my $to = "
                 "pack_sockaddr_un('heard'); print send(A, 'x', 0, $to) ? "
                 "'sent ' : 'no '; print connect(A, $to) ? 'led ' : 'no '; "
                 "print bind(A, pack_sockaddr_un('mine')) ? 'bound ' : 'no '; "
                 "syswrite(A, 'own'); sysread(B, $_, 3); print");
            word("write=%s", dir);
            if (!online)
                word("offline=");
            launch();
            code(0);
            ck_assert_int_lt((int)recv(heard, &byte, 1, 0), 0);
            ck_assert_str_eq(got.out, online ? "none none pair no no bound own"
                                             : "none none pair no no no own");
            unlink_in("mine");
        }
    }
    close(heard);
}
END_TEST

/* A socket that waits for datagrams or for connections, under a path or an
 * abstract name. */
static int listening(int type, const char *name)
{
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char *to = at.sun_path + (name[0] == '@'); /* '@' stands for the NUL */
    size_t room = sizeof at.sun_path - 1, n = strlen(name);

    ck_assert_int_ge(fd, 0);
    ck_assert_uint_lt(n, room);
    memcpy(to, name + (name[0] == '@'), n - (name[0] == '@'));
    ck_assert_int_eq(
        bind(fd, (struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
        0);
    if (name[0] != '@')
        ck_assert_int_eq(chmod(name, 0777), 0);
    if (type != SOCK_DGRAM)
        ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

/* Nobody on this machine gets a descriptor, or a byte, of a program: neither by
 * a path nor by an abstract name.  A program may hand a descriptor to its own
 * process, over a pair; runtimes do that. */
START_TEST(descriptors_stay_inside)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};

    AS_EACH
    {
        for (size_t i = 0; i < 2 * sizeof types / sizeof types[0]; i++) {
            int type = types[i / 2];
            char path[64], name[64];
            int heard[2];

            snprintf(path, sizeof path, "%s/heard", dir);
            snprintf(name, sizeof name, "@%s", dir);
            heard[0] = listening(type, path);
            heard[1] = listening(type, name);
            perl("use Socket; socketpair(A, B, 1, %d, 0) or socket(A, 1, %d, "
                 "0) or exit; "
                 "$b = 'x'; $i = pack('PQ', $b, 1); "
                 "$c = pack('QlllL', 20, 1, 1, fileno(A), 0); "
                 "for $to (pack_sockaddr_un('heard'), "
                 "pack_sockaddr_un(\"\\0%s\")) { "
                 "$m = pack('PQPQPQQ', $to, length $to, $i, 1, $c, 24, 0); "
                 "$mm = $m . pack('Q', 0); print grep { $_ >= 0 } "
                 "syscall(%d, fileno(A), $m, 0), "
                 "syscall(%d, fileno(A), $mm, 1, 0), "
                 "syscall(%d, fileno(A), $b, 1, 0, $to, length $to), "
                 "syscall(%d, fileno(A), $to, length $to) } "
                 "$m = pack('PQPQPQQ', undef, 0, $i, 1, $c, 24, 0); "
                 "print syscall(%d, fileno(A), $m, 0); $c = chr(0) x 24; "
                 "$m = pack('PQPQPQQ', undef, 0, $i, 1, $c, 24, 0); "
                 "print syscall(%d, fileno(B), $m, 0); "
                 "open(C, '>&=', unpack('l', substr($c, 16, 4))) or die; "
                 "syswrite(C, 'own'); sysread(B, $_, 3); print",
                 type, type, dir, (int)SYS_sendmsg, (int)SYS_sendmmsg,
                 (int)SYS_sendto, (int)SYS_connect, (int)SYS_sendmsg,
                 (int)SYS_recvmsg);
            if (i % 2 == 0)
                word("offline=");
            word("write=%s", dir);
            launch();
            code(0);
            ck_assert_str_eq(got.out, type == SOCK_STREAM ? "11own" : "");
            for (size_t k = 0; k < 2; k++) {
                char byte;

                ck_assert_int_lt(type == SOCK_DGRAM
                                     ? (int)recv(heard[k], &byte, 1, 0)
                                     : accept(heard[k], NULL, NULL),
                                 0);
                ck_assert_int_eq(errno, EAGAIN);
                close(heard[k]);
            }
            unlink_in("heard");
        }
    }
}
END_TEST

/* Nobody else is traced, read or signalled. */
START_TEST(others_are_left_alone)
{
    pid_t other;

    AS_EACH
    {
        other = fork();
        if (other == 0) {
            if (user != geteuid() && setuid(user) != 0)
                _exit(1);
            for (;;)
                pause();
        }
        usleep(20000);
        perl(
            "print syscall(%d, 16, %d, 0, 0) < 0 ? \"no: $!\\n\" : "
            "\"traced\\n\"; print kill(9, %d) ? \"killed\\n\" : \"no: $!\\n\"; "
            "print open(F, '<', '/proc/%d/environ') ? \"read\\n\" : \"no: "
            "$!\\n\"",
            (int)SYS_ptrace, (int)other, (int)other, (int)other);
        launch();
        code(0);
        says("no: Operation not permitted\nno: Operation not permitted\nno: ");
        ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
        /* and where files are open to it */
        perl("print open(F, '+<', '/proc/%d/mem') ? 'open' : \"no: $!\"",
             (int)other);
        word("write=/proc");
        launch();
        says("no: ");
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
}
END_TEST

/* No file sends a signal to another process when it becomes ready.  F_SETSIG would
 * choose SIGKILL, and the parent is the supervisor. */
START_TEST(files_signal_nobody_else)
{
    static const char *const tried[] = {
        "fcntl(R, 8, getppid())",  /* F_SETOWN */
        "fcntl(R, 15, $two)",      /* F_SETOWN_EX */
        "fcntl(R, 10, 9)",         /* F_SETSIG */
        "ioctl(A, 0x8901, $one)",  /* FIOSETOWN */
        "ioctl(A, 0x8902, $one)",  /* SIOCSPGRP */
        "ioctl(A, 0x5452, $one)"}; /* FIOASYNC */

    AS_EACH
    {
        for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
            perl("use Socket; my $one = pack('l', getppid()); my $two = "
                 "pack('ll', 1, getppid()); pipe(R, W); socketpair(A, B, 1, 1, "
                 "0) or die; "
                 "print %s ? 'yes' : \"no: $!\"",
                 tried[i]);
            launch();
            code(0);
            ck_assert_msg(strcmp(got.out, "no: Operation not permitted") == 0,
                          "%s, as %d: %s", tried[i], (int)user, got.out);
        }
        /* a refused program goes on, and its supervisor reports the end */
        perl("pipe(R, W); fcntl(R, 8, getppid()); fcntl(R, 10, 9); fcntl(R, 4, "
             "020000) or die; syswrite(W, 'x'); sysread(R, $_, 1); print $_");
        launch();
        code(0);
        ck_assert_str_eq(got.out, "x");
    }
}
END_TEST

/* No namespaces, mounts, keys: as root, too. */
START_TEST(the_machine_is_left_alone)
{
    const int calls[] = {
        SYS_unshare,     SYS_mount,  SYS_chroot,         SYS_setns,
        SYS_bpf,         SYS_keyctl, SYS_reboot,         SYS_init_module,
        SYS_userfaultfd, SYS_setsid, SYS_perf_event_open};

    AS_EACH
    {
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            perl("print syscall(%d, 0x10000000, 0, 0, 0, 0) < 0 ? \"no: $!\" : "
                 "'yes'",
                 calls[i]);
            launch();
            says("no: Operation not permitted");
        }
        /* a namespace by clone(), and by clone3(), which is said not to exist */
        perl("print syscall(%d, 0x10000000 | 17, 0, 0, 0, 0) < 0 ? \"no: $!\" "
             ": 'yes'",
             (int)SYS_clone);
        launch();
        says("no: Operation not permitted");
        perl("print syscall(%d, 0, 0) < 0 ? \"no: $!\" : 'yes'",
             (int)SYS_clone3);
        launch();
        says("no: Function not implemented");
    }
}
END_TEST

/* Other processes keep their limits and their turn; a program has its own. */
START_TEST(limits_of_others_are_theirs)
{
    AS_EACH
    {
        int other = (int)getpid();

        perl("for my $c (%d, %d) { print syscall($c, %d, 7, 0, 0) < 0 ? \"no: "
             "$!\\n\" : \"yes\\n\" } print syscall(%d, 0, %d, 1) < 0 ? \"no: "
             "$!\\n\" : \"yes\\n\"; print syscall(%d, 2, 0, 1) < 0 ? \"no: "
             "$!\\n\" : \"yes\\n\"; print syscall(%d, 0, 0, 19) < 0 ? \"no: "
             "$!\\n\" : \"own\\n\"",
             (int)SYS_prlimit64, (int)SYS_sched_setaffinity, other,
             (int)SYS_setpriority, other, (int)SYS_setpriority,
             (int)SYS_setpriority);
        launch();
        code(0);
        ck_assert_str_eq(got.out, "no: Operation not permitted\n"
                                  "no: Operation not permitted\n"
                                  "no: Operation not permitted\n"
                                  "no: Operation not permitted\nown\n");
    }
}
END_TEST

/* Owners, modes and times stay as they are where it only has the path; nothing
 * is set-user-id. */
START_TEST(attributes_are_kept)
{
    AS_EACH
    {
        char line[256];
        struct stat st;

        snprintf(line, sizeof line,
                 "umask 0; echo x >%s/other; chmod 666 "
                 "%s/other",
                 dir, dir);
        ck_assert_int_eq(system(line), 0);
        perl("print chmod(0777, 'other') ? 'yes' : \"no: $!\"; print "
             "chown(1234, 1234, 'other') ? 'yes' : \"no: $!\"; print utime(1, "
             "1, 'other') ? 'yes' : \"no: $!\"; open(F, '>', 'mine/a') or die; "
             "print chmod(0700, \\*F) ? 'own' : \"$!\"; print chmod(04755, "
             "\\*F) ? 'suid' : \"no: $!\"");
        word("write=%s", directory("mine"));
        launch();
        code(0);
        ck_assert_str_eq(got.out,
                         "no: Operation not permittedno: Operation not "
                         "permittedno: Operation not permittedownno: "
                         "Operation not permitted");
        snprintf(line, sizeof line, "%s/other", dir);
        ck_assert_int_eq(stat(line, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0666);
        clean();
    }
}
END_TEST

/* A file that the program's user owns, to be read by it. */
static void own_file(const char *name)
{
    char path[128];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, 0644), 0);
    if (geteuid() == 0) {
        uid_t its = user == 0 ? ANYBODY : user;

        ck_assert_int_eq(fchown(fd, its, its), 0);
    }
    close(fd);
}

/* To be able to read a file is not enough to change its mode, its times, its
 * attributes or its flags, nor to keep others from it by a lease; also where it
 * belongs to the program's user. */
START_TEST(what_is_read_stays_as_it_is)
{
    static const struct {
        int call;
        const char *arguments; /* behind the descriptor */
    } tried[] = {{SYS_fchmod, "0666"},
                 {SYS_utimensat, "0, 0, 0"},
                 {SYS_fchown, "-1, -1"},
                 {SYS_fsetxattr, "$x, $y, 1, 0"},
                 {SYS_fremovexattr, "$x"},
                 {SYS_fcntl, "1024, 0"},          /* F_SETLEASE, F_RDLCK */
                 {SYS_fcntl, "1024, 1"},          /* F_WRLCK */
                 {SYS_fcntl, "1026, 0x80000001"}, /* F_NOTIFY */
                 {SYS_ioctl, "0x40086602, $f"},   /* FS_IOC_SETFLAGS */
                 {SYS_ioctl, "0x401c5820, $f"}};  /* FS_IOC_FSSETXATTR */
    struct stat was, is;
    char path[128];

    AS_EACH
    {
        own_file("theirs");
        snprintf(path, sizeof path, "%s/theirs", dir);
        ck_assert_int_eq(stat(path, &was), 0);
        for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
            perl("open(F, '<', 'theirs') or die; my ($x, $y, $f) = ('user.x', "
                 "'y', \"\\0\" x 64); print syscall(%d, fileno(F), %s) < 0 ? "
                 "'no' : 'yes'",
                 tried[i].call, tried[i].arguments);
            word("read=%s", dir);
            launch();
            code(0);
            ck_assert_msg(strcmp(got.out, "no") == 0, "%s, as %d", path,
                          (int)user);
        }
        ck_assert_int_eq(stat(path, &is), 0);
        ck_assert_uint_eq(is.st_mode, was.st_mode);
        ck_assert_int_eq(is.st_mtim.tv_sec, was.st_mtim.tv_sec);
        ck_assert_int_eq(is.st_mtim.tv_nsec, was.st_mtim.tv_nsec);
        clean();
    }
}
END_TEST

/* Of a file that it has open for writing a program changes mode and times; from
 * any thread, and in a process that it started. */
START_TEST(what_is_written_gets_its_mode)
{
    AS_EACH
    {
        struct stat st;
        char path[128];

        shell("touch a && perl -e 'open(F, q(>), q(b)) or die; chmod(0751, "
              "\\*F) or die; utime(5, 7, \\*F) or die; if (fork() == 0) { "
              "chmod(0750, \\*F) or die; exit 0 } wait; exit $?'");
        word("write=%s", dir);
        launch();
        code(0);
        snprintf(path, sizeof path, "%s/b", dir);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0750);
        ck_assert_int_eq(st.st_mtim.tv_sec, 7);
        clean();
    }
}
END_TEST

/* So it is where root may not look into other processes, as in a container. */
START_TEST(modes_in_a_container)
{
    user = geteuid();
    traces_nobody = user == 0;
    shell("touch a && touch -d @7 a && stat -c %Y a");
    word("write=%s", dir);
    launch();
    traces_nobody = false;
    code(0);
    says("7\n");
}
END_TEST

/* Nothing is made with a set-id bit, whatever makes it and whatever it becomes
 * later. */
START_TEST(nothing_is_made_set_id)
{
    AS_EACH
    {
        for (unsigned bit = 02000; bit <= 04000; bit <<= 1) {
            perl("my ($a, $b, $c, $d, $e, $t) = qw(a b c d e .); my $m = %u | "
                 "0755; print syscall(%d, $a, 0101, $m) < 0 ? 'no ' : 'yes '; "
                 "print syscall(%d, -100, $b, 0101, $m) < 0 ? 'no ' : 'yes '; "
                 "print syscall(%d, $c, $m) < 0 ? 'no ' : 'yes '; print "
                 "syscall(%d, $d, 0100000 | $m, 0) < 0 ? 'no ' : 'yes '; print "
                 "syscall(%d, -100, $t, 020200002, $m) < 0 ? 'no ' : 'yes '; "
                 "print syscall(%d, -100, $e, 0101, 0755) < 0 ? 'no' : 'yes'",
                 bit, (int)SYS_open, (int)SYS_openat, (int)SYS_creat,
                 (int)SYS_mknod, (int)SYS_openat, (int)SYS_openat);
            word("write=%s", dir);
            launch();
            code(0);
            ck_assert_str_eq(got.out, "no no no no no yes");
            clean();
        }
    }
}
END_TEST

/* No program writes an ACL: the ACL would change the mode of the file.  The filter
 * refuses each call that sets or removes an extended attribute, even if the file
 * is open for writing. */
START_TEST(acls_are_not_written)
{
    static const struct {
        int call;
        const char *arguments;
    } tried[] = {
        {SYS_fsetxattr, "fileno(F), $x, $y, length $y, 0"},
        {SYS_fsetxattr, "fileno(F), $x, $y, length $y, 0xff"}, /* no flags */
        {SYS_setxattr, "$p, $x, $y, length $y, 0"},
        {SYS_lsetxattr, "$p, $x, $y, length $y, 0"},
        {SYS_fremovexattr, "fileno(F), $x"},
        {SYS_removexattr, "$p, $x"},
        {SYS_lremovexattr, "$p, $x"},
        {463 /* setxattrat */, "-100, $p, 0, $x, $args, 16"},
        {466 /* removexattrat */, "-100, $p, 0, $x"}};

    AS_EACH
    {
        for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
            struct stat st;
            char path[128];

            /* this ACL is the mode 0755 */
            perl("umask 0; sysopen(F, 'a', 0102, 0644) or die; my ($p, $x) = "
                 "('a', 'system.posix_acl_access'); my $y = pack('L(SSL)3', 2, "
                 "1, 7, ~0, 4, 5, ~0, 0x20, 5, ~0); my $args = pack('PLL', $y, "
                 "length $y, 0); print syscall(%d, %s) < 0 ? \"no: $!\" : "
                 "'yes'",
                 tried[i].call, tried[i].arguments);
            word("write=%s", dir);
            launch();
            code(0);
            ck_assert_msg(strcmp(got.out, "no: Operation not supported") == 0,
                          "%zu, as %d: %s", i, (int)user, got.out);
            snprintf(path, sizeof path, "%s/a", dir);
            ck_assert_int_eq(stat(path, &st), 0);
            ck_assert_uint_eq(st.st_mode & 07777, 0644);
            clean();
        }
    }
}
END_TEST

/* No program changes the mode or the times of a directory, even of a directory that
 * it made itself: a directory is never open for writing. */
START_TEST(directories_keep_their_modes)
{
    AS_EACH
    {
        struct stat was, is;
        char path[128];

        snprintf(path, sizeof path, "%s", directory("theirs"));
        ck_assert_int_eq(stat(path, &was), 0);
        perl("chdir('mine') or die; mkdir('own', 0755) or die; my $t = "
             "pack('q4', 5, 0, 7, 0); for my $d ('.', 'own', '../theirs') { "
             "sysopen(D, $d, %d) or die \"$d: $!\"; for my $mode (0700, "
             "0755, 02755) { print syscall(%d, fileno(D), $mode) < 0 ? 'no ' : "
             "'yes ' } print syscall(%d, fileno(D), 0, $t, 0) < 0 ? 'no ' : "
             "'yes ' } printf '%%o', (stat('own'))[2]",
             O_DIRECTORY, (int)SYS_fchmod, (int)SYS_utimensat);
        word("write=%s", directory("mine"));
        word("read=%s", path);
        launch();
        code(0);
        ck_assert_str_eq(got.out, "no no no no no no no no no no no no 40755");
        ck_assert_int_eq(stat(path, &is), 0);
        ck_assert_uint_eq(is.st_mode, was.st_mode);
        ck_assert_int_eq(is.st_mtim.tv_sec, was.st_mtim.tv_sec);
        clean();
    }
}
END_TEST

/* Root runs a program as the user that the words name, with no other group; as
 * itself it runs none. */
START_TEST(root_is_another_user)
{
    user = geteuid();
    program("/bin/true");
    if (user != 0) {
        word("user=%d:%d", ANYBODY, ANYBODY);
        launch();
        refuses("of the program: Operation not permitted");
        return;
    }
    user = 1; /* no word of program()'s */
    program("/bin/true");
    user = 0;
    launch();
    refuses("root cannot run a program as root");
    shell("id -u; id -g; id -G; touch made");
    word("write=%s", dir);
    launch();
    code(0);
    ck_assert_str_eq(got.out, "61184\n61184\n61184\n");
}
END_TEST

/* Root's powers are gone, but for files that the words give. */
START_TEST(root_is_no_superuser)
{
    char line[256];

    user = geteuid();
    perl("open(F, '<', '/proc/self/status') or die; while (<F>) { print if "
         "/^Cap/ }");
    word("read=/proc");
    launch();
    says("CapInh:\t");
    if (user != 0) {
        says("CapEff:\t0000000000000000");
        return;
    }
    says("CapEff:\t0000000000000002");
    says("CapBnd:\t0000000000000002");
    snprintf(line, sizeof line,
             "echo kept >%s/theirs; chown 65534 %s/theirs; "
             "chmod 600 %s/theirs",
             dir, dir, dir);
    ck_assert_int_eq(system(line), 0);
    shell("cat theirs; mknod d c 1 3 || echo no device");
    word("write=%s", dir);
    launch();
    says("kept\n");
    says("no device\n");
    /* a user that the deployment names has no more than that user has */
    user = 1;
    shell("cat theirs || echo theirs");
    user = 0;
    word("user=%d:%d", ANYBODY, ANYBODY);
    word("read=%s", dir);
    launch();
    says("theirs\n");
    ck_assert_ptr_null(strstr(got.out, "kept"));
}
END_TEST

/* Nothing outlives it: no shared memory, no queue. */
START_TEST(nothing_is_left_in_the_kernel)
{
    AS_EACH
    {
        perl(
            "for my $c (%d, %d, %d, %d) { print syscall($c, 4711, 4096, 01777) "
            "< 0 ? \"no\\n\" : \"yes\\n\" }",
            (int)SYS_shmget, (int)SYS_msgget, (int)SYS_semget,
            (int)SYS_mq_open);
        launch();
        ck_assert_str_eq(got.out, "no\nno\nno\nno\n");
    }
}
END_TEST

/* What runtimes do with processes, threads and loops of events they can do. */
START_TEST(runtimes_work)
{
    static const struct {
        const char *path, *option, *text;
    } runs[] = {
        {"/usr/bin/perl", "-e",
         "pipe(R, W); if (fork() == 0) { print W qq(ok\\n); exit 0 } close W; "
         "print <R>; system('true') == 0 or die"},
        {"/usr/bin/python3", "-c",
         "import asyncio, subprocess, threading, tempfile, os\n"
         "t = threading.Thread(target=print, args=('thread',))\n"
         "t.start(); t.join()\n"
         "async def run():\n"
         "    p = await asyncio.create_subprocess_exec('cat', stdin=-1, "
         "stdout=-1)\n"
         "    print((await p.communicate(b'ok'))[0].decode())\n"
         "asyncio.run(run())\n"
         "f = tempfile.NamedTemporaryFile(dir='.')\n"
         "os.fchmod(f.fileno(), 0o640)\n"},
        {"/usr/bin/node", "-e",
         "const cp = require('child_process'), fs = require('fs');"
         "const f = fs.openSync('a', 'w');"
         "fs.fchmod(f, 0o640, e => { if (e) throw e });"
         "fs.futimes(f, 5, 7, e => { if (e) throw e });"
         "const p = cp.spawn('cat');"
         "p.stdout.on('data', d => console.log(String(d)));"
         "p.stdin.end('ok');"},
    };

    AS_EACH
    {
        for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
            if (access(runs[i].path, X_OK) != 0)
                continue;
            program(runs[i].path);
            word("arg=%s", runs[i].option);
            word("arg=%s", runs[i].text);
            word("system=/etc/ssl/openssl.cnf");
            word("write=%s", dir);
            word("offline=");
            launch();
            code(0);
            says("ok\n");
            clean();
        }
    }
}
END_TEST

/* A program that would be somebody else is nobody else. */
START_TEST(privileges_are_not_gained)
{
    AS_EACH
    {
        program("/bin/sh");
        word("arg=-c");
        word("arg=grep NoNewPrivs /proc/self/status");
        word("read=/proc");
        launch();
        says("NoNewPrivs:\t1");
    }
}
END_TEST

/* ---- core files ------------------------------------------------------------------- */

/* End it by a signal that makes a core file and that ASan does not handle; all of its
 * group ends, too. */
static void crash(pid_t pid)
{
    int status;

    ck_assert_int_eq(kill(pid, SIGXCPU), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    kill(-pid, SIGKILL);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
    ck_assert_msg(!WCOREDUMP(status), "a core file, as %d", (int)user);
    close(life);
    close(out_fd);
    close(words_fd);
}

/* A process of an ordinary user that may not be dumped belongs to root in /proc.
 * A limit of 0 is not enough: a program that gets core files gets them still. */
static void is_not_dumped(pid_t pid)
{
    struct stat st;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_uid, 0);
}

/* The launcher leaves no core file: neither while it reads the words, which have
 * secrets in them, nor while it supervises the program. */
START_TEST(the_launcher_leaves_no_core_file)
{
    struct rlimit most;

    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &most), 0);
    most.rlim_cur = most.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &most), 0);
    AS_EACH
    {
        int words[2], unread = 1;
        pid_t pid;

        ck_assert_int_eq(pipe2(words, O_CLOEXEC), 0);
        pid = start_with(words[0]);
        ck_assert_int_eq((int)write(words[1], "arg=secret", 10), 10);
        while (unread > 0) { /* until the launcher has read it */
            usleep(1000);
            ck_assert_int_eq(ioctl(words[1], FIONREAD, &unread), 0);
        }
        is_not_dumped(pid);
        crash(pid);
        close(words[0]);
        close(words[1]);

        shell("echo begun; sleep 4714");
        pid = start();
        ck_assert_int_eq((int)read(out_fd, got.out, 6), 6);
        is_not_dumped(pid);
        crash(pid);
    }
}
END_TEST

/* ---- bounds ----------------------------------------------------------------------- */

START_TEST(limits_hold)
{
    AS_EACH
    {
        perl("my $x = 'x' x 200_000_000; print length $x");
        word("memory=50000000");
        launch();
        ck_assert_int_ne(got.code, 0);
        ck_assert_ptr_null(strstr(got.out, "200000000"));
        shell("ulimit -c");
        launch();
        says("0\n");
    }
}
END_TEST

/* Whatever it starts is of its group, and stays so. */
START_TEST(nobody_leaves_the_group)
{
    AS_EACH
    {
        perl("my $g = getpgrp(); print $g == getppid() ? \"led\\n\" : "
             "\"leads\\n\"; if (fork() == 0) { print syscall(%d, 0, 0) < 0 ? "
             "\"no\\n\" : \"left\\n\"; print getpgrp() == $g ? \"same\\n\" : "
             "\"other\\n\"; exit 0 } wait",
             (int)SYS_setpgid);
        launch();
        code(0);
        says("no\nsame\n");
        says("led\n");
    }
}
END_TEST

/* Whoever has it run is gone: then it is, too, and all that it started. */
START_TEST(it_ends_with_who_runs_it)
{
    AS_EACH
    {
        pid_t pid;
        int status;

        shell("trap '' TERM HUP INT; sleep 4714 & echo begun; sleep 4714; echo "
              "over");
        pid = start();
        ck_assert_int_eq((int)read(out_fd, got.out, 6), 6);
        close(life);
        read_all(out_fd, got.out, sizeof got.out); /* nobody has it any more */
        ck_assert_str_eq(got.out, "");
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(out_fd);
        close(words_fd);
    }
}
END_TEST

/* What it started does not outlive it, whoever is there to see to it. */
START_TEST(what_it_started_ends_with_it)
{
    AS_EACH
    {
        shell("(trap '' TERM HUP; sleep 4714; echo late) & echo over");
        launch(); /* reads until nobody has the pipe any more */
        code(0);
        ck_assert_str_eq(got.out, "over\n");
    }
}
END_TEST

/* Its end is seen as it was. */
START_TEST(its_end_is_its_own)
{
    AS_EACH
    {
        shell("exit 7");
        launch();
        code(7);
        shell("kill -TERM $$");
        launch();
        code(128 + SIGTERM);
        shell("kill -KILL $$");
        launch();
        code(128 + SIGKILL);
    }
}
END_TEST

/* It is no command: without the word, or with others, it says so. */
START_TEST(it_is_no_command)
{
    child_run("%s", child_build("mortise-worker"));
    ck_assert_int_eq(child.code, 64);
    ck_assert_ptr_nonnull(
        strstr(child.err, "only the engine can start this program"));
    child_run("%s --launch 3<&- 4<&-", child_build("mortise-worker"));
    ck_assert_int_eq(child.code, 125);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("launch");
    TCase *tc = tcase_create("launch");

    tcase_set_timeout(tc, 120); /* a busy machine starts runtimes slowly */
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, it_has_what_it_was_given);
    tcase_add_test(tc, words_are_checked);
    tcase_add_test(tc, files_are_read_where_it_may);
    tcase_add_test(tc, what_it_writes_is_not_run);
    tcase_add_test(tc, sockets_are_for_who_is_online);
    tcase_add_test(tc, sockets_are_of_the_internet);
    tcase_add_test(tc, pairs_of_sockets_lead_nowhere);
    tcase_add_test(tc, descriptors_stay_inside);
    tcase_add_test(tc, others_are_left_alone);
    tcase_add_test(tc, files_signal_nobody_else);
    tcase_add_test(tc, the_machine_is_left_alone);
    tcase_add_test(tc, limits_of_others_are_theirs);
    tcase_add_test(tc, attributes_are_kept);
    tcase_add_test(tc, what_is_read_stays_as_it_is);
    tcase_add_test(tc, what_is_written_gets_its_mode);
    tcase_add_test(tc, modes_in_a_container);
    tcase_add_test(tc, nothing_is_made_set_id);
    tcase_add_test(tc, acls_are_not_written);
    tcase_add_test(tc, directories_keep_their_modes);
    tcase_add_test(tc, root_is_another_user);
    tcase_add_test(tc, root_is_no_superuser);
    tcase_add_test(tc, runtimes_work);
    tcase_add_test(tc, nothing_is_left_in_the_kernel);
    tcase_add_test(tc, privileges_are_not_gained);
    tcase_add_test(tc, the_launcher_leaves_no_core_file);
    tcase_add_test(tc, limits_hold);
    tcase_add_test(tc, nobody_leaves_the_group);
    tcase_add_test(tc, it_ends_with_who_runs_it);
    tcase_add_test(tc, what_it_started_ends_with_it);
    tcase_add_test(tc, its_end_is_its_own);
    tcase_add_test(tc, it_is_no_command);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
