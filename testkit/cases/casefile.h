/* casefile.h -- a Test file: cases of a graph, with scripted answers and what
 * is expected of them. */
#ifndef MORTISE_TESTKIT_CASES_CASEFILE_H
#define MORTISE_TESTKIT_CASES_CASEFILE_H

#include "lang/config/models.h"
#include "core/model/graph.h"
#include "core/json/ending.h"
#include "lang/yaml/keys.h"

/* What a script says of an effect that a crash left in doubt. */
enum mortise_case_doubt {
    MORTISE_CASE_UNTOLD, /* nothing: then it must not come to that */
    MORTISE_CASE_DONE,
    MORTISE_CASE_RETRY,
    MORTISE_CASE_FAIL
};

/* One answer instead of a plugin's; trees are lent by the file. */
struct mortise_case_answer {
    const struct mortise_yaml *args;   /* NULL: whatever they are */
    const char *go_to;                 /* NULL: along the edges */
    const struct mortise_yaml *update; /* NULL: none */
    const struct mortise_yaml *usage;  /* NULL: none */
    const struct mortise_yaml *output; /* NULL: null, or an error */
    const char *code;                  /* of an error; NULL: none */
    const char *error_class, *message; /* of an error */
    struct mortise_ending ending;      /* of an error */
    const char *doubt;     /* the first time nobody hears, and why; or NULL */
    const char *violation; /* guardrails; NULL: it passes */
    uint64_t after_ms;
    enum mortise_case_doubt in_doubt;
    bool passes;
};

enum mortise_case_deed {
    MORTISE_CASE_APPROVE = 1,
    MORTISE_CASE_REJECT,
    MORTISE_CASE_ANSWER,
    MORTISE_CASE_TIMEOUT /* nobody answers: the time runs out */
};

/* What a person does when asked. */
struct mortise_case_deeds {
    enum mortise_case_deed deed; /* what the rest comes to */
    bool approves, times_out;
    const char *reason;                /* of a rejection; NULL: it is none */
    const char *by;                    /* NULL: this user */
    const struct mortise_yaml *answer; /* NULL: none */
    const struct mortise_yaml *args;   /* for a call; NULL: as they are */
};

/* What one item of a script says, by the key that the script stands under. */
union mortise_case_said {
    struct mortise_case_answer answer; /* operations, nodes, guardrails */
    struct mortise_case_deeds deeds;   /* people */
};

/* What answers one operation, node or guardrail, or the person of a node. */
struct mortise_case_script {
    const struct mortise_yaml *name;
    union mortise_case_said *list;
    size_t n;
    bool once; /* it was written as a list: each answer is given once, but
                  those with `args` */
};

struct mortise_case_scripts {
    struct mortise_case_script *list;
    size_t n;
};

/* What must hold in the end; NULL: nothing was said of it. */
struct mortise_case_expect {
    const struct mortise_yaml *status, *reason, *error;
    const struct mortise_yaml *path;             /* a list: all, in order */
    const struct mortise_yaml *contains, *lacks; /* lists */
    const struct mortise_yaml *scratch, *artifacts;
    const struct mortise_yaml *events;
    struct mortise_slot elapsed, within; /* ms; value NULL: not said */
    const struct mortise_yaml *parallel; /* {NODE: N} */
};

struct mortise_case {
    const struct mortise_yaml *name;
    const struct mortise_yaml *input; /* NULL: {} */
    struct mortise_case_scripts operations, nodes, guardrails, people;
    const struct mortise_yaml *memory, *discovery; /* lists of texts, or NULL */
    const struct mortise_yaml *real;               /* of plugins, or NULL */
    struct mortise_case_expect expect;
};

struct mortise_casefile {
    struct mortise_arena arena;
    const struct mortise_yaml *tree;
    const struct mortise_yaml *graph_at;
    const char *graph;      /* its path, from where the Test file is */
    const char *deployment; /* NULL: as for any graph */
    struct mortise_case *cases;
    size_t n_cases;
};

/* The script of that name, or NULL. */
const struct mortise_case_script *
mortise_case_script(const struct mortise_case_scripts *scripts,
                    const char *name);

/* Read one.  Findings go to diags; MORTISE_ECHECK when one is an error. */
int mortise_casefile_read(struct mortise_casefile **out,
                          const struct mortise_mem *mem, const char *path,
                          const char *text, size_t n,
                          struct mortise_diags *diags);
/* What an answer's `usage` says; the caller's to finish. */
int mortise_case_usage(const struct mortise_yaml *said,
                       struct mortise_usage *out, struct mortise_err *err);
void mortise_casefile_free(struct mortise_casefile *f); /* NULL is fine */

/* Does all that it names stand in its graph, or in the deployment's models?
 * Findings go to diags. */
int mortise_casefile_check(const struct mortise_casefile *f,
                           const struct mortise_graph *g,
                           const struct mortise_models *models,
                           struct mortise_diags *diags);

/* casefits.c: what is scripted and expected, against schemas and writes. */
int mortise_case_fits_node(const struct mortise_node *n,
                           const struct mortise_case_script *script,
                           struct mortise_diags *diags);
int mortise_case_fits_operation(const struct mortise_operation *op,
                                const struct mortise_case_script *script,
                                struct mortise_diags *diags);
/* What a person answers a human node with, or approves a call with. */
int mortise_case_fits_person(const struct mortise_node *n,
                             const struct mortise_case_script *script,
                             struct mortise_diags *diags);
void mortise_case_fits_state(const struct mortise_graph *g,
                             const struct mortise_case_expect *e,
                             struct mortise_diags *diags);

/* What may stand in one. */
extern const struct mortise_place mortise_casefile_place;

#endif
