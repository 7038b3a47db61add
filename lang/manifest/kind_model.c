/* kind_model.c -- the part of plugins that call models. */
#include "lang/manifest/reading.h"

static const struct mortise_key model_keys[] = {
    MORTISE_THREADS,
    {.name = "embed",
     .about = "true: the provider also computes vectors of texts.",
     MORTISE_INTO_BOOL(struct mortise_interface, embeds)},
};

MORTISE_KIND_PART(model, NULL);
