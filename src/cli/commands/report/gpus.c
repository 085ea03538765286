/* gpus.c - the table of GPUs for heddle report: the library's, the user's, and files that are named */
#include "cli/commands/report/gpus.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* $XDG_CONFIG_HOME/heddle/gpus.toml; a folder that is not an absolute path is none. */
static hd_status add_users(hd_gpus *gpus, hd_error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool is_told = config && *config == '/';
    char path[PATH_MAX];
    if (!is_told && !(home && *home == '/')) return HD_OK;
    int size = snprintf(path, sizeof path, "%s%s/heddle/gpus.toml", is_told ? config : home, is_told ? "" : "/.config");
    if (size >= (int)sizeof path || access(path, F_OK) != 0) return HD_OK;
    return hd_gpus_add_file(gpus, path, err);
}

bool report_gpus_read(hd_gpus **out, cli_run *run, const cli_texts *files)
{
    hd_status status = hd_gpus_new(out, &run->err);
    if (status == HD_OK) status = add_users(*out, &run->err);
    for (size_t i = 0; i < files->count && status == HD_OK; i++)
        status = hd_gpus_add_file(*out, files->items[i], &run->err);
    return status == HD_OK;
}
