/* completion.c -- `mortise completion`: generate scripts for bash, zsh and
 * fish from the table of subcommands.
 *
 * The name of a value or operand in --help determines its completion: FILE and
 * GRAPH are files, DIR a directory, RUN the id of a run, CODE a code, and
 * a|b|c one of these words.  Ids come from `mortise runs`, with the options
 * that select the store; --existing prevents that a key press creates one.
 * RUN [ID] completes from `mortise inbox`: first the runs with pending
 * requests, and after a run the ids of its requests.  An earlier word is taken
 * as the run if it has requests.
 */
#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"

/* The kinds of values.  bash_options() depends on NO_VALUE being first and
 * A_WORD last. */
enum value_kind {
    NO_VALUE,
    NOTHING,
    A_FILE,
    A_DIR,
    A_RUN,
    A_REQUEST,
    A_CODE,
    A_WORD
};

/* The kind of an option's value (NULL: no value) or of an operand. */
static enum value_kind get_value_kind(const char *called)
{
    if (called == NULL)
        return NO_VALUE;
    called += *called == '[';
    if (strstr(called, "FILE") != NULL || strstr(called, "GRAPH") != NULL ||
        strstr(called, "MANIFEST") != NULL)
        return A_FILE;
    return strncmp(called, "DIR", 3) == 0    ? A_DIR
           : strstr(called, "[ID]") != NULL  ? A_REQUEST
           : strncmp(called, "RUN", 3) == 0  ? A_RUN
           : strncmp(called, "CODE", 4) == 0 ? A_CODE
           : strchr(called, '|') != NULL     ? A_WORD
                                             : NOTHING;
}

/* A shell's code for each kind.  The words of A_WORD are printed between
 * `says` and `behind`. */
struct shell_syntax {
    const char *says[A_WORD + 1], *behind;
};

static void print_value_kind(struct mortise_out *o,
                             const struct shell_syntax *shell_syntax,
                             const char *called)
{
    enum value_kind value_kind = get_value_kind(called);

    mortise_out_puts(o, shell_syntax->says[value_kind]);
    if (value_kind != A_WORD)
        return;
    for (const char *p = called; *p != '\0'; p++)
        mortise_out_put(o, *p == '|' ? " " : p, 1);
    mortise_out_puts(o, shell_syntax->behind);
}

/* Print in single quotes.  `quote` is the shell's form of a quote inside;
 * `specs` escapes zsh's special characters. */
static void print_shell_quoted(struct mortise_out *o, const char *s,
                               const char *quote, bool specs)
{
    mortise_out_puts(o, "'");
    for (; *s != '\0' && *s != '\n'; s++) {
        if (*s == '\'')
            mortise_out_puts(o, quote);
        else if (specs && strchr("[]:\\", *s) != NULL)
            mortise_out_printf(o, "\\%c", *s);
        else
            mortise_out_put(o, s, 1);
    }
    mortise_out_puts(o, "'");
}

/* ---- the table of commands --------------------------------------------- */

static size_t get_group_length(const struct mortise_cmd *c)
{
    return strcspn(c->name, " ");
}

static bool is_in_group(const struct mortise_cmd *c)
{
    return c->name[get_group_length(c)] != '\0';
}

/* Is row i the first of its group, or in no group? */
static bool is_first_of_group(size_t i)
{
    size_t n = get_group_length(mortise_commands[i]);

    return i == 0 || get_group_length(mortise_commands[i - 1]) != n ||
           strncmp(mortise_commands[i - 1]->name, mortise_commands[i]->name,
                   n) != 0;
}

static void print_first_words(struct mortise_out *o)
{
    for (size_t i = 0; i < mortise_n_commands; i++) {
        const struct mortise_cmd *c = mortise_commands[i];

        if (!is_first_of_group(i))
            continue;
        mortise_out_put(o, c->name, get_group_length(c));
        mortise_out_puts(o, " ");
    }
}

/* The second words of the group that begins at row i. */
static void print_second_words(struct mortise_out *o, size_t i)
{
    size_t k = i;

    do
        mortise_out_printf(o, "%s%s", k > i ? " " : "",
                           mortise_commands[k]->name +
                               get_group_length(mortise_commands[k]) + 1);
    while (++k < mortise_n_commands && !is_first_of_group(k));
}

/* ---- bash -------------------------------------------------------------- */

static const char bash_head[] =
    "# bash completion for mortise, from `mortise completion bash`\n"
    "\n"
    "_mortise_runs()\n"
    "{\n"
    "    \"$1\" runs --existing --json \"${@:2}\" 2>/dev/null |\n"
    "        sed -n 's/.*\"run\":\"\\([^\"]*\\)\".*/\\1/p'\n"
    "}\n"
    "\n"
    "# The runs that ask something; behind one of them, what it asks\n"
    "_mortise_requests()\n"
    "{\n"
    "    local all run id word\n"
    "    all=$(\"$1\" inbox --ids \"${@:2}\" 2>/dev/null)\n"
    "    for word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
    "        while read -r run id; do\n"
    "            [[ $run == \"$word\" ]] && echo \"$id\"\n"
    "        done <<<\"$all\" | grep . && return\n"
    "    done\n"
    "    cut -d' ' -f1 <<<\"$all\" | sort -u\n"
    "}\n"
    "\n"
    "_mortise()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local cmd=${COMP_WORDS[1]} i opts= values= files= dirs= what=\n"
    "    local where=()\n"
    "\n"
    "    COMPREPLY=()\n"
    "    # bash takes --name=value apart\n"
    "    [[ $cur == = ]] && cur=\n"
    "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W '";

static const char bash_group[] = "--help --version' -- \"$cur\")\n"
                                 "        return\n"
                                 "    fi\n"
                                 "    case $cmd in\n";

static const char bash_tail[] =
    "    esac\n"
    "    opts+=' --help --verbose'\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        --store | --deployment | --tenant)\n"
    "            where+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    if [[ \" $files \" == *\" $prev \"* ]]; then\n"
    "        what=file\n"
    "    elif [[ \" $dirs \" == *\" $prev \"* ]]; then\n"
    "        what=dir\n"
    "    elif [[ \" $values \" == *\" $prev \"* ]]; then\n"
    "        return\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        what=opts\n"
    "    fi\n"
    "    case $what in\n"
    "    file | dir)\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -A \"${what/dir/directory}\" -- "
    "\"$cur\") ;;\n"
    "    run)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \\\n"
    "            \"$(_mortise_runs \"${COMP_WORDS[0]}\" \"${where[@]}\")\" -- "
    "\"$cur\") ;;\n"
    "    request)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \\\n"
    "            \"$(_mortise_requests \"${COMP_WORDS[0]}\" "
    "\"${where[@]}\")\" -- \"$cur\") ;;\n"
    "    code)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \\\n"
    "            \"$(\"${COMP_WORDS[0]}\" explain | cut -d' ' -f1)\" -- "
    "\"$cur\") ;;\n"
    "    opts)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\") ;;\n"
    "    ?*)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$what\" -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "complete -F _mortise mortise\n";

/* Print ` NAME='--a --b'`: the options whose values have a kind from `first`
 * to `last`. */
static void print_bash_options(struct mortise_out *o, const char *name,
                               const struct mortise_cmd *c,
                               enum value_kind first, enum value_kind last)
{
    mortise_out_printf(o, " %s='", name);
    for (const struct mortise_opt *opt = c->opts; opt->name != NULL; opt++)
        if (get_value_kind(opt->arg) >= first &&
            get_value_kind(opt->arg) <= last)
            mortise_out_printf(o, " --%s", opt->name);
    mortise_out_puts(o, "'");
}

static void print_bash_command(struct mortise_out *o,
                               const struct mortise_cmd *c)
{
    static const struct shell_syntax shell_syntax = {{[NOTHING] = "",
                                                      [A_FILE] = "file",
                                                      [A_DIR] = "dir",
                                                      [A_RUN] = "run",
                                                      [A_REQUEST] = "request",
                                                      [A_CODE] = "code",
                                                      [A_WORD] = ""},
                                                     ""};

    mortise_out_printf(o, "    '%s')\n       ", c->name);
    print_bash_options(o, "opts", c, NO_VALUE, A_WORD);
    mortise_out_puts(o, "\n       ");
    print_bash_options(o, "values", c, NOTHING, A_WORD);
    mortise_out_puts(o, "\n       ");
    print_bash_options(o, "files", c, A_FILE, A_FILE);
    print_bash_options(o, "dirs", c, A_DIR, A_DIR);
    mortise_out_puts(o, "\n        what='");
    print_value_kind(o, &shell_syntax, c->operands);
    mortise_out_puts(o, "' ;;\n");
}

static void print_bash_script(struct mortise_out *o)
{
    mortise_out_puts(o, bash_head);
    print_first_words(o);
    mortise_out_puts(o, bash_group);
    for (size_t i = 0; i < mortise_n_commands; i++) {
        const struct mortise_cmd *c = mortise_commands[i];

        if (!is_in_group(c) || !is_first_of_group(i))
            continue;
        mortise_out_puts(o, "    ");
        mortise_out_put(o, c->name, get_group_length(c));
        mortise_out_puts(o,
                         ")\n        if ((COMP_CWORD == 2)); then\n"
                         "            mapfile -t COMPREPLY < <(compgen -W '");
        print_second_words(o, i);
        mortise_out_puts(o, " --help' -- \"$cur\")\n"
                            "            return\n"
                            "        fi\n"
                            "        cmd+=\" ${COMP_WORDS[2]}\" ;;\n");
    }
    mortise_out_puts(o, "    esac\n    case $cmd in\n");
    for (size_t i = 0; i < mortise_n_commands; i++)
        print_bash_command(o, mortise_commands[i]);
    mortise_out_puts(o, bash_tail);
}

/* ---- zsh --------------------------------------------------------------- */

static const char zsh_head[] =
    "#compdef mortise\n"
    "# zsh completion for mortise, from `mortise completion zsh`\n"
    "\n"
    "_mortise_runs()\n"
    "{\n"
    "    local i where=() ids\n"
    "    for ((i = 2; i < CURRENT; i++)); do\n"
    "        case $words[i] in\n"
    "        --store | --deployment | --tenant)\n"
    "            where+=($words[i] $words[i+1]) ;;\n"
    "        esac\n"
    "    done\n"
    "    ids=(${(f)\"$(mortise runs --existing --json $where 2>/dev/null |\n"
    "        sed -n 's/.*\"run\":\"\\([^\"]*\\)\".*/\\1/p')\"})\n"
    "    compadd -a ids\n"
    "}\n"
    "\n"
    "_mortise_requests()\n"
    "{\n"
    "    local i where=() all ids\n"
    "    for ((i = 2; i < CURRENT; i++)); do\n"
    "        case $words[i] in\n"
    "        --store | --deployment | --tenant)\n"
    "            where+=($words[i] $words[i+1]) ;;\n"
    "        esac\n"
    "    done\n"
    "    all=(${(f)\"$(mortise inbox --ids $where 2>/dev/null)\"})\n"
    "    for ((i = 3; i < CURRENT; i++)); do\n"
    "        ids=(${${(M)all:#$words[i] *}#* })\n"
    "        (($#ids > 0)) && break\n"
    "    done\n"
    "    (($#ids > 0)) || ids=(${(u)all%% *})\n"
    "    compadd -a ids\n"
    "}\n"
    "\n"
    "_mortise_codes()\n"
    "{\n"
    "    compadd $(mortise explain | cut -d' ' -f1)\n"
    "}\n"
    "\n"
    "_mortise()\n"
    "{\n"
    "    local cmd=$words[2]\n"
    "    local -a commands\n"
    "\n"
    "    commands=(\n";

static const char zsh_middle[] =
    "    )\n"
    "    if ((CURRENT == 2)); then\n"
    "        compadd ${(u)commands%%[ :]*}\n"
    "        return\n"
    "    fi\n"
    "    if [[ -z ${(M)commands:#$cmd:*} ]]; then\n"
    "        if ((CURRENT == 3)); then\n"
    "            commands=(${${(M)commands:#$cmd *}#$cmd })\n"
    "            _describe command commands\n"
    "            return\n"
    "        fi\n"
    "        cmd=\"$cmd $words[3]\"\n"
    "    fi\n"
    "    case $cmd in\n";

static const char zsh_tail[] = "    esac\n"
                               "}\n"
                               "\n"
                               "if [[ $funcstack[1] == _mortise ]]; then\n"
                               "    _mortise \"$@\"\n"
                               "else\n"
                               "    compdef _mortise mortise\n"
                               "fi\n";

static void print_zsh_command(struct mortise_out *o,
                              const struct mortise_cmd *c)
{
    static const struct shell_syntax shell_syntax = {
        {[NOTHING] = " ",
         [A_FILE] = "_files",
         [A_DIR] = "_files -/",
         [A_RUN] = "_mortise_runs",
         [A_REQUEST] = "_mortise_requests",
         [A_CODE] = "_mortise_codes",
         [A_WORD] = "("},
        ")"};
    const struct mortise_opt *opt;

    mortise_out_printf(o, "    '%s')\n        _arguments", c->name);
    for (size_t i = 0; (opt = mortise_opt_get(c, i)) != NULL; i++) {
        mortise_out_printf(o, " \\\n            '--%s'%s\\[", opt->name,
                           opt->arg != NULL ? "=" : "");
        print_shell_quoted(o, opt->help, "'\\''", true);
        mortise_out_puts(o, "\\]");
        if (opt->arg != NULL) {
            mortise_out_puts(o, "':value:");
            print_value_kind(o, &shell_syntax, opt->arg);
            mortise_out_puts(o, "'");
        }
    }
    mortise_out_puts(o, " \\\n            '*:operand:");
    print_value_kind(o, &shell_syntax, c->operands);
    mortise_out_puts(o, "' ;;\n");
}

static void print_zsh_script(struct mortise_out *o)
{
    mortise_out_puts(o, zsh_head);
    for (size_t i = 0; i < mortise_n_commands; i++) {
        mortise_out_printf(o, "        '%s:'", mortise_commands[i]->name);
        print_shell_quoted(o, mortise_commands[i]->summary, "'\\''", false);
        mortise_out_puts(o, "\n");
    }
    mortise_out_puts(o, zsh_middle);
    for (size_t i = 0; i < mortise_n_commands; i++)
        print_zsh_command(o, mortise_commands[i]);
    mortise_out_puts(o, zsh_tail);
}

/* ---- fish -------------------------------------------------------------- */

static const char fish_head[] =
    "# fish completion for mortise, from `mortise completion fish`\n"
    "\n"
    "function __mortise_runs\n"
    "    set -l words (commandline -opc)\n"
    "    set -l where\n"
    "    for i in (seq 2 (math (count $words) - 1))\n"
    "        switch $words[$i]\n"
    "            case --store --deployment --tenant\n"
    "                set -a where $words[$i] $words[(math $i + 1)]\n"
    "        end\n"
    "    end\n"
    "    mortise runs --existing --json $where 2>/dev/null |\n"
    "        string match -r -g '\"run\":\"([^\"]*)\"'\n"
    "end\n"
    "\n"
    "function __mortise_requests\n"
    "    set -l words (commandline -opc)\n"
    "    set -l where\n"
    "    for i in (seq 2 (math (count $words) - 1))\n"
    "        switch $words[$i]\n"
    "            case --store --deployment --tenant\n"
    "                set -a where $words[$i] $words[(math $i + 1)]\n"
    "        end\n"
    "    end\n"
    "    set -l all (mortise inbox --ids $where 2>/dev/null)\n"
    "    for word in $words[3..-1]\n"
    "        set -l ids (string match -- \"$word *\" $all | "
    "string replace -r '.* ' '')\n"
    "        if test (count $ids) -gt 0\n"
    "            printf '%s\\n' $ids\n"
    "            return\n"
    "        end\n"
    "    end\n"
    "    string replace -r ' .*' '' -- $all | sort -u\n"
    "end\n"
    "\n"
    "# Do the words so far begin with these?\n"
    "function __mortise_is\n"
    "    set -l words (commandline -opc)[2..-1]\n"
    "    set -l n (count $argv)\n"
    "    test $n -eq 0; and return 0\n"
    "    test (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\n"
    "end\n"
    "\n"
    "function __mortise_has\n"
    "    test (count (commandline -opc)) -eq (math $argv[1] + 1)\n"
    "    and __mortise_is $argv[2..-1]\n"
    "end\n"
    "\n"
    "complete -c mortise -f\n";

/* Print a completion for each word of a command, with its summary. */
static void print_fish_name(struct mortise_out *o, size_t i)
{
    const struct mortise_cmd *c = mortise_commands[i];
    int n = (int)get_group_length(c);

    if (is_first_of_group(i)) {
        mortise_out_printf(
            o, "complete -c mortise -n '__mortise_has 0' -a %.*s", n, c->name);
        mortise_out_puts(o, " -d ");
        print_shell_quoted(o, is_in_group(c) ? "..." : c->summary, "\\'",
                           false);
        mortise_out_puts(o, "\n");
    }
    if (!is_in_group(c))
        return;
    mortise_out_printf(
        o, "complete -c mortise -n '__mortise_has 1 %.*s' -a %s -d ", n,
        c->name, c->name + n + 1);
    print_shell_quoted(o, c->summary, "\\'", false);
    mortise_out_puts(o, "\n");
}

static void print_fish_command(struct mortise_out *o,
                               const struct mortise_cmd *c)
{
    static const struct shell_syntax shell_syntax = {
        {[NOTHING] = "",
         [A_FILE] = " -F",
         [A_DIR] = " -a '(__fish_complete_directories)'",
         [A_RUN] = " -a '(__mortise_runs)'",
         [A_REQUEST] = " -a '(__mortise_requests)'",
         [A_CODE] = " -a '(mortise explain | string replace -r \" .*\" \"\")'",
         [A_WORD] = " -a '"},
        "'"};
    const struct mortise_opt *opt;

    for (size_t i = 0; (opt = mortise_opt_get(c, i)) != NULL; i++) {
        mortise_out_printf(o, "complete -c mortise -n '__mortise_is %s' -l %s",
                           c->name, opt->name);
        if (opt->letter != 0)
            mortise_out_printf(o, " -s %c", opt->letter);
        if (opt->arg != NULL) {
            mortise_out_puts(o, " -r");
            print_value_kind(o, &shell_syntax, opt->arg);
        }
        mortise_out_puts(o, " -d ");
        print_shell_quoted(o, opt->help, "\\'", false);
        mortise_out_puts(o, "\n");
    }
    if (get_value_kind(c->operands) == NOTHING)
        return;
    mortise_out_printf(o, "complete -c mortise -n '__mortise_is %s'", c->name);
    print_value_kind(o, &shell_syntax, c->operands);
    mortise_out_puts(o, "\n");
}

static void print_fish_script(struct mortise_out *o)
{
    mortise_out_puts(o, fish_head);
    for (size_t i = 0; i < mortise_n_commands; i++)
        print_fish_name(o, i);
    for (size_t i = 0; i < mortise_n_commands; i++)
        print_fish_command(o, mortise_commands[i]);
}

/* ---- the command ------------------------------------------------------- */

static int completion(struct mortise_cli *cli, struct mortise_err *err)
{
    static const struct {
        const char *name;
        void (*print)(struct mortise_out *);
    } shells[] = {{"bash", print_bash_script},
                  {"zsh", print_zsh_script},
                  {"fish", print_fish_script}};

    (void)err;
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(cli->args.operands[0], shells[i].name) != 0)
            continue;
        shells[i].print(&cli->out);
        return MORTISE_EXIT_OK;
    }
    return mortise_cli_fail_usage(
        cli, "no completion script for '%s'; give bash, zsh or fish",
        cli->args.operands[0]);
}

static const struct mortise_opt opts[] = {MORTISE_OPT_END};

const struct mortise_cmd mortise_cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "Print a script for command completion in a shell",
    .text = "The script completes subcommands, options, files, and the ids of\n"
            "runs and their requests.  It is made from the same table as\n"
            "--help.\n"
            "\n"
            "bash: put `eval \"$(mortise completion bash)\"` into ~/.bashrc.\n"
            "zsh:  the same in ~/.zshrc, after compinit.\n"
            "fish: mortise completion fish "
            ">~/.config/fish/completions/mortise.fish\n"
            "\n"
            "The tests run the script for bash.  The scripts for zsh and fish\n"
            "come from the same table; the tests parse them if these shells\n"
            "are installed.\n",
    .opts = opts,
    .example = "mortise completion bash",
    .run = completion,
};
