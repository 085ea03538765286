/* thinned.c - how much the pass thin removed before a trace was written: the top-level key heddle.thinned, of a merged
 * trace that of each rank or process */
#include <stdlib.h>

#include "base/json/json.h"
#include "model/trust/trust.h"

/* The object is valid and padded. */
static void add_sums(gpu_trust *t, const char *object)
{
    static const struct {
        const char *key;
        gpu_doubt_code code;
    } sums[] = {{THINNED_ACTIVITIES, GPU_DOUBT_THINNED_GPU}, {THINNED_SLICES, GPU_DOUBT_THINNED}};
    int64_t count;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (hd_json_find_whole(&count, object, sums[i].key) && count > 0)
            t->doubts[sums[i].code].count += (uint64_t)count;
    }
}

/* The key in each member of an object. */
static void add_members(gpu_trust *t, const char *object)
{
    hd_json_text key;
    const char *p = hd_json_skip_space(object + 1), *thinned;
    size_t size;
    while (*p == '"') {
        p = hd_json_skip_space(hd_json_string(&key, p + 1));
        const char *value = hd_json_skip_space(p + 1);
        if (*value == '{' && hd_json_find(&thinned, &size, value, THINNED_KEY) && *thinned == '{') add_sums(t, thinned);
        p = hd_json_skip_space(hd_json_skip_value(value));
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
}

static void add_key(gpu_trust *t, const hd_trace *trace, const char *key, void (*add)(gpu_trust *, const char *))
{
    hd_string value = hd_trace_metadata_find(trace, key);
    char *text = value.size ? hd_json_copy(value.data, value.size) : NULL;
    if (!text) return;
    const char *object = hd_json_skip_space(text);
    if (*object == '{' && hd_json_skip_value(object)) add(t, object);
    free(text);
}

void trust_find_thinned(gpu_trust *trust, const hd_trace *trace)
{
    if (hd_trace_find_string(trace, THINNED_KEY, sizeof THINNED_KEY - 1) != HD_NONE)
        add_key(trust, trace, THINNED_KEY, add_sums);
    add_key(trust, trace, "ranks", add_members);
    add_key(trust, trace, "processes", add_members);
}
