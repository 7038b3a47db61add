/* value.h -- CEL's values while an expression is evaluated.  Internal to cel/,
 * and the typed entry for its tests.
 *
 * A value is 24 bytes and never owns anything: strings, lists and maps are
 * borrowed from the JSON that was put in, from the program, or from the arena
 * of the evaluation.  JSON arrays and objects are used as they are. */
#ifndef MORTISE_CEL_VALUE_H
#define MORTISE_CEL_VALUE_H

#include "cel/cel.h"
#include "cel/time.h"

enum mortise_cel_kind {
    MORTISE_CEL_NULL,
    MORTISE_CEL_BOOL,
    MORTISE_CEL_INT,
    MORTISE_CEL_UINT,
    MORTISE_CEL_DOUBLE,
    MORTISE_CEL_STRING,
    MORTISE_CEL_BYTES,
    MORTISE_CEL_LIST,
    MORTISE_CEL_MAP,
    MORTISE_CEL_TIMESTAMP,
    MORTISE_CEL_DURATION,
    MORTISE_CEL_TYPE,
    MORTISE_CEL_KINDS
};

struct mortise_cel_value {
    uint8_t kind; /* enum mortise_cel_kind */
    bool is_json; /* a list or map is u.json */
    union {
        bool b;
        int64_t i; /* int; duration: nanoseconds */
        uint64_t u;
        double d;
        struct {
            const char *p; /* strings are UTF-8 */
            size_t n;
            const json_t *json; /* of which it is the text; or NULL */
        } s;                    /* string, bytes */
        const json_t *json;     /* list, map from outside */
        const struct mortise_cel_list *list;
        const struct mortise_cel_map *map;
        struct mortise_cel_time time; /* timestamp */
        enum mortise_cel_kind type;
    } u;
};

struct mortise_cel_list {
    size_t n;
    struct mortise_cel_value items[];
};

struct mortise_cel_entry {
    struct mortise_cel_value key, value;
};

/* Entries in the order of making; a hash over them once there are many. */
struct mortise_cel_map {
    size_t n, cap;
    struct mortise_cel_entry *entries;
    uint32_t *slots; /* entry + 1, or 0; NULL while linear search will do */
    size_t n_slots;  /* a power of two */
};

/* Why an evaluation ended without a value. */
enum mortise_cel_fault_kind {
    MORTISE_CEL_FINE,
    MORTISE_CEL_OVERLOAD,   /* x, y: kinds of the operands */
    MORTISE_CEL_NOT_BOOL,   /* x: what it is */
    MORTISE_CEL_NO_MEMBERS, /* x: what has none */
    MORTISE_CEL_OVERFLOW,
    MORTISE_CEL_RANGE, /* x: timestamp or duration */
    MORTISE_CEL_BY_ZERO,
    MORTISE_CEL_NO_KEY, /* name: the key */
    MORTISE_CEL_NO_INDEX,
    MORTISE_CEL_BAD_INDEX,
    MORTISE_CEL_KEY_KIND, /* x: its kind */
    MORTISE_CEL_KEY_TWICE,
    MORTISE_CEL_UNSET,   /* name: of the scope */
    MORTISE_CEL_CONVERT, /* x: from; y: to */
    MORTISE_CEL_NO_ZONE, /* name: of the zone */
    MORTISE_CEL_NOT_UTF8,
    MORTISE_CEL_NOT_JSON, /* x: the kind */
    MORTISE_CEL_NOT_JSON_KEY,
    MORTISE_CEL_REGEX,
    MORTISE_CEL_ELEMENT,   /* x: what a list should not hold here */
    MORTISE_CEL_EMPTY,     /* a list that may not be */
    MORTISE_CEL_SHIFT,     /* by less than no bits */
    MORTISE_CEL_NO_CLAUSE, /* of format() */
    MORTISE_CEL_CLAUSE,    /* x: what y, its letter, cannot show */
    MORTISE_CEL_TOO_FEW,   /* values for its clauses */
    /* These no `||` absorbs: */
    MORTISE_CEL_COST,
    MORTISE_CEL_STEPS, /* of a regular expression */
    MORTISE_CEL_DEPTH,
    MORTISE_CEL_MEMORY
};

struct mortise_cel_fault {
    enum mortise_cel_fault_kind kind;
    uint8_t x, y;     /* enum mortise_cel_kind */
    const char *name; /* n_name bytes, in the inputs or the arena */
    size_t n_name;
    const struct mortise_cel_node *at;
};

/* One evaluation: what it may still spend, where it allocates and what went
 * wrong.  The functions below return false when `fault` was set. */
struct mortise_cel_ctx {
    uint64_t left;
    struct mortise_arena *arena;
    struct mortise_cel_fault fault;
};

bool mortise_cel_fault(struct mortise_cel_ctx *c,
                       enum mortise_cel_fault_kind kind);
static inline bool mortise_cel_charge(struct mortise_cel_ctx *c, size_t n)
{
    if (n > c->left)
        return mortise_cel_fault(c, MORTISE_CEL_COST);
    c->left -= n;
    return true;
}
/* Charged for, zeroed; NULL with the fault set. */
void *mortise_cel_alloc(struct mortise_cel_ctx *c, size_t n, size_t size);

struct mortise_cel_value mortise_cel_from_json(const json_t *v);
bool mortise_cel_to_json(struct mortise_cel_ctx *c,
                         const struct mortise_cel_value *v, json_t **out);

static inline struct mortise_cel_value mortise_cel_bool(bool b)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_BOOL, .u.b = b};
}
static inline struct mortise_cel_value mortise_cel_int(int64_t i)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_INT, .u.i = i};
}
static inline struct mortise_cel_value mortise_cel_uint(uint64_t u)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_UINT, .u.u = u};
}
static inline struct mortise_cel_value mortise_cel_double(double d)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_DOUBLE, .u.d = d};
}
static inline struct mortise_cel_value mortise_cel_text(uint8_t kind,
                                                        const char *p, size_t n)
{
    return (struct mortise_cel_value){.kind = kind, .u.s = {p, n, NULL}};
}

static inline struct mortise_cel_value mortise_cel_duration(int64_t ns)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_DURATION, .u.i = ns};
}
static inline struct mortise_cel_value
mortise_cel_timestamp(struct mortise_cel_time t)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_TIMESTAMP,
                                      .u.time = t};
}

/* A timestamp or duration as string() gives it.  Its length. */
size_t mortise_cel_when_text(char out[MORTISE_CEL_TIME_TEXT],
                             const struct mortise_cel_value *v);

/* What people call it: "int", "null", "timestamp". */
const char *mortise_cel_kind_name(unsigned kind);
/* What type() denotes: "int", "null_type", "google.protobuf.Timestamp". */
const char *mortise_cel_type_name(unsigned kind);

/* Heterogeneous equality: never an overload error, only cost or depth. */
bool mortise_cel_equal(struct mortise_cel_ctx *c,
                       const struct mortise_cel_value *a,
                       const struct mortise_cel_value *b, bool *out);
/* *order is -1, 0, 1, or 2 when a NaN is among them (no comparison holds). */
bool mortise_cel_compare(struct mortise_cel_ctx *c,
                         const struct mortise_cel_value *a,
                         const struct mortise_cel_value *b, int *order);

/* Elements of a list, entries of a map. */
size_t mortise_cel_count(const struct mortise_cel_value *v);
struct mortise_cel_value mortise_cel_item(const struct mortise_cel_value *list,
                                          size_t i);

/* A list with room for n elements and none yet; NULL with the fault set. */
struct mortise_cel_list *mortise_cel_list_new(struct mortise_cel_ctx *c,
                                              size_t n);
static inline struct mortise_cel_value
mortise_cel_list_value(const struct mortise_cel_list *l)
{
    return (struct mortise_cel_value){.kind = MORTISE_CEL_LIST, .u.list = l};
}

/* Walk over a list (key: the index) or a map. */
struct mortise_cel_cursor {
    const struct mortise_cel_value *of;
    size_t i, n;
    void *it; /* of a JSON object */
};
void mortise_cel_cursor_init(struct mortise_cel_cursor *cur,
                             const struct mortise_cel_value *of);
bool mortise_cel_next(struct mortise_cel_cursor *cur,
                      struct mortise_cel_value *key,
                      struct mortise_cel_value *value);

/* A map with room for `cap` entries; NULL with the fault set. */
struct mortise_cel_map *mortise_cel_map_new(struct mortise_cel_ctx *c,
                                            size_t cap);
/* A key that is there already is a fault. */
bool mortise_cel_map_add(struct mortise_cel_ctx *c, struct mortise_cel_map *m,
                         const struct mortise_cel_value *key,
                         const struct mortise_cel_value *value);
/* Numbers find the key of their value, whatever their kinds. */
bool mortise_cel_map_find(struct mortise_cel_ctx *c,
                          const struct mortise_cel_value *map,
                          const struct mortise_cel_value *key, bool *found,
                          struct mortise_cel_value *out);

/* ---- the typed entry ------------------------------------------------- */

/* Values for the names of the scope: JSON or typed.  Exactly one is set. */
struct mortise_cel_inputs {
    const json_t *const *json;
    const struct mortise_cel_value *typed;
};

/* Evaluate; the result borrows from the inputs, the program and the arena
 * of `c`, whose `left` is what it may cost. */
bool mortise_cel_run(const struct mortise_cel *prog,
                     const struct mortise_cel_inputs *in,
                     struct mortise_cel_ctx *c, struct mortise_cel_value *out);
/* The fault of a context as code, words and place. */
int mortise_cel_report(const struct mortise_cel_ctx *c,
                       struct mortise_cel_where *where,
                       struct mortise_err *err);

#endif
