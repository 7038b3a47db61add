/* automaton.h -- regular expressions that are searched in linear time: RE2.
 *
 * RE2 is C++. automaton.cpp hides it behind this C header. [any] */
#ifndef MORTISE_LANG_REGEX_AUTOMATON_H
#define MORTISE_LANG_REGEX_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mortise_automaton;

enum mortise_automaton_result {
    MORTISE_AUTOMATON_FOUND, /* compile: success */
    MORTISE_AUTOMATON_NONE,  /* search: no match */
    MORTISE_AUTOMATON_REFUSED,
    MORTISE_AUTOMATON_NOMEM
};

/* Compile the n bytes of `pattern`, in RE2's syntax.  REFUSED: `why` is RE2's
 * message.  The automaton is immutable: any thread may search with it. */
enum mortise_automaton_result
mortise_automaton_compile(struct mortise_automaton **out, const char *pattern,
                          size_t n, char *why, size_t why_size);

/* Is there a match anywhere in the n bytes of s?  FOUND, NONE or NOMEM. */
enum mortise_automaton_result
mortise_automaton_search(const struct mortise_automaton *a, const char *s,
                         size_t n);

void mortise_automaton_free(struct mortise_automaton *a);

#ifdef __cplusplus
}
#endif

#endif
