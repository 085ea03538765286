/* view.c - the page's server, as an object */
#include "binding.h"

#include <stdlib.h>

#include "heddle/view.h"

typedef struct view_object {
    PyObject_HEAD hd_view *view; /* NULL: stopped */
} view_object;

typedef struct view_job {
    job job;
    const char **paths;
    size_t count;
    PyObject *keep;
    hd_view_options options;
    hd_view *view;
} view_job;

static hd_status run_view(job *base)
{
    view_job *job = (view_job *)base;
    return hd_view_start(&job->view, job->paths, job->count, &job->options, &base->err);
}

static void drop_view(job *base)
{
    view_job *job = (view_job *)base;
    hd_view_free(job->view);
    free(job->paths);
    Py_XDECREF(job->keep);
    job_free(base);
}

/* view(paths, port, framed) */
static PyObject *view(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *paths;
    unsigned short port;
    int framed;
    if (!PyArg_ParseTuple(args, "OHp", &paths, &port, &framed)) return NULL;
    view_job *job = job_new(sizeof *job, run_view, drop_view);
    if (!job) return NULL;
    job->options = (hd_view_options){.size = sizeof job->options, .port = port, .token = true, .framed = framed};
    job->paths = texts_of(paths, &job->keep, &job->count);
    if (!job->paths) {
        drop_view(&job->job);
        return NULL;
    }
    if (job_run(&job->job) < 0) return NULL;
    view_object *self = (view_object *)PyType_GenericAlloc(view_type, 0);
    if (self) {
        self->view = job->view;
        job->view = NULL;
    }
    drop_view(&job->job);
    return (PyObject *)self;
}

static bool is_up(const view_object *self)
{
    if (!self->view) PyErr_SetString(PyExc_ValueError, "the view was stopped");
    return self->view;
}

static PyObject *view_url(PyObject *object, PyObject *Py_UNUSED(none))
{
    view_object *self = (view_object *)object;
    return is_up(self) ? text_or_none(hd_view_url(self->view)) : NULL;
}

/* (files that are still read, files that could not be) */
static PyObject *view_state(PyObject *object, PyObject *Py_UNUSED(none))
{
    view_object *self = (view_object *)object;
    return is_up(self) ? Py_BuildValue("(nn)", (Py_ssize_t)hd_view_reading(self->view),
                                       (Py_ssize_t)hd_view_failures(self->view))
                       : NULL;
}

static void stop(view_object *self)
{
    hd_view *view = self->view;
    self->view = NULL;
    Py_BEGIN_ALLOW_THREADS hd_view_free(view);
    Py_END_ALLOW_THREADS
}

static PyObject *view_stop(PyObject *object, PyObject *Py_UNUSED(none))
{
    stop((view_object *)object);
    Py_RETURN_NONE;
}

static void view_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    stop((view_object *)object);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef view_methods[] = {
    {"url", view_url, METH_NOARGS, NULL},
    {"state", view_state, METH_NOARGS, NULL},
    {"stop", view_stop, METH_NOARGS, NULL},
    {0},
};

PyMethodDef view_functions[] = {
    {"view", view, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot view_slots[] = {
    {Py_tp_dealloc, view_dealloc},
    {Py_tp_methods, view_methods},
    {0},
};

PyType_Spec view_spec = {
    .name = "heddle._heddle.View",
    .basicsize = sizeof(view_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = view_slots,
};
