/* keep.c - large arrays that no longer change, in mapped temporary files */
#include "view/rows/keep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io/temporary.h"
#include "base/system.h"

enum { ALIGNMENT = 16, KEEP_LEAST = 1 << 17 };

static size_t room_of(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* NULL: it cannot be had. */
static void *write_and_map(int fd, const view_array *arrays, size_t count, size_t size)
{
    size_t at = 0;
    if (ftruncate(fd, (off_t)size) != 0) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!hd_write_at(fd, *arrays[i].data, arrays[i].size, at)) return NULL;
        at += room_of(arrays[i].size);
    }
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

bool view_keep(view_kept *out, const view_array *arrays, size_t count)
{
    int fd;
    size_t size = 0, at = 0;
    for (size_t i = 0; i < count; i++) size += room_of(arrays[i].size);
    if (!HD_HAS_FILES || size < KEEP_LEAST || hd_temporary_nameless(&fd, NULL) != HD_OK) return false;
    void *map = write_and_map(fd, arrays, count, size);
    close(fd);
    if (!map) return false;
    for (size_t i = 0; i < count; i++) {
        free(*arrays[i].data);
        *arrays[i].data = arrays[i].size ? (char *)map + at : NULL;
        at += room_of(arrays[i].size);
    }
    *out = (view_kept){map, size};
    return true;
}

void view_kept_free(view_kept *kept)
{
    if (kept->data) munmap(kept->data, kept->size);
    *kept = (view_kept){0};
}
