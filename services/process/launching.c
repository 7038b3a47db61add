/* launching.c -- builds the launch words of a deployment's programs.
 *
 * The deployment (`programs`, `tools.mcp`) maps a name to a file and sets the
 * limits of the program; the manifest's permissions.exec lists the names that a
 * plugin may use.  A request cannot extend either, and mortise-worker enforces
 * both.
 *
 * Each program may also read and execute the system's programs, libraries and
 * the files that these read.  An engine that runs as root starts each program
 * as an ordinary user. */
#include "services/process/launching.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/owner.h"
#include "lang/config/deploy.h"
#include "lang/config/plugins/grants.h"
#include "core/engine/common/secret_store.h"
#include "services/secrets/secret.h"
#include "mortise/plugin.h"

/* systemd's range of dynamic users: by convention no accounts are in it, and
 * containers have it, too, as their 65536 ids include it. */
enum { FIRST_USER = 61184, LAST_USER = 65519 };

/* Programs, libraries and interpreters, and below the files that they read. */
static const char *const system_runs[] = {"/usr", "/bin",   "/sbin",
                                          "/lib", "/lib32", "/lib64"};
static const char *const system_reads[] = {
    "/etc/alternatives", "/etc/ca-certificates", "/etc/group",
    "/etc/host.conf",    "/etc/hosts",           "/etc/ld.so.cache",
    "/etc/localtime",    "/etc/mime.types",      "/etc/nsswitch.conf",
    "/etc/passwd",       "/etc/protocols",       "/etc/resolv.conf",
    "/etc/services",     "/etc/ssl/certs",       "/etc/ssl/openssl.cnf",
    "/etc/timezone"};

/* ---- finding programs --------------------------------------------------- */

int mortise_launching_find(const struct mortise_asked *a, const char *name,
                           struct mortise_launch_target *out,
                           struct mortise_err *err)
{
    const struct mortise_deployment *d = a->m->settings.deployment;
    int rv = mortise_program_check_grant(d, a->manifest, a->as, name, "*", err);

    *out = (struct mortise_launch_target){0};
    return rv == MORTISE_OK
               ? mortise_program_find(&d->programs, name, &out->program, err)
               : rv;
}

int mortise_launching_find_server(const struct mortise_asked *a,
                                  const char *name,
                                  struct mortise_launch_target *out,
                                  struct mortise_err *err)
{
    const struct mortise_deployment *d = a->m->settings.deployment;
    const struct mortise_mcp_servers *servers = &d->tools.mcp;
    char granted[256];
    int rv;

    *out = (struct mortise_launch_target){0};
    snprintf(granted, sizeof granted, "mcp:%s", name);
    rv = mortise_program_check_grant(d, a->manifest, a->as, granted, "mcp:*",
                                     err);
    if (rv == MORTISE_OK)
        rv = mortise_mcp_find_program(servers, name, &out->program, err);
    if (rv == MORTISE_OK)
        out->env = mortise_mcp_find(servers, name)->env;
    return rv;
}

/* ---- secrets ------------------------------------------------------------ */

int mortise_launching_await_secrets(struct mortise_asked *a,
                                    const struct mortise_launch_target *what,
                                    void (*then)(struct mortise_asked *a),
                                    struct mortise_err *err)
{
    const char **names =
        mortise_alloc(a->m->mem, (what->env.n + 1) * sizeof *names);
    size_t n = 0;
    int rv;

    if (names == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < what->env.n; i++) {
        names[n] = mortise_secret_get_name(what->env.list[i].value);
        n += names[n] != NULL;
    }
    rv = mortise_secret_await(a, names, n, then, err);
    mortise_release(a->m->mem, names, (what->env.n + 1) * sizeof *names);
    return rv;
}

/* ---- launch words ------------------------------------------------------- */

static void put_launch_word(struct mortise_buf *b, const char *name,
                            const char *value)
{
    mortise_buf_puts(b, name);
    mortise_buf_puts(b, "=");
    mortise_buf_put(b, value, strlen(value) + 1);
}

void mortise_launching_add_variable(struct mortise_buf *b, const char *name,
                                    const char *value)
{
    mortise_buf_puts(b, "env=");
    mortise_buf_puts(b, name);
    mortise_buf_puts(b, "=");
    mortise_buf_put(b, value, strlen(value) + 1);
}

/* Relative paths of a deployment are relative to the engine's directory. */
static void put_launch_path(struct mortise_buf *b, const char *name,
                            const char *path)
{
    char here[4096];

    mortise_buf_puts(b, name);
    mortise_buf_puts(b, "=");
    if (path[0] != '/' && getcwd(here, sizeof here) != NULL) {
        mortise_buf_puts(b, here);
        mortise_buf_puts(b, "/");
    }
    mortise_buf_put(b, path, strlen(path) + 1);
}

static void put_launch_files(struct mortise_buf *b,
                             const struct mortise_program *p)
{
    for (size_t i = 0; i < sizeof system_runs / sizeof system_runs[0]; i++)
        put_launch_word(b, "exec", system_runs[i]);
    for (size_t i = 0; i < sizeof system_reads / sizeof system_reads[0]; i++)
        put_launch_word(b, "system", system_reads[i]);
    for (size_t i = 0; i < p->read.n; i++)
        put_launch_path(b, "read", p->read.list[i]);
    for (size_t i = 0; i < p->write.n; i++)
        put_launch_path(b, "write", p->write.list[i]);
}

const char *mortise_launching_get_dir(const struct mortise_program *p)
{
    if (p->dir != NULL)
        return p->dir;
    if (p->write.n > 0)
        return p->write.list[0];
    return p->read.n > 0 ? p->read.list[0] : "/";
}

/* Find a name without a slash on the engine's PATH.  Skip files that other
 * users can replace. */
static int put_program_from_path(struct mortise_buf *b, const char *name,
                                 struct mortise_err *err)
{
    const char *path = getenv("PATH");
    struct mortise_err why;
    bool passed = false;
    char file[4096];

    while (mortise_file_find_on_path(&path, name, file, sizeof file)) {
        if (file[0] != '/')
            continue;
        if (mortise_owner_check(file, NULL, NULL, &why) == MORTISE_OK) {
            put_launch_word(b, "program", file);
            return MORTISE_OK;
        }
        passed = true;
    }
    if (passed)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "other users can change the program '%.128s' on "
                            "the engine's PATH: %.300s",
                            name, why.msg);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "the engine's PATH has no program '%.128s'", name);
}

/* Choose the user of a program for which the deployment names none.  It depends
 * only on the store and the name, so the program keeps access to the files that
 * it creates. */
static unsigned choose_program_user(const char *store,
                                    const struct mortise_program *p)
{
    struct mortise_hasher h;
    uint8_t digest[MORTISE_DIGEST];
    char whole[PATH_MAX];
    uint32_t n;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, "user of a program");
    mortise_hasher_add_str(&h, realpath(store, whole) != NULL ? whole : store);
    mortise_hasher_add_str(&h, p->name);
    mortise_hasher_final(&h, digest);
    memcpy(&n, digest, sizeof n);
    return FIRST_USER + n % (LAST_USER - FIRST_USER + 1);
}

/* Only root can run programs as another user.  A user that the deployment names
 * opens files by its own permissions.  A chosen user owns none of the files
 * that the deployment grants, so "opens" lets the worker open them for it. */
void mortise_launching_add_user(struct mortise_buf *b, const char *store,
                                const struct mortise_program *p)
{
    char user[64];
    unsigned own;

    if (geteuid() != 0)
        return;
    if (p->user != NULL) {
        snprintf(user, sizeof user, "%u:%u", (unsigned)p->uid,
                 (unsigned)p->gid);
    } else {
        own = choose_program_user(store, p);
        snprintf(user, sizeof user, "%u:%u", own, own);
        put_launch_word(b, "opens", "");
    }
    put_launch_word(b, "user", user);
}

int mortise_launching_add_program(struct mortise_buf *b,
                                  const struct mortise_asked *a,
                                  const struct mortise_program *p,
                                  struct mortise_err *err)
{
    char memory[64];
    int rv = MORTISE_OK;

    if (strchr(p->path, '/') != NULL)
        put_launch_path(b, "program", p->path);
    else
        rv = put_program_from_path(b, p->path, err);
    for (size_t i = 0; i < p->n_args; i++)
        put_launch_word(b, "arg", p->args[i]);
    put_launch_path(b, "cwd", mortise_launching_get_dir(p));
    put_launch_files(b, p);
    mortise_launching_add_user(b, a->m->settings.store, p);
    if (!p->online)
        put_launch_word(b, "offline", "");
    if (p->memory > 0) {
        snprintf(memory, sizeof memory, "%llu", (unsigned long long)p->memory);
        put_launch_word(b, "memory", memory);
    }
    return rv;
}

void mortise_launching_add_arg(struct mortise_buf *b, const char *arg)
{
    put_launch_word(b, "arg", arg);
}

void mortise_launching_add_defaults(struct mortise_buf *b,
                                    bool (*has)(const void *ud,
                                                const char *name),
                                    const void *ud)
{
    static const char *const defaults[][2] = {
        {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};

    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (!has(ud, defaults[i][0]))
            mortise_launching_add_variable(b, defaults[i][0], defaults[i][1]);
}

int mortise_launching_add_secret(struct mortise_buf *b,
                                 const struct mortise_asked *a,
                                 const char *name, const char *reference,
                                 struct mortise_err *err)
{
    struct mortise_secret_store *secrets = a->m->secret_store;
    const char *secret = mortise_secret_get_name(reference);
    size_t lead = (size_t)(secret - reference) - strlen("secret://");
    char *value;
    int rv = mortise_secret_store_get(secrets, secret, &value, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_puts(b, "env=");
    mortise_buf_puts(b, name);
    mortise_buf_puts(b, "=");
    mortise_buf_put(b, reference, lead);
    mortise_buf_put(b, value, strlen(value) + 1);
    mortise_secret_store_release(secrets, value);
    return MORTISE_OK;
}

static bool is_server_variable(const void *ud, const char *name)
{
    const struct mortise_mcp_texts *env = ud;

    for (size_t i = 0; i < env->n; i++)
        if (strcmp(env->list[i].name, name) == 0)
            return true;
    return false;
}

int mortise_launching_add_all(struct mortise_buf *b,
                              const struct mortise_asked *a,
                              const struct mortise_launch_target *what,
                              struct mortise_err *err)
{
    int rv = mortise_launching_add_program(b, a, what->program, err);

    mortise_launching_add_defaults(b, is_server_variable, &what->env);
    for (size_t i = 0; rv == MORTISE_OK && i < what->env.n; i++) {
        const struct mortise_mcp_text *v = &what->env.list[i];

        if (mortise_secret_get_name(v->value) != NULL)
            rv = mortise_launching_add_secret(b, a, v->name, v->value, err);
        else
            mortise_launching_add_variable(b, v->name, v->value);
    }
    return rv;
}

void mortise_launching_wipe(struct mortise_buf *b)
{
    if (b->p != NULL)
        explicit_bzero(b->p, b->n);
}

int32_t mortise_launching_map_error(int rv)
{
    switch (rv) {
    case MORTISE_ECONFIG:
    case MORTISE_ENOTFOUND:
        return MORTISE_S_DENIED;
    case MORTISE_EUNAVAILABLE:
        return MORTISE_S_UNSUPPORTED;
    default: /* memory, descriptors, processes: a retry may succeed */
        return MORTISE_S_NOMEM;
    }
}
