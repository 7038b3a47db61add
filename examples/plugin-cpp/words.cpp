// words.cpp -- acme.words: a guardrail that finds and masks words.
//
// A complete guardrail plugin for Mortise in C++, built outside of Mortise's tree.
//
// Config
//   words: [tenon, dowel]   ASCII letters; case is ignored
//
// A value with one of the words in a string is a violation.  The replacement is
// the same JSON with asterisks instead of the words.
//
// No exception may cross the ABI.  Each function that can throw runs its body in
// guarded(), which turns exceptions into statuses.
#include <mortise/ask.h>
#include <mortise/guardrail.h>

#include <cctype>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    std::vector<std::string> words; // in lower case
};

namespace
{

char small(char c)
{
    return char(std::tolower(static_cast<unsigned char>(c)));
}

// The content of a JSON string.
std::string text_of(mortise_jv v)
{
    std::string room(size_t(v.n), '\0'); // always enough
    uint64_t n = 0;

    mortise_jv_decode(v, &room[0], room.size(), &n);
    room.resize(size_t(n));
    return room;
}

mortise_str borrow(const std::string &s)
{
    return mortise_strn(s.data(), s.size());
}

// Masks all words; returns whether there were any.
bool cover(std::string &text, const std::vector<std::string> &words)
{
    std::string low(text);
    bool found = false;

    for (char &c : low)
        c = small(c);
    for (const std::string &word : words)
        for (size_t at = 0; (at = low.find(word, at)) != std::string::npos;
             at += word.size()) {
            text.replace(at, word.size(), word.size(), '*');
            found = true;
        }
    return found;
}

// Copies a value with the words in its strings masked; returns whether there were
// any.  The recursion is bounded: the reader accepts MORTISE_JV_DEPTH levels.
bool copy(mortise_jv v, mortise_jw *w, const std::vector<std::string> &words)
{
    const int type = mortise_jv_type(v);
    bool found = false;

    if (type == MORTISE_JV_STRING) {
        std::string text = text_of(v);

        found = cover(text, words);
        mortise_jw_string(w, borrow(text));
    } else if (type == MORTISE_JV_OBJECT || type == MORTISE_JV_ARRAY) {
        mortise_jv_iter members = mortise_jv_each(v);
        mortise_jv name, value;

        type == MORTISE_JV_OBJECT ? mortise_jw_object(w) : mortise_jw_array(w);
        while (mortise_jv_next(&members, &name, &value)) {
            if (type == MORTISE_JV_OBJECT)
                mortise_jw_keyn(w, borrow(text_of(name)));
            found |= copy(value, w, words);
        }
        mortise_jw_end(w);
    } else {
        mortise_jw_value(w, v);
    }
    return found;
}

// Turns an exception of `body` into a status and a message.
template <typename Body>
mortise_status guarded(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return mortise_refuse(host, api, call, MORTISE_S_NOMEM, "transient",
                              "no_memory", "out of memory");
    } catch (const std::exception &e) {
        return mortise_refuse(host, api, call, MORTISE_S_FAILED, "permanent",
                              "exception", e.what());
    }
}

mortise_status check(mortise_inst *i, uint32_t, const mortise_request *r)
{
    return guarded(i->host, i->api, r->call, [=]() -> mortise_status {
        std::vector<char> room(size_t(r->body.n)); // decoding never makes it longer
        mortise_str out;
        mortise_jv body;
        mortise_jw w;

        if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
            return MORTISE_S_INVALID;
        mortise_jw_fixed(&w, room.data(), room.size());
        if (!copy(body, &w, i->words))
            return mortise_emit_verdict(i->host, i->api, r->call, 0, nullptr);
        mortise_status status = mortise_jw_finish(&w, &out);
        if (status == MORTISE_S_OK)
            status = mortise_emit_output(i->host, i->api, r->call, out);
        if (status != MORTISE_S_OK)
            return status;
        return mortise_emit_verdict(i->host, i->api, r->call, 1,
                                    "a word that is not to be used");
    });
}

mortise_status create(mortise_host *host, const mortise_host_api *api,
                      mortise_str config, mortise_inst **out)
{
    return guarded(host, api, 0, [=]() -> mortise_status {
        std::unique_ptr<mortise_inst> i(new mortise_inst{host, api, {}});
        mortise_jv c, word;

        if (mortise_jv_parse(config, &c) != MORTISE_S_OK)
            return MORTISE_S_INVALID;
        mortise_jv_iter each = mortise_jv_each(mortise_jv_get(c, "words"));
        while (mortise_jv_next(&each, nullptr, &word)) {
            std::string text = text_of(word);

            if (text.empty())
                return mortise_refuse(host, api, 0, MORTISE_S_INVALID,
                                      "permanent", "config",
                                      "an empty word is in every text");
            for (char &letter : text)
                letter = small(letter);
            i->words.push_back(text);
        }
        *out = i.release();
        return MORTISE_S_OK;
    });
}

void destroy(mortise_inst *i)
{
    delete i;
}

const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

const void *get_interface(mortise_inst *, const char *id)
{
    return std::strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : nullptr;
}

const mortise_plugin plugin = {sizeof plugin, 0,       "acme.words",
                               "1.0.0",       create,  get_interface,
                               nullptr,       nullptr, destroy};

} // namespace

MORTISE_MODULE_OF(plugin);
