/* other.c - every other event, by tables
 *
 * Messages and RMA and I/O operations become flow points: both ends have the same id, and the event's fields as
 * arguments. The rest becomes instants under the event's own name, with all its numbers as arguments. Nothing is
 * dropped.
 */
#include <inttypes.h>
#include <stdio.h>

#include "format/otf2/read/fields.h"

typedef enum event_role {
    ROLE_INSTANT,
    ROLE_SEND,     /* a message leaves, to a rank of a communicator */
    ROLE_RECEIVE,  /* a message arrives */
    ROLE_RMA,      /* an operation on a window begins */
    ROLE_RMA_STEP, /* … goes on */
    ROLE_RMA_END,
    ROLE_IO,
    ROLE_IO_STEP,
    ROLE_IO_END,
    ROLE_COLLECTIVE,       /* an operation of a communicator ends. a: the communicator, b: COLLECTIVE_… or 0 */
    ROLE_COLLECTIVE_BEGIN, /* b likewise */
    ROLE_COLLECTIVE_END,   /* without a communicator, b likewise */
} event_role;

/* Which begins and ends of collectives belong to each other, plus 1. */
enum { COLLECTIVE_MPI = 1, COLLECTIVE_RMA };

typedef struct event_info {
    const char *name;
    event_role role;
    const otf2_field *fields; /* ends with FIELD_END */
    unsigned a, b, c;         /* fields that the role looks at: see below */
} event_info;

/* a: communicator, b: rank, c: tag */
static hd_status message_id(hd_row *row, otf2_reader *r, const event_info *info, const uint64_t *values)
{
    bool sends = info->role == ROLE_SEND;
    uint64_t comm = values[info->a], here = r->location.def->ref;
    otf2_check_member(r, comm);
    uint64_t there = otf2_rank_location(r, comm, (uint32_t)values[info->b]);
    const otf2_def *group = otf2_get(r, DEF_LOCATION, there);
    /* Any thread of a process may send and receive for it, so processes are compared. */
    there = group ? group->values[LOCATION_GROUP] : there;
    here = r->location.def->values[LOCATION_GROUP];
    match_key key = {(uint64_t)MATCH_MESSAGE << 56 | comm, sends ? here : there, sends ? there : here, values[info->c]};
    row->name = hd_builder_intern_text(r->builder, "message");
    row->category = hd_builder_intern_text(r->builder, "message");
    row->phase = sends ? 's' : (unsigned)'f' | HD_FLAG_BIND_ENCLOSING;
    return otf2_match(&row->id, r, &key, sends, &row->name);
}

/* The remote of an operation is a rank of the window's communicator. */
static void check_remote(otf2_reader *r, uint64_t window, uint64_t remote)
{
    const otf2_def *def = otf2_find(r, DEF_RMA_WIN, window);
    if (!def || def->missing) return;
    otf2_check_member(r, def->values[WIN_COMM]);
    otf2_rank_location(r, def->values[WIN_COMM], (uint32_t)remote);
}

/* a: window or handle, b: matching id; the field behind the window is the remote */
static hd_status operation_id(hd_row *row, otf2_reader *r, const event_info *info, const uint64_t *values)
{
    bool io = info->role >= ROLE_IO;
    bool begins = info->role == ROLE_RMA || info->role == ROLE_IO;
    match_key key = {(uint64_t)(io ? MATCH_IO : MATCH_RMA) << 56 | values[info->a], r->location.def->ref, 0,
                     values[info->b]};
    if (info->role == ROLE_RMA) check_remote(r, values[info->a], values[info->a + 1]);
    row->name = hd_builder_intern_text(r->builder, info->name);
    row->category = hd_builder_intern_text(r->builder, io ? "io" : "rma");
    row->phase = begins ? 's' : (unsigned)'f' | HD_FLAG_BIND_ENCLOSING;
    if (info->role == ROLE_RMA_STEP || info->role == ROLE_IO_STEP) {
        row->phase = 't';
        if (otf2_match_peek(&row->id, r, &key, &row->name)) return HD_OK;
        row->kind = HD_KIND_INSTANT;
        row->phase = 'i';
        return HD_OK;
    }
    return otf2_match(&row->id, r, &key, begins, &row->name);
}

static hd_status make_flow(hd_row *row, otf2_reader *r, const event_info *info, const uint64_t *values)
{
    row->kind = HD_KIND_FLOW;
    row->id_type = HD_ID_INT;
    HD_TRY(info->role <= ROLE_RECEIVE ? message_id(row, r, info, values) : operation_id(row, r, info, values));
    if (row->kind != HD_KIND_FLOW) row->id_type = HD_ID_NONE;
    return HD_OK;
}

/* The begins and ends of collectives of a location alternate, those of MPI and those on windows separately. */
static void count_collective(otf2_reader *r, const event_info *info)
{
    uint64_t *open = &r->location.collectives[info->b - 1];
    bool begins = info->role == ROLE_COLLECTIVE_BEGIN;
    if (begins == (*open == 0)) {
        *open = begins;
        return;
    }
    otf2_lint_event(&r->lint, LINT_COLLECTIVE, begins ? "%s inside another collective" : "%s without its begin",
                    info->name);
}

/* Copies, collectives and messages that are not flows of our writer repeat data of the enclosing slice. */
static bool is_derived(const event_info *info)
{
    return (info->role >= ROLE_RMA && info->role <= ROLE_RMA_END) || info->role == ROLE_COLLECTIVE ||
           info->role == ROLE_COLLECTIVE_BEGIN;
}

static OTF2_CallbackCode add_event(otf2_reader *r, const event_info *info, OTF2_TimeStamp time, uint64_t position,
                                   OTF2_AttributeList *attributes, const uint64_t *values)
{
    if (otf2_begin_event(r, time, position) != OTF2_CALLBACK_SUCCESS) return OTF2_CALLBACK_INTERRUPT;
    hd_row row = otf2_row(r, HD_KIND_INSTANT, 'i', time);
    row.name = hd_builder_intern_text(r->builder, info->name);
    hd_status status = HD_OK;
    if (info->role >= ROLE_COLLECTIVE) {
        if (info->role == ROLE_COLLECTIVE) otf2_check_member(r, values[info->a]);
        if (info->b) count_collective(r, info);
    } else if (info->role != ROLE_INSTANT)
        status = make_flow(&row, r, info, values);
    if (r->is_own && status == HD_OK) {
        const otf2_def *comm =
            info->role == ROLE_SEND || info->role == ROLE_RECEIVE ? otf2_get(r, DEF_COMM, values[info->a]) : NULL;
        if (comm && comm->is_flow) status = otf2_own_add_flow(r, &row, comm, attributes);
        if (comm || is_derived(info)) return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
    }
    if (row.kind == HD_KIND_FLOW && r->wants_args) {
        const uint32_t key_id = hd_builder_intern_text(r->builder, "event");
        otf2_arg(r, key_id, HD_ARG_STRING, hd_builder_intern_text(r->builder, info->name));
    }
    for (unsigned i = 0; info->fields[i].type != FIELD_END; i++) otf2_arg_field(r, &info->fields[i], values, i);
    otf2_arg_attributes(r, attributes);
    if (status == HD_OK) status = otf2_add_row(r, &row);
    if (status == HD_OK) status = r->status;
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
}

/* ---- the events ---- */

#define FIELDS(...) __VA_ARGS__
#define PARAMS(...) , __VA_ARGS__
#define VALUES(...) __VA_ARGS__

/* One callback: an event of the library, its parameters after the common five, as numbers by field. */
#define EVENT(Name, role, a, b, c, parameters, fields_, values_)                                                       \
    static OTF2_CallbackCode on_##Name(OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user,       \
                                       OTF2_AttributeList *attributes parameters)                                      \
    {                                                                                                                  \
        static const otf2_field fields[] = {fields_, END_FIELD};                                                       \
        static const event_info info = {#Name, role, fields, a, b, c};                                                 \
        (void)ref;                                                                                                     \
        return add_event(user, &info, time, position, attributes, (const uint64_t[]){values_});                        \
    }
/* Without numbers of its own. */
#define BARE_EVENT(Name) BARE_EVENT_AS(Name, ROLE_INSTANT, 0)
#define BARE_EVENT_AS(Name, role, b)                                                                                   \
    static OTF2_CallbackCode on_##Name(OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user,       \
                                       OTF2_AttributeList *attributes)                                                 \
    {                                                                                                                  \
        static const otf2_field fields[] = {END_FIELD};                                                                \
        static const event_info info = {#Name, role, fields, 0, b, 0};                                                 \
        (void)ref;                                                                                                     \
        return add_event(user, &info, time, position, attributes, NULL);                                               \
    }
#define INSTANT(Name, parameters, fields, values)                                                                      \
    EVENT(Name, ROLE_INSTANT, 0, 0, 0, PARAMS(parameters), FIELDS(fields), VALUES(values))

/* clang-format off */
#define P(...) __VA_ARGS__
#define COMM R("communicator", DEF_COMM)
#define WIN R("window", DEF_RMA_WIN)
#define HANDLE R("handle", DEF_IO_HANDLE)
#define MODEL R("paradigm", DEF_PARADIGM)
#define OPERATION E("operation", collective_names)

INSTANT(BufferFlush, OTF2_TimeStamp stop, P(U("stop_ticks")), stop)
INSTANT(MeasurementOnOff, OTF2_MeasurementMode mode, P(E("mode", measurement_names)), mode)

EVENT(MpiSend, ROLE_SEND, 1, 0, 2, P(, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes),
      P(U("receiver"), COMM, U("tag"), U("bytes")), P(receiver, comm, tag, bytes))
EVENT(MpiIsend, ROLE_SEND, 1, 0, 2,
      P(, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request),
      P(U("receiver"), COMM, U("tag"), U("bytes"), U("request")), P(receiver, comm, tag, bytes, request))
EVENT(MpiRecv, ROLE_RECEIVE, 1, 0, 2, P(, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes),
      P(U("sender"), COMM, U("tag"), U("bytes")), P(sender, comm, tag, bytes))
EVENT(MpiIrecv, ROLE_RECEIVE, 1, 0, 2,
      P(, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request),
      P(U("sender"), COMM, U("tag"), U("bytes"), U("request")), P(sender, comm, tag, bytes, request))
INSTANT(MpiIsendComplete, uint64_t request, P(U("request")), request)
INSTANT(MpiIrecvRequest, uint64_t request, P(U("request")), request)
INSTANT(MpiRequestTest, uint64_t request, P(U("request")), request)
INSTANT(MpiRequestCancelled, uint64_t request, P(U("request")), request)

BARE_EVENT_AS(MpiCollectiveBegin, ROLE_COLLECTIVE_BEGIN, COLLECTIVE_MPI)
EVENT(MpiCollectiveEnd, ROLE_COLLECTIVE, 1, COLLECTIVE_MPI, 0,
      P(, OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received),
      P(OPERATION, COMM, ROOT, U("bytes_sent"), U("bytes_received")), P(operation, comm, root, sent, received))
INSTANT(NonBlockingCollectiveRequest, uint64_t request, P(U("request")), request)
EVENT(NonBlockingCollectiveComplete, ROLE_COLLECTIVE, 1, 0, 0,
      P(, OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received,
        uint64_t request),
      P(OPERATION, COMM, ROOT, U("bytes_sent"), U("bytes_received"), U("request")),
      P(operation, comm, root, sent, received, request))
INSTANT(CommCreate, OTF2_CommRef comm, P(COMM), comm)
INSTANT(CommDestroy, OTF2_CommRef comm, P(COMM), comm)

INSTANT(OmpFork, uint32_t threads, P(U("threads")), threads)
BARE_EVENT(OmpJoin)
INSTANT(OmpAcquireLock, P(uint32_t lock, uint32_t order), P(U("lock"), U("order")), P(lock, order))
INSTANT(OmpReleaseLock, P(uint32_t lock, uint32_t order), P(U("lock"), U("order")), P(lock, order))
INSTANT(OmpTaskCreate, uint64_t task, P(U("task")), task)
INSTANT(OmpTaskSwitch, uint64_t task, P(U("task")), task)
INSTANT(OmpTaskComplete, uint64_t task, P(U("task")), task)

INSTANT(RmaWinCreate, OTF2_RmaWinRef win, P(WIN), win)
INSTANT(RmaWinDestroy, OTF2_RmaWinRef win, P(WIN), win)
BARE_EVENT_AS(RmaCollectiveBegin, ROLE_COLLECTIVE_BEGIN, COLLECTIVE_RMA)
EVENT(RmaCollectiveEnd, ROLE_COLLECTIVE_END, 0, COLLECTIVE_RMA, 0,
        P(, OTF2_CollectiveOp operation, OTF2_RmaSyncLevel level, OTF2_RmaWinRef win, uint32_t root, uint64_t sent,
          uint64_t received),
        P(OPERATION, U("sync_level"), WIN, ROOT, U("bytes_sent"), U("bytes_received")),
        P(operation, level, win, root, sent, received))
INSTANT(RmaGroupSync, P(OTF2_RmaSyncLevel level, OTF2_RmaWinRef win, OTF2_GroupRef group),
        P(U("sync_level"), WIN, R("group", DEF_GROUP)), P(level, win, group))
#define LOCK_FIELDS P(WIN, U("remote"), U("lock"), E("type", lock_names))
INSTANT(RmaRequestLock, P(OTF2_RmaWinRef win, uint32_t remote, uint64_t lock, OTF2_LockType type), LOCK_FIELDS,
        P(win, remote, lock, type))
INSTANT(RmaAcquireLock, P(OTF2_RmaWinRef win, uint32_t remote, uint64_t lock, OTF2_LockType type), LOCK_FIELDS,
        P(win, remote, lock, type))
INSTANT(RmaTryLock, P(OTF2_RmaWinRef win, uint32_t remote, uint64_t lock, OTF2_LockType type), LOCK_FIELDS,
        P(win, remote, lock, type))
INSTANT(RmaReleaseLock, P(OTF2_RmaWinRef win, uint32_t remote, uint64_t lock), P(WIN, U("remote"), U("lock")),
        P(win, remote, lock))
INSTANT(RmaSync, P(OTF2_RmaWinRef win, uint32_t remote, OTF2_RmaSyncType type),
        P(WIN, U("remote"), E("type", sync_names)), P(win, remote, type))
INSTANT(RmaWaitChange, OTF2_RmaWinRef win, P(WIN), win)
#define TRANSFER_FIELDS P(WIN, U("remote"), U("bytes"), U("matching_id"))
EVENT(RmaPut, ROLE_RMA, 0, 3, 1, P(, OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t id),
      TRANSFER_FIELDS, P(win, remote, bytes, id))
EVENT(RmaGet, ROLE_RMA, 0, 3, 1, P(, OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t id),
      TRANSFER_FIELDS, P(win, remote, bytes, id))
EVENT(RmaAtomic, ROLE_RMA, 0, 5, 1,
      P(, OTF2_RmaWinRef win, uint32_t remote, OTF2_RmaAtomicType type, uint64_t sent, uint64_t received, uint64_t id),
      P(WIN, U("remote"), E("type", atomic_names), U("bytes_sent"), U("bytes_received"), U("matching_id")),
      P(win, remote, type, sent, received, id))
#define DONE_FIELDS P(WIN, U("matching_id"))
EVENT(RmaOpCompleteBlocking, ROLE_RMA_END, 0, 1, 0, P(, OTF2_RmaWinRef win, uint64_t id), DONE_FIELDS, P(win, id))
EVENT(RmaOpCompleteNonBlocking, ROLE_RMA_STEP, 0, 1, 0, P(, OTF2_RmaWinRef win, uint64_t id), DONE_FIELDS, P(win, id))
EVENT(RmaOpCompleteRemote, ROLE_RMA_END, 0, 1, 0, P(, OTF2_RmaWinRef win, uint64_t id), DONE_FIELDS, P(win, id))
INSTANT(RmaOpTest, P(OTF2_RmaWinRef win, uint64_t id), DONE_FIELDS, P(win, id))

INSTANT(ThreadFork, P(OTF2_Paradigm model, uint32_t threads), P(MODEL, U("threads")), P(model, threads))
INSTANT(ThreadJoin, OTF2_Paradigm model, P(MODEL), model)
INSTANT(ThreadTeamBegin, OTF2_CommRef team, P(R("team", DEF_COMM)), team)
INSTANT(ThreadTeamEnd, OTF2_CommRef team, P(R("team", DEF_COMM)), team)
INSTANT(ThreadAcquireLock, P(OTF2_Paradigm model, uint32_t lock, uint32_t order), P(MODEL, U("lock"), U("order")),
        P(model, lock, order))
INSTANT(ThreadReleaseLock, P(OTF2_Paradigm model, uint32_t lock, uint32_t order), P(MODEL, U("lock"), U("order")),
        P(model, lock, order))
#define TASK_FIELDS P(R("team", DEF_COMM), U("creating_thread"), U("generation"))
INSTANT(ThreadTaskCreate, P(OTF2_CommRef team, uint32_t thread, uint32_t generation), TASK_FIELDS,
        P(team, thread, generation))
INSTANT(ThreadTaskSwitch, P(OTF2_CommRef team, uint32_t thread, uint32_t generation), TASK_FIELDS,
        P(team, thread, generation))
INSTANT(ThreadTaskComplete, P(OTF2_CommRef team, uint32_t thread, uint32_t generation), TASK_FIELDS,
        P(team, thread, generation))
#define CONTINGENT P(R("contingent", DEF_COMM), U("sequence"))
INSTANT(ThreadCreate, P(OTF2_CommRef contingent, uint64_t sequence), CONTINGENT, P(contingent, sequence))
INSTANT(ThreadBegin, P(OTF2_CommRef contingent, uint64_t sequence), CONTINGENT, P(contingent, sequence))
INSTANT(ThreadWait, P(OTF2_CommRef contingent, uint64_t sequence), CONTINGENT, P(contingent, sequence))
INSTANT(ThreadEnd, P(OTF2_CommRef contingent, uint64_t sequence), CONTINGENT, P(contingent, sequence))

INSTANT(IoCreateHandle,
        P(OTF2_IoHandleRef handle, OTF2_IoAccessMode mode, OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status),
        P(HANDLE, E("mode", io_access_names), U("creation_flags"), U("status_flags")),
        P(handle, mode, creation, status))
INSTANT(IoDestroyHandle, OTF2_IoHandleRef handle, P(HANDLE), handle)
INSTANT(IoDuplicateHandle, P(OTF2_IoHandleRef from, OTF2_IoHandleRef to, OTF2_IoStatusFlag status),
        P(R("old_handle", DEF_IO_HANDLE), R("new_handle", DEF_IO_HANDLE), U("status_flags")), P(from, to, status))
INSTANT(IoSeek, P(OTF2_IoHandleRef handle, int64_t offset, OTF2_IoSeekOption whence, uint64_t result),
        P(HANDLE, I("offset"), E("whence", io_seek_names), U("result")), P(handle, (uint64_t)offset, whence, result))
INSTANT(IoChangeStatusFlags, P(OTF2_IoHandleRef handle, OTF2_IoStatusFlag status), P(HANDLE, U("status_flags")),
        P(handle, status))
INSTANT(IoDeleteFile, P(OTF2_IoParadigmRef paradigm, OTF2_IoFileRef file),
        P(R("paradigm", DEF_IO_PARADIGM), R("file", DEF_IO_FILE)), P(paradigm, file))
EVENT(IoOperationBegin, ROLE_IO, 0, 4, 0,
      P(, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode, OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t id),
      P(HANDLE, E("mode", io_mode_names), U("flags"), U("bytes"), U("matching_id")), P(handle, mode, flags, bytes, id))
INSTANT(IoOperationTest, P(OTF2_IoHandleRef handle, uint64_t id), P(HANDLE, U("matching_id")), P(handle, id))
EVENT(IoOperationIssued, ROLE_IO_STEP, 0, 1, 0, P(, OTF2_IoHandleRef handle, uint64_t id), P(HANDLE, U("matching_id")),
      P(handle, id))
EVENT(IoOperationComplete, ROLE_IO_END, 0, 2, 0, P(, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id),
      P(HANDLE, U("bytes"), U("matching_id")), P(handle, bytes, id))
EVENT(IoOperationCancelled, ROLE_IO_END, 0, 1, 0, P(, OTF2_IoHandleRef handle, uint64_t id),
      P(HANDLE, U("matching_id")), P(handle, id))
INSTANT(IoAcquireLock, P(OTF2_IoHandleRef handle, OTF2_LockType type), P(HANDLE, E("type", lock_names)),
        P(handle, type))
INSTANT(IoReleaseLock, P(OTF2_IoHandleRef handle, OTF2_LockType type), P(HANDLE, E("type", lock_names)),
        P(handle, type))
INSTANT(IoTryLock, P(OTF2_IoHandleRef handle, OTF2_LockType type), P(HANDLE, E("type", lock_names)), P(handle, type))

INSTANT(ProgramEnd, int64_t status, P(I("exit_status")), (uint64_t)status)
/* clang-format on */

static OTF2_CallbackCode on_ProgramBegin(OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user,
                                         OTF2_AttributeList *attributes, OTF2_StringRef program, uint32_t count,
                                         const OTF2_StringRef *arguments)
{
    otf2_reader *r = user;
    (void)ref;
    if (otf2_begin_event(r, time, position) != OTF2_CALLBACK_SUCCESS) return OTF2_CALLBACK_INTERRUPT;
    hd_row row = otf2_row(r, HD_KIND_INSTANT, 'i', time);
    row.name = hd_builder_intern_text(r->builder, "ProgramBegin");
    uint32_t name = otf2_ref_name(r, DEF_STRING, program);
    otf2_arg(r, hd_builder_intern_text(r->builder, "program"), name ? HD_ARG_STRING : HD_ARG_NULL, name);
    for (uint32_t i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "argument %" PRIu32, i);
        name = otf2_ref_name(r, DEF_STRING, arguments[i]);
        otf2_arg(r, hd_builder_intern_text(r->builder, key), name ? HD_ARG_STRING : HD_ARG_NULL, name);
    }
    otf2_arg_attributes(r, attributes);
    hd_status status = otf2_add_row(r, &row);
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, status);
}

static OTF2_CallbackCode on_Unknown(OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user,
                                    OTF2_AttributeList *attributes)
{
    otf2_reader *r = user;
    (void)ref, (void)attributes;
    if (otf2_begin_event(r, time, position) != OTF2_CALLBACK_SUCCESS) return OTF2_CALLBACK_INTERRUPT;
    otf2_lint_event(&r->lint, LINT_EVENT_UNKNOWN, "an event of a newer OTF2");
    return OTF2_CALLBACK_SUCCESS;
}

/* clang-format off */
void otf2_set_other_callbacks(OTF2_EvtReaderCallbacks *callbacks)
{
#define SET(name) OTF2_EvtReaderCallbacks_Set##name##Callback(callbacks, on_##name);
    SET(Unknown)
    SET(BufferFlush)
    SET(MeasurementOnOff)
    SET(MpiSend)
    SET(MpiIsend)
    SET(MpiIsendComplete) SET(MpiIrecvRequest) SET(MpiRecv) SET(MpiIrecv) SET(MpiRequestTest) SET(MpiRequestCancelled)
        SET(MpiCollectiveBegin) SET(MpiCollectiveEnd) SET(OmpFork) SET(OmpJoin) SET(OmpAcquireLock) SET(OmpReleaseLock)
            SET(OmpTaskCreate) SET(OmpTaskSwitch) SET(OmpTaskComplete) SET(RmaWinCreate) SET(RmaWinDestroy)
                SET(RmaCollectiveBegin) SET(RmaCollectiveEnd) SET(RmaGroupSync) SET(RmaRequestLock) SET(RmaAcquireLock)
                    SET(RmaTryLock) SET(RmaReleaseLock) SET(RmaSync) SET(RmaWaitChange) SET(RmaPut) SET(RmaGet)
                        SET(RmaAtomic) SET(RmaOpCompleteBlocking) SET(RmaOpCompleteNonBlocking) SET(RmaOpTest)
                            SET(RmaOpCompleteRemote) SET(ThreadFork) SET(ThreadJoin) SET(ThreadTeamBegin)
                                SET(ThreadTeamEnd) SET(ThreadAcquireLock) SET(ThreadReleaseLock) SET(ThreadTaskCreate)
                                    SET(ThreadTaskSwitch) SET(ThreadTaskComplete) SET(ThreadCreate) SET(ThreadBegin)
                                        SET(ThreadWait) SET(ThreadEnd) SET(IoCreateHandle) SET(IoDestroyHandle)
                                            SET(IoDuplicateHandle) SET(IoSeek) SET(IoChangeStatusFlags)
                                                SET(IoDeleteFile) SET(IoOperationBegin) SET(IoOperationTest)
                                                    SET(IoOperationIssued) SET(IoOperationComplete)
                                                        SET(IoOperationCancelled) SET(IoAcquireLock) SET(IoReleaseLock)
                                                            SET(IoTryLock) SET(ProgramBegin) SET(ProgramEnd)
                                                                SET(NonBlockingCollectiveRequest)
                                                                    SET(NonBlockingCollectiveComplete) SET(CommCreate)
                                                                        SET(CommDestroy)
#undef SET
}
/* clang-format on */
