/* ast.h -- an expression as a tree.  Internal to cel/.
 *
 * The parser makes it, the checker turns its names into places and its calls
 * into functions, the evaluator walks it.  It lives in the program's arena. */
#ifndef MORTISE_LANG_CEL_AST_H
#define MORTISE_LANG_CEL_AST_H

#include "core/base/escape.h"
#include "lang/regex/regex.h"
#include "core/base/zone.h"
#include "lang/cel/value.h"

enum cel_op {
    CEL_CONST,  /* u.constant */
    CEL_IDENT,  /* u.name: the checker replaces it by one of: */
    CEL_NAME,   /* u.index into the scope */
    CEL_LOCAL,  /* u.index into the evaluation's slots */
    CEL_SELECT, /* [0].name */
    CEL_HAS,    /* has([0].name) */
    CEL_INDEX,  /* [0][ [1] ] */
    CEL_NOT,
    CEL_NEGATE,
    CEL_ADD,
    CEL_SUBTRACT,
    CEL_MULTIPLY,
    CEL_DIVIDE,
    CEL_MODULO,
    CEL_EQ,
    CEL_NE,
    CEL_LT,
    CEL_LE,
    CEL_GT,
    CEL_GE,
    CEL_IN,
    CEL_AND, /* two kids or more */
    CEL_OR,
    CEL_COND,    /* [0] ? [1] : [2] */
    CEL_NEWLIST, /* the elements */
    CEL_NEWMAP,  /* key, value, key, value */
    CEL_CALL,    /* u.call; a receiver is the first kid */
    /* Macros: the range, a condition or NULL, what is made or NULL. */
    CEL_ALL,
    CEL_EXISTS,
    CEL_EXISTS_ONE,
    CEL_MAKE_LIST, /* map, filter, transformList */
    CEL_MAKE_MAP   /* transformMap */
};

struct cel_text {  /* borrowed from the program's text or arena */
    const char *p; /* NUL-terminated where it is a name */
    size_t n;
};

struct cel_function;

struct cel_node {
    uint8_t op;       /* enum cel_op */
    bool is_receiver; /* CALL: written [0].name(...) */
    bool is_absolute; /* IDENT: written .name */
    uint16_t height;  /* of the tree below: bounds the evaluator's recursion */
    uint16_t kinds;   /* that it may give, a bit each, once it is checked */
    uint32_t n;       /* kids */
    uint32_t offset, length; /* where to point, in the text */
    struct cel_node **kids;
    union {
        struct cel_value constant;
        struct cel_text name; /* IDENT, SELECT, HAS */
        uint32_t index;       /* NAME, LOCAL */
        struct {
            struct cel_text name;
            const struct cel_function *function;
            const struct mortise_regex *regex; /* of a constant pattern */
            const struct mortise_zone *zone;   /* of a constant name */
        } call;
        struct {
            struct cel_text var[2]; /* [0].p NULL: one variable */
            uint32_t slot[2];
        } fold;
    } u;
};

/* ---- what the lexer, the parser and the checker share ---------------- */

enum {
    CEL_TEXT_MAX = 65536, /* bytes of an expression */
    CEL_HEIGHT = 250      /* of its tree, and of the parser's stack */
};

struct cel_source {
    const char *text; /* in the arena */
    size_t n;
    struct mortise_arena *arena;
    struct mortise_cel_where *where; /* filled by a failure */
    struct mortise_escape *out;      /* how all failures leave */
};

/* Say what is wrong and where, and leave. */
_Noreturn void mortise_cel_fail(const struct cel_source *src, int code,
                                size_t offset, size_t length, const char *fmt,
                                ...) MORTISE_PRINTF(5, 6);
/* The same of what can never work, where a node or a token stands. */
#define CEL_FAIL_AT(src, at, ...)                                              \
    mortise_cel_fail(src, MORTISE_EINVAL, (at)->offset, (at)->length,          \
                     __VA_ARGS__)
/* Room in the source's arena. */
static inline void *cel_room(const struct cel_source *src, size_t n,
                             size_t size)
{
    return mortise_escape_alloc(src->out, src->arena, n, size);
}

/* The tree of a whole text, macros expanded, names not yet looked up. */
struct cel_node *mortise_cel_parse(const struct cel_source *src);

/* The names of macros, some of them several times; NULL: there are no more. */
const char *mortise_cel_macro_at(size_t i);

/* How a binary operator is written. */
const char *mortise_cel_symbol(unsigned op);

/* Names to places, calls to functions, types to what they can be.  *n_slots is
 * how many local variables are alive at once; what is returned has a bit for
 * each kind that the result may have. */
unsigned mortise_cel_check(const struct cel_source *src, struct cel_node *root,
                           const struct mortise_cel_scope *scope,
                           uint32_t *n_slots);
/* "string", "string or null", "anything". */
void mortise_cel_kinds_text(unsigned kinds, char out[MORTISE_CEL_WORDS]);

/* ---- functions ------------------------------------------------------- */

enum {
    CEL_ARGS = 4, /* most arguments that a function takes */
    CEL_MANY = 255
};

/* How a function may be called. */
enum {
    CEL_RECEIVER = 1, /* x.name(y) */
    CEL_GLOBAL = 2    /* name(x, y) */
};

/* A function with one number of arguments: a name may have several. */
struct cel_function {
    const char *name; /* "math.abs" where it has a namespace */
    uint8_t n_args;   /* a receiver counts; MANY: any number, as a list */
    uint8_t style;
    uint8_t which;           /* of those that share a `call` */
    uint16_t args[CEL_ARGS]; /* bits of the kinds that each takes */
    uint16_t result;         /* 0: as the first argument is */
    uint16_t items;          /* of a LIST; 0: anything */
    bool (*call)(struct cel_ctx *c, const struct cel_node *n,
                 const struct cel_value *args, struct cel_value *out);
    /* What constant arguments allow to do once; NULL: nothing. */
    void (*prepare)(const struct cel_source *src, struct cel_node *n);
};

/* The i-th of all functions, NULL behind the last.  Those of one name follow
 * each other. */
const struct cel_function *mortise_cel_function_at(size_t i);

#endif
