/* powercut.h -- what a power cut would have left of the files.
 *
 * One source, used two ways: linked into a test program, where these functions
 * steer it, or as powercut.so through LD_PRELOAD under a program that knows
 * nothing of it, steered by the environment.  The essay in powercut.c has the
 * model and the variables. */
#ifndef POWERCUT_H
#define POWERCUT_H

/* Watch the directories of `roots` ("dir:dir", existing) from now on, keeping
 * books in the file `state` (made, or joined if it is there).  `journaled`
 * lists directories, which may be made later, whose names become durable in
 * order (may be NULL); `rename_log` may be NULL. */
void powercut_begin(const char *state, const char *roots, const char *journaled,
                    const char *rename_log);
/* Watch no longer; the books stay. */
void powercut_end(void);

/* "KIND:N:ERROR:once" or "...:always": let the N-th (from 1) watched call of a
 * kind fail.  NULL: none any more.  Counts from here. */
void powercut_fail(const char *spec);
/* SIGKILL ourselves at the n-th watched call from here; 0: never. */
void powercut_kill_at(unsigned long n);
/* A sync of a file in a journaled directory takes so long, while other threads
 * go on. */
void powercut_slow(unsigned long ms);
/* Watched calls of this process since begin, fail or kill_at. */
unsigned long powercut_calls(void);

/* Cut: bring the watched directories to what would have survived, and remove
 * the books.  `keep` is how much of what was not yet synced happens to be on
 * the disk all the same, in percent.  For a process that does not watch; the
 * victims are dead.  0, or -1 with errno. */
int powercut_apply(const char *state, int keep);
/* Instead of a cut, when only the process died: note in the rename log which
 * rename was begun and never happened.  The books stay, as the page cache
 * does: a cut in somebody else's time takes what this one did not sync. */
int powercut_died(const char *state);
/* The same, and remove the books: what is there is there. */
int powercut_settle(const char *state);

#endif
