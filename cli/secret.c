/* secret.c -- reads passwords, and secret keys that need them.
 *
 * A password is read from the terminal without echo.  If stdin is not a
 * terminal, its first line is the password, so a script can pipe it.  Passwords
 * are never arguments or environment variables, since other processes can see
 * those. */
#include "cli/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/err.h"

/* Read one line without its line end; fail if it is too long. */
static int read_password_line(int fd, char *out, size_t cap,
                              struct mortise_err *err)
{
    size_t n = 0;

    for (;;) {
        char c;
        ssize_t got = read(fd, &c, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mortise_syserr(err, errno, "read the password");
        if (got == 0 && n == 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "a password is required, but stdin is empty");
        if (got == 0 || c == '\n')
            break;
        if (n + 1 == cap)
            return mortise_fail(err, MORTISE_EINVAL,
                                "the password is longer than %zu bytes",
                                cap - 1);
        out[n++] = c;
    }
    out[n] = '\0';
    return MORTISE_OK;
}

/* Read from the terminal with echo off. */
static int ask_password(struct mortise_cli *cli, const char *prompt, char *out,
                        size_t cap, struct mortise_err *err)
{
    struct termios old, quiet;
    int rv;

    if (tcgetattr(STDIN_FILENO, &old) != 0)
        return mortise_syserr(err, errno, "the terminal");
    quiet = old;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    quiet.c_lflag |= ICANON;
    mortise_out_puts(&cli->err, prompt);
    mortise_out_flush(&cli->err);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    rv = read_password_line(STDIN_FILENO, out, cap, err);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
    mortise_out_puts(&cli->err, "\n");
    mortise_out_flush(&cli->err);
    return rv;
}

int mortise_secret_read_password(struct mortise_cli *cli, bool twice,
                                 char out[MORTISE_PASSWORD_SIZE],
                                 struct mortise_err *err)
{
    char again[MORTISE_PASSWORD_SIZE];
    int rv;

    if (isatty(STDIN_FILENO) != 1)
        return read_password_line(STDIN_FILENO, out, MORTISE_PASSWORD_SIZE,
                                  err);
    rv = ask_password(cli, "Password of the key: ", out, MORTISE_PASSWORD_SIZE,
                      err);
    if (rv != MORTISE_OK || !twice)
        return rv;
    rv = ask_password(cli, "Repeat it: ", again, sizeof again, err);
    if (rv == MORTISE_OK && strcmp(out, again) != 0)
        rv = mortise_fail(err, MORTISE_EINVAL, "the two passwords differ");
    sodium_memzero(again, sizeof again);
    return rv;
}

int mortise_secret_read_key(struct mortise_cli *cli, const char *path,
                            struct mortise_seckey *out, struct mortise_err *err)
{
    char password[MORTISE_PASSWORD_SIZE];
    bool encrypted;
    int rv = mortise_seckey_is_encrypted(&encrypted, path, err);

    if (rv != MORTISE_OK)
        return rv;
    if (!encrypted)
        return mortise_seckey_read(out, path, NULL, err);
    rv = mortise_secret_read_password(cli, false, password, err);
    if (rv == MORTISE_OK)
        rv = mortise_seckey_read(out, path, password, err);
    sodium_memzero(password, sizeof password);
    return rv;
}
