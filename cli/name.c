/* name.c -- resolves the run id that a user gave.
 *
 * Ids are long, and the cost of a mistake differs, so there are two rules:
 *
 *   (1) A command that changes a run needs its whole id.  "order-1" never means
 *       order-10; the id of a removed run never means a longer id that begins
 *       with it.
 *   (2) A command that only reads also takes the beginning of an id if exactly
 *       one run's id begins like that, and prints that run's id on stderr.  A
 *       complete id always means its own run, also if the run was removed: its
 *       tombstone answers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* Append text to an error message, as far as it fits. */
static void append_error_text(struct mortise_err *err, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
static void append_error_text(struct mortise_err *err, const char *fmt, ...)
{
    size_t n = strlen(err->msg);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->msg + n, sizeof err->msg - n, fmt, ap);
    va_end(ap);
}

static void append_candidates(struct mortise_err *err, const json_t *found)
{
    const json_t *like = json_object_get(found, "like");

    for (size_t i = 0; i < json_array_size(like); i++)
        append_error_text(err, "\n  %s",
                          json_string_value(json_array_get(like, i)));
    if (json_is_true(json_object_get(found, "more")))
        append_error_text(err, "\n  ...");
}

/* Look up `given`: a new reference.  Opens the session. */
static int find_run_by_name(struct mortise_cli *cli, const char *given,
                            json_t **found, struct mortise_err *err)
{
    int rv =
        cli->session != NULL ? MORTISE_OK : mortise_cli_open(cli, NULL, err);

    *found = NULL;
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_cli_call(cli, "find", json_pack("{s:s}", "run", given), NULL,
                          NULL, found, err);
    return rv == MORTISE_EINVAL
               ? mortise_fail(err, MORTISE_ENOTFOUND,
                              "no run '%.200s': a run id has 1 to 128 letters, "
                              "digits, '.', '_' and '-'",
                              given)
               : rv;
}

static bool has_find_result(const json_t *found, const char *what)
{
    return strcmp(mortise_cli_get_text(found, "is"), what) == 0;
}

/* Report that `given` is not a run, and list the ids that begin like it.  In a
 * damaged store, the run may be in the part that cannot be read. */
static int fail_no_such_run(struct mortise_cli *cli, const json_t *found,
                            const char *then, struct mortise_err *err)
{
    struct mortise_err why;

    if (has_find_result(found, "unknown") &&
        mortise_cli_is_incomplete(cli, &why))
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "the store is damaged, and its readable part does not contain the "
            "run '%s'; the unreadable part may contain it",
            mortise_cli_get_text(found, "run"));
    mortise_fail(err, MORTISE_ENOTFOUND, "%s",
                 mortise_cli_get_text(found, "message"));
    if (json_array_size(json_object_get(found, "like")) > 0) {
        append_error_text(err, "; %s", then);
        append_candidates(err, found);
    }
    return MORTISE_ENOTFOUND;
}

int mortise_cli_find_run_to_change(struct mortise_cli *cli, const char *given,
                                   char run[MORTISE_RUN_MAX],
                                   struct mortise_err *err)
{
    json_t *found;
    int rv = find_run_by_name(cli, given, &found, err);

    if (rv == MORTISE_OK && !has_find_result(found, "there"))
        rv = fail_no_such_run(
            cli, found,
            "a command that changes a run needs its whole id; these "
            "ids begin like that:",
            err);
    if (rv == MORTISE_OK)
        strcpy(run, given);
    json_decref(found);
    return rv;
}

/* If exactly one run's id begins with `given`, choose it and report it. */
static int choose_only_candidate(struct mortise_cli *cli, const char *given,
                                 const json_t *found, char run[MORTISE_RUN_MAX],
                                 struct mortise_err *err)
{
    const json_t *like = json_object_get(found, "like");

    if (json_array_size(like) == 0)
        return fail_no_such_run(cli, found, "", err);
    if (json_array_size(like) > 1) {
        mortise_fail(err, MORTISE_ENOTFOUND,
                     "'%s' is the beginning of several run ids:", given);
        append_candidates(err, found);
        return MORTISE_ENOTFOUND;
    }
    strcpy(run, json_string_value(json_array_get(like, 0)));
    mortise_cli_print_remark(cli, MORTISE_LOG_INFO, "%s is short for run %s",
                             given, run);
    return MORTISE_OK;
}

int mortise_cli_find_run_to_read(struct mortise_cli *cli, const char *given,
                                 char run[MORTISE_RUN_MAX],
                                 struct mortise_err *err)
{
    json_t *found;
    int rv = find_run_by_name(cli, given, &found, err);

    if (rv == MORTISE_OK && has_find_result(found, "there"))
        strcpy(run, given);
    else if (rv == MORTISE_OK && has_find_result(found, "removed"))
        rv = fail_no_such_run(cli, found, "these ids begin like that:", err);
    else if (rv == MORTISE_OK)
        rv = choose_only_candidate(cli, given, found, run, err);
    json_decref(found);
    return rv;
}
