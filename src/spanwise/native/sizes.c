/* Sizes: how much text attributes hold.
 *
 * The twin of the loop of `_size` in assembly/sizes.py, for a plain dict of plain values.
 */
#include "core.h"

/* text_in(attributes): characters of text and bytes among the values; -1 where that takes a closer look. */
static PyObject *
text_in(PyObject *module, PyObject *attributes)
{
    (void)module;
    if (!PyDict_CheckExact(attributes))
        return PyLong_FromLong(-1);
    PyObject *name, *value;
    Py_ssize_t at = 0, total = 0;
    while (PyDict_Next(attributes, &at, &name, &value)) {
        if (PyUnicode_CheckExact(value))
            total += PyUnicode_GET_LENGTH(value);
        else if (PyBytes_CheckExact(value))
            total += PyBytes_GET_SIZE(value);
        else if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value) && !PyBool_Check(value) && value != Py_None)
            return PyLong_FromLong(-1);
    }
    return PyLong_FromSsize_t(total);
}

static PyMethodDef functions[] = {
    {"text_in", text_in, METH_O, "How much text attributes hold."},
    {NULL, NULL, 0, NULL},
};

int
add_sizes(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
