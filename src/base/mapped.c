/* mapped.c - all bytes of an input as memory */
#include "base/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"

static hd_status map_file(hd_mapped *out, int file, uint64_t from, const char *path, hd_error *err)
{
    struct stat about;
    long page = sysconf(_SC_PAGESIZE);
    if (fstat(file, &about) != 0)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot tell its size: %s", strerror(errno));
    uint64_t size = (uint64_t)about.st_size, lead = from % (uint64_t)page;
    *out = (hd_mapped){0};
    if (size <= from) return HD_OK;
    out->map_size = (size_t)(size - from + lead);
    out->map = mmap(NULL, out->map_size, PROT_READ, MAP_PRIVATE, file, (off_t)(from - lead));
    if (out->map == MAP_FAILED) {
        *out = (hd_mapped){0};
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot map it into memory: %s", strerror(errno));
    }
    out->data = (const uint8_t *)out->map + lead;
    out->size = size - from;
    return HD_OK;
}

static hd_status write_all(int file, const uint8_t *data, size_t size, hd_error *err)
{
    while (size) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                                "cannot write a temporary file: %s; set TMPDIR to a folder with space",
                                strerror(n < 0 ? errno : ENOSPC));
        data += n;
        size -= (size_t)n;
    }
    return HD_OK;
}

static hd_status copy_to(int file, hd_input *input, hd_error *err)
{
    enum { STEP = 1 << 20 };
    uint8_t *buffer = malloc(STEP);
    size_t size;
    if (!buffer) return HD_NOMEM(err);
    hd_status status;
    while ((status = hd_input_next(input, buffer, STEP, &size, err)) == HD_OK) {
        status = write_all(file, buffer, size, err);
        if (status != HD_OK) break;
    }
    free(buffer);
    return status == HD_END ? HD_OK : status;
}

hd_status hd_mapped_open(hd_mapped *out, hd_input *input, hd_error *err)
{
    uint64_t from;
    int file = hd_input_descriptor(input, &from);
    *out = (hd_mapped){0};
    if (file >= 0) return map_file(out, file, from, hd_input_path(input), err);
    HD_TRY(hd_temporary_nameless(&file, err));
    hd_status status = copy_to(file, input, err);
    if (status == HD_OK) status = map_file(out, file, 0, hd_input_path(input), err);
    close(file);
    return status;
}

void hd_mapped_close(hd_mapped *mapped)
{
    if (mapped->map) munmap(mapped->map, mapped->map_size);
    *mapped = (hd_mapped){0};
}
