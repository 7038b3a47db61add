/* turns.c -- the conversations with models of one call, as a tree of turns.
 *
 * A turn is the messages that one model.call/1 request adds, and the reply to
 * it.  Turns form a tree: a turn continues another turn, or the node's
 * conversation (a list in the run's state, as of the start of the node), or
 * nothing.
 *
 *   (1) A turn never changes, so its JSON is written once, and a request is
 *       joined from the texts of its turns.  Apart from copying bytes, the cost
 *       of a turn does not depend on the number of earlier turns.
 *   (2) Each tool call is followed by its result before any other message, also
 *       across turns.  A request without a result is invalid.
 *   (3) `prune` omits the oldest messages, in units that belong together: a
 *       reply and the results of its tool calls, or one other message.  It
 *       never omits the system messages, nor the first message of the user.
 *       Data that only the provider understands depends on the omitted
 *       messages, so it is removed from the others.  The outcome depends on the
 *       request alone, so a re-entered call prunes alike.
 *   (4) Turns are not stored.  The answers are in the run's journal, and a
 *       re-entered caller repeats its requests.
 *   (5) The result of a tool that the run executed (tool.invoke/1) has an event
 *       of its own.  All other results come from the calling plugin, so the
 *       event of the model call contains them. */
#include "services/model/turns.h"

#include <string.h>

#include "services/model/conversation.h"
#include "core/engine/runs/call.h"

struct mortise_turn {
    struct mortise_turn *next; /* the previous one in the call's list */
    const struct mortise_mem *mem;
    char *name;                    /* of its step; NULL: cannot be continued */
    struct mortise_turn *before;   /* NULL: it continues no turn */
    json_t *base;                  /* the conversation it continues; or NULL */
    json_t *ahead, *append, *told; /* messages, or NULL */
    json_t *reply;                 /* the assistant's message; NULL: no reply */
    json_t *pruned; /* replaces all messages up to `append`; or NULL */
    size_t left_out;
    struct mortise_buf asked, answered; /* JSON without brackets (1) */
    int64_t images; /* image weights less their bytes in `asked` */
    bool is_asked, is_answered;
};

/* The turns of a call. */
struct turns {
    struct mortise_call_attachment kept; /* must be the first member */
    const struct mortise_mem *mem;
    struct mortise_turn *list;
    json_t *invoked; /* {ID: true}: calls that the run executes (5); or NULL */
};

/* ---- turns of a call ---------------------------------------------------- */

static void free_turn(struct mortise_turn *t)
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

static void free_turns(struct mortise_call_attachment *kept)
{
    struct turns *all = (struct turns *)kept;
    struct mortise_turn *t;

    while ((t = all->list) != NULL) {
        all->list = t->next;
        free_turn(t);
    }
    json_decref(all->invoked);
    mortise_release(all->mem, all, sizeof *all);
}

static struct turns *get_call_turns(const struct mortise_asked *a)
{
    struct mortise_plugin_call *c = a->call;
    struct turns *all = (struct turns *)c->kept;

    if (all != NULL)
        return all;
    all = mortise_zalloc(c->mem, sizeof *all);
    if (all == NULL)
        return NULL;
    all->kept.drop = free_turns;
    all->mem = c->mem;
    c->kept = &all->kept;
    return all;
}

static struct mortise_turn *find_turn(const struct turns *all, const char *name)
{
    struct mortise_turn *t = all != NULL ? all->list : NULL;

    while (t != NULL && (t->name == NULL || strcmp(t->name, name) != 0))
        t = t->next;
    return t;
}

/* ---- calls and results (2) ---------------------------------------------- */

static const json_t *get_message_parts(const json_t *message)
{
    return json_object_get(message, "parts");
}

static const char *get_message_role(const json_t *message)
{
    return json_string_value(json_object_get(message, "role"));
}

static bool is_message_part(const json_t *part, const char *type)
{
    return strcmp(json_string_value(json_object_get(part, "type")), type) == 0;
}

static const char *get_part_id(const json_t *part)
{
    return json_string_value(json_object_get(part, "id"));
}

/* Add the tool calls of a message to the open ones. */
static int add_open_calls(json_t *open, const json_t *message,
                          struct mortise_err *err)
{
    MORTISE_JSON_EACH (part, i, get_message_parts(message)) {
        if (!is_message_part(part, "tool_call"))
            continue;
        if (json_object_get(open, get_part_id(part)) != NULL)
            return mortise_fail(err, MORTISE_EINVAL,
                                "two tool calls of one message have the id "
                                "'%.64s'",
                                get_part_id(part));
        if (json_object_set_new(open, get_part_id(part), json_true()) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

static int remove_open_calls(json_t *open, const json_t *message,
                             struct mortise_err *err)
{
    MORTISE_JSON_EACH (part, i, get_message_parts(message))
        if (json_object_del(open, get_part_id(part)) != 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "no tool call matches the result '%.64s', or "
                                "the call already had a result",
                                get_part_id(part));
    return MORTISE_OK;
}

static int check_no_open_calls(const json_t *open, struct mortise_err *err)
{
    MORTISE_JSON_MEMBERS (id, one, open)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the tool call '%.64s' is not followed by a result",
                            id);
    return MORTISE_OK;
}

/* Check a list of messages that follows the open calls. */
static int check_message_list(json_t *open, const char *what,
                              const json_t *list, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (message, i, list) {
        const char *role = get_message_role(message);

        if (rv != MORTISE_OK)
            break;
        if (strcmp(role, "tool") == 0)
            rv = remove_open_calls(open, message, err);
        else
            rv = check_no_open_calls(open, err);
        if (rv == MORTISE_OK && strcmp(role, "assistant") == 0)
            rv = add_open_calls(open, message, err);
        if (rv == MORTISE_EINVAL)
            mortise_err_prefix(err, rv, "at /%s/%zu", what, i);
    }
    return rv;
}

static int check_turn_results(const struct mortise_turn *t,
                              struct mortise_err *err)
{
    json_t *open = json_object();
    int rv = open != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && t->before != NULL)
        rv = add_open_calls(open, t->before->reply, err);
    if (rv == MORTISE_OK)
        rv = check_message_list(open, "messages", t->ahead, err);
    if (rv == MORTISE_OK)
        rv = check_message_list(open, "append", t->append, err);
    if (rv == MORTISE_OK)
        rv = check_no_open_calls(open, err);
    json_decref(open);
    return rv;
}

/* ---- chains of turns ---------------------------------------------------- */

struct chain {
    const struct mortise_mem *mem;
    struct mortise_turn **list;
    size_t n;
};

/* List the turns up to t: from the start of the conversation, or (`sent`) from
 * the last pruned turn.  0, or -1 when memory ran out. */
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

/* ---- pruning (3) -------------------------------------------------------- */

/* Copy a message without the data that only its provider understands. */
static json_t *copy_without_provider_data(const json_t *message)
{
    json_t *list = json_array();
    json_t *out = json_pack("{s:s, s:o}", "role", get_message_role(message),
                            "parts", list);

    MORTISE_JSON_EACH (part, i, get_message_parts(message)) {
        json_t *copy;

        if (out == NULL || is_message_part(part, "reasoning"))
            continue;
        copy = json_copy(mortise_json_unconst(part));
        json_object_del(copy, "provider");
        if (json_array_append_new(list, copy) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

static int extend_list(json_t *to, json_t *list)
{
    return list != NULL ? json_array_extend(to, list) : 0;
}

/* Add the messages of one turn, or those that replace all up to it. */
static int gather_turn_messages(const struct mortise_turn *t, json_t *to)
{
    int rv = extend_list(to, t->pruned != NULL ? t->pruned : t->ahead);

    if (rv == 0 && t->pruned == NULL)
        rv = extend_list(to, t->base);
    if (rv == 0 && t->pruned == NULL)
        rv = extend_list(to, t->append);
    if (rv == 0)
        rv = extend_list(to, t->told);
    return rv == 0 && t->reply != NULL ? json_array_append(to, t->reply) : rv;
}

/* Add all messages up to and including t. */
static int gather_messages(struct mortise_turn *t, json_t *to)
{
    struct chain chain;
    int rv = chain_init(&chain, t, true);

    for (size_t i = 0; rv == 0 && i < chain.n; i++)
        rv = gather_turn_messages(chain.list[i], to);
    chain_finish(&chain);
    return rv;
}

/* Return the index behind the unit that starts at `i`. */
static size_t find_unit_end(const json_t *list, size_t i)
{
    do
        i++;
    while (i < json_array_size(list) &&
           strcmp(get_message_role(json_array_get(list, i)), "tool") == 0);
    return i;
}

/* Count the bytes of JSON; SIZE_MAX: memory ran out. */
static size_t measure_messages(const struct mortise_mem *mem,
                               const json_t *list, size_t from, size_t to)
{
    size_t n = 0;

    for (; from < to; from++) {
        char *text = mortise_json_to_text(mem, json_array_get(list, from));

        if (text == NULL)
            return SIZE_MAX;
        n += strlen(text);
        mortise_release_str(mem, text);
    }
    return n;
}

/* Count the messages that are never pruned: the system messages at the start,
 * and the first message of the user. */
static size_t count_front_messages(const json_t *list)
{
    size_t i = 0;

    while (i < json_array_size(list) &&
           strcmp(get_message_role(json_array_get(list, i)), "system") == 0)
        i++;
    return i < json_array_size(list) &&
                   strcmp(get_message_role(json_array_get(list, i)), "user") ==
                       0
               ? i + 1
               : i;
}

/* Find the end of the messages to omit, so that the part `keep` of the bytes
 * remains.  The last unit always remains.  SIZE_MAX: memory ran out. */
static size_t find_prune_end(const struct mortise_mem *mem, const json_t *list,
                             size_t front, double keep)
{
    size_t all = measure_messages(mem, list, 0, json_array_size(list));
    size_t at = front, out = 0;

    if (all == SIZE_MAX)
        return SIZE_MAX;
    while ((double)(all - out) > keep * (double)all) {
        size_t end = find_unit_end(list, at), n;

        if (end >= json_array_size(list))
            break;
        n = measure_messages(mem, list, at, end);
        if (n == SIZE_MAX)
            return SIZE_MAX;
        out += n;
        at = end;
    }
    return at;
}

/* Add a copy for a pruned list; skip a message of which nothing remains. */
static int add_pruned_message(json_t *to, const json_t *message)
{
    json_t *one = copy_without_provider_data(message);
    int rv = 0;

    if (one == NULL || json_array_size(get_message_parts(one)) > 0)
        return json_array_append_new(to, one);
    json_decref(one);
    return rv;
}

static json_t *make_left_out_note(size_t n)
{
    return json_pack(
        "{s:s, s:[{s:s, s:o}]}", "role", "user", "parts", "type", "text",
        "text",
        json_sprintf("[%zu earlier message%s of this conversation %s left out "
                     "here.]",
                     n, n == 1 ? "" : "s", n == 1 ? "was" : "were"));
}

static int prune_turn(struct mortise_turn *t, double keep,
                      struct mortise_err *err)
{
    json_t *all = json_array(), *out = json_array();
    size_t front, at = 0;
    int rv =
        all != NULL && out != NULL && gather_messages(t, all) == 0 ? 0 : -1;

    front = rv == 0 ? count_front_messages(all) : 0;
    if (rv == 0)
        at = find_prune_end(t->mem, all, front, keep);
    if (at == SIZE_MAX)
        rv = -1;
    for (size_t i = 0; rv == 0 && i < json_array_size(all); i++) {
        if (i == front && at > front)
            rv = json_array_append_new(out, make_left_out_note(at - front));
        if (rv == 0 && (i < front || i >= at))
            rv = add_pruned_message(out, json_array_get(all, i));
    }
    json_decref(all);
    t->pruned = out;
    t->left_out = at - front;
    return rv == 0 ? MORTISE_OK : mortise_nomem(err);
}

size_t mortise_turn_count_omitted(const struct mortise_turn *t)
{
    return t->left_out;
}

/* ---- making a turn ------------------------------------------------------ */

/* Find the turn that `after` names. */
static int find_previous_turn(const struct mortise_asked *a,
                              const struct turns *all, struct mortise_turn *t,
                              struct mortise_err *err)
{
    const char *after = json_string_value(json_object_get(a->body, "after"));

    if (after == NULL)
        return MORTISE_OK;
    t->before = find_turn(all, after);
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

static int find_base_conversation(const struct mortise_asked *a,
                                  struct mortise_turn *t,
                                  struct mortise_err *err)
{
    if (!json_is_true(json_object_get(a->body, "continue")))
        return MORTISE_OK;
    if (a->call->node->conversation == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /continue: the node has no conversation");
    t->base = mortise_run_get_conversation(a->live->run, a->run_call);
    return t->base != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Check that the members go together: messages alone, or after and append, or
 * continue and append, with or without messages. */
static int check_request_form(const struct mortise_asked *a,
                              struct mortise_err *err)
{
    bool after = json_object_get(a->body, "after") != NULL;
    bool continues = json_is_true(json_object_get(a->body, "continue"));
    size_t messages = json_array_size(json_object_get(a->body, "messages"));
    size_t append = json_array_size(json_object_get(a->body, "append"));

    if (after && (continues || messages > 0))
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /after: a request that continues a step can "
                            "have neither messages nor a conversation");
    if (!after && !continues && messages + append == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /messages: there is no message to send");
    if (continues && append == 0)
        return mortise_fail(err, MORTISE_EINVAL,
                            "at /append: there is no message to send");
    return MORTISE_OK;
}

static int fill_turn(const struct mortise_asked *a, const struct turns *all,
                     struct mortise_turn *t, struct mortise_err *err)
{
    const json_t *keep = json_object_get(a->body, "prune");
    int rv = check_request_form(a, err);

    t->ahead = json_incref(json_object_get(a->body, "messages"));
    t->append = json_incref(json_object_get(a->body, "append"));
    if (rv == MORTISE_OK)
        rv = find_previous_turn(a, all, t, err);
    if (rv == MORTISE_OK)
        rv = find_base_conversation(a, t, err);
    if (rv == MORTISE_OK)
        rv = check_turn_results(t, err);
    if (rv == MORTISE_OK && keep != NULL)
        rv = prune_turn(t, json_number_value(keep), err);
    return rv;
}

int mortise_turns_get_or_create(const struct mortise_asked *a,
                                struct mortise_turn **out,
                                struct mortise_err *err)
{
    const char *name = a->name != NULL ? json_string_value(a->name) : NULL;
    struct turns *all = get_call_turns(a);
    struct mortise_turn *t;
    int rv;

    *out = NULL;
    if (all == NULL)
        return mortise_nomem(err);
    *out = name != NULL ? find_turn(all, name) : NULL;
    if (*out != NULL)
        return MORTISE_OK; /* the run refuses a second request of that name */
    t = mortise_zalloc(all->mem, sizeof *t);
    if (t == NULL)
        return mortise_nomem(err);
    t->mem = all->mem;
    mortise_buf_init(&t->asked, t->mem);
    mortise_buf_init(&t->answered, t->mem);
    t->name = name != NULL ? mortise_strdup(t->mem, name) : NULL;
    rv = name != NULL && t->name == NULL ? mortise_nomem(err)
                                         : fill_turn(a, all, t, err);
    if (rv != MORTISE_OK) {
        free_turn(t);
        return rv;
    }
    t->next = all->list;
    all->list = t;
    *out = t;
    return MORTISE_OK;
}

/* ---- text of turns (1) -------------------------------------------------- */

static void put_message_list(struct mortise_buf *b, const json_t *list)
{
    MORTISE_JSON_EACH (one, i, list) {
        if (b->n > 0)
            mortise_buf_put(b, ",", 1);
        if (mortise_json_write(b, one) != MORTISE_OK)
            b->failed = true;
    }
}

/* Bytes that an image is counted as, whatever its size: 2,000 tokens, as many
 * as the largest image that servers accept. */
enum { IMAGE_WEIGHT = 6000 };

static size_t get_data_size(const json_t *part)
{
    return json_string_length(json_object_get(part, "data"));
}

/* Sum of the images' weights less their bytes.  Recursive, since results of
 * tools have parts, too. */
static int64_t get_image_weight(const json_t *parts)
{
    int64_t more = 0;

    MORTISE_JSON_EACH (part, i, parts)
        more += is_message_part(part, "image")
                    ? IMAGE_WEIGHT - (int64_t)get_data_size(part)
                    : get_image_weight(get_message_parts(part));
    return more;
}

static void add_image_weight(struct mortise_turn *t, const json_t *list)
{
    MORTISE_JSON_EACH (message, i, list)
        t->images += get_image_weight(get_message_parts(message));
}

static const struct mortise_buf *get_request_text(struct mortise_turn *t)
{
    if (!t->is_asked) {
        add_image_weight(t, t->pruned != NULL ? t->pruned : t->ahead);
        put_message_list(&t->asked, t->pruned != NULL ? t->pruned : t->ahead);
        if (t->pruned == NULL) {
            put_message_list(&t->asked, t->base);
            put_message_list(&t->asked, t->append);
            add_image_weight(t, t->base);
            add_image_weight(t, t->append);
        }
        t->is_asked = true;
    }
    return &t->asked;
}

static const struct mortise_buf *get_reply_text(struct mortise_turn *t)
{
    if (!t->is_answered) {
        put_message_list(&t->answered, t->told);
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

static void put_turn_text(struct mortise_buf *out,
                          const struct mortise_buf *text, bool *any)
{
    out->failed |= text->failed;
    if (text->n == 0)
        return;
    if (*any)
        mortise_buf_put(out, ",", 1);
    mortise_buf_put(out, text->p, text->n);
    *any = true;
}

int mortise_turn_append_json(struct mortise_turn *t, const json_t *told,
                             struct mortise_buf *out)
{
    struct chain chain;
    struct mortise_buf last;
    bool any = false;

    if (chain_init(&chain, t, true) != 0)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < chain.n; i++) {
        put_turn_text(out, get_request_text(chain.list[i]), &any);
        if (i + 1 < chain.n)
            put_turn_text(out, get_reply_text(chain.list[i]), &any);
    }
    mortise_buf_init(&last, t->mem);
    put_message_list(&last, told);
    put_turn_text(out, &last, &any);
    mortise_buf_finish(&last);
    chain_finish(&chain);
    return out->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* ---- sizes and events --------------------------------------------------- */

size_t mortise_turn_estimate_size(struct mortise_turn *t)
{
    int64_t n = (int64_t)get_request_text(t)->n + t->images;

    for (; t->before != NULL && t->pruned == NULL; t = t->before)
        n += (int64_t)(get_reply_text(t->before)->n +
                       get_request_text(t->before)->n) +
             t->before->images;
    return n > 0 ? (size_t)n : 0;
}

/* Replace data by its size.  Recursive, since results of tools have parts, too.
 * 0, or -1 when memory ran out. */
static int replace_data(const json_t *parts)
{
    int rv = 0;

    MORTISE_JSON_EACH (part, i, parts) {
        json_t *to = mortise_json_unconst(part);
        size_t n = get_data_size(part);

        if (rv == 0 && n > 0)
            rv = json_object_set_new(to, "data_bytes",
                                     json_integer((json_int_t)n));
        if (n > 0)
            json_object_del(to, "data");
        if (rv == 0)
            rv = replace_data(get_message_parts(part));
    }
    return rv;
}

static bool is_invoked_result(const json_t *invoked, const json_t *part)
{
    return is_message_part(part, "tool_result") &&
           json_object_get(invoked, get_part_id(part)) != NULL;
}

/* Remove the results that have events of their own (5); 0 or -1. */
static int remove_invoked_results(json_t *message, const json_t *invoked)
{
    json_t *parts = json_array();
    int rv = parts != NULL ? 0 : -1;

    MORTISE_JSON_EACH (part, i, get_message_parts(message))
        if (rv == 0 && !is_invoked_result(invoked, part))
            rv = json_array_append(parts, mortise_json_unconst(part));
    if (rv == 0)
        rv = json_object_set(message, "parts", parts);
    json_decref(parts);
    return rv;
}

static int add_new_messages(json_t *to, const json_t *list,
                            const json_t *invoked)
{
    int rv = 0;

    MORTISE_JSON_EACH (one, i, list) {
        json_t *message = rv == 0 ? json_deep_copy(one) : NULL;

        rv = message != NULL ? remove_invoked_results(message, invoked) : -1;
        if (rv == 0)
            rv = replace_data(get_message_parts(message));
        if (rv == 0 && json_array_size(get_message_parts(message)) > 0)
            rv = json_array_append(to, message);
        json_decref(message);
    }
    return rv;
}

json_t *mortise_turn_list_new(const struct mortise_asked *a)
{
    const struct mortise_turn *t = a->made;
    const json_t *invoked = get_call_turns(a)->invoked;
    json_t *out = json_array();

    if (out != NULL && add_new_messages(out, t->ahead, invoked) == 0 &&
        add_new_messages(out, t->append, invoked) == 0)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- answers ------------------------------------------------------------ */

int mortise_turns_mark_invoked(const struct mortise_asked *a, const char *id)
{
    struct turns *all = get_call_turns(a);

    if (all == NULL)
        return MORTISE_ENOMEM;
    if (all->invoked == NULL)
        all->invoked = json_object();
    return json_object_set_new(all->invoked, id, json_true()) == 0
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

/* Servers may use the same call ids again in each reply. */
static void remove_invoked_ids(json_t *invoked, const json_t *reply)
{
    MORTISE_JSON_EACH (part, i, get_message_parts(reply))
        if (is_message_part(part, "tool_call"))
            json_object_del(invoked, get_part_id(part));
}

void mortise_turn_set_answer(const struct mortise_asked *a,
                             const json_t *answer)
{
    struct mortise_turn *t = a->made;
    json_t *reply =
        json_object_get(json_object_get(answer, "reply"), "message");

    if (t->reply != NULL || reply == NULL)
        return;
    t->reply = json_incref(reply);
    t->told = json_incref(json_object_get(answer, "told"));
    remove_invoked_ids(get_call_turns(a)->invoked, reply);
}

/* ---- kept messages ------------------------------------------------------ */

static int add_kept_messages(json_t *to, const json_t *list)
{
    int rv = 0;

    MORTISE_JSON_EACH (one, i, list)
        if (rv == 0 && strcmp(get_message_role(one), "system") != 0)
            rv = json_array_append(to, mortise_json_unconst(one));
    return rv;
}

static int add_kept_turns(json_t *to, struct mortise_turn *last)
{
    struct chain chain;
    int rv = chain_init(&chain, last, false);

    for (size_t i = 0; rv == 0 && i < chain.n; i++) {
        const struct mortise_turn *t = chain.list[i];

        rv = add_kept_messages(to, t->ahead);
        if (rv == 0)
            rv = add_kept_messages(to, t->append);
        if (rv == 0)
            rv = add_kept_messages(to, t->told);
        if (rv == 0)
            rv = json_array_append(to, t->reply);
    }
    chain_finish(&chain);
    return rv;
}

/* (2) */
static int check_kept_results(const struct mortise_turn *t, const json_t *more,
                              struct mortise_err *err)
{
    json_t *open = json_object();
    int rv =
        open != NULL ? add_open_calls(open, t->reply, err) : mortise_nomem(err);

    if (rv == MORTISE_OK)
        rv = check_message_list(open, "append", more, err);
    if (rv == MORTISE_OK)
        rv = check_no_open_calls(open, err);
    json_decref(open);
    return rv;
}

json_t *mortise_turns_list_kept(const struct mortise_asked *a, const char *name,
                                const json_t *more, struct mortise_err *err)
{
    struct mortise_turn *t = find_turn((struct turns *)a->call->kept, name);
    json_t *out;

    if (t == NULL || t->reply == NULL) {
        mortise_fail(err, MORTISE_EINVAL,
                     "at /after: the step '%.128s' of this call got no reply",
                     name);
        return NULL;
    }
    if (check_kept_results(t, more, err) != MORTISE_OK)
        return NULL;
    out = json_array();
    if (out == NULL || add_kept_turns(out, t) != 0 ||
        add_kept_messages(out, more) != 0) {
        json_decref(out);
        mortise_nomem(err);
        return NULL;
    }
    return out;
}

json_t *mortise_turns_list_sent(const struct mortise_asked *a, const char *name,
                                struct mortise_err *err)
{
    struct mortise_turn *t = find_turn((struct turns *)a->call->kept, name);
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
    rv = mortise_turn_append_json(t, t->told, &text);
    mortise_buf_put(&text, "]", 1);
    if (rv != MORTISE_OK || text.failed)
        mortise_nomem(err);
    else
        mortise_json_parse_written(&out, text.p, text.n, err);
    mortise_buf_finish(&text);
    return out;
}
