/* expr.h -- functions of expr.c for tmpl.c, besides tmpl.h. */
#ifndef MORTISE_MODEL_EXPR_H
#define MORTISE_MODEL_EXPR_H

#include "core/model/tmpl.h"

/* Compile the part [offset, offset+length) of a scalar.  MORTISE_ECHECK after a
 * finding. */
int mortise_expr_compile_at(struct mortise_expr *out, struct mortise_arena *a,
                            const struct mortise_yaml *scalar, size_t offset,
                            size_t length,
                            const struct mortise_cel_scope *scope,
                            struct mortise_diags *diags);

#endif
