/* doctor_memory.c -- `mortise doctor`: can the deployment's memory be used?
 *
 * The memory plugin is started once, in its own process, with the existing
 * traces: only the plugin knows its files.  Nothing is created: if its
 * directory is absent or empty, there are no traces, and the plugin is not
 * started.  This tests the data that the plugin reads at its start, not each
 * trace; `mortise memory export` does that.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/bring_up.h"
#include "cli/doctor.h"
#include "cli/plugin_set.h"
#include "core/plugin/registry.h"

/* The memory's directory, from its config or from the host; false: it has
 * none. */
static bool find_memory_directory(const struct mortise_settings *s,
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
                 said->str); /* relative to the deployment file */
    else if (said->kind == MORTISE_YAML_STRING)
        snprintf(out, size, "%s", said->str);
    return key != NULL;
}

/* Is the directory not empty? */
static bool has_directory_entries(const char *dir)
{
    DIR *d = opendir(dir);
    bool any = false;

    for (struct dirent *e; d != NULL && !any && (e = readdir(d)) != NULL;)
        any = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d != NULL)
        closedir(d);
    return any;
}

void mortise_doctor_check_memory(struct mortise_doctor *d,
                                 const struct mortise_settings *s,
                                 struct mortise_plugins *plugins)
{
    const char *plugin = s->deployment->memory.plugin;
    char dir[PATH_MAX] = "", words[1024] = "";
    struct mortise_err err;

    if (plugin == NULL || !find_memory_directory(s, plugins, dir, sizeof dir))
        return;
    if (!has_directory_entries(dir)) {
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "traces", NULL,
                              "%s: no traces yet", dir);
        return;
    }
    if (mortise_bring_up_memory(d->cli, s->store, words, sizeof words, &err) !=
        MORTISE_OK)
        snprintf(words, sizeof words, "%s", err.msg);
    if (words[0] == '\0')
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "traces", NULL,
                              "memory '%s' can use %s", plugin, dir);
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "traces",
            strstr(words, "locked") != NULL
                ? "end the process that locks the file ('fuser -v FILE' prints "
                  "the process)"
                : "remove the cause of this error. If a file is damaged, move "
                  "all files of the directory to another place. Then restore a "
                  "backup of them, or import the output of an earlier 'mortise "
                  "memory export' (mortise memory import)",
            "memory '%s' cannot use %s: %s", plugin, dir, words);
}
