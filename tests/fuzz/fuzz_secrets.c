/* fuzz_secrets.c -- the secrets guardrail against arbitrary texts: any_guardrail.h has what
 * must hold. */
#include <stdbool.h>

#include "../../plugins/guardrail/secrets/named.c"
#include "../../plugins/guardrail/secrets/secrets.c"
#include "../../plugins/guardrail/secrets/shape.c"
#include "../../plugins/guardrail/secrets/token.c"

#include "any_guardrail.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_guardrail(&plugin, "{}", data, size);
}
