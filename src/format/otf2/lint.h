/* lint.h - faults of an archive, counted by code; docs/formats/otf2.md explains each */
#ifndef HD_FORMAT_OTF2_LINT_H
#define HD_FORMAT_OTF2_LINT_H

#include <stdint.h>

#include "heddle/builder.h"

typedef enum lint_code {
    /* events */
    LINT_LEAVE_WITHOUT_ENTER,
    LINT_ENTER_WITHOUT_LEAVE,
    LINT_CROSSING,
    LINT_TIME_DECREASES,
    LINT_OUTSIDE_CLOCK,
    LINT_EVENT_COUNT,
    LINT_METRIC_MEMBERS,
    LINT_EVENT_UNKNOWN,
    LINT_COLLECTIVE,
    /* membership */
    LINT_RANK,
    LINT_NOT_A_MEMBER,
    LINT_GROUP_MEMBER,
    LINT_COMM_LOCATIONS,
    LINT_MESSAGE_UNMATCHED,
    /* definitions */
    LINT_DUPLICATE,
    LINT_DEFINITION_UNKNOWN,
    LINT_DEFINITION_COUNT,
    LINT_LOCATION_COUNT,
    LINT_CLOCK,
    LINT_UNDEFINED, /* and on, one per def_kind up to DEF_REFERRED */
    LINT_UNDEFINED_LAST = LINT_UNDEFINED + 22,
    /* files */
    LINT_EVENTS_MISSING,
    LINT_EVENTS_DAMAGED,
    LINT_EVENTS_CHECKSUM,
    LINT_LOCAL_DEFINITIONS_DAMAGED,
    LINT_DEFINITIONS_DAMAGED,
    LINT_MARKERS_DAMAGED,
    /* notes */
    LINT_CLOCK_OFFSETS,
    LINT_SNAPSHOTS,
    LINT_THUMBNAILS,
    LINT_PARAMETER_TIME,
    LINT_RELATIVE_METRIC,
    LINT_CODES
} lint_code;

/* Where a finding was met first. */
typedef struct lint_finding {
    uint64_t count;
    uint64_t location, event, time; /* UINT64_MAX: does not apply */
    uint64_t place;                 /* for the ledger */
    char text[120];                 /* what, in words */
} lint_finding;

typedef struct otf2_lint {
    lint_finding findings[LINT_CODES];
    uint64_t location, event, time; /* being read */
} otf2_lint;

const char *otf2_lint_name(lint_code code);
hd_ledger_level otf2_lint_level(lint_code code);

/* Something about the event being read; its place is its number in its location. */
void otf2_lint_event(otf2_lint *lint, lint_code code, const char *format, ...) HD_PRINTF(3, 4);
/* Something about a definition or file; `place` is its id. */
void otf2_lint_place(otf2_lint *lint, lint_code code, uint64_t place, const char *format, ...) HD_PRINTF(4, 5);

/* Adds findings to the ledger, and as metadata "otf2.findings", with the place of each. */
void otf2_lint_finish(const otf2_lint *lint, hd_builder *builder);

#endif
