/* catalog.h -- the surroundings that a graph is checked against.
 *
 * Plugins: filled from manifests alone, without running plugin code, by the
 * owner of the plugins.  Files: those that the graph names. */
#ifndef MORTISE_MODEL_CATALOG_H
#define MORTISE_MODEL_CATALOG_H

#include "core/base/buf.h"
#include "core/model/policy.h"
#include "core/json/schema.h"
#include "core/json/secret.h"
#include "core/json/usage.h"

enum mortise_effect { /* in order of strictness */
                      MORTISE_PURE = 1,
                      MORTISE_READ = 2,
                      MORTISE_WRITE = 3,
                      MORTISE_EXTERNAL = 4
};

struct mortise_operation { /* lives as long as the catalogue */
    const char *plugin, *name, *description; /* never NULL; "": none */
    enum mortise_effect effect;
    bool idempotent, reconcile;
    uint64_t timeout_ms; /* 0: none */
    struct mortise_usage_bound usage;
    const struct mortise_schema *input, *output; /* NULL: anything */
    /* The schema of a result that a person may supply for one of its own steps
     * (journal.begin/1); NULL: anything. */
    const struct mortise_schema *step_result;
    /* `intent: steps`: it has effects only through asks of the host, so its
     * effects are those of its steps.  Otherwise each entry of a call has its
     * own intent. */
    bool steps;
    bool asks_models; /* through the host, which reports the usage */
    /* The places in its arguments that may refer to secrets. */
    struct mortise_secret_places secrets;
    bool ask;    /* the deployment requires approval of each call */
    bool pinned; /* defined by the deployment's lock, which runs pin */
    /* NULL; or: only the name is known, and the other fields are guesses.  A
     * run that uses one of them increments this counter. */
    uint64_t *guesses;
    /* A second name, made from the arguments, by which `policy` also judges
     * each call (mortise_operation_judge()).  NULL: there is none, or no
     * policy. */
    const char *judged_as;
    const struct mortise_policy *policy;
};

/* Declarations of an operation, for the replay of runs; both count guesses. */
bool mortise_operation_is_idempotent(const struct mortise_operation *op);
bool mortise_operation_asks_models(const struct mortise_operation *op);
/* The deployment's judgement of a call with these arguments, which must match
 * the operation's schema.  MORTISE_DENY: *why has the reason
 * (MORTISE_EDENIED). */
enum mortise_judgement
mortise_operation_judge(const struct mortise_operation *op, const json_t *args,
                        struct mortise_err *why);

/* The source of files that a graph names. */
struct mortise_graph_files {
    void *ud;
    /* Append the contents of a file, or give the reason of an error. */
    int (*read)(void *ud, const char *path, struct mortise_buf *text,
                struct mortise_err *why);
    /* Call fn with the path of each graph file (*.graph.yaml) in a directory
     * ("": the current one), until it returns other than MORTISE_OK. */
    int (*list)(void *ud, const char *dir,
                int (*fn)(void *into, const char *path), void *into,
                struct mortise_err *why);
    bool pinned; /* files of a run, with its resolved patterns */
};

struct mortise_bounds; /* lang/config/limits.h */
struct mortise_code;   /* lang/yaml/codes.h */

struct mortise_catalog {
    void *ud;
    /* Find an operation.  NULL if it does not exist; *why then has a sentence
     * with the remedy ("no plugin 'acme.pay' in ./plugins; did you mean ...",
     * "plugin 'file' has no operation 'wirte'; did you mean 'write'?").
     * MORTISE_ECONFIG: it exists, but the deployment denies it.  If an
     * operation is returned with MORTISE_EINVAL in *why (else unchanged), it
     * cannot be called: its plugin lacks a required config. */
    const struct mortise_operation *(*operation)(void *ud, const char *plugin,
                                                 const char *op,
                                                 struct mortise_err *why);
    /* Call fn with each installed operation, sorted, until it returns other
     * than MORTISE_OK; NULL: the list is unknown. */
    int (*operations)(void *ud,
                      int (*fn)(void *into, const char *plugin, const char *op),
                      void *into, struct mortise_err *why);
    /* MORTISE_OK if a guardrail with this id exists; MORTISE_EINVAL as for an
     * operation. */
    int (*guardrail)(void *ud, const char *id, struct mortise_err *why);
    /* MORTISE_OK if the plugin may use this secret; NULL: not checked. */
    int (*secret)(void *ud, const char *plugin, const char *name,
                  struct mortise_err *why);
    /* MORTISE_OK if the operation may run this program of the deployment; NULL:
     * not checked. */
    int (*program)(void *ud, const struct mortise_operation *op,
                   const char *name, struct mortise_err *why);
    /* MORTISE_OK if the deployment has a model with this alias; *priced: its
     * price is known.  NULL: not checked. */
    int (*model)(void *ud, const char *alias, bool *priced,
                 struct mortise_err *why);
    /* MORTISE_OK if the deployment has a memory; *as_of: it can be read as of
     * an earlier time.  NULL: not checked. */
    int (*memory)(void *ud, bool *as_of, struct mortise_err *why);
    /* MORTISE_OK if the deployment has discovery plugins; fn gets the name of
     * each, as a graph lists it in `plugins`.  NULL: not checked. */
    int (*discovery)(void *ud, void (*fn)(void *into, const char *name),
                     void *into, struct mortise_err *why);
    /* PLUGIN/OPERATION that implements nodes of this type; NULL, or no such
     * function: the default of the language. */
    const char *(*executor)(void *ud, const char *type);
    const struct mortise_bounds *limits;     /* the deployment's; NULL: none */
    const struct mortise_graph_files *files; /* NULL: no files */
    /* The known codes of run errors.  A retry_on that is almost one of them
     * gets a warning.  NULL: no warnings. */
    const struct mortise_code *error_codes;
    size_t n_error_codes;
    bool advise; /* also report hints about valid constructs */
};

#endif
