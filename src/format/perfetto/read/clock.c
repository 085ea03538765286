/* clock.c - clock snapshots, and times of other clocks
 *
 * Every two clocks of a snapshot become a pair of readings. A time is converted from its clock to the trace's over the
 * shortest chain of pairs, each step by the last reading at or before it, as if both clocks ran at equal speed from
 * there on.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/perfetto/read/reader.h"

enum { SNAPSHOT_CLOCKS = 32, SEARCH_LIMIT = 1024 };

void perfetto_clocks_free(perfetto_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++) free(clocks->list[i].pairs);
    for (size_t i = 0; i < clocks->pair_count; i++) free(clocks->pairs[i].list);
    hd_map_deinit(&clocks->index);
    hd_map_deinit(&clocks->pair_index);
    free(clocks->list);
    free(clocks->pairs);
}

static bool is_of_sequence(uint32_t id)
{
    return id >= PF_CLOCK_FIRST_OF_SEQUENCE && id < PF_CLOCK_FIRST_GLOBAL;
}

static hd_status get_clock(uint32_t *out, perfetto_reader *reader, uint32_t id, const perfetto_sequence *sequence)
{
    perfetto_clocks *c = &reader->clocks;
    uint32_t of = is_of_sequence(id) ? sequence->id : 0;
    if (hd_map_get(out, &c->index, id, of)) return HD_OK;
    HD_TRY(perfetto_grow(reader, (void **)&c->list, &c->capacity, c->count, sizeof *c->list));
    c->list[c->count] = (perfetto_clock){.id = id, .sequence = of, .unit_ns = 1, .path_size = PERFETTO_NO_PATH};
    *out = (uint32_t)c->count++;
    return hd_map_set(&c->index, id, of, *out) ? HD_OK : HD_NOMEM(reader->err);
}

/* ---- snapshots ---- */

static hd_status add_reading(perfetto_reader *reader, uint32_t from, uint32_t to, int64_t from_ns, int64_t to_ns)
{
    perfetto_clocks *c = &reader->clocks;
    uint32_t index;
    if (!hd_map_get(&index, &c->pair_index, from, to)) {
        perfetto_clock *clock = &c->list[from];
        HD_TRY(perfetto_grow(reader, (void **)&c->pairs, &c->pair_capacity, c->pair_count, sizeof *c->pairs));
        HD_TRY(perfetto_grow(reader, (void **)&clock->pairs, &clock->pair_capacity, clock->pair_count,
                             sizeof *clock->pairs));
        index = (uint32_t)c->pair_count++;
        c->pairs[index] = (perfetto_clock_pair){.from = from, .to = to};
        clock->pairs[clock->pair_count++] = index;
        c->version++;
        if (!hd_map_set(&c->pair_index, from, to, index)) return HD_NOMEM(reader->err);
    }
    perfetto_clock_pair *pair = &c->pairs[index];
    struct perfetto_reading *last = pair->count ? &pair->list[pair->count - 1] : NULL;
    if (last && from_ns <= last->from_ns) { /* a clock went back: the existing pair is as good */
        if (from_ns < last->from_ns) perfetto_note(reader, "perfetto.snapshot-out-of-order", HD_LEDGER_NOTE, 1);
        return HD_OK;
    }
    HD_TRY(perfetto_grow(reader, (void **)&pair->list, &pair->capacity, pair->count, sizeof *pair->list));
    pair->list[pair->count++] = (struct perfetto_reading){from_ns, to_ns};
    return HD_OK;
}

typedef struct reading {
    uint32_t clock;
    int64_t ns;
} reading;

static hd_status read_clock(reading *out, bool *out_fine, perfetto_reader *reader, const perfetto_sequence *sequence,
                            const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    uint64_t time = 0, unit = 0;
    uint32_t id = 0;
    bool incremental = false;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_CLOCK_CLOCK_ID)) id = (uint32_t)f.value;
        if (f.tag == HD_PROTO_VARINT(PF_CLOCK_TIMESTAMP)) time = f.value;
        if (f.tag == HD_PROTO_VARINT(PF_CLOCK_IS_INCREMENTAL)) incremental = f.value != 0;
        if (f.tag == HD_PROTO_VARINT(PF_CLOCK_UNIT_MULTIPLIER_NS)) unit = f.value;
    }
    HD_TRY(perfetto_check(reader, &message));
    *out_fine = id != 0 && !__builtin_mul_overflow(time, unit ? unit : 1, &time) && time <= INT64_MAX;
    if (!*out_fine) {
        perfetto_note(reader, "perfetto.clock-unusable", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    HD_TRY(get_clock(&out->clock, reader, id, sequence));
    perfetto_clock *clock = &reader->clocks.list[out->clock];
    clock->unit_ns = unit ? unit : 1;
    clock->incremental = incremental;
    clock->lost = false;
    clock->last_ns = out->ns = (int64_t)time;
    return HD_OK;
}

static void choose_trace_clock(perfetto_reader *reader, uint32_t primary, const reading *list, size_t count)
{
    perfetto_clocks *c = &reader->clocks;
    if (primary && !c->primary) {
        if (c->trace_clock && c->trace_clock != primary)
            perfetto_note(reader, "perfetto.clock-chosen-late", HD_LEDGER_NOTE, 1);
        else
            c->trace_clock = primary;
        c->primary = true;
        c->version++;
    }
    for (size_t i = 0; i < count && !c->trace_clock; i++) {
        if (c->list[list[i].clock].id == PF_CLOCK_BOOTTIME) c->trace_clock = PF_CLOCK_BOOTTIME;
    }
}

hd_status perfetto_read_snapshot(perfetto_reader *reader, const perfetto_sequence *sequence,
                                 const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    reading list[SNAPSHOT_CLOCKS];
    size_t count = 0;
    uint32_t primary = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_SNAPSHOT_PRIMARY_TRACE_CLOCK)) primary = (uint32_t)f.value;
        if (f.tag != HD_PROTO_BYTES(PF_SNAPSHOT_CLOCKS)) continue;
        if (count == SNAPSHOT_CLOCKS) {
            perfetto_note(reader, "perfetto.clock-unusable", HD_LEDGER_LOSS, 1);
            continue;
        }
        bool fine;
        HD_TRY(read_clock(&list[count], &fine, reader, sequence, &f));
        count += fine;
    }
    HD_TRY(perfetto_check(reader, &message));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (list[i].clock == list[k].clock) continue;
            HD_TRY(add_reading(reader, list[i].clock, list[k].clock, list[i].ns, list[k].ns));
        }
    }
    choose_trace_clock(reader, primary, list, count);
    return HD_OK;
}

/* ---- from clock to clock ---- */

/* Shortest way over pairs, breadth first; at most PERFETTO_PATH_LIMIT steps. */
static void find_path(perfetto_clocks *c, uint32_t from, uint32_t target_id)
{
    uint32_t queue[SEARCH_LIMIT];
    size_t head = 0, tail = 0;
    uint32_t mark = ++c->mark;
    perfetto_clock *start = &c->list[from];
    start->path_version = c->version;
    start->path_size = PERFETTO_NO_PATH;
    start->mark = mark;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t at = queue[head++];
        if (c->list[at].id == target_id && c->list[at].sequence == 0) {
            uint32_t steps[SEARCH_LIMIT], size = 0;
            for (uint32_t i = at; i != from; i = c->pairs[c->list[i].via].from) steps[size++] = c->list[i].via;
            if (size > PERFETTO_PATH_LIMIT) return;
            for (uint32_t i = 0; i < size; i++) start->path[i] = steps[size - 1 - i];
            start->path_size = size;
            return;
        }
        for (size_t i = 0; i < c->list[at].pair_count && tail < SEARCH_LIMIT; i++) {
            uint32_t pair = c->list[at].pairs[i], to = c->pairs[pair].to;
            if (c->list[to].mark == mark) continue;
            c->list[to].mark = mark;
            c->list[to].via = pair;
            queue[tail++] = to;
        }
    }
}

static bool step(int64_t *time_ns, const perfetto_clock_pair *pair)
{
    size_t low = 0, high = pair->count;
    if (pair->list[pair->count - 1].from_ns <= *time_ns) low = high; /* as most do */
    HD_PARTITION_POINT(low, high, at, pair->list[at].from_ns <= *time_ns);
    const struct perfetto_reading *r = &pair->list[low ? low - 1 : 0];
    int64_t since;
    return !__builtin_sub_overflow(*time_ns, r->from_ns, &since) && !__builtin_add_overflow(r->to_ns, since, time_ns);
}

static bool convert(int64_t *time_ns, perfetto_clocks *c, uint32_t index, uint32_t target_id)
{
    perfetto_clock *clock = &c->list[index];
    if (clock->id == target_id && clock->sequence == 0) return true;
    if (clock->path_version != c->version) find_path(c, index, target_id);
    if (clock->path_size == PERFETTO_NO_PATH) return false;
    for (uint32_t i = 0; i < clock->path_size; i++) {
        if (!step(time_ns, &c->pairs[clock->path[i]])) return false;
    }
    return true;
}

static bool out_of_range(perfetto_reader *reader)
{
    perfetto_note(reader, "perfetto.time-out-of-range", HD_LEDGER_LOSS, 1);
    return false;
}

void perfetto_lose_time(perfetto_reader *reader, uint32_t sequence_id)
{
    perfetto_clocks *c = &reader->clocks;
    for (size_t i = 0; i < c->count; i++) {
        if (!sequence_id || !c->list[i].sequence || c->list[i].sequence == sequence_id)
            c->list[i].lost = c->list[i].incremental;
    }
}

bool perfetto_trace_time(int64_t *out, perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t clock_id,
                         uint64_t time)
{
    perfetto_clocks *c = &reader->clocks;
    uint32_t index;
    if (clock_id == 0 || clock_id == c->trace_clock) {
        *out = (int64_t)time;
        return time <= INT64_MAX || out_of_range(reader);
    }
    if (!c->trace_clock && !is_of_sequence(clock_id)) c->trace_clock = clock_id; /* the default trace clock */
    if (get_clock(&index, reader, clock_id, sequence) != HD_OK) {
        reader->text.failed = true; /* no memory: said at the end */
        return false;
    }
    perfetto_clock *clock = &c->list[index];
    if (__builtin_mul_overflow(time, clock->unit_ns, &time)) return out_of_range(reader);
    if (clock->lost) {
        perfetto_note(reader, "perfetto.time-lost", HD_LEDGER_LOSS, 1);
        return false;
    }
    if (clock->incremental) {
        if (__builtin_add_overflow((uint64_t)clock->last_ns, time, &time) || time > INT64_MAX)
            return out_of_range(reader);
        clock->last_ns = (int64_t)time;
    }
    if (time > INT64_MAX) return out_of_range(reader);
    *out = (int64_t)time;
    if (clock_id == c->trace_clock) return true;
    if (!convert(out, c, index, c->trace_clock)) {
        *out = (int64_t)time;
        perfetto_note(reader, "perfetto.clock-not-aligned", HD_LEDGER_LOSS, 1);
    }
    return *out > INT64_MIN || out_of_range(reader);
}

void perfetto_pass_time(perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t clock_id, uint64_t time)
{
    perfetto_clocks *c = &reader->clocks;
    uint32_t index, of = is_of_sequence(clock_id) ? sequence->id : 0;
    if (!hd_map_get(&index, &c->index, clock_id, of)) return;
    perfetto_clock *clock = &c->list[index];
    if (!clock->incremental || __builtin_mul_overflow(time, clock->unit_ns, &time)) return;
    if (!__builtin_add_overflow((uint64_t)clock->last_ns, time, &time) && time <= INT64_MAX)
        clock->last_ns = (int64_t)time;
}

void perfetto_find_base(perfetto_reader *reader)
{
    perfetto_clocks *c = &reader->clocks;
    hd_trace_facts *facts = hd_builder_facts(reader->builder);
    uint32_t id = c->trace_clock, index;
    facts->base_ns = id == PF_CLOCK_REALTIME ? 0 : HD_NO_TIME;
    if (id == PF_CLOCK_REALTIME || !hd_map_get(&index, &c->index, id, 0)) return;
    c->version++; /* paths so far lead to the trace's clock */
    find_path(c, index, PF_CLOCK_REALTIME);
    if (c->list[index].path_size == PERFETTO_NO_PATH || c->list[index].path_size == 0) return;
    const struct perfetto_reading *first = &c->pairs[c->list[index].path[0]].list[0];
    int64_t unix_ns = first->from_ns, base_ns;
    if (!convert(&unix_ns, c, index, PF_CLOCK_REALTIME)) return;
    if (!__builtin_sub_overflow(unix_ns, first->from_ns, &base_ns)) facts->base_ns = base_ns;
}
