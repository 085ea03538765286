/* report.c - what a lane repair did, in words and sums */
#include "fix/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/arena.h"
#include "base/sorted.h"
#include "heddle/analysis/launches.h"

typedef struct own_report {
    hd_fix_report report; /* as callers see it; first */
    hd_arena arena;
} own_report;

typedef struct filler {
    hd_fix_report *report;
    const hd_trace *trace;
    const hd_lane_plan *plan;
    hd_arena *arena;
    hd_error *err;
    bool failed;
    const hd_lane_edit **kernels, **moved, **snapped; /* changed slices, by what becomes of them */
    size_t kernel_count, moved_count, snapped_count;
} filler;

static const char *copy_string(filler *f, const char *data, size_t size)
{
    char *text = hd_arena_alloc(f->arena, size + 1);
    if (!text) {
        f->failed = true;
        return "";
    }
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static const char *text_of(filler *f, uint32_t id)
{
    hd_string s = hd_trace_string(f->trace, id);
    return copy_string(f, s.data, s.size);
}

static const char *ident_text(filler *f, hd_ident ident)
{
    return ident.type == HD_IDENT_NONE ? "" : text_of(f, ident.text);
}

static void *allocate(filler *f, size_t count, size_t size)
{
    void *p = hd_arena_alloc(f->arena, (count + 1) * size);
    if (!p) f->failed = true;
    return p;
}

static uint32_t column_of(const filler *f, uint64_t row, hd_column_id column)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, f->trace, HD_KIND_SLICE, row);
    return (uint32_t)hd_column_at(&block->columns[column], at);
}

static void fill_tracks(filler *f)
{
    hd_fix_report *report = f->report;
    report->tracks = allocate(f, f->plan->track_count, sizeof *report->tracks);
    if (f->failed) return;
    for (size_t i = 0; i < f->plan->track_count; i++) {
        const hd_lane_track *track = &f->plan->tracks[i];
        const hd_track *known = hd_trace_track_at(f->trace, track->track);
        report->tracks[report->track_count++] = (hd_fix_track){
            .pid = ident_text(f, known->pid),
            .tid = ident_text(f, known->tid),
            .lane_count = track->lane_count,
            .slices = track->slices,
            .moved = track->moved,
            .snapped = track->snapped,
        };
        report->moved += track->moved;
    }
    report->slices = hd_trace_row_count(f->trace, HD_KIND_SLICE);
    report->snapped_crossings = f->plan->snapped_crossings;
    report->new_lanes = f->plan->lane_count;
    report->flow_endpoints = f->plan->flow_count;
    report->flows_unresolved = f->plan->flows_unresolved;
}

/* ---- sorting the changed slices out ---- */

static bool is_kernel(const filler *f, uint64_t row)
{
    hd_string category = hd_trace_string(f->trace, (uint32_t)column_of(f, row, HD_COL_CATEGORY));
    hd_string name = hd_trace_string(f->trace, (uint32_t)column_of(f, row, HD_COL_NAME));
    return category.size && hd_role_of(category, name) == HD_ROLE_KERNEL;
}

static void sort_out(filler *f)
{
    size_t count = f->plan->edit_count;
    f->report->updated = count;
    f->kernels = malloc((count + 1) * sizeof *f->kernels);
    f->moved = malloc((count + 1) * sizeof *f->moved);
    f->snapped = malloc((count + 1) * sizeof *f->snapped);
    if (!f->kernels || !f->moved || !f->snapped) {
        f->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const hd_lane_edit *edit = &f->plan->edits[i];
        f->report->start_shift_ps += edit->start_shift_ps;
        f->report->end_shift_ps += edit->end_shift_ps;
        if (is_kernel(f, edit->row))
            f->kernels[f->kernel_count++] = edit;
        else if (edit->lane != HD_NONE)
            f->moved[f->moved_count++] = edit;
        else
            f->snapped[f->snapped_count++] = edit;
    }
    f->report->moved_others = f->moved_count;
    f->report->snapped_others = f->snapped_count;
}

static int by_shift(const void *a, const void *b)
{
    const hd_lane_edit *x = *(const hd_lane_edit *const *)a, *y = *(const hd_lane_edit *const *)b;
    int64_t p = x->start_shift_ps + x->end_shift_ps, q = y->start_shift_ps + y->end_shift_ps;
    if (p != q) return p < q ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_length(const void *a, const void *b)
{
    const hd_lane_edit *x = *(const hd_lane_edit *const *)a, *y = *(const hd_lane_edit *const *)b;
    int64_t p = x->end.ns - x->start.ns, q = y->end.ns - y->start.ns;
    if (p != q) return p < q ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_fix_slice slice_of(filler *f, const hd_lane_edit *edit)
{
    const hd_track *track = hd_trace_track_at(f->trace, column_of(f, edit->row, HD_COL_TRACK));
    hd_fix_slice slice = {
        .name = text_of(f, column_of(f, edit->row, HD_COL_NAME)),
        .pid = ident_text(f, track->pid),
        .tid = ident_text(f, track->tid),
        .start_shift_ps = edit->start_shift_ps,
        .end_shift_ps = edit->end_shift_ps,
    };
    if (edit->lane != HD_NONE) {
        const hd_new_lane *lane = &f->plan->lanes[edit->lane];
        slice.lane = lane->number;
        slice.lane_tid = copy_string(f, lane->tid, lane->tid_size);
    }
    return slice;
}

static hd_fix_slice *fill_list(filler *f, size_t *out_count, const hd_lane_edit **edits, size_t count, bool full)
{
    size_t shown = full || count < HD_FIX_LIST_LIMIT ? count : HD_FIX_LIST_LIMIT;
    hd_fix_slice *list = allocate(f, shown, sizeof *list);
    *out_count = 0;
    for (size_t i = 0; i < shown && !f->failed; i++) list[(*out_count)++] = slice_of(f, edits[i]);
    return list;
}

/* ---- kernels by name ---- */

typedef struct named_edit {
    uint32_t name;
    const hd_lane_edit *edit;
} named_edit;

static int by_name(const void *a, const void *b)
{
    const named_edit *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (x->edit->row > y->edit->row) - (x->edit->row < y->edit->row);
}

static int by_total_shift(const void *a, const void *b)
{
    const hd_fix_kernel *x = a, *y = b;
    int64_t p = x->delayed_ps + x->trimmed_ps, q = y->delayed_ps + y->trimmed_ps;
    if (p != q) return p < q ? 1 : -1;
    if (x->moved != y->moved) return x->moved < y->moved ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void fill_kernels(filler *f)
{
    hd_fix_report *report = f->report;
    named_edit *named = malloc((f->kernel_count + 1) * sizeof *named);
    report->kernels = allocate(f, f->kernel_count, sizeof *report->kernels);
    if (!named) f->failed = true;
    for (size_t i = 0; i < f->kernel_count && named; i++)
        named[i] = (named_edit){column_of(f, f->kernels[i]->row, HD_COL_NAME), f->kernels[i]};
    if (named) hd_sort(named, f->kernel_count, sizeof *named, by_name);
    for (size_t i = 0; i < f->kernel_count && !f->failed; i++) {
        if (i == 0 || named[i].name != named[i - 1].name)
            report->kernels[report->kernel_count++] = (hd_fix_kernel){.name = text_of(f, named[i].name)};
        hd_fix_kernel *kernel = &report->kernels[report->kernel_count - 1];
        kernel->runs++;
        kernel->moved += named[i].edit->lane != HD_NONE;
        kernel->snapped += named[i].edit->lane == HD_NONE;
        kernel->delayed_ps += named[i].edit->start_shift_ps;
        kernel->trimmed_ps += named[i].edit->end_shift_ps;
    }
    free(named);
    if (!f->failed) hd_sort(report->kernels, report->kernel_count, sizeof *report->kernels, by_total_shift);
}

void hd_fix_count_ledger(uint64_t *repairs, uint64_t *losses, const hd_trace *trace)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_REPAIR) *repairs += row->count;
        if (row->level == HD_LEDGER_LOSS) *losses += row->count;
    }
}

hd_status hd_fix_report_fill(hd_fix_report *report, const hd_trace *trace, const hd_lane_plan *plan, bool full_lists,
                             hd_error *err)
{
    filler f = {.report = report, .trace = trace, .plan = plan, .arena = &((own_report *)report)->arena, .err = err};
    fill_tracks(&f);
    hd_fix_count_ledger(&report->repairs, &report->losses, trace);
    if (!f.failed) sort_out(&f);
    if (!f.failed) {
        fill_kernels(&f);
        hd_sort(f.moved, f.moved_count, sizeof *f.moved, by_length);
        hd_sort(f.snapped, f.snapped_count, sizeof *f.snapped, by_shift);
        report->moved_list = fill_list(&f, &report->moved_count, f.moved, f.moved_count, full_lists);
        report->snapped_list = fill_list(&f, &report->snapped_count, f.snapped, f.snapped_count, full_lists);
    }
    free(f.kernels);
    free(f.moved);
    free(f.snapped);
    return f.failed ? HD_NOMEM(err) : HD_OK;
}

hd_fix_report *hd_fix_report_new(void)
{
    own_report *own = calloc(1, sizeof *own);
    return own ? &own->report : NULL;
}

void hd_fix_report_free(hd_fix_report *report)
{
    if (!report) return;
    hd_arena_deinit(&((own_report *)report)->arena);
    free(report);
}
