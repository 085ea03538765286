/* ties.c - qsort and qsort_r for LD_PRELOAD that turn around what compares as equal: nothing that heddle says may change */
#include <stdlib.h>
#include <string.h>

typedef int compare_with(const void *a, const void *b, void *user);
typedef int compare_plain(const void *a, const void *b);

/* A merge sort that is stable, of a list that was turned around. */
static void merge(char *list, size_t count, size_t size, compare_with *compare, void *user, char *spare)
{
    size_t half = count / 2, left = 0, right = half, written = 0;
    if (count < 2) return;
    merge(list, half, size, compare, user, spare);
    merge(list + half * size, count - half, size, compare, user, spare);
    memcpy(spare, list, half * size);
    while (left < half && right < count) {
        if (compare(spare + left * size, list + right * size, user) <= 0)
            memcpy(list + written++ * size, spare + left++ * size, size);
        else
            memmove(list + written++ * size, list + right++ * size, size);
    }
    memcpy(list + written * size, spare + left * size, (half - left) * size);
}

void qsort_r(void *data, size_t count, size_t size, compare_with *compare, void *user)
{
    char *list = data, *spare = malloc(count * size + 1);
    if (!spare) abort();
    for (size_t i = 0; i < count / 2; i++) {
        char *a = list + i * size, *b = list + (count - 1 - i) * size;
        memcpy(spare, a, size);
        memcpy(a, b, size);
        memcpy(b, spare, size);
    }
    merge(list, count, size, compare, user, spare);
    free(spare);
}

static int call_plain(const void *a, const void *b, void *compare)
{
    return (*(compare_plain **)compare)(a, b);
}

void qsort(void *data, size_t count, size_t size, compare_plain *compare)
{
    qsort_r(data, count, size, call_plain, &compare);
}
