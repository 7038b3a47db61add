/* text.h -- what the files of the `text` executor share.
 *
 * text.c has the plugin, its page and the helpers below; lines.c, template.c,
 * pieces.c and diff.c the operations. */
#ifndef PLUGINS_TEXT_H
#define PLUGINS_TEXT_H

#include "../../regex.h"

enum { TEXT_ROOM = 16 << 10 }; /* of an emitter, on the stack */

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
};

/* One call, as its functions need it. */
struct job {
    struct mortise_inst *inst;
    mortise_call call;
    mortise_jv body;
    struct regex_run run;
    mortise_emitter out;
    char room[TEXT_ROOM];
};

/* ---- saying no --------------------------------------------------------- */

struct reason {
    const char *code, *klass;
    mortise_status status;
};

extern const struct reason text_invalid, text_bad_pattern, text_bad_template,
    text_no_value, text_limit, text_too_large, text_timeout, text_cancelled,
    text_unsupported;

__attribute__((format(printf, 3, 4))) mortise_status
text_no(const struct job *j, const struct reason *r, const char *fmt, ...);
mortise_status text_no_mem(const struct job *j);
/* Why matching, or any long work that asks regex_asked(), ended early. */
mortise_status text_no_result(const struct job *j, enum regex_result why);

/* ---- arguments --------------------------------------------------------- */

/* The content of a string value; *room (the caller frees it) holds it where
 * it had escapes. */
mortise_status text_string(const struct job *j, const char *what, mortise_jv v,
                           char **room, mortise_str *out);
/* A whole number of the body within bounds; *out keeps its default where it
 * is absent. */
mortise_status text_number(const struct job *j, const char *name, int64_t min,
                           int64_t max, int64_t *out);
/* Compile a pattern, under the body's ignore_case; `name` for people. */
mortise_status text_pattern(const struct job *j, const char *name, mortise_jv v,
                            pcre2_code **out);

/* ---- results ----------------------------------------------------------- */

mortise_jw *text_begin(struct job *j); /* an object is open */
mortise_status text_finish(struct job *j);
void text_put_number(mortise_jw *w, const char *name, uint64_t v);

/* ---- operations: text.c's page says what each does --------------------- */

mortise_status text_lines(struct job *j);
mortise_status text_grep(struct job *j);
mortise_status text_count(struct job *j);
mortise_status text_top(struct job *j);
mortise_status text_template(struct job *j);
mortise_status text_split(struct job *j);
mortise_status text_join(struct job *j);
mortise_status text_hash(struct job *j);
mortise_status text_diff(struct job *j);

#endif
