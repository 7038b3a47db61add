/* doctor_memory.c -- `mortise doctor`: can the deployment's memory be used?
 *
 * The memory plugin is started once, in a process of its own, on the traces that are
 * there: only the plugin knows its files.  Nothing is created: where its directory
 * does not exist or is empty, there are no traces yet, and the plugin is not started.
 * What the plugin reads when it starts is looked at, not each trace: that is what
 * `mortise memory export` does. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/bring_up.h"
#include "cli/doctor.h"
#include "cli/plugin_set.h"
#include "core/plugin/registry.h"

/* The directory that the deployment or the host gives the plugin; false: the plugin
 * has none. */
static bool find_directory(const struct mortise_settings *s,
                           struct mortise_plugins *plugins, char *out,
                           size_t size)
{
    const struct mortise_memory_choice *choice = &s->deployment->memory;
    const struct mortise_manifest *m =
        mortise_plugins_find(plugins, choice->plugin, NULL);
    const char *key =
        m != NULL ? m->provides[MORTISE_KIND_MEMORY].directory : NULL;
    const struct mortise_yaml *said =
        key != NULL && choice->config != NULL
            ? mortise_yaml_get(choice->config, key)
            : NULL;

    const char *file = s->deployment->path, *slash = strrchr(file, '/');

    if (said == NULL)
        snprintf(out, size, "%s/memory/%s", s->store, choice->plugin);
    else if (said->kind == MORTISE_YAML_STRING && said->str[0] != '/')
        snprintf(out, size, "%.*s%s",
                 slash != NULL ? (int)(slash + 1 - file) : 0, file,
                 said->str); /* it counts from the deployment */
    else if (said->kind == MORTISE_YAML_STRING)
        snprintf(out, size, "%s", said->str);
    return key != NULL;
}

/* Is there a file in it? */
static bool has_files(const char *dir)
{
    DIR *d = opendir(dir);
    bool any = false;

    for (struct dirent *e; d != NULL && !any && (e = readdir(d)) != NULL;)
        any = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d != NULL)
        closedir(d);
    return any;
}

void mortise_doctor_memory(struct mortise_doctor *d,
                           const struct mortise_settings *s,
                           struct mortise_plugins *plugins)
{
    const char *plugin = s->deployment->memory.plugin;
    char dir[PATH_MAX] = "", words[1024] = "";
    struct mortise_err err;

    if (plugin == NULL || !find_directory(s, plugins, dir, sizeof dir))
        return;
    if (!has_files(dir)) {
        mortise_doctor_say(d, MORTISE_HEALTHY, "traces", NULL,
                           "%s: no traces yet", dir);
        return;
    }
    if (mortise_bring_up_memory(d->cli, s->store, words, sizeof words, &err) !=
        MORTISE_OK)
        snprintf(words, sizeof words, "%s", err.msg);
    if (words[0] == '\0')
        mortise_doctor_say(d, MORTISE_HEALTHY, "traces", NULL,
                           "memory '%s' can use %s", plugin, dir);
    else
        mortise_doctor_say(
            d, MORTISE_SICK, "traces",
            strstr(words, "locked") != NULL
                ? "end the process that locks the file ('fuser -v FILE' prints "
                  "the process)"
                : "remove the cause of this error. If a file is damaged, move "
                  "all files of the directory to another place. Then restore a "
                  "backup of them, or import the output of an earlier 'mortise "
                  "memory export' (mortise memory import)",
            "memory '%s' cannot use %s: %s", plugin, dir, words);
}
