/* fuzz_wire.c -- messages from arbitrary bytes.
 *
 * A decoder stays inside its packet, and what it accepts is exactly what an
 * encoder writes: encoding it again gives the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_wire msg;
    struct mortise_wire_map map;
    struct mortise_packet p;

    if (mortise_wire_decode(&msg, &map, data, size, -1, NULL) != MORTISE_OK)
        return 0;
    if (mortise_wire_encode(&p, &mortise_heap, &msg, NULL) != MORTISE_OK) {
        if (size <= MORTISE_WIRE_PACKET_MAX)
            abort();
        return 0;
    }
    if (p.bytes.n != size || memcmp(p.bytes.p, data, size) != 0)
        abort();
    mortise_packet_finish(&p);
    return 0;
}
