/* column_read.c - decodes columns written by column.c */
#include "format/heddle/codec/coder.h"
#include "format/heddle/codec/model.h"

static int64_t from_scale(int64_t value, unsigned scale)
{
    while (scale && value % 10 == 0) {
        value /= 10;
        scale--;
    }
    return hd_decimal_pack(value, scale);
}

static bool fail(store_source *source)
{
    source->failed = true;
    return false;
}

static void add_up(int64_t *values, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(sum += (uint64_t)values[i]);
}

static bool take_minus(store_source *source, int64_t *out, uint32_t count, store_refs *refs, bool as_deltas)
{
    const int64_t *other = store_ref(refs, hd_byte_reader_u8(&source->head));
    if (!other) return fail(source);
    if (!store_take_ints(source, out, count)) return false;
    if (as_deltas) add_up(out, count);
    for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)other[i]);
    return true;
}

static bool take_new(store_source *source, int64_t *out, uint32_t count)
{
    int64_t next = hd_byte_reader_zigzag(&source->head);
    if (!store_take_ints(source, out, count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_new = out[i] == 0;
        out[i] = is_new ? next : (int64_t)((uint64_t)out[i] - 1);
        next = (int64_t)((uint64_t)next + is_new);
    }
    return true;
}

static bool take_told(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs,
                      unsigned depth);

static bool take_same(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count,
                      const store_plan *plan, store_refs *refs, unsigned depth)
{
    int64_t *missed = decoder->work[0], *runs = decoder->work[1];
    uint64_t found = hd_byte_reader_varint(&source->head);
    context c;
    if (depth || found > count || !store_take_ints(source, runs, (uint32_t)found)) return fail(source);
    if (found && !take_told(source, decoder, missed, (uint32_t)found, refs, depth + 1)) return false;
    if (!store_context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
    uint32_t i = 0;
    for (uint64_t miss = 0; miss <= found; miss++) {
        uint64_t hits = miss < found ? (uint64_t)runs[miss] : count - i;
        if (hits > count - i || (miss < found && hits == count - i)) return fail(source);
        int64_t *past, *slot;
        for (uint32_t end = i + (uint32_t)hits; i < end; i++) {
            slot = context_slot(&c, i, &past);
            out[i] = *slot;
            context_learn(slot, past, out[i]);
        }
        if (miss == found) break;
        slot = context_slot(&c, i, &past);
        out[i] = missed[miss];
        context_learn(slot, past, out[i++]);
    }
    return true;
}

static bool take_context_delta(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count,
                               const store_plan *plan, store_refs *refs)
{
    context c;
    if (!store_take_ints(source, out, count)) return false;
    if (!store_context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
    for (uint32_t i = 0; i < count; i++) {
        int64_t *past, *slot = context_slot(&c, i, &past);
        out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)*slot);
        context_learn(slot, past, out[i]);
    }
    return true;
}

static bool take_context_mean(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count,
                              const store_plan *plan, store_refs *refs)
{
    context c;
    if (plan->history > MEAN_WEIGHT_LIMIT || !store_take_ints(source, out, count)) return fail(source);
    if (!store_context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
    for (uint32_t i = 0; i < count; i++) {
        int64_t *past, *slot = context_slot(&c, i, &past);
        out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)mean_of(*slot));
        mean_learn(slot, out[i], plan->history);
    }
    return true;
}

static bool take_coded(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count,
                       const store_plan *plan, store_refs *refs)
{
    context c;
    store_coder coder;
    uint64_t factor = hd_byte_reader_varint(&source->head);
    uint64_t coded = hd_byte_reader_varint(&source->head), packed = hd_byte_reader_varint(&source->head);
    uint64_t half = (uint64_t)count * 8 + 16;
    uint8_t *kept = (uint8_t *)decoder->coded;
    if (plan->history > MEAN_NONE || coded > half || packed > half) return fail(source);
    const uint8_t *bytes = store_take_stream(source, coded);
    if (!bytes) return false;
    memcpy(kept, bytes, coded); /* the next stream takes their place */
    bytes = store_take_stream(source, packed);
    if (!bytes || !store_context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
    bit_reader rest = {.data = bytes, .size = packed};
    coder_begin(&coder, decoder->odds, count);
    coder_open(&coder, kept, coded);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide, key = context_key(&c, i, &wide);
        int64_t *slot = &c.last[key >> 7 & c.mask];
        int64_t mean = plan->history == MEAN_NONE ? 0 : mean_of(*slot);
        uint64_t value = (uint64_t)hd_unzigzag(coder_take_number(&coder, &rest, wide, key)) + (uint64_t)mean;
        mean_learn(slot, (int64_t)value, plan->history);
        out[i] = (int64_t)(value * factor);
    }
    return bits_done(&rest) ? true : fail(source);
}

static bool take_decimal(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs)
{
    unsigned scale = hd_byte_reader_u8(&source->head);
    if (scale > SCALE_LIMIT || !take_told(source, decoder, out, count, refs, 0)) return fail(source);
    for (uint32_t i = 0; i < count; i++) out[i] = from_scale(out[i], scale);
    return true;
}

static bool take_model(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs,
                       unsigned depth, uint8_t tag)
{
    switch (tag) {
    case MODEL_PLAIN: return store_take_ints(source, out, count);
    case MODEL_DELTA:
    case MODEL_DELTA2:
        if (!store_take_ints(source, out, count)) return false;
        add_up(out, count);
        if (tag == MODEL_DELTA2) add_up(out, count);
        return true;
    case MODEL_MINUS:
    case MODEL_MINUS_DELTA:
        return depth ? fail(source) : take_minus(source, out, count, refs, tag == MODEL_MINUS_DELTA);
    case MODEL_NEW: return take_new(source, out, count);
    case MODEL_CONTEXT_DELTA:
    case MODEL_CONTEXT_SAME:
    case MODEL_CONTEXT_MEAN:
    case MODEL_CODED: {
        store_plan plan = {.model = tag};
        plan.a = hd_byte_reader_u8(&source->head);
        plan.b = hd_byte_reader_u8(&source->head);
        plan.history = hd_byte_reader_u8(&source->head);
        if (depth) return fail(source);
        if (tag == MODEL_CONTEXT_SAME) return take_same(source, decoder, out, count, &plan, refs, depth);
        if (tag == MODEL_CODED) return take_coded(source, decoder, out, count, &plan, refs);
        if (tag == MODEL_CONTEXT_MEAN) return take_context_mean(source, decoder, out, count, &plan, refs);
        return take_context_delta(source, decoder, out, count, &plan, refs);
    }
    default: return fail(source);
    }
}

static bool take_told(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs,
                      unsigned depth)
{
    uint8_t tag = hd_byte_reader_u8(&source->head);
    if (source->head.failed) return fail(source);
    return take_model(source, decoder, out, count, refs, depth, tag);
}

bool store_take_column(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs)
{
    uint8_t tag = hd_byte_reader_u8(&source->head);
    if (source->head.failed) return fail(source);
    if (tag == MODEL_DECIMAL) return take_decimal(source, decoder, out, count, refs);
    return take_model(source, decoder, out, count, refs, 0, tag);
}
