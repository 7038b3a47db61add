/* casereader.h -- shared by the files that read a Test file: casefile.c (file
 * and expectations), casescript.c (answers) and caseevents.c (events).
 */
#ifndef MORTISE_TESTKIT_CASES_CASEREADER_H
#define MORTISE_TESTKIT_CASES_CASEREADER_H

#include "testkit/cases/casefile.h"

struct mortise_case_reader {
    struct mortise_casefile *f;
    struct mortise_diags *diags;
    bool nomem;
};

/* Allocate zeroed memory in the file's arena; NULL sets nomem. */
void *mortise_case_alloc(struct mortise_case_reader *r, size_t size);

/* Check one expected event, which is a map.  (caseevents.c) */
void mortise_case_check_event(const struct mortise_yaml *event,
                              struct mortise_diags *diags);

/* ---- casescript.c: the keys of a case that hold scripts ---------------- */

extern const struct mortise_key mortise_case_answers_row;
extern const struct mortise_key mortise_case_verdicts_row;
extern const struct mortise_key mortise_case_people_row;

mortise_key_fn mortise_case_read_scripts;

/* A key of a case whose value maps names to items of the form `row`. */
#define MORTISE_CASE_SCRIPTS(row, field)                                       \
    .value = MORTISE_V_MAP, .each = &(row), .read = mortise_case_read_scripts, \
    .at = offsetof(struct mortise_case, field)

#endif
