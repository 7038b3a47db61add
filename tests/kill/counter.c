#include "kill/counter.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"

static char counted[512]; /* the directory */
static int listener, port;
static pthread_t thread;

/* The body of a whole POST; NULL: it is none, or never became whole. */
static const char *read_post(int fd, char *p, size_t cap)
{
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(fd, p + n, cap - 1 - n, 0);
        const char *end, *at;

        if (got <= 0)
            return NULL;
        n += (size_t)got;
        p[n] = '\0';
        end = strstr(p, "\r\n\r\n");
        at = strcasestr(p, "\r\ncontent-length:");
        if (end == NULL)
            continue;
        if (at == NULL || at > end)
            return NULL;
        if ((size_t)(p + n - end - 4) >= (size_t)atol(at + 17))
            return end + 4;
    }
}

/* Where a name, the path of a directory, is counted. */
static const char *file_of(const char *name, char path[1024])
{
    const char *slash = strrchr(name, '/');

    snprintf(path, 1024, "%s/%s", counted, slash != NULL ? slash + 1 : name);
    return path;
}

static void serve(int fd)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                             "Connection: close\r\n\r\n";
    char p[8192], path[1024];
    const char *name = read_post(fd, p, sizeof p);
    FILE *f = name != NULL ? fopen(file_of(name, path), "a") : NULL;

    if (f != NULL) {
        fputs("told\n", f);
        fclose(f);
    }
    (void)!send(fd, ok, sizeof ok - 1, MSG_NOSIGNAL);
}

static void *serving(void *ud)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        serve(fd);
        close(fd);
    }
    return ud;
}

void counter_begin(const char *dir)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;

    snprintf(counted, sizeof counted, "%s", dir);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    getsockname(listener, (struct sockaddr *)&a, &n);
    port = ntohs(a.sin_port);
    ck_assert_int_eq(pthread_create(&thread, NULL, serving, NULL), 0);
}

void counter_end(void)
{
    shutdown(listener, SHUT_RDWR); /* accept() ends */
    pthread_join(thread, NULL);
    close(listener);
}

int counter_port(void)
{
    return port;
}

/* Until all who came before were served. */
static void wait_turn(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte;

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    shutdown(fd, SHUT_WR);
    while (recv(fd, &byte, 1, 0) > 0)
        continue;
    close(fd);
}

const char *counter_file(const char *name)
{
    static char path[1024];

    return file_of(name, path);
}

unsigned counter_count(const char *name)
{
    char path[1024], *text;
    unsigned n = 0;

    wait_turn();
    if (access(file_of(name, path), F_OK) != 0)
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    free(text);
    return n;
}
