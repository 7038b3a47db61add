/* opt.c -- parses the command line by a table of options.
 *
 *   (1) Nothing is ignored or guessed.  An unknown or repeated option, an
 *       unexpected, missing or empty value, and a wrong number of operands are
 *       errors with a specific message.  Options cannot be abbreviated, since a
 *       new option could make an abbreviation ambiguous.
 *   (2) `--name VALUE` and `--name=VALUE` are equal; options and operands may
 *       be mixed; everything after `--` is an operand.  A single `-` is an
 *       operand or a value (stdin).
 *   (3) Each argument must be UTF-8.
 *   (4) --help prints the table that the parser uses.
 *
 * getopt_long() provides (2), but accepts abbreviations, prints messages itself
 * and keeps its state in globals. */
#include "cli/opt.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "cli/exit_code.h"

enum { MOST_OPTIONS = 24, TEXT_AT = 28 };

static const struct mortise_opt common_options[] = {
    {"verbose", NULL, offsetof(struct mortise_args, verbose),
     "Also print the engine's log", 'v', 0},
    {"help", NULL, offsetof(struct mortise_args, help), "Print this text", 'h',
     0},
};
enum { N_COMMON = sizeof common_options / sizeof common_options[0] };

const struct mortise_opt *mortise_opt_get(const struct mortise_cmd *cmd,
                                          size_t i)
{
    size_t own = 0;

    while (cmd->opts != NULL && cmd->opts[own].name != NULL)
        own++;
    /* The names fit into the array of fail_unknown_option(). */
    assert(own + N_COMMON < MOST_OPTIONS);
    if (i < own)
        return &cmd->opts[i];
    return i < own + N_COMMON ? &common_options[i - own] : NULL;
}

static int fail_unknown_option(const struct mortise_cmd *cmd, const char *word,
                               size_t len, struct mortise_err *err)
{
    const char *names[MOST_OPTIONS];
    char name[80];
    const char *near;
    size_t n = 0;

    for (const struct mortise_opt *o; (o = mortise_opt_get(cmd, n)) != NULL;
         n++)
        names[n] = o->name;
    len = len < sizeof name ? len : sizeof name - 1;
    memcpy(name, word, len);
    name[len] = '\0';
    near = mortise_nearest_find(name + strspn(name, "-"), names, n);
    if (near != NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "unknown option '%s'; did you mean '--%s'?", name,
                            near);
    return mortise_fail(err, MORTISE_EINVAL, "unknown option '%s'", name);
}

/* Find the option of a word that starts with '-'; *value is the text after '=',
 * or NULL. */
static const struct mortise_opt *find_option(const struct mortise_cmd *cmd,
                                             const char *word,
                                             const char **value,
                                             struct mortise_err *err)
{
    size_t len = strcspn(word, "=");
    const struct mortise_opt *o;

    *value = word[len] == '=' ? word + len + 1 : NULL;
    for (size_t i = 0; (o = mortise_opt_get(cmd, i)) != NULL; i++) {
        if (word[1] == '-' && strlen(o->name) == len - 2 &&
            memcmp(o->name, word + 2, len - 2) == 0)
            return o;
        if (o->letter != 0 && word[1] == o->letter && word[2] == '\0')
            return o;
    }
    fail_unknown_option(cmd, word, len, err);
    return NULL;
}

static int set_flag_option(struct mortise_args *args,
                           const struct mortise_opt *o, const char *value,
                           struct mortise_err *err)
{
    bool *at = (bool *)(void *)((char *)args + o->at);

    if (value != NULL)
        return mortise_fail(err, MORTISE_EINVAL, "option '--%s' takes no value",
                            o->name);
    *at = true;
    return MORTISE_OK;
}

static int set_text_option(struct mortise_args *args,
                           const struct mortise_opt *o, const char *value,
                           struct mortise_err *err)
{
    const char **at = (const char **)(void *)((char *)args + o->at);
    const char **last = at + o->more;

    if (value == NULL || value[0] == '\0')
        return mortise_fail(err, MORTISE_EINVAL,
                            "option '--%s' needs a value: --%s %s", o->name,
                            o->name, o->arg);
    while (*at != NULL && at < last)
        at++;
    if (*at != NULL)
        return mortise_fail(err, MORTISE_EINVAL, "option '--%s' is given %s",
                            o->name, o->more > 0 ? "too often" : "twice");
    *at = value;
    return MORTISE_OK;
}

/* Count the operands of a usage line: "RUN [ID]" means one or two, "FILE..." at
 * least one. */
static void count_operands(const char *words, size_t *min, size_t *max)
{
    bool many = strstr(words, "...") != NULL; /* of the last operand */

    *min = *max = 0;
    for (; *words != '\0'; words += strspn(words, " ")) {
        *min += *words != '[';
        ++*max;
        words += strcspn(words, " ");
    }
    *max = many ? SIZE_MAX : *max;
}

static int check_operands(const struct mortise_args *args,
                          const struct mortise_cmd *cmd,
                          struct mortise_err *err)
{
    size_t min, max;

    count_operands(cmd->operands, &min, &max);
    if (args->n_operands < min)
        return mortise_fail(err, MORTISE_EINVAL,
                            "an operand is missing: mortise %s %s", cmd->name,
                            cmd->operands);
    if (args->n_operands > max)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "unexpected operand '%s' (expected: mortise %s%s%s)",
            args->operands[max], cmd->name, max > 0 ? " " : "", cmd->operands);
    return MORTISE_OK;
}

/* Is the word an option?  If operands may begin with a dash ("-x > 1"), only a
 * known letter or the beginning of a name ("--v") is an option. */
static bool is_option(const struct mortise_cmd *cmd, const char *word)
{
    const struct mortise_opt *o;

    if (word[0] != '-' || word[1] == '\0')
        return false;
    if (!cmd->dashes || word[1] == '-')
        return !cmd->dashes || (word[2] >= 'a' && word[2] <= 'z');
    for (size_t i = 0; (o = mortise_opt_get(cmd, i)) != NULL; i++)
        if (o->letter != 0 && word[1] == o->letter && word[2] == '\0')
            return true;
    return false;
}

/* Parse one option; *i is advanced if its value is the next word. */
static int parse_option(struct mortise_args *args,
                        const struct mortise_cmd *cmd, int argc, char **argv,
                        int *i, struct mortise_err *err)
{
    const char *value;
    const struct mortise_opt *o = find_option(cmd, argv[*i], &value, err);

    if (o == NULL)
        return MORTISE_EINVAL;
    if (o->arg == NULL)
        return set_flag_option(args, o, value, err);
    if (value == NULL && *i + 1 < argc)
        value = argv[++*i];
    return set_text_option(args, o, value, err);
}

/* Arguments may be printed in JSON, including file names. */
static int check_arguments_utf8(int argc, char **argv, struct mortise_err *err)
{
    for (int i = 0; i < argc; i++)
        if (!mortise_utf8_is_valid(argv[i], strlen(argv[i])))
            return mortise_fail(err, MORTISE_EINVAL,
                                "argument %d of the command is not UTF-8 text",
                                i + 1);
    return MORTISE_OK;
}

int mortise_opt_parse(struct mortise_args *args, const struct mortise_cmd *cmd,
                      int argc, char **argv, struct mortise_err *err)
{
    bool only_operands = false;
    int rv;

    memset(args, 0, sizeof *args);
    rv = check_arguments_utf8(argc, argv, err);
    if (rv != MORTISE_OK)
        return rv;
    args->operands = argv;
    for (int i = 0; i < argc && !args->help; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (only_operands || !is_option(cmd, argv[i])) {
            args->operands[args->n_operands++] = argv[i];
        } else {
            rv = parse_option(args, cmd, argc, argv, &i, err);
            if (rv != MORTISE_OK)
                return rv;
        }
    }
    return args->help ? MORTISE_OK : check_operands(args, cmd, err);
}

/* ---- help ------------------------------------------------------------- */

/* Print `  --name ARG  description`, with the description in a column of its
 * own. */
static void print_option_help(struct mortise_out *o,
                              const struct mortise_opt *opt)
{
    size_t at = 2;

    mortise_out_puts(o, "  ");
    if (opt->letter != 0) {
        mortise_out_printf(o, "-%c, ", opt->letter);
        at += 4;
    }
    mortise_out_printf(o, "--%s%s%s", opt->name, opt->arg != NULL ? " " : "",
                       opt->arg != NULL ? opt->arg : "");
    at += 2 + strlen(opt->name) + (opt->arg != NULL ? 1 + strlen(opt->arg) : 0);
    if (at + 2 > TEXT_AT) {
        mortise_out_puts(o, "\n");
        at = 0;
    }
    mortise_out_put_cell(o, "", TEXT_AT - at);
    /* The table contains the line breaks of long texts. */
    for (const char *s = opt->help; *s != '\0';) {
        size_t n = strcspn(s, "\n");

        mortise_out_put(o, s, n);
        mortise_out_puts(o, "\n");
        s += n + (s[n] == '\n');
        mortise_out_put_cell(o, "", *s != '\0' ? TEXT_AT : 0);
    }
}

static void print_exit_codes(struct mortise_out *o, unsigned exits)
{
    enum mortise_exit_code code;
    const char *words;

    mortise_out_puts(o, "\nExit codes:\n");
    for (unsigned n = 0; (words = mortise_exit_code_get_text(n, &code)) != NULL;
         n++)
        if ((exits & MORTISE_EXIT_BIT(n)) != 0)
            mortise_out_printf(o, "  %2d  %s\n", (int)code, words);
}

void mortise_opt_print_help(struct mortise_out *o,
                            const struct mortise_cmd *cmd)
{
    const struct mortise_opt *opt;

    mortise_out_printf(o, "Usage: mortise %s%s%s [options]\n\n%s.\n", cmd->name,
                       cmd->operands[0] != '\0' ? " " : "", cmd->operands,
                       cmd->summary);
    if (cmd->text != NULL) {
        mortise_out_puts(o, "\n");
        mortise_out_puts(o, cmd->text);
    }
    mortise_out_puts(o, "\nOptions:\n");
    for (size_t i = 0; (opt = mortise_opt_get(cmd, i)) != NULL; i++)
        print_option_help(o, opt);
    print_exit_codes(o, MORTISE_EXITS_ALWAYS | cmd->exits);
    mortise_out_puts(o, "\nExample:\n");
    mortise_out_put_text(o, cmd->example, 2);
}
