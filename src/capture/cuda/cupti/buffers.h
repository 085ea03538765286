/* buffers.h - memory for CUPTI's records: a pool, and the full buffers in order of arrival
 *
 * CUPTI's threads and those of the program take and return buffers here; a wait takes no longer than moving a few
 * pointers.
 */
#ifndef HD_CAPTURE_CUDA_CUPTI_BUFFERS_H
#define HD_CAPTURE_CUDA_CUPTI_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUDA_BUFFER_BYTES = 1 << 20, /* since CUDA 12 each thread of the program that calls CUDA has one */
    CUDA_BUFFERS_AHEAD = 8,      /* made before the first is wanted */
    CUDA_BUFFERS_KEPT = 64,      /* further free ones are returned to the system */
    CUDA_BUFFERS_MAX = 512
};

typedef struct cuda_buffer {
    struct cuda_buffer *next;
    size_t valid; /* bytes with records */
} cuda_buffer;

typedef struct cuda_buffers {
    pthread_mutex_t lock;
    cuda_buffer *free, *full, **full_end;
    uint32_t count, free_count, high; /* all; in the pool; the most that there were */
    uint32_t lent;                    /* CUPTI has */
    uint64_t refused;                 /* there was no room: CUPTI drops records */
    bool is_closed;
} cuda_buffers;

void cuda_buffers_init(cuda_buffers *buffers);
/* From here on none is given out. */
void cuda_buffers_close(cuda_buffers *buffers);

/* NULL: none. CUDA_BUFFER_BYTES at a multiple of 64. */
uint8_t *cuda_buffers_take(cuda_buffers *buffers);
/* data is of cuda_buffers_take. */
void cuda_buffers_fill(cuda_buffers *buffers, uint8_t *data, size_t valid);

/* The first that is full; NULL: none. */
cuda_buffer *cuda_buffers_next(cuda_buffers *buffers);
uint8_t *cuda_buffer_data(cuda_buffer *buffer);
void cuda_buffers_give_back(cuda_buffers *buffers, cuda_buffer *buffer);

typedef struct cuda_buffers_stats {
    uint32_t count, free_count, high;
    uint32_t lent; /* requested by CUPTI, and not returned yet */
    uint64_t refused;
} cuda_buffers_stats;

void cuda_buffers_statistics(cuda_buffers_stats *out, cuda_buffers *buffers);

#endif
