/* sandbox.c -- run a rehearsal in its own process and temporary directory.
 *
 * A rehearsal is a fork of this process, which has no threads and no engine.
 * This confines plugins, the clock and failures to the child, and its suicide
 * is a real crash.  The child writes the outcome to a file in the directory.
 * The directory is always removed, also after SIGINT or SIGTERM, which kill
 * the child first.
 */
#include "testkit/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/infile.h"
#include "core/base/tempdir.h"
#include "cli/stop.h"
#include "core/json/value.h"

/* ---- the child ----------------------------------------------------------- */

/* Write the outcome, or an error: {error: {code, message}}. */
static void write_outcome(const struct mortise_rehearsal *r, const char *path)
{
    struct mortise_err err = {.code = MORTISE_OK};
    struct mortise_buf b;
    json_t *out = NULL;
    FILE *f;

    if (mortise_rehearse(r, &out, &err) != MORTISE_OK)
        out = json_pack("{s:{s:i, s:s}}", "error", "code", err.code, "message",
                        err.msg);
    mortise_buf_init(&b, r->mem);
    mortise_json_write(&b, out);
    json_decref(out);
    f = b.failed ? NULL : fopen(path, "w");
    if (f != NULL) {
        fwrite(b.p, 1, b.n, f);
        fclose(f);
    }
    mortise_buf_finish(&b);
}

static void run_child(const struct mortise_rehearsal *r, const char *path)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody needs the outcome */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    write_outcome(r, path);
    _exit(0);
}

/* ---- the parent ---------------------------------------------------------- */

/* Wait until the child exits, or kill it when the user interrupts. */
static void wait_or_kill_child(pid_t pid)
{
    struct pollfd fds[] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
                           {.fd = mortise_stop_fd(), .events = POLLIN}};

    if (fds[0].fd < 0)
        return; /* waitpid() suffices, without interruption */
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
    close(fds[0].fd);
    if (fds[1].revents != 0)
        kill(pid, SIGKILL);
}

static int wait_for_child(pid_t pid, bool *died, struct mortise_err *err)
{
    int status;

    wait_or_kill_child(pid);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return mortise_syserr(err, errno, "wait for a test");
    if (mortise_stop_has_signal())
        return mortise_fail(err, MORTISE_ESTATE, "interrupted");
    *died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (WIFSIGNALED(status) && !*died)
        return mortise_fail(err, MORTISE_EIO,
                            "signal %d (%s) killed the process of the test",
                            WTERMSIG(status), strsignal(WTERMSIG(status)));
    return MORTISE_OK;
}

static int rehearse_in_child(const struct mortise_rehearsal *r,
                             const char *path, bool *died,
                             struct mortise_err *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return mortise_syserr(err, errno, "start a process for a test");
    if (pid == 0)
        run_child(r, path);
    return wait_for_child(pid, died, err);
}

static int read_outcome(const struct mortise_rehearsal *r, const char *path,
                        json_t **out, struct mortise_err *err)
{
    const json_t *error;
    struct mortise_buf b;
    int errnum, rv;

    mortise_buf_init(&b, r->mem);
    errnum = mortise_infile_read(path, &b);
    rv = errnum != 0
             ? mortise_fail(err, MORTISE_ENOMEM,
                            "the process of the test reported no result")
             : mortise_json_parse_written(out, b.p, b.n, err);
    mortise_buf_finish(&b);
    if (rv != MORTISE_OK)
        return rv;
    error = json_object_get(*out, "error");
    if (error == NULL)
        return MORTISE_OK;
    rv = mortise_fail(
        err, (int)json_integer_value(json_object_get(error, "code")), "%s",
        json_string_value(json_object_get(error, "message")));
    mortise_json_clear_ref(out);
    return rv;
}

int mortise_sandbox_rehearse(struct mortise_rehearsal *r, json_t **out,
                             bool *died, struct mortise_err *err)
{
    uint64_t die_at = r->die_at;
    struct mortise_tempdir dir;
    char path[PATH_MAX + 16];
    bool again;
    int rv = mortise_tempdir_make(&dir, "case", err);

    *out = NULL;
    *died = false;
    if (rv != MORTISE_OK)
        return rv;
    r->dir = dir.path;
    snprintf(path, sizeof path, "%s/outcome", dir.path);
    rv = rehearse_in_child(r, path, died, err);
    if (rv == MORTISE_OK && *died) {
        r->die_at = 0;
        rv = die_at == 0 ? mortise_fail(err, MORTISE_EIO,
                                        "the process of the test was killed")
                         : rehearse_in_child(r, path, &again, err);
        r->die_at = die_at;
    }
    if (rv == MORTISE_OK)
        rv = read_outcome(r, path, out, err);
    mortise_tempdir_remove(&dir);
    return rv;
}
