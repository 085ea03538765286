/* list.c - the analyses of this build, and small functions that all of them need */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "heddle/analysis/job.h"
#include "heddle/names.h"
#include "pass/options.h"
#include "report/report.h"

static const hd_report_about *const reports[] = {
    &report_summary_about,     &report_breakdown_about,     &report_kernels_about,       &report_copies_about,
    &report_operators_about,   &report_modules_about,       &report_ranges_about,        &report_steps_about,
    &report_launches_about,    &report_queue_about,         &report_states_about,        &report_idle_about,
    &report_syncs_about,       &report_critical_path_about, &report_communication_about, &report_flops_about,
    &report_timeline_about,    &report_memory_about,        &report_info_about,          &report_check_about,
    &report_attribution_about, &report_stragglers_about,    &report_clocks_about,        &report_imbalance_about,
    &report_topology_about,    &report_job_about,           &report_slowdown_about,      &report_hang_about,
    &report_whatif_about};

enum { REPORT_COUNT = sizeof reports / sizeof *reports };

size_t hd_report_count(void)
{
    return REPORT_COUNT;
}

const hd_report_about *hd_report_at(size_t index)
{
    return index < REPORT_COUNT ? reports[index] : NULL;
}

const hd_report_about *hd_report_about_find(const char *name)
{
    for (size_t i = 0; i < REPORT_COUNT; i++) {
        if (strcmp(reports[i]->name, name) == 0) return reports[i];
    }
    return NULL;
}

static hd_status refuse_name(const char *name, hd_error *err)
{
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    for (size_t i = 0; i < REPORT_COUNT; i++) hd_name_suggest(name, reports[i]->name, &best, &distance);
    if (best)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no report '%.60s'; did you mean %s?", name,
                            best);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no report '%.60s'; heddle report lists them",
                        name);
}

/* "KEY=VALUE" or "KEY". A name that is too long is cut, and will be unknown. */
static hd_status set_option(hd_option_values *values, const char *report, const char *text, hd_error *err)
{
    char of[80], key[64];
    size_t size = strcspn(text, "=");
    snprintf(key, sizeof key, "%.*s", size < sizeof key ? (int)size : (int)sizeof key - 1, text);
    snprintf(of, sizeof of, "report %s", report);
    return hd_option_values_set(values, of, key, text[size] ? text + size + 1 : NULL, err);
}

hd_status report_options_set(hd_option_values *values, const hd_report_about *about, const char *const *options,
                             hd_error *err)
{
    hd_status status = hd_option_values_init(values, about->options, about->options_size, err);
    if (status != HD_OK) return status;
    for (const char *const *o = options; o && *o && status == HD_OK; o++)
        status = set_option(values, about->name, *o, err);
    if (status != HD_OK) hd_option_values_deinit(values);
    return status;
}

hd_status hd_report_options_valid(const char *name, const char *const *options, hd_error *err)
{
    const hd_report_about *about = hd_report_about_find(name);
    hd_option_values values;
    if (!about) return refuse_name(name, err);
    HD_TRY(report_options_set(&values, about, options, err));
    hd_option_values_deinit(&values);
    return HD_OK;
}

hd_status hd_report_run(hd_report *out, const char *name, const hd_report_input *input, hd_error *err)
{
    const hd_report_about *about = hd_report_about_find(name);
    hd_option_values values;
    *out = (hd_report){0};
    if (!about) return refuse_name(name, err);
    HD_TRY(report_options_set(&values, about, input->options, err));
    hd_job *own = NULL;
    hd_report_input used = *input;
    hd_status status = about->of_job ? job_of_input(&own, input, err) : HD_OK;
    if (own) used.job = own;
    if (status == HD_OK) status = about->run(out, &used, values.values, err);
    hd_option_values_deinit(&values);
    if (status == HD_OK && about->of_job)
        status = job_set_trust(out, used.job, err);
    else if (status == HD_OK && !out->trust && input->trace)
        status = report_set_trust(out, input->trace, NULL, err);
    if (status == HD_OK) status = report_tell_beyond(out, err);
    if (status != HD_OK) hd_report_free(out); /* tables that were made before */
    hd_job_free(own);
    return status;
}

void hd_report_free(hd_report *report)
{
    if (!report) return;
    for (size_t i = 0; i < report->table_count; i++) hd_table_free(report->tables[i]);
    hd_table_free(report->trust);
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
    hd_table_set_saturating(*out);
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
    {"stage", HD_VALUE_STRING, "the reader or pass that found it"},
    {"code", HD_VALUE_STRING, "its type, as in docs/formats"},
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
