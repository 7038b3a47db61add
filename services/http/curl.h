/* curl.h -- table of the libcurl functions that we use, loaded on first use.
 *
 * See <curl/curl.h> for each function. */
#ifndef MORTISE_SERVICES_HTTP_CURL_H
#define MORTISE_SERVICES_HTTP_CURL_H

#include <curl/curl.h>

#include "core/base/err.h"

/* Undefine the type-checking macros of curl.h: they hide the functions that the
 * table needs. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define MORTISE_CURL_FUNCTIONS(X)                                              \
    X(easy_init)                                                               \
    X(easy_cleanup)                                                            \
    X(easy_setopt)                                                             \
    X(easy_getinfo)                                                            \
    X(easy_strerror)                                                           \
    X(getdate)                                                                 \
    X(multi_init)                                                              \
    X(multi_cleanup)                                                           \
    X(multi_setopt)                                                            \
    X(multi_add_handle)                                                        \
    X(multi_remove_handle)                                                     \
    X(multi_socket_action)                                                     \
    X(multi_info_read)                                                         \
    X(multi_assign)                                                            \
    X(slist_append)                                                            \
    X(slist_free_all)                                                          \
    X(url)                                                                     \
    X(url_cleanup)                                                             \
    X(url_dup)                                                                 \
    X(url_get)                                                                 \
    X(url_set)                                                                 \
    X(version)                                                                 \
    X(free)

struct mortise_curl {
#define X(name) __typeof__(curl_##name) *name;
    MORTISE_CURL_FUNCTIONS(X)
#undef X
};

/* Get the table; it stays valid for the life of the process.
 * MORTISE_EUNAVAILABLE: no usable libcurl.  MORTISE_ELIMIT, MORTISE_ENOMEM:
 * descriptors or memory were short; a later call may succeed.  [any] */
int mortise_curl_get(const struct mortise_curl **out, struct mortise_err *err);

#endif
