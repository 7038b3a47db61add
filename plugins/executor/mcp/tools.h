/* tools.h -- the tools of a server, as it has them now, and their pins. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "digest.h"
#include "lists.h"

struct mcp_tool {
    mortise_jv json;     /* of the list */
    mortise_str name;    /* decoded */
    const char *refused; /* words: it cannot be called by this transport */
    char digest[CANONICAL_HEX + 1];
};

/* tools.c writes these. */
struct mcp_tools {
    int known;         /* `list` is what the server has, */
    int fresh;         /* ... and still holds */
    int listened;      /* it says when that changes */
    uint64_t until_ns; /* when it says nothing: so long; 0: for one use */
    struct bytes items, names; /* what `list` points into */
    struct mcp_tool *list;
    uint64_t n;
    struct mcp_walk *walk;       /* under way */
    int changed;                 /* meanwhile */
    int fetches;                 /* in succession that changed meanwhile */
    struct mcp_request *listens; /* subscriptions/listen; NULL: not */
    struct mcp_timer again;      /* to listen */
    uint64_t deaf;               /* times in succession that it ended */
};

/* May the list be used as it is? */
int mcp_tools_are_fresh(const struct mcp_server *s);
/* Get it anew, unless that is under way: mcp_server_has_tools() is told. */
void mcp_tools_get(struct mcp_server *s);
/* It has changed, or may have. */
void mcp_tools_spoil(struct mcp_server *s);
/* The connection is ready: listen to changes, where there are some to hear. */
void mcp_tools_listen(struct mcp_server *s);
/* What the server granted: a notification's params. */
void mcp_tools_granted(struct mcp_server *s, mortise_jv params);
/* The connection is gone. */
void mcp_tools_forget(struct mcp_server *s);

/* NULL: there is none. */
const struct mcp_tool *mcp_tools_find(const struct mcp_server *s,
                                      mortise_str name);
/* Is that tool pinned, or (where nothing is) free to be used? */
int mcp_tools_is_pinned(const struct mcp_server *s, mortise_str name);
/* Words into `why` (freed by the caller) where the tool is not to be called: it
 * is gone, or is not as it was pinned.  *code is what that is. */
int mcp_tools_judge(const struct mcp_server *s, mortise_str name,
                    struct bytes *why, const char **code);

#endif
