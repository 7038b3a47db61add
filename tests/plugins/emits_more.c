/* emits_more.c -- tells as many events as it is asked to, on a worker. */
#include "emits.h"

SIMPLE_EXECUTOR("emits_more")
