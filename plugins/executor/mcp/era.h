/* era.h -- which protocol a server speaks. */
#ifndef MCP_ERA_H
#define MCP_ERA_H

#include "transport.h"

struct mcp_reply;

/* What the deployment lets be spoken (tools.mcp.NAME.protocol). */
enum mcp_protocol {
    MCP_PROTOCOL_AUTO,
    MCP_PROTOCOL_MODERN,
    MCP_PROTOCOL_LEGACY
};

enum { MCP_VERSION_ROOM = 24, MCP_TEXT_MAX = 65536 };

/* What a server and we agreed on; zero: nothing yet. */
struct mcp_agreement {
    enum mcp_era era;
    char version[MCP_VERSION_ROOM];
    int asks_again;            /* it was asked for its versions once more */
    int skips_discovery;       /* the last process did not survive it */
    struct bytes info;         /* {name, version}, JSON; or nothing */
    struct bytes instructions; /* text, cut at MCP_TEXT_MAX */
    int has_tools, has_resources, has_prompts;
    int tells_tools;             /* it says when its list of tools changes */
    struct mcp_request *request; /* of this, while it is under way */
};

enum mcp_verdict {
    MCP_SPEAKS_MODERN,
    MCP_TRY_LEGACY, /* `initialize` */
    MCP_TRY_MODERN, /* `server/discover`, (once) more */
    MCP_SPEAKS_LEGACY,
    MCP_SPEAKS_NEITHER
};

/* The decisions, without a connection.  `again`: it was asked more than once
 * already; `silent`: the transport's silence_is_legacy.  *why (a literal) says
 * what is wrong where it speaks neither; NULL: what the reply says. */
enum mcp_verdict mcp_era_of_discover(enum mcp_protocol may,
                                     const struct mcp_reply *reply, int again,
                                     int silent, const char **why);
/* `version` gets the one that is spoken. */
enum mcp_verdict mcp_era_of_initialize(enum mcp_protocol may,
                                       const struct mcp_reply *reply, int again,
                                       char version[MCP_VERSION_ROOM],
                                       const char **why);

/* Find out, over the server's new wire: mcp_server_agreed() or
 * mcp_server_drop() says what came of it. */
void mcp_era_begin(struct mcp_server *s);
/* Forget it, and let go of what is asked. */
void mcp_era_forget(struct mcp_server *s);

/* The members of `_meta`, and the capabilities, of the era that is spoken or
 * (before it is known) asked for: into an open params object. */
void mcp_era_write_meta(mortise_jw *w, const struct mcp_server *s,
                        enum mcp_era era, int64_t progress_token);

#endif
