/* spawns_one.c -- spawns.c, called once at a time. */
#define SPAWNS "spawns_one"
#include "spawns.c"
