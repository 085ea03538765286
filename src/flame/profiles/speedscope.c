/* speedscope.c - a flame as a file of speedscope (file-format-schema.json): frames, and a "sampled" profile
 *
 * A stack is a list of frames from the root on, a sample a stack with its weight. The samples are in the order of their
 * stacks, so that the view by time shows each frame once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "flame/flame.h"

enum { FLUSH_BYTES = 1 << 18, INDEX_BYTES = 12 };

typedef struct scope {
    const hd_flame *flame;
    flame_samples samples;
    hd_output *output;
    hd_error *err;
    hd_json_out text;
} scope;

static hd_status flush(scope *s, bool now)
{
    if (s->text.failed) return HD_NOMEM(s->err);
    if (!now && s->text.size < FLUSH_BYTES) return HD_OK;
    HD_TRY(hd_output_write(s->output, s->text.data, s->text.size, s->err));
    s->text.size = 0;
    return HD_OK;
}

/* ---- frames ---- */

static hd_status put_frames(scope *s)
{
    uint32_t names = hd_stacks_name_count(s->flame->stacks);
    bool first = true;
    hd_json_put_text(&s->text, "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < names; i++) {
        hd_string name = hd_stacks_text(s->flame->stacks, i);
        if (s->samples.frames[i] == HD_NONE) continue;
        hd_json_put_text(&s->text, first ? "\n{\"name\":" : ",\n{\"name\":");
        hd_json_put_string(&s->text, name.size ? name.data : "[unknown]", name.size ? name.size : 9);
        hd_json_put_text(&s->text, "}");
        first = false;
        HD_TRY(flush(s, false));
    }
    hd_json_put_text(&s->text, "\n]},\n");
    return HD_OK;
}

/* ---- samples ---- */

/* The frames from the root to a node, written from the end of `room` to its front. Returns the first byte. */
static char *put_stack(char *end, const scope *s, uint32_t node)
{
    char number[INDEX_BYTES];
    for (; node != HD_STACK_NONE;) {
        hd_frame frame = hd_stacks_at(s->flame->stacks, node);
        size_t size = (size_t)snprintf(number, sizeof number, "%" PRIu32, s->samples.frames[frame.name]);
        end -= size;
        memcpy(end, number, size);
        node = frame.caller;
        if (node != HD_STACK_NONE) *--end = ',';
    }
    return end;
}

static hd_status put_samples(scope *s)
{
    char *room = NULL;
    size_t capacity = 0;
    hd_status status = HD_OK;
    hd_json_put_text(&s->text, "\"samples\":[");
    for (uint32_t i = 0; i < s->samples.count && status == HD_OK; i++) {
        size_t size = (size_t)hd_stacks_at(s->flame->stacks, s->samples.nodes[i]).depth * INDEX_BYTES;
        if (!hd_reserve(&room, &capacity, size)) {
            status = HD_NOMEM(s->err);
            break;
        }
        const char *stack = put_stack(room + size, s, s->samples.nodes[i]);
        hd_json_put_text(&s->text, i ? ",\n[" : "\n[");
        hd_json_put(&s->text, stack, (size_t)(room + size - stack));
        hd_json_put_text(&s->text, "]");
        status = flush(s, false);
    }
    free(room);
    hd_json_put_text(&s->text, "\n],\n");
    return status;
}

static hd_status put_weights(scope *s)
{
    hd_json_put_text(&s->text, "\"weights\":[");
    for (uint32_t i = 0; i < s->samples.count; i++) {
        hd_json_put_text(&s->text, i ? ",\n" : "\n");
        hd_json_put_int(&s->text, s->flame->self[s->samples.nodes[i]]);
        HD_TRY(flush(s, false));
    }
    hd_json_put_text(&s->text, "\n]}],\n");
    return HD_OK;
}

/* ---- all of it ---- */

static const char *unit_of(const hd_flame *flame)
{
    return strcmp(flame->unit, "ns") == 0 ? "nanoseconds" : strcmp(flame->unit, "bytes") == 0 ? "bytes" : "none";
}

static hd_status put_all(scope *s, const char *title)
{
    hd_json_put_text(&s->text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    HD_TRY(put_frames(s));
    hd_json_put_text(&s->text, "\"profiles\":[{\"type\":\"sampled\",\"name\":");
    hd_json_put_string(&s->text, title, strlen(title));
    hd_json_put_text(&s->text, ",\"unit\":\"");
    hd_json_put_text(&s->text, unit_of(s->flame));
    hd_json_put_text(&s->text, "\",\"startValue\":0,\"endValue\":");
    hd_json_put_int(&s->text, s->flame->total[0]);
    hd_json_put_text(&s->text, ",\n");
    HD_TRY(put_samples(s));
    HD_TRY(put_weights(s));
    hd_json_put_text(&s->text, "\"name\":");
    hd_json_put_string(&s->text, title, strlen(title));
    hd_json_put_text(&s->text, ",\"activeProfileIndex\":0,\"exporter\":\"heddle\"}\n");
    return flush(s, true);
}

hd_status flame_write_speedscope(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                                 hd_flame_written *out, hd_error *err)
{
    scope s = {.flame = flame, .output = output, .err = err};
    if (options->base)
        return hd_error_set(
            err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
            "speedscope's JSON cannot hold the difference of two flame graphs; SVG and folded text can");
    hd_status status = flame_samples_init(&s.samples, flame, err);
    if (status == HD_OK) status = put_all(&s, options->title ? options->title : flame_title_of(flame->of));
    out->stacks = s.samples.count;
    out->changed_names = s.samples.changed_names;
    flame_samples_deinit(&s.samples);
    free(s.text.data);
    return status;
}
