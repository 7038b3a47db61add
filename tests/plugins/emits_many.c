/* emits_many.c -- tells as many events as it is asked to, on the loop. */
#include "emits.h"

SIMPLE_EXECUTOR("emits_many")
