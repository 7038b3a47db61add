/* breaks_pipes.c -- writes into pipes that nobody reads, as careless code does:
 * while it is created, called and destroyed. */
#include "simple.h"

#include <unistd.h>

static void write_to_nobody(void)
{
    int fds[2];

    if (pipe(fds) != 0)
        return;
    close(fds[0]);
    if (write(fds[1], "x", 1) == 1)
        abort();
    close(fds[1]);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    write_to_nobody();
    return simple_echo(i, r);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    write_to_nobody();
    return simple_create(host, api, config, out);
}

static mortise_status quiesce(mortise_inst *i, uint64_t deadline)
{
    write_to_nobody();
    return simple_quiesce(i, deadline);
}

SIMPLE_EXECUTOR_WITH("breaks_pipes", create, quiesce)
