// @NAME@.cpp -- a plugin for Mortise: a text in capitals, and a file of notes.
//
//   shout  {text}  ->  {text}    pure: depends only on its arguments
//   note   {text}  ->  {line}    write: appends "KEY TEXT" to the config's file
//
// KEY is the idempotency key of the call, the same on every attempt.  If a call was
// interrupted, reconcile() searches for the key to report whether the line was
// added.
//
// No exception may cross the ABI.  Each function that can throw runs its body in
// guarded(), which turns exceptions into statuses.
#include <mortise/ask.h>

#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    std::string file;
};

namespace
{

// ---- arguments and results ---------------------------------------------------

std::string copy(mortise_str s)
{
    return std::string(s.p == nullptr ? "" : s.p, size_t(s.n));
}

// The content of a JSON string.
std::string text_of(mortise_jv v)
{
    std::string room(size_t(v.n) + 1, '\0'); // always enough
    uint64_t n = 0;

    mortise_jv_decode(v, &room[0], room.size(), &n);
    room.resize(size_t(n));
    return room;
}

// The member of an object.  The host has checked, by the manifest's schemas, that it
// is there and a string.
std::string member(mortise_str body, const char *name)
{
    mortise_jv v;

    return mortise_jv_parse(body, &v) == MORTISE_S_OK
               ? text_of(mortise_jv_get(v, name))
               : "";
}

// Set an error message for people.  The class decides about retries; a graph may
// name the code.  An error of an operation means that it had no effect.
mortise_status refuse(mortise_inst *i, const mortise_request *r,
                      mortise_status status, const char *code,
                      const char *words)
{
    return mortise_refuse(i->host, i->api, r->call, status, "permanent", code,
                          words);
}

void put_text(mortise_jw *w, const char *name, const std::string &text)
{
    mortise_jw_object(w);
    mortise_jw_key(w, name);
    mortise_jw_string(w, mortise_strn(text.data(), text.size()));
    mortise_jw_end(w);
}

mortise_status give(mortise_inst *i, const mortise_request *r, const char *name,
                    const std::string &text)
{
    mortise_emitter out;
    char room[256];

    mortise_emitter_init(&out, i->host, i->api, r->call, room, sizeof room);
    put_text(&out.w, name, text);
    return mortise_emitter_finish(&out);
}

// Turn an exception of `body` into a status and a message.  The status leaves open
// what the operation did, so the host asks reconcile() if it has an effect.
template <typename Body>
mortise_status guarded(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, Body body)
{
    try {
        return body();
    } catch (const std::exception &e) {
        return mortise_refuse(host, api, call, MORTISE_S_DOUBT, "permanent",
                              "exception", e.what());
    }
}

// ---- shout -------------------------------------------------------------------

mortise_status shout(mortise_inst *i, const mortise_request *r)
{
    std::string text = member(r->body, "text");

    for (char &c : text)
        c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    return give(i, r, "text", text);
}

// ---- note --------------------------------------------------------------------

// The line that this call appends; "" if the text is not valid.
std::string line_of(const mortise_request *r)
{
    std::string text = member(r->body, "text");

    return text.find_first_of("\r\n") == std::string::npos
               ? copy(r->idempotency_key) + ' ' + text
               : "";
}

// Append all bytes and sync them; return whether that succeeded.
bool add(int fd, const std::string &bytes)
{
    return write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()) &&
           fsync(fd) == 0;
}

mortise_status note(mortise_inst *i, const mortise_request *r)
{
    const std::string line = line_of(r), bytes = line + '\n';

    if (line.empty())
        return refuse(i, r, MORTISE_S_INVALID, "text", "a note is one line");
    const int fd =
        open(i->file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(i, r, MORTISE_S_IO, "file",
                      "the file of notes cannot be opened");
    const bool added = add(fd, bytes);
    close(fd);
    // After a write, the line may be in the file: return no error that denies it.
    if (added && give(i, r, "line", line) == MORTISE_S_OK)
        return MORTISE_S_OK;
    return refuse(i, r, MORTISE_S_DOUBT, "file",
                  "the note may be there, or not");
}

// Return whether the file has this whole line.  After a power cut, a part of another
// line may be in front of it.
bool has_line(std::ifstream &in, const std::string &line)
{
    std::string found;

    while (std::getline(in, found) && !in.eof())
        if (found.size() >= line.size() &&
            found.compare(found.size() - line.size(), line.size(), line) == 0)
            return true;
    return false;
}

// The host asks after a crash whether the call with this key happened.
mortise_status look(mortise_inst *i, const mortise_request *r)
{
    const std::string line = line_of(r);
    std::ifstream in(i->file);
    mortise_emitter out;
    char room[256];

    if (line.empty())
        return refuse(i, r, MORTISE_S_INVALID, "text", "that was no note");
    if (!in && access(i->file.c_str(), F_OK) == 0)
        return refuse(i, r, MORTISE_S_IO, "file",
                      "the file of notes cannot be read");
    const bool happened = in && has_line(in, line);
    if (in.bad())
        return refuse(i, r, MORTISE_S_IO, "file",
                      "the file of notes cannot be read");
    mortise_emitter_init(&out, i->host, i->api, r->call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "happened");
    mortise_jw_bool(&out.w, happened);
    if (happened) {
        mortise_jw_key(&out.w, "result");
        put_text(&out.w, "line", line);
    }
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

// ---- the plugin ----------------------------------------------------------------

mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    return guarded(i->host, i->api, r->call, [=]() -> mortise_status {
        const std::string operation = copy(r->operation);

        if (operation == "shout")
            return shout(i, r);
        if (operation == "note")
            return note(i, r);
        return MORTISE_S_UNSUPPORTED;
    });
}

mortise_status reconcile(mortise_inst *i, const mortise_request *r)
{
    return guarded(i->host, i->api, r->call,
                   [=]() -> mortise_status { return look(i, r); });
}

mortise_status create(mortise_host *host, const mortise_host_api *api,
                      mortise_str config, mortise_inst **out)
{
    return guarded(host, api, 0, [=]() -> mortise_status {
        *out = new mortise_inst{host, api, member(config, "file")};
        return MORTISE_S_OK;
    });
}

void destroy(mortise_inst *i)
{
    delete i;
}

const mortise_executor executor = {sizeof executor, 0, execute, reconcile,
                                   nullptr};

const void *get_interface(mortise_inst *, const char *id)
{
    return std::strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : nullptr;
}

const mortise_plugin plugin = {sizeof plugin, 0,       "@NAME@",
                               "0.1.0",       create,  get_interface,
                               nullptr,       nullptr, destroy};

} // namespace

MORTISE_MODULE_OF(plugin);
