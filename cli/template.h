/* template.h -- directories that are begun for somebody. */
#ifndef MORTISE_CLI_TEMPLATE_H
#define MORTISE_CLI_TEMPLATE_H

#include "cli/cli.h"

/* What is put into a template's files in the place of its words: "@NAME@". */
struct mortise_template_word {
    const char *word, *by;
};

struct mortise_template {
    const char *names[2]; /* its directories; NULL: no second one */
    const char *dir;      /* where its files go */
    struct mortise_template_word words[3]; /* the first: what NAME stands for */
};

/* Make the files, and say which.  All of them are new, or none is made:
 * MORTISE_EEXISTS names the one that is there. */
int mortise_template_make(struct mortise_cli *cli,
                          const struct mortise_template *t,
                          struct mortise_err *err);
/* Is that the name of a graph or a plugin?  MORTISE_EINVAL in words. */
int mortise_template_name(const char *name, struct mortise_err *err);
/* Print what to type next: the way there, then these lines, whose words are
 * replaced, too, and @M by the program; @V by the variable that tells make where it
 * is, unless make finds it. */
void mortise_template_next(struct mortise_cli *cli,
                           const struct mortise_template *t, const char *lines);

#endif
