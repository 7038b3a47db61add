/* test_run_persona.c -- what of a persona gmi nodes are told. */
#include "lib/drive.h"

/* node.persona of the call of `a`, as JSON text, freed by the caller. */
static char *persona(void)
{
    const json_t *node;
    json_t *at;

    sync_all();
    node = json_object_get(s.calls[call_of("a")].call.body, "node");
    at = json_object_get(node, "persona");
    return at != NULL ? json_dumps(at, JSON_COMPACT | JSON_SORT_KEYS)
                      : strdup("nothing");
}

#define TRAITS(openness)                                                       \
    "\"traits\":{\"agreeableness\":0.5,\"conscientiousness\":0.5,"             \
    "\"emotionality\":0.5,\"extraversion\":0.5,\"honesty_humility\":0.5,"      \
    "\"openness\":" openness "}"

static const struct {
    const char *graph, *node, *told;
} all[] = {
    {"", "", "nothing"},
    {"persona: {traits: {openness: 0.75}}\n", "", "{" TRAITS("0.75") "}"},
    {"persona: {mood: calm}\n", "", "{\"mood\":\"calm\"," TRAITS("0.5") "}"},
    {"persona: {adapt_style: true}\n", "",
     "{\"adapt_style\":true," TRAITS("0.5") "}"},
    {"persona: {mood: calm, adapt_style: true}\n",
     "persona_policy: {mood: merry, traits: {openness: 0.25}},",
     "{\"adapt_style\":true,\"mood\":\"merry\"," TRAITS("0.25") "}"},
    {"", "persona_policy: {mood: \"as ${input.who}\"},",
     "{\"mood\":\"as ann\"," TRAITS("0.5") "}"},
};

/* What the graph says, and the node ahead of it, is what its model is told.
 * key: persona.mood, persona.adapt_style */
START_TEST(a_model_is_told_its_persona)
{
    char text[1024], *told;

    snprintf(text, sizeof text,
             HEAD "%sstart: a\nnodes:\n"
                  "  a: {type: gmi, prompt: hi, %s next: END}\n",
             all[_i].graph, all[_i].node);
    begin(text);
    admit("{\"who\": \"ann\"}");
    told = persona();
    ck_assert_str_eq(told, all[_i].told);
    free(told);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("run_persona");
    TCase *tc = tcase_create("persona");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, a_model_is_told_its_persona, 0,
                        sizeof all / sizeof all[0]);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
