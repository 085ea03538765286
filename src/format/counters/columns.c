/* columns.c - the dialect of a text, and what the columns of a table are, by their names */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text/dates.h"
#include "base/text/ends.h"
#include "format/counters/counters.h"
#include "format/lookalikes.h"
#include "trace/text.h"

bool counters_is_text(hd_string text, const char *other)
{
    return text.size == strlen(other) && strncasecmp(text.data, other, text.size) == 0;
}

size_t counters_split(hd_string *fields, const char *text, size_t size, bool commas)
{
    const char *at = text, *end = text + size;
    size_t count = 0;
    while (at < end || (commas && count && at == end)) {
        while (!commas && at < end && hd_is_blank(*at)) at++;
        if (!commas && at == end) break;
        const char *stop = at;
        while (stop < end && (commas ? *stop != ',' : !hd_is_blank(*stop))) stop++;
        if (count == COUNTERS_FIELDS) return SIZE_MAX;
        hd_string field = hd_text_trim(at, (size_t)(stop - at));
        if (commas && field.size >= 2 && *field.data == '"' && field.data[field.size - 1] == '"')
            field.data++, field.size -= 2;
        fields[count++] = field;
        if (stop == end) break;
        at = stop + 1;
    }
    return count;
}

/* ---- names ---- */

/* The unit in brackets at the end of a name; the name is cut before it. "gpu", "MHz" of "gpu [MHz]". */
static hd_string cut_unit(hd_string *title)
{
    hd_string unit = {"", 0};
    char close = title->size ? title->data[title->size - 1] : '\0', open = close == ']' ? '[' : '(';
    if (close != ']' && close != ')') return unit;
    const char *start = memrchr(title->data, open, title->size);
    if (!start || start == title->data) return unit;
    unit = (hd_string){start + 1, title->size - (size_t)(start - title->data) - 2};
    *title = hd_text_trim(title->data, (size_t)(start - title->data));
    return unit;
}

/* With U+FFFD for what is no UTF-8. */
static uint32_t intern_text(hd_builder *builder, const char *data, size_t size)
{
    hd_bytes text = {0};
    if (hd_utf8_valid(data, size, false)) return hd_builder_intern(builder, data, size);
    hd_text_put_utf8(&text, data, size);
    uint32_t id = text.failed ? HD_STRING_NONE : hd_builder_intern(builder, (char *)text.data, text.size);
    hd_bytes_deinit(&text);
    return id;
}

uint32_t counters_name(hd_builder *builder, hd_string title, hd_string unit)
{
    char text[256];
    if (!unit.size || title.size + unit.size + 3 > sizeof text) return intern_text(builder, title.data, title.size);
    memcpy(text, title.data, title.size);
    memcpy(text + title.size, " (", 2);
    memcpy(text + title.size + 2, unit.data, unit.size);
    text[title.size + 2 + unit.size] = ')';
    return intern_text(builder, text, title.size + unit.size + 3);
}

static counters_role role_of(hd_string title)
{
    static const struct {
        const char *name;
        counters_role role;
    } roles[] = {
        {"timestamp", COUNTERS_STAMP}, {"date", COUNTERS_DATE},       {"time", COUNTERS_CLOCK},
        {"index", COUNTERS_NUMBER},    {"gpu", COUNTERS_NUMBER},      {"gpu_id", COUNTERS_NUMBER},
        {"device", COUNTERS_NUMBER},   {"uuid", COUNTERS_UUID},       {"gpu_uuid", COUNTERS_UUID},
        {"pci.bus_id", COUNTERS_UUID}, {"gpu_bus_id", COUNTERS_UUID}, {"name", COUNTERS_LABEL},
        {"gpu_name", COUNTERS_LABEL},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (counters_is_text(title, roles[i].name)) return roles[i].role;
    }
    return COUNTERS_VALUE;
}

/* dcgmi prints short names, and their units nowhere. */
static hd_string unit_of_dcgm(hd_string title)
{
    static const char *const units[][2] = {{"SMCLK", "MHz"}, {"MMCLK", "MHz"}, {"POWER", "W"},   {"TMPTR", "C"},
                                           {"MMTMP", "C"},   {"GPUTL", "%"},   {"MCUTL", "%"},   {"FBUSD", "MiB"},
                                           {"FBFRE", "MiB"}, {"TOTEC", "mJ"},  {"PCITX", "B/s"}, {"PCIRX", "B/s"},
                                           {"NVLTX", "B/s"}, {"NVLRX", "B/s"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (counters_is_text(title, units[i][0])) return (hd_string){units[i][1], strlen(units[i][1])};
    }
    return (hd_string){"", 0};
}

counters_column counters_column_of(hd_builder *builder, hd_string title, hd_string unit)
{
    counters_column column = {.role = role_of(title)};
    if (column.role != COUNTERS_VALUE) return column;
    hd_string own = cut_unit(&title);
    if (!unit.size) unit = own.size ? own : unit_of_dcgm(title);
    if (counters_is_text(unit, "bool") || counters_is_text(unit, "idx")) unit.size = 0;
    column.title = intern_text(builder, title.data, title.size);
    if (unit.size) column.name = counters_name(builder, title, unit);
    return column;
}

/* ---- the dialect ---- */

static hd_string first_line(const char **at, const char *end)
{
    const char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));
    *at = stop ? stop + 1 : end;
    return hd_text_trim(start, (size_t)((stop ? stop : end) - start));
}

/* Words for what monitors measure, in the first row of a table. */
static bool is_measure(hd_string title)
{
    static const char *const words[] = {"utilization", "clocks",      "power", "temperature", "memory.",
                                        "fan",         "Temperature", "Power", "clock speed", "GPU use",
                                        "_clk",        "gfx",         NULL};
    return hd_string_holds_any(title, words);
}

static bool is_header(const hd_string *fields, size_t count)
{
    size_t places = 0, measures = 0, units = 0;
    for (size_t i = 0; i < count; i++) {
        counters_role role = role_of(fields[i]);
        hd_string title = fields[i];
        if (!title.size || !isalpha((unsigned char)*title.data)) return false;
        places += role == COUNTERS_STAMP || role == COUNTERS_NUMBER || role == COUNTERS_UUID;
        measures += is_measure(title);
        units += title.data[title.size - 1] == ']' && cut_unit(&title).size > 0;
    }
    return measures && (places || units * 2 >= count);
}

static bool is_bare(const hd_string *fields, size_t count)
{
    int64_t ignored;
    for (size_t i = 0; i < count && count > 1; i++) {
        size_t used = hd_date_parse(&ignored, fields[i].data, fields[i].size);
        if (used && used + 1 < fields[i].size && fields[i].data[4] == '/' && fields[i].data[used] == ' ' &&
            hd_day_time_parse(&ignored, fields[i].data + used + 1, fields[i].size - used - 1) ==
                fields[i].size - used - 1)
            return true;
    }
    return false;
}

counters_dialect counters_dialect_of(const unsigned char *head, size_t size)
{
    hd_string fields[COUNTERS_FIELDS];
    const char *at = (const char *)head, *end = at + size;
    if (hd_starts_with(at, size, "\xef\xbb\xbf")) at += 3;
    while (at < end && (*at == '\n' || *at == '\r')) at++;
    if (at < end && hd_lookalike_is_metrics(at, (size_t)(end - at))) return COUNTERS_METRICS;
    hd_string line = first_line(&at, end), next = first_line(&at, end);
    if (line.size && *line.data == '#') {
        bool has_numbers = next.size && *next.data == '#' && hd_string_holds(next, "Idx");
        line = hd_text_trim(line.data + 1, line.size - 1);
        if (hd_starts_with(line.data, line.size, "Entity")) return COUNTERS_DCGMI;
        return has_numbers && hd_string_holds(line, "gpu") ? COUNTERS_DMON : COUNTERS_NONE;
    }
    size_t count = counters_split(fields, line.data, line.size, true);
    if (count == SIZE_MAX) return COUNTERS_NONE;
    return is_header(fields, count) ? COUNTERS_CSV : is_bare(fields, count) ? COUNTERS_BARE : COUNTERS_NONE;
}
