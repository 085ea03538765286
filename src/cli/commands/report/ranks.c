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

/* Only files can be read twice; a folder is one trace, as an OTF2 archive is. */
static bool may_be_job(const cli_run *run, bool *has_summary)
{
    *has_summary = false;
    for (int i = 0; i < run->operand_count; i++) {
        struct stat about;
        if (strcmp(run->operands[i], "-") == 0) return false;
        if (stat(run->operands[i], &about) == 0 && !S_ISREG(about.st_mode)) return false;
        *has_summary |= hd_job_is_file(run->operands[i]);
    }
    return *has_summary || run->operand_count > 1;
}

hd_status report_ranks_read(hd_job **out, cli_run *run, const hd_read_options *read)
{
    bool has_summary;
    int kept = 0;
    *out = NULL;
    if (!may_be_job(run, &has_summary)) return HD_OK;
    hd_status status = hd_job_new(out, &run->err);
    for (int i = 0; i < run->operand_count && status == HD_OK; i++) {
        status = job_add(*out, run, run->operands[i], read);
        if (status == HD_OK) run->operands[kept++] = run->operands[i];
        if (status == HD_OK || status == HD_ERR_MEMORY) continue;
        cli_report(run);
        status = HD_OK;
    }
    if (status == HD_OK) status = hd_job_finish(*out, &run->err);
    if (status == HD_OK) run->operand_count = kept;
    if (status == HD_OK && is_job(*out, has_summary)) return HD_OK;
    hd_job_free(*out);
    *out = NULL;
    return status;
}
