/* leaves_early.c -- ends the process with the status 0, as the environment's
 * LEAVES_EARLY says: "FUNCTION WAY", such as "create exit". */
#include <sys/syscall.h>
#include <unistd.h>

#include "simple.h"

/* In this function: end the process, if that is what is asked for. */
static void leave(const char *function)
{
    const char *how = getenv("LEAVES_EARLY");
    size_t n = strlen(function);

    if (how == NULL || strncmp(how, function, n) != 0 || how[n] != ' ')
        return;
    how += n + 1;
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    syscall(SYS_exit_group, 0);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    leave("create");
    return simple_create(host, api, config, out);
}

static void destroy(mortise_inst *i)
{
    leave("destroy");
    simple_destroy(i);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return simple_echo(i, r);
}

static const mortise_executor executor = {.size = sizeof(mortise_executor),
                                          .execute = execute};
SIMPLE_INTERFACE(MORTISE_EXECUTOR_1, executor)

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "leaves_early",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = simple_interface,
                                      .cancel = simple_cancel,
                                      .quiesce = simple_quiesce,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
