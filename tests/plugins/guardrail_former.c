/* guardrail_former.c -- has the guardrail interface of before, whose verdict was
 * returned, and not the one of now. */
#include "simple.h"

static const struct {
    uint32_t size, flags;
    mortise_status (*check)(void);
} former = {16, 0, NULL};

SIMPLE_INTERFACE("mortise.guardrail/1", former)
SIMPLE_MODULE("guardrail_former", simple_create, simple_quiesce)
