/* misjudges.c -- a guardrail that does not do what it should, as config.file says:
 *
 *   mute     ends well, and says nothing
 *   garbage  says what is no JSON;  other: what is no verdict;  half: the
 *            beginning of one
 *   twice    says twice that it passes
 *   fails    says that it passes, and fails;  errs: fails
 *   flood    says that it passes, at length
 *   offers   a violation, and something in its place that is no JSON
 *   slow     does not end until it is told to;  late: and says then that it
 *            passes
 *   blocks   sits on the thread that it is asked on, and lets it pass then
 *   ok       says that it passes, and so it does
 */
#include "simple.h"

static void say(mortise_inst *i, const mortise_request *r, const char *kind,
                const char *what)
{
    i->api->emit(i->host, r->call, mortise_strz(kind), mortise_strz(what));
}

static void flood(mortise_inst *i, const mortise_request *r)
{
    static char text[1 << 20];

    memset(text, 'x', sizeof text - 1);
    say(i, r, "verdict", "{\"violation\":false,\"reason\":\"");
    for (int k = 0; k < 64; k++)
        say(i, r, "verdict", text);
    say(i, r, "verdict", "\"}");
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    static const char passes[] = "{\"violation\":false}";
    const char *how = i->file;

    (void)stage;
    if (strcmp(how, "slow") == 0 || strcmp(how, "late") == 0)
        return MORTISE_S_PENDING;
    if (strcmp(how, "blocks") == 0)
        simple_sleep_ms(2200);
    if (strcmp(how, "garbage") == 0)
        say(i, r, "verdict", "all is well");
    if (strcmp(how, "other") == 0)
        say(i, r, "verdict", "{\"violation\":\"false\"}");
    if (strcmp(how, "half") == 0)
        say(i, r, "verdict", "{\"violation\":fal");
    if (strcmp(how, "ok") == 0 || strcmp(how, "blocks") == 0 ||
        strcmp(how, "fails") == 0 || strcmp(how, "twice") == 0)
        say(i, r, "verdict", passes);
    if (strcmp(how, "twice") == 0)
        say(i, r, "verdict", passes);
    if (strcmp(how, "flood") == 0)
        flood(i, r);
    if (strcmp(how, "offers") == 0) {
        say(i, r, "output", "\"harm");
        say(i, r, "verdict", "{\"violation\":true,\"reason\":\"no\"}");
    }
    return strcmp(how, "fails") == 0 || strcmp(how, "errs") == 0
               ? MORTISE_S_FAILED
               : MORTISE_S_OK;
}

static void cancel(mortise_inst *i, mortise_call call)
{
    mortise_status status = MORTISE_S_CANCELLED;

    if (strcmp(i->file, "late") == 0) {
        i->api->emit(i->host, call, mortise_strz("verdict"),
                     mortise_strz("{\"violation\":false}"));
        status = MORTISE_S_OK;
    }
    i->api->finish(i->host, call, status, mortise_str_empty(),
                   mortise_str_empty());
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};
SIMPLE_INTERFACE(MORTISE_GUARDRAIL_2, guardrail)

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "misjudges",
    .version = "1.0.0",
    .create = simple_create,
    .get_interface = simple_interface,
    .cancel = cancel,
    .quiesce = simple_quiesce,
    .destroy = simple_destroy,
};

MORTISE_MODULE_OF(plugin);
