/* memory.c -- is there memory for LevelDB, before it is entered?
 *
 * LevelDB allocates with operator new, outside of struct mortise_mem, and is
 * built without exceptions.  An allocation that fails inside of it ends the
 * process (std::terminate), on our thread or on LevelDB's own.  The command
 * line prints a message then (cli/nomem.cpp).  A library must not end its
 * program, and a std::new_handler would belong to that program.  So:
 *
 *   (1) Before LevelDB opens a database, reads, or takes a batch, the system
 *       must have as much memory as LevelDB may need for that.  If it has not,
 *       the caller gets MORTISE_ENOMEM, and LevelDB was not entered: the handle
 *       stays as it was.
 *   (2) That is MARGIN for LevelDB's buffers, blocks and maps of tables; a stack
 *       for its thread, which it starts with its first compaction; and what the
 *       caller knows that it needs besides (COPIES).
 *   (3) The memory is mapped and given back, and not touched.  malloc() would
 *       keep it, and raise its threshold for maps.  A limit (RLIMIT_AS,
 *       RLIMIT_DATA, vm.overcommit_memory=2) refuses the map as it would refuse
 *       LevelDB.
 *
 * Other threads may take the memory before LevelDB does.  A single value may
 * need more: to read one of n bytes takes 3 n.  docs/embedding.md has the
 * limits.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "core/store/leveldb/ldb.h"

enum {
    MARGIN = 8 * 1024 * 1024,
    COPIES = 4 /* of a batch, at most: a string that doubles, the string before
                  it, and the buffer that is searched */
};

static size_t stack;
static pthread_once_t stack_known = PTHREAD_ONCE_INIT;

static void find_stack(void)
{
    pthread_attr_t a;

    if (pthread_getattr_default_np(&a) != 0)
        return;
    pthread_attr_getstacksize(&a, &stack);
    pthread_attr_destroy(&a);
}

bool mortise_ldb_has_memory(size_t bytes)
{
    size_t n;
    void *p;

    pthread_once(&stack_known, find_stack);
    if (bytes > SIZE_MAX / (2 * COPIES))
        return false;
    n = MARGIN + stack + COPIES * bytes;
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
             0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, n);
    return true;
}

int mortise_ldb_want_memory(size_t bytes, struct mortise_err *err)
{
    return mortise_ldb_has_memory(bytes) ? MORTISE_OK : mortise_nomem(err);
}
