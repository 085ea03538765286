/* late.c - data that the web UI requests after the picture: lateness of each rank at the collectives of each step,
 * summed as in report stragglers, and roles */
#include <stdio.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "report/job/groups.h"
#include "report/job/meetings.h"
#include "view/ranks/impl.h"

typedef struct lateness {
    view_picture *picture;
    uint32_t step; /* of the row before */
} lateness;

/* Rows are sorted by group, then number, so the step is mostly that of the previous row, or the next. */
static uint32_t step_at(const view_picture *p, uint32_t row, int64_t start, uint32_t before)
{
    uint32_t count = (uint32_t)p->step_count, at = before;
    for (uint32_t i = 0; start != HD_NO_NUMBER && i < count; i++, at = at + 1 >= count ? 0 : at + 1) {
        if (view_picture_at(p, VIEW_START, row, at) == start) return at;
    }
    return HD_NONE;
}

static bool add_arrival(void *user, const job_arrival *a)
{
    lateness *l = user;
    view_picture *p = l->picture;
    uint32_t row = ranks_row_of(p, a->summary, a->rank, a->device);
    uint32_t step = row != HD_NONE ? step_at(p, row, a->step_start, l->step) : HD_NONE;
    if (step == HD_NONE) return true;
    l->step = step;
    int64_t *cell = &p->late[(size_t)row * p->step_count + step];
    *cell = *cell == HD_NO_NUMBER ? a->late : gpu_sum(*cell, a->late);
    return true;
}

/* Whether something of several ranks is not compared. */
static bool differs(const job_meetings *m)
{
    for (size_t i = 0; i < m->defect_count; i++) {
        const job_meeting_defect *d = &m->defects[i];
        if (d->defect == JOB_COUNTED || d->defect == JOB_SEVERAL ||
            (d->defect <= JOB_UNTIMED && m->list[d->of].count > 1))
            return true;
    }
    return false;
}

static bool put_lost(view_picture *p, const hd_table *lost)
{
    hd_json_out out = {0};
    size_t file = hd_table_find_column(lost, "file"), why = hd_table_find_column(lost, "why"), size;
    for (size_t row = 0; row < hd_table_row_count(lost); row++) {
        hd_error err = {.status = HD_ERR_DAMAGED};
        const char *message = hd_table_get_string(&size, lost, row, why);
        snprintf(err.message, sizeof err.message, "%.*s", (int)size, message);
        const char *name = hd_table_get_string(&size, lost, row, file);
        ranks_add_lost(&out, name, size, &err);
    }
    free(p->late_lost); /* of a call that failed */
    p->late_lost = out.data;
    return !out.failed;
}

static hd_status compare_all(view_picture *p, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                             hd_error *err)
{
    job_meetings *meetings = calloc(1, sizeof *meetings);
    lateness l = {.picture = p};
    size_t cells = p->row_count * p->step_count;
    p->late = malloc((cells + 1) * sizeof *p->late);
    if (!p->late || !meetings) {
        free(meetings);
        return HD_NOMEM(err);
    }
    for (size_t i = 0; i < cells; i++) p->late[i] = HD_NO_NUMBER;
    hd_status status = job_meetings_init(meetings, jobs, count, lost, err);
    if (status == HD_OK && !job_meetings_walk(meetings, add_arrival, &l)) status = HD_NOMEM(err);
    p->differs = status == HD_OK && differs(meetings);
    if (status == HD_OK) {
        job_meetings_leave_list(meetings);
        p->collectives = meetings;
    } else {
        job_meetings_deinit(meetings);
        free(meetings);
    }
    return status;
}

hd_status ranks_late(view_picture *p, const ranks_source *sources, size_t count, hd_error *err)
{
    hd_table_builder *builder = NULL;
    hd_table *lost = NULL;
    const hd_job **jobs = malloc((count + 1) * sizeof *jobs);
    for (size_t i = 0; jobs && i < count; i++) jobs[i] = sources[i].job;
    hd_status status = jobs ? report_builder(&builder, &report_stragglers_about, "lost", err) : HD_NOMEM(err);
    if (status == HD_OK) status = ranks_roles(p, jobs, count, builder, err);
    if (status == HD_OK) status = compare_all(p, jobs, count, builder, err);
    if (status == HD_OK)
        status = hd_table_finish(&lost, builder, err);
    else
        hd_table_builder_free(builder);
    if (status == HD_OK && !put_lost(p, lost)) status = HD_NOMEM(err);
    if (status != HD_OK) { /* incomplete data is not reported */
        free(p->late);
        p->late = NULL;
    }
    hd_table_free(lost);
    free(jobs);
    return status;
}

/* ---- one of them ---- */

/* Compares a collective instance with a collective of a trace, as job_meetings.order. */
static int compare(const job_meetings *m, const job_meeting *x, const hd_collective *c)
{
    const job_meeting_group *group = job_meeting_group_of(m, x->group);
    hd_collective own = {.stream = group->stream, .is_point_to_point = group->is_point_to_point};
    if (group->name != HD_NONE) own.group = gpu_text_of(&m->texts, group->name);
    int order = job_compare_groups(&own, c);
    return order ? order : job_compare_numbers(x->sequence, c->sequence);
}

view_meeting ranks_meeting_of(const view_picture *p, const hd_collective *c)
{
    const job_meetings *m = p->collectives;
    size_t low = 0, high = m->count;
    HD_PARTITION_POINT(low, high, at, compare(m, &m->list[m->order[at]], c) < 0);
    if (low == m->count || compare(m, &m->list[m->order[low]], c) != 0) return (view_meeting){.number = HD_NONE};
    const job_meeting *of = &m->list[m->order[low]];
    uint32_t last = job_meeting_last(of);
    return (view_meeting){.number = of->is_compared ? m->order[low] : HD_NONE,
                          .ranks = of->count,
                          .last_rank = last != HD_NONE ? m->members[last].rank : HD_NO_NUMBER,
                          .last_device = last != HD_NONE ? m->members[last].device : HD_NO_NUMBER,
                          .longest = of->longest,
                          .shortest = of->shortest};
}

size_t ranks_meeting_count(const view_picture *p)
{
    return p->collectives->count;
}
