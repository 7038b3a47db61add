/* no_interface.c -- has a module without what its manifest provides. */
#include "simple.h"

static const int nothing = 0;
SIMPLE_INTERFACE("acme.other/1", nothing)
SIMPLE_MODULE("no_interface", simple_create, simple_quiesce)
