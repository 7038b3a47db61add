/* oneshot.h -- operations of plugins, for commands: run by an engine of this
 * process, of which nothing stays. */
#ifndef MORTISE_CLI_ONESHOT_H
#define MORTISE_CLI_ONESHOT_H

#include "core/base/tempdir.h"
#include "cli/cli.h"

struct mortise_oneshot {
    struct mortise_cli *cli;
    struct mortise_tempdir dir;
    char own_store[PATH_MAX + 8]; /* in that: a store locks its own directory */
    const char *store;            /* what --store said */
    bool asks; /* who asks may have an answer of a person here */
    char run[MORTISE_RUN_MAX];
    uint64_t seq;     /* the newest event that was seen */
    json_t *question; /* ours: what is to be answered now; NULL: nothing */
    struct mortise_buf heard;   /* of stdin, and not taken */
    char code[64], words[1024]; /* why the last one failed */
};

/* Closed in any case, also where this fails. */
int mortise_oneshot_open(struct mortise_oneshot *o, struct mortise_cli *cli,
                         struct mortise_err *err);
/* Run an operation (PLUGIN/OPERATION) with these arguments, an object, which is
 * taken; NULL is out of memory.  It ends within so many ms (0: no bound).  *out
 * is what came out, a new reference; NULL with MORTISE_OK: it failed, and
 * o->code and o->words say how. */
int mortise_oneshot_call(struct mortise_oneshot *o, const char *operation,
                         json_t *args, uint64_t timeout_ms, json_t **out,
                         struct mortise_err *err);
void mortise_oneshot_close(struct mortise_oneshot *o);
/* Print why the last one failed, of what was `called` so; the exit code. */
int mortise_oneshot_failed(struct mortise_oneshot *o, const char *called);
/* The arguments that the second operand gives, an object; {} where there is none:
 * a new reference. */
int mortise_oneshot_args(struct mortise_cli *cli, json_t **out,
                         struct mortise_err *err);

/* ---- question.c ----------------------------------------------------------- */

/* Ask a person at the terminal o->question; *answer: the command that answers
 * it, a new reference; NULL with MORTISE_OK: there is none, and o->words say
 * why. */
int mortise_oneshot_ask(struct mortise_oneshot *o, json_t **answer,
                        struct mortise_err *err);

#endif
