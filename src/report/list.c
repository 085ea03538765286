/* list.c - the analyses of this build, and small things that all of them need */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/report.h"

static hd_status run_check(hd_report *out, const hd_trace *trace, hd_error *err)
{
    return hd_report_check(out, trace, NULL, err);
}

static hd_status run_memory(hd_report *out, const hd_trace *trace, hd_error *err)
{
    hd_memory *memory;
    HD_TRY(hd_memory_new(&memory, trace, NULL, err));
    hd_status status = hd_report_memory(out, memory, trace, NULL, err);
    hd_memory_free(memory);
    return status;
}

static const report_entry entries[] = {
    {{"info", "what is in a trace"}, hd_report_info},
    {{"check", "what a viewer drops or misdraws, or an analysis gets wrong"}, run_check},
    {{"memory", "what was allocated, live at the peak, and never freed"}, run_memory},
};

enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

size_t hd_report_count(void)
{
    return ENTRY_COUNT;
}

const hd_report_about *hd_report_at(size_t index)
{
    return index < ENTRY_COUNT ? &entries[index].about : NULL;
}

hd_status hd_report_run(hd_report *out, const char *name, const hd_trace *trace, hd_error *err)
{
    *out = (hd_report){0};
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].about.name, name) == 0) return entries[i].run(out, trace, err);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no report has the name '%.60s'", name);
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

hd_status report_builder(hd_table_builder **out, const char *name, const report_column *columns, hd_error *err)
{
    HD_TRY(hd_table_builder_new(out, name, err));
    for (; columns->name; columns++) hd_table_add_column(*out, columns->name, columns->type);
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

/* ---- the ledger ------------------------------------------------------------------------------------------ */

hd_status report_add_ledger(hd_report *out, const hd_trace *trace, hd_error *err)
{
    static const report_column columns[] = {{"stage", HD_VALUE_STRING}, {"code", HD_VALUE_STRING},
                                            {"level", HD_VALUE_STRING}, {"count", HD_VALUE_COUNT},
                                            {"offset", HD_VALUE_INT},   {NULL, HD_VALUE_INT}};
    static const char *const levels[] = {"note", "repair", "loss"};
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, "ledger", columns, err));
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

/* ---- the clock ------------------------------------------------------------------------------------------- */

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
