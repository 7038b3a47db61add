/* start.c -- from main() to the function of a command.
 *
 * This file does for all commands: usage errors, --help, the check that the whole
 * output was written, and the exit code.
 *
 * A command whose function is in another program (`program` of its row) is parsed
 * here, too, so that a usage error needs no second program.  Then that program
 * replaces this process and parses the same arguments again.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/nearest.h"
#include "cli/cli.h"
#include "cli/nomem.h"

static const char usage_intro[] =
    "Usage: mortise COMMAND [options]\n"
    "\n"
    "Mortise runs durable agent graphs.  You can kill Mortise at any\n"
    "time, and then resume each run where it stopped.\n"
    "\n"
    "Commands:\n";

static const char usage_details[] =
    "\n"
    "'mortise COMMAND --help' describes a command.\n"
    "\n"
    "Which store and which plugins:\n"
    "  A Deployment file selects both.  Mortise uses the first of these that "
    "is\n"
    "  given or exists:\n"
    "    --deployment FILE\n"
    "    the environment variable MORTISE_DEPLOYMENT\n"
    "    mortise.yaml beside the graph ('run', 'check', 'graph show', 'test')\n"
    "    ./mortise.yaml\n"
    "  Otherwise it uses the bundled plugins and the store ./.mortise.\n"
    "  --store DIR overrides the store in each of these cases.\n"
    "\n"
    "Mortise stores the data of a user (allowed deployments, releases of "
    "plugins\n"
    "that ran, revocations) in $XDG_STATE_HOME/mortise.  If XDG_STATE_HOME is "
    "not\n"
    "set, the directory is $HOME/.local/state/mortise.  If the directory in "
    "HOME\n"
    "does not exist or belongs to another user, Mortise uses the home "
    "directory in\n"
    "the user's passwd entry.\n"
    "\n"
    "If trust refuses a plugin, each command that needs the plugin ends with "
    "exit\n"
    "code 77, even if the command also finds other errors.  This applies to "
    "check,\n"
    "run, test and every command that continues a run.  Trust refuses a plugin "
    "if\n"
    "  - no key that is trusted for the plugin signed it\n"
    "  - the plugin or its key was revoked\n"
    "  - the plugin is older than a release of it that this store or user ran\n"
    "  - this store or user ran a different build with the same version and "
    "seq\n"
    "  - the manifest or the object of the plugin differs from the signed one\n"
    "\n"
    "'plugin list' and 'doctor' report a refused plugin, but do not end with "
    "exit\n"
    "code 77.  'check' without --plugins and 'graph show' read only manifests. "
    " They\n"
    "check neither the objects nor the releases that ran before.  If an "
    "object\n"
    "differs from the signed one when a run first calls the plugin, the run "
    "fails\n"
    "and the exit code is 1.\n"
    "\n"
    "If neither --deployment nor MORTISE_DEPLOYMENT names a deployment, "
    "Mortise uses\n"
    "a mortise.yaml that it finds.  If this file needs your permission and you "
    "have\n"
    "not given it, the command ends with exit code 77.  Read the file, then "
    "run\n"
    "'mortise config allow'.  'mortise config allow --help' lists the keys "
    "that need\n"
    "the permission.  'check' without --plugins, 'graph show', 'config print' "
    "and\n"
    "'key list' only print a warning.\n"
    "\n"
    "SIGINT (Ctrl-C) and SIGTERM end every command that waits.  A command "
    "that\n"
    "continues a run (run, resume, a decision) pauses the run durably.  The "
    "exit\n"
    "code is then that of the run's status: 4 if the run is paused or waits "
    "for a\n"
    "person.  'events --follow' and 'engine' end with exit code 0.  'chat' "
    "ends\n"
    "as if its input had ended.  'test', 'check', 'plugin call' and 'mcp' end "
    "with\n"
    "exit code 1, and nothing that they started continues.  A second signal "
    "kills\n"
    "the command, and even then no recorded step is lost.  The exit code in "
    "the\n"
    "shell is then 130 after SIGINT and 143 after SIGTERM.\n"
    "\n"
    "While one process works on a store, every other command uses the store\n"
    "through this process.  For example, you can approve from a second "
    "terminal and\n"
    "follow the events in a third one.\n";

/* ---- command line ------------------------------------------------------- */

/* Open /dev/null as each closed standard descriptor, so that no store or socket
 * gets its number.  Reading then returns end of file; writing fails, as it
 * would on a closed descriptor. */
static void keep_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Move stdout to a private descriptor and redirect the old one to stderr,
 * because plugins may print to stdout, and the output of a command (JSON, for
 * example) must contain nothing else. */
static void move_stdout(struct mortise_out *out)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd < 0)
        return;
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        out->fd = fd;
    else
        close(fd);
}

/* Raise the soft limit, which is low only for the sake of programs that use
 * select(). */
static void raise_descriptor_limit(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static size_t get_first_word_length(const char *name)
{
    return strcspn(name, " ");
}

/* Find the command of argv[1] (and argv[2]); *words is the number of words
 * used.  NULL: there is none, and *group is true if a command of two words
 * starts with argv[1]. */
static const struct mortise_cmd *find_subcommand(const struct mortise_cli *cli,
                                                 int argc, char **argv,
                                                 int *words, bool *group)
{
    *group = false;
    for (size_t i = 0; i < cli->n_commands; i++) {
        const char *name = cli->commands[i]->name;
        size_t n = get_first_word_length(name);

        if (strlen(argv[1]) != n || memcmp(argv[1], name, n) != 0)
            continue;
        if (name[n] == '\0') {
            *words = 1;
            return cli->commands[i];
        }
        *group = true;
        if (argc > 2 && strcmp(argv[2], name + n + 1) == 0) {
            *words = 2;
            return cli->commands[i];
        }
    }
    return NULL;
}

/* Print the overview of one group, or of all commands if `group` is NULL. */
static void print_overview(const struct mortise_cli *cli,
                           struct mortise_out *o, const char *group)
{
    size_t n = group != NULL ? strlen(group) : 0;

    if (group == NULL)
        mortise_out_puts(o, usage_intro);
    else
        mortise_out_printf(o, "Usage: mortise %s COMMAND [options]\n\n", group);
    for (size_t i = 0; i < cli->n_commands; i++) {
        const struct mortise_cmd *c = cli->commands[i];

        if (group != NULL && (get_first_word_length(c->name) != n ||
                              memcmp(c->name, group, n) != 0))
            continue;
        mortise_out_puts(o, "  ");
        mortise_out_put_cell(o, c->name, 22);
        mortise_out_printf(o, "%s\n", c->summary);
    }
    if (group == NULL)
        mortise_out_puts(o, usage_details);
}

/* Report an unknown command and suggest a similar one. */
static int fail_unknown_subcommand(struct mortise_cli *cli, char **argv,
                                   bool group)
{
    const char *word = group ? argv[2] : argv[1], *near;
    const char *names[MORTISE_COMMANDS_MAX];
    char text[MORTISE_COMMANDS_MAX][32];
    size_t n = 0;

    for (size_t i = 0; i < cli->n_commands; i++) {
        const char *name = cli->commands[i]->name;
        size_t len = get_first_word_length(name);

        assert(strlen(name) < sizeof text[0]); /* our own table */
        if (!group) {
            memcpy(text[n], name, len);
            text[n][len] = '\0';
            names[n] = text[n];
            n++;
        } else if (strlen(argv[1]) == len && memcmp(argv[1], name, len) == 0) {
            names[n++] = name + len + 1;
        }
    }
    /* Commands of the control socket that are options here. */
    if (!group && (strcmp(word, "goto") == 0 || strcmp(word, "update") == 0))
        return mortise_cli_fail_usage(
            cli,
            "unknown command '%s'; it is an option: mortise resume RUN --%s",
            word, word);
    near = mortise_nearest_find(word, names, n);
    return mortise_cli_fail_usage(cli, "unknown command '%s'%s%s%s", word,
                                  near != NULL ? "; did you mean '" : "",
                                  near != NULL ? near : "",
                                  near != NULL ? "'?" : "");
}

/* Does an invalid command line ask for JSON? */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0 ||
            strcmp(argv[i], "--format=json") == 0 ||
            (strcmp(argv[i], "--format") == 0 && i + 1 < argc &&
             strcmp(argv[i + 1], "json") == 0))
            return true;
    return false;
}

/* Handle `mortise`, `mortise help`, `mortise --help`, `mortise plugin
 * [--help]`. */
static int run_without_command(struct mortise_cli *cli, int argc, char **argv,
                               bool group)
{
    const char *word = argc > (group ? 2 : 1) ? argv[group ? 2 : 1] : NULL;
    bool help = word != NULL &&
                (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
                 (!group && strcmp(word, "help") == 0));

    cli->args.json = wants_json(argc, argv);
    if (word != NULL && !help)
        return fail_unknown_subcommand(cli, argv, group);
    print_overview(cli, help ? &cli->out : &cli->err,
                   group ? argv[1] : NULL);
    return help ? MORTISE_EXIT_OK : MORTISE_EXIT_USAGE;
}

/* A copy of argv, since the parser reorders it.  NULL: no memory. */
static char **copy_argv(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);

    if (copy != NULL && argc > 0)
        memcpy(copy, argv, (size_t)argc * sizeof *copy);
    return copy;
}

/* Run the command: its own function, that of `functions`, or another program. */
static int run_command(struct mortise_cli *cli, char **argv,
                       const struct mortise_cli_function *functions,
                       struct mortise_err *err)
{
    if (cli->cmd->run != NULL)
        return cli->cmd->run(cli, err);
    for (; functions != NULL && functions->cmd != NULL; functions++)
        if (functions->cmd == cli->cmd)
            return functions->run(cli, err);
    return mortise_cli_exec(cli, argv, err);
}

/* Parse the options behind the first `words` words, and run the command.  `given`: the
 * command line for another program. */
static int parse_and_run(struct mortise_cli *cli, int argc, char **argv,
                         int words, char **given,
                         const struct mortise_cli_function *functions)
{
    struct mortise_err err;
    int code;

    if (mortise_opt_parse(&cli->args, cli->cmd, argc - 1 - words,
                          argv + 1 + words, &err) != MORTISE_OK) {
        cli->args.json = wants_json(argc, argv);
        return mortise_cli_fail_usage(cli, "%s", err.msg);
    }
    if (cli->args.help) {
        mortise_opt_print_help(&cli->out, cli->cmd);
        return MORTISE_EXIT_OK;
    }
    code = run_command(cli, given, functions, &err);
    if (code < 0)
        code = mortise_cli_fail(cli, &err);
    code = mortise_cli_report_incomplete(cli, code);
    mortise_cli_release_store(cli);
    return code;
}

static int run_command_line(struct mortise_cli *cli, int argc, char **argv,
                            const struct mortise_cli_function *functions)
{
    struct mortise_err err;
    bool group = false;
    int words = 0, code;
    char **given;

    if (argc > 1)
        cli->cmd = find_subcommand(cli, argc, argv, &words, &group);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        cli->cmd = &mortise_cmd_version;
        words = 1;
    }
    if (cli->cmd == NULL)
        return run_without_command(cli, argc, argv, group);
    if (cli->cmd->run != NULL)
        return parse_and_run(cli, argc, argv, words, NULL, functions);
    given = copy_argv(argc, argv);
    if (given == NULL) {
        mortise_nomem(&err);
        return mortise_cli_fail(cli, &err);
    }
    code = parse_and_run(cli, argc, argv, words, given, functions);
    free(given);
    return code;
}

/* Check that all output was written.  A closed pipe (EPIPE) is not an error. */
static int flush_output(struct mortise_cli *cli, int code)
{
    int errnum = mortise_out_flush(&cli->out);

    if (errnum != 0 && errnum != EPIPE) {
        mortise_cli_fail_output(cli, strerror(errnum));
        code = MORTISE_EXIT_FAILED;
    }
    mortise_cli_print_kept_findings(cli, code);
    mortise_out_flush(&cli->err);
    return code;
}

/* Memory contains secrets: prevent core files, and access by other processes of
 * the user.  That also prevents debugging, so developers can turn it off.
 * Child programs are not affected, since execve() resets the flag. */
static void hide_memory(void)
{
    const char *setting = getenv("MORTISE_CORE_DUMPS");

    if (setting == NULL || strcmp(setting, "1") != 0)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int mortise_cli_main(int argc, char **argv,
                     const struct mortise_cmd *const *commands, size_t n,
                     const struct mortise_cli_function *functions)
{
    struct mortise_cli cli = {
        .mem = &mortise_heap, .commands = commands, .n_commands = n};
    static const char no_memory[] =
        "mortise: out of memory or threads; what was recorded stays "
        "(E_NO_MEMORY)\n";

    mortise_nomem_install(no_memory, sizeof no_memory - 1, MORTISE_EXIT_FAILED);
    hide_memory();
    keep_standard_descriptors();
    raise_descriptor_limit();
    signal(SIGPIPE, SIG_IGN); /* write() fails with EPIPE instead */
    signal(SIGXFSZ, SIG_IGN); /* likewise EFBIG, as on a full disk */
    cli.program = argc > 0 ? argv[0] : "mortise";
    mortise_out_init(&cli.out, STDOUT_FILENO, cli.mem);
    mortise_out_init(&cli.err, STDERR_FILENO, cli.mem);
    move_stdout(&cli.out);
    return flush_output(&cli, run_command_line(&cli, argc, argv, functions));
}
