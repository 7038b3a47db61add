/* entries.c -- entries.def as a table.  Only this file includes the functions
 * of all entry types, wherever they are defined; code that records or applies
 * an entry looks up its row here. */
#include <assert.h>

#include "core/run/commit.h"

static const struct entry_rules entry_rules_by_type[MORTISE_E_N] = {
#define ROW(type, scope, apply, how, ...)                                      \
    [MORTISE_E_##type] = {                                                     \
        .scope = mortise_##apply, .describe = mortise_##how, __VA_ARGS__},
#define ENTRY_OF_RUN(type, number, name, fields, words, remark, ...)           \
    ROW(type, of_run, __VA_ARGS__)
#define ENTRY_OF_EXEC(type, number, name, fields, words, remark, ...)          \
    ROW(type, of_exec, __VA_ARGS__)
#define ENTRY_MARK(type, number, ...) [MORTISE_E_##type] = {.hidden = true},
#include "core/run/record/entries.def"
#undef ROW
};

const struct entry_rules *mortise_entry_rules(const struct mortise_entry *e)
{
    assert((unsigned)e->type < MORTISE_E_N); /* journal.c rejects other types */
    return &entry_rules_by_type[e->type];
}
