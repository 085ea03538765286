/* error.c - from hd_error to heddle.Error; and small steps that all files take */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyObject *text_of(const char *data, size_t size)
{
    return PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "surrogateescape");
}

PyObject *int_or_none(int64_t value, int64_t none)
{
    return value == none ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

bool put(PyObject *dict, const char *key, PyObject *value)
{
    if (!value) return false;
    int failed = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return !failed;
}

bool append(PyObject *list, PyObject *value)
{
    if (!value) return false;
    int failed = PyList_Append(list, value);
    Py_DECREF(value);
    return !failed;
}

static PyObject *causes_of(const hd_error *err)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < err->cause_count && i < HD_ERROR_CAUSES; i++) {
        if (!append(list, text_or_none(err->causes[i]))) Py_CLEAR(list);
    }
    return list;
}

/* heddle._errors.make(status, message, path, offset, causes, text). */
PyObject *raise_status(hd_status status, const hd_error *err)
{
    hd_error none = {.status = status, .offset = HD_OFFSET_NONE};
    if (err->status == HD_OK) {
        snprintf(none.message, sizeof none.message, "%s", hd_status_name(status));
        err = &none;
    }
    char text[HD_ERROR_TEXT_BYTES];
    hd_error_text(text, sizeof text, err);
    PyObject *module = PyImport_ImportModule("heddle._errors");
    PyObject *causes = module ? causes_of(err) : NULL;
    PyObject *path = causes ? PyUnicode_DecodeFSDefault(err->path) : NULL;
    PyObject *message = path ? text_or_none(err->message) : NULL;
    PyObject *whole = message ? text_or_none(text) : NULL;
    PyObject *offset = !whole                          ? NULL
                       : err->offset == HD_OFFSET_NONE ? Py_NewRef(Py_None)
                                                       : PyLong_FromUnsignedLongLong(err->offset);
    PyObject *raised =
        offset ? PyObject_CallMethod(module, "make", "iOOOOO", (int)err->status, message, path, offset, causes, whole)
               : NULL;
    if (raised) PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_XDECREF(raised);
    Py_XDECREF(offset);
    Py_XDECREF(whole);
    Py_XDECREF(message);
    Py_XDECREF(path);
    Py_XDECREF(causes);
    Py_XDECREF(module);
    return NULL;
}

int path_converter(PyObject *object, void *out)
{
    return PyUnicode_FSConverter(object, out);
}

const char *fs_text(PyObject *bytes)
{
    return bytes ? PyBytes_AsString(bytes) : NULL;
}

const char **texts_of(PyObject *list, PyObject **keep, size_t *out_count)
{
    Py_ssize_t count = PySequence_Size(list);
    *keep = count < 0 ? NULL : PyList_New(0);
    const char **texts = *keep ? calloc((size_t)count + 1, sizeof *texts) : NULL;
    if (*keep && !texts) PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        PyObject *bytes = NULL;
        if (!item || !PyUnicode_FSConverter(item, &bytes) || !append(*keep, bytes)) {
            free(texts);
            texts = NULL;
        } else {
            texts[i] = PyBytes_AsString(bytes);
        }
        Py_XDECREF(item);
    }
    if (!texts) Py_CLEAR(*keep);
    *out_count = (size_t)(count < 0 ? 0 : count);
    return texts;
}
