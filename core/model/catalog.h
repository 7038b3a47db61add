/* catalog.h -- what a graph needs to know of its surroundings to be checked.
 * Plugins: filled from manifests alone (no plugin code runs), by who owns the
 * plugins.  Files: those that the graph names. */
#ifndef MORTISE_MODEL_CATALOG_H
#define MORTISE_MODEL_CATALOG_H

#include "core/base/buf.h"
#include "lang/config/limits.h"
#include "lang/config/policy.h"
#include "lang/schema/schema.h"
#include "core/json/secret.h"
#include "core/json/usage.h"
#include "lang/yaml/codes.h"

enum mortise_effect { /* in order of strictness */
                      MORTISE_PURE = 1,
                      MORTISE_READ = 2,
                      MORTISE_WRITE = 3,
                      MORTISE_EXTERNAL = 4
};

struct mortise_operation { /* lives as long as the catalogue */
    const char *plugin, *name, *description; /* each is there; "": nothing */
    enum mortise_effect effect;
    bool idempotent, reconcile;
    uint64_t timeout_ms; /* 0: none given */
    struct mortise_usage_bound usage;
    const struct mortise_schema *input, *output; /* NULL: anything */
    /* What a person may say that a step of its own (journal.begin/1) gave;
     * NULL: anything. */
    const struct mortise_schema *step_result;
    /* intent: steps.  What it does to the world it does by asking the host, and
     * nothing besides: its effects are those of its steps.  Else each entry of
     * a call has an intent of its own. */
    bool steps;
    bool asks_models; /* by the host, which tells what that costs */
    /* Where its arguments may refer to secrets. */
    struct mortise_secret_places secrets;
    bool ask;    /* the deployment wants each call approved */
    bool pinned; /* the deployment's lock defines it, and so does each run */
    /* NULL, or: nothing is known of it but its name, and the rest stands for
     * that.  Runs count here when they use the rest all the same. */
    uint64_t *guesses;
    /* Its arguments name what it acts on: `policy` judges each call by this name,
     * too (mortise_operation_judge()).  NULL: they do not, or nobody judges. */
    const char *judged_as;
    const struct mortise_policy *policy;
};

/* What an operation declares, for runs as they are replayed. */
bool mortise_operation_is_idempotent(const struct mortise_operation *op);
bool mortise_operation_asks_models(const struct mortise_operation *op);
/* What the deployment says of a call with these arguments, which the operation's
 * schema takes.  MORTISE_DENY: *why says so (MORTISE_EDENIED). */
enum mortise_judgement
mortise_operation_judge(const struct mortise_operation *op, const json_t *args,
                        struct mortise_err *why);

/* Where the text of a file comes from that a graph names. */
struct mortise_graph_files {
    void *ud;
    /* Append the file of a path; or why not. */
    int (*read)(void *ud, const char *path, struct mortise_buf *text,
                struct mortise_err *why);
    /* Call fn with the path of each graph file (*.graph.yaml) of a directory
     * ("": where we are), until it gives other than MORTISE_OK. */
    int (*list)(void *ud, const char *dir,
                int (*fn)(void *into, const char *path), void *into,
                struct mortise_err *why);
    bool pinned; /* they are a run's, with what its patterns stood for */
};

struct mortise_catalog {
    void *ud;
    /* NULL when there is none of that name; *why then says so in a sentence
     * with what to do ("no plugin 'acme.pay' in ./plugins; did you mean ...",
     * "plugin 'file' has no operation 'wirte'; did you mean 'write'?").
     * MORTISE_ECONFIG: there is one, and the deployment denies it.  One that is
     * given with MORTISE_EINVAL in *why (else untouched) cannot be called: its
     * plugin has no config, and wants one. */
    const struct mortise_operation *(*operation)(void *ud, const char *plugin,
                                                 const char *op,
                                                 struct mortise_err *why);
    /* Call fn with each operation that is installed, sorted, until it gives
     * other than MORTISE_OK; NULL: nobody knows. */
    int (*operations)(void *ud,
                      int (*fn)(void *into, const char *plugin, const char *op),
                      void *into, struct mortise_err *why);
    /* MORTISE_OK when a guardrail answers to this id; MORTISE_EINVAL as for an
     * operation. */
    int (*guardrail)(void *ud, const char *id, struct mortise_err *why);
    /* MORTISE_OK when the plugin may use the secret of this name; NULL: nobody
     * asks. */
    int (*secret)(void *ud, const char *plugin, const char *name,
                  struct mortise_err *why);
    /* MORTISE_OK when the operation may have the deployment's program of this
     * name run; NULL: nobody asks. */
    int (*program)(void *ud, const struct mortise_operation *op,
                   const char *name, struct mortise_err *why);
    /* MORTISE_OK when the deployment has a model under this alias; *priced: it
     * says what it costs.  NULL: nobody asks. */
    int (*model)(void *ud, const char *alias, bool *priced,
                 struct mortise_err *why);
    /* MORTISE_OK when the deployment has a memory; *as_of: it can be read as of
     * an earlier time.  NULL: nobody asks. */
    int (*memory)(void *ud, bool *as_of, struct mortise_err *why);
    /* MORTISE_OK when the deployment has plugins that discover; fn is called
     * with the name of each in the graph's `plugins`.  NULL: nobody asks. */
    int (*discovery)(void *ud, void (*fn)(void *into, const char *name),
                     void *into, struct mortise_err *why);
    /* PLUGIN/OPERATION that nodes of this type run; NULL, or no such function:
     * the language's own. */
    const char *(*executor)(void *ud, const char *type);
    const struct mortise_bounds *limits;     /* the deployment's; NULL: none */
    const struct mortise_graph_files *files; /* NULL: nothing is found */
    /* The codes that errors of runs have, as far as they are known: a retry_on
     * that is one of them but for a slip is warned of.  NULL: nobody is. */
    const struct mortise_code *error_codes;
    size_t n_error_codes;
    bool advise; /* warn also of what is right and wants to be known */
};

#endif
