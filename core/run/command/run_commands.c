/* run_commands.c -- the rows of run_commands.def as a table.  Only this file
 * names the functions of every command. */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/command/command.h"

/* The check of the last row. */
static int fail_unknown_command(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    (void)r;
    (void)h;
    return mortise_fail(err, MORTISE_EINVAL, "unknown command kind %u",
                        c->kind);
}

const struct mortise_command_row mortise_run_commands[] = {
#define RUN_COMMAND(id, number, words, ...)                                    \
    {.kind = number,                                                           \
     .name = #id,                                                              \
     .members = words,                                                         \
     .check = mortise_command_check_##id,                                      \
     .obey = mortise_command_obey_##id,                                        \
     __VA_ARGS__},
#include "core/run/command/run_commands.def"
    {.kind = 0, .check = fail_unknown_command},
};

enum {
#define RUN_COMMAND(id, ...) ROW_##id,
#include "core/run/command/run_commands.def"
    ROW_OF_NONE
};

/* Two rows with the same number do not compile. */
const struct mortise_command_row *mortise_command_row(uint32_t kind)
{
    switch (kind) {
#define RUN_COMMAND(id, number, ...)                                           \
    case number:                                                               \
        return &mortise_run_commands[ROW_##id];
#include "core/run/command/run_commands.def"
    default:
        return &mortise_run_commands[ROW_OF_NONE];
    }
}

const struct mortise_command_row *mortise_command_find_by_name(const char *name)
{
    const struct mortise_command_row *row = mortise_run_commands;

    while (row->kind != 0 && strcmp(row->name, name) != 0)
        row++;
    return row;
}

bool mortise_command_has_member(const struct mortise_command_row *row,
                                const char *member)
{
    size_t n = strlen(member);

    for (const char *p = row->members; (p = strchr(p, '`')) != NULL; p++)
        if (strncmp(p + 1, member, n) == 0 && p[n + 1] != '\0' &&
            strchr("?:`", p[n + 1]) != NULL)
            return true;
    return false;
}

static int parse_json_member(json_t **out, const char *name, const char *text,
                             struct mortise_err *err)
{
    int rv = mortise_json_parse(out, text, strlen(text), err);

    return rv == MORTISE_OK ? rv : mortise_err_prefix(err, rv, "%s", name);
}

int mortise_command_read(struct mortise_run_command *out,
                         const struct mortise_command *c,
                         struct mortise_err *err)
{
    const struct mortise_command_row *row = mortise_command_row(c->kind);
    int rv = MORTISE_OK;

    assert(row->kind == c->kind || row->kind == 0); /* 0: unknown */
    *out = (struct mortise_run_command){.kind = c->kind, .flags = c->flags};
#define MEMBER_TEXT(name)                                                      \
    out->name = c->name;                                                       \
    if (rv == MORTISE_OK && c->name != NULL)                                   \
        rv = mortise_utf8_check(#name, c->name, err);
#define MEMBER_JSON(name, field)                                               \
    if (rv == MORTISE_OK && row->value != NULL && c->field != NULL)            \
        rv = parse_json_member(&out->name, row->value, c->field, err);
#define MEMBER_FLAG(name, bit)
#include "core/run/command/command_members.def"
    return rv;
}
