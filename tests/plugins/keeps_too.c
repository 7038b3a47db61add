/* keeps_too.c -- another plugin that keeps values (keeps.c), under keys that
 * are the same. */
#define KEEPS "keeps_too"
#include "keeps.c"
