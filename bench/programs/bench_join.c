/* bench_join.c - the phases of a join, alone: `bench_join [-t THREADS] CPU GPU [OUT]`
 *
 * Reads both sides, joins them, weighs the flame graph and writes it by the extension of OUT (folded text to /dev/null
 * without one). Prints the seconds of each; `launches` is measured by itself once more and is a part of `attribute`.
 */
#include "bench.h"
#include "heddle/analysis/flame.h"

typedef struct phases {
    double read_cpu, read_gpu, launches, attribute, flame, write;
} phases;

typedef struct joining {
    hd_trace *cpu, *gpu;
    hd_attribution *attribution;
    hd_flame *flame;
    hd_flame_written written;
    phases took;
} joining;

static double lap(double *since)
{
    double now = bench_seconds(), took = now - *since;
    *since = now;
    return took;
}

static hd_status find_launches(joining *j, hd_error *err)
{
    double since = bench_seconds();
    hd_launches *launches;
    hd_status status = hd_launches_new(&launches, j->gpu, err);
    hd_launches_free(launches);
    j->took.launches = lap(&since);
    return status;
}

static hd_status join(joining *j, const char *cpu, const char *gpu, const hd_read_options *how, hd_error *err)
{
    double since = bench_seconds();
    hd_status status = hd_trace_read(&j->cpu, cpu, how, err);
    j->took.read_cpu = lap(&since);
    if (status == HD_OK) status = hd_trace_read(&j->gpu, gpu, how, err);
    j->took.read_gpu = lap(&since);
    if (status == HD_OK) status = find_launches(j, err);
    hd_attribution_options options = {.threads = how->threads};
    since = bench_seconds();
    if (status == HD_OK) status = hd_attribute(&j->attribution, j->gpu, j->cpu, &options, err);
    j->took.attribute = lap(&since);
    hd_flame_options flame = {.of = HD_FLAME_GPU_TIME, .attribution = &options};
    if (status == HD_OK) status = hd_flame_new(&j->flame, err);
    if (status == HD_OK) status = hd_flame_add(j->flame, j->gpu, j->cpu, j->attribution, &flame, err);
    j->took.flame = lap(&since);
    return status;
}

static hd_status write_flame(joining *j, const char *path, hd_error *err)
{
    hd_flame_write_options how = {.format = HD_FLAME_FOLDED, .min_percent = -1};
    double since = bench_seconds();
    if (path) hd_flame_format_of(&how.format, path);
    hd_status status = hd_flame_write(&j->written, j->flame, path ? path : "/dev/null", &how, err);
    j->took.write = lap(&since);
    return status;
}

static void print(const joining *j)
{
    const phases *t = &j->took;
    double total = t->read_cpu + t->read_gpu + t->attribute + t->flame + t->write;
    const hd_attribution *a = j->attribution;
    uint64_t joined = 0;
    for (int rule = HD_RULE_GIVEN; rule < HD_RULES; rule++) joined += a->works_by[rule];
    printf("seconds=%.3f read_cpu=%.3f read_gpu=%.3f launches=%.3f attribute=%.3f flame=%.3f write=%.3f\n", total,
           t->read_cpu, t->read_gpu, t->launches, t->attribute, t->flame, t->write);
    printf("samples=%llu launch_count=%zu works=%zu joined=%llu frames=%u stacks=%llu bytes=%llu\n",
           (unsigned long long)a->sample_count, a->launches->launch_count, a->launches->work_count,
           (unsigned long long)joined, hd_stacks_count(j->flame->stacks), (unsigned long long)j->written.stacks,
           (unsigned long long)j->written.bytes);
}

int main(int argc, char **argv)
{
    hd_read_options how = {0};
    hd_error err = {0};
    joining j = {0};
    int operands = argc;
    for (int i = 1; i < argc && argv[i][0] == '-'; i += 2) operands = argc - i - 2;
    if (operands == argc) operands = argc - 1;
    int first = bench_options(&how, argc, argv, operands == 3 ? 3 : 2, "[-t THREADS] CPU GPU [OUT]");
    hd_status status = join(&j, argv[first], argv[first + 1], &how, &err);
    if (status == HD_OK) status = write_flame(&j, operands == 3 ? argv[first + 2] : NULL, &err);
    if (status == HD_OK) print(&j);
    hd_flame_free(j.flame);
    hd_attribution_free(j.attribution);
    hd_trace_free(j.gpu);
    hd_trace_free(j.cpu);
    return status == HD_OK ? 0 : bench_failed(&err);
}
