/* template.h -- creates a directory from a template. */
#ifndef MORTISE_CLI_TEMPLATE_H
#define MORTISE_CLI_TEMPLATE_H

#include "cli/cli.h"

/* A word in the template's files, like "@NAME@", and its replacement. */
struct mortise_template_word {
    const char *word, *by;
};

struct mortise_template {
    const char *names[2]; /* its directories; NULL: no second one */
    const char *dir;      /* the directory to create */
    struct mortise_template_word
        words[3]; /* the first one also replaces NAME in file names */
};

/* Create the files and print their names.  If a file exists with other content,
 * none is written: MORTISE_EEXISTS. */
int mortise_template_make(struct mortise_cli *cli,
                          const struct mortise_template *t,
                          struct mortise_err *err);
/* Is it a valid name of a graph or plugin?  Otherwise MORTISE_EINVAL. */
int mortise_template_check_name(const char *name, struct mortise_err *err);
/* Print the next commands: a cd to the directory, then these lines.  The
 * template's words are replaced, and @M by the program; @V by the make variable
 * that names the program, unless make finds it on PATH. */
void mortise_template_print_next_steps(struct mortise_cli *cli,
                                       const struct mortise_template *t,
                                       const char *lines);

#endif
