/* context.c - columns that others refer to, and contexts made from them */
#include "format/heddle/codec/model.h"

const int64_t *store_ref(store_refs *refs, unsigned index)
{
    if (index >= STORE_BASE_REFS + STORE_KEY_REFS) return NULL;
    if (refs->columns[index] || !refs->base || index >= STORE_BASE_REFS || !(refs->known >> index & 1))
        return refs->columns[index];
    const int64_t *from = refs->base + (size_t)index * refs->stride;
    int64_t *to = refs->gathered + (size_t)index * refs->stride;
    for (uint32_t i = 0; i < refs->row_count; i++) to[i] = from[refs->rows[i]];
    return refs->columns[index] = to;
}

bool store_context_open(context *out, int64_t *table, int64_t *scopes, const store_plan *plan, store_refs *refs,
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
    if (out->history > 2 || (!mean && plan->history > 7) || (out->scoped && (!out->a || !out->history))) return false;
    if (out->a) out->a += first;
    if (out->b) out->b += first;
    out->mask = 63;
    while (out->mask + 1 < STORE_TABLE && out->mask < count) out->mask = out->mask * 2 + 1;
    memset(table, 0, (out->mask + 1) * sizeof *table);
    out->scopes = (int64_t(*)[2])(void *)scopes;
    if (out->scoped) memset(scopes, 0, 2 * STORE_SCOPES * sizeof *scopes);
    return true;
}
