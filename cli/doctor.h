/* doctor.h -- shared by the files of `mortise doctor`. */
#ifndef MORTISE_CLI_DOCTOR_H
#define MORTISE_CLI_DOCTOR_H

#include "cli/cli.h"

enum mortise_health {
    MORTISE_DOCTOR_OK,
    MORTISE_DOCTOR_WARN,
    MORTISE_DOCTOR_FAIL
};

struct mortise_doctor {
    struct mortise_cli *cli;
    unsigned n_warned, n_unhealthy;
};

/* doctor_say.c.  Print one line: the result, and how to correct it (NULL:
 * nothing) if it is not healthy. */
void mortise_doctor_report(struct mortise_doctor *d, enum mortise_health health,
                           const char *what, const char *remedy,
                           const char *fmt, ...) MORTISE_PRINTF(5, 6);

/* doctor_host.c */
void mortise_doctor_check_host(struct mortise_doctor *d);
/* doctor_store.c */
void mortise_doctor_check_store(struct mortise_doctor *d,
                                const struct mortise_settings *settings);
/* doctor_worker.c */
void mortise_doctor_check_worker(struct mortise_doctor *d,
                                 const struct mortise_settings *settings);
/* doctor_memory.c */
struct mortise_plugins;
void mortise_doctor_check_memory(struct mortise_doctor *d,
                                 const struct mortise_settings *settings,
                                 struct mortise_plugins *plugins);
/* doctor_paths.c */
void mortise_doctor_check_paths(struct mortise_doctor *d,
                                const struct mortise_deployment *deployment,
                                struct mortise_plugins *plugins);
/* doctor_mcp.c */
void mortise_doctor_check_mcp(struct mortise_doctor *d,
                              const struct mortise_deployment *deployment);

#endif
