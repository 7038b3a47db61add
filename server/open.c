/* open.c -- mortise_open(): an engine that can also serve its control socket. */
#include "core/api/api.h"
#include "server/control.h"

int mortise_open(struct mortise **out, const struct mortise_options *options,
                 struct mortise_err *err)
{
    int rv;
    WITH_ERR(err);

    rv = mortise_engine_open(out, options, MORTISE_MODE_SERVER, NULL, err);
    if (rv == MORTISE_OK && (options->flags & MORTISE_OPEN_LISTEN) != 0)
        rv = mortise_control_listen(out, err);
    return copy_out_error(rv, err, their_err);
}
