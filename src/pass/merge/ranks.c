/* ranks.c - which rank each input is */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "pass/merge/merge.h"
#include "pass/options.h"
#include "trace/ranks.h"

static int by_rank(const void *a, const void *b)
{
    const hd_merge_input *const *x = a, *const *y = b;
    if ((*x)->rank != (*y)->rank) return (*x)->rank < (*y)->rank ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

hd_status hd_merge_find_twins(bool **out, const hd_merge_input *inputs, size_t count, hd_error *err)
{
    const hd_merge_input **order = malloc((count + 1) * sizeof *order);
    *out = calloc(count + 1, sizeof **out);
    if (!order || !*out) {
        free(order);
        return HD_NOMEM(err);
    }
    for (size_t i = 0; i < count; i++) order[i] = &inputs[i];
    hd_sort(order, count, sizeof *order, by_rank);
    for (size_t i = 1; i < count; i++) (*out)[order[i] - inputs] = order[i]->rank == order[i - 1]->rank;
    free(order);
    return HD_OK;
}

int64_t hd_merge_rank_of(const hd_merge_input *input)
{
    int64_t stated = hd_trace_facts_of(input->trace)->rank;
    return stated >= 0 ? stated : hd_rank_of_path(input->path);
}

bool hd_merge_is_one_rank(const hd_merge_input *inputs, size_t count)
{
    int64_t rank = hd_merge_rank_of(&inputs[0]);
    bool is_one = count > 1 && rank != HD_NO_NUMBER;
    for (size_t i = 0; i < count && is_one; i++)
        is_one = hd_merge_rank_of(&inputs[i]) == rank && hd_trace_facts_of(inputs[i].trace)->world_size <= 1;
    return is_one;
}

/* Numbers at the ends of names are ranks only if they are 0 to count - 1, each once: else they may be process ids,
 * as in dynolog's trace_7605.json. */
static hd_status number_by_names(bool *out, hd_merge_input *inputs, size_t count, hd_error *err)
{
    bool *seen = calloc(count + 1, sizeof *seen);
    if (!seen) return HD_NOMEM(err);
    *out = count > 1;
    for (size_t i = 0; i < count && *out; i++) {
        int64_t rank = hd_rank_at_end(inputs[i].path);
        *out = rank != HD_NO_NUMBER && rank < (int64_t)count && !seen[rank];
        if (*out) seen[rank] = true, inputs[i].rank = rank;
    }
    free(seen);
    return HD_OK;
}

hd_status hd_merge_find_ranks(hd_merge_input *inputs, size_t count, bool *out_by_place, hd_error *err)
{
    const hd_merge_input *without = NULL;
    size_t known = 0;
    bool by_names = false;
    for (size_t i = 0; i < count; i++) {
        inputs[i].rank = hd_merge_rank_of(&inputs[i]);
        if (inputs[i].rank != HD_NO_NUMBER)
            known++;
        else if (!without)
            without = &inputs[i];
    }
    if (known == 0) HD_TRY(number_by_names(&by_names, inputs, count, err));
    *out_by_place = known == 0 ? !by_names : hd_merge_is_one_rank(inputs, count);
    if (by_names) return HD_OK;
    for (size_t i = 0; i < count && *out_by_place; i++) inputs[i].rank = (int64_t)i;
    if (without && !*out_by_place)
        return hd_error_set(err, HD_ERR_ARGUMENT, without->path, HD_OFFSET_NONE,
                            "does not say its rank, and other inputs do: give it a name such as rank3.json");
    return HD_OK;
}

hd_status hd_merge_known_ranks(hd_merge_input *inputs, size_t count, hd_error *err)
{
    size_t known = 0;
    bool by_names = false;
    for (size_t i = 0; i < count; i++) known += (inputs[i].rank = hd_merge_rank_of(&inputs[i])) != HD_NO_NUMBER;
    if (known) return HD_OK;
    HD_TRY(number_by_names(&by_names, inputs, count, err));
    for (size_t i = 0; i < count && !by_names; i++) inputs[i].rank = HD_NO_NUMBER;
    return HD_OK;
}

/* ---- shifts ---- */

static hd_status parse_shift(int64_t *out_rank, int64_t *out_ns, const char *text, hd_error *err)
{
    hd_convert_time time;
    size_t size = strcspn(text, "=");
    if (!text[size] || !hd_fixed_parse_whole(out_rank, text, size) || *out_rank < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "'%.40s' is not RANK=TIME", text);
    HD_TRY(hd_option_set_offset(&time, text + size + 1, err));
    *out_ns = time.value;
    return HD_OK;
}

hd_status hd_merge_find_shifts(hd_merge_input *inputs, size_t count, hd_option_texts shifts, hd_error *err)
{
    int64_t rank = 0, shift_ns = 0;
    bool *found = calloc(count + 1, sizeof *found);
    hd_status status = found ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) inputs[i].shift_ns = 0;
    for (size_t s = 0; s < shifts.count && status == HD_OK; s++) {
        status = parse_shift(&rank, &shift_ns, shifts.items[s], err);
        for (size_t i = 0; i < count && status == HD_OK; i++) {
            if (inputs[i].rank != rank) continue;
            inputs[i].shift_ns = shift_ns;
            found[i] = true;
        }
    }
    for (size_t i = 0; i < count && status == HD_OK && shifts.count; i++) {
        if (found[i]) continue;
        status = hd_error_set(err, HD_ERR_ARGUMENT, inputs[i].path, HD_OFFSET_NONE,
                              "no shift is known of rank %" PRId64 ", but of others", inputs[i].rank);
    }
    free(found);
    return status;
}
