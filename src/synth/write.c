/* write.c - writes a damaged trace: written to a temporary file, read back, damaged, written again */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/io/temporary.h"
#include "heddle/synth.h"

static hd_status write_damaged(const char *path, const char *text, size_t size, const hd_synth_damage_options *options,
                               hd_synth_damage_truth *truth, hd_error *err)
{
    char *damaged;
    size_t damaged_size;
    HD_TRY(hd_synth_damage_text(&damaged, &damaged_size, text, size, options, truth, err));
    hd_output *out = NULL;
    hd_status status = hd_output_create(&out, path, NULL, err);
    if (status == HD_OK) {
        status = hd_output_write(out, damaged, damaged_size, err);
        if (status == HD_OK)
            status = hd_output_commit(out, err);
        else
            hd_output_abort(out);
    }
    free(damaged);
    return status;
}

static hd_status damage_file(const char *path, const char *from, const hd_synth_damage_options *options,
                             hd_synth_damage_truth *truth, hd_error *err)
{
    struct stat info;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || info.st_size <= 0) {
        if (fd >= 0) close(fd);
        return hd_error_set(err, HD_ERR_IO, from, HD_OFFSET_NONE, "cannot read back what was written");
    }
    size_t size = (size_t)info.st_size;
    char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (text == MAP_FAILED) return HD_NOMEM(err);
    hd_status status = write_damaged(path, text, size, options, truth, err);
    munmap(text, size);
    return status;
}

hd_status hd_synth_write_damaged(const hd_trace *trace, const char *path, const hd_synth_damage_options *options,
                                 hd_synth_damage_truth *truth, hd_error *err)
{
    char *temporary;
    int fd;
    HD_TRY(hd_temporary_file(&fd, &temporary, ".json", err));
    close(fd);
    hd_status status = hd_trace_write(trace, temporary, NULL, err);
    if (status == HD_OK) status = damage_file(path, temporary, options, truth, err);
    unlink(temporary);
    free(temporary);
    return status;
}
