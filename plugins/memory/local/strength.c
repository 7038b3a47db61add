/* strength.c -- how strong a trace is: it fades, and grows when it is used.
 *
 *     after a time t        strength * 2^(-t / half_life)
 *     by a use, at its time s becomes s + boost * (1 - s)
 *
 * So it stays between 0 and 1, and uses weigh less the stronger it is.  The uses
 * of a trace count in the order of their times, whichever came first: two
 * memories that were told the same agree.  What it is by now is kept with the
 * trace, and made anew from all uses by each; as of an older number it is made
 * from those up to that one. */
#include "base.h"

#include <math.h>

double faded(const struct mortise_inst *i, double strength, int64_t from,
             int64_t now)
{
    return i->half_life > 0 && now > from
               ? strength * exp2(((double)from - (double)now) / i->half_life)
               : strength;
}

bool strength_fold(const struct job *j, int64_t n, double strength,
                   int64_t created, int64_t as_of, double *out, int64_t *at)
{
    sqlite3_stmt *s = statement(j, S_USES);
    int code = SQLITE_ERROR;

    *out = strength;
    *at = created;
    if (s == NULL || sqlite3_bind_int64(s, 1, n) != SQLITE_OK ||
        sqlite3_bind_int64(s, 2, as_of >= 0 ? as_of : INT64_MAX) != SQLITE_OK)
        return false;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t when = sqlite3_column_int64(s, 0);
        double left = faded(j->inst, *out, *at, when);

        *out = left + j->inst->boost * (1 - left);
        *at = when > *at ? when : *at;
    }
    sqlite3_reset(s);
    return code == SQLITE_DONE;
}
