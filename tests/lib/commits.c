/* commits.c -- commits of made-up runs, the same for the same (run, seq). */
#include "commits.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char made_graph[] = "nodes:\n  a: {tool: x}\n";
static const struct mortise_source made_source = {"made.yaml", made_graph,
                                                  sizeof made_graph - 1};

void made_key(uint8_t key[MORTISE_DIGEST], const char *run, uint64_t seq)
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, run);
    mortise_hasher_add_u64(&h, seq);
    mortise_hasher_final(&h, key);
}

struct mortise_uuid made_id(const char *run, uint64_t seq)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_uuid id = {{0}};

    if (seq == 0)
        return id;
    made_key(digest, run, seq);
    memcpy(id.b, digest, sizeof id.b);
    return id;
}

void made_entries(char *out, const char *run, uint64_t seq, size_t n)
{
    char text[64];
    size_t len;

    snprintf(text, sizeof text, "<%.32s %llu>", run, (unsigned long long)seq);
    len = strlen(text);
    for (size_t i = 0; i < n; i += len)
        memcpy(out + i, text, len < n - i ? len : n - i);
}

bool made_is_pending(uint64_t seq)
{
    return seq % 3 == 2;
}

static void make_requests(struct made_commit *m, uint64_t seq)
{
    if (made_is_pending(seq)) {
        snprintf(m->open_id, sizeof m->open_id, "q%llu",
                 (unsigned long long)seq);
        snprintf(m->payload, sizeof m->payload, "{\"seq\":%llu}",
                 (unsigned long long)seq);
        m->opens = (struct mortise_pending){.id = m->open_id,
                                            .deadline_ms = 1000 * seq,
                                            .payload = m->payload,
                                            .payload_size = strlen(m->payload)};
        m->c.opens = &m->opens;
        m->c.n_opens = 1;
    }
    if (made_is_pending(seq - 1)) {
        snprintf(m->close_id, sizeof m->close_id, "q%llu",
                 (unsigned long long)seq - 1);
        m->closes = (struct mortise_pending){.id = m->close_id,
                                             .deadline_ms = 1000 * (seq - 1)};
        m->c.closes = &m->closes;
        m->c.n_closes = 1;
    }
}

static void make_kvs(struct made_commit *m, const char *run, uint64_t seq)
{
    int n = snprintf(m->key, sizeof m->key, "%.64s%codd", run, '\0');
    int size =
        snprintf(m->value, sizeof m->value, "%llu", (unsigned long long)seq);

    assert(n > 0 && (size_t)n < sizeof m->key);
    m->kvs[0] = (struct mortise_kv){.plugin = "made",
                                    .key = m->key,
                                    .key_size = (size_t)n - 3,
                                    .value = m->value,
                                    .value_size = (size_t)size};
    m->kvs[1] = m->kvs[0];
    m->kvs[1].key_size = (size_t)n;
    if (seq % 2 == 0)
        m->kvs[1].value = NULL;
    m->c.kvs = m->kvs;
    m->c.n_kvs = 2;
}

void make_commit(struct made_commit *m, const char *tenant, const char *run,
                 uint64_t seq, size_t entries)
{
    struct mortise_checkpoint *cp = &m->c.checkpoint;
    struct mortise_head *head = &m->c.head;

    assert(entries <= MADE_ENTRIES);
    memset(m, 0, offsetof(struct made_commit, entries));
    made_entries(m->entries, run, seq, entries);
    m->c.tenant = tenant;
    m->c.run = run;
    m->c.expected_seq = seq - 1;
    *cp = (struct mortise_checkpoint){.id = made_id(run, seq),
                                      .parent = made_id(run, seq - 1),
                                      .seq = seq,
                                      .time_ms = 1000000 + seq,
                                      .first_event = 2 * seq - 1,
                                      .n_events = 2,
                                      .step = (uint32_t)seq,
                                      .phase = seq == 1 ? MORTISE_PHASE_ADMIT
                                                        : MORTISE_PHASE_AFTER,
                                      .entries = m->entries,
                                      .size = entries};
    mortise_digest(cp->graph, made_graph, strlen(made_graph));
    *head = (struct mortise_head){.seq = seq,
                                  .checkpoint = cp->id,
                                  .epoch = 1,
                                  .created_ms = 1000001,
                                  .updated_ms = 1000000 + seq,
                                  .status = MORTISE_RUN_RUNNING,
                                  .n_pending = made_is_pending(seq),
                                  .reason = "",
                                  .graph_name = "made"};
    memcpy(head->graph, cp->graph, sizeof head->graph);
    if (seq == 1) {
        m->c.graph = &made_source;
        m->c.n_graph = 1;
    }
    make_requests(m, seq);
    make_kvs(m, run, seq);
    m->cached.value = m->value;
    m->cached.value_size = strlen(m->value);
    made_key(m->cached.key, run, seq);
}
