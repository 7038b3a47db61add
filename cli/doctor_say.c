/* doctor_say.c -- `mortise doctor`: print one line of the output.
 *
 * It is a file of its own because all checks call it, so that no two files
 * call each other.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void print_line_json(struct mortise_out *o, const char *level,
                            const char *what, const char *remedy,
                            const char *words)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:s*}", "level", level, "what", what,
                          "message", words, "remedy", remedy);

    if (v != NULL)
        mortise_out_put_json(o, v, false);
    else
        o->errnum = ENOMEM;
    json_decref(v);
}

void mortise_doctor_report(struct mortise_doctor *d, enum mortise_health health,
                           const char *what, const char *remedy,
                           const char *fmt, ...)
{
    static const char *const levels[] = {"ok", "warn", "fail"};
    static const enum mortise_style styles[] = {MORTISE_GOOD, MORTISE_ATTENTION,
                                                MORTISE_BAD};
    struct mortise_out *o = &d->cli->out;
    char words[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    if (health == MORTISE_DOCTOR_OK)
        remedy = NULL;
    d->n_warned += health == MORTISE_DOCTOR_WARN;
    d->n_unhealthy += health == MORTISE_DOCTOR_FAIL;
    if (d->cli->args.json) {
        print_line_json(o, levels[health], what, remedy, words);
        return;
    }
    mortise_out_put_styled(o, styles[health], levels[health], 5);
    mortise_out_put_cell(o, what, 12);
    mortise_out_print_escaped(o, "%s\n", words);
    if (remedy != NULL)
        mortise_out_put_text(o, remedy, 17);
    mortise_out_flush(o);
}
