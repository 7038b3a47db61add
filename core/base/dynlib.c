/* dynlib.c -- the error of a failed dlopen().
 *
 * The dynamic linker sets no errno, but its message ends with the text of one.
 * A shortage is recognised by that text.
 */
#include "core/base/dynlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static bool ends_with_errno_text(const char *words, int errnum)
{
    const char *said = strerror(errnum);
    size_t n = strlen(words), tail = strlen(said);

    return n >= tail && strcmp(words + n - tail, said) == 0;
}

int mortise_dynlib_error(struct mortise_err *err, const char *doing)
{
    static const int shortages[] = {EMFILE, ENFILE, ENOMEM};
    const char *why = dlerror();

    for (size_t i = 0;
         why != NULL && i < sizeof shortages / sizeof shortages[0]; i++)
        if (ends_with_errno_text(why, shortages[i]))
            return mortise_syserr(err, shortages[i], "%s", doing);
    return mortise_fail(err, MORTISE_EINVAL, "%s: %s", doing,
                        why != NULL ? why : "no reason given");
}
