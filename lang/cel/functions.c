/* functions.c -- one table of all functions of the language, from the tables of
 * each subject (func_*.c). */
#include "lang/cel/func.h"

const struct cel_function *mortise_cel_function_at(size_t i)
{
    static const struct cel_functions *const tables[] = {
        &mortise_cel_text_functions,   &mortise_cel_convert_functions,
        &mortise_cel_time_functions,   &mortise_cel_string_functions,
        &mortise_cel_format_functions, &mortise_cel_math_functions,
        &mortise_cel_list_functions,   &mortise_cel_encode_functions,
    };

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        if (i < tables[t]->n)
            return &tables[t]->rows[i];
        i -= tables[t]->n;
    }
    return NULL;
}
