/* keys.h -- the permitted keys of mappings, as one table per place.
 *
 * A place (a graph's top level, a node, an edge, retry_policy ...) has a table
 * of keys.  If the place has several types (a node's `type`), each type has its
 * own table, and tables may share rows.  One function reads every mapping
 * according to its table.  So unknown keys, missing keys, keys of a later build
 * and values of the wrong kind are reported in the same way everywhere.  The
 * JSON Schema for editors (outline.h) is made from the same tables.
 *
 * Keys that begin with x- are ignored. [any] */
#ifndef MORTISE_LANG_YAML_KEYS_H
#define MORTISE_LANG_YAML_KEYS_H

#include <stddef.h>

#include "lang/yaml/tree.h"

/* The required form of a value before its reader runs. */
enum mortise_value {
    MORTISE_V_ANY, /* the reader checks it */
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
    MORTISE_V_EXPR,     /* a scalar with an expression */
    MORTISE_V_TEMPLATE, /* anything, with ${...} in its strings */
    MORTISE_V_FILLED,   /* also a string that contains ${...} */
    MORTISE_V_SCHEMA,   /* a JSON Schema: a mapping or a boolean */
    MORTISE_V_MAP,      /* of `place`, or of any keys with values of the form
                         * `each`; at least `min` of them */
    MORTISE_V_LIST,     /* at least `min` items of the form `each` */
    MORTISE_V_FORMS     /* one of `forms`; the reader checks it */
};

struct mortise_word {
    const char *word; /* NULL ends a list */
    int value;
    bool later; /* in the language, but not in this build */
};

/* A key that was found, for its reader. */
struct mortise_slot {
    const struct mortise_key *key;
    const struct mortise_yaml *name, *value;
    const struct mortise_yaml *map;    /* the mapping that contains it */
    const struct mortise_place *place; /* the place of that mapping */
    void *field; /* the field that the row names; NULL: the caller has no
                  * struct */
    int word;
    uint64_t amount; /* INT, DURATION: ms, SIZE: bytes */
};

/* The type of the field in `into` for a value that needs no reader. */
enum mortise_field_type {
    MORTISE_INTO_NONE,
    MORTISE_INTO_A_NODE, /* const struct mortise_yaml *: the value itself */
    MORTISE_INTO_A_TEXT, /* const char *, lent by the tree */
    MORTISE_INTO_A_U64,  /* uint64_t: the slot's amount */
    MORTISE_INTO_A_U32,
    MORTISE_INTO_A_DOUBLE,
    MORTISE_INTO_A_BOOL,
    MORTISE_INTO_A_WORD, /* an enum */
    MORTISE_INTO_A_FLAG, /* bool: the word's value is not 0 */
    MORTISE_INTO_A_SLOT, /* struct mortise_slot: for later reading */
    MORTISE_INTO_A_PLACE /* the struct for the keys of its `place` */
};

/* Readers report to the diags in ctx. */
typedef void mortise_key_fn(void *ctx, void *into,
                            const struct mortise_slot *slot);

struct mortise_key {
    /* The rows of another table, instead of all fields below. */
    const struct mortise_key *rows;
    size_t n_rows;

    const char *name;
    const char *about; /* a sentence for the author of the file: outline.h */
    enum mortise_value value;
    bool required;
    bool later; /* in the language, but not in this build */
    double min,
        max; /* INT, NUMBER; DURATION (max 0: none); SIZE, MAP, LIST (min) */
    const struct mortise_word *words;  /* WORD */
    /* WORD, without `words`: returns the list, which depends on the build. */
    const struct mortise_word *(*list_words)(void);
    const struct mortise_place *place; /* MAP: its place */
    const struct mortise_key *each;    /* MAP, LIST: a row without a name */
    const struct mortise_key *forms;   /* FORMS: rows without names */
    size_t n_forms;
    mortise_key_fn *read; /* the reader; NULL: only check or store the value */
    enum mortise_field_type as; /* without a reader: how the value is stored */
    size_t at;            /* offset of the field that gets the value */
    /* Returns the struct that has the field; NULL: `into` has it. */
    void *(*in)(void *into);
};

/* Is the value used, and not only checked? */
static inline bool mortise_key_is_read(const struct mortise_key *key)
{
    return key->read != NULL || key->as != MORTISE_INTO_NONE;
}

/* The words of a WORD; NULL: the value is none. */
static inline const struct mortise_word *
mortise_key_get_words(const struct mortise_key *key)
{
    return key->list_words != NULL ? key->list_words() : key->words;
}

/* For .at: a field of that struct.  A field of another type does not
 * compile. */
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

/* The same, with the only .value that goes into such a field. */
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
/* An enum of the size of an int. */
#define MORTISE_INTO_WORD(type, field)                                         \
    .value = MORTISE_V_WORD, .as = MORTISE_INTO_A_WORD,                        \
    .at = offsetof(type, field) +                                              \
          0 * sizeof(                                                          \
                  char[sizeof(((type *)NULL)->field) == sizeof(int) ? 1 : -1])

/* The mapping of a place: its keys are stored in that field, or in the same
 * struct as the mapping's own key. */
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

/* A table row that stands for the rows of an array, or for a single row. */
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
    const struct mortise_key *keys; /* in reading order */
    size_t n;

    /* The types of a place that has several, terminated by NULL. */
    const struct mortise_place *const *types;
    const char *select; /* the key of the place that names the type; NULL: the
                         * key that leads to the place determines the type */
    /* For such a type: its name, and its place. */
    const char *type;
    const struct mortise_place *of;
    /* The key that implies this type if `select` is missing; NULL: none. */
    const char *implied_by;
    bool later; /* in the language, but not in this build */
    bool open;  /* other keys are allowed, and checked elsewhere */
};

/* The description of a place, and the rows of an array. */
#define MORTISE_PLACE_OF(words, table)                                         \
    .what = (words), .keys = (table), .n = sizeof(table) / sizeof(table)[0]
/* Defines NAME_place with the rows NAME_keys. */
#define MORTISE_PLACE(name, words)                                             \
    static const struct mortise_place name##_place = {                         \
        MORTISE_PLACE_OF(words, name##_keys)}

/* of a place; also the limit of words in a list */
enum { MORTISE_MAX_KEYS = 96 };

/* The keys of a place from all tables that it includes.  Returns their
 * number. */
size_t
mortise_place_list_keys(const struct mortise_place *place,
                        const struct mortise_key *rows[MORTISE_MAX_KEYS]);
/* The key of this name, or NULL. */
const struct mortise_key *
mortise_place_find_key(const struct mortise_place *place, const char *name);
/* The key of this name in any type of the place, or NULL. */
const struct mortise_key *
mortise_place_find_key_of_types(const struct mortise_place *place,
                                const char *name);

/* Is the key present, or an unknown key that probably stands for it?  Then
 * consequences of its absence are not reported separately. */
bool mortise_keys_has_key(const struct mortise_place *place,
                          const struct mortise_yaml *map, const char *name);
/* The same for a key next to the key of a slot. */
static inline bool mortise_slot_has_sibling(const struct mortise_slot *slot,
                                            const char *name)
{
    return mortise_keys_has_key(slot->place, slot->map, name);
}
/* Is the value of the key uncertain, because the key is misspelt or its word is
 * unknown?  Then consequences are not reported separately. */
bool mortise_keys_is_uncertain(const struct mortise_place *place,
                               const struct mortise_yaml *map,
                               const char *name);

/* Read `map` according to its table: report findings, and run a reader for each
 * correct key.  Missing keys are reported at `at`. */
void mortise_keys_read(const struct mortise_place *place,
                       const struct mortise_yaml *map, struct mortise_span at,
                       void *ctx, void *into, struct mortise_diags *diags);

/* Does the value of a slot, whose key has several forms, match that form? */
bool mortise_keys_is_fit(const struct mortise_slot *slot,
                         const struct mortise_key *form,
                         struct mortise_diags *diags);

/* Check a mapping of unknown type: report the keys that no type has. */
void mortise_keys_report_unknown(const struct mortise_place *place,
                                 const struct mortise_yaml *map,
                                 struct mortise_diags *diags);

/* Read the mapping of a slot according to the place of its key. */
void mortise_keys_read_slot(const struct mortise_slot *slot, void *ctx,
                            void *into, struct mortise_diags *diags);

/* The word of a scalar, or NULL with a finding.  A word of a later build is a
 * finding, too. */
const struct mortise_word *mortise_word_find(const struct mortise_word *words,
                                             const char *what,
                                             const struct mortise_yaml *scalar,
                                             struct mortise_diags *diags);

#endif
