/* session.c - recording from Python: hd_session as a type, and its slices as context managers */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

#include "heddle/session.h"

typedef struct session_object {
    PyObject_HEAD hd_session *session; /* NULL: not started */
    PyObject *names;                   /* str → id, so that a known name costs a look-up and no lock */
} session_object;

/* A slice of one name: `with` begins and ends it, as often as wanted, also within itself. */
typedef struct scope_object {
    PyObject_HEAD session_object *session;
    uint32_t name, category, args;
} scope_object;

/* ---- names and arguments ---- */

/* The id of a name; 0 with an exception set, or for None. */
static uint32_t intern(session_object *self, PyObject *name)
{
    if (name == Py_None || !name) return 0;
    PyObject *known = PyDict_GetItemWithError(self->names, name);
    if (known) return (uint32_t)PyLong_AsUnsignedLong(known);
    if (PyErr_Occurred()) return 0;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a name is a str, not %R", name);
        return 0;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
    uint32_t id = bytes ? hd_session_intern(self->session, PyBytes_AsString(bytes)) : 0;
    PyObject *number = id ? PyLong_FromUnsignedLong(id) : NULL;
    if (number && PyDict_SetItem(self->names, name, number) < 0) id = 0;
    Py_XDECREF(number);
    Py_XDECREF(bytes);
    return id;
}

static bool set_arg(hd_session_arg *out, PyObject *keep, PyObject *key, PyObject *value)
{
    out->key = PyUnicode_AsUTF8AndSize(key, NULL);
    if (!out->key) return false;
    if (PyLong_Check(value)) {
        int overflow;
        out->type = HD_SESSION_INT;
        out->integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow) return !PyErr_Occurred();
    }
    if (PyFloat_Check(value)) {
        out->type = HD_SESSION_DOUBLE;
        out->number = PyFloat_AsDouble(value);
        return true;
    }
    PyObject *text = PyObject_Str(value);
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape") : NULL;
    Py_XDECREF(text);
    if (!append(keep, bytes)) return false;
    out->type = HD_SESSION_TEXT;
    out->text = PyBytes_AsString(bytes); /* `keep` has it */
    return true;
}

/* The id of keyword arguments; 0: none, or an exception. */
static uint32_t args_of(session_object *self, PyObject *kwargs)
{
    hd_session_arg args[HD_SESSION_ARGS_MAX] = {0};
    Py_ssize_t count = kwargs ? PyDict_Size(kwargs) : 0, place = 0;
    if (count == 0) return 0;
    if (count > HD_SESSION_ARGS_MAX) {
        PyErr_Format(PyExc_ValueError, "%zd arguments; an event has at most %d", count, HD_SESSION_ARGS_MAX);
        return 0;
    }
    PyObject *keep = PyList_New(0), *key, *value;
    bool good = keep;
    for (uint32_t i = 0; good && PyDict_Next(kwargs, &place, &key, &value); i++)
        good = set_arg(&args[i], keep, key, value);
    uint32_t id = good ? hd_session_args(self->session, args, (uint32_t)count) : 0;
    Py_XDECREF(keep);
    return id;
}

/* (name, category=None, **args) of an event. */
static bool event_of(hd_session_record *out, session_object *self, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *category = Py_None;
    if (!PyArg_ParseTuple(args, "O|O", &name, &category)) return false;
    out->name = intern(self, name);
    if (!PyErr_Occurred()) out->category = intern(self, category);
    if (!PyErr_Occurred()) out->args = args_of(self, kwargs);
    return !PyErr_Occurred();
}

/* ---- scopes ---- */

static void emit(session_object *self, hd_session_record *record)
{
    record->time_ns = hd_session_now();
    hd_session_emit(self->session, record);
}

static PyObject *session_slice(PyObject *object, PyObject *args, PyObject *kwargs)
{
    session_object *self = (session_object *)object;
    hd_session_record event = {0};
    if (!event_of(&event, self, args, kwargs)) return NULL;
    scope_object *scope = (scope_object *)PyType_GenericAlloc(scope_type, 0);
    if (!scope) return NULL;
    scope->session = (session_object *)Py_NewRef(object);
    scope->name = event.name;
    scope->category = event.category;
    scope->args = event.args;
    return (PyObject *)scope;
}

static PyObject *scope_enter(PyObject *object, PyObject *Py_UNUSED(none))
{
    scope_object *self = (scope_object *)object;
    if (self->args) {
        hd_session_record record = {
            .kind = HD_SESSION_BEGIN, .name = self->name, .category = self->category, .args = self->args};
        emit(self->session, &record);
    } else {
        hd_session_begin(self->session->session, self->name, self->category);
    }
    return Py_NewRef(object);
}

static PyObject *scope_exit(PyObject *object, PyObject *Py_UNUSED(args))
{
    hd_session_end(((scope_object *)object)->session->session);
    Py_RETURN_NONE;
}

static void scope_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF((PyObject *)((scope_object *)object)->session);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL},
    {"__exit__", scope_exit, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot scope_slots[] = {
    {Py_tp_dealloc, scope_dealloc},
    {Py_tp_methods, scope_methods},
    {0},
};

PyType_Spec scope_spec = {
    .name = "heddle._heddle.Scope",
    .basicsize = sizeof(scope_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = scope_slots,
};

/* ---- other events ---- */

/* complete(name, start_ns, end_ns, category=None, **args) */
static PyObject *session_complete(PyObject *object, PyObject *args, PyObject *kwargs)
{
    session_object *self = (session_object *)object;
    PyObject *name, *category = Py_None;
    long long start, end;
    if (!PyArg_ParseTuple(args, "OLL|O", &name, &start, &end, &category)) return NULL;
    hd_session_record record = {.kind = HD_SESSION_SLICE, .time_ns = start, .name = intern(self, name)};
    record.value = end > start ? (uint64_t)end - (uint64_t)start : 0;
    if (!PyErr_Occurred()) record.category = intern(self, category);
    if (!PyErr_Occurred()) record.args = args_of(self, kwargs);
    if (PyErr_Occurred()) return NULL;
    hd_session_emit(self->session, &record);
    Py_RETURN_NONE;
}

static PyObject *session_instant(PyObject *object, PyObject *args, PyObject *kwargs)
{
    hd_session_record record = {.kind = HD_SESSION_INSTANT};
    if (!event_of(&record, (session_object *)object, args, kwargs)) return NULL;
    emit((session_object *)object, &record);
    Py_RETURN_NONE;
}

static PyObject *session_counter(PyObject *object, PyObject *args)
{
    session_object *self = (session_object *)object;
    PyObject *name;
    double value;
    if (!PyArg_ParseTuple(args, "Od", &name, &value)) return NULL;
    uint32_t id = intern(self, name);
    if (PyErr_Occurred()) return NULL;
    hd_session_counter(self->session, id, value);
    Py_RETURN_NONE;
}

/* flow(phase, name, id, category=None): phase "s", "t" or "f". */
static PyObject *session_flow(PyObject *object, PyObject *args)
{
    session_object *self = (session_object *)object;
    PyObject *name, *category = Py_None;
    int phase;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "COK|O", &phase, &name, &id, &category)) return NULL;
    uint32_t name_id = intern(self, name), category_id = PyErr_Occurred() ? 0 : intern(self, category);
    if (PyErr_Occurred()) return NULL;
    (phase == 's'   ? hd_session_flow_start
     : phase == 't' ? hd_session_flow_step
                    : hd_session_flow_end)(self->session, name_id, category_id, id);
    Py_RETURN_NONE;
}

/* memory(address, size, device=None, category=None): size below 0: released. */
static PyObject *session_memory(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"address", "size", "device", "category", NULL};
    session_object *self = (session_object *)object;
    unsigned long long address;
    long long size;
    PyObject *device = Py_None, *category = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KL|OO", keywords, &address, &size, &device, &category)) return NULL;
    uint32_t category_id = intern(self, category);
    unsigned long number = PyErr_Occurred() || device == Py_None ? HD_SESSION_HOST : PyLong_AsUnsignedLong(device);
    if (PyErr_Occurred()) return NULL;
    if (size < 0) {
        hd_session_release(self->session, category_id, address, -(uint64_t)size, (uint32_t)number);
    } else {
        hd_session_allocate(self->session, category_id, address, (uint64_t)size, (uint32_t)number);
    }
    Py_RETURN_NONE;
}

static PyObject *session_name_thread(PyObject *object, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    hd_session_name_thread(((session_object *)object)->session, text);
    Py_RETURN_NONE;
}

/* ---- life ---- */

static int session_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"path", "policy", "fork", "ring_events", "flush_ms", NULL};
    session_object *self = (session_object *)object;
    PyObject *path = NULL;
    const char *policy = "newest", *fork = "off";
    unsigned ring_events = 0, flush_ms = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|ssII", keywords, PyUnicode_FSConverter, &path, &policy, &fork,
                                     &ring_events, &flush_ms)) {
        return -1;
    }
    hd_session_options options = {.ring_events = ring_events, .flush_ms = flush_ms};
    hd_error err = {0};
    bool known = true;
    if (strcmp(policy, "oldest") == 0) {
        options.policy = HD_RING_DROP_OLDEST;
    } else if (strcmp(policy, "block") == 0) {
        options.policy = HD_RING_BLOCK;
    } else {
        known = strcmp(policy, "newest") == 0;
    }
    if (strcmp(fork, "file") == 0) {
        options.fork = HD_SESSION_FORK_FILE;
    } else {
        known = known && strcmp(fork, "off") == 0;
    }
    hd_status status = HD_OK;
    if (self->session) {
        PyErr_SetString(PyExc_RuntimeError, "the session was started already");
    } else if (!known) {
        PyErr_SetString(PyExc_ValueError, "policy is \"newest\", \"oldest\" or \"block\"; fork is \"off\" or \"file\"");
    } else if (!self->names && !(self->names = PyDict_New())) {
        status = HD_OK;
    } else if ((status = hd_session_start(&self->session, PyBytes_AsString(path), &options, &err)) != HD_OK) {
        raise_status(status, &err);
    }
    Py_DECREF(path);
    return self->session && !PyErr_Occurred() ? 0 : -1;
}

static PyObject *stats_dict(const hd_session_stats *s)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"emitted", s->emitted},
                  {"written", s->written},
                  {"dropped_newest", s->dropped_newest},
                  {"dropped_oldest", s->dropped_oldest},
                  {"nested", s->nested},
                  {"lost", s->lost},
                  {"pending", s->pending},
                  {"waits", s->waits},
                  {"bytes", s->bytes},
                  {"threads", s->threads},
                  {"names", s->names},
                  {"names_lost", s->names_lost},
                  {"duration_ns", (uint64_t)s->duration_ns}};
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < sizeof counts / sizeof *counts; i++) {
        if (!put(out, counts[i].name, PyLong_FromUnsignedLongLong(counts[i].value))) Py_CLEAR(out);
    }
    return out;
}

static PyObject *session_stop(PyObject *object, PyObject *Py_UNUSED(none))
{
    session_object *self = (session_object *)object;
    hd_session_stats stats = {0};
    hd_error err = {0};
    hd_status status;
    Py_BEGIN_ALLOW_THREADS status = hd_session_stop(&stats, self->session, &err);
    Py_END_ALLOW_THREADS return status == HD_OK ? stats_dict(&stats) : raise_status(status, &err);
}

static PyObject *session_flush(PyObject *object, PyObject *Py_UNUSED(none))
{
    hd_error err = {0};
    hd_status status;
    Py_BEGIN_ALLOW_THREADS status = hd_session_flush(((session_object *)object)->session, &err);
    Py_END_ALLOW_THREADS if (status != HD_OK) return raise_status(status, &err);
    Py_RETURN_NONE;
}

static PyObject *session_statistics(PyObject *object, PyObject *Py_UNUSED(none))
{
    hd_session_stats stats = {0};
    hd_session_statistics(&stats, ((session_object *)object)->session);
    return stats_dict(&stats);
}

static PyObject *session_now(PyObject *Py_UNUSED(object), PyObject *Py_UNUSED(none))
{
    return PyLong_FromLongLong(hd_session_now());
}

static PyObject *session_path(PyObject *object, void *Py_UNUSED(none))
{
    const char *path = hd_session_path(((session_object *)object)->session);
    return PyUnicode_DecodeFSDefault(path ? path : "");
}

/* Nobody is inside of a call any more: whoever is holds a reference. */
static void session_dealloc(PyObject *object)
{
    session_object *self = (session_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_BEGIN_ALLOW_THREADS hd_session_free(self->session);
    Py_END_ALLOW_THREADS Py_XDECREF(self->names);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef session_methods[] = {
    {"slice", WITH_KEYWORDS(session_slice), METH_VARARGS | METH_KEYWORDS, NULL},
    {"complete", WITH_KEYWORDS(session_complete), METH_VARARGS | METH_KEYWORDS, NULL},
    {"instant", WITH_KEYWORDS(session_instant), METH_VARARGS | METH_KEYWORDS, NULL},
    {"counter", session_counter, METH_VARARGS, NULL},
    {"flow", session_flow, METH_VARARGS, NULL},
    {"memory", WITH_KEYWORDS(session_memory), METH_VARARGS | METH_KEYWORDS, NULL},
    {"name_thread", session_name_thread, METH_O, NULL},
    {"flush", session_flush, METH_NOARGS, NULL},
    {"stop", session_stop, METH_NOARGS, NULL},
    {"statistics", session_statistics, METH_NOARGS, NULL},
    {"now", session_now, METH_NOARGS | METH_STATIC, NULL},
    {0},
};

static PyGetSetDef session_members[] = {{"path", session_path, NULL, NULL, NULL}, {0}};

static PyType_Slot session_slots[] = {
    {Py_tp_init, session_init},       {Py_tp_new, PyType_GenericNew},  {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, session_methods}, {Py_tp_getset, session_members}, {0},
};

PyType_Spec session_spec = {
    .name = "heddle._heddle.Session",
    .basicsize = sizeof(session_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = session_slots,
};
