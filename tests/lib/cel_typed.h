/* cel_typed.h -- CEL's values with their types, as JSON: {"int": "5"},
 * {"bytes_hex": "00ff"}, {"map": [[{"bool": true}, {"null": null}]]}.  JSON
 * alone cannot say whether 5 is an int or a uint, and has no bytes, NaN or
 * timestamps.  [any] */
#ifndef TESTS_LIB_CEL_TYPED_H
#define TESTS_LIB_CEL_TYPED_H

#include "lang/cel/cel.h"

/* mortise_cel_eval() with typed values in and out; all names of the scope are
 * set.  A value of env that is none is MORTISE_EINVAL, and *which says which it
 * is (else SIZE_MAX). */
int test_cel_eval_typed(const struct mortise_cel *prog,
                        const struct mortise_expr_env *env, json_t **out,
                        struct mortise_cel_range *where, size_t *which,
                        struct mortise_err *err);

#endif
