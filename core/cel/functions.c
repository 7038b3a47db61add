/* functions.c -- the functions of the language as one table, made of those of
 * each subject (func_*.c). */
#include "cel/func.h"

const struct cel_function *cel_function_at(size_t i)
{
    static const struct cel_functions *const tables[] = {
        &cel_text_functions,   &cel_convert_functions, &cel_time_functions,
        &cel_string_functions, &cel_format_functions,  &cel_math_functions,
    };

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        if (i < tables[t]->n)
            return &tables[t]->rows[i];
        i -= tables[t]->n;
    }
    return NULL;
}
