/* members.h -- a JSON object from outside, read into a struct by a table.
 *
 * A row is a member: its name, what it must be, and the field that it goes to.
 * What is not there, or null, leaves its field as it was.  Strings and values
 * are borrowed from the object.  [any] */
#ifndef MORTISE_JSON_MEMBERS_H
#define MORTISE_JSON_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/value.h"

enum mortise_member_type {
    MORTISE_MEMBER_TEXT,   /* const char *; it has no NUL inside */
    MORTISE_MEMBER_NUMBER, /* uint64_t */
    MORTISE_MEMBER_FLAG,   /* uint32_t, which gets `bit` where it is true */
    MORTISE_MEMBER_VALUE   /* const json_t *: anything, null, too */
};

struct mortise_member {
    const char *name;
    enum mortise_member_type type;
    bool must;    /* it may not be missing */
    uint32_t bit; /* FLAG */
    size_t at;    /* offset of the field */
};

#define MORTISE_MEMBER(kind, name, must, type, field)                          \
    {                                                                          \
        name, MORTISE_MEMBER_##kind, must, 0, offsetof(type, field)            \
    }
#define MORTISE_MEMBER_BIT(name, bit, type, field)                             \
    {                                                                          \
        name, MORTISE_MEMBER_FLAG, false, bit, offsetof(type, field)           \
    }

/* A table of rows. */
struct mortise_members {
    const struct mortise_member *rows;
    size_t n;
};
#define MORTISE_MEMBERS(rows)                                                  \
    {                                                                          \
        rows, sizeof(rows) / sizeof(rows)[0]                                   \
    }

/* All errors are MORTISE_EINVAL.  What is there is what its row says, and what
 * must be there is; more may be. */
int mortise_members_look(const struct mortise_members *m, const json_t *from,
                         void *into, struct mortise_err *err);
/* No more is there than the rows say; else which one was meant. */
int mortise_members_check(const struct mortise_members *m, const json_t *from,
                          struct mortise_err *err);
/* All of it.  What is no object gets the words `shape`. */
int mortise_members_read(const struct mortise_members *m, const json_t *from,
                         const char *shape, void *into,
                         struct mortise_err *err);

#endif
