/* opt.h -- parses the command line by a table of options. */
#ifndef MORTISE_CLI_OPT_H
#define MORTISE_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/out.h"
#include "core/mortise.h"

enum { MORTISE_ARGS_GRAPHS = 16 }; /* --graph, and a NULL behind them */

/* The arguments of all subcommands in one struct, so that an option means the
 * same everywhere. */
struct mortise_args {
    /* store and deployment */
    const char *store, *deployment, *tenant;
    /* output */
    bool help, json, verbose, resolved, redacted, remove, allow_downgrade;
    const char *format;
    /* run */
    const char *input, *id;
    bool wait;
    /* commands to a run */
    bool no_continue, accept_plugins, merge, force, retry, fail, dry_run;
    const char *update, *go_to, *reason, *args, *digest, *answer, *value;
    const char *done;
    const char *raise[2];
    const char *at, *node;
    /* plans */
    const char *roles, *max_replans;
    bool departments, runs, approve;
    /* chats */
    const char *model, *instructions, *tools, *allow;
    bool go_on;
    /* lists */
    const char *after, *limit, *status, *graph, *since;
    bool follow, existing, ids, transcript, by_id;
    /* graphs */
    bool ascii, dot, mermaid;
    const char *run, *width, *output;
    /* stores */
    const char *graphs[MORTISE_ARGS_GRAPHS];
    /* plugins and keys */
    const char *key, *to, *name, *trust, *plugins, *kinds, *range, *lang;
    bool unencrypted, in_process, with_plugins, bring_up, effects;

    /* tests */
    const char *filter;
    bool crash_everywhere, coverage;
    const char *junit;

    /* MCP servers */
    bool only_check;

    /* memories */
    const char *type, *scope, *before;
    bool all, restore;
    /* new plugins */
    const char *kind;

    /* expressions */
    const char *vars;

    /* engines */
    bool install_user_service;

    char **operands; /* in the caller's argv */
    size_t n_operands;
};

struct mortise_opt {
    const char *name; /* without dashes */
    const char *arg;  /* name of the value in --help; NULL: a flag */
    size_t at;        /* offset in struct mortise_args: const char * or bool */
    const char *help; /* without a full stop */
    char letter;      /* short option, or 0 */
    unsigned char more; /* allowed repetitions; if not 0, `at` is an array */
};

/* Offset of `field` in struct mortise_args; checks its type. */
#define MORTISE_OPT_AT(type, field)                                            \
    _Generic(((struct mortise_args *)0)->field, type                           \
             : offsetof(struct mortise_args, field))
#define MORTISE_OPT_FLAG(name, field, help)                                    \
    {                                                                          \
        name, NULL, MORTISE_OPT_AT(bool, field), help, 0, 0                    \
    }
#define MORTISE_OPT_TEXT(name, arg, field, help)                               \
    {                                                                          \
        name, arg, MORTISE_OPT_AT(const char *, field), help, 0, 0             \
    }
#define MORTISE_OPT_END                                                        \
    {                                                                          \
        NULL, NULL, 0, NULL, 0, 0                                              \
    }

/* Options of most subcommands. */
#define MORTISE_OPT_STORE                                                      \
    MORTISE_OPT_TEXT("store", "DIR", store,                                    \
                     "Use this store instead of the deployment's")
#define MORTISE_OPT_DEPLOYMENT                                                 \
    MORTISE_OPT_TEXT("deployment", "FILE", deployment,                         \
                     "Use this Deployment file")
#define MORTISE_OPT_DOWNGRADE                                                  \
    MORTISE_OPT_FLAG("allow-downgrade", allow_downgrade,                       \
                     "Accept plugins and trust files that are older than\n"    \
                     "those seen before, and record the versions that are\n"   \
                     "used now as the newest")
#define MORTISE_OPT_TENANT                                                     \
    MORTISE_OPT_TEXT("tenant", "T", tenant,                                    \
                     "Namespace of runs and memory (default: default)")
/* The last options of commands that use a store, or its runs. */
#define MORTISE_OPTS_OF_STORE                                                  \
    MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_STORE, MORTISE_OPT_END
#define MORTISE_OPTS_OF_RUNS                                                   \
    MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_STORE, MORTISE_OPT_TENANT,             \
        MORTISE_OPT_END
#define MORTISE_OPT_JSON(what) MORTISE_OPT_FLAG("json", json, what)
/* The last options of commands that start or continue a run. */
#define MORTISE_OPTS_OF_CONTINUING                                             \
    MORTISE_OPT_JSON("One event a line, then the status of the run"),          \
        MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_DOWNGRADE, MORTISE_OPT_STORE,      \
        MORTISE_OPT_TENANT, MORTISE_OPT_END

/* A subcommand. */
struct mortise_cli;
struct mortise_cmd {
    const char *name;     /* "run", or "plugin list" */
    const char *operands; /* "GRAPH", "RUN [ID]", "FILE...": and number */
    bool dashes;   /* operands may begin with `-` if they are not options */
    bool looks;    /* reads only: if the store cannot be opened,
                    it uses a copy */
    bool salvages; /* for use on damaged stores */
    const char *summary;            /* one line, for the overview */
    const char *text;               /* further paragraphs */
    const struct mortise_opt *opts; /* ends with MORTISE_OPT_END; NULL: none */
    unsigned exits;      /* MORTISE_EXITS(...): possible exit codes */
    unsigned session;    /* MORTISE_SESSION_...: how to reach the engine */
    const char *example; /* lines without `$ ` and indent */
    /* Returns the exit code, or an enum mortise_result with an error in *err,
     * which is then printed. */
    int (*run)(struct mortise_cli *cli, struct mortise_err *err);
    const char *program; /* if run is NULL: the program that has the function,
                          * beside mortise-worker */
};

/* Parse argv[0..argc), the words after the subcommand.  argv is permuted so
 * that the operands are adjacent.  MORTISE_EINVAL: a usage error.  Errors after
 * --help are ignored. */
int mortise_opt_parse(struct mortise_args *args, const struct mortise_cmd *cmd,
                      int argc, char **argv, struct mortise_err *err);

/* Get the i-th option of a subcommand: first its own, then the common ones; or
 * NULL. */
const struct mortise_opt *mortise_opt_get(const struct mortise_cmd *cmd,
                                          size_t i);

/* Print the help text of a subcommand. */
void mortise_opt_print_help(struct mortise_out *o,
                            const struct mortise_cmd *cmd);

#endif
