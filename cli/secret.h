/* secret.h -- reads passwords, and secret keys that need them. */
#ifndef MORTISE_CLI_SECRET_H
#define MORTISE_CLI_SECRET_H

#include "cli/cli.h"
#include "lang/manifest/seckey.h"

enum { MORTISE_PASSWORD_SIZE = 1024 }; /* bytes, including the NUL */

/* Read a password; `twice` for a new one.  Wipe it after use. */
int mortise_secret_read_password(struct mortise_cli *cli, bool twice,
                                 char out[MORTISE_PASSWORD_SIZE],
                                 struct mortise_err *err);
/* Read a secret key, and its password if it has one.  Wipe the key after use,
 * even if this fails. */
int mortise_secret_read_key(struct mortise_cli *cli, const char *path,
                            struct mortise_seckey *out,
                            struct mortise_err *err);

#endif
