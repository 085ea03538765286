/* data.c - the data before the events of trace.dat and perf.data: layouts, names of threads, layout of pages */
#include "format/tracepoint/data.h"
#include "base/error.h"
#include "format/stack_text.h"

enum { SYSTEMS_MAX = 1 << 16, FORMATS_MAX = 1 << 16 };

const uint8_t *tp_take(tp_input *in, uint64_t size)
{
    if (in->failed || size > in->end - in->at || size > SIZE_MAX) {
        in->failed = true;
        return NULL;
    }
    in->at += size;
    if (!size) return (const uint8_t *)"";
    const uint8_t *data = hd_window_at(&in->window, in->at - size, (size_t)size, in->err);
    in->failed = !data;
    return data;
}

uint64_t tp_take_number(tp_input *in, unsigned width)
{
    const uint8_t *data = tp_take(in, width);
    return data ? hd_le_get(data, width) : 0;
}

bool tp_take_text(tp_input *in, char *out, size_t capacity)
{
    for (size_t i = 0; i < capacity; i++) {
        const uint8_t *data = tp_take(in, 1);
        if (!data) return false;
        out[i] = (char)*data;
        if (!*data) return true;
    }
    in->failed = true;
    return false;
}

static hd_string take_block(tp_input *in, unsigned width)
{
    uint64_t size = tp_take_number(in, width);
    const uint8_t *data = tp_take(in, size);
    return data ? (hd_string){(const char *)data, (size_t)size} : (hd_string){"", 0};
}

/* ---- pages ---- */

/* Offset and size of a field of header_page. */
static bool find_field(uint32_t out[2], hd_string text, const char *name)
{
    static const char *const words[2] = {"offset:", "size:"};
    const char *at = memmem(text.data, text.size, name, strlen(name));
    for (size_t i = 0; at && i < 2; i++) {
        int64_t number;
        const char *line_end = memchr(at, '\n', text.size - (size_t)(at - text.data));
        size_t left = (size_t)((line_end ? line_end : text.data + text.size) - at);
        const char *value = memmem(at, left, words[i], strlen(words[i]));
        if (!value) return false;
        value += strlen(words[i]);
        const char *end = memchr(value, ';', text.size - (size_t)(value - text.data));
        if (!end || !hd_text_int(&number, value, (size_t)(end - value)) || number < 0 || number > 4096) return false;
        out[i] = (uint32_t)number;
    }
    return at != NULL;
}

void tp_data_header_info(tp_data *data, tp_input *in)
{
    char name[16];
    uint32_t commit[2], body[2];
    if (!tp_take_text(in, name, sizeof name)) return;
    hd_string page = take_block(in, 8);
    if (find_field(commit, page, " commit;") && find_field(body, page, " data;") && commit[1] <= 8 && commit[1] &&
        commit[0] <= 64 && body[0] <= 64) {
        data->commit_at = commit[0];
        data->commit_bytes = commit[1];
        data->data_at = body[0];
    }
    if (tp_take_text(in, name, sizeof name)) take_block(in, 8);
}

/* ---- layouts ---- */

static hd_status add_layout(tp_data *data, tp_input *in, hd_string system)
{
    bool good;
    hd_string text = take_block(in, 8);
    if (in->failed) return HD_OK;
    HD_TRY(tp_layouts_add(&data->layouts, &good, data->place, system, text.data, text.size));
    data->bad_layouts += !good;
    return HD_OK;
}

hd_status tp_data_ftrace_events(tp_data *data, tp_input *in)
{
    uint64_t count = tp_take_number(in, 4);
    for (uint64_t i = 0; i < count && i < FORMATS_MAX && !in->failed; i++)
        HD_TRY(add_layout(data, in, (hd_string){"ftrace", 6}));
    return HD_OK;
}

hd_status tp_data_event_formats(tp_data *data, tp_input *in)
{
    char system[256];
    uint64_t systems = tp_take_number(in, 4);
    for (uint64_t i = 0; i < systems && i < SYSTEMS_MAX && !in->failed; i++) {
        if (!tp_take_text(in, system, sizeof system)) break;
        uint64_t count = tp_take_number(in, 4);
        for (uint64_t n = 0; n < count && n < FORMATS_MAX && !in->failed; n++)
            HD_TRY(add_layout(data, in, (hd_string){system, strlen(system)}));
    }
    return HD_OK;
}

/* ---- threads ---- */

static bool split(int64_t *out, hd_string *out_rest, hd_string line)
{
    line = hd_text_trim(line.data, line.size);
    const char *blank = memchr(line.data, ' ', line.size);
    size_t size = blank ? (size_t)(blank - line.data) : 0;
    if (!size || !hd_text_int(out, line.data, size)) return false;
    *out_rest = (hd_string){blank + 1, line.size - size - 1};
    return true;
}

/* Lines "TID NAME", or "TID PID". */
hd_status tp_data_threads(tp_data *data, tp_input *in, bool are_processes)
{
    hd_string text = take_block(in, 8), rest;
    int64_t tid, pid;
    while (text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        if (split(&tid, &rest, (hd_string){text.data, size})) {
            if (!are_processes)
                HD_TRY(tp_know_name(data->place, tid, rest));
            else if (hd_text_int(&pid, rest.data, rest.size))
                HD_TRY(tp_know_process(data->place, tid, pid));
        }
        size += end ? 1 : 0;
        text = (hd_string){text.data + size, text.size - size};
    }
    return HD_OK;
}

/* ---- all, as version 6 and perf have it ---- */

hd_status tp_data_read(tp_data *data, tp_input *in, bool has_names)
{
    tp_data_header_info(data, in);
    HD_TRY(tp_data_ftrace_events(data, in));
    HD_TRY(tp_data_event_formats(data, in));
    take_block(in, 4); /* kallsyms */
    take_block(in, 4); /* printk */
    return has_names && !in->failed ? tp_data_threads(data, in, false) : HD_OK;
}

bool tp_data_magic(tp_data *data, tp_input *in, char version[16])
{
    static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const uint8_t *head = tp_take(in, sizeof magic);
    if (!head || memcmp(head, magic, sizeof magic) != 0 || !tp_take_text(in, version, 16)) return false;
    data->is_big_endian = tp_take_number(in, 1) != 0;
    data->long_bytes = (uint32_t)tp_take_number(in, 1);
    data->page_bytes = (uint32_t)tp_take_number(in, 4);
    data->commit_at = 8;
    data->commit_bytes = data->long_bytes == 4 ? 4 : 8;
    data->data_at = data->commit_at + data->commit_bytes;
    return !in->failed;
}
