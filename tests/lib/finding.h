/* finding.h -- the guardrails that find things in text and mask them
 * (plugins/finder.h), from any host's point of view: what holds for each. */
#ifndef TESTS_LIB_FINDING_H
#define TESTS_LIB_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/barehost.h"
#include "lib/corpus.h"

extern struct mortise_host finding_host;
extern char *finding_reason;   /* of the last check */
extern bool finding_violation; /* what it was */

/* Around each test: the plugin, with an empty config. */
void finding_begin(const char *plugin);
void finding_begin_with(const char *plugin, const char *config);
void finding_end(void);
/* Another config, which must be good. */
void finding_use(const char *config);
mortise_status finding_check(const char *json);
/* No violation, and nothing is offered. */
void finding_passes(const char *json);
/* A violation, with this replacement, which then passes itself. */
void finding_masks(const char *json, const char *want);
/* Refused, with these words. */
void finding_refuses(const char *config, const char *words);

/* Of one kind, on its own: precision and recall over the texts of a file
 * (lib/corpus.h) are at least so.  MORTISE_CORPUS=1 prints them, and what it
 * is wrong about. */
void finding_is_right(const char *kind, const char *file, double least);
/* The figures, of one kind on its own, or (NULL) of all together. */
struct corpus_count finding_counts(const char *kind, const char *file);
/* Of pieces in any order, a NULL behind them, in each style: what it offers
 * passes. */
void finding_offers_pass(const char *const *pieces);
/* ... with that config alone. */
void finding_offers_of(const char *const *pieces, const char *config);
/* Likewise, but all that is asked is that each has a verdict. */
void finding_verdicts_of(const char *const *pieces, const char *config);
/* Of a file of whole texts, a JSON string's content a line, with + or - in
 * front: how often a violation is one. */
struct corpus_count finding_judges(const char *file);
/* A million bytes of each of these, a NULL behind them, take a time that has
 * nothing to do with what they are. */
void finding_does_not_crawl(const char *const *units);
/* Each allocation refused: an error or the right verdict, never a pass. */
void finding_survives_oom(const char *json, const char *want,
                          const char *config);
/* Likewise of one that offers nothing. */
void finding_survives_oom_of(const char *json, const char *config);
/* Likewise of one that has nothing to say then: always the error that it is. */
void finding_errs_in_oom(const char *json, const char *config);

#endif
