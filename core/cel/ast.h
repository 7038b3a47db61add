/* ast.h -- an expression as a tree.  Internal to cel/.
 *
 * The parser makes it, the checker turns its names into places and its calls
 * into functions, the evaluator walks it.  It lives in the program's arena. */
#ifndef MORTISE_CEL_AST_H
#define MORTISE_CEL_AST_H

#include "base/escape.h"
#include "base/regex.h"
#include "base/zone.h"
#include "cel/value.h"

enum mortise_cel_op {
    MORTISE_CEL_CONST,  /* u.constant */
    MORTISE_CEL_IDENT,  /* u.name: the checker replaces it by one of: */
    MORTISE_CEL_NAME,   /* u.index into the scope */
    MORTISE_CEL_LOCAL,  /* u.index into the evaluation's slots */
    MORTISE_CEL_SELECT, /* [0].name */
    MORTISE_CEL_HAS,    /* has([0].name) */
    MORTISE_CEL_INDEX,  /* [0][ [1] ] */
    MORTISE_CEL_NOT,
    MORTISE_CEL_NEGATE,
    MORTISE_CEL_ADD,
    MORTISE_CEL_SUBTRACT,
    MORTISE_CEL_MULTIPLY,
    MORTISE_CEL_DIVIDE,
    MORTISE_CEL_MODULO,
    MORTISE_CEL_EQ,
    MORTISE_CEL_NE,
    MORTISE_CEL_LT,
    MORTISE_CEL_LE,
    MORTISE_CEL_GT,
    MORTISE_CEL_GE,
    MORTISE_CEL_IN,
    MORTISE_CEL_AND, /* two kids or more */
    MORTISE_CEL_OR,
    MORTISE_CEL_COND,    /* [0] ? [1] : [2] */
    MORTISE_CEL_NEWLIST, /* the elements */
    MORTISE_CEL_NEWMAP,  /* key, value, key, value */
    MORTISE_CEL_CALL,    /* u.call; a receiver is the first kid */
    /* Macros: the range, a condition or NULL, what is made or NULL. */
    MORTISE_CEL_ALL,
    MORTISE_CEL_EXISTS,
    MORTISE_CEL_EXISTS_ONE,
    MORTISE_CEL_MAKE_LIST, /* map, filter, transformList */
    MORTISE_CEL_MAKE_MAP   /* transformMap */
};

struct mortise_cel_text { /* borrowed from the program's text or arena */
    const char *p;        /* NUL-terminated where it is a name */
    size_t n;
};

struct mortise_cel_function;

struct mortise_cel_node {
    uint8_t op;       /* enum mortise_cel_op */
    bool is_receiver; /* CALL: written [0].name(...) */
    bool is_absolute; /* IDENT: written .name */
    uint16_t height;  /* of the tree below: bounds the evaluator's recursion */
    uint32_t n;       /* kids */
    uint32_t offset, length; /* where to point, in the text */
    struct mortise_cel_node **kids;
    union {
        struct mortise_cel_value constant;
        struct mortise_cel_text name; /* IDENT, SELECT, HAS */
        uint32_t index;               /* NAME, LOCAL */
        struct {
            struct mortise_cel_text name;
            const struct mortise_cel_function *function;
            const struct mortise_regex *regex; /* of a constant pattern */
            const struct mortise_zone *zone;   /* of a constant name */
        } call;
        struct {
            struct mortise_cel_text var[2]; /* [0].p NULL: one variable */
            uint32_t slot[2];
        } fold;
    } u;
};

/* ---- what the lexer, the parser and the checker share ---------------- */

enum {
    MORTISE_CEL_TEXT_MAX = 65536, /* bytes of an expression */
    MORTISE_CEL_HEIGHT = 250      /* of its tree, and of the parser's stack */
};

struct mortise_cel_source {
    const char *text; /* in the arena */
    size_t n;
    struct mortise_arena *arena;
    struct mortise_cel_where *where; /* filled by a failure */
    struct mortise_escape *out;      /* how all failures leave */
};

/* Say what is wrong and where, and leave. */
_Noreturn void mortise_cel_fail(const struct mortise_cel_source *src, int code,
                                size_t offset, size_t length, const char *fmt,
                                ...) MORTISE_PRINTF(5, 6);
_Noreturn void mortise_cel_vfail(const struct mortise_cel_source *src, int code,
                                 size_t offset, size_t length, const char *fmt,
                                 va_list ap) MORTISE_PRINTF(5, 0);
/* Room in the source's arena. */
static inline void *mortise_cel_room(const struct mortise_cel_source *src,
                                     size_t n, size_t size)
{
    return mortise_escape_alloc(src->out, src->arena, n, size);
}

/* The tree of a whole text, macros expanded, names not yet looked up. */
struct mortise_cel_node *
mortise_cel_parse(const struct mortise_cel_source *src);

/* How a binary operator is written. */
const char *mortise_cel_symbol(unsigned op);

/* Names to places, calls to functions, types to what they can be.  *n_slots is
 * how many local variables are alive at once; what is returned has a bit for
 * each kind that the result may have. */
unsigned mortise_cel_check(const struct mortise_cel_source *src,
                           struct mortise_cel_node *root,
                           const struct mortise_cel_scope *scope,
                           uint32_t *n_slots);
/* "string", "string or null", "anything". */
void mortise_cel_kinds_text(unsigned kinds, char out[MORTISE_CEL_WORDS]);

/* ---- functions ------------------------------------------------------- */

enum {
    MORTISE_CEL_ARGS = 4, /* most arguments that a function takes */
    MORTISE_CEL_MANY = 255
};

/* How a function may be called. */
enum {
    MORTISE_CEL_RECEIVER = 1, /* x.name(y) */
    MORTISE_CEL_GLOBAL = 2    /* name(x, y) */
};

/* A function with one number of arguments: a name may have several. */
struct mortise_cel_function {
    const char *name; /* "math.abs" where it has a namespace */
    uint8_t n_args;   /* a receiver counts; MANY: any number, as a list */
    uint8_t style;
    uint8_t which;                   /* of those that share a `call` */
    uint16_t args[MORTISE_CEL_ARGS]; /* bits of the kinds that each takes */
    uint16_t result;
    bool (*call)(struct mortise_cel_ctx *c, const struct mortise_cel_node *n,
                 const struct mortise_cel_value *args,
                 struct mortise_cel_value *out);
    /* What constant arguments allow to do once; NULL: nothing. */
    void (*prepare)(const struct mortise_cel_source *src,
                    struct mortise_cel_node *n);
};

/* The i-th of all functions, NULL behind the last.  Those of one name follow
 * each other. */
const struct mortise_cel_function *mortise_cel_function_at(size_t i);

#endif
