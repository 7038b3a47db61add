/* mask.h -- find secret values in a text and replace them.
 *
 * A mask is created, filled and closed, and never changes after that: [any],
 * with a reference count.  A masking is one text on its way through a mask.
 * The text may arrive in pieces; the output does not depend on where they end.
 */
#ifndef MORTISE_BASE_MASK_H
#define MORTISE_BASE_MASK_H

#include "core/base/buf.h"
#include "core/base/spelling.h"

struct mortise_mask;

enum { MORTISE_MASK_MIN = 8 }; /* bytes; shorter values are not masked */

struct mortise_mask *mortise_mask_new(const struct mortise_mem *mem);
/* Mask a value of `n` bytes as "[secret NAME]", in its plain form and in common
 * encodings: hexadecimal of any case, base64 at any offset and with line
 * breaks, and each byte as URLs, forms and JSON may spell it, also nested.
 * False: out of memory. */
bool mortise_mask_add(struct mortise_mask *m, const char *name,
                      const char *value, size_t n);
bool mortise_mask_build(struct mortise_mask *m);
struct mortise_mask *mortise_mask_ref(struct mortise_mask *m);
void mortise_mask_unref(struct mortise_mask *m); /* NULL is allowed */

/* Does the text contain a value? */
bool mortise_mask_is_match(const struct mortise_mask *m, const char *p,
                           size_t n);

struct mortise_masked_part { /* a part to replace; offsets in the whole text */
    uint64_t from, to;
    uint32_t name;
    bool shown;
};

/* The bytes read so far of a possible spelling, in one pass of a lane. */
struct mortise_spelling {
    unsigned char bytes[MORTISE_SPELLED_MAX], widths[MORTISE_SPELLED_MAX];
    uint8_t n;
};

/* A lane reads the text with some spellings decoded.  A text can spell a secret
 * in several ways, also nested, so several lanes read it at the same time: one
 * for each supported combination (masking.c lists them). */
struct mortise_mask_lane {
    unsigned char kinds[2]; /* the spellings that each pass decodes */
    struct mortise_spelling passes[2];
    uint32_t at;   /* the state of the automaton */
    uint32_t same; /* how many of the last bytes were written as themselves */
    uint64_t to;   /* offset in the text after the last byte */
    /* per byte of the partial match, its length in the text; from `head` on */
    struct mortise_buf widths;
    size_t head;
    uint64_t width; /* the sum of these lengths */
};

enum { MORTISE_MASK_LANES = 14 };

struct mortise_mask_stream {
    const struct mortise_mask *mask; /* borrowed; NULL: everything passes */
    uint32_t at;                     /* the state of the automaton */
    uint64_t seen, told; /* bytes received, bytes output or masked */
    struct mortise_mask_lane lanes[MORTISE_MASK_LANES];
    unsigned active_lanes;   /* active lanes, as bits */
    struct mortise_buf held; /* the bytes [told, seen), after `skip` bytes */
    size_t skip;
    struct mortise_masked_part *parts; /* parts of `held`, in order */
    size_t n_parts, cap_parts;
};

void mortise_mask_stream_init(struct mortise_mask_stream *s,
                              const struct mortise_mask *mask,
                              const struct mortise_mem *mem);
void mortise_mask_stream_finish(struct mortise_mask_stream *s);
/* Append the bytes that can be decided to `out`; mortise_mask_stream_flush() decides
 * the rest.  Out of memory sets `out->failed`. */
void mortise_mask_stream_write(struct mortise_mask_stream *s, const char *p,
                               size_t n, struct mortise_buf *out);
void mortise_mask_stream_flush(struct mortise_mask_stream *s,
                               struct mortise_buf *out);

/* Mask a whole text. */
void mortise_mask_text(const struct mortise_mask *m, const char *p, size_t n,
                       struct mortise_buf *out);
/* Mask a text that was truncated: also mask a beginning of a value at its end,
 * if it has at least MORTISE_MASK_MIN bytes. */
void mortise_mask_truncated_text(const struct mortise_mask *m, const char *p,
                                 size_t n, struct mortise_buf *out);

#endif
