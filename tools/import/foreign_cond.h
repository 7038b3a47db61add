/* foreign_cond.h -- a parsed condition of another system; shared by
 * foreign_cond.c, foreign_truth.c and foreign_expr.c. */
#ifndef MORTISE_TOOLS_IMPORT_FOREIGN_COND_H
#define MORTISE_TOOLS_IMPORT_FOREIGN_COND_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

enum foreign_cond_kind {
    FOREIGN_COND_OR,      /* part[0] or part[1] */
    FOREIGN_COND_AND,     /* part[0] and part[1] */
    FOREIGN_COND_NOT,     /* not part[0] */
    FOREIGN_COND_COMPARE, /* part[0] op part[1] */
    FOREIGN_COND_CHOICE,  /* of ? part[0] : part[1] */
    FOREIGN_COND_PATH,    /* a value of the state; it may be absent */
    FOREIGN_COND_LITERAL, /* its text is also valid CEL */
    FOREIGN_COND_WORD,    /* a string without quotes */
    FOREIGN_COND_UNDEFINED,
    FOREIGN_COND_RAW /* other text, which may be CEL after respelling */
};

enum foreign_cond_op {
    FOREIGN_COND_STRICT_EQUAL,
    FOREIGN_COND_STRICT_UNEQUAL,
    FOREIGN_COND_EQUAL,
    FOREIGN_COND_UNEQUAL,
    FOREIGN_COND_AT_LEAST,
    FOREIGN_COND_AT_MOST,
    FOREIGN_COND_ABOVE,
    FOREIGN_COND_BELOW
};

struct foreign_cond {
    enum foreign_cond_kind kind;
    enum foreign_cond_op op;
    const char *text; /* of PATH, LITERAL, WORD and RAW: n bytes */
    size_t n;
    const struct foreign_cond *of, *part[2];
};

static inline bool mortise_foreign_cond_is_text(const struct foreign_cond *c,
                                                const char *text)
{
    return strlen(text) == c->n && memcmp(text, c->text, c->n) == 0;
}

/* Parse a condition.  The result is in the arena and points into `text`.  NULL:
 * the text is not in the grammar, or *nomem was set. */
const struct foreign_cond *
mortise_foreign_cond_parse(struct mortise_arena *arena, const char *text,
                           size_t n, bool *nomem);

/* ---- foreign_truth.c: CEL ----------------------------------------------- */

/* Append the CEL expression of a router: its value is an id, or a bool. */
void mortise_foreign_cond_print_router(struct mortise_buf *b,
                                       struct mortise_arena *arena,
                                       const struct foreign_cond *c);
/* Append the CEL condition of an edge.  It is true if the condition is true, or
 * gives the id `to`, which is a CEL literal. */
void mortise_foreign_cond_print_edge(struct mortise_buf *b,
                                     struct mortise_arena *arena,
                                     const struct foreign_cond *c,
                                     const char *to);

#endif
