/* report_file.c - reports of Nsight Systems (.nsys-rep), which has no documented format: nsys itself exports them
 *
 * They are recognised by name, and only if no reader recognises the content.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/program.h"
#include "base/text/ends.h"
#include "format/format.h"

bool hd_format_is_nsys_report(const char *path)
{
    size_t size = strlen(path);
    return hd_ends_with(path, size, ".nsys-rep") || hd_ends_with(path, size, ".qdrep");
}

static hd_status say_how(const char *path, hd_error *err)
{
    const char *dot = strrchr(path, '.');
    int stem = (int)(dot - path);
    return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                        "is a report that only nsys can read, and nsys is not on PATH: where it is, run `nsys export "
                        "--type=sqlite --output=%.*s.sqlite %s`, and give heddle %.*s.sqlite",
                        stem, path, path, stem, path);
}

static hd_status read_export(hd_trace **out, const char *path, const char *sqlite, const hd_read_options *options,
                             hd_error *err)
{
    char output[4200];
    snprintf(output, sizeof output, "--output=%s", sqlite);
    const char *const words[] = {"nsys", "export", "--type=sqlite", "--force-overwrite=true", output, path, NULL};
    hd_error why = {0};
    hd_status status = hd_program_run(words, &why);
    if (status == HD_ERR_UNSUPPORTED) return say_how(path, err);
    if (status == HD_OK)
        status = hd_trace_read(out, sqlite, options, err);
    else if (err)
        *err = why;
    if (status != HD_OK && err) hd_error_add_cause(err, "nsys export of %.240s", path);
    return status;
}

hd_status hd_format_read_nsys_report(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err)
{
    char *sqlite;
    int file;
    *out = NULL;
    HD_TRY(hd_temporary_file(&file, &sqlite, ".sqlite", err));
    close(file);
    hd_status status = read_export(out, path, sqlite, options, err);
    unlink(sqlite);
    free(sqlite);
    return status;
}
