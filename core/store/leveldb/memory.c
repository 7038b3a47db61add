/* memory.c -- check for free memory before a call to LevelDB.
 *
 * LevelDB allocates with operator new, outside of struct mortise_mem, and is
 * compiled without exceptions.  A failed allocation inside it ends the process
 * (std::terminate), on our thread or on LevelDB's.  The command line prints a
 * message then (cli/nomem.cpp).  A library must not end its program, and a
 * std::new_handler would belong to that program.  So:
 *
 *   (1) Before LevelDB opens a database, reads, or takes a batch, the system
 *       must have as much memory as LevelDB may need.  If not, the call fails
 *       with MORTISE_ENOMEM before LevelDB is called, and the handle is
 *       unchanged.
 *   (2) That is MARGIN for LevelDB's buffers, blocks and table maps; a stack
 *       for the thread that it starts with its first compaction; and COPIES of
 *       the caller's data.
 *   (3) The memory is mapped and unmapped, and never touched. malloc() would
 *       keep it and raise its mmap threshold.  A limit (RLIMIT_AS, RLIMIT_DATA,
 *       vm.overcommit_memory=2) fails the mapping as it would fail LevelDB.
 *
 * Other threads may take the memory before LevelDB does.  One value may need
 * more: reading n bytes takes 3 n. docs/embedding.md has the limits.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "core/store/leveldb/ldb.h"

enum {
    MARGIN = 8 * 1024 * 1024,
    /* At most, of a batch: a string that doubles, the string before it, and the
     * buffer that is searched. */
    COPIES = 4
};

static size_t thread_stack_size;
static pthread_once_t stack_size_once = PTHREAD_ONCE_INIT;

static void get_default_stack_size(void)
{
    pthread_attr_t a;

    if (pthread_getattr_default_np(&a) != 0)
        return;
    pthread_attr_getstacksize(&a, &thread_stack_size);
    pthread_attr_destroy(&a);
}

bool mortise_ldb_has_memory(size_t bytes)
{
    size_t n;
    void *p;

    pthread_once(&stack_size_once, get_default_stack_size);
    if (bytes > SIZE_MAX / (2 * COPIES))
        return false;
    n = MARGIN + thread_stack_size + COPIES * bytes;
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
             0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, n);
    return true;
}

int mortise_ldb_check_memory(size_t bytes, struct mortise_err *err)
{
    return mortise_ldb_has_memory(bytes) ? MORTISE_OK : mortise_nomem(err);
}
