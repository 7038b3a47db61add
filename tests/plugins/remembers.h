/* remembers.h -- what the memory plugins of tests/ have in common. */
#ifndef REMEMBERS_H
#define REMEMBERS_H

#include <mortise/memory.h>

#include "simple.h"

#define REMEMBERS_MODULE(NAME)                                                 \
    static const mortise_memory memory = {sizeof(mortise_memory), 0, on_read,  \
                                          on_write, on_forget};                \
    SIMPLE_INTERFACE(MORTISE_MEMORY_1, memory)                                 \
    SIMPLE_MODULE(NAME, simple_create, simple_quiesce)

#endif
