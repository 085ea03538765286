/* rank.c - the k-th smallest of many values, in linear time for every order */
#include "view/select/select.h"

/* Values below, at and above the pivot; the middle is [*out_low, *out_high). */
static void part(uint32_t *values, size_t count, uint32_t pivot, size_t *out_low, size_t *out_high)
{
    size_t low = 0, high = count;
    for (size_t i = 0; i < high;) {
        uint32_t value = values[i];
        if (value < pivot) {
            values[i++] = values[low];
            values[low++] = value;
        } else if (value > pivot) {
            values[i] = values[--high];
            values[high] = value;
        } else {
            i++;
        }
    }
    *out_low = low;
    *out_high = high;
}

uint32_t view_select_rank(uint32_t *values, size_t count, size_t k)
{
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (;;) {
        size_t low, high;
        if (count <= 1) return values[0];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        part(values, count, values[(size_t)((seed >> 33) % count)], &low, &high);
        if (k < low) {
            count = low;
        } else if (k < high) {
            return values[low];
        } else {
            values += high;
            count -= high;
            k -= high;
        }
    }
}
