/* entries.c -- the rows of entries.def as a table.  It names what every entry
 * does, wherever that stands, and nothing else does: who records or applies an
 * entry finds it here. */
#include <assert.h>

#include "run/step.h"

static const struct entry_rules rules[MORTISE_E_N] = {
#define ENTRY_OF_RUN(type, number, name, fields, words, remark, apply,         \
                     how_described, ...)                                       \
    [MORTISE_E_##                                                              \
        type] = {.of_run = apply, .describe = how_described, __VA_ARGS__},
#define ENTRY_OF_EXEC(type, number, name, fields, words, remark, apply,        \
                      how_described, ...)                                      \
    [MORTISE_E_##                                                              \
        type] = {.of_exec = apply, .describe = how_described, __VA_ARGS__},
#define ENTRY_MARK(type, number, ...) [MORTISE_E_##type] = {.hidden = true},
#include "run/record/entries.def"
#undef ENTRY_OF_RUN
#undef ENTRY_OF_EXEC
#undef ENTRY_MARK
};

const struct entry_rules *entry_rules(const struct mortise_entry *e)
{
    assert((unsigned)e->type < MORTISE_E_N); /* journal.c reads no other */
    return &rules[e->type];
}
