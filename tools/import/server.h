/* server.h -- a server of another program's list while it is carried over;
 * shared by servers.c and the server_*.c, and by nobody else. */
#ifndef MORTISE_TOOLS_IMPORT_SERVER_H
#define MORTISE_TOOLS_IMPORT_SERVER_H

#include "tools/import/foreign.h"

/* All of a list.  Whatever may be a secret is in memory alone: in `vars`. */
struct servers {
    struct foreign f;
    const char *base;  /* the directory that relative paths of theirs mean */
    const char *whole; /* the same from the root on */
    bool is_elsewhere; /* the new file is not there */
    const struct mortise_yaml *inputs; /* what is asked for there; or NULL */
    json_t *ours;                      /* names that are taken -> true */
    json_t *vars;    /* variables that secrets come from -> the value that was
                        found; null: that of the variable itself */
    json_t *secrets; /* of the new file */
    json_t *notes;   /* pointer into the new file -> what to say behind it */
};

/* One of them. */
struct server {
    struct servers *all;
    const struct mortise_yaml *key, *map;
    const char *ours; /* its name */
    json_t *into;
    const char *cwd; /* the directory that its relative arguments mean, as it
                        counts from `base`; NULL: that */
    bool has_secret; /* among its variables */
};

/* ---- server_text.c: values --------------------------------------------- */

enum server_place {
    SERVER_ENV,    /* a variable; a secret may be referred to */
    SERVER_HEADER, /* the same, and a scheme may stand before it */
    SERVER_ARG,    /* of the command: others on the machine see it */
    SERVER_URL     /* a URL, which is shown and logged */
};

/* A string, a new reference; NULL: it is left behind, after a finding.
 * `name` is the variable's, the header's, or that of the option before an
 * argument; "" for none. */
json_t *mortise_server_text(struct server *s, const struct mortise_yaml *v,
                            enum server_place place, const char *name);
/* The same of what no secret stands in: of a path, say. */
json_t *mortise_server_path(struct server *s, const struct mortise_yaml *v);
/* What such a string of ours stands for on this machine, in the arena. */
const char *mortise_server_meant(struct server *s, const char *text);

/* ---- server_sandbox.c: what it may touch -------------------------------- */

/* `dir` and `sandbox`, from what the command names. */
void mortise_server_sandbox(struct server *s, const json_t *command);
/* A path that counts from `base`, as one that does from the new file; in the
 * arena. */
const char *mortise_server_from_file(struct server *s, const char *path);
/* The path of an argument, as it is on this machine; in the arena.  With "${" in
 * it: nobody knows. */
const char *mortise_server_at(struct server *s, const char *path);

/* ---- server_fetched.c: programs that start programs ----------------------- */

/* The command without what fetches its program, where that is installed.  Takes
 * the command, an array; NULL: the server cannot start, and is left behind after a
 * finding. */
json_t *mortise_server_installed(struct server *s, json_t *command);

/* ---- servers.c ----------------------------------------------------------- */

/* Say that behind /tools/mcp/OURS/WHERE (a pointer) in the new file. */
void mortise_server_note(struct server *s, const char *where, const char *fmt,
                         ...) MORTISE_PRINTF(3, 4);

#endif
