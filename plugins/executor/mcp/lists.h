/* lists.h -- a list of a server's, page by page. */
#ifndef MCP_LISTS_H
#define MCP_LISTS_H

#include "transport.h"

enum { MCP_PAGES_MAX = 1000, MCP_ITEMS_MAX = 4096 };

/* One walk; allocated by mcp_list_start(), which gives it to `done`'s caller
 * back: it is gone after that. */
struct mcp_list {
    struct bytes items; /* JSON, with commas between, without brackets */
    uint64_t n;         /* of them */
    int64_t ttl_ms;     /* the least that a page said; -1: none did */
    void *ud;
};

/* `why` NULL: `list` has all of it; lent until this returns.  A server that has
 * no such method has none of them. */
typedef void mcp_list_fn(void *ud, const struct mcp_list *list,
                         const struct mcp_trouble *why);

/* Of `method` ("tools/list") the member ("tools") of each page.  *out: lent for
 * mcp_list_stop(), until `done` is called, once, never from inside.  The
 * connection is ready, and a lost one is told like any trouble. */
struct mcp_walk;
mortise_status mcp_list_start(struct mcp_server *s, const char *method,
                              const char *member, mcp_list_fn *done, void *ud,
                              struct mcp_walk **out);
void mcp_list_stop(struct mcp_walk *w); /* NULL is fine */

#endif
