/* transport.h -- the seam between the protocol and how its messages travel.
 *
 *     struct mcp_transport   what a transport does: stdio.c, http.c
 *     struct mcp_wire        one connection of it; only the transport looks in
 *     struct mcp_ear         what the protocol hears from a wire
 *
 * The protocol (server.c, and what is above it) knows eras, ids, calls and
 * questions.  A transport knows none of that: it carries JSON-RPC messages, one
 * text each, and says what became of them.
 *
 *   (1) A wire never speaks from inside a function of struct mcp_transport: all
 *       that the ear hears comes from an answer of the host (or a timer), on the
 *       engine's thread.
 *   (2) Each request that send() took ends exactly once: by a message with its
 *       id, or by failed(), or with the wire by lost(); unless it is cancelled
 *       or the wire closed first, after which nothing more of it is heard.
 *   (3) lost() comes at most once, and is the last that is heard of a wire.  The
 *       protocol closes it all the same, perhaps from inside.
 *   (4) Whatever the ear is told may lead to send(), cancel() and close() of the
 *       same wire from inside of that: a transport touches nothing of the wire
 *       behind the ear's function that close() may have taken.
 *   (5) A failure says whether what was sent can have been acted upon
 *       (`arrived`).  Where it cannot, the protocol sends it once more on another
 *       wire, or says that nothing happened; so "no" is said only of what is
 *       certain: it was refused before any code of a tool ran, or never left.
 *
 * What a call asks of a server is asked of the host with the handle of that call
 * (mcp_message.call), inside of its step (journal.begin/1), so that it ends with
 * the call: of streamable HTTP the end closes the connection, which is how a
 * request is cancelled in the era of 2026.  What belongs to the connection
 * (discovery, lists, streams of notifications, authorization) is asked with the
 * background call's. */
#ifndef MCP_TRANSPORT_H
#define MCP_TRANSPORT_H

#include "mcp.h"

struct mcp_wire;

/* Why something failed.  Lent until the function returns. */
struct mcp_trouble {
    const char *code;        /* "mcp.lost" and so on: mcp.c lists them */
    const char *klass;       /* "transient", "permanent", "timeout" */
    mortise_str words;       /* for people; no secrets in it */
    int arrived;             /* it may have been acted upon (5) */
    uint64_t retry_after_ms; /* 0: not said */
    int http_status;         /* of an answer that was no message; 0: none */
    /* Not empty: it was answered, by this text, which cannot be read.  `flaw` says
     * why, a literal. */
    mortise_str answer;
    const char *flaw;
    /* Not empty: a person has to allow it first.  JSON, an object whose `url` is
     * what to open in a browser; the rest of it is the transport's.  Keep it as
     * the result of a step, ask a person for {"redirect": the address that the
     * browser was sent to}, and hand both to consented(). */
    mortise_str consent;
};

/* One with nothing besides. */
MORTISE_INLINE struct mcp_trouble mcp_trouble_of(const char *code,
                                                 const char *klass,
                                                 mortise_str words, int arrived)
{
    struct mcp_trouble t = {0};

    t.code = code;
    t.klass = klass;
    t.words = words;
    t.arrived = arrived;
    return t;
}

enum mcp_message_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* Lent until send() returns. */
struct mcp_message {
    enum mcp_message_kind kind;
    int64_t id;         /* of a request: from 1, unique on the wire; else 0 */
    const char *method; /* of a response NULL */
    mortise_str name;   /* what it is about: the name of tools/call and
                           prompts/get, the uri of resources/read, the taskId of
                           tasks/...; else empty */
    mortise_str json;   /* one line, without its end */
    mortise_call call;  /* who asks; 0: the background call */
    int open_end; /* its answer is a stream of notifications that ends when
                           it is cancelled (subscriptions/listen) */
    /* Of tools/call: the tool's inputSchema where it is known, and the
     * arguments (x-mcp-header). */
    mortise_jv schema, arguments;
};

struct mcp_ear {
    void *ud;
    /* Messages can be sent.  Once, before anything else but lost(). */
    void (*opened)(void *ud);
    /* A text that should be one message, as it came; whoever reads it judges.
     * `on`: the request on whose own stream it came, 0 where that is not known
     * (stdio; a stream of the server's own). */
    void (*heard)(void *ud, mortise_str json, int64_t on);
    /* That request gets no answer. */
    void (*failed)(void *ud, int64_t id, const struct mcp_trouble *why);
    /* The connection is gone, or never came to be: and with it every request
     * that has no answer.  `arrived` holds for those of them whose failure was
     * not told before. */
    void (*lost)(void *ud, const struct mcp_trouble *why);
    /* That request was never sent, and the wire is about to be lost: it fails
     * then, as one that did not arrive. */
    void (*unsent)(void *ud, int64_t id);
};

struct mcp_transport {
    /* A legacy server may be one that exits, or says nothing, when it is asked
     * something that it does not know (mcp.md): true of stdio.  Where it is
     * false, silence is an error like any. */
    int silence_is_legacy;
    /* A request that is cancelled is told so by notifications/cancelled, in
     * either era; else in the legacy one alone, and in the modern one cancel()
     * does it. */
    int tells_cancel;
    /* The server outlives the wire, and may compare a request with one of an
     * earlier wire (a call that goes on days later, from another process): so ids
     * begin anywhere, for none to come twice. */
    int is_remembered;

    /* Connect.  `server` is lent for as long as the wire lives, the ear's ud
     * until close(); *ear is copied.  An error: nothing was begun, and nothing
     * is heard of it. */
    mortise_status (*open)(struct mcp_server *server, const struct mcp_ear *ear,
                           struct mcp_wire **out);
    /* What the server and we agreed on: before it, every request carries the
     * modern version (discovery) or is `initialize`.  `version`, lent for the
     * wire's life, is what MCP-Protocol-Version says from now on.  Of the legacy
     * era this comes with the answer to initialize, ahead of
     * notifications/initialized. */
    void (*agreed)(struct mcp_wire *wire, enum mcp_era era,
                   const char *version);
    /* An error: nothing of it left, and nothing is heard of it. */
    mortise_status (*send)(struct mcp_wire *wire,
                           const struct mcp_message *message);
    /* Nobody waits for that request any more. */
    void (*cancel)(struct mcp_wire *wire, int64_t id);
    /* Words (a literal) where this transport cannot carry calls of that tool, as
     * tools/list has it; NULL: it can.  The function may be NULL. */
    const char *(*refuses)(mortise_jv tool);
    /* Takes the wire.  What is under way is let go of, politely. */
    void (*close)(struct mcp_wire *wire);

    /* ---- of a server, not of a wire; all NULL where nobody has to consent ---- */

    /* A person has answered what a trouble's `consent` asked, days ago maybe, and
     * of another process.  `done` comes once, never from inside: NULL, then try
     * again what was refused (it may be refused again, and ask anew); or what is
     * wrong.  `ud` is lent until then, or until leave(). */
    mortise_status (*consented)(
        struct mcp_server *server, mortise_str consent, mortise_str answer,
        void (*done)(void *ud, const struct mcp_trouble *why), void *ud);
    void (*leave)(struct mcp_server *server, void *ud);
    /* What is known of it is dropped: with the instance, behind every wire. */
    void (*forget)(struct mcp_server *server);
};

extern const struct mcp_transport mcp_stdio, mcp_http;

#endif
