/* mcpd.h -- scripted MCP servers: mcpd_stdio and mcpd_http, one set of tools.
 *
 * They share no code with the plugin that they are a test of, nor with the
 * core.  Flags (options.c) say which eras of the protocol a server speaks and
 * how it misbehaves; so does the tool `misbehave`.  What clients send is written
 * down, and judged (witness.c).
 *
 * One thread: a transport polls, hands over what came (mcpd_receive), and says
 * what a server has to say when it is told to (struct mcpd_transport). */
#ifndef TEST_MCPD_H
#define TEST_MCPD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum mcpd_era { MCPD_2025 = 1, MCPD_2026 = 2 };

#define MCPD_LEGACY "2025-11-25"
#define MCPD_MODERN "2026-07-28"
#define MCPD_PREFIX "io.modelcontextprotocol/"

/* ---- flags (options.c) --------------------------------------------------- */

struct mcpd_options {
    int eras;
    const char *effects, *log, *starts; /* files that are appended to */
    const char *legacy_version;         /* what initialize is answered with */
    const char *modern_version;         /* what discover is answered with */
    const char *describe;               /* what echo is said to do */
    const char *drop;                   /* a tool that is not listed */
    const char *instructions;
    int pages, tools; /* of tools/list; how many more there are */
    int change_after; /* calls: then echo is described otherwise */
    int die_after;    /* calls: the one after is the last thing it gets */
    int start_delay;  /* ms before it reads */
    int flood_stderr; /* bytes, at once */
    int exit_code;
    bool announce; /* list_changed, when something did */
    bool endless_pages, empty_cursor;
    bool exit_at_start, exit_on_discover, silent_on_discover, silent;
    bool ignore_close, ignore_term, ask_at_start, babble_at_start;
    bool no_result_type, state_expires, refuse_tasks, odd_header, odd_schemas;
    /* http alone */
    const char *port_file, *auth;
    int port, forget_after, token_ms;
    bool json, sse, odd_sse, no_session, no_get, prime, drop_stream, ask_on_get;
};
extern struct mcpd_options mcpd;
/* Ends the program when it does not understand. */
void mcpd_options_read(int argc, char **argv);

/* ---- what came (witness.c) ----------------------------------------------- */

void mcpd_log(const char *text, size_t n);
/* What came was not as it should be: a line "! ..." in the log. */
void mcpd_object(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Judge a message. */
struct mcpd_session;
void mcpd_witness(const json_t *message, const struct mcpd_session *of,
                  bool modern);
void mcpd_witness_finish(void);
/* A line more in a file; how many it has then. */
int mcpd_append(const char *path, const char *line);

/* ---- time (timers.c) ----------------------------------------------------- */

long long mcpd_now(void); /* ms */
void mcpd_after(int ms, void (*then)(void *), void *arg);
void mcpd_forget(const void *arg); /* what was to come with it */
int mcpd_timeout(void);            /* for poll(): until the next; -1: none */
void mcpd_tick(void);

/* ---- the transport ------------------------------------------------------- */

/* What a client has opened: the process's, or a session's of HTTP. */
struct mcpd_session {
    bool asked, ready; /* initialize, notifications/initialized came */
    bool modern;       /* its first word was */
    json_t *capabilities;
};

enum mcpd_saying { MCPD_MESSAGE, MCPD_ANSWER };

struct mcpd_transport {
    /* `to` is what mcpd_receive() was given with the request that it belongs
     * to, and NULL for what belongs to none. */
    void (*say)(void *to, const char *text, size_t n, enum mcpd_saying,
                int code);
    void (*raw)(void *to, const char *bytes, size_t n);
    /* The connection breaks; or ends with that status and nothing of MCP. */
    void (*cut)(void *to);
    void (*status)(void *to, int status);
    bool http;
};
extern const struct mcpd_transport *mcpd_wire;

/* ---- the server (server.c) ----------------------------------------------- */

struct mcpd_request {
    struct mcpd_request *next;
    json_t *message, *id, *params; /* id, params: lent by message */
    const char *method;
    bool modern;
    const json_t *capabilities; /* of the client */
    struct mcpd_session *session;
    void *to;
    int step;  /* of a tool that takes several */
    bool late; /* answers once it is cancelled */
    void (*told)(struct mcpd_request *, json_t *answer); /* what was asked */
};

enum mcpd_came { MCPD_BAD, MCPD_REQUEST, MCPD_NOTIFICATION, MCPD_RESPONSE };
enum mcpd_came mcpd_receive(struct mcpd_session *, void *to, const char *text,
                            size_t n);
/* Nobody waits for what belongs to that. */
void mcpd_gone(const void *to);
void mcpd_session_finish(struct mcpd_session *);
void mcpd_finish(void);
/* The list changed: whoever wants to know is told. */
void mcpd_announce(void);
/* What a server asks of its own accord, ids from 0. */
void mcpd_ask_at_start(void *to);

/* Answer, and forget the request; result, error are taken. */
void mcpd_result(struct mcpd_request *, json_t *result);
void mcpd_error(struct mcpd_request *, int code, const char *text,
                json_t *data);
/* ... without a word. */
void mcpd_drop(struct mcpd_request *);
void mcpd_notify(struct mcpd_request *, const char *method, json_t *params);
/* The client is asked on the request's stream (2025). */
void mcpd_ask(struct mcpd_request *, const char *method, json_t *params,
              void (*told)(struct mcpd_request *, json_t *answer));
bool mcpd_can(const struct mcpd_request *, const char *capability);

/* ---- tools (tools.c, misbehave.c, tasks.c) ------------------------------- */

json_t *mcpd_json(const char *text); /* with ' for " */
json_t *mcpd_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mcpd_tools_list(struct mcpd_request *);
void mcpd_tools_call(struct mcpd_request *);
void mcpd_misbehave(struct mcpd_request *, const json_t *args);
void mcpd_task(struct mcpd_request *, const json_t *args);
void mcpd_tasks_get(struct mcpd_request *);
void mcpd_tasks_update(struct mcpd_request *);
void mcpd_tasks_cancel(struct mcpd_request *);
void mcpd_tasks_finish(void);
json_t *mcpd_form(const char *message); /* what `ask` asks */
/* What the effects of this process's tools are: a line more in --effects. */
int mcpd_effect(const char *line);

#endif
