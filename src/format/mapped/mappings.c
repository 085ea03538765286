/* mappings.c - names for frames without a function, from the mappings
 *
 * In mapped files, an address minus start plus offset is the offset in the file, which is also the address in a
 * library's symbols. Programs that are not position-independent are mapped where their symbols say, which is below 4
 * GiB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/mapped/mappings.h"

#define LOW_BYTES (UINT64_C(1) << 32)

hd_mapping *hd_mappings_add(hd_mappings *p)
{
    if (!hd_grow((void **)&p->list, &p->capacity, p->count, sizeof *p->list)) return NULL;
    hd_mapping *m = &p->list[p->count++];
    *m = (hd_mapping){.file = {"", 0}, .build_id = {"", 0}};
    return m;
}

static int by_start(const void *a, const void *b)
{
    const hd_mapping *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void hd_mappings_sort(hd_mappings *p)
{
    if (p->count) hd_sort(p->list, p->count, sizeof *p->list, by_start);
}

const hd_mapping *hd_mappings_find(const hd_mappings *p, uint64_t address)
{
    size_t low = 0, high = p->count;
    HD_PARTITION_POINT(low, high, at, p->list[at].start <= address);
    return low && address < p->list[low - 1].end ? &p->list[low - 1] : NULL;
}

/* The difference between an address and the address in the file's symbols. */
static uint64_t bias_of(const hd_mapping *m)
{
    return m->start - m->offset < LOW_BYTES ? 0 : m->start - m->offset;
}

static hd_string base_name(hd_string path)
{
    const char *slash = path.size && *path.data != '[' ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash || slash + 1 == path.data + path.size) return path;
    return (hd_string){slash + 1, (size_t)(path.data + path.size - slash) - 1};
}

uint32_t hd_mappings_name(hd_mappings *p, hd_frame_kind *out_kind, hd_stack_samples *samples, uint64_t address,
                          const hd_mapping *mapping)
{
    char number[24];
    size_t repaired;
    hd_string file = mapping ? base_name(mapping->file) : (hd_string){"", 0};
    uint64_t place = mapping ? (uint64_t)(mapping - p->list) + 1 : 0;
    bool os = mapping && hd_file_is_os(mapping->file);
    *out_kind = os ? HD_FRAME_OS : HD_FRAME_NATIVE;
    hd_map_entry *known = hd_map_at(&p->addresses, address, place);
    if (!known) return HD_NONE;
    if (known->value) return known->value;
    p->text.size = 0;
    if (file.size) hd_bytes_put(&p->text, file.data, file.size);
    uint64_t shown = file.size ? address - bias_of(mapping) : address;
    const char *form = file.size ? "+0x%" PRIx64 : "0x%" PRIx64;
    hd_bytes_put(&p->text, number, (size_t)snprintf(number, sizeof number, form, shown));
    if (p->text.failed) return HD_NONE;
    hd_string name = hd_stack_samples_utf8(samples, &repaired, (hd_string){(char *)p->text.data, p->text.size});
    known->value = hd_stacks_name(samples->stacks, name.data, name.size);
    return known->value;
}

uint32_t hd_mappings_line(hd_mappings *p, hd_frame_kind *out_kind, size_t *out_repaired, hd_stack_samples *samples,
                          const hd_source_line *at)
{
    hd_string name = at->function.size ? at->function : at->mangled;
    if (!name.size) name = (hd_string){"[unknown]", 9};
    *out_repaired = 0;
    p->text.size = 0;
    hd_text_put_frame(&p->text, name, at->file, (int64_t)at->line, (int64_t)at->column);
    if (p->text.failed) return HD_NONE;
    name = hd_stack_samples_utf8(samples, out_repaired, (hd_string){(char *)p->text.data, p->text.size});
    return hd_stack_samples_frame(samples, out_kind, name.data, name.size);
}

static void put_hex(hd_json_out *out, const char *key, uint64_t value)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":\"0x%" PRIx64 "\"", key, value);
    hd_json_put_text(out, text);
}

hd_status hd_mappings_put(const hd_mappings *p, hd_builder *builder, hd_error *err)
{
    hd_json_out json = {0};
    bool first = true;
    for (size_t i = 0; i < p->count; i++) {
        const hd_mapping *m = &p->list[i];
        hd_string name = base_name(m->file);
        if (!m->file.size && !m->build_id.size) continue;
        hd_json_put_text(&json, first ? "[{\"name\":" : ",{\"name\":");
        hd_json_put_string(&json, name.data, name.size);
        hd_json_put_text(&json, ",\"path\":");
        hd_json_put_string(&json, m->file.data, m->file.size);
        if (m->build_id.size) {
            hd_json_put_text(&json, ",\"buildId\":");
            hd_json_put_string(&json, m->build_id.data, m->build_id.size);
        }
        put_hex(&json, "start", m->start);
        put_hex(&json, "end", m->end);
        put_hex(&json, "bias", bias_of(m));
        hd_json_put_text(&json, "}");
        first = false;
    }
    if (first) return HD_OK;
    hd_json_put_text(&json, "]");
    uint32_t value = json.failed ? HD_STRING_NONE : hd_builder_intern(builder, json.data, json.size);
    free(json.data);
    if (value == HD_STRING_NONE) return HD_NOMEM(err);
    hd_builder_metadata(builder, hd_builder_intern_text(builder, "modules"), value, true);
    return HD_OK;
}

void hd_mappings_deinit(hd_mappings *p)
{
    free(p->list);
    hd_map_deinit(&p->addresses);
    hd_bytes_deinit(&p->text);
}
