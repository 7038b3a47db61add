/* secret.h -- passwords of keys, and keys read with them. */
#ifndef MORTISE_CLI_SECRET_H
#define MORTISE_CLI_SECRET_H

#include "cli/cli.h"
#include "core/plugin/minisign.h"

enum { MORTISE_PASSWORD = 1024 }; /* bytes with the NUL */

/* Ask for a password; `twice` for a new one.  Wipe it after use. */
int mortise_secret_password(struct mortise_cli *cli, bool twice,
                            char out[MORTISE_PASSWORD],
                            struct mortise_err *err);
/* Read a secret key, asking for its password if it has one.  Wipe it after
 * use, whatever is returned. */
int mortise_secret_key(struct mortise_cli *cli, const char *path,
                       struct mortise_seckey *out, struct mortise_err *err);

#endif
