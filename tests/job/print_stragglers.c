/* print_stragglers.c - the tables of hd_report_stragglers as JSON, for check_ranks.py: print_stragglers FILE... */
#include <stdio.h>
#include <stdlib.h>

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
    size_t count = (size_t)argc - 1;
    hd_trace **traces = calloc(count + 1, sizeof(hd_trace *));
    hd_collectives **all = calloc(count + 1, sizeof(hd_collectives *));
    hd_report report = {0};
    hd_error err = {0};
    hd_status status = traces && all ? HD_OK : HD_ERR_MEMORY;
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        status = hd_trace_read(&traces[i], argv[i + 1], NULL, &err);
        if (status == HD_OK) status = hd_collectives_new(&all[i], traces[i], &err);
    }
    if (status == HD_OK) status = hd_report_stragglers(&report, (const hd_collectives *const *)all, count, &err);
    if (status == HD_OK) status = print_report(&report, &err);
    if (status != HD_OK) fprintf(stderr, "%s: %s\n", err.path, err.message);
    hd_report_free(&report);
    for (size_t i = 0; i < count && all && traces; i++) {
        hd_collectives_free(all[i]);
        hd_trace_free(traces[i]);
    }
    free(all);
    free(traces);
    return status != HD_OK;
}
