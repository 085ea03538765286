/* file_version.c - of which CUDA a libcupti is, from the bytes of its file: nothing of it runs
 *
 * CUPTI has kernels of its own, in which the compiler left its version: "Build cuda_13.0.r13.0/compiler.36036437_0".
 * The CUPTI of 12.9, 13.0 and 13.5 has it; those of 11.8, 12.1 and 12.4 do not. The number of the build orders the
 * updates of one CUDA.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cuda/cupti/load.h"

static const char mark[] = "Build cuda_";
enum { ROOM = 1 << 16, TEXT_BYTES = 64 };

/* 0: it is something else. */
static uint64_t parse(const char *at, size_t size)
{
    char text[TEXT_BYTES];
    unsigned major, minor, again, minor_again;
    unsigned long long build;
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, at, size);
    text[size] = 0;
    if (sscanf(text, "Build cuda_%2u.%2u.r%2u.%2u/compiler.%10llu_", &major, &minor, &again, &minor_again, &build) !=
            5 ||
        major != again || minor != minor_again)
        return 0;
    return (uint64_t)major << CUPTI_FILE_MAJOR_BIT | (uint64_t)minor << 40 | build;
}

static uint64_t find(const char *data, size_t size)
{
    uint64_t version = 0;
    for (const char *at = data; !version && (at = memmem(at, size - (size_t)(at - data), mark, sizeof mark - 1)); at++)
        version = parse(at, size - (size_t)(at - data));
    return version;
}

uint64_t cuda_cupti_file_version(const char *path)
{
    char *room = malloc(ROOM);
    int file = room ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    size_t kept = 0;
    uint64_t version = 0;
    while (file >= 0 && !version) {
        ssize_t n = read(file, room + kept, ROOM - kept);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        size_t size = kept + (size_t)n;
        version = find(room, size);
        kept = size < TEXT_BYTES ? size : TEXT_BYTES; /* it may go on in the next part */
        memmove(room, room + size - kept, kept);
    }
    if (file >= 0) close(file);
    free(room);
    return version;
}
