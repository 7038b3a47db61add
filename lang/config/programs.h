/* programs.h -- `programs` of a deployment: what plugins may have run, each by
 * a name, and what it may do. */
#ifndef MORTISE_LANG_CONFIG_PROGRAMS_H
#define MORTISE_LANG_CONFIG_PROGRAMS_H

#include <sys/types.h>

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

struct mortise_program {
    const char *name;
    const char *path; /* resolved, like these; NULL: not said */
    const char *dir;  /* where it works; NULL: not said */
    struct mortise_paths read, write;
    const char *const *args; /* ahead of what a graph says */
    size_t n_args;
    const char *user; /* who it runs as; NULL: not said */
    uid_t uid;        /* of `user`, like this */
    gid_t gid;
    bool online;     /* it may use the network */
    bool reads;      /* it changes nothing, whatever its arguments are */
    uint64_t memory; /* bytes of its data; 0: not bounded */
};

struct mortise_programs { /* in an arena */
    const struct mortise_program *list;
    size_t n;
};

/* What may stand in one. */
extern const struct mortise_place mortise_program_place;

void mortise_programs_read(struct mortise_programs *out,
                           const struct mortise_yaml *map,
                           struct mortise_config_reading *r);
/* Its `user`, of a mortise_program. */
void mortise_program_read_user(void *ctx, void *into,
                               const struct mortise_slot *slot);
/* MORTISE_OK, or MORTISE_ENOTFOUND with which one may be meant. */
int mortise_program_find(const struct mortise_programs *programs,
                         const char *name, const struct mortise_program **out,
                         struct mortise_err *why);

/* MORTISE_OK, or MORTISE_EDENIED: it is not declared that it changes nothing. */
int mortise_program_only_reads(const struct mortise_program *program,
                               struct mortise_err *why);

#endif
