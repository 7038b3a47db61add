/* finds.h -- what the discovery plugins of tests/ have in common. */
#ifndef FINDS_H
#define FINDS_H

#include <mortise/discovery.h>
#include <stdio.h>

#include "simple.h"

/* A line more in the file `entered`, of which the host knows nothing. */
MORTISE_INLINE void finds_note(const char *what)
{
    FILE *f = fopen("entered", "a");

    if (f != NULL) {
        fprintf(f, "%s\n", what);
        fclose(f);
    }
}

#define FINDS_MODULE(NAME)                                                     \
    static const mortise_discovery discovery = {sizeof(mortise_discovery), 0,  \
                                                discover, NULL};               \
    SIMPLE_INTERFACE(MORTISE_DISCOVERY_1, discovery)                           \
    SIMPLE_MODULE(NAME, simple_create, simple_quiesce)

/* One that never answers by itself; its cancel() says what it does when it is told
 * to stop. */
#define FINDS_WHEN_TOLD(NAME)                                                  \
    static mortise_status discover(mortise_inst *i, const mortise_request *r)  \
    {                                                                          \
        (void)i;                                                               \
        (void)r;                                                               \
        finds_note(NAME);                                                      \
        return MORTISE_S_PENDING;                                              \
    }                                                                          \
    static const mortise_discovery discovery = {sizeof(mortise_discovery), 0,  \
                                                discover, NULL};               \
    SIMPLE_INTERFACE(MORTISE_DISCOVERY_1, discovery)                           \
    static const mortise_plugin plugin = {.size = sizeof plugin,               \
                                          .id = NAME,                          \
                                          .version = "1.0.0",                  \
                                          .create = simple_create,             \
                                          .get_interface = simple_interface,   \
                                          .cancel = cancel,                    \
                                          .quiesce = simple_quiesce,           \
                                          .destroy = simple_destroy};          \
    MORTISE_MODULE_OF(plugin);

#endif
