/* kind_scale_read.c -- the part of scales in manifests. */
#include "lang/manifest/reading.h"

static const struct mortise_word units[] = {{.word = "grams"}, {.word = NULL}};

static const struct mortise_key scale_keys[] = {
    MORTISE_THREADS,
    {.name = "unit",
     .about = "What it weighs in.",
     .value = MORTISE_V_WORD,
     .required = true,
     .words = units},
};
MORTISE_KIND_PART(scale, NULL);
