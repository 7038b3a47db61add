/* reader.h -- how the text of manifests and trust files is read.
 *
 * The core verifies these files and decides by their contents.  It knows their
 * format only through this table, and no file of core/ names its definition.
 * [any] */
#ifndef MORTISE_PLUGIN_READER_H
#define MORTISE_PLUGIN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mortise_diags;
struct mortise_err;
struct mortise_manifest;
struct mortise_mem;
struct mortise_trust;

struct mortise_plugin_reader {
    /* Read a manifest.  MORTISE_ECHECK: it has errors; err has the first,
     * with its place.  A signed one must have artifacts with sizes and
     * digests. */
    int (*read_manifest)(struct mortise_manifest **out,
                         const struct mortise_mem *mem, const char *path,
                         const char *text, size_t n, bool is_signed,
                         struct mortise_err *err);
    /* Add the entries of a file of `dir` to t, which borrows `path`, and raise
     * *seq to the file's.  MORTISE_ECHECK: it has errors; diags gets them, and
     * err the first.  MORTISE_ELIMIT: there was no free descriptor to read it.
     * MORTISE_ENOMEM.  diags may be NULL. */
    int (*read_trust)(struct mortise_trust *t, const char *dir,
                      const char *path, uint64_t *seq,
                      struct mortise_diags *diags, struct mortise_err *err);
};

extern const struct mortise_plugin_reader mortise_plugin_reader;

#endif
