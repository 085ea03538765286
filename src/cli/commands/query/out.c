/* out.c - where results go: standard output, or a file that appears whole or not at all */
#include "cli/commands/query/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const session_formats[] = {"table", "csv", "json", "jsonl", "md", "parquet", "arrow", NULL};

bool session_format_of(rows_format *out, const char *path)
{
    static const struct {
        const char *end;
        rows_format format;
    } ends[] = {{".csv", ROWS_CSV},         {".json", ROWS_JSON},    {".jsonl", ROWS_JSONL}, {".ndjson", ROWS_JSONL},
                {".parquet", ROWS_PARQUET}, {".arrows", ROWS_ARROW}, {".md", ROWS_MARKDOWN}, {".txt", ROWS_TABLE}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (cli_ends_with(path, strlen(path), ends[i].end)) return *out = ends[i].format, true;
    return false;
}

static hd_status failed(const session_out *out, hd_error *err)
{
    return hd_error_set(err, HD_ERR_IO, out->path, HD_OFFSET_NONE, "%s", strerror(errno));
}

/* Not a regular file (a pipe, /dev/stdout): written directly, without a temporary file. */
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

hd_status session_out_open(session_out *out, hd_error *err)
{
    if (!out->path) return HD_OK;
    if (is_special(out->path)) {
        out->file = fopen(out->path, "w");
        return out->file ? HD_OK : failed(out, err);
    }
    if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
        out->temporary = NULL;
        return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int file = mkstemp(out->temporary);
    if (file >= 0) cli_remove_at_stop(out->temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    mode_t mask = umask(0);
    umask(mask);
    if (file >= 0) fchmod(file, 0666 & ~mask);
    out->file = file >= 0 ? fdopen(file, "w") : NULL;
    if (out->file) return HD_OK;
    hd_status status = failed(out, err);
    if (file >= 0) {
        close(file);
        unlink(out->temporary);
        cli_remove_at_stop(NULL);
    }
    free(out->temporary);
    out->temporary = NULL;
    return status;
}

hd_status session_out_write(void *user, const char *data, size_t size)
{
    session_out *out = user;
    if (!out->file) return cli_write(out->run, data, size);
    /* at once: later code knows only that it failed */
    return fwrite(data, 1, size, out->file) == size ? HD_OK : failed(out, &out->run->err);
}

hd_status session_out_close(session_out *out, hd_status status, hd_error *err)
{
    if (!out->file) return status;
    bool fine = !ferror(out->file);
    fine &= fclose(out->file) == 0;
    out->file = NULL;
    if (!fine && status == HD_OK) status = failed(out, err);
    if (out->temporary && status == HD_OK && rename(out->temporary, out->path) != 0) status = failed(out, err);
    if (out->temporary && status != HD_OK) unlink(out->temporary);
    cli_remove_at_stop(NULL);
    free(out->temporary);
    out->temporary = NULL;
    return status;
}
