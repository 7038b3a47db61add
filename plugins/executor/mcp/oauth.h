/* oauth.h -- how a server's tokens are got: a step function.  An answer goes in,
 * what is to be done next comes out; nothing here does it.
 *
 *     struct oauth o;
 *
 *     act = oauth_begin(&o, &setup, &keep, challenge);   a server said 401 or 403
 *     act = oauth_renew(&o, &setup, &keep);               with the refresh token
 *     act = oauth_redeem(&o, &setup, &keep, consent, answer);
 *     while (act == OAUTH_SEND)                  of o.request
 *         act = oauth_answered(&o, status, body);
 *     oauth_finish(&o);
 *
 * What outlives it:
 *   the keep     tokens, and who we are to that authorization server: in memory
 *                only.  oauth_tokens.c is all that puts tokens in and takes them
 *                out, for whoever wants to keep them elsewhere as well.
 *   a consent    JSON, what a person is asked and what is needed to go on when
 *                the answer is there, days later and in another process: the
 *                verifier, the state, the client's id, the endpoint.  No token
 *                and no secret is in it; the verifier is worth something only
 *                together with a code, and once. */
#ifndef MCP_OAUTH_H
#define MCP_OAUTH_H

#include "oauth_parts.h"

enum oauth_act {
    OAUTH_SEND,  /* make o->request, and tell oauth_answered() */
    OAUTH_ASK,   /* ask a person; o->consent */
    OAUTH_DONE,  /* there is a token in the keep */
    OAUTH_FAILED /* o->words */
};

enum { OAUTH_ATTEMPTS = 3, OAUTH_MOVES = 3, OAUTH_WORDS = 640 };

/* The deployment's word.  Lent. */
struct oauth_setup {
    const char *name;   /* of the server, for words */
    mortise_str server; /* its URL */
    mortise_jv auth;    /* its `auth`; none: there is none */
    mortise_str secret; /* the value of auth.client_secret; empty: none */
};

struct oauth_keep { /* zeroed: nothing yet */
    /* The tokens; `access` empty: none. */
    struct bytes access, refresh;
    struct bytes scope;  /* what was asked for, offline_access apart */
    struct bytes issuer; /* who gave them, and where to renew them */
    struct bytes endpoint, resource, token_client;
    int token_method; /* enum oauth_method */
    /* Who we are to one issuer that has registered us. */
    struct bytes client_issuer, client_id, client_secret;
    int client_method;
    /* How often that was allowed, and is refused still: oauth_try(). */
    struct bytes refused;
    unsigned attempts;
};

struct oauth_request {
    const char *method;  /* "GET", "POST" */
    const char *content; /* of a POST: what its body is */
    struct bytes url, body, authorization;
};

enum oauth_stage { OAUTH_RESOURCE, OAUTH_ISSUER, OAUTH_REGISTER, OAUTH_TOKEN };

struct oauth { /* oauth.c and oauth_token.c alone write it */
    const struct oauth_setup *setup;
    struct oauth_keep *keep;
    struct oauth_url server;
    enum oauth_stage stage;
    unsigned place; /* the how-manieth address is asked */
    unsigned moves; /* so often that one was said to be elsewhere */
    int guessed;    /* the issuer is the server's origin, for want of a word */
    struct oauth_challenge challenge;
    struct bytes resource, issuer, scope, client_id, secret;
    int method; /* enum oauth_method */
    int registered, renews;
    struct oauth_server_metadata metadata;
    struct oauth_request request;
    struct bytes consent;
    int transient; /* of a failure: another try may help */
    int again;     /* of a failure: begin anew, from the start */
    char words[OAUTH_WORDS];
};

/* `challenge`: the value of WWW-Authenticate, or empty. */
enum oauth_act oauth_begin(struct oauth *o, const struct oauth_setup *setup,
                           struct oauth_keep *keep, mortise_str challenge);
enum oauth_act oauth_renew(struct oauth *o, const struct oauth_setup *setup,
                           struct oauth_keep *keep);
/* `answer`: the person's, {"redirect": ADDRESS}; one without it says that it was
 * allowed elsewhere meanwhile. */
enum oauth_act oauth_redeem(struct oauth *o, const struct oauth_setup *setup,
                            struct oauth_keep *keep, mortise_str consent,
                            mortise_str answer);
enum oauth_act oauth_answered(struct oauth *o, int status, mortise_str body);
/* Before that: is what was asked for at `location` (may be empty), and may it be
 * asked for there?  Then o->request is that, to be made in place of the answer. */
int oauth_follow(struct oauth *o, int status, mortise_str location);
void oauth_finish(struct oauth *o);

/* A request, by its name, was refused: may it be allowed anew?  What counts is to
 * have had a token, and been refused with it, or to have been allowed and got
 * none (oauth_in_vain()); with the first time of all, OAUTH_ATTEMPTS times in a
 * row for the same request, and 0 from then on. */
int oauth_try(struct oauth_keep *keep, mortise_str request);
void oauth_in_vain(struct oauth_keep *keep);
/* It was accepted. */
void oauth_accepted(struct oauth_keep *keep, mortise_str request);

/* ---- oauth_tokens.c: a set of tokens, in and out ---------------------------- */

/* Of an answer of the token endpoint.  NULL, or what is wrong (a literal). */
const char *oauth_tokens_take(struct oauth_keep *keep, mortise_jv answer);
void oauth_tokens_drop(struct oauth_keep *keep);
void oauth_keep_free(struct oauth_keep *keep);
/* All of it but its three secrets (access, refresh, client_secret) and the count
 * of refusals, as JSON whose p is malloc()ed; empty where there is nothing. */
mortise_status oauth_keep_write(const struct oauth_keep *keep,
                                struct bytes *out);
/* ... into a keep that is empty. */
mortise_status oauth_keep_read(struct oauth_keep *keep, mortise_jv state);
/* Become what `from` is, which is empty then; the count of refusals stays. */
void oauth_keep_adopt(struct oauth_keep *keep, struct oauth_keep *from);

/* ---- between the files of it -------------------------------------------------- */

enum oauth_act oauth_fail(struct oauth *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
enum oauth_act oauth_no_memory(struct oauth *o);
/* May who gives tokens be there: at one of `auth.issuers`, or, where there are
 * none, at the server's origin? */
int oauth_permits(const struct oauth *o, mortise_str url);
enum oauth_act oauth_not_permitted(struct oauth *o, const char *what,
                                   mortise_str url);
/* The text of a member of `auth`, put behind what `out` has. */
mortise_status oauth_setting(const struct oauth *o, const char *name,
                             struct bytes *out);
int oauth_is_client_credentials(const struct oauth *o);
/* oauth_token.c: with the client known, what comes next. */
enum oauth_act oauth_ask_token(struct oauth *o);
enum oauth_act oauth_token_answered(struct oauth *o, int status,
                                    mortise_jv answer);
/* oauth_client.c: who we are to that server. */
enum oauth_act oauth_choose_client(struct oauth *o);
enum oauth_act oauth_registered(struct oauth *o, int status, mortise_jv answer);
/* oauth_consent.c */
enum oauth_act oauth_ask_person(struct oauth *o);
/* Where the browser comes back to. */
mortise_status oauth_redirect_uri(const struct oauth *o, struct bytes *out);
/* " (invalid_grant)", what an error of a server calls itself, or "". */
void oauth_error_of(mortise_jv answer, char out[72]);
/* As a string of C's, for words: its beginning. */
const char *oauth_shown(const struct bytes *text, char out[256]);

#endif
