/* simulate.c - when each operation of a job would end */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/whatif/whatif.h"

static int64_t end_of(const whatif_op *op)
{
    return op->start_ns + op->duration_ns;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The operations of a step, node by node of each dp rank. */
static const whatif_op *step_ops(const whatif_job *job, size_t step)
{
    return job->ops.ops + step * job->ops.dp_count * job->ops.node_count;
}

static int64_t step_start(const whatif_job *job, size_t step)
{
    const whatif_op *ops = step_ops(job, step);
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < job->ops.dp_count * job->ops.node_count; i++)
        if (ops[i].start_ns < start) start = ops[i].start_ns;
    return start;
}

/* ---- what was measured ---- */

/* Launch delays: relative to the last dependency, or without one to the start of the step. */
static void find_delays(whatif_job *job, size_t step)
{
    const whatif_model *m = &job->model;
    const whatif_op *ops = step_ops(job, step);
    int64_t start = step_start(job, step);
    for (size_t i = 0; i < job->ops.dp_count * m->node_count; i++) {
        size_t node = i % m->node_count;
        const whatif_op *rank = ops + i - node;
        int64_t ready = m->dep_first[node] == m->dep_first[node + 1] ? start : INT64_MIN;
        for (uint32_t d = m->dep_first[node]; d < m->dep_first[node + 1]; d++)
            if (end_of(&rank[m->deps[d]]) > ready) ready = end_of(&rank[m->deps[d]]);
        job->delay_ns[(size_t)(ops - job->ops.ops) + i] = larger(0, (double)(ops[i].start_ns - ready));
    }
}

/* Of compute its duration; of a transfer the rest after the last of the group has started. */
static void find_work(whatif_job *job, size_t step, size_t group, size_t dp, size_t dps)
{
    const whatif_model *m = &job->model;
    const whatif_op *ops = step_ops(job, step);
    size_t base = (size_t)(ops - job->ops.ops);
    int64_t last = INT64_MIN;
    for (size_t d = dp; d < dp + dps; d++) {
        for (uint32_t i = m->group_first[group]; i < m->group_first[group + 1]; i++) {
            const whatif_op *op = &ops[d * m->node_count + m->members[i]];
            if (op->start_ns > last) last = op->start_ns;
        }
    }
    for (size_t d = dp; d < dp + dps; d++) {
        for (uint32_t i = m->group_first[group]; i < m->group_first[group + 1]; i++) {
            size_t at = d * m->node_count + m->members[i];
            bool is_compute = ops[at].kind < WHATIF_COMPUTE_KINDS;
            job->work_ns[base + at] = larger(0, (double)(is_compute ? ops[at].duration_ns : end_of(&ops[at]) - last));
        }
    }
}

static void find_step(whatif_job *job, size_t step)
{
    find_delays(job, step);
    for (size_t g = 0; g < job->model.group_count; g++) {
        bool is_over_dps = job->model.is_over_dps[g];
        for (size_t d = 0; d < job->ops.dp_count; d += is_over_dps ? job->ops.dp_count : 1)
            find_work(job, step, g, d, is_over_dps ? job->ops.dp_count : 1);
    }
}

/* Of compute the mean, of transfers the median. */
static bool find_ideals(whatif_job *job)
{
    double *list = malloc(job->ops.count * sizeof *list);
    for (unsigned kind = 0; list && kind < WHATIF_KINDS; kind++) {
        size_t count = 0;
        double sum = 0;
        for (size_t i = 0; i < job->ops.count; i++) {
            if (job->ops.ops[i].kind != kind) continue;
            sum += list[count++] = job->work_ns[i];
        }
        if (kind >= WHATIF_COMPUTE_KINDS) hd_sort(list, count, sizeof *list, hd_compare_double);
        if (!count) continue;
        job->ideal_ns[kind] =
            kind < WHATIF_COMPUTE_KINDS ? sum / (double)count : (list[(count - 1) / 2] + list[count / 2]) / 2;
    }
    free(list);
    return list != NULL;
}

hd_status whatif_job_open(whatif_job *out, const char *path, hd_error *err)
{
    *out = (whatif_job){0};
    HD_TRY(whatif_ops_read(&out->ops, path, err));
    hd_status status = whatif_model_make(&out->model, &out->ops, err);
    if (status != HD_OK) hd_error_set_path(err, path);
    HD_TRY(status);
    size_t of_step = out->ops.dp_count * out->ops.node_count;
    out->work_ns = calloc(out->ops.count, sizeof *out->work_ns);
    out->delay_ns = calloc(out->ops.count, sizeof *out->delay_ns);
    out->ends = calloc(of_step, sizeof *out->ends);
    out->kept = malloc(of_step);
    if (!out->work_ns || !out->delay_ns || !out->ends || !out->kept) return HD_NOMEM(err);
    for (size_t step = 0; step < out->ops.step_count; step++) find_step(out, step);
    return find_ideals(out) ? HD_OK : HD_NOMEM(err);
}

void whatif_job_deinit(whatif_job *job)
{
    whatif_ops_deinit(&job->ops);
    whatif_model_deinit(&job->model);
    free(job->work_ns);
    free(job->delay_ns);
    free(job->ends);
    free(job->kept);
}

/* ---- what would have been ---- */

typedef struct simulation {
    const whatif_job *job;
    size_t base; /* of the step's operations */
    bool with_delays;
} simulation;

/* A group of one dp rank, or of all: each starts when its dependencies have ended; transfers begin with the last. */
static void run_group(const simulation *s, size_t group, size_t dp, size_t dps)
{
    const whatif_job *job = s->job;
    const whatif_model *m = &job->model;
    const whatif_op *ops = job->ops.ops + s->base;
    double last = 0;
    for (size_t d = dp; d < dp + dps; d++) {
        double *ends = job->ends + d * m->node_count;
        for (uint32_t i = m->group_first[group]; i < m->group_first[group + 1]; i++) {
            uint32_t node = m->members[i];
            double start = 0;
            for (uint32_t k = m->dep_first[node]; k < m->dep_first[node + 1]; k++)
                start = larger(start, ends[m->deps[k]]);
            if (s->with_delays) start += job->delay_ns[s->base + d * m->node_count + node];
            ends[node] = start;
            last = larger(last, start);
        }
    }
    for (size_t d = dp; d < dp + dps; d++) {
        for (uint32_t i = m->group_first[group]; i < m->group_first[group + 1]; i++) {
            size_t at = d * m->node_count + m->members[i];
            double work = job->kept[at] ? job->work_ns[s->base + at] : job->ideal_ns[ops[at].kind];
            job->ends[at] = (ops[at].kind < WHATIF_COMPUTE_KINDS ? job->ends[at] : last) + work;
        }
    }
}

/* The last end of an optimizer; of anything where there is none. */
static double last_end(const whatif_job *job)
{
    double last = 0, last_optimizer = -1;
    for (size_t i = 0; i < job->ops.dp_count * job->ops.node_count; i++) {
        last = larger(last, job->ends[i]);
        if (job->ops.ops[i].kind == WHATIF_OPTIMIZER) last_optimizer = larger(last_optimizer, job->ends[i]);
    }
    return last_optimizer >= 0 ? last_optimizer : last;
}

double whatif_simulate(double *out, whatif_job *job, bool with_delays, whatif_keeps *keeps, const void *which)
{
    const whatif_model *m = &job->model;
    size_t dps = job->ops.dp_count;
    double sum = 0;
    for (size_t i = 0; i < dps * m->node_count; i++) job->kept[i] = !keeps || keeps(&job->ops.ops[i], which);
    for (size_t step = 0; step < job->ops.step_count; step++) {
        const simulation s = {job, step * dps * m->node_count, with_delays};
        for (size_t g = 0; g < m->group_count; g++)
            for (size_t d = 0; d < dps; d += m->is_over_dps[g] ? dps : 1)
                run_group(&s, g, d, m->is_over_dps[g] ? dps : 1);
        sum += out[step] = last_end(job);
    }
    return sum / (double)job->ops.step_count;
}

double whatif_measure(double *out, const whatif_job *job)
{
    double sum = 0;
    for (size_t step = 0; step < job->ops.step_count; step++) {
        const whatif_op *ops = step_ops(job, step);
        int64_t start = step_start(job, step);
        for (size_t i = 0; i < job->ops.dp_count * job->ops.node_count; i++)
            job->ends[i] = (double)(end_of(&ops[i]) - start);
        sum += out[step] = last_end(job);
    }
    return sum / (double)job->ops.step_count;
}
