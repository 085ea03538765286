/* args.c - the arguments of a block that match: keys, texts, and numbers as they were written */
#include <stdlib.h>

#include "base/json/write.h"
#include "base/memory/vector.h"
#include "view/search/impl.h"

bool search_number_matches(view_matcher *matcher, hd_arg_type type, int64_t bits)
{
    char buffer[64]; /* more than any number needs */
    hd_json_out text = {.data = buffer, .capacity = sizeof buffer};
    if (type == HD_ARG_INT) return view_matches_int(matcher, bits);
    hd_json_put_decimal(&text, hd_decimal_mantissa(bits), hd_decimal_scale(bits));
    return view_matches(matcher, text.data, text.size);
}

/* Columns of one or two bytes per value have few distinct ones: each is matched once. */
static void mark_few_numbers(search_worker *w, uint8_t *marks, const hd_column *column, uint32_t rows, hd_arg_type type)
{
    uint8_t *memo = w->number_memo;
    memset(memo, MEMO_UNKNOWN, (size_t)1 << 8 * column->width);
    for (uint32_t i = 0; i < rows; i++) {
        int64_t bits = hd_column_at(column, i);
        uint8_t *known = &memo[(uint64_t)bits - (uint64_t)column->base];
        if (*known == MEMO_UNKNOWN) *known = search_number_matches(&w->matcher, type, bits) ? MEMO_YES : MEMO_NO;
        marks[i] |= *known == MEMO_YES;
    }
}

static void mark_numbers(search_worker *w, uint8_t *marks, const hd_column *column, uint32_t rows, hd_arg_type type)
{
    bool known = false, found = false;
    int64_t last = 0;
    if (column->width == 1 || column->width == 2) {
        mark_few_numbers(w, marks, column, rows, type);
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        int64_t bits = hd_column_at(column, i);
        if (!known || bits != last) {
            found = search_number_matches(&w->matcher, type, bits);
            last = bits;
            known = true;
        }
        marks[i] |= found;
    }
}

static void mark_words(search_worker *w, uint8_t *marks, const hd_column *column, uint32_t rows)
{
    bool yes = view_matches(&w->matcher, "true", 4), no = view_matches(&w->matcher, "false", 5);
    if (!yes && !no) return;
    for (uint32_t i = 0; i < rows; i++) marks[i] |= hd_column_at(column, i) ? yes : no;
}

static void mark_texts(search_worker *w, uint8_t *marks, const hd_column *column, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) marks[i] |= search_text_matches(w, (uint32_t)hd_column_at(column, i));
}

static void mark_group(search_worker *w, uint8_t *marks, const hd_arg_group *group)
{
    const hd_shape *shape = hd_trace_shape_at(w->run->trace, group->shape);
    memset(marks, 0, group->row_count);
    for (uint32_t k = 0; k < shape->key_count; k++) {
        const hd_arg_key *key = &shape->keys[k];
        if (key->scope != HD_SCOPE_ARGS) continue;
        if (search_text_matches(w, key->key)) {
            memset(marks, 1, group->row_count);
            return;
        }
        switch ((hd_arg_type)key->type) {
        case HD_ARG_NULL: break;
        case HD_ARG_BOOL: mark_words(w, marks, &group->columns[k], group->row_count); break;
        case HD_ARG_INT:
        case HD_ARG_DECIMAL:
            if (view_may_match_numbers(&w->matcher))
                mark_numbers(w, marks, &group->columns[k], group->row_count, (hd_arg_type)key->type);
            break;
        default: mark_texts(w, marks, &group->columns[k], group->row_count); break;
        }
    }
}

bool search_mark_args(search_worker *w, const hd_block *block)
{
    size_t all = 0;
    for (uint32_t g = 0; g < block->group_count; g++) all += block->groups[g].row_count;
    char *marks = (char *)w->marks;
    bool fine = hd_reserve(&marks, &w->mark_capacity, all + 1);
    w->marks = (uint8_t *)marks;
    if (!fine) return false;
    size_t at = 0;
    for (uint32_t g = 0; g < block->group_count; g++) {
        const hd_arg_group *group = &block->groups[g];
        mark_group(w, w->marks + at, group);
        w->mark_at[group->shape] = (uint32_t)at + 1;
        at += group->row_count;
    }
    return true;
}

void search_unmark_args(search_worker *w, const hd_block *block)
{
    for (uint32_t g = 0; g < block->group_count; g++) w->mark_at[block->groups[g].shape] = 0;
}
