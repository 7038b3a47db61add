/* status.h -- names of plugin statuses, for messages to plugin authors. */
#ifndef MORTISE_PLUGIN_STATUS_H
#define MORTISE_PLUGIN_STATUS_H

#include <mortise/plugin.h>

/* "MORTISE_S_INVALID"; "unknown" if <mortise/plugin.h> does not define it. */
const char *mortise_status_name(mortise_status status);

#endif
