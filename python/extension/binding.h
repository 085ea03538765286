/* binding.h - heddle._heddle, the extension: what its files share
 *
 * The extension makes Python objects of what the public headers of include/heddle give, and nothing more: how they look
 * to people is the files in python/heddle. It is built for the limited API of Python 3.11, so that one file serves all
 * later releases, and it needs no NumPy: columns are handed out by the buffer protocol.
 *
 * GIL   Whatever looks at a trace is a job (job.c), and runs without it.
 * Life  A trace is shared by its handle, its tables and the Arrow arrays that borrow from it (shared_trace).
 * Text  of Arrow columns is UTF-8, as arrow.h says; all else comes as str with surrogateescape.
 */
#ifndef HEDDLE_PYTHON_BINDING_H
#define HEDDLE_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heddle/heddle.h"

/* ---- errors (error.c) ---- */

/* Raise heddle.Error, the subclass of its status. Returns NULL. */
PyObject *raise_status(hd_status status, const hd_error *err);
PyObject *text_of(const char *data, size_t size);
static inline PyObject *text_or_none(const char *text)
{
    return text ? text_of(text, strlen(text)) : Py_NewRef(Py_None);
}
PyObject *int_or_none(int64_t value, int64_t none);
/* dict[key] = value, whose reference is taken. NULL value: false, as when there is no memory. */
bool put(PyObject *dict, const char *key, PyObject *value);
/* list.append(value), likewise. */
bool append(PyObject *list, PyObject *value);

/* ---- jobs (job.c) ---- */

/* Work without the GIL. From the main thread it runs on a thread of its own, while the main one looks for signals every
 * JOB_LOOK_MS: after KeyboardInterrupt a job that has `interrupt` is requested to stop, and the thread waits for it;
 * any other is left to itself, and is dropped when it ends. */
typedef struct job job;
struct job {
    hd_status (*run)(job *job); /* without the GIL */
    void (*drop)(job *job);     /* frees the job and all that it still has; with the GIL */
    void (*interrupt)(job *job);
    hd_status status;
    hd_error err;
    atomic_bool abandoned; /* nobody waits any more */
    PyObject *raised;      /* what a callback into Python raised; NULL: nothing */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, is_there; /* is_there: lock and ended */
};

enum { JOB_LOOK_MS = 20 };

/* A zeroed job of so many bytes that begins with a `job`; NULL: MemoryError is set. */
void *job_new(size_t size, hd_status (*run)(job *), void (*drop)(job *));
/* drop of a job that holds nothing else. */
void job_free(job *job);
/* 0: it ran, and job->status is HD_OK; the caller drops it. -1: an exception is set, and the job was dropped. */
int job_run(job *job);

/* ---- traces (trace.c) ---- */

typedef struct shared_trace {
    atomic_size_t uses;
    hd_trace *trace;
    atomic_uint_fast64_t told; /* blocks that `unread` has reported */
    Py_buffer buffer;          /* what it was read from, which it may still read */
    bool has_buffer;
} shared_trace;

void shared_trace_keep(void *user);
void shared_trace_release(void *user); /* any thread, with the GIL or without; NULL is fine */

extern PyTypeObject *trace_type, *stream_type, *held_type, *table_type, *buffer_type, *session_type, *scope_type,
    *view_type;

typedef struct trace_object {
    PyObject_HEAD shared_trace *shared;
} trace_object;

/* A handle of a trace, which it takes in any case. NULL trace: an exception is set. */
PyObject *trace_handle_new(hd_trace *trace);
/* The traces of a sequence of handles: kept, the caller releases each and frees the list. NULL: an exception. */
shared_trace **traces_of(size_t *out_count, PyObject *handles);
void traces_release(shared_trace **traces, size_t count);
/* IO where the file of a lazy trace no longer gives what was asked for. */
hd_status trace_still_whole(const shared_trace *shared, hd_status status, hd_error *err);

/* ---- Arrow (stream.c, collect.c, held.c) ---- */

/* Takes the stream. */
PyObject *stream_object_new(struct ArrowArrayStream *stream);
hd_status stream_status(int code, struct ArrowArrayStream *stream, hd_error *err);

typedef struct stream_object {
    PyObject_HEAD struct ArrowArrayStream stream; /* release NULL: it was used */
} stream_object;

/* All rows of a stream, as contiguous columns: a list of (name, code, data, mask, texts). Takes the stream. */
PyObject *collect_columns(struct ArrowArrayStream *stream);
/* The same of one batch. */
PyObject *collect_batch(const struct ArrowSchema *schema, struct ArrowArray *batch);
/* Batches that give their stream again as often as wanted. */
typedef struct held held;
held *held_new(void); /* NULL: no memory */
void held_release(held *held);
/* All of a stream, which stays the caller's; once. Without the GIL. */
hd_status held_fill(held *held, struct ArrowArrayStream *stream, const job *job, hd_error *err);
PyObject *held_object_of(held *held); /* takes it */
/* The same of one batch; takes both unless it fails. */
PyObject *held_object_of_batch(struct ArrowSchema *schema, struct ArrowArray *batch);
/* Bytes of a value of a column of that format; 0: it has none here. */
size_t column_width(const char *format);
/* Memory of malloc as a read-only buffer; takes it. */
PyObject *buffer_object_new(void *data, size_t count, size_t width, const char *format);

/* ---- tables ---- */
PyObject *table_object_new(hd_table *table); /* takes it; NULL: MemoryError */
/* [(name, table)] of a report, which it empties. */
PyObject *report_tables(hd_report *report);

/* ---- functions of the module, by file ---- */
extern PyMethodDef trace_functions[], report_functions[], convert_functions[], flame_functions[], query_functions[],
    view_functions[], column_functions[], diff_functions[];
extern PyType_Spec trace_spec, stream_spec, held_spec, table_spec, buffer_spec, session_spec, scope_spec, view_spec;

/* A path or name as bytes that end with NUL, from str (surrogateescape) or bytes: for "O&". */
int path_converter(PyObject *object, void *out);
/* list[str] → terminated list of UTF-8, borrowed from `keep` (a list that the caller releases). NULL: exception. */
const char **texts_of(PyObject *list, PyObject **keep, size_t *out_count);
const char *fs_text(PyObject *bytes);

#endif
