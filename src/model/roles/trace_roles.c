/* trace_roles.c - roles of a trace's slices, looked up once per category, or per name where there is none */
#include "model/roles/trace_roles.h"

#include <stdlib.h>

bool hd_roles_init(hd_roles *roles, const hd_trace *trace)
{
    size_t strings = (size_t)hd_trace_string_count(trace) + 1;
    *roles = (hd_roles){.trace = trace, .track_count = hd_trace_track_count(trace)};
    roles->rows = calloc((size_t)roles->track_count + 1, sizeof *roles->rows);
    roles->by_category = calloc(strings, sizeof *roles->by_category);
    for (int i = 0; i <= HD_ROW_THREAD; i++) roles->by_name[i] = calloc(strings, sizeof *roles->by_name[i]);
    if (!roles->rows || !roles->by_category || !roles->by_name[HD_ROW_HOST] || !roles->by_name[HD_ROW_QUEUE] ||
        !roles->by_name[HD_ROW_THREAD])
        return false;
    hd_row_sorts_find(roles->rows, trace);
    const char *producer = hd_producer_of(trace);
    uint32_t unsaid;
    for (size_t i = 0; (unsaid = hd_producer_unsaid(trace, producer, i)) != HD_NONE; i++)
        roles->by_category[unsaid] = HD_ROLE_UNSAID;
    return true;
}

void hd_roles_deinit(hd_roles *roles)
{
    free(roles->rows);
    free((void *)roles->by_category);
    for (int i = 0; i <= HD_ROW_THREAD; i++) free((void *)roles->by_name[i]);
    *roles = (hd_roles){0};
}

static unsigned known_of_category(hd_roles *roles, uint32_t category)
{
    unsigned known = atomic_load_explicit(&roles->by_category[category], memory_order_relaxed);
    if (known == HD_ROLE_UNKNOWN) {
        hd_string text = hd_trace_string(roles->trace, category);
        known = hd_role_is_unsaid(text)    ? HD_ROLE_UNSAID
                : hd_role_needs_name(text) ? HD_ROLE_BY_NAME
                                           : (unsigned)hd_role_of(text, (hd_string){"", 0}) + 1;
        atomic_store_explicit(&roles->by_category[category], (unsigned char)known, memory_order_relaxed);
    }
    return known;
}

hd_role hd_roles_at(hd_roles *roles, uint32_t category, uint32_t name, uint32_t track)
{
    unsigned known = known_of_category(roles, category);
    hd_row_sort row = hd_roles_row(roles, track);
    if (known < HD_ROLE_BY_NAME) return (hd_role)(known - 1);
    if (known == HD_ROLE_BY_NAME || row > HD_ROW_THREAD)
        return hd_role_on(hd_trace_string(roles->trace, category), hd_trace_string(roles->trace, name), row);
    atomic_uchar *place = &roles->by_name[row][name];
    known = atomic_load_explicit(place, memory_order_relaxed);
    if (known == HD_ROLE_UNKNOWN) {
        known = (unsigned)hd_role_on((hd_string){"", 0}, hd_trace_string(roles->trace, name), row) + 1;
        atomic_store_explicit(place, (unsigned char)known, memory_order_relaxed);
    }
    return (hd_role)(known - 1);
}

hd_role hd_roles_look_up(hd_roles *roles, const hd_block *block, uint32_t row, uint32_t category)
{
    unsigned known = known_of_category(roles, category);
    if (known < HD_ROLE_BY_NAME) return (hd_role)(known - 1);
    return hd_roles_at(roles, category, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row),
                       (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row));
}
