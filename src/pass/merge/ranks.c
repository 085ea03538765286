/* ranks.c - which rank each input is */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "base/text/ends.h"
#include "pass/merge/merge.h"
#include "pass/options.h"

enum { RANK_DIGITS = 6 }; /* longer numbers in names are times and process ids */

static bool number_at(int64_t *out, const char *text, size_t size)
{
    if (size == 0 || size > RANK_DIGITS) return false;
    *out = 0;
    for (size_t i = 0; i < size; i++) *out = *out * 10 + (text[i] - '0');
    return true;
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

static bool same_word(const char *text, const char *word)
{
    for (; *word; text++, word++) {
        if (tolower((unsigned char)*text) != *word) return false;
    }
    return true;
}

/* rank3, rank_3, Rank-03, rank.3, rank=3; the last one in the name counts. */
static bool number_behind(int64_t *out, const char *name, const char *word)
{
    bool found = false;
    for (const char *p = name; *p; p++) {
        if (!same_word(p, word) || (p > name && isalpha((unsigned char)p[-1]))) continue;
        const char *digits = p + strlen(word);
        digits += *digits && strchr("_-.=", *digits) ? 1 : 0;
        found |= number_at(out, digits, digits_at(digits));
    }
    return found;
}

/* trace_3.json.gz, 3.json: the number before the extensions. */
static bool number_at_end(int64_t *out, const char *name)
{
    const char *end = name + strlen(name);
    for (const char *dot = end; dot > name; dot--) {
        if (*dot == '.' && !isdigit((unsigned char)dot[1])) end = dot;
    }
    const char *first = end;
    while (first > name && isdigit((unsigned char)first[-1])) first--;
    if (first > name && !strchr("_-.", first[-1])) return false;
    return number_at(out, first, (size_t)(end - first));
}

int64_t hd_merge_rank_of_path(const char *path)
{
    static const char *const words[] = {"rank", "worker"};
    const char *name = hd_base_name(path);
    int64_t rank;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (number_behind(&rank, name, words[i])) return rank;
    }
    return HD_NO_NUMBER;
}

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
    qsort(order, count, sizeof *order, by_rank);
    for (size_t i = 1; i < count; i++) (*out)[order[i] - inputs] = order[i]->rank == order[i - 1]->rank;
    free(order);
    return HD_OK;
}

int64_t hd_merge_rank_of(const hd_merge_input *input)
{
    int64_t stated = hd_trace_facts_of(input->trace)->rank;
    return stated >= 0 ? stated : hd_merge_rank_of_path(input->path);
}

bool hd_merge_is_one_rank(const hd_merge_input *inputs, size_t count)
{
    int64_t rank = hd_merge_rank_of(&inputs[0]);
    bool is_one = count > 1 && rank != HD_NO_NUMBER;
    for (size_t i = 0; i < count && is_one; i++)
        is_one = hd_merge_rank_of(&inputs[i]) == rank && hd_trace_facts_of(inputs[i].trace)->world_size <= 1;
    return is_one;
}

/* Numbers at the ends of names are ranks only if they are 0 to count - 1, each once: else they may be process ids, as in
 * dynolog's trace_7605.json. */
static bool number_by_names(hd_merge_input *inputs, size_t count, hd_error *err, hd_status *status)
{
    bool *seen = calloc(count + 1, sizeof *seen), are_ranks = seen && count > 1;
    *status = seen ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && are_ranks; i++) {
        int64_t rank;
        are_ranks = number_at_end(&rank, hd_base_name(inputs[i].path)) && rank < (int64_t)count && !seen[rank];
        if (are_ranks) seen[rank] = true, inputs[i].rank = rank;
    }
    free(seen);
    return are_ranks;
}

hd_status hd_merge_find_ranks(hd_merge_input *inputs, size_t count, bool *out_by_place, hd_error *err)
{
    hd_status status = HD_OK;
    const hd_merge_input *without = NULL;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        inputs[i].rank = hd_merge_rank_of(&inputs[i]);
        if (inputs[i].rank != HD_NO_NUMBER)
            known++;
        else if (!without)
            without = &inputs[i];
    }
    *out_by_place = known == 0 ? !number_by_names(inputs, count, err, &status) : hd_merge_is_one_rank(inputs, count);
    if (status != HD_OK) return status;
    if (known == 0 && !*out_by_place) return HD_OK;
    for (size_t i = 0; i < count && *out_by_place; i++) inputs[i].rank = (int64_t)i;
    if (without && !*out_by_place)
        return hd_error_set(err, HD_ERR_ARGUMENT, without->path, HD_OFFSET_NONE,
                            "does not say its rank, and other inputs do: give it a name such as rank3.json");
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
