/* reader.h -- a person who reads a page of the documentation and does what it shows.
 *
 * Mortise is installed into a home directory of its own, from a copy of the build.
 * After reader_leave() that copy and every path to the tree are gone: the reader has
 * the installation and nothing else.  All blocks of a page go into one shell: a block
 * starts in the directory, and with the variables, that the one before it left.
 *
 * A block's first line selects what is done with it:
 *
 *   ```sh                  run it; each command must succeed
 *   ```sh exit=4           run it; the last command must end with this code
 *   ```sh tested           not for this reader: test_docs.c runs it in the tree
 *   ```sh by-hand          not run: it needs root, systemd or a network
 *   ```console             run each line that begins with "$ "; the other lines are
 *                          the output.  A code of 4 (the run waits) is no failure
 *   ```text                the last block printed this.  A line "..." stands for any
 *                          lines, and "..." in a line for any characters
 *   ```LANG file=NAME      write it into this file
 *   ```LANG append=NAME    add it to this file
 *   ```LANG try=NAME       added to a copy of this file, it passes `mortise check`
 *   ```LANG part=NAME      this file contains it, word for word
 *   ```LANG from=NAME      not for this reader: test_docs.c compares it with the tree
 */
#ifndef TEST_READER_H
#define TEST_READER_H

#include <stddef.h>

/* Make the home directory, and a shell in a directory that looks like the tree. */
void reader_begin(void);
/* Remove the copy of the build and every path to the tree. */
void reader_leave(void);
void reader_end(void);

/* Run a script beside the home directory, with $TREE and $BUILD. */
void reader_script(const char *text);
/* Type n bytes into the shell; they must end with that code. */
void reader_type(const char *block, size_t n, int code);
/* Do what a page shows: all of it, or one section ("\n## Install\n"). */
void reader_follow(const char *page, const char *section);
/* The last block printed this text. */
void reader_saw(const char *text);

/* Start a page: an empty directory of this name in the home directory, and the
 * variables as they were after reader_leave(). */
void reader_opens(const char *name);

#endif
