/* template.h -- directories that are begun for somebody. */
#ifndef MORTISE_CLI_TEMPLATE_H
#define MORTISE_CLI_TEMPLATE_H

#include "cli/cli.h"

/* Make of a template (a directory's name) the files of `dir`, for what is called
 * `name`, and say which.  All of them are new, or none is made: MORTISE_EEXISTS
 * names the one that is there. */
int mortise_template_make(struct mortise_cli *cli, const char *template,
                          const char *dir, const char *name,
                          struct mortise_err *err);
/* Is that the name of a graph or a plugin?  MORTISE_EINVAL in words. */
int mortise_template_name(const char *name, struct mortise_err *err);
/* Print what to type next: the way there, then these lines, in each of which @M
 * is the program and @NAME@ the name. */
void mortise_template_next(struct mortise_cli *cli, const char *dir,
                           const char *name, const char *lines);

#endif
