/* fuzz_injection.c -- the injection guardrail against arbitrary texts: any_guardrail.h has what
 * must hold. */
#include <stdbool.h>

#include "../../plugins/guardrail/injection/words.c"
#include "../../plugins/guardrail/injection/marks.c"
#include "../../plugins/guardrail/injection/coded.c"
#include "../../plugins/guardrail/injection/injection.c"

#include "any_guardrail.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_guardrail(&plugin, "{}", data, size);
}
