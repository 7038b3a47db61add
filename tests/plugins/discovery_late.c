/* discovery_late.c -- answers when it is told to stop, and is content with that. */
#include "finds.h"

static void cancel(mortise_inst *i, mortise_call call)
{
    mortise_emit_output(i->host, i->api, call,
                        mortise_strz("{\"results\":[]}"));
    i->api->finish(i->host, call, MORTISE_S_OK, mortise_str_empty(),
                   mortise_str_empty());
}

FINDS_WHEN_TOLD("discovery_late")
