/* knock.c -- a bare connection to a store's control socket. */
#include "lib/knock.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int knock(const char *store)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int dir = open(store, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/control.sock",
             dir);
    ck_assert_msg(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "%s",
                  strerror(errno));
    close(dir);
    return fd;
}

void knock_say(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        ck_assert_int_gt(sent, 0);
        p += sent;
        n -= (size_t)sent;
    }
}

/* What is there up to a line end, or all of it; 0 at the end of all. */
static size_t take(int fd, char *into, size_t cap)
{
    ssize_t n = recv(fd, into, cap, MSG_PEEK);
    const char *end;

    if (n <= 0)
        return 0;
    end = memchr(into, '\n', (size_t)n);
    n = recv(fd, into, end != NULL ? (size_t)(end - into) + 1 : (size_t)n, 0);
    return n > 0 ? (size_t)n : 0;
}

const char *knock_line(int fd)
{
    static char text[2 << 20];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t n = 0, more;

    do {
        ck_assert_int_eq(poll(&p, 1, 60000), 1);
        more = take(fd, text + n, sizeof text - 1 - n);
        n += more;
        ck_assert_uint_lt(n, sizeof text - 1);
    } while (more > 0 && text[n - 1] != '\n');
    n -= n > 0 && text[n - 1] == '\n';
    text[n] = '\0';
    return text;
}

const char *knock_ask(int fd, const char *request)
{
    knock_say(fd, request, strlen(request));
    knock_say(fd, "\n", 1);
    return knock_line(fd);
}
