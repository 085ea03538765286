/* filter_pattern.c - lists of patterns: globs and regular expressions */
#include "pass/filter_pattern.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"

struct filter_pattern {
    bool unwanted, is_regex;
    char *glob;
    regex_t regex;
};

void filter_list_deinit(filter_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->patterns[i].is_regex) regfree(&list->patterns[i].regex);
        free(list->patterns[i].glob);
    }
    free(list->patterns);
    free(list->text);
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
    char problem[128], *expression = copy_text(text, size);
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
    int failed = regcomp(&pattern->regex, expression, REG_EXTENDED | REG_NOSUB);
    if (failed) regerror(failed, &pattern->regex, problem, sizeof problem);
    pattern->is_regex = !failed;
    if (failed)
        hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: /%.100s/ is no regular expression: %s", option,
                     expression, problem);
    free(expression);
    return failed ? HD_ERR_ARGUMENT : HD_OK;
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
    if (slash) HD_TRY(compile(&pattern, start + 1, (size_t)(slash - start - 1), option, err));
    if (!slash && !(pattern.glob = copy_text(start, (size_t)(end - start)))) return HD_NOMEM(err);
    list->any_wanted |= !pattern.unwanted;
    list->patterns[list->count++] = pattern;
    *at = end;
    return HD_OK;
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

static bool matches(const filter_pattern *pattern, const char *text)
{
    if (pattern->is_regex) return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
    return fnmatch(pattern->glob, text, 0) == 0;
}

bool filter_list_passes(filter_list *list, const filter_text *texts, size_t count, bool *failed)
{
    bool wanted = !list->any_wanted, unwanted = false;
    for (size_t i = 0; i < count && list->count; i++) {
        if (!hd_reserve(&list->text, &list->text_capacity, texts[i].size + 1)) {
            *failed = true;
            return false;
        }
        if (texts[i].size) memcpy(list->text, texts[i].data, texts[i].size);
        list->text[texts[i].size] = '\0';
        for (size_t p = 0; p < list->count; p++) {
            bool *found = list->patterns[p].unwanted ? &unwanted : &wanted;
            *found = *found || matches(&list->patterns[p], list->text);
        }
    }
    return wanted && !unwanted;
}
