/* malloc.c - memory of the heap: chunks with boundary tags in lists by size, the best of a few is taken (good fit)
 *
 * The C library's own allocator rounds sizes up to powers of two and grows the memory for each large one; the host then
 * makes a new view of it each time. This one merges free neighbours and grows in steps of STEP bytes.
 *
 * A chunk is a head of 8 bytes and the caller's bytes, which begin at a multiple of 16. A free one has its links there.
 * Nothing that is linked calls aligned_alloc.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct chunk {
    uint32_t before, size; /* of the chunk before, 0: it is the first; of this one, with the flag USED */
    struct chunk *next, **link;
} chunk;

enum { HEAD = 8, UNIT = 16, USED = 1, EXACT_BINS = 64, BINS = 160, LOOKS = 16, STEP = 16 << 20, PAGE = 1 << 16 };
static const size_t most = (size_t)4095 << 20;

static chunk *bins[BINS]; /* of free chunks: one size each, then four for each power of two */
static uint32_t filled[BINS / 32];
static char *end; /* of the memory that is in chunks */

static size_t size_of(const chunk *c)
{
    return c->size & ~(uint32_t)USED;
}

static chunk *chunk_at(chunk *c, size_t offset)
{
    return (chunk *)(void *)((char *)c + offset);
}

static chunk *chunk_of(void *bytes)
{
    return (chunk *)(void *)((char *)bytes - HEAD);
}

static unsigned bin_of(size_t size)
{
    uint32_t units = (uint32_t)(size / UNIT);
    if (units < EXACT_BINS) return units;
    unsigned log = 31 - (unsigned)__builtin_clz(units);
    return EXACT_BINS + (log - 6) * 4 + (units >> (log - 2) & 3);
}

static void take(chunk *c)
{
    unsigned bin = bin_of(size_of(c));
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    if (!bins[bin]) filled[bin / 32] &= ~(1U << bin % 32);
}

/* Frees a chunk of `size` bytes whose neighbours are used. */
static void put(chunk *c, size_t size)
{
    unsigned bin = bin_of(size);
    c->size = (uint32_t)size;
    chunk_at(c, size)->before = (uint32_t)size;
    c->next = bins[bin];
    c->link = &bins[bin];
    if (c->next) c->next->link = &c->next;
    bins[bin] = c;
    filled[bin / 32] |= 1U << bin % 32;
}

static void release(chunk *c, size_t size)
{
    chunk *next = chunk_at(c, size), *before = chunk_at(c, -(size_t)c->before);
    if (!(next->size & USED)) {
        take(next);
        size += size_of(next);
    }
    if (c->before && !(before->size & USED)) {
        take(before);
        size += size_of(before);
        c = before;
    }
    put(c, size);
}

/* Makes a used chunk of the first bytes of one that is in no list. */
static void *use(chunk *c, size_t whole, size_t size)
{
    chunk *next = chunk_at(c, size);
    c->size = (uint32_t)size | USED;
    next->before = (uint32_t)size;
    if (whole > size) release(next, whole - size);
    return (char *)c + HEAD;
}

/* A head at the end of the memory counts as a used chunk; the next bytes of memory begin with it. */
static bool grow(size_t size)
{
    size_t least = (size + 2 * HEAD + PAGE - 1) / PAGE, pages = least > STEP / PAGE ? least : STEP / PAGE;
    size_t at = __builtin_wasm_memory_grow(0, pages);
    if (at == SIZE_MAX) at = __builtin_wasm_memory_grow(0, pages = least);
    if (at == SIZE_MAX) return false;
    char *from = (char *)(at * PAGE);
    chunk *c = (chunk *)(void *)(from == end ? end - HEAD : from + HEAD);
    if (from != end) c->before = 0; /* another caller grew the memory meanwhile */
    end = from + pages * PAGE;
    chunk *last = (chunk *)(void *)(end - HEAD);
    last->size = USED;
    release(c, (size_t)((char *)last - (char *)c));
    return true;
}

static chunk *find(size_t size)
{
    unsigned bin = bin_of(size), looks = LOOKS;
    for (chunk *c = bins[bin]; c && looks; c = c->next, looks--) {
        if (size_of(c) >= size) return c;
    }
    for (unsigned word = ++bin / 32; word < BINS / 32; word++) {
        uint32_t larger = filled[word] & (word == bin / 32 ? ~0U << bin % 32 : ~0U);
        if (larger) return bins[32 * word + (unsigned)__builtin_ctz(larger)];
    }
    return NULL;
}

void *malloc(size_t count)
{
    size_t size = (count + HEAD + UNIT - 1) & ~(size_t)(UNIT - 1);
    chunk *c = NULL;
    if (count <= most && !(c = find(size)) && grow(size)) c = find(size);
    if (!c) {
        errno = ENOMEM;
        return NULL;
    }
    take(c);
    return use(c, size_of(c), size);
}

void free(void *bytes)
{
    if (bytes) release(chunk_of(bytes), size_of(chunk_of(bytes)));
}

void *calloc(size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) all = SIZE_MAX;
    void *bytes = malloc(all);
    return bytes ? memset(bytes, 0, all) : NULL;
}

void *realloc(void *bytes, size_t count)
{
    if (!bytes) return malloc(count);
    chunk *c = chunk_of(bytes);
    size_t size = (count + HEAD + UNIT - 1) & ~(size_t)(UNIT - 1), was = size_of(c), whole = was;
    chunk *next = chunk_at(c, was);
    if (count <= most && size > was && !(next->size & USED) && was + size_of(next) >= size) {
        take(next);
        whole += size_of(next);
    }
    if (count <= most && size <= whole) return use(c, whole, size);
    void *copy = malloc(count);
    if (!copy) return NULL;
    memcpy(copy, bytes, was - HEAD);
    free(bytes);
    return copy;
}
