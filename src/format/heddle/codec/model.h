/* model.h - how columns are predicted, and the contexts that writing and reading share; files of the store only */
#ifndef HD_FORMAT_HEDDLE_CODEC_MODEL_H
#define HD_FORMAT_HEDDLE_CODEC_MODEL_H

#include "format/heddle/codec/column.h"

/* How a column is predicted; the first byte of each. */
typedef enum model {
    MODEL_PLAIN,
    MODEL_DELTA,
    MODEL_DELTA2,
    MODEL_MINUS,         /* value - other column */
    MODEL_MINUS_DELTA,   /* the same, as deltas */
    MODEL_CONTEXT_DELTA, /* value - last value in the same context */
    MODEL_CONTEXT_SAME,  /* last value in the same context: runs of hits, and the misses */
    MODEL_NEW,           /* 0: the next new id, else value + 1 */
    MODEL_DECIMAL,       /* decimals of one scale, coded with another model */
    MODEL_CONTEXT_MEAN,  /* value - moving mean of the values in the same context */
    MODEL_CODED,         /* the same or the values themselves, coded with odds by context */
} model;

/* A context: up to two other columns and up to two past values, of the same first column or of all rows. */
typedef struct store_plan {
    uint8_t model, a, b, history; /* of MODEL_CONTEXT_MEAN the weight instead of a history */
} store_plan;

enum { HISTORY_SCOPED = 4, HISTORY_MASK = 3 };

static inline uint64_t mix(uint64_t a, uint64_t b)
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

/* `first` is the row of the columns for row 0 of the coded values. false: no such columns. */
bool store_context_open(context *out, int64_t *table, int64_t *scopes, const store_plan *plan, store_refs *refs,
                        uint32_t first, uint32_t count);

/* The context, and the wider one of its first column. */
static inline uint64_t context_key(const context *c, uint32_t i, uint64_t *out_wide)
{
    uint64_t key = c->a ? mix((uint64_t)c->a[i], 1) : 1;
    *out_wide = c->b ? key : 0;
    return c->b ? mix((uint64_t)c->b[i], key) : key;
}

/* The slot with the last value in row i's context. */
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

enum { SCALE_LIMIT = 15 };

static inline int64_t power_of_ten(unsigned scale)
{
    int64_t power = 1;
    for (unsigned i = 0; i < scale; i++) power *= 10;
    return power;
}

#endif
