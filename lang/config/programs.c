/* programs.c -- `programs` of a deployment: the programs that plugins may run.
 *
 *     programs:
 *       jq: {path: /usr/bin/jq, reads: true}
 *       git:
 *         path: /usr/bin/git
 *         args: [--no-pager]
 *         dir: ./work
 *         write: [./work]
 *         online: true
 *
 * A graph, and a plugin that runs a program (process.run/1), know only the
 * name.  The deployer defines the file and its access rights.  No other program
 * is ever run.
 */
#include "lang/config/programs.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/base/user.h"
#include "lang/yaml/header.h"

static void read_program_path(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;

    (void)into;
    *(const char **)slot->field = mortise_config_path(r, slot->value);
}

/* The file of a program.  A path without a slash is a file beside the
 * deployment: unlike the command of an MCP server, it is not searched in
 * PATH. */
static void read_program_file(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    const char *path = mortise_config_path(r, slot->value);
    size_t size = path != NULL ? strlen(path) + sizeof "./" : 0;
    char *beside;

    (void)into;
    *(const char **)slot->field = path;
    if (path == NULL || strchr(path, '/') != NULL)
        return;
    beside = mortise_config_alloc(r, size);
    if (beside != NULL)
        snprintf(beside, size, "./%s", path);
    *(const char **)slot->field = beside;
}

static void read_program_paths(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    (void)into;
    *(struct mortise_paths *)slot->field =
        mortise_config_paths(ctx, slot->value);
}

static void read_program_args(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_program *p = into;
    const struct mortise_yaml *list = slot->value;
    const char **args = mortise_config_alloc(r, list->n * sizeof *args);

    for (size_t i = 0; args != NULL && i < list->n; i++)
        args[i] = list->items[i]->str;
    p->args = args;
    p->n_args = args != NULL ? list->n : 0;
}

void mortise_program_read_user(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_program *p = into;
    struct mortise_err why;
    int rv = mortise_user_find_for_run(r->arena->mem, slot->value->str, &p->uid,
                                       &p->gid, &why);

    r->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        p->user = slot->value->str;
    else if (rv != MORTISE_ENOMEM)
        mortise_diag_add(r->diags, "E0616", slot->value->span, "%s", why.msg);
}

static const struct mortise_key keys[] = {
    {.name = "path",
     .about = "The file that is executed, without a shell.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_program_file,
     MORTISE_AT(const char *, struct mortise_program, path)},
    {.name = "args",
     .about = "The first arguments; the arguments of the graph follow.",
     .value = MORTISE_V_STRINGS,
     .read = read_program_args},
    {.name = "dir",
     .about = "The working directory (default: the first of write, else of "
              "read, else /).",
     .value = MORTISE_V_STRING,
     .read = read_program_path,
     MORTISE_AT(const char *, struct mortise_program, dir)},
    {.name = "read",
     .about = "Files and directories that the program can read, in addition to "
              "the system's programs and libraries.",
     .value = MORTISE_V_STRINGS,
     .read = read_program_paths,
     MORTISE_AT(struct mortise_paths, struct mortise_program, read)},
    {.name = "write",
     .about = "Files and directories that the program can read and write, but "
              "not execute.",
     .value = MORTISE_V_STRINGS,
     .read = read_program_paths,
     MORTISE_AT(struct mortise_paths, struct mortise_program, write)},
    {.name = "user",
     .about = "The user of the process if the engine is root (default: a user "
              "of its own).",
     .value = MORTISE_V_STRING,
     .read = mortise_program_read_user},
    {.name = "online",
     .about = "true: the program can use the network (default: false).",
     MORTISE_INTO_BOOL(struct mortise_program, online)},
    {.name = "reads",
     .about = "true: the program changes nothing, whatever its arguments are. "
              "The engine can then repeat the program after a crash, and "
              "operations that only read can run the program (default: false).",
     MORTISE_INTO_BOOL(struct mortise_program, reads)},
    {.name = "memory",
     .about = "The largest size of the program's private data.",
     .min = 1,
     MORTISE_INTO_SIZE(struct mortise_program, memory)},
};

const struct mortise_place mortise_program_place = {
    MORTISE_PLACE_OF("a program", keys)};

static void read_program_entry(struct mortise_config_reader *r,
                               struct mortise_program *p,
                               const struct mortise_yaml *key,
                               const struct mortise_yaml *value)
{
    p->name = key->str;
    mortise_header_check_name(key, "the name of a program", r->diags);
    mortise_keys_read(&mortise_program_place, value, key->span, r, p, r->diags);
    if (p->reads && p->write.n > 0)
        mortise_diag_add(
            r->diags, "E0609", key->span,
            "program '%s' has both 'write' and reads: true, which declares "
            "that the program changes nothing: remove one of them",
            key->str);
}

void mortise_programs_read(struct mortise_programs *out,
                           const struct mortise_yaml *map,
                           struct mortise_config_reader *r)
{
    struct mortise_program *list =
        mortise_config_alloc(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_program_entry(r, &list[out->n++], map->keys[i], map->items[i]);
    out->list = list;
}

int mortise_program_find(const struct mortise_programs *programs,
                         const char *name, const struct mortise_program **out,
                         struct mortise_err *why)
{
    const char *names[64], *near;
    size_t n = 0;

    for (size_t i = 0; i < programs->n; i++) {
        *out = &programs->list[i];
        if (strcmp((*out)->name, name) == 0)
            return MORTISE_OK;
    }
    *out = NULL;
    for (; n < programs->n && n < sizeof names / sizeof names[0]; n++)
        names[n] = programs->list[n].name;
    near = mortise_nearest_find(name, names, n);
    if (near != NULL)
        return mortise_fail(
            why, MORTISE_ENOTFOUND,
            "the deployment has no program '%.64s'; did you mean '%s'?", name,
            near);
    return mortise_fail(
        why, MORTISE_ENOTFOUND,
        "the deployment has no program '%.64s': write '%.64s: {path: FILE}' "
        "under 'programs' of the Deployment file",
        name, name);
}

int mortise_program_check_read_only(const struct mortise_program *program,
                                    struct mortise_err *why)
{
    return program->reads
               ? MORTISE_OK
               : mortise_fail(why, MORTISE_EDENIED,
                              "the deployment does not declare that program "
                              "'%.64s' only reads (programs.%.64s.reads)",
                              program->name, program->name);
}
