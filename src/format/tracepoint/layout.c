/* layout.c - the kernel's `format` text, and the fields of an event by it
 *
 *     name: sched_switch
 *     ID: 316
 *     format:
 *             field:unsigned short common_type;      offset:0;       size:2; signed:0;
 *             field:char prev_comm[16];       offset:8;       size:16;        signed:0;
 *     print fmt: "prev_comm=%s …", REC->prev_comm
 *
 * libtraceevent reads the same, and prints events as the kernel does. Here only the fields are needed, so print formats
 * are not interpreted: they are a language of their own and come from an untrusted file.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "format/tracepoint/tracepoint.h"
#include "trace/text.h"

enum { FIELDS_MAX = 256, FIELD_BYTES_MAX = 1 << 20 };

/* ---- the text ---- */

static hd_string next_line(hd_string *rest)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t size = end ? (size_t)(end - rest->data) : rest->size, skip = size + (end ? 1 : 0);
    hd_string line = {rest->data, size};
    rest->data += skip;
    rest->size -= skip;
    return line;
}

/* The number behind "size:" and the like, up to the semicolon. */
static bool number_behind(int64_t *out, hd_string line, const char *word)
{
    size_t length = strlen(word);
    const char *at = memmem(line.data, line.size, word, length);
    if (!at) return false;
    at += length;
    const char *end = memchr(at, ';', (size_t)(line.data + line.size - at));
    hd_string text = hd_text_trim(at, (size_t)((end ? end : line.data + line.size) - at));
    return hd_text_int(out, text.data, text.size);
}

/* "unsigned short common_type", "char prev_comm[16]", "__data_loc char[] name" -> the name and how it is stored. */
static hd_string declare(tp_field *field, hd_string text, bool is_signed)
{
    bool is_array = text.data[text.size - 1] == ']';
    const char *open = is_array ? memrchr(text.data, '[', text.size) : NULL;
    hd_string name = {text.data, open ? (size_t)(open - text.data) : text.size};
    size_t at = name.size;
    while (at && name.data[at - 1] != ' ' && name.data[at - 1] != '*') at--;
    name = (hd_string){name.data + at, name.size - at};
    bool is_chars = hd_string_holds((hd_string){text.data, at}, "char");
    field->is_text = is_chars;
    if (hd_starts_with(text.data, text.size, "__data_loc"))
        field->kind = TP_DYNAMIC;
    else if (hd_starts_with(text.data, text.size, "__rel_loc"))
        field->kind = TP_DYNAMIC_RELATIVE;
    else if (is_array)
        field->kind = is_chars ? TP_CHARS : TP_BYTES;
    else if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
        field->kind = TP_BYTES;
    else
        field->kind = is_signed ? TP_SIGNED : TP_UNSIGNED;
    return name;
}

static bool add_field(tp_layout *layout, size_t *capacity, tp_place *place, hd_string line)
{
    tp_field field = {0};
    int64_t offset, size, is_signed = 0;
    const char *end = memchr(line.data, ';', line.size);
    if (!end || !number_behind(&offset, line, "offset:") || !number_behind(&size, line, "size:")) return true;
    number_behind(&is_signed, line, "signed:");
    if (offset < 0 || size < 0 || offset > FIELD_BYTES_MAX || size > FIELD_BYTES_MAX) return true;
    field.offset = (uint32_t)offset;
    field.size = (uint32_t)size;
    hd_string text = hd_text_trim(line.data, (size_t)(end - line.data));
    if (!text.size) return true;
    hd_string name = declare(&field, text, is_signed != 0);
    if (hd_starts_with(name.data, name.size, "common_")) {
        if (name.size == 10 && memcmp(name.data, "common_pid", 10) == 0 && size == 4) {
            layout->has_pid = true;
            layout->pid_offset = field.offset;
        }
        return true;
    }
    if (layout->field_count >= FIELDS_MAX) return true;
    field.key = tp_text(place, name.data, name.size);
    if (!hd_grow((void **)&layout->fields, capacity, layout->field_count, sizeof field)) return false;
    layout->fields[layout->field_count++] = field;
    return true;
}

static bool parse_layout(tp_layout *layout, tp_place *place, hd_string rest)
{
    size_t capacity = 0;
    layout->id = UINT32_MAX;
    while (rest.size) {
        int64_t id;
        hd_string line = next_line(&rest), body = hd_text_trim(line.data, line.size);
        if (hd_starts_with(body.data, body.size, "name: "))
            layout->name = tp_text(place, body.data + 6, body.size - 6);
        else if (hd_starts_with(body.data, body.size, "ID: ") && hd_text_int(&id, body.data + 4, body.size - 4) &&
                 id >= 0 && id < UINT32_MAX)
            layout->id = (uint32_t)id;
        else if (hd_starts_with(body.data, body.size, "field:") &&
                 !add_field(layout, &capacity, place, (hd_string){body.data + 6, body.size - 6}))
            return false;
        else if (hd_starts_with(body.data, body.size, "print fmt:") && !layout->print) {
            layout->print = strndup(body.data, body.size);
            if (!layout->print) return false;
        }
    }
    return true;
}

hd_status tp_layouts_add(tp_layouts *layouts, bool *out_good, tp_place *place, hd_string system, const char *text,
                         size_t size)
{
    tp_layout layout = {.system = tp_text(place, system.data, system.size)};
    bool fine = parse_layout(&layout, place, (hd_string){text, size});
    *out_good = fine && layout.name && layout.id != UINT32_MAX;
    if (*out_good) {
        fine = hd_grow((void **)&layouts->list, &layouts->capacity, layouts->count, sizeof layout) &&
               hd_map_set(&layouts->by_id, layout.id, 0, (uint32_t)layouts->count);
        if (fine) layouts->list[layouts->count++] = layout;
    }
    if (*out_good && fine) return HD_OK;
    free(layout.fields);
    free(layout.print);
    return fine ? HD_OK : HD_NOMEM(place->err);
}

const tp_layout *tp_layouts_find(const tp_layouts *layouts, uint32_t id)
{
    uint32_t index;
    return hd_map_get(&index, &layouts->by_id, id, 0) ? &layouts->list[index] : NULL;
}

void tp_layouts_deinit(tp_layouts *layouts)
{
    for (size_t i = 0; i < layouts->count; i++) {
        free(layouts->list[i].fields);
        free(layouts->list[i].print);
    }
    free(layouts->list);
    hd_map_deinit(&layouts->by_id);
}

/* ---- events ---- */

static void put_chars(tp_event *event, tp_place *place, uint32_t key, const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    tp_put_text(event, key, tp_text(place, (const char *)data, end ? (size_t)(end - data) : size));
}

/* Values that are neither text nor one number, as hexadecimal digits. */
static void put_bytes(tp_event *event, tp_place *place, uint32_t key, const uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    hd_bytes text = {0};
    for (size_t i = 0; i < size; i++) {
        hd_bytes_put_u8(&text, (uint8_t)digits[data[i] >> 4]);
        hd_bytes_put_u8(&text, (uint8_t)digits[data[i] & 15]);
    }
    tp_put_text(event, key, tp_text(place, text.size ? (char *)text.data : "", text.size));
    hd_bytes_deinit(&text);
}

/* Offset and size are in the event, the bytes after its fields. */
static bool put_dynamic(tp_event *event, tp_place *place, const tp_field *field, const uint8_t *data, size_t size)
{
    uint32_t place_of = (uint32_t)hd_le_get(data + field->offset, 4), at = place_of & 0xffff, bytes = place_of >> 16;
    if (field->kind == TP_DYNAMIC_RELATIVE) at += field->offset + 4;
    if (at > size || bytes > size - at) return false;
    if (field->is_text)
        put_chars(event, place, field->key, data + at, bytes);
    else
        put_bytes(event, place, field->key, data + at, bytes);
    return true;
}

static bool put_field(tp_event *event, tp_place *place, const tp_field *field, const uint8_t *data, size_t size)
{
    /* The last field of print, function names and the like is as long as the event. */
    bool is_open = field->size == 0 && (field->kind == TP_CHARS || field->kind == TP_BYTES);
    if (field->offset > size || (!is_open && field->size > size - field->offset)) return false;
    const uint8_t *at = data + field->offset;
    size_t bytes = is_open ? size - field->offset : field->size;
    uint64_t number = field->kind <= TP_UNSIGNED ? hd_le_get(at, field->size) : 0;
    unsigned unused = 64 - 8 * (field->size < 8 ? field->size : 8);
    switch (field->kind) {
    case TP_SIGNED: tp_put_int(place, event, field->key, (int64_t)(number << unused) >> unused); break;
    case TP_UNSIGNED:
        if (event->count == TP_VALUES) return false;
        event->values[event->count].key = field->key;
        event->values[event->count].type =
            hd_value_of_unsigned(&event->values[event->count].bits, place->builder, number);
        event->count++;
        break;
    case TP_CHARS: put_chars(event, place, field->key, at, bytes); break;
    case TP_BYTES: put_bytes(event, place, field->key, at, bytes); break;
    default: return field->size == 4 && put_dynamic(event, place, field, data, size);
    }
    return true;
}

bool tp_decode(tp_event *out, tp_place *place, const tp_layout *layout, const uint8_t *data, size_t size)
{
    bool fine = layout->field_count <= TP_VALUES;
    out->name = layout->name;
    out->count = 0;
    out->state_text = layout->print;
    out->state_size = layout->print ? strlen(layout->print) : 0;
    out->tid = HD_NO_NUMBER;
    if (layout->has_pid && layout->pid_offset + 4 <= size) out->tid = (int32_t)hd_le_get(data + layout->pid_offset, 4);
    for (uint32_t i = 0; i < layout->field_count && i < TP_VALUES; i++)
        fine &= put_field(out, place, &layout->fields[i], data, size);
    return fine;
}
