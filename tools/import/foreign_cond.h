/* foreign_cond.h -- a condition of another system, as it is read; shared by
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
    FOREIGN_COND_AND,     /* both */
    FOREIGN_COND_NOT,     /* not part[0] */
    FOREIGN_COND_COMPARE, /* part[0] op part[1] */
    FOREIGN_COND_CHOICE,  /* of ? part[0] : part[1] */
    FOREIGN_COND_PATH,    /* a value of the state, that may be absent */
    FOREIGN_COND_LITERAL, /* its text is CEL, too */
    FOREIGN_COND_WORD,    /* a string without quotes */
    FOREIGN_COND_UNDEFINED,
    FOREIGN_COND_RAW /* none of these: its text, respelled, may be CEL */
};

enum foreign_cond_op {
    FOREIGN_COND_SAME,
    FOREIGN_COND_OTHER,
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
    const char *text; /* of paths, literals, words and RAW: n bytes */
    size_t n;
    const struct foreign_cond *of, *part[2];
};

static inline bool mortise_foreign_cond_is(const struct foreign_cond *c,
                                           const char *text)
{
    return strlen(text) == c->n && memcmp(text, c->text, c->n) == 0;
}

/* In the arena, and pointing into `text`; NULL when it is none by their
 * grammar, or out of memory. */
const struct foreign_cond *
mortise_foreign_cond_read(struct mortise_arena *arena, const char *text,
                          size_t n, bool *nomem);

/* ---- foreign_truth.c: the same in CEL --------------------------------------- */

/* The id that a router's gives, or whether it holds. */
void mortise_foreign_cond_value(struct mortise_buf *b,
                                struct mortise_arena *arena,
                                const struct foreign_cond *c);
/* Whether an edge is taken: it holds, or gives the id `to`, a literal of CEL. */
void mortise_foreign_cond_holds(struct mortise_buf *b,
                                struct mortise_arena *arena,
                                const struct foreign_cond *c, const char *to);

#endif
