/* values.c - resolves references between values */
#include "format/xctrace/xctrace.h"

static const xctrace_value *follow(const xctrace_values *values, const xctrace_value *v)
{
    uint32_t target;
    for (int hops = 0; v && v->ref && hops < XCTRACE_HOPS; hops++)
        v = hd_map_get(&target, &values->by_id, v->ref, 0) ? &values->list[target - 1] : NULL;
    return v && !v->ref && !v->is_null ? v : NULL;
}

const xctrace_value *xctrace_value_at(const xctrace_values *values, uint32_t index)
{
    return index ? follow(values, &values->list[index - 1]) : NULL;
}

const xctrace_value *xctrace_child(const xctrace_values *values, const xctrace_value *value, uint32_t type)
{
    for (uint32_t at = value ? value->child : 0; at; at = values->list[at - 1].next) {
        if (values->list[at - 1].type == type) return follow(values, &values->list[at - 1]);
    }
    return NULL;
}
