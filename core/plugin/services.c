/* services.c -- find a method of the host by its name. */
#include "core/plugin/services.h"

#include <string.h>

const struct mortise_method *mortise_method_find(const char *name,
                                                 size_t *service)
{
    for (size_t i = 0; mortise_services[i] != NULL; i++) {
        const struct mortise_method *row = mortise_services[i]->methods;

        for (; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0) {
                if (service != NULL)
                    *service = i;
                return row;
            }
    }
    return NULL;
}
