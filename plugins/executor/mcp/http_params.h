/* http_params.h -- what of a message stands in headers as well. */
#ifndef MCP_HTTP_PARAMS_H
#define MCP_HTTP_PARAMS_H

#include "../../bytes.h"

/* A value as a header carries it: as it is, or =?base64?...?=. */
mortise_status http_header_value(mortise_str value, struct bytes *out);

/* x-mcp-header in a tool's inputSchema: NULL when each stands where it may, else
 * what is wrong (a literal). */
const char *http_params_refuse(mortise_jv schema);
/* Tell each header that a call with these arguments has, of a schema that is not
 * refused.  What `put` returns, if it is no MORTISE_S_OK, ends it. */
typedef mortise_status http_params_fn(void *ud, mortise_str name,
                                      mortise_str value);
mortise_status http_params_each(mortise_jv schema, mortise_jv arguments,
                                http_params_fn *put, void *ud);

#endif
