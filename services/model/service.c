/* service.c -- the service `model`: calls of models, and the tools and conversations of a model. */
#include "services/model/methods.h"
#include "core/plugin/services.h"
#include "services/model/conversation.h"

static const struct mortise_method methods[] = {
    {.name = "model.call/1", .performs = &mortise_host_call_model_call},
    {.name = "model.embed/1", .performs = &mortise_host_call_model_embed},
    {.name = "conversation.keep/1",
     .performs = &mortise_host_call_conversation_keep},
    {.name = "tool.list/1", .performs = &mortise_host_call_tool_list},
    {.name = "tool.invoke/1", .performs = &mortise_host_call_tool_invoke},
    {.name = NULL},
};

const struct mortise_service mortise_service_model = {
    .name = "model", .methods = methods, .close = mortise_conversations_close};
