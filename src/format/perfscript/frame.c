/* frame.c - a line of a stack: address function+offset (file)
 *
 *     \t    7f9090a98bfb msort_with_tmp.part.0+0x29b (/usr/lib/x86_64-linux-gnu/libc.so.6)
 *     \t            119a inl+0x31 (inlined)
 */
#include "format/perfscript/perfscript.h"

enum { ADDRESS_COLUMN = 16, ADDRESS_DIGITS = 8 }; /* perf writes %16lx */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The address at `text`, up to a blank or the end: how many digits, 0 if it is none. */
static size_t address_at(uint64_t *out, const char *text, size_t size)
{
    size_t n = 0;
    *out = 0;
    for (; n < size && !hd_is_blank(text[n]); n++) {
        int digit = hex_digit(text[n]);
        if (digit < 0 || n == 16) return 0;
        *out = *out << 4 | (unsigned)digit;
    }
    return n;
}

bool perfscript_has_address(const char *text, size_t size)
{
    uint64_t address;
    size_t i = 0;
    while (i < size && hd_is_blank(text[i])) i++;
    return i && address_at(&address, text + i, size - i) > 0;
}

/* The position of the last " (" if its parenthesis ends the text; size: none. */
static size_t file_start(const char *text, size_t size)
{
    size_t depth = 0, i = size;
    if (!size || text[size - 1] != ')') return size;
    while (i--) {
        if (text[i] == ')') depth++;
        if (text[i] == '(' && --depth == 0) return i == 0 || hd_is_blank(text[i - 1]) ? i : size;
    }
    for (i = size; i-- > 1;) { /* a parenthesis in the file's name may be unpaired */
        if (text[i] == '(' && hd_is_blank(text[i - 1])) return i;
    }
    return size;
}

/* The function without "+0x1f". */
static hd_string without_offset(hd_string s)
{
    size_t i = s.size;
    while (i && hex_digit(s.data[i - 1]) >= 0) i--;
    if (i < 3 || i == s.size || memcmp(s.data + i - 3, "+0x", 3) != 0) return s;
    return (hd_string){s.data, i - 3};
}

/* The same without "+31", as bpftrace's ustack(perf) has it. */
static hd_string without_decimal_offset(hd_string s)
{
    size_t i = s.size;
    while (i && s.data[i - 1] >= '0' && s.data[i - 1] <= '9') i--;
    return i > 1 && i < s.size && s.data[i - 1] == '+' ? (hd_string){s.data, i - 1} : s;
}

bool perfscript_parse_frame(perfscript_frame *out, const char *text, size_t size)
{
    hd_string line = hd_text_trim(text, size);
    *out = (perfscript_frame){0};
    if (!line.size) return false;
    size_t digits = address_at(&out->address, line.data, line.size);
    bool padded = (size_t)(line.data - text) + digits >= ADDRESS_COLUMN;
    hd_string rest = hd_text_trim(line.data + digits, line.size - digits);
    /* "add (/bin/x)" has no address, but a function that looks like one */
    if (digits && !padded && digits < ADDRESS_DIGITS && rest.size && *rest.data == '(') digits = 0;
    out->has_address = digits > 0;
    if (!digits) rest = line;
    size_t file = file_start(rest.data, rest.size);
    out->function = hd_text_trim(rest.data, file);
    if (file < rest.size) out->file = (hd_string){rest.data + file + 1, rest.size - file - 2};
    out->inlined = out->file.size == 7 && memcmp(out->file.data, "inlined", 7) == 0;
    if (out->inlined) out->file = (hd_string){"", 0};
    out->function = without_offset(out->function);
    if (out->has_address && out->file.size) out->function = without_decimal_offset(out->function);
    return out->has_address || out->function.size || out->file.size;
}

bool perfscript_is_whole_frame(const char *text, size_t size)
{
    perfscript_frame frame;
    if (!size || text[size - 1 - (text[size - 1] == '\r' && size > 1)] != ')') return false;
    return perfscript_parse_frame(&frame, text, size) && frame.has_address && frame.file.size &&
           (*frame.file.data == '/' || *frame.file.data == '[');
}

bool perfscript_is_kernel(const perfscript_frame *frame)
{
    static const uint64_t first = 0xffff800000000000, last = 0xfffffffffffff000, vsyscall = 0xffffffffff600000;
    if (hd_file_is_os(frame->file)) return true;
    return frame->has_address && frame->address >= first && frame->address < last &&
           (frame->address & ~(uint64_t)0xfff) != vsyscall;
}
