/* casefile.h -- a Test file: cases of a graph with scripted answers and
 * expected results.
 */
#ifndef MORTISE_TESTKIT_CASES_CASEFILE_H
#define MORTISE_TESTKIT_CASES_CASEFILE_H

#include "lang/config/models.h"
#include "core/model/graph.h"
#include "core/json/ending.h"
#include "lang/yaml/keys.h"

/* The scripted resolution of an effect that is in doubt. */
enum mortise_case_doubt {
    MORTISE_CASE_UNSCRIPTED, /* none: the effect must not be in doubt */
    MORTISE_CASE_DONE,
    MORTISE_CASE_RETRY,
    MORTISE_CASE_FAIL
};

/* An answer in place of a plugin's; the file owns all trees. */
struct mortise_case_answer {
    const struct mortise_yaml *args;   /* NULL: any arguments */
    const char *go_to;                 /* NULL: follow the edges */
    const struct mortise_yaml *update; /* NULL: none */
    const struct mortise_yaml *usage;  /* NULL: none */
    const struct mortise_yaml *output; /* NULL: null, or an error */
    const char *code;                  /* error code; NULL: no error */
    const char *error_class, *message; /* of an error */
    struct mortise_exit_info ending;   /* of an error */
    const char *doubt;     /* the first call is in doubt, and why; or NULL */
    const char *violation; /* of a guardrail; NULL: it passes */
    uint64_t after_ms;
    enum mortise_case_doubt in_doubt;
    bool passes;
};

enum mortise_case_action {
    MORTISE_CASE_APPROVE = 1,
    MORTISE_CASE_REJECT,
    MORTISE_CASE_ANSWER,
    MORTISE_CASE_TIMEOUT /* nobody answers before the deadline */
};

/* The action of a person who is asked. */
struct mortise_case_person {
    enum mortise_case_action action_kind; /* derived from the other members */
    bool approves, times_out;
    const char *reason;                /* of a rejection; NULL: none */
    const char *by;                    /* NULL: this user */
    const struct mortise_yaml *answer; /* NULL: none */
    const struct mortise_yaml *args;   /* of a call; NULL: unchanged */
};

/* One item of a script; its key selects the member. */
union mortise_case_item {
    struct mortise_case_answer answer; /* operations, nodes, guardrails */
    struct mortise_case_person person_action; /* people */
};

/* The answers of one operation, node, guardrail or person. */
struct mortise_case_script {
    const struct mortise_yaml *name;
    union mortise_case_item *list;
    size_t n;
    bool once; /* a list: each is given once, except those with `args` */
};

struct mortise_case_scripts {
    struct mortise_case_script *list;
    size_t n;
};

/* The expected results; NULL: not checked. */
struct mortise_case_expect {
    const struct mortise_yaml *status, *reason, *error;
    const struct mortise_yaml *path;             /* all, in order */
    const struct mortise_yaml *contains, *lacks; /* lists */
    const struct mortise_yaml *scratch, *artifacts;
    const struct mortise_yaml *events;
    struct mortise_slot elapsed, within; /* ms; value NULL: not checked */
    const struct mortise_yaml *parallel; /* {NODE: N} */
};

struct mortise_case {
    const struct mortise_yaml *name;
    const struct mortise_yaml *input; /* NULL: {} */
    struct mortise_case_scripts operations, nodes, guardrails, people;
    const struct mortise_yaml *memory, *discovery; /* lists of texts, or NULL */
    const struct mortise_yaml *real;               /* plugins, or NULL */
    struct mortise_case_expect expect;
};

struct mortise_casefile {
    struct mortise_arena arena;
    const struct mortise_yaml *tree;
    const struct mortise_yaml *graph_at;
    const char *graph;      /* path, relative to the working directory */
    const char *deployment; /* NULL: the default of the graph */
    struct mortise_case *cases;
    size_t n_cases;
};

/* The script with that name, or NULL. */
const struct mortise_case_script *
mortise_case_script(const struct mortise_case_scripts *scripts,
                    const char *name);

/* Read a Test file.  Adds findings to diags; MORTISE_ECHECK if one is an
 * error. */
int mortise_casefile_read(struct mortise_casefile **out,
                          const struct mortise_mem *mem, const char *path,
                          const char *text, size_t n,
                          struct mortise_diags *diags);
/* Parse an answer's `usage`; the caller must finish it. */
int mortise_case_parse_usage(const struct mortise_yaml *said,
                             struct mortise_usage *out,
                             struct mortise_err *err);
void mortise_casefile_free(struct mortise_casefile *f); /* NULL is fine */

/* Check that all names in the file exist in its graph or in the deployment's
 * models.  Adds findings to diags. */
int mortise_casefile_check(const struct mortise_casefile *f,
                           const struct mortise_graph *g,
                           const struct mortise_models *models,
                           struct mortise_diags *diags);

/* casefits.c: check scripts and expectations against schemas and writes. */
int mortise_case_check_node(const struct mortise_node *n,
                            const struct mortise_case_script *script,
                            struct mortise_diags *diags);
int mortise_case_check_operation(const struct mortise_operation *op,
                                 const struct mortise_case_script *script,
                                 struct mortise_diags *diags);
/* Check a person's answers to a human node, or edited arguments of a call. */
int mortise_case_check_person(const struct mortise_node *n,
                              const struct mortise_case_script *script,
                              struct mortise_diags *diags);
void mortise_case_check_state(const struct mortise_graph *g,
                              const struct mortise_case_expect *e,
                              struct mortise_diags *diags);

/* The keys of a Test file. */
extern const struct mortise_place mortise_casefile_place;

#endif
