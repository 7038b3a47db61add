/* registry.h -- what the files of the registry share. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include <pthread.h>
#include <stdbool.h>

#include "../../canonical.h"
#include "../../things.h"

enum {
    REGISTRY_ENTRIES = 4096, /* of an index */
    REGISTRY_PAGES = 64,     /* of 100 servers each */
    REGISTRY_SAYS = 1024
};

/* What the registry says of something. */
struct entry {
    char *key;       /* by which it is pinned */
    char *id, *kind; /* of an index; of a server: what tools.mcp calls it, "" */
    char *name, *about, *body; /* "" where it has none; body NULL */
    struct bytes json;         /* all of it, which the digest is of */
    char digest[CANONICAL_HEX + 1];
    bool refused; /* it is not what was pinned */
};

struct entries {
    struct entry *list;
    size_t n, cap;
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    char *config_text;
    mortise_jv config, servers, pins;
    char *url, *token; /* token NULL: none */
    bool is_index;
    uint64_t ttl_ns;
    pthread_mutex_t lock;   /* guards what follows */
    struct entries entries; /* what was fetched last */
    uint64_t until_ns;      /* good until then; 0: nothing was */
    bool looks;             /* what is refused is shown, and not told of */
};

/* ---- fetch.c ---- */
/* i->entries are fresh.  With the lock. */
mortise_status registry_fetch(struct mortise_inst *i, mortise_call call);
void registry_drop(struct entries *e);

#endif
