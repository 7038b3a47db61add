/* counter.h -- a server that counts what it is told by POST, for each name in a
 * body, as lines of files of a directory.  It serves one after the other, so who
 * has waited for it knows that everything before was counted. */
#ifndef KILL_COUNTER_H
#define KILL_COUNTER_H

/* It lives in this process, and counts for those that are forked from it. */
void counter_begin(const char *dir);
void counter_end(void);
int counter_port(void);
/* How often it was told this name by now. */
unsigned counter_count(const char *name);
/* The file that is there as soon as it was told the name, and before it answers;
 * static until the next call. */
const char *counter_file(const char *name);

#endif
