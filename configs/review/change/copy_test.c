/* copy_test.c -- made up, to be reviewed. */
#include <assert.h>
#include <string.h>

#include "copy.h"

int main(void)
{
    char to[16];

    assert(name_copy(to, sizeof to, "anna") == 0);
    assert(strcmp(to, "anna") == 0);
    return 0;
}
