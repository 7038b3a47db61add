/* test_memfd.c -- sealed memory on a machine that is busy with its pages. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/test.h"
#include "core/plugin/memfd.h"

enum { PAGE = 4096, HELD_MS = 600 };

static int pipe_[2];

/* One page, written, to which a pipe refers (a transfer without copying). */
static int held_page(void)
{
    int fd = mortise_memfd_new("held");
    struct iovec v = {.iov_len = PAGE};

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pipe2(pipe_, O_CLOEXEC), 0);
    ck_assert_int_eq(ftruncate(fd, PAGE), 0);
    v.iov_base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(v.iov_base, MAP_FAILED);
    memset(v.iov_base, 'x', PAGE);
    ck_assert_int_eq(vmsplice(pipe_[1], &v, 1, 0), PAGE);
    munmap(v.iov_base, PAGE);
    return fd;
}

static void *let_go(void *ud)
{
    (void)ud;
    usleep(HELD_MS * 1000);
    close(pipe_[0]);
    close(pipe_[1]);
    return NULL;
}

/* The kernel gives up after 150 ms; who only holds on for longer than that does
 * not keep a plugin from being loaded. */
START_TEST(what_is_held_is_sealed_later)
{
    int fd = held_page();
    pthread_t t;

    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, MORTISE_MEMFD_SEALS), -1);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_int_eq(pthread_create(&t, NULL, let_go, NULL), 0);
    ck_assert_int_eq(mortise_memfd_seal(fd), 0);
    pthread_join(t, NULL);
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & MORTISE_MEMFD_SEALS,
                     MORTISE_MEMFD_SEALS);
    ck_assert_int_eq(write(fd, "y", 1), -1);
    ck_assert_int_eq(errno, EPERM);
    close(fd);
}
END_TEST

/* Who never lets go could still write it: it is not sealed, and that is said. */
START_TEST(what_is_held_for_good_is_not_sealed)
{
    int fd = held_page();

    ck_assert_int_eq(mortise_memfd_seal(fd), -1);
    ck_assert_int_eq(errno, EBUSY);
    close(fd);
    close(pipe_[0]);
    close(pipe_[1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("memfd");
    TCase *tc = tcase_create("memfd");

    tcase_add_test(tc, what_is_held_is_sealed_later);
    tcase_add_test(tc, what_is_held_for_good_is_not_sealed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
