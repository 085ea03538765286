/* pprof.c - a flame as a profile of pprof (profile.proto)
 *
 * A frame is a function and a location of the same number, a stack a sample with its locations from the last frame to
 * the root, and two values: its weight, and the number of activities, slices or samples in it. The first is the
 * default. The bytes follow the order of the stacks, and have no time, so that equal flames are equal files.
 */
#include <stdlib.h>

#include "base/json/json.h"
#include "base/protobuf/write.h"
#include "flame/flame.h"

enum { FLUSH_BYTES = 1 << 18 };

/* Fields of profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRING = 6, COMMENT = 13, DEFAULT_TYPE = 14 };
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };

/* Places in the table of strings; frames follow. The first is empty by the format. */
enum { EMPTY, WEIGHT, UNIT, COUNT, TITLE, FIRST_FRAME };

typedef struct profile {
    const hd_flame *flame;
    flame_samples samples;
    hd_output *output;
    hd_bytes bytes;
    hd_error *err;
} profile;

static hd_status flush(profile *p, bool now)
{
    if (p->bytes.failed) return HD_NOMEM(p->err);
    if (!now && p->bytes.size < FLUSH_BYTES) return HD_OK;
    HD_TRY(hd_output_write(p->output, p->bytes.data, p->bytes.size, p->err));
    p->bytes.size = 0;
    return HD_OK;
}

static void put_type(profile *p, uint64_t name, uint64_t unit)
{
    size_t mark = hd_pb_begin(&p->bytes, SAMPLE_TYPE);
    hd_pb_put_uint(&p->bytes, TYPE_NAME, name);
    hd_pb_put_uint(&p->bytes, TYPE_UNIT, unit);
    hd_pb_end(&p->bytes, mark);
}

static hd_status put_samples(profile *p)
{
    for (uint32_t i = 0; i < p->samples.count; i++) {
        uint32_t node = p->samples.nodes[i];
        size_t mark = hd_pb_begin(&p->bytes, SAMPLE), list = hd_pb_begin(&p->bytes, SAMPLE_LOCATION);
        for (uint32_t n = node; n != HD_STACK_NONE;) {
            hd_frame frame = hd_stacks_at(p->flame->stacks, n);
            hd_bytes_put_varint(&p->bytes, (uint64_t)p->samples.frames[frame.name] + 1);
            n = frame.caller;
        }
        hd_pb_end(&p->bytes, list);
        list = hd_pb_begin(&p->bytes, SAMPLE_VALUE);
        hd_bytes_put_varint(&p->bytes, (uint64_t)p->flame->self[node]);
        hd_bytes_put_varint(&p->bytes, p->flame->count[node]);
        hd_pb_end(&p->bytes, list);
        hd_pb_end(&p->bytes, mark);
        HD_TRY(flush(p, false));
    }
    return HD_OK;
}

static void put_frame(profile *p, uint64_t index)
{
    size_t mark = hd_pb_begin(&p->bytes, LOCATION);
    hd_pb_put_uint(&p->bytes, LOCATION_ID, index + 1);
    size_t line = hd_pb_begin(&p->bytes, LOCATION_LINE);
    hd_pb_put_uint(&p->bytes, LINE_FUNCTION, index + 1);
    hd_pb_end(&p->bytes, line);
    hd_pb_end(&p->bytes, mark);
    mark = hd_pb_begin(&p->bytes, FUNCTION);
    hd_pb_put_uint(&p->bytes, FUNCTION_ID, index + 1);
    hd_pb_put_uint(&p->bytes, FUNCTION_NAME, FIRST_FRAME + index);
    hd_pb_end(&p->bytes, mark);
}

/* A text of protobuf is UTF-8. */
void flame_put_name(hd_bytes *out, uint32_t field, hd_string name)
{
    bool changed = false;
    char *text = NULL;
    if (name.size == 0 || !hd_utf8_valid(name.data, name.size, false)) {
        text = malloc(FLAME_TEXT_BYTES(name.size));
        if (text)
            name = (hd_string){text, flame_text_clean(text, name, false, &changed)};
        else
            out->failed = true;
    }
    if (!out->failed) hd_pb_put_bytes(out, field, name.data, name.size);
    free(text);
}

const char *flame_value_of(const char **out_unit, const hd_flame *flame)
{
    const char *unit = flame->unit ? flame->unit : "";
    bool is_measure = strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0;
    *out_unit = strcmp(unit, "ns") == 0 ? "nanoseconds" : is_measure ? unit : "count";
    return flame->event ? flame->event : hd_flame_of_name(flame->of);
}

static hd_status put_name(profile *p, hd_string name)
{
    flame_put_name(&p->bytes, STRING, name);
    return flush(p, false);
}

static hd_status put_frames(profile *p)
{
    const hd_stacks *stacks = p->flame->stacks;
    for (uint32_t i = 0; i < hd_stacks_name_count(stacks); i++) {
        if (p->samples.frames[i] == HD_NONE) continue;
        put_frame(p, p->samples.frames[i]);
        HD_TRY(put_name(p, hd_stacks_text(stacks, i)));
    }
    return HD_OK;
}

static hd_status put_all(profile *p, const char *title)
{
    const char *unit, *event = flame_value_of(&unit, p->flame);
    put_type(p, WEIGHT, UNIT);
    put_type(p, COUNT, COUNT);
    hd_pb_put_text(&p->bytes, STRING, "");
    hd_pb_put_text(&p->bytes, STRING, event);
    hd_pb_put_text(&p->bytes, STRING, unit);
    hd_pb_put_text(&p->bytes, STRING, "count");
    HD_TRY(put_name(p, (hd_string){title, strlen(title)}));
    hd_pb_put_uint(&p->bytes, COMMENT, TITLE);
    hd_pb_put_uint(&p->bytes, DEFAULT_TYPE, WEIGHT);
    HD_TRY(put_samples(p));
    HD_TRY(put_frames(p));
    return flush(p, true);
}

hd_status flame_write_pprof(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                            hd_flame_written *out, hd_error *err)
{
    profile p = {.flame = flame, .output = output, .err = err};
    if (options->base)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "pprof's format cannot hold the difference of two flame graphs; SVG and folded text can, "
                            "and pprof -diff_base compares two of its own");
    hd_status status = flame_samples_init(&p.samples, flame, err);
    if (status == HD_OK) status = put_all(&p, options->title ? options->title : flame_title_of(flame->of));
    out->stacks = p.samples.count;
    out->changed_names = p.samples.changed_names;
    flame_samples_deinit(&p.samples);
    hd_bytes_deinit(&p.bytes);
    return status;
}
