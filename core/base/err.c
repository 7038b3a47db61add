/* err.c -- error codes and messages.
 *
 * A message is stored in the caller's fixed-size struct: reporting that memory
 * ran out must not need memory, and two threads must not share a buffer.  The
 * code is set where the failure happens.  Callers only put context in front of
 * the message ("load a.yaml: line 12: ...").  A message that is too long is cut
 * at its end, at a UTF-8 boundary.
 */
#include "core/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/infile.h"

static const char *const names[] = {
    "OK",
    "E_NO_MEMORY",
    "E_IO",
    "E_INVALID",
    "E_NOT_FOUND",
    "E_CHECK",
    "E_CONFIG",
    "E_FORMAT",
    "E_STORE_CORRUPT",
    "E_STORE_BUSY",
    "E_NOT_ALLOWED",
    "E_CONFLICT",
    "E_EXISTS",
    "E_UNKNOWN_NODE",
    "E_DECISION_MISMATCH",
    "E_DECISION_INVALID",
    "E_IN_DOUBT",
    "E_BLOCKED",
    "E_NOT_AVAILABLE",
    "E_DETERMINISM",
    "E_LIMIT",
    "E_STATE",
    "E_NO_SPACE",
    "E_STALE_TOKEN",
    "E_ALREADY_SETTLED",
    "E_NOT_RUNNING",
    "E_ALREADY_REGISTERED",
    "E_STALE_ATTEMPT",
};

const char *mortise_version(void)
{
    return MORTISE_VERSION;
}

const char *mortise_result_name(int result)
{
    size_t i = (size_t)(-(long)result);

    if (result > 0 || i >= sizeof names / sizeof names[0])
        return "E_UNKNOWN";
    return names[i];
}

/* Remove an incomplete UTF-8 character from the end of a truncated message. */
static void cut_partial_char(char *msg, size_t cap)
{
    size_t n = strlen(msg), lead = n;

    if (n + 1 < cap)
        return;
    while (lead > 0 && ((unsigned char)msg[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead > 0 && (unsigned char)msg[lead - 1] >= 0xC0)
        msg[lead - 1] = '\0';
}

int mortise_vfail(struct mortise_err *err, int code, const char *fmt,
                  va_list ap)
{
    if (err != NULL) {
        err->code = code;
        vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        cut_partial_char(err->msg, sizeof err->msg);
    }
    return code;
}

int mortise_fail(struct mortise_err *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_vfail(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int mortise_err_prefix(struct mortise_err *err, int code, const char *fmt, ...)
{
    struct mortise_err old;
    size_t n;
    va_list ap;

    if (err == NULL)
        return code;
    old = *err;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, ": %s", old.msg);
    cut_partial_char(err->msg, sizeof err->msg);
    err->code = code;
    return code;
}

int mortise_nomem(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ENOMEM, "out of memory");
}

static int errno_to_result(int errnum)
{
    switch (errnum) {
    case ENOMEM:
        return MORTISE_ENOMEM;
    case EMFILE:
    case ENFILE:
        return MORTISE_ELIMIT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* `ulimit -f` */
        return MORTISE_ENOSPC;
    case ENOENT:
    case ENOTDIR:
        return MORTISE_ENOTFOUND;
    case EACCES:
    case EPERM:
        return MORTISE_EDENIED;
    case MORTISE_ERRNO_NOT_REGULAR:
        return MORTISE_EINVAL;
    default:
        return MORTISE_EIO;
    }
}

bool mortise_errno_is_shortage(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

/* The text of an errno.  For EMFILE and ENFILE, the text names the limit and
 * the setting that raises it. */
static const char *errno_to_text(int errnum, char *room, size_t size)
{
    struct rlimit most;

    if (errnum == MORTISE_ERRNO_NOT_REGULAR)
        return "not a regular file";
    if (errnum == ENFILE)
        return "the system's limit of open files is reached (sysctl "
               "fs.file-max)";
    if (errnum != EMFILE || getrlimit(RLIMIT_NOFILE, &most) != 0)
        /* the GNU version, which returns the text */
        return strerror_r(errnum, room, size);
    snprintf(room, size,
             "this process's limit of %llu open files is reached (ulimit -n, "
             "or LimitNOFILE= of the service)",
             (unsigned long long)most.rlim_cur);
    return room;
}

int mortise_syserr(struct mortise_err *err, int errnum, const char *fmt, ...)
{
    int code = errno_to_result(errnum);
    char room[256];
    va_list ap;
    size_t n;

    if (err == NULL)
        return code;
    va_start(ap, fmt);
    mortise_vfail(err, code, fmt, ap);
    va_end(ap);
    n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, ": %s",
             errno_to_text(errnum, room, sizeof room));
    cut_partial_char(err->msg, sizeof err->msg);
    return code;
}
