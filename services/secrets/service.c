/* service.c -- the service `secrets`: secrets of the deployment, and tokens that a plugin keeps. */
#include "services/secrets/methods.h"
#include "core/plugin/services.h"

static const struct mortise_method methods[] = {
    {.name = "secret.get/1", .performs = &mortise_host_call_secret_get},
    {.name = "secret.keep/1", .performs = &mortise_host_call_secret_keep},
    {.name = "secret.kept/1", .performs = &mortise_host_call_secret_kept},
    {.name = NULL},
};

const struct mortise_service mortise_service_secrets = {.name = "secrets",
                                                        .methods = methods};
