/* value.h -- CEL's values during evaluation.  Internal to cel/, and the
 * interface for its tests, which use values that JSON cannot express.
 *
 * A value has 24 bytes and never owns memory: strings, lists and maps are
 * borrowed from the input JSON, from the program, or from the arena of the
 * evaluation.  JSON arrays and objects are used directly. */
#ifndef MORTISE_LANG_CEL_VALUE_H
#define MORTISE_LANG_CEL_VALUE_H

#include "core/base/real.h"
#include "lang/cel/cel.h"
#include "lang/cel/time.h"

enum cel_kind {
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_LIST,
    CEL_MAP,
    CEL_TIMESTAMP,
    CEL_DURATION,
    CEL_TYPE,
    CEL_KINDS
};

struct cel_value {
    uint8_t kind; /* enum cel_kind */
    bool is_json; /* the list or map is u.json */
    union {
        bool b;
        int64_t i; /* int; duration: nanoseconds */
        uint64_t u;
        double d;
        struct {
            const char *p; /* strings are UTF-8 */
            size_t n;
            const json_t *json; /* the JSON string with this text; or NULL */
        } s;                    /* string, bytes */
        const json_t *json;     /* list, map from the input */
        const struct cel_list *list;
        const struct cel_map *map;
        struct cel_time time; /* timestamp */
        enum cel_kind type;
    } u;
};

struct cel_list {
    size_t n;
    struct cel_value items[];
};

struct cel_entry {
    struct cel_value key, value;
};

/* Entries in the order of insertion, with a hash table if there are many. */
struct cel_map {
    size_t n, cap;
    struct cel_entry *entries;
    uint32_t *slots; /* entry + 1, or 0; NULL: linear search */
    size_t n_slots;  /* a power of two */
};

/* The reason why an evaluation has no value. */
enum cel_fault_kind {
    CEL_FINE,
    CEL_OVERLOAD,   /* x, y: kinds of the operands */
    CEL_NOT_BOOL,   /* x: the kind of the value */
    CEL_NO_MEMBERS, /* x: the kind without members */
    CEL_OVERFLOW,
    CEL_RANGE, /* x: timestamp or duration */
    CEL_BY_ZERO,
    CEL_NO_KEY, /* name: the key */
    CEL_NO_INDEX,
    CEL_BAD_INDEX,
    CEL_KEY_KIND, /* x: the kind of the key */
    CEL_KEY_TWICE,
    CEL_UNSET,   /* name: in the scope */
    CEL_CONVERT, /* x: from; y: to */
    CEL_NO_ZONE, /* name: the zone */
    CEL_NOT_UTF8,
    CEL_NOT_JSON, /* x: the kind */
    CEL_NOT_JSON_KEY,
    CEL_REGEX,
    CEL_ELEMENT,   /* x: the kind of the unsuitable element */
    CEL_EMPTY,     /* a list that must not be empty */
    CEL_SHIFT,     /* negative number of bits */
    CEL_NO_CLAUSE, /* of format() */
    CEL_CLAUSE,    /* x: the kind that the clause y (its letter) cannot
                    * format */
    CEL_TOO_FEW,   /* fewer values than clauses */
    CEL_NO_LEVEL,  /* negative nesting level */
    CEL_NOT_BASE64,
    CEL_NO_JSON, /* invalid JSON text */
    /* `||` does not absorb these: */
    CEL_COST,
    CEL_STEPS, /* of a regular expression */
    CEL_DEPTH,
    CEL_MEMORY
};

struct mortise_cel_fault {
    enum cel_fault_kind kind;
    uint8_t x, y;     /* enum cel_kind */
    const char *name; /* n_name bytes, in the inputs or the arena */
    size_t n_name;
    const struct cel_node *at;
};

/* The state of one evaluation: the remaining cost, the arena and the fault.
 * The functions below return false after they set `fault`. */
struct cel_ctx {
    uint64_t left;
    struct mortise_arena *arena;
    struct mortise_cel_fault fault;
};

/* Set the fault and return false: a plain fault, one about kinds of values, and
 * one about a name. */
bool mortise_cel_fault(struct cel_ctx *c, enum cel_fault_kind kind);
bool mortise_cel_fault_of(struct cel_ctx *c, enum cel_fault_kind kind,
                          unsigned x, unsigned y);
bool mortise_cel_fault_named(struct cel_ctx *c, enum cel_fault_kind kind,
                             const char *name, size_t n);
static inline bool cel_charge(struct cel_ctx *c, size_t n)
{
    if (n > c->left)
        return mortise_cel_fault(c, CEL_COST);
    c->left -= n;
    return true;
}
/* Charged and zeroed; NULL: the fault is set. */
void *mortise_cel_alloc(struct cel_ctx *c, size_t n, size_t size);

struct cel_value mortise_cel_from_json(const json_t *v);
bool mortise_cel_to_json(struct cel_ctx *c, const struct cel_value *v,
                         json_t **out);

static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){.kind = CEL_BOOL, .u.b = b};
}
static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){.kind = CEL_INT, .u.i = i};
}
static inline struct cel_value cel_uint(uint64_t u)
{
    return (struct cel_value){.kind = CEL_UINT, .u.u = u};
}
static inline struct cel_value cel_double(double d)
{
    return (struct cel_value){.kind = CEL_DOUBLE, .u.d = d};
}
/* The value of any number. */
static inline double cel_as_double(const struct cel_value *v)
{
    return v->kind == CEL_INT    ? (double)v->u.i
           : v->kind == CEL_UINT ? (double)v->u.u
                                 : v->u.d;
}
static inline struct cel_value cel_text(uint8_t kind, const char *p, size_t n)
{
    return (struct cel_value){.kind = kind, .u.s = {p, n, NULL}};
}

static inline struct cel_value cel_duration(int64_t ns)
{
    return (struct cel_value){.kind = CEL_DURATION, .u.i = ns};
}
static inline struct cel_value cel_timestamp(struct cel_time t)
{
    return (struct cel_value){.kind = CEL_TIMESTAMP, .u.time = t};
}

/* A timestamp or duration as text, as string() returns it.  Returns its
 * length. */
size_t mortise_cel_format_time_value(char out[CEL_TIME_TEXT],
                                     const struct cel_value *v);

/* The name for messages: "int", "null", "timestamp". */
const char *mortise_cel_kind_name(unsigned kind);
/* The name of the type that type() returns: "int", "null_type",
 * "google.protobuf.Timestamp". */
const char *mortise_cel_type_name(unsigned kind);

/* Equality across kinds: no overload errors, only cost or depth. */
bool mortise_cel_equal(struct cel_ctx *c, const struct cel_value *a,
                       const struct cel_value *b, bool *out);
/* *order is -1, 0 or 1; 2: one of them is NaN (no comparison holds). */
bool mortise_cel_compare(struct cel_ctx *c, const struct cel_value *a,
                         const struct cel_value *b, int *order);

/* The number of elements of a list or entries of a map. */
size_t mortise_cel_get_count(const struct cel_value *v);
struct cel_value mortise_cel_get_item(const struct cel_value *list, size_t i);

/* An empty list with capacity n; NULL: the fault is set. */
struct cel_list *mortise_cel_list_new(struct cel_ctx *c, size_t n);
static inline struct cel_value cel_list_value(const struct cel_list *l)
{
    return (struct cel_value){.kind = CEL_LIST, .u.list = l};
}

/* An iteration over a list (key: the index) or a map. */
struct cel_cursor {
    const struct cel_value *of;
    size_t i, n;
    void *it; /* of a JSON object */
};
void mortise_cel_cursor_init(struct cel_cursor *cur,
                             const struct cel_value *of);
bool mortise_cel_next(struct cel_cursor *cur, struct cel_value *key,
                      struct cel_value *value);

/* An empty map with capacity `cap`; NULL: the fault is set. */
struct cel_map *mortise_cel_map_new(struct cel_ctx *c, size_t cap);
/* A duplicate key is a fault. */
bool mortise_cel_map_add(struct cel_ctx *c, struct cel_map *m,
                         const struct cel_value *key,
                         const struct cel_value *value);
/* A number finds the key of the same value, whatever their kinds. */
bool mortise_cel_map_find(struct cel_ctx *c, const struct cel_value *map,
                          const struct cel_value *key, bool *found,
                          struct cel_value *out);

/* A number as text, as string() returns it.  Returns its length. */
size_t mortise_cel_format_number(char out[MORTISE_REAL_TEXT],
                                 const struct cel_value *v);

/* ---- evaluating ------------------------------------------------------- */

/* Values for the names of the scope: JSON or typed.  Exactly one is set. */
struct cel_inputs {
    const json_t *const *json;
    const struct cel_value *typed;
};

/* Evaluate.  The result borrows from the inputs, the program and the arena of
 * `c`; the cost limit is `c->left`. */
bool mortise_cel_evaluate_typed(const struct mortise_cel *prog,
                                const struct cel_inputs *in, struct cel_ctx *c,
                                struct cel_value *out);
/* The fault of a context as an error code, a message and a position. */
int mortise_cel_report_fault(const struct cel_ctx *c,
                             struct mortise_cel_range *where,
                             struct mortise_err *err);

#endif
