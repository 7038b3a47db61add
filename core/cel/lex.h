/* lex.h -- tokens of an expression.  Internal to cel/. */
#ifndef MORTISE_CEL_LEX_H
#define MORTISE_CEL_LEX_H

#include "cel/ast.h"

enum mortise_cel_token_kind {
    MORTISE_CEL_T_END,
    MORTISE_CEL_T_IDENT,  /* also keywords and reserved words */
    MORTISE_CEL_T_QUOTED, /* `name` */
    MORTISE_CEL_T_INT,    /* magnitude */
    MORTISE_CEL_T_UINT,
    MORTISE_CEL_T_DOUBLE,
    MORTISE_CEL_T_STRING,
    MORTISE_CEL_T_BYTES,
    MORTISE_CEL_T_PUNCT /* op: the character, or one of these: */
};
enum { /* two characters */
       MORTISE_CEL_P_EQ = 128,
       MORTISE_CEL_P_NE,
       MORTISE_CEL_P_LE,
       MORTISE_CEL_P_GE,
       MORTISE_CEL_P_AND,
       MORTISE_CEL_P_OR
};

struct mortise_cel_token {
    enum mortise_cel_token_kind kind;
    int op;
    size_t offset, length;
    uint64_t magnitude;
    double real;
    struct mortise_cel_text text; /* of names, strings, bytes: decoded */
};

/* The token at *offset, which moves behind it. */
void mortise_cel_lex(const struct mortise_cel_source *src, size_t *offset,
                     struct mortise_cel_token *out);

#endif
