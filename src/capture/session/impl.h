/* impl.h - the parts of a session
 *
 *     emitting threads ──> lanes (a ring each) ──> the session's thread: writer.c ──> file
 *     names … ──> lists.c ─────────────────────────┘
 *
 * session.c  start, stop, lanes, statistics
 * emit.c     the events
 * tracer.c   tracks, arguments, stacks … of events: the part of heddle/session.h for tracers
 * file.c     the open file and its chunks
 * keep.c     the file of a session that keeps only its last events: segments
 * live.c     memory that outlives the process: rings, and what the file does not have yet
 * salvage.c  the same memory, read by another process after this one was killed
 * alone.c    ends a program without threads except ours
 * fork.c     the list of sessions, fork, thread exit
 *
 * This runs inside of users' programs. It prints nothing, ends the program only if configured (exit_when_alone), and
 * installs only handlers of fork and of thread exit, both at the first session.
 *
 * Begin with session.c.
 */
#ifndef HD_CAPTURE_SESSION_IMPL_H
#define HD_CAPTURE_SESSION_IMPL_H

#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "base/map.h"
#include "capture/ring_core.h"
#include "capture/session/tracers.h"

enum {
    SESSION_EVENT_BYTES = 64,
    SESSION_BATCH = 4096, /* events of a chunk */
    SESSION_SEGMENTS = 8, /* more than there are at once */
    SESSION_MESSAGE_BYTES = 128,
    SESSION_THREAD_NAME_BYTES = 64,
    SESSION_LANE_BYTES = 4096, /* of a lane, its ring follows */
    SESSION_LIVE_BYTES = 8192, /* of a session_live, the log follows, then lanes */
    SESSION_LOG_BYTES = 1 << 22,
    SESSION_PATH_BYTES = 4096,
    /* At most, in the file. */
    SESSION_EVENT_CODED_BYTES = 1 + 3 * HD_VARINT_BYTES + 3 * HD_VARINT_BYTES + 7 * HD_VARINT_BYTES,
    SESSION_EVENTS_CODED_BYTES = CAPTURE_CHUNK_BYTES + 5 * HD_VARINT_BYTES + SESSION_BATCH * SESSION_EVENT_CODED_BYTES,
};

/* An event in a ring. */
typedef struct session_event {
    int64_t time_ns;
    uint64_t value; /* duration, bits of a double, id of a flow, address */
    uint64_t bytes, node;
    uint32_t name, category;
    uint32_t device;
    uint32_t track, args, stack, correlation;
    uint8_t kind;     /* CAPTURE_… */
    uint8_t delivers; /* a launch is no longer due: see session_lane */
    uint8_t reserved[2];
} session_event;
_Static_assert(sizeof(session_event) == SESSION_EVENT_BYTES, "one line of the cache");

typedef enum lane_state { LANE_FREE, LANE_ACTIVE, LANE_ENDED } lane_state;

/* A thread's part of the session, with its ring after it. Lanes of threads that ended are used again. */
typedef struct session_lane {
    struct hd_ring ring;
    struct session_lane *next; /* lanes are added, never removed */
    _Atomic int state;         /* lane_state */
    uint32_t number;           /* of the thread in the file, from 1 */
    pid_t tid;
    char name[SESSION_THREAD_NAME_BYTES]; /* under the lock */
    atomic_bool unannounced;              /* the file does not have number, tid and name yet */
    /* Of the session's thread; under the lock for statistics. */
    uint64_t written, lost;
    /* SESSION_DELIVERED changes together with the event that delivers: once the tail is beyond place `delivery_at`, it
     * is `delivered`. A process that is killed in between is counted right. */
    atomic_uint_least64_t delivery_at, delivered;
} session_lane;
_Static_assert(sizeof(session_lane) <= SESSION_LANE_BYTES, "its ring begins after it");

/* What another process needs to complete the file if this one is killed. In memory that is shared with the process that
 * records, if there is one; the lanes follow. What is in it is read there without any trust. */
typedef struct session_live {
    char version[64];              /* of this library and its structs */
    char path[SESSION_PATH_BYTES]; /* of the capture */
    int64_t start_ns;
    uint32_t ring_events, policy;
    atomic_uint lanes;         /* that follow */
    atomic_uint private_lanes; /* of threads whose events are lost if the process is killed */
    atomic_bool is_finished;   /* the file has its end */
    atomic_uint_least64_t nested, unplaced, due[SESSION_DUES];
    hd_session_stats gone; /* of threads that ended; under the lock */
    atomic_uint_least64_t log_used;
} session_live;
_Static_assert(sizeof(session_live) <= SESSION_LIVE_BYTES, "the log begins after it");

/* In the log are entries of lists and facts that the file may not have yet: each such a head, and its bytes. */

typedef struct session_log_entry {
    uint32_t type; /* CAPTURE_NAMES … CAPTURE_METADATA */
    uint32_t id;   /* of an entry of a list */
    uint32_t size;
} session_log_entry;

/* Entries that have been given ids, from 1. Under the session's lock. */
typedef struct session_list {
    hd_bytes text;     /* concatenated */
    uint64_t *offsets; /* of id - 1; one more */
    size_t capacity;
    hd_slots slots; /* of ids - 1 */
    uint32_t count, lost;
    uint32_t written; /* how many the file has; of the session's thread */
} session_list;

/* Each list refers only to earlier ones. */
enum { SESSION_NAMES, SESSION_ARGS, SESSION_TRACKS, SESSION_MODULES, SESSION_SYMBOLS, SESSION_FRAMES, SESSION_LISTS };

/* A note or metadata: the current value, and whether the file has it. Under the session's lock. */
typedef struct session_fact {
    unsigned type; /* CAPTURE_NOTES, CAPTURE_METADATA */
    char *key;
    hd_bytes value; /* all of its entry */
    bool is_written;
} session_fact;

/* Counts of entries that were too large: rows of the ledger. */
enum { SESSION_LIMIT_ARGS, SESSION_LIMIT_METADATA, SESSION_LIMITS };

/* The open file. Of the session's thread. */
typedef struct session_file {
    int fd;
    char *path; /* absolute */
    dev_t device;
    ino_t inode;
    atomic_uint_least64_t size; /* of whole chunks; statistics read it */
    uint64_t chunks;
    unsigned part;       /* that is open: 0, or PATH.N */
    uint64_t part_begin; /* its first byte in all of them */
    uint64_t reserved;   /* bytes of the part that have room on the disk; 0: not known */
    bool is_last;        /* what is written now may use the room for the end */
} session_file;

/* Where events go if only the last are kept. Of the session's thread. */
typedef struct session_segment {
    session_file file;   /* that is written now */
    uint32_t first, end; /* numbers of those that are there */
    bool is_declared;    /* the last of them begins as it should */
    int64_t begins_ns[SESSION_SEGMENTS];
    uint64_t written[CAPTURE_KINDS]; /* events of each kind, in this segment and all before */
} session_segment;

typedef enum session_state { SESSION_RUNNING, SESSION_STOPPED, SESSION_FORKED } session_state;

struct hd_session {
    /* Read by every event. 0: not running, or not in this process: the page is zero in a child, even in one that ran
     * no handlers of fork. */
    _Atomic uint64_t *generation;
    unsigned slot;
    uint32_t serial; /* the first generation; a child of fork has the same, as it has the same names */
    alignas(HD_RING_LINE) pthread_mutex_t lock;
    hd_session_options options;
    session_state state; /* under the lock */
    _Atomic(session_lane *) lanes;
    uint32_t thread_count; /* under the lock */
    session_list lists[SESSION_LISTS];
    session_fact *facts;
    uint32_t fact_count;
    uint64_t over_limit[SESSION_LIMITS]; /* under the lock */
    session_live *live, own;             /* `live` is `own` where no other process takes it */
    uint8_t *log;                        /* NULL: likewise */
    struct {
        int fd; /* of the memory that is shared */
        dev_t device;
        ino_t inode;
    } shared;
    bool is_wiped; /* see generation */
    int64_t start_ns;

    /* The session's thread. */
    pthread_t thread;
    session_file file;
    session_segment segment;
    atomic_uint wake, passes, asked; /* futexes; flush waits for `passes` to reach the requested number */
    atomic_bool asleep, ending;
    atomic_bool may_revive; /* in a child of fork that gets a file of its own, until it has it */
    hd_status status;       /* first failure; under the lock, as the message */
    char message[SESSION_MESSAGE_BYTES];
    hd_bytes chunk; /* has room for the largest chunk of events; grows under the lock only, for fork */
    session_event batch[SESSION_BATCH];
};

/* The state of a thread. */
typedef struct session_thread {
    uint8_t busy; /* inside of a session's code */
    struct {
        uint64_t generation;
        session_lane *lane;
    } at[HD_SESSION_LIMIT];
} session_thread;

extern _Thread_local session_thread session_this_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* session.c: the lane of this thread if it is not cached yet; NULL: the session does not run here. busy is set. */
session_lane *session_attach(hd_session *session);

/* lists.c. All but enter under the lock. */
hd_status session_list_init(session_list *list);
void session_list_deinit(session_list *list);
uint32_t session_list_add(hd_session *session, int list, const void *data, size_t size); /* 0: no memory, too many */
size_t session_text_size(const char *text);
uint32_t session_name_id(hd_session *session, const char *name); /* 0 for NULL */
/* Takes the lock. A signal handler that emits on this thread meanwhile sees `busy`, and does not wait for it. */
void session_lock(hd_session *session);
void session_leave(hd_session *session);
/* The same, unless this thread is inside of a session's code already, or there is no session: false. */
bool session_enter(hd_session *session);

/* emit.c */
void session_emit(hd_session *session, const session_event *event);

/* tracer.c */
void session_facts_deinit(hd_session *session);
void session_put_text(hd_bytes *out, const char *text, size_t size);

/* file.c: chunks are made and written by the session's thread */
void session_begin_chunk(hd_session *session);
bool session_write_chunk(hd_session *session, unsigned type, uint32_t thread);

hd_status session_file_open(hd_session *session, hd_error *err); /* session->file.path, header and process */
void session_file_close(hd_session *session);
bool session_file_cut(session_file *file, uint64_t size); /* of the part; the end still has room */
void session_file_discard(hd_session *session);           /* of a session that did not start */

bool session_file_create(session_file *file, const char *path); /* that does not exist; file->path stays as it is */
void session_file_release(session_file *file);                  /* closes it, unless the program did */
void session_file_give_back(session_file *file);                /* room on the disk that it did not need */
bool session_copy_behind(int to, int from);
void session_seal_chunk(hd_bytes *chunk, unsigned type, uint32_t thread, uint64_t number);

/* keep.c */
session_file *session_file_of(hd_session *session, unsigned type); /* where chunks of this type go */
bool session_segment_is_due(const hd_session *session);
bool session_segment_next(hd_session *session); /* begins one, and removes what is too old */
void session_segment_forget(hd_session *session);
hd_status session_segments_join(const char *path, hd_error *err); /* behind the file, and removes them */

bool session_file_is(int fd, dev_t device, ino_t inode);
int session_out_of_the_way(int fd); /* the descriptor, with a high number */
int64_t session_unix_offset(void);

/* live.c, under the lock */
void session_live_open(hd_session *session);  /* of a new file: shared, if a process that records takes it */
void session_live_close(hd_session *session); /* and the lanes. What follows is this process's alone */
session_lane *session_live_lane(hd_session *session);
void session_log(hd_session *session, unsigned type, uint32_t id, const void *data, size_t size);
void session_log_reset(hd_session *session);          /* if the file has all of it */
size_t session_lane_bytes(const hd_session *session); /* with its ring */
void session_live_version(char out[64]);

/* alone.c, with session_own_thread of tracers.h */
void session_own_threads_in_child(void);
void session_look_around(void); /* by the session's thread, now and then: ends a program that has no thread left */

/* session.c, for salvage.c */
hd_status session_make(hd_session **out, const char *path, const hd_session_options *options, hd_error *err);
void session_destroy(hd_session *session);

/* writer.c */
extern const unsigned session_list_types[SESSION_LISTS];
void session_pass(hd_session *session);   /* writes what is in the rings */
void session_finish(hd_session *session); /* and the end */
void *session_write_all(void *session);   /* the loop of the session's thread until `ending` */

/* fork.c */
hd_status session_register(hd_session *session, hd_error *err); /* finds a slot and a generation */
void session_unregister(hd_session *session);
void session_expect_end(void);                 /* this thread has a lane: report when it ends */
hd_status session_revive(hd_session *session); /* in a child, under the lock */
hd_status session_start_thread(hd_session *session);

#endif
