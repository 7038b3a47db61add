/* stages.c -- the rows of stages.def as a table of functions.  Only this file
 * names the functions of every stage. */
#include "core/run/outcome/pipeline.h"

const struct stage mortise_stages[N_STAGES] = {
#define STAGE_JUDGES(name, code) {code, NULL, mortise_stage_##name},
#define STAGE_WAITS(name)                                                      \
    {NULL, mortise_stage_##name##_is_due, mortise_stage_##name},
#define STAGE_RECORDS(name) {NULL, NULL, mortise_stage_##name},
#include "core/run/outcome/stages.def"
};
