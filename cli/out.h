/* out.h -- writing to people and pipes: checked, and never raw. */
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
    MORTISE_GOOD, /* green */
    MORTISE_BAD,  /* red */
    MORTISE_ASKS  /* yellow: somebody must do something */
};

struct mortise_out {
    const struct mortise_mem *mem; /* for JSON texts; lent */
    int fd;
    struct mortise_buf *into; /* NULL; else it is written to, not fd */
    int errnum; /* of the first write that failed; then nothing is written */
    bool tty;   /* a terminal that understands cursor movement */
    bool color;
    size_t n;
    char buf[4096];
};

/* A terminal is one that TERM calls so; NO_COLOR (not empty) takes its colours
 * away.  The descriptor stays the caller's. */
void mortise_out_init(struct mortise_out *o, int fd,
                      const struct mortise_mem *mem);
/* The same, into bytes: no terminal.  Flushed, b has all of it. */
void mortise_out_init_buf(struct mortise_out *o, struct mortise_buf *b);

/* Our own words.  printf: no %s of what came from outside. */
void mortise_out_put(struct mortise_out *o, const char *p, size_t n);
void mortise_out_puts(struct mortise_out *o, const char *s);
void mortise_out_printf(struct mortise_out *o, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
/* Our own words with others among them: each %s is made safe as by
 * mortise_out_word(), %llu is a number, and there is nothing else. */
void mortise_out_say(struct mortise_out *o, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
void mortise_out_vsay(struct mortise_out *o, const char *fmt, va_list ap);
/* Until the next style; MORTISE_PLAIN ends it. */
void mortise_out_style(struct mortise_out *o, enum mortise_style style);

/* Words from outside: control characters, bidirectional overrides and what is
 * not UTF-8 come out as \x1b or \u{202e}.  NULL is "". */
void mortise_out_word(struct mortise_out *o, const char *s);
/* The same, padded with blanks to `columns`. */
void mortise_out_cell(struct mortise_out *o, const char *s, size_t columns);
/* The same in a style. */
void mortise_out_styled(struct mortise_out *o, enum mortise_style style,
                        const char *s, size_t columns);
/* Words from outside, too, but line ends and tabs pass, and each line starts
 * with `indent` blanks.  Ends with a line end. */
void mortise_out_text(struct mortise_out *o, const char *s, size_t indent);
/* The same on one line after another of so many columns, broken at blanks;
 * ends with a line end. */
void mortise_out_paragraph(struct mortise_out *o, const char *s,
                           size_t columns);
/* One line of such a text, or a piece of it: nothing is put before or behind. */
void mortise_out_piece(struct mortise_out *o, const char *s, size_t n);
/* `  word     name                  text`: a line with words from outside; on a
 * terminal cut to its columns, the name ahead of its last part.  Name NULL: there is
 * no place for it. */
void mortise_out_margin(struct mortise_out *o, enum mortise_style style,
                        const char *word, const char *name, const char *text);
/* As an argument that a shell takes back as it was. */
void mortise_out_shell(struct mortise_out *o, const char *s);
/* JSON, compact on one line or indented; a line end behind it. */
void mortise_out_json(struct mortise_out *o, const json_t *v, bool pretty);

/* Escape as mortise_out_word() and cut to `columns` and to `cap` bytes with the
 * NUL; an ellipsis shows that something is missing.  Returns the columns. */
size_t mortise_out_cut(char *out, size_t cap, const char *s, size_t columns);

/* "340 ms", "2.1 s", "3 min 5 s": our own words, in a buffer of 32. */
const char *mortise_out_took(uint64_t ms, char out[32]);

/* Columns and rows of the terminal behind o; 80 x 24 if it does not say. */
void mortise_out_window(const struct mortise_out *o, size_t *columns,
                        size_t *rows);

/* 0, or the errno of the first failed write of this stream. */
int mortise_out_flush(struct mortise_out *o);

#endif
