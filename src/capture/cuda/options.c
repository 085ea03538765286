/* options.c - $HEDDLE_CAPTURE_OPTIONS: "key=value,key=value"
 *
 * The text is validated here: unknown keys and invalid values are counted, the rest is used.
 */
#include <stdio.h>
#include <string.h>

#include "capture/cuda/impl.h"

typedef struct text {
    const char *data;
    size_t size;
} text;

static bool is_equal(text a, const char *b)
{
    return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}

static bool parse_bool(bool *out, text value)
{
    if (!is_equal(value, "0") && !is_equal(value, "1")) return false;
    *out = value.data[0] == '1';
    return true;
}

static bool parse_number(uint64_t *out, text value)
{
    uint64_t number = 0;
    if (value.size == 0 || value.size > 18) return false;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') return false;
        number = number * 10 + (uint64_t)(value.data[i] - '0');
    }
    *out = number;
    return true;
}

static bool parse_steps(cuda_options *out, text value)
{
    const char *colon = memchr(value.data, ':', value.size);
    uint64_t first, last;
    if (!colon) return false;
    text a = {value.data, (size_t)(colon - value.data)}, b = {colon + 1, value.size - a.size - 1};
    if (!parse_number(&first, a) || !parse_number(&last, b) || first > last) return false;
    out->has_steps = true;
    out->step_first = first;
    out->step_last = last;
    return true;
}

static bool parse_name(char *out, size_t room, text value)
{
    if (value.size == 0 || value.size >= room) return false;
    memcpy(out, value.data, value.size);
    out[value.size] = 0;
    return true;
}

static bool parse_graph(cuda_options *out, text value)
{
    if (!is_equal(value, "node") && !is_equal(value, "whole")) return false;
    out->graph_whole = value.data[0] == 'w';
    return true;
}

static bool parse_policy(cuda_options *out, text value)
{
    if (is_equal(value, "newest"))
        out->policy = HD_RING_DROP_NEWEST;
    else if (is_equal(value, "oldest"))
        out->policy = HD_RING_DROP_OLDEST;
    else if (is_equal(value, "block"))
        out->policy = HD_RING_BLOCK;
    else
        return false;
    return true;
}

/* false: the value makes no sense. */
static bool parse_one(cuda_options *out, text key, text value, bool *is_known)
{
    *is_known = true;
    if (is_equal(key, "stacks")) return parse_bool(&out->stacks, value);
    if (is_equal(key, "python")) return parse_bool(&out->python, value);
    if (is_equal(key, "memory")) return parse_bool(&out->memory, value);
    if (is_equal(key, "nvtx")) return parse_bool(&out->nvtx, value);
    if (is_equal(key, "trigger")) return parse_bool(&out->trigger, value);
    if (is_equal(key, "graph")) return parse_graph(out, value);
    if (is_equal(key, "policy")) return parse_policy(out, value);
    if (is_equal(key, "delay_ms")) return parse_number(&out->delay_ms, value);
    if (is_equal(key, "duration_ms")) return parse_number(&out->duration_ms, value);
    if (is_equal(key, "steps")) return parse_steps(out, value);
    if (is_equal(key, "budget_ppm")) return parse_number(&out->budget_ppm, value) && out->budget_ppm <= 1000000;
    if (is_equal(key, "keep_last_ms")) return parse_number(&out->keep_last_ms, value);
    if (is_equal(key, "on_stall_ms")) return parse_number(&out->on_stall_ms, value);
    if (is_equal(key, "step_name")) return parse_name(out->step_name, sizeof out->step_name, value);
    *is_known = false;
    return false;
}

static void parse_item(cuda_options *out, text item)
{
    const char *equal = memchr(item.data, '=', item.size);
    text key = {item.data, equal ? (size_t)(equal - item.data) : item.size};
    text value = {equal ? equal + 1 : item.data, equal ? item.size - key.size - 1 : 0};
    bool is_known;
    if (parse_one(out, key, value, &is_known)) return;
    uint32_t *count = is_known ? &out->bad : &out->unknown;
    char *first = is_known ? out->first_bad : out->first_unknown;
    if ((*count)++ == 0)
        snprintf(first, sizeof out->first_bad, "%.*s", (int)(item.size < 60 ? item.size : 60), item.data);
}

void cuda_options_parse(cuda_options *out, const char *options)
{
    *out = (cuda_options){.stacks = true, .nvtx = true};
    while (options && *options) {
        size_t size = strcspn(options, ",");
        if (size) parse_item(out, (text){options, size});
        options += size + (options[size] == ',');
    }
}
