/* args.c - one argument of many events */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/decimal.h"
#include "model/args/args.h"
#include "trace/event.h"

enum { NONE = -1, UNKNOWN = -2 };

bool gpu_arg_init(gpu_arg *arg, const hd_trace *trace, const char *name)
{
    uint32_t shapes = hd_trace_shape_count(trace);
    *arg = (gpu_arg){.trace = trace, .key = hd_trace_find_string(trace, name, strlen(name))};
    if (arg->key == HD_NONE) return true;
    arg->places = malloc(((size_t)shapes + 1) * sizeof *arg->places);
    for (uint32_t s = 0; arg->places && s < shapes; s++) arg->places[s] = UNKNOWN;
    return arg->places != NULL;
}

void gpu_arg_deinit(gpu_arg *arg)
{
    free(arg->places);
    *arg = (gpu_arg){0};
}

bool gpu_arg_is_used(const gpu_arg *arg)
{
    return arg->places != NULL;
}

bool gpu_arg_get(hd_value *out, gpu_arg *arg, const hd_block *block, uint32_t row)
{
    if (!arg->places) return false;
    uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], row);
    if (shape >= hd_trace_shape_count(arg->trace)) return false;
    int16_t *place = &arg->places[shape];
    if (*place == UNKNOWN) {
        int found = hd_shape_find(hd_trace_shape_at(arg->trace, shape), arg->key, HD_SCOPE_ARGS);
        *place = (int16_t)(found >= 0 && found <= INT16_MAX ? found : NONE);
    }
    const hd_arg_group *group = *place == NONE ? NULL : hd_block_group(block, shape);
    uint32_t args_row = (uint32_t)hd_column_at(&block->columns[HD_COL_ARGS_ROW], row);
    if (!group || args_row >= group->row_count) return false;
    out->type = (hd_arg_type)hd_trace_shape_at(arg->trace, shape)->keys[*place].type;
    out->bits = hd_column_at(&group->columns[*place], args_row);
    return true;
}

bool gpu_arg_whole(int64_t *out, gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    return gpu_arg_get(&value, arg, block, row) && hd_value_int(out, arg->trace, value);
}

uint32_t gpu_arg_text(gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    if (!gpu_arg_get(&value, arg, block, row)) return HD_STRING_NONE;
    return value.type == HD_ARG_STRING || value.type == HD_ARG_JSON || value.type == HD_ARG_NUMBER
               ? (uint32_t)value.bits
               : HD_STRING_NONE;
}

static int print_decimal(char *out, size_t size, int64_t bits)
{
    int64_t mantissa = hd_decimal_mantissa(bits);
    unsigned scale = hd_decimal_scale(bits);
    unsigned long long digits = mantissa < 0 ? 0 - (unsigned long long)mantissa : (unsigned long long)mantissa;
    unsigned long long unit = scale <= HD_FIXED_DIGITS ? (unsigned long long)hd_power_of_ten(scale) : 1;
    return snprintf(out, size, "%s%llu.%0*llu", mantissa < 0 ? "-" : "", digits / unit, (int)scale, digits % unit);
}

bool gpu_arg_written(uint32_t *out, gpu_texts *texts, gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    char number[64];
    *out = HD_NONE;
    if (!gpu_arg_get(&value, arg, block, row) || value.type == HD_ARG_NULL) return true;
    if (value.type == HD_ARG_INT || value.type == HD_ARG_DECIMAL) {
        int size = value.type == HD_ARG_INT ? snprintf(number, sizeof number, "%lld", (long long)value.bits)
                                            : print_decimal(number, sizeof number, value.bits);
        *out = gpu_text(texts, number, (size_t)size);
    } else if (value.type == HD_ARG_BOOL) {
        *out = value.bits ? gpu_text(texts, "true", 4) : gpu_text(texts, "false", 5);
    } else {
        hd_string text = hd_trace_string(arg->trace, (uint32_t)value.bits);
        *out = value.type == HD_ARG_JSON ? gpu_text_json(texts, text) : gpu_text(texts, text.data, text.size);
    }
    return *out != HD_NONE;
}

bool gpu_copy_bytes_init(gpu_copy_bytes *arg, const hd_trace *trace)
{
    bool fine = gpu_arg_init(&arg->bytes, trace, "bytes");
    return gpu_arg_init(&arg->size, trace, "size") && fine;
}

void gpu_copy_bytes_deinit(gpu_copy_bytes *arg)
{
    gpu_arg_deinit(&arg->bytes);
    gpu_arg_deinit(&arg->size);
}

int64_t gpu_copy_bytes_of(gpu_copy_bytes *arg, uint64_t slice)
{
    uint32_t row;
    int64_t bytes;
    const hd_block *block = hd_trace_block_of(&row, arg->bytes.trace, HD_KIND_SLICE, slice);
    if (!gpu_arg_whole(&bytes, &arg->bytes, block, row) && !gpu_arg_whole(&bytes, &arg->size, block, row))
        return HD_NO_NUMBER;
    return bytes >= 0 ? bytes : HD_NO_NUMBER;
}
