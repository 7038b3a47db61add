/* ast.h -- an expression as a tree.  Internal to cel/.
 *
 * The parser makes the tree.  The checker resolves its names and functions, and
 * the evaluator traverses it.  It is in the program's arena. */
#ifndef MORTISE_LANG_CEL_AST_H
#define MORTISE_LANG_CEL_AST_H

#include "core/base/escape.h"
#include "lang/regex/regex.h"
#include "core/base/zone.h"
#include "lang/cel/value.h"

enum cel_op {
    CEL_CONST,  /* u.constant */
    CEL_IDENT,  /* u.name: the checker replaces it by a NAME or a LOCAL */
    CEL_NAME,   /* u.index: into the scope */
    CEL_LOCAL,  /* u.index: into the evaluation's slots */
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
    CEL_AND, /* two or more kids */
    CEL_OR,
    CEL_COND,    /* [0] ? [1] : [2] */
    CEL_NEWLIST, /* the elements */
    CEL_NEWMAP,  /* key, value, key, value */
    CEL_CALL,    /* u.call; a receiver is the first kid */
    /* Macros: the range, a condition or NULL, the result or NULL. */
    CEL_ALL,
    CEL_EXISTS,
    CEL_EXISTS_ONE,
    CEL_MAKE_LIST, /* map, filter, transformList */
    CEL_MAKE_MAP   /* transformMap */
};

struct cel_text {  /* borrowed from the program's text or arena */
    const char *p; /* NUL-terminated if it is a name */
    size_t n;
};

struct cel_function;

struct cel_node {
    uint8_t op;       /* enum cel_op */
    bool is_receiver; /* CALL: written [0].name(...) */
    bool is_absolute; /* IDENT: written .name */
    uint16_t height;  /* of this tree: limits the recursion of the evaluator */
    uint16_t kinds;   /* possible kinds of the result, a bit each, set by the
                       * checker */
    uint32_t n;       /* kids */
    uint32_t offset, length; /* the part of the text that errors refer to */
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

/* ---- shared by the lexer, the parser and the checker ----------------- */

enum {
    CEL_TEXT_MAX = 65536, /* bytes of an expression */
    CEL_HEIGHT = 250      /* of its tree, and of the parser's stack */
};

struct cel_source {
    const char *text; /* in the arena */
    size_t n;
    struct mortise_arena *arena;
    struct mortise_cel_range *where; /* set after an error */
    struct mortise_escape *out;      /* the exit of all errors */
};

/* Set the error and its position, and leave. */
_Noreturn void mortise_cel_fail(const struct cel_source *src, int code,
                                size_t offset, size_t length, const char *fmt,
                                ...) MORTISE_PRINTF(5, 6);
/* The same for errors that no value can avoid, at the position of a node or a
 * token. */
#define CEL_FAIL_AT(src, at, ...)                                              \
    mortise_cel_fail(src, MORTISE_EINVAL, (at)->offset, (at)->length,          \
                     __VA_ARGS__)
/* Allocate in the source's arena. */
static inline void *cel_source_alloc(const struct cel_source *src, size_t n,
                                     size_t size)
{
    return mortise_escape_alloc(src->out, src->arena, n, size);
}

/* The tree of the whole text.  Macros are expanded, and names are not resolved
 * yet. */
struct cel_node *mortise_cel_parse(const struct cel_source *src);

/* The names of macros, some of them several times; NULL: no more. */
const char *mortise_cel_macro_at(size_t i);

/* The spelling of a binary operator. */
const char *mortise_cel_symbol(unsigned op);

/* Resolve names and functions, and check types. *n_slots is the maximum number
 * of local variables in use at the same time.  Returns a bit for each kind that
 * the result may have. */
unsigned mortise_cel_check(const struct cel_source *src, struct cel_node *root,
                           const struct mortise_cel_scope *scope,
                           uint32_t *n_slots);
/* "string", "string or null", "anything". */
void mortise_cel_format_kinds(unsigned kinds, char out[MORTISE_CEL_WORDS]);

/* ---- functions ------------------------------------------------------- */

enum {
    CEL_ARGS = 4, /* maximum number of arguments of a function */
    CEL_MANY = 255
};

/* The permitted forms of a call. */
enum {
    CEL_RECEIVER = 1, /* x.name(y) */
    CEL_GLOBAL = 2    /* name(x, y) */
};

/* A function with one number of arguments; a name may have several. */
struct cel_function {
    const char *name; /* with the namespace, as "math.abs" */
    uint8_t n_args;   /* with the receiver; MANY: any number, as a list */
    uint8_t style;
    uint8_t which;           /* distinguishes functions with the same `call` */
    uint16_t args[CEL_ARGS]; /* bits of the kinds that each argument may have */
    uint16_t result;         /* 0: as the first argument */
    uint16_t items;          /* of a LIST; 0: anything */
    bool (*call)(struct cel_ctx *c, const struct cel_node *n,
                 const struct cel_value *args, struct cel_value *out);
    /* Prepare the call once, if constant arguments allow it; NULL: nothing. */
    void (*prepare)(const struct cel_source *src, struct cel_node *n);
};

/* The i-th function, NULL after the last.  Functions of one name are
 * adjacent. */
const struct cel_function *mortise_cel_function_at(size_t i);

#endif
