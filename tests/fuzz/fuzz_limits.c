/* fuzz_limits.c -- the limits guardrail against arbitrary texts: any_guardrail.h has what
 * must hold. */
#include <stdbool.h>

#include "../../plugins/guardrail/limits/limits.c"

#include "any_guardrail.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_guardrail(&plugin,
                          "{\"scripts\":[\"Latin\"],\"hosts\":[\"example.com\","
                          "\"*.example.org\"]}",
                          data, size);
}
