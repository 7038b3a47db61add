/* members.h -- read a JSON object from outside into a struct, by a table.
 *
 * A row describes a member: its name, its type, and the field that gets its
 * value.  A missing or null member leaves its field unchanged.  Strings and
 * values are borrowed from the object. [any] */
#ifndef MORTISE_JSON_MEMBERS_H
#define MORTISE_JSON_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/value.h"

enum mortise_member_type {
    MORTISE_MEMBER_TEXT,   /* const char *, without a NUL inside */
    MORTISE_MEMBER_NUMBER, /* uint64_t */
    MORTISE_MEMBER_FLAG,   /* uint32_t; `bit` is set if true */
    MORTISE_MEMBER_VALUE   /* const json_t *: any value, also null */
};

struct mortise_member {
    const char *name;
    enum mortise_member_type type;
    bool must;    /* required */
    uint32_t bit; /* for FLAG */
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

/* Read the members that the rows describe; ignore others.  MORTISE_EINVAL: a
 * wrong type, or a required member is missing. */
int mortise_members_get(const struct mortise_members *m, const json_t *from,
                        void *into, struct mortise_err *err);
/* MORTISE_EINVAL if the object has a member without a row; the message suggests
 * a similar name. */
int mortise_members_check(const struct mortise_members *m, const json_t *from,
                          struct mortise_err *err);
/* Check the members, then read them.  If `from` is not an object, the message
 * of the error is `shape`. */
int mortise_members_read(const struct mortise_members *m, const json_t *from,
                         const char *shape, void *into,
                         struct mortise_err *err);

#endif
