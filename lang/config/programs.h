/* programs.h -- `programs` of a deployment: the programs that plugins may run,
 * and their access rights. */
#ifndef MORTISE_LANG_CONFIG_PROGRAMS_H
#define MORTISE_LANG_CONFIG_PROGRAMS_H

#include <sys/types.h>

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

struct mortise_program {
    const char *name;
    const char *path; /* resolved, like the paths below; NULL: not set */
    const char *dir;  /* working directory; NULL: not set */
    struct mortise_paths read, write;
    const char *const *args; /* before the graph's arguments */
    size_t n_args;
    const char *user; /* the user that it runs as; NULL: not set */
    uid_t uid;        /* of `user`, like gid */
    gid_t gid;
    bool online;     /* it may use the network */
    bool reads;      /* it changes nothing, whatever its arguments */
    uint64_t memory; /* limit of its data in bytes; 0: none */
};

struct mortise_programs { /* in an arena */
    const struct mortise_program *list;
    size_t n;
};

/* The keys of an entry. */
extern const struct mortise_place mortise_program_place;

void mortise_programs_read(struct mortise_programs *out,
                           const struct mortise_yaml *map,
                           struct mortise_config_reader *r);
/* Reads `user` of a struct mortise_program. */
void mortise_program_read_user(void *ctx, void *into,
                               const struct mortise_slot *slot);
/* MORTISE_OK, or MORTISE_ENOTFOUND with a suggestion. */
int mortise_program_find(const struct mortise_programs *programs,
                         const char *name, const struct mortise_program **out,
                         struct mortise_err *why);

/* MORTISE_OK, or MORTISE_EDENIED: it is not declared to change nothing. */
int mortise_program_check_read_only(const struct mortise_program *program,
                                    struct mortise_err *why);

#endif
