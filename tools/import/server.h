/* server.h -- the import of a list of MCP servers: shared by servers.c and the
 * server_*.c.
 *
 * "Source" is the list that is imported.  Directories: `base` is the directory
 * of the list, or the one above it if the list is in an editor's directory,
 * such as .vscode.  Relative paths of the list are relative to `base`. */
#ifndef MORTISE_TOOLS_IMPORT_SERVER_H
#define MORTISE_TOOLS_IMPORT_SERVER_H

#include "tools/import/foreign.h"

/* The import of one list.  Values that may be secrets are only in `vars`, in
 * memory, and never in the new file. */
struct servers {
    struct foreign f;
    const char *base;                  /* as the caller named it */
    const char *whole;                 /* the absolute path of `base` */
    bool is_elsewhere;                 /* the new file is not in `base` */
    const struct mortise_yaml *inputs; /* that an editor asks for; or NULL */
    json_t *ours;                      /* names of servers in use -> true */
    json_t *vars;    /* environment variables with secrets -> the value that
                        the list contains; null: the variable's own value */
    json_t *secrets; /* `secrets` of the new file */
    json_t *notes;   /* JSON pointer into the new file -> a comment */
};

/* One server. */
struct server {
    struct servers *all;
    const struct mortise_yaml *key, *map;
    const char *ours; /* its name in the new file */
    json_t *into;
    const char *cwd; /* its working directory, relative to `base` or absolute;
                        NULL: `base` */
    bool has_secret; /* one of its variables or headers has a secret */
};

/* ---- server_text.c: values ---------------------------------------------- */

enum server_place {
    SERVER_ENV,    /* a variable; may be a secret:// reference */
    SERVER_HEADER, /* a header: the same, after a scheme ("Bearer ") */
    SERVER_ARG,    /* an argument: other users of the machine see it */
    SERVER_URL     /* a URL: it is shown and logged */
};

/* Convert a value; returns a new reference.  NULL: it is not imported, which
 * was reported.  `name` is the name of the variable or the header, or the
 * option before an argument; "": none. */
json_t *mortise_server_convert_string(struct server *s,
                                      const struct mortise_yaml *v,
                                      enum server_place place,
                                      const char *name);
/* The same for a value that contains no secret, such as a path. */
json_t *mortise_server_convert_path(struct server *s,
                                    const struct mortise_yaml *v);
/* Replace ${env:HOME} at the beginning by the home on this machine; in the
 * arena. */
const char *mortise_server_expand_home(struct server *s, const char *text);

/* ---- server_sandbox.c: sandboxes ---------------------------------------- */

/* Set `dir` and `sandbox`, from the paths that the command names. */
void mortise_server_add_sandbox(struct server *s, const json_t *command);
/* Convert a path relative to `base` to one relative to the new file, in the
 * arena.  If the new file is elsewhere, the path becomes absolute. */
const char *mortise_server_make_file_path(struct server *s, const char *path);
/* Find the path on this machine of a path in an argument, in the arena.  A
 * result that contains "${" is unknown. */
const char *mortise_server_find_local_path(struct server *s, const char *path);

/* ---- server_fetched.c: launchers ---------------------------------------- */

/* Replace a launcher, such as npx, by the installed program that it would run.
 * Takes the reference to the command, an array.  NULL: the server cannot start,
 * which was reported. */
json_t *mortise_server_replace_launcher(struct server *s, json_t *command);

/* ---- servers.c ---------------------------------------------------------- */

/* Write a comment behind /tools/mcp/OURS/WHERE (a JSON pointer) in the new
 * file. */
void mortise_server_add_comment(struct server *s, const char *where,
                                const char *fmt, ...) MORTISE_PRINTF(3, 4);

#endif
