/* The compiled part of Spanwise: the loops that run once for every span or attribute.
 *
 * Each function here has a twin in Python that gives the same, is used where this module is missing, and is held to
 * the same results by the tests. Nothing here keeps state between calls but what its objects were made with, the texts
 * that came lately, the prices that were asked for last, and the ids of spans that were put in order until they are linked.
 */
#include "core.h"

Py_ssize_t
slot_of(PyTypeObject *type, const char *field)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, field);
    if (descriptor == NULL)
        return -1;
    Py_ssize_t at = -1;
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) &&
        ((PyMemberDescrObject *)descriptor)->d_member->type == T_OBJECT_EX)
        at = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%s.%s is no field in a slot", type->tp_name, field);
    Py_DECREF(descriptor);
    return at;
}

int
add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed;
}

static int (*const adding[])(PyObject *module) = {
    add_late,
    add_link,
    add_fields,
    add_wire,
    add_alike,
    add_sizes,
    add_marks,
    add_records,
    add_spans,
    add_calls,
    add_facts,
    add_lazy,
};

static int
fill(PyObject *module)
{
    for (size_t i = 0; i < sizeof(adding) / sizeof(*adding); i++)
        if (adding[i](module) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "spanwise.native._core",
    .m_doc = "The compiled part of Spanwise.",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
