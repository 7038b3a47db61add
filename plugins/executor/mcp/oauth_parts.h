/* oauth_parts.h -- OAuth as far as it is functions of texts: what servers say is
 * read here, and what is sent to them is written.
 *
 *     oauth_challenge.c  WWW-Authenticate
 *     oauth_found.c      where metadata may lie, and what is in it
 *     oauth_scope.c      sets of scopes
 *     oauth_write.c      requests: authorization, token, registration
 *     oauth_redirect.c   where the browser came back to
 *
 * Nothing here asks anybody for anything. */
#ifndef MCP_OAUTH_PARTS_H
#define MCP_OAUTH_PARTS_H

#include "oauth_url.h"

enum { OAUTH_TEXT_MAX = 8 << 10 }; /* bytes of one value of a server's */

/* ---- the challenge ------------------------------------------------------- */

struct oauth_challenge { /* zero it first; empty: not said */
    struct bytes resource_metadata, scope, error;
    int is_bearer; /* there is one for bearer tokens at all */
};

/* Read a WWW-Authenticate, several of which may stand in one line.  What is said
 * badly is not said; MORTISE_S_NOMEM. */
mortise_status oauth_challenge_read(mortise_str header,
                                    struct oauth_challenge *out);
void oauth_challenge_free(struct oauth_challenge *c);

/* ---- metadata ------------------------------------------------------------ */

/* The i-th address (from 0) where the metadata of the protected resource at
 * `server` may be, `named` (may be empty) being what the challenge says: it
 * alone, if it says so.  MORTISE_S_NOTFOUND behind the last. */
mortise_status oauth_resource_place(const struct oauth_url *server,
                                    mortise_str named, unsigned i,
                                    struct bytes *out);
/* The same of the metadata of an authorization server. */
mortise_status oauth_issuer_place(mortise_str issuer, unsigned i,
                                  struct bytes *out);

/* What an authorization server says of itself; each text may be empty. */
struct oauth_server_metadata {
    struct bytes authorization, token, registration; /* endpoints */
    int has_s256, takes_client_urls, says_iss, lists_offline;
    /* How clients may prove who they are; where it is not said, basic. */
    int basic, post, none, listed;
};

/* NULL: it holds.  Else what is wrong, in words (a literal). */
const char *oauth_metadata_read(mortise_jv doc, mortise_str issuer,
                                struct oauth_server_metadata *out);
/* Without any metadata, as in 2025-03-26: at the origin of the server. */
mortise_status oauth_metadata_default(const struct oauth_url *server,
                                      struct oauth_server_metadata *out);
void oauth_metadata_free(struct oauth_server_metadata *m);

/* ---- scopes -------------------------------------------------------------- */

/* Put each of `more` (names with blanks in between) that is not there into
 * `set`, which is of that form; what no scope may have in it is left out. */
mortise_status oauth_scope_join(struct bytes *set, mortise_str more);
/* ... of a JSON list of names; what is no list adds nothing. */
mortise_status oauth_scope_join_list(struct bytes *set, mortise_jv list);
int oauth_scope_has(mortise_str set, mortise_str one);
/* Is there one in `set` that `other` has not? */
int oauth_scope_exceeds(mortise_str set, mortise_str other);

/* ---- requests ------------------------------------------------------------ */

enum oauth_method { OAUTH_NONE, OAUTH_BASIC, OAUTH_POST };
const char *oauth_method_name(enum oauth_method m); /* as RFC 7591 has it */
/* -1: none of ours. */
int oauth_method_of(mortise_jv name);
/* How to prove who we are, with a secret or without.  -1: not in any way that
 * is known here. */
int oauth_method_choose(const struct oauth_server_metadata *m, int has_secret);

/* A new verifier, or state: 43 characters from 32 random bytes. */
enum { OAUTH_RANDOM = 43 };
void oauth_random(char out[OAUTH_RANDOM]);
/* The S256 challenge of a verifier; as long. */
void oauth_s256(mortise_str verifier, char out[OAUTH_RANDOM]);

/* The address that a person opens.  `scope` may be empty. */
struct oauth_wish {
    mortise_str endpoint, client_id, redirect_uri, state, verifier, scope,
        resource;
};
mortise_status oauth_authorization_url(const struct oauth_wish *w,
                                       struct bytes *out);

/* The body of a registration: JSON, whose p is malloc()ed. */
mortise_status oauth_registration(mortise_str redirect_uri,
                                  enum oauth_method method, struct bytes *out);

/* Who we are, to a token request: into its form, or as its Authorization. */
mortise_status oauth_prove(enum oauth_method method, mortise_str client_id,
                           mortise_str secret, struct bytes *form,
                           struct bytes *authorization);

/* ---- the redirect -------------------------------------------------------- */

struct oauth_expected {
    mortise_str state, issuer;
    int iss_required;
};

/* Judge where the browser came to.  NULL, and *code is there; or what is wrong,
 * in words.  `said` gets the server's own error code ([A-Za-z0-9_.-]), once it is
 * known to be the server's. */
const char *oauth_redirect_read(mortise_str address,
                                const struct oauth_expected *expected,
                                struct bytes *code, struct bytes *said);

#endif
