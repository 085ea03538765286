/* value.c - single values of tables: as people read them, and raw; and characters of hostile strings */
#include "base/text/double.h"
#include "table/impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Copy digits with a comma before each group of three, counted from `whole` digits at the start. */
static void group_digits(char *out, const char *digits, size_t whole)
{
    for (size_t i = 0; digits[i]; i++) {
        if (i && i < whole && (whole - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
}

const char *hd_text_count(char *out, uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, count);
    group_digits(out, digits, (size_t)size);
    return out;
}

const char *hd_text_duration(char *out, int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *unit;
    uint64_t thousandths;
    if (size < 1000) {
        snprintf(out, HD_VALUE_TEXT_BYTES, "%s%" PRIu64 "ns", sign, size);
        return out;
    }
    if (size < 1000000) {
        thousandths = size;
        unit = "us";
    } else if (size < 1000000000 - 500) { /* values that round up to 1000.000ms are printed as seconds */
        thousandths = (size + 500) / 1000;
        unit = "ms";
    } else {
        thousandths = size / 1000000 + (size % 1000000 >= 500000);
        unit = "s";
    }
    snprintf(out, HD_VALUE_TEXT_BYTES, "%s%" PRIu64 ".%03u%s", sign, thousandths / 1000, (unsigned)(thousandths % 1000),
             unit);
    return out;
}

const char *hd_text_time(char *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(out, HD_VALUE_TEXT_BYTES, "%s%" PRIu64 ".%09us", ns < 0 ? "-" : "", size / 1000000000,
             (unsigned)(size % 1000000000));
    return out;
}

const char *hd_text_bytes(char *out, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out, HD_VALUE_TEXT_BYTES, "%" PRIu64 " B", bytes);
        return out;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(out, HD_VALUE_TEXT_BYTES, "%.1f %s", value, units[unit]);
    return out;
}

static const char *decimal_text(char *out, double value, unsigned decimals)
{
    if (!isfinite(value) || fabs(value) >= 1e15) {
        snprintf(out, HD_VALUE_TEXT_BYTES, "%g", value);
        return out;
    }
    char digits[40];
    snprintf(digits, sizeof digits, "%.*f", (int)decimals, value);
    size_t sign = digits[0] == '-';
    out[0] = '-';
    group_digits(out + sign, digits + sign, strspn(digits + sign, "0123456789"));
    return out;
}

const char *hd_text_double(char *out, double value)
{
    return hd_double_text(out, value);
}

const char *table_value_text(char *out, const hd_table_column *column, const table_cell *cell)
{
    switch (column->type) {
    case HD_VALUE_STRING: break;
    case HD_VALUE_INT: snprintf(out, HD_VALUE_TEXT_BYTES, "%" PRId64, cell->as.integer); return out;
    case HD_VALUE_COUNT: return hd_text_count(out, cell->as.count);
    case HD_VALUE_DECIMAL: return decimal_text(out, cell->as.decimal, column->decimals);
    case HD_VALUE_BYTES: return hd_text_bytes(out, cell->as.count);
    case HD_VALUE_DURATION: return hd_text_duration(out, cell->as.integer);
    case HD_VALUE_TIME: return hd_text_time(out, cell->as.integer);
    case HD_VALUE_BOOL: return cell->as.boolean ? "yes" : "no";
    }
    return "";
}

const char *table_value_raw(char *out, const hd_table_column *column, const table_cell *cell)
{
    switch (column->type) {
    case HD_VALUE_STRING: break;
    case HD_VALUE_INT:
    case HD_VALUE_DURATION:
    case HD_VALUE_TIME: snprintf(out, HD_VALUE_TEXT_BYTES, "%" PRId64, cell->as.integer); return out;
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: snprintf(out, HD_VALUE_TEXT_BYTES, "%" PRIu64, cell->as.count); return out;
    case HD_VALUE_DECIMAL: return isfinite(cell->as.decimal) ? hd_double_text(out, cell->as.decimal) : "";
    case HD_VALUE_BOOL: return cell->as.boolean ? "true" : "false";
    }
    return "";
}

size_t table_utf8_length(uint32_t *out, const char *bytes, size_t size)
{
    const unsigned char *text = (const unsigned char *)bytes;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : 4;
    if (length == 1) {
        *out = first;
        return 1;
    }
    if (first < 0xC2 || first > 0xF4 || length > size) return 0;
    uint32_t point = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) return 0;
        point = point << 6 | (text[i] & 0x3Fu);
    }
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
    *out = point;
    return length;
}

static unsigned point_width(uint32_t point)
{
    static const struct {
        uint32_t first, last;
        unsigned width;
    } ranges[] = {
        {0x0300, 0x036F, 0}, {0x1100, 0x115F, 2}, {0x200B, 0x200F, 0},   {0x2E80, 0xA4CF, 2},
        {0xAC00, 0xD7A3, 2}, {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},
        {0xFF00, 0xFF60, 2}, {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1FAFF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) return ranges[i].width;
    }
    return 1;
}

bool table_is_control(uint32_t point)
{
    static const uint32_t ranges[][2] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},  {0x200E, 0x200F},
                                         {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFFF9, 0xFFFB}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (point >= ranges[i][0] && point <= ranges[i][1]) return true;
    }
    return false;
}

size_t table_next_char(table_char *out, const char *text, size_t size)
{
    uint32_t point = 0;
    size_t used = table_utf8_length(&point, text, size);
    if (used == 0) {
        memcpy(out->bytes, "\xEF\xBF\xBD", 3);
        out->size = 3;
        out->width = 1;
        return 1;
    }
    if (table_is_control(point)) {
        const char *named = point == '\n' ? "\\n" : point == '\t' ? "\\t" : point == '\r' ? "\\r" : NULL;
        int length =
            named ? snprintf(out->bytes, sizeof out->bytes, "%s", named)
                  : snprintf(out->bytes, sizeof out->bytes, point < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)point);
        out->size = out->width = (unsigned)length;
        return used;
    }
    memcpy(out->bytes, text, used);
    out->size = (unsigned)used;
    out->width = point_width(point);
    return used;
}
