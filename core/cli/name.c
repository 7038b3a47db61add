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

/* What a page of runs says about `given`. */
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
    if (n == 0)
        return mortise_fail(err, MORTISE_ENOTFOUND, "no run '%s'", given);
    if (n > 1 && strcmp(first, given) != 0)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "'%s' begins several runs: %s, %s%s", given, first,
                            second, n > 2 ? ", ..." : "");
    strcpy(run, first);
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

/* ---- printing one -------------------------------------------------------- */

enum { SHORT_ID = 8 };

static void field(struct mortise_out *o, const char *name, const json_t *v)
{
    if (v == NULL)
        return;
    mortise_out_puts(o, "    ");
    mortise_out_cell(o, name, 9);
    if (json_is_string(v)) {
        mortise_out_word(o, json_string_value(v));
        mortise_out_puts(o, "\n");
    } else {
        mortise_out_json(o, v, false);
    }
}

/* One command that would settle it, with the id and what follows it. */
static void settle(struct mortise_cli *cli, struct mortise_out *o,
                   const char *what, const char *run, const char *id,
                   const char *more)
{
    char start[SHORT_ID + 1] = "";

    strncat(start, id, SHORT_ID);
    mortise_cli_suggest(cli, o, what, run);
    mortise_out_puts(o, " ");
    mortise_out_shell(o, start);
    mortise_out_printf(o, "%s\n", more);
}

static void settle_by_kind(struct mortise_cli *cli, struct mortise_out *o,
                           const char *run, const json_t *request)
{
    const char *kind = mortise_cli_text(request, "kind");
    const char *id = mortise_cli_text(request, "id");

    if (strcmp(kind, "in_doubt") == 0) {
        settle(cli, o, "resolve", run, id, " --done @result.json");
        settle(cli, o, "resolve", run, id, " --retry");
        settle(cli, o, "resolve", run, id, " --fail");
    } else if (strcmp(kind, "scheduled_pause") == 0) {
        mortise_cli_suggest(cli, o, "resume", run);
        mortise_out_puts(o, "\n");
    } else {
        bool answer = json_object_get(request, "schema") != NULL;

        settle(cli, o, "approve", run, id, answer ? " --answer JSON" : "");
        settle(cli, o, "reject", run, id, " --reason WHY");
    }
}

/* Kinds of requests, as the middle of "NODE ...". */
static const char *asks(const char *kind)
{
    static const char *const words[][2] = {
        {"human", "asks a person"},
        {"approval_pending", "wants to run a tool and needs an approval"},
        {"scheduled_pause", "is paused here by the graph"},
        {"in_doubt", "was cut off: its effect may or may not have happened"},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], kind) == 0)
            return words[i][1];
    return "waits";
}

void mortise_cli_print_request(struct mortise_cli *cli, struct mortise_out *o,
                               const char *run, const json_t *request)
{
    mortise_out_style(o, MORTISE_ASKS);
    mortise_out_word(o, mortise_cli_text(request, "node"));
    mortise_out_printf(o, " %s", asks(mortise_cli_text(request, "kind")));
    mortise_out_style(o, MORTISE_PLAIN);
    mortise_out_puts(o, "\n");
    mortise_out_text(o, json_string_value(json_object_get(request, "prompt")),
                     4);
    field(o, "request", json_object_get(request, "id"));
    field(o, "tool", json_object_get(request, "tool"));
    field(o, "args", json_object_get(request, "args"));
    field(o, "effect", json_object_get(request, "effect"));
    field(o, "digest", json_object_get(request, "digest"));
    field(o, "answer", json_object_get(request, "schema"));
    field(o, "for", json_object_get(request, "assignees"));
    field(o, "until", json_object_get(request, "deadline"));
    settle_by_kind(cli, o, run, request);
}
