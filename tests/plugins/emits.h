/* emits.h -- tells `n` events, {"i": 0, ...} and so on, before its result;
 * `pad` makes each so many bytes longer. */
#include <stdio.h>

#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char pad[4097], text[4200];
    int64_t n = simple_int(r, "n", 0), bytes = simple_int(r, "pad", 0);

    if (bytes < 0 || bytes > 4096)
        return MORTISE_S_INVALID;
    memset(pad, 'x', (size_t)bytes);
    pad[bytes] = '\0';
    for (int64_t k = 0; k < n; k++) {
        snprintf(text, sizeof text, "{\"i\": %lld, \"pad\": \"%s\"}",
                 (long long)k, pad);
        i->api->emit(i->host, r->call, mortise_strz("event"),
                     mortise_strz(text));
    }
    return simple_echo(i, r);
}
