/* meetings_impl.h - shared by meetings.c and uneven.c while collective instances are matched */
#ifndef HD_REPORT_JOB_MEETINGS_IMPL_H
#define HD_REPORT_JOB_MEETINGS_IMPL_H

#include "base/bytes.h"
#include "report/job/meetings.h"

typedef struct group_facts {
    int64_t size; /* from the first member that has it; HD_NO_NUMBER */
    uint32_t members;
    bool is_counted, is_several;
    uint32_t place;     /* in the order of groups */
    size_t seat;        /* its first */
    uint32_t met, last; /* while members are walked: how many were in it, and the last of these + 1 */
} group_facts;

/* State of an instance while members are walked. */
typedef struct met {
    uint32_t last;    /* member that has it, + 1 */
    uint32_t members; /* rows without duplicates */
    uint32_t present; /* number of participants of its group that have it before the first without it */
} met;

/* A packed row. */
typedef struct packed_row {
    uint32_t meeting, step;       /* step: text; HD_NONE: in none */
    int64_t step_start, duration; /* HD_NO_NUMBER: not known */
    uint32_t kind;                /* if it differs from that of the instance; HD_NONE */
} packed_row;
static const packed_row meetings_before_first = {UINT32_MAX, HD_NONE, HD_NO_NUMBER, HD_NO_NUMBER, HD_NONE};

/* The instances of a group in one step, if numbers are counted in it. */
typedef struct meetings_unit {
    size_t first, end; /* of `order` */
    uint32_t members;  /* that have any of them */
    uint32_t lowest;   /* of these */
    uint32_t last;     /* while members are gone through: of these, + 1 */
    bool is_uneven;    /* members have different numbers of them: which ones match is unknown */
    bool is_mixed;     /* equal numbers, but different operations and bytes: unknown, too */
    bool has_double;
} meetings_unit;

typedef struct meetings_maker {
    job_meetings *m;
    gpu_groups members, seats, defects; /* keys: job_party; group and member; instance and defect */
    hd_slots found;                     /* instances, by group and number */
    group_facts *facts;                 /* by group */
    met *met;                           /* by meeting */
    uint32_t *unit_of;                  /* by instance; HD_NONE: its group has numbers; NULL: all have */
    meetings_unit *units;
    size_t fact_capacity, capacity, seat_capacity, defect_capacity, part_capacity, unit_count, unit_capacity;
    /* Of the row before; is_first: there is none in this summary. */
    bool is_first;
    job_party party;
    job_meeting_group key;
    uint32_t member, group, seat, kind;
    packed_row packed;
} meetings_maker;

/* first: member; while rows are read, members have the numbers of their keys. false: no memory. */
bool meetings_add_defect(meetings_maker *maker, uint32_t of, job_defect defect, uint32_t first, uint64_t members);

/* ---- uneven.c ---- */

/* After sorting instances: sets unit_of and units, without members yet. false: no memory. */
bool meetings_find_units(meetings_maker *maker);
/* After walking members: in which units members differ, and what is missing. false: no memory. */
bool meetings_judge_units(meetings_maker *maker);

static inline meetings_unit *meetings_unit_of(const meetings_maker *maker, uint32_t meeting)
{
    uint32_t unit = maker->unit_of ? maker->unit_of[meeting] : HD_NONE;
    return unit == HD_NONE ? NULL : &maker->units[unit];
}

/* unit: NULL: numbers are those of the trace. */
static inline bool meetings_is_refused(const meetings_unit *unit)
{
    return unit && (unit->is_uneven || unit->is_mixed);
}

/* Members come in their order. */
static inline void meetings_see_member(meetings_maker *maker, uint32_t meeting, uint32_t member)
{
    meetings_unit *unit = meetings_unit_of(maker, meeting);
    if (!unit || unit->last == member + 1) return;
    unit->last = member + 1;
    if (!unit->members++) unit->lowest = member;
}

/* ---- rows ---- */

static inline hd_byte_reader meetings_rows_of(const job_meetings *m, const job_rows *part)
{
    return hd_byte_reader_of(m->rows.data + part->first, m->rows.size - part->first);
}

/* r: that before, which becomes the next. */
static inline void meetings_unpack_row(packed_row *r, hd_byte_reader *in)
{
    uint64_t duration = hd_byte_reader_varint(in), head = duration & 1 ? hd_byte_reader_varint(in) : 0;
    r->meeting += 1 + (uint32_t)hd_unzigzag(head >> 3);
    r->duration = head & 2 ? HD_NO_NUMBER : (int64_t)(duration >> 1);
    r->kind = head & 4 ? (uint32_t)hd_byte_reader_varint(in) : HD_NONE;
    if (!(head & 1)) return;
    r->step += (uint32_t)hd_byte_reader_zigzag(in);
    r->step_start = (int64_t)((uint64_t)r->step_start + (uint64_t)hd_byte_reader_zigzag(in));
}

#endif
