/* turns.c -- the messages of a request as turns of the Messages API.
 *
 *   (1) What stands between two messages of the assistant becomes one turn of
 *       the user's: all results of tools first, in their order, then all else.
 *       The server refuses a result that is missing there, or that stands
 *       behind a text.  Messages of the assistant behind each other become one
 *       as well, and one of which nothing is left is none.
 *   (2) System messages.  Those before all others are `system`.  A later one
 *       stands behind the turn of the user's that it came with, as a message
 *       of the role system, so that nothing before it changes; or, if config
 *       says `system_turns: user` or there is no such turn, in it.
 *   (3) cache: true marks the last block of `system` and the last blocks of the
 *       last two turns of the user's (and request.c the last tool).  The server
 *       keeps what stands before such a place, and finds it again only up to 20
 *       blocks before another one: the last request ended where the last turn
 *       but one does, however many blocks came since.  These are the four
 *       places that it allows.
 */
#include "writing.h"

static int is_role(mortise_jv message, const char *role)
{
    return mortise_jv_is(mortise_jv_get(message, "role"), mortise_strz(role));
}

/* ---- turns --------------------------------------------------------------- */

enum side { NOBODY, USER, ASSISTANT };

/* Whose turn a message is of; NOBODY's: it has nothing to say. */
static enum side side_of(const mortise_inst *inst, mortise_jv message)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_jv part;

    if (!is_role(message, "assistant"))
        return USER;
    while (mortise_jv_next(&it, NULL, &part))
        if (anthropic_is_said(inst, part))
            return ASSISTANT;
    return NOBODY;
}

/* Messages of one side, behind each other. */
struct turn {
    enum side side;
    mortise_jv_iter at;
    const char *end; /* of the last one */
};

/* The turn that begins at *it, which is then behind it; 0: none does. */
static int next_turn(const mortise_inst *inst, mortise_jv_iter *it,
                     struct turn *t)
{
    mortise_jv_iter ahead = *it;
    mortise_jv message;

    t->side = NOBODY;
    t->at = *it;
    while (mortise_jv_next(&ahead, NULL, &message)) {
        enum side side = side_of(inst, message);

        if (side != NOBODY && t->side != NOBODY && side != t->side)
            break;
        t->side = side != NOBODY ? side : t->side;
        t->end = message.p + message.n;
        *it = ahead;
    }
    return t->side != NOBODY;
}

/* The next message of a turn, by an iterator that began as `at`. */
static int next_message(const struct turn *t, mortise_jv_iter *it,
                        mortise_jv *message)
{
    return it->p < t->end && mortise_jv_next(it, NULL, message);
}

/* Writes a part as a block, marked for the cache or not. */
typedef void part_fn(struct writing *x, mortise_jv part, int mark);

/* Which parts of a turn of the user's are meant. */
enum meant { NOTHING, RESULTS, TEXTS, SYSTEMS };

/* What a part of a message is. */
static enum meant meaning_of(mortise_jv part, enum meant texts)
{
    switch (anthropic_part_kind(part)) {
    case PART_TEXT:
    case PART_MEDIA:
        return texts;
    case PART_RESULT:
        return RESULTS;
    default:
        return NOTHING;
    }
}

/* What the texts of a message are; one of the assistant's in a turn of the
 * user's has nothing to say. */
static enum meant texts_of(mortise_jv message, int system_too)
{
    if (is_role(message, "assistant"))
        return NOTHING;
    return is_role(message, "system") && !system_too ? SYSTEMS : TEXTS;
}

/* Write what is meant, or (put NULL) count it.  `mark`: the number of the part,
 * from 1, that is marked; 0: none. */
static int each_part(struct writing *x, const struct turn *t, enum meant meant,
                     int system_too, part_fn *put, int mark)
{
    mortise_jv_iter it = t->at, parts;
    mortise_jv message, part;
    int n = 0;

    while (next_message(t, &it, &message)) {
        enum meant texts = texts_of(message, system_too);

        parts = mortise_jv_each(mortise_jv_get(message, "parts"));
        while (mortise_jv_next(&parts, NULL, &part)) {
            if (meaning_of(part, texts) != meant)
                continue;
            n++;
            if (put != NULL)
                put(x, part, n == mark);
        }
    }
    return n;
}

static void open_message(struct writing *x, const char *role)
{
    mortise_jw_object(&x->w);
    anthropic_text_put(&x->w, "role", role);
    mortise_jw_key(&x->w, "content");
    mortise_jw_array(&x->w);
}

static void close_message(struct writing *x)
{
    mortise_jw_end(&x->w);
    mortise_jw_end(&x->w);
}

static void put_user_turn(struct writing *x, const struct turn *t, int mark)
{
    int results = each_part(x, t, RESULTS, 0, NULL, 0);
    int texts = each_part(x, t, TEXTS, 0, NULL, 0);
    int as_user = x->inst->system_as_user || results + texts == 0;

    if (as_user)
        texts = each_part(x, t, TEXTS, 1, NULL, 0);
    if (results + texts > 0) {
        open_message(x, "user");
        each_part(x, t, RESULTS, 0, anthropic_result_put,
                  mark && texts == 0 ? results : 0);
        each_part(x, t, TEXTS, as_user, anthropic_content_put,
                  mark ? texts : 0);
        close_message(x);
    }
    if (!as_user && each_part(x, t, SYSTEMS, 0, NULL, 0) > 0) {
        open_message(x, "system");
        each_part(x, t, SYSTEMS, 0, anthropic_content_put, 0);
        close_message(x);
    }
}

static void put_assistant_turn(struct writing *x, const struct turn *t)
{
    mortise_jv_iter it = t->at, parts;
    mortise_jv message, part;

    open_message(x, "assistant");
    while (next_message(t, &it, &message)) {
        parts = mortise_jv_each(mortise_jv_get(message, "parts"));
        while (mortise_jv_next(&parts, NULL, &part))
            if (anthropic_is_said(x->inst, part))
                anthropic_said_put(x, part);
    }
    close_message(x);
}

/* The messages behind those that are `system`. */
static mortise_jv_iter behind_system(const struct asked *a)
{
    mortise_jv_iter it = mortise_jv_each(a->messages), ahead = it;
    mortise_jv message;

    while (mortise_jv_next(&ahead, NULL, &message) &&
           is_role(message, "system"))
        it = ahead;
    return it;
}

/* How many turns of the user's there are to be marked, at the end. */
static int turns_to_mark(const struct writing *x, mortise_jv_iter it)
{
    struct turn t;
    int n = 0;

    while (x->cache && next_turn(x->inst, &it, &t))
        n += t.side == USER;
    return n;
}

/* What was made before is there again, unless marks wander. */
static mortise_jv_iter put_known(struct writing *x)
{
    mortise_jv messages = x->asked->messages;
    mortise_jv_iter it = behind_system(x->asked);
    mortise_str made;
    uint64_t n = x->cache ? 0 : prefix_find(x->inst->said, messages, &made);

    if (n > 0) {
        mortise_jw_value(&x->w, mortise_jv_of(made));
        it.p = messages.p + n;
    }
    return it;
}

void anthropic_messages_put(struct writing *x)
{
    mortise_jv_iter it;
    struct turn t;
    uint64_t from;
    int left;

    mortise_jw_array(&x->w);
    from = x->w.n;
    it = put_known(x);
    left = turns_to_mark(x, it);
    while (next_turn(x->inst, &it, &t)) {
        if (t.side == USER)
            put_user_turn(x, &t, x->cache && left <= 2);
        else
            put_assistant_turn(x, &t);
        left -= t.side == USER;
    }
    if (!x->cache && x->status == MORTISE_S_OK && x->w.status == MORTISE_S_OK)
        prefix_keep(x->inst->said, x->asked->messages,
                    mortise_strn(x->w.p + from, x->w.n - from));
    mortise_jw_end(&x->w);
}

/* ---- system (2) ---------------------------------------------------------- */

/* The parts of the system messages before all others, as one turn. */
static struct turn system_turn(const struct asked *a)
{
    mortise_jv_iter behind = behind_system(a);
    struct turn t = {USER, mortise_jv_each(a->messages), behind.p};

    return t;
}

void anthropic_system_put(struct writing *x)
{
    struct turn t = system_turn(x->asked);
    int n = each_part(x, &t, SYSTEMS, 0, NULL, 0);

    if (n == 0)
        return;
    mortise_jw_key(&x->w, "system");
    mortise_jw_array(&x->w);
    each_part(x, &t, SYSTEMS, 0, anthropic_content_put, x->cache ? n : 0);
    mortise_jw_end(&x->w);
}
