/* otlp.c - a flame as OpenTelemetry's profiles (opentelemetry/proto/profiles/v1development: ProfilesData)
 *
 * A profile has one kind of value, so there are two: weights, and the numbers of activities, slices or samples. Both
 * refer to the same dictionary: a frame is a function and a location of the same number, a stack its locations from the
 * last frame to the root. The first entry of each table is empty by the format. The bytes follow the order of the
 * stacks, and have no time and no id, so that equal flames are equal files.
 */
#include "base/error.h"
#include "base/protobuf/write.h"
#include "flame/flame.h"

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1, ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, VALUE_STRING = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2, SCOPE_NAME = 1 };
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES = 2, TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum { MAPPINGS = 1, LOCATIONS = 2, FUNCTIONS = 3, LINKS = 4, STRINGS = 5, ATTRIBUTES = 6, STACKS = 7 };
enum { LOCATION_LINES = 3, LINE_FUNCTION = 1, FUNCTION_NAME = 1, STACK_LOCATIONS = 1 };

/* Places in the table of strings; frames follow. */
enum { EMPTY, WEIGHT, UNIT, COUNT, FIRST_FRAME };

static void put_profile(hd_bytes *out, const hd_flame *flame, const flame_samples *samples, bool counts)
{
    size_t profile = hd_pb_begin(out, SCOPE_PROFILES_PROFILES), type = hd_pb_begin(out, PROFILE_SAMPLE_TYPE);
    hd_pb_put_uint(out, TYPE_NAME, counts ? COUNT : WEIGHT);
    hd_pb_put_uint(out, TYPE_UNIT, counts ? COUNT : UNIT);
    hd_pb_end(out, type);
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint32_t node = samples->nodes[i];
        size_t sample = hd_pb_begin(out, PROFILE_SAMPLES);
        hd_pb_put_uint(out, SAMPLE_STACK, (uint64_t)i + 1);
        size_t values = hd_pb_begin(out, SAMPLE_VALUES);
        hd_bytes_put_varint(out, counts ? flame->count[node] : (uint64_t)flame->self[node]);
        hd_pb_end(out, values);
        hd_pb_end(out, sample);
    }
    hd_pb_end(out, profile);
}

static void put_resource(hd_bytes *out, const char *title)
{
    static const char key[] = "service.name";
    size_t resource = hd_pb_begin(out, RESOURCE_PROFILES_RESOURCE), attribute = hd_pb_begin(out, RESOURCE_ATTRIBUTES);
    hd_pb_put_text(out, ATTRIBUTE_KEY, key);
    size_t value = hd_pb_begin(out, ATTRIBUTE_VALUE);
    flame_put_name(out, VALUE_STRING, (hd_string){title, strlen(title)});
    hd_pb_end(out, value);
    hd_pb_end(out, attribute);
    hd_pb_end(out, resource);
}

static void put_stack(hd_bytes *out, const hd_flame *flame, const flame_samples *samples, uint32_t node)
{
    size_t stack = hd_pb_begin(out, STACKS), list = hd_pb_begin(out, STACK_LOCATIONS);
    for (uint32_t n = node; n != HD_STACK_NONE;) {
        hd_frame frame = hd_stacks_at(flame->stacks, n);
        hd_bytes_put_varint(out, (uint64_t)samples->frames[frame.name] + 1);
        n = frame.caller;
    }
    hd_pb_end(out, list);
    hd_pb_end(out, stack);
}

static void put_frame(hd_bytes *out, uint64_t index)
{
    size_t location = hd_pb_begin(out, LOCATIONS), line = hd_pb_begin(out, LOCATION_LINES);
    hd_pb_put_uint(out, LINE_FUNCTION, index + 1);
    hd_pb_end(out, line);
    hd_pb_end(out, location);
    size_t function = hd_pb_begin(out, FUNCTIONS);
    hd_pb_put_uint(out, FUNCTION_NAME, FIRST_FRAME + index);
    hd_pb_end(out, function);
}

static void put_dictionary(hd_bytes *out, const hd_flame *flame, const flame_samples *samples)
{
    static const uint32_t tables[] = {MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, ATTRIBUTES, STACKS};
    const char *unit, *event = flame_value_of(&unit, flame);
    size_t dictionary = hd_pb_begin(out, DATA_DICTIONARY);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) hd_pb_put_bytes(out, tables[i], "", 0);
    hd_pb_put_text(out, STRINGS, "");
    hd_pb_put_text(out, STRINGS, event);
    hd_pb_put_text(out, STRINGS, unit);
    hd_pb_put_text(out, STRINGS, "count");
    for (uint32_t i = 0; i < hd_stacks_name_count(flame->stacks); i++) {
        if (samples->frames[i] == HD_NONE) continue;
        put_frame(out, samples->frames[i]);
        flame_put_name(out, STRINGS, hd_stacks_text(flame->stacks, i));
    }
    for (uint32_t i = 0; i < samples->count; i++) put_stack(out, flame, samples, samples->nodes[i]);
    hd_pb_end(out, dictionary);
}

hd_status flame_write_otlp(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                           hd_flame_written *out, hd_error *err)
{
    flame_samples samples;
    hd_bytes bytes = {0};
    if (options->base)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "OpenTelemetry's profiles cannot hold the difference of two flame graphs; SVG and folded "
                            "text can");
    hd_status status = flame_samples_init(&samples, flame, err);
    if (status == HD_OK) {
        size_t profiles = hd_pb_begin(&bytes, DATA_RESOURCE_PROFILES);
        put_resource(&bytes, options->title ? options->title : flame_title_of(flame->of));
        size_t scoped = hd_pb_begin(&bytes, RESOURCE_PROFILES_SCOPE_PROFILES);
        size_t scope = hd_pb_begin(&bytes, SCOPE_PROFILES_SCOPE);
        hd_pb_put_text(&bytes, SCOPE_NAME, "heddle");
        hd_pb_end(&bytes, scope);
        put_profile(&bytes, flame, &samples, false);
        put_profile(&bytes, flame, &samples, true);
        hd_pb_end(&bytes, scoped);
        hd_pb_end(&bytes, profiles);
        put_dictionary(&bytes, flame, &samples);
        status = bytes.failed ? HD_NOMEM(err) : hd_output_write(output, bytes.data, bytes.size, err);
    }
    out->stacks = samples.count;
    out->changed_names = samples.changed_names;
    flame_samples_deinit(&samples);
    hd_bytes_deinit(&bytes);
    return status;
}
