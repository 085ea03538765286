/* strings.c - definitions that are written at first use: strings and attributes; and the map they are in */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/otf2/write/write.h"

/* A definition must fit a chunk of the library's buffer. */
enum { STRING_BYTES_MAX = 1 << 20 };

/* ---- map ---- */

uint32_t *ow_map_get(hd_map *map, uint64_t a, uint64_t b, bool *created)
{
    hd_map_entry *entry = hd_map_at(map, a, b);
    *created = entry && entry->value == 0;
    if (*created) entry->value = (uint32_t)map->count;
    return entry ? &entry->value : NULL;
}

/* ---- strings ---- */

/* At most STRING_BYTES_MAX bytes, cut between characters. */
static size_t cut(ow_writer *w, const char *data, size_t size)
{
    if (size <= STRING_BYTES_MAX) return size;
    w->notes[OW_STRING_CUT]++;
    size = STRING_BYTES_MAX;
    while (size && ((unsigned char)data[size] & 0xc0) == 0x80) size--;
    return size;
}

uint32_t ow_bytes(ow_writer *w, const char *data, size_t size)
{
    static const char nul[] = "\xe2\x90\x80"; /* the picture of a NUL, which no C string can hold */
    size = cut(w, data, size);
    w->text.size = 0;
    bool has_nul = false;
    for (size_t at = 0; at < size;) {
        const char *stop = memchr(data + at, '\0', size - at);
        size_t piece = stop ? (size_t)(stop - data) - at : size - at;
        hd_bytes_put(&w->text, data + at, piece);
        at += piece;
        if (!stop) break;
        hd_bytes_put(&w->text, nul, sizeof nul - 1);
        has_nul = true;
        at++;
    }
    hd_bytes_put_u8(&w->text, 0);
    if (has_nul) w->notes[OW_STRING_NUL]++;
    if (w->text.failed) {
        HD_NOMEM(w->err);
        return HD_NONE;
    }
    OTF2_ErrorCode code = OTF2_GlobalDefWriter_WriteString(w->defs, w->string_count, (const char *)w->text.data);
    if (code != OTF2_SUCCESS) {
        ow_error(w, code);
        return HD_NONE;
    }
    return w->string_count++;
}

uint32_t ow_string(ow_writer *w, uint32_t id)
{
    if (w->string_refs[id]) return w->string_refs[id] - 1;
    hd_string text = hd_trace_string(w->trace, id);
    uint32_t ref = ow_bytes(w, text.data, text.size);
    w->string_refs[id] = ref + 1; /* HD_NONE becomes 0 */
    return ref;
}

uint32_t ow_text(ow_writer *w, const char *literal)
{
    bool created;
    uint32_t *slot = ow_map_get(&w->literals, (uint64_t)(uintptr_t)literal, 0, &created);
    if (!slot) {
        HD_NOMEM(w->err);
        return HD_NONE;
    }
    if (created) *slot = ow_bytes(w, literal, strlen(literal)) + 1;
    return *slot - 1;
}

uint32_t ow_format(ow_writer *w, const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    int size = vasprintf(&text, format, list);
    va_end(list);
    if (size < 0) {
        HD_NOMEM(w->err);
        return HD_NONE;
    }
    uint32_t ref = ow_bytes(w, text, (size_t)size);
    free(text);
    return ref;
}

/* ---- attributes ---- */

uint32_t ow_attribute_ref(ow_writer *w, const char *name, uint32_t key, OTF2_Type type, const char *description)
{
    uint32_t text = name ? ow_text(w, name) : ow_string(w, key), about = ow_text(w, description);
    if (text == HD_NONE || about == HD_NONE) return HD_NONE;
    OTF2_ErrorCode code = OTF2_GlobalDefWriter_WriteAttribute(w->defs, w->attribute_count, text, about, type);
    if (code != OTF2_SUCCESS) {
        ow_error(w, code);
        return HD_NONE;
    }
    return w->attribute_count++;
}
