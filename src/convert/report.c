/* report.c - what a conversion did */
#include "convert/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/vector.h"

enum { HD_CONVERT_OWN_STEPS = 7 }; /* read, memory, merge, filter, crop, fix, write */

typedef struct own_report {
    hd_convert_report report; /* as callers see it; first */
    hd_arena arena;
    size_t ledger_capacity;
} own_report;

static const char *keep_text(hd_convert_report *report, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hd_arena_alloc(&((own_report *)report)->arena, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

hd_convert_report *convert_report_new(size_t input_count, size_t pass_count)
{
    hd_convert_report *report = calloc(1, sizeof(own_report));
    if (!report) return NULL;
    report->inputs = calloc(input_count + 1, sizeof *report->inputs);
    report->steps = calloc(HD_CONVERT_OWN_STEPS + pass_count, sizeof *report->steps);
    if (report->inputs && report->steps) return report;
    hd_convert_report_free(report);
    return NULL;
}

void hd_convert_report_free(hd_convert_report *report)
{
    if (!report) return;
    hd_arena_deinit(&((own_report *)report)->arena);
    free(report->inputs);
    free(report->ledger);
    free(report->steps);
    free(report);
}

bool convert_report_input(hd_convert_report *report, const char *path, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    hd_convert_input *input = &report->inputs[report->input_count];
    *input = (hd_convert_input){
        .path = keep_text(report, path),
        .format = keep_text(report, facts->format),
        .compression = keep_text(report, facts->compression),
        .rank = facts->rank,
        .events = hd_trace_event_count(trace),
        .stored_bytes = facts->stored_bytes,
        .input_bytes = facts->input_bytes,
    };
    if (!input->path || !input->format || !input->compression) return false;
    report->input_count++;
    report->events_in += input->events;
    return true;
}

bool convert_report_ledger(hd_convert_report *report, const hd_ledger_row *row)
{
    own_report *own = (own_report *)report;
    if (!hd_grow((void **)&report->ledger, &own->ledger_capacity, report->ledger_count, sizeof *report->ledger))
        return false;
    hd_ledger_row *copy = &report->ledger[report->ledger_count];
    *copy = *row;
    copy->stage = keep_text(report, row->stage);
    copy->code = keep_text(report, row->code);
    if (!copy->stage || !copy->code) return false;
    report->ledger_count++;
    if (row->level == HD_LEDGER_REPAIR) report->repairs += row->count;
    if (row->level == HD_LEDGER_LOSS) report->losses += row->count;
    return true;
}

void convert_report_step(hd_convert_report *report, const char *name, const hd_pass_report *step)
{
    report->steps[report->step_count++] = (hd_convert_step){.name = name,
                                                            .in = step->in,
                                                            .added = step->added,
                                                            .removed = step->removed,
                                                            .lost = step->lost,
                                                            .out = step->out};
    report->added += step->added;
    report->removed += step->removed;
    report->lost += step->lost;
    report->events_out = step->out;
    report->new_lanes += step->new_lanes;
    report->moved_slices += step->moved_slices;
    report->snapped_crossings += step->snapped_crossings;
}
