/* mcp.h -- `tools.mcp` of a deployment: servers of the Model Context Protocol,
 * each by a name, and what each may do. */
#ifndef MORTISE_LANG_CONFIG_MCP_H
#define MORTISE_LANG_CONFIG_MCP_H

#include "lang/config/models.h"
#include "lang/config/programs.h"
#include "lang/config/provider.h"

/* Of an environment, or of the headers of requests. */
struct mortise_mcp_text {
    const char *name;
    const char *value; /* text, or with a reference to a secret at its end */
    const struct mortise_yaml *at; /* the value */
};

struct mortise_mcp_texts {
    const struct mortise_mcp_text *list;
    size_t n;
};

/* How a client shows who it is (OAuth); NULL and empty: not said. */
struct mortise_mcp_auth {
    const struct mortise_yaml *at; /* NULL: there is none */
    const char *grant, *client_id, *client_metadata_url, *redirect_uri;
    const struct mortise_yaml *client_secret; /* a reference */
    const struct mortise_yaml *scopes, *issuers;
};

/* Patterns of names of tools, for what each does to the world. */
struct mortise_mcp_effects {
    const struct mortise_yaml *read, *write, *idempotent; /* lists, or NULL */
};

/* The model that a server may have asked (sampling); alias NULL: none. */
struct mortise_mcp_sampling {
    const struct mortise_yaml *at; /* the alias, where it stands */
    const char *alias;
    uint64_t max_tokens; /* of one reply; 0: as many as the server wants */
};

struct mortise_mcp_server {
    const char *name;
    const struct mortise_yaml *at; /* its key */
    /* What is started, and what it may touch.  Its path is NULL where it is a
     * server elsewhere; one without a slash is for PATH to find. */
    struct mortise_program program;
    struct mortise_mcp_texts env;
    const char *url; /* where it is, or NULL */
    struct mortise_mcp_texts headers;
    struct mortise_mcp_auth auth;
    const char *protocol; /* "auto", or the version that is spoken */
    uint64_t timeout_ms;  /* of a request without progress */
    uint64_t hold_ms;     /* so long a call is kept that asks a person */
    bool unpinned;        /* mcp/call may call its tools without pins */
    struct mortise_mcp_effects effects;
    struct mortise_mcp_sampling sampling;
    struct mortise_paths roots; /* directories that it is told of */
};

struct mortise_mcp_servers { /* in an arena */
    struct mortise_mcp_server *list;
    size_t n;
};

enum { MORTISE_MCP_NAME = 64 }; /* bytes of a server's name, at most */

/* The plugin that speaks to them. */
extern const char mortise_mcp_plugin[];

/* What may stand in one. */
extern const struct mortise_place mortise_mcp_server_place;

void mortise_mcp_read(struct mortise_mcp_servers *out,
                      const struct mortise_yaml *map,
                      struct mortise_config_reading *r);
/* May a server be there: at a URL of https, without a name or password, or one
 * of http that leads to this machine? */
bool mortise_mcp_is_url(const char *url);
/* Once all of the file is read: findings for references to secrets, and for
 * models, that it does not have. */
void mortise_mcp_check(const struct mortise_mcp_servers *servers,
                       const struct mortise_providers *secrets,
                       const struct mortise_models *models,
                       struct mortise_diags *diags);

/* By its name; NULL when there is none. */
const struct mortise_mcp_server *
mortise_mcp_find(const struct mortise_mcp_servers *servers, const char *name);
/* The program of one that is started.  MORTISE_OK, or MORTISE_ENOTFOUND with
 * which one may be meant, or that it is a server elsewhere.  Its environment is
 * that of mortise_mcp_find(). */
int mortise_mcp_program(const struct mortise_mcp_servers *servers,
                        const char *server, const struct mortise_program **out,
                        struct mortise_err *err);
/* Is any of them started here? */
bool mortise_mcp_runs_programs(const struct mortise_mcp_servers *servers);

#endif
