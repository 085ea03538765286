/* conditions.c - conditions in the text of a search: dur>=1ms, arg:stream=7; other words are what names are searched
 * for */
#include <stdlib.h>

#include "base/error.h"
#include "heddle/options.h"
#include "trace/event.h"
#include "view/search/impl.h"

static hd_status read_duration(bool *out, view_search *s, const char *word, hd_error *err)
{
    hd_convert_time time;
    *out = strncmp(word, "dur", 3) == 0 && (word[3] == '<' || word[3] == '>');
    if (!*out) return HD_OK;
    bool is_least = word[3] == '>', with = word[4] == '=';
    HD_TRY(hd_convert_time_parse(&time, word + 4 + with, err));
    if (time.unit != HD_CONVERT_NS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%.80s: compare with a time, such as 1ms",
                            word);
    s->has_duration = true;
    if (is_least && time.value + !with > s->least_ns) s->least_ns = time.value + !with;
    if (!is_least && time.value - !with < s->most_ns) s->most_ns = time.value - !with;
    return HD_OK;
}

static hd_status read_arg(bool *out, view_search *s, char *word, hd_error *err)
{
    char *equals = strncmp(word, "arg:", 4) == 0 ? strchr(word + 4, '=') : NULL;
    *out = equals && equals > word + 4 && equals[1];
    if (!*out) return HD_OK;
    if (s->arg_count == VIEW_SEARCH_ARGS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "at most %d arguments can be compared",
                            VIEW_SEARCH_ARGS);
    *equals = '\0';
    size_t size = (size_t)(equals - word) - 4;
    s->args[s->arg_count++] =
        (view_search_arg){hd_trace_find_string(view_scene_trace(s->scene), word + 4, size), equals + 1};
    return HD_OK;
}

hd_status search_read_conditions(view_search *s, hd_error *err)
{
    s->words = strdup(s->text);
    s->names_text = calloc(strlen(s->text) + 1, 1);
    s->most_ns = INT64_MAX;
    s->names_mode = s->query.mode;
    s->in = s->query.in;
    if (!s->words || !s->names_text) return HD_NOMEM(err);
    size_t size = 0;
    bool has_any = false;
    for (char *word = s->words, *end; *word; word = end) {
        size_t length = strcspn(word, " "), spaces = strspn(word + length, " ");
        bool is_duration, is_arg = false;
        end = word + length + spaces;
        char after = word[length];
        word[length] = '\0';
        HD_TRY(read_duration(&is_duration, s, word, err));
        if (!is_duration) HD_TRY(read_arg(&is_arg, s, word, err));
        has_any = has_any || is_duration || is_arg;
        if (is_duration || is_arg) continue;
        word[length] = after;
        memcpy(s->names_text + size, word, length + spaces);
        size += length + spaces;
    }
    while (has_any && size && s->names_text[size - 1] == ' ') s->names_text[--size] = '\0';
    if (!has_any || size) return HD_OK;
    strcpy(s->names_text, "*"); /* any name: the text was longer than that */
    s->names_mode = VIEW_SEARCH_GLOB;
    s->in = VIEW_IN_NAMES;
    return HD_OK;
}

static bool value_matches(search_worker *w, size_t arg, const hd_value *value)
{
    view_matcher *matcher = &w->values[arg];
    hd_string string;
    switch (value->type) {
    case HD_ARG_NULL: string = (hd_string){"null", 4}; break;
    case HD_ARG_BOOL: string = value->bits ? (hd_string){"true", 4} : (hd_string){"false", 5}; break;
    case HD_ARG_INT:
    case HD_ARG_DECIMAL: return search_number_matches(matcher, value->type, value->bits);
    default: string = hd_trace_string(w->run->trace, (uint32_t)value->bits); break;
    }
    return view_matches(matcher, string.data, string.size);
}

bool search_meets_conditions(search_worker *w, const hd_block *block, uint32_t row)
{
    const view_search *s = w->run->search;
    if (s->has_duration) {
        if (block->kind != HD_KIND_SLICE) return false;
        int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
        if (duration < 0 || duration < s->least_ns || duration > s->most_ns) return false;
    }
    if (!s->arg_count) return true;
    hd_event event;
    hd_block_event(&event, block, row);
    for (size_t i = 0; i < s->arg_count; i++) {
        hd_value value;
        if (!hd_event_arg(&value, w->run->trace, &event, s->args[i].key) || !value_matches(w, i, &value)) return false;
    }
    return true;
}
