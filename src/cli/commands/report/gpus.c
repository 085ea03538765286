/* gpus.c - the table of GPUs for heddle report: the library's, the user's, and files that are named */
#include "cli/commands/report/gpus.h"

#include <limits.h>

static hd_status add_users(hd_gpus *gpus, hd_error *err)
{
    char path[PATH_MAX];
    return cli_config_file(path, sizeof path, "gpus.toml") ? hd_gpus_add_file(gpus, path, err) : HD_OK;
}

bool report_gpus_read(hd_gpus **out, cli_run *run, const cli_texts *files)
{
    hd_status status = hd_gpus_new(out, &run->err);
    if (status == HD_OK) status = add_users(*out, &run->err);
    for (size_t i = 0; i < files->count && status == HD_OK; i++)
        status = hd_gpus_add_file(*out, files->items[i], &run->err);
    return status == HD_OK;
}
