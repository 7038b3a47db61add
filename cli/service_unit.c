/* service_unit.c -- `mortise engine --install-user-service`: installs a systemd
 * user unit that keeps an engine running for a store.
 *
 * The unit names the program, the deployment and the store by absolute paths,
 * so it does not depend on the working directory.  The unit's name is derived
 * from these paths: repeating the command replaces the same file, and each
 * deployment has a unit of its own.
 *
 * Nothing is started.  The command prints the commands that start the unit,
 * because a user session, or permission to linger, may not exist here. */
#include "cli/service_unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/userdir.h"

/* The paths in the unit, and its file name. */
struct unit {
    char program[PATH_MAX], deployment[PATH_MAX], store[PATH_MAX];
    char name[NAME_MAX];
};

/* Put an argument of ExecStart or Environment as in systemd.syntax(7): quoted
 * and escaped, without specifiers or variables.  An unescaped line end would
 * start another setting. */
static void put_unit_argument(struct mortise_buf *b, const char *prefix,
                              const char *text)
{
    mortise_buf_puts(b, "\"");
    mortise_buf_puts(b, prefix);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            mortise_buf_printf(b, "\\x%02x", (unsigned char)*text);
            continue;
        }
        if (*text == '"' || *text == '\\')
            mortise_buf_puts(b, "\\");
        if (*text == '%' || *text == '$')
            mortise_buf_put(b, text, 1);
        mortise_buf_put(b, text, 1);
    }
    mortise_buf_puts(b, "\"");
}

static void put_unit_option(struct mortise_buf *b, const char *option,
                            const char *value)
{
    if (value[0] == '\0')
        return;
    mortise_buf_printf(b, " --%s ", option);
    put_unit_argument(b, "", value);
}

static void put_unit_file(struct mortise_buf *b, const struct unit *u)
{
    const char *state = getenv("XDG_STATE_HOME");

    mortise_buf_puts(
        b, "# Written by `mortise engine --install-user-service`.\n"
           "# Set the environment variables that the deployment reads with\n"
           "# `systemctl --user edit`, as Environment= or EnvironmentFile=.\n"
           "\n"
           "[Unit]\n"
           "Description=Mortise engine\n"
           "\n"
           "[Service]\n"
           "ExecStart=");
    put_unit_argument(b, "", u->program);
    mortise_buf_puts(b, " engine");
    put_unit_option(b, "deployment", u->deployment);
    put_unit_option(b, "store", u->store);
    mortise_buf_puts(b, "\n");
    if (state != NULL && state[0] == '/') {
        mortise_buf_puts(b, "Environment=");
        put_unit_argument(b, "XDG_STATE_HOME=", state);
        mortise_buf_puts(b, "\n");
    }
    mortise_buf_printf(b,
                       "Restart=on-failure\n"
                       "RestartPreventExitStatus=%d %d %d\n"
                       "TimeoutStopSec=30\n"
                       "\n"
                       "[Install]\n"
                       "WantedBy=default.target\n",
                       MORTISE_EXIT_USAGE, MORTISE_EXIT_DENIED,
                       MORTISE_EXIT_CONFIG);
}

/* Make `path` absolute; it need not exist. */
static int make_absolute(char out[PATH_MAX], const char *path,
                         struct mortise_err *err)
{
    char here[PATH_MAX];

    if (realpath(path, out) != NULL)
        return MORTISE_OK;
    if (path[0] == '/')
        return mortise_file_format_path(out, PATH_MAX, err, "%s", path);
    if (getcwd(here, sizeof here) == NULL)
        return mortise_syserr(err, errno, "find the working directory");
    return mortise_file_format_path(out, PATH_MAX, err, "%s/%s", here, path);
}

/* "mortise-DIRECTORY-DIGEST.service": the directory, reduced to valid
 * characters, helps people; the digest of all paths makes the name unique. */
static void set_unit_name(struct unit *u)
{
    const char *path = u->deployment[0] != '\0' ? u->deployment : u->store;
    char dir[PATH_MAX], about[2 * PATH_MAX], hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];
    char *last;

    snprintf(about, sizeof about, "%s\n%s", u->deployment, u->store);
    mortise_digest(digest, about, strlen(about));
    mortise_hex_encode(hex, digest, sizeof digest);
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    last = strrchr(dir, '/');
    last = last != NULL ? last + 1 : dir;
    for (char *c = last; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789_",
                   *c) == NULL)
            *c = '-';
    snprintf(u->name, sizeof u->name, "mortise-%.40s-%.8s.service", last, hex);
}

static int describe_unit(struct unit *u, struct mortise_cli *cli,
                         struct mortise_err *err)
{
    struct mortise_settings settings;
    int rv = mortise_cli_open_settings(cli, &settings, err);

    memset(u, 0, sizeof *u);
    if (rv == MORTISE_OK && realpath("/proc/self/exe", u->program) == NULL)
        rv = mortise_syserr(err, errno, "find this program");
    if (rv == MORTISE_OK && cli->deployment != NULL)
        rv = make_absolute(u->deployment, cli->deployment, err);
    if (rv == MORTISE_OK &&
        (cli->args.store != NULL || cli->deployment == NULL))
        rv = make_absolute(u->store, settings.store, err);
    if (rv == MORTISE_OK)
        set_unit_name(u);
    mortise_settings_close(&settings);
    return rv;
}

static int write_unit_file(const struct unit *u, const struct mortise_mem *mem,
                           char path[PATH_MAX], struct mortise_err *err)
{
    char dir[PATH_MAX];
    struct mortise_buf b;
    int rv = mortise_userdir_make_config(dir, "systemd/user", err);

    if (rv == MORTISE_OK)
        rv = mortise_file_format_path(path, PATH_MAX, err, "%s/%s", dir,
                                      u->name);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&b, mem);
    put_unit_file(&b, u);
    rv = b.failed ? mortise_nomem(err)
                  : mortise_file_write(path, b.p, b.n, 0644, 0, err);
    mortise_buf_finish(&b);
    return rv;
}

int mortise_service_unit_install(struct mortise_cli *cli,
                                 struct mortise_err *err)
{
    struct mortise_out *o = &cli->out;
    char path[PATH_MAX];
    struct unit u;
    int rv = describe_unit(&u, cli, err);

    if (rv == MORTISE_OK)
        rv = write_unit_file(&u, cli->mem, path, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_out_print_escaped(o, "wrote %s\n", path);
    mortise_out_puts(o, "Start it now and at each login:\n"
                        "  systemctl --user daemon-reload\n");
    mortise_out_print_escaped(o, "  systemctl --user enable --now %s\n",
                              u.name);
    mortise_out_puts(o, "Keep it running after you log out:\n"
                        "  loginctl enable-linger\n");
    return MORTISE_OK;
}
