/* barehost.h -- the least that can host a plugin: its table of functions, and
 * books of what the plugin did with them.
 *
 * For tests of the bundled plugins, which are loaded straight from
 * $MORTISE_BUILD/plugins (default "build"), without manifest, signature or
 * engine: what they promise, they promise to any host. */
#ifndef BAREHOST_H
#define BAREHOST_H

#include <stdbool.h>

#include <mortise/ask.h>
#include <mortise/guardrail.h>
#include <mortise/model.h>

/* What was emitted of a kind, one behind the other, with a NUL behind;
 * malloc()ed, NULL when nothing was. */
struct bare_text {
    char *p;
    size_t n;
};

struct mortise_host {
    char *out; /* what was emitted as output, with a NUL behind; malloc()ed */
    size_t n_out;
    int emits;
    struct bare_text delta, reasoning, usage;
    int usages;
    char leads[128];            /* the last goto that was emitted */
    mortise_status emit_status; /* what emit() answers */
    char msg[8192];             /* of the last fail() */
    char code[64], klass[64];   /* of its detail, and */
    int64_t retry_after_ms;     /* -1: it has none */
    int fails;
    int cancel_after; /* cancelled() says yes after so many times; -1: never */
    uint64_t now_ns, tick_ns; /* the clock, and what each look at it adds */
    /* Told whenever the plugin is entered (true) or left, callbacks included;
     * may be NULL. */
    void (*around)(bool inside);
    /* What every ask() is answered once execute() has returned; NULL: there is
     * nothing to ask for. */
    const char *answer;
    mortise_status answer_status;
    char
        *asked; /* the last method, a blank, the body; malloc()ed; NULL: none */
    int asks;
    mortise_answer_fn *on_answer;
    void *on_answer_ud;
    int finishes;
    mortise_status finished;
    bool early; /* a model's call ended ahead of the answer */
};

/* One call's circumstances; what is left 0 does not matter. */
struct bare_call {
    const char *operation;
    const char *body; /* JSON */
    size_t n_body;    /* 0: up to its NUL */
    const char *key;  /* idempotency key */
    uint64_t deadline_ns;
};

/* What a server answers, as http.request/1 gives it: in pieces first, where
 * the ask says `stream`.  What is left 0 does not matter. */
struct bare_reply {
    int status;
    const char *headers; /* JSON; NULL: none */
    const char *body;
    size_t n_body;           /* 0: up to its NUL */
    uint64_t retry_after_ms; /* what the host read from the headers; 0: none */
    /* A piece of the body has so many bytes; 0: two pieces, of which the first
     * has `cut` bytes. */
    size_t piece, cut;
    /* How it ends instead: behind all that is above (without even a head, when
     * the status is 0), with these words.  MORTISE_S_OK: with the answer. */
    mortise_status broken;
    const char *words;
    /* The answer alone, as from the host's record. */
    bool recorded;
};

extern const mortise_host_api bare_api;

/* A host with nothing in it; bare_finish() frees its output. */
void bare_init(struct mortise_host *h);
void bare_finish(struct mortise_host *h);
/* Forget the last call. */
void bare_clear(struct mortise_host *h);

/* The one plugin in NAME.so; fails the test when there is none. */
const mortise_plugin *bare_plugin(const char *name);

/* NULL, with h->msg, when create() refused. */
mortise_inst *bare_create(struct mortise_host *h, const mortise_plugin *p,
                          const char *config);
void bare_destroy(const mortise_plugin *p, mortise_inst *i);

/* Clears h, then calls. */
mortise_status bare_execute(struct mortise_host *h, const mortise_plugin *p,
                            mortise_inst *i, const struct bare_call *c);
mortise_status bare_reconcile(struct mortise_host *h, const mortise_plugin *p,
                              mortise_inst *i, const struct bare_call *c);
/* *reason (may be NULL) gets the verdict's, NUL-terminated, to be freed. */
mortise_status bare_check(struct mortise_host *h, const mortise_plugin *p,
                          mortise_inst *i, const struct bare_call *c,
                          bool *violation, char **reason);

/* A model's chat() or embed(), and the answer to the request that it makes. */
mortise_status bare_chat(struct mortise_host *h, const mortise_plugin *p,
                         mortise_inst *i, const struct bare_call *c,
                         const struct bare_reply *reply);
mortise_status bare_embed(struct mortise_host *h, const mortise_plugin *p,
                          mortise_inst *i, const struct bare_call *c,
                          const struct bare_reply *reply);

/* What a check on this thread said since the last one; it must have. */
void bare_verdict(bool *violation, char *reason, size_t size);

/* s as a JSON string, quotes included; malloc()ed. */
char *bare_quote(const char *s, size_t n);

#endif
