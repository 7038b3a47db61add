/* exit_code.c -- exit codes: one table for results and one for run statuses.
 *
 * 1 and 3 differ: 3 means that the request was wrong (a typing error, a
 * missing run, an id in use, a settled request), so repeating it does not
 * help.  1 means that something was tried and failed.
 */
#include "cli/exit_code.h"

#include <string.h>

#include "core/mortise.h"

/* The order is that of MORTISE_EXIT_BIT(). */
static const struct {
    enum mortise_exit_code code;
    const char *words;
} lines[] = {
    {MORTISE_EXIT_OK,
     "done; for run, resume and decisions: the run has completed"},
    {MORTISE_EXIT_FAILED,
     "the run failed or was cancelled, or a disk or system error occurred"},
    {MORTISE_EXIT_FINDINGS, "a file has errors, which are printed"},
    {MORTISE_EXIT_USAGE,
     "wrong usage: an unknown option, run, node or request, "
     "or an id in use"},
    {MORTISE_EXIT_WAITING, "the run waits for a person or is paused"},
    {MORTISE_EXIT_IN_DOUBT, "an effect may or may not have happened: see "
                            "'mortise resolve --help'"},
    {MORTISE_EXIT_DENIED,
     "denied: a plugin is not trusted, or a permission is missing"},
    {MORTISE_EXIT_CONFIG,
     "invalid configuration, a format of another version, or a blocked run"},
};

static const enum mortise_exit_code result_codes[] = {
    [-MORTISE_OK] = MORTISE_EXIT_OK,
    [-MORTISE_ENOMEM] = MORTISE_EXIT_FAILED,
    [-MORTISE_EIO] = MORTISE_EXIT_FAILED,
    [-MORTISE_EINVAL] = MORTISE_EXIT_USAGE,
    [-MORTISE_ENOTFOUND] = MORTISE_EXIT_USAGE,
    [-MORTISE_ECHECK] = MORTISE_EXIT_FINDINGS,
    [-MORTISE_ECONFIG] = MORTISE_EXIT_CONFIG,
    [-MORTISE_EFORMAT] = MORTISE_EXIT_CONFIG,
    [-MORTISE_ECORRUPT] = MORTISE_EXIT_FAILED,
    [-MORTISE_EBUSY] = MORTISE_EXIT_FAILED,
    [-MORTISE_EDENIED] = MORTISE_EXIT_DENIED,
    [-MORTISE_ECONFLICT] = MORTISE_EXIT_FAILED,
    [-MORTISE_EEXISTS] = MORTISE_EXIT_USAGE,
    [-MORTISE_EUNKNOWN_NODE] = MORTISE_EXIT_USAGE,
    [-MORTISE_EMISMATCH] = MORTISE_EXIT_USAGE,
    [-MORTISE_EDECISION] = MORTISE_EXIT_USAGE,
    [-MORTISE_EINDOUBT] = MORTISE_EXIT_IN_DOUBT,
    [-MORTISE_EBLOCKED] = MORTISE_EXIT_CONFIG,
    [-MORTISE_EUNAVAILABLE] = MORTISE_EXIT_CONFIG,
    [-MORTISE_EDETERMINISM] = MORTISE_EXIT_FAILED,
    [-MORTISE_ELIMIT] = MORTISE_EXIT_FAILED,
    [-MORTISE_ESTATE] = MORTISE_EXIT_FAILED,
    [-MORTISE_ENOSPC] = MORTISE_EXIT_FAILED,
    [-MORTISE_ESTALE_TOKEN] = MORTISE_EXIT_FAILED,
    [-MORTISE_EALREADY_SETTLED] = MORTISE_EXIT_FAILED,
    [-MORTISE_ENOT_RUNNING] = MORTISE_EXIT_FAILED,
    [-MORTISE_EALREADY_REGISTERED] = MORTISE_EXIT_FAILED,
    [-MORTISE_ESTALE_ATTEMPT] = MORTISE_EXIT_FAILED,
};

static const enum mortise_exit_code status_codes[] = {
    [MORTISE_RUN_ACCEPTED] = MORTISE_EXIT_WAITING,
    [MORTISE_RUN_RUNNING] = MORTISE_EXIT_WAITING,
    [MORTISE_RUN_WAITING] = MORTISE_EXIT_WAITING,
    [MORTISE_RUN_PAUSED] = MORTISE_EXIT_WAITING,
    [MORTISE_RUN_IN_DOUBT] = MORTISE_EXIT_IN_DOUBT,
    [MORTISE_RUN_BLOCKED] = MORTISE_EXIT_CONFIG,
    [MORTISE_RUN_COMPLETED] = MORTISE_EXIT_OK,
    [MORTISE_RUN_FAILED] = MORTISE_EXIT_FAILED,
    [MORTISE_RUN_CANCELLED] = MORTISE_EXIT_FAILED,
};

enum mortise_exit_code mortise_exit_code_of_result(int result)
{
    size_t i = (size_t)(-(long)result);

    if (result > 0 || i >= sizeof result_codes / sizeof result_codes[0])
        return MORTISE_EXIT_FAILED;
    return result_codes[i];
}

enum mortise_exit_code mortise_exit_code_of_status(int status)
{
    if (status < MORTISE_RUN_ACCEPTED || status > MORTISE_RUN_CANCELLED)
        return MORTISE_EXIT_FAILED;
    return status_codes[status];
}

int mortise_status_parse(const char *name)
{
    for (int s = MORTISE_RUN_ACCEPTED; s <= MORTISE_RUN_CANCELLED; s++)
        if (strcmp(name, mortise_run_status_name(s)) == 0)
            return s;
    return 0;
}

const char *mortise_exit_code_get_text(unsigned n, enum mortise_exit_code *code)
{
    if (n >= sizeof lines / sizeof lines[0])
        return NULL;
    *code = lines[n].code;
    return lines[n].words;
}
