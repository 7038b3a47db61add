/* out.h -- output to terminals, files and pipes, checked and escaped. */
#ifndef MORTISE_CLI_OUT_H
#define MORTISE_CLI_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "core/base/buf.h"

enum mortise_style {
    MORTISE_PLAIN,
    MORTISE_BOLD,
    MORTISE_DIM,
    MORTISE_GOOD,     /* green */
    MORTISE_BAD,      /* red */
    MORTISE_ATTENTION /* yellow: needs attention */
};

struct mortise_out {
    const struct mortise_mem *mem; /* for JSON texts; borrowed */
    int fd;
    struct mortise_buf *into; /* write to this buffer instead of fd; or NULL */
    int errnum; /* of the first failed write, which ends all output */
    bool tty;   /* a terminal with cursor movement */
    bool color;
    size_t n;
    char buf[4096];
};

/* `tty` depends on TERM; NO_COLOR (not empty) disables colours.  The descriptor
 * remains the caller's. */
void mortise_out_init(struct mortise_out *o, int fd,
                      const struct mortise_mem *mem);
/* Write to a buffer instead, without terminal features.  After a flush, b is
 * complete. */
void mortise_out_init_buf(struct mortise_out *o, struct mortise_buf *b);

/* Write the program's own text.  Do not print external text with %s of
 * printf(). */
void mortise_out_put(struct mortise_out *o, const char *p, size_t n);
void mortise_out_puts(struct mortise_out *o, const char *s);
void mortise_out_printf(struct mortise_out *o, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
/* Write text with escaped parts: each %s is escaped like mortise_out_put_escaped(),
 * %llu is a number, and nothing else is supported. */
void mortise_out_print_escaped(struct mortise_out *o, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
void mortise_out_vprint_escaped(struct mortise_out *o, const char *fmt,
                                va_list ap);
/* Set the style until the next call; MORTISE_PLAIN resets it. */
void mortise_out_set_style(struct mortise_out *o, enum mortise_style style);

/* Write external text: control characters, bidirectional overrides and invalid
 * UTF-8 are escaped as \x1b or \u{202e}.  NULL is "". */
void mortise_out_put_escaped(struct mortise_out *o, const char *s);
/* The same, padded with blanks to `columns`. */
void mortise_out_put_cell(struct mortise_out *o, const char *s, size_t columns);
/* The same in a style. */
void mortise_out_put_styled(struct mortise_out *o, enum mortise_style style,
                            const char *s, size_t columns);
/* Write external text of several lines: line ends and tabs are kept, and each
 * line is indented.  Ends with a line end. */
void mortise_out_put_text(struct mortise_out *o, const char *s, size_t indent);
/* Write external text wrapped at blanks to `columns`; ends with a line end. */
void mortise_out_put_paragraph(struct mortise_out *o, const char *s,
                               size_t columns);
/* Write one line of external text, or a part of it, without a line end. */
void mortise_out_put_piece(struct mortise_out *o, const char *s, size_t n);
/* Write `  word     name                  text` with external text.  On a
 * terminal, text is cut on the right, and a long name is cut on the left.  Name
 * NULL: no such column. */
void mortise_out_put_margin_line(struct mortise_out *o,
                                 enum mortise_style style, const char *word,
                                 const char *name, const char *text);
/* Quote for a shell. */
void mortise_out_put_shell_word(struct mortise_out *o, const char *s);
/* Write JSON, compact on one line or indented, and a line end. */
void mortise_out_put_json(struct mortise_out *o, const json_t *v, bool pretty);

/* Escape like mortise_out_put_escaped(), and cut to `columns` and to `cap` bytes
 * including the NUL; a cut is marked by an ellipsis.  Returns the number of
 * columns. */
size_t mortise_out_truncate(char *out, size_t cap, const char *s,
                            size_t columns);

/* Format "340 ms", "2.1 s" or "3 min 5 s" into a buffer of 32. */
const char *mortise_out_format_duration(uint64_t ms, char out[32]);

/* Get the size of the terminal; 80 x 24 if it is unknown. */
void mortise_out_get_window_size(const struct mortise_out *o, size_t *columns,
                                 size_t *rows);

/* Write the buffer.  Returns 0, or the errno of the first failed write. */
int mortise_out_flush(struct mortise_out *o);

#endif
