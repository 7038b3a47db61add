/* text.h -- the text of a file: what may stand in it, and where.  For tree.c
 * and scalar_position.c. */
#ifndef MORTISE_LANG_YAML_TEXT_H
#define MORTISE_LANG_YAML_TEXT_H

#include "lang/yaml/tree.h"

struct mortise_text { /* in an arena */
    struct mortise_yaml_file *file;
    uint32_t *strides; /* offset of every 256th character; NULL: all ASCII */
    /* What libyaml is to read: the file's, or a copy in which. */
    const char *read;
    size_t n_read;
    /* These characters stand for surrogate pairs (pairs.c). */
    const uint32_t *pairs;
    size_t n_pairs;
};

/* Copy a text into the arena and look it over: MORTISE_ECHECK with a finding
 * when it is too large or holds what it may not. */
int mortise_text_open(struct mortise_text *out, struct mortise_arena *a,
                      const char *path, const char *text, size_t n,
                      struct mortise_diags *diags);
/* Only the path, for findings about a file that cannot be read. */
int mortise_text_name(struct mortise_text *out, struct mortise_arena *a,
                      const char *path);
/* The offset in the file of the index-th character that libyaml read. */
size_t mortise_text_offset(const struct mortise_text *t, size_t index);
/* The place of the bytes [from, to). */
struct mortise_span mortise_text_span(const struct mortise_text *t, size_t from,
                                      size_t to);
/* The bytes of a file on disk (one more than is allowed, at most), appended.
 * 0, or errno. */
int mortise_text_slurp(const char *path, struct mortise_buf *b);

/* ---- pairs.c --------------------------------------------------------- */

/* Make `read` of the file. */
int mortise_text_pairs(struct mortise_text *t, struct mortise_arena *a);
/* From characters of `read` to those of the file. */
size_t mortise_text_unpaired(const struct mortise_text *t, size_t index);
/* What the twelve bytes \uXXXX\uXXXX at p stand for; 0: they are no pair. */
uint32_t mortise_text_pair(const char *p, const char *end);

#endif
