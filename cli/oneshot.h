/* oneshot.h -- runs an operation of a plugin in a temporary engine, for
 * commands. */
#ifndef MORTISE_CLI_ONESHOT_H
#define MORTISE_CLI_ONESHOT_H

#include "core/base/tempdir.h"
#include "cli/cli.h"

struct mortise_oneshot {
    struct mortise_cli *cli;
    struct mortise_tempdir dir;
    char own_store[PATH_MAX + 8]; /* below `dir`, which stores lock */
    const char *store;            /* the value of --store */
    bool asks;                    /* questions can be asked at the terminal */
    char run[MORTISE_RUN_MAX];
    uint64_t seq;               /* the newest event received */
    json_t *question;           /* owned: the open question; NULL: none */
    struct mortise_buf heard;   /* read from stdin and not yet used */
    char code[64], words[1024]; /* error of the last call */
};

/* Call close() even if this fails. */
int mortise_oneshot_open(struct mortise_oneshot *o, struct mortise_cli *cli,
                         struct mortise_err *err);
/* Run PLUGIN/OPERATION with `args`, an object; takes them (NULL: memory ran
 * out). timeout_ms 0: no limit.  *out is the output, a new reference.  NULL
 * with MORTISE_OK: the operation failed; the error is in o->code and o->words.
 */
int mortise_oneshot_call(struct mortise_oneshot *o, const char *operation,
                         json_t *args, uint64_t timeout_ms, json_t **out,
                         struct mortise_err *err);
void mortise_oneshot_close(struct mortise_oneshot *o);
/* Print the error of the last call, of the operation `called`; returns the exit
 * code. */
int mortise_oneshot_print_error(struct mortise_oneshot *o, const char *called);
/* Parse the second operand, a JSON object; {} if it is absent.  A new
 * reference. */
int mortise_oneshot_parse_args(struct mortise_cli *cli, json_t **out,
                               struct mortise_err *err);

/* ---- question.c --------------------------------------------------------- */

/* Ask the person at the terminal o->question.  *answer is the command that
 * answers it, a new reference.  NULL with MORTISE_OK: there is no answer;
 * o->words has the reason. */
int mortise_oneshot_ask(struct mortise_oneshot *o, json_t **answer,
                        struct mortise_err *err);

#endif
