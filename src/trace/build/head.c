/* head.c - the first seconds of a trace that is too large as a whole
 *
 * A builder with a limit of events keeps those before a time. When it has too many, it halves the time that it keeps
 * and drops each chunk whose events all begin later. That time only moves towards the past, so no event before the last
 * one was dropped, in whatever order the events come. A chunk is kept whole, so some later events remain: hd_trace_head
 * returns where to crop.
 */
#include "base/error.h"
#include "trace/column.h"
#include "trace/event.h"
#include "trace/impl.h"

void hd_builder_limit_events(hd_builder *builder, uint64_t most)
{
    builder->trace.head = (hd_head){.most = most, .until_ns = INT64_MAX, .start_ns = HD_NO_TIME, .end_ns = HD_NO_TIME};
}

static bool has_begins(const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++)
        if ((hd_column_at(&block->columns[HD_COL_PHASE], i) & HD_PHASE_MASK) == 'B') return true;
    return false;
}

/* Events of these kinds mean the same without later ones. Begins, ends and metadata do not; events without a time
 * belong to no part of it. */
static bool can_be_dropped(const hd_block *block)
{
    switch (block->kind) {
    case HD_KIND_SLICE: return block->start_ns != HD_NO_TIME && !has_begins(block);
    case HD_KIND_INSTANT:
    case HD_KIND_COUNTER:
    case HD_KIND_FLOW: return block->start_ns != HD_NO_TIME;
    default: return false;
    }
}

static bool is_late(const hd_head *head, const hd_chunk *chunk)
{
    return chunk->first_ns != HD_NO_TIME && chunk->first_ns >= head->until_ns;
}

bool hd_head_takes(hd_head *head, hd_chunk *chunk)
{
    int64_t end = HD_NO_TIME;
    bool stays = false;
    chunk->first_ns = HD_NO_TIME;
    for (size_t i = 0; i < chunk->block_count; i++) {
        const hd_block *block = chunk->blocks[i];
        stays |= !can_be_dropped(block);
        bool is_timed = block->start_ns != HD_NO_TIME && (block->start_ns > 0 || block->kind == HD_KIND_SLICE);
        if (is_timed) hd_span_widen(&chunk->first_ns, &end, block->start_ns, block->end_ns);
    }
    if (chunk->first_ns != HD_NO_TIME) hd_span_widen(&head->start_ns, &head->end_ns, chunk->first_ns, end);
    if (stays) {
        chunk->first_ns = HD_NO_TIME;
        head->fixed += chunk->order_count;
    }
    if (is_late(head, chunk)) return false;
    head->kept += chunk->order_count;
    return true;
}

/* Blocks point to chunks: those that stay are listed anew. */
static void drop_late(hd_trace *trace)
{
    hd_head *head = &trace->head;
    size_t count = trace->chunk_count;
    trace->chunk_count = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) trace->tables[kind].count = trace->tables[kind].row_count = 0;
    for (size_t i = 0; i < count; i++) {
        const hd_chunk *chunk = trace->chunk_list[i];
        if (!is_late(head, chunk)) hd_chunk_list(trace, chunk);
    }
    for (hd_chunk **at = &trace->chunks; *at;) {
        hd_chunk *chunk = *at;
        if (!is_late(head, chunk)) {
            at = &chunk->next;
            continue;
        }
        *at = chunk->next;
        head->kept -= chunk->order_count;
        hd_chunk_free(chunk);
    }
}

/* In the middle between two times, which may be far apart. */
static int64_t middle(int64_t from, int64_t until)
{
    return from + (int64_t)(((uint64_t)until - (uint64_t)from) / 2);
}

static hd_status refuse(hd_error *err)
{
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                        "the events of its first seconds cannot be read without the others");
}

hd_status hd_head_shrink(hd_trace *trace, hd_error *err)
{
    hd_head *head = &trace->head;
    while (head->kept > head->most) {
        int64_t last = head->until_ns < head->end_ns ? head->until_ns : head->end_ns,
                next = middle(head->start_ns, last);
        if (head->fixed > head->most || next == head->start_ns) return refuse(err);
        head->until_ns = next;
        drop_late(trace);
    }
    return HD_OK;
}

/* Events in blocks that begin before a time. */
static uint64_t events_before(const hd_trace *trace, int64_t until_ns)
{
    uint64_t count = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_extent_at(trace, (hd_kind)kind, i);
            if (block->start_ns == HD_NO_TIME || block->start_ns < until_ns) count += block->row_count;
        }
    }
    return count;
}

hd_status hd_trace_head(int64_t *out_until_ns, const hd_trace *trace, uint64_t most, hd_error *err)
{
    bool is_cut = trace->head.most && trace->head.until_ns != INT64_MAX;
    int64_t start = trace->facts.start_ns, until = is_cut ? trace->head.until_ns : trace->facts.end_ns;
    while (start != HD_NO_TIME && events_before(trace, is_cut ? until : INT64_MAX) > most) {
        until = middle(start, until);
        is_cut = true;
        if (until == start) return refuse(err);
    }
    *out_until_ns = until;
    return is_cut ? HD_OK : HD_END;
}
