/* perf_map.c - maps that JIT compilers write for perf
 *
 * Also inside of traced programs: libc only, and no allocation.
 */
#include "base/unwind/perf_map.h"

#include "base/text/hex.h"

enum { HEX_DIGITS_MAX = 16 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A hexadecimal number and the blanks after it; at least one blank is required. */
static bool take_hex(uint64_t *out, const char **at, const char *end)
{
    const char *p = *at;
    *out = 0;
    if (end - p > 2 && p[0] == '0' && p[1] == 'x') p += 2;
    const char *first = p;
    for (int digit; p < end && p - first <= HEX_DIGITS_MAX && (digit = hd_hex_digit(*p)) >= 0; p++)
        *out = *out << 4 | (unsigned)digit;
    if (p == first || p - first > HEX_DIGITS_MAX || p == end || !is_blank(*p)) return false;
    while (p < end && is_blank(*p)) p++;
    *at = p;
    return true;
}

bool hd_perf_map_line(hd_perf_symbol *out, const char *line, size_t size)
{
    const char *p = line, *end = line + size;
    while (end > line && (is_blank(end[-1]) || end[-1] == '\r' || end[-1] == '\n')) end--;
    if (!take_hex(&out->start, &p, end) || !take_hex(&out->size, &p, end)) return false;
    out->name = p;
    out->name_size = (size_t)(end - p);
    return true;
}
