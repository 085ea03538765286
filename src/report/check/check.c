/* check.c - the check as a whole: findings are collected part by part, then become tables
 *
 * Every part is O(n log n) at worst and looks at the columns it needs. The order of the parts does not matter; the
 * tables are ordered by severity, code and count.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "model/progress.h"
#include "report/check/check.h"
#include "report/report.h"

bool check_wants(const check *c, check_code code)
{
    const char *name = check_codes[code].code;
    if (c->options.only && !check_code_listed(c->options.only, name)) return false;
    return !check_code_listed(c->options.ignore, name);
}

static check_finding *add_finding(check *c, check_code code, uint32_t track)
{
    if (!hd_grow((void **)&c->findings, &c->finding_capacity, c->finding_count, sizeof *c->findings)) {
        c->failed = true;
        return NULL;
    }
    check_finding *finding = &c->findings[c->finding_count++];
    *finding = (check_finding){.code = code, .track = track, .worst_ns = HD_NO_TIME};
    return finding;
}

check_finding *check_finding_of(check *c, check_code code, uint32_t track)
{
    if (!check_wants(c, code)) return NULL;
    uint32_t tracks = hd_trace_track_count(c->trace), place = track == HD_NONE ? tracks : track;
    if (!c->by_track[code]) c->by_track[code] = calloc((size_t)tracks + 1, sizeof *c->by_track[code]);
    if (!c->by_track[code]) {
        c->failed = true;
        return NULL;
    }
    uint32_t *entry = &c->by_track[code][place];
    if (*entry) return &c->findings[*entry - 1];
    check_finding *finding = add_finding(c, code, track);
    if (finding) *entry = (uint32_t)c->finding_count;
    return finding;
}

static int64_t amount(int64_t ns)
{
    return ns == INT64_MIN ? INT64_MAX : ns < 0 ? -ns : ns;
}

void check_keep(const check *c, check_finding *finding, check_example example)
{
    if (example.value_ns != HD_NO_TIME &&
        (finding->worst_ns == HD_NO_TIME || amount(example.value_ns) > amount(finding->worst_ns)))
        finding->worst_ns = example.value_ns;
    if (finding->example_count >= c->options.examples) return;
    if (!finding->examples) finding->examples = calloc(c->options.examples, sizeof *finding->examples);
    if (finding->examples) finding->examples[finding->example_count++] = example;
}

/* The earliest rows are the examples, in whatever order an analysis finds them. */
static void keep_earliest(const check *c, check_finding *finding, check_example example)
{
    uint32_t limit = (uint32_t)c->options.examples;
    if (finding->example_count == limit && limit && finding->examples[limit - 1].row > example.row)
        finding->example_count--;
    check_keep(c, finding, example);
    for (uint32_t i = finding->example_count; i-- > 1 && finding->examples[i - 1].row > finding->examples[i].row;) {
        check_example swap = finding->examples[i];
        finding->examples[i] = finding->examples[i - 1];
        finding->examples[i - 1] = swap;
    }
}

void check_found(check *c, check_code code, uint32_t track, check_example example)
{
    check_finding *finding = check_finding_of(c, code, track);
    if (!finding) return;
    finding->count++;
    keep_earliest(c, finding, example);
}

static void check_ledger(check *c)
{
    for (size_t i = 0; i < hd_trace_ledger_count(c->trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(c->trace, i);
        if (strcmp(row->code, check_codes[CHECK_DEVICES_ON_ROW].code) == 0) {
            check_finding *moved = check_finding_of(c, CHECK_DEVICES_ON_ROW, HD_NONE);
            if (moved) moved->count += row->count;
            continue;
        }
        if (row->level == HD_LEDGER_NOTE || row->count == 0) continue;
        if (c->options.only && !check_code_listed(c->options.only, row->code)) continue;
        if (check_code_listed(c->options.ignore, row->code)) continue;
        check_finding *finding = add_finding(c, CHECK_LEDGER, HD_NONE);
        if (!finding) return;
        finding->ledger = row;
        finding->count = row->count;
    }
}

/* How much of the time is over after each part, in percent, as measured on a trace of four million events. */
enum { LAUNCHES_DONE = 45, SPANS_DONE = 62, LANES_DONE = 67, FLOWS_DONE = 92, EVENTS_DONE = 97 };

static void say_done(const check *c, unsigned percent)
{
    hd_say_percent(c->input->progress, c->input->progress_user, percent);
}

static hd_status run_parts(check *c, hd_error *err)
{
    HD_TRY(check_launches(c, err)); /* first: several threads load blocks whole, which the others would load in part */
    say_done(c, LAUNCHES_DONE);
    HD_TRY(span_index_init(&c->spans, c->trace, err));
    say_done(c, SPANS_DONE);
    HD_TRY(check_lanes(c, err));
    say_done(c, LANES_DONE);
    HD_TRY(check_merged_tracks(c, err));
    HD_TRY(check_flows(c, err));
    say_done(c, FLOWS_DONE);
    span_index_deinit(&c->spans);
    HD_TRY(check_async(c, err));
    HD_TRY(check_events(c, err));
    say_done(c, EVENTS_DONE);
    check_clock(c);
    check_ledger(c);
    return c->failed ? HD_NOMEM(err) : HD_OK;
}

hd_status check_run(hd_report *out, const hd_report_input *input, const hd_check_options *options, hd_error *err)
{
    *out = (hd_report){0};
    check c = {.input = input, .trace = input->trace, .options = *options, .report = out};
    if (!c.options.examples) c.options.examples = 1;
    HD_TRY(hd_check_options_valid(&c.options, err));
    hd_status status = run_parts(&c, err);
    if (status == HD_OK) status = check_make_tables(out, &c, err);
    if (status != HD_OK) hd_report_free(out);
    span_index_deinit(&c.spans);
    for (size_t i = 0; i < c.finding_count; i++) free(c.findings[i].examples);
    for (int i = 0; i < CHECK_CODES; i++) free(c.by_track[i]);
    free(c.findings);
    return status;
}

hd_status hd_report_check(hd_report *out, const hd_trace *trace, const hd_check_options *options, hd_error *err)
{
    *out = (hd_report){0};
    HD_OWN_OPTIONS(hd_check_options, options, err);
    return check_run(out, &(hd_report_input){.trace = trace}, options, err);
}
