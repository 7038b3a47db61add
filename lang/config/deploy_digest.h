/* deploy_digest.h -- do two Deployment files mean the same? */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_DIGEST_H
#define MORTISE_LANG_CONFIG_DEPLOY_DIGEST_H

#include "core/base/hash.h"
#include "lang/config/deploy.h"

/* The digest of a deployment's effects; deploy_digest.c lists its
 * contents.  MORTISE_OK or MORTISE_ENOMEM. */
int mortise_deployment_digest(uint8_t out[MORTISE_DIGEST],
                              const struct mortise_deployment *d,
                              const struct mortise_mem *mem);

#endif
