/* fits.h -- which JSON goes through a host, and which schema a server's strict
 * decoding takes. */
#ifndef OPENAI_FITS_H
#define OPENAI_FITS_H

#include <stdbool.h>

#include <mortise/ask.h>

/* Hosts read more strictly than this sdk does: no name twice in an object, no
 * integer beyond 64 bits, no number beyond all doubles, no NUL in a name, and a
 * depth that leaves room for what stands around.  MORTISE_S_INVALID: v, which
 * was checked, is not like that; MORTISE_S_NOMEM: nobody knows. */
mortise_status fits_host(mortise_jv v);

/* Does strict decoding take this schema?  The servers' rule: of each object all
 * properties are required and no others are allowed, nothing but the keywords
 * that they know is said, and the whole is an object. */
bool fits_strict(mortise_jv schema);

#endif
