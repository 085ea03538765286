/* memory_limit.c - the memory of a GPU that is nearly full: found behind the others, from the table of report memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/finding.h"
#include "report/properties.h"

typedef struct limit {
    int64_t id, bytes; /* id: of the device; bytes: HD_NO_NUMBER: not told, or not the same on all ranks */
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

hd_status findings_add_memory(findings *f, const hd_table *devices, hd_error *err)
{
    size_t device = devices ? hd_table_find_column(devices, "device") : SIZE_MAX;
    size_t peak = devices ? hd_table_find_column(devices, "peak") : SIZE_MAX;
    for (size_t row = 0; peak != SIZE_MAX && row < hd_table_row_count(devices); row++) {
        limit l = {.bytes = HD_NO_NUMBER};
        char most[HD_VALUE_TEXT_BYTES], all[HD_VALUE_TEXT_BYTES];
        if (!number_of(&l.id, devices, row, device) || hd_table_is_null(devices, row, peak)) continue;
        if (!report_properties_read(f->scope.trace, see_device, &l)) return HD_NOMEM(err);
        uint64_t bytes = hd_table_get_count(devices, row, peak);
        if (l.bytes == HD_NO_NUMBER || bytes < (uint64_t)l.bytes / 10 * 9) continue;
        finding *of = findings_add(f, &finding_memory_limit);
        if (!of) return HD_NOMEM(err);
        for (uint32_t d = 0; d < f->scope.device_count; d++)
            if (f->scope.devices[d].device == l.id) of->device = d;
        of->reason = "memory is no time; what is near its limit fails, or is freed and allocated again";
        of->events = 1;
        snprintf(of->text, sizeof of->text, "The memory of GPU %lld is nearly full: %s of %s (%.1f %%) at its peak.",
                 (long long)l.id, hd_text_bytes(most, bytes), hd_text_bytes(all, (uint64_t)l.bytes),
                 100 * (double)bytes / (double)l.bytes);
    }
    findings_rank(f);
    return HD_OK;
}

const finding_rule finding_memory_limit = {
    .about.code = "memory-near-limit",
    .about.severity = "warning",
    .about.meaning = "the memory of a GPU is nine tenths full, or more",
    .about.advice =
        "Smaller batches, activation checkpointing, sharded optimizer states, expandable segments "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True); heddle report memory says what is live at the peak.",
};
