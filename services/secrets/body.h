/* body.h -- what stands in the body of an ask, and in its answer, for methods
 * that have many members.  [loop] */
#ifndef MORTISE_SERVICES_SECRETS_BODY_H
#define MORTISE_SERVICES_SECRETS_BODY_H

#include "core/engine/runs/host_calls.h"

struct mortise_body_member {
    const char *name, *what; /* "a string" */
    bool (*fits)(const json_t *value);
};

enum { MORTISE_BODY_TEXTS = 256 };

/* JSON strings may hold a NUL, C's may not: a text has none. */
bool mortise_body_is_text(const json_t *value);
bool mortise_body_is_string(const json_t *value);
bool mortise_body_is_any(const json_t *value);
bool mortise_body_is_flag(const json_t *value);
bool mortise_body_is_count(const json_t *value); /* 0 to INT32_MAX */
/* An object of at most MORTISE_BODY_TEXTS texts, and one of such texts that are
 * references to secrets. */
bool mortise_body_are_texts(const json_t *value);
bool mortise_body_are_references(const json_t *value);

/* Is each member one of those n, and does it fit? */
bool mortise_body_fits(const json_t *body,
                       const struct mortise_body_member *list, size_t n);
/* The same: MORTISE_S_OK, or words that name `whose` it is ("a request of
 * http.request/1"). */
int32_t mortise_body_check(const json_t *body,
                           const struct mortise_body_member *list, size_t n,
                           const char *whose, char *words);

/* Of the references among the texts of that member: may the plugin use what
 * they name? */
int32_t mortise_body_check_secrets(const struct mortise_asked *a,
                                   const char *member, char *words);
/* mortise_secret_await() for all of them. */
int mortise_body_await_secrets(struct mortise_asked *a, const char *member,
                               void (*then)(struct mortise_asked *a),
                               struct mortise_err *err);

/* A JSON string, or NULL: memory ran out. */
json_t *mortise_body_base64(const char *p, size_t n,
                            const struct mortise_mem *mem);

#endif
