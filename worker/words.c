/* words.c -- parse the launch arguments (launch.h). */
#include "worker/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail_argument(char words[LAUNCH_MESSAGE_MAX], const char *why,
                          const char *what)
{
    snprintf(words, LAUNCH_MESSAGE_MAX, "%s: %.400s", why, what);
    return false;
}

static bool append_launch_item(struct launch_list *list, char *item)
{
    char **grown = realloc(list->items, (list->n + 2) * sizeof *grown);

    if (grown == NULL)
        return false;
    list->items = grown;
    grown[list->n++] = item;
    grown[list->n] = NULL;
    return true;
}

static bool parse_memory_limit(struct launch *l, const char *value)
{
    char *end;

    errno = 0;
    l->memory = strtoull(value, &end, 10);
    l->has_memory = true;
    return errno == 0 && value[0] >= '0' && value[0] <= '9' && *end == '\0';
}

/* "UID:GID"; both must differ from 0 (root). */
static bool parse_user_ids(struct launch *l, const char *value)
{
    unsigned uid, gid;
    char end;

    if (sscanf(value, "%u:%u%c", &uid, &gid, &end) != 2 || uid == 0 ||
        gid == 0 || value[strspn(value, "0123456789:")] != '\0')
        return false;
    l->uid = uid;
    l->gid = gid;
    l->has_user = true;
    return true;
}

static bool is_absolute_path(const char *path)
{
    return path[0] == '/';
}

/* Parse one NAME=VALUE argument. */
static bool parse_argument(struct launch *l, char *word,
                           char words[LAUNCH_MESSAGE_MAX])
{
    const struct {
        const char *name;
        struct launch_list *list; /* append the value to this list, */
        char **text;              /* or store it here, */
        bool *flag;               /* or set this flag */
        bool is_path;
    } known[] = {
        {"program", NULL, &l->program, NULL, true},
        {"cwd", NULL, &l->cwd, NULL, true},
        {"arg", &l->args, NULL, NULL, false},
        {"env", &l->env, NULL, NULL, false},
        {"read", &l->read, NULL, NULL, true},
        {"write", &l->write, NULL, NULL, true},
        {"exec", &l->exec, NULL, NULL, true},
        {"system", &l->system, NULL, NULL, true},
        {"offline", NULL, NULL, &l->offline, false},
        {"opens", NULL, NULL, &l->opens, false},
    };
    char *value = strchr(word, '=');

    if (value == NULL)
        return fail_argument(words, "not NAME=VALUE", word);
    *value++ = '\0';
    if (strcmp(word, "memory") == 0)
        return parse_memory_limit(l, value) ||
               fail_argument(words, "not a number of bytes", value);
    if (strcmp(word, "user") == 0)
        return parse_user_ids(l, value) ||
               fail_argument(words, "not UID:GID of an ordinary user", value);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, word) != 0)
            continue;
        if (known[i].is_path && !is_absolute_path(value))
            return fail_argument(words, "not an absolute path", value);
        if (known[i].flag != NULL)
            *known[i].flag = true;
        else if (known[i].text != NULL)
            *known[i].text = value;
        else if (!append_launch_item(known[i].list, value))
            return fail_argument(words, "out of memory", word);
        return true;
    }
    return fail_argument(words, "unknown argument of a launch", word);
}

static bool is_path_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 &&
           (n == 1 || path[n] == '/' || path[n] == '\0');
}

/* No writable directory may contain the program, nor lie in a directory of
 * executables. */
static bool check_writable_paths(const struct launch *l,
                                 char words[LAUNCH_MESSAGE_MAX])
{
    for (size_t i = 0; i < l->write.n; i++) {
        if (is_path_below(l->program, l->write.items[i]))
            return fail_argument(words, "the program can write its own file",
                                 l->program);
        for (size_t k = 0; k < l->exec.n; k++)
            if (is_path_below(l->write.items[i], l->exec.items[k]))
                return fail_argument(
                    words, "programs in a writable directory can be run",
                    l->write.items[i]);
    }
    return true;
}

bool mortise_launch_parse(struct launch *l, char *spec, size_t n,
                          char words[LAUNCH_MESSAGE_MAX])
{
    static char root[] = "/", itself[] = "";

    *l = (struct launch){.cwd = root};
    if (n == 0 || spec[n - 1] != '\0')
        return fail_argument(words, "the arguments are truncated",
                             "no NUL after the last argument");
    /* args[0] is set once the program is known; env must be an array even if
     * empty */
    if (!append_launch_item(&l->args, itself) ||
        !append_launch_item(&l->env, itself))
        return fail_argument(words, "out of memory", "");
    l->env.n = 0;
    l->env.items[0] = NULL;
    for (char *word = spec, *next; word < spec + n; word = next) {
        next = word + strlen(word) + 1;
        if (!parse_argument(l, word, words))
            return false;
    }
    if (l->program == NULL)
        return fail_argument(words, "no program", "program=PATH is missing");
    l->args.items[0] = l->program;
    return check_writable_paths(l, words);
}
