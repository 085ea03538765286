/* read_at.h - bytes of an open file at an offset, for callers that have a descriptor instead of an hd_input */
#ifndef HD_BASE_IO_READ_AT_H
#define HD_BASE_IO_READ_AT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Reads `size` bytes at `offset` to `out`, fewer where the file ends. Returns how many; -1: a failure, with errno. */
static inline ssize_t hd_read_at(int fd, void *out, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* false: a failure, or the file has fewer bytes there. */
static inline bool hd_read_whole_at(int fd, void *out, size_t size, uint64_t offset)
{
    return hd_read_at(fd, out, size, offset) == (ssize_t)size;
}

#endif
