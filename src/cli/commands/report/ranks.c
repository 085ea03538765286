/* ranks.c - files without the name of a report */
#include "cli/commands/report/ranks.h"

#include <string.h>
#include <sys/stat.h>

static bool is_job(const hd_job *job, bool has_summary)
{
    size_t count = hd_job_count(job), ranks = 0;
    for (size_t i = 0; i < count; i++) { /* in the order of ranks */
        int64_t rank = hd_job_at(job, i)->rank;
        ranks += rank != HD_NO_NUMBER && (!i || hd_job_at(job, i - 1)->rank != rank);
    }
    return has_summary ? count > 0 : ranks > 1;
}

const char *report_names_of_job(const hd_job *job)
{
    for (size_t i = 0; i < hd_job_count(job); i++) {
        hd_table *recorded = NULL;
        bool has_dump =
            hd_job_table(&recorded, job, i, "recorded", NULL) == HD_OK && recorded && hd_table_row_count(recorded) > 0;
        hd_table_free(recorded);
        if (has_dump) return "hang,job";
    }
    return "job,stragglers,imbalance";
}

/* The files that the operands mean; none if one of them can be read only once. */
static hd_status list_files(job_files *out, cli_run *run, int first)
{
    hd_status status = HD_OK;
    for (int i = first; i < run->operand_count && status == HD_OK; i++) {
        struct stat about;
        bool is_there = stat(run->operands[i], &about) == 0;
        if (strcmp(run->operands[i], "-") == 0 || (is_there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))) {
            job_files_deinit(out);
            return HD_OK;
        }
        status = job_files_add(out, run, run->operands[i]);
    }
    return status;
}

static void remove_operand(cli_run *run, int first, const char *path)
{
    int kept = first;
    for (int i = first; i < run->operand_count; i++)
        if (strcmp(run->operands[i], path) != 0) run->operands[kept++] = run->operands[i];
    run->operand_count = kept;
}

static hd_status read_files(hd_job *job, cli_run *run, int first, const job_files *files, const hd_read_options *read)
{
    hd_status status = HD_OK;
    cli_progress progress;
    cli_progress_init(&progress, run, "reading");
    progress.files = true;
    for (size_t i = 0; i < files->count && status != HD_ERR_MEMORY; i++) {
        cli_progress_update(&progress, i, files->count);
        status = job_add(job, run, files->list[i], read);
        if (status == HD_OK || status == HD_ERR_MEMORY) continue;
        cli_progress_pause(&progress);
        cli_report(run);
        remove_operand(run, first, files->list[i]);
    }
    cli_progress_deinit(&progress);
    return status == HD_ERR_MEMORY ? status : hd_job_finish(job, &run->err);
}

hd_status report_ranks_read(hd_job **out, cli_run *run, int first, const hd_read_options *read)
{
    job_files files = {0};
    bool has_summary = false;
    *out = NULL;
    hd_status status = list_files(&files, run, first);
    for (size_t i = 0; i < files.count; i++) has_summary |= hd_job_is_file(files.list[i]);
    const bool may_be = status == HD_OK && (has_summary || files.count > 1);
    if (may_be) status = hd_job_new(out, &run->err);
    if (may_be && status == HD_OK) status = read_files(*out, run, first, &files, read);
    job_files_deinit(&files);
    if (status == HD_OK && *out && is_job(*out, has_summary)) return HD_OK;
    hd_job_free(*out);
    *out = NULL;
    return status;
}
