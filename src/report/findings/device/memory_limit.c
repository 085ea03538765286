/* memory_limit.c - the memory of a GPU that is nearly full: found behind the others, from the table of report memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/finding.h"
#include "report/properties.h"

typedef struct limit {
    int64_t id, bytes; /* id: of the device; bytes: HD_NO_NUMBER: unknown, or not the same on all ranks */
    bool is_known;
} limit;

static bool see_device(void *user, report_properties *properties)
{
    limit *l = user;
    if (properties->id != l->id || properties->memory_bytes <= 0) return true;
    if (l->is_known && l->bytes != properties->memory_bytes) l->bytes = HD_NO_NUMBER;
    if (!l->is_known) l->bytes = properties->memory_bytes;
    l->is_known = true;
    return true;
}

/* "cuda:3" is device 3. */
static bool number_of(int64_t *out, const hd_table *devices, size_t row, size_t column)
{
    size_t size, at = 0;
    if (column == SIZE_MAX || hd_table_is_null(devices, row, column)) return false;
    const char *text = hd_table_get_string(&size, devices, row, column);
    if (size < 6 || memcmp(text, "cuda:", 5) != 0) return false;
    *out = 0;
    for (at = 5; at < size && text[at] >= '0' && text[at] <= '9' && *out < 1000; at++)
        *out = 10 * *out + (text[at] - '0');
    return at == size;
}

/* A row of a table of which a column is nine tenths of the memory of its GPU, or more: a finding of the rule; else *out
 * is NULL. */
static hd_status find_full(finding **out, limit *l, findings *f, const finding_rule *rule, const hd_table *table,
                           size_t row, const char *column, hd_error *err)
{
    size_t device = hd_table_find_column(table, "device"), at = hd_table_find_column(table, column);
    *l = (limit){.bytes = HD_NO_NUMBER};
    *out = NULL;
    if (at == SIZE_MAX || !number_of(&l->id, table, row, device) || hd_table_is_null(table, row, at)) return HD_OK;
    if (!report_properties_read(f->scope.trace, see_device, l)) return HD_NOMEM(err);
    if (l->bytes == HD_NO_NUMBER || hd_table_get_count(table, row, at) < (uint64_t)l->bytes / 10 * 9) return HD_OK;
    *out = findings_add(f, rule);
    if (!*out) return HD_NOMEM(err);
    for (uint32_t d = 0; d < f->scope.device_count; d++)
        if (f->scope.devices[d].device == l->id) (*out)->device = d;
    (*out)->reason = "memory is no time; what is near its limit fails, or is freed and allocated again";
    (*out)->events = 1;
    return HD_OK;
}

static uint64_t count_in(const hd_table *table, size_t row, const char *column)
{
    size_t at = hd_table_find_column(table, column);
    return at == SIZE_MAX || hd_table_is_null(table, row, at) ? 0 : hd_table_get_count(table, row, at);
}

static hd_status add_fragments(findings *f, const hd_table *reserved, hd_error *err)
{
    for (size_t row = 0; reserved && row < hd_table_row_count(reserved); row++) {
        finding *of;
        limit l;
        char most[HD_VALUE_TEXT_BYTES], idle[HD_VALUE_TEXT_BYTES], all[HD_VALUE_TEXT_BYTES];
        uint64_t bytes = count_in(reserved, row, "reserved_peak"), unused = count_in(reserved, row, "idle_at_peak");
        if (unused < bytes / 5) continue;
        HD_TRY(find_full(&of, &l, f, &finding_memory_fragments, reserved, row, "reserved_peak", err));
        if (!of) continue;
        snprintf(
            of->text, sizeof of->text,
            "The allocator has reserved %s of the %s of %s %lld, of which %s (%.1f %%) is not in use when most is.",
            hd_text_bytes(most, bytes), hd_text_bytes(all, (uint64_t)l.bytes), f->device_kind, (long long)l.id,
            hd_text_bytes(idle, unused), 100 * (double)unused / (double)bytes);
    }
    return HD_OK;
}

hd_status findings_add_memory(findings *f, const hd_memory *memory, const hd_table *devices, const hd_table *reserved,
                              hd_error *err)
{
    for (size_t row = 0; devices && row < hd_table_row_count(devices); row++) {
        finding *of;
        limit l;
        char most[HD_VALUE_TEXT_BYTES], all[HD_VALUE_TEXT_BYTES];
        HD_TRY(find_full(&of, &l, f, &finding_memory_limit, devices, row, "peak", err));
        if (!of) continue;
        uint64_t bytes = count_in(devices, row, "peak");
        snprintf(of->text, sizeof of->text, "The memory of %s %lld is nearly full: %s of %s (%.1f %%) at its peak.",
                 f->device_kind, (long long)l.id, hd_text_bytes(most, bytes), hd_text_bytes(all, (uint64_t)l.bytes),
                 100 * (double)bytes / (double)l.bytes);
    }
    HD_TRY(add_fragments(f, reserved, err));
    if (devices && hd_table_row_count(devices)) HD_TRY(findings_add_growth(f, memory, err));
    findings_rank(f);
    return HD_OK;
}

const finding_rule finding_memory_limit = {
    .about.code = "memory-near-limit",
    .about.severity = "warning",
    .about.meaning = "the memory of a GPU is at least nine tenths full",
    .about.advice =
        "Smaller batches, activation checkpointing, sharded optimizer states, expandable segments "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True); heddle report memory says what is live at the peak.",
};

const finding_rule finding_memory_fragments = {
    .about.code = "memory-fragmentation",
    .about.severity = "warning",
    .about.meaning = "a fifth or more of the reserved memory of a GPU is not in use",
    .about.advice =
        "Blocks of the wrong size: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or max_split_size_mb; shapes that "
        "repeat (padding, buckets of lengths); allocate the largest first.",
};
