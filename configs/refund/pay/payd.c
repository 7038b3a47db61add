/* payd.c -- a fake payment server for the refund graph: no money moves.
 *
 *   ./payd 8787 refunds.log
 *
 * POST /refunds {customer, amount} with an Idempotency-Key gives 200 and {id,
 * amount}.  Each refund is a line of the log, synced before the answer:
 *
 *   KEY CUSTOMER AMOUNT
 *
 * A key that is in the log gets the same answer, without another refund.  An
 * amount over 1000 is declined (402).  The server handles one request at a
 * time, on 127.0.0.1. */
#include <mortise/ask.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 16384 };

struct refund {
    char key[128], customer[256];
    double amount;
};

/* Read until the body is complete; NULL if the connection ends before that. */
static char *read_request(int fd, char *p)
{
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(fd, p + n, MOST - 1 - n, 0);
        const char *head, *length;

        if (got <= 0)
            return NULL;
        n += (size_t)got;
        p[n] = '\0';
        head = strstr(p, "\r\n\r\n");
        length = strcasestr(p, "\r\ncontent-length:");
        if (head != NULL && length != NULL && length < head &&
            (size_t)(p + n - head - 4) >= (size_t)atol(length + 17))
            return p + (head + 4 - p);
    }
}

static int read_refund(const char *request, const char *body,
                       struct refund *out)
{
    const char *key = strcasestr(request, "\r\nidempotency-key:");
    mortise_jv v;

    return strncmp(request, "POST /refunds ", 14) == 0 && key != NULL &&
           sscanf(key + 18, " %127[^\r \n]", out->key) == 1 &&
           mortise_jv_parse(mortise_strz(body), &v) == MORTISE_S_OK &&
           mortise_jv_cstr(mortise_jv_get(v, "customer"), out->customer,
                           sizeof out->customer) == MORTISE_S_OK &&
           mortise_jv_double(mortise_jv_get(v, "amount"), &out->amount) ==
               MORTISE_S_OK;
}

/* Return whether the log has a refund with that key. */
static int is_known(FILE *log, const char *key)
{
    char line[1024];
    size_t n = strlen(key);

    rewind(log);
    while (fgets(line, sizeof line, log) != NULL)
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            return 1;
    return 0;
}

static int make(FILE *log, const struct refund *r)
{
    if (is_known(log, r->key))
        return 1;
    fseek(log, 0, SEEK_END);
    fprintf(log, "%s %s %.2f\n", r->key, r->customer, r->amount);
    return fflush(log) == 0 && fsync(fileno(log)) == 0;
}

static void answer(int fd, const char *status, const char *body)
{
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                     status, strlen(body), body);

    (void)!send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static void serve(int fd, FILE *log)
{
    static char request[MOST];
    const char *body = read_request(fd, request);
    char text[256];
    struct refund r;

    if (body == NULL)
        return;
    if (!read_refund(request, body, &r)) {
        answer(fd, "400 Bad Request", "{}");
    } else if (r.amount > 1000) {
        answer(fd, "402 Payment Required", "{}");
    } else if (!make(log, &r)) {
        answer(fd, "500 Internal Server Error", "{}");
    } else {
        snprintf(text, sizeof text, "{\"id\": \"re_%.12s\", \"amount\": %.2f}",
                 r.key, r.amount);
        answer(fd, "200 OK", text);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd, listener = socket(AF_INET, SOCK_STREAM, 0);
    FILE *log = argc == 3 ? fopen(argv[2], "a+") : NULL;

    if (log == NULL) {
        fprintf(stderr, "usage: payd PORT LOG\n");
        return 2;
    }
    a.sin_port = htons((uint16_t)atoi(argv[1]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(listener, 16) != 0) {
        perror("payd");
        return 1;
    }
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        serve(fd, log);
        close(fd);
    }
    return 1;
}
