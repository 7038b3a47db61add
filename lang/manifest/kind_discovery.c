/* kind_discovery.c -- the part of plugins that find tools and nodes for a
 * text. */
#include "lang/manifest/reading.h"

static const struct mortise_key discovery_keys[] = {MORTISE_THREADS};

MORTISE_KIND_PART(discovery, NULL);
