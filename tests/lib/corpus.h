/* corpus.h -- labelled texts: how often a guardrail is right about them.
 *
 * A file has a text a line; what is to be found stands in <<kind:...>>.  Lines
 * that begin with # are for people.
 *
 * The guardrail is asked through its interface, with a config that masks by
 * stars: what became stars, it found.  A finding is right when it covers all
 * letters and digits of what was marked, and no other. */
#ifndef TESTS_LIB_CORPUS_H
#define TESTS_LIB_CORPUS_H

#include <stddef.h>

struct corpus_count {
    unsigned right, missed, wrong;
};

/* A line without its marks, malloc()ed; `marks` (as many bytes) gets 0 for what
 * is of no thing, 1, 2, ... for what is of the first, the second ... of `kind`
 * (NULL: of any), and less than 0 for things of other kinds, which may be found
 * or not. */
char *corpus_line(const char *line, size_t n, const char *kind,
                  signed char **marks);
/* Add what a masked text of as many characters says.  All three are squashed to
 * a byte a character. */
void corpus_judge(char *text, signed char *marks, char *masked,
                  struct corpus_count *c);
double
corpus_precision(const struct corpus_count *c);     /* 1: nothing was found */
double corpus_recall(const struct corpus_count *c); /* 1: there was nothing */

#endif
