/* curl.h -- libcurl, loaded when the first HTTP request is made.
 *
 * A table of the few functions of it that we use.  They are libcurl's own:
 * <curl/curl.h> says what they do. */
#ifndef MORTISE_SERVICES_HTTP_CURL_H
#define MORTISE_SERVICES_HTTP_CURL_H

#include <curl/curl.h>

#include "core/base/err.h"

/* Behind the header's type-checking macros, which know the functions alone. */
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

/* The table, for the life of the process; MORTISE_EUNAVAILABLE when there is no
 * libcurl that will do, MORTISE_ELIMIT or MORTISE_ENOMEM when descriptors or memory were
 * short: ask again.  [any] */
int mortise_curl_get(const struct mortise_curl **out, struct mortise_err *err);

#endif
