/* session.h - tracing a program from inside: writes events of its threads into a file while it runs
 *
 *     hd_session *session;
 *     hd_session_start(&session, "run.hdcap", NULL, &err);
 *     uint32_t step = hd_session_intern(session, "step");
 *     hd_session_begin(session, step, 0);   …   hd_session_end(session);
 *     hd_session_stop(&stats, session, &err);
 *     hd_session_free(session);
 *
 * Every command of heddle reads the file, and `heddle convert run.hdcap run.heddle` makes a store of it. mark.h has
 * macros that cost nothing when they are off.
 *
 * Part of libheddle-capture, which depends on libc alone and not on libheddle. Linux.
 *
 * How
 *   Each thread writes its events into a ring of its own (ring.h), without locks and system calls. A thread of
 *   the session takes them out and appends them to the file in chunks with checksums, one write each. If the
 *   program is killed at any moment, the file has every chunk that was written: of each thread, at most the events
 *   in its ring and one chunk are missing.
 *
 * Loss
 *   A full ring drops or waits, as the policy says. Events that are dropped or could not be written are counted
 *   exactly, in the file and in hd_session_stats; a failing disk never stops the program. If a file reaches ulimit -f,
 *   it continues in another file: hd_session_join.
 *
 * Threads
 *   Any thread may call any function at any time, except stop and free. The first event of a thread creates its ring;
 *   only then does emitting take a lock or memory. Events from destructors of thread-specific data that run after the
 *   session's own destructor are dropped and counted (nested).
 *
 * Signals
 *   The session's thread has all signals blocked, so that none of the program's arrives there. Events from a
 *   signal handler are recorded, unless it interrupted the emitting of another event: then they are dropped and counted
 *   (nested). A thread's first event and new names take memory: do not emit them from a handler that may have
 *   interrupted malloc.
 *
 * fork
 *   The child has no session thread. Its events are ignored, or go to a file of its own: hd_session_fork.
 *   The parent is not affected. A session must not be used in a child of vfork.
 *
 * exec
 *   Like being killed. execve closes the file's descriptor.
 *
 * Recorders
 *   A process that records others binds a datagram socket named HD_SESSION_RECORDER in the folder of their files. Each
 *   session that starts there puts its rings into memory that it shares, and sends the descriptor. Once the process has
 *   ended, even by a crash, hd_session_salvage appends the events that the file does not have yet, so that none is
 *   missing.
 *
 * Descriptors
 *   The file's descriptor is 512 or above if the limit allows. If the program closes all descriptors, as daemons do,
 *   this is detected before the next write, and the file is opened again by its name.
 *
 * Every function accepts a NULL session and does nothing: a program need not check whether start succeeded.
 */
#ifndef HEDDLE_SESSION_H
#define HEDDLE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/ring.h"
#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_session hd_session;

/* What happens to the session in a child of fork. */
typedef enum hd_session_fork {
    HD_SESSION_FORK_OFF, /* the child ignores events; it starts its own session if it wants one */
    HD_SESSION_FORK_FILE /* the child's first event opens NAME.PID.EXTENSION next to the parent's file and starts a
                            thread */
} hd_session_fork;

enum {
    HD_SESSION_LIMIT = 4,           /* sessions of a process at a time */
    HD_SESSION_NAME_BYTES = 4096,   /* longer names are cut there */
    HD_SESSION_RING_EVENTS = 16384, /* the default */
    HD_SESSION_FLUSH_MS = 20,       /* likewise */
};

/* Zero-initialised is the default: drop the newest, FORK_OFF. */
typedef struct hd_session_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_ring_policy policy;
    hd_session_fork fork;
    uint32_t ring_events; /* of each thread, 64 bytes each: a power of two from 2 to 2^24; 0: HD_SESSION_RING_EVENTS */
    uint32_t flush_ms;    /* events reach the file at most this much later, or when a ring is half full; 0: the default
                             */
    /* If main ends by pthread_exit(), a process ends with the last of its threads, and libheddle-capture's threads keep
     * it alive. true: once only they are left, exit(0) ends the process, as it would end without them. */
    bool exit_when_alone;
    /* The file keeps all names, stacks and tracks, but of the events only those of the last keep_last_ns, and up to a
     * quarter more: events go to PATH.k00000000, PATH.k00000001 …, of which those that are too old are removed.
     * hd_session_join makes one file of them. 0: all events */
    int64_t keep_last_ns;
} hd_session_options;

/* emitted = written + dropped_newest + dropped_oldest + nested + lost + pending. */
typedef struct hd_session_stats {
    uint64_t emitted;
    uint64_t written;        /* in the file */
    uint64_t dropped_newest; /* refused by a full ring, or no memory for the thread's ring */
    uint64_t dropped_oldest; /* pushed out of a full ring */
    uint64_t nested;         /* from signal handlers that interrupted an event */
    uint64_t lost;           /* taken out of the rings, but not written */
    uint64_t pending;        /* in the rings; 0 after stop */
    uint64_t waits;          /* events that waited for room (HD_RING_BLOCK) */
    uint64_t bytes;          /* of the file */
    uint32_t threads, names;
    uint32_t names_lost; /* names and other list entries that there was no memory for: their events have none */
    int64_t duration_ns; /* since start */
    hd_status status;    /* the first failed write, HD_OK if none */
    char message[128];   /* of it */
} hd_session_stats;

/* Create the file `path`, replacing an existing one, and start the session's thread. options may be NULL. On failure
 * *out is NULL, and no thread is running. Errors: IO (no such folder, no permission, no room for the header; no
 * thread); ARGUMENT; LIMIT: too many sessions; MEMORY. */
hd_status hd_session_start(hd_session **out, const char *path, const hd_session_options *options, hd_error *err);

/* Write what is in the rings and finish the file. Events that other threads emit meanwhile or afterwards are ignored,
 * at almost no cost; waiting producers are released. `out`, unless NULL, gets the final statistics. Called once.
 * Errors: IO if anything could not be written; the file has the rest. */
hd_status hd_session_stop(hd_session_stats *out, hd_session *session, hd_error *err);

/* Stops the session if it was not stopped. Call it only when no thread can be inside a call with this session; a
 * program that cannot know this should not free it. */
void hd_session_free(hd_session *session);

/* Wait until all earlier events of this thread are in the file, or lost. Errors: IO, the first one. */
hd_status hd_session_flush(hd_session *session, hd_error *err);

/* Linux 4.14 or later; without it, and beyond ulimit -f, a session's memory is its own. */
#define HD_SESSION_RECORDER "recorder"

/* The byte of a message to a recorder: a descriptor comes with it, or what is kept should be written out, and why. */
typedef enum hd_session_message {
    HD_SESSION_MEMORY,
    HD_SESSION_TRIGGERED,
    HD_SESSION_SIGNALLED,
    HD_SESSION_STALLED
} hd_session_message;

typedef enum hd_session_salvaged {
    HD_SESSION_ALIVE,     /* the process may still write */
    HD_SESSION_COMPLETE,  /* its file lacks nothing */
    HD_SESSION_SALVAGED,  /* its file lacked something, which it has now */
    HD_SESSION_NOT_OF_US, /* of another version of the library, or no memory of a session */
} hd_session_salvaged;

/* For a recorder: complete the file, in `folder`, of a session whose process has ended. `memory`: what the session
 * sent, opened anew through /proc/self/fd: a lock on the descriptor that was sent is held until the process ends, and
 * must not be shared. `has_ended`: the process has, whatever the lock says. *events: those that were only in memory.
 * Errors: IO. */
hd_status hd_session_salvage(hd_session_salvaged *out, uint64_t *events, int memory, const char *folder, bool has_ended,
                             hd_error *err);

/* Beyond ulimit -f, a session's file goes on in PATH.1, PATH.2 …; with keep_last_ns, its events are in PATH.k00000000
 * and so on: append them, and remove them. Without them nothing happens. Errors: IO, the parts that are not appended
 * stay. */
hd_status hd_session_join(const char *path, hd_error *err);

/* For a recorder: copy a file that may still be written, with the events of keep_last_ns, to a new file `to`, which
 * ends there. Not while the file is joined or salvaged. Errors: IO. */
hd_status hd_session_snapshot(const char *path, const char *to, hd_error *err);

/* Whether a file, which may have segments, has its end: then *unix_s is when that was written. false also if it cannot
 * be read. */
bool hd_session_has_ended(int64_t *unix_s, const char *path);

/* Any time. */
void hd_session_statistics(hd_session_stats *out, hd_session *session);

/* The file of this process; in a child it is the parent's until the child's first event. The text is valid until then,
 * and until free. */
const char *hd_session_path(const hd_session *session);

/* The id of a name (UTF-8, copied), the same for equal texts; ids are valid in this session and in children of fork. 0,
 * no name: `name` is NULL, memory ran out, or a signal handler interrupted the session. Takes a lock: once a name. */
uint32_t hd_session_intern(hd_session *session, const char *name);

/* The current time in ns on the clock of all events, CLOCK_MONOTONIC. */
int64_t hd_session_now(void);

/* Name the calling thread in the trace, instead of the system's name. Creates its ring, too. */
void hd_session_name_thread(hd_session *session, const char *name);

/* ---- events: name and category are ids of hd_session_intern, 0: none ---- */

/* Slices nest as the calls do; begin and end are called by the same thread. */
void hd_session_begin(hd_session *session, uint32_t name, uint32_t category);
void hd_session_end(hd_session *session);
/* A slice with known times on hd_session_now's clock, in any order. A negative duration counts as 0. */
void hd_session_slice(hd_session *session, uint32_t name, uint32_t category, int64_t start_ns, int64_t duration_ns);

void hd_session_instant(hd_session *session, uint32_t name, uint32_t category);
void hd_session_counter(hd_session *session, uint32_t name, double value);

/* Arrows between slices: points of equal id are one flow, each bound to the slice that encloses it. */
void hd_session_flow_start(hd_session *session, uint32_t name, uint32_t category, uint64_t id);
void hd_session_flow_step(hd_session *session, uint32_t name, uint32_t category, uint64_t id);
void hd_session_flow_end(hd_session *session, uint32_t name, uint32_t category, uint64_t id);

/* Memory. device: HD_SESSION_HOST or a GPU's number. release: bytes 0 if unknown. */
#define HD_SESSION_HOST UINT32_MAX
void hd_session_allocate(hd_session *session, uint32_t category, uint64_t address, uint64_t bytes, uint32_t device);
void hd_session_release(hd_session *session, uint32_t category, uint64_t address, uint64_t bytes, uint32_t device);

/* ---- for tracers: events of any track, with arguments, stacks and correlation ---- */

/* Lists that events refer to: each function returns an id from 1, the same for equal contents. It takes a lock, so call
 * it once per new entry. 0: none (as hd_session_intern). Strings are copied. */

typedef enum hd_session_track_kind {
    HD_SESSION_TRACK_THREAD = 1, /* number: the system's thread id. The same track as that of the thread's own events */
    HD_SESSION_TRACK_STREAM,     /* of a GPU: device, number is the stream's */
    HD_SESSION_TRACK_DEVICE,     /* a whole GPU: for its counters */
    HD_SESSION_TRACK_PROCESS     /* a whole process: likewise */
} hd_session_track_kind;

typedef struct hd_session_track_info {
    hd_session_track_kind kind;
    uint32_t device;
    uint32_t process; /* of a thread or a process: its id; 0: this one */
    uint64_t number;
    const char *name; /* NULL: none. Of equal tracks with several names the last one is shown */
} hd_session_track_info;

uint32_t hd_session_track(hd_session *session, const hd_session_track_info *info);

typedef enum hd_session_arg_type {
    HD_SESSION_INT = 1,
    HD_SESSION_DOUBLE,
    HD_SESSION_TEXT,
    HD_SESSION_JSON /* text that is valid JSON, an array for example */
} hd_session_arg_type;

typedef struct hd_session_arg {
    const char *key;
    hd_session_arg_type type;
    int64_t integer;
    double number;
    const char *text;
} hd_session_arg;

enum { HD_SESSION_ARGS_MAX = 24 };

/* Arguments shared by many events, such as a kernel's grid and block. Beyond the limit arguments are dropped, with a
 * row in the ledger. */
uint32_t hd_session_args(hd_session *session, const hd_session_arg *args, uint32_t count);

/* A stack of `count` frames, innermost first; at most HD_SESSION_STACK_MAX, the outermost frames are left out. A frame
 * is an address (of a call: the return address minus 1), or HD_SESSION_FRAME(name) if its name is known. */
#define HD_SESSION_FRAME(name) (UINT64_C(1) << 63 | (name))
enum { HD_SESSION_STACK_MAX = 512 };
uint32_t hd_session_stack(hd_session *session, const uint64_t *frames, uint32_t count);

/* Records a mapped file, so that addresses in it can be named later. */
typedef struct hd_session_module_info {
    uint64_t start, end; /* addresses */
    uint64_t offset;     /* in the file, of start */
    uint64_t bias;       /* address minus the address in the file's own symbols */
    const char *path;    /* "[vdso]", "//anon" for mappings without a file */
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* at most 64; 0: unknown */
} hd_session_module_info;

uint32_t hd_session_module(hd_session *session, const hd_session_module_info *info);

/* A function at addresses without a file (JIT, trampolines). */
uint32_t hd_session_symbol(hd_session *session, uint64_t start, uint64_t bytes, const char *name);

typedef enum hd_session_note_level { HD_SESSION_NOTE = 0, HD_SESSION_REPAIR, HD_SESSION_LOSS } hd_session_note_level;

/* A row of the trace's ledger. count is the current total; the last call for a code counts. */
void hd_session_note(hd_session *session, const char *code, hd_session_note_level level, uint64_t count);

enum { HD_SESSION_METADATA_BYTES = 8 << 20 };

/* A top-level key of the trace; the last call for a key counts. Values that are too long are left out, with a row in
 * the ledger. */
void hd_session_metadata(hd_session *session, const char *key, const char *json);

typedef enum hd_session_kind {
    HD_SESSION_SLICE = 1,
    HD_SESSION_BEGIN,
    HD_SESSION_END,
    HD_SESSION_INSTANT,
    HD_SESSION_COUNTER,
    HD_SESSION_FLOW_START,
    HD_SESSION_FLOW_STEP,
    HD_SESSION_FLOW_END,
    HD_SESSION_ALLOCATE,
    HD_SESSION_RELEASE,
    HD_SESSION_SAMPLE, /* a stack sample: stack; value is its weight, 0: 1 */
    HD_SESSION_CALL,   /* no event: gives the call `correlation` its `stack` and `value` (an external id, 0: none) */
    HD_SESSION_NODE    /* no event: `stack` is where the graph node `node` was created */
} hd_session_kind;

/* Fields that are 0 are not written. The reader names correlation, node, bytes and value as PyTorch does:
 * "correlation", "graph node id", "bytes", "External id". */
typedef struct hd_session_record {
    hd_session_kind kind;
    uint32_t track;  /* 0: the calling thread's */
    int64_t time_ns; /* on hd_session_now's clock */
    uint64_t value;  /* duration of a slice, bits of a counter's double, id of a flow, address of memory */
    uint64_t bytes;  /* of a copy, of memory */
    uint64_t node;   /* of a graph */
    uint32_t name, category;
    uint32_t args;  /* hd_session_args */
    uint32_t stack; /* hd_session_stack */
    uint32_t correlation;
    uint32_t device; /* of memory, as in hd_session_allocate */
} hd_session_record;

void hd_session_emit(hd_session *session, const hd_session_record *record);

#ifdef __cplusplus
}
#endif
#endif
