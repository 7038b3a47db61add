/* httpd.h -- a small HTTP server that says exactly the bytes it was told to.
 *
 * Each path has a script: pieces to send, in the order in which they were
 * added, with waits in between.  What clients sent is kept.  Its threads end
 * with httpd_stop(). */
#ifndef TEST_HTTPD_H
#define TEST_HTTPD_H

#include <stddef.h>

struct httpd;

struct httpd *httpd_start(void); /* on 127.0.0.1 */
void httpd_stop(struct httpd *d);
int httpd_port(const struct httpd *d);
/* "http://127.0.0.1:PORT" + path; static until the next but three calls. */
const char *httpd_url(const struct httpd *d, const char *path);

/* The script of a path; the next httpd_...() calls add to it. */
void httpd_on(struct httpd *d, const char *path);
void httpd_say(struct httpd *d, const char *text);
void httpd_send(struct httpd *d, const void *p, size_t n);
void httpd_repeat(struct httpd *d, char c, size_t n); /* a body of n bytes */
void httpd_split(struct httpd *d, const char *text);  /* a byte a packet */
/* Its first bytes: none, then `by` more each time that the script is played. */
void httpd_prefixes(struct httpd *d, const void *p, size_t n, size_t by);
void httpd_wait(struct httpd *d, int ms);
void httpd_hold(struct httpd *d);  /* until the next httpd_release() */
void httpd_close(struct httpd *d); /* after what was said */
void httpd_reset(struct httpd *d); /* with an RST */
/* Only this often (from the beginning of scripts of the same path): a later
 * httpd_on() of the path takes over then. */
void httpd_times(struct httpd *d, int n);

/* A whole answer: status line, Content-Length, other headers (each with its
 * line end), body. */
void httpd_answer(struct httpd *d, const char *path, const char *status,
                  const char *headers, const char *body);

/* Each request of that path is answered by what this makes of it: a whole answer,
 * which is freed, or NULL, which closes the connection.  `nth` counts them from 0.
 * It runs on a thread of the server's, one request at a time. */
typedef char *httpd_fn(const char *request, size_t nth);
void httpd_answer_by(struct httpd *d, const char *path, httpd_fn *fn);

/* What came: the i-th request, head and body as they were; "" if there was
 * none.  Lent until httpd_stop(). */
const char *httpd_request(struct httpd *d, size_t i);
size_t httpd_requests(struct httpd *d);
size_t httpd_connections(struct httpd *d);
/* Until n requests came; it fails after a minute. */
void httpd_await(struct httpd *d, size_t n);
/* The script that holds for longest goes on, or the next one that comes to it. */
void httpd_release(struct httpd *d);

#endif
