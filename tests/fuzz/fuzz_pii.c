/* fuzz_pii.c -- the pii guardrail against arbitrary texts: any_guardrail.h has what
 * must hold. */
#include <stdbool.h>

#include "../../plugins/guardrail/pii/address.c"
#include "../../plugins/guardrail/pii/card.c"
#include "../../plugins/guardrail/pii/iban.c"
#include "../../plugins/guardrail/pii/mail.c"
/* card.c and phone.c each have a way to read numbers. */
#define number       phone_number
#define read_number  phone_read_number
#define stands_alone phone_stands_alone
#define DIGITS_MAX   PHONE_DIGITS_MAX
#define GROUPS_MAX   PHONE_GROUPS_MAX
#include "../../plugins/guardrail/pii/phone.c"
#undef number
#undef read_number
#undef stands_alone
#undef DIGITS_MAX
#undef GROUPS_MAX

#include "../../plugins/guardrail/pii/pii.c"

#include "any_guardrail.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_guardrail(&plugin, "{}", data, size);
}
