/* lint.c - findings: codes, levels, first places
 *
 * The ledger has one number, that of the event in its location or the id of a definition. The meaning of that number,
 * with location and time, is in the metadata "otf2.findings".
 */
#include "format/otf2/lint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "base/json/write.h"

static const struct {
    const char *name;
    hd_ledger_level level;
} codes[LINT_CODES] = {
    [LINT_LEAVE_WITHOUT_ENTER] = {"otf2.leave-without-enter", HD_LEDGER_REPAIR},
    [LINT_ENTER_WITHOUT_LEAVE] = {"otf2.enter-without-leave", HD_LEDGER_REPAIR},
    [LINT_CROSSING] = {"otf2.regions-cross", HD_LEDGER_REPAIR},
    [LINT_TIME_DECREASES] = {"otf2.time-decreases", HD_LEDGER_REPAIR},
    [LINT_OUTSIDE_CLOCK] = {"otf2.outside-clock-range", HD_LEDGER_REPAIR},
    [LINT_EVENT_COUNT] = {"otf2.event-count", HD_LEDGER_REPAIR},
    [LINT_METRIC_MEMBERS] = {"otf2.metric-members", HD_LEDGER_REPAIR},
    [LINT_EVENT_UNKNOWN] = {"otf2.event-unknown", HD_LEDGER_LOSS},
    [LINT_COLLECTIVE] = {"otf2.collective-unbalanced", HD_LEDGER_REPAIR},
    [LINT_RANK] = {"otf2.rank-not-in-communicator", HD_LEDGER_REPAIR},
    [LINT_NOT_A_MEMBER] = {"otf2.location-not-in-communicator", HD_LEDGER_REPAIR},
    [LINT_GROUP_MEMBER] = {"otf2.group-member", HD_LEDGER_REPAIR},
    [LINT_COMM_LOCATIONS] = {"otf2.communication-locations-missing", HD_LEDGER_REPAIR},
    [LINT_MESSAGE_UNMATCHED] = {"otf2.message-unmatched", HD_LEDGER_REPAIR},
    [LINT_DUPLICATE] = {"otf2.duplicate-definition", HD_LEDGER_LOSS},
    [LINT_DEFINITION_UNKNOWN] = {"otf2.definition-unknown", HD_LEDGER_LOSS},
    [LINT_DEFINITION_COUNT] = {"otf2.definition-count", HD_LEDGER_REPAIR},
    [LINT_LOCATION_COUNT] = {"otf2.location-count", HD_LEDGER_REPAIR},
    [LINT_CLOCK] = {"otf2.clock-missing", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 0] = {"otf2.undefined-string", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 1] = {"otf2.undefined-attribute", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 2] = {"otf2.undefined-location", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 3] = {"otf2.undefined-region", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 4] = {"otf2.undefined-group", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 5] = {"otf2.undefined-metric", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 6] = {"otf2.undefined-communicator", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 7] = {"otf2.undefined-parameter", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 8] = {"otf2.undefined-window", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 9] = {"otf2.undefined-source-code-location", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 10] = {"otf2.undefined-calling-context", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 11] = {"otf2.undefined-interrupt-generator", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 12] = {"otf2.undefined-io-file", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 13] = {"otf2.undefined-io-handle", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 14] = {"otf2.undefined-location-group", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 15] = {"otf2.undefined-metric-member", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 16] = {"otf2.undefined-system-tree-node", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 17] = {"otf2.undefined-io-paradigm", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 18] = {"otf2.undefined-paradigm", HD_LEDGER_NOTE},
    [LINT_UNDEFINED + 19] = {"otf2.undefined-callsite", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 20] = {"otf2.undefined-callpath", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 21] = {"otf2.undefined-dimension", HD_LEDGER_REPAIR},
    [LINT_UNDEFINED + 22] = {"otf2.undefined-topology", HD_LEDGER_REPAIR},
    [LINT_EVENTS_MISSING] = {"otf2.events-missing", HD_LEDGER_LOSS},
    [LINT_EVENTS_DAMAGED] = {"otf2.events-damaged", HD_LEDGER_LOSS},
    [LINT_EVENTS_CHECKSUM] = {"otf2.events-checksum", HD_LEDGER_LOSS},
    [LINT_LOCAL_DEFINITIONS_DAMAGED] = {"otf2.local-definitions-damaged", HD_LEDGER_LOSS},
    [LINT_DEFINITIONS_DAMAGED] = {"otf2.definitions-damaged", HD_LEDGER_LOSS},
    [LINT_MARKERS_DAMAGED] = {"otf2.markers-damaged", HD_LEDGER_LOSS},
    [LINT_CLOCK_OFFSETS] = {"otf2.clock-offsets-applied", HD_LEDGER_NOTE},
    [LINT_SNAPSHOTS] = {"otf2.snapshots-skipped", HD_LEDGER_NOTE},
    [LINT_THUMBNAILS] = {"otf2.thumbnails-skipped", HD_LEDGER_NOTE},
    [LINT_PARAMETER_TIME] = {"otf2.parameter-time", HD_LEDGER_NOTE},
    [LINT_RELATIVE_METRIC] = {"otf2.metric-relative", HD_LEDGER_NOTE},
};

const char *otf2_lint_name(lint_code code)
{
    return codes[code].name;
}

hd_ledger_level otf2_lint_level(lint_code code)
{
    return codes[code].level;
}

void otf2_lint_event(otf2_lint *lint, lint_code code, const char *format, ...)
{
    lint_finding *finding = &lint->findings[code];
    if (finding->count++) return;
    finding->location = lint->location;
    finding->event = finding->place = lint->event;
    finding->time = lint->time;
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
}

void otf2_lint_place(otf2_lint *lint, lint_code code, uint64_t place, const char *format, ...)
{
    lint_finding *finding = &lint->findings[code];
    if (finding->count++) return;
    finding->location = finding->event = finding->time = UINT64_MAX;
    finding->place = place;
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
}

static void put_number(hd_json_out *out, const char *key, uint64_t value)
{
    char text[64];
    if (value == UINT64_MAX) return;
    snprintf(text, sizeof text, ",\"%s\":%" PRIu64, key, value);
    hd_json_put_text(out, text);
}

static void put_finding(hd_json_out *out, lint_code code, const lint_finding *finding)
{
    hd_json_put_text(out, out->size > 1 ? ",{\"code\":" : "{\"code\":");
    hd_json_put_string(out, codes[code].name, strlen(codes[code].name));
    put_number(out, "count", finding->count);
    put_number(out, "location", finding->location);
    put_number(out, "event", finding->event);
    put_number(out, "ticks", finding->time);
    hd_json_put_text(out, ",\"first\":");
    hd_json_put_string(out, finding->text, strlen(finding->text));
    hd_json_put_text(out, "}");
}

/* Text may hold names, and be cut in the midst of a letter. */
static uint32_t intern_clean(hd_builder *builder, char *text)
{
    size_t size = strlen(text);
    while (size && !hd_utf8_valid(text, size, false)) size--;
    return hd_builder_intern(builder, text, size);
}

static uint32_t detail_of(const lint_finding *finding, hd_builder *builder)
{
    char text[256];
    if (finding->location == UINT64_MAX)
        snprintf(text, sizeof text, "%s", finding->text);
    else
        snprintf(text, sizeof text, "location %" PRIu64 ", event %" PRIu64 ": %s", finding->location, finding->event,
                 finding->text);
    return intern_clean(builder, text);
}

void otf2_lint_finish(const otf2_lint *lint, hd_builder *builder)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "[");
    for (int code = 0; code < LINT_CODES; code++) {
        const lint_finding *finding = &lint->findings[code];
        if (!finding->count) continue;
        hd_builder_ledger_detail(builder, "otf2", codes[code].name, codes[code].level, finding->count, finding->place,
                                 detail_of(finding, builder));
        put_finding(&out, (lint_code)code, finding);
    }
    if (out.size > 1) {
        hd_json_put_text(&out, "]");
        uint32_t text = out.failed ? HD_STRING_NONE : hd_builder_intern(builder, out.data, out.size);
        hd_builder_metadata(builder, hd_builder_intern_text(builder, "otf2.findings"), text, false);
    }
    free(out.data);
}
