/* body.h -- checks the members of requests and answers.
 *
 * For host calls with many members.  [loop] */
#ifndef MORTISE_SERVICES_SECRETS_BODY_H
#define MORTISE_SERVICES_SECRETS_BODY_H

#include "core/engine/runs/host_calls.h"

struct mortise_body_member {
    const char *name, *what; /* expected value, like "a string" */
    bool (*fits)(const json_t *value);
};

enum { MORTISE_BODY_TEXTS = 256 };

/* A text is a JSON string without NUL, so it is also a C string. */
bool mortise_body_is_text(const json_t *value);
bool mortise_body_is_string(const json_t *value);
bool mortise_body_is_any(const json_t *value);
bool mortise_body_is_flag(const json_t *value);
bool mortise_body_is_count(const json_t *value); /* 0 to INT32_MAX */
/* An object of at most MORTISE_BODY_TEXTS texts; and one whose texts are all
 * references to secrets. */
bool mortise_body_is_text_object(const json_t *value);
bool mortise_body_is_secret_object(const json_t *value);

/* Does each member of the body occur in the list, and fit its entry? */
bool mortise_body_is_valid(const json_t *body,
                           const struct mortise_body_member *list, size_t n);
/* Like mortise_body_is_valid(), but returns MORTISE_S_OK, or a failure with a
 * message that starts with `whose` ("a request of http.request/1"). */
int32_t mortise_body_check(const json_t *body,
                           const struct mortise_body_member *list, size_t n,
                           const char *whose, char *words);

/* Check that the plugin may use the secrets to which the texts of a member
 * refer. */
int32_t mortise_body_check_secrets(const struct mortise_asked *a,
                                   const char *member, char *words);
/* Wait for the secrets to which the texts of a member refer, as
 * mortise_secret_await() does. */
int mortise_body_await_secrets(struct mortise_asked *a, const char *member,
                               void (*then)(struct mortise_asked *a),
                               struct mortise_err *err);

/* Encode bytes as a JSON string; NULL: memory ran out. */
json_t *mortise_body_encode_base64(const char *p, size_t n,
                                   const struct mortise_mem *mem);

#endif
