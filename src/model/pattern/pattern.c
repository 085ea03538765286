/* pattern.c - lists of patterns: globs and regular expressions */
#include "model/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/pattern.h"

struct filter_pattern {
    bool unwanted;
    char *text; /* of the glob, or of the regular expression */
    bool is_regex;
    hd_regex regex;
};

void filter_list_deinit(filter_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        hd_regex_deinit(&list->patterns[i].regex);
        free(list->patterns[i].text);
    }
    free(list->patterns);
    *list = (filter_list){0};
}

static char *copy_text(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* text: between the slashes. `\/` is a slash there, and any other backslash the regular expression's own. */
static hd_status compile(filter_pattern *pattern, const char *text, size_t size, const char *option, hd_error *err)
{
    char *expression = pattern->text = copy_text(text, size);
    size_t kept = 0;
    if (!expression) return HD_NOMEM(err);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\' && i + 1 < size) {
            if (text[i + 1] != '/') expression[kept++] = text[i];
            i++;
        }
        expression[kept++] = text[i];
    }
    expression[kept] = '\0';
    pattern->is_regex = true;
    return hd_regex_init(&pattern->regex, expression, true, option, err);
}

/* The end of the pattern at `at`: a comma, or the end of the list. Regular expressions may hold commas. */
static const char *pattern_end(const char *at, const char **out_slash)
{
    bool regex = *at == '/';
    *out_slash = NULL;
    if (regex) {
        for (at++; *at && *at != '/'; at++) at += *at == '\\' && at[1];
        if (*at != '/') return NULL;
        *out_slash = at;
        return at + 1;
    }
    for (; *at && *at != ','; at++) at += *at == '\\' && at[1];
    return at;
}

static hd_status add_pattern(filter_list *list, const char **at, const char *option, hd_error *err)
{
    const char *slash, *start = *at + (**at == '!');
    const char *end = pattern_end(start, &slash);
    filter_pattern pattern = {.unwanted = **at == '!'};
    if (!end || (slash && *end && *end != ','))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "%s: '%.100s' begins with / and so must end with /, as in /^gemm/; write \\/ for a slash",
                            option, start);
    if (end == start)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: an empty pattern; * matches everything",
                            option);
    if (!hd_grow((void **)&list->patterns, &list->capacity, list->count, sizeof *list->patterns)) return HD_NOMEM(err);
    hd_status status = HD_OK;
    if (slash)
        status = compile(&pattern, start + 1, (size_t)(slash - start - 1), option, err);
    else if (!(pattern.text = copy_text(start, (size_t)(end - start))))
        status = HD_NOMEM(err);
    list->any_wanted |= !pattern.unwanted;
    list->patterns[list->count++] = pattern;
    *at = end;
    return status;
}

hd_status filter_list_init(filter_list *out, const char *list, const char *option, hd_error *err)
{
    hd_status status = HD_OK;
    *out = (filter_list){0};
    for (const char *at = list; at && status == HD_OK;) {
        status = add_pattern(out, &at, option, err);
        if (status != HD_OK || *at == '\0') break;
        at++; /* the comma */
    }
    if (status != HD_OK) filter_list_deinit(out);
    return status;
}

static bool matches(filter_pattern *pattern, const filter_text *text)
{
    if (pattern->is_regex) return hd_regex_matches(&pattern->regex, text->data, text->size);
    return hd_glob_matches(pattern->text, text->data, text->size, false);
}

bool filter_list_passes(filter_list *list, const filter_text *texts, size_t count)
{
    bool wanted = !list->any_wanted, unwanted = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < list->count; p++) {
            bool *found = list->patterns[p].unwanted ? &unwanted : &wanted;
            *found = *found || matches(&list->patterns[p], &texts[i]);
        }
    }
    return wanted && !unwanted;
}

/* ---- tracks ---- */

/* The name of a track, or its pid or tid. */
static hd_string label_of(const hd_trace *trace, const hd_track *track)
{
    hd_ident ident = track->kind == HD_TRACK_PROCESS ? track->pid : track->tid;
    return hd_trace_string(trace, track->name ? track->name : ident.text);
}

bool filter_track_passes(bool *failed, filter_list *list, const hd_trace *trace, const hd_track *track)
{
    if (list->count == 0) return true;
    hd_string own = label_of(trace, track), process = own;
    if (track->parent != HD_NONE) process = label_of(trace, hd_trace_track_at(trace, track->parent));
    char *both = malloc(process.size + own.size + 1);
    if (!both) {
        *failed = true;
        return false;
    }
    if (process.size) memcpy(both, process.data, process.size);
    both[process.size] = '/';
    if (own.size) memcpy(both + process.size + 1, own.data, own.size);
    const filter_text texts[] = {
        {own.data, own.size}, {process.data, process.size}, {both, process.size + own.size + 1}};
    bool passes = filter_list_passes(list, texts, sizeof texts / sizeof *texts);
    free(both);
    return passes;
}
