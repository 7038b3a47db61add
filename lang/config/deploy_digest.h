/* deploy_digest.h -- do two Deployment files say the same? */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_DIGEST_H
#define MORTISE_LANG_CONFIG_DEPLOY_DIGEST_H

#include "core/base/hash.h"
#include "lang/config/deploy.h"

/* The digest of what holds under a deployment: deploy_digest.c says what
 * counts.  MORTISE_ENOMEM or MORTISE_OK. */
int mortise_deployment_digest(uint8_t out[MORTISE_DIGEST],
                              const struct mortise_deployment *d,
                              const struct mortise_mem *mem);

/* That path from the root on; what is not there (yet) by its name alone.  A new
 * reference; NULL: memory ran out. */
json_t *mortise_whole_path(const char *path);

#endif
