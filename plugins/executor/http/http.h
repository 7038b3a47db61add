/* http.h -- what the files of the plugin share: who asks, and what all of its
 * requests have in common. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "../../bytes.h"

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
};

/* ---- http.c ---- */

/* The members that every operation's request has, but for its URL: headers with
 * the key under its name, if there is one, `auth`, bounds. */
void http_write_common(mortise_jw *w, mortise_jv args, mortise_str key_name,
                       mortise_str key);
/* How often it may be made again; `by_itself`, where nobody says. */
int64_t http_retries(mortise_jv args, int64_t by_itself);

enum { HTTP_RETRIES = 2 }; /* of a read, by itself */

/* The end of a call that http.request/1 ended: by its words, or by a status that
 * is an error. */
void http_fail(mortise_inst *inst, mortise_call call, mortise_status status,
               mortise_str answer);
void http_no_memory(mortise_inst *inst, mortise_call call);

/* The status of an answer; 0: it is none. */
int64_t http_status(mortise_jv answer);

/* ---- pages.c ---- */

mortise_status http_pages(mortise_inst *inst, const mortise_request *r,
                          mortise_jv args);

#endif
