/* stack_text.c - shared by the readers of stacks as text: kinds of frames, and repair of text */
#include "format/stack_text.h"
#include "base/text/ends.h"

#include <stdio.h>
#include <string.h>

const hd_check_code hd_text_lines_code = {
    "lines", "error", "folded.…, perf-script.…, cupti.…: lines of the text that are not as the others",
    "they were skipped, and the rest was read: look at the line of the example"};

hd_string hd_text_trim(const char *data, size_t size)
{
    while (size && hd_is_blank(*data)) data++, size--;
    while (size && (hd_is_blank(data[size - 1]) || data[size - 1] == '\r')) size--;
    return (hd_string){data, size};
}

bool hd_text_int(int64_t *out, const char *data, size_t size)
{
    bool negative = size && *data == '-';
    size_t i = negative;
    int64_t value = 0;
    if (i == size) return false;
    for (; i < size; i++) {
        int64_t digit = data[i] - '0';
        if (!hd_is_digit(data[i])) return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return false;
    }
    *out = negative ? -value : value;
    return true;
}

/* ---- repairs ---- */

/* The size of the escape sequence at data[0], which is ESC. */
static size_t escape_size(const char *data, size_t size)
{
    size_t i = 2;
    if (size < 2) return size;
    if (data[1] == '[') { /* CSI: parameters, then one letter */
        while (i < size && data[i] >= 0x20 && data[i] <= 0x3f) i++;
        return i < size && data[i] >= 0x40 && data[i] <= 0x7e ? i + 1 : i;
    }
    if (data[1] == ']') { /* OSC: up to BEL or ESC \ */
        while (i < size && data[i] != '\a' && data[i] != '\x1b') i++;
        if (i < size && data[i] == '\a') return i + 1;
        return i + 1 < size && data[i + 1] == '\\' ? i + 2 : i;
    }
    return data[1] >= 0x20 && data[1] <= 0x7e ? 2 : 1;
}

void hd_text_put_plain(hd_bytes *out, const char *data, size_t size)
{
    while (size) {
        const char *escape = memchr(data, '\x1b', size);
        size_t plain = escape ? (size_t)(escape - data) : size;
        hd_bytes_put(out, data, plain);
        size_t gone = escape ? escape_size(escape, size - plain) : 0;
        data += plain + gone;
        size -= plain + gone;
    }
}

/* The size of the character at p; 0: invalid, and *out_bad bytes are one maximal part of one. */
static size_t utf8_size(size_t *out_bad, const unsigned char *p, size_t size)
{
    unsigned char lead = *p;
    size_t more = lead >= 0xc2 && lead <= 0xdf ? 1 : (lead & 0xf0) == 0xe0 ? 2 : lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    *out_bad = 1;
    if (lead < 0x80) return 1;
    if (more == 0) return 0;
    for (size_t i = 1; i <= more; i++) {
        if (i >= size || p[i] < low || p[i] > high) return 0;
        *out_bad = i + 1;
        low = 0x80;
        high = 0xbf;
    }
    return more + 1;
}

size_t hd_text_put_utf8(hd_bytes *out, const char *data, size_t size)
{
    size_t repaired = 0;
    for (size_t at = 0, length, bad; at < size; at += length) {
        length = utf8_size(&bad, (const unsigned char *)data + at, size - at);
        if (length) {
            hd_bytes_put(out, data + at, length);
            continue;
        }
        hd_bytes_put(out, "\xef\xbf\xbd", 3);
        repaired++;
        length = bad;
    }
    return repaired;
}

/* ---- frames ---- */

/* "file.py:12", "py::name", "name (file.py:12)", "name (file.py)" */
static bool is_python(const char *data, size_t size)
{
    if (hd_starts_with(data, size, "py::") || hd_ends_with(data, size, ".py)")) return true;
    for (size_t i = 0; i + 4 < size; i++) {
        const char *dot = memchr(data + i, '.', size - i - 4);
        if (!dot) return false;
        if (memcmp(dot, ".py:", 4) == 0 && hd_is_digit(dot[4])) return true;
        i = (size_t)(dot - data);
    }
    return false;
}

/* cudaMalloc, cuLaunchKernel, hipMemcpy: the prefix, then a capital. cublasSgemm is a library's function. */
static bool is_api(const char *data, size_t size)
{
    size_t prefix =
        hd_starts_with(data, size, "cuda") || hd_starts_with(data, size, "hip") ? (*data == 'c' ? 4 : 3) : 2;
    if (prefix == 2 && !hd_starts_with(data, size, "cu")) return false;
    return size > prefix && data[prefix] >= 'A' && data[prefix] <= 'Z';
}

hd_frame_kind hd_frame_kind_by_name(const char *data, size_t size)
{
    if (size && *data == '[') {
        if (hd_starts_with(data, size, "[GPU_Kernel]")) return HD_FRAME_KERNEL;
        if (hd_starts_with(data, size, "[GPU_Memcpy]") || hd_starts_with(data, size, "[GPU_Memset]"))
            return HD_FRAME_COPY;
        if ((size == 10 && hd_starts_with(data, size, "[no stack]")) ||
            (size == 20 && hd_starts_with(data, size, "[GPU_Launch_Pending]")))
            return HD_FRAME_MARK;
    }
    if (hd_ends_with(data, size, "_[k]")) return HD_FRAME_OS; /* flamegraph.pl's marks: kernel, */
    if (hd_ends_with(data, size, "_[w]")) return HD_FRAME_OS; /* and the waker's stack, which is the kernel's too */
    if (is_python(data, size)) return HD_FRAME_PYTHON;
    return is_api(data, size) ? HD_FRAME_API : HD_FRAME_NATIVE;
}

bool hd_file_is_os(hd_string file)
{
    static const char *const of_users[] = {"[unknown]", "[vdso", "[vsyscall]", "[heap]",
                                           "[stack",    "[anon", "[uprobes]"};
    static const char *const modules[] = {"vmlinux", ".ko", ".ko.xz", ".ko.zst"};
    if (file.size && *file.data == '[') {
        for (size_t i = 0; i < sizeof of_users / sizeof *of_users; i++) {
            if (hd_starts_with(file.data, file.size, of_users[i])) return false;
        }
        return true;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (hd_ends_with(file.data, file.size, modules[i])) return true;
    }
    return false;
}

void hd_text_put_unknown(hd_bytes *out, hd_string file, bool has_address, uint64_t address)
{
    char text[24];
    const char *slash = file.size && *file.data != '[' ? memrchr(file.data, '/', file.size) : NULL;
    if (slash) file = (hd_string){slash + 1, (size_t)(file.data + file.size - slash) - 1};
    bool is_marked = file.size && *file.data == '[';
    if (file.size) {
        if (!is_marked) hd_bytes_put_u8(out, '[');
        hd_bytes_put(out, file.data, file.size);
        if (!is_marked) hd_bytes_put_u8(out, ']');
    } else if (has_address) {
        hd_bytes_put(out, text, (size_t)snprintf(text, sizeof text, "0x%llx", (unsigned long long)address));
    } else {
        hd_bytes_put(out, "[unknown]", 9);
    }
}

void hd_text_put_frame(hd_bytes *out, hd_string function, hd_string file, int64_t line, int64_t column)
{
    char number[24];
    hd_bytes_put(out, function.data, function.size);
    if (!file.size && line <= 0) return;
    hd_bytes_put(out, " (", 2);
    hd_bytes_put(out, file.data, file.size);
    if (line > 0) hd_bytes_put(out, number, (size_t)snprintf(number, sizeof number, ":%lld", (long long)line));
    if (line > 0 && column > 0)
        hd_bytes_put(out, number, (size_t)snprintf(number, sizeof number, ":%lld", (long long)column));
    hd_bytes_put(out, ")", 1);
}
