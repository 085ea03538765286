/* cells.c - the cells, shares and notes that the tables of all reports have */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "model/identity/process.h"
#include "report/gpu/gpu.h"

/* ---- cells ---- */

void gpu_cell_step(hd_table_builder *builder, const gpu_scope *scope, uint32_t step)
{
    char text[256];
    if (step == HD_NONE || !gpu_steps_are_guessed(scope->options)) {
        report_cell_string(builder, scope->trace, step == HD_NONE ? HD_STRING_NONE : scope->steps[step].name);
        return;
    }
    hd_string name = hd_trace_string(scope->trace, scope->steps[step].name);
    snprintf(text, sizeof text, "%.*s" GPU_STEP_GUESSED, name.size < 200 ? (int)name.size : 200, name.data);
    hd_table_add_text(builder, text);
}

void gpu_cells_rank(hd_table_builder *builder, const gpu_scope *scope, int64_t rank, uint32_t step)
{
    report_cell_int(builder, rank);
    gpu_cell_step(builder, scope, step);
    report_cell_int(builder, step == HD_NONE ? HD_NO_NUMBER : scope->steps[step].start);
}

/* Its process, by name and pid, where a device has no number; null. */
void gpu_cell_process(hd_table_builder *builder, const gpu_scope *scope, uint32_t device)
{
    char text[256];
    uint32_t process = scope->devices[device].process;
    if (process == HD_NONE) {
        hd_table_add_null(builder);
        return;
    }
    hd_process_text(text, sizeof text, scope->trace, process);
    hd_table_add_text(builder, text);
}

void gpu_cells_device(hd_table_builder *builder, const gpu_scope *scope, uint32_t device, uint32_t step)
{
    report_cell_int(builder, scope->devices[device].rank);
    report_cell_int(builder, scope->devices[device].device);
    gpu_cell_process(builder, scope, device);
    gpu_cell_step(builder, scope, step);
    report_cell_int(builder, step == HD_NONE ? HD_NO_NUMBER : scope->steps[step].start);
}

void gpu_cells_row(hd_table_builder *builder, const gpu_scope *scope, const gpu_row *row, uint32_t step)
{
    const hd_track *track = hd_trace_track_at(scope->trace, row->lane);
    hd_string pid = hd_trace_string(scope->trace, track->pid.text),
              tid = hd_trace_string(scope->trace, track->tid.text);
    char text[256];
    int size = snprintf(text, sizeof text, "%.*s %.*s", pid.size < 120 ? (int)pid.size : 120, pid.data,
                        tid.size < 120 ? (int)tid.size : 120, tid.data);
    gpu_cells_device(builder, scope, row->device, step);
    report_cell_int(builder, row->stream);
    hd_table_add_string(builder, text, (size_t)size);
}

void gpu_cell_ratio(hd_table_builder *builder, gpu_i128 a, gpu_i128 b, double times)
{
    gpu_cell_decimal(builder, b ? times * (double)a / (double)b : 0, b != 0);
}

void gpu_cell_decimal(hd_table_builder *builder, double value, bool is_known)
{
    if (is_known)
        hd_table_add_decimal(builder, value);
    else
        hd_table_add_null(builder);
}

void gpu_cell_count(hd_table_builder *builder, uint64_t value, bool is_known)
{
    if (is_known)
        hd_table_add_count(builder, value);
    else
        hd_table_add_null(builder);
}

void gpu_cell_time(hd_table_builder *builder, int64_t value, bool is_known)
{
    if (is_known)
        hd_table_add_int(builder, value);
    else
        hd_table_add_null(builder);
}

void gpu_cell_text(hd_table_builder *builder, const gpu_texts *texts, uint32_t text)
{
    hd_string s = text == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(texts, text);
    if (text == HD_NONE)
        hd_table_add_null(builder);
    else
        hd_table_add_string(builder, s.data, s.size);
}

void gpu_cell_doubts(hd_table_builder *builder, unsigned doubts)
{
    char text[GPU_DOUBT_TEXT];
    hd_table_add_text(builder, doubts ? gpu_doubt_codes(text, doubts) : NULL);
}

void gpu_cell_doubts_of(hd_table_builder *builder, const gpu_trust *trust, const gpu_scope *scope, uint32_t device,
                        unsigned figures)
{
    gpu_cell_doubts(builder, gpu_doubts_of_device(trust, scope, device, figures));
}

hd_status gpu_add(hd_report *out, hd_table_builder *builder, const char *largest, hd_error *err)
{
    hd_table_sort(builder, "rank,device,process,step_start", largest);
    return report_add(out, builder, err);
}

hd_status gpu_add_kept(hd_report *out, hd_table_builder **builder, const char *largest, hd_error *err)
{
    hd_table_builder *kept = *builder;
    *builder = NULL;
    return kept ? gpu_add(out, kept, largest, err) : HD_OK;
}

/* ---- notes ---- */

const hd_report_column gpu_notes_columns[] = {
    {"note", HD_VALUE_STRING, "a sentence"},
    {0},
};

static void note(hd_table_builder *builder, const char *form, uint64_t a, uint64_t b)
{
    char text[256];
    snprintf(text, sizeof text, form, (unsigned long long)a, (unsigned long long)b);
    hd_table_add_text(builder, text);
}

bool gpu_note_backward(char *out, size_t size, const hd_graph *graph)
{
    size_t used = (size_t)snprintf(out, size, "dependencies that contradict the clock are left out:");
    bool any = false;
    for (int k = 0; k < HD_EDGE_KINDS; k++) {
        if (!graph->backward[k] || used >= size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s %llu of kind %s", any ? "," : "",
                                 (unsigned long long)graph->backward[k], hd_edge_kind_name((hd_edge_kind)k));
        any = true;
    }
    return any;
}

bool gpu_note_guessed(char *out, size_t size, const hd_graph *graph)
{
    snprintf(
        out, size,
        "of %llu waits of streams for events the trace does not name both streams: Heddle takes the stream on which "
        "the thread launches next as the waiting one, and as the other the stream whose work ended last before that",
        (unsigned long long)graph->waits_guessed);
    return graph->waits_guessed > 0;
}

bool gpu_note_suspects(char *out, size_t size, const hd_graph *graph)
{
    int64_t sum = 0;
    for (size_t i = 0; i < graph->suspect_count; i++) {
        uint32_t node = graph->suspects[i].node;
        if (i == 0 || graph->suspects[i - 1].node != node) sum = gpu_sum(sum, graph->ends[node] - graph->starts[node]);
    }
    snprintf(out, size, "threads may wait for one another where the trace does not say so, %.3f ms in all",
             (double)sum / 1e6);
    return graph->suspect_count > 0;
}

bool gpu_note_unexamined(char *out, size_t size, const hd_graph *graph)
{
    snprintf(out, size, "whether %u threads wait for one another is not examined: their processes have too many",
             graph->threads_unexamined);
    return graph->threads_unexamined > 0;
}

/* Whether the reader reported that the input ends prematurely. */
static bool is_cut(const hd_trace *trace)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const char *dot = strrchr(hd_trace_ledger_at(trace, i)->code, '.');
        if (dot && (!strcmp(dot, ".truncated") || !strcmp(dot, ".cut"))) return true;
    }
    return false;
}

hd_status gpu_add_notes(hd_report *out, const hd_report_about *about, const gpu_scope *s, const char *const *more,
                        hd_error *err)
{
    hd_table_builder *builder;
    const gpu_trust *trust;
    uint64_t unlinked = 0, before = 0;
    HD_TRY(gpu_trust_of_scope(&trust, s, err));
    HD_TRY(report_builder(&builder, about, "notes", err));
    for (size_t i = 0; i < s->launches->work_count; i++) {
        if (s->works[i].device == HD_NONE) continue;
        unlinked += s->works[i].launch == HD_NONE;
        before += s->works[i].before;
    }
    if (is_cut(s->trace))
        hd_table_add_text(builder, "the input ends in the middle: the rest is missing; see heddle info");
    if (!s->launches->work_count) hd_table_add_text(builder, "there are no GPU activities in this trace");
    if (s->launches->work_count && !s->counted) hd_table_add_text(builder, "the options leave out all GPU activities");
    if (s->counted && !s->has_launches)
        hd_table_add_text(builder,
                          "no GPU activity is linked with an API call: launches, delays, queues and what the host did "
                          "are not known");
    else if (unlinked)
        note(builder, "GPU activities without a launch: %llu, of which %llu began before the recording", unlinked,
             before);
    for (int i = 0; i < GPU_DOUBTS; i++) {
        char text[GPU_DOUBT_TEXT];
        /* Reported above; or affects no figure. */
        bool is_said = i == GPU_DOUBT_UNLINKED || i == GPU_DOUBT_BEFORE ||
                       (!gpu_doubt_abouts[i].figures && i != GPU_DOUBT_WINDOWS);
        if (trust->doubts[i].count && !is_said) hd_table_add_text(builder, gpu_doubt_text(text, i, &trust->doubts[i]));
    }
    if (s->by & GPU_BY_STEP) hd_table_add_text(builder, gpu_step_note(s));
    if (gpu_class_rules_file()) {
        char text[400];
        snprintf(text, sizeof text, "kernels are classified and grouped by %.300s", gpu_class_rules_file());
        hd_table_add_text(builder, text);
    }
    for (; more && *more; more++) hd_table_add_text(builder, *more);
    HD_TRY(report_add(out, builder, err));
    return report_set_trust(out, s->trace, trust, err);
}
