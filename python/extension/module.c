/* module.c - heddle._heddle: its types and functions */
#include "binding.h"

PyTypeObject *trace_type, *stream_type, *held_type, *table_type, *buffer_type, *session_type, *scope_type, *view_type;

static const struct {
    PyTypeObject **type;
    PyType_Spec *spec;
} types[] = {
    {&trace_type, &trace_spec}, {&stream_type, &stream_spec}, {&held_type, &held_spec},
    {&table_type, &table_spec}, {&buffer_type, &buffer_spec}, {&session_type, &session_spec},
    {&scope_type, &scope_spec}, {&view_type, &view_spec},
};

static PyMethodDef *const functions[] = {trace_functions, report_functions, convert_functions, flame_functions,
                                         query_functions, view_functions,   column_functions,  diff_functions};

/* Types are the process's: the module is made once, and not in interpreters besides the main one. */
static int make(PyObject *module)
{
    if (trace_type) {
        PyErr_SetString(PyExc_ImportError, "heddle works in one interpreter of a process");
        return -1;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, types[i].spec, NULL);
        if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
        *types[i].type = (PyTypeObject *)type;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (PyModule_AddFunctions(module, functions[i]) < 0) return -1;
    }
    return PyModule_AddStringConstant(module, "version", hd_version());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, make}, {0}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_heddle",
    .m_doc = "What heddle takes from its C libraries; python/heddle has what people use.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__heddle(void);
PyMODINIT_FUNC PyInit__heddle(void)
{
    return PyModuleDef_Init(&module);
}
