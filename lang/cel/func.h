/* func.h -- common declarations of the function files.  Internal to cel/. */
#ifndef MORTISE_LANG_CEL_FUNC_H
#define MORTISE_LANG_CEL_FUNC_H

#include "lang/cel/ast.h"
#include "lang/cel/kinds.h"

/* The parameters of all functions; not every function needs all of them.  The
 * arguments have the kinds of the row. */
#define CEL_PARAMS                                                             \
    __attribute__((unused)) struct cel_ctx *c,                                 \
        __attribute__((unused)) const struct cel_node *n,                      \
        const struct cel_value *args, struct cel_value *out

/* A row.  `which` distinguishes functions with the same call; the last
 * arguments are the kinds of each argument. */
#define CEL_FUNCTION(name_, n_, style_, which_, result_, call_, prepare_, ...) \
    {                                                                          \
        .name = name_, .n_args = n_, .style = style_, .which = which_,         \
        .args = {__VA_ARGS__}, .result = result_, .call = call_,               \
        .prepare = prepare_                                                    \
    }
/* A function whose result is a list with items of these kinds. */
#define CEL_LISTS(name_, n_, style_, items_, call_, ...)                       \
    {                                                                          \
        .name = name_, .n_args = n_, .style = style_, .args = {__VA_ARGS__},   \
        .result = LIST, .items = items_, .call = call_                         \
    }
#define CEL_METHOD(name, n, which, result, call, ...)                          \
    CEL_FUNCTION(name, n, CEL_RECEIVER, which, result, call, NULL, __VA_ARGS__)

struct cel_functions {
    const struct cel_function *rows;
    size_t n;
};

/* One table per file. */
extern const struct cel_functions mortise_cel_text_functions;
extern const struct cel_functions mortise_cel_convert_functions;
extern const struct cel_functions mortise_cel_time_functions;
extern const struct cel_functions mortise_cel_string_functions;
extern const struct cel_functions mortise_cel_format_functions;
extern const struct cel_functions mortise_cel_math_functions;
extern const struct cel_functions mortise_cel_list_functions;
extern const struct cel_functions mortise_cel_encode_functions;

/* Faults: no such overload for these arguments; the value cannot be
 * converted. */
bool mortise_cel_fail_overload(struct cel_ctx *c, const struct cel_node *n,
                               const struct cel_value *args);
bool mortise_cel_fail_conversion(struct cel_ctx *c,
                                 const struct cel_value *from,
                                 enum cel_kind to);
/* A copy of a short text, as a string. */
bool mortise_cel_copy_text(struct cel_ctx *c, const char *text, size_t n,
                           struct cel_value *out);

/* A list with the elements of `list` in reverse order. */
bool mortise_cel_reverse(struct cel_ctx *c, const struct cel_value *list,
                         struct cel_value *out);

/* For `prepare`: if the only argument is a constant string, the result
 * replaces the call as a constant.  An error is reported immediately, at the
 * argument. */
void mortise_cel_fold(const struct cel_source *src, struct cel_node *n);

#endif
