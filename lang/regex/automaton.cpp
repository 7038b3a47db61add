/* automaton.cpp -- regular expressions as automata: the interface to RE2.
 *
 * RE2 searches a text of n bytes in O(n m), where m is the size of the pattern.
 * It never backtracks.  The callers charge n m before each search (regex.c).
 *
 * Memory   RE2 allocates with operator new, outside of struct mortise_mem.  One
 *          automaton holds at most MAX_MEM bytes: its programs, and the states
 *          that searches cache.  When the cache is full, RE2 empties it or
 *          continues without it.  mortise_automaton_free() releases everything.
 *
 * Errors   No exception leaves this file.  RE2 does not survive std::bad_alloc
 *          during compilation.  So the largest amount that it may need is
 *          allocated once before, as a test.  RE2 compiles the reverse program
 *          at the first search that needs it; it is compiled early for the same
 *          reason.  A search survives std::bad_alloc.
 */
#include "lang/regex/automaton.h"

#include <cstdio>
#include <exception>
#include <new>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <re2/re2.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace
{

const int MAX_MEM = 4 << 20;

/* Is there enough memory for everything that RE2 may compile? */
bool is_memory_left()
{
    try {
        ::operator delete(::operator new(2 * MAX_MEM));
    } catch (const std::bad_alloc &) {
        return false;
    }
    return true;
}

re2::RE2::Options options()
{
    re2::RE2::Options o;

    o.set_max_mem(MAX_MEM);
    o.set_log_errors(false);
    o.set_never_capture(true);
    return o;
}

} // namespace

struct mortise_automaton {
    const re2::RE2 re;

    mortise_automaton(const char *pattern, size_t n)
        : re(re2::StringPiece(pattern, n), options())
    {
    }
};

enum mortise_automaton_result
mortise_automaton_compile(struct mortise_automaton **out, const char *pattern,
                          size_t n, char *why, size_t why_size)
{
    *out = nullptr;
    if (!is_memory_left())
        return MORTISE_AUTOMATON_NOMEM;
    try {
        mortise_automaton *a = new mortise_automaton(pattern, n);

        if (a->re.ok()) {
            a->re.ReverseProgramSize(); /* compiles it */
            *out = a;
            return MORTISE_AUTOMATON_FOUND;
        }
        std::snprintf(why, why_size, "%s", a->re.error().c_str());
        delete a;
        return MORTISE_AUTOMATON_REFUSED;
    } catch (const std::exception &) {
        return MORTISE_AUTOMATON_NOMEM;
    }
}

enum mortise_automaton_result
mortise_automaton_search(const struct mortise_automaton *a, const char *s,
                         size_t n)
{
    try {
        const re2::StringPiece text(s, n);

        return a->re.Match(text, 0, n, re2::RE2::UNANCHORED, nullptr, 0)
                   ? MORTISE_AUTOMATON_FOUND
                   : MORTISE_AUTOMATON_NONE;
    } catch (const std::exception &) {
        return MORTISE_AUTOMATON_NOMEM;
    }
}

void mortise_automaton_free(struct mortise_automaton *a)
{
    delete a;
}
