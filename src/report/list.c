/* list.c - the analyses of this build, and small things that all of them need */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/report.h"

static hd_status run_info(hd_report *out, const hd_report_input *input, hd_error *err)
{
    return hd_report_info(out, input->trace, err);
}

static hd_status run_check(hd_report *out, const hd_report_input *input, hd_error *err)
{
    uint64_t examples = 1, tracks = 0;
    HD_TRY(report_option_count(&examples, input, "examples", 100000, err));
    HD_TRY(report_option_count(&tracks, input, "tracks", UINT32_MAX, err));
    const hd_check_options options = {.examples = (uint32_t)examples,
                                      .tracks_per_code = (uint32_t)tracks,
                                      .only = report_option(input, "only"),
                                      .ignore = report_option(input, "ignore")};
    return hd_report_check(out, input->trace, &options, err);
}

static hd_status run_memory(hd_report *out, const hd_report_input *input, hd_error *err)
{
    hd_memory_report_options options = {.series = report_option(input, "series")};
    const hd_memory_options find = {.no_stacks = report_option(input, "no-stacks")};
    hd_memory *own = NULL;
    HD_TRY(report_option_count(&options.rows, input, "rows", UINT64_MAX, err));
    if (!input->memory) HD_TRY(hd_memory_new(&own, input->trace, &find, err));
    hd_status status = hd_report_memory(out, own ? own : input->memory, input->trace, &options, err);
    hd_memory_free(own);
    return status;
}

static hd_status run_attribution(hd_report *out, const hd_report_input *input, hd_error *err)
{
    hd_attribution own = {0};
    hd_status status = HD_OK;
    if (!input->attribution) status = hd_attribute(&own, input->trace, NULL, NULL, err);
    if (status == HD_OK)
        status = hd_report_attribution(out, input->attribution ? input->attribution : &own, input->trace, err);
    hd_attribution_deinit(&own);
    return status;
}

static const struct report_entry {
    const hd_report_about *about;
    hd_status (*run)(hd_report *out, const hd_report_input *input, hd_error *err);
} entries[] = {
    {&report_info_about, run_info},
    {&report_check_about, run_check},
    {&report_memory_about, run_memory},
    {&report_attribution_about, run_attribution},
};

enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

size_t hd_report_count(void)
{
    return ENTRY_COUNT;
}

const hd_report_about *hd_report_at(size_t index)
{
    return index < ENTRY_COUNT ? entries[index].about : NULL;
}

static const struct report_entry *entry_of(const char *name)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].about->name, name) == 0) return &entries[i];
    }
    return NULL;
}

const hd_report_about *hd_report_about_find(const char *name)
{
    const struct report_entry *entry = entry_of(name);
    return entry ? entry->about : NULL;
}

/* "a, b and c" of the names of all reports, or of the options of one. */
static const char *names_of(char *out, size_t room, const hd_report_option *options)
{
    size_t used = 0, count = 0;
    while (options ? options[count].name != NULL : count < ENTRY_COUNT) count++;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s",
                                 i == 0           ? ""
                                 : i + 1 == count ? " and "
                                                  : ", ",
                                 options ? options[i].name : entries[i].about->name);
    return out;
}

static hd_status check_option(const hd_report_about *about, const char *option, hd_error *err)
{
    char names[160];
    size_t size = strcspn(option, "=");
    for (const hd_report_option *o = about->options; o && o->name; o++) {
        if (strlen(o->name) != size || memcmp(o->name, option, size) != 0) continue;
        if ((option[size] == '=') == (o->value != NULL)) return HD_OK;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            o->value ? "%s of the report %s needs a value: %s=%s" : "%s of the report %s has no value",
                            o->name, about->name, o->name, o->value);
    }
    if (!about->options)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the report %s has no options", about->name);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the report %s has no option '%.*s'; it has %s",
                        about->name, (int)(size < 60 ? size : 60), option,
                        names_of(names, sizeof names, about->options));
}

const char *report_option(const hd_report_input *input, const char *name)
{
    size_t size = strlen(name);
    for (const char *const *o = input->options; o && *o; o++) {
        if (strncmp(*o, name, size) != 0) continue;
        if ((*o)[size] == '=') return *o + size + 1;
        if ((*o)[size] == '\0') return *o + size;
    }
    return NULL;
}

hd_status report_option_count(uint64_t *out, const hd_report_input *input, const char *name, uint64_t max,
                              hd_error *err)
{
    const char *text = report_option(input, name);
    char *end;
    if (!text) return HD_OK;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < 1 || value > max)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s=%.60s is not a number from 1 to %" PRIu64,
                            name, text, max);
    *out = value;
    return HD_OK;
}

hd_status hd_report_run(hd_report *out, const char *name, const hd_report_input *input, hd_error *err)
{
    char names[160];
    const struct report_entry *entry = entry_of(name);
    *out = (hd_report){0};
    if (!entry)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no report has the name '%.60s'; there are %s",
                            name, names_of(names, sizeof names, NULL));
    for (const char *const *o = input->options; o && *o; o++) HD_TRY(check_option(entry->about, *o, err));
    return entry->run(out, input, err);
}

void hd_report_free(hd_report *report)
{
    if (!report) return;
    for (size_t i = 0; i < report->table_count; i++) hd_table_free(report->tables[i]);
    *report = (hd_report){0};
}

const hd_table *hd_report_table(const hd_report *report, const char *name)
{
    for (size_t i = 0; i < report->table_count; i++) {
        if (strcmp(hd_table_name(report->tables[i]), name) == 0) return report->tables[i];
    }
    return NULL;
}

hd_status report_add(hd_report *report, hd_table_builder *builder, hd_error *err)
{
    hd_table *table;
    HD_TRY(hd_table_finish(&table, builder, err));
    assert(report->table_count < HD_REPORT_TABLES);
    report->tables[report->table_count++] = table;
    return HD_OK;
}

hd_status report_builder(hd_table_builder **out, const hd_report_about *about, const char *table, hd_error *err)
{
    const hd_report_table_about *t = about->tables;
    while (strcmp(t->name, table) != 0) t++;
    HD_TRY(hd_table_builder_new(out, table, err));
    for (const hd_report_column *c = t->columns; c->name; c++) hd_table_add_column(*out, c->name, c->type);
    return HD_OK;
}

void report_cell_int(hd_table_builder *builder, int64_t value)
{
    if (value == HD_NO_NUMBER)
        hd_table_add_null(builder);
    else
        hd_table_add_int(builder, value);
}

void report_cell_string(hd_table_builder *builder, const hd_trace *trace, uint32_t id)
{
    hd_string text = hd_trace_string(trace, id);
    if (id == HD_STRING_NONE)
        hd_table_add_null(builder);
    else
        hd_table_add_string(builder, text.data, text.size);
}

void report_cell_ident(hd_table_builder *builder, const hd_trace *trace, hd_ident ident)
{
    hd_string text = hd_trace_string(trace, ident.text);
    if (ident.type == HD_IDENT_NONE)
        hd_table_add_null(builder);
    else
        hd_table_add_string(builder, text.data, text.size);
}

/* ---- the ledger ---- */

const hd_report_column report_ledger_columns[] = {
    {"stage", HD_VALUE_STRING, "which reader or pass noticed it"},
    {"code", HD_VALUE_STRING, "what it was, in the words of docs/formats"},
    {"level", HD_VALUE_STRING, "loss, repair or note"},
    {"count", HD_VALUE_COUNT, "how often"},
    {"offset", HD_VALUE_INT, "byte of the decompressed input where it was first seen"},
    {0},
};

hd_status report_add_ledger(hd_report *out, const hd_trace *trace, hd_error *err)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "ledger", err));
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        hd_table_add_text(builder, row->stage);
        hd_table_add_text(builder, row->code);
        hd_table_add_text(builder, levels[row->level]);
        hd_table_add_count(builder, row->count);
        if (row->first_offset == HD_OFFSET_NONE)
            hd_table_add_null(builder);
        else
            hd_table_add_int(builder, (int64_t)row->first_offset);
    }
    return report_add(out, builder, err);
}

/* ---- the clock ---- */

#define YEAR_2000_NS INT64_C(946684800000000000)
#define YEAR_2200_NS INT64_C(7258118400000000000)

int64_t report_clock_base(const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    if (facts->start_ns == HD_NO_TIME) return facts->base_ns;
    if (facts->start_ns >= YEAR_2000_NS && facts->start_ns < YEAR_2200_NS) return 0;
    return facts->base_ns;
}

/* Days since 1970-01-01 to a date of the Gregorian calendar, by 400-year cycles that begin in March. */
static void civil_date(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned day_of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = (int64_t)year_of_era + era * 400 + (*month <= 2);
}

const char *report_wall_text(char *out, int64_t unix_ns)
{
    int64_t seconds = unix_ns / 1000000000, ns = unix_ns % 1000000000;
    if (ns < 0) {
        ns += 1000000000;
        seconds--;
    }
    int64_t days = seconds / 86400, rest = seconds % 86400, year;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    unsigned month, day;
    civil_date(days, &year, &month, &day);
    snprintf(out, HD_VALUE_TEXT_BYTES, "%04d-%02u-%02u %02u:%02u:%02u.%09u UTC", (int)year, month, day,
             (unsigned)(rest / 3600), (unsigned)(rest / 60 % 60), (unsigned)(rest % 60), (unsigned)ns);
    return out;
}
