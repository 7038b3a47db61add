/* services.h -- the services of this build, and the methods that plugins can ask
 * of them.
 *
 * Each directory of services/ defines one service.  services/services.c lists
 * the services of the build; no file of core/ names one of them.  The list is
 * constant.  [any] */
#ifndef MORTISE_PLUGIN_SERVICES_H
#define MORTISE_PLUGIN_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

struct mortise;
struct mortise_err;
struct mortise_host_call_method; /* core/engine/runs/host_calls.h */

struct mortise_method {
    const char *name; /* "state.get/1", as in manifests; NULL ends a table */
    /* The method may have effects, so an operation can perform its effects in
     * steps that ask it. */
    bool changes;
    bool late; /* a cancelled call may ask it, too */
    const struct mortise_host_call_method *performs;
};

struct mortise_service {
    const char *name; /* of its directory */
    const struct mortise_method *methods;
    /* An engine keeps one pointer for each service.  It is NULL until open()
     * (NULL: not needed) or a request (mortise_asked.kept) sets it.  If it is
     * set, also by an open() that failed, the engine calls close() when no
     * request and no plugin is left.  These functions are [loop]. */
    int (*open)(struct mortise *m, void **kept, struct mortise_err *err);
    void (*close)(struct mortise *m, void *kept);
    /* Does it still have work that the engine must wait for before it closes?
     * NULL: never. */
    bool (*is_busy)(const void *kept);
};

/* NULL ends the list.  Defined by services/services.c. */
extern const struct mortise_service *const mortise_services[];

/* NULL: this build has no such method.  *service (may be NULL): the place of the
 * method's service in the list. */
const struct mortise_method *mortise_method_find(const char *name,
                                                 size_t *service);

#endif
