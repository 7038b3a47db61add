/* opt.h -- the command line: what a subcommand takes, read by table. */
#ifndef MORTISE_CLI_OPT_H
#define MORTISE_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/out.h"
#include "core/mortise.h"

/* Everything that any subcommand can be told.  One struct for all, so that
 * an option means the same wherever it is taken. */
struct mortise_args {
    /* where */
    const char *store, *deployment, *tenant;
    /* how to print */
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
    const char *graphs[16];
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
    /* plugins that are begun */
    const char *kind;

    /* expressions */
    const char *vars;

    /* engines */
    bool install_user_service;

    char **operands; /* of the caller's argv */
    size_t n_operands;
};

struct mortise_opt {
    const char *name; /* without its dashes */
    const char *arg;  /* what the value is called in --help; NULL: a flag */
    size_t at;        /* offset in struct mortise_args: const char * or bool */
    const char *help; /* a sentence without its full stop */
    char letter;      /* or 0 */
    unsigned char more; /* so often again; `at` is an array then */
};

/* `field` of struct mortise_args, if it is of that type. */
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

/* Those that most subcommands take. */
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
/* The last options of what is about a store, and about its runs. */
#define MORTISE_OPTS_OF_STORE                                                  \
    MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_STORE, MORTISE_OPT_END
#define MORTISE_OPTS_OF_RUNS                                                   \
    MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_STORE, MORTISE_OPT_TENANT,             \
        MORTISE_OPT_END
#define MORTISE_OPT_JSON(what) MORTISE_OPT_FLAG("json", json, what)
/* The last options of what sets a run going. */
#define MORTISE_OPTS_OF_GOING                                                  \
    MORTISE_OPT_JSON("One event a line, then the status of the run"),          \
        MORTISE_OPT_DEPLOYMENT, MORTISE_OPT_DOWNGRADE, MORTISE_OPT_STORE,      \
        MORTISE_OPT_TENANT, MORTISE_OPT_END

/* One subcommand. */
struct mortise_cli;
struct mortise_cmd {
    const char *name;     /* "run", or "plugin list" */
    const char *operands; /* "GRAPH", "RUN [ID]", "FILE...": also how many */
    bool dashes;   /* they may begin with `-`: what names no option is one */
    bool looks;    /* it only reads, and ends: where the store does not open, a
                    copy does */
    bool salvages; /* it is what a damaged store needs */
    const char *summary;            /* one line, for the overview */
    const char *text;               /* paragraphs */
    const struct mortise_opt *opts; /* ends with MORTISE_OPT_END; NULL: none */
    unsigned exits;      /* MORTISE_EXITS(...): what it may end with */
    unsigned session;    /* MORTISE_SESSION_...: its way to the engine */
    const char *example; /* lines, without `$ ` and indent */
    /* The exit code; or an enum mortise_result, and its words in *err, which
     * are printed then. */
    int (*run)(struct mortise_cli *cli, struct mortise_err *err);
    const char *program; /* if run is NULL: the program that has the function,
                          * beside mortise-worker */
};

/* argv[0..argc) are the words behind the subcommand; they are permuted so that
 * the operands stand together.  MORTISE_EINVAL with the words of a usage error
 * otherwise.  --help wins over every error that comes after it. */
int mortise_opt_parse(struct mortise_args *args, const struct mortise_cmd *cmd,
                      int argc, char **argv, struct mortise_err *err);

/* The i-th option of a subcommand, the common ones behind its own; or NULL. */
const struct mortise_opt *mortise_opt_at(const struct mortise_cmd *cmd,
                                         size_t i);

/* The whole help text of a subcommand. */
void mortise_opt_help(struct mortise_out *o, const struct mortise_cmd *cmd);

#endif
