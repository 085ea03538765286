/* trace_roles.h - the roles of a trace's slices: the only place that decides which of them are GPU activities
 *
 * A slice's category gives its role; if it does not, its name; if that does not either, the track. "Busy" is the time
 * covered by slices for which hd_role_is_work is true; all code that counts it uses hd_roles_at.
 *
 * In: a trace. Out: a role for each slice. Begin with roles.c, the only list of profilers' words.
 */
#ifndef HD_MODEL_ROLES_TRACE_ROLES_H
#define HD_MODEL_ROLES_TRACE_ROLES_H

#include <stdatomic.h>

#include "heddle/analysis/launches.h"

/* The kind of a track of slices, by its type and the names of its process and itself. */
typedef enum hd_row_sort {
    HD_ROW_HOST,   /* a thread, or a track of unknown kind */
    HD_ROW_QUEUE,  /* where a device's activities are: a stream; unclassified slices there are activities */
    HD_ROW_THREAD, /* a thread of a host: a name alone makes no GPU activity */
    HD_ROW_TOLD,   /* of a device, but describes it or is derived from its queues: "Overlap Analysis", "XLA Modules",
                      "Free" */
} hd_row_sort;
static inline bool hd_row_is_host(hd_row_sort row)
{
    return row == HD_ROW_HOST || row == HD_ROW_THREAD;
}

/* Any thread; answers are remembered. */
typedef struct hd_roles {
    const hd_trace *trace;
    uint32_t track_count;
    uint8_t *rows;                            /* hd_row_sort by track */
    atomic_uchar *by_category;                /* by string id: role + 1, or that more has to be asked */
    atomic_uchar *by_name[HD_ROW_THREAD + 1]; /* by kind of track, then string id: of slices without a category */
} hd_roles;

/* false: no memory. Free with hd_roles_deinit either way. */
bool hd_roles_init(hd_roles *roles, const hd_trace *trace);
void hd_roles_deinit(hd_roles *roles);
static inline hd_row_sort hd_roles_row(const hd_roles *roles, uint32_t track)
{
    return track < roles->track_count ? (hd_row_sort)roles->rows[track] : HD_ROW_HOST;
}
hd_role hd_roles_at(hd_roles *roles, uint32_t category, uint32_t name, uint32_t track);
/* What by_category has: HD_ROLE_UNKNOWN: not looked up yet; HD_ROLE_BY_NAME, _UNSAID: name and track have to be asked,
 * too; else the role + 1. */
enum { HD_ROLE_UNKNOWN = 0, HD_ROLE_BY_NAME = 254, HD_ROLE_UNSAID = 255 };
hd_role hd_roles_look_up(hd_roles *roles, const hd_block *block, uint32_t row, uint32_t category);
/* By the columns of a block; reads as few of them as possible. */
static inline hd_role hd_roles_in(hd_roles *roles, const hd_block *block, uint32_t row, uint32_t category)
{
    unsigned known = atomic_load_explicit(&roles->by_category[category], memory_order_relaxed);
    return known != HD_ROLE_UNKNOWN && known < HD_ROLE_BY_NAME ? (hd_role)(known - 1)
                                                               : hd_roles_look_up(roles, block, row, category);
}

/* roles.c: the rule itself. */
hd_role hd_role_on(hd_string category, hd_string name, hd_row_sort row);
/* Whether such a category gives no role, so that the name or the track must. */
bool hd_role_is_unsaid(hd_string category);
/* Does the role depend on the name besides the category? */
bool hd_role_needs_name(hd_string category);

/* "ProfilerStep#5", as PyTorch's profiler names its steps. */
bool hd_is_profiler_step(hd_string name);
/* 5 from "ProfilerStep#5"; false: another name, or a larger number than anyone counts to. */
#define HD_STEP_NUMBER_MAX 999999999
bool hd_step_number(int64_t *out, hd_string name);
/* Whether a slice marks a step: ProfilerStep#N on a track of the host, of any category. The span of the same name on a
 * track of a GPU (gpu_user_annotation) marks none. */
#define HD_STEP_ROLES (1u << HD_ROLE_ANNOTATION | 1u << HD_ROLE_OP | 1u << HD_ROLE_OTHER) /* that such a slice has */
bool hd_marks_step(hd_role role, hd_string name);

/* producers.c: by track. */
void hd_row_sorts_find(uint8_t *out, const hd_trace *trace);
/* The trace's producer, by names and keys: "PyTorch (Kineto)"; NULL: unknown. Static. */
const char *hd_producer_of(const hd_trace *trace);
/* The categories (string ids) that say nothing in this producer's traces, as if slices had none; HD_STRING_NONE: no
 * more. */
uint32_t hd_producer_unsaid(const hd_trace *trace, const char *producer, size_t index);

#endif
