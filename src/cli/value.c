/* value.c - the values of options: text to number, choice or set, checked */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool bounded(const cli_option *option)
{
    return option->min != 0 || option->max != 0;
}

/* Says why in `problem` when `value` is out of the option's bounds. */
static bool in_bounds(const cli_option *option, double value, char *problem, size_t size)
{
    if (!bounded(option) || (value >= option->min && value <= option->max)) return true;
    snprintf(problem, size, "is not between %.15g and %.15g", option->min, option->max);
    return false;
}

static bool parse_integer(const cli_option *option, int64_t *out, const char *text, char *problem, size_t size)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    errno = 0;
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end) {
        snprintf(problem, size, "is not a whole number");
        return false;
    }
    if (errno) {
        snprintf(problem, size, "is too large");
        return false;
    }
    *out = value;
    return in_bounds(option, (double)value, problem, size);
}

static uint64_t suffix_factor(const char *suffix)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } factors[] = {
        {"", 1},           {"k", 1000},  {"K", 1000},         {"M", 1000000},
        {"G", 1000000000}, {"Ki", 1024}, {"Mi", 1024 * 1024}, {"Gi", 1024 * 1024 * 1024},
    };
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (strcmp(suffix, factors[i].suffix) == 0) return factors[i].factor;
    }
    return 0;
}

static bool parse_count(const cli_option *option, uint64_t *out, const char *text, char *problem, size_t size)
{
    errno = 0;
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    uint64_t factor = text[0] >= '0' && text[0] <= '9' ? suffix_factor(end) : 0;
    if (factor == 0) {
        snprintf(problem, size, "is not a count (such as 20, 10k or 4M)");
        return false;
    }
    uint64_t product;
    if (errno || __builtin_mul_overflow((uint64_t)value, factor, &product)) {
        snprintf(problem, size, "is too large");
        return false;
    }
    *out = product;
    return in_bounds(option, (double)product, problem, size);
}

static bool parse_decimal(const cli_option *option, double *out, const char *text, char *problem, size_t size)
{
    char *end = NULL;
    /* strtod also reads "nan", "inf" and hexadecimal. */
    bool plain = text[0] && text[strspn(text, "0123456789.eE+-")] == '\0';
    double value = plain ? strtod(text, &end) : 0;
    if (!plain || end == text || *end || value - value != 0) {
        snprintf(problem, size, "is not a decimal number");
        return false;
    }
    *out = value;
    return in_bounds(option, value, problem, size);
}

/* The index of a choice, or -1. */
static int find_choice(const cli_option *option, const char *text, size_t size)
{
    for (int i = 0; option->choices[i]; i++) {
        if (strlen(option->choices[i]) == size && memcmp(option->choices[i], text, size) == 0) return i;
    }
    return -1;
}

static void list_choices(const cli_option *option, const char *start, char *problem, size_t size)
{
    int used = snprintf(problem, size, "%s", start);
    for (int i = 0; option->choices[i] && used >= 0 && (size_t)used < size; i++) {
        used += snprintf(problem + used, size - (size_t)used, "%s%s", i ? ", " : "", option->choices[i]);
    }
}

static bool parse_choices(const cli_option *option, uint64_t *out, const char *text, char *problem, size_t size)
{
    uint64_t set = 0;
    const char *at = text;
    for (;;) {
        size_t length = strcspn(at, ",");
        int choice = find_choice(option, at, length);
        if (choice >= 0) {
            set |= UINT64_C(1) << choice;
        } else if (length == 3 && memcmp(at, "all", 3) == 0) {
            for (int i = 0; option->choices[i]; i++) set |= UINT64_C(1) << i;
        } else if (length != 4 || memcmp(at, "none", 4) != 0) {
            list_choices(option, "is not a list of: all, none, ", problem, size);
            return false;
        }
        if (at[length] == '\0') break;
        at += length + 1;
    }
    *out = set;
    return true;
}

static bool add_text(cli_texts *out, const char *text, char *problem, size_t size)
{
    if (out->count == CLI_TEXTS_MAX) {
        snprintf(problem, size, "is one too many: %d are the most", CLI_TEXTS_MAX);
        return false;
    }
    out->items[out->count++] = text;
    return true;
}

static bool add_given(const cli_option *option, cli_given *out, const char *text, char *problem, size_t size)
{
    if (out->count == CLI_TEXTS_MAX) {
        snprintf(problem, size, "is one too many: %d are the most", CLI_TEXTS_MAX);
        return false;
    }
    out->names[out->count] = option->name;
    out->values[out->count++] = text;
    return true;
}

bool cli_value_parse(const cli_option *option, void *options, const char *text, char *problem, size_t problem_size)
{
    void *field = (char *)options + option->field;
    int choice;
    switch (option->kind) {
    case CLI_FLAG: *(bool *)field = true; return true;
    case CLI_OPERAND: break; /* of the run: options.c */
    case CLI_TEXT: *(const char **)field = text; return true;
    case CLI_GIVEN: return add_given(option, field, text, problem, problem_size);
    case CLI_TEXTS: return add_text(field, text, problem, problem_size);
    case CLI_INTEGER: return parse_integer(option, field, text, problem, problem_size);
    case CLI_COUNT: return parse_count(option, field, text, problem, problem_size);
    case CLI_DECIMAL: return parse_decimal(option, field, text, problem, problem_size);
    case CLI_CHOICES: return parse_choices(option, field, text, problem, problem_size);
    case CLI_CHOICE:
        choice = find_choice(option, text, strlen(text));
        if (choice < 0) {
            list_choices(option, "is not one of: ", problem, problem_size);
            return false;
        }
        *(int *)field = choice;
        return true;
    }
    return false;
}

void cli_value_default(const cli_option *option, const void *defaults, char *out, size_t out_size)
{
    out[0] = '\0';
    if (!defaults) return;
    const void *field = (const char *)defaults + option->field;
    const char *text;
    switch (option->kind) {
    case CLI_FLAG:
    case CLI_TEXTS:
    case CLI_OPERAND:
    case CLI_GIVEN: break;
    case CLI_TEXT:
        text = *(const char *const *)field;
        if (text) snprintf(out, out_size, "%s", text);
        break;
    case CLI_INTEGER:
        /* -1: none. */
        if (*(const int64_t *)field != -1) snprintf(out, out_size, "%" PRId64, *(const int64_t *)field);
        break;
    case CLI_COUNT:
        /* Below the least value: none. */
        if (*(const uint64_t *)field >= option->min) snprintf(out, out_size, "%" PRIu64, *(const uint64_t *)field);
        break;
    case CLI_DECIMAL: snprintf(out, out_size, "%.15g", *(const double *)field); break;
    case CLI_CHOICE:
        /* Below 0 there is none unless it is chosen. */
        if (*(const int *)field >= 0) snprintf(out, out_size, "%s", option->choices[*(const int *)field]);
        break;
    case CLI_CHOICES: break;
    }
}

const char *cli_value_name(hd_option_kind kind)
{
    static const char *const names[] = {
        [HD_OPTION_COUNT] = "N",     [HD_OPTION_DECIMAL] = "X",  [HD_OPTION_TIME] = "TIME",
        [HD_OPTION_OFFSET] = "TIME", [HD_OPTION_TEXT] = "TEXT",  [HD_OPTION_PATTERNS] = "PATTERNS",
        [HD_OPTION_TEXTS] = "TEXT",  [HD_OPTION_TRACE] = "FILE",
    };
    return names[kind];
}

bool cli_ends_with(const char *path, size_t size, const char *end)
{
    size_t length = strlen(end);
    return size >= length && memcmp(path + size - length, end, length) == 0;
}
