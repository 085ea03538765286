/* spans.c - the times of --from and --until on the clock of each rank of a job
 *
 * They count from the first event of all ranks that is not filtered out. So each rank is read twice: for its span,
 * which is kept in a file next to its part, and for its events. All are cut at one time of the archive's clock, as
 * readers have it: base times, shifts and drift.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "convert/impl.h"
#include "model/scope/window.h"
#include "pass/merge/merge.h"

bool hd_convert_job_crops(const hd_convert_job *job)
{
    return job->options.from.unit != HD_CONVERT_UNSET || job->options.until.unit != HD_CONVERT_UNSET;
}

hd_status hd_convert_job_look(hd_convert_job *job, size_t index, hd_error *err)
{
    char *path;
    convert_span s;
    hd_convert_options options = job->options;
    const convert_share share = {.number = job->count > 1 ? index + 1 : 0, .span = &s};
    options.from = options.until = (hd_convert_time){0};
    options.clip = options.fix = false;
    options.pass_count = 0;
    hd_status status = convert_job_input(NULL, job, index, &share, NULL, &options, err);
    if (status != HD_OK) return status == HD_END ? HD_OK : status;
    HD_TRY(convert_part_path(&path, job, index, ".span", err));
    FILE *file = fopen(path, "w");
    bool fine = file && fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", s.rank,
                                s.world_size, s.base_ns, s.start_ns, s.end_ns) > 0;
    if (file) fine = fclose(file) == 0 && fine;
    if (!fine) hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written");
    free(path);
    return fine ? HD_OK : HD_ERR_IO;
}

static hd_status read_span(convert_span *out, const hd_convert_job *job, size_t index, hd_error *err)
{
    char *path;
    HD_TRY(convert_part_path(&path, job, index, ".span", err));
    FILE *file = fopen(path, "r");
    free(path);
    bool fine = file && fscanf(file, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &out->rank,
                               &out->world_size, &out->base_ns, &out->start_ns, &out->end_ns) == 5;
    if (file) fclose(file);
    return fine ? HD_OK
                : hd_error_set(err, HD_ERR_IO, job->inputs[index], HD_OFFSET_NONE,
                               "its span is not known: not all "
                               "ranks were looked at");
}

/* ---- clocks ---- */

typedef struct spans {
    hd_convert_job *job;
    size_t count; /* of the ranks that are not left out */
    size_t *places;
    convert_span *list;
    hd_merge_input *inputs; /* without traces */
    hd_format_part *clocks;
    bool *twins;
} spans;

static int64_t on_archive(const hd_format_part *clock, int64_t ns)
{
    int64_t sum, offset = hd_format_part_offset(NULL, clock, ns);
    return __builtin_add_overflow(ns, offset, &sum) ? (offset < 0 ? -INT64_MAX : INT64_MAX) : sum;
}

/* The first time of a rank's clock that is at or after a time of the archive's. */
static int64_t on_rank(const hd_format_part *clock, int64_t archive_ns)
{
    int64_t low = -INT64_MAX / 2, high = INT64_MAX / 2;
    if (archive_ns == INT64_MAX || archive_ns == -INT64_MAX) return archive_ns;
    HD_PARTITION_POINT(low, high, at, on_archive(clock, at) < archive_ns);
    return low;
}

/* As the join will set them (job.c). */
static hd_status find_clocks(spans *s, hd_error *err)
{
    const hd_convert_job *job = s->job;
    int64_t base_ns = INT64_MAX;
    bool same = true, has_world = false;
    for (size_t i = 0; i < job->count; i++) {
        bool is_left_out;
        HD_TRY(convert_is_left_out(&is_left_out, job, i, err));
        if (is_left_out) continue;
        HD_TRY(read_span(&s->list[s->count], job, i, err));
        s->inputs[s->count] = (hd_merge_input){.path = job->inputs[i], .rank = s->list[s->count].rank};
        same = same && s->list[s->count].rank == s->list->rank;
        has_world |= s->list[s->count].world_size > 1;
        s->places[s->count++] = i;
    }
    bool by_place = same && (s->list->rank == HD_NO_NUMBER || (s->count > 1 && !has_world));
    for (size_t i = 0; i < s->count && by_place; i++) s->inputs[i].rank = (int64_t)s->places[i];
    HD_TRY(hd_merge_find_twins(&s->twins, s->inputs, s->count, err));
    HD_TRY(hd_merge_find_shifts(s->inputs, s->count, job->shifts, err));
    for (size_t i = 0; i < s->count; i++) /* HD_NO_TIME is the lowest */
        if (!s->twins[i] && s->list[i].base_ns < base_ns) base_ns = s->list[i].base_ns;
    for (size_t i = 0; i < s->count; i++)
        convert_part_clock(&s->clocks[i], job, s->inputs[i].rank, s->inputs[i].shift_ns, s->list[i].base_ns, base_ns);
    return HD_OK;
}

static hd_status write_windows(const spans *s, const hd_crop_window *whole, hd_error *err)
{
    char *path;
    HD_TRY(convert_part_path(&path, s->job, 0, ".windows", err));
    FILE *file = fopen(path, "wb");
    bool fine = file != NULL;
    for (size_t i = 0; i < s->count && fine; i++) {
        const int64_t edges[] = {on_rank(&s->clocks[i], whole->from_ns), on_rank(&s->clocks[i], whole->until_ns)};
        fine = fseeko(file, (off_t)(s->places[i] * sizeof edges), SEEK_SET) == 0 &&
               fwrite(edges, sizeof edges, 1, file) == 1;
    }
    if (file) fine = fclose(file) == 0 && fine;
    if (!fine) hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written");
    free(path);
    return fine ? HD_OK : HD_ERR_IO;
}

hd_status convert_read_window(hd_crop_window *out, const hd_convert_job *job, size_t index, hd_error *err)
{
    char *path;
    int64_t edges[2];
    HD_TRY(convert_part_path(&path, job, 0, ".windows", err));
    FILE *file = fopen(path, "rb");
    bool fine =
        file && fseeko(file, (off_t)(index * sizeof edges), SEEK_SET) == 0 && fread(edges, sizeof edges, 1, file) == 1;
    if (file) fclose(file);
    if (!fine) hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be read again");
    free(path);
    if (fine) *out = (hd_crop_window){edges[0], edges[1], job->options.clip};
    return fine ? HD_OK : HD_ERR_IO;
}

static hd_status find_windows(spans *s, hd_error *err)
{
    hd_convert_job *job = s->job;
    hd_crop_window whole;
    int64_t start_ns = HD_NO_TIME, end_ns = HD_NO_TIME;
    bool any;
    HD_TRY(find_clocks(s, err));
    if (!s->count) return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "no input can be read");
    for (size_t i = 0; i < s->count; i++) {
        if (s->twins[i] || s->list[i].start_ns == HD_NO_TIME) continue;
        int64_t start = on_archive(&s->clocks[i], s->list[i].start_ns);
        int64_t end = on_archive(&s->clocks[i], s->list[i].end_ns);
        start_ns = start_ns == HD_NO_TIME || start < start_ns ? start : start_ns;
        end_ns = end > end_ns ? end : end_ns;
    }
    HD_TRY(hd_crop_window_of(&whole.from_ns, &whole.until_ns, &any, start_ns, end_ns, job->options.from,
                             job->options.until, s->inputs[0].path, err));
    return write_windows(s, &whole, err);
}

hd_status hd_convert_job_crop(hd_convert_job *job, hd_error *err)
{
    spans s = {.job = job,
               .places = calloc(job->count, sizeof *s.places),
               .list = calloc(job->count, sizeof *s.list),
               .inputs = calloc(job->count, sizeof *s.inputs),
               .clocks = calloc(job->count, sizeof *s.clocks)};
    hd_status status = s.places && s.list && s.inputs && s.clocks ? find_windows(&s, err) : HD_NOMEM(err);
    free(s.places);
    free(s.list);
    free(s.inputs);
    free(s.clocks);
    free(s.twins);
    return status;
}
