/* scale.h -- an interface that core/ does not know: what weighs. */
#ifndef EXTEND_SCALE_H
#define EXTEND_SCALE_H

#include <mortise/plugin.h>

#define SCALE_1 "mortise.scale/1"

typedef struct scale {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Weigh request->body: emit "weight", {"grams": number}.  May end later.
     * [call & created] */
    mortise_status (*weigh)(mortise_inst *, const mortise_request *);
} scale;

#endif
