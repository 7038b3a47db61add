#include "test.h"

#include <dirent.h>
#include <ftw.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Guards what follows: workers allocate too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t blocks;
static int fail_at = -1;
static bool failed;

static int fds_before, threads_before;

/* Where this program's tests remember what their user allowed and saw. */
static char state_home[4096];

static bool fresh_dir(char dir[4096])
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, 4096, "%s/mortise-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(dir) != NULL;
}

/* What configs/mortise.yaml shares its store with, and whom its programs run as:
 * a group and a user of ours, whoever runs the tests. */
static void name_us(void)
{
    const struct group *ours = getgrgid(getegid());
    const struct passwd *us = getpwuid(geteuid());

    if (ours != NULL)
        setenv("MORTISE_GROUP", ours->gr_name, 1);
    if (us != NULL && geteuid() != 0) /* root runs none as itself */
        setenv("MORTISE_USER", us->pw_name, 1);
}

/* Check drops a message over 4 KiB, and with a larger limit each assertion, also
 * one that holds, moves a buffer of twice the limit.  So a long message is cut;
 * the whole of it goes to stderr, which scripts/test.sh keeps in the log.  The
 * linker puts this in the place of Check's function. */
void __real__ck_assert_failed(const char *file, int line, const char *expr,
                              const char *msg, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
void __wrap__ck_assert_failed(const char *file, int line, const char *expr,
                              const char *msg, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
void __wrap__ck_assert_failed(const char *file, int line, const char *expr,
                              const char *msg, ...)
{
    char text[3000];
    va_list args;
    int n;

    if (msg == NULL)
        __real__ck_assert_failed(file, line, expr, NULL);
    va_start(args, msg);
    n = vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    if (n >= (int)sizeof text) {
        fprintf(stderr, "%s:%d: ", file, line);
        va_start(args, msg);
        vfprintf(stderr, msg, args);
        va_end(args);
        fputc('\n', stderr);
        strcpy(text + sizeof text - 40, "... (all of it is in the log)");
    }
    __real__ck_assert_failed(file, line, expr, "%s", text);
}

int test_run(Suite *s)
{
    SRunner *sr = srunner_create(s);
    int n;

    fresh_dir(state_home);
    setenv("XDG_STATE_HOME", state_home, 1);
    name_us();
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    test_rmdir(state_home);
    return n == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* May this allocation happen? */
static bool admit(size_t old_size, size_t new_size)
{
    bool ok = true;

    pthread_mutex_lock(&lock);
    if (new_size > old_size && fail_at >= 0 && fail_at-- == 0) {
        fail_at = 0;
        failed = true;
        ok = false;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

static void count(int by)
{
    pthread_mutex_lock(&lock);
    blocks += (size_t)by;
    pthread_mutex_unlock(&lock);
}

static void *counting(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    void *p;

    (void)ud;
    if (new_size == 0) {
        if (ptr != NULL) {
            memset(ptr, 0xDD, old_size); /* a wrong old_size shows under ASan */
            count(-1);
        }
        free(ptr);
        return NULL;
    }
    if (!admit(old_size, new_size))
        return NULL;
    p = realloc(ptr, new_size);
    if (p != NULL && ptr == NULL)
        count(1);
    return p;
}

const struct mortise_mem test_mem = {counting, NULL};

void test_mem_fail_at(int n)
{
    pthread_mutex_lock(&lock);
    fail_at = n;
    failed = false;
    pthread_mutex_unlock(&lock);
}

bool test_mem_failed(void)
{
    bool so;

    pthread_mutex_lock(&lock);
    so = failed;
    pthread_mutex_unlock(&lock);
    return so;
}

size_t test_mem_blocks(void)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = blocks;
    pthread_mutex_unlock(&lock);
    return n;
}

static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

void test_begin(void)
{
    static unsigned nth; /* of this process: Check need not fork (CK_FORK=no) */
    char own[sizeof state_home + 32];

    /* Each test is a user who has seen nothing. */
    snprintf(own, sizeof own, "%s/%d.%u", state_home, (int)getpid(), nth++);
    setenv("XDG_STATE_HOME", own, 1);
    test_mem_fail_at(-1);
    fds_before = entries("/proc/self/fd");
    threads_before = entries("/proc/self/task");
}

/* ThreadSanitizer starts a thread of its own with our first one. */
#ifdef __SANITIZE_THREAD__
enum { FOREIGN_THREADS = 1 };
#else
enum { FOREIGN_THREADS = 0 };
#endif

/* A thread that was joined stays in /proc for a moment: of a busy machine, for up
 * to a minute. */
static bool threads_are_gone(void)
{
    for (int i = 0; i < 12000; i++) {
        if (entries("/proc/self/task") <= threads_before + FOREIGN_THREADS)
            return true;
        usleep(5000);
    }
    return false;
}

void test_within(unsigned seconds)
{
    signal(SIGALRM, SIG_DFL); /* Check's kills all that we were started with */
    alarm(seconds);
}

void test_nothing_left(void)
{
    alarm(0);
    test_mem_fail_at(-1);
    ck_assert(threads_are_gone()); /* with what they still held */
    ck_assert_uint_eq(blocks, 0);
    ck_assert_int_eq(entries("/proc/self/fd"), fds_before);
}

const char *test_mkdir(void)
{
    static char dir[4096];

    ck_assert(fresh_dir(dir));
    return dir;
}

int test_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void test_rmdir(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void test_write(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    ck_assert_msg(f != NULL, "cannot write %s", path);
    ck_assert_uint_eq(fwrite(p, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

char *test_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    size_t size = 0, got;
    char block[65536];

    ck_assert_msg(f != NULL, "cannot read %s", path);
    while ((got = fread(block, 1, sizeof block, f)) > 0) {
        p = realloc(p, size + got + 1);
        memcpy(p + size, block, got);
        size += got;
    }
    fclose(f);
    if (p == NULL)
        p = calloc(1, 1);
    p[size] = '\0';
    if (n != NULL)
        *n = size;
    return p;
}
