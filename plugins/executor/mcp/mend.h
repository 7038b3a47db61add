/* mend.h -- texts of servers that are nearly JSON, or JSON that the host does not
 * keep.
 *
 * Threads    No state. */
#ifndef MCP_MEND_H
#define MCP_MEND_H

#include "../../bytes.h"

/* What is changed: bits. */
enum {
    MCP_MENDED_TEXT = 1,     /* bytes and escapes that are no text: U+FFFD */
    MCP_MENDED_NAN = 2,      /* NaN and the infinities: null */
    MCP_MENDED_NUMBER = 4,   /* beyond 64 bits: the nearest double */
    MCP_MENDED_NAME = 8,     /* twice in one object: the last one counts */
    MCP_MENDED_CONTROL = 16, /* in a string: its escape */
    MCP_MENDED_ALL = 31
};

/* `text` as JSON, behind what is in `out`: of its flaws, those of `which` are
 * mended, and *changed gets those that were.  MORTISE_S_INVALID: it is none even
 * so, or deeper than MORTISE_JV_DEPTH. */
mortise_status mcp_mend(mortise_str text, unsigned which, struct bytes *out,
                        unsigned *changed);
/* `text` as UTF-8, at most `max` bytes of it. */
mortise_status mcp_mend_text(mortise_str text, uint64_t max, struct bytes *out);
/* What was changed, as an array of texts for people. */
void mcp_mend_write(mortise_jw *w, unsigned changed);

#endif
