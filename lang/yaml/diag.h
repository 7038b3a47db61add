/* diag.h -- findings about files: collected, sorted, printed (graph.md 2).
 *
 *     refund.graph.yaml:18:15: error[E0301]: edge to unknown node 'aprove'
 *        18 |       - to: aprove
 *           |             ^^^^^^
 *     help: did you mean 'approve' (defined at 31:3)?
 */
#ifndef MORTISE_LANG_YAML_DIAG_H
#define MORTISE_LANG_YAML_DIAG_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/nearest.h" /* for "did you mean" */

struct mortise_yaml_file;

/* Where something stood.  Lines and columns count from 1, columns in bytes;
 * the end is exclusive.  file NULL: nowhere. */
struct mortise_span {
    const struct mortise_yaml_file *file; /* lives as long as its tree */
    uint32_t line, col, end_line, end_col;
};

/* So many errors are kept, and so many warnings. */
enum { MORTISE_DIAGS_MOST = 500 };

enum mortise_severity { MORTISE_ERROR = 1, MORTISE_WARNING = 2 };

/* A finding keeps what it prints, so that it outlives the file: most files
 * with findings are given up before anybody reads them. */
struct mortise_diag {
    enum mortise_severity severity;
    const char *code;         /* "E0301", static */
    struct mortise_span span; /* its `file` is NULL: use `path` */
    char *message, *help;     /* help may be NULL */
    const char *path;         /* NULL: nowhere */
    const char *source;       /* the line, clipped when long; NULL: none */
    uint32_t lead, width;     /* characters of it before and above the caret */
};

/* Collects by [one thread]; text lives in the list's own arena. */
struct mortise_diags {
    struct mortise_arena arena;
    struct mortise_diag *list;
    size_t n, cap;
    size_t n_errors,
        n_warnings; /* found, of which MORTISE_DIAGS_MOST are kept */
    bool failed;    /* memory ran out: findings are missing */
    bool denied;    /* what one is about is refused by trust */
    /* No descriptor was left to look at what one is about; NULL: there was. */
    const char *short_of;
};

void mortise_diags_init(struct mortise_diags *d, const struct mortise_mem *mem);
void mortise_diags_finish(struct mortise_diags *d);

/* Returns the finding, for mortise_diag_help(), until the next one is added;
 * NULL if it is not kept, because there are too many or memory ran out.  The severity follows from the code's letter: E... or
 * W... (codes.h has them all).  Control characters in the words are escaped,
 * and words longer than a screen are cut. */
struct mortise_diag *mortise_diag_add(struct mortise_diags *d, const char *code,
                                      struct mortise_span span, const char *fmt,
                                      ...) MORTISE_PRINTF(4, 5);
/* The newest finding is there because of that. */
void mortise_diags_because(struct mortise_diags *d,
                           const struct mortise_err *why);
/* The code with which a file that has these findings is refused: MORTISE_EDENIED if
 * trust is the reason, MORTISE_ELIMIT if descriptors were short (the file itself may
 * be fine), else MORTISE_ECHECK. */
int mortise_diags_result(const struct mortise_diags *d);
/* `diag` NULL is fine. */
void mortise_diag_help(struct mortise_diags *d, struct mortise_diag *diag,
                       const char *fmt, ...) MORTISE_PRINTF(3, 4);

/* How many were found and are not kept; the second: of the errors. */
size_t mortise_diags_left_out(const struct mortise_diags *d);
size_t mortise_diags_errors_left_out(const struct mortise_diags *d);

/* By file, position and code, without repetitions. */
void mortise_diags_sort(struct mortise_diags *d);
/* Sort, then append all to b. */
void mortise_diags_text(struct mortise_diags *d, struct mortise_buf *b);
/* {"findings":[{path,line,col,end_line,end_col,severity,code,message,help}]};
 * `left_out`, a number, where there were more. */
void mortise_diags_json(struct mortise_diags *d, struct mortise_buf *b);
/* "alias:line:col", for errors at run time, which are recorded. */
void mortise_span_text(struct mortise_span span, struct mortise_buf *b);

#endif
