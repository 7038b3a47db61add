/* kind_guardrail.c -- the part of plugins that judge values. */
#include "lang/manifest/reading.h"

static const struct mortise_key guardrail_keys[] = {MORTISE_THREADS};

MORTISE_KIND_PART(guardrail, NULL);
