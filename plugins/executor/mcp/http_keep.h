/* http_keep.h -- tokens that outlive the process, kept by the host. */
#ifndef MCP_HTTP_KEEP_H
#define MCP_HTTP_KEEP_H

#include "mcp.h"
#include "oauth.h"

struct http_keep { /* zeroed, and http_keep_init() */
    mortise_inst *inst;
    char name[192]; /* what all its names begin with */
    struct oauth_keep found;
    unsigned at;      /* which piece of it is looked for */
    unsigned pending; /* asks of the host */
    int is_stale;     /* what is kept is not what was to be kept last */
    void (*loaded)(struct http_keep *k); /* `found` is there, or is empty */
    void (*idle)(struct http_keep *k);   /* what was to be kept is, all of it */
};

/* `url`: of the server; what was kept for another is not found. */
void http_keep_init(struct http_keep *k, mortise_inst *i, const char *server,
                    mortise_str url);
/* loaded() comes, maybe from inside. */
void http_keep_load(struct http_keep *k);
void http_keep_save(struct http_keep *k, const struct oauth_keep *keep);
/* Once nothing is pending. */
void http_keep_finish(struct http_keep *k);

#endif
