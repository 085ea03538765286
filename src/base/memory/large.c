/* large.c - arrays that may be too large for memory
 *
 * Before the first element stands how the array is held. Room in the file is taken when it is made: a full disk is then
 * no memory, and not the end of the program when a page is written.
 */
#include "base/memory/large.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io/temporary.h"

enum { HEAD_BYTES = 64, PAGE_BYTES = 4096 };

typedef struct large_head {
    size_t mapped; /* bytes, with the head; 0: malloc'ed */
    size_t bytes;  /* behind the head */
} large_head;

static large_head *head_of(void *list)
{
    return (large_head *)(void *)((char *)list - HEAD_BYTES);
}

static large_head *map_file(size_t size)
{
    int fd;
    void *map = MAP_FAILED;
    if (hd_temporary_nameless(&fd, NULL) != HD_OK) return NULL;
    if (posix_fallocate(fd, 0, (off_t)size) == 0) map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return NULL;
    ((large_head *)map)->mapped = size;
    return map;
}

static large_head *make(size_t bytes, uint64_t least)
{
    large_head *head = NULL;
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t pages = (bytes + HEAD_BYTES + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    if (bytes >= least && bytes >= PAGE_BYTES) head = map_file(pages);
    if (!head) {
        head = malloc(bytes + HEAD_BYTES);
        if (!head) return NULL;
        head->mapped = 0;
    }
    head->bytes = head->mapped ? pages - HEAD_BYTES : bytes;
    return head;
}

void *hd_large_new(size_t count, size_t element_size, uint64_t least)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) return NULL;
    large_head *head = make(bytes, least);
    return head ? (char *)head + HEAD_BYTES : NULL;
}

void *hd_large_zeroed(size_t count, size_t element_size, uint64_t least)
{
    void *list = hd_large_new(count, element_size, least);
    if (list && !head_of(list)->mapped) memset(list, 0, count * element_size); /* a new file has zeros */
    return list;
}

void hd_large_free(void *list)
{
    if (!list) return;
    large_head *head = head_of(list);
    if (head->mapped)
        munmap(head, head->mapped);
    else
        free(head);
}

bool hd_large_resize(void **list, size_t used, size_t count, size_t element_size, uint64_t least)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) return false;
    if (*list && !head_of(*list)->mapped && bytes < least && bytes <= SIZE_MAX / 2) {
        large_head *head = realloc(head_of(*list), bytes + HEAD_BYTES);
        if (!head) return false;
        head->bytes = bytes;
        *list = (char *)head + HEAD_BYTES;
        return true;
    }
    if (*list && head_of(*list)->mapped && bytes <= head_of(*list)->bytes)
        return true; /* pages not used cost nothing */
    large_head *head = make(bytes, least);
    if (!head) return false;
    if (used) memcpy((char *)head + HEAD_BYTES, *list, used * element_size);
    hd_large_free(*list);
    *list = (char *)head + HEAD_BYTES;
    return true;
}

bool hd_large_grow(void **list, size_t *capacity, size_t count, size_t element_size, uint64_t least)
{
    if (count < *capacity) return true;
    size_t wider = *capacity ? *capacity * 2 : 16;
    if (!hd_large_resize(list, count, wider, element_size, least)) return false;
    *capacity = wider;
    return true;
}

/* Merge two runs, from[0 … left) and from[left … count). */
static void merge(char *to, const char *from, size_t left, size_t count, size_t size,
                  int (*compare)(const void *a, const void *b))
{
    for (size_t i = 0, j = left; i < left || j < count; to += size) {
        bool takes_left = j == count || (i < left && compare(from + i * size, from + j * size) <= 0);
        memcpy(to, from + (takes_left ? i++ : j++) * size, size);
    }
}

/* Where the ascending run that begins at `from` ends. */
static size_t run_end(const char *list, size_t from, size_t count, size_t size,
                      int (*compare)(const void *a, const void *b))
{
    size_t end = from + 1;
    while (end < count && compare(list + (end - 1) * size, list + end * size) <= 0) end++;
    return end < count ? end : count;
}

/* A natural merge sort: lists of events mostly are a few ascending runs. */
bool hd_large_sort(void *list, size_t count, size_t element_size, int (*compare)(const void *a, const void *b),
                   uint64_t least)
{
    if (run_end(list, 0, count, element_size, compare) == count) return true;
    char *other = hd_large_new(count, element_size, least), *from = list, *to = other;
    if (!other) return false;
    for (size_t runs = 2; runs > 1;) {
        runs = 0;
        for (size_t at = 0, end; at < count; at = end, runs++) {
            size_t middle = run_end(from, at, count, element_size, compare);
            end = middle < count ? run_end(from, middle, count, element_size, compare) : count;
            merge(to + at * element_size, from + at * element_size, middle - at, end - at, element_size, compare);
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, count * element_size);
    hd_large_free(other);
    return true;
}

bool hd_large_slots_add(hd_slots *slots, uint64_t hash, uint32_t number, uint64_t least)
{
    size_t wanted = hd_slots_wanted(slots);
    if (wanted) {
        uint64_t *wider = hd_large_zeroed(wanted, sizeof *wider, least);
        if (!wider) return false;
        hd_large_free(hd_slots_move(slots, wider, wanted));
    }
    hd_slots_place(slots, hash, number);
    return true;
}

void hd_large_slots_deinit(hd_slots *slots)
{
    hd_large_free(slots->at);
    *slots = (hd_slots){0};
}
