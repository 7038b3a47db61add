/* bench.c -- `make bench`: the table of what things cost.
 *
 * Never a test: it ends well unless something does not work at all, and says
 * of each row whether its aim was reached.  The rules:
 *
 *   (1) A time alone says as much about the machine as about us.  So the table
 *       holds each row against something of this very machine and minute: bare
 *       LevelDB, a call through a pointer, a hand-off between threads.
 *   (2) What is measured is what people run: engines through mortise.h, the
 *       real command, signed plugins.  Layers alone stand beside it to show
 *       where the time goes, and say so.
 *   (3) Every number is the median of several repeats, and where two things
 *       are compared they take turns.
 *   (4) What the build cannot do is listed, not imitated.
 *
 * `bench NAME...` prints only those sections.  MORTISE_BUILD says where the
 * build is; everything happens in a directory there, because /tmp may be no
 * disk.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct section {
    const char *name;
    void (*run)(void);
} sections[] = {
    {"process", bench_process}, {"dispatch", bench_dispatch},
    {"flat", bench_flat},       {"durable", bench_durable},
    {"waits", bench_waits},     {"parked", bench_parked},
    {"loading", bench_loading}, {"shapes", bench_shapes},
    {"models", bench_models},   {"mcp", bench_mcp},
    {"memory", bench_traces},   {"remembers", bench_remembers},
    {"guards", bench_guards},
};

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

static void say_load(const char *when)
{
    double load[3] = {0};

    getloadavg(load, 3);
    printf("load %s: %.2f %.2f %.2f (1, 5, 15 min)\n", when, load[0], load[1],
           load[2]);
}

static void say_machine(void)
{
    struct utsname u;

    uname(&u);
    printf("mortise " MORTISE_VERSION ", %s %s %s, %ld CPUs; ", u.sysname,
           u.release, u.machine, sysconf(_SC_NPROCESSORS_ONLN));
    say_load("at the start");
}

static void say_missing(void)
{
    bench_section("not in this build");
    bench_note("isolated call round trip vs. a SOCK_SEQPACKET ping-pong "
               "(plugins run in the engine)");
}

int main(int argc, char **argv)
{
    double begun = bench_now();

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && strcmp(argv[1], "--child") == 0) {
        bench_world_use(argv[3]);
        return bench_be_child(argv[2], argv[4]);
    }
    say_machine();
    bench_world_init();
    bench_head();
    bench_measure_base();
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (is_wanted(sections[i].name, argc, argv))
            sections[i].run();
    say_missing();
    printf("\n%.0f s; ", bench_now() - begun);
    say_load("at the end");
    return EXIT_SUCCESS;
}
