/* keys.h -- what may stand in a mapping, as one table per place.
 *
 * A place (a graph's top level, a node, an edge, retry_policy ...) has a table
 * of keys; where there are several types of it (a node's `type`), each has one
 * of its own, and tables may share rows.  One walker reads every mapping by its
 * table, so that unknown keys, missing keys, keys of a later build and values of
 * the wrong kind are reported the same way everywhere, and so that what people
 * are told about a file (its JSON Schema, outline.h) comes from what is
 * enforced.
 *
 * Keys that begin with x- are passed over.  [any] */
#ifndef MORTISE_LANG_YAML_KEYS_H
#define MORTISE_LANG_YAML_KEYS_H

#include <stddef.h>

#include "lang/yaml/tree.h"

/* What a value has to be before its reader sees it. */
enum mortise_value {
    MORTISE_V_ANY, /* the reader looks by itself */
    MORTISE_V_NULL,
    MORTISE_V_BOOL,
    MORTISE_V_TEXT,
    MORTISE_V_STRING,   /* not empty */
    MORTISE_V_INT,      /* min..max */
    MORTISE_V_NUMBER,   /* min..max */
    MORTISE_V_DURATION, /* min.. in milliseconds */
    MORTISE_V_SIZE,     /* min.. in bytes */
    MORTISE_V_WORD,     /* one of `words`: slot.word */
    MORTISE_V_STRINGS,  /* a list of one or more strings, none empty */
    MORTISE_V_ID,       /* the id of a node */
    MORTISE_V_IDS,      /* one, or a list of one or more */
    MORTISE_V_EXPR,     /* a scalar that holds an expression */
    MORTISE_V_TEMPLATE, /* anything, with ${...} in its strings */
    MORTISE_V_FILLED,   /* a string with ${...} in it, beside other forms */
    MORTISE_V_SCHEMA,   /* a JSON Schema: a mapping or a boolean */
    MORTISE_V_MAP,      /* of `place`, or of any keys with values as `each`;
                           of `min` or more */
    MORTISE_V_LIST,     /* of `min` or more as `each` */
    MORTISE_V_FORMS     /* one of `forms`; the reader looks by itself */
};

struct mortise_word {
    const char *word; /* NULL ends a list */
    int value;
    bool later; /* of the language, but not in this build */
};

/* A key that was found, for its reader. */
struct mortise_slot {
    const struct mortise_key *key;
    const struct mortise_yaml *name, *value;
    const struct mortise_yaml *map;    /* that it stands in */
    const struct mortise_place *place; /* ... and what may */
    void *field; /* that its row says; NULL: whoever reads has no struct */
    int word;
    uint64_t amount; /* INT, DURATION: ms, SIZE: bytes */
};

/* As what a value that needs no reader is put into what `into` points to. */
enum mortise_into {
    MORTISE_INTO_NONE,
    MORTISE_INTO_A_NODE, /* const struct mortise_yaml *: the value itself */
    MORTISE_INTO_A_TEXT, /* const char *, lent by the tree */
    MORTISE_INTO_A_U64,  /* uint64_t: the slot's amount */
    MORTISE_INTO_A_U32,
    MORTISE_INTO_A_DOUBLE,
    MORTISE_INTO_A_BOOL,
    MORTISE_INTO_A_WORD, /* an enum */
    MORTISE_INTO_A_FLAG, /* bool: the word's value is not 0 */
    MORTISE_INTO_A_SLOT, /* struct mortise_slot: what is read later */
    MORTISE_INTO_A_PLACE /* what the keys of its `place` are put into */
};

/* Readers report to the diags that they know through ctx. */
typedef void mortise_key_fn(void *ctx, void *into,
                            const struct mortise_slot *slot);

struct mortise_key {
    /* Instead of all that follows: the rows of another table stand here. */
    const struct mortise_key *rows;
    size_t n_rows;

    const char *name;
    const char *about; /* a sentence, for who writes the file: outline.h */
    enum mortise_value value;
    bool required;
    bool later; /* the language has it, and this build does not */
    double min,
        max; /* INT, NUMBER; DURATION (max 0: none); SIZE, MAP, LIST (min) */
    const struct mortise_word *words;  /* WORD */
    const struct mortise_place *place; /* MAP: what stands in it */
    const struct mortise_key *each;    /* MAP, LIST: a row without a name */
    const struct mortise_key *forms;   /* FORMS: rows without names */
    size_t n_forms;
    mortise_key_fn *read;    /* NULL: nothing to do, all was checked, or */
    enum mortise_into as;    /* it is put there */
    size_t at;               /* offset of the field, */
    void *(*in)(void *into); /* of what that gives; NULL: of `into` itself */
};

/* Does it mean anything beyond what is checked of it? */
static inline bool mortise_key_is_read(const struct mortise_key *key)
{
    return key->read != NULL || key->as != MORTISE_INTO_NONE;
}

/* For .at: a field of that struct; another type does not compile. */
#define MORTISE_AT(ctype, type, field)                                         \
    .at = offsetof(type, field) +                                              \
          0 * sizeof((ctype *)NULL == &((type *)NULL)->field)
/* For .as and .at. */
#define MORTISE_INTO(kind, ctype, type, field)                                 \
    .as = MORTISE_INTO_A_##kind, MORTISE_AT(ctype, type, field)
#define MORTISE_INTO_YAML(type, field)                                         \
    MORTISE_INTO(NODE, const struct mortise_yaml *, type, field)
#define MORTISE_INTO_TEXT(type, field)                                         \
    MORTISE_INTO(TEXT, const char *, type, field)
#define MORTISE_INTO_DOUBLE(type, field)                                       \
    MORTISE_INTO(DOUBLE, double, type, field)
#define MORTISE_INTO_SLOT(type, field)                                         \
    MORTISE_INTO(SLOT, struct mortise_slot, type, field)

/* The same, and .value where there is only one that goes into such a field. */
#define MORTISE_INTO_MS(type, field)                                           \
    .value = MORTISE_V_DURATION, MORTISE_INTO(U64, uint64_t, type, field)
#define MORTISE_INTO_SIZE(type, field)                                         \
    .value = MORTISE_V_SIZE, MORTISE_INTO(U64, uint64_t, type, field)
#define MORTISE_INTO_U64(type, field)                                          \
    .value = MORTISE_V_INT, MORTISE_INTO(U64, uint64_t, type, field)
#define MORTISE_INTO_U32(type, field)                                          \
    .value = MORTISE_V_INT, MORTISE_INTO(U32, uint32_t, type, field)
#define MORTISE_INTO_BOOL(type, field)                                         \
    .value = MORTISE_V_BOOL, MORTISE_INTO(BOOL, bool, type, field)
#define MORTISE_INTO_WORD_BOOL(type, field)                                    \
    .value = MORTISE_V_WORD, MORTISE_INTO(FLAG, bool, type, field)
/* An enum, which has the size of an int. */
#define MORTISE_INTO_WORD(type, field)                                         \
    .value = MORTISE_V_WORD, .as = MORTISE_INTO_A_WORD,                        \
    .at = offsetof(type, field) +                                              \
          0 * sizeof(                                                          \
                  char[sizeof(((type *)NULL)->field) == sizeof(int) ? 1 : -1])

/* A mapping of a place, whose keys go into that field, or into what it stands
 * in itself. */
#define MORTISE_INTO_PLACE(its, type, field)                                   \
    .value = MORTISE_V_MAP, .place = &(its), .as = MORTISE_INTO_A_PLACE,       \
    .at = offsetof(type, field)
#define MORTISE_INTO_SAME(its)                                                 \
    .value = MORTISE_V_MAP, .place = &(its), .as = MORTISE_INTO_A_PLACE, .at = 0

/* For .each: a row without a name. */
#define MORTISE_EACH(...)                                                      \
    .each = &(const struct mortise_key)                                        \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* For .forms and .n_forms: the rows of an array. */
#define MORTISE_FORMS(rows)                                                    \
    .value = MORTISE_V_FORMS, .forms = (rows),                                 \
    .n_forms = sizeof(rows) / sizeof(rows)[0]

/* A row of a table that stands for those of an array, or for that one. */
#define MORTISE_ROWS(table)                                                    \
    {                                                                          \
        .rows = (table), .n_rows = sizeof(table) / sizeof(table)[0]            \
    }
#define MORTISE_ROW(row)                                                       \
    {                                                                          \
        .rows = &(row), .n_rows = 1                                            \
    }

struct mortise_place {
    const char *what;               /* "a node", "retry_policy": for messages */
    const struct mortise_key *keys; /* in the order in which they are read */
    size_t n;

    /* One that comes in types: they are these, ended by NULL. */
    const struct mortise_place *const *types;
    const char *select; /* the key, of its own, that says which; NULL: what
                           leads there */
    /* One of those types: its name, and of what. */
    const char *type;
    const struct mortise_place *of;
    /* The key that says that it is one of this type where `select` is not said;
     * NULL: none does. */
    const char *implied_by;
    bool later; /* the language has it, and this build does not */
    bool open;  /* keys that are not its own are somebody else's to judge */
};

/* What it is called, and the rows of an array. */
#define MORTISE_PLACE_OF(words, table)                                         \
    .what = (words), .keys = (table), .n = sizeof(table) / sizeof(table)[0]
/* NAME_place, which has the rows NAME_keys. */
#define MORTISE_PLACE(name, words)                                             \
    static const struct mortise_place name##_place = {                         \
        MORTISE_PLACE_OF(words, name##_keys)}

enum { MORTISE_MAX_KEYS = 96 }; /* of a place; and of words in a list */

/* The keys of a place, whatever tables their rows stand in; how many? */
size_t mortise_place_rows(const struct mortise_place *place,
                          const struct mortise_key *rows[MORTISE_MAX_KEYS]);
/* That of this name, or NULL. */
const struct mortise_key *mortise_place_row(const struct mortise_place *place,
                                            const char *name);
/* The key of this name in any of its types, or NULL. */
const struct mortise_key *
mortise_place_row_of_types(const struct mortise_place *place, const char *name);

/* Is the key there, or one that nobody knows and that was probably meant to be
 * it?  What is then missing without it is no finding of its own. */
bool mortise_keys_meant(const struct mortise_place *place,
                        const struct mortise_yaml *map, const char *name);
/* The same, beside the key of a slot. */
static inline bool mortise_slot_beside(const struct mortise_slot *slot,
                                       const char *name)
{
    return mortise_keys_meant(slot->place, slot->map, name);
}
/* May the key be that word?  It is misspelt, or stands there as a word that is
 * none of its own: a finding that others do not follow from. */
bool mortise_keys_may_say(const struct mortise_place *place,
                          const struct mortise_yaml *map, const char *name);

/* Read `map` by its table: findings about it, and a reader for each key that is
 * right.  Missing keys are reported at `at`. */
void mortise_keys_read(const struct mortise_place *place,
                       const struct mortise_yaml *map, struct mortise_span at,
                       void *ctx, void *into, struct mortise_diags *diags);

/* Is the value of a slot, whose key takes several forms, right as that form? */
bool mortise_keys_fit(const struct mortise_slot *slot,
                      const struct mortise_key *form,
                      struct mortise_diags *diags);

/* Check a mapping whose type is not known: findings about the keys that no type
 * has. */
void mortise_keys_unknown(const struct mortise_place *place,
                          const struct mortise_yaml *map,
                          struct mortise_diags *diags);

/* Read the mapping of a slot, by the place that its key names. */
void mortise_keys_enter(const struct mortise_slot *slot, void *ctx, void *into,
                        struct mortise_diags *diags);

/* The word that a scalar is, or NULL with a finding; a word of a later build
 * is a finding, too. */
const struct mortise_word *mortise_word_find(const struct mortise_word *words,
                                             const char *what,
                                             const struct mortise_yaml *scalar,
                                             struct mortise_diags *diags);

#endif
