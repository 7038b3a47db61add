/* rpc.h -- JSON-RPC 2.0 messages, as both eras have them.
 *
 * Threads    No state. */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "../../bytes.h"

enum mcp_rpc_kind {
    MCP_RPC_NONE, /* no message */
    MCP_RPC_REQUEST,
    MCP_RPC_NOTIFICATION,
    MCP_RPC_RESULT,
    MCP_RPC_ERROR
};

/* The codes that mean something (the rest of -32000..-32019 does not). */
enum {
    MCP_RPC_PARSE = -32700,
    MCP_RPC_INVALID = -32600,
    MCP_RPC_NO_METHOD = -32601,
    MCP_RPC_BAD_PARAMS = -32602,
    MCP_RPC_INTERNAL = -32603,
    MCP_RPC_REJECTED = -1,         /* of sampling: nobody allows it */
    MCP_RPC_HEADERS = -32020,      /* HTTP: they differ from the body */
    MCP_RPC_CAPABILITY = -32021,   /* the client lacks one */
    MCP_RPC_VERSION = -32022,      /* not that version */
    MCP_RPC_URL_REQUIRED = -32042, /* legacy: a person is to visit a URL */
    MCP_RPC_NO_RESOURCE = -32002   /* legacy */
};

enum { MCP_METHOD_MAX = 127 };

/* All values are lent by the text. */
struct mcp_rpc {
    enum mcp_rpc_kind kind;
    const char *why; /* of what is none: a literal */
    int no_json;     /* ... because it is no JSON */
    mortise_jv id;   /* of requests and answers */
    /* ... where it may be one of ours; else 0.  Also of an answer that is none */
    int64_t number;
    char method[MCP_METHOD_MAX + 1]; /* "": longer than any that is known */
    mortise_jv params;               /* none, or an object */
    mortise_jv result;               /* an object */
    mortise_jv error;                /* an object, or a text */
    int64_t code;                    /* its code; 0: not one */
};

void mcp_rpc_read(mortise_str text, struct mcp_rpc *out);
/* The id that stands in a text that is no JSON and looks like a whole message; 0:
 * none that may be one of ours.  What was cut off is none. */
int64_t mcp_rpc_look(mortise_str text);
/* The id of a text that is an answer, if it can be read or not; 0: it is none, or
 * has none. */
int64_t mcp_rpc_answers(mortise_str text);

/* Proves that code that nothing of a tool ran? */
int mcp_rpc_is_refusal(int64_t code);

/* {"jsonrpc", "id"?, "method", "params": { ... into w, which grows; the members
 * of params are the caller's to write.  `id` 0: a notification. */
void mcp_rpc_begin(mortise_jw *w, int64_t id, const char *method);
/* Closes what mcp_rpc_begin() and mcp_rpc_begin_result() opened. */
mortise_status mcp_rpc_end(mortise_jw *w, mortise_str *text);
/* {"jsonrpc", "id", "result": { ... the same. */
void mcp_rpc_begin_result(mortise_jw *w, mortise_jv id);
/* A whole refusal. */
mortise_status mcp_rpc_error(mortise_jw *w, mortise_jv id, int64_t code,
                             const char *message, mortise_str *text);

/* A text of somebody else, for people: at most `max` bytes of it, behind what is
 * in `to`; controls become blanks.  What is no string adds nothing. */
void mcp_rpc_words(struct bytes *to, mortise_jv text, uint64_t max);

#endif
