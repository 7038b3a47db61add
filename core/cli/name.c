/* name.c -- runs and requests by the beginning of their id.
 *
 * Ids are long, so a unique beginning is enough.  Two rules keep that safe: an
 * id that is there exactly is meant, whatever else begins with it; and what
 * begins several is refused with some of them named, never guessed.
 */
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "json/value.h"

/* Run ids are of these, in the order that the store lists them. */
static const char id_chars[] = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                               "abcdefghijklmnopqrstuvwxyz";

static bool begins(const char *id, const char *prefix)
{
    return strncmp(id, prefix, strlen(prefix)) == 0;
}

/* Something that no id lies between, and `prefix`: so that listing what comes
 * after it begins at `prefix` itself.  "" is before everything. */
static void just_before(const char *prefix, char out[MORTISE_RUN_MAX])
{
    size_t n = strlen(prefix);
    const char *last = strchr(id_chars, prefix[n - 1]);

    memcpy(out, prefix, n - 1);
    out[n - 1] = '\0';
    if (last == id_chars) /* "a-" comes right behind "a" */
        return;
    out[n - 1] = last[-1];
    memset(out + n, 'z', MORTISE_RUN_MAX - 1 - n);
    out[MORTISE_RUN_MAX - 1] = '\0';
}

/* What a page of runs says about `given`.  What begins none is left as it is:
 * whoever asks about it is told whether there ever was such a run. */
static int choose(const json_t *runs, const char *given,
                  char run[MORTISE_RUN_MAX], struct mortise_err *err)
{
    const char *first = "", *second = "";
    size_t i, n = 0;
    json_t *one;

    json_array_foreach(mortise_json_unconst(runs), i, one)
    {
        const char *id = mortise_cli_text(one, "run");

        if (strlen(id) >= MORTISE_RUN_MAX || !begins(id, given))
            break;
        if (n == 0)
            first = id;
        else if (n == 1)
            second = id;
        n++;
    }
    if (n > 1 && strcmp(first, given) != 0)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "'%s' begins several runs: %s, %s%s", given, first,
                            second, n > 2 ? ", ..." : "");
    strcpy(run, n > 0 ? first : given);
    return MORTISE_OK;
}

int mortise_cli_run(struct mortise_cli *cli, const char *given,
                    char run[MORTISE_RUN_MAX], struct mortise_err *err)
{
    char after[MORTISE_RUN_MAX];
    size_t n = strlen(given);
    json_t *reply = NULL;
    int rv;

    if (n == 0 || n >= MORTISE_RUN_MAX ||
        given[strspn(given, id_chars)] != '\0')
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "no run '%s': that is no run id", given);
    just_before(given, after);
    rv =
        mortise_cli_call(cli, "runs",
                         json_pack("{s:s*, s:i}", "after",
                                   after[0] != '\0' ? after : NULL, "limit", 3),
                         NULL, NULL, &reply, err);
    if (rv == MORTISE_OK)
        rv = choose(json_object_get(reply, "runs"), given, run, err);
    json_decref(reply);
    return rv;
}

/* ---- requests ------------------------------------------------------------ */

static int several(const json_t *pending, const char *given,
                   struct mortise_err *err)
{
    mortise_fail(err, MORTISE_EMISMATCH, "%s: say which",
                 given != NULL ? "several requests answer to that"
                               : "several requests are pending");
    for (size_t i = 0; i < json_array_size(pending) && i < 8; i++) {
        const json_t *one = json_array_get(pending, i);
        char old[sizeof err->msg];

        strcpy(old, err->msg);
        mortise_fail(err, MORTISE_EMISMATCH, "%s\n  %s  %s (%s)", old,
                     mortise_cli_text(one, "id"), mortise_cli_text(one, "node"),
                     mortise_cli_text(one, "kind"));
    }
    return MORTISE_EMISMATCH;
}

/* By the beginning of its id, or by its node or path in full. */
static bool is_meant(const json_t *request, const char *given)
{
    return begins(mortise_cli_text(request, "id"), given) ||
           strcmp(mortise_cli_text(request, "node"), given) == 0 ||
           strcmp(mortise_cli_text(request, "path"), given) == 0;
}

/* Borrowed from the array. */
static int pick(json_t *pending, const char *given, json_t **out,
                struct mortise_err *err)
{
    size_t i, n = 0;
    json_t *one;

    json_array_foreach(pending, i, one)
    {
        if (given != NULL && !is_meant(one, given))
            continue;
        *out = one;
        n++;
    }
    if (n > 1)
        return several(pending, given, err);
    if (n == 0 && given == NULL)
        return mortise_fail(err, MORTISE_EMISMATCH, "nothing is pending");
    if (n == 0)
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "no request '%s' is pending: it may be settled "
                            "already",
                            given);
    return MORTISE_OK;
}

int mortise_cli_request(struct mortise_cli *cli, const char *run,
                        const char *given, json_t **out,
                        struct mortise_err *err)
{
    json_t *reply = NULL, *one = NULL;
    int rv = mortise_cli_call(cli, "show", json_pack("{s:s}", "run", run), NULL,
                              NULL, &reply, err);

    if (rv == MORTISE_OK)
        rv = pick(json_object_get(reply, "pending"), given, &one, err);
    if (rv == MORTISE_OK)
        *out = json_incref(one);
    else
        mortise_doing(err, rv, "run %s", run);
    json_decref(reply);
    return rv;
}
