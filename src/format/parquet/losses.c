/* losses.c - data of a trace that the tables do not contain */
#include <inttypes.h>
#include <stdio.h>

#include "base/json/json.h"
#include "format/parquet/parquet.h"

typedef struct parquet_losses {
    uint64_t digits, times, texts;
} parquet_losses;

/* Whether the nearest double, written with as many digits, is another decimal. With up to 15 digits it never is. */
static bool is_rounded(int64_t packed)
{
    char digits[32], text[48];
    int64_t mantissa = hd_decimal_mantissa(packed);
    if (mantissa < 0) mantissa = -mantissa;
    if (mantissa < INT64_C(1000000000000000)) return false;
    int count = snprintf(digits, sizeof digits, "%" PRId64, mantissa);
    snprintf(text, sizeof text, "%.*e", count - 1, hd_decimal_double(packed));
    const char *first = text + (text[0] == '-');
    return first[0] != digits[0] || memcmp(first + 2, digits + 1, (size_t)count - 1) != 0;
}

static void count_digits(parquet_losses *losses, const hd_trace *trace, const hd_block *block)
{
    for (uint32_t g = 0; g < block->group_count; g++) {
        const hd_arg_group *group = &block->groups[g];
        const hd_shape *shape = hd_trace_shape_at(trace, group->shape);
        for (uint32_t k = 0; k < shape->key_count; k++) {
            if (shape->keys[k].type != HD_ARG_DECIMAL) continue;
            for (uint32_t row = 0; row < group->row_count; row++)
                losses->digits += is_rounded(hd_column_at(&group->columns[k], row));
        }
    }
}

/* Of slices both ends have picoseconds, of others the start. */
static void count_times(parquet_losses *losses, const hd_block *block)
{
    const hd_column *start = &block->columns[HD_COL_START_PS], *end = &block->columns[HD_COL_END_PS];
    if (!start->width && start->base == 0 && !end->width && end->base == 0) return;
    for (uint32_t row = 0; row < block->row_count; row++) {
        int64_t least = block->kind == HD_KIND_SLICE ? 1000 : 1;
        losses->times += hd_column_at(start, row) >= 1000 || hd_column_at(end, row) >= least;
    }
}

void parquet_tell_losses(const hd_trace *trace, const hd_write_options *options)
{
    parquet_losses losses = {0};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, i);
            count_digits(&losses, trace, block);
            count_times(&losses, block);
        }
    }
    for (uint32_t id = 0; id < hd_trace_string_count(trace); id++) {
        hd_string text = hd_trace_string(trace, id);
        losses.texts += !hd_utf8_valid(text.data, text.size, false);
    }
    hd_write_note(options, "parquet", "parquet.digits-rounded", HD_LEDGER_LOSS, losses.digits);
    hd_write_note(options, "parquet", "parquet.time-rounded", HD_LEDGER_LOSS, losses.times);
    hd_write_note(options, "parquet", "parquet.no-utf8", HD_LEDGER_LOSS, losses.texts);
}
