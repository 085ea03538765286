/* properties.c - data about the GPUs in the metadata
 *
 * deviceProperties is written by Kineto: an array of objects with id, name, totalGlobalMem, computeMajor, computeMinor,
 * numSms, and data of multiprocessors. If merged ranks differ, each has its own: {"ranks": {"0": {"deviceProperties":
 * …}}}. The text may be from a hostile file: anything unexpected in it is ignored.
 */
#include "report/properties.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/text/decimal.h"

static const char key[] = "deviceProperties";

static int64_t int_member(const char *object, const char *name)
{
    int64_t value;
    return hd_json_find_whole(&value, object, name) ? value : HD_NO_NUMBER;
}

static char *text_member(const char *object, const char *name)
{
    const char *value;
    size_t size;
    hd_json_text text;
    if (!hd_json_find(&value, &size, object, name) || *value != '"' || !hd_json_string(&text, value + 1)) return NULL;
    char *out = malloc(text.size + 1);
    if (!out) return NULL;
    if (!hd_json_decode(out, &size, &text)) size = 0;
    out[size] = '\0';
    return out;
}

static bool read_one(int64_t rank, const char *object, report_properties_found *found, void *user)
{
    report_properties p = {.rank = rank, .id = int_member(object, "id")};
    if (p.id == HD_NO_NUMBER) return true;
    p.name = text_member(object, "name");
    p.memory_bytes = int_member(object, "totalGlobalMem");
    p.major = int_member(object, "computeMajor");
    p.minor = int_member(object, "computeMinor");
    p.multiprocessors = int_member(object, "numSms");
    p.sm_threads = int_member(object, "maxThreadsPerMultiprocessor");
    p.sm_registers = int_member(object, "regsPerMultiprocessor");
    p.sm_shared_bytes = int_member(object, "sharedMemPerMultiprocessor");
    bool fine = found(user, &p);
    free(p.name);
    return fine;
}

static bool read_array(int64_t rank, const char *p, report_properties_found *found, void *user)
{
    enum { DEVICE_LIMIT = 4096 };
    bool fine = true;
    p = hd_json_skip_space(p);
    if (*p == '[') p = hd_json_skip_space(p + 1);
    for (int i = 0; *p == '{' && fine && i < DEVICE_LIMIT; i++) {
        const char *end = hd_json_skip_value(p);
        if (!end) break;
        fine = read_one(rank, p, found, user);
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return fine;
}

/* The members of "ranks" with a numeric key. */
static bool read_ranks(const char *p, report_properties_found *found, void *user)
{
    hd_json_text label;
    const char *array, *end;
    size_t size;
    int64_t rank;
    bool fine = true;
    p = hd_json_skip_space(p);
    if (*p != '{' || !hd_json_skip_value(p)) return true;
    for (p = hd_json_skip_space(p + 1); *p == '"' && fine; p = *end == ',' ? hd_json_skip_space(end + 1) : end) {
        p = hd_json_skip_space(hd_json_string(&label, p + 1));
        p = hd_json_skip_space(p + 1);
        if (*p == '{' && hd_fixed_parse_whole(&rank, label.data, label.size) && hd_json_find(&array, &size, p, key))
            fine = read_array(rank, array, found, user);
        end = hd_json_skip_space(hd_json_skip_value(p));
    }
    return fine;
}

bool report_properties_read(const hd_trace *trace, report_properties_found *found, void *user)
{
    hd_string all = hd_trace_metadata_find(trace, key), ranks = hd_trace_metadata_find(trace, "ranks");
    hd_string json = all.size ? all : ranks;
    if (!json.size) return true;
    char *text = calloc(1, json.size + HD_JSON_PADDING);
    if (!text) return false;
    memcpy(text, json.data, json.size);
    bool fine = all.size ? read_array(HD_NO_NUMBER, text, found, user) : read_ranks(text, found, user);
    free(text);
    return fine;
}
