/* memory_lies.c -- a memory that gives what was not asked for, and says that it
 * wrote what nobody gave it; where there is a file `lie` (`write_lie`) in the
 * working directory, a read (a write) gives what stands in it. */
#include <stdio.h>

#include "remembers.h"

static mortise_status give(mortise_inst *i, const mortise_request *r,
                           const char *file, const char *usual)
{
    char text[4096] = "";
    FILE *f = fopen(file, "r");

    if (f == NULL)
        return simple_emit(i, r, usual);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text[0] != '\0' ? simple_emit(i, r, text) : MORTISE_S_OK;
}

static mortise_status on_read(mortise_inst *i, const mortise_request *r)
{
    return give(
        i, r, "lie",
        "{\"seq\": 1, \"traces\": [{\"id\": \"liar\", \"type\": \"semantic\", "
        "\"scope\": \"session\", \"key\": \"somebody else's\", \"content\": "
        "\"not yours\", \"strength\": 1, \"created_at\": 1}]}");
}

static mortise_status on_write(mortise_inst *i, const mortise_request *r)
{
    return give(i, r, "write_lie", "{\"written\": \"all of it\", \"seq\": 1}");
}

static mortise_status on_forget(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r, "[]");
}

REMEMBERS_MODULE("memory_lies")
