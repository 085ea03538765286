/* large.c - arrays that may be too large for memory
 *
 * A header before the first element says how the array is stored. Space in the file is allocated when it is created: a
 * full disk then means no memory, and does not end the program when a page is written.
 */
#include "base/memory/large.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io/temporary.h"
#include "base/sorted.h"
#include "base/system.h"

enum { HEAD_BYTES = 64, PAGE_BYTES = 4096 };

typedef struct large_head {
    size_t mapped; /* bytes, with the head; 0: malloc'ed */
    size_t bytes;  /* after the head */
} large_head;

static large_head *head_of(void *list)
{
    return (large_head *)(void *)((char *)list - HEAD_BYTES);
}

/* The file begins with these bytes. They are written, since copying to new pages of a mapping makes the system zero
 * each of them first. */
static large_head *map_file(size_t size, const void *start, size_t start_size)
{
    int fd;
    void *map = MAP_FAILED;
    if (hd_temporary_nameless(&fd, NULL) != HD_OK) return NULL;
    if (posix_fallocate(fd, 0, (off_t)size) == 0 && hd_write_at(fd, start, start_size, 0))
        map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return NULL;
    ((large_head *)map)->mapped = size;
    return map;
}

/* With the first `used` bytes of another array; NULL: of none. */
static large_head *make(size_t bytes, uint64_t least, bool is_zeroed, const large_head *other, size_t used)
{
    used = other ? used + HEAD_BYTES : 0;
    large_head *head = NULL;
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t pages = (bytes + HEAD_BYTES + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    if (HD_HAS_FILES && bytes >= least && bytes >= PAGE_BYTES) head = map_file(pages, other, used);
    if (!head) {
        head = is_zeroed ? calloc(1, bytes + HEAD_BYTES) : malloc(bytes + HEAD_BYTES);
        if (!head) return NULL;
        if (used) memcpy(head, other, used);
        head->mapped = 0;
    }
    head->bytes = head->mapped ? pages - HEAD_BYTES : bytes;
    return head;
}

static void *make_list(size_t count, size_t element_size, uint64_t least, bool is_zeroed)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) return NULL;
    large_head *head = make(bytes, least, is_zeroed, NULL, 0); /* a new file has zeros */
    return head ? (char *)head + HEAD_BYTES : NULL;
}

void *hd_large_new(size_t count, size_t element_size, uint64_t least)
{
    return make_list(count, element_size, least, false);
}

void *hd_large_zeroed(size_t count, size_t element_size, uint64_t least)
{
    return make_list(count, element_size, least, true);
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
    if (*list && !head_of(*list)->mapped && (bytes < least || !HD_HAS_FILES) && bytes <= SIZE_MAX / 2) {
        large_head *head = realloc(head_of(*list), bytes + HEAD_BYTES);
        if (!head) return false;
        head->bytes = bytes;
        *list = (char *)head + HEAD_BYTES;
        return true;
    }
    if (*list && head_of(*list)->mapped && bytes <= head_of(*list)->bytes)
        return true; /* untouched pages cost nothing */
    large_head *head = make(bytes, least, false, *list ? head_of(*list) : NULL, used * element_size);
    if (!head) return false;
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

bool hd_large_sort(void *list, size_t count, size_t element_size, int (*compare)(const void *a, const void *b),
                   uint64_t least)
{
    const char *at = list;
    size_t sorted = 1;
    while (sorted < count && compare(at + (sorted - 1) * element_size, at + sorted * element_size) <= 0) sorted++;
    if (sorted >= count) return true;
    void *spare = hd_large_new(count / 2, element_size, least);
    if (!spare) return false;
    hd_sort_in(list, count, element_size, compare, spare);
    hd_large_free(spare);
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
