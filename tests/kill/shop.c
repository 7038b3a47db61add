#include "kill/shop.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"

static char kept[512]; /* the directory */
static int listener, port;
static pthread_t thread;

/* What came whole: its path and body; false: it never did. */
static bool read_post(int fd, char *p, size_t cap, char path[256],
                      const char **body)
{
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(fd, p + n, cap - 1 - n, 0);
        const char *end, *at;

        if (got <= 0)
            return false;
        n += (size_t)got;
        p[n] = '\0';
        end = strstr(p, "\r\n\r\n");
        at = strcasestr(p, "\r\ncontent-length:");
        if (end == NULL || at == NULL || at > end ||
            (size_t)(p + n - end - 4) < (size_t)atol(at + 17))
            continue;
        *body = end + 4;
        return sscanf(p, "POST %255s ", path) == 1;
    }
}

static void say(int fd, const char *body)
{
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                     strlen(body), body);

    (void)!send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

/* A file of the trial that this path, "/NAME/...", or directory is of. */
static const char *file_of(const char *trial, const char *suffix,
                           char out[1024])
{
    const char *slash = strrchr(trial, '/');
    const char *name = slash != NULL ? slash + 1 : trial;

    snprintf(out, 1024, "%s/%s.%s", kept, name, suffix);
    return out;
}

static void add_line(const char *file, const char *line)
{
    FILE *f = fopen(file, "a");

    fputs(line, f);
    fclose(f);
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint64_t digest(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

#define SAYS(text)                                                             \
    "{\"id\":\"x\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"  \
    "\"message\":{\"role\":\"assistant\",\"content\":\"" text "\"},"           \
    "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":20,"            \
    "\"completion_tokens\":10}}"

static void serve_model(int fd, const char *name, const char *body)
{
    char file[1024], line[128];

    snprintf(line, sizeof line, "%llu %llu\n", (unsigned long long)now_ms(),
             (unsigned long long)digest(body));
    add_line(file_of(name, "models", file), line);
    say(fd, strstr(body, "Decide whether") != NULL
                ? SAYS("{\\\"label\\\": \\\"refund\\\", \\\"amount\\\": 150}")
                : SAYS("Your money is on its way. We are sorry."));
}

static void serve_refund(int fd, const char *name, const char *request)
{
    char file[1024], key[128] = "", line[160], *known;
    const char *at = strcasestr(request, "\r\nidempotency-key:");

    if (at == NULL || sscanf(at + 18, " %127[^\r \n]", key) != 1) {
        say(fd, "{}");
        return;
    }
    snprintf(line, sizeof line, "%s\n", key);
    file_of(name, "refunds", file);
    known = access(file, F_OK) == 0 ? test_read(file, NULL) : strdup("");
    if (strstr(known, line) == NULL)
        add_line(file, line);
    free(known);
    say(fd, "{\"id\":\"re_1\",\"amount\":150}");
}

static void serve(int fd)
{
    static char p[1 << 16];
    char path[256], name[256];
    const char *body;

    if (!read_post(fd, p, sizeof p, path, &body))
        return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(path + 1, "/"), path + 1);
    if (strstr(path, "/refunds") != NULL)
        serve_refund(fd, name, p);
    else
        serve_model(fd, name, body);
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

void shop_begin(const char *dir)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;

    snprintf(kept, sizeof kept, "%s", dir);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    getsockname(listener, (struct sockaddr *)&a, &n);
    port = ntohs(a.sin_port);
    ck_assert_int_eq(pthread_create(&thread, NULL, serving, NULL), 0);
}

void shop_end(void)
{
    shutdown(listener, SHUT_RDWR); /* accept() ends */
    pthread_join(thread, NULL);
    close(listener);
}

const char *shop_url(const char *trial)
{
    static char url[512];
    const char *slash = strrchr(trial, '/');

    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", port,
             slash != NULL ? slash + 1 : trial);
    return url;
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

static char *read_file(const char *trial, const char *suffix)
{
    char file[1024];

    wait_turn();
    file_of(trial, suffix, file);
    return access(file, F_OK) == 0 ? test_read(file, NULL) : strdup("");
}

unsigned shop_calls(const char *trial, struct shop_call *out, unsigned cap)
{
    char *text = read_file(trial, "models"), *rest = NULL;
    unsigned n = 0;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest), n++) {
        unsigned long long at, what;

        ck_assert_int_eq(sscanf(line, "%llu %llu", &at, &what), 2);
        if (n < cap)
            out[n] = (struct shop_call){at, what};
    }
    free(text);
    return n;
}

unsigned shop_refunds(const char *trial)
{
    char *text = read_file(trial, "refunds");
    unsigned n = 0;

    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    free(text);
    return n;
}

const char *shop_refunds_file(const char *trial)
{
    static char path[1024];

    return file_of(trial, "refunds", path);
}
