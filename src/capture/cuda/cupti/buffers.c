/* buffers.c - the pool of buffers for CUPTI's records */
#include <sys/mman.h>

#include "capture/cuda/cupti/buffers.h"

enum { HEAD_BYTES = 64 }; /* a cuda_buffer precedes the data */

_Static_assert(sizeof(cuda_buffer) <= HEAD_BYTES, "data begins at a multiple of 64");

static size_t mapped_bytes(void)
{
    return HEAD_BYTES + CUDA_BUFFER_BYTES;
}

uint8_t *cuda_buffer_data(cuda_buffer *buffer)
{
    return (uint8_t *)buffer + HEAD_BYTES;
}

/* The memory comes from the system, not from the program's allocator; pages are allocated when touched. */
static cuda_buffer *make(void)
{
    void *memory = mmap(NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void cuda_buffers_init(cuda_buffers *buffers)
{
    *buffers = (cuda_buffers){.lock = PTHREAD_MUTEX_INITIALIZER};
    buffers->full_end = &buffers->full;
    for (int i = 0; i < CUDA_BUFFERS_AHEAD; i++) {
        cuda_buffer *buffer = make();
        if (!buffer) break;
        buffer->next = buffers->free;
        buffers->free = buffer;
        buffers->count++;
        buffers->free_count++;
    }
    buffers->high = buffers->count;
}

void cuda_buffers_close(cuda_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    buffers->is_closed = true;
    pthread_mutex_unlock(&buffers->lock);
}

uint8_t *cuda_buffers_take(cuda_buffers *buffers)
{
    bool may_make = false;
    pthread_mutex_lock(&buffers->lock);
    cuda_buffer *buffer = buffers->is_closed ? NULL : buffers->free;
    if (buffer) {
        buffers->free = buffer->next;
        buffers->free_count--;
        buffers->lent++;
    } else if (!buffers->is_closed && buffers->count < CUDA_BUFFERS_MAX) {
        may_make = true;
        buffers->count++;
        buffers->lent++;
        if (buffers->count > buffers->high) buffers->high = buffers->count;
    } else {
        buffers->refused++;
    }
    pthread_mutex_unlock(&buffers->lock);
    if (may_make && !(buffer = make())) {
        pthread_mutex_lock(&buffers->lock);
        buffers->count--;
        buffers->lent--;
        buffers->refused++;
        pthread_mutex_unlock(&buffers->lock);
    }
    return buffer ? cuda_buffer_data(buffer) : NULL;
}

void cuda_buffers_fill(cuda_buffers *buffers, uint8_t *data, size_t valid)
{
    cuda_buffer *buffer = (cuda_buffer *)(void *)(data - HEAD_BYTES);
    buffer->valid = valid < CUDA_BUFFER_BYTES ? valid : CUDA_BUFFER_BYTES;
    buffer->next = NULL;
    pthread_mutex_lock(&buffers->lock);
    *buffers->full_end = buffer;
    buffers->full_end = &buffer->next;
    buffers->lent--;
    pthread_mutex_unlock(&buffers->lock);
}

cuda_buffer *cuda_buffers_next(cuda_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    cuda_buffer *buffer = buffers->full;
    if (buffer) buffers->full = buffer->next;
    if (!buffers->full) buffers->full_end = &buffers->full;
    pthread_mutex_unlock(&buffers->lock);
    return buffer;
}

void cuda_buffers_give_back(cuda_buffers *buffers, cuda_buffer *buffer)
{
    pthread_mutex_lock(&buffers->lock);
    bool is_kept = buffers->free_count < CUDA_BUFFERS_KEPT;
    if (is_kept) {
        buffer->next = buffers->free;
        buffers->free = buffer;
        buffers->free_count++;
    } else {
        buffers->count--;
    }
    pthread_mutex_unlock(&buffers->lock);
    if (!is_kept) munmap(buffer, mapped_bytes());
}

void cuda_buffers_statistics(cuda_buffers_stats *out, cuda_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    *out = (cuda_buffers_stats){buffers->count, buffers->free_count, buffers->high, buffers->lent, buffers->refused};
    pthread_mutex_unlock(&buffers->lock);
}
