/* text.h -- the text of a file: its permitted characters, and positions.  For
 * tree.c and scalar_position.c. */
#ifndef MORTISE_LANG_YAML_TEXT_H
#define MORTISE_LANG_YAML_TEXT_H

#include "lang/yaml/tree.h"

struct mortise_text { /* in an arena */
    struct mortise_source_file *file;
    uint32_t *strides; /* offset of every 256th character; NULL: all ASCII */
    /* The text for libyaml: that of the file, or a rewritten copy. */
    const char *read;
    size_t n_read;
    /* The positions of rewritten surrogate pairs in the copy (pairs.c). */
    const uint32_t *pairs;
    size_t n_pairs;
};

/* Copy a text into the arena and check it.  MORTISE_ECHECK with a finding if it
 * is too large or contains a forbidden character. */
int mortise_text_open(struct mortise_text *out, struct mortise_arena *a,
                      const char *path, const char *text, size_t n,
                      struct mortise_diags *diags);
/* Only set the path, for findings about a file that cannot be read. */
int mortise_text_set_path(struct mortise_text *out, struct mortise_arena *a,
                          const char *path);
/* The offset in the file of the index-th character that libyaml read. */
size_t mortise_text_offset(const struct mortise_text *t, size_t index);
/* The position of the bytes [from, to). */
struct mortise_span mortise_text_span(const struct mortise_text *t, size_t from,
                                      size_t to);

/* ---- pairs.c --------------------------------------------------------- */

/* Set `read` from the file. */
int mortise_text_make_pairs(struct mortise_text *t, struct mortise_arena *a);
/* Convert an index in `read` to an index in the file. */
size_t mortise_text_file_index(const struct mortise_text *t, size_t index);
/* The character that the twelve bytes \uXXXX\uXXXX at p encode; 0: they are not
 * a pair. */
uint32_t mortise_text_decode_pair(const char *p, const char *end);

#endif
