/* launching.h -- how a program of the deployment is started: which it is, and the
 * words of its launch (worker/launch.h), for the methods that do.  [loop] */
#ifndef MORTISE_SERVICES_PROCESS_LAUNCHING_H
#define MORTISE_SERVICES_PROCESS_LAUNCHING_H

#include "core/base/buf.h"
#include "lang/config/mcp.h"
#include "core/engine/runs/host_calls.h"

/* A server of tools.mcp is a program with an environment. */
struct mortise_launched {
    const struct mortise_program *program;
    struct mortise_mcp_texts env;
};

/* The program, or the server, of that name, which the plugin that asks may have
 * run.  Else MORTISE_ENOTFOUND, MORTISE_ECONFIG or MORTISE_ENOMEM with words. */
int mortise_launching_find(const struct mortise_asked *a, const char *name,
                           struct mortise_launched *out,
                           struct mortise_err *err);
int mortise_launching_find_server(const struct mortise_asked *a,
                                  const char *name,
                                  struct mortise_launched *out,
                                  struct mortise_err *err);
/* mortise_secret_await() for what its environment refers to. */
int mortise_launching_await(struct mortise_asked *a,
                            const struct mortise_launched *what,
                            void (*then)(struct mortise_asked *a),
                            struct mortise_err *err);

/* The directory that it starts in. */
const char *mortise_launching_dir(const struct mortise_program *p);
/* What the deployment says of it: which file, its first arguments, where it
 * works, and what it may touch.  MORTISE_ENOTFOUND: no such file is on PATH. */
int mortise_launching_program(struct mortise_buf *words,
                              const struct mortise_asked *a,
                              const struct mortise_program *p,
                              struct mortise_err *err);
/* All that there is to be said of it, its environment included, whose secrets
 * must be there. */
int mortise_launching_all(struct mortise_buf *words,
                          const struct mortise_asked *a,
                          const struct mortise_launched *what,
                          struct mortise_err *err);
/* Who it runs as, where the engine, of the store at that path, is root. */
void mortise_launching_user(struct mortise_buf *words, const char *store,
                            const struct mortise_program *p);
void mortise_launching_arg(struct mortise_buf *words, const char *arg);
void mortise_launching_variable(struct mortise_buf *words, const char *name,
                                const char *value);
/* The value that a reference to a secret stands for, which must be there. */
int mortise_launching_secret(struct mortise_buf *words,
                             const struct mortise_asked *a, const char *name,
                             const char *reference, struct mortise_err *err);
/* PATH and LANG, unless `has` says that somebody else gives them. */
void mortise_launching_defaults(struct mortise_buf *words,
                                bool (*has)(const void *ud, const char *name),
                                const void *ud);
/* They may hold secrets. */
void mortise_launching_wipe(struct mortise_buf *words);

/* What an ask is answered with that could not be started: MORTISE_S_... */
int32_t mortise_launching_status(int rv);

#endif
