/* casereader.h -- a Test file while it is being read: casefile.c, the file and
 * what is expected, casescript.c, who answers, and caseevents.c. */
#ifndef MORTISE_TESTKIT_CASES_CASEREADER_H
#define MORTISE_TESTKIT_CASES_CASEREADER_H

#include "testkit/cases/casefile.h"

struct mortise_case_reader {
    struct mortise_casefile *f;
    struct mortise_diags *diags;
    bool nomem;
};

/* From the file's arena, zeroed; NULL sets nomem. */
void *mortise_case_take(struct mortise_case_reader *r, size_t size);

/* Of one event that is expected, a map.  (caseevents.c) */
void mortise_case_check_event(const struct mortise_yaml *event,
                              struct mortise_diags *diags);

/* ---- casescript.c: rows of a case, and who reads them -------------------- */

extern const struct mortise_key mortise_case_answers_row;
extern const struct mortise_key mortise_case_verdicts_row;
extern const struct mortise_key mortise_case_people_row;

mortise_key_fn mortise_case_read_scripts;

/* For a key of a case whose value maps names to what `row` says. */
#define MORTISE_CASE_SCRIPTS(row, field)                                       \
    .value = MORTISE_V_MAP, .each = &(row), .read = mortise_case_read_scripts, \
    .at = offsetof(struct mortise_case, field)

#endif
