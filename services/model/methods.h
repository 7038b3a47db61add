/* methods.h -- the methods of the service `model`. */
#ifndef MORTISE_SERVICES_MODEL_METHODS_H
#define MORTISE_SERVICES_MODEL_METHODS_H

#include "core/engine/runs/host_calls.h"

/* keep.c */
extern const struct mortise_host_call_method
    mortise_host_call_conversation_keep;

/* model.c */
extern const struct mortise_host_call_method mortise_host_call_model_call;
extern const struct mortise_host_call_method mortise_host_call_model_embed;

/* tools.c */
extern const struct mortise_host_call_method mortise_host_call_tool_list;
extern const struct mortise_host_call_method mortise_host_call_tool_invoke;

/* Append the tools that are offered to the asker, in the JSON form for models.
 * The asker's node has some. */
int mortise_tools_write(const struct mortise_asked *a,
                        struct mortise_buf *text);

#endif
