/* launching.h -- builds the launch words of a deployment's programs
 * (worker/launch.h).
 *
 * For the host calls that start programs.  [loop] */
#ifndef MORTISE_SERVICES_PROCESS_LAUNCHING_H
#define MORTISE_SERVICES_PROCESS_LAUNCHING_H

#include "core/base/buf.h"
#include "lang/config/mcp.h"
#include "core/engine/runs/host_calls.h"

/* A program; for a server of tools.mcp, with an environment. */
struct mortise_launch_target {
    const struct mortise_program *program;
    struct mortise_mcp_texts env;
};

/* Find the program, or the server, that the calling plugin may start.  Errors:
 * MORTISE_ENOTFOUND, MORTISE_ECONFIG, MORTISE_ENOMEM. */
int mortise_launching_find(const struct mortise_asked *a, const char *name,
                           struct mortise_launch_target *out,
                           struct mortise_err *err);
int mortise_launching_find_server(const struct mortise_asked *a,
                                  const char *name,
                                  struct mortise_launch_target *out,
                                  struct mortise_err *err);
/* Wait for the secrets of the environment, as mortise_secret_await() does. */
int mortise_launching_await_secrets(struct mortise_asked *a,
                                    const struct mortise_launch_target *what,
                                    void (*then)(struct mortise_asked *a),
                                    struct mortise_err *err);

/* The directory that the program starts in. */
const char *mortise_launching_get_dir(const struct mortise_program *p);
/* Put the words from the deployment: file, first arguments, directory, and
 * limits.  MORTISE_ENOTFOUND: PATH has no such file. */
int mortise_launching_add_program(struct mortise_buf *words,
                                  const struct mortise_asked *a,
                                  const struct mortise_program *p,
                                  struct mortise_err *err);
/* Put all words, including the environment.  Its secrets must be available. */
int mortise_launching_add_all(struct mortise_buf *words,
                              const struct mortise_asked *a,
                              const struct mortise_launch_target *what,
                              struct mortise_err *err);
/* Put the user to run as, if the engine is root; `store` is the path of its
 * store. */
void mortise_launching_add_user(struct mortise_buf *words, const char *store,
                                const struct mortise_program *p);
void mortise_launching_add_arg(struct mortise_buf *words, const char *arg);
void mortise_launching_add_variable(struct mortise_buf *words, const char *name,
                                    const char *value);
/* Put a variable whose value refers to a secret, which must be available. */
int mortise_launching_add_secret(struct mortise_buf *words,
                                 const struct mortise_asked *a,
                                 const char *name, const char *reference,
                                 struct mortise_err *err);
/* Put PATH and LANG, except those for which `has` is true. */
void mortise_launching_add_defaults(struct mortise_buf *words,
                                    bool (*has)(const void *ud,
                                                const char *name),
                                    const void *ud);
/* Wipe the words, which may contain secrets. */
void mortise_launching_wipe(struct mortise_buf *words);

/* The status (MORTISE_S_...) of a call whose program could not be started. */
int32_t mortise_launching_map_error(int rv);

#endif
