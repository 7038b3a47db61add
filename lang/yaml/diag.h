/* diag.h -- findings about files: collected, sorted, printed
 * (docs/graph.md, section 2).
 *
 *     refund.graph.yaml:18:15: error[E0301]: edge to unknown node 'aprove'
 *        18 |       - to: aprove
 *           |             ^^^^^^
 *     help: did you mean 'approve' (defined at 31:3)?
 */
#ifndef MORTISE_LANG_YAML_DIAG_H
#define MORTISE_LANG_YAML_DIAG_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/nearest.h" /* for "did you mean" */
#include "core/base/span.h"

/* The number of errors that are kept, and of warnings. */
enum { MORTISE_DIAGS_MAX = 500 };

enum mortise_severity { MORTISE_ERROR = 1, MORTISE_WARNING = 2 };

/* A finding owns the text that it prints, and outlives the file.  Most files
 * with findings are released before the findings are read. */
struct mortise_diag {
    enum mortise_severity severity;
    const char *code;         /* "E0301", static */
    struct mortise_span span; /* its `file` is NULL: use `path` */
    char *message, *help;     /* help may be NULL */
    const char *path;         /* NULL: no position */
    const char *source;       /* the line, cut if it is long; NULL: none */
    uint32_t lead, width;     /* characters of it before the caret and above
                               * it */
};

/* Used by [one thread]; the text is in the list's own arena. */
struct mortise_diags {
    struct mortise_arena arena;
    struct mortise_diag *list;
    size_t n, cap;
    size_t n_errors,
        n_warnings; /* number found; at most MORTISE_DIAGS_MAX of each are
                     * kept */
    bool failed;    /* memory ran out: findings are missing */
    bool denied;    /* trust refuses the subject of a finding */
    /* There was no free descriptor to read the subject of a finding; NULL:
     * there was one. */
    const char *short_of;
};

void mortise_diags_init(struct mortise_diags *d, const struct mortise_mem *mem);
void mortise_diags_finish(struct mortise_diags *d);

/* Returns the finding, for mortise_diag_help(); it is valid until the next one
 * is added.  NULL: it is not kept, because there are too many or memory ran
 * out.  The first letter of the code determines the severity: E... or W...
 * (codes.h lists them).  Control characters in the message are escaped, and a
 * message longer than a screen is cut. */
struct mortise_diag *mortise_diag_add(struct mortise_diags *d, const char *code,
                                      struct mortise_span span, const char *fmt,
                                      ...) MORTISE_PRINTF(4, 5);
/* Record the error that is the reason for the newest finding. */
void mortise_diags_set_reason(struct mortise_diags *d,
                              const struct mortise_err *why);
/* The error code for a file with these findings: MORTISE_EDENIED if trust is
 * the reason; MORTISE_ELIMIT if there were too few descriptors (the file itself
 * may be correct); else MORTISE_ECHECK. */
int mortise_diags_result(const struct mortise_diags *d);
/* `diag` may be NULL. */
void mortise_diag_help(struct mortise_diags *d, struct mortise_diag *diag,
                       const char *fmt, ...) MORTISE_PRINTF(3, 4);

/* Number of findings that are not kept; the second function: of errors only. */
size_t mortise_diags_count_lost(const struct mortise_diags *d);
size_t mortise_diags_count_lost_errors(const struct mortise_diags *d);

/* By file, position and code, without duplicates. */
void mortise_diags_sort(struct mortise_diags *d);
/* Sort, then append all to b. */
void mortise_diags_format(struct mortise_diags *d, struct mortise_buf *b);
/* {"findings":[{path,line,col,end_line,end_col,severity,code,message,help}]};
 * and the number `left_out`, if there were more. */
void mortise_diags_json(struct mortise_diags *d, struct mortise_buf *b);

#endif
