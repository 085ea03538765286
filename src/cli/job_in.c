/* job_in.c - the ranks of a job out of operands */
#include "cli/job_in.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report_out.h"
#include "heddle/capture/record.h"

/* ---- which files ---- */

#define RANK "{rank}"

static bool add_path(job_files *p, const char *folder, const char *name)
{
    char *path = NULL;
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 64;
        char **list = realloc(p->list, capacity * sizeof *list);
        if (!list) return false;
        p->list = list;
        p->capacity = capacity;
    }
    if (folder ? asprintf(&path, "%s/%s", folder, name) < 0 : !(path = strdup(name))) return false;
    p->list[p->count++] = path;
    return true;
}

static int by_name(const void *x, const void *y)
{
    return strverscmp(*(char *const *)x, *(char *const *)y);
}

static bool is_summary(const char *name)
{
    return cli_ends_with(name, strlen(name), ".hds");
}

/* One file of these is a rank's trace, though nothing writes them: databases of profilers. */
static bool is_database(const char *name)
{
    static const char *const formats[] = {"ascend", "nsys", "rocpd", "rpd"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const hd_format_info *format = hd_format_find(formats[i]); /* each has one extension */
        if (format && cli_ends_with(name, strlen(name), format->extensions)) return true;
    }
    return false;
}

static bool is_trace(const char *name)
{
    const hd_format_info *format = hd_format_for_path(name);
    return (format && format->reads) || is_database(name);
}

/* A file of a format without an extension, as the dumps of PyTorch's flight recorder, is known by its content. */
static bool is_dump(const char *folder, const char *name)
{
    char *path;
    if (is_trace(name) || is_summary(name) || asprintf(&path, "%s/%s", folder, name) < 0) return false;
    const hd_format_info *format = hd_format_of_file(path);
    free(path);
    return format && !*format->extensions;
}

typedef enum folder_kind { TRACES, SUMMARIES, DUMPS, KINDS } folder_kind;

/* The first kind of input that the folder has; *out_kind: which; out_passed: the number of files of the others. */
static bool add_folder(job_files *p, const char *folder, folder_kind *out_kind, size_t out_passed[KINDS])
{
    size_t first = p->count;
    bool fine = true;
    for (int pass = 0; pass < KINDS && fine; pass++) {
        const folder_kind kind = pass < DUMPS && p->summaries_first ? SUMMARIES - pass : pass;
        bool adds = p->count == first;
        DIR *entries = opendir(folder);
        if (!entries) continue;
        for (struct dirent *entry; fine && (entry = readdir(entries)) != NULL;) {
            const char *name = entry->d_name;
            const bool is_wanted = kind == TRACES      ? is_trace(name)
                                   : kind == SUMMARIES ? is_summary(name)
                                                       : is_dump(folder, name);
            if (*name == '.' || !is_wanted) continue;
            if (adds)
                fine = add_path(p, folder, name);
            else
                out_passed[kind]++;
        }
        closedir(entries);
        if (adds) *out_kind = kind;
    }
    if (p->count > first) qsort(p->list + first, p->count - first, sizeof *p->list, by_name);
    return fine;
}

/* Is that the pattern with digits for each {rank}? */
static bool matches(const char *path, const char *pattern)
{
    while (*pattern && *path) {
        bool is_rank = strncmp(pattern, RANK, strlen(RANK)) == 0;
        size_t size = is_rank ? strspn(path, "0123456789") : *path == *pattern;
        if (!size) return false;
        path += size;
        pattern += is_rank ? strlen(RANK) : 1;
    }
    return !*pattern && !*path;
}

/* The files that match a pattern, unordered. Everything except {rank} is literal. */
static bool add_ranks(job_files *p, const char *pattern)
{
    glob_t found = {0};
    char *all = malloc(2 * strlen(pattern) + 1), *end = all;
    if (!all) return false;
    for (const char *at = pattern; *at;) {
        bool is_rank = strncmp(at, RANK, strlen(RANK)) == 0;
        end += sprintf(end, "%s%.*s", !is_rank && strchr("*?[\\", *at) ? "\\" : "", !is_rank, is_rank ? "" : at);
        if (is_rank) *end++ = '*';
        at += is_rank ? strlen(RANK) : 1;
    }
    *end = '\0';
    bool fine = glob(all, GLOB_NOSORT, NULL, &found) != GLOB_NOSPACE;
    for (size_t i = 0; i < found.gl_pathc && fine; i++)
        if (matches(found.gl_pathv[i], pattern)) fine = add_path(p, NULL, found.gl_pathv[i]);
    globfree(&found);
    free(all);
    return fine;
}

hd_status job_files_add_ranks(job_files *files, const char *operand, hd_error *err)
{
    size_t before = files->count;
    bool fine = !strstr(operand, RANK) || add_ranks(files, operand);
    if (fine && files->count == before) fine = add_path(files, NULL, operand);
    if (fine) qsort(files->list + before, files->count - before, sizeof *files->list, by_name);
    return fine ? HD_OK : hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
}

static void say_passed(const char *folder, folder_kind kind, size_t found, const size_t passed[KINDS])
{
    static const char *const names[KINDS][2] = {
        {"trace", "traces"}, {"summary", "summaries"}, {"dump of a flight recorder", "dumps of flight recorders"}};
    for (folder_kind k = 0; k < KINDS; k++)
        if (passed[k])
            fprintf(stderr, "%s: %zu %s; also in it %zu %s%s, passed over: name the files themselves to have them\n",
                    folder, found, names[kind][found != 1], passed[k], names[k][passed[k] != 1],
                    k == SUMMARIES ? " (.hds)" : "");
}

hd_status job_files_add(job_files *files, cli_run *run, const char *operand)
{
    struct stat about;
    size_t before = files->count, passed[KINDS] = {0};
    folder_kind kind = TRACES;
    if (stat(operand, &about) == 0 && S_ISDIR(about.st_mode) && !add_folder(files, operand, &kind, passed))
        return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    size_t found = files->count - before;
    say_passed(operand, kind, found, passed);
    return found ? HD_OK : job_files_add_ranks(files, operand, &run->err); /* a folder may be a trace */
}

typedef struct sized {
    off_t size;
    size_t index;
} sized;

static int by_size(const void *x, const void *y)
{
    const sized *a = x, *b = y;
    return a->size != b->size ? (a->size < b->size ? 1 : -1) : (a->index > b->index) - (a->index < b->index);
}

size_t *job_largest_first(const char *const *paths, size_t count)
{
    sized *all = calloc(count + 1, sizeof *all);
    size_t *order = all ? calloc(count + 1, sizeof *order) : NULL;
    for (size_t i = 0; order && i < count; i++) {
        struct stat about;
        all[i] = (sized){stat(paths[i], &about) == 0 ? about.st_size : 0, i};
    }
    if (order) qsort(all, count, sizeof *all, by_size);
    for (size_t i = 0; order && i < count; i++) order[i] = all[i].index;
    free(all);
    return order;
}

hd_status job_files_sort(job_files *files, hd_error *err)
{
    size_t *order = job_largest_first((const char *const *)files->list, files->count);
    char **sorted = order ? malloc((files->count + 1) * sizeof *sorted) : NULL;
    for (size_t i = 0; sorted && i < files->count; i++) sorted[i] = files->list[order[i]];
    free(order);
    if (!sorted) return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    free(files->list);
    files->list = sorted;
    files->capacity = files->count + 1;
    return HD_OK;
}

/* The paths after each other, each with its zero byte. */
static hd_status pack(char **out, size_t *out_size, const job_files *files, hd_error *err)
{
    FILE *bytes = open_memstream(out, out_size);
    for (size_t i = 0; bytes && i < files->count; i++) fwrite(files->list[i], 1, strlen(files->list[i]) + 1, bytes);
    if (bytes && fclose(bytes) == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
}

hd_status job_files_share(job_files *files, hd_mpi *mpi, hd_error *err)
{
    char *told = NULL;
    void *heard = NULL;
    size_t size = 0;
    bool first = hd_mpi_rank(mpi) == 0;
    hd_status status = first ? pack(&told, &size, files, err) : HD_OK;
    if (status == HD_OK) status = hd_mpi_broadcast(&heard, &size, mpi, told, size, err);
    if (!first) job_files_deinit(files);
    for (const char *at = heard, *end = at + size; !first && status == HD_OK && at < end; at += strlen(at) + 1)
        if (!add_path(files, NULL, at))
            status = hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    free(told);
    free(heard);
    return status;
}

void job_files_deinit(job_files *files)
{
    for (size_t i = 0; i < files->count; i++) free(files->list[i]);
    free(files->list);
    *files = (job_files){0};
}

/* ---- reading ---- */

static hd_status add_trace(hd_job *job, cli_run *run, const char *path, const hd_read_options *read)
{
    hd_trace *trace;
    hd_status status = report_read(&trace, run, path, *read);
    if (status != HD_OK) return status;
    status = hd_job_add_trace(job, trace, path, &run->err);
    if (status == HD_OK) status = report_check_read(trace, path, &run->err);
    hd_trace_free(trace);
    return status;
}

hd_status job_add(hd_job *job, cli_run *run, const char *path, const hd_read_options *read)
{
    hd_status status = hd_job_is_file(path) ? hd_job_add_file(job, path, &run->err) : add_trace(job, run, path, read);
    if (status != HD_OK && !run->err.path[0]) snprintf(run->err.path, sizeof run->err.path, "%s", path);
    return status;
}

hd_status job_read(hd_job **out, uint64_t *out_failed, cli_run *run, int first, job_shard shard,
                   const hd_read_options *read)
{
    job_files files = {.summaries_first = shard.summaries_first};
    *out_failed = 0;
    hd_status status = hd_job_new(out, &run->err);
    for (int i = first; i < run->operand_count && status == HD_OK; i++)
        status = job_files_add(&files, run, run->operands[i]);
    cli_progress progress;
    cli_progress_init(&progress, run, "reading");
    progress.files = true;
    for (size_t i = 0; i < files.count && status == HD_OK; i++) {
        if (shard.count && i % shard.count != shard.index) continue;
        cli_progress_update(&progress, i, files.count);
        status = job_add(*out, run, files.list[i], read);
        if (status == HD_OK || status == HD_ERR_MEMORY) continue;
        cli_progress_pause(&progress);
        cli_report(run);
        (*out_failed)++;
        status = HD_OK;
    }
    cli_progress_deinit(&progress);
    bool is_one = files.count == 1 && strcmp(files.list[0], run->operands[first]) == 0 && !hd_job_is_file(*files.list);
    job_files_deinit(&files);
    if (status == HD_OK) status = hd_job_finish(*out, &run->err);
    if (status == HD_OK && shard.tells_misfits && !is_one) status = job_print_some_misfits(run, *out, HD_MISFIT_RANKS);
    if (status == HD_OK) return HD_OK;
    hd_job_free(*out);
    *out = NULL;
    return status;
}

/* ---- shards ---- */

char *job_path(const char *pattern, const char *place, uint64_t number)
{
    size_t size;
    char *out = NULL;
    FILE *text = open_memstream(&out, &size);
    if (!text) return NULL;
    for (const char *next; (next = strstr(pattern, place)) != NULL; pattern = next + strlen(place))
        fprintf(text, "%.*s%" PRIu64, (int)(next - pattern), pattern, number);
    fputs(pattern, text);
    if (fclose(text) == 0) return out;
    free(out);
    return NULL;
}

static bool read_number(uint64_t *out, const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

int job_shard_parse(job_shard *out, cli_run *run, const char *text)
{
    char index[24];
    *out = (job_shard){0, 0};
    if (!text) return CLI_OK;
    size_t size = strcspn(text, "/");
    bool is_auto = strcmp(text, "auto") == 0;
    if (is_auto && hd_record_rank(&out->index, &out->count)) return CLI_OK;
    if (is_auto)
        return cli_usage_error(run, "--shard auto: no launcher says which process this is, and of how many; give I/N "
                                    "(for an indexed job of Kubernetes: $JOB_COMPLETION_INDEX/N)");
    snprintf(index, sizeof index, "%.*s", size < sizeof index ? (int)size : 0, text);
    if (!text[size] || !read_number(&out->index, index) || !read_number(&out->count, text + size + 1) ||
        out->index >= out->count)
        return cli_usage_error(run, "--shard: '%.60s' is neither I/N with I from 0 to N - 1, nor auto", text);
    return CLI_OK;
}

/* ---- what there is ---- */

int job_check_output(cli_run *run, const char *path)
{
    bool fits = is_summary(path) || strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0;
    if (!fits) return cli_usage_error(run, "'%.100s': a summary is named .hds", path);
    return hd_trace_write_check(path, NULL, &run->err) == HD_OK ? CLI_OK : CLI_FAILED;
}

void job_print_lost(void *user, const hd_error *why)
{
    cli_run *run = user;
    run->err = *why;
    cli_report(run);
}

hd_status job_print_some_misfits(cli_run *run, const hd_job *job, unsigned kinds)
{
    hd_misfit *found;
    size_t count;
    hd_status status = hd_job_misfits(&found, &count, job, kinds, &run->err);
    report_say_misfits(run, found, count);
    free(found);
    return status;
}

hd_status job_print_misfits(uint64_t *out, cli_run *run, const char *path, const hd_job *job)
{
    hd_misfit *found;
    size_t ranks = hd_job_count(job), count;
    hd_status status = hd_job_misfits(&found, &count, job, HD_MISFIT_RANKS | HD_MISFIT_DAMAGE, &run->err);
    report_say_misfits(run, found, count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].code, "job.rank-twice") == 0) ranks -= found[i].count;
    if (!run->global.quiet) fprintf(stderr, "wrote %s: %zu rank%s\n", path, ranks, ranks == 1 ? "" : "s");
    free(found);
    *out = count;
    return status;
}
