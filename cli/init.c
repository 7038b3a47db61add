/* init.c -- `mortise init`: creates a first graph with its deployment and
 * tests.
 *
 * The files work unchanged, offline and with the bundled plugins, so a new user
 * has a graph that can be checked, tested and run at once, and modifies it step
 * by step.  Its run asks a question, and continues after the answer.  Comments
 * in the files explain each part. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/template.h"

/* Get the name of a directory, also of `.` and `..`. */
static int get_directory_name(const char *dir, char name[PATH_MAX],
                              struct mortise_err *err)
{
    size_t n = strlen(dir);
    char *slash;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    snprintf(name, PATH_MAX, "%.*s", (int)n, dir);
    slash = strrchr(name, '/');
    if (slash != NULL)
        memmove(name, slash + 1, strlen(slash));
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && name[0] != '\0')
        return MORTISE_OK;
    if (realpath(dir, name) == NULL)
        return mortise_syserr(err, errno, "%s", dir);
    slash = strrchr(name, '/');
    memmove(name, slash + 1, strlen(slash));
    return MORTISE_OK;
}

static int choose_graph_name(struct mortise_cli *cli, char name[PATH_MAX],
                             struct mortise_err *err)
{
    const char *given = cli->args.name;
    int rv = given == NULL
                 ? get_directory_name(cli->args.operands[0], name, err)
                 : mortise_template_check_name(given, err);

    if (rv != MORTISE_OK)
        return rv;
    if (given != NULL)
        snprintf(name, PATH_MAX, "%s", given);
    else if (mortise_template_check_name(name, err) != MORTISE_OK)
        return mortise_err_prefix(
            err, err->code,
            "the directory's name cannot be the name of the "
            "graph; give another with --name");
    return MORTISE_OK;
}

static int init(struct mortise_cli *cli, struct mortise_err *err)
{
    char name[PATH_MAX];
    const struct mortise_template t = {.names = {"init"},
                                       .dir = cli->args.operands[0],
                                       .words = {{"@NAME@", name}}};
    int rv = choose_graph_name(cli, name, err);

    if (rv == MORTISE_OK)
        rv = mortise_template_make(cli, &t, err);
    if (rv == MORTISE_OK)
        mortise_template_print_next_steps(
            cli, &t,
            "@M check mortise.yaml @NAME@.graph.yaml @NAME@.test.yaml\n"
            "@M test @NAME@.test.yaml\n"
            "@M run @NAME@.graph.yaml --id first\n"
            "@M approve $(@M inbox first --ids)\n"
            "@M show first\n");
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("name", "NAME", name,
                     "Name of the graph (default: the name of DIR)"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_init = {
    .name = "init",
    .operands = "DIR",
    .summary = "Create a graph that runs, its deployment and its tests",
    .text =
        "DIR is created if it does not exist; use . for the current\n"
        "directory.  The command writes a graph that reads a note, asks a\n"
        "person and writes a file.  The graph uses the bundled plugins and\n"
        "works offline.  mortise.yaml is the graph's deployment.  The\n"
        "tests are for `mortise test`.  Comments in the files explain each\n"
        "part.\n"
        "\n"
        "If one of these files exists with other content, the command\n"
        "fails and writes nothing.  Otherwise it prints the next commands,\n"
        "and you can paste these into the shell.\n",
    .opts = opts,
    .example = "mortise init hello",
    .run = init,
};
