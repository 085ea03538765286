/* ints.c - runs of integers as streams of bytes */
#include "format/heddle/codec/ints.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/sorted.h"
#include "format/heddle/codec/coder.h"

/* ---- looking ---- */

typedef struct run_facts {
    int64_t low, high;
    uint64_t factor;                     /* of all value - low, 0: constant */
    uint64_t signed_factor, signed_high; /* of all values */
} run_facts;

static uint64_t common_factor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int64_t store_common_factor(const int64_t *values, uint32_t count)
{
    uint64_t factor = 0;
    for (uint32_t i = 0; i < count && factor != 1; i++) {
        uint64_t u = magnitude(values[i]);
        if (factor == 0 || u % factor) factor = common_factor(factor, u);
    }
    return factor == 0 || factor > INT64_MAX ? 1 : (int64_t)factor;
}

static run_facts look(const int64_t *values, uint32_t count)
{
    run_facts facts = {.low = values[0], .high = values[0]};
    for (uint32_t i = 1; i < count; i++) {
        facts.low = values[i] < facts.low ? values[i] : facts.low;
        facts.high = values[i] > facts.high ? values[i] : facts.high;
    }
    for (uint32_t i = 0; i < count && facts.factor != 1; i++) {
        uint64_t u = (uint64_t)values[i] - (uint64_t)facts.low;
        if (facts.factor == 0 || u % facts.factor) facts.factor = common_factor(facts.factor, u);
    }
    facts.signed_factor = (uint64_t)store_common_factor(values, count);
    int64_t divisor = (int64_t)facts.signed_factor;
    uint64_t a = hd_zigzag(facts.low / divisor), b = hd_zigzag(facts.high / divisor);
    facts.signed_high = a > b ? a : b;
    return facts;
}

static unsigned bytes_for(uint64_t value)
{
    return value ? (71 - (unsigned)__builtin_clzll(value)) / 8 : 0;
}

/* ---- writing ---- */

static void put_planes(store_encoder *encoder, store_sink *sink, const uint64_t *values, uint32_t count, unsigned width)
{
    hd_bytes *planes = &encoder->planes;
    planes->size = 0;
    uint8_t *room = hd_bytes_room(planes, (size_t)count * width);
    if (!room) return;
    for (unsigned plane = 0; plane < width; plane++) {
        uint8_t *out = room + (size_t)plane * count;
        for (uint32_t i = 0; i < count; i++) out[i] = (uint8_t)(values[i] >> 8 * plane);
    }
    for (unsigned plane = 0; plane < width; plane++)
        store_put_stream(encoder, sink, room + (size_t)plane * count, count);
}

static void put_plain(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                      const run_facts *facts)
{
    uint64_t *work = (uint64_t *)encoder->indexes, low = (uint64_t)facts->low, factor = facts->factor;
    unsigned width = bytes_for(((uint64_t)facts->high - low) / factor);
    if (factor == 1) {
        for (uint32_t i = 0; i < count; i++) work[i] = (uint64_t)values[i] - low;
    } else {
        for (uint32_t i = 0; i < count; i++) work[i] = ((uint64_t)values[i] - low) / factor;
    }
    hd_bytes_put_u8(&sink->head, (uint8_t)(STORE_PLANES | width << 4));
    hd_bytes_put_zigzag(&sink->head, facts->low);
    hd_bytes_put_varint(&sink->head, factor);
    put_planes(encoder, sink, work, count, width);
}

static void put_signed(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                       const run_facts *facts)
{
    uint64_t *work = (uint64_t *)encoder->indexes;
    int64_t factor = (int64_t)facts->signed_factor;
    unsigned width = bytes_for(facts->signed_high);
    for (uint32_t i = 0; i < count; i++) work[i] = hd_zigzag(factor == 1 ? values[i] : values[i] / factor);
    hd_bytes_put_u8(&sink->head, (uint8_t)(STORE_SIGNED | width << 4));
    hd_bytes_put_varint(&sink->head, (uint64_t)factor);
    put_planes(encoder, sink, work, count, width);
}

static void put_varints(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                        const run_facts *facts)
{
    hd_bytes *out = &encoder->planes;
    int64_t factor = (int64_t)facts->signed_factor;
    out->size = 0;
    uint8_t *room = hd_bytes_room(out, (size_t)count * HD_VARINT_BYTES);
    if (!room) return;
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += hd_varint_write(room + size, hd_zigzag(factor == 1 ? values[i] : values[i] / factor));
    hd_bytes_put_u8(&sink->head, STORE_VARINTS);
    hd_bytes_put_varint(&sink->head, (uint64_t)factor);
    hd_bytes_put_varint(&sink->head, size);
    store_put_stream(encoder, sink, room, size);
}

static store_slot *find_slot(store_slot *slots, uint32_t mask, int64_t value)
{
    uint32_t at = (uint32_t)hd_hash_pair((uint64_t)value, 0) & mask;
    while (slots[at].used && slots[at].value != value) at = (at + 1) & mask;
    return &slots[at];
}

/* How many different values there are, into encoder->sorted and encoder->slots; 0: more than `limit`. */
static uint32_t find_distinct(store_encoder *encoder, uint32_t *out_mask, const int64_t *values, uint32_t count,
                              uint32_t limit)
{
    uint32_t mask = 63, distinct = 0;
    while (mask + 1 < 2 * limit) mask = mask * 2 + 1;
    memset(encoder->slots, 0, (mask + 1) * sizeof *encoder->slots);
    for (uint32_t i = 0; i < count; i++) {
        if (i && values[i] == values[i - 1]) continue;
        store_slot *slot = find_slot(encoder->slots, mask, values[i]);
        if (slot->used) continue;
        if (distinct == limit) return 0;
        *slot = (store_slot){.value = values[i], .used = 1};
        encoder->sorted[distinct++] = values[i];
    }
    *out_mask = mask;
    return distinct;
}

static bool put_dictionary(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count)
{
    uint32_t mask, limit = count / 4 < 4096 ? count / 4 : 4096;
    uint32_t distinct = limit ? find_distinct(encoder, &mask, values, count, limit) : 0;
    if (distinct < 2) return false;
    hd_sort(encoder->sorted, distinct, sizeof *encoder->sorted, hd_compare_int64_t);
    for (uint32_t i = 0; i < distinct; i++) find_slot(encoder->slots, mask, encoder->sorted[i])->index = i;
    uint64_t *work = (uint64_t *)encoder->indexes;
    for (uint32_t i = 0; i < count; i++) {
        work[i] = i && values[i] == values[i - 1] ? work[i - 1] : find_slot(encoder->slots, mask, values[i])->index;
    }
    hd_bytes *out = &encoder->planes;
    out->size = 0;
    for (uint32_t i = 1; i < distinct; i++)
        hd_bytes_put_varint(out, (uint64_t)encoder->sorted[i] - (uint64_t)encoder->sorted[i - 1] - 1);
    hd_bytes_put_u8(&sink->head, STORE_DICTIONARY);
    hd_bytes_put_varint(&sink->head, distinct);
    hd_bytes_put_zigzag(&sink->head, encoder->sorted[0]);
    hd_bytes_put_varint(&sink->head, out->size);
    store_put_stream(encoder, sink, out->data, out->size);
    put_planes(encoder, sink, work, count, bytes_for(distinct - 1));
    return true;
}

static void put_tokens(store_encoder *encoder, store_sink *sink, const uint64_t *values, uint32_t count)
{
    hd_bytes *out = &encoder->planes;
    out->size = 0;
    uint8_t *tokens = hd_bytes_room(out, (size_t)count * 9 + 16);
    if (!tokens) return;
    bit_writer writer = {.p = tokens + count};
    for (uint32_t i = 0; i < count; i++) {
        unsigned rest;
        tokens[i] = (uint8_t)token_of(values[i], &rest);
        if (rest) bits_put(&writer, values[i] & ((UINT64_C(1) << rest) - 1), rest);
    }
    bits_end(&writer);
    size_t size = (size_t)(writer.p - tokens) - count;
    hd_bytes_put_varint(&sink->head, size);
    store_put_stream(encoder, sink, tokens, count);
    store_put_stream(encoder, sink, tokens + count, size);
}

static void put_plain_tokens(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                             const run_facts *facts)
{
    uint64_t *work = (uint64_t *)encoder->indexes, low = (uint64_t)facts->low, factor = facts->factor;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t u = (uint64_t)values[i] - low;
        work[i] = factor == 1 ? u : u / factor;
    }
    hd_bytes_put_u8(&sink->head, STORE_TOKENS);
    hd_bytes_put_zigzag(&sink->head, facts->low);
    hd_bytes_put_varint(&sink->head, factor);
    put_tokens(encoder, sink, work, count);
}

static void put_signed_tokens(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                              const run_facts *facts)
{
    uint64_t *work = (uint64_t *)encoder->indexes;
    int64_t factor = (int64_t)facts->signed_factor;
    for (uint32_t i = 0; i < count; i++) work[i] = hd_zigzag(factor == 1 ? values[i] : values[i] / factor);
    hd_bytes_put_u8(&sink->head, STORE_SIGNED_TOKENS);
    hd_bytes_put_varint(&sink->head, (uint64_t)factor);
    put_tokens(encoder, sink, work, count);
}

static void put_layout(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                       store_layout layout, const run_facts *facts)
{
    switch (layout) {
    case STORE_SIGNED: put_signed(encoder, sink, values, count, facts); return;
    case STORE_VARINTS: put_varints(encoder, sink, values, count, facts); return;
    case STORE_DICTIONARY:
        if (put_dictionary(encoder, sink, values, count)) return;
        break;
    case STORE_TOKENS: put_plain_tokens(encoder, sink, values, count, facts); return;
    case STORE_SIGNED_TOKENS: put_signed_tokens(encoder, sink, values, count, facts); return;
    default: break;
    }
    put_plain(encoder, sink, values, count, facts);
}

enum { SAMPLE = 2048 };

static double cost_of_layout(store_encoder *encoder, const int64_t *values, uint32_t count, store_layout layout,
                             const run_facts *facts)
{
    store_sink *trial = &encoder->trial_sink;
    store_sink_clear(trial);
    put_layout(encoder, trial, values, count, layout, facts);
    return trial->cost + 0.6 * (double)trial->head.size;
}

double store_cost_of_ints(store_encoder *encoder, const int64_t *values, uint32_t count)
{
    if (count == 0) return 0;
    run_facts facts = look(values, count);
    if (facts.factor == 0) return 1.2;
    uint64_t range = ((uint64_t)facts.high - (uint64_t)facts.low) / facts.factor;
    double least = cost_of_layout(encoder, values, count, STORE_PLANES, &facts), other = least;
    if (bytes_for(range) > 1)
        other = cost_of_layout(encoder, values, count, facts.low < 0 ? STORE_SIGNED_TOKENS : STORE_TOKENS, &facts);
    else if (bytes_for(facts.signed_high) <= 1)
        other = cost_of_layout(encoder, values, count, STORE_SIGNED, &facts);
    return least < other ? least : other;
}

/* Tries all layouts on the middle of the run. */
static store_layout choose_layout(store_encoder *encoder, const int64_t *values, uint32_t count, const run_facts *facts)
{
    store_layout best = STORE_PLANES;
    double least = 0;
    uint32_t sample = count < SAMPLE ? count : SAMPLE;
    for (store_layout layout = STORE_PLANES; layout < STORE_LAYOUT_COUNT; layout++) {
        double cost = cost_of_layout(encoder, values + (count - sample) / 2, sample, layout, facts);
        if (layout == STORE_PLANES || cost < least) {
            least = cost;
            best = layout;
        }
    }
    return best;
}

void store_put_ints(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                    store_layout layout)
{
    if (count == 0) return;
    run_facts facts = look(values, count);
    if (facts.factor == 0) {
        hd_bytes_put_u8(&sink->head, STORE_CONSTANT);
        hd_bytes_put_zigzag(&sink->head, facts.low);
        return;
    }
    if (layout == STORE_ANY_LAYOUT) layout = choose_layout(encoder, values, count, &facts);
    put_layout(encoder, sink, values, count, layout, &facts);
}

/* ---- reading ---- */

static bool fail(store_source *source)
{
    source->failed = true;
    return false;
}

/* The first plane sets values, further ones add. */
static bool take_planes(store_source *source, uint64_t *out, uint32_t count, unsigned width)
{
    if (width == 0) memset(out, 0, count * sizeof *out);
    for (unsigned plane = 0; plane < width; plane++) {
        const uint8_t *bytes = store_take_stream(source, count);
        if (!bytes) return false;
        if (plane == 0) {
            for (uint32_t i = 0; i < count; i++) out[i] = bytes[i];
        } else {
            for (uint32_t i = 0; i < count; i++) out[i] |= (uint64_t)bytes[i] << 8 * plane;
        }
    }
    return true;
}

/* Tokens are copied, since the next stream overwrites them. */
static bool take_tokens(store_source *source, uint64_t *out, uint32_t count)
{
    uint64_t size = hd_byte_reader_varint(&source->head);
    const uint8_t *bytes = size <= (uint64_t)count * 8 ? store_take_stream(source, count) : NULL;
    uint8_t *tokens = (uint8_t *)source->indexes;
    if (!bytes) return fail(source);
    memcpy(tokens, bytes, count);
    bytes = store_take_stream(source, size);
    if (!bytes) return false;
    bit_reader reader = {.data = bytes, .size = size};
    for (uint32_t i = 0; i < count; i++) {
        unsigned rest = token_rest(tokens[i]);
        out[i] = token_value(tokens[i], rest ? bits_take(&reader, rest) : 0);
    }
    return bits_done(&reader) ? true : fail(source);
}

static bool take_plain_tokens(store_source *source, int64_t *out, uint32_t count)
{
    uint64_t low = (uint64_t)hd_byte_reader_zigzag(&source->head);
    uint64_t factor = hd_byte_reader_varint(&source->head), *u = (uint64_t *)out;
    if (!take_tokens(source, u, count)) return false;
    for (uint32_t i = 0; i < count; i++) u[i] = u[i] * factor + low;
    return true;
}

static bool take_signed_tokens(store_source *source, int64_t *out, uint32_t count)
{
    uint64_t factor = hd_byte_reader_varint(&source->head), *u = (uint64_t *)out;
    if (!take_tokens(source, u, count)) return false;
    for (uint32_t i = 0; i < count; i++) u[i] = (uint64_t)hd_unzigzag(u[i]) * factor;
    return true;
}

static bool take_plain(store_source *source, int64_t *out, uint32_t count, unsigned width)
{
    uint64_t low = (uint64_t)hd_byte_reader_zigzag(&source->head);
    uint64_t factor = hd_byte_reader_varint(&source->head), *u = (uint64_t *)out;
    if (width > 8 || !take_planes(source, u, count, width)) return fail(source);
    if (factor == 1) {
        for (uint32_t i = 0; i < count; i++) u[i] += low;
    } else {
        for (uint32_t i = 0; i < count; i++) u[i] = u[i] * factor + low;
    }
    return true;
}

static bool take_signed(store_source *source, int64_t *out, uint32_t count, unsigned width)
{
    uint64_t factor = hd_byte_reader_varint(&source->head), *u = (uint64_t *)out;
    if (width > 8 || !take_planes(source, u, count, width)) return fail(source);
    if (factor == 1) {
        for (uint32_t i = 0; i < count; i++) out[i] = hd_unzigzag(u[i]);
    } else {
        for (uint32_t i = 0; i < count; i++) u[i] = (uint64_t)hd_unzigzag(u[i]) * factor;
    }
    return true;
}

static bool take_varints(store_source *source, int64_t *out, uint32_t count)
{
    uint64_t factor = hd_byte_reader_varint(&source->head), size = hd_byte_reader_varint(&source->head);
    const uint8_t *bytes = size <= (uint64_t)count * HD_VARINT_BYTES ? store_take_stream(source, size) : NULL;
    if (!bytes) return fail(source);
    hd_byte_reader reader = hd_byte_reader_of(bytes, size);
    for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)((uint64_t)hd_byte_reader_zigzag(&reader) * factor);
    return (reader.failed || hd_byte_reader_left(&reader)) ? fail(source) : true;
}

static bool take_dictionary(store_source *source, int64_t *out, uint32_t count)
{
    uint64_t distinct = hd_byte_reader_varint(&source->head);
    int64_t first = hd_byte_reader_zigzag(&source->head);
    uint64_t size = hd_byte_reader_varint(&source->head);
    if (distinct == 0 || distinct > count || size > distinct * HD_VARINT_BYTES) return fail(source);
    const uint8_t *bytes = store_take_stream(source, size);
    if (!bytes) return fail(source);
    hd_byte_reader reader = hd_byte_reader_of(bytes, size);
    int64_t *words = source->indexes;
    words[0] = first;
    for (uint64_t i = 1; i < distinct; i++)
        words[i] = (int64_t)((uint64_t)words[i - 1] + hd_byte_reader_varint(&reader) + 1);
    if (reader.failed || hd_byte_reader_left(&reader)) return fail(source);
    if (!take_planes(source, (uint64_t *)out, count, bytes_for(distinct - 1))) return false;
    for (uint32_t i = 0; i < count; i++) {
        if ((uint64_t)out[i] >= distinct) return fail(source);
        out[i] = words[out[i]];
    }
    return true;
}

bool store_take_ints(store_source *source, int64_t *out, uint32_t count)
{
    if (count == 0) return true;
    uint8_t tag = hd_byte_reader_u8(&source->head);
    if (source->head.failed) return fail(source);
    switch (tag & 15) {
    case STORE_CONSTANT: {
        int64_t value = hd_byte_reader_zigzag(&source->head);
        if (tag >> 4 || source->head.failed) return fail(source);
        for (uint32_t i = 0; i < count; i++) out[i] = value;
        return true;
    }
    case STORE_PLANES: return take_plain(source, out, count, tag >> 4);
    case STORE_SIGNED: return take_signed(source, out, count, tag >> 4);
    case STORE_VARINTS: return tag >> 4 ? fail(source) : take_varints(source, out, count);
    case STORE_DICTIONARY: return tag >> 4 ? fail(source) : take_dictionary(source, out, count);
    case STORE_TOKENS: return tag >> 4 ? fail(source) : take_plain_tokens(source, out, count);
    case STORE_SIGNED_TOKENS: return tag >> 4 ? fail(source) : take_signed_tokens(source, out, count);
    default: return fail(source);
    }
}
