/* report.c - the report of a conversion */
#include "convert/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"

static const char *const first_steps[] = {"read", "memory", "merge", "filter", "crop", "thin", "fix"};
enum { FIRST_STEPS = sizeof first_steps / sizeof *first_steps };

/* Of reports that were added. */
typedef struct step_sum {
    const char *name;
    hd_pass_report sum;
    bool is_there;
} step_sum;

typedef struct own_report {
    hd_convert_report report; /* as callers see it; first */
    hd_arena arena;
    size_t ledger_capacity;
    step_sum *sums; /* all steps that can be, in their order */
    size_t sum_count;
} own_report;

static const char *keep_text(hd_convert_report *report, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hd_arena_alloc(&((own_report *)report)->arena, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

hd_convert_report *convert_report_new(size_t input_count, const hd_pass *const *passes, size_t pass_count)
{
    own_report *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    hd_convert_report *report = &own->report;
    size_t steps = FIRST_STEPS + pass_count + 4; /* and a merge of shares */
    report->inputs = calloc(input_count + 1, sizeof *report->inputs);
    report->steps = calloc(steps, sizeof *report->steps);
    own->sums = calloc(steps, sizeof *own->sums);
    if (!report->inputs || !report->steps || !own->sums) {
        hd_convert_report_free(report);
        return NULL;
    }
    for (size_t i = 0; i < FIRST_STEPS; i++) own->sums[own->sum_count++].name = first_steps[i];
    for (size_t i = 0; i < pass_count; i++) own->sums[own->sum_count++].name = hd_pass_about_of(passes[i])->name;
    own->sums[own->sum_count++].name = "anonymize";
    own->sums[own->sum_count++].name = "merge"; /* the last of a share */
    own->sums[own->sum_count++].name = "write";
    return report;
}

void hd_convert_report_free(hd_convert_report *report)
{
    if (!report) return;
    hd_arena_deinit(&((own_report *)report)->arena);
    free(report->inputs);
    free(report->ledger);
    free(report->misfits);
    free(report->steps);
    free(((own_report *)report)->sums);
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

/* ---- reports of shares ---- */

static void put_text(hd_bytes *out, const char *text)
{
    hd_bytes_put_varint(out, strlen(text));
    hd_bytes_put(out, text, strlen(text));
}

static void put_numbers(hd_bytes *out, const uint64_t *numbers, size_t count)
{
    hd_bytes_put_varint(out, count);
    for (size_t i = 0; i < count; i++) hd_bytes_put_varint(out, numbers[i]);
}

#define NUMBERS(out, ...)                                                                                              \
    put_numbers(out, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void pack(hd_bytes *out, const hd_convert_report *r)
{
    NUMBERS(out, r->ranks_by_place, r->new_lanes, r->moved_slices, r->snapped_crossings, r->input_count, r->step_count,
            r->ledger_count);
    for (size_t i = 0; i < r->input_count; i++) {
        const hd_convert_input *input = &r->inputs[i];
        put_text(out, input->path);
        put_text(out, input->format);
        put_text(out, input->compression);
        NUMBERS(out, (uint64_t)input->rank, input->events, input->stored_bytes, input->input_bytes);
    }
    for (size_t i = 0; i < r->step_count; i++) {
        const hd_convert_step *s = &r->steps[i];
        put_text(out, s->name);
        NUMBERS(out, s->in, s->added, s->removed, s->lost, s->out);
    }
    for (size_t i = 0; i < r->ledger_count; i++) {
        const hd_ledger_row *row = &r->ledger[i];
        put_text(out, row->stage);
        put_text(out, row->code);
        NUMBERS(out, row->level, row->count, row->first_offset, row->lost_events);
    }
}

hd_status convert_report_save(const hd_convert_report *report, const char *path, hd_error *err)
{
    hd_bytes bytes = {0};
    pack(&bytes, report);
    FILE *file = bytes.failed ? NULL : fopen(path, "wb");
    bool fine = file && fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
    if (file) fine = fclose(file) == 0 && fine;
    bool failed = bytes.failed;
    hd_bytes_deinit(&bytes);
    if (failed) return HD_NOMEM(err);
    return fine ? HD_OK : hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written: %s", strerror(errno));
}

enum { NUMBERS_MAX = 7 };

/* A text that the report keeps; "" when it is damaged. */
static const char *take_text(hd_convert_report *report, hd_byte_reader *in)
{
    size_t size = (size_t)hd_byte_reader_varint(in);
    const uint8_t *data = hd_byte_reader_take(in, size);
    char *copy = data ? hd_arena_alloc(&((own_report *)report)->arena, size + 1) : NULL;
    if (!copy) return "";
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static void take_numbers(uint64_t out[NUMBERS_MAX], hd_byte_reader *in)
{
    memset(out, 0, NUMBERS_MAX * sizeof *out);
    uint64_t count = hd_byte_reader_varint(in);
    for (uint64_t i = 0; i < count && i < NUMBERS_MAX; i++) out[i] = hd_byte_reader_varint(in);
}

/* Adds a share's steps; a step that a share does not have passed all its events. */
static void add_steps(hd_convert_report *report, hd_byte_reader *in, uint64_t count)
{
    own_report *own = (own_report *)report;
    uint64_t n[NUMBERS_MAX], events = 0;
    const char *name = count ? take_text(report, in) : "";
    for (step_sum *s = own->sums; s < own->sums + own->sum_count; s++) {
        memcpy(n, (const uint64_t[NUMBERS_MAX]){events, 0, 0, 0, events}, sizeof n);
        if (strcmp(name, s->name) == 0) {
            take_numbers(n, in);
            s->is_there = true;
            name = --count ? take_text(report, in) : "";
        }
        s->sum.in += n[0];
        s->sum.added += n[1];
        s->sum.removed += n[2];
        s->sum.lost += n[3];
        s->sum.out += n[4];
        events = n[4];
    }
}

/* A row for each code, with the offset of its first occurrence. */
static bool add_row(hd_convert_report *report, const hd_ledger_row *row)
{
    for (size_t i = 0; i < report->ledger_count; i++) {
        hd_ledger_row *known = &report->ledger[i];
        if (known->level != row->level || strcmp(known->stage, row->stage) != 0 || strcmp(known->code, row->code) != 0)
            continue;
        known->count += row->count;
        known->lost_events += row->lost_events;
        if (row->level == HD_LEDGER_REPAIR) report->repairs += row->count;
        if (row->level == HD_LEDGER_LOSS) report->losses += row->count;
        return true;
    }
    return convert_report_ledger(report, row);
}

static bool unpack(hd_convert_report *report, hd_byte_reader *in)
{
    uint64_t head[NUMBERS_MAX], n[NUMBERS_MAX];
    take_numbers(head, in);
    report->ranks_by_place |= head[0] != 0;
    report->new_lanes += head[1];
    report->moved_slices += head[2];
    report->snapped_crossings += head[3];
    for (uint64_t i = 0; i < head[4] && !in->failed; i++) {
        hd_convert_input *input = &report->inputs[report->input_count++];
        input->path = take_text(report, in);
        input->format = take_text(report, in);
        input->compression = take_text(report, in);
        take_numbers(n, in);
        input->rank = (int64_t)n[0];
        input->events = n[1];
        input->stored_bytes = n[2];
        input->input_bytes = n[3];
        report->events_in += n[1];
    }
    add_steps(report, in, head[5]);
    bool fine = true;
    for (uint64_t i = 0; i < head[6] && !in->failed && fine; i++) {
        hd_ledger_row row = {.stage = take_text(report, in)};
        row.code = take_text(report, in);
        take_numbers(n, in);
        row.level = (hd_ledger_level)n[0];
        row.count = n[1];
        row.first_offset = n[2];
        row.lost_events = n[3];
        fine = add_row(report, &row);
    }
    return fine && !in->failed;
}

hd_status convert_report_add(hd_convert_report *report, const char *path, hd_error *err)
{
    hd_bytes bytes = {0};
    FILE *file = fopen(path, "rb");
    for (size_t got = 1; file && got;) {
        uint8_t *room = hd_bytes_room(&bytes, 4096);
        got = room ? fread(room, 1, 4096, file) : 0;
        bytes.size += got;
    }
    hd_byte_reader in = hd_byte_reader_of(bytes.data, bytes.size);
    bool fine = file && !bytes.failed && unpack(report, &in);
    if (file) fclose(file);
    hd_bytes_deinit(&bytes);
    return fine ? HD_OK : hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be read again");
}

uint64_t convert_report_out(const hd_convert_report *report)
{
    const own_report *own = (const own_report *)report;
    return own->sums[own->sum_count - 1].sum.out;
}

void convert_report_sum(hd_convert_report *report)
{
    own_report *own = (own_report *)report;
    for (size_t k = 0; k < own->sum_count; k++) {
        if (own->sums[k].is_there) convert_report_step(report, own->sums[k].name, &own->sums[k].sum);
    }
}
