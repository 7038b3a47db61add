/* name.c -- which run a person means.
 *
 * Ids are long, and what a mistake costs differs, so there are two rules:
 *
 * (1) What changes a run takes its whole id.  "order-1" never means order-10,
 *     and the id of a run that was removed never means one that begins so.
 * (2) What only reads takes the beginning of an id, too, when one run alone
 *     begins so, and then says on stderr which one it took.  An id that is there
 *     in full is meant whatever else begins with it, and so is that of a removed
 *     run: its tombstone answers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"

/* More words behind those of an error, as far as there is room. */
static void add_words(struct mortise_err *err, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
static void add_words(struct mortise_err *err, const char *fmt, ...)
{
    size_t n = strlen(err->msg);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->msg + n, sizeof err->msg - n, fmt, ap);
    va_end(ap);
}

static void add_candidates(struct mortise_err *err, const json_t *found)
{
    const json_t *like = json_object_get(found, "like");

    for (size_t i = 0; i < json_array_size(like); i++)
        add_words(err, "\n  %s", json_string_value(json_array_get(like, i)));
    if (json_is_true(json_object_get(found, "more")))
        add_words(err, "\n  ...");
}

/* What is known of `given`: a new reference.  Opens the session. */
static int find(struct mortise_cli *cli, const char *given, json_t **found,
                struct mortise_err *err)
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

static bool is(const json_t *found, const char *what)
{
    return strcmp(mortise_cli_text(found, "is"), what) == 0;
}

/* `given` is no run: says so, and which ones begin like it.  In a copy that is
 * less than the store was, nobody can tell. */
static int no_such(struct mortise_cli *cli, const json_t *found,
                   const char *then, struct mortise_err *err)
{
    struct mortise_err why;

    if (is(found, "unknown") && mortise_cli_lacks(cli, &why))
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "the store is damaged, and its readable part does not contain the "
            "run '%s'; the unreadable part may contain it",
            mortise_cli_text(found, "run"));
    mortise_fail(err, MORTISE_ENOTFOUND, "%s",
                 mortise_cli_text(found, "message"));
    if (json_array_size(json_object_get(found, "like")) > 0) {
        add_words(err, "; %s", then);
        add_candidates(err, found);
    }
    return MORTISE_ENOTFOUND;
}

int mortise_cli_run_to_change(struct mortise_cli *cli, const char *given,
                              char run[MORTISE_RUN_MAX],
                              struct mortise_err *err)
{
    json_t *found;
    int rv = find(cli, given, &found, err);

    if (rv == MORTISE_OK && !is(found, "there"))
        rv = no_such(cli, found,
                     "a command that changes a run needs its whole id; these "
                     "ids begin like that:",
                     err);
    if (rv == MORTISE_OK)
        strcpy(run, given);
    json_decref(found);
    return rv;
}

/* One run alone begins so: it is meant, and named. */
static int take_like(struct mortise_cli *cli, const char *given,
                     const json_t *found, char run[MORTISE_RUN_MAX],
                     struct mortise_err *err)
{
    const json_t *like = json_object_get(found, "like");

    if (json_array_size(like) == 0)
        return no_such(cli, found, "", err);
    if (json_array_size(like) > 1) {
        mortise_fail(err, MORTISE_ENOTFOUND,
                     "'%s' is the beginning of several run ids:", given);
        add_candidates(err, found);
        return MORTISE_ENOTFOUND;
    }
    strcpy(run, json_string_value(json_array_get(like, 0)));
    mortise_cli_note(cli, MORTISE_LOG_INFO, "%s is short for run %s", given,
                     run);
    return MORTISE_OK;
}

int mortise_cli_run_to_read(struct mortise_cli *cli, const char *given,
                            char run[MORTISE_RUN_MAX], struct mortise_err *err)
{
    json_t *found;
    int rv = find(cli, given, &found, err);

    if (rv == MORTISE_OK && is(found, "there"))
        strcpy(run, given);
    else if (rv == MORTISE_OK && is(found, "removed"))
        rv = no_such(cli, found, "these ids begin like that:", err);
    else if (rv == MORTISE_OK)
        rv = take_like(cli, given, found, run, err);
    json_decref(found);
    return rv;
}
