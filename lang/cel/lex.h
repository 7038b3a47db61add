/* lex.h -- tokens of an expression.  Internal to cel/. */
#ifndef MORTISE_LANG_CEL_LEX_H
#define MORTISE_LANG_CEL_LEX_H

#include "lang/cel/ast.h"

enum cel_token_kind {
    CEL_T_END,
    CEL_T_IDENT,  /* also keywords and reserved words */
    CEL_T_QUOTED, /* `name` */
    CEL_T_INT,    /* magnitude */
    CEL_T_UINT,
    CEL_T_DOUBLE,
    CEL_T_STRING,
    CEL_T_BYTES,
    CEL_T_PUNCT /* op: the character, or one of these: */
};
enum { /* two characters */
       CEL_P_EQ = 128,
       CEL_P_NE,
       CEL_P_LE,
       CEL_P_GE,
       CEL_P_AND,
       CEL_P_OR
};

struct cel_token {
    enum cel_token_kind kind;
    int op;
    size_t offset, length;
    uint64_t magnitude;
    double real;
    struct cel_text text; /* of names, strings, bytes: decoded */
};

/* Read the token at *offset, and move *offset to its end. */
void mortise_cel_lex(const struct cel_source *src, size_t *offset,
                     struct cel_token *out);

#endif
