/* func.h -- what the files of functions share.  Internal to cel/. */
#ifndef MORTISE_CEL_FUNC_H
#define MORTISE_CEL_FUNC_H

#include "cel/ast.h"
#include "cel/kinds.h"

/* The parameters of every function; a file names those it does not use. */
#define MORTISE_CEL_PARAMS                                                     \
    struct mortise_cel_ctx *c, const struct mortise_cel_node *n,               \
        const struct mortise_cel_value *args, struct mortise_cel_value *out

struct mortise_cel_functions {
    const struct mortise_cel_function *rows;
    size_t n;
};

/* One table a file. */
extern const struct mortise_cel_functions mortise_cel_text_functions;
extern const struct mortise_cel_functions mortise_cel_convert_functions;
extern const struct mortise_cel_functions mortise_cel_time_functions;
extern const struct mortise_cel_functions mortise_cel_string_functions;
extern const struct mortise_cel_functions mortise_cel_format_functions;
extern const struct mortise_cel_functions mortise_cel_math_functions;

/* Faults: no such overload for these arguments; this value is none of those. */
bool mortise_cel_overload(struct mortise_cel_ctx *c,
                          const struct mortise_cel_node *n,
                          const struct mortise_cel_value *args);
bool mortise_cel_cannot_convert(struct mortise_cel_ctx *c,
                                const struct mortise_cel_value *from,
                                enum mortise_cel_kind to);
/* A fault about something with a name. */
bool mortise_cel_named_fault(struct mortise_cel_ctx *c,
                             enum mortise_cel_fault_kind kind, const char *name,
                             size_t n);

/* A copy of a short text, as a string. */
bool mortise_cel_copy(struct mortise_cel_ctx *c, const char *text, size_t n,
                      struct mortise_cel_value *out);

/* A string as int(), uint() or double() of it. */
bool mortise_cel_to_number(struct mortise_cel_ctx *c, enum mortise_cel_kind to,
                           const struct mortise_cel_value *text,
                           struct mortise_cel_value *out);

/* For `prepare`: when the only argument is a constant string, the call becomes
 * the constant that it gives, and what fails is said now, at the argument. */
void mortise_cel_fold(const struct mortise_cel_source *src,
                      struct mortise_cel_node *n);

#endif
