/* process.c -- what belongs to the whole process is as it was.
 *
 * The program has a locale with a decimal comma, a umask and a directory; an
 * engine computes with fractions in the midst of it.  The program's callbacks
 * see its own locale, the engine's JSON has points, and what exec would hand on
 * to a child is nothing of the engine's. */
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "embed.h"

extern char **environ;

struct seen {
    char comma_in_callbacks;
    int over;
};

static int on_event(void *ud, const char *json, size_t len)
{
    struct seen *seen = ud;
    char text[16];

    (void)len;
    snprintf(text, sizeof text, "%.1f", 0.5);
    if (text[1] != ',')
        seen->comma_in_callbacks = 0;
    seen->over |= is_event(json, "run_end");
    return 0;
}

/* Descriptors that a child would get beyond the usual three. */
static int inheritable(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;

    while ((e = readdir(d)) != NULL) {
        int fd = atoi(e->d_name);

        if (e->d_name[0] != '.' && fd > 2 && fd != dirfd(d))
            n += (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
    }
    closedir(d);
    return n;
}

static size_t environment(void)
{
    size_t n = 0;

    for (char **e = environ; *e != NULL; e++)
        n += strlen(*e) + 1;
    return n;
}

static void print_half(struct mortise *m)
{
    struct mortise_err err;
    char *json, *at;

    must(mortise_show(m, NULL, "one", &json, &err), &err, "show");
    at = strstr(json, "\"scratch\":");
    printf("%.*s\n", at != NULL ? (int)strcspn(at, "}") + 1 : 0, at);
    mortise_free(m, json);
}

int main(int argc, char **argv)
{
    struct seen seen = {.comma_in_callbacks = 1};
    char before[4096], after[4096];
    struct mortise_err err;
    struct mortise_graph *g;
    struct mortise *m;
    size_t environment_before;
    mode_t mask;
    int handed_on;

    if (argc != 3 || setlocale(LC_ALL, "") == NULL ||
        getcwd(before, sizeof before) == NULL)
        return 2;
    umask(0027);
    handed_on = inheritable(); /* by whoever started us */
    environment_before = environment();
    m = open_engine(argv[2]);
    g = load_graph(m, argv[1]);
    start_run(m, g, "one", "{\"half\": 0.5}", on_event, &seen);
    while (!seen.over)
        must(mortise_poll(m, 100, &err), &err, "poll");
    print_half(m);
    printf("more inheritable: %d\n", inheritable() - handed_on);
    mortise_graph_close(g);
    mortise_close(m);

    mask = umask(0);
    printf("comma: %s %s\n", localeconv()->decimal_point,
           seen.comma_in_callbacks ? "also in callbacks" : "");
    printf("locale: %s\n", setlocale(LC_NUMERIC, NULL));
    printf("umask: %03o\n", (unsigned)mask);
    printf("directory: %s\n",
           getcwd(after, sizeof after) != NULL && strcmp(before, after) == 0
               ? "same"
               : "another");
    printf("environment: %s\n",
           environment() == environment_before ? "same" : "another");
    return 0;
}
