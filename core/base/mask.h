/* mask.h -- values that must not be seen, found in whatever passes by and
 * replaced.
 *
 * A mask is made, filled, closed, and from then on never changed: [any], and
 * counted.  A masking is one text on its way through it, in as many pieces as it
 * comes in; what comes out does not depend on where the pieces end. */
#ifndef MORTISE_BASE_MASK_H
#define MORTISE_BASE_MASK_H

#include "core/base/buf.h"
#include "core/base/spelling.h"

struct mortise_mask;

enum { MORTISE_MASK_MIN = 8 }; /* bytes; what is shorter is not looked for */

struct mortise_mask *mortise_mask_new(const struct mortise_mem *mem);
/* Look for a value of `n` bytes, as it is and as others write it (hexadecimal of
 * any case, base64 at any offset and in lines, each byte as URLs, forms and JSON may spell
 * it, and those in one another); it becomes "[secret NAME]".  False: out of
 * memory. */
bool mortise_mask_add(struct mortise_mask *m, const char *name,
                      const char *value, size_t n);
bool mortise_mask_close(struct mortise_mask *m);
struct mortise_mask *mortise_mask_ref(struct mortise_mask *m);
void mortise_mask_unref(struct mortise_mask *m); /* NULL is fine */

/* Is anything of it in a text? */
bool mortise_mask_finds(const struct mortise_mask *m, const char *p, size_t n);

struct mortise_masked_part { /* of the text, by its offsets in all of it */
    uint64_t from, to;
    uint32_t name;
    bool shown;
};

/* The beginning of what may spell a byte (a lane's, in one pass). */
struct mortise_spelling {
    unsigned char bytes[MORTISE_SPELLED_MAX], widths[MORTISE_SPELLED_MAX];
    uint8_t n;
};

/* A text as one reads it who knows some way of writing bytes. */
struct mortise_mask_lane {
    unsigned char kinds[2]; /* that its passes take */
    struct mortise_spelling passes[2];
    uint32_t at;               /* the automaton's state */
    uint32_t same;             /* the last bytes stand so in the text */
    uint64_t to;               /* the end of the last byte in the text */
    struct mortise_buf widths; /* there, of those in progress, behind `head` */
    size_t head;
    uint64_t width; /* of all these */
};

enum { MORTISE_MASK_LANES = 14 };

struct mortise_masking {
    const struct mortise_mask *mask; /* lent; NULL: all passes */
    uint32_t at;                     /* the automaton's state */
    uint64_t seen, told;             /* bytes: came in, settled */
    struct mortise_mask_lane lanes[MORTISE_MASK_LANES];
    unsigned going;          /* of these, as bits */
    struct mortise_buf held; /* [told, seen), behind `skip` bytes */
    size_t skip;
    struct mortise_masked_part *parts; /* not settled yet, in order */
    size_t n_parts, cap_parts;
};

void mortise_masking_init(struct mortise_masking *s,
                          const struct mortise_mask *mask,
                          const struct mortise_mem *mem);
void mortise_masking_finish(struct mortise_masking *s);
/* What is settled goes to `out`, whose `failed` tells of memory that ran out;
 * end() settles the rest. */
void mortise_masking_put(struct mortise_masking *s, const char *p, size_t n,
                         struct mortise_buf *out);
void mortise_masking_end(struct mortise_masking *s, struct mortise_buf *out);

/* A whole text. */
void mortise_mask_text(const struct mortise_mask *m, const char *p, size_t n,
                       struct mortise_buf *out);
/* One that was cut where it ends: what may be the beginning of a value there
 * goes, too, from MORTISE_MASK_MIN bytes on. */
void mortise_mask_cut_text(const struct mortise_mask *m, const char *p,
                           size_t n, struct mortise_buf *out);

#endif
