/* spawns_two.c -- spawns.c, called once at a time, too. */
#define SPAWNS "spawns_two"
#include "spawns.c"
