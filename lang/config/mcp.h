/* mcp.h -- `tools.mcp` of a deployment: servers of the Model Context Protocol
 * and their access rights. */
#ifndef MORTISE_LANG_CONFIG_MCP_H
#define MORTISE_LANG_CONFIG_MCP_H

#include "lang/config/models.h"
#include "lang/config/programs.h"
#include "lang/config/provider.h"

/* A variable of an environment, or a header of requests. */
struct mortise_mcp_text {
    const char *name;
    const char *value; /* text, which may end with a reference to a secret */
    const struct mortise_yaml *at; /* the value */
};

struct mortise_mcp_texts {
    const struct mortise_mcp_text *list;
    size_t n;
};

/* The authorization of the client (OAuth); NULL or empty: not set. */
struct mortise_mcp_auth {
    const struct mortise_yaml *at; /* NULL: there is none */
    const char *grant, *client_id, *client_metadata_url, *redirect_uri;
    const struct mortise_yaml *client_secret; /* a reference */
    const struct mortise_yaml *scopes, *issuers;
};

/* Patterns of tool names, for the effects of the tools. */
struct mortise_mcp_effects {
    const struct mortise_yaml *read, *write, *idempotent; /* lists, or NULL */
};

/* The model that a server may ask (sampling); alias NULL: none. */
struct mortise_mcp_sampling {
    const struct mortise_yaml *at; /* the alias, as written */
    const char *alias;
    uint64_t max_tokens; /* limit of one reply; 0: the server decides */
};

struct mortise_mcp_server {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    /* The program and its access rights.  The path is NULL for a remote server;
     * PATH is searched for one without a slash. */
    struct mortise_program program;
    struct mortise_mcp_texts env;
    const char *url; /* of a remote server, or NULL */
    struct mortise_mcp_texts headers;
    struct mortise_mcp_auth auth;
    const char *protocol; /* "auto", or a version */
    uint64_t timeout_ms;  /* for a request without progress */
    uint64_t hold_ms;     /* how long a call that asks a person is kept */
    bool unpinned;        /* mcp/call may call its tools without pins */
    struct mortise_mcp_effects effects;
    struct mortise_mcp_sampling sampling;
    struct mortise_paths roots; /* directories that the server may see */
};

struct mortise_mcp_servers { /* in an arena */
    struct mortise_mcp_server *list;
    size_t n;
};

enum { MORTISE_MCP_NAME = 64 }; /* longest name of a server, in bytes */

/* The plugin that connects to the servers. */
extern const char mortise_mcp_plugin[];

/* The keys of a server. */
extern const struct mortise_place mortise_mcp_server_place;

void mortise_mcp_read(struct mortise_mcp_servers *out,
                      const struct mortise_yaml *map,
                      struct mortise_config_reader *r);
/* Is the URL allowed for a server: https without a user name or password, or
 * http to this machine? */
bool mortise_mcp_is_url(const char *url);
/* After the whole file was read: report references to secrets and models that
 * the file does not define. */
void mortise_mcp_check(const struct mortise_mcp_servers *servers,
                       const struct mortise_providers *secrets,
                       const struct mortise_models *models,
                       struct mortise_diags *diags);

/* Find a server by name; NULL: there is none. */
const struct mortise_mcp_server *
mortise_mcp_find(const struct mortise_mcp_servers *servers, const char *name);
/* The program of a local server.  MORTISE_ENOTFOUND, with a suggestion:
 * there is no such server, or it is remote. mortise_mcp_find() has its
 * environment. */
int mortise_mcp_find_program(const struct mortise_mcp_servers *servers,
                             const char *server,
                             const struct mortise_program **out,
                             struct mortise_err *err);
/* Is any server a local program? */
bool mortise_mcp_has_programs(const struct mortise_mcp_servers *servers);

#endif
