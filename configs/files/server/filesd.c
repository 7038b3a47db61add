/* filesd.c -- an MCP server for the files of one directory, so that the example
 * runs without npm and without a network.
 *
 *   filesd DIR
 *
 * It speaks protocol version 2025-11-25 on stdin and stdout, one message a
 * line. It has three tools of @modelcontextprotocol/server-filesystem, under
 * the same names:
 *
 *   list_directory {path}, read_text_file {path}, write_file {path, content}
 *
 * Paths start at DIR; a path that leads out of it is refused.  Paths of the npm
 * server start at its working directory: `notes/harbour.md` there is
 * `harbour.md` here.  The server has no other features. */
#include <mortise/json.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 };

static char out[8 * TEXT_MAX]; /* the outgoing message */
static char text[TEXT_MAX];    /* the output of a tool */
static char content[TEXT_MAX]; /* its input */
static int root;               /* DIR */

/* ---- the tools ---------------------------------------------------------------- */

/* Each fills `text`; on failure it returns false, and `text` is the error. */
typedef int tool_fn(const char *path);

static int went_wrong(const char *path)
{
    snprintf(text, sizeof text, "%s: %s", path, strerror(errno));
    return 0;
}

static int list_directory(const char *path)
{
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    size_t n = 0;

    if (dir == NULL)
        return went_wrong(path);
    text[0] = '\0';
    while ((e = readdir(dir)) != NULL && n < sizeof text - 512)
        if (e->d_name[0] != '.')
            n += (size_t)snprintf(
                text + n, sizeof text - n, "%s[%s] %s", n > 0 ? "\n" : "",
                e->d_type == DT_DIR ? "DIR" : "FILE", e->d_name);
    closedir(dir);
    return 1;
}

static int read_text_file(const char *path)
{
    int fd = openat(root, path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (n < 0)
        return went_wrong(path);
    text[n] = '\0';
    close(fd);
    return 1;
}

static int write_file(const char *path)
{
    int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    size_t n = strlen(content);

    if (fd < 0 || write(fd, content, n) != (ssize_t)n)
        return went_wrong(path);
    close(fd);
    snprintf(text, sizeof text, "Successfully wrote to %s", path);
    return 1;
}

static const struct {
    const char *name, *description, *schema, *annotations;
    tool_fn *run;
} tools[] = {
    {"list_directory", "List the files and directories in a directory.",
     "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},"
     "\"required\":[\"path\"]}",
     "{\"readOnlyHint\":true}", list_directory},
    {"read_text_file", "Read a file, all of it, as text.",
     "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},"
     "\"required\":[\"path\"]}",
     "{\"readOnlyHint\":true}", read_text_file},
    {"write_file", "Write a file, in the place of one that is there.",
     "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
     "\"content\":{\"type\":\"string\"}},\"required\":[\"path\",\"content\"]}",
     "{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":true,"
     "\"openWorldHint\":false}",
     write_file},
};
enum { N_TOOLS = sizeof tools / sizeof tools[0] };

/* ---- messages ------------------------------------------------------------------- */

static mortise_jv lent(const char *json)
{
    mortise_jv v;

    v.p = json;
    v.n = strlen(json);
    return v;
}

static void begin(mortise_jw *w, mortise_jv id)
{
    mortise_jw_fixed(w, out, sizeof out);
    mortise_jw_object(w);
    mortise_jw_key(w, "jsonrpc");
    mortise_jw_cstr(w, "2.0");
    mortise_jw_key(w, "id");
    mortise_jw_value(w, id);
}

static void send_off(mortise_jw *w)
{
    mortise_str message;

    mortise_jw_end(w);
    if (mortise_jw_finish(w, &message) != MORTISE_S_OK)
        exit(1);
    printf("%.*s\n", (int)message.n, message.p);
    fflush(stdout);
}

static void refuse(mortise_jv id, int code, const char *words)
{
    mortise_jw w;

    begin(&w, id);
    mortise_jw_key(&w, "error");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "code");
    mortise_jw_int(&w, code);
    mortise_jw_key(&w, "message");
    mortise_jw_cstr(&w, words);
    mortise_jw_end(&w);
    send_off(&w);
}

static void initialize(mortise_jv id)
{
    mortise_jw w;

    begin(&w, id);
    mortise_jw_key(&w, "result");
    mortise_jw_value(
        &w, lent("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
                 "{\"tools\":{}},\"serverInfo\":{\"name\":\"filesd\","
                 "\"version\":\"1.0.0\"},\"instructions\":\"The notes of a "
                 "town, as Markdown.\"}"));
    send_off(&w);
}

static void list_tools(mortise_jv id)
{
    mortise_jw w;

    begin(&w, id);
    mortise_jw_key(&w, "result");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "tools");
    mortise_jw_array(&w);
    for (int i = 0; i < N_TOOLS; i++) {
        mortise_jw_object(&w);
        mortise_jw_key(&w, "name");
        mortise_jw_cstr(&w, tools[i].name);
        mortise_jw_key(&w, "description");
        mortise_jw_cstr(&w, tools[i].description);
        mortise_jw_key(&w, "inputSchema");
        mortise_jw_value(&w, lent(tools[i].schema));
        mortise_jw_key(&w, "annotations");
        mortise_jw_value(&w, lent(tools[i].annotations));
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    send_off(&w);
}

static void say(mortise_jv id, int ok)
{
    mortise_jw w;

    begin(&w, id);
    mortise_jw_key(&w, "result");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "content");
    mortise_jw_array(&w);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "type");
    mortise_jw_cstr(&w, "text");
    mortise_jw_key(&w, "text");
    mortise_jw_cstr(&w, text);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "isError");
    mortise_jw_bool(&w, !ok);
    mortise_jw_end(&w);
    send_off(&w);
}

static int leads_out(const char *path)
{
    return path[0] == '/' || strstr(path, "..") != NULL;
}

static void call_tool(mortise_jv id, mortise_jv params)
{
    mortise_jv args = mortise_jv_get(params, "arguments");
    char name[64] = "", path[1024] = "";
    int i = 0;

    mortise_jv_cstr(mortise_jv_get(params, "name"), name, sizeof name);
    while (i < N_TOOLS && strcmp(tools[i].name, name) != 0)
        i++;
    if (i == N_TOOLS) {
        refuse(id, -32602, "there is no such tool");
        return;
    }
    content[0] = '\0';
    mortise_jv_cstr(mortise_jv_get(args, "content"), content, sizeof content);
    if (mortise_jv_cstr(mortise_jv_get(args, "path"), path, sizeof path) !=
            MORTISE_S_OK ||
        leads_out(path)) {
        snprintf(text, sizeof text, "Access denied: %s", path);
        say(id, 0);
        return;
    }
    say(id, tools[i].run(path));
}

static void answer(const char *line, size_t n)
{
    mortise_str message;
    mortise_jv m, id;
    char method[64] = "";

    message.p = line;
    message.n = n;
    if (mortise_jv_parse(message, &m) != MORTISE_S_OK)
        return;
    id = mortise_jv_get(m, "id");
    mortise_jv_cstr(mortise_jv_get(m, "method"), method, sizeof method);
    if (mortise_jv_type(id) == MORTISE_JV_NONE)
        return; /* it is a notification */
    if (strcmp(method, "initialize") == 0)
        initialize(id);
    else if (strcmp(method, "tools/list") == 0)
        list_tools(id);
    else if (strcmp(method, "tools/call") == 0)
        call_tool(id, mortise_jv_get(m, "params"));
    else
        refuse(id, -32601, "there is no such method");
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    root = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
    if (root < 0) {
        fprintf(stderr, "filesd: %s\n", argc == 2 ? strerror(errno) : "DIR?");
        return 1;
    }
    while ((n = getline(&line, &cap, stdin)) > 0)
        answer(line, (size_t)n);
    free(line);
    return 0;
}
