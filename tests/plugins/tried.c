/* tried.c -- the `tried` executor: what the command line's tests let nodes do.
 *
 *   echo {value}         pure: gives the value back
 *   print {value}        pure: prints it to stdout, and gives it back
 *   fail {code}          pure: fails with that code
 *   nap {ms}             read: takes so long, says how far it is, can be
 *                        cancelled; says "at work" to stderr as it begins
 *   strike {marker}      external, neither idempotent nor reconcilable: makes
 *                        the file `marker` and dies with the whole process;
 *                        succeeds when the file is there already
 *   linger {}            external: takes until it is told to stop, and lets go;
 *                        says "at work" likewise
 *   unsure {}            external: does not know whether it happened
 *   act {}               external, idempotent: nothing; its run is on disk when
 *                        it is called
 *   say {text}           pure: an event with that text on the way
 *   wander {}            pure: changes the working directory and the umask
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mortise/plugin.h"

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
};

static struct mortise_inst the_inst;

static mortise_str str(const char *s)
{
    mortise_str out = {s, strlen(s)};

    return out;
}

static int is(mortise_str s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* The text behind `"key":` in a flat object, up to the closing brace: enough
 * for what our own graphs send. */
static mortise_str member(mortise_str body, const char *key)
{
    char quoted[64];
    mortise_str out = {NULL, 0};
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = memmem(body.p, body.n, quoted, strlen(quoted));
    if (at == NULL)
        return out;
    out.p = at + strlen(quoted);
    out.n = (uint64_t)(body.p + body.n - 1 - out.p);
    return out;
}

static mortise_status emit(mortise_inst *in, const mortise_request *r,
                           const char *kind, const char *text, uint64_t n)
{
    mortise_str chunk = {text, n};

    return in->api->emit(in->host, r->call, str(kind), chunk);
}

static mortise_status nap(mortise_inst *in, const mortise_request *r)
{
    long ms = strtol(member(r->body, "ms").p, NULL, 10);
    struct timespec tick = {0, 10 * 1000 * 1000};
    char text[64];

    fputs("at work\n", stderr);
    for (long slept = 0; slept < ms; slept += 10) {
        if (in->api->cancelled(in->host, r->call))
            return MORTISE_S_CANCELLED;
        if (slept % 100 == 0) {
            int n = snprintf(text, sizeof text, "{\"slept\":%ld}", slept);

            emit(in, r, "event", text, (uint64_t)n);
        }
        nanosleep(&tick, NULL);
    }
    return emit(in, r, "output", "{\"slept\":true}", 14);
}

static mortise_status strike(mortise_inst *in, const mortise_request *r)
{
    mortise_str quoted = member(r->body, "marker");
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%.*s", (int)quoted.n - 2, quoted.p + 1);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd >= 0)
        raise(SIGKILL);
    return emit(in, r, "output", "{\"again\":true}", 14);
}

static mortise_status linger(mortise_inst *in, const mortise_request *r)
{
    struct timespec tick = {0, 10 * 1000 * 1000};

    fputs("at work\n", stderr);
    while (!in->api->cancelled(in->host, r->call))
        nanosleep(&tick, NULL);
    return MORTISE_S_CANCELLED;
}

static mortise_status fail(mortise_inst *in, const mortise_request *r)
{
    mortise_str code = member(r->body, "code");
    char detail[256];

    snprintf(detail, sizeof detail, "{\"code\":%.*s}", (int)code.n, code.p);
    in->api->fail(in->host, r->call, str("told to fail"), str(detail));
    return MORTISE_S_FAILED;
}

/* By stdio, which keeps it for as long as the process lives, and at once. */
static mortise_status print_it(mortise_inst *in, const mortise_request *r,
                               mortise_str value)
{
    printf("printed %.*s\n", (int)value.n, value.p);
    if (write(STDOUT_FILENO, "written\n", 8) != 8)
        return MORTISE_S_FAILED;
    return emit(in, r, "output", value.p, value.n);
}

static mortise_status execute(mortise_inst *in, const mortise_request *r)
{
    mortise_str value = member(r->body, "value");

    if (is(r->operation, "print"))
        return print_it(in, r, value);
    if (is(r->operation, "echo"))
        return emit(in, r, "output", value.p, value.n);
    if (is(r->operation, "nap"))
        return nap(in, r);
    if (is(r->operation, "strike"))
        return strike(in, r);
    if (is(r->operation, "linger"))
        return linger(in, r);
    if (is(r->operation, "act"))
        return emit(in, r, "output", "{}", 2);
    if (is(r->operation, "unsure"))
        return MORTISE_S_DOUBT;
    if (is(r->operation, "wander")) {
        umask(0);
        return chdir("/") == 0 ? emit(in, r, "output", "{}", 2)
                               : MORTISE_S_FAILED;
    }
    if (is(r->operation, "say")) {
        emit(in, r, "event", r->body.p, r->body.n);
        return emit(in, r, "output", "{}", 2);
    }
    return fail(in, r);
}

static const mortise_executor executor = {.size = sizeof executor,
                                          .execute = execute};

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    (void)config;
    the_inst.host = host;
    the_inst.api = api;
    *out = &the_inst;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *in, const char *id)
{
    (void)in;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static void cancel(mortise_inst *in, mortise_call call)
{
    (void)in;
    (void)call; /* nap() looks by itself */
}

static mortise_status quiesce(mortise_inst *in, uint64_t deadline_ns)
{
    (void)in;
    (void)deadline_ns;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *in)
{
    (void)in;
}

static const mortise_plugin plugin = {sizeof plugin, 0,       "tried",
                                      "1.0.0",       create,  get_interface,
                                      cancel,        quiesce, destroy};

MORTISE_MODULE_OF(plugin);
