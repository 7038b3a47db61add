/* services.c -- the services of this build.
 *
 * The Makefile defines MORTISE_SERVICES: SERVICE(NAME) for each directory of
 * services/ that WITHOUT does not name.  The directory NAME defines
 * mortise_service_NAME. */
#include "core/plugin/services.h"

#ifndef MORTISE_SERVICES /* a tool reads this file alone */
#define MORTISE_SERVICES
#endif

#define SERVICE(name)                                                          \
    extern const struct mortise_service mortise_service_##name;
MORTISE_SERVICES
#undef SERVICE

#define SERVICE(name) &mortise_service_##name,
const struct mortise_service *const mortise_services[] = {
    MORTISE_SERVICES NULL};
