/* print_stragglers.c - the tables of hd_report_stragglers as JSON, for check_ranks.py: print_stragglers FILE... */
#include <stdio.h>

#include "heddle/heddle.h"

static hd_status print(void *user, const char *data, size_t size)
{
    (void)user;
    return fwrite(data, 1, size, stdout) == size ? HD_OK : HD_ERR_IO;
}

static hd_status print_report(const hd_report *report, hd_error *err)
{
    const hd_table_style json = {.format = HD_TABLE_JSON};
    hd_status status = HD_OK;
    for (size_t i = 0; i < report->table_count && status == HD_OK; i++) {
        printf("%s\"%s\": ", i ? ", " : "{", hd_table_name(report->tables[i]));
        status = hd_table_write(report->tables[i], (hd_sink){print, NULL}, &json, err);
    }
    printf("}\n");
    return status;
}

int main(int argc, char **argv)
{
    hd_job *job = NULL;
    hd_report report = {0};
    hd_error err = {0};
    hd_status status = hd_job_new(&job, &err);
    for (int i = 1; i < argc && status == HD_OK; i++) {
        hd_trace *trace;
        status = hd_trace_read(&trace, argv[i], NULL, &err);
        if (status == HD_OK) status = hd_job_add_trace(job, trace, argv[i], &err);
        hd_trace_free(trace);
    }
    if (status == HD_OK) status = hd_job_finish(job, &err);
    if (status == HD_OK) status = hd_report_stragglers(&report, job, &err);
    if (status == HD_OK) status = print_report(&report, &err);
    if (status != HD_OK) fprintf(stderr, "%s: %s\n", err.path, err.message);
    hd_report_free(&report);
    hd_job_free(job);
    return status != HD_OK;
}
