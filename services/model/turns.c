/* turns.c -- the turns of conversations with models, as one call has them.
 *
 * A turn is what an ask of model.call/1 adds to what was said before, and the
 * reply that it got.  Turns are a tree: each hangs on the one that it goes on
 * from, or on nothing, or on the conversation that its node has (a list in the
 * run's state, as it was when the node began).
 *
 *   (1) What stands in a turn never changes, so its JSON is written once, and a
 *       request is put together from the texts of its turns.  What a turn costs
 *       here does not grow with how many there were, but for copying bytes.
 *   (2) Each call of a tool has its result before anything else is said, across
 *       turns: a request that lacks one is none.
 *   (3) `prune` leaves out the oldest of what was said, by units that belong
 *       together (a reply and the results of its calls; a message of somebody
 *       else), and never the system's messages, nor the first that somebody
 *       sent.  What a provider alone understands was bound to what stood before
 *       it: it is left out of what stays.  Which, follows from the request
 *       alone, and so is the same when the call is entered again.
 *   (4) Nothing of this is stored: what was answered is, in the run's journal,
 *       and whoever asks says again what it had asked.
 *   (5) The result of a tool that the run made (tool.invoke/1) stands in an
 *       event of its own.  All other results are the words of the plugin that
 *       asks, so the event of the model's call has them.
 */
#include "services/model/turns.h"

#include <string.h>

#include "services/model/conversation.h"
#include "core/engine/runs/call.h"

struct mortise_turn {
    struct mortise_turn *next; /* of the call's: the one made before it */
    const struct mortise_mem *mem;
    char *name;                  /* of its step; NULL: nobody goes on from it */
    struct mortise_turn *before; /* NULL: it begins */
    json_t *base;                /* ... with that conversation; or NULL */
    json_t *ahead, *append, *told; /* lists, or NULL */
    json_t *reply;  /* the assistant's message; NULL: none came */
    json_t *pruned; /* a list, in the place of all up to `append`; or NULL */
    size_t left_out;
    struct mortise_buf asked, answered; /* JSON without brackets; see (1) */
    int64_t images; /* bytes that those in `asked` count more than they are */
    bool is_asked, is_answered;
};

/* What a call keeps. */
struct turns {
    struct mortise_kept kept; /* first */
    const struct mortise_mem *mem;
    struct mortise_turn *list;
    json_t *invoked; /* {ID: true}, of calls that the run made (5); or NULL */
};

/* ---- a call's ------------------------------------------------------------- */

static void turn_free(struct mortise_turn *t)
{
    json_decref(t->base);
    json_decref(t->ahead);
    json_decref(t->append);
    json_decref(t->told);
    json_decref(t->reply);
    json_decref(t->pruned);
    mortise_buf_finish(&t->asked);
    mortise_buf_finish(&t->answered);
    mortise_release_str(t->mem, t->name);
    mortise_release(t->mem, t, sizeof *t);
}

static void drop(struct mortise_kept *kept)
{
    struct turns *all = (struct turns *)kept;
    struct mortise_turn *t;

    while ((t = all->list) != NULL) {
        all->list = t->next;
        turn_free(t);
    }
    json_decref(all->invoked);
    mortise_release(all->mem, all, sizeof *all);
}

static struct turns *turns_of(const struct mortise_asked *a)
{
    struct mortise_ongoing *c = a->call;
    struct turns *all = (struct turns *)c->kept;

    if (all != NULL)
        return all;
    all = mortise_zalloc(c->mem, sizeof *all);
    if (all == NULL)
        return NULL;
    all->kept.drop = drop;
    all->mem = c->mem;
    c->kept = &all->kept;
    return all;
}

static struct mortise_turn *find(const struct turns *all, const char *name)
{
    struct mortise_turn *t = all != NULL ? all->list : NULL;

    while (t != NULL && (t->name == NULL || strcmp(t->name, name) != 0))
        t = t->next;
    return t;
}

/* ---- calls and results (2) ------------------------------------------------ */

static const json_t *parts_of(const json_t *message)
{
    return json_object_get(message, "parts");
}

static const char *role_of(const json_t *message)
{
    return json_string_value(json_object_get(message, "role"));
}

static bool is_part(const json_t *part, const char *type)
{
    return strcmp(json_string_value(json_object_get(part, "type")), type) == 0;
}

static const char *id_of(const json_t *part)
{
    return json_string_value(json_object_get(part, "id"));
}

/* The calls of a message, which are open. */
static int take_calls(json_t *open, const json_t *message,
                      struct mortise_err *err)
{
    MORTISE_JSON_EACH (part, i, parts_of(message)) {
        if (!is_part(part, "tool_call"))
            continue;
        if (json_object_get(open, id_of(part)) != NULL)
            return mortise_fail(err, MORTISE_EINVAL,
                                "two tool calls of one message have the id "
                                "'%.64s'",
                                id_of(part));
        if (json_object_set_new(open, id_of(part), json_true()) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

static int take_results(json_t *open, const json_t *message,
                        struct mortise_err *err)
{
    MORTISE_JSON_EACH (part, i, parts_of(message))
        if (json_object_del(open, id_of(part)) != 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "no tool call matches the result '%.64s', or "
                                "the call already had a result",
                                id_of(part));
    return MORTISE_OK;
}

static int lacks_result(const json_t *open, struct mortise_err *err)
{
    MORTISE_JSON_MEMBERS (id, one, open)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the tool call '%.64s' is not followed by a result",
                            id);
    return MORTISE_OK;
}

/* A list of what is said, behind what left these calls open. */
static int check_list(json_t *open, const char *what, const json_t *list,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (message, i, list) {
        const char *role = role_of(message);

        if (rv != MORTISE_OK)
            break;
        if (strcmp(role, "tool") == 0)
            rv = take_results(open, message, err);
        else
            rv = lacks_result(open, err);
        if (rv == MORTISE_OK && strcmp(role, "assistant") == 0)
            rv = take_calls(open, message, err);
        if (rv == MORTISE_EINVAL)
            mortise_doing(err, rv, "at /%s/%zu", what, i);
    }
    return rv;
}

static int check_pairs(const struct mortise_turn *t, struct mortise_err *err)
{
    json_t *open = json_object();
    int rv = open != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && t->before != NULL)
        rv = take_calls(open, t->before->reply, err);
    if (rv == MORTISE_OK)
        rv = check_list(open, "messages", t->ahead, err);
    if (rv == MORTISE_OK)
        rv = check_list(open, "append", t->append, err);
    if (rv == MORTISE_OK)
        rv = lacks_result(open, err);
    json_decref(open);
    return rv;
}

/* ---- from the first to one ------------------------------------------------ */

struct chain {
    const struct mortise_mem *mem;
    struct mortise_turn **list;
    size_t n;
};

/* The turns up to t, from where the conversation begins; or (`sent`) from where
 * what is sent does.  0, or -1 when memory ran out. */
static int chain_init(struct chain *c, struct mortise_turn *t, bool sent)
{
    const struct mortise_turn *first = t;

    *c = (struct chain){.mem = t->mem, .n = 1};
    for (; first->before != NULL && !(sent && first->pruned != NULL);
         first = first->before)
        c->n++;
    c->list = mortise_alloc(c->mem, c->n * sizeof c->list[0]);
    if (c->list == NULL)
        return -1;
    for (size_t i = c->n; i-- > 0; t = t->before)
        c->list[i] = t;
    return 0;
}

static void chain_finish(const struct chain *c)
{
    if (c->list != NULL)
        mortise_release(c->mem, c->list, c->n * sizeof c->list[0]);
}

/* ---- pruning (3) ---------------------------------------------------------- */

/* A message without what its provider alone understands: a new reference. */
static json_t *plain(const json_t *message)
{
    json_t *list = json_array();
    json_t *out =
        json_pack("{s:s, s:o}", "role", role_of(message), "parts", list);

    MORTISE_JSON_EACH (part, i, parts_of(message)) {
        json_t *copy;

        if (out == NULL || is_part(part, "reasoning"))
            continue;
        copy = json_copy(mortise_json_unconst(part));
        json_object_del(copy, "provider");
        if (json_array_append_new(list, copy) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

static int extend(json_t *to, json_t *list)
{
    return list != NULL ? json_array_extend(to, list) : 0;
}

/* What a turn adds, or what stands for all up to it. */
static int gather_one(const struct mortise_turn *t, json_t *to)
{
    int rv = extend(to, t->pruned != NULL ? t->pruned : t->ahead);

    if (rv == 0 && t->pruned == NULL)
        rv = extend(to, t->base);
    if (rv == 0 && t->pruned == NULL)
        rv = extend(to, t->append);
    if (rv == 0)
        rv = extend(to, t->told);
    return rv == 0 && t->reply != NULL ? json_array_append(to, t->reply) : rv;
}

/* All that was said before and in t, in a list of its own. */
static int gather(struct mortise_turn *t, json_t *to)
{
    struct chain chain;
    int rv = chain_init(&chain, t, true);

    for (size_t i = 0; rv == 0 && i < chain.n; i++)
        rv = gather_one(chain.list[i], to);
    chain_finish(&chain);
    return rv;
}

/* Behind the message at `i` and what belongs to it. */
static size_t unit_end(const json_t *list, size_t i)
{
    do
        i++;
    while (i < json_array_size(list) &&
           strcmp(role_of(json_array_get(list, i)), "tool") == 0);
    return i;
}

/* How many bytes of JSON that is; SIZE_MAX: memory ran out. */
static size_t size_of(const struct mortise_mem *mem, const json_t *list,
                      size_t from, size_t to)
{
    size_t n = 0;

    for (; from < to; from++) {
        char *text = mortise_json_text(mem, json_array_get(list, from));

        if (text == NULL)
            return SIZE_MAX;
        n += strlen(text);
        mortise_release_str(mem, text);
    }
    return n;
}

/* Those that always stay: the system's at the front, and the first of somebody
 * else. */
static size_t front_of(const json_t *list)
{
    size_t i = 0;

    while (i < json_array_size(list) &&
           strcmp(role_of(json_array_get(list, i)), "system") == 0)
        i++;
    return i < json_array_size(list) &&
                   strcmp(role_of(json_array_get(list, i)), "user") == 0
               ? i + 1
               : i;
}

/* Up to where to leave out, so that `keep` of the bytes stay; the last unit
 * always does. */
static size_t cut_of(const struct mortise_mem *mem, const json_t *list,
                     size_t front, double keep)
{
    size_t all = size_of(mem, list, 0, json_array_size(list));
    size_t at = front, out = 0;

    if (all == SIZE_MAX)
        return SIZE_MAX;
    while ((double)(all - out) > keep * (double)all) {
        size_t end = unit_end(list, at), n;

        if (end >= json_array_size(list))
            break;
        n = size_of(mem, list, at, end);
        if (n == SIZE_MAX)
            return SIZE_MAX;
        out += n;
        at = end;
    }
    return at;
}

/* Nothing of one that had only been reasoned. */
static int add_plain(json_t *to, const json_t *message)
{
    json_t *one = plain(message);
    int rv = 0;

    if (one == NULL || json_array_size(parts_of(one)) > 0)
        return json_array_append_new(to, one);
    json_decref(one);
    return rv;
}

static json_t *left_out_note(size_t n)
{
    return json_pack(
        "{s:s, s:[{s:s, s:o}]}", "role", "user", "parts", "type", "text",
        "text",
        json_sprintf("[%zu earlier message%s of this conversation %s left out "
                     "here.]",
                     n, n == 1 ? "" : "s", n == 1 ? "was" : "were"));
}

static int prune(struct mortise_turn *t, double keep, struct mortise_err *err)
{
    json_t *all = json_array(), *out = json_array();
    size_t front, at = 0;
    int rv = all != NULL && out != NULL && gather(t, all) == 0 ? 0 : -1;

    front = rv == 0 ? front_of(all) : 0;
    if (rv == 0)
        at = cut_of(t->mem, all, front, keep);
    if (at == SIZE_MAX)
        rv = -1;
    for (size_t i = 0; rv == 0 && i < json_array_size(all); i++) {
        if (i == front && at > front)
            rv = json_array_append_new(out, left_out_note(at - front));
        if (rv == 0 && (i < front || i >= at))
            rv = add_plain(out, json_array_get(all, i));
    }
    json_decref(all);
    t->pruned = out;
    t->left_out = at - front;
    return rv == 0 ? MORTISE_OK : mortise_nomem(err);
}

size_t mortise_turn_left_out(const struct mortise_turn *t)
{
    return t->left_out;
}

/* ---- taking one ----------------------------------------------------------- */

/* What it goes on from. */
static int find_before(const struct mortise_asked *a, const struct turns *all,
                       struct mortise_turn *t, struct mortise_err *err)
{
    const char *after = json_string_value(json_object_get(a->body, "after"));

    if (after == NULL)
        return MORTISE_OK;
    t->before = find(all, after);
    if (t->before == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "at /after: this call has no model.call step '%.128s'", after);
    if (t->before->reply == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "at /after: the step '%.128s' has no reply to continue", after);
    return MORTISE_OK;
}

static int find_base(const struct mortise_asked *a, struct mortise_turn *t,
                     struct mortise_err *err)
{
    if (!json_is_true(json_object_get(a->body, "continue")))
        return MORTISE_OK;
    if (a->call->node->conversation == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /continue: the node has no conversation");
    t->base = mortise_run_conversation(a->live->run, a->run_call);
    return t->base != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* messages, or after and append, or continue with either. */
static int check_form(const struct mortise_asked *a, struct mortise_err *err)
{
    bool after = json_object_get(a->body, "after") != NULL;
    bool goes_on = json_is_true(json_object_get(a->body, "continue"));
    size_t messages = json_array_size(json_object_get(a->body, "messages"));
    size_t append = json_array_size(json_object_get(a->body, "append"));

    if (after && (goes_on || messages > 0))
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /after: a request that continues a step can "
                            "have neither messages nor a conversation");
    if (!after && !goes_on && messages + append == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /messages: there is no message to send");
    if (goes_on && append == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /append: there is no message to send");
    return MORTISE_OK;
}

static int fill(const struct mortise_asked *a, const struct turns *all,
                struct mortise_turn *t, struct mortise_err *err)
{
    const json_t *keep = json_object_get(a->body, "prune");
    int rv = check_form(a, err);

    t->ahead = json_incref(json_object_get(a->body, "messages"));
    t->append = json_incref(json_object_get(a->body, "append"));
    if (rv == MORTISE_OK)
        rv = find_before(a, all, t, err);
    if (rv == MORTISE_OK)
        rv = find_base(a, t, err);
    if (rv == MORTISE_OK)
        rv = check_pairs(t, err);
    if (rv == MORTISE_OK && keep != NULL)
        rv = prune(t, json_number_value(keep), err);
    return rv;
}

int mortise_turns_take(const struct mortise_asked *a, struct mortise_turn **out,
                       struct mortise_err *err)
{
    const char *name = a->name != NULL ? json_string_value(a->name) : NULL;
    struct turns *all = turns_of(a);
    struct mortise_turn *t;
    int rv;

    *out = NULL;
    if (all == NULL)
        return mortise_nomem(err);
    *out = name != NULL ? find(all, name) : NULL;
    if (*out != NULL)
        return MORTISE_OK; /* the run refuses a second ask of that name */
    t = mortise_zalloc(all->mem, sizeof *t);
    if (t == NULL)
        return mortise_nomem(err);
    t->mem = all->mem;
    mortise_buf_init(&t->asked, t->mem);
    mortise_buf_init(&t->answered, t->mem);
    t->name = name != NULL ? mortise_strdup(t->mem, name) : NULL;
    rv = name != NULL && t->name == NULL ? mortise_nomem(err)
                                         : fill(a, all, t, err);
    if (rv != MORTISE_OK) {
        turn_free(t);
        return rv;
    }
    t->next = all->list;
    all->list = t;
    *out = t;
    return MORTISE_OK;
}

/* ---- as text (1) ---------------------------------------------------------- */

static void put_list(struct mortise_buf *b, const json_t *list)
{
    MORTISE_JSON_EACH (one, i, list) {
        if (b->n > 0)
            mortise_buf_put(b, ",", 1);
        if (mortise_json_write(b, one) != MORTISE_OK)
            b->failed = true;
    }
}

/* What an image is charged for, whatever its bytes: 2,000 tokens, as much as for
 * the largest that servers take. */
enum { IMAGE = 6000 };

static size_t data_size(const json_t *part)
{
    return json_string_length(json_object_get(part, "data"));
}

/* So much more than their bytes count images in there; recursive, as results of
 * tools have parts, too. */
static int64_t weigh_images(const json_t *parts)
{
    int64_t more = 0;

    MORTISE_JSON_EACH (part, i, parts)
        more += is_part(part, "image") ? IMAGE - (int64_t)data_size(part)
                                       : weigh_images(parts_of(part));
    return more;
}

static void weigh(struct mortise_turn *t, const json_t *list)
{
    MORTISE_JSON_EACH (message, i, list)
        t->images += weigh_images(parts_of(message));
}

static const struct mortise_buf *asked_text(struct mortise_turn *t)
{
    if (!t->is_asked) {
        weigh(t, t->pruned != NULL ? t->pruned : t->ahead);
        put_list(&t->asked, t->pruned != NULL ? t->pruned : t->ahead);
        if (t->pruned == NULL) {
            put_list(&t->asked, t->base);
            put_list(&t->asked, t->append);
            weigh(t, t->base);
            weigh(t, t->append);
        }
        t->is_asked = true;
    }
    return &t->asked;
}

static const struct mortise_buf *answered_text(struct mortise_turn *t)
{
    if (!t->is_answered) {
        put_list(&t->answered, t->told);
        if (t->reply != NULL) {
            if (t->answered.n > 0)
                mortise_buf_put(&t->answered, ",", 1);
            if (mortise_json_write(&t->answered, t->reply) != MORTISE_OK)
                t->answered.failed = true;
        }
        t->is_answered = true;
    }
    return &t->answered;
}

static void put_text(struct mortise_buf *out, const struct mortise_buf *text,
                     bool *any)
{
    out->failed |= text->failed;
    if (text->n == 0)
        return;
    if (*any)
        mortise_buf_put(out, ",", 1);
    mortise_buf_put(out, text->p, text->n);
    *any = true;
}

int mortise_turn_write(struct mortise_turn *t, const json_t *told,
                       struct mortise_buf *out)
{
    struct chain chain;
    struct mortise_buf last;
    bool any = false;

    if (chain_init(&chain, t, true) != 0)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < chain.n; i++) {
        put_text(out, asked_text(chain.list[i]), &any);
        if (i + 1 < chain.n)
            put_text(out, answered_text(chain.list[i]), &any);
    }
    mortise_buf_init(&last, t->mem);
    put_list(&last, told);
    put_text(out, &last, &any);
    mortise_buf_finish(&last);
    chain_finish(&chain);
    return out->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* ---- as people and budgets see it ------------------------------------------ */

size_t mortise_turn_size(struct mortise_turn *t)
{
    int64_t n = (int64_t)asked_text(t)->n + t->images;

    for (; t->before != NULL && t->pruned == NULL; t = t->before)
        n += (int64_t)(answered_text(t->before)->n + asked_text(t->before)->n) +
             t->before->images;
    return n > 0 ? (size_t)n : 0;
}

/* Put the size of data in its place; recursive, as results of tools have parts,
 * too.  0, or -1 when memory ran out. */
static int replace_data(const json_t *parts)
{
    int rv = 0;

    MORTISE_JSON_EACH (part, i, parts) {
        json_t *to = mortise_json_unconst(part);
        size_t n = data_size(part);

        if (rv == 0 && n > 0)
            rv = json_object_set_new(to, "data_bytes",
                                     json_integer((json_int_t)n));
        if (n > 0)
            json_object_del(to, "data");
        if (rv == 0)
            rv = replace_data(parts_of(part));
    }
    return rv;
}

static bool is_invoked(const json_t *invoked, const json_t *part)
{
    return is_part(part, "tool_result") &&
           json_object_get(invoked, id_of(part)) != NULL;
}

/* Leave out the results that have events of their own (5); 0 or -1. */
static int drop_invoked(json_t *message, const json_t *invoked)
{
    json_t *parts = json_array();
    int rv = parts != NULL ? 0 : -1;

    MORTISE_JSON_EACH (part, i, parts_of(message))
        if (rv == 0 && !is_invoked(invoked, part))
            rv = json_array_append(parts, mortise_json_unconst(part));
    if (rv == 0)
        rv = json_object_set(message, "parts", parts);
    json_decref(parts);
    return rv;
}

static int add_news(json_t *to, const json_t *list, const json_t *invoked)
{
    int rv = 0;

    MORTISE_JSON_EACH (one, i, list) {
        json_t *message = rv == 0 ? json_deep_copy(one) : NULL;

        rv = message != NULL ? drop_invoked(message, invoked) : -1;
        if (rv == 0)
            rv = replace_data(parts_of(message));
        if (rv == 0 && json_array_size(parts_of(message)) > 0)
            rv = json_array_append(to, message);
        json_decref(message);
    }
    return rv;
}

json_t *mortise_turn_news(const struct mortise_asked *a)
{
    const struct mortise_turn *t = a->made;
    const json_t *invoked = turns_of(a)->invoked;
    json_t *out = json_array();

    if (out != NULL && add_news(out, t->ahead, invoked) == 0 &&
        add_news(out, t->append, invoked) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- what came of it ------------------------------------------------------ */

int mortise_turns_invoke(const struct mortise_asked *a, const char *id)
{
    struct turns *all = turns_of(a);

    if (all == NULL)
        return MORTISE_ENOMEM;
    if (all->invoked == NULL)
        all->invoked = json_object();
    return json_object_set_new(all->invoked, id, json_true()) == 0
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

/* Servers may give the calls of each reply the same ids again. */
static void forget_invoked(json_t *invoked, const json_t *reply)
{
    MORTISE_JSON_EACH (part, i, parts_of(reply))
        if (is_part(part, "tool_call"))
            json_object_del(invoked, id_of(part));
}

void mortise_turn_answered(const struct mortise_asked *a, const json_t *answer)
{
    struct mortise_turn *t = a->made;
    json_t *reply =
        json_object_get(json_object_get(answer, "reply"), "message");

    if (t->reply != NULL || reply == NULL)
        return;
    t->reply = json_incref(reply);
    t->told = json_incref(json_object_get(answer, "told"));
    forget_invoked(turns_of(a)->invoked, reply);
}

/* ---- what is kept --------------------------------------------------------- */

static int add_said(json_t *to, const json_t *list)
{
    int rv = 0;

    MORTISE_JSON_EACH (one, i, list)
        if (rv == 0 && strcmp(role_of(one), "system") != 0)
            rv = json_array_append(to, mortise_json_unconst(one));
    return rv;
}

static int add_turns(json_t *to, struct mortise_turn *last)
{
    struct chain chain;
    int rv = chain_init(&chain, last, false);

    for (size_t i = 0; rv == 0 && i < chain.n; i++) {
        const struct mortise_turn *t = chain.list[i];

        rv = add_said(to, t->ahead);
        if (rv == 0)
            rv = add_said(to, t->append);
        if (rv == 0)
            rv = add_said(to, t->told);
        if (rv == 0)
            rv = json_array_append(to, t->reply);
    }
    chain_finish(&chain);
    return rv;
}

/* (2) */
static int check_kept(const struct mortise_turn *t, const json_t *more,
                      struct mortise_err *err)
{
    json_t *open = json_object();
    int rv =
        open != NULL ? take_calls(open, t->reply, err) : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = check_list(open, "append", more, err);
    if (rv == MORTISE_OK)
        rv = lacks_result(open, err);
    json_decref(open);
    return rv;
}

json_t *mortise_turns_said(const struct mortise_asked *a, const char *name,
                           const json_t *more, struct mortise_err *err)
{
    struct mortise_turn *t = find((struct turns *)a->call->kept, name);
    json_t *out;

    if (t == NULL || t->reply == NULL) {
        mortise_fail(err, MORTISE_EINVAL,
                     "at /after: the step '%.128s' of this call got no reply",
                     name);
        return NULL;
    }
    if (check_kept(t, more, err) != MORTISE_OK)
        return NULL;
    out = json_array();
    if (out == NULL || add_turns(out, t) != 0 || add_said(out, more) != 0) {
        json_decref(out);
        mortise_nomem(err);
        return NULL;
    }
    return out;
}

json_t *mortise_turns_told(const struct mortise_asked *a, const char *name,
                           struct mortise_err *err)
{
    struct mortise_turn *t = find((struct turns *)a->call->kept, name);
    struct mortise_buf text;
    json_t *out = NULL;
    int rv = MORTISE_OK;

    if (t == NULL || t->reply == NULL) {
        mortise_fail(
            err, MORTISE_EINVAL,
            "at /task/seed: the step '%.128s' of this call got no reply", name);
        return NULL;
    }
    mortise_buf_init(&text, t->mem);
    mortise_buf_put(&text, "[", 1);
    rv = mortise_turn_write(t, t->told, &text);
    mortise_buf_put(&text, "]", 1);
    if (rv != MORTISE_OK || text.failed)
        mortise_nomem(err);
    else
        mortise_json_read(&out, text.p, text.n, err);
    mortise_buf_finish(&text);
    return out;
}
