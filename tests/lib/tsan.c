/* tsan.c -- what ThreadSanitizer cannot know.
 *
 * LevelDB publishes what it writes through atomics in its own, uninstrumented
 * code: the sanitizer sees a memcpy() on one side, a memcmp() on the other and
 * nothing that orders them.  So what happens within LevelDB's calls is not
 * reported; whoever calls it wrongly from two threads is not found here. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void)
{
    return "race:libleveldb.so\n";
}
