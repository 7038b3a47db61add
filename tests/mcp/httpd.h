/* httpd.h -- what mcpd_http's two halves share: requests of HTTP. */
#ifndef TEST_MCP_HTTPD_H
#define TEST_MCP_HTTPD_H

#include <stdbool.h>
#include <stddef.h>

struct conn; /* http.c */

/* One that came whole; all of it is lent. */
struct http {
    struct conn *conn;
    char method[16], path[2048]; /* with its query */
    const char *head;            /* its lines, after the first */
    const char *body;
    size_t n;
};

/* The value of a header, in a buffer of a few that live at a time; NULL: it has
 * none of that name. */
const char *http_header(const struct http *q, const char *name);
/* Answer; `headers` are whole lines. */
void http_answer(struct conn *c, int status, const char *headers,
                 const char *type, const char *body);
int http_port(void);

/* ---- oauth.c ------------------------------------------------------------- */

/* Was it a request of OAuth's, and is answered? */
bool oauth_takes(const struct http *q);
/* May it go on to /mcp?  If not, it is answered.  `method` and `tool`: of MCP. */
bool oauth_admits(const struct http *q, const char *method, const char *tool);
void oauth_finish(void);

#endif
