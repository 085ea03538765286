/* store_column.c - columns told by their past or by other columns; what is left over are runs of integers */
#include "format/heddle/store_column.h"

#include "format/heddle/store_coder.h"

/* How a column is told; the first byte of each. */
typedef enum model {
    MODEL_PLAIN,
    MODEL_DELTA,
    MODEL_DELTA2,
    MODEL_MINUS,         /* value - other column */
    MODEL_MINUS_DELTA,   /* the same, as deltas */
    MODEL_CONTEXT_DELTA, /* value - last value in the same context */
    MODEL_CONTEXT_SAME,  /* last value in the same context: runs of hits, and what was missed */
    MODEL_NEW,           /* 0: the next new id, else value + 1 */
    MODEL_DECIMAL,       /* decimals of one scale, told by another model */
    MODEL_CONTEXT_MEAN,  /* value - moving mean of the values in the same context */
    MODEL_CODED,         /* the same or the values themselves, coded with odds by context */
    MODEL_COUNT
} model;

/* A context: up to two other columns and up to two past values, of the same first column or of all rows. */
typedef struct store_plan {
    uint8_t model, a, b, history; /* of MODEL_CONTEXT_MEAN the weight instead of a history */
} store_plan;

enum { HISTORY_SCOPED = 4, HISTORY_MASK = 3 };

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

typedef struct context {
    const int64_t *a, *b;
    int64_t *last; /* by context */
    uint32_t mask;
    unsigned history;
    bool scoped;
    int64_t past[2];
    int64_t (*scopes)[2];
} context;

const int64_t *store_ref(store_refs *refs, unsigned index)
{
    if (index >= STORE_BASE_REFS + STORE_KEY_REFS) return NULL;
    if (refs->columns[index] || !refs->base || index >= STORE_BASE_REFS || !(refs->known >> index & 1))
        return refs->columns[index];
    const int64_t *from = refs->base + (size_t)index * STORE_ROWS;
    int64_t *to = refs->gathered + (size_t)index * STORE_ROWS;
    for (uint32_t i = 0; i < refs->row_count; i++) to[i] = from[refs->rows[i]];
    return refs->columns[index] = to;
}

static bool context_open(context *out, int64_t *table, int64_t *scopes, const store_plan *plan, store_refs *refs,
                         uint32_t first, uint32_t count)
{
    bool mean = plan->model == MODEL_CONTEXT_MEAN || plan->model == MODEL_CODED;
    *out = (context){.last = table};
    if (!mean) {
        out->history = plan->history & HISTORY_MASK;
        out->scoped = plan->history & HISTORY_SCOPED;
    }
    if (plan->a != STORE_NO_REF && !(out->a = store_ref(refs, plan->a))) return false;
    if (plan->b != STORE_NO_REF && !(out->b = store_ref(refs, plan->b))) return false;
    if (out->history > 2 || plan->history > 7 || (out->scoped && (!out->a || !out->history))) return false;
    if (out->a) out->a += first;
    if (out->b) out->b += first;
    out->mask = 63;
    while (out->mask + 1 < STORE_TABLE && out->mask < count) out->mask = out->mask * 2 + 1;
    memset(table, 0, (out->mask + 1) * sizeof *table);
    out->scopes = (int64_t(*)[2])(void *)scopes;
    if (out->scoped) memset(scopes, 0, 2 * STORE_SCOPES * sizeof *scopes);
    return true;
}

/* The context, and the wider one of its first column. */
static inline uint64_t context_key(const context *c, uint32_t i, uint64_t *out_wide)
{
    uint64_t key = c->a ? mix((uint64_t)c->a[i], 1) : 1;
    *out_wide = c->b ? key : 0;
    return c->b ? mix((uint64_t)c->b[i], key) : key;
}

/* The slot that holds the last value in row i's context. */
static inline int64_t *context_slot(context *c, uint32_t i, int64_t **out_past)
{
    uint64_t key = c->a ? mix((uint64_t)c->a[i], 1) : 1;
    int64_t *past = c->past;
    if (c->scoped) past = c->scopes[key >> 8 & (STORE_SCOPES - 1)];
    if (c->b) key = mix((uint64_t)c->b[i], key);
    if (c->history > 0) key = mix((uint64_t)past[0], key);
    if (c->history > 1) key = mix((uint64_t)past[1], key);
    *out_past = past;
    return &c->last[key >> 7 & c->mask];
}

/* The mean has MEAN_BITS bits behind the point; with weight w a new value counts for 1/2^w. */
enum { MEAN_BITS = 4, MEAN_WEIGHT_LIMIT = 7, MEAN_NONE = 8 };

static inline int64_t mean_of(int64_t slot)
{
    return slot >> MEAN_BITS;
}

static inline void mean_learn(int64_t *slot, int64_t value, unsigned weight)
{
    uint64_t target = (uint64_t)value << MEAN_BITS;
    *slot = *slot ? (int64_t)((uint64_t)*slot + (uint64_t)((int64_t)(target - (uint64_t)*slot) >> weight))
                  : (int64_t)target;
}

static inline void context_learn(int64_t *slot, int64_t *past, int64_t value)
{
    *slot = value;
    past[1] = past[0];
    past[0] = value;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* 0: the next new id. `start` is the first that counts as new. */
static int64_t find_first_new(store_encoder *encoder, const int64_t *values, uint32_t count)
{
    int64_t high = values[0], low;
    for (uint32_t i = 1; i < count; i++) high = values[i] > high ? values[i] : high;
    if (high < 0 || high == INT64_MAX) return high;
    low = high >= STORE_ROWS ? high - STORE_ROWS + 1 : 0;
    int64_t *first = encoder->sorted, at = high;
    memset(first, 0xff, STORE_ROWS * sizeof *first);
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
    int64_t widest = 0, power = 1;
    for (uint32_t i = 0; i < count; i++) {
        unsigned own = hd_decimal_scale(values[i]);
        int64_t mantissa = hd_decimal_mantissa(values[i]);
        if (own > 15 || (own && mantissa % 10 == 0)) return false;
        scale = own > scale ? own : scale;
        uint64_t size = mantissa < 0 ? 0 - (uint64_t)mantissa : (uint64_t)mantissa;
        widest = (int64_t)size > widest ? (int64_t)size : widest;
    }
    for (unsigned i = 0; i < scale; i++) power *= 10;
    *out = scale;
    return widest <= INT64_MAX / 64 / power; /* so that the digits fit again */
}

static const int64_t powers[16] = {
    1,         10,         100,         1000,         10000,         100000,         1000000,         10000000,
    100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000};

static int64_t to_scale(int64_t packed, unsigned scale)
{
    return hd_decimal_mantissa(packed) * powers[scale - hd_decimal_scale(packed)];
}

static int64_t from_scale(int64_t value, unsigned scale)
{
    while (scale && value % 10 == 0) {
        value /= 10;
        scale--;
    }
    return hd_decimal_pack(value, scale);
}

/* The values of a context model: in `out`, for CONTEXT_SAME the misses, and the hits before each in `runs`, of which
 * there is one more. Returns how many values are in `out`. */
static uint32_t apply_context(store_encoder *encoder, int64_t *out, int64_t *runs, const int64_t *values,
                              uint32_t first, uint32_t count, const store_plan *plan, store_refs *refs)
{
    context c;
    uint32_t found = 0;
    int64_t run = 0;
    if (!context_open(&c, encoder->table, encoder->scopes, plan, refs, first, count)) return 0;
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
                        uint32_t count, const store_plan *plan, store_refs *refs)
{
    context c;
    store_coder coder;
    hd_bytes *out = &encoder->planes;
    size_t half = (size_t)count * 8 + 16;
    out->size = 0;
    uint8_t *room = hd_bytes_room(out, 2 * half);
    if (!room || !context_open(&c, encoder->table, encoder->scopes, plan, refs, first, count)) return false;
    coder_begin(&coder, encoder->odds, count);
    coder.out = room;
    bit_writer rest = {.p = room + half};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide, key = context_key(&c, i, &wide);
        int64_t *slot = &c.last[key >> 7 & c.mask];
        int64_t mean = plan->history == MEAN_NONE ? 0 : mean_of(*slot);
        coder_put_number(&coder, &rest, wide, key, hd_zigzag((int64_t)((uint64_t)values[i] - (uint64_t)mean)));
        mean_learn(slot, values[i], plan->history);
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

enum { SAMPLE = 8192 };

typedef struct search {
    const int64_t *values; /* the sample */
    uint32_t first, count;
    store_refs *refs;
    store_plan best;
    double least;
    int64_t new_start;
} search;

static void attempt(store_encoder *encoder, search *s, store_plan plan)
{
    enum { GOOD_ENOUGH = 12 }; /* bytes */
    if (s->least < GOOD_ENOUGH) return;
    int64_t *left = encoder->work[0], *runs = encoder->work[1];
    double cost = plan.model == MODEL_PLAIN ? 0 : 0.4;
    if (plan.model == MODEL_CODED) {
        size_t coded;
        if (!apply_coded(encoder, &coded, s->values, s->first, s->count, &plan, s->refs)) return;
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

/* Where other ways take many bytes. */
static void try_coded(store_encoder *encoder, search *s)
{
    enum { WORTH = 64 };
    static const uint8_t refs[] = {STORE_REF_BOUND, STORE_REF_CHILD, STORE_NO_REF};
    static const uint8_t weights[] = {MEAN_NONE, 0, 2};
    for (size_t i = 0; i < sizeof refs && s->least > WORTH; i++) {
        if (!known(s, HD_COL_NAME) || (refs[i] != STORE_NO_REF && !known(s, refs[i]))) continue;
        for (size_t k = 0; k < sizeof weights; k++)
            attempt(encoder, s, (store_plan){MODEL_CODED, HD_COL_NAME, refs[i], weights[k]});
        break;
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
        if (content != STORE_SYMBOL) try_coded(encoder, &s);
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
    if (!apply_coded(encoder, &coded, values, 0, count, plan, refs)) return;
    const hd_bytes *bytes = &encoder->planes;
    hd_bytes_put_varint(head, coded);
    hd_bytes_put_varint(head, bytes->size - coded);
    store_put_stream(encoder, sink, bytes->data, coded);
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

/* ---- reading --------------------------------------------------------------------------------------- */

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
    if (!context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
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
    if (!context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
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
    if (!context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
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
    uint64_t coded = hd_byte_reader_varint(&source->head), packed = hd_byte_reader_varint(&source->head);
    uint64_t half = (uint64_t)count * 8 + 16;
    uint8_t *kept = (uint8_t *)decoder->coded;
    if (plan->history > MEAN_NONE || coded > half || packed > half) return fail(source);
    const uint8_t *bytes = store_take_stream(source, coded);
    if (!bytes) return false;
    memcpy(kept, bytes, coded); /* the next stream takes their place */
    bytes = store_take_stream(source, packed);
    if (!bytes || !context_open(&c, decoder->table, decoder->scopes, plan, refs, 0, count)) return fail(source);
    bit_reader rest = {.data = bytes, .size = packed};
    coder_begin(&coder, decoder->odds, count);
    coder_open(&coder, kept, coded);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide, key = context_key(&c, i, &wide);
        int64_t *slot = &c.last[key >> 7 & c.mask];
        int64_t mean = plan->history == MEAN_NONE ? 0 : mean_of(*slot);
        out[i] = (int64_t)((uint64_t)hd_unzigzag(coder_take_number(&coder, &rest, wide, key)) + (uint64_t)mean);
        mean_learn(slot, out[i], plan->history);
    }
    return bits_done(&rest) ? true : fail(source);
}

static bool take_decimal(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs)
{
    unsigned scale = hd_byte_reader_u8(&source->head);
    if (scale > 15 || !take_told(source, decoder, out, count, refs, 0)) return fail(source);
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
