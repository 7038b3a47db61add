// nomem.cpp -- ends the process if a C++ library (LevelDB) runs out of memory
// or threads: its exception passes through C code, where nothing can catch it.

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "cli/nomem.h"

namespace
{

const char *words;
size_t n_words;
int code;

bool is_shortage()
{
    try {
        if (std::current_exception() != nullptr)
            throw;
    } catch (const std::bad_alloc &) {
        return true;
    } catch (const std::system_error &e) {
        return e.code().value() == EAGAIN || e.code().value() == ENOMEM;
    } catch (...) {
    }
    return false;
}

[[noreturn]] void end()
{
    if (!is_shortage())
        std::abort();
    if (write(STDERR_FILENO, words, n_words) < 0)
        _exit(code);
    _exit(code);
}

} // namespace

void mortise_nomem_install(const char *w, size_t n, int status)
{
    words = w;
    n_words = n;
    code = status;
    std::set_terminate(end);
}
