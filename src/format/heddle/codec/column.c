/* column.c - columns predicted from their past or from other columns; the residuals are runs of integers
 *
 * All ways that may pay are tried on a sample from the column's middle.
 */
#include "format/heddle/codec/coder.h"
#include "format/heddle/codec/model.h"

/* 0: the next new id. `start` is the first that counts as new. */
static int64_t find_first_new(store_encoder *encoder, const int64_t *values, uint32_t count)
{
    int64_t high = values[0], low;
    for (uint32_t i = 1; i < count; i++) high = values[i] > high ? values[i] : high;
    if (high < 0 || high == INT64_MAX) return high;
    low = high >= count ? high - count + 1 : 0; /* there are no more new ids than values */
    int64_t *first = encoder->sorted, at = high;
    memset(first, 0xff, count * sizeof *first);
    for (uint32_t i = count; i-- > 0;) {
        if (values[i] >= low) first[values[i] - low] = i;
    }
    while (at > low && first[at - 1 - low] >= 0 && first[at - 1 - low] < first[at - low]) at--;
    return at;
}

static void new_ids(int64_t *out, const int64_t *values, uint32_t count, int64_t start)
{
    int64_t next = start;
    for (uint32_t i = 0; i < count; i++) {
        bool is_new = values[i] == next;
        out[i] = is_new ? 0 : (int64_t)((uint64_t)values[i] + 1);
        next = (int64_t)((uint64_t)next + is_new);
    }
}

static void deltas(int64_t *out, const int64_t *values, uint32_t count)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = values[i];
        out[i] = (int64_t)((uint64_t)value - (uint64_t)last);
        last = value;
    }
}

static void minus(int64_t *out, const int64_t *values, const int64_t *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)((uint64_t)values[i] - (uint64_t)other[i]);
}

/* The scale that all decimals can have without a change of their digits' number; false: there is none. */
static bool find_scale(unsigned *out, const int64_t *values, uint32_t count)
{
    unsigned scale = 0;
    int64_t widest = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned own = hd_decimal_scale(values[i]);
        int64_t mantissa = hd_decimal_mantissa(values[i]);
        if (own > SCALE_LIMIT || (own && mantissa % 10 == 0)) return false;
        scale = own > scale ? own : scale;
        uint64_t size = mantissa < 0 ? 0 - (uint64_t)mantissa : (uint64_t)mantissa;
        widest = (int64_t)size > widest ? (int64_t)size : widest;
    }
    *out = scale;
    return widest <= INT64_MAX / 64 / power_of_ten(scale); /* so that the digits fit again */
}
static int64_t to_scale(int64_t packed, unsigned scale)
{
    return hd_decimal_mantissa(packed) * power_of_ten(scale - hd_decimal_scale(packed));
}

/* The values under a context model: in `out`, for CONTEXT_SAME the misses, with the hits before each in `runs`, which
 * has one more. Returns the number of values in `out`. */
static uint32_t apply_context(store_encoder *encoder, int64_t *out, int64_t *runs, const int64_t *values,
                              uint32_t first, uint32_t count, const store_plan *plan, store_refs *refs)
{
    context c;
    uint32_t found = 0;
    int64_t run = 0;
    if (!store_context_open(&c, encoder->table, encoder->scopes, plan, refs, first, count)) return 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t *past, *slot = context_slot(&c, i, &past), value = values[i];
        if (plan->model == MODEL_CONTEXT_MEAN) {
            out[found++] = (int64_t)((uint64_t)value - (uint64_t)mean_of(*slot));
            mean_learn(slot, value, plan->history);
            continue;
        }
        if (plan->model == MODEL_CONTEXT_DELTA) {
            out[found++] = (int64_t)((uint64_t)value - (uint64_t)*slot);
        } else if (*slot == value) {
            run++;
        } else {
            out[found] = value;
            runs[found++] = run;
            run = 0;
        }
        context_learn(slot, past, value);
    }
    runs[found] = run;
    return found;
}

static void apply_simple(int64_t *out, const int64_t *values, uint32_t first, uint32_t count, const store_plan *plan,
                         store_refs *refs, int64_t new_start)
{
    switch (plan->model) {
    case MODEL_DELTA: deltas(out, values, count); break;
    case MODEL_DELTA2:
        deltas(out, values, count);
        deltas(out, out, count);
        break;
    case MODEL_MINUS: minus(out, values, store_ref(refs, plan->a) + first, count); break;
    case MODEL_MINUS_DELTA:
        minus(out, values, store_ref(refs, plan->a) + first, count);
        deltas(out, out, count);
        break;
    case MODEL_NEW: new_ids(out, values, count, new_start); break;
    default: memcpy(out, values, count * sizeof *out);
    }
}

/* Codes the values into encoder->planes: the coder's bytes, of which *out_coded is the number, and packed bits. */
static bool apply_coded(store_encoder *encoder, size_t *out_coded, const int64_t *values, uint32_t first,
                        uint32_t count, const store_plan *plan, store_refs *refs, int64_t factor)
{
    context c;
    store_coder coder;
    hd_bytes *out = &encoder->planes;
    size_t half = (size_t)count * 8 + 16;
    out->size = 0;
    uint8_t *room = hd_bytes_room(out, 2 * half);
    if (!room || !store_context_open(&c, encoder->table, encoder->scopes, plan, refs, first, count)) return false;
    coder_begin(&coder, encoder->odds, count);
    coder.out = room;
    bit_writer rest = {.p = room + half};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide, key = context_key(&c, i, &wide);
        int64_t *slot = &c.last[key >> 7 & c.mask];
        int64_t mean = plan->history == MEAN_NONE ? 0 : mean_of(*slot),
                value = factor == 1 ? values[i] : values[i] / factor;
        coder_put_number(&coder, &rest, wide, key, hd_zigzag((int64_t)((uint64_t)value - (uint64_t)mean)));
        mean_learn(slot, value, plan->history);
    }
    coder_end(&coder);
    bits_end(&rest);
    *out_coded = (size_t)(coder.out - room);
    memmove(coder.out, room + half, (size_t)(rest.p - room) - half);
    out->size = *out_coded + (size_t)(rest.p - room) - half;
    return true;
}

static bool is_context(const store_plan *plan)
{
    return plan->model == MODEL_CONTEXT_DELTA || plan->model == MODEL_CONTEXT_SAME || plan->model == MODEL_CONTEXT_MEAN;
}

enum { SAMPLE = 2048 };

typedef struct search {
    const int64_t *values; /* the sample */
    uint32_t first, count;
    store_refs *refs;
    store_plan best;
    double least;
    int64_t new_start;
    int64_t factor; /* of the sample */
} search;

static void attempt(store_encoder *encoder, search *s, store_plan plan)
{
    enum { GOOD_ENOUGH = 12 }; /* bytes */
    if (s->least < GOOD_ENOUGH) return;
    int64_t *left = encoder->work[0], *runs = encoder->work[1];
    double cost = plan.model == MODEL_PLAIN ? 0 : 0.4;
    if (plan.model == MODEL_CODED) {
        size_t coded;
        if (!apply_coded(encoder, &coded, s->values, s->first, s->count, &plan, s->refs, s->factor)) return;
        cost += 4 + (double)encoder->planes.size;
    } else if (is_context(&plan)) {
        uint32_t found = apply_context(encoder, left, runs, s->values, s->first, s->count, &plan, s->refs);
        cost += 1.5;
        if (plan.model == MODEL_CONTEXT_SAME) {
            if (found > s->count * 3 / 4) return;
            cost += 1 + store_cost_of_ints(encoder, runs, found);
        }
        cost += store_cost_of_ints(encoder, left, found);
    } else {
        apply_simple(left, s->values, s->first, s->count, &plan, s->refs, s->new_start);
        cost += store_cost_of_ints(encoder, left, s->count);
    }
    if (cost < s->least) {
        s->least = cost;
        s->best = plan;
    }
}

/* Whether the difference to the other column often repeats, or is small against the column's own changes. */
static bool looks_related(const int64_t *values, const int64_t *other, uint32_t count)
{
    uint32_t step = count / 64 ? count / 64 : 1, same = 0, seen = 0;
    for (uint32_t i = 1; i < count; i += step) {
        uint64_t now = (uint64_t)values[i] - (uint64_t)other[i];
        uint64_t before = (uint64_t)values[i - 1] - (uint64_t)other[i - 1];
        same += now == before;
        seen++;
    }
    return seen && same * 4 >= seen;
}

static void try_others(store_encoder *encoder, search *s)
{
    for (unsigned ref = 0; ref < STORE_BASE_REFS + s->refs->key_count; ref++) {
        const int64_t *other = store_ref(s->refs, ref);
        if (!other || !looks_related(s->values, other + s->first, s->count)) continue;
        attempt(encoder, s, (store_plan){.model = MODEL_MINUS, .a = (uint8_t)ref});
        attempt(encoder, s, (store_plan){.model = MODEL_MINUS_DELTA, .a = (uint8_t)ref});
    }
}

static bool known(const search *s, unsigned ref)
{
    return store_ref(s->refs, ref) != NULL;
}

/* Only if the other encodings take many bytes. */
static void try_coded(store_encoder *encoder, search *s, store_content content)
{
    enum { WORTH = 64 };
    static const uint8_t refs[] = {STORE_REF_BOUND, STORE_REF_CHILD, STORE_NO_REF};
    static const uint8_t weights[] = {MEAN_NONE, 0, 2};
    s->factor = store_common_factor(s->values, s->count);
    for (size_t i = 0; i < sizeof refs && s->least > WORTH; i++) {
        if (!known(s, HD_COL_NAME) || (refs[i] != STORE_NO_REF && !known(s, refs[i]))) continue;
        for (size_t k = 0; k < sizeof weights; k++)
            attempt(encoder, s, (store_plan){MODEL_CODED, HD_COL_NAME, refs[i], weights[k]});
        break;
    }
    if (s->least > WORTH && content == STORE_TIME && known(s, HD_COL_TRACK) && !known(s, STORE_REF_BEFORE)) {
        attempt(encoder, s, (store_plan){MODEL_CODED, HD_COL_TRACK, STORE_NO_REF, 0});
        attempt(encoder, s, (store_plan){MODEL_CODED, STORE_NO_REF, STORE_NO_REF, 0});
    }
}

static void try_contexts(store_encoder *encoder, search *s, store_content content)
{
    static const store_plan tried[] = {
        {MODEL_CONTEXT_SAME, HD_COL_NAME, STORE_NO_REF, 0},
        {MODEL_CONTEXT_SAME, HD_COL_TRACK, STORE_NO_REF, 0},
        {MODEL_CONTEXT_SAME, HD_COL_TRACK, STORE_NO_REF, HISTORY_SCOPED | 1},
        {MODEL_CONTEXT_SAME, HD_COL_TRACK, STORE_NO_REF, HISTORY_SCOPED | 2},
        {MODEL_CONTEXT_SAME, STORE_NO_REF, STORE_NO_REF, 1},
        {MODEL_CONTEXT_SAME, STORE_NO_REF, STORE_NO_REF, 2},
        {MODEL_CONTEXT_SAME, HD_COL_NAME, STORE_NO_REF, 1},
        {MODEL_CONTEXT_SAME, HD_COL_NAME, STORE_NO_REF, HISTORY_SCOPED | 1},
        {MODEL_CONTEXT_SAME, HD_COL_NAME, STORE_REF_BEFORE, 0},
        {MODEL_CONTEXT_DELTA, HD_COL_TRACK, STORE_NO_REF, 0},
        {MODEL_CONTEXT_DELTA, HD_COL_NAME, STORE_NO_REF, 0},
        {MODEL_CONTEXT_DELTA, HD_COL_NAME, STORE_REF_BOUND, 0},
        {MODEL_CONTEXT_DELTA, HD_COL_NAME, STORE_REF_CHILD, 0},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_NO_REF, 1},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_NO_REF, 3},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_REF_BOUND, 1},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_REF_BOUND, 3},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_REF_CHILD, 1},
        {MODEL_CONTEXT_MEAN, HD_COL_NAME, STORE_REF_CHILD, 3},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        if (tried[i].model == MODEL_CONTEXT_SAME ? content == STORE_TIME : content == STORE_SYMBOL) continue;
        if (tried[i].a != STORE_NO_REF && !known(s, tried[i].a)) continue;
        if (tried[i].b != STORE_NO_REF && !known(s, tried[i].b)) continue;
        attempt(encoder, s, tried[i]);
    }
    for (unsigned key = 0; content != STORE_TIME && key < s->refs->key_count; key++) {
        if (!known(s, STORE_BASE_REFS + key)) continue;
        attempt(encoder, s, (store_plan){MODEL_CONTEXT_SAME, (uint8_t)(STORE_BASE_REFS + key), STORE_NO_REF, 0});
    }
}

static void put_told(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count, store_refs *refs,
                     const store_plan *plan, int64_t new_start, unsigned depth);

static void put_searched(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count,
                         store_refs *refs, store_content content, unsigned depth)
{
    bool constant = true, negative = false;
    for (uint32_t i = 1; i < count && constant; i++) constant = values[i] == values[0];
    for (uint32_t i = 0; i < count; i++) negative |= values[i] < 0;
    search s = {.refs = refs, .count = count < SAMPLE ? count : SAMPLE, .least = 1e300};
    if (constant) {
        put_told(encoder, sink, values, count, refs, &(store_plan){MODEL_PLAIN, 0, 0, 0}, 0, depth);
        return;
    }
    s.first = (count - s.count) / 2;
    s.values = values + s.first;
    attempt(encoder, &s, (store_plan){.model = MODEL_PLAIN});
    attempt(encoder, &s, (store_plan){.model = MODEL_DELTA});
    attempt(encoder, &s, (store_plan){.model = MODEL_DELTA2});
    if (content != STORE_TIME && !negative) {
        s.new_start = find_first_new(encoder, s.values, s.count);
        attempt(encoder, &s, (store_plan){.model = MODEL_NEW});
    }
    if (depth == 0 && count > 2) {
        try_others(encoder, &s);
        try_contexts(encoder, &s, content);
        if (content != STORE_SYMBOL && encoder->may_code) try_coded(encoder, &s, content);
    }
    if (s.best.model == MODEL_NEW) s.new_start = find_first_new(encoder, values, count);
    put_told(encoder, sink, values, count, refs, &s.best, s.new_start, depth);
}

static void put_coded(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count, store_refs *refs,
                      const store_plan *plan)
{
    size_t coded;
    hd_bytes *head = &sink->head;
    hd_bytes_put_u8(head, plan->a);
    hd_bytes_put_u8(head, plan->b);
    hd_bytes_put_u8(head, plan->history);
    int64_t factor = store_common_factor(values, count);
    if (!apply_coded(encoder, &coded, values, 0, count, plan, refs, factor)) return;
    hd_bytes_put_varint(head, (uint64_t)factor);
    const hd_bytes *bytes = &encoder->planes;
    hd_bytes_put_varint(head, coded);
    hd_bytes_put_varint(head, bytes->size - coded);
    store_put_noise(encoder, sink, bytes->data, coded);
    store_put_stream(encoder, sink, bytes->data + coded, bytes->size - coded);
}

static void put_told(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count, store_refs *refs,
                     const store_plan *plan, int64_t new_start, unsigned depth)
{
    int64_t *left = encoder->work[depth ? 3 : 2];
    hd_bytes *head = &sink->head;
    hd_bytes_put_u8(head, plan->model);
    if (plan->model == MODEL_CODED) {
        put_coded(encoder, sink, values, count, refs, plan);
        return;
    }
    if (plan->model == MODEL_MINUS || plan->model == MODEL_MINUS_DELTA) hd_bytes_put_u8(head, plan->a);
    if (plan->model == MODEL_NEW) hd_bytes_put_zigzag(head, new_start);
    if (!is_context(plan)) {
        apply_simple(left, values, 0, count, plan, refs, new_start);
        store_put_ints(encoder, sink, left, count, STORE_ANY_LAYOUT);
        return;
    }
    hd_bytes_put_u8(head, plan->a);
    hd_bytes_put_u8(head, plan->b);
    hd_bytes_put_u8(head, plan->history);
    int64_t *runs = encoder->runs;
    uint32_t found = apply_context(encoder, left, runs, values, 0, count, plan, refs);
    if (plan->model != MODEL_CONTEXT_SAME) {
        store_put_ints(encoder, sink, left, count, STORE_ANY_LAYOUT);
        return;
    }
    hd_bytes_put_varint(head, found);
    if (!found) return;
    store_put_ints(encoder, sink, runs, found, STORE_ANY_LAYOUT);
    put_searched(encoder, sink, left, found, refs, STORE_SYMBOL, depth + 1);
}

void store_put_column(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count, store_refs *refs,
                      store_content content)
{
    unsigned scale;
    if (content == STORE_DECIMAL && find_scale(&scale, values, count)) {
        hd_bytes_put_u8(&sink->head, MODEL_DECIMAL);
        hd_bytes_put_u8(&sink->head, (uint8_t)scale);
        int64_t *scaled = encoder->scaled;
        for (uint32_t i = 0; i < count; i++) scaled[i] = to_scale(values[i], scale);
        values = scaled;
    }
    put_searched(encoder, sink, values, count, refs, content, 0);
}
