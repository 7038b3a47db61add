/* warm.h -- what libraries keep for good once they were used, got beforehand:
 * then test_nothing_left() counts what we keep. */
#ifndef TEST_WARM_H
#define TEST_WARM_H

/* LevelDB's background thread, which stays from its first compaction on.  `dir`
 * is left with a database in it. */
void warm_leveldb(const char *dir);
/* The two descriptors that libuv keeps for the process's signals. */
void warm_libuv(void);

#endif
