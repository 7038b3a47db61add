/* mcp.h -- the plugin's instance, and what all of its files share.
 *
 *     mcp.c         the plugin's page; its instance, operations, and their end
 *     server.{h,c}  a configured server: its connection's states, who waits
 *     era.c         which protocol it speaks
 *     rpc.{h,c}     JSON-RPC messages, read and written
 *     lists.c       tools, resources, prompts, page by page
 *     call.c        a call of a tool; inputs.c what it asks; task.c
 *     digest.{h,c}  the digest of a definition
 *     transport.h   how messages travel: stdio.c, http.c
 *     timer.c       time that passes
 *
 * Everything runs on the engine's thread: the plugin is `async`, and nothing
 * here has a lock. */
#ifndef MCP_H
#define MCP_H

#include "../../bytes.h"

struct mcp_server;
struct mcp_call;

/* Which protocol a server speaks: MODERN is that of 2026-07-28, LEGACY those
 * that begin with `initialize`. */
enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_LEGACY, MCP_ERA_MODERN };

#define MCP_PLUGIN_VERSION "0.1.0"

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25"

/* ---- timer.c: in memory, for what belongs to no run -------------------------
 *
 * Zero it, set `fire`.  It fires once, on the engine's thread, from an answer of
 * the host, and may be set again from inside. */
struct mcp_timer {
    struct mcp_timer *next, **at; /* by due_ns; at NULL: not set */
    uint64_t due_ns;              /* CLOCK_MONOTONIC */
    void (*fire)(struct mcp_timer *t);
};

/* In so many milliseconds, or instead of when it was set before. */
void mcp_timer_set(mortise_inst *i, struct mcp_timer *t, uint64_t ms);
void mcp_timer_stop(struct mcp_timer *t); /* also one that is not set */

/* The struct that a member is in. */
#define MCP_OF(p, type, member)                                                \
    ((type *)(void *)((char *)(p)-offsetof(type, member)))

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    mortise_call background; /* 0: not entered (yet, or any more) */
    struct bytes config; /* JSON, ours: what servers' `config` points into */
    struct mcp_server *servers;
    uint64_t n_servers;
    struct mcp_call *calls;   /* that have not ended */
    struct mcp_timer *timers; /* by when they are due */
    uint64_t wakes_ns;        /* the soonest time that the host was asked for;
                                 0: none */
};

/* A line in the host's log about a server; printf's. */
void mcp_log(const struct mcp_server *s, int32_t level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
